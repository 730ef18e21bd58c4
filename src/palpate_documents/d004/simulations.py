"""Document 004: implementation and simulations of the admittance controller (section 3)."""

from __future__ import annotations

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import arithmetic, corrected, printed, reading, reference, remembered, says
from palpate_documents.d004 import DOCUMENT
from palpate_documents.d004.admittance import FORCE, TORQUE, pair, response

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
