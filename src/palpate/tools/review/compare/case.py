"""The two sides of a check, read: what is given, what it should be, and the symbols both use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from numbers import Rational, Real as RealNumber
from typing import Any

import numpy as np

from palpate.errors import BadShape, InvalidInput, UnknownName, UnknownSymbol, UnluckyPoint, UnreadableExpression
from palpate.forking import cached_property
from palpate.tools.derive.start import derive
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.convert import from_sympy, rates, spellings
from palpate.tools.review.algebra.names import SymbolTable, spelled
from palpate.tools.review.algebra.points import Field, Modular, Point, Real, Space
from palpate.tools.review.algebra.tree import Grid, Name, Node, Num, Ref, Sym, Value, as_grid, distinct, fresh, rename
from palpate.tools.review.algebra.wanted import Selection, quantity, torque_names
from palpate.tools.review.compare.derivation import DerivationReader, is_derivation, spelling
from palpate.tools.review.compare.labels import selections
from palpate.tools.review.read.lexer import is_latex
from palpate.tools.review.read.reading import SymbolText

Symbols = Mapping[str, Any] | Iterable[str] | None
Meanings = dict[str, Any]  # what the writer's names stand for; None for names that are only said to be valid
Equal = Mapping[str, Sequence[str]]  # one name of the writer for several symbols of the reference


@dataclass(frozen=True)
class Claim:
    """One right side of what is given.

    Attributes:
        value: the expression or matrix.
        selection: the entry of the quantity that its left side names; None for the whole, or for a part to be found.
    """

    value: Grid
    selection: Selection | None = None


@dataclass
class Case:
    """A check ready to be made.

    Attributes:
        what: the quantity.
        table: the symbols.
        claims: what is given; several if the text is a chain of equalities, or has several lines.
        wanted: what it should be.
        text: the text given, or None for SymPy.
        field: the arithmetic.
        torques: symbols of an equation of motion that are torques or forces of the joints.
    """

    what: str
    table: SymbolTable
    claims: list[Claim]
    wanted: Grid
    text: str | None
    field: Field
    torques: frozenset[Name] = frozenset()

    @property
    def latex(self) -> bool:
        """Whether the answer is printed in LaTeX."""
        return self.text is not None and is_latex(self.text)

    @property
    def is_free(self) -> bool:
        """Whether no torque occurs in an equation whose reference has some."""
        entries = [entry for claim in self.claims for _, entry in claim.value.entries()]
        return bool(self.torques) and not any(algebra.symbols(entry) & self.torques for entry in entries)

    def without_torques(self) -> Case:
        """The same check against the equation of the free motion."""
        names: dict[Name, Node] = dict.fromkeys(self.torques, algebra.ZERO)
        return replace(self, wanted=self.wanted.each(lambda node: algebra.tidied(rename(node, names))))


ReferenceRead = tuple[Grid, SymbolTable]  # what is right, and the symbols it uses


class Reference:
    """What is right: for one formula, or for all formulas of a file, which share what was read of it.

    Args:
        value: text, SymPy, numbers, nested lists; a derivation, a robot or a function (see `check_derivation`).
        coordinates: the generalised coordinates in order, where the value does not say.
        equal: one name of the writer for several symbols of the reference.
    """

    def __init__(self, value: Any, coordinates: Sequence[Any] | None, equal: Equal) -> None:
        self.value, self.equal = value, equal
        self.coordinates = [spelling(one) for one in coordinates or ()]
        self._defined: dict[Any, SymbolTable] = {}  # tables with the writer's definitions taken in
        self._rounded: dict[int, tuple[Grid, bool]] = {}  # what is wanted, and whether its decimals must be rounded

    def case(self, given: Any, what: str, symbols: Symbols, entry: tuple[int, int] | None = None) -> Case:
        """Read both sides of a check; `entry` says which one of the quantity is given."""
        meanings = dict(symbols) if isinstance(symbols, Mapping) else dict.fromkeys(map(str, symbols or ()))
        if is_robot(self.value):  # its numbers if nothing but its state occurs, else its derivation
            try:
                return self._finished(given, what, meanings, entry, *self._numbers(what))
            except UnknownSymbol:
                return self._finished(given, what, meanings, entry, *self._derived(self._reader, what))
        if is_derivation(self.value):
            read = self._derived(self._reader, what)
        elif callable(self.value) and not hasattr(self.value, "free_symbols"):
            read = _of_function(self.value, meanings, self.coordinates)
        else:
            read = _merged(*_of_expression(self.value, what, meanings, self.coordinates), self.equal)
        return self._finished(given, what, meanings, entry, *read)

    @property
    def joints(self) -> int:
        """The number of coordinates of a robot or a derivation."""
        return self.value.nv if is_robot(self.value) else len(self.value.q)

    @cached_property
    def _reader(self) -> DerivationReader:
        return DerivationReader(derive(self.value) if is_robot(self.value) else self.value)

    @cached_property
    def _number_reader(self) -> DerivationReader:
        return DerivationReader(derive(self.value, parameters="numbers"))

    def _derived(self, reader: DerivationReader, what: str) -> ReferenceRead:
        wanted = reader.wanted(what)
        return _merged(wanted, reader.table.copy(), self.equal)

    def _numbers(self, what: str) -> ReferenceRead:
        """The numbers of a robot; an equation is derived with them, since it may be multiplied by anything."""
        return (
            self._derived(self._number_reader, what)
            if what == "equation"
            else _of_robot(self.value, what, self.coordinates)
        )

    def _finished(
        self, given: Any, what: str, meanings: Meanings, entry: tuple[int, int] | None, wanted: Grid, table: SymbolTable
    ) -> Case:
        """Read what is given with the symbols of the reference."""
        if what == "equation":
            table.learn(str(name) for name in torque_names(table.coordinates) if name not in table.known)
        table = self._with_definitions(table, meanings)
        _refuse_unknown(given, table)
        _learn(table, [given])
        labels, values = zip(*_labelled(given, table, what))
        grids = [as_grid(value) for value in values]
        if entry is None:
            parts = selections(labels, [one.shape for one in grids], wanted, what, table.coordinates)
        else:
            parts = [_selected(wanted, what, entry)] * len(grids)
        if id(wanted) not in self._rounded:
            self._rounded[id(wanted)] = (wanted, _has_many_decimals([wanted]))
        many = self._rounded[id(wanted)][1] or _has_many_decimals(grids)
        field_ = Real(None) if wanted.is_numeric or many else Modular()  # so many decimals must be rounded
        text, torques = given if isinstance(given, str) else None, _torques(wanted, table, what)
        return Case(what, table, [Claim(*pair) for pair in zip(grids, parts)], wanted, text, field_, torques)

    def _with_definitions(self, table: SymbolTable, meanings: Meanings) -> SymbolTable:
        """The table with the writer's definitions taken in: once for all formulas of a file that have the same."""
        if not meanings or not all(isinstance(one, str) for one in meanings.values()):
            _define(table, meanings)
            return table
        key = (tuple(table.known), tuple(meanings.items()))
        if key not in self._defined:
            _define(table, meanings)
            self._defined[key] = table
        return self._defined[key].copy()


