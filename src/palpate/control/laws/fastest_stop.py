"""The fastest stop as a law: brake the tool along its direction, then stop what still moves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import (
    Beginning,
    BoundLaw,
    CommandKind,
    Law,
    Rig,
    Shown,
    Tick,
    per_joint,
    refuse_free_base,
    sentences_that_hold,
    sizes_of,
)
from palpate.control.promise import Promise
from palpate.control.shown import ComputedNumber
from palpate.control.solve.active_set import RANK, Factors, factor, solve_factored
from palpate.control.solve.hierarchy import Stack, make_stack, solve_stack
from palpate.control.solve.stop_kernels import FOUND, WEIGHT, StopProblem, find_stop, judge, make_stop, size_of
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, State, Vector, sized
from palpate.engine.views import flat
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

WAITING, BRAKING, RESTING = range(3)
_REMEMBERED = 16  # changes between a line that is kept and one that is lost
_STANDS, _ASIDE = 1e-4, 1e-2  # of the first speed: along the line it stands; across it, it goes on another way
_STILL = 1e-9  # of |J| |v|: a tool that does not move
_JUMP = 0.25  # of the first speed: a change within a tick, beside that of the command, that is no measurement of one
_MISSED = (
    "at {} ticks the measured speed was none that the tool can have had, and the last command was kept: the encoders"
    " are too coarse for the control period, or something else moved the tool"
)
_WINDOW = 10  # ticks after which the mean of such readings is believed


class Gains(Record):
    """Which version of the stop, along which axes, within which accelerations and torques."""

    optimal: bool  # or by the pseudo-inverse
    axes: Integers  # of the tool's position
    rest_rate: float
    straighten: float
    lag: float
    weight: float
    acceleration: Vector = sized("nv")
    torque: Vector = sized("nv")  # ∞ where it does not count


class Memory(Record):
    """Where the stop is, the direction it keeps, how it went, and scratch; m axes."""

    phase: Kept[int] = WAITING
    direction: State[Vector] = sized("m")
    first_speed: Kept[float] = 0.0
    tick: Kept[int] = 0
    # what the trace records
    rate: Kept[float] = 0.0
    deviation: Kept[float] = 0.0
    feasible: Kept[float] = 1.0
    active: Kept[Vector] = sized("nv")
    # how it went
    changes: Kept[int] = 0
    change_time: Kept[Vector] = sized(_REMEMBERED)
    change_deviation: Kept[Vector] = sized(_REMEMBERED)
    lost_time: Kept[float] = 0.0
    worst: Kept[float] = 0.0  # deviation, m/s²
    faster: Kept[int] = 0  # ticks at which every command sped the tool up
    conflicts: Kept[int] = 0  # ticks at which torque and acceleration bounds excluded each other
    replaced: Kept[int] = 0  # ticks at which the pseudo-inverse had no answer
    redirected: Kept[int] = 0  # how often another direction had to be taken
    switched: Kept[int] = 0  # changes of the active bounds
    stands: Kept[float] = -1.0  # when the tool stood still
    speed: State[float] = 0.0  # along the line, as it should be now
    unbelieved: Kept[int] = 0  # readings in a row that cannot be, and their sum
    unbelieved_sum: State[float] = 0.0
    missing: Kept[int] = 0  # all of them
    last: State[Vector] = sized("nv")  # command
    # scratch
    c: Vector = sized("m")
    a: Vector = sized("nv")
    b: Vector = sized("nv")
    rows: Factors  # of J
    problem: StopProblem
    stack: Stack  # of the rest


class Terms(Record):
    """What the acceleration is made of."""

    stop: Vector = sized("nv")
    rest: Vector = sized("nv")


# ------------------------------------------------------------------ what is asked


@kernel
def _choose_rows(x: Tick, k: Gains, m: Memory) -> None:
    """The chosen axes of the tool's position: Jacobian, drift and velocity."""
    for i in range(k.axes.size):
        axis = k.axes[i]
        m.problem.drift[i], m.problem.velocity[i] = x.drift[axis], dot(x.J[axis], x.v, x.v.size)
        put(m.problem.J[i], 0, x.J[axis])


