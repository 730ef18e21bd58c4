"""Limits that hold around any law: the least change of its torque that keeps joints and tool inside, tick by tick.

    minimise (a − a_law)ᵀ M̂ (a − a_law)
    subject to   v*(h⁺) − v⁺ ≥ (1 − γ) (v*(h) − v̂),   h = q_max − q̂,  and its mirror image               per joint
                 T a ≤ γ (v_max − v̂),  its mirror image,  |a| ≤ a_max                                   per joint
                 |M̂ a + b̂| ≤ τ_max                                                                     per joint
                 the first with h = n·(p̂ − p_wall), v = −n·J v̂, a = −n·(J a + J̇ v)                      per wall
    v⁺ = v̂ + T a,   h⁺ = h − T v̂ − ½ T² a             what a held acceleration leads to, exactly
    v*(h) = A (√(T_b² + 2 h/A) − T_b),   A = braking_share · a_max                       sampled barrier speed

q̂, v̂ is the measured state carried through the commands that are still on their way (`delay` ticks), as far as the
driver's torque rates let them through. v* is the largest speed from which a brake of A that begins T_b later stops
within h: T_b v + v²/(2 A) = h. A barrier that brakes as if time were continuous, v* = √(2 A h), passes its limit in a
sampled loop. ψ = v* − v is kept above (1 − γ) of its last value, with γ = T / ease: what was inside stays inside, and
a law that comes near is eased, not cut.

Torque rates: along the boundary the deceleration A v/(v + A T_b) grows by at most 4 A / (27 T_b), and a law that
accelerates with a_max is eased by at most (a_max + A) / ease. Both stay below the jerk j that the torque rate allows
if T_b ≥ T + 4 A/(27 j) and ease ≥ (a_max + A)/j; so they are made. How far a limit was passed all the same is told.
Where limits exclude each other, all are widened by the least common share of their widths, and the ones at fault are
counted by name.
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
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, State, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_SLACK = 1e-9  # of a limit's width, in which the law's command counts as inside
_DEPENDENT = 1e-10  # a limit's share beside those that hold already, below which it says nothing of its own
PASSED = 1e-4  # rad or m beyond a limit that are worth a warning


class Wall(Record):
    """A plane that the tool's point does not pass: h = normal · (p − position) ≥ 0."""

    position: Vector = sized(3)
    normal: Vector = sized(3)
    braking: float = 1.0  # A, m/s²
    begins: float = 0.0  # T_b, s
    ease: float = 0.0  # s, that the torque rates ask for


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
    eases: Vector = sized("nv")  # s, that the torque rates ask for
    rate: Vector = sized("nv", start=math.inf)  # of torque, per second
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
    passed: Kept[Vector] = sized("limits")  # rad or m, the farthest beyond ranges and walls
    started: Kept[bool] = False
    sent: Kept[Vector] = sized("nv")  # torque that the driver let through last
    cut: Kept[int] = 0  # ticks at which it did not let all of a barrier's torque through
    held: Kept[int] = 0  # limits that held at the last tick, and which: ±(row + 1)
    which: Kept[Integers] = sized("nv")
    # scratch
    q: Vector = sized("nv")
    v: Vector = sized("nv")
    a: Vector = sized("nv")
    L: Matrix = sized("nv", "nv")
    wanted: Vector = sized("nv")  # the law's acceleration
    y: Vector = sized("nv")  # Lᵀ (a − wanted)
    rows: Matrix = sized("nv", "nv")  # of those that hold, in the metric: G basis, which is orthonormal
    basis: Matrix = sized("nv", "nv")
    pulls: Vector = sized("nv")
    row: Vector = sized("nv")
    free: Vector = sized("nv")
    share: Vector = sized("nv")
    G: Matrix = sized("nv", "nv")
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
        jerk = limits.torque_rate / np.diag(np.array(robot.terms(robot.home, np.zeros(n)).M))
        begins = self._begins(self.braking_share * most, jerk, period)
        walls = [self._wall(wall, robot, period) for wall in self.walls]
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
            eases=(1.0 + self.braking_share) * most / jerk,
            rate=limits.torque_rate,
            torque=np.minimum(limits.torque, far) if self.torques else far,
            walls=walls,
        )

    def _begins(self, braking: Array, jerk: Array, period: float) -> Array:
        """T_b: as given; or the period and 4 A / 27 j."""
        if self.begins is not None:
            return np.full(len(braking), max(self.begins, period))
        return period + 4.0 / 27.0 * braking / jerk

    def _wall(self, wall: BarrierWall, robot: Robot, period: float) -> Wall:
        """A wall for the loop, with the jerk along its normal that the torque rates allow at home."""
        normal = np.array(wall.normal, dtype=float)
        length = float(np.linalg.norm(normal))
        if length == 0.0:
            raise InvalidInput(f"barrier wall {wall.name!r}: the normal must have a direction")
        terms = robot.terms(robot.home, np.zeros(robot.nv))
        row = normal / length @ np.array(terms.J)[:3]
        felt = np.abs(row) > 1e-3 * np.abs(row).max()
        push = float((robot.limits.torque_rate[felt] / np.abs(row[felt])).min()) if felt.any() else math.inf
        jerk = push * float(row @ np.linalg.solve(np.array(terms.M), row))
        return Wall(
            position=np.array(wall.position, dtype=float),
            normal=normal / length,
            braking=wall.braking,
            begins=float(self._begins(np.array([wall.braking]), np.array([jerk]), period)[0]),
            ease=(1.0 + 1.0 / self.braking_share) * wall.braking / jerk,
        )

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


