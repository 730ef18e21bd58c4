"""Guards: what stands between any law and the joints, and says so whenever it interferes.

A guard works on the acceleration a = M̂⁻¹ (τ − b̂) that a torque would give by the nominal model, changes as little of it
as it must, and leaves the torque untouched where nothing is wrong. Forces from outside are not counted in a. Behind a
joint servo it works on the set points.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numba import types
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import Config, setting
from palpate.control.steps.linear_algebra import cholesky, cholesky_inverse, cholesky_solve, symmetric_eigen
from palpate.engine import kernel, put
from palpate.robot.robot import Robot

# Bits of the trace's `guard` channel; 1 and 2 are the actuators' torque and torque-rate limits.
GUARD_JOINT, GUARD_SPEED, GUARD_FORCE, GUARD_STALE, GUARD_NOT_FINITE, GUARD_SINGULAR = 4, 8, 16, 32, 64, 128
GUARD_NAMES = {
    GUARD_JOINT: "joint limit",
    GUARD_SPEED: "tool-speed limit",
    GUARD_FORCE: "contact-force limit",
    GUARD_STALE: "stale measurement",
    GUARD_NOT_FINITE: "measurement that is not finite",
    GUARD_SINGULAR: "singular posture",
}

# Places in the guards' numbers; joint ranges (lower, upper) and speeds follow.
(
    U_ON, U_JOINTS, U_MARGIN, U_FREQUENCY, U_SPEED, U_SPEED_TIME, U_FORCE, U_RETREAT, U_RETREAT_SPEED, U_DISTANCE,
    U_STALE, U_MOVED, U_SINGULAR, U_STOP_FREQUENCY, U_HEAD,
) = range(15)  # fmt: skip
# Places in the guards' memory: stop reasons latched, direction and rest of a retreat, joint travel since q last
# changed, ticks since the wrench last changed, joints blind, set points known, last good wrench; then per joint:
# posture held, last q, q when the wrench last changed; then scratch.
W_STOPPED, W_RETREAT, W_LEFT, W_SAME_Q, W_SAME_F, W_BLIND, W_STARTED, W_WRENCH, W_HEAD = 0, 1, 4, 5, 6, 7, 8, 9, 15
_v, _m = types.float64[::1], types.float64[:, ::1]
_SWEEPS = 20
_LEVER = 0.1  # m, an angular row counts as the motion of a point this far out


class Guards(Config):
    """Limits that hold whatever the law wants; `None` or 0 switches a guard off.

    Joint limits, tool speed and singular postures are handled in passing; too much contact force and measurements
    that are stale or not finite end the law's reign: the arm brakes and holds until the run ends.
    """

    joint_limits: bool = setting(True, "1", "keep joints inside their ranges: q̈ ≤ ω² (q_max − margin − q) − 2 ω q̇")
    joint_margin: float = setting(0.0, "rad or m", "distance kept from the end of a range", ge=0)
    joint_frequency: float = setting(10.0, "rad/s", "ω of that bound", gt=0)
    tool_speed: float | None = setting(None, "m/s", "largest speed of the tool's point", gt=0)
    speed_time: float = setting(0.02, "s", "T of its bound, v̇ ≤ (limit − |v|)/T", gt=0)
    contact_force: float | None = setting(None, "N", "measured force at which the arm stops", gt=0)
    on_contact_force: Literal["stop", "retreat"] = setting("stop", "1", "hold there, or back off along the force first")
    retreat_speed: float = setting(0.05, "m/s", "speed of the retreat", gt=0)
    retreat_distance: float = setting(0.02, "m", "length of the retreat", gt=0)
    stale_ticks: int = setting(0, "ticks", "unchanged readings that count as a dead sensor; 0 for no watch", ge=0)
    moved: float = setting(1e-3, "rad or m", "joint motion during which a wrench ought to change", gt=0)
    singular_value: float = setting(
        0.0, "m", "smallest singular value of the tool's Jacobian (angular rows × 0.1 m) below which it is damped", ge=0
    )
    stop_frequency: float = setting(20.0, "rad/s", "ω of the braking and holding a = ω² (q_stop − q) − 2 ω q̇", gt=0)

    def numbers(self, robot: Robot) -> Array:
        """The settings as flat numbers, with the robot's joint ranges and speeds."""
        head = [
            1.0, float(self.joint_limits and robot.nq == robot.nv), self.joint_margin, self.joint_frequency,
            self.tool_speed or 0.0, self.speed_time, self.contact_force or 0.0,
            float(self.on_contact_force == "retreat"), self.retreat_speed, self.retreat_distance, self.stale_ticks,
            self.moved, self.singular_value, self.stop_frequency,
        ]  # fmt: skip
        limits = robot.limits
        return np.concatenate([head, limits.lower, limits.upper, limits.velocity])


