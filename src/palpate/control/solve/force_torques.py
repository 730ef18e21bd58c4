"""Joint torques that let an arm apply a force to its end-effector under a pole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.control.design.pole import PoleModel
from palpate.control.solve.hierarchy import solve_hierarchy
from palpate.control.solve.stop import bounds_of
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_MISSED = 1e-8  # of the acceleration asked for: what counts as reached


@dataclass(frozen=True)
class ForceTorques:
    """Result of `torques_for_force`.

    Attributes:
        torque: τ, N·m or N.
        acceleration: v̇ that goes with it, by the arm's model.
        a_A, a_B: of foot and sphere, m/s².
        f_B: force of the end-effector on the pole, N.
        reached: whether the end-effector gets the acceleration that the force asks for; without limits always.
        missed: the part of [a_A; α] that the limits cost, world axes; 0 where it is reached.
    """

    torque: Array
    acceleration: Array
    a_A: Array
    a_B: Array
    f_B: Array
    reached: bool
    missed: Array


def torques_for_force(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    force: ArrayLike,
    r: ArrayLike,
    r_rate: ArrayLike = (0.0, 0.0, 0.0),
    *,
    pole: PoleModel | None = None,
    angular_acceleration: ArrayLike = (0.0, 0.0, 0.0),
    limits: ArrayLike | tuple[ArrayLike, ArrayLike] | Literal["robot"] | None = None,
) -> ForceTorques:
    """Joint torques of least size under which the arm applies a force to its end-effector, a pole on its tool frame.

    1. a_A and f_B from f by the closed form of end-effector and pole.
    2. M v̇ + b = τ − Jₚᵀ f_B (14) and J v̇ + J̇ v = [a_A; α] (15), b with gravity on the left.
    3. min τᵀτ within `limits`: the acceleration first, as near as it can be had, then the least τ.

    The arm's model holds the end-effector's mass (`robot.with_payload`); rows of [a_A; α] that an arm of fewer than six
    joints cannot serve are refused by their residual.

    Args:
        robot: the arm, end-effector welded on.
        q, v: its state.
        force: f of the arm on the end-effector, N, world axes.
        r, r_rate: from the pole's foot to its sphere, and its rate, world axes.
        pole: lengths and masses; the defaults (1 m, 0.1 kg, 1 kg) if not given.
        angular_acceleration: α of the end-effector, rad/s².
        limits: |τ_i| ≤ limits_i, a pair (lower, upper), "robot" for the arm's own, none by default.

    Raises:
        InvalidInput: if no joint acceleration gives the end-effector what is asked, limits apart.
    """
    pole = PoleModel() if pole is None else pole
    a_A, a_B, f_B = pole.accelerations(r, r_rate, force)
    x = robot.terms(q, v)
    alpha = finite_array(angular_acceleration, "angular_acceleration", (3,))
    wanted = np.concatenate([a_A, alpha]) - x.drift
    push = x.bias + x.J[:3].T @ f_B
    free = np.linalg.lstsq(x.J, wanted, rcond=1e-9)[0]
    scale = 1.0 + np.abs(wanted).max()
    if np.abs(x.J @ free - wanted).max() > 1e-6 * scale:
        raise InvalidInput(
            f"{robot.name} cannot give its end-effector this acceleration in this posture",
            hint="an arm needs six joints, away from singular postures",
        )
    most = robot.limits.torque if isinstance(limits, str) else np.full(robot.nv, np.inf) if limits is None else limits
    a = _least_torque(x.M, x.J, wanted, push, bounds_of(most, robot.nv, "limits"))
    missed = wanted - x.J @ a
    reached = bool(np.abs(missed).max() <= _MISSED * scale)
    torque = x.M @ a + push
    return ForceTorques(torque, a, a_A, a_B, f_B, reached, np.zeros(6) if reached else missed)


def _least_torque(M: Array, J: Array, wanted: Array, push: Array, bound: tuple[Array, Array]) -> Array:
    """v̇ of J v̇ = wanted, or the nearest within lower ≤ M v̇ + push ≤ upper, with the least |M v̇ + push|."""
    rows, n = J.shape
    A, b = np.vstack([J, M]), np.concatenate([wanted, -push])
    lower, upper = bound[0] - push, bound[1] - push
    return solve_hierarchy(A, b, np.array([0, rows, rows + n]), M, lower, upper, np.ones(n)).x
