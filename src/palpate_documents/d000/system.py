"""Document 000, section 2: the whole system, and the state of section 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from palpate.checks import Array
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import arithmetic, corrected, printed, reading, says
from palpate_documents.d000.about import DOCUMENT, FORCE, RATES, XY, arm, equations, model, raised

Evidence = Iterator[Comparison]
UP = np.array([0.0, 0.0, 9.81])
ALPHA = np.array([0.3, -0.2, 0.1])


def state() -> tuple[Array, Array]:
    """A posture of the arm away from singular ones, and a velocity."""
    return np.array([0.0, -0.8, 0.0, -1.9, 0.0, -1.1, 0.0]), np.array([0.2, -0.1, 0.3, 0.1, -0.2, 0.15, 0.1])


def terms() -> tuple[Array, Array, Array]:
    """a_A, a_B and f_B of the pole at the test state."""
    return model().accelerations(*raised(XY, RATES), FORCE)


def commanded() -> tuple[Array, Array, Array, Array]:
    """J, M, C q̇ and ∂V/∂q of the arm."""
    q, v = state()
    g = arm().gravity(q)
    return arm().jacobian(q), arm().mass_matrix(q), arm().bias(q, v) - g, g


def wanted() -> Array:
    """Joint accelerations that give the tool (a_A, α): the shortest."""
    q, v = state()
    target = np.concatenate([terms()[0], ALPHA])
    return np.linalg.pinv(arm().jacobian(q)) @ (target - arm().jacobian_drift(q, v))


def achieved(torque: Array) -> Array:
    """The tool's acceleration under torques, with the pole pushing back with −f_B."""
    q, v = state()
    push = np.concatenate([-terms()[2], np.zeros(3)])
    a = arm().forward_dynamics(q, v, torque, wrench=push, losses=False)
    return arm().jacobian(q) @ a + arm().jacobian_drift(q, v)


@DOCUMENT.claim(
    "13", "(13)", r"f_B = m_s (\ddot{x}_B, \ddot{y}_B, \ddot{z}_B + g)", how="PoleModel.accelerations", rows="10"
)
def _force_on_pole(c: Claim) -> Evidence:
    """Right for a massless pole and a hinge without friction. It needs z̈_AB = −(ẋ² + ẏ² + ż² + xẍ + yÿ)/z with
    ż = −(xẋ + yẏ)/z, which no equation of the document gives."""
    (a_A, a_B, f_B), (r, rate) = terms(), raised(XY, RATES)
    yield printed("f_B [N]", 0.1 * (a_B + UP), f_B)
    yield printed("f_B [N]", [0.138517404875, -0.184689873167, 0.399865304960], f_B)
    a_AB = a_B - a_A
    yield printed("z̈_AB [m/s²]", -(rate @ rate + XY @ a_AB[:2]) / r[2], a_AB[2])


@DOCUMENT.claim("no-moment", "above (13)", r"f_B \times r_{AB} = 0", how="PoleModel.accelerations", rows="10")
def _no_moment(c: Claim) -> Evidence:
    """The force acts along the pole."""
    yield printed("f_B × r_AB [N·m]", np.zeros(3), np.cross(terms()[2], raised(XY, RATES)[0]))


@DOCUMENT.claim("third-law", "below (13)", r"f - f_B = m_e (a_A + g e_z)", how="PoleModel.accelerations", rows="10")
def _third_law(c: Claim) -> Evidence:
    """−f_B acts on the end-effector. With (7) as printed this balance does not close."""
    a_A, _, f_B = terms()
    yield printed("f − f_B [N]", 1.0 * (a_A + UP), FORCE - f_B)


