"""Document 002: tip forces and joint torques."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import arithmetic, corrected, formula, printed, reading, to
from palpate_documents.d002.about import DOCUMENT, XY, arm, equations, jacobian, unit

Evidence = Iterator[Comparison]
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


_TORQUES = r"\begin{bmatrix} T_1 \\ T_2 \end{bmatrix}"
_FORCES = r"\begin{bmatrix} F_x \\ F_y \end{bmatrix}"


@DOCUMENT.claim(
    "torque-of-force", "control of the tip force", _TORQUES + r" = (J^T)^{-1} " + _FORCES, "wrong",
    how="derive(planar2).J and virtual work; contact.torque_from_tip_force", rows="10",
    corrected=_TORQUES + r" = J^T " + _FORCES,
)  # fmt: skip
def _torque_of_force(c: Claim) -> Evidence:
    """F·ẋ = T·θ̇ for every θ̇ gives T = J^T F. It is the transpose, never its inverse."""
    how: dict[str, Any] = {"symbols": symbols(), "coordinates": ["theta_1", "theta_2"]}
    for role, text in (("printed", c.printed), ("corrected", c.corrected)):
        yield formula(role, text.split("= ", 1)[1], mapped("F_x F_y"), "tau", **how)  # type: ignore[arg-type]
    F, v = np.array([0.0, 2.0]), np.array([0.7, -1.1])
    found = pp.contact.torque_from_tip_force(arm(), Q, F, directions=XY)
    yield corrected("power at the joints and at the tip [W]", F @ jacobian(Q) @ v, found @ v)


@DOCUMENT.claim(
    "torque-increment", "control of the tip force",
    r"\begin{bmatrix} dT_1 \\ dT_2 \end{bmatrix} = (J^T)^{-1} \begin{bmatrix} 0 \\ dF_y \end{bmatrix}", "wrong",
    how="derive(planar2).J and virtual work", rows="10",
    corrected=r"\begin{bmatrix} dT_1 \\ dT_2 \end{bmatrix} = J^T \begin{bmatrix} 0 \\ dF_y \end{bmatrix}",
)  # fmt: skip
def _increments(c: Claim) -> Evidence:
    """As before, for increments."""
    reference = mapped("zero dF_y").subs(sp.Symbol("zero"), 0)
    how: dict[str, Any] = {"symbols": symbols(), "coordinates": ["theta_1", "theta_2"]}
    for role, text in (("printed", c.printed), ("corrected", c.corrected)):
        yield formula(role, text.split("= ", 1)[1], reference, "tau", **how)  # type: ignore[arg-type]


@DOCUMENT.claim(
    "power", "tip forces and joint torques",
    r"\begin{bmatrix} F_x & F_y \end{bmatrix} \begin{bmatrix} \dot{x}_2 \\ \dot{y}_2 \end{bmatrix} ="
    r" \begin{bmatrix} T_1 &"
    r" T_2 \end{bmatrix} \begin{bmatrix} \dot{\theta}_1 \\ \dot{\theta}_2 \end{bmatrix}",
    how="contact.tip_force_from_torque: power at both ends", rows="11",
)  # fmt: skip
def _power(c: Claim) -> Evidence:
    """The balance itself is right."""
    T, v = np.array([1.0, 2.0]), np.array([0.7, -1.1])
    F = pp.contact.tip_force_from_torque(arm(), Q, T, directions=XY).force
    yield printed("power [W]", T @ v, F @ jacobian(Q) @ v)


@DOCUMENT.claim(
    "replacing", "tip forces and joint torques",
    r"\begin{bmatrix} T_1 & T_2 \end{bmatrix} \begin{bmatrix} \dot{\theta}_1 \\ \dot{\theta}_2 \end{bmatrix} ="
    r" \begin{bmatrix} T_1 & T_2 \end{bmatrix} J \begin{bmatrix} \dot{x}_2 \\ \dot{y}_2 \end{bmatrix}", "wrong",
    how="robot.jacobian at a random motion", rows="12",
    corrected=r"\begin{bmatrix} T_1 & T_2 \end{bmatrix} \begin{bmatrix} \dot{\theta}_1 \\ \dot{\theta}_2"
        r" \end{bmatrix} ="
    r" \begin{bmatrix} T_1 & T_2 \end{bmatrix} J^{-1} \begin{bmatrix} \dot{x}_2 \\ \dot{y}_2 \end{bmatrix}",
)  # fmt: skip
def _replaced(c: Claim) -> Evidence:
    """ẋ = J θ̇, so θ̇ = J⁻¹ ẋ: the Jacobian has been put in upside down, and everything below follows from it."""
    T, v = np.array([1.0, 2.0]), np.array([0.3, -1.175])
    x = jacobian(Q) @ v
    yield printed("power [W]", T @ jacobian(Q) @ x, T @ v)
    yield corrected("power [W]", T @ np.linalg.solve(jacobian(Q), x), T @ v)


@DOCUMENT.claim(
    "force-row", "tip forces and joint torques",
    r"\begin{bmatrix} F_x & F_y \end{bmatrix} = \begin{bmatrix} T_1 & T_2 \end{bmatrix} J", "wrong",
    how="contact.tip_force_from_torque", rows="12",
    corrected=r"\begin{bmatrix} F_x & F_y \end{bmatrix} = \begin{bmatrix} T_1 & T_2 \end{bmatrix} J^{-1}",
)  # fmt: skip
def _force_row(c: Claim) -> Evidence:
    """Follows from the line before."""
    T = np.array([1.0, 2.0])
    found = pp.contact.tip_force_from_torque(arm(), Q, T, directions=XY).force
    yield printed("F [N]", T @ jacobian(Q), found)
    yield corrected("F [N]", T @ np.linalg.inv(jacobian(Q)), found)


@DOCUMENT.claim(
    "force-of-torque", "tip forces and joint torques, boxed", _FORCES + " = J^T " + _TORQUES, "wrong",
    how="contact.tip_force_from_torque", rows="12", corrected=_FORCES + " = (J^T)^{-1} " + _TORQUES,
)  # fmt: skip
def _force_of_torque(c: Claim) -> Evidence:
    """ "The transpose of the Jacobian relates joint torques to tip forces" is true the other way round: T = J^T F."""
    T = np.array([1.0, 2.0])
    found = pp.contact.tip_force_from_torque(arm(), Q, T, directions=XY).force
    yield printed("F [N]", jacobian(Q).T @ T, found)
    yield corrected("F [N]", np.linalg.solve(jacobian(Q).T, T), found)
    yield corrected("J^T F, with which the arm rests [N·m]", T, pp.contact.torque_from_tip_force(
        arm(), Q, found, directions=XY))  # fmt: skip


DOCUMENT.reading(
    "wording", "example", r"\text{Determine the tip forces if the joint torques are: } \theta = (0.5, 0.6), \;"
        r" T = (1, 2)",
    "typo", "The sentence announces torques and lists angles and torques.", rows="13",
    corrected=r"\text{Determine the tip forces if the joint angles and torques are: \ldots}",
)  # fmt: skip


@DOCUMENT.claim(
    "matlab-J", "example",
    r"J = \begin{bmatrix} -c_1-c_{12} & -c_{12} \\ -s_1-s_{12} & -s_{12} \end{bmatrix} = \begin{bmatrix}"
    r" -1.3312 & -0.4536"
    r" \\ -1.3706 & -0.8912 \end{bmatrix}", "ambiguous", how="robot.jacobian with θ1 from y and from x", rows="14",
    corrected=r"\text{angles from } x: \; J = \begin{bmatrix} -s_1-s_{12} & -s_{12} \\ c_1+c_{12} & c_{12}"
        r" \end{bmatrix}",
)  # fmt: skip
def _matlab_jacobian(c: Claim) -> Evidence:
    """The Jacobian of an arm whose angles are counted from the y axis. The section on the wall and the code at the end
    count from the x axis."""
    yield reading("θ1 from the y axis [m]", PRINTED_J, jacobian(Q, from_y=True), to(4))
    yield reading("θ1 from the x axis [m]", PRINTED_J, jacobian(Q), to(4))


@DOCUMENT.claim(
    "example-F", "example", r"F = J^T T = (-4.0724, -2.2360)", "wrong", how="contact.tip_force_from_torque", rows="15",
    corrected=r"F = (J^T)^{-1} T = (3.2765, -3.9118)",
)  # fmt: skip
def _example_force(c: Claim) -> Evidence:
    """The arithmetic is right, the map is not: these forces do not balance the torques (1, 2)."""
    found = pp.contact.tip_force_from_torque(arm(), FROM_Y, [1.0, 2.0], directions=XY).force
    yield arithmetic("J^T T [N]", [-4.0724, -2.2360], jacobian(Q, True).T @ [1.0, 2.0], 2e-4)
    yield printed("F [N]", [-4.0724, -2.2360], found, to(4))
    yield corrected("F [N]", [3.2765130582, -3.9117872801], found)


@DOCUMENT.claim(
    "example-T", "example", r"T = (J^T)^{-1} F = (4.8549, -4.7151)", "wrong", how="contact.torque_from_tip_force",
    rows="16", corrected=r"T = J^T F = (-2.7413, -1.7824)",
)  # fmt: skip
def _example_torque(c: Claim) -> Evidence:
    """As before. Static moments of F = (0, 2) N about the joints are −2.741 and −1.782 N·m."""
    found = pp.contact.torque_from_tip_force(arm(), FROM_Y, [0, 2.0], directions=XY)
    yield arithmetic("(J^T)⁻¹ F [N·m]", [4.8549, -4.7151], np.linalg.solve(jacobian(Q, True).T, [0, 2.0]), 2e-4)
    yield printed("T [N·m]", [4.8549, -4.7151], found, to(4))
    yield corrected("T [N·m]", [-2.7412657973, -1.7824147201], found)
    tip, elbow = arm().pose(FROM_Y).position, arm().pose(FROM_Y, "link2").position
    moments = [np.cross(tip, [0, 2.0, 0])[2], np.cross(tip - elbow, [0, 2.0, 0])[2]]
    yield corrected("moments of F about the two joints [N·m]", moments, found)