def guard_numbers(guards: Guards | None, robot: Robot) -> Array:
    """What the loop is handed; the first number says whether there are guards."""
    return np.zeros(U_HEAD + 3 * robot.nv) if guards is None else guards.numbers(robot)


def guard_memory(robot: Robot) -> Array:
    """Memory and scratch of the guards."""
    n = robot.nv
    return np.zeros(W_HEAD + 3 * n + 2 * n * n + 4 * n + 100)


@register_jitable
def _scratch(memory, n):
    start = W_HEAD + 3 * n
    end = start + n * n
    return memory[start:end].reshape((n, n)), memory[end : end + n], memory[end + n :]


@register_jitable
def _dead_joints(numbers, memory, dt, q, v):
    """Whether q stands still although v says it should have moved."""
    n = q.size
    last, same, travel = memory[W_HEAD + n : W_HEAD + 2 * n], True, 0.0
    for k in range(n):
        same = same and q[k] == last[k]
        travel += abs(v[k]) * dt
    put(last, 0, q)
    memory[W_SAME_Q] = memory[W_SAME_Q] + travel if same else 0.0
    return memory[W_SAME_Q] > numbers[U_MOVED] and memory[W_SAME_Q] > numbers[U_STALE] * travel


@register_jitable
def _dead_wrench(numbers, memory, tick, q, wrench):
    """Whether the wrench reads the same although the joints move; exactly 0 is an arm that touches nothing."""
    n = q.size
    since, same, zero, travel = memory[W_HEAD + 2 * n : W_HEAD + 3 * n], tick > 0, True, 0.0
    for k in range(6):
        same = same and wrench[k] == memory[W_WRENCH + k]
        zero = zero and wrench[k] == 0.0
    for k in range(n):
        travel += abs(q[k] - since[k])
    if zero or not same:
        memory[W_SAME_F] = 0.0
        put(since, 0, q)
        return False
    memory[W_SAME_F] += 1.0
    return memory[W_SAME_F] >= numbers[U_STALE] and travel > numbers[U_MOVED]


@kernel(types.boolean(_v, _v, types.float64, types.int64, _v, _v, _v))
def watch_measurement(numbers, memory, dt, tick, q, v, wrench):
    """Find readings that are not finite or do not change; the law gets the last good wrench. True if it can go on."""
    finite = True
    for k in range(6):
        finite = finite and math.isfinite(wrench[k])
    if numbers[U_ON] < 0.5:
        return finite
    if not finite:
        put(wrench, 0, memory[W_WRENCH : W_WRENCH + 6])
        memory[W_STOPPED] = int(memory[W_STOPPED]) | GUARD_NOT_FINITE
        return True
    if numbers[U_STALE] > 0.5 and q.size == v.size:
        if _dead_joints(numbers, memory, dt, q, v):
            memory[W_BLIND] = 1.0
        if _dead_wrench(numbers, memory, tick, q, wrench) or memory[W_BLIND] > 0.5:
            memory[W_STOPPED] = int(memory[W_STOPPED]) | GUARD_STALE
    put(memory, W_WRENCH, wrench)
    return True


@register_jitable
def _too_much_force(numbers, memory, wrench):
    """Latch the stop, and the way back along the force."""
    size = math.sqrt(wrench[0] ** 2 + wrench[1] ** 2 + wrench[2] ** 2)
    if numbers[U_FORCE] == 0.0 or size <= numbers[U_FORCE]:
        return
    if int(memory[W_STOPPED]) & GUARD_FORCE == 0 and numbers[U_RETREAT] > 0.5:
        memory[W_LEFT] = numbers[U_DISTANCE]
        for i in range(3):
            memory[W_RETREAT + i] = wrench[i] / size
    memory[W_STOPPED] = int(memory[W_STOPPED]) | GUARD_FORCE


