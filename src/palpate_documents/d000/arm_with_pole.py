"""Document 000, section 2: the whole system, and the state of section 1."""

from __future__ import annotations

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import (
    arithmetic,
    corrected,
    printed,
    reading,
    reference,
    says,
)
from palpate_documents.d000.pole import FORCE, RATES, XY, arm, equations, model, raised, terms

UP = np.array([0.0, 0.0, 9.81])
ALPHA = np.array([0.3, -0.2, 0.1])


def state() -> tuple[Array, Array]:
    """A posture of the arm away from singular ones, and a velocity."""
    return np.array([0.0, -0.8, 0.0, -1.9, 0.0, -1.1, 0.0]), np.array([0.2, -0.1, 0.3, 0.1, -0.2, 0.15, 0.1])


def arm_terms() -> tuple[Array, Array, Array, Array]:
    """J, M, C q̇ and ∂V/∂q of the arm."""
    q, v = state()
    g = arm().gravity(q)
    return arm().jacobian(q), arm().mass_matrix(q), arm().bias(q, v) - g, g


def joint_accelerations() -> Array:
    """Joint accelerations that give the tool (a_A, α): the shortest."""
    q, v = state()
    target = np.concatenate([terms()[0], ALPHA])
    return np.linalg.pinv(arm().jacobian(q)) @ (target - arm().jacobian_drift(q, v))


def tool_acceleration(torque: Array) -> Array:
    """The tool's acceleration under torques, with the pole pushing back with −f_B."""
    q, v = state()
    push = np.concatenate([-terms()[2], np.zeros(3)])
    a = arm().forward_dynamics(q, v, torque, wrench=push, losses=False)
    return arm().jacobian(q) @ a + arm().jacobian_drift(q, v)


def _claim_13(c: Claim) -> Evidence:
    (a_A, a_B, f_B), (r, rate) = terms(), raised(XY, RATES)
    yield printed("f_B [N]", 0.1 * (a_B + UP), f_B)
    yield reference("f_B [N]", [0.138517404875, -0.184689873167, 0.399865304960], f_B)
    a_AB = a_B - a_A
    yield printed("z̈_AB [m/s²]", -(rate @ rate + XY @ a_AB[:2]) / r[2], a_AB[2])


def _claim_no_moment(c: Claim) -> Evidence:
    yield printed("f_B × r_AB [N·m]", np.zeros(3), np.cross(terms()[2], raised(XY, RATES)[0]))


def _claim_third_law(c: Claim) -> Evidence:
    a_A, _, f_B = terms()
    yield printed("f − f_B [N]", 1.0 * (a_A + UP), FORCE - f_B)


def _claim_14(c: Claim) -> Evidence:
    J, M, moving, g = arm_terms()
    a, push = joint_accelerations(), J[:3].T @ terms()[2]
    target = np.concatenate([terms()[0], ALPHA])
    yield reading("g = −∂V/∂q: tool's acceleration", target, tool_acceleration(M @ a + moving - (-g) + push), 1e-8)
    yield reading("g = +∂V/∂q: tool's acceleration", target, tool_acceleration(M @ a + moving - g + push), 1e-8)
    yield corrected(
        "∂V/∂q on the left: tool's acceleration", target, tool_acceleration(M @ a + moving + g + push), 1e-8
    )


def _claim_14_sign(c: Claim) -> Evidence:
    q, _ = state()
    f_B = terms()[2]
    yield printed("torque [N·m]", -arm().jacobian(q)[:3].T @ f_B, arm().generalised_force(q, [*-f_B, 0, 0, 0]))


def _claim_15(c: Claim) -> Evidence:
    (q, v), h, a = state(), 1e-6, joint_accelerations()

    def speed(t: float) -> Array:
        return arm().jacobian(q + v * t + a * t * t / 2) @ (v + a * t)

    yield printed("acceleration of the tool", [*terms()[0], *ALPHA], (speed(h) - speed(-h)) / (2 * h), 1e-6)


def _claim_zero_acceleration(c: Claim) -> Evidence:
    J, M, moving, g = arm_terms()
    q, v = state()
    push, drift = J[:3].T @ terms()[2], arm().jacobian_drift(q, v)
    for compare, target in ((printed, np.zeros(6)), (corrected, np.concatenate([terms()[0], np.zeros(3)]))):
        a = np.linalg.pinv(J) @ (target - drift)
        acceleration = tool_acceleration(M @ a + moving + g + push)
        yield compare("linear acceleration wanted by the pole [m/s²]", terms()[0], acceleration[:3], 1e-8)


