"""The fastest stop as a law: brake the tool along its direction, then stop what still moves."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.bound_law import BoundLaw
from palpate.control.commands import CommandKind
from palpate.control.fitting import per_joint, refuse_free_base
from palpate.control.law import Law
from palpate.control.promise import Promise
from palpate.control.report import LawReport, sentences_that_hold
from palpate.control.rig import Beginning, Rig
from palpate.control.shown import ComputedNumber, Shown
from palpate.control.solve.hierarchy import solve_stack
from palpate.control.solve.orthogonal import Factors
from palpate.control.solve.stack import make_stack
from palpate.control.solve.stopping.braking import begin_stop, brake
from palpate.control.solve.stopping.memory import (
    BRAKING,
    REMEMBERED,
    RESTING,
    WAITING,
    Gains,
    Memory,
    Terms,
    choose_rows,
    put_limits,
)
from palpate.control.solve.stopping.problem import WEIGHT, make_stop
from palpate.control.solve.stopping.versions import fastest_rate
from palpate.control.tick import Tick, sizes_of
from palpate.control.traits import LawTraits
from palpate.engine.kernels import clear, kernel, put
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_STILL = 1e-9  # of |J| |v|: a tool that does not move
_MISSED = (
    "at {} ticks the measured speed was none that the tool can have had, and the last command was kept: the encoders"
    " are too coarse for the control period, or something else moved the tool"
)


@kernel
def _stop_joints(x: Tick, k: Gains, m: Memory) -> None:
    """Hold the tool still first, then brake every joint with what is left."""
    (count, n), level, s = m.problem.J.shape, m.stack.level, m.stack.search
    rate = min(k.rest_rate, fastest_rate(x, k))
    for i in range(count):
        level.b[i] = -m.problem.drift[i] - m.problem.velocity[i] * rate
        put(level.A[i], 0, m.problem.J[i])
    for j in range(n):
        level.A[count + j, j], level.b[count + j] = 1.0, -x.v[j] * rate
    put_limits(x, k, s.C, s.lower, s.upper)
    m.stack.starts[1], m.stack.starts[2] = count, count + n
    solve_stack(m.stack)
    put(m.problem.u, 0, s.x)


@kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    clear(m.problem.u)
    choose_rows(x, k, m)
    if m.phase == WAITING:
        begin_stop(m)
    if m.phase == BRAKING and not brake(x, k, m):
        m.phase, m.rate, m.deviation, m.feasible, m.stands = RESTING, 0.0, 0.0, 1.0, x.t
        clear(m.active)
    if m.phase == RESTING:
        _stop_joints(x, k, m)
    m.tick += 1
    for j in range(x.v.size):
        out.stop[j] = m.problem.u[j] if m.phase == BRAKING else 0.0
        out.rest[j] = m.problem.u[j] if m.phase == RESTING else 0.0


_SHOWN = (
    Shown("rate", "rate", "1/s", help="λ = −ṗ·p̈/|ṗ|² under the command; 0 once the tool has stopped"),
    Shown("deviation", "deviation", "m/s²", help="|p̈| across the tool's velocity under the command"),
    Shown("feasible", "feasible", help="1 where the line can be kept without speeding up, 0 where it is lost"),
    Shown("active", "active", help="per joint: ±1 at a bound of its acceleration, ±2 at one of its torque"),
)


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
    kernel = _kernel

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

    @property
    def traits(self) -> LawTraits:
        """It promises every joint at rest: what is left after the stop dies out at `rest_rate`."""
        rest = Promise(rest=True, rate=self.rest_rate)
        bound = self.acceleration_limit
        return replace(super().traits, promises=lambda robot: (rest,), acceleration_bound=bound)

    @property
    def report(self) -> LawReport:
        """How the stop goes, and where the line was lost."""
        return LawReport(
            shown=_SHOWN,
            remarks=self.remarks_of,
            alarms=self.alarms_of,
            figure="straight-path",
            computed=self.computed_bounds,
        )

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
            acceleration=self.acceleration_limit(robot).copy(),
            torque=self.torque_bound(robot),
        )

    def computed_bounds(self, robot: Robot) -> tuple[ComputedNumber, ...]:
        """The bounds of |u|."""
        bound = self.acceleration_limit(robot).tolist()
        return (
            ComputedNumber("U", bound, "/".join(dict.fromkeys(f"{u}/s²" for u in robot.dof_units)), "bound of |u|"),
        )

    def acceleration_limit(self, robot: Robot) -> Array:
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

    def alarms_of(self, memory: Memory) -> list[str]:
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

    def remarks_of(self, memory: Memory) -> list[str]:
        """Each change between a line that is kept and one that is lost, and how the stop ended."""
        changes = []
        for k in range(min(memory.changes, REMEMBERED)):
            what = "could be kept again" if k % 2 else f"was lost: {memory.change_deviation[k]:.4g} m/s² across it"
            changes.append(f"at {memory.change_time[k]:.4g} s the tool's direction {what}")
        seen = ", as far as its sensors tell" if memory.missing else ""
        sentences = {
            f"{memory.changes - REMEMBERED} more changes of that kind": memory.changes > REMEMBERED,
            f"at {memory.replaced} ticks the pseudo-inverse had no solution and the optimum was used": memory.replaced,
            f"the tool left its direction for good; a new one was chosen {memory.redirected} times": memory.redirected,
            f"the joints at their bounds changed {memory.switched} times": memory.switched,
            _MISSED.format(memory.missing): memory.missing,
            f"the tool stopped at {memory.stands:.4g} s{seen}": memory.stands >= 0.0,
        }
        return [*changes, *sentences_that_hold(sentences)]
