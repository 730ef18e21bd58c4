"""Document 004, section 1: its robot in its own symbols, kinematics, energies, equation of motion, the damped arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import pi
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate.tools.derive import Derivation
from palpate_documents.claim import Claim, Comparison, Evidence, Trajectories
from palpate_documents.compare import (
    arithmetic,
    both,
    corrected,
    formula,
    formulas,
    printed,
    reading,
    reference,
    remembered,
    says,
)
from palpate_documents.d004 import DOCUMENT

A2, A3, D1 = -0.425, -0.3922, 0.1625
STATE = ([0.3, -0.7, 1.1], [0.5, -1.2, 0.8])
LINK_MASSES = (3.761, 8.058, 2.846)
CENTRES = ((0.0, -0.02561, 0.00193), (0.2125, 0.0, 0.11336), (0.15, 0.0, 0.0265))
TENSORS = ((0.0084, 0.0064, 0.0084), (0.0078, 0.21, 0.21), (0.0016, 0.0462, 0.0462))
# The library counts centres of mass from a link's joint, the document from the link's far end.
_FROM_JOINT = {"r1y": "d_1 + pl_12", "r1z": "pl_13", "r2x": "a_2 + pl_21", "r2z": "pl_23", "r3x": "a_3 + pl_31",
               "r3z": "pl_33"}  # fmt: skip
_SAME = {"d1": "d_1", "a2": "a_2", "a3": "a_3", "m1": "m_1", "m2": "m_2", "m3": "m_3"}
_COORDINATES = ["q1", "q2", "q3"]


def robot_of(tensors: tuple[tuple[float, float, float], ...]) -> pp.Robot:
    """The document's DH table with given tensors."""
    geometry: tuple[dict[str, Any], ...] = ({"alpha": pi / 2, "d": D1}, {"a": A2}, {"a": A3})
    rows = [
        pp.robot.DHLink(**dh, mass=m, com=com, inertia=tensor)
        for dh, m, com, tensor in zip(geometry, LINK_MASSES, CENTRES, tensors)
    ]
    return pp.Robot.from_dh(rows, name="hand-in")


@remembered
def arm() -> pp.Robot:
    """The document's robot: its Table 1, (1) and (2), one tensor per link."""
    return robot_of(TENSORS)


@remembered
def equations() -> Derivation:
    """Its equations in symbols."""
    return pp.derive(arm())


def in_print(expression: Any) -> Any:
    """An expression of the derivation in the document's symbols; I_{2k,k} and I_{3k,k} for links 2 and 3."""
    put: dict[Any, Any] = {sp.Symbol(a): sp.Symbol(b) for a, b in _SAME.items()}
    for name, text in _FROM_JOINT.items():
        put[sp.Symbol(name)] = sum((sp.Symbol(one) for one in text.split(" + ")), sp.Integer(0))
    for i in (1, 2, 3):
        for k, axis in enumerate(("xx", "yy", "zz"), start=1):
            put[sp.Symbol(f"I{i}{axis}")] = sp.Symbol(f"I_{i}{k},{k}")
    put[sp.Symbol("g")] = -sp.Symbol("g_3")
    return expression.subs(put, simultaneous=True)


def with_one_tensor(expression: Any) -> Any:
    """Links 2 and 3 with link 1's symbols, as the document has them."""
    put = {sp.Symbol(f"I_{i}{k},{k}"): sp.Symbol(f"I_1{k},{k}") for i in (2, 3) for k in (1, 2, 3)}
    return expression.subs(put)


_NAMES = [
    "d_1", "a_2", "a_3", "g_3", "m_1", "m_2", "m_3",
    *(f"pl_{i}{k}" for i in (1, 2, 3) for k in (1, 2, 3)), *(f"I_{i}{k},{k}" for i in (1, 2, 3) for k in (1, 2, 3)),
]  # fmt: skip


