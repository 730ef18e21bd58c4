"""Document 004, section 2: the admittance equations and their gains."""

from __future__ import annotations

from math import asin, cos, sin
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import arithmetic, corrected, decimals, printed, reference, remembered

FORCE, TORQUE = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, 1.0])
GAINS: dict[str, Any] = {"mass": (5.0,) * 6, "damping": (14.142,) * 6, "stiffness": (10.0,) * 6}


def pair() -> tuple[Array, Array]:
    """Two orientations whose axes are not parallel."""
    axes = np.array([1.0, 2.0, -0.5]), np.array([0.3, -1.0, 2.0])
    c, d = (axis / np.linalg.norm(axis) for axis in axes)
    return pp.spatial.quat_from_angle_axis(0.9, c), pp.spatial.quat_from_angle_axis(-0.7, d)


@remembered
def response(
    rotation: str = "quaternion", force: bool = True, seconds: float = 10.0, start: float = 5.0, base: bool = False
) -> Any:
    """The compliant frame under the document's force or torque from `start` on, dt = 1 ms."""
    law = pp.control.Admittance(**GAINS, rotation=rotation, moment_about="base" if base else "tool")  # type: ignore
    wrench = np.zeros((round(seconds * 1000), 6))
    wrench[round(start * 1000) :, : 3 if force else 6] = FORCE if force else np.concatenate([np.zeros(3), TORQUE])
    pose = pp.spatial.Pose([0.3, 0.2, 0.4], np.eye(3))
    return pp.control.admittance_response(law, wrench, 1e-3, pose)


def _claim_31(c: Claim) -> Evidence:
    motion = response()
    yield reference("Δp(10 s), sampled at 1 ms [m]", 0.0993109519, motion.displacement[-1, 0], 1e-9)
    exact = [0.099314599454, 0.198629198907, 0.297943798361]
    yield reference("Δp(10 s), exact [m]", exact, motion.displacement[-1], 2e-5)
    long = response(seconds=40.0, start=0.0).displacement[-1]
    yield printed("Δp at rest, f/K [m]", [0.1, 0.2, 0.3], long, 1e-9)


def _claim_32(c: Claim) -> Evidence:
    angles = response("quaternion", False, 60.0, 0.0).angles
    yield printed("turn at rest [rad]", asin(0.15) * np.array([2.0, 1, 2]) / 3, angles[-1], 1e-8)
    yield reference("turn after 5 s [rad]", 0.149441314198, np.linalg.norm(angles[5000]), 1e-4)


def _claim_33(c: Claim) -> Evidence:
    angles = response("euler", False, 60.0, 0.0).angles[-1]
    yield reference("Δφ at rest [rad]", [0.1, 0.059733549929, 0.100309991013], angles, 1e-9)
    T = pp.spatial.euler_rate_matrix(angles, "XYZ")
    yield printed("K Δφ [N·m]", T.T @ TORQUE, 10.0 * angles, 1e-7)


def _claim_delta_omega(c: Claim) -> Evidence:
    (c_, d), w_c, h = pair(), np.array([0.3, -0.8, 1.1]), 1e-6
    R_c, R_d = pp.spatial.matrix_from_quat(c_), pp.spatial.matrix_from_quat(d)
    for words, w_d in (("at rest", np.zeros(3)), ("turning", np.array([-0.5, 0.2, 0.4]))):

        def relative(t: float, w_d: Array = w_d) -> Array:
            rotation = pp.spatial.matrix_from_rotation_vector
            return (rotation(t * w_d) @ R_d).T @ rotation(t * w_c) @ R_c

        rate = (relative(h) - relative(-h)) / (2 * h) @ relative(0.0).T
        yield printed(f"S(Δω), desired frame {words} [1/s]", pp.spatial.skew(R_d.T @ (w_c - w_d)), rate, 1e-8)


def _claim_delta_phi(c: Claim) -> Evidence:
    phi_c, phi_d = (pp.spatial.euler_from_quat(q, "XYZ") for q in pair())
    back = pp.spatial.matrix_from_euler(phi_d + (phi_c - phi_d), "XYZ")
    yield printed("R_c from Δφ + φ_d", back, pp.spatial.matrix_from_quat(pair()[0]))


def _claim_epsilon(c: Claim) -> Evidence:
    multiply, conjugate = pp.spatial.quat_multiply, pp.spatial.quat_conjugate
    c_, d = pair()
    common = d[0] * c_[1:] - c_[0] * d[1:]
    cross = pp.spatial.skew(c_[1:]) @ d[1:]
    desired, base = multiply(conjugate(d), c_), multiply(c_, conjugate(d))
    yield arithmetic("printed form, against vec(q_c ⊗ q_d⁻¹), base frame", common - cross, base[1:])
    yield printed("ε_cd in the desired frame", common - cross, desired[1:])
    yield corrected("ε_cd in the desired frame", common + cross, desired[1:])
    back = multiply(d, np.concatenate([desired[:1], common + cross]))
    yield corrected("q_d ⊗ q_cd of (48)", c_, back)