def barrier_memory(n: int, delay: int, walls: int) -> BarrierMemory:
    """The memory of barriers around n joints."""
    limits = 2 * n + walls
    stack = make_stack(n, n, 1, limits)
    stack.starts[:] = 0, n
    return BarrierMemory({"nv": n, "late": max(delay, 1), "limits": limits}, stack=stack)


def barrier_speed(distance: float, braking: float, begins: float) -> float:
    """v*(h): the largest speed from which a brake that begins so many seconds later stops within a distance."""
    return braking * (math.sqrt(begins**2 + 2.0 * distance / braking) - begins)


def fastest_without_overshoot(period: float, delay: int) -> float:
    """The largest rate α, 1/s, at which the barrier v ≤ α h of a sampled, late loop is not passed.

    h_{k+1} = h_k − α T h_{k−d} falls without a change of sign up to α T = d^d / (d + 1)^(d + 1): 1, ¼, 4/27, … With any
    larger α, as continuous time allows it, the limit is passed.
    """
    return (delay**delay / (delay + 1.0) ** (delay + 1)) / period


@kernel(inline=True)
def _speed_towards(h: float, braking: float, begins: float) -> float:
    """v*(h); beyond the limit a speed back of h / 20 T_b."""
    if h <= 0.0:
        return 0.05 * h / begins
    return braking * (math.sqrt(begins * begins + 2.0 * h / braking) - begins)


@kernel(inline=True)
def _most_towards(h: float, v: float, braking: float, begins: float, T: float, ease: float, most: float) -> float:
    """The largest acceleration towards a limit at a distance h, at a speed v towards it; no more than `most` is asked.

    u = v⁺ − c with c = (1 − γ) (v − v*(h)) solves u = v*(h⁺), h⁺ = h − ½ T (v + u + c): v* of h − ½ T (v + c) with a
    brake that begins ½ T later.
    """
    fast = v + (most + braking) * ease
    if h > 0.0 and (fast <= 0.0 or (begins + 0.5 * fast / braking) * fast <= h):
        return most
    c = (1.0 - T / ease) * (v - _speed_towards(h, braking, begins))
    room = h - 0.5 * T * (v + c)
    u = 0.05 * room / (begins + 0.025 * T) if room <= 0.0 else _speed_towards(room, braking, begins + 0.5 * T)
    return (u + c - v) / T


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
    """Limits of a, row by row: joints, torques, walls; the rows themselves of the walls alone."""
    s, n, T = m.stack.search, x.v.size, x.dt
    for i in range(n):
        most, A, begins, ease = k.acceleration[i], k.braking[i], k.begins[i], max(k.ease, k.eases[i])
        up = _most_towards(k.upper[i] - m.q[i], m.v[i], A, begins, T, ease, most)
        down = _most_towards(m.q[i] - k.lower[i], -m.v[i], A, begins, T, ease, most)
        up, down = min(up, (k.speed[i] - m.v[i]) / k.ease), min(down, (k.speed[i] + m.v[i]) / k.ease)
        s.upper[i] = max(min(up, most), -most)
        s.lower[i] = min(max(-down, -most), most)
        s.lower[i] = min(s.lower[i], s.upper[i])
        m.stack.units[i] = most
        s.lower[n + i], s.upper[n + i] = -k.torque[i] - x.bias[i], k.torque[i] - x.bias[i]
        m.stack.units[n + i] = k.torque[i]
        m.passed[i] = max(m.passed[i], x.q[i] - k.upper[i], k.lower[i] - x.q[i])
    for w in range(len(k.walls)):
        _lay_wall(x, k.walls[w], k.ease, m, 2 * n + w)


