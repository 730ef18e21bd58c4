"""Document 004: kinetic energy, equation of motion, the damped arm."""

from __future__ import annotations

from math import pi

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import (
    arithmetic,
    corrected,
    formula,
    formulas,
    printed,
    reference,
    remembered,
    says,
)
from palpate_documents.d004 import DOCUMENT
from palpate_documents.d004.abbreviations import CORIOLIS, WAVES
from palpate_documents.d004.arm import (
    STATE,
    TENSORS,
    arm,
    equations,
    how,
    in_print,
    one_tensor,
    robot_of,
    with_one_tensor,
)

Q, V = np.array(STATE[0]), np.array(STATE[1])
_MASS = {"b11": (0, 0), "b22": (1, 1), "b23": (1, 2), "b33": (2, 2), "b12": (0, 1), "b13": (0, 2)}
_CORIOLIS = {"C11": (0, 0), "C12": (0, 1), "C13": (0, 2), "C21": (1, 0), "C31": (2, 0)}
_PLAIN = {"C22": (1, 1), "C23": (1, 2), "C32": (2, 1), "C33": (2, 2)}


def _claim_19(c: Claim) -> Evidence:
    yield printed("E_kin [J]", 0.5 * V @ arm().mass_matrix(Q) @ V, arm().kinetic_energy(Q, V))


def _entry(c: Claim) -> Evidence:
    name = c.id.partition("-")[2]
    if name in _MASS:
        yield from one_tensor(c, in_print(equations().M)[_MASS[name]], WAVES)
    else:
        yield from one_tensor(c, in_print(equations().C)[_CORIOLIS[name]], CORIOLIS)


for _name in _MASS:
    DOCUMENT.check(f"20-{_name}")(_entry)
for _name in _CORIOLIS:
    DOCUMENT.check(f"24-{_name}")(_entry)
formulas(
    DOCUMENT,
    {f"24-{name}": ("expression", lambda at=at: in_print(equations().C)[at]) for name, at in _PLAIN.items()},
    **how(),
)


def _claim_20(c: Claim) -> Evidence:
    one, right = robot_of((TENSORS[0],) * 3).mass_matrix(Q), arm().mass_matrix(Q)
    yield printed("B with one tensor [kg·m²]", one, right)
    yield arithmetic("difference of b11, b22, b23, b33 [kg·m²]", [-0.1515869116, -0.2394, -0.0378, -0.0378],
                     [(one - right)[i] for i in ((0, 0), (1, 1), (1, 2), (2, 2))])  # fmt: skip
    wanted = [[1.3454380249, -0.1385844102, 0.0071133031], [1.5668412613, 0.3460310997], [0.2131487506]]
    rows = [right[i, i:].tolist() for i in range(3)]
    for i in range(3):
        yield corrected(f"B, row {i + 1} from the diagonal on [kg·m²]", wanted[i], rows[i])


def _claim_21(c: Claim) -> Evidence:
    a = np.array([1.0, -2.0, 0.5])
    torque = np.ravel(equations().function("tau")(Q, V, a))
    yield printed("τ [N·m]", torque, arm().inverse_dynamics(Q, V, a))


def _claim_22(c: Claim) -> Evidence:
    u, h = np.array([1.0, 2.0, -3.0]), np.array([4.0, -5.0, 6.0, 0.7, -0.8, 0.9])
    a = arm().forward_dynamics(Q, V, u, wrench=h)
    left = arm().mass_matrix(Q) @ a + arm().coriolis_matrix(Q, V) @ V + arm().gravity(Q)
    yield printed("left side [N·m]", u + arm().jacobian(Q).T @ h, left)


def _claim_24_C31_print(c: Claim) -> Evidence:
    good = next(one.printed for one in DOCUMENT.claims if one.id == "004.24-C31").split("= ", 1)[1]
    literal = good.replace(r"s_3 + a_2 a_3", r"s_3 + a_3 a_3 m_3 s_3 + a_3 a_3 m_3 s_3 + a_2 a_3")
    wanted = with_one_tensor(in_print(equations().C)[2, 0])
    yield formula("printed", literal, wanted, **how(CORIOLIS))
    yield formula("corrected", good, wanted, **how(CORIOLIS))


