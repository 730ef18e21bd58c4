"""Document 004, sections 2 and 3: the admittance equations, their gains, implementation and simulations."""

from __future__ import annotations

from math import asin, cos, sin
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import arithmetic, corrected, decimals, printed, reading, reference, remembered, says
from palpate_documents.d004.arm import DOCUMENT

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


# -------------------------------- implementation and simulations


POSE = pp.spatial.Pose([0.3, 0.2, 0.4], np.eye(3))


def _claim_42(c: Claim) -> Evidence:
    X = pp.spatial.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_quat(pair()[0]))
    R, S = X.rotation, pp.spatial.skew(X.position)
    adjoint = pp.spatial.adjoint_wrench(X)
    yield printed("Ad", np.block([[R, np.zeros((3, 3))], [S @ R, R]]), adjoint)
    h, twist = np.arange(1.0, 7), np.array([0.5, -1, 2, 0.3, 0.7, -0.4])
    yield printed("power in both frames [W]", h @ twist, (adjoint @ h) @ (pp.spatial.adjoint_twist(X) @ twist))


def _claim_43(c: Claim) -> Evidence:
    X, p = pp.spatial.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_quat(pair()[0])), np.array([1.0, 2.0, 3.0])
    T = np.vstack([np.column_stack([X.rotation, X.position]), [0, 0, 0, 1]])
    yield printed("a point in the other frame [m]", (T @ [*p, 1.0])[:3], X.apply(p))


def _claim_44_size(c: Claim) -> Evidence:
    h = pp.spatial.adjoint_wrench(POSE.inverse()) @ np.concatenate([FORCE, np.zeros(3)])
    yield printed("entries of both sides", 3, len(h))
    yield corrected("entries of the lower half", 3, len(h[3:]))


def _plot_44() -> Trajectories:
    """The turn during the phase of pure force, with (44) taken literally and with the torque at the tool."""
    t = response().time
    curves = [
        (label, t[::50].tolist(), np.linalg.norm(response(base=base).angles[::50], axis=1).tolist())
        for label, base in (("(44) with the tool's torque", True), ("torque turned only", False))
    ]
    return Trajectories("Turn of the compliant frame while f = (1, 2, 3) N acts", "t [s]", "turn [rad]", tuple(curves))


def _claim_44(c: Claim) -> Evidence:
    h = np.concatenate([FORCE, np.zeros(3)])
    at_base = np.concatenate([FORCE, np.cross(POSE.position, FORCE)])  # the same force, moment about the base
    ad = pp.spatial.adjoint_wrench(POSE.inverse())
    yield reading("μ^d of a pure force at the tool, μ⁰ about the base [N·m]", [0, 0, 0], (ad @ at_base)[3:])
    yield reading("μ^d of a pure force at the tool, μ⁰ at the tool [N·m]", [0, 0, 0], (ad @ h)[3:])
    yield arithmetic("the spurious moment [N·m]", [0.2, 0.5, -0.4], (ad @ h)[3:])
    yield corrected("turned only [N·m]", [0, 0, 0], pp.spatial.rotate_axes(POSE.rotation.T, h)[3:])
    twisted = np.linalg.norm(response(base=True, seconds=60.0, start=0.0).angles[-1])
    yield arithmetic("the turn it leads to, asin(|μ|/K) [rad]", 0.067132453, twisted, 1e-8)
    yield corrected("turn at 10 s with the torque at the tool [rad]", 0.0, np.linalg.norm(response().angles[-1]))


def _claim_45(c: Claim) -> Evidence:
    q, r = pp.spatial.quat_from_angle_axis(0.9, [0.6, 0, 0.8]), np.array([0.6, 0, 0.8])
    yield printed("(η, ε)", [np.cos(0.45), *np.sin(0.45) * r], q)
    yield printed("norm", 1.0, q @ q)


def _claim_46(c: Claim) -> Evidence:
    q, omega, dt = pair()[0], np.array([0.3, -0.8, 1.1]), 0.05
    step = pp.spatial.quat_from_rotation_vector(dt * omega)
    R = pp.spatial.matrix_from_rotation_vector(dt * omega) @ pp.spatial.matrix_from_quat(q)
    yield printed("R after the step", R, pp.spatial.matrix_from_quat(pp.spatial.quat_multiply(step, q)))
    right = pp.spatial.matrix_from_quat(pp.spatial.quat_multiply(q, step))
    yield says("printed", "from the right it would differ", True, bool(np.abs(right - R).max() > 1e-3))


