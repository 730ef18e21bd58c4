"""Why tests were skipped, for the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def lines(reasons: Iterable[str]) -> list[str]:
    """How many tests were skipped, and how many for each reason, most first; nothing where none was."""
    counts = Counter(" ".join(reason.removeprefix("Skipped: ").split()) for reason in reasons)
    if not counts:
        return []
    width = len(str(max(counts.values())))
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [f"skipped: {counts.total()}", *(f"  {count:{width}}  {reason}" for reason, count in ordered)]
