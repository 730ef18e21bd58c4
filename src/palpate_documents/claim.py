"""A claim: something a document prints, how it is computed here, the verdict on record, and the right form.

A claim's function compares what is printed, and what is put in its place, with what the library computes. From the
comparisons a verdict follows; `judged` says how. A verdict that is not the one on record means that the library, or
the record, has changed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["agrees", "typo", "wrong", "ambiguous"]
VERDICTS: tuple[Verdict, ...] = ("agrees", "typo", "wrong", "ambiguous")
Role = Literal["printed", "corrected", "reading", "arithmetic"]
UNEXPLAINED, FAILED = "unexplained", "failed"  # what was put in its place does not hold either; it cannot be computed


@dataclass(frozen=True)
class Comparison:
    """One line of evidence.

    Attributes:
        role: "printed": the document's own; "corrected": what should stand there; "reading": one way to understand
            what is printed; "arithmetic": what follows from other printed things, right or wrong.
        label: what is compared.
        given: as printed or corrected: numbers (nested lists), or text.
        found: the same as computed here.
        holds: whether they agree.
        error: the largest difference, where both are numbers.
        tolerance: the largest difference allowed.
        told: what the checker of derivations says about it.
    """

    role: Role
    label: str
    given: Any
    found: Any
    holds: bool
    error: float | None = None
    tolerance: float | None = None
    told: str = ""


Check = Callable[["Claim"], Iterator[Comparison]]


@dataclass(frozen=True)
class Trajectories:
    """Curves over one axis: what is printed beside what is right."""

    title: str
    x: str
    y: str
    curves: tuple[tuple[str, Sequence[float], Sequence[float]], ...]


@dataclass(frozen=True)
class Claim:
    """Something a document prints, judged.

    Attributes:
        id: "001.J0".
        where: its place in the document.
        printed: as printed, LaTeX.
        verdict: the verdict on record.
        how: how it is computed here.
        corrected: the right form, LaTeX; "" where the printed one is.
        note: why, in a sentence or two.
        rows: rows of the independent audit of the documents that it covers.
        check: computes the comparisons; None for what can only be read.
        plot: trajectories that differ; None if there is none.
    """

    id: str
    where: str
    printed: str
    verdict: Verdict
    how: str
    corrected: str
    note: str
    rows: tuple[str, ...]
    check: Check | None = field(repr=False)
    plot: Callable[[], Trajectories] | None = field(default=None, repr=False)

    @property
    def document(self) -> str:
        """The document's number, "001"."""
        return self.id.partition(".")[0]


@dataclass
class Document:
    """A document and its claims, in the order of its text."""

    number: str
    title: str
    about: str
    claims: list[Claim] = field(default_factory=list)

    def claim(
        self,
        name: str,
        where: str,
        printed: str,
        verdict: Verdict = "agrees",
        *,
        how: str,
        corrected: str = "",
        rows: str = "",
        plot: Callable[[], Trajectories] | None = None,
    ) -> Callable[[Check], Check]:
        """Register a function as the check of a claim; its docstring is the claim's note.

        Args:
            name: short name; the id is "number.name".
            where: place in the document.
            printed: LaTeX as printed.
            verdict: on record.
            how: how it is computed here.
            corrected: LaTeX of the right form.
            rows: numbers of the audit's rows, "4 5".
            plot: trajectories that differ.
        """

        def register(check: Check) -> Check:
            note = " ".join((check.__doc__ or "").split())
            places = tuple(f"{self.number}-{row}" for row in rows.split())
            identity = f"{self.number}.{name}"
            self.claims.append(
                Claim(identity, where, printed, verdict, how, corrected, note, places, check, plot)
            )  # fmt: skip
            return check

        return register

    def reading(
        self, name: str, where: str, printed: str, verdict: Verdict, note: str, *, corrected: str = "", rows: str = ""
    ) -> None:
        """Register a claim of words alone: read, not computed."""
        places = tuple(f"{self.number}-{row}" for row in rows.split())
        self.claims.append(
            Claim(f"{self.number}.{name}", where, printed, verdict, "read", corrected, note, places, None)
        )


def in_order(package: str, *parts: str) -> None:
    """Load the parts of a document in the order of its text: loading registers their claims."""
    for part in parts:
        importlib.import_module(f"{package}.{part}")


def judged(record: Verdict, comparisons: Sequence[Comparison]) -> str:
    """The verdict that comparisons lead to.

    Nothing compared: the verdict on record. Something corrected, or arithmetic, that does not hold: "unexplained".
    Everything printed holds: "agrees", or "ambiguous" where another reading does not hold. Something printed does not:
    "typo" or "wrong" (the record knows which, no computation does).
    """
    if not comparisons:
        return record
    held = {role: [one.holds for one in comparisons if one.role == role] for role in _ROLES}
    if not all(held["corrected"] + held["arithmetic"]):
        return UNEXPLAINED
    if held["reading"]:
        if not any(held["reading"]):
            return UNEXPLAINED
        if not all(held["reading"] + held["printed"]):
            return "ambiguous"
    if all(held["printed"]):
        return "agrees"
    return record if record in ("typo", "wrong") else "wrong"


_ROLES: tuple[Role, ...] = ("printed", "corrected", "reading", "arithmetic")
