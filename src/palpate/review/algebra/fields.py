"""The two arithmetics in which expressions are compared: residues modulo a large prime, and floats."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from random import Random
from typing import Any, Generic, TypeVar

from palpate.equations.algebra.residues import LARGEST, P, Residues
from palpate.errors import UnluckyPoint

Item = TypeVar("Item")


class ResidueTable(Generic[Item]):
    """A table of exact values."""

    def __init__(self) -> None:
        self._items: dict[int, list[Item]] = {}

    def put(self, value: int, item: Item) -> None:
        """Keep an item under a value."""
        self._items.setdefault(value, []).append(item)

    def get(self, value: int) -> list[Item]:
        """The items kept under this value."""
        return self._items.get(value, [])


class Modular(Residues):
    """Residues modulo P, with what a search looks up in."""

    exact = True

    def sample(self, random: Random, positive: bool) -> int:
        """A random residue; a square counts as positive."""
        residue = random.randrange(2, P)
        return residue * residue % P if positive else residue

    def table(self) -> ResidueTable[Any]:
        """A table of exact values."""
        return ResidueTable()


class SortedTable(Generic[Item]):
    """A table of floats: a value finds what lies within the tolerance."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self._pairs: list[tuple[Any, int, Item]] = []
        self._sorted = True

    def put(self, value: Any, item: Item) -> None:
        """Keep an item under a value."""
        self._pairs.append((value, len(self._pairs), item))
        self._sorted = False

    def get(self, value: Any) -> list[Item]:
        """The items kept under this value."""
        if not self._sorted:
            self._pairs.sort(key=lambda pair: pair[:2])
            self._sorted = True
        slack = abs(value) * self.tolerance
        at = bisect_left(self._pairs, value - slack, key=lambda pair: pair[0])
        items = []
        while at < len(self._pairs) and self._pairs[at][0] <= value + slack:
            items.append(self._pairs[at][2])
            at += 1
        return items


class Real:
    """Floats: of `digits` digits, or the machine's where digits is None."""

    exact = False

    def __init__(self, digits: int | None = 50) -> None:
        import math

        if digits is None:
            self.functions: Any = math
            self.tolerance = 1e-9
            self.type: Any = float
        else:
            from mpmath import MPContext

            self.functions = MPContext()
            self.functions.dps = digits
            self.tolerance = 10.0 ** -(digits * 3 // 5)
            self.type = self.functions.mpf

    def mul(self, a: Any, b: Any) -> Any:
        """a · b."""
        return a * b

    def add(self, a: Any, b: Any) -> Any:
        """a + b."""
        return a + b

    def sub(self, a: Any, b: Any) -> Any:
        """a − b."""
        return a - b

    def inverse(self, a: Any) -> Any:
        """1/a."""
        if abs(a) < self.tolerance**2:
            raise UnluckyPoint("division by zero at a random point")
        return 1 / a

    def number(self, value: Fraction) -> Any:
        """A rational number."""
        return self.type(value.numerator) / value.denominator

    def power(self, a: Any, exponent: Fraction) -> Any:
        """a^e; UnluckyPoint where a is negative and e no whole number."""
        if exponent.denominator == 1:
            return a**exponent.numerator if exponent > 0 else self.inverse(a) ** -exponent.numerator
        if a < 0:
            raise UnluckyPoint("a root of a negative number at a random point")
        return a ** self.number(exponent)

    def is_zero(self, a: Any) -> bool:
        """Whether a is zero beside quantities of order one."""
        return bool(abs(a) < self.tolerance)

    def equal(self, a: Any, b: Any) -> bool:
        """Whether a is b to the tolerance."""
        return bool(abs(a - b) <= self.tolerance * max(1.0, abs(a), abs(b)))

    def rational(self, a: Any) -> Fraction | None:
        """The fraction with a small denominator that a is to the tolerance."""
        if abs(a) > LARGEST or (a != 0 and abs(a) * LARGEST < 1):
            return None
        fraction = Fraction(float(a)).limit_denominator(200)
        return fraction if abs(self.number(fraction) - a) <= self.tolerance * max(1.0, abs(a)) else None

    def sample(self, random: Random, positive: bool) -> Any:
        """A random number between 0.4 and 1.9, of either sign unless positive."""
        magnitude = self.type(random.randrange(4 * 10**17, 19 * 10**17)) / 10**18
        return magnitude if positive or random.random() < 0.5 else -magnitude

    def table(self) -> SortedTable[Any]:
        """A table within the tolerance."""
        return SortedTable(self.tolerance)


Field = Modular | Real
Table = ResidueTable[Item] | SortedTable[Item]