def _has_many_decimals(grids: Iterable[Grid]) -> bool:
    """Whether a number has so many decimals that it must be one that was rounded."""
    nodes = distinct(*(node for grid in grids for _, node in grid.entries()))
    return any(isinstance(one, Num) and (one.decimals or 0) > 12 for one in nodes)


def _selected(wanted: Grid, what: str, entry: tuple[int, int]) -> Selection:
    rows, columns = wanted.shape
    if not (0 <= entry[0] < rows and 0 <= entry[1] < columns):
        raise BadShape(f"entry ({entry[0] + 1},{entry[1] + 1}) of {what}, which is {rows}×{columns}")
    return Selection("", (entry[0],), (entry[1],))


def _torques(wanted: Grid, table: SymbolTable, what: str) -> frozenset[Name]:
    """The torques in an equation: terms of its own that are one symbol τ, or one that the derivation calls a force."""
    if what != "equation" or wanted.is_numeric:
        return frozenset()
    names = set().union(*(algebra.symbols(node) for _, node in wanted.entries()))
    return frozenset(name for name in names if name.base == "tau" or name in table.forces)


def _merged(wanted: Grid, table: SymbolTable, equal: Equal) -> ReferenceRead:
    """The reference with one name for symbols that the writer does not tell apart."""
    if not equal:
        return wanted, table
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


# ------------------------------------------------------------------ references


def is_robot(value: Any) -> bool:
    """Whether this is a numeric robot."""
    return hasattr(value, "mass_matrix") and hasattr(value, "nv")


def _of_robot(robot: Any, what: str, coordinates: list[str]) -> ReferenceRead:
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


def _of_function(function: Callable[..., Any], meanings: Meanings, coordinates: list[str]) -> ReferenceRead:
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


def _of_expression(value: Any, what: str, meanings: Meanings, coordinates: list[str]) -> ReferenceRead:
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


def _labelled(value: Any, table: SymbolTable, what: str) -> list[tuple[Name | None, Value]]:
    """What is given as trees, each with the name on its left."""
    if isinstance(value, str) and what != "equation":
        return SymbolText(value, table).labelled()
    return [(None, one) for one in _read(value, table, what)]


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
            except UnreadableExpression as error:
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