def _claim_47(c: Claim) -> Evidence:
    r = np.array([0.2, -0.3, 0.6])
    n = np.linalg.norm(r)
    yield printed("exp{r}", [np.cos(n), *(np.sin(n) / n * r)], pp.spatial.quat_from_rotation_vector(2 * r))
    yield printed("at r = 0", [1, 0, 0, 0], pp.spatial.quat_from_rotation_vector(np.zeros(3)))


def _claim_48(c: Claim) -> Evidence:
    c_, d = pair()
    q = pp.spatial.quat_multiply(pp.spatial.quat_conjugate(d), c_)
    yield printed("q_c", c_, pp.spatial.quat_multiply(d, q))
    R = pp.spatial.matrix_from_quat(d) @ pp.spatial.matrix_from_quat(q)
    yield printed("R_c", R, pp.spatial.matrix_from_quat(c_))


def _claim_49(c: Claim) -> Evidence:
    motion = response()
    steps = motion.displacement[5001:5100] - motion.displacement[5000:5099]
    yield printed(
        "Δp(t+dt) − Δp(t) − dt Δṗ(t+dt) [m]", np.zeros_like(steps), steps - 1e-3 * motion.speed[5001:5100], 1e-15
    )
    yield reference("Δp_x(10 s) [m]", 0.0993109519, motion.displacement[-1, 0], 1e-9)


def _claim_50(c: Claim) -> Evidence:
    law = pp.control.Admittance(mass=(5,) * 6, damping=(14.142,) * 6, stiffness=(10,) * 6, rotation="euler")
    desired = np.array([0.2, -0.3, 0.4])
    wrench = np.zeros((2000, 6))
    wrench[:, 3:] = TORQUE
    pose = pp.spatial.Pose(np.zeros(3), pp.spatial.matrix_from_euler(desired, "XYZ"))
    motion = pp.control.admittance_response(law, wrench, 1e-3, pose)
    wanted = pp.spatial.matrix_from_euler(desired + motion.angles[-1], "XYZ")
    yield printed("R_c", wanted, pp.spatial.matrix_from_quat(motion.quat_wxyz[-1]))


def _claim_3_wrench(c: Claim) -> Evidence:
    scenario = pp.load_scenario("ur5e-admittance")
    force, torque = scenario.world.pushes
    yield printed("force [N], start, duration [s]", [1, 2, 3, 5, 5], [*force.force, force.start, force.duration])
    yield printed(
        "torque [N·m], start, duration [s]", [1, 0.5, 1, 15, 5], [*torque.torque, torque.start, torque.duration]
    )
    yield printed("end [s]", 25, scenario.run.duration)


SCENARIOS = {
    "3": "ur5e-admittance-translation",
    "4": "ur5e-admittance-euler",
    "5": "ur5e-admittance-quaternion",
}


@remembered
def motion_run(name: str) -> pp.Trace:
    """A run of section 3 along the point-to-point motion, a sample every 20 steps."""
    return pp.simulate(pp.load_scenario(name, ["record.stride=20"]))


def off_motion(trace: pp.Trace) -> tuple[np.ndarray, np.ndarray]:
    """How far the compliant frame is from the desired one: distance (m) and angle (rad)."""
    distance = np.linalg.norm(trace["law.compliant_position"] - trace["target_position"], axis=1)
    inner = np.abs(np.sum(trace["law.compliant_quat_wxyz"] * trace["target_quat_wxyz"], axis=1))
    return distance, 2 * np.arccos(np.clip(inner, 0, 1))


def _figure(c: Claim) -> Evidence:
    number = c.id.partition("-")[2]
    trace = motion_run(SCENARIOS[number])
    deviation = off_motion(trace)[0 if number == "3" else 1]
    pushed, after, still = (9.98, 15.0, 19.98) if number == "3" else (19.98, 25.0, 9.98)
    at = [int(np.argmin(np.abs(trace.time - t))) for t in (pushed, after, still)]
    yield says("reference", "displaced while it acts", True, bool(deviation[at[0]] > 0.1))
    yield says("reference", "back within 1 % after 5 s", True, bool(deviation[at[1]] < 0.01 * deviation[at[0]]))
    yield reference("not moved by the other half of the wrench", 0.0, deviation[at[2]], 0.01 * deviation[at[0]])


for _number in SCENARIOS:
    DOCUMENT.check(f"figure-{_number}")(_figure)
