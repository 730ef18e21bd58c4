"""A claim: something a document prints, how it is computed here, the verdict on record, and the right form.

A claim's function compares what is printed, and what is put in its place, with what the library computes. From the
comparisons a verdict follows; `verdict_of` says how. A verdict that is not the one on record means that the library, or
the record, has changed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any, Literal, get_args

from palpate.errors import check_names

Verdict = Literal["agrees", "typo", "wrong", "ambiguous", "cannot be judged"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Role = Literal["printed", "corrected", "reference", "reading", "arithmetic"]
ROLES: tuple[Role, ...] = get_args(Role)
UNEXPLAINED, FAILED = "unexplained", "failed"  # what was put in its place does not hold either; it cannot be computed


@dataclass(frozen=True)
class Comparison:
    """One line of evidence.

    Attributes:
        role: "printed": the document's own; "corrected": what should stand there; "reading": one way to understand
            what is printed; "arithmetic": what follows from other printed things, right or wrong; "reference": a
            number of an independent computation that no document prints.
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


Evidence = Iterator[Comparison]
Check = Callable[["Claim"], Evidence]


@dataclass(frozen=True)
class Trajectories:
    """Curves over one axis: what is printed beside what is right."""

    title: str
    x: str
    y: str
    curves: tuple[tuple[str, Sequence[float], Sequence[float]], ...]


Plot = Callable[[], Trajectories]


@dataclass(frozen=True, kw_only=True)
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
        cause: the key of the slip that it follows from, among `Document.causes`; "" if it stands alone.
        implied: whether no document prints the form: it follows from what is printed.
        rows: rows of the independent audit of the documents that it covers.
        check: computes the comparisons; None for what can only be read.
        plot: trajectories that differ; None if there is none.
    """

    id: str
    where: str
    printed: str
    verdict: Verdict = "agrees"
    how: str = "read"
    corrected: str = ""
    note: str = ""
    cause: str = ""
    implied: bool = False
    rows: tuple[str, ...] = ()
    check: Check | None = field(default=None, repr=False)
    plot: Plot | None = field(default=None, repr=False)

    @property
    def document(self) -> str:
        """The document's number, "001"."""
        return self.id.partition(".")[0]


class Document:
    """A document and its claims, in the order of its text.

    The claims' words are data, in `claims.toml` beside the modules whose functions check them, `_claim_<name>` each.
    """

    def __init__(self, number: str) -> None:
        file = resources.files(f"palpate_documents.d{number}") / "claims.toml"
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        self.number, self.title, self.about = number, data["title"], data["about"]
        self.causes: dict[str, str] = data.get("causes", {})
        self._words: dict[str, dict[str, str]] = data["claims"]
        self._checks: dict[str, tuple[Check, Plot | None]] = {}

    def check(self, name: str, *, plot: Plot | None = None) -> Callable[[Check], Check]:
        """Register a function as the check of a claim.

        Args:
            name: of the claim; its id is "number.name".
            plot: trajectories that differ.
        """
        check_names(f"claim of document {self.number}", [name], self._words)

        def register(check: Check) -> Check:
            self._checks[name] = check, plot
            return check

        return register

    def check_by_name(self, functions: Mapping[str, Any]) -> None:
        """Register the functions of a module: `_claim_code_dT` checks "code-dT", `_plot_code_dT` is its plot."""
        names = {re.sub(r"\W", "_", name): name for name in self._words}
        for function, check in functions.items():
            if function.startswith("_claim_"):
                key = function.removeprefix("_claim_")
                self.check(names.get(key, key), plot=functions.get(f"_plot_{key}"))(check)

    @cached_property
    def claims(self) -> list[Claim]:
        """Every claim; those without a check were read, not computed."""
        return [self._claim(name, dict(words)) for name, words in self._words.items()]

    def _claim(self, name: str, words: dict[str, str]) -> Claim:
        check, plot = self._checks.get(name, (None, None))
        rows = tuple(f"{self.number}-{row}" for row in words.pop("rows", "").split())
        words["note"] = " ".join(words.get("note", "").split())
        return Claim(id=f"{self.number}.{name}", rows=rows, check=check, plot=plot, **words)  # type: ignore[arg-type]


def verdict_of(record: Verdict, comparisons: Sequence[Comparison]) -> str:
    """The verdict that comparisons lead to.

    Nothing compared, or nothing that could be judged: the verdict on record. Something corrected, arithmetic or a
    reference that does not hold: "unexplained". Everything printed holds: "agrees"; or "ambiguous", if another reading
    does not hold. Something printed does not: "typo" or "wrong" (the record knows which, no computation does).
    """
    if not comparisons:
        return record
    held = {role: [one.holds for one in comparisons if one.role == role] for role in ROLES}
    if not all(held["corrected"] + held["arithmetic"] + held["reference"]):
        return UNEXPLAINED
    if record == "cannot be judged" and all(held["printed"]):
        return record
    if held["reading"]:
        if not any(held["reading"]):
            return UNEXPLAINED
        if not all(held["reading"] + held["printed"]):
            return "ambiguous"
    if all(held["printed"]):
        return "agrees"
    return record if record in ("typo", "wrong") else "wrong"
