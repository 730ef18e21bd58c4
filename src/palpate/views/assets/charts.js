// Charts drawn as SVG: lines over time under one cursor that all of them share, and points and bars.
// Text is always set as text, never as markup.
"use strict";
const Palpate = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SHAPES = new Set(["svg", "g", "path", "line", "rect", "text", "circle", "clipPath"]);
  const DASHES = { solid: "", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3" };
  const BORDERS = { solid: "solid", dash: "dashed", dot: "dotted", dashdot: "dashed" };
  const SIGNS = { x: "✕", triangle: "▲", down: "▽", ring: "◯" }; // of points that are no dots, in the legend
  const INK = "#000000"; // drawn in the colour of the text, so that it is seen on a dark page too
  const HEAD = 8, FOOT = 38;
  let cursor = null, zoom = null, drawn = 0;
  const listeners = [];

  // ---------------------------------------------------------------- small things

  function make(name, attributes, parent, text) {
    const node = SHAPES.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  }

  /** Numbers as a list, or packed: little-endian floats of 4 bytes in base 64. */
  function numbers(values) {
    if (!values || !values.bdata) return values;
    return new Float32Array(Uint8Array.from(atob(values.bdata), letter => letter.charCodeAt(0)).buffer);
  }

  const colourOf = colour => (colour === INK ? "var(--ink)" : colour);

  /** Round places between two numbers, in steps of 1, 2 or 5 times a power of ten. */
  function ticks(low, high, count) {
    const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough * 0.999);
    const values = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) values.push(k * step);
    return { values, step };
  }

  function logTicks(low, high) {
    const values = [];
    for (let power = Math.floor(low); power <= Math.ceil(high); power++)
      for (const m of high - low < 1.5 ? [1, 2, 5] : [1]) {
        const place = power + Math.log10(m);
        if (place >= low - 1e-9 && place <= high + 1e-9) values.push(place);
      }
    return { values, step: 1 };
  }

  /** The power of ten to take out of an axis: none while its numbers are short. */
  function powerFor(values, step) {
    const largest = Math.max(...values.map(Math.abs), 0);
    if (!largest || (largest < 1e5 && (step > 0.999e-3 || (step > 0.999e-4 && largest > 100 * step)))) return 0;
    return 3 * Math.floor(Math.log10(largest) / 3 + 1e-9);
  }

  function fixed(value, step) {
    const digits = Math.min(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)), 12), text = value.toFixed(digits);
    return (Number(text) === 0 ? (0).toFixed(digits) : text).replace("-", "−");
  }

  const raised = power => "10" + [...String(power)].map(c => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");

  /** A number for people: four digits, powers of ten written out. */
  function shown(value) {
    if (!Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size > 0 && (size < 1e-4 || size >= 1e6)) {
      const power = Math.floor(Math.log10(size));
      return `${(value / 10 ** power).toFixed(2)}·${raised(power)}`.replace("-", "−");
    }
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }

  /** The value of a line at a time, straight between its samples. */
  function valueAt(one, time) {
    const x = one.x;
    if (!x.length || time < x[0] || time > x[x.length - 1]) return NaN;
    let low = 0, high = x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] <= time) low = middle;
      else high = middle;
    }
    const share = x[high] > x[low] ? (time - x[low]) / (x[high] - x[low]) : 0;
    return one.y[low] + share * (one.y[high] - one.y[low]);
  }

  /** Hand a file to the reader. */
  function download(name, content, type) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }

  /** A file name: the page's title, what it shows, the ending. */
  const fileName = (what, ending) =>
    `${[document.title.replace(/:.*/, ""), what].join(" ").toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "")}.${ending}`;

  // ---------------------------------------------------------------- time, shared by charts and replay

  function setTime(time, source) {
    cursor = time;
    for (const one of listeners) if (one !== source) one.showTime(time);
  }
  function setZoom(ends) {
    zoom = ends;
    for (const one of listeners) if (one.zoomed) one.zoomed();
  }
  const follow = listener => listeners.push(listener);
  const unfollow = listener => listeners.splice(listeners.indexOf(listener), listeners.includes(listener) ? 1 : 0);

  // ---------------------------------------------------------------- one chart: one pair of axes

  class Chart {
    /**
     * spec: title, unit, series, x: {title, log, names}, log, height, least (smallest span of the vertical axis),
     * time (whether x is time), marks: [start, stop, kind], meanings: {kind: text}, last (whether x is labelled).
     * A series: label, colour, kind "line" or "bars", x, y, dash, width, listed, points, base, error, runs (the run of
     * each point, which then answers a pointer), span (whether its first height is drawn from side to side).
     */
    constructor(place, spec) {
      this.place = place;
      this.spec = spec;
      this.hidden = new Set();
      this.width = 0;
      this.legend = make("div", { class: "legend" }, place);
      this.drawing = make("div", { class: "drawing" }, place);
      this.clip = `clip-${drawn++}`;
      this.values = new Map();
      this.buildLegend();
      new ResizeObserver(() => this.resized()).observe(place);
      this.resized();
      if (spec.time) follow(this);
    }

    resized() {
      const width = Math.floor(this.place.clientWidth);
      if (width < 40 || width === this.width) return;
      this.width = width;
      this.draw();
    }

    /** Above the drawing, so that it covers nothing; it shows values under the cursor, and hides lines. */
    buildLegend() {
      for (const one of this.spec.series.filter(series => series.listed)) {
        const entry = make("button", { type: "button", class: "entry", "aria-pressed": "true" }, this.legend);
        const line = one.kind === "bars" ? "10px solid" : `3px ${BORDERS[one.dash] || "solid"}`;
        if (one.kind === "points" && SIGNS[one.points.symbol]) make("i", { class: "sign", style: `color:${colourOf(one.colour)}` }, entry, SIGNS[one.points.symbol]);
        else if (one.kind === "points") make("i", { class: "dot", style: `background:${colourOf(one.colour)}` }, entry);
        else make("i", { style: `border-top:${line} ${colourOf(one.colour)}` }, entry);
        make("span", { class: "name" }, entry, one.label);
        this.values.set(one, make("b", {}, entry));
        entry.addEventListener("click", () => this.toggle(one, entry));
      }
      for (const [kind, label] of Object.entries(this.spec.meanings || {})) {
        const entry = make("span", { class: "entry" }, this.legend);
        make("i", { class: `mark ${kind}` }, entry);
        make("span", { class: "name" }, entry, label);
      }
      const files = make("span", { class: "files" }, this.legend), what = this.spec.name || "chart", title = what.replace(/ over time.*/, "");
      const offer = (kind, text, content, type) =>
        make("button", { type: "button", "aria-label": `download ${what} as ${kind}`, title: text }, files, kind)
          .addEventListener("click", () => download(fileName(title, kind.toLowerCase()), content(), type));
      offer("SVG", "this figure as a vector drawing", () => this.svg(), "image/svg+xml");
      if (this.spec.time) offer("CSV", "the lines and the stretch of time shown here, as they are drawn", () => this.csv(), "text/csv");
    }

    /** Show other lines on the same axes; the legend is built anew only where it has others. */
    renew(spec) {
      const legend = one => JSON.stringify([one.series.filter(s => s.listed).map(s => [s.label, s.colour, s.dash]), one.meanings, one.name]);
      const same = legend(spec) === legend(this.spec), places = [...this.values.values()];
      for (const one of spec.series) [one.x, one.y] = [numbers(one.x), numbers(one.y)];
      [this.spec, this.whole] = [spec, null];
      if (same) this.values = new Map(spec.series.filter(s => s.listed).map((one, k) => [one, places[k]]));
      else {
        this.values.clear();
        this.legend.replaceChildren();
        this.buildLegend();
      }
      this.draw();
    }

    /** The lines in view as a table; lines with samples of their own are taken straight between them, as they are drawn. */
    csv() {
      const [low, high] = this.ends(), lines = this.visible, quoted = text => `"${text.replaceAll('"', '""')}"`;
      const times = [...new Set(lines.flatMap(one => [...one.x]))].filter(t => t >= low && t <= high).sort((a, b) => a - b);
      const plain = value => (Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "");
      const head = ["time [s]", ...lines.map(one => `${one.label} [${this.spec.unit}]`)].map(quoted);
      return [head, ...times.map(t => [plain(t), ...lines.map(one => plain(valueAt(one, t)))])].map(row => row.join(",")).join("\r\n") + "\r\n";
    }

    /** The drawing as a file of its own: looks written into every shape, the legend on top. */
    svg() {
      const labelled = this.spec.last;
      this.spec.last = true; // alone, every figure needs its time axis
      this.draw();
      const text = this.standalone();
      this.spec.last = labelled;
      this.draw();
      return text;
    }

    standalone() {
      const svg = this.drawing.firstChild, copy = svg.cloneNode(true), [from, to] = [svg, copy].map(one => [one, ...one.querySelectorAll("*")]);
      from.forEach((node, k) => {
        const look = getComputedStyle(node);
        for (const key of ["fill", "stroke", "stroke-width", "opacity", "font-size", "font-family"]) to[k].setAttribute(key, look.getPropertyValue(key));
      });
      for (const gone of copy.querySelectorAll(".cursor, .choice")) gone.remove();
      const { width, height } = svg.viewBox.baseVal, style = getComputedStyle(document.body), head = 26;
      const look = { "font-size": "12px", "font-family": style.fontFamily, fill: style.color };
      for (const [key, value] of [["xmlns", SVG], ["viewBox", `0 ${-head} ${width} ${height + head}`], ["height", height + head]]) copy.setAttribute(key, value);
      const back = make("rect", { x: 0, y: -head, width, height: height + head, fill: style.backgroundColor });
      copy.prepend(back);
      let x = this.box[0];
      for (const one of this.visible.filter(series => series.listed)) {
        const colour = one.colour === INK ? style.color : one.colour;
        make("line", { x1: x, x2: x + 22, y1: -11, y2: -11, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": DASHES[one.dash] || "" }, copy);
        make("text", { ...look, x: x + 28, y: -7 }, copy, one.label);
        x += 46 + 7 * one.label.length;
      }
      return new XMLSerializer().serializeToString(copy);
    }

    toggle(one, entry) {
      if (!this.hidden.delete(one.label)) this.hidden.add(one.label);
      entry.setAttribute("aria-pressed", String(!this.hidden.has(one.label)));
      this.draw();
    }

    get visible() {
      return this.spec.series.filter(one => !this.hidden.has(one.label));
    }

    ends() {
      if (this.spec.time && zoom) return zoom;
      if (this.whole) return this.whole;
      let low = Infinity, high = -Infinity;
      for (const one of this.spec.series)
        for (const x of one.x) {
          low = Math.min(low, x - (one.barWidth || 0) / 2);
          high = Math.max(high, x + (one.barWidth || 0) / 2);
        }
      if (this.spec.x.names) return (this.whole = [-0.5, this.spec.x.names.length - 0.5]);
      if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
      const edge = this.spec.time ? 0 : 0.03 * (high - low);
      return (this.whole = [low - edge, high + edge]);
    }

    draw() {
      if (!this.width) return;
      this.drawing.replaceChildren();
      const [low, high] = this.ends(), spec = this.spec, foot = spec.last === false ? 8 : FOOT;
      const height = HEAD + spec.height + foot, axis = this.axis(low, high);
      const left = Math.ceil(34 + 6.8 * Math.max(5, ...axis.labels.map(label => label.length))), right = this.width - 12;
      this.toX = x => left + ((x - low) / (high - low)) * (right - left);
      this.fromX = x => low + ((x - left) / (right - left)) * (high - low);
      this.toY = y => HEAD + spec.height - ((y - axis.bottom) / (axis.top - axis.bottom)) * spec.height;
      this.box = [left, right];
      const look = { width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, role: "img", "aria-label": spec.name };
      const svg = make("svg", { class: "chart", ...look }, this.drawing);
      make("rect", { x: left, y: HEAD, width: right - left, height: spec.height }, make("clipPath", { id: this.clip }, svg));
      this.drawMarks(svg);
      this.drawAxis(svg, axis);
      const inside = make("g", { "clip-path": `url(#${this.clip})` }, svg);
      for (const one of this.visible) (one.kind === "bars" ? this.drawBars : this.drawLine).call(this, inside, one);
      if (spec.last !== false) this.drawFoot(svg, low, high);
      this.pointer(svg);
      if (spec.time && cursor !== null) this.showTime(cursor);
    }

    /** Ends, round values and labels of the vertical axis for what is in view. */
    axis(low, high) {
      let bottom = Infinity, top = -Infinity;
      const see = y => { if (Number.isFinite(y)) { bottom = Math.min(bottom, y); top = Math.max(top, y); } };
      for (const one of this.visible) {
        if (one.kind === "bars") see(0);
        for (let k = 0; k < one.y.length; k++) {
          if (this.spec.time && (one.x[k] < low || one.x[k] > high)) continue;
          see(one.y[k] + (one.base ? one.base[k] : 0) + (one.error ? one.error.up[k] : 0));
          if (one.error) see(one.y[k] - one.error.down[k]);
        }
      }
      if (!Number.isFinite(bottom)) [bottom, top] = [0, 1];
      if (!this.spec.time && top === 0 && bottom === 0) [bottom, top] = [-0.5, 0.5];
      const least = Math.max(this.spec.least || 0, 1e-12, 1e-6 * Math.max(Math.abs(top), Math.abs(bottom)));
      if (top - bottom < least) [bottom, top] = [(top + bottom - least) / 2, (top + bottom + least) / 2];
      const edge = 0.06 * (top - bottom), bars = this.visible.some(one => one.kind === "bars");
      bottom -= bars && bottom === 0 ? 0 : edge;
      top += edge;
      const marks = this.spec.log ? logTicks(bottom, top) : ticks(bottom, top, this.spec.height < 140 ? 3 : 5);
      const power = this.spec.log ? 0 : powerFor(marks.values, marks.step), factor = 10 ** power;
      const label = v => (this.spec.log ? shown(10 ** v) : fixed(v / factor, marks.step / factor));
      return { bottom, top, power, values: marks.values, labels: marks.values.map(label) };
    }

    drawMarks(svg) {
      for (const [start, stop, kind] of this.spec.marks || []) {
        const from = Math.max(this.toX(start), this.box[0]), to = Math.min(this.toX(stop), this.box[1]);
        const guard = kind === "guard", y = guard ? HEAD + this.spec.height - 5 : HEAD;
        if (to > from) make("rect", { x: from, width: to - from, y, height: guard ? 5 : this.spec.height, class: `mark ${kind}` }, svg);
      }
    }

    drawAxis(svg, axis) {
      const [left, right] = this.box, spec = this.spec, middle = HEAD + spec.height / 2;
      axis.values.forEach((value, k) => {
        const y = this.toY(value);
        make("line", { x1: left, x2: right, y1: y, y2: y, class: Math.abs(value) < 1e-12 ? "zero" : "grid" }, svg);
        make("text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "tick" }, svg, axis.labels[k]);
      });
      const power = axis.power ? `${raised(axis.power)} ` : "";
      const unit = spec.unit === "" ? "" : ` (${power}${spec.unit})`;
      const text = make("text", { "text-anchor": "middle", class: "axis", transform: `translate(13 ${middle}) rotate(-90)` }, svg, spec.title + unit);
      const room = spec.height + 14;
      if (text.getComputedTextLength() > room) {
        text.setAttribute("textLength", room);
        text.setAttribute("lengthAdjust", "spacingAndGlyphs");
      }
    }

    drawFoot(svg, low, high) {
      const x = this.spec.x, y = HEAD + this.spec.height, [left, right] = this.box;
      const marks = x.names ? { values: x.names.map((_, k) => k), step: 1 } : x.log ? logTicks(low, high) : ticks(low, high, this.width < 480 ? 4 : 8);
      const power = x.names || x.log ? 0 : powerFor(marks.values, marks.step), factor = 10 ** power;
      make("line", { x1: left, x2: right, y1: y, y2: y, class: "zero" }, svg);
      for (const value of marks.values) {
        if (value < low || value > high) continue;
        const text = x.names ? x.names[value] : x.log ? shown(10 ** value) : fixed(value / factor, marks.step / factor);
        make("line", { x1: this.toX(value), x2: this.toX(value), y1: y, y2: y + 4, class: "zero" }, svg);
        make("text", { x: this.toX(value), y: y + 17, "text-anchor": "middle", class: "tick" }, svg, text);
      }
      const title = power ? `${x.title} · ${raised(-power)}` : x.title;
      make("text", { x: (left + right) / 2, y: y + 33, "text-anchor": "middle", class: "axis" }, svg, title);
    }

    drawLine(group, one) {
      const X = k => this.toX(one.x[k]), Y = k => this.toY(one.y[k]), colour = colourOf(one.colour);
      if (one.span && one.y.length) {
        const y = this.toY(one.y[0]).toFixed(2), d = `M${this.box[0]} ${y}H${this.box[1]}`;
        make("path", { d, fill: "none", stroke: colour, "stroke-width": one.width || 1.6, "stroke-dasharray": DASHES[one.dash] || "", class: "line" }, group);
      } else if (one.kind === "line" || one.kind === "steps") {
        let d = "";
        for (let k = 0; k < one.x.length; k++) {
          const x = X(k).toFixed(1), y = Y(k).toFixed(2);
          d += k === 0 ? `M${x} ${y}` : one.kind === "steps" ? `H${x}V${y}` : `L${x} ${y}`;
        }
        make("path", { d, fill: "none", stroke: colour, "stroke-width": one.width || 1.6, "stroke-dasharray": DASHES[one.dash] || "", "stroke-linejoin": "round", class: "line" }, group);
      }
      if (!one.points) return;
      const r = one.points.size / 2, look = { class: "point", opacity: one.points.opacity || 1 };
      for (let k = 0; k < one.x.length; k++) {
        const cross = `M${X(k) - r} ${Y(k) - r}l${2 * r} ${2 * r}m${-2 * r} 0l${2 * r} ${-2 * r}`;
        if (one.points.symbol === "x") make("path", { d: cross, stroke: colour, "stroke-width": 1.6, ...look }, group);
        else if (one.points.symbol === "triangle") make("path", { d: `M${X(k)} ${Y(k) - r}l${r} ${2 * r}h${-2 * r}z`, fill: colour, ...look }, group);
        else if (one.points.symbol === "down") make("path", { d: `M${X(k)} ${Y(k) + r}l${r} ${-2 * r}h${-2 * r}z`, fill: "none", stroke: colour, "stroke-width": 1.4, ...look }, group);
        else if (one.points.symbol === "ring") make("circle", { cx: X(k), cy: Y(k), r, fill: "none", stroke: colour, "stroke-width": 2, ...look }, group);
        else make("circle", { cx: X(k), cy: Y(k), r, fill: colour, ...look }, group);
      }
    }

    drawBars(group, one) {
      for (let k = 0; k < one.x.length; k++) {
        const base = one.base ? one.base[k] : 0, a = this.toY(base), b = this.toY(base + one.y[k]);
        const from = this.toX(one.x[k] - one.barWidth / 2), to = this.toX(one.x[k] + one.barWidth / 2);
        make("rect", { x: from, width: Math.max(to - from - 1, 1), y: Math.min(a, b), height: Math.abs(a - b), fill: colourOf(one.colour), class: "bar" }, group);
        if (!one.error) continue;
        const x = (from + to) / 2, y1 = this.toY(one.y[k] - one.error.down[k]), y2 = this.toY(one.y[k] + one.error.up[k]);
        make("line", { x1: x, x2: x, y1, y2, class: "spread" }, group);
      }
    }

    // -------------------------------------------------------------- cursor and zoom

    /** Points that are runs answer a pointer and a click; what they say is the page's (runs.js). */
    runs(svg) {
      const ring = make("circle", { r: 8, fill: "none", class: "chosen", visibility: "hidden" }, svg);
      const nearest = event => {
        const box = svg.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
        let best = null, least = event.pointerType === "touch" ? 28 : 18;
        for (const one of this.visible.filter(series => series.runs))
          for (let k = 0; k < one.x.length; k++) {
            const [px, py] = [this.toX(one.x[k]), this.toY(one.y[k])], far = Math.hypot(px - x, py - y);
            if (far < least) [best, least] = [{ run: one.runs[k], x: px, y: py }, far];
          }
        return best;
      };
      const leave = () => { if (!Palpate.runs) return; ring.setAttribute("visibility", "hidden"); svg.style.cursor = ""; Palpate.runs.leave(); };
      svg.addEventListener("pointermove", event => {
        const one = nearest(event);
        if (!Palpate.runs) return;
        if (!one) return leave();
        for (const [key, value] of [["cx", one.x], ["cy", one.y], ["visibility", "visible"]]) ring.setAttribute(key, value);
        svg.style.cursor = "pointer";
        Palpate.runs.point(one.run, event.clientX, event.clientY);
      });
      svg.addEventListener("pointerleave", leave);
      svg.addEventListener("click", event => {
        const one = nearest(event);
        if (one) Palpate.runs.open(one.run, this.place.closest(".plot"));
      });
    }

    pointer(svg) {
      if (this.spec.series.some(one => one.runs)) this.runs(svg);
      if (!this.spec.time) return;
      const tall = { y1: HEAD, y2: HEAD + this.spec.height }, box = { y: HEAD, height: this.spec.height };
      this.line = make("line", { ...tall, class: "cursor", visibility: "hidden" }, svg);
      const choice = make("rect", { ...box, class: "choice", visibility: "hidden" }, svg);
      const at = event => {
        const x = event.clientX - svg.getBoundingClientRect().left;
        return this.fromX(Math.min(Math.max(x, this.box[0]), this.box[1]));
      };
      let from = null;
      svg.addEventListener("pointerdown", event => { if (event.pointerType === "mouse" && event.button === 0) from = at(event); });
      svg.addEventListener("pointermove", event => {
        const time = at(event);
        setTime(time, null);
        if (from === null) return;
        const [a, b] = [this.toX(from), this.toX(time)].sort((p, q) => p - q);
        choice.setAttribute("x", a);
        choice.setAttribute("width", b - a);
        choice.setAttribute("visibility", b - a > 6 ? "visible" : "hidden");
      });
      svg.addEventListener("pointerup", event => {
        if (from === null) return;
        const both = [from, at(event)].sort((p, q) => p - q);
        from = null;
        choice.setAttribute("visibility", "hidden");
        if (this.toX(both[1]) - this.toX(both[0]) > 6) setZoom(both);
      });
      svg.addEventListener("dblclick", () => setZoom(null));
    }

    zoomed() {
      this.draw();
    }

    showTime(time) {
      if (!this.line) return;
      const x = this.toX(time), inside = x >= this.box[0] - 0.5 && x <= this.box[1] + 0.5;
      this.line.setAttribute("x1", x);
      this.line.setAttribute("x2", x);
      this.line.setAttribute("visibility", inside ? "visible" : "hidden");
      for (const [one, place] of this.values) place.textContent = `${shown(valueAt(one, time))} ${this.spec.unit}`;
    }
  }

  /** Draw the charts of a page; those inside a fold are drawn when it opens. */
  function drawAll(charts) {
    for (const chart of charts) {
      const place = document.getElementById(chart.id);
      if (chart.data) drawTraces(place, chart); // of a sweep, see sweeps.js
      else {
        for (const one of chart.series) [one.x, one.y] = [numbers(one.x), numbers(one.y)];
        new Chart(place, chart);
      }
    }
  }

  return { Chart, make, numbers, ticks, shown, setTime, setZoom, follow, unfollow, drawAll, download, fileName };
})();
