"""Ways to compare what is printed with what is computed; each makes one line of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from palpate.errors import BadShape, UnreadableExpression
from palpate_documents.claim import ROLES, Claim, Comparison, Document, Role
from palpate_documents.mathml import as_text

EXACT = 1e-9  # for what is exact but for rounding, in numbers of size one
_remembered: list[Any] = []


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute once per verification; `forget` empties all of them."""
    cached = lru_cache(maxsize=64)(function)
    _remembered.append(cached)
    return cached


def forget() -> None:
    """Forget all remembered results."""
    for cached in _remembered:
        cached.cache_clear()


def decimals(digits: int) -> float:
    """Tolerance of a number printed with this number of decimals, rounded or cut."""
    return 1.001 * 10.0**-digits


def numbers(role: Role, label: str, given: Any, computed: Any, tolerance: float = EXACT) -> Comparison:
    """Numbers against numbers, entry by entry; infinities must be the same."""
    a, b, tolerance = np.asarray(given, dtype=float), np.asarray(computed, dtype=float), float(tolerance)
    if a.shape != b.shape:
        return Comparison(role, label, a.tolist(), b.tolist(), False, None, tolerance, f"{a.shape} against {b.shape}")
    with np.errstate(invalid="ignore"):  # ∞ − ∞, and what is no number, differ by ∞ unless they are the same
        differences = np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf)
    error = float(np.max(np.where(a == b, 0.0, differences), initial=0.0))
    return Comparison(role, label, a.tolist(), b.tolist(), error <= tolerance, error, tolerance)


# Numbers of one role: the document's own; what should stand there; a number of an independent computation, which no
# document prints; what is printed, understood in one way; what follows from the document's own numbers, right or wrong.
printed, corrected, reference, reading, arithmetic = (partial(numbers, role) for role in ROLES)


def says(role: Role, label: str, given: bool, computed: bool) -> Comparison:
    """A statement that is true or false, against what is computed."""
    words = ("no", "yes")
    return Comparison(role, label, words[bool(given)], words[bool(computed)], bool(given) == bool(computed))


def formula(role: Role, text: str, reference: Any, what: str = "expression", label: str = "", **how: Any) -> Comparison:
    """LaTeX as printed against a derivation, by `palpate.tools.review.check_derivation`."""
    import palpate as pp

    name = label or {"printed": "as printed", "corrected": "corrected"}.get(role, role)
    try:
        verdict = pp.review.check_derivation(text, reference, what, **how)
    except (BadShape, UnreadableExpression) as error:
        return Comparison(role, name, "cannot be read", "", False, told=str(error).splitlines()[0])
    if verdict.agrees:
        note = verdict.convention or verdict.method
        return Comparison(role, name, "agrees", "", True, told=note)
    one = verdict.differences[0]
    slips = dict.fromkeys(as_text(slip) for d in verdict.differences for slip in d.slips)
    note = "; ".join(slips) or "more than two slips"
    at = ", ".join(f"{as_text(symbol)} = {value:g}" for symbol, value in one.point.items())
    location = f"entry {one.entry}, at {at}" if one.entry else f"at {at}"
    error = abs(one.given_value - one.right_value)
    return Comparison(
        role, f"{name}, {location}" if at else name, one.given_value, one.right_value, False, error, 0.0, note
    )  # fmt: skip


def both(claim: Claim, reference: Any, what: str = "expression", **how: Any) -> Iterator[Comparison]:
    """The claim's printed form, and its corrected one if there is any, against a derivation."""
    for role, text in (("printed", claim.printed), ("corrected", claim.corrected)):
        if text:
            side = text.split("= ", 1)[-1] if what == "expression" else text
            yield formula(role, side, reference, what, **how)  # type: ignore[arg-type]


def formulas(document: Document, references: Mapping[str, tuple[str, Callable[[], Any]]], **how: Any) -> None:
    """Claims that are formulas: each name with what kind of formula it is, and the derivation to compare it with."""
    for name, (what, reference) in references.items():
        document.check(name)(lambda claim, what=what, reference=reference: both(claim, reference(), what, **how))
