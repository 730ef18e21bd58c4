"""Guards: what stands between any law and the joints, and says so whenever it interferes.

A guard works on the acceleration a = M̂⁻¹ (τ − b̂) that a torque would give by the nominal model, changes as little of it
as it must, and leaves the torque untouched where nothing is wrong. Forces from outside are not counted in a. Behind a
joint servo it works on the set points.
"""

from __future__ import annotations

import math
from typing import Literal

from palpate.config import Config, setting
from palpate.control.steps.linear_algebra import cholesky, cholesky_inverse, cholesky_solve, symmetric_eigen
from palpate.control.steps.reach import LEVER
from palpate.control.tick import Tick
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.robot.robot import Robot

# Bits of the trace's `guard` channel; 1 and 2 are the driver's torque and torque-rate limits.
GUARD_JOINT, GUARD_SPEED, GUARD_FORCE, GUARD_STALE, GUARD_NOT_FINITE, GUARD_SINGULAR = 4, 8, 16, 32, 64, 128
GUARD_JOINT_SPEED = 256
GUARD_NAMES = {
    GUARD_JOINT: "joint limit",
    GUARD_SPEED: "tool-speed limit",
    GUARD_FORCE: "contact-force limit",
    GUARD_STALE: "stale measurement",
    GUARD_NOT_FINITE: "measurement that is not finite",
    GUARD_SINGULAR: "singular posture",
    GUARD_JOINT_SPEED: "joint-speed limit",
}

_SWEEPS = 20


class GuardSettings(Record):
    """The guards' numbers; a limit of 0 is no limit."""

    on: bool = False
    joints: bool = False
    joint_margin: float = 0.0
    joint_frequency: float = 0.0
    joint_speeds: bool = False
    tool_speed: float = 0.0
    speed_time: float = 1.0
    contact_force: float = 0.0
    retreat: bool = False
    retreat_speed: float = 0.0
    retreat_distance: float = 0.0
    stale_ticks: int = 0
    moved: float = 0.0
    singular_value: float = 0.0
    stop_frequency: float = 0.0
    lower: Vector = sized("nv")
    upper: Vector = sized("nv")
    velocity: Vector = sized("nv")


class GuardMemory(Record):
    """Memory of the guards from tick to tick, and scratch."""

    bits: Kept[int] = 0  # guards at work since the last tick
    stopped: Kept[int] = 0  # bits of the guards that ended the law's reign
    retreat: State[Vector] = sized(3)  # direction of a retreat
    retreat_left: State[float] = 0.0  # m
    travel: State[float] = 0.0  # of the joints since q last changed
    same_wrench: Kept[int] = 0  # ticks since the wrench last changed
    blind: Kept[bool] = False  # the joints' sensors are dead
    started: Kept[bool] = False  # the set points are known
    wrench: State[Vector] = sized(6)  # the last good one
    hold: State[Vector] = sized("nv")  # posture to stop at
    last_q: State[Vector] = sized("nv")
    q_at_wrench: State[Vector] = sized("nv")  # when the wrench last changed
    # scratch
    L: Matrix = sized("nv", "nv")
    inverse: Matrix = sized("nv", "nv")
    a: Vector = sized("nv")
    inwards: Vector = sized("nv")
    lift: Vector = sized("nv")
    along: Vector = sized("nv")
    A: Matrix = sized(6, 6)
    V: Matrix = sized(6, 6)


class Guards(Config):
    """Limits that hold whatever the law wants; `None` or 0 switches a guard off.

    Joint limits, tool speed and singular postures are handled in passing; too much contact force and measurements
    that are stale or not finite end the law's reign: the arm brakes and holds until the run ends.
    """

    joint_limits: bool = setting(True, "1", "keep joints inside their ranges: q̈ ≤ ω² (q_max − margin − q) − 2 ω q̇")
    joint_margin: float = setting(0.0, "rad or m", "distance kept from the end of the range", ge=0)
    joint_frequency: float = setting(10.0, "rad/s", "ω of that bound", gt=0)
    joint_speeds: bool = setting(True, "1", "keep joints below their rated speeds: |q̇|' ≤ (rated − |q̇|)/T")
    tool_speed: float | None = setting(None, "m/s", "largest speed of the tool's point", gt=0)
    speed_time: float = setting(0.02, "s", "T of the bounds on speeds, v̇ ≤ (limit − |v|)/T", gt=0)
    contact_force: float | None = setting(None, "N", "measured force at which the arm stops", gt=0)
    on_contact_force: Literal["stop", "retreat"] = setting("stop", "1", "hold there, or retreat along the force first")
    retreat_speed: float = setting(0.05, "m/s", "speed of the retreat", gt=0)
    retreat_distance: float = setting(0.02, "m", "length of the retreat", gt=0)
    stale_ticks: int = setting(0, "ticks", "unchanged readings that count as a dead sensor; 0 for no check", ge=0)
    moved: float = setting(1e-3, "rad or m", "joint motion during which a wrench should change", gt=0)
    singular_value: float = setting(
        0.0, "m", "smallest singular value of the tool's Jacobian (angular rows × 0.1 m) below which it is damped", ge=0
    )
    stop_frequency: float = setting(20.0, "rad/s", "ω of the braking and holding a = ω² (q_stop − q) − 2 ω q̇", gt=0)

    def settings(self, robot: Robot) -> GuardSettings:
        """The settings as the loop reads them, with the robot's joint ranges and speeds."""
        same = {name: getattr(self, name) or 0 for name in GuardSettings.fields if name in type(self).model_fields}
        limits, scalar = robot.limits, robot.nq == robot.nv  # one coordinate per joint
        same |= {"joint_speeds": self.joint_speeds and scalar, "joints": self.joint_limits and scalar}
        ends = {"lower": limits.lower.copy(), "upper": limits.upper.copy(), "velocity": limits.velocity.copy()}
        return GuardSettings(on=True, retreat=self.on_contact_force == "retreat", **same, **ends)


