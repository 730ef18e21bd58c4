"""Normal forms turned into SymPy expressions that read like a textbook's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from palpate.derive.closed.arrange import Arranger, Generator, Monomial, Poly
from palpate.derive.closed.harmonics import Run, Wave, in_waves
from palpate.derive.closed.trig import COS, Ring, Trig

GROUPS = ("mass", "gravity", "length", "other", "coordinate", "wave", "rate", "acceleration", "force")


class Presenter:
    """Writes trigonometric polynomials of one ring.

    Args:
        ring: whose variables and angles they use.
        groups: the class of each variable ("mass", "length", "rate" …), "other" where none is given.
        runs: angles that add up; those in no run stand alone.
    """

    def __init__(self, ring: Ring, groups: Mapping[str, str], runs: Sequence[Run]) -> None:
        self.ring, self.groups, self._runs = ring, groups, tuple(runs)
        self._generators: list[Generator] = []
        self._place: dict[Any, int] = {}
        self._arranger = Arranger(self._generators)

    def write(self, trig: Trig) -> Any:
        """One expression: the cheaper of products of waves and waves of sums."""
        ways = [self._arranger.arrange(self._poly(trig, products)) for products in (True, False)]
        return min(ways, key=lambda way: way.cost).expression

    def matrix(self, rows: Iterable[Iterable[Trig]]) -> Any:
        """A matrix of expressions."""
        return sp.ImmutableMatrix([[self.write(x) for x in row] for row in rows])

    def vector(self, entries: Iterable[Trig]) -> Any:
        """A column of expressions."""
        return sp.ImmutableMatrix([[self.write(x)] for x in entries])

    def runs(self) -> list[Run]:
        """Every angle in a run, alone if need be."""
        taken = {name for run in self._runs for name in run.names}
        return [*self._runs, *(Run((name,), (1,)) for name in self.ring.angles if name not in taken)]

    def _poly(self, trig: Trig, products: bool) -> Poly:
        poly: Poly = {}
        for (m, waves), value in in_waves(trig, self.runs(), products).items():
            key = self._monomial(m, waves)
            poly[key] = poly.get(key, Fraction(0)) + Fraction(value)
        return {m: v for m, v in poly.items() if v}

    def _monomial(self, m: int, waves: tuple[Wave, ...]) -> Monomial:
        powers: dict[int, int] = {}
        for name, exponent in self.ring.powers(m).items():
            powers[self._symbol(name)] = exponent
        for wave in waves:
            index = self._wave(wave)
            powers[index] = powers.get(index, 0) + 1
        return tuple(sorted(powers.items()))

    def _symbol(self, name: str) -> int:
        if name not in self._place:
            group = self.groups.get(name, "other")
            group = group if group in GROUPS else "other"
            self._add(name, Generator(sp.Symbol(name), group, (GROUPS.index(group), *natural(name))))
        return self._place[name]

    def _wave(self, wave: Wave) -> int:
        if wave not in self._place:
            kind, angle = wave
            argument = sp.Add(*(k * sp.Symbol(name) for name, k in angle))
            expression = sp.cos(argument) if kind == COS else sp.sin(argument)
            order = (GROUPS.index("wave"), tuple(natural(name) for name, _ in angle), kind)
            self._add(wave, Generator(expression, "wave", order))
        return self._place[wave]

    def _add(self, key: Any, generator: Generator) -> None:
        self._place[key] = len(self._generators)
        self._generators.append(generator)


def natural(name: str) -> tuple[Any, ...]:
    """A sort key in which q2 comes before q10 and l1 before m1."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.findall(r"\d+|\D+", name))
