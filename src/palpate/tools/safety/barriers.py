"""Limits that hold around any law: the least change of its torque that keeps joints and tool inside, tick by tick.

    minimise (a − a_law)ᵀ M̂ (a − a_law)
    subject to   T a ≤ v*(h − T v̂) − v*(h) + γ (v*(h) − v̂),  h = q_max − q̂,  and its mirror image         per joint
                 T a ≤ γ (v_max − v̂),  its mirror image,  |a| ≤ a_max                                   per joint
                 |M̂ a + b̂| ≤ τ_max                                                                     per joint
                 the first with h = n·(p̂ − p_wall), v = −n·J v̂, a = −n·(J a + J̇ v)                      per wall
    v*(h) = A (√(T_b² + 2 h/A) − T_b),   A = braking_share · a_max                       sampled barrier speed

q̂, v̂ is the measured state carried through the commands that are still on their way (`delay` ticks). v* is the
largest speed from which a brake of A that begins T_b later stops within h: T_b v + v²/(2 A) = h. T_b is the period T
and the time in which the driver's limit of torque rates lets half of the torque for a change of 2 A through. Without
it, as a loop in continuous time would have it, a sampled arm passes the limit. ψ = v*(h) − v is kept above (1 − γ) of
its last value, with γ = T / ease: what was inside stays inside, and a law that comes near is eased, not cut. Where
limits exclude each other, all are widened by the least common share of their widths, and the ones at fault are counted
by name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.config import Config, PerJoint, Vector3, required, setting
from palpate.control.fitting import per_joint
from palpate.control.solve.hierarchy import Stack, make_stack, solve_stack
from palpate.control.steps.linear_algebra import cholesky, cholesky_solve
from palpate.control.tick import Tick
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, State, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_SLACK = 1e-9  # of a limit's width, in which the law's command counts as inside


class Wall(Record):
    """A plane that the tool's point does not pass: h = normal · (p − position) ≥ 0."""

    position: Vector = sized(3)
    normal: Vector = sized(3)
    braking: float = 1.0  # A, m/s²
    begins: float = 0.0  # T_b, s


class BarrierSettings(Record):
    """Limits per joint, and walls."""

    on: bool = False
    delay: int = 0
    lower: Vector = sized("nv")
    upper: Vector = sized("nv")
    speed: Vector = sized("nv")
    acceleration: Vector = sized("nv")
    braking: Vector = sized("nv")  # A
    begins: Vector = sized("nv")  # T_b, s
    ease: float = 0.02
    torque: Vector = sized("nv")
    walls: list[Wall]


class BarrierMemory(Record):
    """Commands on their way, which limits were met or excluded each other, and scratch."""

    count: Kept[int] = 0  # of the commands so far
    late: State[Matrix] = sized("late", "nv")  # accelerations on their way, in turn
    met: Kept[Integers] = sized("limits")  # ticks
    conflicts: Kept[Integers] = sized("limits")  # ticks
    changed: Kept[int] = 0  # ticks
    failed: Kept[int] = 0  # ticks at which the search did not end
    active: Kept[float] = 0.0  # limits met at this tick
    widened: Kept[float] = 0.0  # largest share of their widths
    # scratch
    q: Vector = sized("nv")
    v: Vector = sized("nv")
    a: Vector = sized("nv")
    L: Matrix = sized("nv", "nv")
    stack: Stack