def how(where: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """How the document's formulas are read: its symbols, and definitions such as σ_1."""
    return {"symbols": {name: None for name in _NAMES} | dict(where), "coordinates": _COORDINATES}


def one_tensor(claim: Claim, reference: Any, where: Mapping[str, str]) -> Iterator[Comparison]:
    """An entry as printed against a derivation with link 1's tensor in all links, and against the right one."""
    label, text = "with link 1's tensor everywhere", claim.printed.split("= ", 1)[1]
    yield formula("arithmetic", text, with_one_tensor(reference), label=label, **how(where))
    yield from both(claim, reference, **how(where))


# -------------------------------- the abbreviations that document 004 prints beside its matrices


ROTATION = {
    r"\sigma_4": r"s_1 \, s_2 \, s_3 - c_2 \, c_3 \, s_1",
    r"\sigma_5": r"c_2 \, s_1 \, s_3 + c_3 \, s_1 \, s_2",
    r"\sigma_6": r"c_1 \, c_2 \, c_3 - c_1 \, s_2 \, s_3",
    r"\sigma_7": r"c_1 \, c_2 \, s_3 + c_1 \, c_3 \, s_2",
    r"\sigma_8": r"c_2 c_3 - s_2 s_3",
    r"\sigma_9": r"c_2 \, s_3 + c_3 \, s_2",
}
WAVES = {
    r"\sigma_3": r"c_{2*2+2*3}",
    r"\sigma_5": r"c_{2.0*2+3}",
}
CORIOLIS = {
    r"\sigma_1": r"s_{2.0*2+3}",
    r"\sigma_2": r"\dot{q}_3 m_3 \mathrm{pl}_{31} \mathrm{pl}_{33} c_{23}",
    r"\sigma_3": r"\dot{q}_2 m_3 \mathrm{pl}_{31} \mathrm{pl}_{33} c_{23}",
    r"\sigma_4": r"a_3 \dot{q}_3 m_3 \mathrm{pl}_{33} c_{23}",
    r"\sigma_5": r"a_3 \dot{q}_2 m_3 \mathrm{pl}_{33} c_{23}",
    r"\sigma_6": r"0.5\dot{q}_1 m_3 \mathrm{pl}_{31}^2 \sigma_{12}",
    r"\sigma_7": r"0.5a_3^2 \dot{q}_1 m_3 \sigma_{12}",
    r"\sigma_8": r"a_3 \dot{q}_1 m_3 \mathrm{pl}_{31} \sigma_{12}",
    r"\sigma_9": r"m_3 \mathrm{pl}_{31}^{2} \sigma_{12}",
    r"\sigma_{10}": r"a_3^2 m_3 \sigma_{12}",
    r"\sigma_{11}": r"2.0 a_3 m_3 \mathrm{pl}_{31} \sigma_{12}",
    r"\sigma_{12}": r"s_{2*2+2*3}",
}


# -------------------------------- kinematics, centres of mass, Jacobians, tensors, potential energy


def _claim_table_1(c: Claim) -> Evidence:
    other = pp.load_robot("ur5e-3link")
    yield printed("tool [m]", arm().pose(STATE[0]).position, other.pose(STATE[0]).position)


def _claim_1_values(c: Claim) -> Evidence:
    other = pp.derive(pp.load_robot("ur5e-3link"))
    for i in (1, 2, 3):
        mine, theirs = (d.function(f"p_c{i}")(STATE[0]) for d in (equations(), other))
        yield printed(f"centre of mass of link {i}, base frame [m]", np.ravel(mine), np.ravel(theirs), 1e-9)


def _claim_2(c: Claim) -> Evidence:
    yield printed("B [kg·m²]", arm().mass_matrix(STATE[0]), pp.load_robot("ur5e-3link").mass_matrix(STATE[0]))
    least = min(sum(t) - 2 * max(t) for t in TENSORS)
    yield printed("least I_a + I_b − I_c, not below 0 [kg·m²]", max(least, 0.0), least, 1e-12)


def _claim_masses(c: Claim) -> Evidence:
    yield printed("total [kg]", sum(LINK_MASSES), pp.load_robot("ur5e-3link").mass, 1e-9)


def _claim_signs(c: Claim) -> Evidence:
    for a2, words in ((A2, "a_2 < 0"), (-A2, "a_2 > 0")):
        distance = abs(a2 + CENTRES[1][0])
        yield reading(
            f"{words}: distance of the centre from joint 2, as a share of the link", 0.5, distance / abs(A2), 0.01
        )
    yield reading("a_3 < 0: the same for link 3, about the middle", 0.5, abs(A3 + CENTRES[2][0]) / abs(A3), 0.15)


def _between(first: int, second: int) -> Any:
    """Pose of one link's frame in another's; 0 is the base."""
    base = sp.zeros(3, 1), sp.eye(3)
    (p, R), (q, S) = ([sp.Matrix(x) for x in (equations().pose(f"link{i}") if i else base)] for i in (first, second))
    top = sp.Matrix.hstack(R.T * S, R.T * (q - p))
    return in_print(sp.Matrix.vstack(top, sp.Matrix([[0, 0, 0, 1]])))


_STEPS = {"3": (0, 1), "4": (0, 2), "5": (0, 3), "3-A2": (1, 2), "3-A3": (2, 3)}
_QUANTITIES = {
    "6": "p_c1", "7": "p_c2", "8": "p_c3", "9-1": "J_O1", "9-2": "J_O2", "9-3": "J_O3", "10": "J_P1", "11": "J_P2",
    "12": "I_1",
}  # fmt: skip
formulas(
    DOCUMENT,
    {name: ("FK", lambda links=links: _between(*links)) for name, links in _STEPS.items()}
    | {name: ("expression", lambda key=key: in_print(equations()[key])) for name, key in _QUANTITIES.items()}
    | {"18": ("V", lambda: in_print(equations().V))},
    **how(),
)
_ENTRIES = {"i_11": (0, 0), "i_22": (1, 1), "i_33": (2, 2), "sigma_1": (0, 1), "sigma_2": (1, 2), "sigma_3": (0, 2)}


def _tensor(c: Claim) -> Evidence:
    number, entry = c.id.partition(".")[2].split("-")
    link = {"13": 2, "16": 3}[number]
    yield from one_tensor(c, in_print(equations()[f"I_{link}"])[_ENTRIES[entry]], ROTATION)


for _number in ("13", "16"):
    for _symbol in _ENTRIES:
        DOCUMENT.check(f"{_number}-{_symbol}")(_tensor)


def _claim_17_sigmas(c: Claim) -> Evidence:
    R = in_print(equations()["rotation"])
    signs = ((-1, 1, 0), (-1, 1, 1), (1, 0, 0), (-1, 0, 1), (1, 2, 1), (1, 2, 0))
    for (name, text), (sign, i, j) in zip(ROTATION.items(), signs):
        yield formula("printed", text, sign * R[i, j], label=name.replace("\\sigma_", "σ"), **how())


# -------------------------------- kinetic energy, equation of motion, the damped arm


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
