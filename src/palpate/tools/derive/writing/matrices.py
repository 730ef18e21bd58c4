"""Matrices as they are printed: a common factor in front, or entry by entry."""

from __future__ import annotations

from typing import Any

import sympy as sp

from palpate.tools.derive.writing.notation import Notation


def entry_by_entry(e: Any) -> tuple[list[tuple[str, Any]], str]:
    """The entries of a matrix that are not 0, with their subscripts, one of each symmetric pair; words on the rest."""
    rows, columns = e.shape
    symmetric = rows == columns and e == e.T
    indices = [(i, j) for i in range(rows) for j in range(columns) if e[i, j] != 0 and not (symmetric and j < i)]
    between = "," if max(rows, columns) > 9 else ""
    entries = [(f"{i + 1}" if columns == 1 else f"{i + 1}{between}{j + 1}", e[i, j]) for i, j in indices]
    return entries, "symmetric; entries not shown are zero" if symmetric else "entries not shown are zero"


def factored(e: Any, notation: Notation) -> tuple[str, str]:
    """A matrix's common factor, empty for 1, and the matrix without it, written; of a scalar the scalar."""
    front, remainder = common_factor(e) if hasattr(e, "shape") else (1, e)
    return notation.write(front) if front != 1 else "", notation.write(remainder)


def common_factor(matrix: Any) -> tuple[Any, Any]:
    """Powers of symbols that every entry has as a factor, and the matrix without them."""
    shared: dict[Any, int] | None = None
    for entry in matrix:
        if entry == 0:
            continue
        pairs = (factor.as_base_exp() for factor in sp.Mul.make_args(entry))
        powers = {b: int(e) for b, e in pairs if isinstance(b, sp.Symbol) and e.is_Integer and e > 0}
        shared = powers if shared is None else {s: min(e, powers[s]) for s, e in shared.items() if s in powers}
    entries = sum(entry != 0 for entry in matrix)
    if not shared or entries < 2 or matrix.shape[1] == 1:
        return sp.Integer(1), matrix
    front = sp.Mul(*(s**e for s, e in shared.items()))
    return front, sp.ImmutableMatrix([[x / front for x in row] for row in matrix.tolist()])
