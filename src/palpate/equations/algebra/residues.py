"""Exact evaluation of graphs modulo a large prime: an angle is a random point of the circle, a number its residue.

Two expressions that differ agree at a random point with a chance of about (degree) / 2⁶¹.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from palpate.equations.algebra.graph import Node, Number, needed
from palpate.errors import InvalidInput

PRIME = 2**61 - 1


def residue(value: Number) -> int:
    """A number modulo the prime; a float is the fraction it is."""
    fraction = Fraction(value)
    return fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME


def values_at_random(outputs: Sequence[Node], seed: int, quaternion: Sequence[str] = ()) -> list[int]:
    """The outputs at one random point; `quaternion` names four symbols whose squares add up to one.

    Raises:
        InvalidInput: a node has no meaning in a field (a root, or a sine of a sum).
    """
    values = all_values(outputs, seed, quaternion)
    return [values[node.number] for node in outputs]


def all_values(outputs: Sequence[Node], seed: int, quaternion: Sequence[str] = ()) -> dict[int, int]:
    """The value of every node the outputs need, by its number, at one random point."""
    chance = random.Random(seed)
    symbols = dict(zip(quaternion, _unit_quaternion(chance))) if quaternion else {}
    circle: dict[int, tuple[int, int]] = {}
    values: dict[int, int] = {}
    for node in needed(outputs):
        values[node.number] = _value(node, values, symbols, circle, chance)
    return values


def _value(
    node: Node, values: dict[int, int], symbols: dict[str, int], circle: dict[int, tuple[int, int]],
    chance: random.Random,
) -> int:  # fmt: skip
    if node.op == "number":
        return residue(node.value)
    if node.op == "symbol":
        return symbols.setdefault(node.name, chance.randrange(PRIME))
    if node.op in ("sin", "cos"):
        angle = node.args[0]
        if angle.args:
            raise InvalidInput("a sine of a sum has no value in a field")
        if angle.number not in circle:
            circle[angle.number] = _circle_point(chance)
        return circle[angle.number][node.op == "sin"]
    arguments = [values[a.number] for a in node.args]
    if node.op == "div":
        return arguments[0] * pow(arguments[1], -1, PRIME) % PRIME
    known = {"neg": lambda a: -a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
    if node.op not in known:
        raise InvalidInput("a root has no value in a field")
    return known[node.op](*arguments) % PRIME


def _circle_point(chance: random.Random) -> tuple[int, int]:
    """(cos, sin) = ((1 − t²), 2 t) / (1 + t²)."""
    t = chance.randrange(1, PRIME)
    inverse = pow(1 + t * t, -1, PRIME)
    return (1 - t * t) * inverse % PRIME, 2 * t * inverse % PRIME


def _unit_quaternion(chance: random.Random) -> list[int]:
    """A point of the unit sphere in four dimensions, by stereographic projection."""
    x = [chance.randrange(PRIME) for _ in range(3)]
    square = sum(k * k for k in x)
    inverse = pow(square + 1, -1, PRIME)
    return [(square - 1) * inverse % PRIME, *(2 * k * inverse % PRIME for k in x)]
