// Runs of a sweep that can be asked: a pointer over a point shows its values, a click opens a card with everything
// about the run: values, metrics, the command that makes it again, and its replay where the page holds one.
"use strict";
Palpate.runs = (() => {
  const { make, shown } = Palpate;
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const tip = make("div", { class: "tip", role: "status", hidden: "" }, document.body);
  const text = value => (typeof value === "number" ? shown(value) : value === null ? "–" : Array.isArray(value) ? value.map(text).join(", ") : String(value));
  const unit = k => (data.units[k] === "1" ? "" : ` ${data.units[k]}`);

  /** What there is to say about a run: its name, its verdict, and pairs of names and values. */
  function about(run) {
    const row = data.rows[run];
    if (!row) return null;
    if (run.startsWith("map ")) return { title: `Run ${run.slice(4)} of the map`, good: row[1], verdict: row[1] ? "good" : "bad", settings: data.map.map((key, k) => [key, text(row[0][k])]), metrics: [] };
    const n = data.keys.length, m = data.metrics.length, [outcome, passed, failed] = row.slice(n + m);
    const broke = failed.length ? `broke ${failed.join(", ")}` : "did not pass";
    return {
      title: `Run ${run}`, good: passed, verdict: outcome === "completed" ? (passed ? "passed" : broke) : `${outcome}${passed ? "" : `, ${broke}`}`,
      settings: data.keys.map((key, k) => [key, text(row[k])]),
      metrics: data.metrics.map((name, k) => [name, row[n + k] === null ? "–" : text(row[n + k]) + unit(k)]),
    };
  }

  function pairs(place, list) {
    const table = make("table", {}, place);
    for (const [name, value] of list) {
      const row = make("tr", {}, make("tbody", {}, table));
      make("th", { scope: "row" }, row, name);
      make("td", { class: "number" }, row, value);
    }
  }

  function point(run, x, y) {
    const said = about(run);
    tip.hidden = !said;
    if (!said) return;
    tip.replaceChildren();
    make("b", { class: said.good ? "good" : "bad" }, tip, `${said.title}: ${said.verdict}`);
    pairs(tip, [...said.settings, ...said.metrics].slice(0, 10));
    const room = document.documentElement.clientWidth, width = Math.min(tip.offsetWidth, room - 16);
    tip.style.left = `${Math.max(8, Math.min(x + 14, room - width - 8)) + scrollX}px`;
    tip.style.top = `${(y + 18 + tip.offsetHeight > innerHeight && y > tip.offsetHeight + 18 ? y - tip.offsetHeight - 12 : y + 18) + scrollY}px`;
  }
  const leave = () => { tip.hidden = true; };

  let card = null, from = null;
  function remove() {
    if (!card) return;
    for (const stage of card.querySelectorAll(".replay")) stage.replay.end();
    card.remove();
    card = null;
  }
  function close() {
    remove();
    if (from && from.focus) from.focus();
  }

  /** Open the card of a run behind an element of the page. */
  function open(run, after, opener) {
    const said = about(run);
    if (!said) return;
    leave();
    remove();
    from = opener || null;
    card = make("section", { class: "card", "aria-label": said.title, tabindex: "-1" });
    const first = after.closest(".first"), beside = first && matchMedia("(min-width: 901px)").matches;
    if (beside) first.firstElementChild.append(card); // where there is room, next to the picture
    else after.after(card);
    const head = make("div", { class: "head" }, card);
    make("h3", {}, head, said.title);
    make("b", { class: said.good ? "good" : "bad" }, head, said.verdict);
    make("button", { type: "button" }, head, "close").addEventListener("click", close);
    const both = make("div", { class: "both" }, card);
    for (const list of [said.settings, said.metrics]) if (list.length) pairs(make("div", {}, both), list);
    if (data.commands[run]) command(card, data.commands[run]);
    replayed(card, run);
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  }

  function command(place, words) {
    const line = make("div", { class: "line" }, place);
    make("pre", { class: "command", tabindex: "0" }, line, words);
    if (!navigator.clipboard) return;
    const button = make("button", { type: "button" }, line, "copy");
    button.addEventListener("click", () => navigator.clipboard.writeText(words).then(() => { button.textContent = "copied"; }, () => { button.textContent = "select it"; }));
  }

  function replayed(place, run) {
    const held = [...document.querySelectorAll("script[data-replay]")].find(one => one.dataset.replay === run);
    if (!held) return;
    const stage = make("div", { class: "replay" }, place);
    make("script", { type: "application/json" }, stage, held.textContent);
    startReplay(stage);
  }

  document.addEventListener("keydown", event => { if (event.key === "Escape") { leave(); close(); } });
  for (const button of document.querySelectorAll("button.run"))
    button.addEventListener("click", () => open(button.dataset.run, button.closest("div.wide, div.grid, section > *") || button, button));
  return { point, leave, open };
})();
