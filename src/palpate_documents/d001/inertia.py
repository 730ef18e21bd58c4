"""Document 001: the Cartesian inertia (exercise 2)."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate.tools.derive import Derivation
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import corrected, decimals, formula, formulas, printed, remembered, says
from palpate_documents.d001.stop import DOCUMENT
from palpate_documents.d001.stop_arm import RATES, XY, rods

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
def heavy_equations() -> Derivation:
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


def _claim_8(c: Claim) -> Evidence:
    J, M, *_ = parts()
    task_inertia = heavy().task_inertia(STATE[0], directions=XY)
    yield printed("M_p [kg]", np.linalg.inv(J @ np.linalg.inv(M) @ J.T), task_inertia)


def _claim_9(c: Claim) -> Evidence:
    (q, v), a = STATE, np.array([1.0, -2.0, 0.5])
    _, M, bias, g, _ = parts()
    yield printed("τ [N·m]", M @ a + bias + g, heavy().inverse_dynamics(q, v, a))
    yield printed("q̈ [rad/s²]", a, heavy().forward_dynamics(q, v, M @ a + bias + g))


def _claim_10(c: Claim) -> Evidence:
    (q, v), a, h = STATE, np.array([1.0, -2.0, 0.5]), 1e-5
    J, *_, drift = parts()

    def speed(t: float) -> np.ndarray:
        return XY @ heavy().jacobian(q + v * t + a * t * t / 2) @ (v + a * t)

    yield printed("p̈ [m/s²]", J @ a + drift, (speed(h) - speed(-h)) / (2 * h), 1e-7)


def _claim_virtual_work(c: Claim) -> Evidence:
    q, v = STATE
    F = np.array([3.0, -4.0])
    torque = pp.contact.torque_from_tip_force(heavy(), q, F, directions=XY)
    yield printed("τ [N·m]", parts()[0].T @ F, torque)
    yield printed("power [W]", F @ parts()[0] @ v, torque @ v)


def _claim_expansion(c: Claim) -> Evidence:
    (q, v), F = STATE, np.array([3.0, -4.0])
    J, M, bias, g, drift = parts()
    W = np.linalg.inv(M)
    tip_acceleration = J @ heavy().forward_dynamics(q, v, J.T @ F) + drift
    yield says("printed", "J̇ F can be formed", True, J.shape[1] == len(F))
    yield corrected("p̈ [m/s²]", J @ W @ J.T @ F - J @ W @ (bias + g) + drift, tip_acceleration)


def _claim_11(c: Claim) -> Evidence:
    (q, v), F = STATE, np.array([3.0, -4.0])
    J, *_, drift = parts()
    a = J @ heavy().forward_dynamics(q, v, J.T @ F) + drift
    d = heavy_equations()
    left = d.function("Lambda")(q) @ a + np.ravel(d.function("mu")(q, v)) + np.ravel(d.function("p")(q))
    yield printed("M_p p̈ + c_p + g_p [N]", F, left, 1e-9)


def _claim_11_incomplete(c: Claim) -> Evidence:
    J, *_ = parts()
    hidden = np.linalg.svd(J)[2][-1]  # a joint acceleration that the tip does not show
    yield printed("equations that are missing, n − rank J", 1, J.shape[1] - np.linalg.matrix_rank(J))
    yield printed("p̈ of that joint acceleration [m/s²]", [0, 0], J @ hidden)


def _claim_c_p(c: Claim) -> Evidence:
    J, M, bias, _, drift = parts()
    Mp = heavy().task_inertia(STATE[0], directions=XY)
    coriolis = np.ravel(heavy_equations().function("mu")(*STATE))
    inner = J @ np.linalg.solve(M, bias) - drift
    yield printed("c_p [N]", Mp @ (inner + Mp @ J @ np.linalg.solve(M, bias) - drift), coriolis)
    yield corrected("c_p [N]", Mp @ inner, coriolis)


def _claim_g_p(c: Claim) -> Evidence:
    J, M, _, g, _ = parts()
    gravity = np.ravel(heavy_equations().function("p")(STATE[0]))
    yield says("printed", "J J can be formed", True, J.shape[0] == J.shape[1])
    yield corrected("g_p [N]", heavy().task_inertia(STATE[0], directions=XY) @ J @ np.linalg.solve(M, g), gravity)


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


def _claim_square_M(c: Claim) -> Evidence:
    s, inverse = _square(), np.linalg.inv(_square()["J"])
    yield printed("M_p [kg]", inverse.T @ s["M"] @ inverse, s["Mp"])


def _claim_square_c(c: Claim) -> Evidence:
    s = _square()
    yield printed("c_p [N]", np.linalg.inv(s["J"]).T @ s["c"] - s["Mp"] @ s["drift"], s["mu"])


def _claim_square_g(c: Claim) -> Evidence:
    s = _square()
    yield printed("g_p [N]", np.linalg.inv(s["J"]).T @ s["g"], s["p"])


def _claim_rods(c: Claim) -> Evidence:
    L, m = sp.symbols("L m")
    yield formula("printed", r"\frac{1}{12} m L^2", rods()["I_1"][2, 2], label="I_1", coordinates=["q1"])
    centre = rods()["p_c1"].subs({sp.Symbol("q1"): 0, L: 2, m: 1})
    yield printed("d_c1 for L = 2 m [m]", 1.0, float(centre[0]))


def _claim_T1(c: Claim) -> Evidence:
    names = {"d_{c1}": r"\frac{L}{2}", "I_1": r"\frac{1}{12} m L^2"}
    yield formula("printed", c.printed, link_energy(1), "T", symbols=names, **RATES)


def _velocity(link: int) -> Any:
    return rods()[f"J_P{link}"] * sp.Matrix(sp.symbols("dq1:4"))


formulas(
    DOCUMENT,
    {
        "p_c2": ("expression", lambda: rods()["p_c2"][:2, :]),
        "v_c2": ("expression", lambda: _velocity(2)[:2, :]),
        "p_c3": ("expression", lambda: rods()["p_c3"][:2, :]),
        "v_c3": ("expression", lambda: _velocity(3)[:2, :]),
        "T2": ("T", lambda: link_energy(2)),
        "T3": ("T", lambda: link_energy(3)),
    },
    **RATES,
)
formulas(DOCUMENT, {"12": ("M", rods)})


def _claim_T(c: Claim) -> Evidence:
    q, v = STATE
    put = (
        dict(zip(sp.symbols("q1:4"), q)) | dict(zip(sp.symbols("dq1:4"), v)) | {sp.Symbol("L"): 0.5, sp.Symbol("m"): 5}
    )
    total = sum(float(link_energy(i).subs(put)) for i in (1, 2, 3))
    yield printed("T [J]", total, arm().kinetic_energy(q, v))


def _claim_mL2(c: Claim) -> Evidence:
    yield printed("3 M_33 [kg·m²]", 1.25, 3 * arm().mass_matrix(POSTURE)[2, 2])


def _claim_Jstar(c: Claim) -> Evidence:
    yield printed("J [m]", [[-0.5, 0, 0], [-1, -1, -0.5]], XY @ arm().jacobian(POSTURE))


def _claim_Mstar(c: Claim) -> Evidence:
    M = arm().mass_matrix(POSTURE)
    yield printed("M [kg·m²]", [[25 / 4, 10 / 3, 25 / 24], [10 / 3, 10 / 3, 25 / 24], [25 / 24, 25 / 24, 5 / 12]], M)
    rounded = [[6.25, 3.3333, 1.0417], [3.3333, 3.3333, 1.0417], [1.0417, 1.0417, 0.4167]]
    yield printed("M, printed decimals [kg·m²]", rounded, M, decimals(4))


def _claim_Mp(c: Claim) -> Evidence:
    task_inertia = arm().task_inertia(POSTURE, directions=XY)
    yield printed("M_p [kg]", [[35 / 3, 0], [0, 35 / 24]], task_inertia)
    yield printed("M_p, printed decimals [kg]", [[11.6667, 0], [0, 1.4583]], task_inertia, decimals(4))


def _claim_eigenvalues(c: Claim) -> Evidence:
    eigenvalues = np.linalg.eigvalsh(arm().task_inertia(POSTURE, directions=XY))
    yield printed("eigenvalues [kg]", [1.4583, 11.6667], eigenvalues, decimals(4))


def _claim_Mp_generic(c: Claim) -> Evidence:
    rng = np.random.default_rng(1)
    inertias = [arm().task_inertia(rng.uniform(-3, 3, 3), directions=XY) for _ in range(20)]
    yield printed("largest asymmetry [kg]", 0.0, max(abs(m[0, 1] - m[1, 0]) for m in inertias))
    yield says("printed", "all eigenvalues are positive", True, all(np.linalg.eigvalsh(m)[0] > 0 for m in inertias))
    yield says("printed", "none of 20 random ones is diagonal", True, all(abs(m[0, 1]) > 1e-6 for m in inertias))