def _claim_24_skew(c: Claim) -> Evidence:
    h = 1e-6
    rate = (arm().mass_matrix(Q + h * V) - arm().mass_matrix(Q - h * V)) / (2 * h)
    N = rate - 2 * equations().function("C")(Q, V)
    yield printed("symmetric part of Ḃ − 2C", np.zeros((3, 3)), (N + N.T) / 2, 1e-8)
    yield reference("C q̇ [N·m]", [-0.5302065666, 0.1984594366, 0.4167409215], arm().coriolis_matrix(Q, V) @ V)


def _claim_25(c: Claim) -> Evidence:
    where = {r"\sigma_1": r"\mathrm{pl}_{31}(c_2c_3 - s_2s_3)"}
    yield formula("printed", c.printed, in_print(equations().g), "g", **how(where))
    yield reference("g at the test point [N·m]", [0, -28.1513814184, -6.2282556792], arm().gravity(Q))


def _claim_28(c: Claim) -> Evidence:
    where = {r"\sigma_1": "a_3 s_{23} + a_2 s_2", r"\sigma_2": "-c_1", r"\sigma_3": r"\sigma_4 + a_2 c_2",
             r"\sigma_4": "a_3 c_{23}"}  # fmt: skip
    yield formula("printed", c.printed, in_print(equations().J), "J", **how(where))


def _claim_23(c: Claim) -> Evidence:
    yield printed("coordinates", 3, arm().nq)


def _claim_rank(c: Claim) -> Evidence:
    yield printed("rank of J, needed for (31) with (32) or (33)", 6, np.linalg.matrix_rank(arm().jacobian(Q)))
    whole = pp.load_robot("ur5e", joints="ideal")
    yield corrected("rank of J of the 3-link arm", 3, np.linalg.matrix_rank(arm().jacobian(Q)))
    yield corrected("rank of J of the UR5e", 6, np.linalg.matrix_rank(whole.jacobian(whole.home)))


@remembered
def fall(one_tensor: bool = False, duration: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Section 1.8: time, q and total energy of the damped arm, by robot.forward_dynamics."""
    from scipy.integrate import solve_ivp

    robot = robot_of((TENSORS[0],) * 3) if one_tensor else arm()

    def motion(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3:], robot.forward_dynamics(y[:3], y[3:], -5.0 * y[3:])])

    times = np.linspace(0, duration, 101)
    start = [1.0, pi / 3, pi / 3, 0, 0, 0]
    y = solve_ivp(motion, (0, duration), start, method="DOP853", t_eval=times, rtol=1e-11, atol=1e-12).y
    energy = [robot.kinetic_energy(a[:3], a[3:]) + robot.potential_energy(a[:3]) for a in y.T]
    return times, y[:3].T, np.array(energy)


def _plot_1_8() -> Trajectories:
    """The damped arm with one tensor for all links, as printed, and with each link's own."""
    t, right, _ = fall(False, 3.0)
    _, wrong, _ = fall(True, 3.0)
    curves = []
    for joint in (1, 2):
        curves.append((f"q{joint + 1}, one tensor", t.tolist(), wrong[:, joint].tolist()))
        curves.append((f"q{joint + 1}, right", t.tolist(), right[:, joint].tolist()))
    return Trajectories("The arm falls under joint damping D = 5", "t [s]", "q [rad]", tuple(curves))


def _claim_1_8(c: Claim) -> Evidence:
    _, q, energy = fall()
    yield reference("q(0.5) [rad]", [0.966421256235, 1.454064419961, 0.676632056386], q[50])
    yield reference("q(1) [rad]", [1.008893475388, 1.536287980301, 0.421019489755], q[100])
    yield says("reference", "the energy never rises", True, bool((np.diff(energy) < 1e-9).all()))
    yield reference("gravity at (1, π/2, 0), at rest there [N·m]", [0, 0, 0], arm().gravity([1, pi / 2, 0]))


__all__ = ["fall"]
