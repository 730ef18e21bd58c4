"""Reasons why a formula counts as right although it is not the same as the reference."""

from __future__ import annotations

from dataclasses import dataclass

from palpate.tools.review.algebra.printing import Printer
from palpate.tools.review.compare.compare import MatrixComparison
from palpate.tools.review.compare.conventions import Convention

ZERO_OF_ENERGY = "another zero of the potential energy (a constant difference)"


@dataclass(frozen=True)
class Agreement:
    """Why a formula counts as right although it is not the same: another convention, or a remark."""

    convention: str = ""
    note: str = ""


def agreement_of(one: MatrixComparison, strict: bool = False) -> Agreement | None:
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
        return Agreement(convention=ZERO_OF_ENERGY)
    return None


def agrees_in(one: MatrixComparison, change: Convention) -> bool:
    """Whether a formula counts as right in another convention."""
    if one.agrees_in(change):
        return True
    return one.case.what in ("V", "C", "equation") and agreement_of(one.in_convention(change)) is not None
