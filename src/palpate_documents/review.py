"""Verification: every claim computed again, compared with what is printed, judged, and held to the record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from palpate.errors import UnknownName
from palpate_documents.claim import FAILED, VERDICTS, Claim, Comparison, verdict_of
from palpate_documents.compare import forget
from palpate_documents.library import DOCUMENTS, document


@dataclass(frozen=True)
class Result:
    """A claim and what was found.

    Attributes:
        claim: the claim.
        comparisons: the evidence.
        found: the verdict it leads to.
        seconds: how long it took.
    """

    claim: Claim
    comparisons: tuple[Comparison, ...]
    found: str
    seconds: float

    @property
    def changed(self) -> bool:
        """Whether the verdict is not the one on record."""
        return self.found != self.claim.verdict

    @property
    def computed(self) -> bool:
        """Whether anything was computed; what is only wording is read."""
        return bool(self.comparisons)


def verify(
    numbers: Iterable[str] | None = None,
    claim: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Result]:
    """Compute, compare and judge claims of the documents.

    Args:
        numbers: documents, such as ("001",); all by default.
        claim: the id of the only claim wanted, "001.J0" or "J0".
        progress: called with (done, all, id).

    Raises:
        UnknownName: no such document or claim.
    """
    forget()
    wanted = chosen(numbers, claim)
    results = []
    for index, one in enumerate(wanted):
        if progress is not None:
            progress(index, len(wanted), one.id)
        results.append(check_claim(one))
    return results


def chosen(numbers: Iterable[str] | None, claim: str | None) -> list[Claim]:
    """The claims asked for."""
    where = list(numbers or ())
    if claim is not None and not where and claim.partition(".")[0] in DOCUMENTS:
        where = [claim.partition(".")[0]]
    claims = [one for number in where or DOCUMENTS for one in document(number).claims]
    if claim is None:
        return claims
    kept = [one for one in claims if claim in (one.id, one.id.partition(".")[2])]
    if not kept:
        raise UnknownName("claim", claim, [one.id for one in claims])
    return kept


def check_claim(claim: Claim) -> Result:
    """One claim computed and judged; a computation that breaks is evidence too."""
    start = time.perf_counter()
    comparisons: list[Comparison] = []
    try:
        comparisons += claim.check(claim) if claim.check is not None else ()
        verdict = verdict_of(claim.verdict, comparisons)
    except Exception as error:  # whatever a broken formula leads to must name its claim
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        comparisons.append(Comparison("printed", "cannot be computed", "", "", False, told=text))
        verdict = FAILED
    return Result(claim, tuple(_explained(claim, one) for one in comparisons), verdict, time.perf_counter() - start)


_VAGUE = ("missing term", "extra term", "extra factor", "more than two slips")


def _explained(claim: Claim, one: Comparison) -> Comparison:
    """Where the checker sees only that terms differ, the slip that is known to be the cause."""
    if not claim.cause or one.holds or not one.told.startswith(_VAGUE):
        return one
    return replace(one, told=document(claim.document).causes[claim.cause])


def by_cause(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """Claims that are not right as printed, by the sentence of their root cause; last, with "", those without one."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        if one.found in ("wrong", "typo"):
            groups.setdefault((one.claim.document, one.claim.cause), []).append(one)
    named = [
        (f"{number}: {document(number).causes[cause]}", group) for (number, cause), group in groups.items() if cause
    ]
    alone = [one for (_, cause), group in groups.items() if not cause for one in group]
    return [*named, *([("", alone)] if alone else [])]


def counts(results: Sequence[Result]) -> dict[str, int]:
    """How many claims have each verdict, in the order of the verdicts."""
    verdicts = [result.found for result in results]
    return {verdict: verdicts.count(verdict) for verdict in (*VERDICTS, *sorted(set(verdicts) - set(VERDICTS)))}
