"""Any expression of a derivation, written as a person would: quotients of normal forms, roots by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from palpate.derive.closed.present import Presenter
from palpate.derive.closed.trig import NotTrigonometric, Ring, Trig


class Tidy:
    """Writes expressions over one ring.

    Args:
        ring: of the derivation.
        presenter: writes its normal forms.
        squares: for a symbol that stands for a root, what its square is.
    """

    def __init__(self, ring: Ring, presenter: Presenter, squares: Mapping[str, Any]) -> None:
        self.ring, self.presenter, self.squares = ring, presenter, squares

    def __call__(self, expression: Any) -> Any:
        """The expression, rewritten; unchanged if it holds something that is neither a wave nor a quotient."""
        if hasattr(expression, "shape"):
            return sp.ImmutableMatrix([[self(x) for x in row] for row in expression.tolist()])
        try:
            return self._quotient(sp.sympify(expression))
        except NotTrigonometric:
            return sp.factor_terms(expression)

    def _quotient(self, expression: Any) -> Any:
        try:
            return self._polynomial(expression)
        except NotTrigonometric:
            pass
        top, bottom = sp.fraction(sp.cancel(sp.together(expression)))
        return self._polynomial(top) / self._polynomial(bottom)

    def _polynomial(self, expression: Any) -> Any:
        normal = self.ring.read(expression)
        short = self._reduced(normal)
        return self.presenter.write(short if len(short.terms) < len(normal.terms) else normal)

    def _reduced(self, normal: Trig) -> Trig:
        """With every square of a root replaced by what it is."""
        for name, square in self.squares.items():
            by_power = normal.coefficients([name])
            total = self.ring.zero
            inside = self.ring.read(square)
            for monomial, inner in by_power.items():
                power = self.ring.powers(monomial).get(name, 0)
                total = total + inner * inside ** (power // 2) * self.ring.variable(name) ** (power % 2)
            normal = total
        return normal

    def is_zero(self, expression: Any) -> bool:
        """Whether an expression vanishes identically, decided in normal form."""
        top, _ = sp.fraction(sp.together(expression))
        return not self._reduced(self.ring.read(top))
