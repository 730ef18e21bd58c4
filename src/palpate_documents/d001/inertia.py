"""Document 001, exercise 2: the Cartesian inertia."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import both, corrected, formula, printed, remembered, says, to
from palpate_documents.d001.about import DOCUMENT, RATES, XY, rods

Evidence = Iterator[Comparison]
POSTURE = np.array([pi / 2, pi / 2, 0.0])
STATE = np.array([0.3, -0.7, 1.1]), np.array([0.5, -1.2, 0.8])


@remembered
def arm() -> pp.Robot:
    """Exercise 2: L = 0.5 m, m = 5 kg, horizontal."""
    return pp.load_robot("planar3", length=0.5, mass=5.0)


@remembered
def heavy() -> pp.Robot:
    """The same under gravity, so that g(q) is not zero."""
    return pp.load_robot("planar3", length=0.5, mass=5.0, gravity=9.81)


@remembered
def heavy_equations() -> pp.Derivation:
    """Its equations, task space x and y."""
    return pp.derive(heavy(), parameters="numbers", task=("x", "y"))


def link_energy(number: int) -> Any:
    """½ q̇ᵀ (m J_Pᵀ J_P + J_Oᵀ I J_O) q̇ of one link, from the derivation's own Jacobians and tensor."""
    d, v = rods(), sp.Matrix(sp.symbols("dq1:4"))
    linear, turning = d[f"J_P{number}"] * v, d[f"J_O{number}"] * v
    return (sp.Symbol("m") * linear.dot(linear) + turning.dot(d[f"I_{number}"] * turning)) / 2


def parts() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """J, M, c, g, J̇q̇ of the arm under gravity at a state."""
    q, v = STATE
    robot = heavy()
    g = robot.gravity(q)
    return XY @ robot.jacobian(q), robot.mass_matrix(q), robot.bias(q, v) - g, g, XY @ robot.jacobian_drift(q, v)


@DOCUMENT.claim(
    "8", "(8)", r"M_p(q) = (J(q) M^{-1}(q) J^T(q))^{-1}", how="robot.task_inertia(directions=x, y)", rows="20"
)
def _task_inertia(c: Claim) -> Evidence:
    """Also for a redundant arm, as long as J has full rank."""
    J, M, *_ = parts()
    found = heavy().task_inertia(STATE[0], directions=XY)
    yield printed("M_p [kg]", np.linalg.inv(J @ np.linalg.inv(M) @ J.T), found)


@DOCUMENT.claim(
    "9", "(9)", r"M(q)\ddot{q} + c(q,\dot{q}) + g(q) = \tau", how="robot.inverse_dynamics, forward_dynamics", rows="20"
)
def _equation_of_motion(c: Claim) -> Evidence:
    """The two directions of the robot's dynamics."""
    (q, v), a = STATE, np.array([1.0, -2.0, 0.5])
    _, M, bias, g, _ = parts()
    yield printed("τ [N·m]", M @ a + bias + g, heavy().inverse_dynamics(q, v, a))
    yield printed("q̈ [rad/s²]", a, heavy().forward_dynamics(q, v, M @ a + bias + g))


@DOCUMENT.claim(
    "10", "(10)", r"\ddot{p} = J(q)\ddot{q} + \dot{J}(q)\dot{q}", how="difference of J q̇ along the motion", rows="20"
)
def _accelerations(c: Claim) -> Evidence:
    """As (1)."""
    (q, v), a, h = STATE, np.array([1.0, -2.0, 0.5]), 1e-5
    J, *_, drift = parts()

    def speed(t: float) -> np.ndarray:
        return XY @ heavy().jacobian(q + v * t + a * t * t / 2) @ (v + a * t)

    yield printed("p̈ [m/s²]", J @ a + drift, (speed(h) - speed(-h)) / (2 * h), 1e-7)


@DOCUMENT.claim(
    "virtual-work", "below (10)", r"\tau = J^T(q) F", how="contact.torque_from_tip_force: power at tip and joints",
    rows="20",
)  # fmt: skip
def _transpose(c: Claim) -> Evidence:
    """From F·ṗ = τ·q̇."""
    q, v = STATE
    F = np.array([3.0, -4.0])
    torque = pp.contact.torque_from_tip_force(heavy(), q, F, directions=XY)
    yield printed("τ [N·m]", parts()[0].T @ F, torque)
    yield printed("power [W]", F @ parts()[0] @ v, torque @ v)