def _claim_level(c: Claim) -> Evidence:
    q, v = np.array(state()[0]), np.zeros(7)
    level, dt, k = arm().pose(q).rotation, 1e-3, 5.0
    q[5] += 0.2  # tilted by 0.2 rad
    tilts = []
    for _ in range(1000):
        J, error = arm().jacobian(q), pp.spatial.rotation_vector_from_matrix(level @ arm().pose(q).rotation.T)
        wanted = np.concatenate([np.zeros(3), k * k * error - 2 * k * (J @ v)[3:]])
        v = v + dt * np.linalg.pinv(J) @ (wanted - arm().jacobian_drift(q, v))
        q, tilts = q + dt * v, [*tilts, float(np.linalg.norm(error))]
    times = dt * np.arange(1000)
    yield printed("tilt over 1 s, (1 + k t) e^(−k t) of the first [rad]", 0.2 * (1 + k * times) * np.exp(-k * times),
                  tilts, 2e-3)  # fmt: skip


def _claim_drift(c: Claim) -> Evidence:
    q, v = state()
    J = arm().jacobian(q)
    a = np.linalg.pinv(J) @ (np.concatenate([terms()[0], np.zeros(3)]) - arm().jacobian_drift(q, v))
    h = 1e-4
    later = arm().jacobian(q + v * h + a * h * h / 2) @ (v + a * h)
    yield printed("ω 0.1 ms later [rad/s]", (J @ v)[3:], later[3:], 1e-6)
    yield says("printed", "it is not zero", True, bool(np.abs(later[3:]).max() > 1e-3))


def _claim_unknowns(c: Claim) -> Evidence:
    J, M, *_ = arm_terms()
    system = np.block([[M, -np.eye(7)], [J, np.zeros((6, 7))]])
    yield printed("unknowns − rank", 1, system.shape[1] - np.linalg.matrix_rank(system))


def _claim_least_torque(c: Claim) -> Evidence:
    J, M, moving, g = arm_terms()
    q, v = state()
    target = np.concatenate([terms()[0], ALPHA]) - arm().jacobian_drift(q, v)
    bias = moving + g + J[:3].T @ terms()[2]
    W = J @ np.linalg.inv(M)  # J M⁻¹ (τ − rest) = target
    tau = np.linalg.pinv(W) @ (target + W @ bias)
    KKT = np.block([[np.eye(7), W.T], [W, np.zeros((6, 6))]])
    by_kkt = np.linalg.solve(KKT, np.concatenate([np.zeros(7), target + W @ bias]))[:7]
    yield printed("τ [N·m]", tau, by_kkt, 1e-7)
    yield printed("tool's acceleration", [*terms()[0], *ALPHA], tool_acceleration(tau), 1e-7)


def _claim_state(c: Claim) -> Evidence:
    A, B = model().linear_axis(False)
    rank = np.linalg.matrix_rank(np.column_stack([np.linalg.matrix_power(A, k) @ B for k in range(3)]))
    yield reading("states of one axis that can be controlled, of 3", 3, rank)
    A4, B4 = model().linear_axis(True)
    K = model().gains(hold_position=False)
    closed = np.linalg.eigvals(A4 - B4 @ np.concatenate([[0], K])[None])
    yield reading(
        "slowest eigenvalue that holds a place [1/s], must be below 0", 1.0, float(max(closed.real) < -1e-6), 0.5
    )
    yield corrected("K of (v, x_AB, ẋ_AB), unit weights", [-1, -27.693529808075, -8.575424715232], K, 1e-8)
    held = np.linalg.eigvals(A4 - B4 @ model().gains()[None])
    yield says(
        "corrected", "with positions among the states every eigenvalue is left of zero", True, bool(max(held.real) < 0)
    )


def _claim_upright(c: Claim) -> Evidence:
    eigenvalues = np.sort(np.real(equations().linearise([0] * 5).eigenvalues()))
    yield reference("largest two [1/s]", [3.284965753246] * 2, eigenvalues[-2:], 1e-9)
    yield printed("√((m_e + m_s) g / (m_e l)) [1/s]", np.sqrt(1.1 * 9.81), eigenvalues[-1], 1e-9)
    A, _ = model().linear_axis(False)
    yield arithmetic("the library's pole [1/s]", eigenvalues[-1], max(np.linalg.eigvals(A).real), 1e-9)
