"""The convention in which most of several formulas are right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from palpate.tools.review.compare.agreement import Agreement, agrees_in
from palpate.tools.review.compare.compare import MatrixComparison
from palpate.tools.review.compare.conventions import OTHER_SIDE, Convention, diagonal

# Quantities that say on which side of the equation another one stands: g = ∂V/∂q, c = C q̇, τ = M q̈ + c + g.
_SIGN_IS_KNOWN_FROM = {
    "g": ("V", "tau", "equation"),
    "c": ("C", "tau", "equation"),
    "tau": ("M", "C", "c", "g", "T", "V", "equation"),
}


def shared_convention_of(
    comparisons: Sequence[MatrixComparison], plain: Sequence[Agreement | None]
) -> Convention | None:
    """The convention in which most formulas are right; None for the reference's own."""
    wrong = [one for one, agreement in zip(comparisons, plain) if agreement is None]
    sides = [one for one in comparisons if has_a_free_sign(one, [other.case.what for other in comparisons])]
    best = None
    most = len(comparisons) - sum(one not in sides or not one.agrees_in(opposite_convention(one)) for one in wrong)
    for change in _proposed(wrong):
        opposite = replace(change, minus=True)
        right = sum(agrees_in(one, change) or (one in sides and one.agrees_in(opposite)) for one in comparisons)
        if right > most:
            best, most = change, right
    return best


def _proposed(wrong: Sequence[MatrixComparison]) -> Iterator[Convention]:
    """Conventions in which formulas that are not right would be: of a whole quantity, or of several of its entries."""
    changes = {change.frame: change for one in wrong for change in one.conventions() if not change.minus}
    for change in changes.values():
        right = [one for one in wrong if agrees_in(one, change)]
        entries = [one.case.what for one in right if one.single]
        whole = [one for one in right if not one.single and not one.alone]
        if _is_one_sign(change) and all(one.case.what == "T" for one in whole):
            whole = whole if len(right) > 1 else []
        if whole or any(entries.count(what) > 1 for what in entries):
            yield change


def _is_one_sign(change: Convention) -> bool:
    """Whether a change turns the sense of some joints alone: in a kinetic energy that is one sign, as a slip is."""
    signs = {change.S[k][k] for k in range(len(change.S))}
    return diagonal([row[k] for k, row in enumerate(change.S)]) == change.S and signs == {1, -1} and not change.quarters


def has_a_free_sign(one: MatrixComparison, others: Iterable[str]) -> bool:
    """Whether a formula may stand on either side of the equation: no other quantity says on which it is."""
    known = _SIGN_IS_KNOWN_FROM.get(one.case.what)
    return known is not None and not one.alone and not one.single and not set(known) & set(others)


def opposite_convention(one: MatrixComparison) -> Convention:
    """The reference's convention with the quantity on the other side of the equation."""
    return Convention(OTHER_SIDE, diagonal([1] * len(one.case.table.coordinates)), minus=True)
