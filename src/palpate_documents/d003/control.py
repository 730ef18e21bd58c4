"""Document 003: control in joint space and in task space."""

from __future__ import annotations

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import arithmetic, corrected, printed, reading, says
from palpate_documents.d003.examples import slope, spatial_arm, spatial_equations, state, ur5e
from palpate_documents.d003.kinematics import DOCUMENT

XYZ = np.eye(6)[:3]


def _claim_joint_impedance(c: Claim) -> Evidence:
    q, v, q_d = state(ur5e())
    tau = 50 * (q_d - q) - 5 * v + ur5e().gravity(q)
    a = ur5e().forward_dynamics(q, v, tau, losses=False)
    left = ur5e().mass_matrix(q) @ a + ur5e().bias(q, v) - ur5e().gravity(q)
    yield printed("M q̈ + b [N·m]", 50 * (q_d - q) - 5 * v, left)


def _claim_inverse_dynamics(c: Claim) -> Evidence:
    q, v, a = state(ur5e())
    tau = ur5e().mass_matrix(q) @ a + ur5e().bias(q, v)
    yield printed("q̈ [rad/s²]", a, ur5e().forward_dynamics(q, v, tau, losses=False))


def _claim_commanded(c: Claim) -> Evidence:
    q, v, e = state(ur5e())
    rate, k_p, k_d = np.zeros(6), 100.0, 20.0
    for words, a_d in (("target at rest", np.zeros(6)), ("target accelerating with 1 rad/s²", np.ones(6))):
        for form, feed in (("as printed", 0.0), ("with q̈_d", 1.0)):
            command = feed * a_d + k_p * e + k_d * (rate - v)
            a = ur5e().forward_dynamics(q, v, ur5e().inverse_dynamics(q, v, command, losses=False), losses=False)
            left = (a_d - a) + k_d * (rate - v) + k_p * e
            compare = corrected if feed else reading
            yield compare(f"{words}, {form}: ë + k_d ė + k_p e", np.zeros(6), left, 1e-7)


def _claim_task_acceleration(c: Claim) -> Evidence:
    q, v, a = state(ur5e())
    acceleration = slope(lambda at: ur5e().jacobian(at) @ v, q, v) + ur5e().jacobian(q) @ a
    yield printed("ẇ_e", ur5e().jacobian(q) @ a + ur5e().jacobian_drift(q, v), acceleration, 1e-6)


def _claim_task_motion(c: Claim) -> Evidence:
    q, v, tau = state(ur5e())
    J, drift = ur5e().jacobian(q), ur5e().jacobian_drift(q, v)
    text = J @ np.linalg.solve(ur5e().mass_matrix(q), tau - ur5e().bias(q, v)) + drift
    yield printed("ẇ_e", text, J @ ur5e().forward_dynamics(q, v, tau, losses=False) + drift)


def _claim_JtF(c: Claim) -> Evidence:
    q, _, _ = state(ur5e())
    F = np.array([3.0, -4, 5, 0.1, 0.2, -0.3])
    yield printed("τ [N·m]", ur5e().jacobian(q).T @ F, ur5e().generalised_force(q, F))


_TERMS = {
    "Lambda": lambda s: s["L"],
    "mu": lambda s: s["L"] @ s["J"] @ np.linalg.solve(s["M"], s["b"]) - s["L"] @ s["drift"],
    "p": lambda s: s["L"] @ s["J"] @ np.linalg.solve(s["M"], s["g"]),
}


def _task_terms() -> dict[str, np.ndarray]:
    q, v, _ = state(spatial_arm())
    robot = spatial_arm()
    J, M, g = XYZ @ robot.jacobian(q), robot.mass_matrix(q), robot.gravity(q)
    L = np.linalg.inv(J @ np.linalg.inv(M) @ J.T)
    return {"q": q, "v": v, "J": J, "M": M, "g": g, "b": robot.bias(q, v) - g, "L": L,
            "drift": XYZ @ robot.jacobian_drift(q, v)}  # fmt: skip


