"""Printed decimals: which numbers may be rounded, and whether rounding explains a difference."""

from __future__ import annotations

from fractions import Fraction

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.points import POINTS, Space
from palpate.tools.review.algebra.tree import Node, Num


def decimal_numbers(tree: Node) -> list[Num]:
    """Numbers that may be rounded: printed with at least three decimals."""
    return [node for node in algebra.walk(tree) if isinstance(node, Num) and (node.decimals or 0) > 2]


def within_rounding(space: Space, tree: Node, wanted: Node) -> bool:
    """Whether moving each decimal by half a unit of its last digit can make up for the difference."""
    for number in range(POINTS):
        try:
            point = space.point(number)
            value = point.of(tree)
            slack = 0
            for one in decimal_numbers(tree):
                half = Fraction(1, 2 * 10 ** (one.decimals or 0))
                slack += abs(point.of(algebra.rewrite(tree, {id(one): Num(one.value + half)})) - value)
            if abs(value - point.of(wanted)) > slack * 1.001:
                return False
        except (UnluckyPoint, DoesNotFit):
            return False
    return True
