"""Lagrange, Newton–Euler and projected Newton–Euler side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.derive.closed.forms import ClosedForms
from palpate.derive.writing.document import Formula, Section, as_text
from palpate.equations.algebra.graph import Node, evaluate
from palpate.equations.algebra.residues import values_at_random
from palpate.equations.dynamics.graph_methods import lagrange_torques, projected_torques
from palpate.equations.dynamics.recursive import inverse_dynamics
from palpate.equations.dynamics.recursive_forms import RecursiveForms
from palpate.equations.spelling.styles import Text
from palpate.errors import InvalidInput

if TYPE_CHECKING:
    from palpate.derive.derivation import Derivation

ROUTES = {
    "lagrange": "τ = d/dt ∂L/∂q̇ − ∂L/∂q with L = T − V",
    "newton-euler": "forces and moments of every link, m a and I ω̇ + ω × I ω, summed from the tips to the base",
    "projected": "τ = Σ J_Pᵀ m (J_P q̈ + J̇_P q̇ − g) + J_Oᵀ (I ω̇ + ω × I ω)",
}


@dataclass(frozen=True)
class Comparison:
    """Torques by several methods, and whether they are the same.

    Attributes:
        agree: whether all methods gave the same torques.
        how: how that was decided.
        methods: those compared.
        sections: the results, to print.
    """

    name: str
    agree: bool
    how: str
    methods: tuple[str, ...]
    sections: tuple[Section, ...]
    text: str

    def __bool__(self) -> bool:
        return self.agree

    def __str__(self) -> str:
        return self.text


def compared(derivation: Derivation) -> Comparison:
    """Derive the torques in every way there is and compare them."""
    forms = derivation.forms
    if isinstance(forms, ClosedForms):
        methods, agree, sections = _closed(forms)
        how = "term by term in normal form"
    elif isinstance(forms, RecursiveForms):
        methods, agree, sections, how = _recursive(forms)
    else:
        raise InvalidInput("a system given by its energies has Lagrange's method only; nothing to compare")
    verdict = f"{'They agree' if agree else 'They DIFFER'}, {how}."
    closing = Section("", (verdict,))
    text = as_text([*sections, closing], derivation.notation(Text()))
    return Comparison(derivation.name, agree, how, tuple(methods), (*sections, closing), text)


def _closed(forms: ClosedForms) -> tuple[list[str], bool, list[Section]]:
    closed = forms.closed
    ways = {"lagrange": closed.lagrange, "newton-euler": closed.newton_euler, "projected": closed.projected}
    agree = all(x == y for way in ways.values() for x, y in zip(way, closed.lagrange))
    sections = []
    for name, torques in ways.items():
        written = forms.by_rates(torques)
        lines = [Formula(label, x) for label, x in zip(forms.names.tau, written)]
        sections.append(Section(_title(name), (ROUTES[name],), tuple(lines)))
    return list(ways), agree, sections


def _title(name: str) -> str:
    return {"lagrange": "Lagrange", "newton-euler": "Newton–Euler", "projected": "Projected Newton–Euler"}[name]


def _recursive(forms: RecursiveForms) -> tuple[list[str], bool, list[Section], str]:
    chain = forms.chain
    ways = {"newton-euler": inverse_dynamics(chain, chain.v, chain.a), "projected": projected_torques(forms)}
    if not forms.model.mechanism.floating:
        ways = {"lagrange": lagrange_torques(forms), **ways}
    agree, how = _same(forms, ways)
    from palpate.equations.algebra.graph import Output
    from palpate.equations.code.program import make_program

    sections = []
    for name, torques in ways.items():
        output = Output("tau", (len(torques),), tuple(torques))
        counts = make_program([output], {"q": forms.names.q, "v": forms.names.v, "a": forms.names.a}).counts()
        sections.append(Section(_title(name), (ROUTES[name], f"{counts}")))
    return list(ways), agree, sections, how


def _same(forms: RecursiveForms, ways: dict[str, list[Node]]) -> tuple[bool, str]:
    quaternion = forms.names.quaternion
    try:
        agree = all(_same_in_field(list(ways.values()), seed, quaternion) for seed in range(3))
        return agree, "in exact arithmetic at three random points modulo 2⁶¹ − 1"
    except InvalidInput:  # a mimicking joint's offset, for one
        return _same_in_floats(forms, ways), "to 1e-9 at ten random states"


def _same_in_field(ways: list[list[Node]], seed: int, quaternion: Sequence[str]) -> bool:
    values = values_at_random([node for way in ways for node in way], seed, quaternion)
    n = len(ways[0])
    return all(values[i : i + n] == values[:n] for i in range(0, len(values), n))


def _same_in_floats(forms: RecursiveForms, ways: dict[str, list[Node]]) -> bool:
    rng = np.random.default_rng(0)
    values: dict[str, Any] = {name: p.value for name, p in forms.model.parameters.items()}
    for _ in range(10):
        values |= {name: rng.uniform(-1, 1) for name in (*forms.names.q, *forms.names.v, *forms.names.a)}
        results = [np.array(evaluate(way, values)) for way in ways.values()]
        if any(np.abs(x - results[0]).max() > 1e-9 * max(1.0, np.abs(results[0]).max()) for x in results):
            return False
    return True