def _task_term(name: str) -> None:
    value = _TERMS[name]

    @DOCUMENT.check(name)
    def _term(c: Claim) -> Evidence:
        s = _task_terms()
        d = pp.derive(spatial_arm(), parameters="numbers", task=("x", "y", "z"))
        term = d.function(name)(s["q"], s["v"]) if name == "mu" else d.function(name)(s["q"])
        wanted = value(s)
        yield printed(name, wanted, np.reshape(term, wanted.shape), 1e-8)
        if name == "Lambda":
            yield printed("robot.task_inertia [kg]", wanted, spatial_arm().task_inertia(s["q"], directions=XYZ), 1e-8)


for _name in _TERMS:
    _task_term(_name)


def _claim_task_equation(c: Claim) -> Evidence:
    s, F = _task_terms(), np.array([3.0, -4, 5])
    a = s["J"] @ spatial_arm().forward_dynamics(s["q"], s["v"], s["J"].T @ F, losses=False) + s["drift"]
    left = s["L"] @ a + _TERMS["mu"](s) + _TERMS["p"](s)
    yield printed("F_e [N]", F, left, 1e-8)


def _claim_JdotF(c: Claim) -> Evidence:
    s, wanted = _task_terms(), np.array([0.5, -1.0, 2.0])
    F = s["L"] @ wanted + _TERMS["mu"](s) + _TERMS["p"](s)
    rate = slope(lambda at: XYZ @ spatial_arm().jacobian(at), s["q"], s["v"])

    def gives(J: np.ndarray) -> np.ndarray:
        return s["J"] @ spatial_arm().forward_dynamics(s["q"], s["v"], J.T @ F, losses=False) + s["drift"]

    yield printed("ẇ_e under J̇^T F, wanted (0.5, −1, 2) [m/s²]", wanted, gives(rate), 1e-6)
    yield corrected("ẇ_e under J^T F, wanted (0.5, −1, 2) [m/s²]", wanted, gives(s["J"]), 1e-8)
    d = spatial_equations()
    yield arithmetic(
        "J̇ by a difference and derived", slope(lambda at: d.function("J")(at)[:3], s["q"], s["v"]), rate, 1e-6
    )


def _claim_desired_acceleration(c: Claim) -> Evidence:
    k_p, k_d = 100.0, 20.0
    yield printed("real part of the slowest pole [1/s]", -k_d / 2, max(np.roots([1 + k_d, 0, k_p]).real))
    yield corrected("real part of the slowest pole [1/s]", -k_d / 2, max(np.roots([1, k_d, k_p]).real), 1e-6)
    arm = pp.load_robot("panda", joints="ideal")
    law = pp.control.OperationalSpace(frequency=10.0, damping_ratio=1.0)
    start = np.array([0.3, 0.2, -0.2, 0.1, 0.3, -0.2, 0.1])
    trace = pp.simulate(pp.Run(arm, law, clock=pp.world.Clock(duration=0.6, rate=1000), v_start=start))
    speed = np.linalg.norm(trace["v"], axis=1)
    yield says(
        "corrected", "the law with velocities brings a moving arm to rest", True, bool(speed[-1] < 0.1 * speed[0])
    )


def _claim_delta_phi(c: Claim) -> Evidence:
    R = pp.spatial.matrix_from_euler([0.5, -0.6, 0.8], "ZYX")
    R_d = pp.spatial.matrix_from_rotation_vector([0.1, 0.05, -0.08]) @ R
    axis = pp.spatial.rotation_vector_from_matrix(R_d @ R.T)
    step = pp.spatial.matrix_from_rotation_vector(1e-6 * axis) @ R  # turned along the error

    def euler(A: np.ndarray) -> np.ndarray:
        return pp.spatial.euler_from_matrix(A, "ZYX")[::-1]

    vectors = [pp.spatial.rotation_vector_from_matrix(R_d @ A.T) for A in (R, step)]
    yield reading(
        "rotation vector: its change along ω, per rad of error", -axis, (vectors[1] - vectors[0]) / 1e-6, 1e-6
    )
    angles = [euler(R_d) - euler(A) for A in (R, step)]
    yield reading("Euler angles: their change along ω", -axis, (angles[1] - angles[0]) / 1e-6, 1e-6)
