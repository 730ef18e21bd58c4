// Charts of a sweep: points, lines and bars from traces with a layout, and parallel coordinates.
"use strict";
const drawTraces = (() => {
  const { Chart, make, shown } = Palpate;

  function drawTraces(place, chart) {
    if (chart.data[0].type === "parcoords") return parallel(place, chart);
    const layout = chart.layout, xaxis = layout.xaxis || {}, yaxis = layout.yaxis || {};
    const logX = xaxis.type === "log", logY = yaxis.type === "log";
    const names = xaxis.names || (typeof (chart.data[0].x[0]) === "string" ? chart.data[0].x : null);
    const bars = chart.data.filter(one => one.type === "bar");
    const series = chart.data.map((one, k) => (one.type === "bar" ? barsOf(one, k, bars, layout, names) : lineOf(one, logX, logY)));
    if (layout.barmode === "stack") stack(series);
    const titles = [xaxis, yaxis].map(axis => (axis.title ? axis.title.text : ""));
    const legend = layout.showlegend !== false;
    for (const one of series) one.listed = one.listed && legend;
    return new Chart(place, {
      name: `${titles[1]} over ${titles[0]}`, title: titles[1], unit: "", log: logY, height: layout.height - 90, series,
      x: { title: titles[0], log: logX, names },
    });
  }

  function lineOf(one, logX, logY) {
    const mode = one.mode || "lines", marker = one.marker || {}, line = one.line || {};
    const values = (list, log) => list.map(value => (log ? Math.log10(value) : value));
    return {
      label: one.name, colour: line.color || marker.color || "#0072B2", listed: one.showlegend !== false,
      kind: mode.includes("lines") ? (line.shape === "hv" ? "steps" : "line") : "points",
      x: values(one.x, logX), y: values(one.y, logY), dash: line.dash, width: line.width, span: line.span, runs: one.runs,
      points: mode.includes("markers") ? { size: marker.size || 6, symbol: marker.symbol, opacity: marker.opacity } : null,
    };
  }

  function barsOf(one, place, bars, layout, names) {
    const grouped = layout.barmode === "group", wide = names ? 0.8 : one.width, width = grouped ? wide / bars.length : wide;
    const x = one.x.map((value, k) => (names ? k : value) + (grouped ? (place - (bars.length - 1) / 2) * width : 0));
    const error = one.error_y ? { up: one.error_y.array, down: one.error_y.arrayminus || one.error_y.array } : null;
    return { label: one.name, colour: one.marker.color, kind: "bars", listed: true, x, y: one.y, barWidth: width, error };
  }

  function stack(series) {
    const height = new Map();
    for (const one of series) {
      one.base = one.x.map(x => height.get(x) || 0);
      one.x.forEach((x, k) => height.set(x, one.base[k] + one.y[k]));
    }
  }

  // ---------------------------------------------------------------- parallel coordinates

  function parallel(place, chart) {
    const trace = chart.data[0], axes = trace.dimensions, colours = trace.line.colorscale;
    const colour = value => (value ? colours[colours.length - 1][1] : colours[0][1]);
    const chosen = axes.map(() => null), drawing = make("div", { class: "drawing" }, place);
    const ends = axes.map(axis => {
      const low = Math.min(...axis.values), high = Math.max(...axis.values);
      return high > low ? [low, high] : [low - 0.5, low + 0.5];
    });
    let width = 0;

    function draw() {
      drawing.replaceChildren();
      const height = chart.layout.height, top = 62, bottom = height - 20, side = 56;
      const svg = make("svg", { class: "chart parallel", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "parallel coordinates of the runs" }, drawing);
      const X = a => side + (a * (width - 2 * side)) / Math.max(axes.length - 1, 1);
      const Y = (a, v) => bottom - ((v - ends[a][0]) / (ends[a][1] - ends[a][0])) * (bottom - top);
      trace.line.color.forEach((value, run) => {
        const kept = axes.every((axis, a) => !chosen[a] || (axis.values[run] >= chosen[a][0] && axis.values[run] <= chosen[a][1]));
        const d = axes.map((axis, a) => `${a ? "L" : "M"}${X(a).toFixed(1)} ${Y(a, axis.values[run]).toFixed(1)}`).join("");
        make("path", { d, fill: "none", stroke: colour(value), "stroke-width": 1, opacity: kept ? 0.5 : 0.04, class: "line" }, svg);
      });
      axes.forEach((axis, a) => drawAxis(svg, axis, a, X(a), v => Y(a, v), y => ends[a][0] + ((bottom - y) / (bottom - top)) * (ends[a][1] - ends[a][0]), top, bottom));
    }

    function drawAxis(svg, axis, a, x, toY, fromY, top, bottom) {
      make("line", { x1: x, x2: x, y1: top, y2: bottom, class: "zero" }, svg);
      make("text", { transform: `translate(${x - 20} ${top - 14}) rotate(-12)`, class: "axis" }, svg, axis.label);
      const places = axis.tickvals || Palpate.ticks(ends[a][0], ends[a][1], 4).values;
      places.forEach((value, k) => make("text", { x: x + 5, y: toY(value) + 4, class: "tick" }, svg, axis.ticktext ? axis.ticktext[k] : shown(value)));
      if (chosen[a]) make("rect", { x: x - 6, width: 12, y: toY(chosen[a][1]), height: Math.abs(toY(chosen[a][0]) - toY(chosen[a][1])), class: "choice" }, svg);
      const grip = make("rect", { x: x - 12, width: 24, y: top, height: bottom - top, fill: "transparent", class: "grip" }, svg);
      let from = null;
      const at = event => fromY(Math.min(Math.max(event.clientY - svg.getBoundingClientRect().top, top), bottom));
      grip.addEventListener("pointerdown", event => { from = at(event); grip.setPointerCapture(event.pointerId); });
      grip.addEventListener("pointerup", event => {
        const both = [from, at(event)].sort((p, q) => p - q);
        chosen[a] = both[1] - both[0] > 0.02 * (ends[a][1] - ends[a][0]) ? both : null;
        draw();
      });
    }

    const resized = () => {
      const now = Math.floor(place.clientWidth);
      if (now < 40 || now === width) return;
      width = now;
      draw();
    };
    new ResizeObserver(resized).observe(place);
    resized();
  }

  return drawTraces;
})();
