"""Text, SymPy, numbers and nested lists as trees, and the symbols and definitions they bring along."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from numbers import Rational, Real as RealNumber
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, UnknownName, UnreadableExpression
from palpate.tools.review.algebra.convert import from_sympy, rates, spellings
from palpate.tools.review.algebra.names import SymbolTable, spelled
from palpate.tools.review.algebra.tree import Grid, Name, Node, Num, Ref, Sym, Value, as_grid, fresh, rename
from palpate.tools.review.read.reading import SymbolText

Meanings = dict[str, Any]  # what the writer's names stand for; None for names that are only said to be valid


def labelled_trees(value: Any, table: SymbolTable, what: str) -> list[tuple[Name | None, Value]]:
    """The given expressions as trees, each with the name on its left."""
    if isinstance(value, str) and what != "equation":
        return SymbolText(value, table).labelled()
    return [(None, one) for one in read_trees(value, table, what)]


def read_trees(value: Any, table: SymbolTable, what: str) -> list[Value]:
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


def learn_symbols(table: SymbolTable, values: Iterable[Any]) -> None:
    """Take in the symbols of SymPy expressions."""
    expressions = [made for value in values if (made := _sympy_or_none(value)) is not None]
    table.learn(spellings(expressions))
    for name in rates(expressions, table):
        table.known.setdefault(name, str(name))
    for symbol in set().union(*(one.free_symbols for one in expressions)) if expressions else ():
        if symbol.name in table.originals:
            table.symbols.setdefault(table.originals[symbol.name], symbol)


def refuse_unknown_symbols(given: Any, table: SymbolTable) -> None:
    """A SymPy expression may use known symbols only."""
    expression = _sympy_or_none(given)
    trial = SymbolTable(coordinates=[str(name) for name in table.coordinates])
    for text in spellings([] if expression is None else [expression]):
        trial.learn([text])
        if text not in table.originals and table.find(trial.originals[text]) is None:
            raise UnknownName("symbol", text, sorted(set(table.known.values())))


def define_names(table: SymbolTable, meanings: Meanings) -> None:
    """Take in what the writer's names stand for; definitions may use each other, in any order.

    One that cannot be read is an error where its name is used, not before: a list may serve many formulas.
    """
    table.learn(name for name, meaning in meanings.items() if meaning is None)
    waiting = {name: meaning for name, meaning in meanings.items() if meaning is not None}
    learn_symbols(table, waiting.values())
    while waiting:
        left: dict[str, Any] = {}
        for name, value in waiting.items():
            try:
                table.unreadable.pop(spelled(name), None)
                _stand_for(table, name, read_trees(value, table, "expression")[-1])
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