@DOCUMENT.claim(
    "expansion", "before (11)",
    r"\ddot{p} = J M^{-1} (J^T F - c - g) + \dot{J} F - J M^{-1} (c + \dot{J} \ldots)", "typo",
    how="robot.forward_dynamics with a tip force",
    corrected=r"\ddot{p} = J M^{-1} J^T F - J M^{-1} (c + g) + \dot{J} \dot{q}", rows="21",
)  # fmt: skip
def _expanded(c: Claim) -> Evidence:
    """The two lines have run into each other; what is meant is the sum of three terms. As it stands J̇ is applied to F,
    whose length does not even fit (2 against 3)."""
    (q, v), F = STATE, np.array([3.0, -4.0])
    J, M, bias, g, drift = parts()
    W = np.linalg.inv(M)
    found = J @ heavy().forward_dynamics(q, v, J.T @ F) + drift
    yield says("printed", "J̇ F can be formed", True, J.shape[1] == len(F))
    yield corrected("p̈ [m/s²]", J @ W @ J.T @ F - J @ W @ (bias + g) + drift, found)


@DOCUMENT.claim(
    "11", "(11)", r"M_p(q)\ddot{p} + c_p(q,\dot{q}) + g_p(q) = F", how='derive(...)["Lambda"], ["mu"], ["p"]', rows="20"
)
def _task_dynamics(c: Claim) -> Evidence:
    """Residual of the task-space equation along the robot's own acceleration."""
    (q, v), F = STATE, np.array([3.0, -4.0])
    J, *_, drift = parts()
    a = J @ heavy().forward_dynamics(q, v, J.T @ F) + drift
    d = heavy_equations()
    left = d.function("Lambda")(q) @ a + np.ravel(d.function("mu")(q, v)) + np.ravel(d.function("p")(q))
    yield printed("M_p p̈ + c_p + g_p [N]", F, left, 1e-9)


@DOCUMENT.claim(
    "c_p", "below (11)", r"c_p = M_p (J M^{-1} c - \dot{J}\dot{q} (q) + M_p J M^{-1} c - \dot{J}\dot{q})", "typo",
    how='derive(...)["mu"]', corrected=r"c_p(q,\dot{q}) = M_p(q) (J(q) M^{-1}(q) c(q,\dot{q}) - \dot{J}(q)\dot{q})",
    rows="21",
)  # fmt: skip
def _task_coriolis(c: Claim) -> Evidence:
    """c_p and g_p have run into one line, and parts of it stand there twice."""
    J, M, bias, _, drift = parts()
    Mp = heavy().task_inertia(STATE[0], directions=XY)
    found = np.ravel(heavy_equations().function("mu")(*STATE))
    inner = J @ np.linalg.solve(M, bias) - drift
    yield printed("c_p [N]", Mp @ (inner + Mp @ J @ np.linalg.solve(M, bias) - drift), found)
    yield corrected("c_p [N]", Mp @ inner, found)


@DOCUMENT.claim(
    "g_p", "below (11)", r"g_p(q) = M_p(q) J(q) M^{-1}(q) c(q,\dot{q}) + J(q) J(q) M^{-1}(q) g(q)", "typo",
    how='derive(...)["p"]', corrected=r"g_p(q) = M_p(q) J(q) M^{-1}(q) g(q)", rows="21",
)  # fmt: skip
def _task_gravity(c: Claim) -> Evidence:
    """As c_p: J J cannot be formed, J being 2×3."""
    J, M, _, g, _ = parts()
    found = np.ravel(heavy_equations().function("p")(STATE[0]))
    yield says("printed", "J J can be formed", True, J.shape[0] == J.shape[1])
    yield corrected("g_p [N]", heavy().task_inertia(STATE[0], directions=XY) @ J @ np.linalg.solve(M, g), found)


def _square() -> dict[str, np.ndarray]:
    """Terms of a square, regular case: the planar 2R arm."""
    robot, q, v = pp.load_robot("planar2"), np.array([0.4, 0.9]), np.array([1.1, -0.6])
    d = pp.derive(robot, parameters="numbers", task=("x", "y"))
    return {
        "J": XY @ robot.jacobian(q), "M": robot.mass_matrix(q), "g": robot.gravity(q),
        "c": robot.bias(q, v) - robot.gravity(q), "drift": XY @ robot.jacobian_drift(q, v),
        "Mp": robot.task_inertia(q, directions=XY), "mu": np.ravel(d.function("mu")(q, v)),
        "p": np.ravel(d.function("p")(q)),
    }  # fmt: skip


