"""Several formulas of one writer judged together: one convention for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from palpate.tools.review.algebra.printing import Printer
from palpate.tools.review.compare.compare import MatrixComparison
from palpate.tools.review.compare.conventions import OTHER_SIDE, Convention, diagonal

# Quantities that say on which side of the equation another one stands: g = ∂V/∂q, c = C q̇, τ = M q̈ + c + g.
_SIGN_IS_KNOWN_FROM = {
    "g": ("V", "tau", "equation"),
    "c": ("C", "tau", "equation"),
    "tau": ("M", "C", "c", "g", "T", "V", "equation"),
}
RIGHT_ELSEWHERE = "it is right "  # how notes begin that say in which other convention a formula is right
_ZERO_OF_ENERGY = "another zero of the potential energy (a constant difference)"


@dataclass(frozen=True)
class Agreement:
    """Why a formula counts as right although it is not the same: another convention, or a remark."""

    convention: str = ""
    note: str = ""


@dataclass
class Judged:
    """A comparison in the convention of all formulas.

    Attributes:
        comparison: with what is wanted in that convention.
        agreement: why it is right; None if it is not.
        notes: other conventions in which it would be right.
    """

    comparison: MatrixComparison
    agreement: Agreement | None
    notes: tuple[str, ...] = ()


def judged_together(comparisons: Sequence[MatrixComparison], strict: bool) -> list[Judged]:
    """Judge formulas in the one convention in which most of them are right.

    A convention (the zero and the sense of the angles, the direction of gravity) is the writer's, not the formula's: a
    formula that is right in another one than the rest is a mistake. Without a majority it is the reference's own.
    A single entry that differs does not show a convention.

    Args:
        comparisons: of all formulas, with what is wanted in the reference's convention.
        strict: whether only the reference's convention counts.
    """
    plain = [_agreement(one, strict) for one in comparisons]
    change = None if strict or all(plain) else _shared(comparisons, plain)
    judged = [_in(one, as_it_is, change) for one, as_it_is in zip(comparisons, plain)]
    if not strict:
        judged = [_on_the_other_side(one, judged) for one in judged]
    return [one if one.agreement else replace(one, notes=_remarks(old, one, agrees, change))
            for old, one, agrees in zip(comparisons, judged, plain)]  # fmt: skip


def _agreement(one: MatrixComparison, strict: bool = False) -> Agreement | None:
    """Why a formula is right, as it stands."""
    case = one.case
    if not one.differing:
        return Agreement()
    if one.agrees_to_the_digits():
        return Agreement(note="agrees to the digits printed")
    if case.what == "C" and one.same_forces():
        return Agreement(note="C itself is another factorisation: C is not unique, C q̇ is, and C q̇ agrees")
    if case.what == "equation" and (factors := one.multiples()) is not None:
        multiplier = ", ".join(dict.fromkeys(map(Printer(case.table, case.latex).node, factors)))
        return Agreement(note=f"the same equation, multiplied by {multiplier}")
    if case.what == "V" and not strict and one.differs_by_a_constant():
        return Agreement(convention=_ZERO_OF_ENERGY)
    return None


def _in(one: MatrixComparison, as_it_is: Agreement | None, change: Convention | None) -> Judged:
    """A formula in the convention of all."""
    if change is None:
        return Judged(one, as_it_is)
    moved = one.in_convention(change)
    agreement = _agreement(moved)
    if agreement is not None and as_it_is is None:
        agreement = replace(agreement, convention=change.name)
    return Judged(moved, agreement)


def _agrees_in(one: MatrixComparison, change: Convention) -> bool:
    if one.agrees_in(change):
        return True
    return one.case.what in ("V", "C", "equation") and _agreement(one.in_convention(change)) is not None


# ------------------------------------------------------------------ the convention of all


def _shared(comparisons: Sequence[MatrixComparison], plain: Sequence[Agreement | None]) -> Convention | None:
    """The convention in which most formulas are right; None for the reference's own."""
    wrong = [one for one, agreement in zip(comparisons, plain) if agreement is None]
    sides = [one for one in comparisons if _has_a_free_sign(one, [other.case.what for other in comparisons])]
    best, most = None, len(comparisons) - sum(one not in sides or not one.agrees_in(_opposite(one)) for one in wrong)
    for change in _proposed(wrong):
        opposite = replace(change, minus=True)
        right = sum(_agrees_in(one, change) or (one in sides and one.agrees_in(opposite)) for one in comparisons)
        if right > most:
            best, most = change, right
    return best


def _proposed(wrong: Sequence[MatrixComparison]) -> Iterator[Convention]:
    """Conventions in which formulas that are not right would be: of a whole quantity, or of several of its entries."""
    changes = {change.frame: change for one in wrong for change in one.conventions() if not change.minus}
    for change in changes.values():
        right = [one for one in wrong if _agrees_in(one, change)]
        entries = [one.case.what for one in right if one.single]
        if any(not one.single and not one.alone for one in right) or any(entries.count(what) > 1 for what in entries):
            yield change


def _has_a_free_sign(one: MatrixComparison, others: Iterable[str]) -> bool:
    """Whether a formula may stand on either side of the equation: no other quantity says on which it is."""
    known = _SIGN_IS_KNOWN_FROM.get(one.case.what)
    return known is not None and not one.alone and not one.single and not set(known) & set(others)


def _opposite(one: MatrixComparison) -> Convention:
    return Convention(OTHER_SIDE, diagonal([1] * len(one.case.table.coordinates)), minus=True)


def _on_the_other_side(one: Judged, all_formulas: Sequence[Judged]) -> Judged:
    """g on the right of the equation is right, unless another formula, itself right, says on which side it stands."""
    others = [other.comparison.case.what for other in all_formulas if other.agreement is not None]
    if one.agreement is not None or not _has_a_free_sign(one.comparison, others):
        return one
    right = one.comparison.agrees_in(_opposite(one.comparison))
    return replace(one, agreement=Agreement(convention=OTHER_SIDE)) if right else one


def _remarks(
    as_given: MatrixComparison, judged: Judged, as_it_is: Agreement | None, change: Convention | None
) -> tuple[str, ...]:
    """Other conventions in which a formula that is not right would be, and the one in which it was judged."""
    if as_it_is is not None:
        assert change is not None
        return (
            f"{RIGHT_ELSEWHERE}in the reference's convention, but the other formulas have another one: {change.name}",
        )
    if as_given.single and change is None:
        return ()
    zero = as_given.case.what == "V" and as_given.differs_by_a_constant()
    names = [_ZERO_OF_ENERGY] if zero else [other.name for other in as_given.other_conventions()][:1]
    notes = [f"{RIGHT_ELSEWHERE}as it stands in another convention: {name}" for name in names]
    return (*notes, *([f"compared in the convention of the other formulas: {change.name}"] if change else []))