def _claim_E(c: Claim) -> Evidence:
    q, omega = pair()[0], np.array([0.3, -0.8, 1.1])
    rate = pp.spatial.quat_rate_from_angular_velocity(q, omega)
    yield printed("ε̇ [1/s]", 0.5 * (q[0] * np.eye(3) - pp.spatial.skew(q[1:])) @ omega, rate[1:])


def _claim_Ko(c: Claim) -> Evidence:
    q, omega, K = pair()[0], np.array([0.3, -0.8, 1.1]), np.diag([10.0, 20, 30])
    E = q[0] * np.eye(3) - pp.spatial.skew(q[1:])
    rate = pp.spatial.quat_rate_from_angular_velocity(q, omega)[1:]
    yield printed("power [W]", omega @ (2 * E.T @ K @ q[1:]), 4 * q[1:] @ K @ rate)


def _claim_34(c: Claim) -> Evidence:
    phi, rotation = np.array([0.4, -0.6, 0.9]), pp.spatial.matrix_from_angle_axis
    steps = rotation(phi[0], [1, 0, 0]) @ rotation(phi[1], [0, 1, 0]) @ rotation(phi[2], [0, 0, 1])
    yield printed("R", steps, pp.spatial.matrix_from_euler(phi, "XYZ"))


def _claim_35(c: Claim) -> Evidence:
    phi, rates = np.array([0.4, -0.6, 0.9]), np.array([0.3, -0.5, 0.8])
    a, b = phi[:2]
    T = np.array([[1, 0, sin(b)], [0, cos(a), -cos(a) * sin(a)], [0, sin(a), cos(a) * cos(b)]])
    right = T.copy()
    right[1, 2] = -cos(b) * sin(a)
    rate_matrix = pp.spatial.euler_rate_matrix(phi, "XYZ")
    yield printed("T at φ = (0.4, −0.6, 0.9)", T, rate_matrix)
    yield corrected("T at φ = (0.4, −0.6, 0.9)", right, rate_matrix)
    yield arithmetic("ω_y as printed [rad/s]", -0.7474729334, (T @ rates)[1])
    yield corrected("ω_y [rad/s]", -0.7176511585, pp.spatial.angular_velocity_from_euler_rate(phi, rates, "XYZ")[1])


def _claim_36(c: Claim) -> Evidence:
    law = pp.control.Admittance(**GAINS)
    wrench = np.zeros((3000, 6))
    wrench[:1000, 0] = 1.0
    motion = pp.control.admittance_response(law, wrench, 1e-3)
    x, v = motion.displacement[1500:1502, 0], motion.speed[1500:1502, 0]
    yield printed("m ẍ + b ẋ + k x [N]", 0.0, 5 * (v[1] - v[0]) / 1e-3 + 14.142 * v[0] + 10 * x[0], 1e-2)


def _claim_37(c: Claim) -> Evidence:
    gains = pp.control.design.stiffness_from_force(1.0, 0.1, 5.0, ratio=0.3)
    k, b, m = float(gains.stiffness), float(gains.damping), 5.0
    yield printed("ζ", b / (2 * np.sqrt(k * m)), 0.3)
    poles, w = np.roots([m, b, k]), np.sqrt(k / m)
    yield printed("|pole| = ω_n [1/s]", w, np.abs(poles[0]))
    yield printed("real part = −ζ ω_n [1/s]", -0.3 * w, poles[0].real)


def _claim_38(c: Claim) -> Evidence:
    gains = pp.control.design.stiffness_from_force(1.0, 0.1, 5.0)
    yield printed("b² − 4 m k", 0.0, float(gains.damping) ** 2 - 4 * 5.0 * float(gains.stiffness))


def _claim_39(c: Claim) -> Evidence:
    yield printed("k [N/m]", 10.0, float(pp.control.design.stiffness_from_force(1.0, 0.1, 5.0).stiffness))


def _claim_40(c: Claim) -> Evidence:
    yield printed(
        "b [N·s/m]", np.sqrt(4 * 5.0 * 10.0), float(pp.control.design.stiffness_from_force(1, 0.1, 5).damping)
    )


def _claim_41_value(c: Claim) -> Evidence:
    yield printed("D [N·s/m]", 14.142, float(pp.control.design.stiffness_from_force(1, 0.1, 5).damping), decimals(3))
    yield reference("ζ", 0.999990409954, 14.142 / (2 * np.sqrt(50.0)), 1e-11)
    yield reference("imaginary part of the poles [1/s]", 0.0061935, abs(np.roots([5, 14.142, 10])[0].imag), 1e-6)
