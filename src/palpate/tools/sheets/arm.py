"""The arm that a document is judged by: its derivation with symbols, with numbers, and under a constraint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy as sp

from palpate.errors import InvalidInput, UnknownSymbol
from palpate.forking import cached_property
from palpate.tools.derive.start import derive
from palpate.tools.review.algebra.convert import to_sympy
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.tree import Name, Sym, as_grid
from palpate.tools.review.compare.case import Case, Reference
from palpate.tools.review.compare.derivation import DerivationReader, is_derivation
from palpate.tools.review.compare.references import is_robot
from palpate.tools.review.read.reading import SymbolText
from palpate.tools.sheets.notions import Notion
from palpate.tools.sheets.seen import Seen

Constraint = dict[int, Any]


class Arm:
    """A robot or a derivation, ready to judge formulas.

    Args:
        value: the robot or the derivation.
        equal: one name of the writer for several symbols of the reference.
    """

    def __init__(self, value: Any, equal: Mapping[str, Sequence[str]]) -> None:
        if not is_robot(value) and not is_derivation(value):
            raise InvalidInput(f"{value!r:.60} is neither a robot nor a derivation")
        self.value, self.equal = value, dict(equal)
        self.name: str = str(getattr(value, "name", "arm"))
        self._references: dict[Any, Reference] = {}

    @cached_property
    def derivation(self) -> Any:
        """The derivation with symbols."""
        return derive(self.value) if is_robot(self.value) else self.value

    @property
    def joints(self) -> int:
        """The number of coordinates."""
        return len(self.derivation.q)

    @cached_property
    def table(self) -> SymbolTable:
        """Its symbols."""
        table = DerivationReader(self.derivation).table
        return table

    @property
    def closed(self) -> bool:
        """Whether there are closed forms."""
        return getattr(self.derivation, "engine", "") == "closed"

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        """How a parameter such as l1 is written: l1, l_1, l_{1}."""
        made = {}
        for name in self.derivation.parameters:
            letters, digits = re.fullmatch(r"([A-Za-z]+)(\d*).*", str(name), re.DOTALL).groups()  # pyright: ignore[reportOptionalMemberAccess]
            if digits:
                made[str(name)] = re.compile(rf"(?<![A-Za-z]){letters}_?\{{?{digits}(?!\d)")
        return made

    def _modes(self) -> Iterator[tuple[str, Mapping[str, float]]]:
        """Which parameters are numbers: all, all but gravity, none."""
        values = getattr(self.derivation, "values", {}) if is_robot(self.value) else {}
        if values and self.closed:
            yield "numbers", values
            if "g" in values:
                yield "numbers and g", {name: value for name, value in values.items() if name != "g"}
        yield "symbols", {}

    def case(self, text: str, notion: Notion, names: Mapping[str, Any], constraint: Constraint | None = None) -> Case:
        """Read a formula: with numbers for the parameters if it holds none of them as a symbol, or only g.

        Raises:
            UnknownSymbol: a symbol that stands for nothing known.
            UnreadableExpression, BadShape, TooLarge, InvalidInput: it cannot be read, or compared.
        """
        modes = list(self._modes())
        for number, (mode, values) in enumerate(modes, 1):
            if any(pattern.search(text) for name, pattern in self._patterns.items() if name in values):
                continue  # it holds a parameter by its own name
            try:
                reference = self._reference(mode, values, notion, constraint)
                more = notion.names(Seen(self.derivation, values, constraint)) if notion.names else {}
                return reference.case(text, notion.what, {**names, **more} or None, notion.entry)
            except UnknownSymbol:
                if number == len(modes):
                    raise
        raise InvalidInput(f"{self.name} has no way to read this")  # the last mode has no values

    def _reference(
        self, mode: str, values: Mapping[str, float], notion: Notion, constraint: Constraint | None
    ) -> Reference:
        key = (mode, notion.title if notion.make else "", tuple((constraint or {}).items()))
        if key not in self._references:
            self._references[key] = Reference(self._value(values, notion, constraint), None, self._equal(values))
        return self._references[key]

    def _equal(self, values: Mapping[str, float]) -> dict[str, Sequence[str]]:
        return {} if values else self.equal

    def _value(self, values: Mapping[str, float], notion: Notion, constraint: Constraint | None) -> Any:
        if not values and not constraint and notion.make is None:
            return self.value if is_robot(self.value) and not self.closed else self.derivation
        seen = Seen(self.derivation, values, constraint)
        if notion.make is None:
            return seen
        expression = notion.make(seen)
        if expression is None:
            raise InvalidInput(f"{self.name} has no {notion.title}")
        return seen.with_expression(expression)

    def coordinate(self, label: Name) -> int | None:
        """The coordinate that a name is, from 0."""
        found = self.table.copy().find(label)
        return (
            self.table.coordinates.index(found.name)
            if isinstance(found, Sym) and found.name in self.table.coordinates
            else None
        )

    def constrained(self, coordinate: int, text: str) -> Any:
        """The right side of a constraint as a function of the other coordinates; None if it is none.

        Raises:
            UnreadableExpression: it cannot be read.
        """
        table = self.table.copy()
        grid = as_grid(SymbolText(text, table).claims()[-1])
        if grid.shape != (1, 1):
            return None
        expression = to_sympy(grid, table.symbols)[0, 0]
        others = set(self.derivation.q) - {self.derivation.q[coordinate]}
        free = expression.free_symbols
        linear = all(not expression.diff(x).free_symbols for x in free)
        return sp.nsimplify(expression) if free and free <= others and linear else None