class BarrierWall(Config):
    """A plane that the tool's point is kept on one side of."""

    name: str = setting("wall", "1", "its name", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    position: Vector3 = required("m", "a point of it, world axes")
    normal: Vector3 = required("1", "towards the side where the tool stays")
    braking: float = setting(2.0, "m/s²", "how hard the tool is braked before it", gt=0)


class Barriers(Config):
    """Limits around the law, kept by the least change of its torque."""

    joint_ranges: bool = setting(True, "1", "keep joints inside their ranges")
    joint_margin: float = setting(0.0, "rad or m", "distance kept from the ends", ge=0)
    joint_speeds: bool = setting(True, "1", "keep joints below their rated speeds")
    speed_share: float = setting(1.0, "1", "of the rated speeds", gt=0, le=1)
    torques: bool = setting(True, "1", "keep torques below their limits")
    acceleration: PerJoint | None = setting(
        None, "rad/s² or m/s²", "largest acceleration, and the braking that is counted on; from torque and mass if none"
    )
    braking_share: float = setting(0.5, "1", "share of that acceleration that braking counts on", gt=0, le=1)
    ease: float = setting(0.02, "s", "time in which a law is eased onto a bound; at least a period", gt=0)
    begins: float | None = setting(
        None, "s", "T_b, when braking begins; from period and torque rates if not given", ge=0
    )
    walls: tuple[BarrierWall, ...] = setting((), "1", "planes that the tool's point does not pass")

    def settings(self, robot: Robot, delay: int, period: float) -> BarrierSettings:
        """The numbers for the loop."""
        if robot.nq != robot.nv:
            raise InvalidInput(f"barriers need single-axis joints on a fixed base; {robot.name} has a free base")
        limits, n = robot.limits, robot.nv
        far = np.full(n, 1e9)
        margin = self.joint_margin
        most = self.most_acceleration(robot)
        begins = self._begins(robot, self.braking_share * most, period)
        walls = [_wall(wall, float(begins.max())) for wall in self.walls]
        return BarrierSettings(
            on=True,
            delay=delay,
            lower=np.maximum(limits.lower + margin, -far) if self.joint_ranges else -far,
            upper=np.minimum(limits.upper - margin, far) if self.joint_ranges else far,
            speed=np.minimum(self.speed_share * limits.velocity, far) if self.joint_speeds else far,
            acceleration=most,
            braking=self.braking_share * most,
            begins=begins,
            ease=max(self.ease, period),
            torque=np.minimum(limits.torque, far) if self.torques else far,
            walls=walls,
        )

    def _begins(self, robot: Robot, braking: Array, period: float) -> Array:
        """T_b per joint: as given; or the period and A M_jj over the torque rate."""
        if self.begins is not None:
            return np.full(robot.nv, max(self.begins, period))
        rate = robot.limits.torque_rate
        rise = braking * np.diag(np.array(robot.terms(robot.home, np.zeros(robot.nv)).M)) / rate
        return period + np.where(np.isfinite(rise), rise, 0.0)

    def most_acceleration(self, robot: Robot) -> Array:
        """a_max per joint: as given, or half the torque that gravity leaves at home over the joint's inertia there."""
        if self.acceleration is not None:
            return per_joint(robot, self.acceleration, "acceleration", above=0.0)
        terms = robot.terms(robot.home, np.zeros(robot.nv))
        room = robot.limits.torque - np.abs(np.array(terms.gravity))
        with np.errstate(invalid="ignore"):
            most = 0.5 * np.maximum(room, 0.0) / np.diag(np.array(terms.M))
        return np.clip(np.where(np.isfinite(most), most, 100.0), 0.5, 100.0)

    def names(self, robot: Robot) -> list[str]:
        """Names of the limits, in the order of the loop's rows."""
        joints = [f"range, speed and acceleration of {name}" for name in robot.dof_names]
        return [*joints, *(f"torque of {name}" for name in robot.dof_names), *(f"wall {w.name}" for w in self.walls)]


def _wall(wall: BarrierWall, begins: float) -> Wall:
    normal = np.array(wall.normal, dtype=float)
    length = float(np.linalg.norm(normal))
    if length == 0.0:
        raise InvalidInput(f"barrier wall {wall.name!r}: the normal must have a direction")
    return Wall(
        position=np.array(wall.position, dtype=float), normal=normal / length, braking=wall.braking, begins=begins
    )


def barrier_memory(n: int, delay: int, walls: int) -> BarrierMemory:
    """The memory of barriers around n joints."""
    limits = 2 * n + walls
    stack = make_stack(n, n, 1, limits)
    stack.starts[:] = 0, n
    return BarrierMemory({"nv": n, "late": max(delay, 1), "limits": limits}, stack=stack)


def barrier_speed(distance: float, braking: float, begins: float) -> float:
    """v*(h): the largest speed from which a brake that begins so many seconds later stops within a distance."""
    return braking * (math.sqrt(begins**2 + 2.0 * distance / braking) - begins)


@kernel(inline=True)
def _speed_towards(h: float, braking: float, begins: float) -> float:
    """v*(h); beyond the limit a speed back of h / 20 T_b."""
    if h <= 0.0:
        return 0.05 * h / begins
    return braking * (math.sqrt(begins * begins + 2.0 * h / braking) - begins)


@kernel(inline=True)
def _most_towards(h: float, v: float, braking: float, begins: float, T: float, ease: float) -> float:
    """The largest acceleration towards a limit at a distance h, at a speed v towards it."""
    now = _speed_towards(h, braking, begins)
    return (_speed_towards(h - T * v, braking, begins) - now) / T + (now - v) / ease


@kernel
def _carry_on(x: Tick, k: BarrierSettings, m: BarrierMemory) -> None:
    """q̂, v̂: the measured state carried through the accelerations on their way."""
    put(m.q, 0, x.q)
    put(m.v, 0, x.v)
    for age in range(min(k.delay, m.count), 0, -1):
        row = (m.count - age) % m.late.shape[0]
        for i in range(x.v.size):
            m.q[i] += x.dt * (m.v[i] + 0.5 * x.dt * m.late[row, i])
            m.v[i] += x.dt * m.late[row, i]


@kernel
def _lay_out(x: Tick, k: BarrierSettings, m: BarrierMemory) -> None:
    """Limits of a, row by row: joints, torques, walls."""
    s, n, T = m.stack.search, x.v.size, x.dt
    for i in range(n):
        most, A, begins = k.acceleration[i], k.braking[i], k.begins[i]
        up = _most_towards(k.upper[i] - m.q[i], m.v[i], A, begins, T, k.ease)
        down = _most_towards(m.q[i] - k.lower[i], -m.v[i], A, begins, T, k.ease)
        up, down = min(up, (k.speed[i] - m.v[i]) / k.ease), min(down, (k.speed[i] + m.v[i]) / k.ease)
        s.upper[i] = max(min(up, most), -most)
        s.lower[i] = min(max(-down, -most), most)
        s.lower[i] = min(s.lower[i], s.upper[i])
        m.stack.units[i] = most
        s.lower[n + i], s.upper[n + i] = -k.torque[i] - x.bias[i], k.torque[i] - x.bias[i]
        m.stack.units[n + i] = k.torque[i]
        for j in range(n):
            s.C[i, j] = 1.0 if i == j else 0.0
            s.C[n + i, j] = x.M[i, j]
    for w in range(len(k.walls)):
        _lay_wall(x, k.walls[w], k.ease, m, 2 * n + w)


@kernel
def _lay_wall(x: Tick, wall: Wall, ease: float, m: BarrierMemory, row: int) -> None:
    """−n·J a ≤ the most towards the wall, and n·J̇v."""
    s, n, T, gap, drift, speed = m.stack.search, x.v.size, x.dt, 0.0, 0.0, 0.0
    for i in range(3):
        gap += wall.normal[i] * (x.position[i] - wall.position[i])
        drift += wall.normal[i] * x.drift[i]
    for j in range(n):
        along = wall.normal[0] * x.J[0, j] + wall.normal[1] * x.J[1, j] + wall.normal[2] * x.J[2, j]
        s.C[row, j] = -along
        speed += along * m.v[j]
        gap += along * (m.q[j] - x.q[j])
    bound = _most_towards(gap, -speed, wall.braking, wall.begins, T, ease) + drift
    s.lower[row], s.upper[row] = -math.inf, bound
    m.stack.units[row] = wall.braking


@kernel
def _keeps(m: BarrierMemory) -> bool:
    """Whether the law's acceleration, in `a`, is inside of all limits."""
    s = m.stack.search
    for i in range(s.lower.size):
        at, slack = dot(s.C[i], m.a, m.a.size), _SLACK * m.stack.units[i]
        if at > s.upper[i] + slack or at < s.lower[i] - slack:
            return False
    return True


@kernel
def _least_change(m: BarrierMemory) -> bool:
    """The acceleration nearest to `a` in the metric of M̂ = L Lᵀ within the limits, into `a`; whether it was found."""
    level, s, n = m.stack.level, m.stack.search, m.a.size
    for i in range(n):
        level.b[i] = 0.0
        for j in range(n):
            level.A[i, j] = m.L[j, i] if j >= i else 0.0
            level.b[i] += level.A[i, j] * m.a[j]
    relaxed, failed = solve_stack(m.stack)
    if failed != 0:
        m.failed += 1
        return False
    m.widened = max(m.widened, relaxed)
    limits = s.lower.size
    for i in range(limits):
        if relaxed > 0.0:
            wide = m.stack.wide.active
            m.conflicts[i] += wide[i] != 0 or wide[limits + i] != 0
        m.met[i] += s.active[i] != 0
        m.active += s.active[i] != 0
    put(m.a, 0, s.x)
    return True


@kernel
def hold_limits(x: Tick, k: BarrierSettings, m: BarrierMemory, torque: Vector) -> bool:
    """Bend a torque as little as the limits ask; whether it was changed."""
    n, changed = x.v.size, False
    for i in range(n):
        put(m.L[i], 0, x.M[i])
        m.a[i] = torque[i] - x.bias[i]
    if not cholesky(m.L, n):
        return False
    cholesky_solve(m.L, n, m.a)
    _carry_on(x, k, m)
    _lay_out(x, k, m)
    m.active = 0.0
    if not _keeps(m) and _least_change(m):
        changed = True
        m.changed += 1
        for i in range(n):
            torque[i] = x.bias[i] + dot(x.M[i], m.a, n)
    put(m.late[m.count % m.late.shape[0]], 0, m.a)
    m.count += 1
    return changed


def conflicts_of(memory: Any, names: list[str]) -> list[str]:
    """Names of limits that excluded each other."""
    return [name for name, count in zip(names, memory.conflicts) if count > 0]
