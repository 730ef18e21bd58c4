"""Document 004, sections 1.1 to 1.5: kinematics, centres of mass, Jacobians, tensors, potential energy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import printed, reading
from palpate_documents.d004.about import (
    A2,
    A3,
    CENTRES,
    DOCUMENT,
    LINK_MASSES,
    STATE,
    TENSORS,
    arm,
    check,
    equations,
    in_print,
    with_one_tensor,
)
from palpate_documents.d004.printed import SECOND, THIRD

Evidence = Iterator[Comparison]


@DOCUMENT.check("table-1")
def _table(c: Claim) -> Evidence:
    import palpate as pp

    other = pp.load_robot("ur5e-3link")
    yield printed("tool [m]", arm().pose(STATE[0]).position, other.pose(STATE[0]).position)


@DOCUMENT.check("1-values")
def _centres(c: Claim) -> Evidence:
    import palpate as pp

    other = pp.derive(pp.load_robot("ur5e-3link"))
    for i in (1, 2, 3):
        mine, theirs = (d.function(f"p_c{i}")(STATE[0]) for d in (equations(), other))
        yield printed(f"centre of mass of link {i}, base frame [m]", np.ravel(mine), np.ravel(theirs), 1e-9)


@DOCUMENT.check("2")
def _tensors(c: Claim) -> Evidence:
    import palpate as pp

    yield printed("B [kg·m²]", arm().mass_matrix(STATE[0]), pp.load_robot("ur5e-3link").mass_matrix(STATE[0]))
    least = min(sum(t) - 2 * max(t) for t in TENSORS)
    yield printed("least I_a + I_b − I_c, not below 0 [kg·m²]", max(least, 0.0), least, 1e-12)


@DOCUMENT.check("masses")
def _masses(c: Claim) -> Evidence:
    import palpate as pp

    yield printed("total [kg]", sum(LINK_MASSES), pp.load_robot("ur5e-3link").mass, 1e-9)


@DOCUMENT.check("signs")
def _signs(c: Claim) -> Evidence:
    for a2, words in ((A2, "a_2 < 0"), (-A2, "a_2 > 0")):
        distance = abs(a2 + CENTRES[1][0])
        yield reading(
            f"{words}: distance of the centre from joint 2, as a share of the link", 0.5, distance / abs(A2), 0.01
        )
    yield reading("a_3 < 0: the same for link 3, about the middle", 0.5, abs(A3 + CENTRES[2][0]) / abs(A3), 0.15)


_POSES = {
    "3": ("(3)", 1, r"A_1^0 = \begin{bmatrix} c_1 & 0 & s_1 & 0 \\ s_1 & 0 & -c_1 & 0 \\ 0 & 1.0 & 0 & d_1 \\ 0"
        r" & 0 & 0 & 1.0"
          r" \end{bmatrix}"),
    "4": ("(4)", 2, r"T_2^0 = \begin{bmatrix} c_1 c_2 & -c_1 s_2 & s_1 & a_2 c_1 c_2 \\ c_2 s_1 & -s_1 s_2 &"
        r" -c_1 & a_2 c_2 s_1"
          r" \\ s_2 & c_2 & 0 & d_1 + a_2 s_2 \\ 0 & 0 & 0 & 1.0 \end{bmatrix}"),
    "5": ("(5)", 3, r"T_3^0 = \begin{bmatrix} c_{23} c_1 & -s_{23} c_1 & s_1 & c_1 (a_3 c_{23} + a_2 c_2) \\"
        r" c_{23} s_1 &"
          r" -s_{23} s_1 & -c_1 & s_1 (a_3 c_{23} + a_2 c_2) \\ s_{23} & c_{23} & 0 & d_1 + a_3 s_{23} + a_2"
          r" s_2 \\ 0 & 0 & 0 &"
          r" 1.0 \end{bmatrix}"),
}  # fmt: skip


def _pose(name: str, where: str, link: int, text: str) -> None:
    @DOCUMENT.check(name)
    def _transformation(c: Claim) -> Evidence:
        import sympy as sp

        p, R = equations().pose(f"link{link}")
        T = sp.Matrix.vstack(sp.Matrix.hstack(sp.Matrix(R), sp.Matrix(p)), sp.Matrix([[0, 0, 0, 1]]))
        yield check("printed", c.printed, in_print(T), "FK")


for _name, (_where, _link, _text) in _POSES.items():
    _pose(_name, _where, _link, _text)


@DOCUMENT.check("3-A2")
def _second_step(c: Claim) -> Evidence:
    yield check("printed", c.printed, _between(1, 2), "FK")


@DOCUMENT.check("3-A3")
def _third_step(c: Claim) -> Evidence:
    yield check("printed", c.printed, _between(2, 3), "FK")


def _between(first: int, second: int) -> Any:
    """Pose of one link's frame in another's."""
    import sympy as sp

    (p, R), (q, S) = ([sp.Matrix(x) for x in equations().pose(f"link{i}")] for i in (first, second))
    top = sp.Matrix.hstack(R.T * S, R.T * (q - p))
    return in_print(sp.Matrix.vstack(top, sp.Matrix([[0, 0, 0, 1]])))


_CENTRES = {
    "6": (1, r"p_{c1}^0 = \begin{bmatrix} \mathrm{pl}_{13} s_1 \\ -\mathrm{pl}_{13} c_1 \\ d_1 +"
        r" \mathrm{pl}_{12} \end{bmatrix}"),
    "7": (2, r"p_{c2}^0 = \begin{bmatrix} \mathrm{pl}_{23} s_1 + a_2 c_1 c_2 + \mathrm{pl}_{21} c_1 c_2 \\ a_2"
        r" c_2 s_1 -"
          r" \mathrm{pl}_{23} c_1 + \mathrm{pl}_{21} c_2 s_1 \\ d_1 + a_2 s_2 + \mathrm{pl}_{21} s_2 \end{bmatrix}"),
    "8": (3, r"p_{c3}^0 = \begin{bmatrix} \mathrm{pl}_{31} (c_1 c_2 c_3 - c_1 s_2 s_3) + \mathrm{pl}_{33} s_1 +"
        r" a_2 c_1 c_2 +"
          r" a_3 c_1 c_2 c_3 - a_3 c_1 s_2 s_3 \\ a_2 c_2 s_1 - \mathrm{pl}_{33} c_1 - \mathrm{pl}_{31} (s_1"
          r" s_2 s_3 - c_2 c_3"
          r" s_1) + a_3 c_2 c_3 s_1 - a_3 s_1 s_2 s_3 \\ d_1 + a_3 s_{23} + \mathrm{pl}_{31} s_{23} + a_2 s_2"
          r" \end{bmatrix}"),
}  # fmt: skip


def _centre(name: str, link: int, text: str) -> None:
    @DOCUMENT.check(name)
    def _of_mass(c: Claim) -> Evidence:
        yield check("printed", c.printed, in_print(equations()[f"p_c{link}"]))


for _name, (_link, _text) in _CENTRES.items():
    _centre(_name, _link, _text)

_JACOBIANS = {
    "9-1": ("J_O1", r"J_O^{l_1} = \begin{bmatrix} 0 & 0 & 0 \\ 0 & 0 & 0 \\ 1 & 0 & 0 \end{bmatrix}"),
    "9-2": ("J_O2", r"J_O^{l_2} = \begin{bmatrix} 0 & s_1 & 0 \\ 0 & -c_1 & 0 \\ 1.0 & 0 & 0 \end{bmatrix}"),
    "9-3": ("J_O3", r"J_O^{l_3} = \begin{bmatrix} 0 & s_1 & s_1 \\ 0 & -c_1 & -c_1 \\ 1.0 & 0 & 0 \end{bmatrix}"),
    "10": ("J_P1", r"J_P^{l_1} = \begin{bmatrix} \mathrm{pl}_{13} c_1 & 0 & 0 \\ \mathrm{pl}_{13} s_1 & 0 & 0"
        r" \\ 0 & 0 & 0"
           r" \end{bmatrix}"),
    "11": ("J_P2", r"J_P^{l_2} = \begin{bmatrix} \mathrm{pl}_{23} c_1 - a_2 c_2 s_1 - \mathrm{pl}_{21} c_2 s_1"
        r" & -c_1 s_2 (a_2 +"
           r" \mathrm{pl}_{21}) & 0 \\ \mathrm{pl}_{23} s_1 + a_2 c_1 c_2 + \mathrm{pl}_{21} c_1 c_2 & -s_1 s_2 (a_2 +"
           r" \mathrm{pl}_{21}) & 0 \\ 0 & c_2 (a_2 + \mathrm{pl}_{21}) & 0 \end{bmatrix}"),
}  # fmt: skip


def _jacobian(name: str, quantity: str, text: str) -> None:
    @DOCUMENT.check(name)
    def _of_link(c: Claim) -> Evidence:
        yield check("printed", c.printed, in_print(equations()[quantity]))


for _name, (_quantity, _text) in _JACOBIANS.items():
    _jacobian(_name, _quantity, _text)


@DOCUMENT.check("12")
def _first_tensor(c: Claim) -> Evidence:
    yield check("printed", c.printed, in_print(equations()["I_1"]))


_PLACES = {
    r"i_{11}": (0, 0),
    r"i_{22}": (1, 1),
    r"i_{33}": (2, 2),
    r"\sigma_1": (0, 1),
    r"\sigma_2": (1, 2),
    r"\sigma_3": (0, 2),
}


def _tensor(link: int, symbol: str, definitions: dict[str, str]) -> None:
    number = {2: "13", 3: "16"}[link]
    short = symbol.replace("\\", "").replace("{", "").replace("}", "")
    text = definitions[symbol]
    right = text
    for k in "123":
        right = right.replace(f"I_{{1{k},{k}}}", f"I_{{{link}{k},{k}}}")

    @DOCUMENT.check(f"{number}-{short}")
    def _entry(c: Claim) -> Evidence:
        where = {name: one for name, one in definitions.items() if name != symbol}
        wanted = in_print(equations()[f"I_{link}"])[_PLACES[symbol]]
        yield check("arithmetic", text, with_one_tensor(wanted), where=where, label="with link 1's tensor everywhere")
        yield check("printed", text, wanted, where=where)
        yield check("corrected", right, wanted, where=where)


for _symbol in _PLACES:
    _tensor(2, _symbol, SECOND)
for _symbol in _PLACES:
    _tensor(3, _symbol, THIRD)


@DOCUMENT.check("17-sigmas")
def _abbreviations(c: Claim) -> Evidence:
    R = in_print(equations()["rotation"])
    signs = {r"\sigma_4": (-1, 1, 0), r"\sigma_5": (-1, 1, 1), r"\sigma_6": (1, 0, 0), r"\sigma_7": (-1, 0, 1),
             r"\sigma_8": (1, 2, 1), r"\sigma_9": (1, 2, 0)}  # fmt: skip
    for name, (sign, i, j) in signs.items():
        yield check("printed", THIRD[name], sign * R[i, j], label=name.replace("\\sigma_", "σ"))


@DOCUMENT.check("18")
def _potential(c: Claim) -> Evidence:
    yield check("printed", c.printed, in_print(equations().V), "V")
