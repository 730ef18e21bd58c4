"""The fastest stop as a law: brake the tool along its direction, then stop what still moves (document 001)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from palpate.config import PerJoint, setting
from palpate.control.law import CommandKind, Law, Need, Tick, per_joint, sizes_of
from palpate.control.solve.factors import lq_factor, trapezoid_solve
from palpate.control.solve.hierarchy import Stack, make_stack, solve_stack
from palpate.control.solve.stop_kernels import StopProblem, find_stop, make_stop
from palpate.engine.kernels import clear, kernel
from palpate.engine.records import Integers, Matrix, Record, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

WAITING, BRAKING, RESTING = range(3)
_METHODS = ("optimal", "pseudoinverse", "as-printed")
_OPTIMAL, _PRINTED = _METHODS.index("optimal"), _METHODS.index("as-printed")


class Gains(Record):
    """Which version of the stop, along which axes, within which accelerations."""

    method: int
    axes: Integers  # of the tool's position
    rest_rate: float
    straighten: float
    lower: Vector = sized("nv")
    upper: Vector = sized("nv")


class Memory(Record):
    """Where the stop is, the direction it keeps, and scratch; m axes."""

    phase: int = WAITING
    direction: Vector = sized("m")
    first_speed: float = 0.0
    # scratch
    rows: Matrix = sized("m", "nv")
    h: Vector = sized("m")
    p: Vector = sized("m")
    along: Vector = sized("m")
    c: Vector = sized("m")
    a: Vector = sized("nv")
    b: Vector = sized("nv")
    x: Vector = sized("nv")
    L: Matrix = sized("m", "nv")
    Q: Matrix = sized("nv", "nv")
    order: Integers = sized("m")
    right: Vector = sized("m")
    problem: StopProblem
    stack: Stack  # of the rest


class Terms(Record):
    """What the acceleration is made of."""

    stop: Vector = sized("nv")
    rest: Vector = sized("nv")


@kernel
def _shortest(mem: Memory, w: Vector, out: Vector) -> None:
    """out = J⁺ w."""
    m, n = mem.rows.shape
    for i in range(m):
        for j in range(n):
            mem.L[i, j] = mem.rows[i, j]
    rank = lq_factor(mem.L, m, n, mem.Q, mem.order, 1e-11)
    for i in range(m):
        mem.right[i] = w[mem.order[i]]
    trapezoid_solve(mem.L, m, rank, mem.right)
    for j in range(n):
        out[j] = 0.0
        for k in range(rank):
            out[j] += mem.Q[j, k] * mem.right[k]


@kernel
def _printed_limit(a: float, b: float, U: float) -> float:
    """λ_i of equation (5)."""
    if b < -U:
        return (U - b) / a if a > 0.0 else -np.inf
    if b > U:
        return -(U + b) / a if a < 0.0 else -np.inf
    return max(-(U + b) / a, (U - b) / a) if a != 0.0 else np.inf


@kernel
def _pseudoinverse_stop(k: Gains, m: Memory, most: float) -> None:
    """u = a λ + b with the law's largest λ; where it has none, with the λ ≥ 0 that some joints allow, clipped."""
    a, b, lower, upper, size = m.a, m.b, k.lower, k.upper, 0.0
    _shortest(m, m.along, a)
    _shortest(m, m.c, b)
    for j in range(a.size):
        a[j] = -a[j]
        size = max(size, abs(a[j]))
    low, high, usable = -np.inf, most, most
    for j in range(a.size):
        if abs(a[j]) <= 1e-12 * size:
            a[j] = 0.0
        if k.method == _PRINTED:
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
    for j in range(a.size):
        m.x[j] = min(max(a[j] * rate + b[j], lower[j]), upper[j])


@kernel
def _choose_rows(x: Tick, k: Gains, m: Memory) -> None:
    """The chosen axes of the tool's position: Jacobian, drift and velocity."""
    for i in range(k.axes.size):
        axis = k.axes[i]
        m.h[i], m.p[i] = x.drift[axis], 0.0
        for j in range(x.v.size):
            m.rows[i, j] = x.J[axis, j]
            m.p[i] += x.J[axis, j] * x.v[j]


@kernel
def _begin(m: Memory) -> None:
    """Remember the direction of the first tick."""
    size = 0.0
    for i in range(m.p.size):
        size += m.p[i] * m.p[i]
    size = math.sqrt(size)
    m.first_speed = size
    m.phase = BRAKING if size > 1e-9 else RESTING
    for i in range(m.p.size):
        m.direction[i] = m.p[i] / size if size > 1e-9 else 0.0


