"""Compiled: distance, normal and curvature of each shape, and the kinematics of a point touching it."""

from __future__ import annotations

import math

from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.maths import hypot, sin_cos
from palpate.engine.records import Matrix, Vector
from palpate.engine.views import flat
from palpate.spatial.vector_kernels import cross
from palpate.tools.contact.touch.contacts import BOX, CYLINDER, SPHERE
from palpate.tools.contact.touch.records import ContactState, Touching, Work

# Features in base-3 digits (see `nearest_feature`): a sphere's core is a point, a cylinder's a line along z.
_CORNER, _EDGE_ALONG_Z = 1 + 3 + 9, 1 + 3
_DIRECTED = 1e-12  # m/s: below this a slip has the direction it began with


@kernel
def nearest_feature(c: Touching, y: Vector) -> int:
    """The face, edge or corner nearest to y (surface axes): base-3 digits, 1 beyond +, 2 beyond −, 0 within."""
    if c.form == BOX:
        code, deepest, axis, weight = 0, -math.inf, 0, 1
        for i in range(3):
            beyond = abs(y[i]) - c.lengths[i]
            if beyond > deepest:
                deepest, axis = beyond, i
            if beyond > 0.0:
                code += weight * (1 if y[i] > 0.0 else 2)
            weight *= 3
        if code == 0:
            code = 3**axis * (1 if y[axis] > 0.0 else 2)
        return code
    if c.form == CYLINDER:
        radial, axial = hypot(y[0], y[1]) - c.lengths[0], abs(y[2]) - c.lengths[1]
        side, end = 1, 3 * (1 if y[2] > 0.0 else 2)
        if radial > 0.0 and axial > 0.0:
            return side + end
        return side if radial > axial or c.outward < 0.0 else end
    return 0


@kernel(inline=True)
def _lies_beyond(feature: int, axis: int) -> bool:
    """Whether a feature lies beyond the middle part along an axis: its digit there is 1 or 2."""
    return feature // 3**axis % 3 > 0


@kernel
def feature_margin(c: Touching, y: Vector, feature: int) -> float:
    """How far y is from where another feature becomes the nearest, m; negative beyond; infinite if there is one."""
    margin = math.inf
    if c.form == BOX:
        faces = _lies_beyond(feature, 0) + _lies_beyond(feature, 1) + _lies_beyond(feature, 2)
        for i in range(3):
            beyond = abs(y[i]) - c.lengths[i]
            if not _lies_beyond(feature, i):
                margin = min(margin, -beyond)
            elif faces > 1:
                margin = min(margin, beyond)
    elif c.form == CYLINDER and c.outward > 0.0:
        radial, axial = hypot(y[0], y[1]) - c.lengths[0], abs(y[2]) - c.lengths[1]
        if feature == 1:
            margin = -axial
        elif feature % 3 == 0:
            margin = -radial
        else:
            margin = min(radial, axial)
    return margin


@kernel
def _from_core(feature: int, n: Vector, H: Matrix, size: float) -> float:
    """φ = |x| − size and its n, H, where n holds x on entry: the vector from a core along the feature's other axes."""
    r = math.sqrt(dot(n, n, 3))
    if r == 0.0:
        n[0 if _lies_beyond(feature, 0) else 1] = 1.0
        return -size
    for i in range(3):
        n[i] /= r
    for i in range(3):
        for j in range(3):
            H[i, j] = ((1.0 if i == j and _lies_beyond(feature, i) else 0.0) - n[i] * n[j]) / r
    return r - size


@kernel
def _box(c: Touching, y: Vector, n: Vector, H: Matrix, feature: int) -> float:
    active, axis = 0, 0
    for i in range(3):
        if _lies_beyond(feature, i):
            active, axis = active + 1, i
            n[i] = y[i] - math.copysign(c.lengths[i], y[i])
    if active > 1:
        return _from_core(feature, n, H, 0.0)
    n[axis] = 1.0 if feature // 3**axis % 3 == 1 else -1.0
    return n[axis] * y[axis] - c.lengths[axis]


@kernel
def _rim(c: Touching, y: Vector, n: Vector, H: Matrix) -> float:
    """Distance to the circle where side and end meet."""
    r, up = hypot(y[0], y[1]), math.copysign(1.0, y[2])
    a, b = r - c.lengths[0], up * y[2] - c.lengths[1]
    phi = hypot(a, b)
    x0, x1 = y[0] / r, y[1] / r
    n[0], n[1], n[2] = x0 * a / phi, x1 * a / phi, up * b / phi
    # In the meridian plane a point's distance; across it the circle's own bend a/(φ r).
    around = a / (phi * r)
    H[0, 0] = (x0 * x0 - n[0] * n[0]) / phi + around * x1 * x1
    H[1, 1] = (x1 * x1 - n[1] * n[1]) / phi + around * x0 * x0
    H[0, 1] = H[1, 0] = (x0 * x1 - n[0] * n[1]) / phi - around * x0 * x1
    H[0, 2] = H[2, 0] = -n[0] * n[2] / phi
    H[1, 2] = H[2, 1] = -n[1] * n[2] / phi
    H[2, 2] = (1.0 - n[2] * n[2]) / phi
    return phi