def guard_settings(guards: Guards | None, robot: Robot) -> GuardSettings:
    """Settings of the guards for the loop; off where there are no guards."""
    return GuardSettings({"nv": robot.nv}) if guards is None else guards.settings(robot)


@kernel
def _dead_joints(g: GuardSettings, m: GuardMemory, x: Tick) -> bool:
    """Whether q stands still although v says it should have moved."""
    same, travel = True, 0.0
    for k in range(x.v.size):
        same = same and x.q[k] == m.last_q[k]
        travel += abs(x.v[k]) * x.dt
    put(m.last_q, 0, x.q)
    m.travel = m.travel + travel if same else 0.0
    return m.travel > g.moved and m.travel > g.stale_ticks * travel


@kernel
def _dead_wrench(g: GuardSettings, m: GuardMemory, x: Tick, count: int) -> bool:
    """Whether the wrench reads the same although the joints move; exactly 0 is an arm that touches nothing."""
    same, zero, travel = count > 0, True, 0.0
    for k in range(6):
        same = same and x.wrench[k] == m.wrench[k]
        zero = zero and x.wrench[k] == 0.0
    for k in range(x.v.size):
        travel += abs(x.q[k] - m.q_at_wrench[k])
    if zero or not same:
        m.same_wrench = 0
        put(m.q_at_wrench, 0, x.q)
        return False
    m.same_wrench += 1
    return m.same_wrench >= g.stale_ticks and travel > g.moved


@kernel
def watch_measurement(g: GuardSettings, m: GuardMemory, x: Tick, count: int) -> bool:
    """Find readings that are not finite or do not change; the law gets the last good wrench. True if it can go on."""
    finite = True
    for k in range(6):
        finite = finite and math.isfinite(x.wrench[k])
    if not g.on:
        return finite
    if not finite:
        put(x.wrench, 0, m.wrench)
        m.stopped |= GUARD_NOT_FINITE
        return True
    if g.stale_ticks > 0 and x.q.size == x.v.size:
        if _dead_joints(g, m, x):
            m.blind = True
        if _dead_wrench(g, m, x, count) or m.blind:
            m.stopped |= GUARD_STALE
    put(m.wrench, 0, x.wrench)
    return True


@kernel
def _too_much_force(g: GuardSettings, m: GuardMemory, f: Vector) -> None:
    """Latch the stop, and the way back along the force."""
    size = math.sqrt(f[0] ** 2 + f[1] ** 2 + f[2] ** 2)
    if g.contact_force == 0.0 or size <= g.contact_force:
        return
    if m.stopped & GUARD_FORCE == 0 and g.retreat:
        m.retreat_left = g.retreat_distance
        for i in range(3):
            m.retreat[i] = f[i] / size
    m.stopped |= GUARD_FORCE


@kernel
def _brake(g: GuardSettings, m: GuardMemory, x: Tick) -> None:
    """a = ω² (q_stop − q) − 2 ω q̇; while retreating q_stop moves along the force. Blind joints only float: a = 0."""
    a, J, n, w = m.a, x.J, x.v.size, 0.0 if m.blind else g.stop_frequency
    if m.retreat_left > 0.0:
        step = min(g.retreat_speed * x.dt, m.retreat_left)
        m.retreat_left -= step
        size = 0.0
        for j in range(n):
            a[j] = J[0, j] * m.retreat[0] + J[1, j] * m.retreat[1] + J[2, j] * m.retreat[2]
            size += a[j] * a[j]
        for j in range(n):
            m.hold[j] += step * a[j] / max(size, 1e-6)
    for j in range(n):
        a[j] = w * w * (m.hold[j] - x.q[j]) - 2.0 * w * x.v[j]