@kernel
def _put_limits(x: Tick, k: Gains, C: Matrix, lower: Vector, upper: Vector) -> None:
    """−acceleration ≤ u ≤ acceleration, then −torque ≤ M u + b ≤ torque where there is room for these rows."""
    n = x.v.size
    for j in range(n):
        C[j, j], lower[j], upper[j] = 1.0, -k.acceleration[j], k.acceleration[j]
    if lower.size < 2 * n:
        return
    for j in range(n):
        lower[n + j], upper[n + j] = -k.torque[j] - x.bias[j], k.torque[j] - x.bias[j]
        put(C[n + j], 0, x.M[j])


@kernel
def _take_direction(m: Memory) -> None:
    """Remember the direction in which the tool moves now."""
    size = size_of(m.problem.velocity)
    for i in range(m.problem.velocity.size):
        m.direction[i] = m.problem.velocity[i] / size


# ------------------------------------------------------------------ the versions


@kernel
def _largest_rate(k: Gains, m: Memory, most: float) -> float:
    """The largest λ ≤ most for which u = a λ + b keeps its bounds; −∞ if there is none."""
    s, n, size, low, high = m.problem, m.a.size, 0.0, -np.inf, most
    for j in range(n):
        size = max(size, abs(m.a[j]))
    for i in range(s.lower.size):
        slope, start, scale = 0.0, 0.0, 0.0
        for j in range(n):
            slope, start, scale = slope + s.C[i, j] * m.a[j], start + s.C[i, j] * m.b[j], scale + abs(s.C[i, j])
        if abs(slope) <= 1e-12 * size * scale:
            slope = 0.0
        if slope == 0.0:
            high = high if s.lower[i] <= start <= s.upper[i] else -np.inf
        else:
            ends = (s.lower[i] - start) / slope, (s.upper[i] - start) / slope
            low, high = max(low, min(ends[0], ends[1])), min(high, max(ends[0], ends[1]))
    return high if low <= high else -np.inf


@kernel
def _by_pseudoinverse(x: Tick, k: Gains, m: Memory) -> bool:
    """u = a λ + b, a = −J⁺ṗ, b = J⁺(steer − h), with the method's largest λ; False where it has none, or speeds up."""
    n = x.v.size
    for i in range(m.c.size):
        m.c[i] = m.problem.steer[i] - m.problem.drift[i]
    put(flat(m.rows.L), 0, flat(m.problem.J))
    factor(m.rows, RANK)
    solve_factored(m.rows, m.problem.line, m.a)
    solve_factored(m.rows, m.c, m.b)
    for j in range(n):
        m.a[j] = -m.a[j]
    rate = _largest_rate(k, m, _fastest(x, k))
    if not rate >= 0.0:
        return False
    for j in range(n):
        m.problem.u[j] = min(max(m.a[j] * rate + m.b[j], -k.acceleration[j]), k.acceleration[j])
    _judge(m)
    return m.rate >= 0.0


@kernel
def _fastest(x: Tick, k: Gains) -> float:
    """1/s, the rate at which a velocity may be taken away and not come out on the other side.

    Within one period 1/T; of a velocity seen τ late, v̇(t) = −r v(t − τ) swings unless r τ ≤ 1/e.
    """
    return 1.0 / (x.dt + math.e * k.lag)


@kernel
def _optimal_stop(x: Tick, k: Gains, m: Memory) -> bool:
    """The fastest stop of every u within the bounds, or the trade where there is none; whether the line is kept."""
    s = m.problem
    s.most, s.weight = _fastest(x, k), k.weight
    kept = find_stop(s) == FOUND
    m.conflicts += 1 if s.conflict > 0.0 else 0
    return kept


# ------------------------------------------------------------------ how it goes


@kernel
def _judge(m: Memory) -> None:
    """λ = −ṗ·p̈/|ṗ|² and the acceleration across ṗ under the command."""
    judge(m.problem)
    m.rate, m.deviation = m.problem.braking / size_of(m.problem.velocity), m.problem.deviation


@kernel
def _note(x: Tick, k: Gains, m: Memory, kept: bool) -> None:
    """Keep for the record whether the line is kept, which bounds hold the command, and each change."""
    _judge(m)
    if kept != (m.feasible > 0.5):
        if m.changes < _REMEMBERED:
            m.change_time[m.changes], m.change_deviation[m.changes] = x.t, m.deviation
        m.changes += 1
    m.feasible = 1.0 if kept else 0.0
    if not kept:
        m.lost_time += x.dt
        m.worst = max(m.worst, m.deviation)
        m.faster += 1 if m.rate < 0.0 else 0
    _note_active(x, m)