@kernel
def distance(c: Touching, y: Vector, feature: int, n: Vector, H: Matrix) -> float:
    """φ(y) of a feature in surface axes; n becomes its gradient, H its second derivative."""
    clear(n)
    clear(flat(H))
    if c.form == SPHERE:
        put(n, 0, y)
        phi = _from_core(_CORNER, n, H, c.lengths[0])
    elif c.form == CYLINDER:
        if feature == 1:
            n[0], n[1] = y[0], y[1]
            phi = _from_core(_EDGE_ALONG_Z, n, H, c.lengths[0])
        elif feature % 3 == 0:
            n[2] = math.copysign(1.0, y[2])
            phi = n[2] * y[2] - c.lengths[1]
        else:
            phi = _rim(c, y, n, H)
    elif c.form == BOX:
        phi = _box(c, y, n, H, feature)
    else:
        n[2] = 1.0
        phi = y[2]
    if c.outward < 0.0:
        phi = -phi
        for i in range(3):
            n[i] = -n[i]
            for j in range(3):
                H[i, j] = -H[i, j]
    return phi


@kernel
def _surface_motion(c: Touching, t: float, x: Vector, velocity: Vector, acceleration: Vector) -> None:
    """Position, velocity and acceleration of a surface at t."""
    omega = 2.0 * math.pi * c.frequency
    begun = c.start if math.isfinite(c.start) else 0.0
    if t < c.start:
        steady = 0.0
    else:
        steady = min(t, c.stop) - begun
    sine, cosine = sin_cos(omega * t)
    for i in range(3):
        x[i] = c.origin[i] + c.velocity[i] * steady + c.amplitude[i] * sine
        velocity[i] = c.velocity[i] * c.moving + c.amplitude[i] * omega * cosine
        acceleration[i] = -c.amplitude[i] * omega * omega * sine


@kernel
def _tangents(c: Touching, n: Vector, T: Matrix) -> None:
    """Unit tangents the point can move along: none, the one in its plane of motion, or two."""
    first, second = T[0], T[1]
    clear(flat(T))
    if c.freedoms == 0:
        return
    if c.freedoms == 1:
        put(second, 0, c.plane)
    else:
        least = 0
        for i in range(1, 3):
            if abs(n[i]) < abs(n[least]):
                least = i
        second[least] = 1.0
    cross(second, n, first)
    clear(second)
    _scale_to_unit(first)
    if c.freedoms == 2:
        cross(n, first, second)


@kernel
def _scale_to_unit(a: Vector) -> None:
    """a over its length; 0 where it has none."""
    length = math.sqrt(dot(a, a, 3))
    for i in range(3):
        a[i] = a[i] / length if length > 0.0 else 0.0


@kernel
def _heading(c: Touching, f: ContactState) -> None:
    """The direction of slip: along the held sign, or of the slip itself (of its beginning while there is none)."""
    if c.freedoms == 1:
        for i in range(3):
            f.slip_direction[i] = c.sign * f.tangents[0, i]
        return
    off = dot(f.normal, c.slip, 3)
    for i in range(3):
        f.slip_direction[i] = c.slip[i] - off * f.normal[i] if c.creep else f.slide[i] + _DIRECTED * c.slip[i]
    _scale_to_unit(f.slip_direction)
    cross(f.normal, f.slip_direction, f.across)


@kernel
def locate_on_surface(c: Touching, f: ContactState, work: Work, t: float) -> None:
    """Gap, normal and (in work.bend, world) curvature of a surface contact whose point is at work.point."""
    x = work.local
    _surface_motion(c, t, x, f.surface_velocity, work.point_drift)  # the acceleration is not needed
    put(f.point, 0, work.point)
    y0, y1, y2 = work.point[0] - x[0], work.point[1] - x[1], work.point[2] - x[2]
    for i in range(3):
        work.local[i] = c.rotation[0, i] * y0 + c.rotation[1, i] * y1 + c.rotation[2, i] * y2
    f.feature = c.feature if c.feature >= 0 else nearest_feature(c, work.local)
    f.gap = distance(c, work.local, f.feature, work.normal, work.bend) - c.radius
    for i in range(3):
        f.normal[i] = 0.0
        for j in range(3):
            f.normal[i] += c.rotation[i, j] * work.normal[j]
    f.margin[2] = feature_margin(c, work.local, f.feature)


