"""Inertial coupling of rotors with links: the complete model of Tomei and De Luca beside Spong's.

A rotor of inertia J on link i − 1 turns by n θ̇ about the axis a of joint i, beside the link's own ω. Its energy is

    ½ J (n θ̇ + aᵀω)² = ½ B θ̇² + (B/n) θ̇ aᵀω + ½ J (aᵀω)²,     B = n² J

Spong's model has the first term alone; the last belongs to the link, whose inertia motors are part of. The middle one
is S(q) θ̇ in the links' momentum and Sᵀ q̇ in the motors':

    [M S; Sᵀ B] [q̈; θ̈] + … ,     S = (B/n) aᵀ ∂ω/∂q̇

S is 1/n of B. It is 0 where no rotor's link turns about the rotor's axis, such as on a base or beside a right angle,
and constant on a planar arm, which then has no further terms in its speeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import eigh

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.joints.elastic_modes import elastic_numbers_at
from palpate.robot.robot import Robot

USUAL_RATIO = 100.0  # of strain-wave gears, where the arm's are not known
MATTERS = 0.02  # of a frequency


@dataclass(frozen=True)
class RotorCoupling:
    """Terms that Spong's model leaves out of an arm's modes at a posture.

    Attributes:
        change: largest change of a mode's frequency, as a share of it.
        frequency: of that mode without the coupling, Hz.
    """

    change: float
    frequency: float

    @property
    def matters(self) -> bool:
        """Whether some frequency changes by more than 2 %."""
        return self.change > MATTERS


def rotor_coupling(robot: Robot, q: Array, ratios: Array) -> Array:
    """S(q): row of a link's joint, column of the motor.

    Args:
        robot: with rotors at its joints, of one coordinate each.
        q: posture.
        ratios: n, turns of each motor for one of its joint, about the joint's axis; negative in the other sense.

    Raises:
        InvalidInput: joints follow others, or have several coordinates.
    """
    model, data = robot.model, mujoco.MjData(robot.model)
    if robot.coordinates.coupled or robot.nq != robot.nv:
        raise InvalidInput(
            f"rotors of {robot.name} are not known one by one: its joints are coupled or its base is free"
        )
    data.qpos[:] = q
    mujoco.mj_fwdPosition(model, data)
    S, turning = np.zeros((robot.nv, robot.nv)), np.zeros((3, robot.nv))
    for i, joint in enumerate(model.dof_jntid):
        mujoco.mj_jacBody(model, data, None, turning, model.body_parentid[model.jnt_bodyid[joint]])
        S[:, i] = model.dof_armature[i] / ratios[i] * (data.xaxis[joint] @ turning)
    return S


def coupled_frequencies(robot: Robot, q: Array, S: Array) -> Array:
    """Frequencies of undamped modes with motors free, rad/s, the slowest first: of M, S, B and the gears' stiffness."""
    M, B, K, _ = elastic_numbers_at(robot, q)
    gears = np.diag(K)
    inertia = np.block([[M, S], [S.T, np.diag(B)]])
    squares = eigh(np.block([[gears, -gears], [-gears, gears]]), inertia, eigvals_only=True)
    return np.sqrt(np.maximum(squares[len(K) :], 0.0))


def coupling_of_modes(robot: Robot, q: Array, ratios: Array) -> RotorCoupling:
    """The largest change that the rotors' coupling makes in a frequency at a posture."""
    S = rotor_coupling(robot, q, ratios)
    plain, coupled = (coupled_frequencies(robot, q, share * S) for share in (0.0, 1.0))
    change = np.abs(coupled / plain - 1.0)
    worst = int(np.argmax(change))
    return RotorCoupling(float(change[worst]), float(plain[worst] / (2.0 * np.pi)))
