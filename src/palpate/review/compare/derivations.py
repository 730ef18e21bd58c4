"""What a derivation says a quantity is.

A derivation has coordinates `q`, velocities `v`, accelerations `a`, `parameters` by name, and quantities by name,
derivation["M"]; it may write them with intermediate symbols, `definitions("M")`. The plainer form with attributes
`coordinates`, `rates`, `symbols`, `M`, `C`, `g`, `J`, `T`, `V`, `fk` is read too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from palpate.errors import InvalidInput, PalpateError
from palpate.review.algebra.convert import from_sympy
from palpate.review.algebra.names import SymbolTable
from palpate.review.algebra.tree import ONE, ZERO, Grid, Name, Node, Ref, Sym, Value, as_grid, grid, plus, rename, times
from palpate.review.algebra.wanted import quantity, torque_names

_STORED = {"h": "drift", "tau": "tau", "Jdot": "Jdot"}  # where a derivation's name is not ours
_ATTRIBUTES = {"FK": "fk"}


def is_derivation(value: Any) -> bool:
    """Whether this is a derivation: it has coordinates, and a mass matrix."""
    return (hasattr(value, "coordinates") or hasattr(value, "q")) and hasattr(value, "M")


class DerivationReader:
    """Reads the quantities of a derivation as trees, and its symbols into a table."""

    def __init__(self, derivation: Any) -> None:
        self.derivation = derivation
        coordinates = _first(derivation, "coordinates", "q")
        self.table = SymbolTable(coordinates=[spelling(one) for one in coordinates])
        self.originals: dict[Name, Any] = dict(zip(self.table.coordinates, coordinates))
        for dots, names in ((1, ("rates", "v")), (2, ("accelerations", "a"))):
            for name, one in zip(self.table.coordinates, _first(derivation, *names)):
                self._learn_as(name._replace(dots=dots), one)
        parameters = getattr(derivation, "symbols", None) or getattr(derivation, "parameters", None) or {}
        self.table.learn(str(name) for name in parameters)

    def _learn_as(self, name: Name, one: Any) -> None:
        text = spelling(one)
        self.table.originals[text], self.originals[name] = name, one
        self.table.known[name] = text

    def wanted(self, what: str) -> Grid:
        """A quantity as trees; what the derivation does not hold is made of M, C and g.

        Raises:
            InvalidInput: it does not have this quantity.
        """
        stored = self._stored(_STORED.get(what, what))
        if stored is not None:
            return as_grid(stored)
        makers: dict[str, Callable[[], Value]] = {"FK": self._pose, "c": self._coriolis, "tau": self._torque}
        makers["equation"] = lambda: plus(self.wanted("tau"), self._forces(), minus=True)
        if what not in makers:
            raise InvalidInput(f"the derivation holds no {what!r} ({quantity(what).title})")
        return as_grid(makers[what]())

    def _stored(self, name: str) -> Value | None:
        """A quantity the derivation has itself."""
        value = getattr(self.derivation, _ATTRIBUTES.get(name, name), None)
        if value is not None and not callable(value):
            return self._read(value, name)
        if not hasattr(self.derivation, "__getitem__"):
            return None
        try:
            return self._read(self.derivation[name], name)
        except PalpateError:
            return None

    def _read(self, value: Any, name: str) -> Value:
        lines = self._lines(name)
        self.table.learn(_names([value, *(expression for _, expression in lines)]))
        read = from_sympy(value, self.table)
        bodies: dict[Name, Node] = {}
        for symbol, expression in lines:
            line = from_sympy(expression, self.table)
            assert not isinstance(line, Grid)
            called = self.table.originals[str(symbol)]
            bodies[called] = Ref(called, rename(line, bodies))
            self.table.known.pop(called, None)  # an intermediate symbol is nobody's notation
        if not bodies:
            return read
        return as_grid(read).each(lambda node: rename(node, bodies))

    def _lines(self, name: str) -> list[tuple[Any, Any]]:
        definitions = getattr(self.derivation, "definitions", None)
        if not callable(definitions):
            return []
        try:
            lines: Any = definitions(name)
        except PalpateError:
            return []
        return list(lines)

    # ------------------------------------------------------------------ made of others

    def _pose(self) -> Value:
        position, rotation = self._stored("position"), self._stored("rotation")
        if not isinstance(position, Grid):
            raise InvalidInput("the derivation holds no position of the tool")
        if not isinstance(rotation, Grid):
            return position
        rows = [[*rotation.rows[i], position.rows[i][0]] for i in range(3)]
        return grid([*rows, [ZERO, ZERO, ZERO, ONE]])

    def _coriolis(self) -> Value:
        return times(self.wanted("C"), self._column(1))

    def _torque(self) -> Value:
        inertial = times(self.wanted("M"), self._column(2))
        return plus(plus(inertial, self._coriolis()), self.wanted("g"))

    def _forces(self) -> Value:
        forces = getattr(self.derivation, "forces", None)
        if forces is not None:
            return self._read(forces, "forces")
        self.table.learn(str(name) for name in torque_names(self.table.coordinates))
        return grid([[Sym(name)] for name in torque_names(self.table.coordinates)])

    def _column(self, dots: int) -> Grid:
        return grid([[Sym(name._replace(dots=dots))] for name in self.table.coordinates])


def _first(derivation: Any, *names: str) -> list[Any]:
    values = next((getattr(derivation, name) for name in names if hasattr(derivation, name)), ())
    return list(values)


def _names(values: list[Any]) -> list[str]:
    from palpate.review.algebra.convert import spellings

    return spellings([value for value in values if hasattr(value, "free_symbols")])


def spelling(one: Any) -> str:
    """The spelling of a coordinate: text, a SymPy symbol, or a function of time."""
    return one if isinstance(one, str) else str(getattr(one, "func", one) if getattr(one, "args", ()) else one)
