// Triangles of the shapes a scene is made of, and the little linear algebra that moving them takes.
"use strict";
const Shapes = (() => {
  /** A closed surface of revolution about z from a profile of (radius, height), from the top down. */
  function revolve(profile, around = 28) {
    const positions = [], normals = [], faces = [];
    profile.forEach(([radius, height, outwards, upwards]) => {
      for (let k = 0; k < around; k++) {
        const turn = (2 * Math.PI * k) / around, c = Math.cos(turn), s = Math.sin(turn);
        positions.push(radius * c, radius * s, height);
        normals.push(outwards * c, outwards * s, upwards);
      }
    });
    for (let ring = 0; ring + 1 < profile.length; ring++)
      for (let k = 0; k < around; k++) {
        const a = ring * around + k, b = ring * around + ((k + 1) % around);
        faces.push(a, a + around, b, b, a + around, b + around);
      }
    return { positions, normals, faces };
  }

  function capsule(radius, half) {
    const profile = [];
    for (const end of [1, -1])
      for (let k = 0; k <= 8; k++) {
        const angle = ((end > 0 ? k : 8 - k) * Math.PI) / 16, s = Math.sin(angle), c = Math.cos(angle);
        profile.push([radius * s, end * (half + radius * c), s, end * c]);
      }
    return revolve(profile);
  }

  const cylinder = (radius, half) =>
    revolve([[0, half, 0, 1], [radius, half, 0, 1], [radius, half, 1, 0], [radius, -half, 1, 0], [radius, -half, 0, -1], [0, -half, 0, -1]]);

  const cone = (radius, height) =>
    revolve([[0, height, 1, 0.5], [radius, 0, 1, 0.5], [radius, 0, 0, -1], [0, 0, 0, -1]]);

  function box(x, y, z) {
    const positions = [], normals = [], faces = [];
    for (let axis = 0; axis < 3; axis++)
      for (const side of [1, -1]) {
        const first = positions.length / 3, [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
        for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
          const corner = [0, 0, 0], normal = [0, 0, 0];
          [corner[axis], corner[u], corner[v], normal[axis]] = [side, side * a, b, side];
          positions.push(corner[0] * x, corner[1] * y, corner[2] * z);
          normals.push(...normal);
        }
        faces.push(first, first + 1, first + 2, first, first + 2, first + 3);
      }
    return { positions, normals, faces };
  }

  /** A mesh with a normal of its own for every face, so that edges stay edges. */
  function mesh(vertices, triangles) {
    const positions = [], normals = [], faces = [];
    for (let k = 0; k < triangles.length; k += 3) {
      const [a, b, c] = [0, 1, 2].map(i => [0, 1, 2].map(j => vertices[3 * triangles[k + i] + j]));
      const u = b.map((x, i) => x - a[i]), v = c.map((x, i) => x - a[i]);
      const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], size = Math.hypot(...n) || 1;
      positions.push(...a, ...b, ...c);
      for (let i = 0; i < 3; i++) normals.push(n[0] / size, n[1] / size, n[2] / size);
      faces.push(k, k + 1, k + 2);
    }
    return { positions, normals, faces };
  }

  /** The triangles of a geom of the scene; sizes are radius and half lengths. */
  function of(geom) {
    const size = geom.size;
    if (geom.shape === "mesh") return mesh(Palpate.numbers(geom.vertices), geom.faces);
    if (geom.shape === "box") return box(...size);
    if (geom.shape === "cylinder") return cylinder(size[0], size[1]);
    if (geom.shape === "capsule") return capsule(size[0], size[1]);
    const ball = capsule(1, 0), radii = geom.shape === "sphere" ? [size[0], size[0], size[0]] : size;
    ball.positions = ball.positions.map((x, k) => x * radii[k % 3]);
    return ball;
  }

  // ---------------------------------------------------------------- matrices by columns, quaternions wxyz

  function placed(position, [w, x, y, z], stretch = 1) {
    return [
      1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
      2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
      stretch * 2 * (x * z + w * y), stretch * 2 * (y * z - w * x), stretch * (1 - 2 * (x * x + y * y)), 0,
      position[0], position[1], position[2], 1,
    ];
  }

  function times(a, b) {
    const out = new Array(16).fill(0);
    for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    return out;
  }

  const minus = (a, b) => a.map((x, k) => x - b[k]);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const unit = a => a.map(x => x / (Math.hypot(...a) || 1));

  function looking(eye, centre) {
    const back = unit(minus(eye, centre)), right = unit(cross([0, 0, 1], back)), up = cross(back, right);
    return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0, -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
  }

  function perspective(angle, aspect, near, far) {
    const f = 1 / Math.tan(angle / 2);
    return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
  }

  /** The shortest turn of z onto a direction. */
  function turnOfZ(direction) {
    const [x, y, z] = unit(direction);
    if (z < -1 + 1e-9) return [0, 1, 0, 0];
    const size = Math.hypot(1 + z, x, y);
    return [(1 + z) / size, -y / size, x / size, 0];
  }

  return { of, cone, cylinder, placed, times, minus, cross, unit, looking, perspective, turnOfZ };
})();