@register_jitable
def _brake(numbers, memory, dt, q, v, J, hold, a):
    """a = ω² (q_stop − q) − 2 ω q̇; while retreating q_stop moves along the force. Blind joints only float: a = 0."""
    n, w = v.size, numbers[U_STOP_FREQUENCY] * (1.0 - memory[W_BLIND])
    if memory[W_LEFT] > 0.0:
        step = min(numbers[U_RETREAT_SPEED] * dt, memory[W_LEFT])
        memory[W_LEFT] -= step
        size = 0.0
        for j in range(n):
            a[j] = J[0, j] * memory[W_RETREAT] + J[1, j] * memory[W_RETREAT + 1] + J[2, j] * memory[W_RETREAT + 2]
            size += a[j] * a[j]
        for j in range(n):
            hold[j] += step * a[j] / max(size, 1e-6)
    for j in range(n):
        a[j] = w * w * (hold[j] - q[j]) - 2.0 * w * v[j]


@register_jitable
def _end(numbers, n, j, q):
    """The nearer end of a joint's range, and the sign of the way out of it there."""
    lower, upper = numbers[U_HEAD + j] + numbers[U_MARGIN], numbers[U_HEAD + n + j] - numbers[U_MARGIN]
    return (upper, 1.0) if upper - q[j] < q[j] - lower else (lower, -1.0)


@register_jitable
def _outwards(numbers, n, j, q, v, a):
    """How far a joint's acceleration, counted outwards, is beyond ω² (end − q) − 2 ω q̇ at its nearer end."""
    w = numbers[U_FREQUENCY]
    end, out = _end(numbers, n, j, q)
    return out * (a[j] - w * w * (end - q[j]) + 2.0 * w * v[j])


@register_jitable
def _keep_in_ranges(numbers, L, n, q, v, a, work):
    """Let each joint come to rest at the end of its range by a torque of its own, as a soft end stop would.

    Where several joints are at their ends, sweeps over them find torques that push inwards only.
    """
    hit = False
    for j in range(n):
        hit = hit or _outwards(numbers, n, j, q, v, a) > 0.0
    if not hit:
        return False
    inverse, inwards = work[0 : n * n].reshape((n, n)), work[n * n : n * n + n]
    cholesky_inverse(L, n, inverse)
    for j in range(n):
        inwards[j] = 0.0
    for _ in range(_SWEEPS):
        for j in range(n):
            wanted = max(inwards[j] + _outwards(numbers, n, j, q, v, a) / inverse[j, j], 0.0)
            change, out = wanted - inwards[j], _end(numbers, n, j, q)[1]
            inwards[j] = wanted
            for k in range(n):
                a[k] -= inverse[k, j] * out * change
    return True


@register_jitable
def _slow_down(numbers, L, n, v, J, drift, a, lift):
    """Bound the acceleration along the tool's velocity; the correction is the force of least effect on the rest."""
    x = y = z = 0.0
    for j in range(n):
        x += J[0, j] * v[j]
        y += J[1, j] * v[j]
        z += J[2, j] * v[j]
    speed = math.sqrt(x * x + y * y + z * z)
    if speed < 0.1 * numbers[U_SPEED]:
        return False
    x, y, z = x / speed, y / speed, z / speed
    rate = x * drift[0] + y * drift[1] + z * drift[2]
    mobility = 0.0
    for j in range(n):
        lift[j] = J[0, j] * x + J[1, j] * y + J[2, j] * z
        rate += lift[j] * a[j]
    most = (numbers[U_SPEED] - speed) / numbers[U_SPEED_TIME]
    if rate <= most:
        return False
    for j in range(n):
        lift[n + j] = lift[j]
    cholesky_solve(L, n, lift[0:n])  # M⁻¹ Jᵀ u
    for j in range(n):
        mobility += lift[n + j] * lift[j]
    for j in range(n):
        a[j] += lift[j] * (most - rate) / max(mobility, 1e-12)
    return True


@register_jitable
def _damp_lost_direction(numbers, n, v, J, a, work):
    """Near a singular posture: fade the acceleration along the direction being lost, and damp it."""
    rows = 6 if n >= 6 else min(3, n)
    A, V, lost = work[0:36].reshape((6, 6)), work[36:72].reshape((6, 6)), work[72 : 72 + n]
    for i in range(rows):
        for k in range(rows):
            A[i, k] = 0.0
            for j in range(n):
                A[i, k] += J[i, j] * J[k, j]
            A[i, k] *= (_LEVER if i > 2 else 1.0) * (_LEVER if k > 2 else 1.0)
    symmetric_eigen(A, V, rows)
    least = 0
    for i in range(rows):
        if A[i, i] < A[least, least]:
            least = i
    sigma = math.sqrt(max(A[least, least], 0.0))
    if sigma >= numbers[U_SINGULAR]:
        return False
    size = push = speed = 0.0
    for j in range(n):
        lost[j] = 0.0
        for i in range(rows):
            lost[j] += V[i, least] * J[i, j] * (_LEVER if i > 2 else 1.0)
        size += lost[j] * lost[j]
    size = math.sqrt(max(size, 1e-24))
    for j in range(n):
        lost[j] /= size
        push += lost[j] * a[j]
        speed += lost[j] * v[j]
    share = 1.0 - sigma / numbers[U_SINGULAR]
    for j in range(n):
        a[j] -= lost[j] * share * (push + numbers[U_STOP_FREQUENCY] * speed)
    return True


