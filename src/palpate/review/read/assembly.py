"""Pieces of a formula put together: numbers, products, functions, matrices from their cells."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

from palpate.errors import BadShape
from palpate.review.algebra import grid as matrices
from palpate.review.algebra.grid import Grid, Value
from palpate.review.algebra.tree import Call, Node, Num, Prod, Quot, Trig, fresh
from palpate.review.read.lexer import Token

_MPMATH = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs", "Abs": "fabs"}
_TRIGONOMETRIC = ("sin", "cos", "tan")


def assembled(cells: list[list[tuple[Value | str, int]]]) -> Grid:
    """A matrix from its cells; blocks are joined, and what is left to symmetry is filled in."""
    if all(not isinstance(cell, str) for row in cells for cell, _ in row):
        return from_lists([[cell for cell, _ in row if not isinstance(cell, str)] for row in cells])
    size = max(len(row) for row in cells)
    padded = [[cell for cell, _ in row] + [""] * (size - len(row)) for row in cells]
    rows: list[list[Node]] = []
    for i, row in enumerate(padded):
        rows.append([])
        for j, cell in enumerate(row):
            mirror = padded[j][i] if j < len(padded) and i < len(padded[j]) else ""
            entry = mirror if isinstance(cell, str) else cell
            if isinstance(entry, str | Grid):
                raise BadShape(f"entry ({i + 1},{j + 1}) is empty, and so is its mirror image")
            rows[-1].append(fresh(entry) if isinstance(cell, str) else entry)
    return matrices.grid(rows)


def from_lists(rows: list[list[Value]]) -> Grid:
    """A matrix from rows of scalars or of blocks; [[a, b], [c, d]] arrives as one row of rows."""
    nested = len(rows) == 1 and all(isinstance(cell, Grid) and cell.shape[0] == 1 for cell in rows[0])
    if nested:
        rows = [[cell] for cell in rows[0]]
    made: list[list[Node]] = []
    for row in rows:
        blocks = [matrices.as_grid(cell) for cell in row]
        if len({block.shape[0] for block in blocks}) != 1:
            raise BadShape("blocks of different height stand side by side")
        made += [[node for block in blocks for node in block.rows[i]] for i in range(blocks[0].shape[0])]
    return matrices.grid(made)


def number(token: Token) -> Num:
    """A number, exact; decimals are counted."""
    decimals = len(token.text.partition(".")[2]) if "." in token.text and "e" not in token.text.lower() else None
    return Num(Fraction(token.text), decimals, (token.start, token.end))


def joined(a: Value, b: Value) -> Value:
    """a·b, longer products kept flat; a minus in front of the first factor stands before the product."""
    if isinstance(a, Grid) or isinstance(b, Grid):
        return matrices.times(a, b)
    if isinstance(a, Prod) and a.span is None:
        return Prod((*a.factors, b))
    return Prod((a, b))


def function(word: str, argument: Node, span: tuple[int, int]) -> Node:
    """A function of an argument; cotangent, secant and cosecant as quotients."""
    if word in _TRIGONOMETRIC:
        return Trig(word, argument, False, span)
    if word in ("cot", "sec", "csc"):
        sine, cosine = Trig("sin", argument), Trig("cos", fresh(argument))
        one = Num(Fraction(1))
        top, bottom = {"cot": (cosine, sine), "sec": (one, cosine), "csc": (one, sine)}[word]
        return Quot(top, bottom, span)
    return Call(_MPMATH.get(word, word), argument, span)


def cuts(lengths: list[int]) -> list[tuple[int, int]]:
    """Where pieces of these lengths begin and end."""
    ends = list(accumulate(lengths))
    return list(zip([0, *ends], ends))
