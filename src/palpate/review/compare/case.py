"""The two sides of a check, read: what is given, what it should be, and the symbols both use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from numbers import Rational, Real as RealNumber
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, PalpateError, UnknownName, UnknownSymbol, UnluckyPoint
from palpate.lazy import offered
from palpate.review.algebra import tree as algebra
from palpate.review.algebra.convert import from_sympy, rates, spellings
from palpate.review.algebra.names import SymbolTable, spelled
from palpate.review.algebra.points import Field, Modular, Point, Real, Space
from palpate.review.algebra.tree import Grid, Name, Node, Num, Ref, Sym, Value, as_grid, fresh, rename, walk
from palpate.review.algebra.wanted import quantity, torque_names
from palpate.review.read.lexer import is_latex
from palpate.review.read.reading import SymbolText


def is_derivation(value: Any) -> bool:
    """Whether this is a derivation: it has coordinates, and a mass matrix."""
    return hasattr(value, "q") and hasattr(value, "M")


class DerivationReader:
    """Reads the quantities of a derivation as trees, and its symbols into a table.

    A derivation has coordinates q, their rates v and a, its parameters, quantities by name and their `definitions`.
    """

    def __init__(self, derivation: Any) -> None:
        self.derivation = derivation
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
        if what == "equation" and hasattr(self.derivation, what):
            return as_grid(self._read(self.derivation.equation))
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
            line = from_sympy(expression, self.table)
            assert not isinstance(line, Grid)
            called = self.table.originals[str(symbol)]
            bodies[called] = Ref(called, rename(line, bodies))
            self.table.known.pop(called, None)  # an intermediate symbol is nobody's notation
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
            return self._read(forces)
        self.table.learn(str(name) for name in torque_names(self.table.coordinates))
        return algebra.grid([[Sym(name)] for name in torque_names(self.table.coordinates)])

    def _column(self, dots: int) -> Grid:
        return algebra.grid([[Sym(name._replace(dots=dots))] for name in self.table.coordinates])


def spelling(one: Any) -> str:
    """The spelling of a coordinate: text, a SymPy symbol, or a function of time."""
    return one if isinstance(one, str) else str(getattr(one, "func", one) if getattr(one, "args", ()) else one)


Symbols = Mapping[str, Any] | Iterable[str] | None
Meanings = dict[str, Any]  # what the writer's names stand for; None for names that are only said to be valid
Equal = Mapping[str, Sequence[str]]  # one name of the writer for several symbols of the reference


@dataclass
class Case:
    """A check ready to be made.

    Attributes:
        what: the quantity.
        table: the symbols.
        claims: what is given; several if the text is a chain of equalities.
        wanted: what it should be.
        text: the text given, or None for SymPy.
        field: the arithmetic.
    """

    what: str
    table: SymbolTable
    claims: list[Grid]
    wanted: Grid
    text: str | None
    field: Field

    @property
    def latex(self) -> bool:
        """Whether the answer is printed in LaTeX."""
        return self.text is not None and is_latex(self.text)


Reference = tuple[Grid, SymbolTable]  # what is right, and the symbols it uses


def case(
    given: Any, reference: Any, what: str, symbols: Symbols, coordinates: Sequence[Any] | None, equal: Equal
) -> Case:
    """Read both sides of a check; `equal` gives several symbols of the reference one name."""
    meanings = dict(symbols) if isinstance(symbols, Mapping) else dict.fromkeys(map(str, symbols or ()))
    names = [spelling(one) for one in coordinates or ()]
    if is_robot(reference):  # its numbers if nothing but its state occurs, else its derivation
        try:
            return _finished(given, what, meanings, *_of_robot(reference, what, names))
        except UnknownSymbol:
            reference = offered("derivation of a robot")(reference)
    if is_derivation(reference):
        reader = DerivationReader(reference)
        read = _merged(reader.wanted(what), reader.table, equal)
    elif callable(reference) and not hasattr(reference, "free_symbols"):
        read = _of_function(reference, meanings, names)
    else:
        read = _merged(*_of_expression(reference, what, meanings, names), equal)
    return _finished(given, what, meanings, *read)


def _merged(wanted: Grid, table: SymbolTable, equal: Equal) -> Reference:
    """The reference with one name for symbols that the writer does not tell apart."""
    names: dict[Name, Node] = {}
    for text, several in equal.items():
        for one in several:
            old = table.originals.get(one, spelled(one))
            if old not in table.known:
                raise UnknownName("symbol", one, sorted(set(table.known.values())))
            names[old] = Sym(spelled(text))
            table.known.pop(old)
        table.learn([text])
    return wanted.each(lambda node: rename(node, names)), table


def _finished(given: Any, what: str, meanings: Meanings, wanted: Grid, table: SymbolTable) -> Case:
    """Read what is given with the symbols of the reference."""
    if what == "equation":
        table.learn(str(name) for name in torque_names(table.coordinates) if name not in table.known)
    _define(table, meanings)
    _refuse_unknown(given, table)
    _learn(table, [given])
    claims = [as_grid(value) for value in _read(given, table, what)]
    trees = [node for grid in (*claims, wanted) for _, node in grid.entries()]
    many = any(isinstance(one, Num) and (one.decimals or 0) > 12 for tree in trees for one in walk(tree))
    field_ = Real(None) if wanted.is_numeric or many else Modular()  # so many decimals must be rounded
    return Case(what, table, claims, wanted, given if isinstance(given, str) else None, field_)


# ------------------------------------------------------------------ references


def is_robot(value: Any) -> bool:
    """Whether this is a numeric robot."""
    return hasattr(value, "mass_matrix") and hasattr(value, "nv")


def _of_robot(robot: Any, what: str, coordinates: list[str]) -> Reference:
    """The numbers of a robot."""
    kind = quantity(what)
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"{robot!r} has {robot.nq} coordinates for {robot.nv} freedoms",
            hint="a free base has quaternions; give a derivation or an expression as reference",
        )
    table = SymbolTable(coordinates=coordinates or [f"q{number}" for number in range(1, robot.nv + 1)])
    if kind.numeric is None:
        raise InvalidInput(f"a numeric robot has no {what!r}", hint="give a derivation or an expression as reference")
    function = kind.numeric

    def numbers(point: Point) -> Any:
        state = ([point.value(name._replace(dots=dots)) for name in table.coordinates] for dots in range(3))
        q, v, a = (np.array(values, dtype=float) for values in state)
        return np.atleast_2d(np.asarray(function(robot, q, v, a), dtype=float))

    return _numeric(numbers), table


def _of_function(function: Callable[..., Any], meanings: Meanings, coordinates: list[str]) -> Reference:
    """The numbers that a function of {name: value} gives."""
    table = SymbolTable(meanings, coordinates)

    def numbers(point: Point) -> Any:
        values = {text: float(point.value(name)) for name, text in table.known.items()}
        for name, dots in product(table.coordinates, (1, 2)):
            dotted = name._replace(dots=dots)
            values.setdefault("d" * dots + table.plain(name), float(point.value(dotted)))
        outputs = np.asarray(function(values), dtype=float)
        if not np.isfinite(outputs).all():
            raise UnluckyPoint("the reference is not finite at a random point")
        return outputs.reshape(-1, 1) if outputs.ndim < 2 else outputs

    return _numeric(numbers), table


def _numeric(numbers: Callable[[Point], Any]) -> Grid:
    """The matrix whose entries a function of a point gives, all at once; the last points are remembered."""
    matrix = lru_cache(maxsize=20)(numbers)
    rows, columns = matrix(Space(Real(None), []).point(0)).shape
    return Grid(tuple(tuple(algebra.Numeric(matrix, i, j) for j in range(columns)) for i in range(rows)))


def _of_expression(value: Any, what: str, meanings: Meanings, coordinates: list[str]) -> Reference:
    """Text, SymPy, numbers or nested lists; coordinates that nobody named are those that move."""
    kind, table = quantity(what), SymbolTable(coordinates=coordinates)
    _learn(table, [value])
    table.learn(name for name, meaning in meanings.items() if meaning is None)
    table.open = True
    wanted = as_grid(_read(value, table, what)[0])
    table.open = False
    count = wanted.shape[1 if kind.right else 0] if kind.left or kind.right else 1
    table.infer_coordinates(wanted.angular(), count)
    return wanted, table


# ------------------------------------------------------------------ reading


def _read(value: Any, table: SymbolTable, what: str) -> list[Value]:
    """Text, SymPy, numbers or nested lists as trees."""
    if isinstance(value, str):
        text = SymbolText(value, table)
        return text.equations() if what == "equation" else text.claims()
    if isinstance(value, Grid | Node):
        return [value]
    if isinstance(value, RealNumber):
        return [number_node(value)]
    read = from_sympy(_sympy_value(value), table)
    names: dict[Name, Node] = {n: Ref(n, body) for n, body in table.definitions.items() if not isinstance(body, Grid)}
    names |= {alias: Sym(symbol) for symbol, alias in table.aliases.items()}
    return [as_grid(read).each(lambda node: fresh(rename(node, names)))]


def _sympy_value(value: Any) -> Any:
    """A SymPy object, or nested lists as a SymPy matrix."""
    import sympy

    try:
        made = sympy.Matrix(value) if isinstance(value, list | tuple | np.ndarray) else value
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{value!r:.60} is not a matrix: {error}") from error
    if not isinstance(made, sympy.Expr | sympy.MatrixBase | sympy.Equality):
        raise InvalidInput(
            f"{value!r:.60} ({type(value).__name__}) is not an expression",
            hint="give text, a SymPy expression, matrix or equation, a number, or nested lists of these",
        )
    return made


def _sympy_or_none(value: Any) -> Any:
    """SymPy and nested lists as SymPy; None for text, numbers and trees."""
    import sympy

    made = _sympy_value(value) if isinstance(value, list | tuple | np.ndarray) else value
    return made if isinstance(made, sympy.Basic | sympy.MatrixBase) else None


def number_node(value: Any) -> Num:
    """A Python number as a node."""
    if isinstance(value, Rational):
        return Num(Fraction(value))
    if not np.isfinite(value):
        raise InvalidInput(f"{value} in an expression", hint="numbers are finite")
    text = repr(float(value))
    return Num(Fraction(text), len(text.partition(".")[2]))


def _learn(table: SymbolTable, values: Iterable[Any]) -> None:
    """Take in the symbols of SymPy expressions."""
    expressions = [made for value in values if (made := _sympy_or_none(value)) is not None]
    table.learn(spellings(expressions))
    for name in rates(expressions, table):
        table.known.setdefault(name, str(name))
    for symbol in set().union(*(one.free_symbols for one in expressions)) if expressions else ():
        if symbol.name in table.originals:
            table.symbols.setdefault(table.originals[symbol.name], symbol)


def _refuse_unknown(given: Any, table: SymbolTable) -> None:
    """A SymPy expression may use known symbols only."""
    expression = _sympy_or_none(given)
    trial = SymbolTable(coordinates=[str(name) for name in table.coordinates])
    for text in spellings([] if expression is None else [expression]):
        trial.learn([text])
        if text not in table.originals and table.find(trial.originals[text]) is None:
            raise UnknownName("symbol", text, sorted(set(table.known.values())))


def _define(table: SymbolTable, meanings: Meanings) -> None:
    """Take in what the writer's names stand for; definitions may use each other, in any order.

    One that cannot be read is an error where its name is used, not before: a list may serve many formulas.
    """
    table.learn(name for name, meaning in meanings.items() if meaning is None)
    waiting = {name: meaning for name, meaning in meanings.items() if meaning is not None}
    _learn(table, waiting.values())
    while waiting:
        left: dict[str, Any] = {}
        for name, value in waiting.items():
            try:
                table.unreadable.pop(spelled(name), None)
                _stand_for(table, name, _read(value, table, "expression")[-1])
            except UnknownSymbol as error:
                left[name] = value
                table.unreadable[spelled(name)] = error
        if len(left) == len(waiting):
            return
        waiting = left


def _stand_for(table: SymbolTable, name: str, value: Value) -> None:
    if isinstance(value, Grid) and value.shape == (1, 1):
        value = value.rows[0][0]
    if isinstance(value, Sym):
        table.add_alias(name, value.name)
    else:
        table.define(name, value)