@DOCUMENT.claim(
    "square-M", "below (11), m = n", r"M_p = J^{-T} M J^{-1}", how="robot.task_inertia of planar2", rows="20"
)
def _square_mass(c: Claim) -> Evidence:
    """For a square, regular Jacobian."""
    s, inverse = _square(), np.linalg.inv(_square()["J"])
    yield printed("M_p [kg]", inverse.T @ s["M"] @ inverse, s["Mp"])


@DOCUMENT.claim(
    "square-c", "below (11), m = n", r"c_p = J^{-T} c - M_p \dot{J} \dot{q}", how='derive(planar2)["mu"]', rows="20"
)
def _square_coriolis(c: Claim) -> Evidence:
    """For a square, regular Jacobian."""
    s = _square()
    yield printed("c_p [N]", np.linalg.inv(s["J"]).T @ s["c"] - s["Mp"] @ s["drift"], s["mu"])


@DOCUMENT.claim("square-g", "below (11), m = n", r"g_p = J^{-T} g", how='derive(planar2)["p"]', rows="20")
def _square_gravity(c: Claim) -> Evidence:
    """For a square, regular Jacobian."""
    s = _square()
    yield printed("g_p [N]", np.linalg.inv(s["J"]).T @ s["g"], s["p"])


@DOCUMENT.claim(
    "rods", "exercise 2", r"d_{ci} = \frac{L}{2}, \quad I_i = \frac{1}{12} m L^2", how="derive(planar3): p_c1, I_1",
    rows="22",
)  # fmt: skip
def _thin_rods(c: Claim) -> Evidence:
    """Uniform thin rods."""
    L, m = sp.symbols("L m")
    yield formula("printed", r"\frac{1}{12} m L^2", rods()["I_1"][2, 2], label="I_1", coordinates=["q1"])
    centre = rods()["p_c1"].subs({sp.Symbol("q1"): 0, L: 2, m: 1})
    yield printed("d_c1 for L = 2 m [m]", 1.0, float(centre[0]))


@DOCUMENT.claim(
    "T1", "exercise 2",
    r"T_1 = \frac{1}{2} (m d_{c1}^2 + I_1) \dot{q}_1^2 = \frac{1}{2} (m (\frac{L}{2})^2 + \frac{1}{12} m L^2)"
    r" \dot{q}_1^2 = \frac{1}{2} \frac{m L^2}{3} \dot{q}_1^2",
    how="½ q̇ᵀ(m J_Pᵀ J_P + J_Oᵀ I J_O) q̇ from derive(planar3)", rows="22",
)  # fmt: skip
def _first_energy(c: Claim) -> Evidence:
    """Every part of the chain of equalities."""
    names = {"d_{c1}": r"\frac{L}{2}", "I_1": r"\frac{1}{12} m L^2"}
    yield formula("printed", c.printed, link_energy(1), "T", symbols=names, **RATES)


_MOVE = {
    "p_{c2}": (r"L \begin{pmatrix} c_1 + \frac{1}{2} c_{12} \\ s_1 + \frac{1}{2} s_{12} \end{pmatrix}", 2),
    "v_{c2}": (r"L \begin{pmatrix} -s_1 \dot{q}_1 - \frac{1}{2} s_{12} (\dot{q}_1 + \dot{q}_2) \\ c_1 \dot{q}_1"
               r" + \frac{1}{2} c_{12} (\dot{q}_1 + \dot{q}_2) \end{pmatrix}", 2),
    "p_{c3}": (r"L \begin{pmatrix} c_1 + c_{12} + \frac{1}{2} c_{123} \\ s_1 + s_{12} + \frac{1}{2} s_{123}"
               r" \end{pmatrix}", 3),
    "v_{c3}": (r"L \begin{pmatrix} -(s_1 \dot{q}_1 + s_{12} (\dot{q}_1 + \dot{q}_2) + \frac{1}{2} s_{123} (\dot{q}_1"
               r" + \dot{q}_2 + \dot{q}_3)) \\ c_1 \dot{q}_1 + c_{12} (\dot{q}_1 + \dot{q}_2) + \frac{1}{2} c_{123}"
               r" (\dot{q}_1 + \dot{q}_2 + \dot{q}_3) \end{pmatrix}", 3),
}  # fmt: skip


def _moving(name: str, text: str, link: int) -> None:
    @DOCUMENT.claim(
        name.replace("{", "").replace("}", ""), "exercise"
            " 2", f"{name} = {text}", how=f"derive(planar3): p_c{link}, J_P{link}",
        rows="22",
    )  # fmt: skip
    def _centre(c: Claim) -> Evidence:
        """Centre of mass and its velocity."""
        v = sp.Matrix(sp.symbols("dq1:4"))
        reference = rods()[f"p_c{link}"] if name.startswith("p") else rods()[f"J_P{link}"] * v
        yield formula("printed", c.printed, reference[:2, :], **RATES)


