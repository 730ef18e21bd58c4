"""The fastest stop as a law: brake the tool along its direction, then stop what still moves (document 001)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import (
    NEEDS_BIAS,
    NEEDS_DRIFT,
    NEEDS_JACOBIAN,
    NEEDS_M,
    CommandKind,
    Law,
    law_kernel,
    per_joint,
)
from palpate.control.solve.hierarchy import lq_factor, solve_levels, trapezoid_solve
from palpate.control.solve.stop_kernels import INFO_SIZE, solve_stop
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

G_METHOD, G_REST, G_STRAIGHTEN, G_AXES, G_BOUNDS = 0, 1, 2, 3, 6
M_PHASE, M_DIRECTION, M_SPEED, MEMORY_SIZE = 0, 1, 4, 5
WAITING, BRAKING, RESTING = 0.0, 1.0, 2.0
_METHODS = ("optimal", "pseudoinverse", "as-printed")


@register_jitable
def _shortest(J, w, out):
    """out = J⁺ w."""
    m, n = J.shape
    L, Q, order, right = J.copy(), np.empty((n, n)), np.empty(m, np.int64), np.empty(m)
    rank = lq_factor(L, m, n, Q, order, 1e-11)
    for i in range(m):
        right[i] = w[order[i]]
    trapezoid_solve(L, m, rank, right)
    for j in range(n):
        out[j] = 0.0
        for k in range(rank):
            out[j] += Q[j, k] * right[k]


@register_jitable
def _printed_limit(a, b, U):
    """λ_i of equation (5)."""
    if b < -U:
        return (U - b) / a if a > 0.0 else -np.inf
    if b > U:
        return -(U + b) / a if a < 0.0 else -np.inf
    return max(-(U + b) / a, (U - b) / a) if a != 0.0 else np.inf


@register_jitable
def _pseudoinverse_stop(J, p, c, lower, upper, most, printed, x):
    """u = a λ + b with the law's largest λ; where it has none, with the λ ≥ 0 that some joints allow, clipped."""
    n = x.size
    a, b = np.empty(n), np.empty(n)
    _shortest(J, p, a)
    _shortest(J, c, b)
    size = 0.0
    for j in range(n):
        a[j] = -a[j]
        size = max(size, abs(a[j]))
    low, high, usable = -np.inf, most, most
    for j in range(n):
        if abs(a[j]) <= 1e-12 * size:
            a[j] = 0.0
        if printed:
            limit = _printed_limit(a[j], b[j], upper[j])
        elif a[j] == 0.0:
            limit = np.inf if lower[j] <= b[j] <= upper[j] else -np.inf
        else:
            ends = (lower[j] - b[j]) / a[j], (upper[j] - b[j]) / a[j]
            limit = max(ends[0], ends[1])
            low = max(low, min(ends[0], ends[1]))
        high = min(high, limit)
        if limit >= 0.0:
            usable = min(usable, limit)
    rate = high if low <= high and high > -np.inf else usable
    for j in range(n):
        x[j] = min(max(a[j] * rate + b[j], lower[j]), upper[j])


@register_jitable
def _chosen_rows(J, drift, v, gains, rows, h, p):
    """The chosen axes of the tool's position: Jacobian, drift and velocity."""
    at = 0
    for k in range(3):
        if gains[G_AXES + k] == 0.0:
            continue
        h[at], p[at] = drift[k], 0.0
        for j in range(v.size):
            rows[at, j] = J[k, j]
            p[at] += J[k, j] * v[j]
        at += 1


@register_jitable
def _brake(rows, h, p, dt, lower, upper, gains, memory, x):
    """One tick of braking along the remembered direction; False once the tool stands still."""
    m = p.size
    speed, along, c = 0.0, np.empty(m), np.empty(m)
    for i in range(m):
        speed += memory[M_DIRECTION + i] * p[i]
    if speed <= 1e-4 * memory[M_SPEED]:
        return False
    for i in range(m):
        along[i] = memory[M_DIRECTION + i] * speed
        c[i] = -h[i] - gains[G_STRAIGHTEN] * (p[i] - along[i])
    if gains[G_METHOD] != 0.0:
        _pseudoinverse_stop(rows, along, c, lower, upper, 1.0 / dt, gains[G_METHOD] == 2.0, x)
        return True
    n = x.size
    solve_stop(rows, along, c, lower, upper, 1.0 / dt, np.eye(n), np.zeros(n), x, np.empty(INFO_SIZE))
    return True


