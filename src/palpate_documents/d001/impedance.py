"""Document 001, exercise 3: impedance control without a force sensor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import formula, printed, remembered
from palpate_documents.d001.about import DOCUMENT

Evidence = Iterator[Comparison]
M1, M2, RATE = 3.0, 2.0, 7.0


@remembered
def robot() -> pp.Robot:
    """The Cartesian robot with m1 = 3 kg, m2 = 2 kg."""
    return pp.load_robot("cartesian2", mass=[M1, M2])


def gains() -> pp.control.design.SpringDamper:
    """D_d and K_d for both eigenvalues at −7."""
    return pp.control.design.coincident_poles([M1 + M2, M2], RATE)


def commanded(q: np.ndarray, v: np.ndarray, target: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """τ of (16), as printed."""
    p_d, v_d, a_d = target
    D, K = gains().damping, gains().stiffness
    return np.array([M1 + M2, M2]) * a_d + np.array([0, M2 * 9.81]) + D * (v_d - v) + K * (p_d - q)


@DOCUMENT.claim(
    "13-M", "(13)", r"M = \begin{pmatrix} m_1 + m_2 & 0 \\ 0 & m_2 \end{pmatrix}", how="derive(cartesian2).M", rows="24"
)
def _mass(c: Claim) -> Evidence:
    """The first axis carries the second."""
    yield formula("printed", c.printed, pp.derive(pp.load_robot("cartesian2")), "M")


@DOCUMENT.claim(
    "13-g", "(13)", r"g = \begin{pmatrix} 0 \\ m_2 g_0 \end{pmatrix}", how="derive(cartesian2).g", rows="24"
)
def _gravity(c: Claim) -> Evidence:
    """Gravity along −y."""
    yield formula("printed", c.printed, pp.derive(pp.load_robot("cartesian2")), "g", symbols={"g_0": "g"})


@DOCUMENT.claim(
    "13", "(13)", r"M \ddot{q} + g = \tau + F", how="robot.forward_dynamics with a tip force; bias − gravity = 0",
    rows="24",
)  # fmt: skip
def _motion(c: Claim) -> Evidence:
    """F is what the environment does to the robot; there are no velocity terms."""
    q, v, tau, F = np.array([0.1, -0.2]), np.array([1.0, 2.0]), np.array([3.0, -4.0]), np.array([5.0, 6.0])
    a = robot().forward_dynamics(q, v, tau, wrench=[*F, 0, 0, 0, 0])
    yield printed("τ + F [N]", robot().mass_matrix(q) @ a + robot().gravity(q), tau + F)
    yield printed("c(q, q̇) [N]", [0, 0], robot().bias(q, v) - robot().gravity(q))


@DOCUMENT.claim(
    "14", "(14), with (16)", r"M_d \ddot{e} + D_d \dot{e} + K_d e = F", how="(16) put into robot.forward_dynamics",
    rows="24",
)  # fmt: skip
def _impedance(c: Claim) -> Evidence:
    """The law leads to the impedance asked for, with a moving target and any contact force."""
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, v, p_d, v_d, a_d, F = rng.normal(size=(6, 2))
        tau = commanded(q, v, (p_d, v_d, a_d))
        a = robot().forward_dynamics(q, v, tau, wrench=[*F, 0, 0, 0, 0])
        left = np.array([M1 + M2, M2]) * (a - a_d) + gains().damping * (v - v_d) + gains().stiffness * (q - p_d)
        yield printed("M ë + D ė + K e [N]", F, left)


@DOCUMENT.claim(
    "15", "(15)", r"M_d = M \iff M_{dx} = m_1 + m_2, \quad M_{dy} = m_2", how="robot.task_inertia",
    rows="24",
)  # fmt: skip
def _own_inertia(c: Claim) -> Evidence:
    """Without a force sensor the apparent inertia is the robot's own."""
    found = robot().task_inertia([0, 0], directions=np.eye(6)[:2])
    yield printed("M_d [kg]", np.diag([M1 + M2, M2]), found)


@DOCUMENT.claim(
    "16", "(16)", r"\tau = M\ddot{p}_d + g - D_d \dot{e} - K_d"
        r" e", how="robot.inverse_dynamics of p̈_d − M⁻¹(D ė + K e)",
    rows="24",
)  # fmt: skip
def _law(c: Claim) -> Evidence:
    """The second line of (16), axis by axis, is the same."""
    q, v, p_d, v_d, a_d = np.random.default_rng(3).normal(size=(5, 2))
    wanted = a_d - (gains().damping * (v - v_d) + gains().stiffness * (q - p_d)) / np.array([M1 + M2, M2])
    yield printed("τ [N]", commanded(q, v, (p_d, v_d, a_d)), robot().inverse_dynamics(q, v, wanted))


@DOCUMENT.claim(
    "polynomial", "below (16)", r"I s^2 + M^{-1} D_d s + M^{-1} K_d = \begin{pmatrix} (s + \lambda)^2 & 0 \\ 0 & (s +"
    r" \lambda)^2 \end{pmatrix}", how="control.design.coincident_poles", rows="24",
)  # fmt: skip
def _polynomial(c: Claim) -> Evidence:
    """Both eigenvalues of both axes at −λ, for λ = 7."""
    for axis, mass in (("x", M1 + M2), ("y", M2)):
        k = "xy".index(axis)
        found = [1.0, gains().damping[k] / mass, gains().stiffness[k] / mass]
        yield printed(f"coefficients along {axis}", [1, 2 * RATE, RATE**2], found)


_GAINS = (("Ddx", r"D_{dx} = 2(m_1 + m_2)\lambda", 70.0), ("Kdx", r"K_{dx} = (m_1 + m_2)\lambda^2", 245.0),
          ("Ddy", r"D_{dy} = 2 m_2 \lambda", 28.0), ("Kdy", r"K_{dy} = m_2 \lambda^2", 98.0))  # fmt: skip


def _gain(name: str, text: str, value: float) -> None:
    @DOCUMENT.claim(name, "end of exercise 3", text, how="control.design.coincident_poles", rows="24")
    def _one(c: Claim) -> Evidence:
        """For m1 = 3 kg, m2 = 2 kg, λ = 7 1/s."""
        table = gains().damping if name.startswith("D") else gains().stiffness
        yield printed(f"{name} [N·s/m]" if name.startswith("D") else f"{name} [N/m]", value, table["xy".index(name[2])])


for _one_gain in _GAINS:
    _gain(*_one_gain)
