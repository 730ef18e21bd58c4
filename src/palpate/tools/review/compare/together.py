"""Several formulas of one writer judged together: one convention for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from palpate.tools.review.compare.agreement import ZERO_OF_ENERGY, Agreement, agreement_of
from palpate.tools.review.compare.compare import MatrixComparison
from palpate.tools.review.compare.conventions import OTHER_SIDE, Convention
from palpate.tools.review.compare.shared_convention import has_a_free_sign, opposite_convention, shared_convention_of

RIGHT_ELSEWHERE = "it is right "  # how notes begin that say in which other convention a formula is right


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
    plain = [agreement_of(one, strict) for one in comparisons]
    change = None if strict or all(plain) else shared_convention_of(comparisons, plain)
    judged = [_in(one, as_it_is, change) for one, as_it_is in zip(comparisons, plain)]
    if not strict:
        judged = [_on_the_other_side(one, judged) for one in judged]
    return [one if one.agreement else replace(one, notes=_remarks(old, one, agrees, change))
            for old, one, agrees in zip(comparisons, judged, plain)]  # fmt: skip


def _in(one: MatrixComparison, as_it_is: Agreement | None, change: Convention | None) -> Judged:
    """A formula in the convention of all."""
    if change is None:
        return Judged(one, as_it_is)
    moved = one.in_convention(change)
    agreement = agreement_of(moved)
    if agreement is not None and as_it_is is None:
        agreement = replace(agreement, convention=change.name)
    return Judged(moved, agreement)


def _on_the_other_side(one: Judged, all_formulas: Sequence[Judged]) -> Judged:
    """g on the right of the equation is right, unless another formula, itself right, says on which side it stands."""
    others = [other.comparison.case.what for other in all_formulas if other.agreement is not None]
    if one.agreement is not None or not has_a_free_sign(one.comparison, others):
        return one
    right = one.comparison.agrees_in(opposite_convention(one.comparison))
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
    names = [ZERO_OF_ENERGY] if zero else [other.name for other in as_given.other_conventions()][:1]
    notes = [f"{RIGHT_ELSEWHERE}as it stands in another convention: {name}" for name in names]
    return (*notes, *([f"compared in the convention of the other formulas: {change.name}"] if change else []))