for _name, (_text, _link) in _MOVE.items():
    _moving(_name, _text, _link)

_T2 = (
    r"T_2 = \frac{1}{2} (m L^2 (\dot{q}_1^2 + \frac{1}{4} (\dot{q}_1 + \dot{q}_2)^2 + c_2 \dot{q}_1 (\dot{q}_1"
    r" + \dot{q}_2))"
    r" + \frac{1}{12} m L^2 (\dot{q}_1 + \dot{q}_2)^2) = \frac{1}{2} m L^2 ((\frac{4}{3} + c_2) \dot{q}_1^2"
    r" + (\frac{2}{3} + c_2) \dot{q}_1 \dot{q}_2 + \frac{1}{3} \dot{q}_2^2)"
)
_T3 = (
    r"T_3 = \frac{1}{2} (m L^2 (\dot{q}_1^2 + (\dot{q}_1 + \dot{q}_2)^2 + \frac{1}{4} (\dot{q}_1 + \dot{q}_2 +"
    r" \dot{q}_3)^2"
    r" + 2 c_2 \dot{q}_1 (\dot{q}_1 + \dot{q}_2) + c_{23} \dot{q}_1 (\dot{q}_1 + \dot{q}_2 + \dot{q}_3) + c_3"
    r" (\dot{q}_1 +"
    r" \dot{q}_2) (\dot{q}_1 + \dot{q}_2 + \dot{q}_3)) + \frac{1}{12} m L^2 (\dot{q}_1 + \dot{q}_2 + \dot{q}_3)^2)"
    r" = \frac{1}{2} m L^2 ((\frac{7}{3} + 2 c_2 + c_{23} + c_3) \dot{q}_1^2 + (\frac{8}{3} + 2 c_2 + c_{23} + 2 c_3)"
    r" \dot{q}_1 \dot{q}_2 + (\frac{2}{3} + c_{23} + c_3) \dot{q}_1 \dot{q}_3 + (\frac{4}{3} + c_3) \dot{q}_2^2"
    r" + (\frac{2}{3} + c_3) \dot{q}_2 \dot{q}_3 + \frac{1}{3} \dot{q}_3^2)"
)


@DOCUMENT.claim("T2", "exercise 2", _T2, how="½ q̇ᵀ(m J_Pᵀ J_P + J_Oᵀ I J_O) q̇ from derive(planar3)", rows="22")
def _second_energy(c: Claim) -> Evidence:
    """Both lines."""
    yield formula("printed", c.printed, link_energy(2), "T", **RATES)


@DOCUMENT.claim("T3", "exercise 2", _T3, how="½ q̇ᵀ(m J_Pᵀ J_P + J_Oᵀ I J_O) q̇ from derive(planar3)", rows="22")
def _third_energy(c: Claim) -> Evidence:
    """Both lines."""
    yield formula("printed", c.printed, link_energy(3), "T", **RATES)


@DOCUMENT.claim(
    "T",
    "exercise 2",
    r"T = T_1 + T_2 + T_3 = \frac{1}{2} \dot{q}^T M(q) \dot{q}",
    how="robot.kinetic_energy",
    rows="22",
)
def _total_energy(c: Claim) -> Evidence:
    """The three energies add up to the robot's."""
    q, v = STATE
    put = (
        dict(zip(sp.symbols("q1:4"), q)) | dict(zip(sp.symbols("dq1:4"), v)) | {sp.Symbol("L"): 0.5, sp.Symbol("m"): 5}
    )
    total = sum(float(link_energy(i).subs(put)) for i in (1, 2, 3))
    yield printed("T [J]", total, arm().kinetic_energy(q, v))


@DOCUMENT.claim(
    "12", "(12)",
    r"M(q) = mL^{2} \begin{pmatrix} 4 + 3c_{2} + c_{23} + c_{3} & \frac{5}{3} + \frac{3}{2}c_{2} + \frac{1}{2}c_{23} +"
    r" c_{3} & \frac{1}{3} + \frac{1}{2}c_{23} + \frac{1}{2}c_{3} \\ \vdots & \frac{5}{3} + c_{3} & \frac{1}{3} +"
    r" \frac{1}{2}c_{3} \\ \text{symm} & \cdots & \frac{1}{3} \end{pmatrix}",
    how="derive(planar3).M", rows="22",
)  # fmt: skip
def _mass_matrix(c: Claim) -> Evidence:
    """Exactly, the lower half by symmetry."""
    yield from both(c, rods(), "M")