@kernel(types.int64(_v, _v, types.float64, _v, _v, _m, _v, _m, _v, _v, _v))
def guard_torque(numbers, memory, dt, q, v, M, bias, J, drift, wrench, torque):
    """Let a torque pass, change it, or replace it; returns the bits of the guards at work."""
    if numbers[U_ON] < 0.5:
        return 0
    n = v.size
    L, a, work = _scratch(memory, n)
    hold = memory[W_HEAD : W_HEAD + n]
    _too_much_force(numbers, memory, wrench)
    stopped = int(memory[W_STOPPED])
    if stopped == 0 and q.size == n:
        put(hold, 0, q)
    for i in range(n):
        a[i] = torque[i] - bias[i]
        for j in range(n):
            L[i, j] = M[i, j]
    if not cholesky(L, n):
        return stopped
    cholesky_solve(L, n, a)
    bits = stopped
    if stopped and q.size == n:
        _brake(numbers, memory, dt, q, v, J, hold, a)
    if numbers[U_SINGULAR] > 0.0 and _damp_lost_direction(numbers, n, v, J, a, work):
        bits |= GUARD_SINGULAR
    if numbers[U_SPEED] > 0.0 and _slow_down(numbers, L, n, v, J, drift, a, work):
        bits |= GUARD_SPEED
    if numbers[U_JOINTS] > 0.5 and _keep_in_ranges(numbers, L, n, q, v, a, work):
        bits |= GUARD_JOINT
    if bits:
        for i in range(n):
            torque[i] = bias[i]
            for j in range(n):
                torque[i] += M[i, j] * a[j]
    return bits


@register_jitable
def _slow_set_point(numbers, J, hold, dt, set_q, set_v, position):
    """Scale a step of the set points down to the tool's speed limit."""
    x = y = z = 0.0
    for j in range(set_q.size):
        x += J[0, j] * set_v[j]
        y += J[1, j] * set_v[j]
        z += J[2, j] * set_v[j]
    speed = math.sqrt(x * x + y * y + z * z)
    if speed <= numbers[U_SPEED]:
        return False
    for j in range(set_q.size):
        set_v[j] *= numbers[U_SPEED] / speed
        if position:
            set_q[j] = hold[j] + set_v[j] * dt
    return True


@kernel(types.int64(_v, _v, types.float64, _v, _m, _v, _v, _v, types.boolean))
def guard_set_points(numbers, memory, dt, q, J, wrench, set_q, set_v, position):
    """The same behind a joint servo: hold the set points, slow them down, keep them in range; returns the bits."""
    if numbers[U_ON] < 0.5:
        return 0
    n = set_q.size
    hold = memory[W_HEAD : W_HEAD + n]
    if memory[W_STARTED] == 0.0:
        memory[W_STARTED] = 1.0
        for j in range(n):
            hold[j] = q[j]
            set_v[j] = (set_q[j] - q[j]) / dt if position else set_v[j]
    _too_much_force(numbers, memory, wrench)
    bits = int(memory[W_STOPPED])
    if bits:
        for j in range(n):
            set_q[j], set_v[j] = hold[j], 0.0
        return bits
    if numbers[U_SPEED] > 0.0 and _slow_set_point(numbers, J, hold, dt, set_q, set_v, position):
        bits |= GUARD_SPEED
    if numbers[U_JOINTS] > 0.5:
        for j in range(n):
            lower, upper = numbers[U_HEAD + j] + numbers[U_MARGIN], numbers[U_HEAD + n + j] - numbers[U_MARGIN]
            if set_q[j] > upper or set_q[j] < lower:
                set_q[j], set_v[j], bits = min(max(set_q[j], lower), upper), 0.0, bits | GUARD_JOINT
    put(hold, 0, set_q)
    return bits