@kernel
def _lay_wall(x: Tick, wall: Wall, ease: float, m: BarrierMemory, row: int) -> None:
    """−n·J a ≤ the most towards the wall, and n·J̇v."""
    s, n, T, gap, drift, speed = m.stack.search, x.v.size, x.dt, 0.0, 0.0, 0.0
    for i in range(3):
        gap += wall.normal[i] * (x.position[i] - wall.position[i])
        drift += wall.normal[i] * x.drift[i]
    m.passed[row] = max(m.passed[row], -gap)
    for j in range(n):
        along = wall.normal[0] * x.J[0, j] + wall.normal[1] * x.J[1, j] + wall.normal[2] * x.J[2, j]
        s.C[row, j] = -along
        speed += along * m.v[j]
        gap += along * (m.q[j] - x.q[j])
    eased = max(ease, wall.ease)
    bound = _most_towards(gap, -speed, wall.braking, wall.begins, T, eased, math.inf) + drift
    s.lower[row], s.upper[row] = -math.inf, bound
    m.stack.units[row] = wall.braking


@kernel
def _at(x: Tick, m: BarrierMemory, i: int) -> float:
    """Row i of the limits times a."""
    n = m.a.size
    if i < n:
        return m.a[i]
    return dot(x.M[i - n], m.a, n) if i < 2 * n else dot(m.stack.search.C[i], m.a, n)


@kernel
def _worst(x: Tick, m: BarrierMemory) -> int:
    """The limit that `a` violates most in its own units: i + 1 at its upper side, −(i + 1) at its lower one, 0 none."""
    s, most, worst = m.stack.search, _SLACK, 0
    for i in range(s.lower.size):
        at, unit = _at(x, m, i), m.stack.units[i]
        if at - s.upper[i] > most * unit:
            most, worst = (at - s.upper[i]) / unit, i + 1
        elif s.lower[i] - at > most * unit:
            most, worst = (s.lower[i] - at) / unit, -(i + 1)
    return worst


@kernel
def _set_row(m: BarrierMemory, side: int) -> None:
    """row = L⁻¹ of a limit's row, along its violated side: what it is in the metric of M̂."""
    n, i, sign = m.a.size, abs(side) - 1, 1.0 if side > 0 else -1.0
    clear(m.row)
    if n <= i < 2 * n:  # L⁻¹ M̂ e = Lᵀ e
        for j in range(i - n + 1):
            m.row[j] = sign * m.L[i - n, j]
        return
    first = i if i < n else 0  # before a joint's own entry there are zeros
    for j in range(first, n):
        entry = sign * ((1.0 if i == j else 0.0) if i < n else m.stack.search.C[i, j])
        for k in range(first, j):
            entry -= m.L[j, k] * m.row[k]
        m.row[j] = entry / m.L[j, j]


@kernel
def _split_row(m: BarrierMemory) -> None:
    """share: the row by those that hold already, rowsᵀ share + free = row; free: what is left of it."""
    n, held = m.a.size, m.held
    put(m.free, 0, m.row)
    for a in range(held):
        m.share[a] = dot(m.basis[a], m.free, n)
        for j in range(n):
            m.free[j] -= m.share[a] * m.basis[a, j]
        m.G[held if held < n else n - 1, a] = m.share[a]
    for a in range(held - 1, -1, -1):
        for b in range(a + 1, held):
            m.share[a] -= m.G[b, a] * m.share[b]
        m.share[a] /= m.G[a, a]


