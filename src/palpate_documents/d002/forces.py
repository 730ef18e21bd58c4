"""Document 002: tip forces and joint torques."""

from __future__ import annotations

import numpy as np
import sympy as sp

import palpate as pp
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import arithmetic, both, corrected, decimals, printed, reading
from palpate_documents.d002.arm import XY, arm, equations, jacobian, unit

Q = np.array([0.5, 0.6])
FROM_Y = np.add(Q, (np.pi / 2, 0))  # the same posture with the angle counted from x, as the robot does
PRINTED_J = [[-1.3312, -0.4536], [-1.3706, -0.8912]]


def symbols() -> dict[str, object]:
    """J of the arm, and names of forces and torques."""
    J = unit(equations().J[:2, :])
    return {"J": J, "F_x": None, "F_y": None, "T_1": None, "T_2": None, "dF_y": None}


def mapped(vector: str) -> sp.Matrix:
    """J^T times a column of symbols."""
    J = unit(equations().J[:2, :])
    return J.T * sp.Matrix(sp.symbols(vector))


def _claim_torque_of_force(c: Claim) -> Evidence:
    yield from both(c, mapped("F_x F_y"), "tau", symbols=symbols(), coordinates=["theta_1", "theta_2"])
    F, v = np.array([0.0, 2.0]), np.array([0.7, -1.1])
    torque = pp.contact.torque_from_tip_force(arm(), Q, F, directions=XY)
    yield corrected("power at the joints and at the tip [W]", F @ jacobian(Q) @ v, torque @ v)


def _claim_torque_increment(c: Claim) -> Evidence:
    increment = mapped("zero dF_y").subs(sp.Symbol("zero"), 0)
    yield from both(c, increment, "tau", symbols=symbols(), coordinates=["theta_1", "theta_2"])


def _claim_power(c: Claim) -> Evidence:
    T, v = np.array([1.0, 2.0]), np.array([0.7, -1.1])
    F = pp.contact.tip_force_from_torque(arm(), Q, T, directions=XY).force
    yield printed("power [W]", T @ v, F @ jacobian(Q) @ v)


def _claim_replacing(c: Claim) -> Evidence:
    T, v = np.array([1.0, 2.0]), np.array([0.3, -1.175])
    x = jacobian(Q) @ v
    yield printed("power [W]", T @ jacobian(Q) @ x, T @ v)
    yield corrected("power [W]", T @ np.linalg.solve(jacobian(Q), x), T @ v)


def _claim_force_row(c: Claim) -> Evidence:
    T = np.array([1.0, 2.0])
    force = pp.contact.tip_force_from_torque(arm(), Q, T, directions=XY).force
    yield printed("F [N]", T @ jacobian(Q), force)
    yield corrected("F [N]", T @ np.linalg.inv(jacobian(Q)), force)


def _claim_force_of_torque(c: Claim) -> Evidence:
    T = np.array([1.0, 2.0])
    force = pp.contact.tip_force_from_torque(arm(), Q, T, directions=XY).force
    yield printed("F [N]", jacobian(Q).T @ T, force)
    yield corrected("F [N]", np.linalg.solve(jacobian(Q).T, T), force)
    yield corrected("J^T F, with which the arm rests [N·m]", T, pp.contact.torque_from_tip_force(
        arm(), Q, force, directions=XY))  # fmt: skip


def _claim_matlab_J(c: Claim) -> Evidence:
    yield reading("θ1 from the y axis [m]", PRINTED_J, jacobian(Q, from_y=True), decimals(4))
    yield reading("θ1 from the x axis [m]", PRINTED_J, jacobian(Q), decimals(4))


def _claim_example_F(c: Claim) -> Evidence:
    force = pp.contact.tip_force_from_torque(arm(), FROM_Y, [1.0, 2.0], directions=XY).force
    yield arithmetic("J^T T [N]", [-4.0724, -2.2360], jacobian(Q, True).T @ [1.0, 2.0], 2e-4)
    yield printed("F [N]", [-4.0724, -2.2360], force, decimals(4))
    yield corrected("F [N]", [3.2765130582, -3.9117872801], force)


def _claim_example_T(c: Claim) -> Evidence:
    torque = pp.contact.torque_from_tip_force(arm(), FROM_Y, [0, 2.0], directions=XY)
    yield arithmetic("(J^T)⁻¹ F [N·m]", [4.8549, -4.7151], np.linalg.solve(jacobian(Q, True).T, [0, 2.0]), 2e-4)
    yield printed("T [N·m]", [4.8549, -4.7151], torque, decimals(4))
    yield corrected("T [N·m]", [-2.7412657973, -1.7824147201], torque)
    tip, elbow = arm().pose(FROM_Y).position, arm().pose(FROM_Y, "link2").position
    moments = [np.cross(tip, [0, 2.0, 0])[2], np.cross(tip - elbow, [0, 2.0, 0])[2]]
    yield corrected("moments of F about the two joints [N·m]", moments, torque)
