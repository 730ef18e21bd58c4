"""Arithmetic modulo a large prime, exact, and graphs evaluated in it: an angle is a random point of the circle.

Modulo p = 2¹²⁷ − 3489 two different rational expressions of total degree d agree at a random point with probability at
most d/p, below 1e-34 for any expression a person writes. p ≡ 23 (mod 24) and p ≡ ±1 (mod 5), so that √2, √3, √5 and
all cube roots exist, and −1 is no square: of the two roots of a square exactly one is a square itself. That one is
taken, as the positive one is taken of the reals, so √a √b = √(ab) and √(a²) = a for a square a.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from palpate.equations.algebra.evaluation import evaluate, needed_nodes
from palpate.equations.algebra.graph import Node, Number
from palpate.errors import DoesNotFit, InvalidInput, UnluckyPoint

P = 2**127 - 3489
_CUBE_ROOT = pow(3, -1, P - 1)
LARGEST = 2000  # numerator and denominator of a number that is recognised


class Residues:
    """Arithmetic modulo P."""

    def mul(self, a: int, b: int) -> int:
        """a · b."""
        return a * b % P

    def add(self, a: int, b: int) -> int:
        """a + b."""
        return (a + b) % P

    def sub(self, a: int, b: int) -> int:
        """a − b."""
        return (a - b) % P

    def inverse(self, a: int) -> int:
        """1/a."""
        if not a % P:
            raise UnluckyPoint("division by zero at a random point")
        return pow(a, -1, P)

    def number(self, value: Fraction) -> int:
        """A rational number."""
        if value.denominator == 1:
            return value.numerator % P
        return value.numerator * pow(value.denominator, -1, P) % P

    def power(self, a: int, exponent: Fraction) -> int:
        """a^e, e with a denominator of twos and at most one three."""
        below = exponent.denominator
        if below % 3 == 0:
            a, below = pow(a, _CUBE_ROOT, P), below // 3
        while below % 2 == 0:
            a, below = _square_root(a), below // 2
        if below != 1:
            raise DoesNotFit(f"a root of degree {exponent.denominator} modulo a prime")
        if exponent.numerator < 0:
            a = self.inverse(a)
        return pow(a, abs(exponent.numerator), P)

    def is_zero(self, a: int) -> bool:
        """Whether a is zero."""
        return a == 0

    def equal(self, a: int, b: int) -> bool:
        """Whether a is b."""
        return a == b

    def rational(self, a: int) -> Fraction | None:
        """The fraction with small numerator and denominator that a is, by the Euclidean algorithm on (P, a)."""
        before, now, factor_before, factor = P, a, 0, 1
        while now > LARGEST:
            share = before // now
            before, now = now, before - share * now
            factor_before, factor = factor, factor_before - share * factor
        if not 0 < abs(factor) <= LARGEST:
            return None
        fraction = Fraction(now, factor)
        return fraction if self.number(fraction) == a else None


def _square_root(a: int) -> int:
    root = pow(a, (P + 1) // 4, P)
    if root * root % P != a % P:
        raise UnluckyPoint("no square root at a random point")
    return root


def residue(value: Number) -> int:
    """A number modulo the prime; a float is the fraction it is."""
    return Residues().number(Fraction(value))


def values_at_random(outputs: Sequence[Node], seed: int, quaternion: Sequence[str] = ()) -> list[int]:
    """The outputs at one random point; `quaternion` names four symbols whose squares add up to one.

    Raises:
        InvalidInput: a node has no meaning in a field (a root, or a sine of a sum).
    """
    values = all_values(outputs, seed, quaternion)
    return [values[node.number] for node in outputs]


def all_values(outputs: Sequence[Node], seed: int, quaternion: Sequence[str] = ()) -> dict[int, int]:
    """The value of every node the outputs need, by its number, at one random point."""
    chance, nodes = random.Random(seed), needed_nodes(outputs)
    symbols = {node.name: chance.randrange(P) for node in nodes if node.op == "symbol"}
    symbols |= dict(zip(quaternion, _unit_quaternion(chance)))
    angles = {residue(node.value) for node in nodes if node.op == "number"} | set(symbols.values())
    circle = {angle: _circle_point(chance) for angle in sorted(angles)}

    def on_circle(angle: int) -> tuple[int, int]:
        if angle not in circle:
            raise InvalidInput("a sine of a sum has no value in a field")
        return circle[angle]

    def root(value: int) -> int:
        raise InvalidInput("a root has no value in a field")

    operations = {
        "number": residue, "neg": lambda a: -a % P, "add": lambda a, b: (a + b) % P, "sub": lambda a, b: (a - b) % P,
        "mul": lambda a, b: a * b % P, "div": lambda a, b: a * pow(b, -1, P) % P, "cos": lambda a: on_circle(a)[0],
        "sin": lambda a: on_circle(a)[1], "sqrt": root,
    }  # fmt: skip
    return dict(zip((node.number for node in nodes), evaluate(nodes, symbols, operations)))


def _circle_point(chance: random.Random) -> tuple[int, int]:
    """(cos, sin) = ((1 − t²), 2 t) / (1 + t²)."""
    t = chance.randrange(1, P)
    inverse = pow(1 + t * t, -1, P)
    return (1 - t * t) * inverse % P, 2 * t * inverse % P


def _unit_quaternion(chance: random.Random) -> list[int]:
    """A point of the unit sphere in four dimensions, by stereographic projection."""
    x = [chance.randrange(P) for _ in range(3)]
    square = sum(k * k for k in x)
    inverse = pow(square + 1, -1, P)
    return [(square - 1) * inverse % P, *(2 * k * inverse % P for k in x)]
