"""Inertial coupling of rotors with links: the complete model of Tomei and De Luca beside Spong's.

A rotor of inertia J on link i − 1 turns by n θ̇ about the axis a of joint i, beside the link's own ω. Its energy is

    ½ J (n θ̇ + aᵀω)² = ½ B θ̇² + (B/n) θ̇ aᵀω + ½ J (aᵀω)²,     B = n² J

Spong's model has the first term alone; the last belongs to the link, whose inertia motors are part of. The middle one is
S(q) θ̇ in the links' momentum and Sᵀ q̇ in the motors':

    [M S; Sᵀ B] [q̈; θ̈] + … ,     S = (B/n) aᵀ ∂ω/∂q̇

S is 1/n of B. It is 0 where no rotor's link turns about the rotor's axis, such as on a base or beside a right angle, and
constant on a planar arm, which then has no further terms in its speeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import eigh

from palpate.checks import Array
from palpate.robot import catalogue
from palpate.robot.catalogue.joint_facts import ranges
from palpate.robot.joints.elastic_modes import elastic_modes
from palpate.robot.robot import Robot

USUAL_RATIO = 100.0  # of strain-wave gears, where the arm's are not known
MATTERS = 0.02  # of a frequency


@dataclass(frozen=True)
class RotorCoupling:
    """Effect of what Spong's model leaves out, at a posture.

    Attributes:
        frequency: largest change of a mode's frequency, as a share of it.
        joint: whose mode that is.
        ratio: smallest ratio of the gears.
        known: whether the gears' ratios are in the catalogue; else they are taken as 100.
    """

    frequency: float
    joint: str
    ratio: float
    known: bool

    @property
    def matters(self) -> bool:
        """Whether it changes some mode by more than 2 %."""
        return self.frequency > MATTERS


def rotor_coupling(robot: Robot, q: Array, ratios: Array) -> Array:
    """S(q): row of a link's joint, column of the motor.

    Args:
        robot: with rotors at its joints.
        q: posture.
        ratios: n, turns of each motor for one of its joint; the sign is that of its sense.
    """
    model, data = robot.model, mujoco.MjData(robot.model)
    data.qpos[:] = robot.coordinates.model_positions(q) if hasattr(robot.coordinates, "model_positions") else q
    mujoco.mj_fwdPosition(model, data)
    S, turning = np.zeros((robot.nv, robot.nv)), np.zeros((3, model.nv))
    for i, joint in enumerate(model.dof_jntid):
        mujoco.mj_jacBody(model, data, None, turning, model.body_parentid[model.jnt_bodyid[joint]])
        S[:, i] = model.dof_armature[i] / ratios[i] * (data.xaxis[joint] @ turning)
    return S


def modes_with_coupling(robot: Robot, q: Array, ratios: Array) -> Array:
    """Frequencies of the arm on its gears with motors free, Hz, with their coupling and without damping."""
    B, K = robot.model.dof_armature, np.diag(robot.joint_stiffness)  # pyright: ignore[reportArgumentType, reportCallIssue]
    S, links = rotor_coupling(robot, q, ratios), robot.mass_matrix(q) - np.diag(B)
    squares = eigh(np.block([[K, -K], [-K, K]]), np.block([[links, S], [S.T, np.diag(B)]]), eigvals_only=True)
    return np.sqrt(np.maximum(squares[robot.nv :], 0.0)) / (2.0 * np.pi)
