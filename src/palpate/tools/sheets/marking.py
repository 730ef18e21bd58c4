"""A folder of answers marked: each formula with its credit, as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palpate.errors import FileError, PalpateError, check_names
from palpate.tools.review.algebra.wanted import QUANTITIES
from palpate.tools.sheets.judge import check_document
from palpate.tools.sheets.result import Finding, Sheet

KINDS = (".md", ".tex", ".txt", ".ipynb", ".py", ".m")
SHARE = 0.25  # of an entry's credit that a slip of cost 1 takes away
COLUMNS = ("answer", "where", "formula", "quantity", "mark", "credit", "slips", "correction", "remark")


@dataclass(frozen=True)
class Answer:
    """One answer, marked.

    Attributes:
        name: of its file.
        sheet: its formulas; None if it could not be read.
        credits: the credit of each expected quantity, from 0 to 1; of each judged formula if none was expected.
        problem: why it could not be read.
    """

    name: str
    sheet: Sheet | None
    credits: dict[str, float]
    problem: str = ""

    @property
    def total(self) -> float:
        """The mean credit."""
        return sum(self.credits.values()) / len(self.credits) if self.credits else 0.0


def mark_folder(reference: Any, folder: str | Path, expected: Sequence[str] = (), **options: Any) -> list[Answer]:
    """Mark every answer of a folder, in the order of their names.

    Args:
        reference: a `Robot` or a derivation.
        folder: with one document for each answer.
        expected: quantities that an answer should have, such as M, C, g; those that are missing have no credit.
        options: of `check_document`.

    Raises:
        FileError: no such folder, or no document in it.
    """
    check_names("quantity", expected, QUANTITIES)
    path = Path(folder)
    if not path.is_dir():
        raise FileError(f"{path} is no folder", hint="give the folder that holds the answers")
    files = sorted(one for one in path.iterdir() if one.suffix in KINDS and one.is_file())
    if not files:
        raise FileError(f"{path} holds no answer", hint=f"answers are files that end with {', '.join(KINDS)}")
    return [_marked(reference, one, expected, options) for one in files]


def _marked(reference: Any, path: Path, expected: Sequence[str], options: dict[str, Any]) -> Answer:
    try:
        sheet = check_document(reference, path, **options)
    except PalpateError as error:
        return Answer(path.name, None, dict.fromkeys(expected, 0.0), str(error).splitlines()[0])
    if not expected:
        return Answer(path.name, sheet, {f"{one.where} {one.label}": credit(one) for one in sheet.judged})
    return Answer(path.name, sheet, {what: _credit_of(what, sheet) for what in expected})


def _credit_of(what: str, sheet: Sheet) -> float:
    """The credit of a quantity: of its last formula that is whole, or the mean of its entries."""
    mine = [one for one in sheet.judged if one.verdict is not None and one.verdict.what == what]
    return credit(mine[-1]) if mine and not mine[-1].is_entry else sum(map(credit, mine)) / len(mine) if mine else 0.0


def credit(one: Finding) -> float:
    """The credit of a formula, from 0 to 1.

    Every entry of a matrix counts the same. An entry that is right has all its credit, one that no small correction
    makes right none; a slip of cost c takes away c/4 of it, once, though other entries repeat it. What is right in
    another convention has all its credit, and the remark says so; a lost sign is a slip (`only_signs`).
    """
    if one.mark in ("agrees", "convention"):
        return 1.0
    if one.verdict is None:
        return 0.0
    lost, told = 0.0, set()
    for entry in one.verdict.differences:
        if not entry.slips:
            lost += 1.0
        elif entry.slips not in told:
            told.add(entry.slips)
            lost += min(1.0, SHARE * (entry.cost or 0.0))
    return max(0.0, 1.0 - lost / max(one.entries, 1))


def marks_csv(answers: Iterable[Answer]) -> str:
    """The marks as a table: one row for each formula, and one for each answer."""
    made = io.StringIO()
    table = csv.writer(made, lineterminator="\n")
    table.writerow(COLUMNS)
    for answer in answers:
        for row in _rows(answer):
            table.writerow([_harmless(cell) for cell in row])
    return made.getvalue()


def _rows(answer: Answer) -> Iterable[Sequence[str]]:
    findings = answer.sheet.findings if answer.sheet is not None else ()
    for one in findings:
        if one.mark == "used":
            continue
        given = f"{credit(one):.3f}" if one.judged else ""
        remark = one.reason or "; ".join(one.notes)
        label = " ".join(one.label.split())
        yield (answer.name, one.where, label, one.title, one.mark, given, "; ".join(one.slips), one.correction, remark)
    for what, value in answer.credits.items():
        if answer.sheet is None or (what in QUANTITIES and not _has(what, answer.sheet)):
            yield (answer.name, "", what, what, "missing", f"{value:.3f}", "", "", answer.problem)
    yield (answer.name, "", "", "total", "", f"{answer.total:.3f}", "", "", answer.problem)


def _has(what: str, sheet: Sheet) -> bool:
    return any(one.verdict is not None and one.verdict.what == what for one in sheet.judged)


def _harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula of its own."""
    text = cell.replace("\r", " ")
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") and not _is_number(text) else text


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).lstrip("-").isdigit()
