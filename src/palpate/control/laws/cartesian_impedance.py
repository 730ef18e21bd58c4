"""Cartesian impedance control without a force sensor."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from palpate.checks import Array
from palpate.config import Config, required, setting
from palpate.control.design.damping import damping_by_ratio
from palpate.control.promise import Promise
from palpate.control.reads import Reads
from palpate.control.report import LawReport
from palpate.control.steps.linear_algebra import times, transpose_times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    Direction,
    Gain6,
    MotionTerms,
    PostureLaw,
    TaskGains,
    TaskMemory,
    accelerate,
    find_acceleration,
    find_errors,
    find_inertia,
    find_inertia_in_order,
    hold_posture,
    note_damping,
    note_missed,
    out_of_axes,
    set_axes,
    set_rows,
    symmetric6,
)
from palpate.control.tick import Tick, law_kernel
from palpate.control.traits import LawTraits
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_PULL, _ARM = 1.0, 0.02  # N of a spring, and m: less torque per force than that moves nothing


class StageGains(Record):
    """K and D along the axes of A, eased in over `duration` seconds from `start` on."""

    start: float
    duration: float
    K: Matrix = sized(6, 6)
    D: Matrix = sized(6, 6)


class Gains(TaskGains):
    """K and D in stages of time; whether J̇ v is undone, and the force held through changes of K."""

    stages: list[StageGains]
    exact: bool
    hold_force: bool


class Memory(TaskMemory):
    """The force held through changes of stiffness, world axes; what the remarks tell; then scratch."""

    pinned: Kept[int] = 0  # ticks at which the spring pulled where no joint can move the tool,
    pulled: Kept[float] = 0.0  # N, and how hard at most
    held: State[Vector] = sized(6)
    K: Matrix = sized(6, 6)
    D: Matrix = sized(6, 6)
    K_before: Matrix = sized(6, 6)
    D_before: Matrix = sized(6, 6)


@kernel
def _stage_at(k: Gains, t: float) -> int:
    """The last stage begun."""
    stage = 0
    while stage + 1 < len(k.stages) and t >= k.stages[stage + 1].start:
        stage += 1
    return stage


@kernel
def _share(stage: StageGains, t: float) -> float:
    """How much of a stage is reached: 0 … 1 along a minimum-jerk curve."""
    if stage.duration == 0.0:
        return 1.0
    s = min((t - stage.start) / stage.duration, 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@kernel
def _ease(before: Matrix, now: Matrix, share: float, out: Matrix) -> None:
    """out = before + share (now − before)."""
    for i in range(6):
        for j in range(6):
            out[i, j] = before[i, j] + share * (now[i, j] - before[i, j])


@kernel
def _gains_at(k: Gains, t: float, K: Matrix, D: Matrix) -> None:
    """K(t) and D(t): the last stage begun, eased in from the one before."""
    stage = _stage_at(k, t)
    now, before = k.stages[stage], k.stages[max(stage - 1, 0)]
    _ease(before.K, now.K, _share(now, t), K)
    _ease(before.D, now.D, _share(now, t), D)


@kernel
def _hold_force(x: Tick, k: Gains, m: Memory) -> None:
    """Let the rest pose follow a change of stiffness, so that the force does not: held −= (K(t) − K(t − dt)) e."""
    if not k.hold_force or len(k.stages) == 1 or x.t <= 0.0:
        return
    _gains_at(k, x.t - x.dt, m.K_before, m.D_before)
    for i in range(6):
        m.inside[i] = 0.0
        for j in range(6):
            m.inside[i] += (m.K[i, j] - m.K_before[i, j]) * m.e[j]
    out_of_axes(m.axes, m.inside, m.world)
    for i in range(6):
        m.held[i] -= m.world[i]


@kernel(inline=True)
def _note_pinned(m: Memory, torque: Vector) -> None:
    """Count a spring that pulls along a direction in which the arm cannot move: |Jᵀ F| far below |F|."""
    force, torques = dot(m.world, m.world, 3), dot(torque, torque, torque.size)
    if force > _PULL * _PULL and torques < _ARM * _ARM * force:
        m.pinned += 1
        m.pulled = max(m.pulled, math.sqrt(force))


@kernel
def _spring_damper(x: Tick, k: Gains, m: Memory, out: MotionTerms) -> None:
    """spring = Jᵀ (K e + held), damper = Jᵀ D (V_d − V)."""
    K, D = k.stages[0].K, k.stages[0].D
    if len(k.stages) > 1:
        K, D = m.K, m.D
        _gains_at(k, x.t, K, D)
    _hold_force(x, k, m)
    times(K, m.e, m.inside)
    out_of_axes(m.axes, m.inside, m.world)
    for i in range(6):
        m.world[i] += m.held[i]
    transpose_times(x.J, m.world, out.spring)
    _note_pinned(m, out.spring)
    times(D, m.e_rate, m.inside)
    out_of_axes(m.axes, m.inside, m.world)
    transpose_times(x.J, m.world, out.damper)


@kernel
def _feeds_forward(x: Tick, k: Gains) -> bool:
    """Whether there is an acceleration to feed forward: a wanted one, or J̇ v in the exact form."""
    for i in range(6):
        if x.target.acceleration[i] != 0.0:
            return True
    return k.exact


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: MotionTerms) -> None:
    set_axes(x, k, m)
    find_errors(x, k, m)
    _spring_damper(x, k, m, out)  # Jᵀ (K e + D (V_d − V))
    clear(out.feed_forward)
    clear(out.null_space)
    put(out.bias, 0, x.bias)
    redundant, forward = x.v.size - k.freedoms, _feeds_forward(x, k)
    if redundant == 0 and not forward:
        return
    set_rows(x, k, m)
    in_order = k.freedoms < k.choice.size
    if in_order:
        note_damping(x.t, find_inertia_in_order(x.M, k.heaviest, k.freedoms, m), k, m)
    else:
        note_damping(x.t, find_inertia(x.M, k.heaviest, m), k, m)
    if forward:
        find_acceleration(x, k.exact, m)
        accelerate(k, m, m.A_d, out.feed_forward)  # J_tᵀ Λ (A_d − J̇ v)
        if in_order:
            note_missed(k, m)
    if redundant > 0:
        hold_posture(x, k, m, out.null_space)


class Stage(Config):
    """A later stiffness: eased in from the one before over `duration` seconds from `start` on."""

    start: float = required("s", "when the change begins", gt=0)
    duration: float = setting(0.5, "s", "how long it takes; 0 only with hold_force", ge=0)
    stiffness: Gain6 = required("N/m, N·m/rad", "K: six numbers or 6×6")
    damping: Gain6 | None = setting(None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; by damping_ratio if not given")


class CartesianImpedance(PostureLaw):
    """A spring and damper at the tool: τ = Jᵀ (K e + D (V_d − V)) + J_tᵀ Λ (A_d − x J̇ v)_t + N τ₀ + b̂(q, v).

    e = [p_d − p; orientation error]; K and D are six numbers or 6×6 along the chosen axes. N τ₀ with
    τ₀ = k (q_d − q) − d v holds a posture without moving the tool.
    Closed loop, "exact" (x = 1): Λ (A − A_d) = K e + D (V_d − V) + F, or Λ ë + D ė + K e = −F, with the natural
    inertia Λ; "classic" (x = 0) leaves Λ J̇ v in, which is small at the speeds of contact.
    At rest against a wall of stiffness k_w, one axis: f = K k_w / (K + k_w) · (p_d − p_wall).
    A `schedule` changes K and D along minimum-jerk curves. Then f = K(t) e changes with K; with `hold_force` the rest
    pose moves instead such that ḟ = K ė, whatever K does.
    Where the arm cannot move along all directions, the feed-forward serves those it can, in their order, exactly; the
    remarks name the others.
    Assumes: true model. With "tool" axes the work of an uneven spring depends on the path; "target" axes avoid that.
    """

    name: ClassVar[str] = "cartesian-impedance"
    serves_in_order: ClassVar[bool] = True
    kernel = _kernel

    stiffness: Gain6 = setting((400.0, 400.0, 400.0, 20.0, 20.0, 20.0), "N/m, N·m/rad", "K: six numbers or 6×6")
    damping: Gain6 | None = setting(None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; by damping_ratio if not given")
    damping_ratio: float = setting(0.7, "1", "ζ if no damping is given, for the inertia at the tool at home", ge=0)
    form: Literal["classic", "exact"] = setting("classic", "1", "whether J̇ v is cancelled too")
    directions: tuple[Direction, ...] = setting(DIRECTIONS, "1", "the spring's directions; the rest is null space")
    schedule: tuple[Stage, ...] = setting((), "1", "later stiffnesses, in order of time")
    hold_force: bool = setting(False, "1", "keep the force constant during a change of stiffness")

    def chosen(self) -> tuple[Direction, ...]:
        """The spring's directions."""
        return self.directions

    @property
    def reads(self) -> Reads:
        """The classic form needs no J̇ v."""
        every = super().reads
        needs = every.needs if self.form == "exact" else tuple(need for need in every.needs if need != "drift")
        return replace(every, needs=needs)

    @property
    def traits(self) -> LawTraits:
        """Its spring presses, and may be changed between ticks: K and D of the first stage."""
        return replace(super().traits, yields=True, spring_damper=_first_stage)

    @property
    def report(self) -> LawReport:
        """Its literature, beside what the laws at the tool remark."""
        return replace(super().report, literature=("10.1115/1.3140702",))

    def gains(self, robot: Robot) -> Gains:
        """The stages of K and D and the form, beside the task's."""
        task, exact = self.task_gains(robot), self.form == "exact"
        return Gains(**task, stages=self._stages(robot), exact=exact, hold_force=self.hold_force)

    def promises_for(self, robot: Robot) -> tuple[Promise, ...]:
        """The target along every direction; nothing where a schedule changes the stiffness and so the rest pose."""
        return () if self.schedule else super().promises_for(robot)

    def remarks_of(self, memory: Memory) -> list[str]:
        """Whether the spring pulled out of reach, and what the laws at the tool tell."""
        pinned = (
            f"{self.name}: the spring pulled with up to {memory.pulled:.3g} N where no joint moves the tool at"
            f" {memory.pinned} ticks: the target is out of reach, or the posture singular"
        )
        return [*super().remarks_of(memory), *([pinned] if memory.pinned else [])]

    def _stages(self, robot: Robot) -> list[StageGains]:
        """The stiffness at the start and every later one."""
        start = Stage.model_construct(start=0.0, duration=0.0, stiffness=self.stiffness, damping=self.damping)
        stages, end = [self._stage(robot, start, "")], 0.0
        for number, stage in enumerate(self.schedule):
            if stage.start < end:
                raise InvalidInput(
                    f"schedule[{number}] starts at {stage.start:g} s, before the one before it ends at {end:g} s"
                )
            if stage.duration == 0 and not self.hold_force:
                raise InvalidInput(
                    f"schedule[{number}] changes the stiffness in 0 s, which makes the force jump",
                    hint="give a duration > 0, or hold_force = true",
                )
            end = stage.start + stage.duration
            stages.append(self._stage(robot, stage, f"schedule[{number}]."))
        return stages

    def _stage(self, robot: Robot, stage: Stage, prefix: str) -> StageGains:
        """K and D of a stage along the chosen directions; its settings are called by the prefix."""
        chosen = np.diag([float(d in self.directions) for d in DIRECTIONS])
        K = chosen @ symmetric6(stage.stiffness, f"{prefix}stiffness") @ chosen
        if stage.damping is None:
            D = damping_by_ratio(K, self.mobility_at_home(robot), self.damping_ratio)
        else:
            D = symmetric6(stage.damping, f"{prefix}damping")
        return StageGains(start=stage.start, duration=stage.duration, K=K, D=chosen @ D @ chosen)


def _first_stage(gains: Gains) -> tuple[Array, Array]:
    return gains.stages[0].K, gains.stages[0].D
