// The page with sliders: every move asks for a run, and what is answered is drawn. The page's state goes with every
// request, so that the server keeps nothing that a page could lose.
"use strict";
const Play = (() => {
  const { make, shown } = Palpate;
  const at = id => document.getElementById(id);
  const begin = JSON.parse(at("begin").textContent);
  const STEPS = 400, PATIENCE = 300, RESTING = 250, AGAIN = 1000; // steps of a slider; ms
  const MARKS = { good: "✓", near: "!", bad: "✗", unknown: "?" };
  const memory = `palpate play ${location.pathname}`;
  const page = Array.from(crypto.getRandomValues(new Uint32Array(2)), x => x.toString(36)).join("");
  let state = { control: null, settings: {} }, keys = null, offer = begin.offer;
  let sliders = new Map(offer.sliders.map(one => [one.key, one]));
  let replay = null, scene = -1, lead = null, second = [], ghosts = null, number = 0, flying = 0, sent = 0, dirty = false, rest = null, settled = -1, moved = null, last = null, live = null;

  // ---------------------------------------------------------------- asking

  async function post(path, asked) {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.json();
  }

  const said = text => { at("did").textContent = text; };
  const status = text => { at("status").textContent = text; };

  function refuse(text) {
    at("refused").hidden = !text;
    at("refused").textContent = text || "";
  }

  /** Ask for the run of the state now: at once, or as soon as the one that is under way is answered. */
  function ask(atRest = false) {
    clearTimeout(rest);
    remember();
    if (live && !atRest) {
      live.change();
      rest = setTimeout(() => ask(true), RESTING); // for the forecast
      return;
    }
    if (flying && performance.now() - sent < PATIENCE) { dirty = true; return; }
    dirty = false;
    flying++;
    sent = performance.now();
    const asked = { page, number: ++number, scene, figure: at("figure").value || null, resting: atRest, ...state };
    post("run", asked).then(answer => {
      status("");
      flying--;
      const current = asked.number === number && !answer.superseded;
      if (dirty) ask(); // the next run is made while this one is drawn
      if (current) take(answer, atRest);
      if (!current || asked.number !== number) return;
      if (!atRest) {
        rest = setTimeout(() => ask(true), RESTING);
        return;
      }
      settled = number;
      if (!answer.refused && !live) showEdges(asked);
    }, () => {
      flying--;
      status("palpate does not answer; trying again …");
      if (asked.number === number) setTimeout(() => ask(), AGAIN);
    });
  }

  /** Say below the slider that was moved last at which values the forecast turns. */
  function showEdges(asked) {
    const row = [...document.querySelectorAll(".setting")].find(one => one.dataset.key === moved), one = sliders.get(moved);
    for (const other of document.querySelectorAll(".setting .edge")) other.textContent = "";
    if (!row || !one || one.kind === "choice") return;
    const place = row.querySelector(".edge"), red = document.getElementById("forecast").dataset.level === "bad";
    post("edges", { ...asked, key: moved }).then(({ low, high, superseded, refused }) => {
      if (superseded || refused || asked.number !== number) return;
      const word = red ? "no longer red" : "turns red", times = one.kind === "list" ? "× " : "", unit = one.kind === "list" || one.unit === "1" ? "" : ` ${one.unit}`;
      const told = (edge, side) => edge && `${word} ${side} ${times}${shown(edge.beyond)}${unit} (${edge.headline}; not yet at ${times}${shown(edge.inside)})`;
      place.textContent = [told(low, "down at"), told(high, "up at")].filter(Boolean).join("; ") || `${red ? "red" : "not red"} from end to end, in the runs that were made`;
    }, () => {});
  }

  /** Whether the page shows the run of its state, with the poles of every moment. */
  const resting = () => !flying && !dirty && settled === number && number > 0;

  function remember() {
    at("report").href = `report?state=${encodeURIComponent(JSON.stringify(state))}`;
    try { sessionStorage.setItem(memory, JSON.stringify({ state, keys })); } catch { /* a frame that may keep nothing */ }
  }

  // ---------------------------------------------------------------- drawing

  function take(answer, resting) {
    refuse(answer.refused);
    if (answer.refused) return;
    last = answer;
    if (live) [answer.replay, answer.frames, answer.charts] = [null, null, []]; // the scene is that of the live run
    if (answer.replay) {
      scene = answer.scene;
      answer.replay.ghost = [];
      if (replay) replay.renew(answer.replay);
      else {
        replay = at("replay").replay = new Replay(at("replay"), answer.replay);
        replay.go(replay.times[replay.times.length - 1]);
      }
      offerFigures(answer.figures);
    } else if (answer.frames && replay) replay.renew(answer.frames);
    if (answer.undrawn && !replay) at("replay").replaceChildren(make("p", { class: "soft" }, null, answer.undrawn));
    drawCharts(answer);
    drawForecast(answer);
    drawMetrics(answer.metrics);
    const list = at("warnings");
    list.hidden = !answer.warnings.length;
    list.replaceChildren(...answer.warnings.map(text => make("li", {}, null, text)));
    at("command").textContent = answer.command;
    const slow = answer.compiled ? "" : " The law runs in Python: each move takes as long as a whole run of it.";
    if (!live) at("pace").textContent = `This update took ${shown(1000 * answer.cpu.update)} ms of CPU, ${shown(1000 * answer.cpu.loop)} ms of it for the run.${slow}`;
    at("pace").dataset.resting = resting;
    document.body.dataset.number = answer.number;
  }

  /** The lines of a chart with those that were kept as ghosts behind them. */
  function haunted(spec) {
    const kept = (ghosts && ghosts[spec.name]) || [];
    return { ...spec, series: [...kept, ...spec.series] };
  }

  function drawCharts({ charts }) {
    if (!charts.length) return;
    if (lead) lead.renew(haunted(charts[0]));
    else {
      for (const one of charts[0].series) [one.x, one.y] = [Palpate.numbers(one.x), Palpate.numbers(one.y)];
      lead = new Palpate.Chart(at("lead"), haunted(charts[0]));
    }
    const more = charts.slice(1);
    if (more.length !== second.length) {
      at("second").replaceChildren();
      second = [];
    }
    more.forEach((spec, k) => {
      if (second[k]) return second[k].renew(haunted(spec));
      for (const one of spec.series) [one.x, one.y] = [Palpate.numbers(one.x), Palpate.numbers(one.y)];
      second[k] = new Palpate.Chart(make("div", { class: "plot" }, at("second")), haunted(spec));
    });
  }

  function drawForecast({ forecast, level, headline }) {
    const place = at("forecast"), list = make("ul");
    for (const line of forecast) {
      const item = make("li", { class: line.level }, list);
      make("i", { "aria-hidden": "true" }, item, MARKS[line.level]);
      const text = make("span", {}, item);
      make("b", {}, text, `${line.name}: `);
      text.append(line.text);
    }
    place.className = `outcome ${level}`;
    place.dataset.level = level;
    place.replaceChildren(make("p", { class: "head" }, null, `${MARKS[level]} ${headline}`), list);
  }

  function drawMetrics(metrics) {
    const rows = metrics.map(one => {
      const row = make("tr"), name = make("td", { title: one.help }, row, one.name), unit = one.unit === "1" ? "" : ` ${one.unit}`;
      make("td", { class: `number${one.passed === false ? " bad" : ""}`, "data-metric": one.name, "data-value": one.value ?? "" }, row, one.value === null ? "—" : shown(one.value) + unit);
      const ends = [one.least === null ? "" : `≥ ${shown(one.least)}`, one.most === null ? "" : `≤ ${shown(one.most)}`].filter(Boolean).join(", ");
      make("td", { class: one.passed === false ? "bad" : "" }, row, ends && `${ends} ${one.passed === null ? "–" : one.passed ? "✓" : "✗ broken"}`);
      return row;
    });
    at("metrics").tBodies[0].replaceChildren(...rows);
  }

  function offerFigures(figures) {
    const choice = at("figure"), chosen = choice.value;
    choice.replaceChildren(make("option", { value: "" }, null, "none"));
    for (const [name, title] of figures || []) make("option", { value: name }, choice, title);
    choice.value = [...choice.options].some(one => one.value === chosen) ? chosen : "";
  }

  // ---------------------------------------------------------------- sliders

  const valueOf = one => (one.key in state.settings ? state.settings[one.key] : one.value);
  const flat = values => values.flat(Infinity);
  const scaled = (values, factor) => values.map(x => (Array.isArray(x) ? scaled(x, factor) : Number((x * factor).toPrecision(12))));

  /** Of a list the factor of all its numbers, else the number itself. */
  function amount(one) {
    const value = valueOf(one);
    if (one.kind !== "list") return value;
    const own = flat(one.value), now = flat(value), k = own.findIndex(x => x !== 0);
    return now[k] / own[k];
  }

  function set(one, amount) {
    const value = one.kind === "list" ? scaled(one.value, amount) : amount;
    if (JSON.stringify(value) === JSON.stringify(one.value)) delete state.settings[one.key];
    else {
      // The factor of a list and one of its numbers are two ways to the same setting: the last one counts.
      for (const key of Object.keys(state.settings)) if (key.startsWith(`${one.key}.`) || one.key.startsWith(`${key}.`)) delete state.settings[key];
      state.settings[one.key] = value;
    }
    moved = one.key;
    for (const edge of document.querySelectorAll(".setting .edge")) edge.textContent = "";
    for (const row of document.querySelectorAll(".setting")) row.refresh();
    ask();
  }

  const log = one => one.log && one.low > 0;
  const toStep = (one, x) => STEPS * (log(one) ? Math.log(x / one.low) / Math.log(one.high / one.low) : (x - one.low) / (one.high - one.low));
  function fromStep(one, step) {
    const share = step / STEPS, x = log(one) ? one.low * (one.high / one.low) ** share : one.low + share * (one.high - one.low);
    return one.kind === "integer" ? Math.round(x) : Number(x.toPrecision(4));
  }

  function addRow(one) {
    const row = make("div", { class: "setting", "data-key": one.key }), id = `set-${one.key}`;
    const label = make("label", { for: id }, row), unit = one.kind === "list" ? "× all" : one.unit === "1" ? "" : one.unit;
    const name = make("b", {}, label);
    for (const part of one.key.split(/(?<=[._])/)) name.append(part, document.createElement("wbr"));
    make("span", {}, label, unit ? ` ${unit}` : "");
    if (one.kind === "choice") addChoice(one, row, id);
    else addNumber(one, row, id);
    const gone = make("button", { type: "button", class: "gone", "aria-label": `remove the slider ${one.key}`, title: "remove; the value goes back" }, null, "×");
    row.insertBefore(gone, row.children[2] || null);
    gone.addEventListener("click", () => {
      keys = keys.filter(key => key !== one.key);
      row.remove();
      delete state.settings[one.key];
      ask();
    });
    make("small", {}, row, one.help);
    make("small", { class: "edge", role: "status" }, row);
    at("sliders").append(row);
    row.refresh();
    return row;
  }

  function addChoice(one, row, id) {
    const choice = make("select", { id }, row);
    for (const value of one.choices) make("option", { value: JSON.stringify(value) }, choice, String(value));
    choice.addEventListener("change", () => set(one, JSON.parse(choice.value)));
    row.refresh = () => {
      choice.value = JSON.stringify(valueOf(one));
      row.classList.toggle("moved", one.key in state.settings);
    };
  }

  function addNumber(one, row, id) {
    const box = make("input", { type: "number", step: "any", "aria-label": `${one.key} as a number` }, row);
    const range = make("input", one.kind === "integer" ? { id, type: "range", min: one.low, max: one.high, step: 1 } : { id, type: "range", min: 0, max: STEPS, step: 1 }, row);
    const whole = one.kind === "integer";
    range.addEventListener("input", () => set(one, whole ? Number(range.value) : fromStep(one, Number(range.value))));
    box.addEventListener("change", () => {
      if (box.value === "" || !Number.isFinite(Number(box.value))) return row.refresh();
      set(one, whole ? Math.round(Number(box.value)) : Number(box.value));
    });
    row.refresh = () => {
      const x = amount(one);
      [one.low, one.high] = [Math.min(one.low, x), Math.max(one.high, x)];
      if (whole) [range.min, range.max] = [one.low, one.high];
      if (document.activeElement !== box) box.value = Number(x.toPrecision(6));
      const place = whole ? x : toStep(one, x);
      if (document.activeElement !== range || Math.abs(place - range.value) > 1) range.value = place;
      range.setAttribute("aria-valuetext", `${one.kind === "list" ? "times " : ""}${shown(x)} ${one.kind === "list" || one.unit === "1" ? "" : one.unit}`);
      row.classList.toggle("moved", one.key in state.settings);
    };
  }

  function offerAll(fresh) {
    offer = fresh;
    sliders = new Map(offer.sliders.map(one => [one.key, one]));
    at("keys").replaceChildren(...offer.sliders.map(one => make("option", { value: one.key }, null, `${one.help}${one.unit === "1" ? "" : ` [${one.unit}]`}`)));
    at("law").replaceChildren(...offer.laws.map(name => make("option", { value: name }, null, name)));
    at("law").value = offer.law;
    at("sliders").replaceChildren();
    for (const key of keys) addRow(sliders.get(key));
  }

  function addSlider(key) {
    const match = sliders.has(key) ? key : [...sliders.keys()].filter(one => one.endsWith(`.${key}`) || one.includes(key))[0];
    at("add-said").hidden = Boolean(match);
    if (!match) {
      at("add-said").textContent = `no setting of this scenario is called ${key}`;
      return;
    }
    at("add").value = "";
    if (!keys.includes(match)) {
      keys.push(match);
      addRow(sliders.get(match));
      remember();
    }
    const row = [...document.querySelectorAll(".setting")].find(one => one.dataset.key === match);
    row.querySelector("input[type=range], select").focus();
  }

  async function chooseLaw(law) {
    let answer;
    try { answer = await post("law", { ...state, law }); } catch { answer = { refused: "palpate does not answer" }; }
    if (answer.refused) {
      refuse(answer.refused);
      at("law").value = offer.law;
      return;
    }
    state = { control: answer.control, settings: answer.settings };
    const others = keys.filter(key => !key.startsWith("control.") && answer.sliders.some(one => one.key === key));
    keys = [...answer.first.filter(key => key.startsWith("control.")), ...others];
    offerAll(answer);
    at("law-said").hidden = false;
    at("law-said").textContent = answer.said;
    if (live) live.restart();
    else ask();
  }

  function reset() {
    state = { control: null, settings: {} };
    at("law-said").hidden = true;
    keys = [...begin.offer.first];
    offerAll(structuredClone(begin.offer));
    if (live) live.restart();
    else ask();
  }

  // ---------------------------------------------------------------- keep, save, copy

  function keep() {
    ghosts = ghosts || !last ? null : Object.fromEntries(last.charts.map(spec => [spec.name, spec.series.map((one, k) => ({
      ...one, label: "ghost", listed: k === 0, colour: "#7a8791", dash: "dot", width: 1.4,
    }))]));
    at("keep").setAttribute("aria-pressed", String(Boolean(ghosts)));
    at("keep").textContent = ghosts ? "forget the ghost" : "keep as ghost";
    if (last && !live) drawCharts(last);
  }

  function copy() {
    const text = at("command").textContent;
    const see = () => said("Select the command below to copy it.");
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => said("The command is copied."), see);
    else see();
  }

  async function save() {
    try {
      const answer = await post("save", state);
      said(answer.refused || `Saved as ${answer.saved}; ${answer.command} runs it.`);
    } catch { said("palpate does not answer; nothing was saved."); }
  }

  // ---------------------------------------------------------------- live

  /** A live run: frames from the server, and a hand that pulls at the point where it took hold. */
  class Live {
    async begin() {
      const answer = await post("live", state);
      if (answer.refused) throw new Error(answer.refused);
      this.name = answer.live;
      this.bodies = answer.bodies;
      this.plots = this.plots || new LivePlots(at("lead"));
      answer.replay.ghost = [];
      replay.run = undefined;
      replay.renew(answer.replay);
      scene = -1;
      this.reach = answer.replay.camera.reach;
      this.source = replay.follow(`events?live=${this.name}`, at("status"));
      this.slow = answer.compiled ? "" : " The law runs in Python: it may be slower than real time.";
      at("pace").textContent = `Live.${this.slow}`;
    }

    change() {
      if (this.changing) { this.again = true; return; }
      this.changing = true;
      post("live/settings", { live: this.name, ...state }).then(answer => {
        refuse(answer.refused);
        this.changing = false;
        if (this.again) { this.again = false; this.change(); }
      }, () => { this.changing = false; });
    }

    async restart() {
      this.stop();
      try { await this.begin(); } catch (error) { refuse(error.message); }
    }

    stop() {
      if (this.source) this.source.close();
      replay.live = false;
      this.release();
      post("live/end", { live: this.name }).catch(() => {});
    }

    /** Take hold of the robot where a pointer is; whether it is there. */
    grab(event) {
      const hit = pick(event);
      if (!hit) return false;
      this.held = hit;
      this.move(event);
      return true;
    }

    move(event) {
      const { eye, direction } = ray(event), back = Shapes.unit(Shapes.minus(replay.eye, replay.centre));
      const point = this.point(), depth = dot(Shapes.minus(point, eye), back) / dot(direction, back);
      this.target = eye.map((x, k) => x + depth * direction[k]);
      this.pull();
    }

    /** Where the point that is held is now. */
    point() {
      const body = bodyPose(this.held.body);
      return apply(body, this.held.point);
    }

    pull() {
      if (!this.held || !this.target) return;
      const point = this.point(), strength = Number(at("strength").value) / (0.25 * this.reach);
      let force = this.target.map((x, k) => strength * (x - point[k]));
      const size = Math.hypot(...force), most = 2 * Number(at("strength").value);
      if (size > most) force = force.map(x => (x * most) / size);
      this.send(this.held.body, this.held.point, force);
    }

    send(body, point, force) {
      if (this.sending) { this.next = [body, point, force]; return; }
      this.sending = true;
      status(force ? `pushing with ${shown(Math.hypot(...force))} N` : "running at real time");
      post("live/push", { live: this.name, body, point, force }).then(answer => refuse(answer.refused), () => {}).finally(() => {
        this.sending = false;
        if (this.next) { const next = this.next; this.next = null; this.send(...next); }
      });
    }

    release() {
      if (!this.held && !this.tool) return;
      this.held = this.target = this.tool = null;
      this.next = null;
      this.send(-1, [0, 0, 0], null);
    }

    /** Push the tool's last body along an axis of the world, for as long as the button is held. */
    pushTool() {
      const [sign, axis] = [at("push-axis").value[0] === "+" ? 1 : -1, "xyz".indexOf(at("push-axis").value[1])];
      const force = [0, 0, 0], tool = replay.tool.slice(-3);
      force[axis] = sign * Number(at("strength").value);
      const body = this.bodies[this.bodies.length - 1];
      this.tool = { body, point: applyInverse(bodyPose(body), [...tool]), force };
      this.send(this.tool.body, this.tool.point, force);
    }
  }

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const apply = (m, p) => [0, 1, 2].map(r => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
  const applyInverse = (m, p) => { const d = [0, 1, 2].map(k => p[k] - m[12 + k]); return [0, 1, 2].map(c => m[4 * c] * d[0] + m[4 * c + 1] * d[1] + m[4 * c + 2] * d[2]); };
  const bodyPose = body => Shapes.placed(replay.between(replay.data.bodies[body].p, 3, replay.frame()), replay.between(replay.data.bodies[body].q, 4, replay.frame()));

  /** From the eye through the point of the screen where a pointer is. */
  function ray(event) {
    const box = replay.canvas.getBoundingClientRect(), eye = replay.eye, back = Shapes.unit(Shapes.minus(eye, replay.centre));
    const right = Shapes.unit(Shapes.cross([0, 0, 1], back)), up = Shapes.cross(back, right);
    const x = (2 * (event.clientX - box.left)) / box.width - 1, y = 1 - (2 * (event.clientY - box.top)) / box.height;
    const direction = [0, 1, 2].map(k => -back[k] + x * replay.half * (box.width / box.height) * right[k] + y * replay.half * up[k]);
    return { eye, direction };
  }

  /** The nearest triangle of the robot behind a pointer: its body, and the point in the body's axes. */
  function pick(event) {
    const { eye, direction } = ray(event), bodies = new Set(live.bodies);
    let best = null;
    for (const geom of replay.geoms) {
      if (!bodies.has(geom.body)) continue;
      geom.triangles = geom.triangles || Shapes.of(geom);
      const body = bodyPose(geom.body), whole = Shapes.times(body, geom.model);
      const from = applyInverse(whole, eye), ahead = Shapes.minus(applyInverse(whole, eye.map((x, k) => x + direction[k])), from);
      const far = hit(geom.triangles, from, ahead);
      if (far !== null && (!best || far < best.far)) best = { far, body: geom.body, point: applyInverse(body, eye.map((x, k) => x + far * direction[k])) };
    }
    return best;
  }

  /** How far along a ray the first triangle is; Möller and Trumbore (1997). */
  function hit({ positions, faces }, from, ahead) {
    let nearest = null;
    const corner = k => [positions[3 * faces[k]], positions[3 * faces[k] + 1], positions[3 * faces[k] + 2]];
    for (let k = 0; k < faces.length; k += 3) {
      const a = corner(k), u = Shapes.minus(corner(k + 1), a), v = Shapes.minus(corner(k + 2), a);
      const p = Shapes.cross(ahead, v), det = dot(u, p);
      if (Math.abs(det) < 1e-15) continue;
      const s = Shapes.minus(from, a), x = dot(s, p) / det, q = Shapes.cross(s, u), y = dot(ahead, q) / det, far = dot(v, q) / det;
      if (x >= 0 && y >= 0 && x + y <= 1 && far > 0 && (nearest === null || far < nearest)) nearest = far;
    }
    return nearest;
  }

  async function setMode(wanted) {
    if (wanted === Boolean(live)) return;
    if (!replay) return void refuse("The live mode needs the picture of the robot.");
    if (wanted) {
      lead = null;
      at("lead").replaceChildren();
      at("second").replaceChildren();
      second = [];
      live = new Live();
      try { await live.begin(); } catch (error) {
        live = null;
        refuse(error.message);
        return;
      }
    } else {
      live.stop();
      live = null;
      status("");
      at("lead").replaceChildren();
    }
    at("mode-live").setAttribute("aria-pressed", String(wanted));
    at("mode-run").setAttribute("aria-pressed", String(!wanted));
    at("live-tools").hidden = !wanted;
    replay.stage.classList.toggle("pushable", wanted);
    if (!wanted) ask();
  }

  function listenToHand() {
    at("replay").addEventListener("pointerdown", event => {
      if (!live || event.target.tagName !== "CANVAS" || event.button !== 0 || event.shiftKey || !live.grab(event)) return;
      event.stopPropagation();
      event.preventDefault();
      event.target.setPointerCapture(event.pointerId);
      const move = more => live && live.held && live.move(more);
      const end = () => {
        event.target.removeEventListener("pointermove", move, true);
        if (live) live.release();
      };
      event.target.addEventListener("pointermove", move, true);
      for (const kind of ["pointerup", "pointercancel"]) event.target.addEventListener(kind, end, { once: true, capture: true });
    }, { capture: true });
    at("replay").addEventListener("frame", event => {
      if (!live) return;
      live.last = event.detail;
      live.plots.add(event.detail);
      if (live.held) live.pull();
      else if (live.tool) live.send(live.tool.body, live.tool.point, live.tool.force);
      if (event.detail.said) status(event.detail.said);
    });
    const button = at("push-tool");
    const press = () => live && live.pushTool(), let_go = () => live && live.release();
    button.addEventListener("pointerdown", press);
    for (const kind of ["pointerup", "pointerleave", "blur"]) button.addEventListener(kind, let_go);
    button.addEventListener("keydown", event => { if ((event.key === " " || event.key === "Enter") && !event.repeat) press(); });
    button.addEventListener("keyup", let_go);
    at("strength").addEventListener("input", () => { at("strength").nextElementSibling.textContent = `${at("strength").value} N`; });
  }

  // ---------------------------------------------------------------- beginning

  function start() {
    let kept = null;
    try { kept = JSON.parse(sessionStorage.getItem(memory)); } catch { /* nothing was kept */ }
    keys = [...begin.offer.first];
    at("law").addEventListener("change", () => chooseLaw(at("law").value));
    at("add").addEventListener("change", () => at("add").value && addSlider(at("add").value.trim()));
    at("figure").addEventListener("change", () => ask());
    at("mode-run").addEventListener("click", () => setMode(false));
    at("mode-live").addEventListener("click", () => setMode(true));
    at("restart").addEventListener("click", () => live && live.restart());
    for (const [id, act] of [["reset", reset], ["keep", keep], ["copy", copy], ["save", save]]) at(id).addEventListener("click", act);
    listenToHand();
    if (kept && kept.state && Array.isArray(kept.keys)) return resume(kept);
    offerAll(structuredClone(begin.offer));
    return ask();
  }

  /** Go on where the page was before it was loaded again. */
  async function resume(kept) {
    try {
      const fresh = await post("offer", kept.state);
      if (fresh.refused) throw new Error(fresh.refused);
      state = kept.state;
      keys = kept.keys.filter(key => fresh.sliders.some(one => one.key === key));
      offerAll(fresh);
    } catch { offerAll(structuredClone(begin.offer)); }
    ask();
  }

  start();
  return { get state() { return state; }, get replay() { return replay; }, get lead() { return lead; }, get last() { return last; }, get live() { return live; }, get rested() { return resting(); } };
})();
