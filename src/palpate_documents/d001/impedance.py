"""Document 001: impedance control without a force sensor (exercise 3)."""

from __future__ import annotations

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import formulas, printed, remembered
from palpate_documents.d001.stop import DOCUMENT

M1, M2, RATE = 3.0, 2.0, 7.0


@remembered
def robot() -> pp.Robot:
    """The Cartesian robot with m1 = 3 kg, m2 = 2 kg."""
    return pp.load_robot("cartesian2", mass=[M1, M2])


def gains() -> pp.control.design.SpringDamper:
    """D_d and K_d for both eigenvalues at −7."""
    return pp.control.design.coincident_poles([M1 + M2, M2], RATE)


def printed_torque(q: np.ndarray, v: np.ndarray, target: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """τ of (16), as printed."""
    p_d, v_d, a_d = target
    D, K = gains().damping, gains().stiffness
    return np.array([M1 + M2, M2]) * a_d + np.array([0, M2 * 9.81]) + D * (v_d - v) + K * (p_d - q)


formulas(
    DOCUMENT,
    {name: (what, lambda: pp.derive(pp.load_robot("cartesian2"))) for name, what in (("13-M", "M"), ("13-g", "g"))},
    symbols={"g_0": "g"},
)


def _claim_13(c: Claim) -> Evidence:
    q, v, tau, F = np.array([0.1, -0.2]), np.array([1.0, 2.0]), np.array([3.0, -4.0]), np.array([5.0, 6.0])
    a = robot().forward_dynamics(q, v, tau, wrench=[*F, 0, 0, 0, 0])
    yield printed("τ + F [N]", robot().mass_matrix(q) @ a + robot().gravity(q), tau + F)
    yield printed("c(q, q̇) [N]", [0, 0], robot().bias(q, v) - robot().gravity(q))


def _claim_14(c: Claim) -> Evidence:
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, v, p_d, v_d, a_d, F = rng.normal(size=(6, 2))
        tau = printed_torque(q, v, (p_d, v_d, a_d))
        a = robot().forward_dynamics(q, v, tau, wrench=[*F, 0, 0, 0, 0])
        left = np.array([M1 + M2, M2]) * (a - a_d) + gains().damping * (v - v_d) + gains().stiffness * (q - p_d)
        yield printed("M ë + D ė + K e [N]", F, left)


def _claim_15(c: Claim) -> Evidence:
    task_inertia = robot().task_inertia([0, 0], directions=np.eye(6)[:2])
    yield printed("M_d [kg]", np.diag([M1 + M2, M2]), task_inertia)


def _claim_16(c: Claim) -> Evidence:
    q, v, p_d, v_d, a_d = np.random.default_rng(3).normal(size=(5, 2))
    wanted = a_d - (gains().damping * (v - v_d) + gains().stiffness * (q - p_d)) / np.array([M1 + M2, M2])
    yield printed("τ [N]", printed_torque(q, v, (p_d, v_d, a_d)), robot().inverse_dynamics(q, v, wanted))


def _claim_polynomial(c: Claim) -> Evidence:
    for axis, mass in (("x", M1 + M2), ("y", M2)):
        k = "xy".index(axis)
        coefficients = [1.0, gains().damping[k] / mass, gains().stiffness[k] / mass]
        yield printed(f"coefficients along {axis}", [1, 2 * RATE, RATE**2], coefficients)


_GAINS = {"Ddx": 70.0, "Kdx": 245.0, "Ddy": 28.0, "Kdy": 98.0}


def _gain(c: Claim) -> Evidence:
    name = c.id.partition(".")[2]
    table, unit = (gains().damping, "N·s/m") if name.startswith("D") else (gains().stiffness, "N/m")
    yield printed(f"{name} [{unit}]", _GAINS[name], table["xy".index(name[2])])


for _name in _GAINS:
    DOCUMENT.check(_name)(_gain)
