// Plots of a run under way: each frame brings the numbers of one instant, and the last seconds are shown.
"use strict";
const LiveSeconds = 10;

class LivePlots {
  constructor(place) {
    this.place = place;
    this.charts = new Map();
  }

  /** Begin anew. */
  clear() {
    this.place.replaceChildren();
    this.charts.clear();
  }

  add({ time, plots, run }) {
    if (run !== this.run) this.clear();
    this.run = run;
    for (const plot of plots || []) this.addTo(this.charts.get(plot.title) || this.begin(plot), time, plot.lines);
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    }
  }

  begin(plot) {
    const colours = ["#0072B2", "#E69F00", "#CC79A7", "#009E73"], dashes = ["solid", "dot", "dash", "solid"];
    const series = Object.keys(plot.lines).map((label, k) => ({ label, kind: "line", listed: true, colour: colours[k % 4], dash: dashes[k % 4], x: [], y: [] }));
    const spec = { name: `${plot.title} in ${plot.unit} over time in s`, title: plot.title.split(" ")[0], unit: plot.unit, height: 150, time: true, last: true, x: { title: "time (s)" }, series, marks: [], least: plot.unit === "N" ? 1 : 1e-3 };
    const one = { chart: new Palpate.Chart(Palpate.make("div", { class: "plot" }, this.place), spec), spec };
    this.charts.set(plot.title, one);
    return one;
  }

  addTo({ spec }, time, lines) {
    for (const one of spec.series) {
      if (one.x.length && time <= one.x[one.x.length - 1]) continue; // the connection was made anew
      one.x.push(time);
      one.y.push(lines[one.label] ?? 0);
      let old = 0;
      while (one.x[old] < time - LiveSeconds) old++;
      if (old) [one.x, one.y] = [one.x.slice(old), one.y.slice(old)];
    }
  }

  draw() {
    for (const { chart, spec } of this.charts.values()) {
      chart.renew(spec);
      chart.showTime(spec.series[0].x.at(-1)); // the legend shows the numbers of now
    }
  }
}

for (const place of document.querySelectorAll(".live-plots")) {
  const plots = (place.plots = new LivePlots(place));
  document.querySelector(".replay").addEventListener("frame", event => plots.add(event.detail));
}
