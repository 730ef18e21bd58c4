"""References of a check: the numbers of a robot or a function, or an expression that is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, UnluckyPoint
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.points import Point, Real, Space
from palpate.tools.review.algebra.tree import Grid, as_grid
from palpate.tools.review.algebra.wanted import quantity
from palpate.tools.review.compare.inputs import Meanings, learn_symbols, read_trees

ReferenceRead = tuple[Grid, SymbolTable]  # what is right, and the symbols it uses


def is_robot(value: Any) -> bool:
    """Whether this is a numeric robot."""
    return hasattr(value, "mass_matrix") and hasattr(value, "nv")


def robot_reference(robot: Any, what: str, coordinates: list[str]) -> ReferenceRead:
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


def function_reference(function: Callable[..., Any], meanings: Meanings, coordinates: list[str]) -> ReferenceRead:
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


def expression_reference(value: Any, what: str, meanings: Meanings, coordinates: list[str]) -> ReferenceRead:
    """Text, SymPy, numbers or nested lists; without given coordinates, those that move are taken."""
    kind, table = quantity(what), SymbolTable(coordinates=coordinates)
    learn_symbols(table, [value])
    table.learn(name for name, meaning in meanings.items() if meaning is None)
    table.open = True
    wanted = as_grid(read_trees(value, table, what)[0])
    table.open = False
    count = wanted.shape[1 if kind.right else 0] if kind.left or kind.right else 1
    table.infer_coordinates(wanted.angular(), count)
    return wanted, table