@DOCUMENT.claim(
    "14", "(14)", r"M_{iiwa}\ddot{q}_{iiwa} + C = g(q_{iiwa}) + \tau - ({}^W J^P)^T f_B", "ambiguous",
    how="robot.forward_dynamics of the iiwa 14 under the torques of both readings", rows="11",
    corrected=r"M\ddot{q} + C(q,\dot{q})\dot{q} + \frac{\partial V}{\partial q} = \tau - ({}^W J^P)^T f_B",
)  # fmt: skip
def _manipulator(c: Claim) -> Evidence:
    """Right if g(q) is the torque of gravity, −∂V/∂q. With the textbooks' g = ∂V/∂q it belongs to the other side: the
    arm would fall. C means C(q, q̇) q̇, J^P the three rows of the translation."""
    J, M, moving, g = commanded()
    a, push = wanted(), J[:3].T @ terms()[2]
    target = np.concatenate([terms()[0], ALPHA])
    yield reading("g = −∂V/∂q: tool's acceleration", target, achieved(M @ a + moving - (-g) + push), 1e-8)
    yield reading("g = +∂V/∂q: tool's acceleration", target, achieved(M @ a + moving - g + push), 1e-8)
    yield corrected("∂V/∂q on the left: tool's acceleration", target, achieved(M @ a + moving + g + push), 1e-8)


@DOCUMENT.claim(
    "14-sign", "(14), last term", r"- ({}^W J^P)^T f_B", how="robot.generalised_force of −f_B at the tool", rows="11"
)
def _reaction(c: Claim) -> Evidence:
    """The pole pushes back with −f_B."""
    q, _ = state()
    f_B = terms()[2]
    yield printed("torque [N·m]", -arm().jacobian(q)[:3].T @ f_B, arm().generalised_force(q, [*-f_B, 0, 0, 0]))


@DOCUMENT.claim(
    "15",
    "(15)",
    r"{}^W J^E \ddot{q} + {}^W \dot{J}^E \dot{q} = {}^W"
    r" a_{des}^E",
    how="robot.jacobian, jacobian_drift",
    rows="12",
)
def _tool_acceleration(c: Claim) -> Evidence:
    """Six equations, linear and angular."""
    (q, v), h, a = state(), 1e-6, wanted()

    def speed(t: float) -> Array:
        return arm().jacobian(q + v * t + a * t * t / 2) @ (v + a * t)

    yield printed("acceleration of the tool", [*terms()[0], *ALPHA], (speed(h) - speed(-h)) / (2 * h), 1e-6)


@DOCUMENT.claim(
    "zero-acceleration", "list below (15)", r"\text{set the desired end-effector acceleration to be zero}", "typo",
    how="(15) with a_des = 0 and with its angular part"
        " 0", corrected=r"\text{set the desired angular acceleration to be zero}",
    rows="13",
)  # fmt: skip
def _angular_only(c: Claim) -> Evidence:
    """The linear part is what balances the pole; only the angular part is free."""
    J, M, moving, g = commanded()
    q, v = state()
    push, drift = J[:3].T @ terms()[2], arm().jacobian_drift(q, v)
    for compare, target in ((printed, np.zeros(6)), (corrected, np.concatenate([terms()[0], np.zeros(3)]))):
        a = np.linalg.pinv(J) @ (target - drift)
        found = achieved(M @ a + moving + g + push)
        yield compare("linear acceleration wanted by the pole [m/s²]", terms()[0], found[:3], 1e-8)


@DOCUMENT.claim(
    "drift", "list below (15)", r"\alpha = 0, \; \omega \neq 0 \Rightarrow \text{the orientation drifts}",
    how="(15) with α = 0: the tool's angular velocity afterwards", rows="13",
)  # fmt: skip
def _drift(c: Claim) -> Evidence:
    """Without a PD law the angular velocity stays as it is."""
    q, v = state()
    J = arm().jacobian(q)
    a = np.linalg.pinv(J) @ (np.concatenate([terms()[0], np.zeros(3)]) - arm().jacobian_drift(q, v))
    h = 1e-4
    later = arm().jacobian(q + v * h + a * h * h / 2) @ (v + a * h)
    yield printed("ω 0.1 ms later [rad/s]", (J @ v)[3:], later[3:], 1e-6)
    yield says("printed", "it is not zero", True, bool(np.abs(later[3:]).max() > 1e-3))