@register_jitable
def _rest(rows, h, p, v, dt, lower, upper, gains, x):
    """Hold the tool still first, then brake every joint with what is left."""
    m, n = rows.shape
    rate = min(gains[G_REST], 1.0 / dt)
    A, b = np.zeros((m + n, n)), np.empty(m + n)
    for i in range(m):
        b[i] = -h[i] - p[i] * rate
        for j in range(n):
            A[i, j] = rows[i, j]
    for j in range(n):
        A[m + j, j] = 1.0
        b[m + j] = -v[j] * rate
        x[j] = min(max(0.0, lower[j]), upper[j])
    starts = np.array([0, m, m + n])
    solve_levels(A, b, starts, np.eye(n), lower, upper, x, np.zeros(n, np.int64))


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n, m = v.size, int(gains[G_AXES] + gains[G_AXES + 1] + gains[G_AXES + 2])
    rows, h, speed, x = np.empty((m, n)), np.empty(m), np.empty(m), np.zeros(n)
    lower, upper = gains[G_BOUNDS : G_BOUNDS + n].copy(), gains[G_BOUNDS + n : G_BOUNDS + 2 * n].copy()
    _chosen_rows(J, drift, v, gains, rows, h, speed)
    if memory[M_PHASE] == WAITING:
        size = 0.0
        for i in range(m):
            size += speed[i] * speed[i]
        size = math.sqrt(size)
        memory[M_SPEED] = size
        memory[M_PHASE] = BRAKING if size > 1e-9 else RESTING
        for i in range(m):
            memory[M_DIRECTION + i] = speed[i] / size if size > 1e-9 else 0.0
    if memory[M_PHASE] == BRAKING and not _brake(rows, h, speed, dt, lower, upper, gains, memory, x):
        memory[M_PHASE] = RESTING
    if memory[M_PHASE] == RESTING:
        _rest(rows, h, speed, v, dt, lower, upper, gains, x)
    for j in range(n):
        terms[0, j] = x[j] if memory[M_PHASE] == BRAKING else 0.0
        terms[1, j] = x[j] if memory[M_PHASE] == RESTING else 0.0


class FastestStop(Law):
    """Stop the tool as fast as the joint accelerations allow, along its own direction; then stop the joints.

    While the tool moves: u with J u + J̇v = −λ ṗ_∥ (− straighten · ṗ_⊥), lower ≤ u ≤ upper, λ ≤ 1/dt greatest, then |u|
    least; ṗ_∥ is the velocity along the direction the tool had at the first tick. Afterwards J u + J̇v = −r ṗ is held
    first and u = −r v second, both within the bounds, r = `rest_rate`.
    Closed loop: straight-line motion of the tool with greedily greatest deceleration, rest in finite time, then every
    joint at rest. Where no command keeps the direction, the nearest one is used ("optimal"), or the pseudo-inverse's
    one clipped (the two others).
    Assumes: a true model (the acceleration goes through inverse dynamics) and torques that carry it out.
    """

    name: ClassVar[str] = "fastest-stop"
    terms: ClassVar[tuple[str, ...]] = ("stop", "rest")
    command: ClassVar[CommandKind] = "acceleration"
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN | NEEDS_DRIFT
    kernel = staticmethod(_kernel)

    method: Literal["optimal", "pseudoinverse", "as-printed"] = setting("optimal", "1", "which version of the stop")
    axes: str = setting("xyz", "1", "which axes of the tool's position count", pattern=r"^x?y?z?$", min_length=1)
    acceleration: PerJoint | None = setting(
        None, "rad/s² or m/s²", "bound on |u|, one for all joints or one each; the robot's limits if not given"
    )
    rest_rate: float = setting(50.0, "1/s", "r: how fast what still moves is stopped", gt=0)
    straighten: float = setting(0.0, "1/s", "how fast a velocity across the direction is removed", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[method, r, straighten, axes; lower; upper]."""
        most = robot.limits.acceleration if self.acceleration is None else per_joint(robot, self.acceleration, "bound")
        if not (np.isfinite(most).all() and (most > 0).all()):
            raise InvalidInput(
                f"{robot.name} needs a positive acceleration bound for every joint, got {most}",
                hint="give control.acceleration",
            )
        axes = [float(axis in self.axes) for axis in "xyz"]
        method = float(_METHODS.index(self.method))
        return np.array([method, self.rest_rate, self.straighten, *axes, *-most, *most])

    def memory(self, robot: Robot) -> Array:
        """[phase, direction, first speed]."""
        return np.zeros(MEMORY_SIZE)