@kernel
def _brake(x: Tick, k: Gains, m: Memory) -> bool:
    """One tick of braking along the remembered direction; False once the tool stands still."""
    speed = 0.0
    for i in range(m.p.size):
        speed += m.direction[i] * m.p[i]
    if speed <= 1e-4 * m.first_speed:
        return False
    for i in range(m.p.size):
        m.along[i] = m.direction[i] * speed
        m.c[i] = -m.h[i] - k.straighten * (m.p[i] - m.along[i])
    if k.method != _OPTIMAL:
        _pseudoinverse_stop(k, m, 1.0 / x.dt)
        return True
    _optimal_stop(x, k, m)
    return True


@kernel
def _optimal_stop(x: Tick, k: Gains, m: Memory) -> None:
    """The fastest stop of every u within the bounds."""
    s = m.problem
    s.most = 1.0 / x.dt
    for i in range(m.p.size):
        s.drift[i], s.line[i], s.velocity[i] = m.h[i], m.along[i], m.p[i]
        s.steer[i] = -k.straighten * (m.p[i] - m.along[i])
        for j in range(x.v.size):
            s.J[i, j] = m.rows[i, j]
    for j in range(x.v.size):
        s.C[j, j], s.lower[j], s.upper[j] = 1.0, k.lower[j], k.upper[j]
    find_stop(s)
    for j in range(x.v.size):
        m.x[j] = s.u[j]


@kernel
def _rest(x: Tick, k: Gains, m: Memory) -> None:
    """Hold the tool still first, then brake every joint with what is left."""
    (count, n), level, s = m.rows.shape, m.stack.level, m.stack.search
    rate = min(k.rest_rate, 1.0 / x.dt)
    for i in range(count):
        level.b[i] = -m.h[i] - m.p[i] * rate
        for j in range(n):
            level.A[i, j] = m.rows[i, j]
    for j in range(n):
        level.A[count + j, j], level.b[count + j] = 1.0, -x.v[j] * rate
        s.C[j, j], s.lower[j], s.upper[j] = 1.0, k.lower[j], k.upper[j]
    m.stack.starts[1], m.stack.starts[2] = count, count + n
    solve_stack(m.stack)
    for j in range(n):
        m.x[j] = s.x[j]


@kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    clear(m.x)
    _choose_rows(x, k, m)
    if m.phase == WAITING:
        _begin(m)
    if m.phase == BRAKING and not _brake(x, k, m):
        m.phase = RESTING
    if m.phase == RESTING:
        _rest(x, k, m)
    for j in range(x.v.size):
        out.stop[j] = m.x[j] if m.phase == BRAKING else 0.0
        out.rest[j] = m.x[j] if m.phase == RESTING else 0.0


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
    command: ClassVar[CommandKind] = "acceleration"
    needs: ClassVar[tuple[Need, ...]] = ("M", "bias", "J", "drift")
    kernel = _kernel

    method: Literal["optimal", "pseudoinverse", "as-printed"] = setting("optimal", "1", "which version of the stop")
    axes: str = setting("xyz", "1", "which axes of the tool's position count", pattern=r"^x?y?z?$", min_length=1)
    acceleration: PerJoint | None = setting(
        None, "rad/s² or m/s²", "bound on |u|, one for all joints or one each; the robot's limits if not given"
    )
    rest_rate: float = setting(50.0, "1/s", "r: how fast what still moves is stopped", gt=0)
    straighten: float = setting(0.0, "1/s", "how fast a velocity across the direction is removed", ge=0)

    def gains(self, robot: Robot) -> Gains:
        """Bounds, axes, method."""
        most = robot.limits.acceleration if self.acceleration is None else per_joint(robot, self.acceleration, "bound")
        if not (np.isfinite(most).all() and (most > 0).all()):
            raise InvalidInput(
                f"{robot.name} needs a positive acceleration bound for every joint, got {most}",
                hint="give control.acceleration",
            )
        return Gains(
            method=_METHODS.index(self.method),
            axes=["xyz".index(axis) for axis in self.axes],
            rest_rate=self.rest_rate,
            straighten=self.straighten,
            lower=-most,
            upper=most.copy(),
        )

    def memory(self, robot: Robot) -> Memory:
        """The direction kept, then scratch."""
        n, m = robot.nv, len(self.axes)
        return Memory({**sizes_of(robot), "m": m}, problem=make_stop(n, m, n), stack=make_stack(n, m + n, 2, n))
