"""Where an arm comes to rest under its law, and what is left of an error after a time: both from the linear loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import ArmContact

MOST_STATES = 400  # of a loop whose remainder is computed; beyond, its slowest pole speaks for it
_HELD = 1e-6  # of a torque: what may be left unbalanced


@dataclass(frozen=True)
class Compliance:
    """How an arm at rest gives way, to first order.

    Attributes:
        torque: n×n, joint displacement per joint torque from outside.
        reading: n×6, joint displacement per wrench that the sensor reads and that does not act.
        held: per joint, whether the law holds the arm against a torque there; what it does not hold moves for ever.
    """

    torque: Array
    reading: Array
    held: Array

    def under(self, wrench: Array, J: Array) -> Array:
        """Joint displacement under a wrench at the tool that acts and is read."""
        return self.torque @ (J.T @ wrench) + self.reading @ wrench


def compliance(contact: ArmContact) -> Compliance:
    """The rest of the sampled loop under constant disturbances.

    At rest the law's state stands, ξ = A ξ + B_q δq + B_f F, its command is u = C ξ + D_q δq + D_f F, and the plant's
    equation has no acceleration: u − (G + K_c) δq + τ = 0, or behind a servo S ω² (u − δq) + M⁻¹ (τ − K_c δq) = 0 (for
    a velocity, u = 0 and the servo's own position in its place).
    """
    plant, law, timing = contact.plant(), contact.model.law(), contact.timing
    n, k, one = plant.freedoms, len(law.update), np.eye(plant.freedoms)
    on_q, on_F = law.q + law.wrench @ plant.felt_q, law.wrench
    state = np.hstack([law.update_q + law.update_wrench @ plant.felt_q, law.update - np.eye(k)])
    wall, none = plant.mobility @ plant.wall_stiffness, np.zeros((n, n))
    if law.command == "torque":
        equilibrium = np.hstack([on_q - plant.gravity - plant.wall_stiffness, law.state])
        by_torque, by_reading = -one, -on_F
    elif law.command == "position":
        servo = timing.servo_bandwidth**2 * plant.servo
        equilibrium = np.hstack([servo @ (on_q - one) - wall, servo @ law.state])
        by_torque, by_reading = -plant.mobility, -servo @ on_F
    else:
        servo = timing.servo_bandwidth**2 * plant.servo
        equilibrium = np.block([[on_q, law.state, none], [-servo - wall, np.zeros((n, k)), servo]])
        by_torque, by_reading = np.vstack([none, -plant.mobility]), np.vstack([-on_F, 0 * on_F])
        state = np.hstack([state, np.zeros((k, n))])
    A = np.vstack([equilibrium, state])
    right = np.block([[by_torque, by_reading], [np.zeros((k, n)), -law.update_wrench]])
    scale = np.maximum(np.abs(A).max(axis=1, keepdims=True), 1e-300)
    solution = np.linalg.lstsq(A / scale, right / scale, rcond=1e-12)[0]
    left = np.abs(A @ solution - right)[:, :n].max(axis=0)
    return Compliance(solution[:n, :n], solution[:n, n:], left <= _HELD * np.abs(right[:, :n]).max(axis=0))


def remainder(contact: ArmContact, J: Array, time: float) -> Array:
    """k×k: what is left of an error along the k rows of J after a time without further change; entries are sizes."""
    loop, T, n = contact.loop(), contact.timing.period, contact.robot.nv
    if not loop.stable:
        return np.eye(len(J))
    if T == 0 or loop.states > MOST_STATES:
        return np.exp(-max(loop.rate, 0.0) * time) * np.eye(len(J))
    whole = np.linalg.matrix_power(loop.transition, max(int(time / T), 0))
    return np.abs(J @ whole[:n, :n] @ np.linalg.pinv(J))