@kernel
def _end(g: GuardSettings, j: int, q: float) -> tuple[float, float]:
    """The nearer end of a joint's range, and the sign of the way out of it there."""
    lower, upper = g.lower[j] + g.joint_margin, g.upper[j] - g.joint_margin
    return (upper, 1.0) if upper - q < q - lower else (lower, -1.0)


@kernel
def _beyond(g: GuardSettings, x: Tick, speeds: bool, j: int, a: float) -> float:
    """How far a joint's acceleration is beyond what its rated speed, or its range, allows; outwards.

    Along its velocity, beyond (rated − |q̇|) / T, which a slow one never is; at its nearer end, beyond
    ω² (end − q) − 2 ω q̇.
    """
    if not speeds:
        w = g.joint_frequency
        end, out = _end(g, j, x.q[j])
        return out * (a - w * w * (end - x.q[j]) + 2.0 * w * x.v[j])
    if abs(x.v[j]) < 0.5 * g.velocity[j]:
        return -math.inf
    return math.copysign(a, a * x.v[j]) - (g.velocity[j] - abs(x.v[j])) / g.speed_time


@kernel
def _hold_back(g: GuardSettings, m: GuardMemory, x: Tick, speeds: bool) -> bool:
    """Keep joints below their rated speeds, or in their ranges, each by a torque of its own, as a soft end stop would.

    Where several joints are held, sweeps over them find torques that push inwards only.
    """
    a, inverse, n, hit = m.a, m.inverse, x.v.size, False
    for j in range(n):
        hit = hit or _beyond(g, x, speeds, j, a[j]) > 0.0
    if not hit:
        return False
    cholesky_inverse(m.L, n, inverse)
    clear(m.inwards)
    for _ in range(_SWEEPS):
        for j in range(n):
            wanted = max(m.inwards[j] + _beyond(g, x, speeds, j, a[j]) / inverse[j, j], 0.0)
            change = wanted - m.inwards[j]
            out = math.copysign(1.0, x.v[j]) if speeds else _end(g, j, x.q[j])[1]
            m.inwards[j] = wanted
            for k in range(n):
                a[k] -= inverse[k, j] * out * change
    return True


@kernel
def _slow_down(g: GuardSettings, m: GuardMemory, x: Tick) -> bool:
    """Bound the acceleration along the tool's velocity; the correction is the force of least effect on the rest."""
    J, n = x.J, x.v.size
    ux, uy, uz = dot(J[0], x.v, n), dot(J[1], x.v, n), dot(J[2], x.v, n)
    speed = math.sqrt(ux * ux + uy * uy + uz * uz)
    if speed < 0.1 * g.tool_speed:
        return False
    ux, uy, uz = ux / speed, uy / speed, uz / speed
    rate = ux * x.drift[0] + uy * x.drift[1] + uz * x.drift[2]
    for j in range(n):
        m.along[j] = m.lift[j] = J[0, j] * ux + J[1, j] * uy + J[2, j] * uz
        rate += m.along[j] * m.a[j]
    most = (g.tool_speed - speed) / g.speed_time
    if rate <= most:
        return False
    cholesky_solve(m.L, n, m.lift)  # M⁻¹ Jᵀ u
    mobility = dot(m.along, m.lift, n)
    for j in range(n):
        m.a[j] += m.lift[j] * (most - rate) / max(mobility, 1e-12)
    return True


@kernel
def _lost_direction(m: GuardMemory, J: Matrix) -> float:
    """The smallest singular value of J (angular rows × lever); `along` becomes its joint motion, of length 1."""
    n, A, V = J.shape[1], m.A, m.V
    rows = 6 if n >= 6 else min(3, n)
    for i in range(rows):
        for k in range(rows):
            A[i, k] = dot(J[i], J[k], n)
            A[i, k] *= (LEVER if i > 2 else 1.0) * (LEVER if k > 2 else 1.0)
    symmetric_eigen(A, V, rows)
    least = 0
    for i in range(rows):
        if A[i, i] < A[least, least]:
            least = i
    size = 0.0
    for j in range(n):
        m.along[j] = 0.0
        for i in range(rows):
            m.along[j] += V[i, least] * J[i, j] * (LEVER if i > 2 else 1.0)
        size += m.along[j] * m.along[j]
    size = math.sqrt(max(size, 1e-24))
    for j in range(n):
        m.along[j] /= size
    return math.sqrt(max(A[least, least], 0.0))


