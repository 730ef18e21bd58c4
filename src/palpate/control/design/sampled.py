"""Whether gains suit the control period: the sampled loop of a law around rest, in free space."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_number
from palpate.control.design.arm_terms import STEP, gravity_slope, inverse_of, joint_damping_of
from palpate.control.design.closed_loop import ClosedLoop
from palpate.control.design.loop_model import LinearLaw, Plant, Timing, close
from palpate.control.law import BoundLaw
from palpate.control.references.reference import joint_target
from palpate.errors import InvalidInput, NoSolution
from palpate.robot.robot import Robot

_STANDING = 1e-6  # in z: motion that nothing holds


@dataclass(frozen=True)
class SampledLoop:
    """A law and an arm around rest, from one control tick to the next.

    Attributes:
        loop: of [δq, δv], with the torques under way.
        radius: size of the largest pole; above 1 the loop is unstable.
        joint: name of the joint that moves most in that mode.
    """

    loop: ClosedLoop
    radius: float
    joint: str

    @property
    def transition(self) -> Array:
        """Of [δq, δv, torques under way]; large with a long delay."""
        return self.loop.transition


def sampled_loop(
    law: BoundLaw, robot: Robot, *, period: float, q: ArrayLike | None = None, delay: int = 0
) -> SampledLoop:
    """Linearise M δv̇ = δτ − ∂g/∂q δq − d δv with τ held for a period and `delay` periods late.

    Cheap for any delay: beyond `closed_loop.DENSE_MOST` states the poles are counted along the unit circle.

    Args:
        law: a law without memory, bound to the robot.
        robot: a robot with a fixed base.
        period: s.
        q: posture at rest; home by default.
        delay: periods between measurement and torque.
    """
    if not law.memoryless:
        raise InvalidInput(f"law {law.name!r} has a memory; its loop has more states than these")
    T, n = finite_number(period, "period", above=0.0), robot.nv
    posture = robot.home if q is None else np.asarray(q, dtype=float)
    zero, none = np.zeros((n, n)), np.zeros((0, n))
    W = inverse_of(robot.mass_matrix(posture), f"mass matrix of {robot.name}")
    losses = np.diag(joint_damping_of(robot))
    plant = Plant(W, np.eye(n), losses, gravity_slope(robot, posture), zero, zero, none, none)
    loop = close(plant, slope_law(law, robot, posture, T), Timing(T, command_delay=delay), standing=_STANDING)
    growing = not loop.stable
    joint = robot.dof_names[int(np.argmax(np.abs(loop.mode[n : 2 * n])))] if np.isfinite(loop.leading) else ""
    return SampledLoop(loop, loop.radius if growing else float(np.abs(loop.poles[0])), joint)


def slope_law(law: BoundLaw, robot: Robot, q: Array, period: float, *, wrench: bool = False) -> LinearLaw:
    """A memoryless law as matrices, by central differences of its ticks; its own memory is left alone.

    Args:
        law: bound to the robot.
        robot: the arm.
        q: posture at rest, which is also the target.
        period: s.
        wrench: whether to differentiate over the measured wrench too.
    """
    n, target, own = robot.nv, joint_target(robot, q), replace(law, memory=copy.deepcopy(law.memory))
    inputs = np.concatenate([q, np.zeros(n + 6)])

    def torque(x: Array) -> Array:
        tick = own.tick(robot, x[:n], x[n : 2 * n], target=target, wrench=x[2 * n :], dt=period)
        return tick.command

    steps = STEP * np.eye(2 * n + 6)[: 2 * n + (6 if wrench else 0)]
    slopes = np.column_stack([(torque(inputs + s) - torque(inputs - s)) / (2 * STEP) for s in steps])
    felt = slopes[:, 2 * n :] if wrench else np.zeros((n, 0))
    none = np.zeros((0, n))
    return LinearLaw(
        "torque", np.zeros((0, 0)), none, none, np.zeros((0, felt.shape[1])), np.zeros((n, 0)),
        slopes[:, :n], slopes[:, n : 2 * n], felt,
    )  # fmt: skip


def period_warnings(law: BoundLaw, robot: Robot, *, period: float, q: ArrayLike, delay: int = 0) -> list[str]:
    """A sentence with the numbers if the law is unstable at this period; nothing if it is stable or has a memory.

    Where nothing can be told (a singular mass matrix, gains beyond all numbers) the sentence says so: it never raises
    for what a robot or a law is like.
    """
    if not law.memoryless or robot.nq != robot.nv:
        return []
    late = f" and a delay of {delay} ticks" if delay else ""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            loop = sampled_loop(law, robot, period=period, q=q, delay=delay)
    except (NoSolution, np.linalg.LinAlgError, FloatingPointError) as error:
        return [f"{law.name}: whether its gains suit a control period of {1e3 * period:g} ms is not known: {error}"]
    if loop.radius <= 1.0 + _STANDING:
        return []
    return [
        f"{law.name} is unstable at a control period of {1e3 * period:g} ms{late}: its largest pole is"
        f" {loop.radius:.4g}, mostly of {loop.joint or 'every joint'}; lower its gains there, or shorten the period"
    ]