@kernel
def _curved(c: Touching, H: Matrix, w: Vector, out: Vector) -> None:
    """out = R H Rᵀ w."""
    clear(out)
    for k in range(3):
        wk = 0.0
        for i in range(3):
            for j in range(3):
                wk += H[k, i] * c.rotation[j, i] * w[j]
        for i in range(3):
            out[i] += c.rotation[i, k] * wk


@kernel
def update_surface_contact(c: Touching, f: ContactState, work: Work, t: float, number: int) -> None:
    """Jc, rates and drifts of a contact, after `locate_on_surface`, from the point's work.J and work.point_drift.

    The touching point of a ball moves with u = ṗ + r n × ω over the surface; ġ = n·(ṗ − v_s),
    g̈ = n·p̈ − n·a_s + wᵀ H w, and u̇ follows with ṅ = H w, w = ṗ − v_s.
    """
    Jc, J, v, r, drift = work.Jc, work.J, work.v, c.radius, work.point_drift
    nv = v.size
    n = f.normal
    push = work.local
    _surface_motion(c, t, work.normal, f.surface_velocity, push)  # work.normal is free again
    w, spin = work.point, work.normal
    for i in range(3):
        w[i], spin[i] = -f.surface_velocity[i], 0.0
        for k in range(nv):
            w[i] += J[i, k] * v[k]
            spin[i] += J[3 + i, k] * v[k]
    normal_rate = work.normal_rate
    _curved(c, work.bend, w, normal_rate)
    f.rate, f.bend = 0.0, 0.0
    for i in range(3):
        f.rate += n[i] * w[i]
        f.bend += n[i] * (drift[i] - push[i]) + normal_rate[i] * w[i]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        f.slide[i] = w[i] + r * (n[a] * spin[b] - n[b] * spin[a]) - f.rate * n[i]
        f.drift[i] = drift[i] - push[i] + r * (n[a] * drift[3 + b] - n[b] * drift[3 + a])
        f.drift[i] += r * (normal_rate[a] * spin[b] - normal_rate[b] * spin[a])
        for k in range(nv):
            Jc[number, i, k] = J[i, k] + r * (n[a] * J[3 + b, k] - n[b] * J[3 + a, k])
    _tangents(c, n, f.tangents)
    if c.freedoms == 1:  # what lies off the plane of motion is rounding
        along = f.slide[0] * f.tangents[0, 0] + f.slide[1] * f.tangents[0, 1] + f.slide[2] * f.tangents[0, 2]
        for i in range(3):
            f.slide[i] = along * f.tangents[0, i]
    _heading(c, f)


@kernel
def update_pin(c: Touching, f: ContactState, work: Work, t: float, number: int) -> None:
    """Jc, velocity and drift of a pinned point; its gap is how far it has left its place."""
    Jc, J, v = work.Jc, work.J, work.v
    x, push = work.normal, work.local
    _surface_motion(c, t, x, f.surface_velocity, push)
    f.gap, f.rate = 0.0, 0.0
    for i in range(3):
        f.point[i] = work.point[i]
        f.normal[i] = work.point[i] - x[i]
        f.slide[i] = -f.surface_velocity[i]
        f.drift[i] = work.point_drift[i] - push[i]
        for k in range(v.size):
            f.slide[i] += J[i, k] * v[k]
            Jc[number, i, k] = J[i, k]


@kernel
def update_dry(c: Touching, f: ContactState, work: Work, number: int) -> None:
    """A joint's friction as a brake: it slips with u = lever · v over its one tangent."""
    f.gap = f.rate = f.bend = 0.0
    f.feature = 0
    put(f.point, 0, work.point)
    for vector in (f.slide, f.drift, f.normal, f.surface_velocity, f.slip_direction, flat(f.tangents)):
        clear(vector)
    clear(flat(work.Jc[number]))
    f.tangents[0, 0], f.slip_direction[0] = 1.0, c.sign
    f.slide[0] = c.lever * work.v[c.dof]
    work.Jc[number, 0, c.dof] = c.lever
    f.margin[2] = math.inf


@kernel
def locate_stop(c: Touching, f: ContactState, work: Work) -> None:
    """A joint's end as a contact: g = ±(q − at)."""
    f.gap = c.direction * (work.q[c.joint] - c.limit)
    f.margin[2] = math.inf


@kernel
def update_stop(c: Touching, f: ContactState, work: Work, number: int) -> None:
    """The rate and the row of a joint's end."""
    f.rate = c.direction * work.v[c.dof]
    f.bend, f.feature = 0.0, 0
    for vector in (f.slide, f.drift, f.normal, f.point, f.surface_velocity, flat(work.Jc[number])):
        clear(vector)
    f.normal[0] = 1.0
    work.Jc[number, 0, c.dof] = c.direction
