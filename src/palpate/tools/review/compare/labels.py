"""The part of a quantity that the name on the left of an equals sign stands for: tau_1, M_{12}, y."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.points import Real, Space
from palpate.tools.review.algebra.tree import Grid, Name, Numeric
from palpate.tools.review.algebra.wanted import Selection
from palpate.tools.review.read.labels import axis, entry_indices

_VECTORS, _MATRICES = ("tau", "g", "c", "h"), ("M", "C", "J", "Jdot")


def selections(
    labels: Sequence[Name | None], shapes: Sequence[tuple[int, int]], wanted: Grid, what: str, joints: Sequence[Name]
) -> list[Selection | None]:
    """The entry of a quantity that each of several names stands for; None where a name says nothing of the kind.

    Only a scalar can be one entry; of a quantity that is a scalar itself there is nothing to choose. tau_0 among the
    names says that they are numbered from 0.
    """
    if wanted.shape == (1, 1):
        return [None] * len(labels)
    scalars = [label if shape == (1, 1) else None for label, shape in zip(labels, shapes)]
    if what == "FK":
        return _positions(scalars, wanted, len(joints))
    if what in _MATRICES:
        return [_entry(label, wanted) for label in scalars]
    return _rows(scalars, wanted, joints) if what in _VECTORS else [None] * len(labels)


def _positions(labels: Sequence[Name | None], wanted: Grid, joints: int) -> list[Selection | None]:
    axes = [None if label is None else axis(label, joints) for label in labels]
    column = 3 if wanted.shape == (4, 4) else 0
    count = min(3, wanted.shape[0])
    rows = {letter: number for number, letter in enumerate("xyz"[:count])}
    moving = [row for row in range(count) if _moves(wanted, row, column)]
    if len(moving) == 2 and any(letter and rows.get(letter) not in moving for letter in axes):
        rows = dict(zip("xy", moving))  # an arm in another plane: its first and its second direction
    return [
        Selection(f"{'xyz'[rows[letter]]} of its position", (rows[letter],), (column,)) if letter in rows else None
        for letter in axes
    ]


def _moves(wanted: Grid, row: int, column: int) -> bool:
    """Whether a coordinate of the tool depends on the joints (or on anything): a number written out does not."""
    node = wanted[row, column]
    if isinstance(node, Numeric):
        space = Space(Real(None), [])
        first, second = (node.matrix(space.point(number))[row, column] for number in (0, 1))
        return not np.isclose(first, second, rtol=0.0, atol=1e-12)
    return bool(algebra.symbols(node))


def _entry(label: Name | None, wanted: Grid) -> Selection | None:
    indices = [] if label is None else entry_indices(label.sub)
    if not indices:
        return None
    row, column = indices[0] - 1, indices[1] - 1
    inside = 0 <= row < wanted.shape[0] and 0 <= column < wanted.shape[1]
    return Selection("", (row,), (column,)) if inside else None


def _rows(labels: Sequence[Name | None], wanted: Grid, joints: Sequence[Name]) -> list[Selection | None]:
    if wanted.shape[1] != 1:
        return [None] * len(labels)
    numbers = [_number(label, joints) for label in labels]
    first = 0 if 0 in numbers else 1
    return [
        Selection("", (number - first,), (0,)) if number is not None and number - first < wanted.shape[0] else None
        for number in numbers
    ]


def _number(label: Name | None, joints: Sequence[Name]) -> int | None:
    """The number of a row: that of tau_2, or that of the joint in tau_theta."""
    if label is None or not label.sub:
        return None
    if label.sub.isdigit():
        return int(label.sub)
    return next(_named(label.sub, joints), None)


def _named(sub: str, joints: Sequence[Name]) -> Iterator[int]:
    return (number for number, joint in enumerate(joints, 1) if sub in (joint.base, joint.base + joint.sub))