@DOCUMENT.claim("mL2", "exercise 2", r"m L^2 = 5 \cdot 0.5^2 = 1.25", how="robot.mass_matrix", rows="23")
def _unit_of_inertia(c: Claim) -> Evidence:
    """M_33 = m L²/3 at any posture."""
    yield printed("3 M_33 [kg·m²]", 1.25, 3 * arm().mass_matrix(POSTURE)[2, 2])


@DOCUMENT.claim(
    "Jstar", "exercise 2", r"J(q^*) = \begin{pmatrix} -0.5 & 0 & 0 \\ -1 & -1 & -0.5 \end{pmatrix}",
    how="robot.jacobian", rows="23",
)  # fmt: skip
def _jacobian_at_posture(c: Claim) -> Evidence:
    """At q* = (π/2, π/2, 0)."""
    yield printed("J [m]", [[-0.5, 0, 0], [-1, -1, -0.5]], XY @ arm().jacobian(POSTURE))


@DOCUMENT.claim(
    "Mstar", "exercise 2",
    r"M(q^*) = \begin{pmatrix} \frac{25}{4} & \frac{10}{3} & \frac{25}{24} \\ \frac{10}{3} & \frac{10}{3} &"
    r" \frac{25}{24}"
    r" \\ \frac{25}{24} & \frac{25}{24} & \frac{5}{12} \end{pmatrix}",
    how="robot.mass_matrix", rows="23",
)  # fmt: skip
def _mass_at_posture(c: Claim) -> Evidence:
    """Fractions and decimals."""
    M = arm().mass_matrix(POSTURE)
    yield printed("M [kg·m²]", [[25 / 4, 10 / 3, 25 / 24], [10 / 3, 10 / 3, 25 / 24], [25 / 24, 25 / 24, 5 / 12]], M)
    decimals = [[6.25, 3.3333, 1.0417], [3.3333, 3.3333, 1.0417], [1.0417, 1.0417, 0.4167]]
    yield printed("M, printed decimals [kg·m²]", decimals, M, to(4))


@DOCUMENT.claim(
    "Mp", "exercise 2",
    r"M_p(q^*) = \begin{pmatrix} 35/3 & 0 \\ 0 & 35/24 \end{pmatrix} \simeq \begin{pmatrix} 11.6667 & 0 \\ 0 & 1.4583"
    r" \end{pmatrix}",
    how="robot.task_inertia", rows="23",
)  # fmt: skip
def _inertia_at_posture(c: Claim) -> Evidence:
    """Exactly 35/3 and 35/24 kg."""
    found = arm().task_inertia(POSTURE, directions=XY)
    yield printed("M_p [kg]", [[35 / 3, 0], [0, 35 / 24]], found)
    yield printed("M_p, printed decimals [kg]", [[11.6667, 0], [0, 1.4583]], found, to(4))


@DOCUMENT.claim(
    "eigenvalues", "exercise 2", r"\lambda_1 = 11.6667, \quad \lambda_2 = 1.4583", how="eigenvalues of task_inertia",
    rows="23",
)  # fmt: skip
def _eigenvalues(c: Claim) -> Evidence:
    """The answer of exercise 2."""
    found = np.linalg.eigvalsh(arm().task_inertia(POSTURE, directions=XY))
    yield printed("eigenvalues [kg]", [1.4583, 11.6667], found, to(4))


@DOCUMENT.claim(
    "Mp-generic", "exercise 2, last remark", r"M_p = M_p^T > 0, \quad \text{decoupled at } q^* \text{ only by chance}",
    how="task_inertia at random postures", rows="23",
)  # fmt: skip
def _generic(c: Claim) -> Evidence:
    """Symmetric and positive definite wherever J has full rank; diagonal at q*, not elsewhere."""
    rng = np.random.default_rng(1)
    found = [arm().task_inertia(rng.uniform(-3, 3, 3), directions=XY) for _ in range(20)]
    yield printed("largest asymmetry [kg]", 0.0, max(abs(m[0, 1] - m[1, 0]) for m in found))
    yield says("printed", "all eigenvalues are positive", True, all(np.linalg.eigvalsh(m)[0] > 0 for m in found))
    yield says("printed", "none of 20 random ones is diagonal", True, all(abs(m[0, 1]) > 1e-6 for m in found))
