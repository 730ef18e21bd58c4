"""Verdicts put into words for a document: titles, one cause for several entries, slips that formulas share."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from palpate.errors import PalpateError
from palpate.tools.review.algebra.wanted import QUANTITIES
from palpate.tools.review.verdict import Verdict
from palpate.tools.sheets.notions import Notion
from palpate.tools.sheets.result import Finding


def badness(verdicts: list[Verdict]) -> tuple[int, float]:
    """Right before mended before wrong; of several, the cheapest correction."""
    wrong = [one for one in verdicts if not one.agrees]
    if not wrong:
        return (0, 0.0)
    return (1, sum(one.cost for one in wrong)) if all(one.repaired for one in wrong) else (2, 0.0)


def only_signs(verdict: Verdict) -> bool:
    """Whether signs alone mend a formula: beside formulas of one convention that is a mistake, no other convention."""
    return verdict.repaired and {kind for one in verdict.differences for kind in one.kinds} == {"sign"}


def with_one_slip(verdict: Verdict, slip: tuple[str, str], spans: tuple[tuple[int, int], ...], mended: str) -> Verdict:
    """A verdict whose differences have one cause: a number that is wrong throughout."""
    wrong, right = slip
    words = f"wrong number throughout: {wrong} should be {right}"
    share = 1.5 / len(verdict.differences)
    changes: dict[str, Any] = {
        "slips": (words,),
        "kinds": ("wrong number",),
        "cost": share,
        "spans": spans,
        "caret": "",
    }
    differences = [replace(one, mended=one.given.replace(wrong, right), **changes) for one in verdict.differences]
    return replace(verdict, differences=tuple(differences), mended=mended)


def title_of(meant: Notion) -> str:
    """A quantity in words."""
    kind = QUANTITIES.get(meant.title)
    if kind is None:
        return meant.title
    place = f", entry ({meant.entry[0] + 1},{meant.entry[1] + 1})" if meant.entry is not None else ""
    return f"{kind.title}{place}"


def first_line(error: PalpateError) -> str:
    """The message of an error, without its position and hint."""
    text = str(error).splitlines()[0]
    return re.sub(r"^line \d+, column \d+: ", "", text)


def shared_slips(findings: list[Finding]) -> tuple[str, ...]:
    """Slips that two formulas or more have throughout, told once for the document."""
    counts: dict[str, list[int]] = {}
    for one in findings:
        for slip in one.slips:
            if "throughout" in slip:
                counts.setdefault(slip, []).append(one.line)
    shared = {slip: lines for slip, lines in counts.items() if len(lines) > 1}
    return tuple(f"{slip} (lines {', '.join(map(str, dict.fromkeys(lines)))})" for slip, lines in shared.items())