@kernel
def _hold_row(m: BarrierMemory, pull: float, side: int, length: float) -> None:
    """Take the row that was split, whose free part has a square, to those that hold."""
    n, last = m.a.size, m.held
    put(m.rows[last], 0, m.row)
    m.G[last, last] = math.sqrt(length)
    for j in range(n):
        m.basis[last, j] = m.free[j] / m.G[last, last]
    m.pulls[last], m.which[last] = pull, side
    m.held += 1


@kernel
def _set_acceleration(m: BarrierMemory) -> None:
    """a = a_law + L⁻ᵀ y."""
    n = m.a.size
    for i in range(n - 1, -1, -1):
        entry = m.y[i]
        for j in range(i + 1, n):
            entry -= m.L[j, i] * m.free[j]
        m.free[i] = entry / m.L[i, i]
        m.a[i] = m.wanted[i] + m.free[i]


@kernel
def _let_go(m: BarrierMemory, which: int) -> None:
    """Take one limit from those that hold; `row` is left as it is."""
    n, held = m.a.size, m.held
    for a in range(which, held - 1):
        put(m.rows[a], 0, m.rows[a + 1])
        m.pulls[a], m.which[a] = m.pulls[a + 1], m.which[a + 1]
    m.held = held - 1
    for a in range(which, held - 1):
        put(m.basis[a], 0, m.rows[a])
        for b in range(a):
            m.G[a, b] = dot(m.basis[b], m.basis[a], n)
            for j in range(n):
                m.basis[a, j] -= m.G[a, b] * m.basis[b, j]
        m.G[a, a] = math.sqrt(dot(m.basis[a], m.basis[a], n))
        for j in range(n):
            m.basis[a, j] /= m.G[a, a]


@kernel
def _lean_on(x: Tick, m: BarrierMemory, side: int) -> bool:
    """Move a onto a violated limit, letting go of those that no longer hold; False if they exclude each other."""
    s, n, pull, i = m.stack.search, m.a.size, 0.0, abs(side) - 1
    _set_row(m, side)
    size = dot(m.row, m.row, n)
    for _ in range(n + 1):
        _split_row(m)
        length, excess = dot(m.free, m.free, n), _at(x, m, i) - s.upper[i] if side > 0 else s.lower[i] - _at(x, m, i)
        independent = m.held < n and length > _DEPENDENT * size
        share, first = (excess / length if independent else math.inf), -1
        for a in range(m.held):
            if m.share[a] > 0.0 and m.pulls[a] < share * m.share[a]:
                share, first = m.pulls[a] / m.share[a], a
        if math.isinf(share):
            return False
        for a in range(m.held):
            m.pulls[a] -= share * m.share[a]
        pull += share
        if first < 0:
            _hold_row(m, pull, side, length)
        if independent:
            for j in range(n):
                m.y[j] -= share * m.free[j]
            _set_acceleration(m)
        if first < 0:
            return True
        _let_go(m, first)
    return False


@kernel
def _lean_on_those_before(x: Tick, m: BarrierMemory) -> bool:
    """Begin with the limits that held at the last tick: onto all at once, if each of them still pushes back."""
    s, n, count = m.stack.search, m.a.size, m.held
    m.held = 0
    for c in range(count):
        side = int(m.which[c])
        i = abs(side) - 1
        _set_row(m, side)
        _split_row(m)
        length = dot(m.free, m.free, n)
        if length <= _DEPENDENT * dot(m.row, m.row, n):
            return False
        excess = _at(x, m, i) - s.upper[i] if side > 0 else s.lower[i] - _at(x, m, i)
        _hold_row(m, excess, side, length)
    for a in range(count):  # G Gᵀ pulls = excess, y = −rowsᵀ pulls
        for b in range(a):
            m.pulls[a] -= m.G[a, b] * m.pulls[b]
        m.pulls[a] /= m.G[a, a]
        for j in range(n):
            m.y[j] -= m.pulls[a] * m.basis[a, j]
    for a in range(count - 1, -1, -1):
        for b in range(a + 1, count):
            m.pulls[a] -= m.G[b, a] * m.pulls[b]
        m.pulls[a] /= m.G[a, a]
        if m.pulls[a] < 0.0:
            return False
    _set_acceleration(m)
    return True


