"""Statics: tip forces and joint torques, what holds a posture, and whether contacts do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.contact.modes.dynamics import Constrained, Wrench, constrained_dynamics
from palpate.contact.touch.contacts import Touch
from palpate.errors import SingularTask
from palpate.robot.robot import Robot


@dataclass(frozen=True)
class TipForce:
    """The force at a frame that joint torques balance.

    Attributes:
        force: along the directions asked for, N or N·m: what the robot does to the environment.
        residual: torque that no such force balances; the joints would accelerate with it. 0 for a square, regular J.
    """

    force: Array
    residual: Array


def torque_from_tip_force(
    robot: Robot, q: ArrayLike, force: ArrayLike, frame: str | None = None, *, directions: ArrayLike | None = None
) -> Array:
    """τ = Jᵀ F: joint torques with which the robot at rest pushes with F, gravity aside.

    From virtual work, F·ẋ = τ·θ̇ with ẋ = J θ̇. It is the transpose that maps forces to torques, and never the
    transpose's inverse.

    Args:
        robot: the robot.
        q: its posture.
        force: along the directions, N or N·m: what the robot does to the environment.
        frame: where; the tool frame by default.
        directions: rows over [linear; angular], world axes; all six by default.
    """
    J = _task_jacobian(robot, q, frame, directions)
    return J.T @ finite_array(force, "force", (len(J),))


def tip_force_from_torque(
    robot: Robot,
    q: ArrayLike,
    tau: ArrayLike,
    frame: str | None = None,
    *,
    directions: ArrayLike | None = None,
    gravity: bool = False,
) -> TipForce:
    """F with Jᵀ F = τ (or τ − g(q) if gravity counts): the force the robot exerts at rest.

    A redundant arm's torques need not be balanced by any tip force: F is then the least-squares one, and `residual` is
    what is left over.

    Raises:
        SingularTask: forces along some direction cost no torque, so τ does not tell them.
    """
    J = _task_jacobian(robot, q, frame, directions)
    wanted = robot._plain(tau, "tau", robot.nv, finite=True) - (robot.gravity(q) if gravity else 0.0)
    sizes = np.linalg.svd(J, compute_uv=False)
    if len(J) > robot.nv or sizes[-1] <= 1e-9 * sizes[0]:
        raise SingularTask(frame or robot.tool_frame, 0.0 if len(J) > robot.nv else float(sizes[-1]))
    force = np.linalg.lstsq(J.T, wanted, rcond=None)[0]
    return TipForce(force, wanted - J.T @ force)


def holding_torque(robot: Robot, q: ArrayLike, wrench: Wrench | None = None) -> Array:
    """τ = g(q) − Σ Jᵀ F: torques that hold a posture while the environment pushes with F."""
    return robot.gravity(q) - robot.generalised_force(q, wrench)


@dataclass(frozen=True)
class Equilibrium:
    """Whether a robot at rest stays so.

    Attributes:
        holds: whether no joint accelerates (to 1e-9 of the accelerations gravity would give).
        contacts: accelerations, forces and modes.
        missing: the generalised force that would be needed besides, M v̇, N·m or N; 0 where it holds.
    """

    holds: bool
    contacts: Constrained
    missing: Array


def static_equilibrium(
    robot: Robot, q: ArrayLike, tau: ArrayLike, contacts: Sequence[Touch], wrench: Wrench | None = None
) -> Equilibrium:
    """Whether contacts and torques hold a robot at rest, and with what forces."""
    zero = np.zeros(robot.nv)
    dynamics = constrained_dynamics(robot, q, zero, tau, contacts, wrench)
    free = robot.forward_dynamics(q, zero, tau, wrench=wrench)
    size = 1.0 + float(np.abs(free).max())
    holds = bool(np.abs(dynamics.acceleration).max() < 1e-9 * size)
    missing = np.zeros(robot.nv) if holds else -robot.mass_matrix(q) @ dynamics.acceleration
    return Equilibrium(holds, dynamics, missing)


def _task_jacobian(robot: Robot, q: ArrayLike, frame: str | None, directions: ArrayLike | None) -> Array:
    J = robot.jacobian(q, frame)
    return J if directions is None else finite_array(directions, "directions", (None, 6)) @ J
