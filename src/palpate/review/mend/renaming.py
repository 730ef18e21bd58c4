"""One symbol in the place of another throughout, or one symbol for several that the reference tells apart.

If the reference becomes what is given once some of its symbols are called like others, only names are wrong. Names are
tried by likeness: I2_11 is rather meant by I1_11 than by m1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, product

from palpate.errors import UnluckyPoint
from palpate.review.algebra.grid import Grid
from palpate.review.algebra.points import PI, Point, Space
from palpate.review.algebra.tree import Name, symbols, walk
from palpate.review.algebra.wanted import Symbolic, Wanted

_MOST_SYMBOLS, _MOST_TRIED, _CHOICES = 12, 400, 3
_MOST_WORK = 2_000_000  # nodes that may be evaluated

Places = Sequence[tuple[int, int]]


def renamed(
    given: Grid, wanted: Symbolic, places: Places, space: Space, coordinates: Sequence[Name]
) -> dict[Name, Name] | None:
    """{symbol of the reference: symbol that stands in its place}, if that explains every entry at `places`."""
    used = _names(given, places)
    meant = sorted(_names(wanted.grid, places) - used - {PI, *coordinates})
    present = sorted(used)
    if not meant or len(meant) > _MOST_SYMBOLS:
        return None
    size = sum(1 for i, j in places for _ in walk(wanted.grid.rows[i][j]))
    for names in islice(_assignments(meant, present), min(_MOST_TRIED, _MOST_WORK // size)):
        if all(_agrees(given, wanted, places, names, space.point(number)) for number in (20, 21)):
            return {name: stands for name, stands in names.items() if matters(wanted, places, name, space.point(20))}
    return None


def matters(wanted: Wanted, places: Places, name: Name, point: Point) -> bool:
    """Whether the reference depends on a symbol: one may stand there and cancel."""
    other = point.with_values({name: point.field.add(point.value(name), 1)})
    return any(not point.field.equal(wanted.at(index, point), wanted.at(index, other)) for index in places)


def _names(grid: Grid, places: Places) -> set[Name]:
    return set().union(*(symbols(grid.rows[i][j]) for i, j in places))


def _assignments(meant: list[Name], present: list[Name]) -> Iterator[dict[Name, Name]]:
    """Assignments of present symbols to meant ones, the likeliest first."""
    choices = [sorted(present, key=lambda one, of=name: -_likeness(one, of))[:_CHOICES] for name in meant]
    ranked = product(*(range(len(names)) for names in choices))
    few = sorted(islice(ranked, 3**8), key=sum)
    for ranks in few:
        yield {name: names[rank] for name, names, rank in zip(meant, choices, ranks)}


def _likeness(a: Name, b: Name) -> float:
    same = (a.base == b.base) + (a.dots == b.dots)
    return same + SequenceMatcher(None, a.sub, b.sub).ratio() + (a.sub[-2:] == b.sub[-2:]) + (a.sub[-1:] == b.sub[-1:])


def _agrees(given: Grid, wanted: Symbolic, places: Places, names: dict[Name, Name], point: Point) -> bool:
    called = point.with_values({meant: point.value(stands) for meant, stands in names.items()})
    try:
        return all(point.field.equal(point.of(given.rows[i][j]), wanted.at((i, j), called)) for i, j in places)
    except UnluckyPoint:
        return False
