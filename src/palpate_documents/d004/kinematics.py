"""Document 004: kinematics, centres of mass, Jacobians, tensors, potential energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import (
    formula,
    formulas,
    printed,
    reading,
)
from palpate_documents.d004 import DOCUMENT
from palpate_documents.d004.abbreviations import ROTATION
from palpate_documents.d004.arm import (
    A2,
    A3,
    CENTRES,
    LINK_MASSES,
    STATE,
    TENSORS,
    arm,
    equations,
    how,
    in_print,
    one_tensor,
)


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