@DOCUMENT.claim(
    "unknowns", "last paragraph", r"\tau \in R^7, \; \text{the problem is under-constrained}",
    how="rank of (14) and (15) in (q̈, τ)", rows="14",
)  # fmt: skip
def _unknowns(c: Claim) -> Evidence:
    """Counted with the accelerations: 14 unknowns, 13 equations, one direction left, the self-motion of the elbow."""
    J, M, *_ = commanded()
    system = np.block([[M, -np.eye(7)], [J, np.zeros((6, 7))]])
    yield printed("unknowns − rank", 1, system.shape[1] - np.linalg.matrix_rank(system))


@DOCUMENT.claim(
    "least-torque", "last paragraph", r"\min \tau^T \tau \; \text{has a unique solution in closed form}",
    how="the KKT system of the torques", rows="14",
)  # fmt: skip
def _least_torque(c: Claim) -> Evidence:
    """Unique, and in closed form. What is not said: it leaves the self-motion undamped; from 1° of tilt the elbow
    swings to its stops within 2 s (see the law pole-balance, self_motion = "free", avoid_stops = false)."""
    J, M, moving, g = commanded()
    q, v = state()
    target = np.concatenate([terms()[0], ALPHA]) - arm().jacobian_drift(q, v)
    rest = moving + g + J[:3].T @ terms()[2]
    W = J @ np.linalg.inv(M)  # J M⁻¹ (τ − rest) = target
    tau = np.linalg.pinv(W) @ (target + W @ rest)
    KKT = np.block([[np.eye(7), W.T], [W, np.zeros((6, 6))]])
    by_kkt = np.linalg.solve(KKT, np.concatenate([np.zeros(7), target + W @ rest]))[:7]
    yield printed("τ [N·m]", tau, by_kkt, 1e-7)
    yield printed("tool's acceleration", [*terms()[0], *ALPHA], achieved(tau), 1e-7)


@DOCUMENT.claim(
    "state", "section 1, state",
    r"(\dot{x}_A, \dot{y}_A, \dot{z}_A, x_{AB}, y_{AB}, \dot{x}_{AB}, \dot{y}_{AB})", "ambiguous",
    how="PoleModel.linear_axis: controllability; gains of 7 states in 10", rows="15",
    corrected=r"(x_A, y_A, z_A, \dot{x}_A, \dot{y}_A, \dot{z}_A, x_{AB}, y_{AB}, \dot{x}_{AB}, \dot{y}_{AB})",
)  # fmt: skip
def _seven_states(c: Claim) -> Evidence:
    """A model of seven states can be controlled, but not hold a place: x_A, y_A, z_A are not among them. Under their
    LQR the whole system keeps three eigenvalues at zero."""
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


@DOCUMENT.claim(
    "upright", "section 1, about the upright", r"\lambda = \pm \sqrt{\frac{(m_e + m_s) g}{m_e l}}",
    how="Derivation.linearise(upright).eigenvalues", rows="15",
)  # fmt: skip
def _upright(c: Claim) -> Evidence:
    """What the document's equations give about the upright pole: it falls with 3.285 1/s."""
    found = np.sort(np.real(equations().linearise([0] * 5).eigenvalues()))
    yield printed("largest two [1/s]", [3.284965753246] * 2, found[-2:], 1e-9)
    yield printed("√((m_e + m_s) g / (m_e l)) [1/s]", np.sqrt(1.1 * 9.81), found[-1], 1e-9)
    A, _ = model().linear_axis(False)
    yield arithmetic("the library's pole [1/s]", found[-1], max(np.linalg.eigvals(A).real), 1e-9)
