"""Document 004: the robot and its equations in the document's own symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import pi
from types import MappingProxyType
from typing import Any

import sympy as sp

import palpate as pp
from palpate.tools.derive import Derivation
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import (
    both,
    formula,
    remembered,
)

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
