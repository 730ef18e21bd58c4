"""Formulas of a derivation's quantities, vectors and scalars, for its worked steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palpate.tools.derive.closed.forms import ClosedForms
from palpate.tools.derive.closed.model import Vector
from palpate.tools.derive.closed.trig import TrigPolynomial
from palpate.tools.derive.writing.document import Formula

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation


class StepWriter:
    """Short ways to a formula."""

    def __init__(self, derivation: Derivation, forms: ClosedForms) -> None:
        self.derivation, self.forms, self.closed = derivation, forms, forms.closed
        self.numbers = forms.model.numbers
        self.heavy = [n for n, named in zip(self.numbers, forms.model.links) if named.link.mass > 0]

    def quantities(self, *names: str) -> tuple[Formula, ...]:
        """Quantities by name."""
        pairs = [(self.derivation.quantity(name).symbol, name) for name in names]
        return tuple(Formula(symbol, self.derivation[name]) for symbol, name in pairs)

    def vector(self, label: str, value: Vector) -> Formula:
        """A vector by rates and accelerations."""
        return Formula(label, self.forms.by_rates(value))

    def scalar(self, label: str, value: TrigPolynomial) -> Formula:
        """A scalar by rates and accelerations."""
        return Formula(label, self.forms.by_rates([value])[0])