@kernel
def _damp_lost_direction(g: GuardSettings, m: GuardMemory, x: Tick) -> bool:
    """Near a singular posture: fade the acceleration along the direction being lost, and damp it."""
    sigma = _lost_direction(m, x.J)
    if sigma >= g.singular_value:
        return False
    push, speed = dot(m.along, m.a, x.v.size), dot(m.along, x.v, x.v.size)
    share = 1.0 - sigma / g.singular_value
    for j in range(x.v.size):
        m.a[j] -= m.along[j] * share * (push + g.stop_frequency * speed)
    return True


@kernel
def _in_passing(g: GuardSettings, m: GuardMemory, x: Tick) -> int:
    """The guards that bend an acceleration without ending the law's reign; the bits of those at work."""
    bits = 0
    if g.singular_value > 0.0 and _damp_lost_direction(g, m, x):
        bits |= GUARD_SINGULAR
    if g.tool_speed > 0.0 and _slow_down(g, m, x):
        bits |= GUARD_SPEED
    if g.joint_speeds and _hold_back(g, m, x, True):
        bits |= GUARD_JOINT_SPEED
    if g.joints and _hold_back(g, m, x, False):
        bits |= GUARD_JOINT
    return bits


@kernel
def guard_torque(g: GuardSettings, m: GuardMemory, x: Tick, torque: Vector) -> int:
    """Let a torque pass, change it, or replace it; returns the bits of the guards at work."""
    if not g.on:
        return 0
    n = x.v.size
    _too_much_force(g, m, x.wrench)
    if m.stopped == 0 and x.q.size == n:
        put(m.hold, 0, x.q)
    for i in range(n):
        m.a[i] = torque[i] - x.bias[i]
        put(m.L[i], 0, x.M[i])
    if not cholesky(m.L, n):
        return m.stopped
    cholesky_solve(m.L, n, m.a)
    if m.stopped and x.q.size == n:
        _brake(g, m, x)
    bits = m.stopped | _in_passing(g, m, x)
    if bits:
        for i in range(n):
            torque[i] = x.bias[i]
            for j in range(n):
                torque[i] += x.M[i, j] * m.a[j]
    return bits


@kernel
def _slow_set_point(g: GuardSettings, m: GuardMemory, x: Tick, set_q: Vector, set_v: Vector, position: bool) -> bool:
    """Scale a step of the set points down to the tool's speed limit."""
    J, n = x.J, set_q.size
    ux, uy, uz = dot(J[0], set_v, n), dot(J[1], set_v, n), dot(J[2], set_v, n)
    speed = math.sqrt(ux * ux + uy * uy + uz * uz)
    if speed <= g.tool_speed:
        return False
    for j in range(set_q.size):
        set_v[j] *= g.tool_speed / speed
        if position:
            set_q[j] = m.hold[j] + set_v[j] * x.dt
    return True


@kernel
def _slow_joints(g: GuardSettings, m: GuardMemory, x: Tick, set_q: Vector, set_v: Vector, position: bool) -> bool:
    """Cut each set speed at the joint's rating."""
    hit = False
    for j in range(set_q.size):
        if abs(set_v[j]) > g.velocity[j]:
            set_v[j], hit = math.copysign(g.velocity[j], set_v[j]), True
            if position:
                set_q[j] = m.hold[j] + set_v[j] * x.dt
    return hit


@kernel
def _keep_set_points(g: GuardSettings, set_q: Vector, set_v: Vector) -> bool:
    """Hold set points at the ends of their ranges."""
    hit = False
    for j in range(set_q.size):
        lower, upper = g.lower[j] + g.joint_margin, g.upper[j] - g.joint_margin
        if set_q[j] > upper or set_q[j] < lower:
            set_q[j], set_v[j], hit = min(max(set_q[j], lower), upper), 0.0, True
    return hit


@kernel
def guard_set_points(g: GuardSettings, m: GuardMemory, x: Tick, set_q: Vector, set_v: Vector, position: bool) -> int:
    """The same behind a joint servo: hold the set points, slow them down, keep them in range; returns the bits."""
    if not g.on:
        return 0
    if not m.started:
        m.started = True
        for j in range(set_q.size):
            m.hold[j] = x.q[j]
            set_v[j] = (set_q[j] - x.q[j]) / x.dt if position else set_v[j]
    _too_much_force(g, m, x.wrench)
    if m.stopped:
        for j in range(set_q.size):
            set_q[j], set_v[j] = m.hold[j], 0.0
        return m.stopped
    bits = 0
    if g.tool_speed > 0.0 and _slow_set_point(g, m, x, set_q, set_v, position):
        bits |= GUARD_SPEED
    if g.joint_speeds and _slow_joints(g, m, x, set_q, set_v, position):
        bits |= GUARD_JOINT_SPEED
    if g.joints and _keep_set_points(g, set_q, set_v):
        bits |= GUARD_JOINT
    put(m.hold, 0, set_q)
    return bits