@kernel
def _note_active(x: Tick, m: Memory) -> None:
    """Per joint ±1 at a bound of u, ±2 at one of τ, 0 between."""
    s, n, changed = m.problem, x.v.size, False
    for j in range(n):
        now = 0.0
        for row in range(j, s.lower.size, n):
            at, size = dot(s.C[row], s.u, n), 2.0 if row >= n else 1.0
            near = 1e-9 * (1.0 + abs(at))
            now = size if at >= s.upper[row] - near else -size if at <= s.lower[row] + near else now
        changed = changed or now != m.active[j]
        m.active[j] = now
    m.switched += 1 if changed and m.tick > 0 else 0


@kernel
def _begin(m: Memory) -> None:
    """Remember the direction of the first tick."""
    m.first_speed = size_of(m.problem.velocity)
    m.speed = m.first_speed
    m.phase = BRAKING if m.first_speed > 1e-9 else RESTING
    if m.phase == BRAKING:
        _take_direction(m)


@kernel
def _on_line(x: Tick, k: Gains, m: Memory) -> bool:
    """The velocity along the line, and what takes away the rest; False once the tool stands."""
    speed, straighten = 0.0, min(k.straighten, 0.5 * _fastest(x, k))
    for i in range(m.problem.velocity.size):
        speed += m.direction[i] * m.problem.velocity[i]
    if speed <= _STANDS * m.first_speed:
        if size_of(m.problem.velocity) <= _ASIDE * m.first_speed:
            return False
        _take_direction(m)  # the line is lost for good: the tool moves another way, and is stopped there
        m.redirected += 1
        speed = size_of(m.problem.velocity)
    for i in range(m.problem.velocity.size):
        m.problem.line[i] = m.direction[i] * speed
        m.problem.steer[i] = -straighten * (m.problem.velocity[i] - m.problem.line[i])
    return True


@kernel
def _misses(x: Tick, m: Memory) -> bool:
    """Whether the speed along the line is none that it can have after the last command: a reading that says nothing.

    Differences of coarse encoders are 0 between two counts, and far too large at one. The mean of some ticks tells a
    tool that was stopped by something else from one that moves on.
    """
    seen = 0.0
    for i in range(m.problem.velocity.size):
        seen += m.direction[i] * m.problem.velocity[i]
    jump = _JUMP * m.first_speed
    if m.tick == 0 or m.speed - jump <= seen <= m.speed + jump + m.problem.braking * x.dt:
        m.speed, m.unbelieved, m.unbelieved_sum = seen, 0, 0.0
        return False
    m.unbelieved, m.unbelieved_sum = m.unbelieved + 1, m.unbelieved_sum + seen
    if m.unbelieved == _WINDOW:
        mean = m.unbelieved_sum / _WINDOW
        if abs(mean - m.speed) > 2.0 * jump:  # something else has stopped it, or pushed it
            m.speed, m.unbelieved, m.unbelieved_sum = seen, 0, 0.0
            return False
        m.speed, m.unbelieved, m.unbelieved_sum = mean, 0, 0.0
    m.missing += 1
    return True


@kernel
def _brake(x: Tick, k: Gains, m: Memory) -> bool:
    """One tick of braking along the remembered direction; False once the tool stands still."""
    if m.speed > _ASIDE * m.first_speed and _misses(x, m):
        put(m.problem.u, 0, m.last)
        m.speed -= m.problem.braking * x.dt
        return True
    if not _on_line(x, k, m) or size_of(m.problem.velocity) <= _STANDS * m.first_speed:
        return False
    _put_limits(x, k, m.problem.C, m.problem.lower, m.problem.upper)
    kept = not k.optimal and _by_pseudoinverse(x, k, m)
    if not kept:
        m.replaced += not k.optimal
        kept = _optimal_stop(x, k, m)
    _note(x, k, m, kept)
    put(m.last, 0, m.problem.u)
    m.speed -= m.problem.braking * x.dt
    return True


@kernel
def _stop_joints(x: Tick, k: Gains, m: Memory) -> None:
    """Hold the tool still first, then brake every joint with what is left."""
    (count, n), level, s = m.problem.J.shape, m.stack.level, m.stack.search
    rate = min(k.rest_rate, _fastest(x, k))
    for i in range(count):
        level.b[i] = -m.problem.drift[i] - m.problem.velocity[i] * rate
        put(level.A[i], 0, m.problem.J[i])
    for j in range(n):
        level.A[count + j, j], level.b[count + j] = 1.0, -x.v[j] * rate
    _put_limits(x, k, s.C, s.lower, s.upper)
    m.stack.starts[1], m.stack.starts[2] = count, count + n
    solve_stack(m.stack)
    put(m.problem.u, 0, s.x)


@kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    clear(m.problem.u)
    _choose_rows(x, k, m)
    if m.phase == WAITING:
        _begin(m)
    if m.phase == BRAKING and not _brake(x, k, m):
        m.phase, m.rate, m.deviation, m.feasible, m.stands = RESTING, 0.0, 0.0, 1.0, x.t
        clear(m.active)
    if m.phase == RESTING:
        _stop_joints(x, k, m)
    m.tick += 1
    for j in range(x.v.size):
        out.stop[j] = m.problem.u[j] if m.phase == BRAKING else 0.0
        out.rest[j] = m.problem.u[j] if m.phase == RESTING else 0.0


class FastestStop(Law):
    """Stop the tool as fast as joint accelerations and torques allow, along its own direction; then stop the joints.

    While the tool moves: u with J u + J̇v = −λ ṗ_∥ − straighten · ṗ_⊥, lower ≤ u ≤ upper, |M u + b| ≤ torque, λ ≤ 1/dt
    greatest, then |u| least; ṗ_∥ is the velocity along the direction the tool had at the first tick. Afterwards
    J u + J̇v = −r ṗ is held first and u = −r v second, both within the bounds, r = `rest_rate`.
    Closed loop: straight-line motion of the tool with greedily greatest deceleration, rest in finite time, then every
    joint at rest. Where no command keeps the direction, deviation² + weight² (most braking − braking)² is least and the
    tool never speeds up if any command avoids it; the run warns and says when.
    The choice is the best of each tick, not of the whole stop: docs/fastest-stop.md has a state where that is slower.
    Assumes: a true model (the acceleration goes through inverse dynamics) and torques that carry it out.
    """

    name: ClassVar[str] = "fastest-stop"
    command: ClassVar[CommandKind] = "acceleration"
    shown: ClassVar[tuple[Shown, ...]] = (
        Shown("rate", "rate", "1/s", help="λ = −ṗ·p̈/|ṗ|² under the command; 0 once the tool has stopped"),
        Shown("deviation", "deviation", "m/s²", help="|p̈| across the tool's velocity under the command"),
        Shown("feasible", "feasible", help="1 where the line can be kept without speeding up, 0 where it is lost"),
        Shown("active", "active", help="per joint: ±1 at a bound of its acceleration, ±2 at one of its torque"),
    )
    kernel = _kernel
    figure = "straight-path"

    method: Literal["optimal", "pseudoinverse"] = setting("optimal", "1", "method of the stop")
    axes: str = setting("xyz", "1", "which axes of the tool's position count", pattern=r"^x?y?z?$", min_length=1)
    acceleration: PerJoint | None = setting(
        None, "rad/s² or m/s²", "bound on |u|, one number, or one per joint; the robot's limits if not given"
    )
    respect_torque: bool = setting(True, "1", "keep |M u + b| within torque bounds too")
    torque: PerJoint | None = setting(
        None, "N·m or N", "bound on |M u + b|, one number, or one per joint; the robot's limits if not given"
    )
    weight: float = setting(WEIGHT, "1", "m/s² of deviation per m/s² of braking, if the direction cannot be kept", gt=0)
    rest_rate: float = setting(50.0, "1/s", "r: decay rate of the remaining motion after the stop", gt=0)
    straighten: float = setting(
        500.0, "1/s", "decay rate of the velocity across the direction, at most half the control rate", ge=0
    )
    lag: float | None = setting(None, "s", "delay from measurement to torque; the loop's own delays if not given", ge=0)

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """With rates that the loop's delays bear."""
        return self if self.lag is not None else self.model_copy(update={"lag": rig.period * rig.delay})

    def promises(self, robot: Robot) -> tuple[Promise, ...]:
        """Every joint at rest: what is left after the stop dies out at `rest_rate`."""
        return (Promise(rest=True, rate=self.rest_rate),)

    def gains(self, robot: Robot) -> Gains:
        """Bounds, axes, method."""
        refuse_free_base(robot, self.name)
        return Gains(
            optimal=self.method == "optimal",
            axes=["xyz".index(axis) for axis in self.axes],
            rest_rate=self.rest_rate,
            straighten=self.straighten,
            lag=self.lag or 0.0,
            weight=self.weight,
            acceleration=self.acceleration_bound(robot).copy(),
            torque=self.torque_bound(robot),
        )

    def computed(self, robot: Robot) -> tuple[ComputedNumber, ...]:
        """The bounds of |u|."""
        bound = self.acceleration_bound(robot).tolist()
        return (
            ComputedNumber("U", bound, "/".join(dict.fromkeys(f"{u}/s²" for u in robot.dof_units)), "bound of |u|"),
        )

    def acceleration_bound(self, robot: Robot) -> Array:
        """The acceleration bounds that count."""
        most = robot.limits.acceleration if self.acceleration is None else per_joint(robot, self.acceleration, "bound")
        if not (np.isfinite(most).all() and (most > 0).all()):
            raise InvalidInput(
                f"{robot.name} needs a positive acceleration bound for every joint, got {most}",
                hint="give control.acceleration",
            )
        return most

    def torque_bound(self, robot: Robot) -> Array:
        """The torque bounds that count; ∞ where there is none."""
        if not self.respect_torque:
            return np.full(robot.nv, np.inf)
        if self.torque is None:
            return robot.limits.torque.copy()
        return per_joint(robot, self.torque, "torque bound", above=0.0)

    def memory(self, robot: Robot) -> Memory:
        """The direction kept, how it went, then scratch."""
        n, m = robot.nv, len(self.axes)
        limits = 2 * n if np.isfinite(self.torque_bound(robot)).any() else n
        return Memory(
            {**sizes_of(robot), "m": m},
            rows=Factors({"rows": m, "columns": n}),
            problem=make_stop(n, m, limits),
            stack=make_stack(n, m + n, 2, limits),
        )

    def begin(self, bound: BoundLaw, robot: Robot, start: Beginning) -> BoundLaw:
        """Refuse velocities that move no tool; warn where nothing moves."""
        rows = ["xyz".index(axis) for axis in self.axes]
        J = robot.jacobian(start.q)[rows]
        if not start.v.any():
            return replace(bound, warnings=("nothing moves at the start: there is no motion to stop",))
        if np.linalg.norm(J @ start.v) <= _STILL * np.linalg.norm(J) * np.linalg.norm(start.v):
            raise InvalidInput(
                f"the joint velocities at the start lie in the null space of the tool's Jacobian ({self.axes}): the"
                " tool does not move, there is no direction to keep",
                hint="start with joint velocities that move the tool, or use a law that brakes joints",
            )
        return bound

    def alarms(self, memory: Memory) -> list[str]:
        """Where the line was lost, the tool sped up, or bounds excluded each other."""
        lost = (
            f"the tool's direction could not be kept for {memory.lost_time:.4g} s from {memory.change_time[0]:.4g} s"
            f" on: the tool braked with a deviation of up to {memory.worst:.4g} m/s²"
        )
        faster = f"at {memory.faster} ticks every command within the bounds sped the tool up; the smallest was used"
        conflict = f"at {memory.conflicts} ticks torque and acceleration bounds were contradictory and were widened"
        sentences = {
            lost: memory.lost_time > 0.0,
            faster: memory.faster > 0,
            conflict: memory.conflicts > 0,
            "the tool had not stopped by the end": memory.phase == BRAKING,
        }
        return sentences_that_hold(sentences)

    def remarks(self, memory: Memory) -> list[str]:
        """Each change between a line that is kept and one that is lost, and how the stop ended."""
        changes = []
        for k in range(min(memory.changes, _REMEMBERED)):
            what = "could be kept again" if k % 2 else f"was lost: {memory.change_deviation[k]:.4g} m/s² across it"
            changes.append(f"at {memory.change_time[k]:.4g} s the tool's direction {what}")
        seen = ", as far as its sensors tell" if memory.missing else ""
        sentences = {
            f"{memory.changes - _REMEMBERED} more changes of that kind": memory.changes > _REMEMBERED,
            f"at {memory.replaced} ticks the pseudo-inverse had no solution and the optimum was used": memory.replaced,
            f"the tool left its direction for good; a new one was chosen {memory.redirected} times": memory.redirected,
            f"the joints at their bounds changed {memory.switched} times": memory.switched,
            _MISSED.format(memory.missing): memory.missing,
            f"the tool stopped at {memory.stands:.4g} s{seen}": memory.stands >= 0.0,
        }
        return [*changes, *sentences_that_hold(sentences)]
