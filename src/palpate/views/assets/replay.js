// The 3D replay of a run, drawn by WebGL: bodies where the trace says, forces as arrows, a time line shared with charts.
"use strict";
class Replay {
  constructor(place, data) {
    const { make } = Palpate;
    this.place = place;
    this.take(data);
    this.ghost = true;
    const [start, end] = [this.times[0] || 0, this.times[this.times.length - 1] || 0];
    this.time = Math.min(Math.max(data.strongest ? data.strongest.time : start, start), end); // where something is to be seen
    this.stage = make("div", { class: "stage" }, place);
    this.canvas = make("canvas", { tabindex: "0", role: "img", "aria-label": "3D replay; drag to turn, Ctrl and wheel to zoom" }, this.stage);
    this.label();
    this.scale = make("div", { class: "scale" }, this.stage);
    make("i", {}, this.scale);
    make("span", {}, this.scale);
    this.buildControls(make("div", { class: "transport" }, place));
    this.buildTools(make("div", { class: "transport tools" }, place));
    this.gl = this.canvas.getContext("webgl2", { antialias: true });
    if (!this.gl) {
      this.stage.replaceChildren(make("p", { class: "soft" }, null, "This browser shows no 3D: it has no WebGL 2."));
      return;
    }
    this.prepare();
    this.resetView();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.stage);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    Palpate.follow(this);
    this.draw();
    addEventListener("hashchange", () => this.goToLink());
    this.goToLink();
  }

  // ---------------------------------------------------------------- what it shows

  take(data) {
    const { numbers } = Palpate;
    this.data = data;
    this.times = numbers(data.times);
    for (const body of data.bodies) [body.p, body.q] = [numbers(body.p), numbers(body.q)];
    for (const arrow of data.arrows) [arrow.force, arrow.start] = [numbers(arrow.force), numbers(arrow.start)];
    if (data.target) [data.target.p, data.target.q] = [numbers(data.target.p), numbers(data.target.q)];
    for (const one of data.ghost) [one.p, one.q] = [numbers(one.p), numbers(one.q)];
    this.tool = numbers(data.tool);
  }

  /** One label for each arrow. */
  label() {
    for (const old of this.labels || []) old.remove();
    this.labels = this.data.arrows.map(arrow => Palpate.make("span", { class: `force ${arrow.name}` }, this.stage));
  }

  /** Another run: of the same scene its frames, or a scene of its own; the view and the time stay. */
  renew(data) {
    const other = "geoms" in data, before = this.data.arrows.map(arrow => arrow.name).join(), reach = this.data.camera.reach;
    this.take(other ? data : { ...this.data, ...data });
    if (other || this.data.arrows.map(arrow => arrow.name).join() !== before) this.label();
    [this.slider.min, this.slider.max] = [this.times[0] || 0, this.times[this.times.length - 1] || 0];
    if (this.gl && other) this.prepareScene();
    else if (this.gl) this.renewTrail();
    if (other && Math.abs(this.data.camera.reach / reach - 1) > 0.3) this.resetView();
    this.time = Math.min(Math.max(this.time, this.times[0] || 0), this.times[this.times.length - 1] || 0);
    this.showClock();
    this.draw();
  }

  // ---------------------------------------------------------------- controls

  buildControls(bar) {
    const { make } = Palpate, first = this.times[0] || 0, end = this.times[this.times.length - 1] || 0;
    this.button = make("button", { type: "button", class: "play", "aria-label": "play or pause" }, bar, "▶");
    this.slider = make("input", { type: "range", min: first, max: end, step: "any", value: this.time, "aria-label": "time" }, bar);
    this.clock = make("output", {}, bar);
    this.speed = make("select", { "aria-label": "speed" }, bar);
    for (const speed of [0.1, 0.25, 0.5, 1, 2]) make("option", speed === 1 ? { value: speed, selected: "" } : { value: speed }, this.speed, `${speed} ×`);
    make("button", { type: "button", class: "view" }, bar, "reset view").addEventListener("click", () => { this.resetView(); this.draw(); });
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    this.slider.addEventListener("input", () => { this.pause(); this.go(Number(this.slider.value)); });
    this.showClock();
  }

  /** Views, what is shown, and what can be taken away: a picture, a video, a link to this moment. */
  buildTools(bar) {
    const { make } = Palpate, view = make("select", { "aria-label": "view" }, bar);
    for (const [value, text] of [["", "view …"], ["start", "as at first"], ["front", "from the front (+x)"], ["side", "from the side (−y)"], ["above", "from above"], ["corner", "from a corner"]])
      make("option", { value }, view, text);
    if (this.tool) make("option", { value: "tool" }, view, "close to the tool");
    view.addEventListener("change", () => { this.setView(view.value); view.value = ""; this.draw(); });
    const choice = (text, key) => {
      const label = make("label", {}, bar), box = make("input", this[key] ? { type: "checkbox", checked: "" } : { type: "checkbox" }, label);
      label.append(text);
      box.addEventListener("change", () => { this[key] = box.checked; this.draw(); });
    };
    if (this.tool) choice("follow the tool", "following");
    if (this.data.ghost.length) choice("target", "ghost");
    const button = (text, title, act) => { const one = make("button", { type: "button", title }, bar, text); one.addEventListener("click", () => act(one)); return one; };
    button("picture", "download what is shown as PNG", () => this.picture().toBlob(blob => Palpate.download(Palpate.fileName(`${this.time.toFixed(3)} s`, "png"), blob)));
    const video = button("video", "download the run as a video, at the chosen speed; it takes as long as it lasts", one => this.record(one));
    this.videoKind = typeof MediaRecorder === "undefined" ? null : ["video/webm;codecs=vp8", "video/webm", "video/mp4"].find(kind => MediaRecorder.isTypeSupported(kind));
    if (!this.videoKind) [video.disabled, video.title] = [true, "this browser records no video"];
    if (location.protocol !== "about:") button("link", "put this moment into the address, and copy it", one => this.link(one));
  }

  link(button) {
    history.replaceState(null, "", `#t=${Number(this.time.toFixed(4))}`);
    const said = text => { button.textContent = text; setTimeout(() => { button.textContent = "link"; }, 2000); };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => said("copied"), () => said("see address"));
    else said("see address");
  }

  /** Go to the moment in the page's address, #t=1.25. */
  goToLink() {
    const match = location.hash.match(/^#t=(-?[\d.]+)$/);
    if (!match) return;
    this.pause();
    this.go(Math.min(Math.max(Number(match[1]), this.times[0]), this.times[this.times.length - 1]));
    if (!document.body.classList.contains("alone")) this.stage.scrollIntoView({ block: "center" });
  }

  /** What is shown, with forces and scale, on a canvas of its own. */
  picture(paper = document.createElement("canvas"), drawn = false) {
    if (!drawn) this.draw();
    const sharp = this.canvas.width / this.canvas.clientWidth, look = getComputedStyle(this.stage);
    if (paper.width !== this.canvas.width || paper.height !== this.canvas.height) [paper.width, paper.height] = [this.canvas.width, this.canvas.height];
    const pen = paper.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(this.canvas, 0, 0);
    pen.scale(sharp, sharp);
    pen.font = `13px ${look.fontFamily}`;
    const write = (text, x, y) => {
      const width = pen.measureText(text).width;
      pen.fillStyle = look.getPropertyValue("--paper");
      pen.fillRect(x - width / 2 - 5, y - 14, width + 10, 19);
      pen.fillStyle = look.color;
      pen.fillText(text, x - width / 2, y);
    };
    this.labels.forEach(label => { if (!label.hidden) write(label.textContent, label.at[0], label.at[1] - 22); });
    write(`${this.time.toFixed(2)} s`, this.canvas.clientWidth - 45, 24);
    if (!this.scale.hidden) {
      const width = parseFloat(this.scale.firstChild.style.width), y = this.canvas.clientHeight - 16;
      pen.fillStyle = look.color;
      pen.fillRect(16, y - 14, width, 2);
      pen.fillText(this.scale.lastChild.textContent, 16, y + 3);
    }
    return paper;
  }

  /** Play from the beginning and keep what is seen as a video. */
  record(button) {
    if (this.recorder) return this.pause();
    const paper = this.picture(), parts = [], recorder = new MediaRecorder(paper.captureStream(), { mimeType: this.videoKind, videoBitsPerSecond: 6e6 });
    recorder.addEventListener("dataavailable", event => parts.push(event.data));
    recorder.addEventListener("stop", () => {
      this.recorder = null;
      button.textContent = "video";
      this.pause();
      const kind = this.videoKind.split(";")[0];
      Palpate.download(Palpate.fileName("replay", kind.split("/")[1]), new Blob(parts, { type: kind }));
    });
    this.recorder = recorder;
    this.pause();
    this.go(this.times[0]);
    setTimeout(() => recorder.state === "inactive" && recorder.start(500), 200); // the stream's first frame is black
    let wait = performance.now() + 600; // and the recorder takes a moment to begin and to end
    const keep = now => {
      if (!this.recorder) return;
      const end = this.times[this.times.length - 1], over = this.time >= end, before = now < wait;
      if (this.begun && over && !this.playing) {
        if (this.begun !== "over") [this.begun, wait] = ["over", now + 700];
        else if (!before) return recorder.stop();
      } else if (this.begun && !this.playing) return recorder.stop(); // the reader paused it
      if (!this.begun && !before) { this.begun = "playing"; this.play(); }
      this.picture(paper, this.playing);
      button.textContent = `stop (${Math.round((100 * (this.time - this.times[0])) / (end - this.times[0] || 1))} %)`;
      requestAnimationFrame(keep);
    };
    this.begun = null;
    requestAnimationFrame(keep);
  }

  showClock() {
    this.clock.textContent = `${this.time.toFixed(3)} s`;
    this.slider.value = this.time;
  }

  play() {
    if (this.time >= this.times[this.times.length - 1] - 1e-6) this.time = this.times[0];
    this.playing = true;
    this.button.textContent = "❚❚";
    let before = performance.now();
    const step = now => {
      if (!this.playing) return;
      const next = this.time + (Math.max(now - before, 0) / 1000) * Number(this.speed.value), end = this.times[this.times.length - 1];
      before = now;
      this.go(Math.min(next, end));
      if (next >= end) this.pause();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶";
  }

  go(time) {
    this.time = time;
    this.showClock();
    this.draw();
    Palpate.setTime(time, this);
  }

  /** The cursor of a chart was moved. */
  showTime(time) {
    if (this.playing) return;
    this.time = Math.min(Math.max(time, this.times[0]), this.times[this.times.length - 1]);
    this.showClock();
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    }
  }

  // ---------------------------------------------------------------- camera

  resetView() {
    const { centre, direction, distance } = this.data.camera;
    this.centre = [...centre];
    this.distance = distance;
    this.azimuth = Math.atan2(direction[1], direction[0]);
    this.height = Math.asin(direction[2] / Math.hypot(...direction));
  }

  /** A view by name; the distance stays that of the first one, but for a look at the tool. */
  setView(name) {
    this.resetView();
    const directions = { front: [1, 0, 0], side: [0, -1, 0], above: [0, -0.02, 1], corner: [1, -1, 0.8] }, direction = directions[name];
    if (name === "tool") [this.centre, this.distance] = [this.between(this.tool, 3, this.frame()), this.distance / 3];
    if (!direction) return;
    this.azimuth = Math.atan2(direction[1], direction[0]);
    this.height = Math.asin(direction[2] / Math.hypot(...direction));
  }

  get eye() {
    const c = Math.cos(this.height), d = this.distance;
    return [this.centre[0] + d * c * Math.cos(this.azimuth), this.centre[1] + d * c * Math.sin(this.azimuth), this.centre[2] + d * Math.sin(this.height)];
  }

  listen() {
    const canvas = this.canvas, held = new Map();
    const apart = () => { const [a, b] = [...held.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
    canvas.addEventListener("pointerdown", event => { held.set(event.pointerId, [event.clientX, event.clientY]); canvas.setPointerCapture(event.pointerId); });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, event => held.delete(event.pointerId));
    canvas.addEventListener("pointermove", event => {
      const last = held.get(event.pointerId);
      if (!last) return;
      const before = held.size > 1 ? apart() : 0, [dx, dy] = [event.clientX - last[0], event.clientY - last[1]];
      held.set(event.pointerId, [event.clientX, event.clientY]);
      if (held.size > 1) this.zoomBy(before / Math.max(apart(), 1));
      else if (event.shiftKey || event.buttons === 2) this.pan(dx, dy);
      else this.turn(dx, dy);
      this.draw();
    });
    canvas.addEventListener("contextmenu", event => event.preventDefault());
    canvas.addEventListener("wheel", event => { // the page scrolls on until the replay was clicked
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      this.zoomBy(Math.exp(event.deltaY / 600));
      this.draw();
    }, { passive: false });
    canvas.addEventListener("keydown", event => {
      if (event.key !== " ") return;
      event.preventDefault();
      this.button.click();
    });
  }

  turn(dx, dy) {
    this.azimuth -= dx / 150;
    this.height = Math.min(Math.max(this.height + dy / 150, -1.5), 1.5);
  }

  pan(dx, dy) {
    const { unit, minus, cross } = Shapes, back = unit(minus(this.eye, this.centre)), right = unit(cross([0, 0, 1], back)), up = cross(back, right);
    const each = this.distance / this.canvas.clientHeight;
    this.centre = this.centre.map((x, k) => x - each * (dx * right[k] - dy * up[k]));
  }

  zoomBy(factor) {
    const { distance } = this.data.camera;
    this.distance = Math.min(Math.max(this.distance * factor, distance / 20), distance * 5);
  }

  // ---------------------------------------------------------------- what is drawn

  prepare() {
    const gl = this.gl;
    const compiled = (kind, text) => { const shader = gl.createShader(kind); gl.shaderSource(shader, text); gl.compileShader(shader); return shader; };
    this.program = gl.createProgram();
    gl.attachShader(this.program, compiled(gl.VERTEX_SHADER, `#version 300 es
      in vec3 position, normal; uniform mat4 model, camera; out vec3 facing, there;
      void main() { vec4 p = model * vec4(position, 1.); there = p.xyz; facing = mat3(model) * normal; gl_Position = camera * p; }`));
    gl.attachShader(this.program, compiled(gl.FRAGMENT_SHADER, `#version 300 es
      precision highp float; in vec3 facing, there; uniform vec4 colour; uniform vec3 eye; uniform float lit; out vec4 seen;
      void main() {
        vec3 n = normalize(facing), v = normalize(eye - there); if (dot(n, v) < 0.) n = -n;
        vec3 sun = normalize(vec3(.4, -.6, 1.)), fill = normalize(vec3(-.7, .2, .3));
        float light = .38 + .2 * n.z * .5 + .5 * max(dot(n, sun), 0.) + .16 * max(dot(n, fill), 0.);
        float shine = .18 * pow(max(dot(n, normalize(sun + v)), 0.), 30.);
        seen = lit > .5 ? vec4(colour.rgb * light + shine, colour.a) : colour; }`));
    gl.linkProgram(this.program);
    gl.useProgram(this.program);
    this.at = {};
    for (const name of ["model", "camera", "colour", "eye", "lit"]) this.at[name] = gl.getUniformLocation(this.program, name);
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    this.prepareScene();
  }

  prepareScene() {
    const data = this.data, reach = data.camera.reach;
    for (const old of this.drawn || []) this.release(old);
    this.drawn = [];
    this.trail = null;
    this.geoms = data.geoms.map(geom => ({ ...geom, model: Shapes.placed(geom.position, geom.quat_wxyz), buffer: this.buffer(Shapes.of(geom)) }));
    this.geoms.sort((a, b) => (a.rgba[3] < 1) - (b.rgba[3] < 1)); // what can be seen through comes last
    this.shaft = this.buffer(Shapes.of({ shape: "cylinder", size: [0.009 * reach, 0.5] }));
    this.head = this.buffer(Shapes.cone(0.026 * reach, 0.06 * reach));
    this.needle = this.buffer(Shapes.of({ shape: "cylinder", size: [0.0025 * reach, 0.5] }));
    this.point = this.buffer(Shapes.cone(0.009 * reach, 0.025 * reach)); // thin arrows where many stand side by side
    this.axis = this.buffer(Shapes.of({ shape: "cylinder", size: [0.0028 * reach, 0.5] }));
    this.floor = this.lines(this.grid());
    this.renewTrail();
  }

  renewTrail() {
    if (this.trail) this.release(this.trail);
    this.trail = this.tool && this.tool.length > 3 ? this.lines(this.pairs(this.tool)) : null;
  }

  release(drawn) {
    this.gl.deleteVertexArray(drawn.array);
    for (const one of drawn.buffers) this.gl.deleteBuffer(one);
    this.drawn = this.drawn.filter(one => one.array !== drawn.array);
  }

  buffer({ positions, normals, faces }) {
    const gl = this.gl, array = gl.createVertexArray(), buffers = [0, 1, 2].map(() => gl.createBuffer());
    gl.bindVertexArray(array);
    [["position", positions], ["normal", normals]].forEach(([name, values], k) => {
      const place = gl.getAttribLocation(this.program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[k]);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[2]);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(faces), gl.STATIC_DRAW);
    const made = { array, buffers, count: faces.length, mode: gl.TRIANGLES };
    this.drawn.push(made);
    return made;
  }

  lines(points) {
    const count = points.length / 3, order = [];
    for (let k = 0; k + 1 < count; k += 2) order.push(k, k + 1);
    return { ...this.buffer({ positions: points, normals: points.map(() => 0), faces: order }), mode: this.gl.LINES };
  }

  /** A path as the ends of its pieces. */
  pairs(path) {
    const points = [];
    for (let k = 0; k + 3 < path.length; k += 3) points.push(...path.slice(k, k + 6));
    return points;
  }

  grid() {
    const { centre, half, cell, z } = this.data.floor, points = [];
    for (let k = -half; k <= half; k++)
      points.push(centre[0] + k * cell, centre[1] - half * cell, z, centre[0] + k * cell, centre[1] + half * cell, z,
        centre[0] - half * cell, centre[1] + k * cell, z, centre[0] + half * cell, centre[1] + k * cell, z);
    return points;
  }

  /** Two frames around a time, and how far it lies between them. */
  frame() {
    const times = this.times;
    let k = 0;
    while (k + 2 < times.length && times[k + 1] <= this.time) k++;
    const next = Math.min(k + 1, times.length - 1), gap = times[next] - times[k];
    return [k, next, gap > 0 ? Math.min(Math.max((this.time - times[k]) / gap, 0), 1) : 0];
  }

  between(values, width, [k, next, share]) {
    if (values.length === width) return [...values];
    const a = [...values.slice(k * width, (k + 1) * width)], b = [...values.slice(next * width, (next + 1) * width)];
    const sign = width === 4 && a.reduce((sum, x, i) => sum + x * b[i], 0) < 0 ? -1 : 1;
    const mixed = a.map((x, i) => (1 - share) * x + share * sign * b[i]);
    return width === 4 ? mixed.map(x => x / Math.hypot(...mixed)) : mixed;
  }

  draw() {
    if (!this.gl || !this.times.length || !this.canvas.isConnected) return;
    const gl = this.gl, canvas = this.canvas, sharp = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map(x => Math.max(1, Math.round(x * sharp)));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    const style = getComputedStyle(canvas), back = style.getPropertyValue("--stage").match(/[\d.]+/g).map(x => x / 255);
    gl.clearColor(back[0], back[1], back[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (this.following) this.centre = this.between(this.tool, 3, this.frame());
    const eye = this.eye, reach = this.data.camera.reach;
    this.half = Math.tan(0.35) * Math.max(1, height / width); // a tall narrow screen shows as much from side to side
    this.camera = Shapes.times(Shapes.perspective(2 * Math.atan(this.half), width / height, 0.01 * reach, 60 * reach), Shapes.looking(eye, this.centre));
    gl.uniformMatrix4fv(this.at.camera, false, this.camera);
    gl.uniform3fv(this.at.eye, eye);
    this.drawScene(this.frame(), back);
  }

  drawScene(frame, back) {
    const gl = this.gl, still = Shapes.placed([0, 0, 0], [1, 0, 0, 0]), grey = back.map(x => x + (x > 0.5 ? -0.12 : 0.12));
    this.drawOne(this.floor, still, [...grey, 1], 0);
    if (this.trail) this.drawOne(this.trail, still, [0, 0.45, 0.7, 1], 0);
    const bodies = this.data.bodies.map(body => Shapes.placed(this.between(body.p, 3, frame), this.between(body.q, 4, frame)));
    const solid = this.geoms.filter(geom => geom.rgba[3] >= 1), clear = this.geoms.filter(geom => geom.rgba[3] < 1);
    for (const geom of solid) this.drawOne(geom.buffer, Shapes.times(bodies[geom.body], geom.model), geom.rgba, 1);
    this.drawTarget(frame);
    this.data.arrows.forEach((arrow, k) => this.drawArrow(arrow, this.labels[k], frame));
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    for (const geom of clear) this.drawOne(geom.buffer, Shapes.times(bodies[geom.body], geom.model), geom.rgba, 1);
    gl.depthMask(true);
    if (this.ghost) this.drawGhost(frame);
    gl.disable(gl.BLEND);
    this.drawScale(frame);
  }

  drawOne(buffer, model, colour, lit) {
    const gl = this.gl;
    gl.uniformMatrix4fv(this.at.model, false, model);
    gl.uniform4fv(this.at.colour, colour);
    gl.uniform1f(this.at.lit, lit);
    gl.bindVertexArray(buffer.array);
    gl.drawElements(buffer.mode, buffer.count, gl.UNSIGNED_INT, 0);
  }

  drawRod(buffer, start, along, colour) {
    const length = Math.hypot(...along), middle = start.map((x, k) => x + along[k] / 2);
    this.drawOne(buffer, Shapes.placed(middle, Shapes.turnOfZ(along), length), colour, 1);
  }

  /** What hangs on the tool, or the whole arm, where the reference wants it. */
  drawGhost(frame) {
    const gl = this.gl;
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(2, 4); // where the robot is at its target, only the robot is seen
    for (const one of this.data.ghost) {
      const body = Shapes.placed(this.between(one.p, 3, frame), this.between(one.q, 4, frame));
      for (const geom of this.geoms) if (geom.body === one.body) this.drawOne(geom.buffer, Shapes.times(body, geom.model), [0, 0.45, 0.7, 0.3], 1);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  drawTarget(frame) {
    const target = this.data.target;
    if (!target) return;
    const position = this.between(target.p, 3, frame), turn = Shapes.placed([0, 0, 0], this.between(target.q, 4, frame));
    // Thin, short and pale, so that nobody takes them for forces.
    const length = 0.075 * this.data.camera.reach, colours = [[0.8, 0.5, 0.55, 1], [0.5, 0.72, 0.55, 1], [0.5, 0.6, 0.82, 1]];
    for (let k = 0; k < 3; k++) this.drawRod(this.axis, position, turn.slice(4 * k, 4 * k + 3).map(x => x * length), colours[k]);
  }

  drawArrow(arrow, label, frame) {
    const force = this.between(arrow.force, 3, frame), size = Math.hypot(...force), reach = this.data.camera.reach;
    label.hidden = !(size * arrow.scale >= 0.005 * reach);
    if (label.hidden) return;
    const start = this.between(arrow.start, 3, frame), along = force.map(x => x * arrow.scale), length = size * arrow.scale;
    const [rod, head, tall] = arrow.label ? [this.shaft, this.head, 0.06] : [this.needle, this.point, 0.025];
    const shaft = Math.max(length - tall * reach, 0.002 * reach), colour = [...arrow.colour.map(x => x / 255), 1];
    const direction = along.map(x => x / length), end = start.map((x, k) => x + direction[k] * shaft);
    this.drawRod(rod, start, direction.map(x => x * shaft), colour);
    this.drawOne(head, Shapes.placed(end, Shapes.turnOfZ(direction)), colour, 1);
    const tip = this.onScreen(end.map((x, k) => x + 0.08 * reach * direction[k]));
    label.at = tip;
    label.hidden = !arrow.label;
    label.textContent = `${arrow.label} ${Palpate.shown(size)} N`;
    label.style.transform = `translate(${tip[0].toFixed(1)}px, ${tip[1].toFixed(1)}px) translate(-50%, -170%)`;
  }

  onScreen(point) {
    const m = this.camera, p = [0, 1, 2, 3].map(r => m[r] * point[0] + m[4 + r] * point[1] + m[8 + r] * point[2] + m[12 + r]);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return [((p[0] / p[3] + 1) / 2) * width, ((1 - p[1] / p[3]) / 2) * height, p[3]];
  }

  /** A bar as long as a round number of newtons, at the distance of the tool. */
  drawScale(frame) {
    const arrow = this.data.arrows[0];
    this.scale.hidden = !(arrow && arrow.scale);
    if (this.scale.hidden) return;
    const depth = this.onScreen(this.between(arrow.start, 3, frame))[2];
    const perMetre = this.canvas.clientHeight / (2 * this.half * depth), perNewton = perMetre * arrow.scale;
    const most = 90 / perNewton, power = 10 ** Math.floor(Math.log10(most)), newtons = [5, 2, 1].find(m => m * power <= most) * power;
    this.scale.firstChild.style.width = `${(newtons * perNewton).toFixed(1)}px`;
    this.scale.lastChild.textContent = `${Palpate.shown(newtons)} N`;
  }

  // ---------------------------------------------------------------- a run under way

  /** Add the frames of a run as they come, and offer its report at the end. */
  follow(address, said = document.querySelector("[role=status]")) {
    const source = new EventSource(address);
    this.live = true;
    source.addEventListener("open", () => { said.textContent = "running at real time"; });
    source.addEventListener("message", event => {
      const frame = JSON.parse(event.data);
      this.add(frame);
      this.place.dispatchEvent(new CustomEvent("frame", { detail: frame }));
    });
    source.addEventListener("error", () => { if (this.live) said.textContent = "palpate does not answer any more"; });
    source.addEventListener("end", event => {
      source.close();
      this.live = false;
      const end = JSON.parse(event.data);
      said.textContent = end.said;
      if (end.report) fetch(end.report).then(answer => answer.blob()).then(page => {
        said.append(" · ");
        Palpate.make("a", { href: URL.createObjectURL(page) }, said, "open the report");
      });
    });
    return source;
  }

  add({ time, bodies, target, tool, arrows, run }) {
    if (run !== this.run) this.begin(run);
    const data = this.data, last = this.times[this.times.length - 1], latest = this.times.length === 0 || this.time === last;
    if (time <= last) return; // the connection was made anew
    const grown = [[this.times, [time]], [this.tool, tool]];
    bodies.forEach(([p, q], k) => grown.push([data.bodies[k].p, p], [data.bodies[k].q, q]));
    if (target) grown.push([data.target.p, target[0]], [data.target.q, target[1]]);
    arrows.forEach(([force, start], k) => grown.push([data.arrows[k].force, force], [data.arrows[k].start, start]));
    for (const [values, more] of grown) if (more) values.push(...more);
    if (this.times.length > 6000) for (const [values, more] of grown) if (more) values.splice(0, 3000 * more.length); // what is long past
    for (const [force] of arrows) this.strongest = Math.max(this.strongest || 0, Math.hypot(...force));
    if (this.strongest > 1e-6) for (const arrow of data.arrows) arrow.scale = data.camera.reach / 3 / this.strongest;
    [this.slider.min, this.slider.max] = [this.times[0], time];
    if (this.gl) this.renewTrail();
    if (latest) this.showTime(time);
  }

  /** The run has started again: nothing of the one before stays. */
  begin(run) {
    const data = this.data, lists = [this.times, this.tool, ...data.bodies.flatMap(body => [body.p, body.q]), ...data.arrows.flatMap(arrow => [arrow.force, arrow.start])];
    if (data.target) lists.push(data.target.p, data.target.q);
    for (const list of lists) if (Array.isArray(list)) list.length = 0;
    this.run = run;
  }

  /** Give back what a replay holds that leaves the page: browsers have few drawing contexts. */
  end() {
    this.pause();
    Palpate.unfollow(this);
    const lose = this.gl && this.gl.getExtension("WEBGL_lose_context");
    if (lose) lose.loseContext();
    this.gl = null;
  }

  /** Pictures of a few instants, for paper. */
  stills(place, count) {
    if (!this.gl || !this.canvas.clientWidth) return;
    const kept = this.time, first = this.times[0], last = this.times[this.times.length - 1];
    place.replaceChildren();
    for (let k = 0; k < count; k++) {
      this.time = first + ((last - first) * k) / (count - 1);
      this.draw();
      const figure = Palpate.make("figure", {}, place);
      Palpate.make("img", { src: this.canvas.toDataURL("image/jpeg", 0.85), alt: `the scene at ${this.time.toFixed(2)} s` }, figure);
      Palpate.make("figcaption", {}, figure, `${this.time.toFixed(2)} s`);
    }
    this.time = kept;
    this.draw();
  }
}

function startReplay(place) {
  const replay = (place.replay = new Replay(place, JSON.parse(place.querySelector("script").textContent)));
  if (place.dataset.live) replay.follow(place.dataset.live);
  const paper = document.querySelector(".stills");
  if (paper) {
    addEventListener("beforeprint", () => replay.stills(paper, 4));
    setTimeout(() => replay.stills(paper, 4), 800);
  }
}

// After the rest of the page has been shown.
for (const place of document.querySelectorAll(".replay:has(> script)")) setTimeout(() => startReplay(place), 0);