@kernel
def _nearest(x: Tick, m: BarrierMemory) -> bool:
    """The acceleration nearest to `a` in the metric of M̂ = L Lᵀ within the limits, into `a`; whether it was found.

    A dual active set (Goldfarb and Idnani 1983, doi 10.1007/BF02591962): from the law's own acceleration, or from the
    limits that held at the last tick, onto one violated limit after the other. In y = Lᵀ (a − a_law) the metric is 1,
    and a torque's row is one of L.
    """
    put(m.wanted, 0, m.a)
    clear(m.y)
    if m.held > 0 and not _lean_on_those_before(x, m):
        clear(m.y)
        m.held = 0
    for _ in range(4 * m.a.size + 20):
        side = _worst(x, m)
        if side == 0:
            return True
        if not _lean_on(x, m, side):
            break
    put(m.a, 0, m.wanted)
    m.held = 0
    return False


@kernel
def _note_held(m: BarrierMemory) -> None:
    """Mark and count the limits that hold."""
    s = m.stack.search
    for i in range(s.lower.size):
        s.active[i] = 0
    for a in range(m.held):
        i = abs(int(m.which[a])) - 1
        s.active[i] = 1 if m.which[a] > 0 else -1
        m.met[i] += 1
    m.active = float(m.held)


@kernel
def _least_widening(x: Tick, m: BarrierMemory) -> bool:
    """The same where limits exclude each other: they are widened by the least common share, and counted."""
    level, s, n = m.stack.level, m.stack.search, m.a.size
    for i in range(n):
        level.b[i] = 0.0
        for j in range(n):
            s.C[i, j] = 1.0 if i == j else 0.0
            s.C[n + i, j] = x.M[i, j]
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
def _bend(x: Tick, m: BarrierMemory) -> bool:
    """Bend `a` into the limits; whether it was changed."""
    m.active = 0.0
    if _worst(x, m) == 0:
        m.held = 0
        return False
    if _nearest(x, m):
        _note_held(m)
        return True
    return _least_widening(x, m)


@kernel
def _send(x: Tick, k: BarrierSettings, m: BarrierMemory, torque: Vector, changed: bool) -> None:
    """Note what the driver's torque rates let through of a torque, and the acceleration that it gives."""
    n, cut = x.v.size, False
    for i in range(n):
        most = k.rate[i] * x.dt
        through = min(max(torque[i], m.sent[i] - most), m.sent[i] + most) if m.started else torque[i]
        cut = cut or through != torque[i]
        m.sent[i] = through
    m.started = True
    if cut:
        m.cut += 1 if changed else 0
        for i in range(n):
            m.a[i] = m.sent[i] - x.bias[i]
        cholesky_solve(m.L, n, m.a)
    put(m.late[m.count % m.late.shape[0]], 0, m.a)
    m.count += 1


@kernel
def hold_limits(x: Tick, k: BarrierSettings, m: BarrierMemory, torque: Vector) -> bool:
    """Bend a torque as little as the limits ask; whether it was changed."""
    n = x.v.size
    for i in range(n):
        put(m.L[i], 0, x.M[i])
        m.a[i] = torque[i] - x.bias[i]
    if not cholesky(m.L, n):
        return False
    cholesky_solve(m.L, n, m.a)
    _carry_on(x, k, m)
    _lay_out(x, k, m)
    changed = _bend(x, m)
    if changed:
        m.changed += 1
        for i in range(n):
            torque[i] = x.bias[i] + dot(x.M[i], m.a, n)
    _send(x, k, m, torque, changed)
    return changed


def conflicts_of(memory: Any, names: list[str]) -> list[str]:
    """Names of limits that excluded each other."""
    return [name for name, count in zip(names, memory.conflicts) if count > 0]


def passed_of(memory: Any, names: list[str]) -> list[str]:
    """Limits that were passed all the same, and by how much."""
    return [f"{name} by {by:.2g}" for name, by in zip(names, memory.passed) if by > PASSED]
