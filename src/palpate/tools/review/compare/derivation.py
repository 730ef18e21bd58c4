"""A derivation as reference: its quantities as trees, its symbols in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from palpate.errors import InvalidInput, PalpateError
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.convert import from_sympy, spellings
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.tree import Grid, Name, Node, Ref, Sym, Value, as_grid, rename
from palpate.tools.review.algebra.wanted import quantity, torque_names


def is_derivation(value: Any) -> bool:
    """Whether this is a derivation: it has coordinates, and a mass matrix."""
    return hasattr(value, "q") and hasattr(value, "M")


class DerivationReader:
    """Reads the quantities of a derivation as trees, and its symbols into a table.

    A derivation has coordinates q, their rates v and a, its parameters, quantities by name and their `definitions`.
    """

    def __init__(self, derivation: Any) -> None:
        self.derivation = derivation
        self._wanted: dict[str, Grid] = {}
        self.table = SymbolTable(coordinates=[spelling(one) for one in derivation.q])
        self.table.symbols = dict(zip(self.table.coordinates, derivation.q))
        for dots, symbols in ((1, derivation.v), (2, derivation.a)):
            for name, one in zip(self.table.coordinates, symbols):
                dotted, text = name._replace(dots=dots), spelling(one)
                self.table.originals[text], self.table.symbols[dotted], self.table.known[dotted] = dotted, one, text
        self.table.learn(str(name) for name in derivation.parameters)

    def wanted(self, what: str) -> Grid:
        """A quantity as trees; what the derivation does not hold is made of M, C and g.

        Raises:
            InvalidInput: it does not have this quantity.
        """
        if what not in self._wanted:
            self._wanted[what] = self._made(what)
        return self._wanted[what]

    def _made(self, what: str) -> Grid:
        stored = self._stored({"h": "drift"}.get(what, what))
        if stored is not None:
            return as_grid(stored)
        makers: dict[str, Callable[[], Value]] = {"FK": self._pose, "c": self._coriolis, "tau": self._torque}
        makers["equation"] = lambda: algebra.plus(self.wanted("tau"), self._forces(), minus=True)
        if what not in makers:
            raise InvalidInput(f"the derivation holds no {what!r} ({quantity(what).title})")
        return as_grid(makers[what]())

    def _stored(self, name: str) -> Value | None:
        """A quantity that the derivation has itself."""
        try:
            return self._read(self.derivation[name], self.derivation.definitions(name))
        except PalpateError:
            return None

    def _read(self, value: Any, lines: Sequence[tuple[Any, Any]] = ()) -> Value:
        """An expression, with the intermediate symbols that its lines define looked through."""
        expressions = [value, *(expression for _, expression in lines)]
        self.table.learn(spellings(one for one in expressions if hasattr(one, "free_symbols")))
        read = from_sympy(value, self.table)
        bodies: dict[Name, Node] = {}
        for symbol, expression in lines:
            if (called := self.table.originals.get(str(symbol))) is None:
                continue  # nothing is written with it
            line = from_sympy(expression, self.table)
            assert not isinstance(line, Grid)
            bodies[called] = Ref(called, rename(line, bodies))
            self.table.known.pop(called, None)  # an intermediate symbol is not part of the writer's notation
        return as_grid(read).each(lambda node: rename(node, bodies)) if bodies else read

    # ------------------------------------------------------------------ made of others

    def _pose(self) -> Value:
        position, rotation = self._stored("position"), self._stored("rotation")
        if not isinstance(position, Grid):
            raise InvalidInput("the derivation holds no position of the tool")
        if not isinstance(rotation, Grid):
            return position
        rows = [[*rotation.rows[i], position.rows[i][0]] for i in range(3)]
        return algebra.grid([*rows, [algebra.ZERO, algebra.ZERO, algebra.ZERO, algebra.ONE]])

    def _coriolis(self) -> Value:
        return algebra.times(self.wanted("C"), self._column(1))

    def _torque(self) -> Value:
        inertial = algebra.times(self.wanted("M"), self._column(2))
        return algebra.plus(algebra.plus(inertial, self._coriolis()), self.wanted("g"))

    def _forces(self) -> Value:
        forces = getattr(self.derivation, "forces", None)
        if forces is not None:
            read = as_grid(self._read(forces))
            self.table.forces |= {node.name for _, node in read.entries() if isinstance(node, Sym)}
            return read
        self.table.learn(str(name) for name in torque_names(self.table.coordinates))
        return algebra.grid([[Sym(name)] for name in torque_names(self.table.coordinates)])

    def _column(self, dots: int) -> Grid:
        return algebra.grid([[Sym(name._replace(dots=dots))] for name in self.table.coordinates])


def spelling(one: Any) -> str:
    """The spelling of a coordinate: text, a SymPy symbol, or a function of time."""
    return one if isinstance(one, str) else str(getattr(one, "func", one) if getattr(one, "args", ()) else one)
