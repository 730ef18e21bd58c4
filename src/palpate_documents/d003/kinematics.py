"""Document 003: positions, rotations, velocities, transformations, systems of bodies."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import corrected, decimals, formulas, printed, reading, says
from palpate_documents.d003 import DOCUMENT
from palpate_documents.d003.examples import slope, state, ur5e, vertical

YAW, PITCH, ROLL = 0.5, -0.3, 0.8  # ψ, θ, φ


def _claim_cylindrical(c: Claim) -> Evidence:
    position = pp.spatial.cartesian_from_cylindrical([1.5, 0.7, 0.4])
    yield printed("r [m]", 1.5 * np.array([cos(0.7), sin(0.7), 0]) + [0, 0, 0.4], position)


def _claim_spherical(c: Claim) -> Evidence:
    position = pp.spatial.cartesian_from_spherical([1.5, 0.7, 0.4])
    yield printed("r [m]", 1.5 * np.array([sin(0.4) * cos(0.7), sin(0.4) * sin(0.7), cos(0.4)]), position)


def _claim_velocity(c: Claim) -> Evidence:
    x, rate = np.array([1.5, 0.7, 0.4]), np.array([0.3, -0.2, 0.5])
    velocity = slope(pp.spatial.cartesian_from_spherical, x, rate)
    yield printed("v [m/s]", pp.spatial.velocity_from_spherical_rate(x, rate), velocity, 1e-8)


def _claim_euler_names(c: Claim) -> Evidence:
    theta, phi, psi = PITCH, ROLL, YAW
    R = pp.spatial.matrix_from_euler([psi, theta, phi], "ZYX")
    yield printed("R_z(yaw) R_y(pitch) R_x(roll)", pp.spatial.matrix_from_euler([theta, phi, psi], "ZYX"), R)
    yield corrected("R_z(yaw) R_y(pitch) R_x(roll)", pp.spatial.matrix_from_euler([YAW, PITCH, ROLL], "ZYX"), R)


def _claim_R(c: Claim) -> Evidence:
    (cp, sp), (ct, st), (cf, sf) = ((cos(x), sin(x)) for x in (YAW, PITCH, ROLL))
    text = [
        [cp * ct, cp * st * sf - sp * cf, cp * st * cf + sp * sf],
        [sp * ct, sp * st * sf + cp * cf, sp * st * cf - cp * sf],
        [-st, ct * sf, ct * cf],
    ]
    yield printed("R", text, pp.spatial.matrix_from_euler([YAW, PITCH, ROLL], "ZYX"))


def _claim_angle_axis(c: Claim) -> Evidence:
    axis = np.array([2.0, -1, 2]) / 3
    R = pp.spatial.matrix_from_angle_axis(0.8, axis)
    angle, computed_axis = pp.spatial.angle_axis_from_matrix(R)
    yield printed("angle and axis", [0.8, *axis], [angle, *computed_axis])


def _claim_q_example(c: Claim) -> Evidence:
    yield printed("q", [0.7071, 0, 0, 0.7071], pp.spatial.quat_from_angle_axis(np.pi / 2, [0, 0, 1]), decimals(4))


def _claim_qvq(c: Claim) -> Evidence:
    q, v = pp.spatial.quat_from_angle_axis(np.pi / 2, [0, 0, 1]), np.array([0.0, 0, 1, 0])
    multiply, conjugate = pp.spatial.quat_multiply, pp.spatial.quat_conjugate
    product = multiply(multiply(q, v), conjugate(q))
    yield printed("q v q*", [0, 0, 0, 0], product)
    yield corrected("q v q*", [0, -1, 0, 0], product)
    yield corrected("the same by the matrix", [-1, 0, 0], pp.spatial.matrix_from_quat(q) @ v[1:])
    yield corrected("q* v q (passive)", [0, 1, 0, 0], multiply(multiply(conjugate(q), v), q))


def _claim_omega(c: Claim) -> Evidence:
    r, omega = np.array([0.4, -0.2, 0.7]), np.array([0.3, -0.8, 1.1])
    R = pp.spatial.matrix_from_rotation_vector(r)
    ahead, behind = (pp.spatial.matrix_from_rotation_vector(h * omega) @ R for h in (1e-6, -1e-6))
    rate = (ahead - behind) / 2e-6
    yield says("printed", "Ṙ Rᵀ is a vector of three numbers", True, (rate @ R.T).shape == (3,))
    yield corrected("Ṙ Rᵀ [1/s]", pp.spatial.skew(omega), rate @ R.T, 1e-8)
    library = pp.spatial.matrix_rate_from_angular_velocity(R, omega)
    yield corrected("ω [rad/s]", omega, pp.spatial.angular_velocity_from_matrix_rate(R, library))


def _claim_vB(c: Claim) -> Evidence:
    v, omega, r = np.array([1.0, 2, 3]), np.array([0.3, -0.8, 1.1]), np.array([0.5, 0.2, -0.4])
    yield printed("v_B [m/s]", v + np.cross(omega, r), pp.spatial.shift_twist([*v, *omega], r)[:3])


def _claim_qdot(c: Claim) -> Evidence:
    q = pp.spatial.quat_from_rotation_vector([0.4, -0.2, 0.7])
    x, y, z = omega = np.array([0.3, -0.8, 1.1])
    matrix = np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])
    for axes in ("body", "world"):
        quat_rate = pp.spatial.quat_rate_from_angular_velocity(q, omega, axes)  # type: ignore[arg-type]
        yield reading(f"ω in {axes} axes: q̇ [1/s]", 0.5 * matrix @ q, quat_rate)
    other = matrix.copy()
    other[1:, 1:] *= -1
    yield corrected("block turned round, ω in world axes: q̇ [1/s]", 0.5 * other @ q,
                    pp.spatial.quat_rate_from_angular_velocity(q, omega))  # fmt: skip


def _claim_frames(c: Claim) -> Evidence:
    X = pp.spatial.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_rotation_vector([0.4, -0.2, 0.7]))
    p = np.array([1.0, 2, 3])
    yield printed("r_AP [m]", X.position + X.rotation @ p, X.apply(p))


def _claim_TAB(c: Claim) -> Evidence:
    X = pp.spatial.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_rotation_vector([0.4, -0.2, 0.7]))
    Y = pp.spatial.Pose([0.1, 0.2, -0.3], pp.spatial.matrix_from_rotation_vector([-0.3, 0.6, 0.1]))

    def matrix(P: pp.spatial.Pose) -> np.ndarray:
        return np.vstack([np.column_stack([P.rotation, P.position]), [0, 0, 0, 1]])

    yield printed("T_AB T_BC", matrix(X) @ matrix(Y), matrix(X @ Y))


def _claim_scara(c: Claim) -> Evidence:
    robot = pp.load_robot("scara")
    J = robot.jacobian(robot.home)
    yield printed("degrees of freedom", 4, robot.nv)
    yield printed(
        "rank of J; of its rows x, y, z, φ", [4, 4], [np.linalg.matrix_rank(J), np.linalg.matrix_rank(J[[0, 1, 2, 5]])]
    )


def _claim_JeA(c: Claim) -> Evidence:
    q, v, _ = state(ur5e())

    def coordinates(at: np.ndarray) -> np.ndarray:
        pose = ur5e().pose(at)
        return np.concatenate([pose.position, pp.spatial.euler_from_matrix(pose.rotation, "ZYX")])

    yield printed("ẋ_e", ur5e().analytical_jacobian(q, euler="ZYX") @ v, slope(coordinates, q, v), 1e-7)


def _claim_Je0(c: Claim) -> Evidence:
    q, v, _ = state(ur5e())
    w, R = ur5e().jacobian(q) @ v, ur5e().pose(q).rotation
    yield printed("v_e [m/s]", w[:3], slope(lambda at: ur5e().pose(at).position, q, v), 1e-7)
    turning = slope(lambda at: ur5e().pose(at).rotation, q, v) @ R.T
    yield printed("Ṙ Rᵀ [1/s]", pp.spatial.skew(w[3:]), turning, 1e-7)


def _claim_Ee(c: Claim) -> Evidence:
    q, _, _ = state(ur5e())
    angles = pp.spatial.euler_from_matrix(ur5e().pose(q).rotation, "ZYX")
    E = np.eye(6)
    E[3:, 3:] = pp.spatial.euler_rate_matrix(angles, "ZYX")
    yield printed("E J_eA", E @ ur5e().analytical_jacobian(q, euler="ZYX"), ur5e().jacobian(q))


def _vertical(key: str, rows: list[int]) -> Any:
    import sympy as sp

    return sp.Matrix(vertical()[key])[rows, :]


formulas(
    DOCUMENT,
    {
        "planar-position": ("FK", lambda: _vertical("position", [0, 2])),
        "planar-J": ("J", lambda: _vertical("Ja", [0, 1])),
        "planar-JR": ("expression", lambda: _vertical("Ja", [2])),
    },
    coordinates=["q1", "q2", "q3"],
)


def _claim_planar_angle(c: Claim) -> Evidence:
    q = np.array([0.3, 0.5, -0.2])
    R = pp.load_robot("planar3-vertical").pose(q).rotation
    yield printed("R", pp.spatial.matrix_from_angle_axis(float(q.sum()), [0, 1, 0]), R)
