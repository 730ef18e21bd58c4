"""The two sides of a check, read: what is given, what it should be, and the symbols both use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palpate.errors import BadShape, UnknownName, UnknownSymbol
from palpate.forking import cached_property
from palpate.tools.derive.start import derive
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.names import SymbolTable, spelled
from palpate.tools.review.algebra.points import Field, Modular, Real
from palpate.tools.review.algebra.tree import Grid, Name, Node, Num, Sym, as_grid, distinct, rename
from palpate.tools.review.algebra.wanted import Selection, torque_names
from palpate.tools.review.compare.derivation import DerivationReader, is_derivation, spelling
from palpate.tools.review.compare.inputs import (
    Meanings,
    define_names,
    labelled_trees,
    learn_symbols,
    refuse_unknown_symbols,
)
from palpate.tools.review.compare.labels import selections
from palpate.tools.review.compare.references import (
    ReferenceRead,
    expression_reference,
    function_reference,
    is_robot,
    robot_reference,
)
from palpate.tools.review.read.lexer import is_latex

Symbols = Mapping[str, Any] | Iterable[str] | None
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
        return replace(self, wanted=self.wanted.each(lambda node: algebra.tidy_tree(rename(node, names))))


class Reference:
    """The right expressions: for one formula, or for all formulas of a file, which share what was read.

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
            read = function_reference(self.value, meanings, self.coordinates)
        else:
            read = _merged(*expression_reference(self.value, what, meanings, self.coordinates), self.equal)
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
            else robot_reference(self.value, what, self.coordinates)
        )

    def _finished(
        self, given: Any, what: str, meanings: Meanings, entry: tuple[int, int] | None, wanted: Grid, table: SymbolTable
    ) -> Case:
        """Read what is given with the symbols of the reference."""
        if what == "equation":
            table.learn(str(name) for name in torque_names(table.coordinates) if name not in table.known)
        table = self._with_definitions(table, meanings)
        refuse_unknown_symbols(given, table)
        learn_symbols(table, [given])
        labels, values = zip(*labelled_trees(given, table, what))
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
            define_names(table, meanings)
            return table
        key = (tuple(table.known), tuple(meanings.items()))
        if key not in self._defined:
            define_names(table, meanings)
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
