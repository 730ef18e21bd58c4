"""Whether gains suit the control period: the sampled loop of a law around rest, in free space."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_number
from palpate.control.law import BoundLaw
from palpate.control.references.reference import joint_target
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_STEP = 1e-6  # rad or m, and per second: the slopes are central differences


@dataclass(frozen=True)
class SampledLoop:
    """A law and an arm around rest, from one control tick to the next.

    Attributes:
        transition: of [δq, δv, torques under way].
        radius: size of the largest eigenvalue; above 1 the loop is unstable.
        joint: name of the joint that moves most in that mode.
    """

    transition: Array
    radius: float
    joint: str


def sampled_loop(
    law: BoundLaw, robot: Robot, *, period: float, q: ArrayLike | None = None, delay: int = 0
) -> SampledLoop:
    """Linearise M δv̇ = δτ − ∂g/∂q δq − d δv with τ held for a period and `delay` periods late.

    Args:
        law: a memoryless law, bound to the robot.
        robot: a robot with a fixed base.
        period: s.
        q: posture at rest; home by default.
        delay: periods between measurement and torque.
    """
    if not law.memoryless:
        raise InvalidInput(f"law {law.name!r} has a memory; its loop has more states than these")
    T, n = finite_number(period, "period", above=0.0), robot.nv
    posture = robot.home if q is None else np.asarray(q, dtype=float)
    slopes = _slopes(law, robot, posture, T)
    step, held = _held(robot, posture, T)
    size = 2 * n + delay * n
    A = np.zeros((size, size))
    A[: 2 * n, : 2 * n] = step
    if delay == 0:
        A[: 2 * n, : 2 * n] += held @ slopes
    else:
        A[: 2 * n, -n:] = held  # the oldest torque acts
        A[2 * n : 3 * n, : 2 * n] = slopes  # the newest enters
        A[3 * n :, 2 * n : -n] = np.eye((delay - 1) * n)
    values, vectors = np.linalg.eig(A)
    worst = int(np.argmax(np.abs(values)))
    return SampledLoop(
        A, float(np.abs(values[worst])), robot.dof_names[int(np.argmax(np.abs(vectors[n : 2 * n, worst])))]
    )


def _slopes(law: BoundLaw, robot: Robot, q: Array, period: float) -> Array:
    """∂τ/∂(q, v), n × 2n."""
    n, target, law = robot.nv, joint_target(robot, q), replace(law, memory=deepcopy(law.memory))

    def torque(state: Array) -> Array:
        return law.tick(robot, state[:n], state[n:], target=target, dt=period).command

    rest = np.concatenate([q, np.zeros(n)])
    columns = [(torque(rest + s) - torque(rest - s)) / (2 * _STEP) for s in _STEP * np.eye(2 * n)]
    return np.column_stack(columns)


def _held(robot: Robot, q: Array, period: float) -> tuple[Array, Array]:
    """How the arm moves over a period: of itself, and under a held torque."""
    n, M = robot.nv, robot.mass_matrix(q)
    pull = np.column_stack([(robot.gravity(q + s) - robot.gravity(q - s)) / (2 * _STEP) for s in _STEP * np.eye(n)])
    losses = np.diag(robot.model.dof_damping[:n])
    block = np.zeros((3 * n, 3 * n))
    block[:n, n : 2 * n] = np.eye(n)
    block[n : 2 * n] = np.linalg.solve(M, np.hstack([-pull, -losses, np.eye(n)]))
    whole = _exponential(block * period)
    return whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n :]


def _exponential(A: Array) -> Array:
    """e^A by halving A until its series is short, and squaring back; spares every run the import of scipy."""
    halvings = max(0, int(np.ceil(np.log2(max(float(np.abs(A).sum(axis=1).max()), 1e-12)))) + 1)
    term = total = np.eye(len(A))
    for k in range(1, 18):
        term = term @ A / (2.0**halvings * k)
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def period_warnings(law: BoundLaw, robot: Robot, *, period: float, q: ArrayLike, delay: int = 0) -> list[str]:
    """A sentence with the numbers if the law is unstable at this period; nothing if it is stable or has a memory."""
    if not law.memoryless or robot.nq != robot.nv:
        return []
    loop = sampled_loop(law, robot, period=period, q=q, delay=delay)
    if loop.radius <= 1.0 + 1e-6:
        return []
    late = f" and a delay of {delay} ticks" if delay else ""
    return [
        f"{law.name} is unstable at a control period of {1e3 * period:g} ms{late}: its largest pole is"
        f" {loop.radius:.4g}, mostly of {loop.joint}; lower its gains there, or shorten the period"
    ]
