"""Slips with whole matrices: J for Jᵀ, an inverse too many, J for J̇."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from palpate.errors import PalpateError
from palpate.review.algebra.grid import Grid, as_grid
from palpate.review.algebra.points import Space
from palpate.review.algebra.wanted import Wanted
from palpate.review.compare.case import Case
from palpate.review.compare.compare import differing
from palpate.review.read.reading import Text

_POWER = r"\s*\^\s*(?:\{\s*(?:T|\\top|-1|-T)\s*\}|T|\\top|-1)|\s*'"


@dataclass(frozen=True)
class MatrixSlip:
    """A matrix that was written for another: both as text, the corrected text, and what it says."""

    was: str
    becomes: str
    text: str
    value: Grid


def matrix_slip(case: Case, claim: int, wanted: Wanted, space: Space) -> MatrixSlip | None:
    """The one exchange of a named matrix (or its transpose, or inverse) that makes a text right."""
    names = [case.table.written[name] for name, value in case.table.definitions.items() if isinstance(value, Grid)]
    if case.text is None or not names:
        return None
    for was, becomes, text in _variants(case.text, names):
        try:
            table = case.table
            value = as_grid(
                (Text(text, table).equations if case.what == "equation" else Text(text, table).claims)()[claim]
            )
            if value.shape == wanted.shape and not differing(value, wanted, space):
                return MatrixSlip(was, becomes, text, value)
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
