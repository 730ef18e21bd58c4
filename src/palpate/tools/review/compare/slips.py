"""Slips of a whole quantity: a matrix for another (J for Jᵀ, J̇ or J⁻¹), a symbol for another throughout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, product
from typing import Any

from palpate.errors import PalpateError, UnluckyPoint
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.points import PI, Point
from palpate.tools.review.algebra.tree import Grid, Name, as_grid, symbols, walk
from palpate.tools.review.compare.compare import MatrixComparison, differing
from palpate.tools.review.read.reading import SymbolText

_POWER = r"\s*\^\s*(?:\{\s*(?:T|\\top|-1|-T)\s*\}|T|\\top|-1)|\s*'"
_MOST_SYMBOLS, _MOST_TRIED, _CHOICES = 12, 400, 3
_MOST_ENTRIES = 9
_MOST_WORK = 2_000_000  # nodes that may be evaluated
Indices = Sequence[tuple[int, int]]


def matrix_slip(one: MatrixComparison) -> tuple[str, str, Grid] | None:
    """The one exchange of a named matrix (or its transpose, or inverse) that makes a text right.

    Returns:
        The exchange in words, the corrected text, and the matrix it says.
    """
    case, table = one.case, one.case.table
    names = [table.written[name] for name, value in table.definitions.items() if isinstance(value, Grid)]
    if case.text is None or not names:
        return None
    place = next((number for number, claim in enumerate(case.claims) if claim.value is one.given), 0)
    for was, becomes, text in _variants(case.text, names):
        try:
            reading = SymbolText(text, table)
            value = as_grid((reading.equations() if case.what == "equation" else reading.claims())[place])
            if value.shape == one.wanted.shape and not differing(value, one.wanted, one.space):
                return f"{was} should be {becomes}", text, value
        except PalpateError:  # such an exchange makes no sense
            continue
    return None


def _variants(text: str, names: list[str]) -> Iterator[tuple[str, str, str]]:
    forms = [form for name in names for form in (name, f"{name}^T", f"{name}^{{-1}}", f"({name}^T)^{{-1}}")]
    for name in names:
        bare = re.escape(name)
        for match in re.finditer(rf"\(\s*{bare}(?:{_POWER})\s*\)(?:{_POWER})|{bare}(?:{_POWER})?", text):
            for form in forms:
                if form.replace(" ", "") != match[0].replace(" ", ""):
                    yield match[0], form, f"{text[: match.start()]}{form}{text[match.end() :]}"


def renamed_mostly(one: MatrixComparison) -> tuple[dict[Name, Name] | None, Indices]:
    """Like `renamed`, of the entries that it explains: all that differ, or all but one."""
    names, indices = renamed(one, one.differing), one.differing
    if names is not None or not 4 <= len(indices) <= _MOST_ENTRIES:
        return names, indices
    for left_out in reversed(indices):
        rest = [index for index in indices if index != left_out]
        if (names := renamed(one, rest)) is not None:
            return names, rest
    return None, indices


def renamed(one: MatrixComparison, indices: Indices) -> dict[Name, Name] | None:
    """{symbol of the reference: symbol that stands in its place}, if that explains these entries that differ.

    If the reference becomes what is given once some of its symbols are called like others, only names are wrong. Names
    are tried by likeness: I2_11 is rather meant by I1_11 than by m1.
    """
    given, wanted = one.given, one.wanted
    if wanted.is_numeric:
        return None
    used = _names(given, indices)
    meant = sorted(_names(wanted, indices) - used - {PI, *one.case.table.coordinates})
    if not meant or len(meant) > _MOST_SYMBOLS:
        return None
    size = sum(1 for _ in islice((node for index in indices for node in walk(wanted[index])), _MOST_WORK))
    points = [one.space.point(number) for number in (20, 21)]
    try:
        targets = [[point.of(given[index]) for index in indices] for point in points]
    except UnluckyPoint:
        return None
    for names in islice(_assignments(meant, sorted(used), one.case.table), min(_MOST_TRIED, _MOST_WORK // size)):
        if all(_agrees(values, wanted, indices, names, point) for point, values in zip(points, targets)):
            return {name: stands for name, stands in names.items() if matters(wanted, indices, name, points[0])}
    return None


def matters(wanted: Grid, indices: Indices, name: Name, point: Point) -> bool:
    """Whether the reference depends on a symbol: one may stand there and cancel."""
    other = point.with_values({name: point.field.add(point.value(name), 1)})
    return any(not point.field.equal(point.of(wanted[index]), other.of(wanted[index])) for index in indices)


def _names(grid: Grid, indices: Indices) -> set[Name]:
    return set().union(*(symbols(grid[index]) for index in indices))


def _assignments(meant: list[Name], present: list[Name], table: SymbolTable) -> Iterator[dict[Name, Name]]:
    """Assignments of present symbols to meant ones, the likeliest by the writer's names first."""
    called = {name: table.writer_name(name) for name in (*meant, *present)}
    choices = [
        sorted(present, key=lambda one, of=name: -_likeness(called[one], called[of]))[:_CHOICES] for name in meant
    ]
    ranked = product(*(range(len(names)) for names in choices))
    few = sorted(islice(ranked, 3**8), key=sum)
    for ranks in few:
        yield {name: names[rank] for name, names, rank in zip(meant, choices, ranks)}


def _likeness(a: Name, b: Name) -> float:
    same = (a.base == b.base) + (a.dots == b.dots)
    return same + SequenceMatcher(None, a.sub, b.sub).ratio() + (a.sub[-2:] == b.sub[-2:]) + (a.sub[-1:] == b.sub[-1:])


def _agrees(values: list[Any], wanted: Grid, indices: Indices, names: dict[Name, Name], point: Point) -> bool:
    called = point.with_values({meant: point.value(stands) for meant, stands in names.items()})
    try:
        return all(point.field.equal(value, called.of(wanted[index])) for value, index in zip(values, indices))
    except UnluckyPoint:
        return False
