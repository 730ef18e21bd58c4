"""Modes of an arm with elastic joints at a posture: motors against links, and links alone where the motors are held."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot


@dataclass(frozen=True)
class ElasticMode:
    """One vibration of an arm on its gears.

    Attributes:
        frequency: Hz, of the free motor and link, √(K (1/B + 1/M))/2π of one joint.
        damping_ratio: ζ of it, by the gears' damping alone.
        joint: whose gear bends most.
    """

    frequency: float
    damping_ratio: float
    joint: str


def elastic_modes(robot: Robot, q: Array) -> tuple[ElasticMode, ...]:
    """Modes with motors free, the slowest first: M q̈ = K (θ − q) + D (θ̇ − q̇) = −B θ̈.

    Raises:
        InvalidInput: the robot's joints are rigid.
    """
    M, B, K, D = elastic_numbers_at(robot, q)
    n = len(K)
    # Of the deflection δ = θ − q alone: δ̈ = −(B⁻¹ + M⁻¹) (K δ + D δ̇); common motion bends nothing.
    W = np.diag(1.0 / B) + np.linalg.inv(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-W @ np.diag(K), -W @ np.diag(D)]])
    rates, vectors = np.linalg.eig(A)
    modes = []
    for s, vector in zip(rates, vectors.T):
        if s.imag > 0.0:
            joint = robot.dof_names[int(np.argmax(np.abs(vector[:n]) ** 2 * K))]
            modes.append(ElasticMode(abs(s) / (2.0 * math.pi), float(-s.real / abs(s)), joint))
    return tuple(sorted(modes, key=lambda mode: mode.frequency))


def held_modes(robot: Robot, q: Array) -> tuple[ElasticMode, ...]:
    """Modes with every motor held still: M q̈ + D q̇ + K q = 0; a motor's antiresonances, the slowest first."""
    M, _, K, D = elastic_numbers_at(robot, q)
    squares, vectors = eigh(np.diag(K), M)
    modes = []
    for square, vector in zip(squares, vectors.T):
        omega = math.sqrt(square)
        joint = robot.dof_names[int(np.argmax(vector**2 * K))]
        modes.append(ElasticMode(omega / (2.0 * math.pi), float(vector @ (D * vector)) / (2.0 * omega), joint))
    return tuple(modes)


def elastic_numbers_at(robot: Robot, q: Array) -> tuple[Array, Array, Array, Array]:
    """Inertia of the links, rotors, stiffness and damping of the gears."""
    K, D = robot.joint_stiffness, robot.gear_damping
    if K is None:
        raise InvalidInput(
            f"the joints of {robot.name} are rigid, so that they have no modes", hint='load it with joints="elastic"'
        )
    B = robot.model.dof_armature[robot.coordinates.kept].copy()
    return robot.mass_matrix(q) - np.diag(B), B, K, np.zeros(len(K)) if D is None else D
