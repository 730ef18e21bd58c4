"""Result of marking a document: every formula with its mark, as a value, in words and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from palpate.escape.documents import html_text
from palpate.tools.review.algebra.wanted import QUANTITIES
from palpate.tools.review.verdict import Verdict
from palpate.tools.sheets.source import Source

Mark = Literal["agrees", "differs", "convention", "skipped", "used"]


@dataclass(frozen=True)
class Finding:
    """A formula of a document.

    Attributes:
        mark: "agrees"; "differs"; "convention": right by itself, in another convention than the other formulas;
            "skipped": not judged, `reason` says why; "used": a definition or a value that other formulas use.
        label: its left side as written.
        title: what it is, in words.
        start, end: its position in the document.
        line: where it begins, from 1; `cell` is that of a notebook, 0 elsewhere.
        number: of the equation, "" if it has none.
        verdict: of the check; None if there was none.
        reason: why it was not judged; `full_reason` shows the line, and a hint.
        spans: positions of the slips.
        slips: corrections in words.
        correction: the formula as it should be, "" if it is right or no small correction makes it right.
        notes: how it was read.
        arm: which reference it was judged by, where there are several.
        entries: how many entries were compared; `is_entry` says whether it is one entry of a larger quantity.
    """

    mark: Mark
    label: str
    start: int
    end: int
    line: int
    cell: int = 0
    title: str = ""
    number: str = ""
    verdict: Verdict | None = field(default=None, repr=False)
    reason: str = ""
    full_reason: str = field(default="", repr=False)
    spans: tuple[tuple[int, int], ...] = ()
    slips: tuple[str, ...] = ()
    correction: str = ""
    notes: tuple[str, ...] = ()
    arm: str = ""
    entries: int = 1
    is_entry: bool = False

    @property
    def judged(self) -> bool:
        """Whether it was compared with the reference."""
        return self.mark in ("agrees", "differs", "convention")

    @property
    def where(self) -> str:
        """Its position in words."""
        return f"cell {self.cell}, line {self.line}" if self.cell else f"line {self.line}"


@dataclass(frozen=True)
class Sheet:
    """A document, judged.

    Attributes:
        source: the document.
        findings: its formulas, in order.
        throughout: mistakes that many formulas share, told once.
    """

    source: Source
    findings: tuple[Finding, ...]
    throughout: tuple[str, ...] = ()

    def of(self, *marks: Mark) -> list[Finding]:
        """The formulas with one of these marks."""
        return [one for one in self.findings if one.mark in marks]

    @property
    def judged(self) -> list[Finding]:
        """The formulas that were compared with the reference."""
        return [one for one in self.findings if one.judged]

    @property
    def wrong(self) -> list[Finding]:
        """The formulas that are not right, or not in the convention of the others."""
        return self.of("differs", "convention")

    def __bool__(self) -> bool:
        return bool(self.judged) and not self.wrong

    def __str__(self) -> str:
        return "\n".join([*(_finding_text(one) for one in self.judged), *self._rest(), self.summary])

    def _rest(self) -> list[str]:
        skipped = self.of("skipped")
        return [f"{one.where}: {_short(one.label)} not judged: {one.reason}" for one in skipped]

    @property
    def summary(self) -> str:
        """One line: how many were judged, are wrong, were not understood."""
        parts = [f"{len(self.judged)} checked: " + ("all agree" if not self.wrong else _counted(len(self.wrong)))]
        skipped = len(self.of("skipped"))
        parts += [f"{skipped} not judged"] if skipped else []
        return "\n".join([*(f"throughout: {one}" for one in self.throughout), "; ".join(parts)])

    @property
    def refusal(self) -> str:
        """Why nothing was judged."""
        if not self.findings:
            return "the document holds no formula\n  hint: write for example  g = m1*g*l1*cos(q1)"
        skipped = self.of("skipped")
        if not skipped:
            return f"no quantity to check, only definitions\n  hint: quantities are {', '.join(QUANTITIES)}"
        return "\n".join(one.full_reason or f"{one.where}: {_short(one.label)}: {one.reason}" for one in skipped[:3])

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain data."""
        return {
            "document": self.source.name,
            "judged": len(self.judged),
            "wrong": len(self.wrong),
            "skipped": len(self.of("skipped")),
            "throughout": list(self.throughout),
            "findings": [_data(one) for one in self.findings],
        }

    def html(self) -> str:
        """The document as one page: every formula marked, slips circled, corrections beside them."""
        from palpate.tools.sheets.page import sheet_page

        return sheet_page(self)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html_text(self.html())}" style="width:100%;height:32em;border:0"></iframe>'

    def json(self) -> str:
        """The findings as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)


_LONGEST = 400  # characters of a line that are printed


def _counted(count: int) -> str:
    return f"{count} differs" if count == 1 else f"{count} differ"


def _data(one: Finding) -> dict[str, Any]:
    kept = ("mark", "label", "title", "line", "cell", "number", "reason", "correction", "arm")
    made: dict[str, Any] = {name: getattr(one, name) for name in kept if getattr(one, name) not in ("", 0)}
    made |= {name: list(getattr(one, name)) for name in ("slips", "notes") if getattr(one, name)}
    made["span"] = [one.start, one.end]
    if one.spans:
        made["slip_spans"] = [list(span) for span in one.spans]
    if one.verdict is not None and one.verdict.differences:
        made["entries"] = [list(d.entry) for d in one.verdict.differences if d.entry]
    return made


def _short(label: str) -> str:
    text = " ".join(label.split())
    return text if len(text) <= 60 else f"{text[:57]}…"


def _finding_text(one: Finding) -> str:
    """A verdict in words, with the mended formula if it is a matrix."""
    assert one.verdict is not None
    number = f", ({one.number})" if one.number else ""
    head = f"{_short(one.label)} ({one.where}{number}):"
    verdict = replace(one.verdict, notes=one.notes)
    if one.mark == "convention":
        note = next((note for note in one.notes if note.startswith("it is right")), "")
        return f"{head} right by itself, in another convention than the other formulas\n  note: {note}"
    lines = [str(verdict).replace(f"{verdict.what}:", head, 1)]
    if len(one.correction.splitlines()) > 1:
        lines += [f"  {_short(one.label)} =", *(f"    {line}" for line in one.correction.splitlines())]
    return "\n".join(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in "\n".join(lines).splitlines())
