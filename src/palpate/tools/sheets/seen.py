"""A derivation as a document uses it: with numbers for its parameters, or with a constraint between its coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from palpate.errors import NotApplicable
from palpate.forking import cached_property


class Seen:
    """A derivation whose symbols are partly replaced; it can be a reference in its place.

    Args:
        derivation: of the arm.
        values: numbers for some of its parameters.
        constraint: coordinates that are functions of the others, by the index of the coordinate.
        expression: what `self["expression"]` is, any other expression of the same symbols.
    """

    def __init__(
        self,
        derivation: Any,
        values: Mapping[str, float] | None = None,
        constraint: Mapping[int, Any] | None = None,
        expression: Any = None,
    ) -> None:
        self.derivation, self.values, self.constraint = derivation, dict(values or {}), dict(constraint or {})
        self.q, self.v, self.a = derivation.q, derivation.v, derivation.a
        self.parameters = {name: one for name, one in derivation.parameters.items() if name not in self.values}
        self.forces, self.names = derivation.forces, derivation.names
        self.expression = expression
        self._seen: dict[str, Any] = {}

    M = property(lambda self: self["M"])

    def with_expression(self, expression: Any) -> Seen:
        """The same with another expression."""
        return Seen(self.derivation, self.values, self.constraint, expression)

    @cached_property
    def _replaced(self) -> dict[Any, Any]:
        made: dict[Any, Any] = {sp.Symbol(name): sp.Rational(repr(value)) for name, value in self.values.items()}
        for k, right in self.constraint.items():
            made[self.q[k]], made[self.v[k]] = right, self.rate(right)
            made[self.a[k]] = self.rate(self.rate(right))
        return made

    def replaced(self, expression: Any) -> Any:
        """An expression with the numbers and the constraint put in."""
        return expression.xreplace(self._replaced) if self._replaced else expression

    def __getitem__(self, name: str) -> Any:
        if name == "expression":
            return self.replaced(self.expression)
        if name not in self._seen:
            self._seen[name] = self.replaced(self.derivation[name])
        return self._seen[name]

    def definitions(self, name: str) -> list[tuple[Any, Any]]:
        """Intermediate symbols of a quantity."""
        if name == "expression":
            return []
        return [(symbol, self.replaced(line)) for symbol, line in self.derivation.definitions(name)]

    def rate(self, expression: Any) -> Any:
        """The time derivative."""
        moving = [*zip(self.q, self.v), *zip(self.v, self.a)]
        return sum((expression.diff(x) * dx for x, dx in moving), sp.Integer(0) * expression)

    @cached_property
    def lagrangian(self) -> Any:
        """T − V of the closed form, with everything put in.

        Raises:
            NotApplicable: the arm is derived line by line.
        """
        if self.derivation.engine != "closed":
            raise NotApplicable("no closed form of the energies: the arm has too many joints")
        return self["T"] - self["V"]

    def momentum(self, joint: int) -> Any:
        """∂L/∂q̇ of a joint."""
        return self.lagrangian.diff(self.v[joint])

    def slope(self, joint: int) -> Any:
        """∂L/∂q of a joint."""
        return self.lagrangian.diff(self.q[joint])

    def generalised_force(self, joint: int) -> Any:
        """d/dt ∂L/∂q̇ − ∂L/∂q of a joint: with a constraint, not the torque of that joint alone."""
        return self.rate(self.momentum(joint)) - self.slope(joint)
