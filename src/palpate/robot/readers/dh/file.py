"""DH tables in TOML files, as scenarios hold them: `[[robot.dh]]` or `[[dh]]`, one block per row.

Every fault of every row is told in one pass, with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, ModelError
from palpate.robot.mechanics.tensor import tensor_from
from palpate.robot.readers.dh.table import Convention, DHLink, repaired_rows, row_faults
from palpate.robot.readers.findings import Finding, Mend, did_you_mean, quoted, refuse
from palpate.robot.readers.xmlfile import Report, read_bytes
from palpate.toml import toml_data

_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*(?:robot[ \t]*\.[ \t]*)?dh[ \t]*\]\]", re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*\[", re.MULTILINE)
_FIELDS = {field.name for field in fields(DHLink)}


@dataclass(frozen=True)
class DHTable:
    """A table read from a file: its rows, how they are meant, and every fault."""

    name: str
    rows: tuple[DHLink, ...]
    convention: Convention
    findings: tuple[Finding, ...]
    text: str


def read_table(path: Path) -> DHTable:
    """The DH table of a file; a file without one has an error among its findings."""
    report = Report(str(path))
    text = (read_bytes(path, report) or b"").decode(errors="replace")
    data: dict[str, Any] = {}
    try:
        data = toml_data(text)
    except InvalidInput as error:
        report.error(None, error.args[0], "a DH table stands in a TOML file")
    inner = data.get("robot")
    robot: dict[str, Any] = inner if isinstance(inner, dict) else data
    listed = robot.get("dh")
    if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed) or not listed:
        if not report.has_errors:
            report.error(None, "holds no DH table", "rows are blocks [[robot.dh]]")
        return DHTable(path.stem, (), "standard", tuple(report.findings), text)
    rows, lines = [], _lines(text, len(listed))
    for number, (given, line) in enumerate(zip(listed, lines), start=1):
        row = _row(given, number, line, report)
        rows.append(row)
        for fault in row_faults(row, number):
            report.error(None, f"{fault.element}: {fault.found}", fault.rule, _HINT, line=line)
    convention = _convention(robot, report)
    return DHTable(path.stem, tuple(rows), convention, tuple(report.findings), text)


_HINT = "palpate check --repair writes the nearest valid inertia"


def _convention(robot: dict[str, Any], report: Report) -> Convention:
    said = robot.get("dh_convention", robot.get("convention", "standard"))
    if said not in ("standard", "modified"):
        report.error(None, f"dh_convention {said!r}", "a DH table is 'standard' or 'modified'")
        return "standard"
    return said


def _row(given: dict[str, Any], number: int, line: int, report: Report) -> DHLink:
    for key in given:
        if key not in _FIELDS:
            hint = did_you_mean(key, _FIELDS, 1)
            report.error(None, f"DH row {number}: unknown key {quoted(key)}", "not of a DH row", hint, line=line)
    taken: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items() if key in _FIELDS}
    return DHLink(**taken)


def _lines(text: str, count: int) -> list[int]:
    """The line of each row's header; 0 where rows are written another way."""
    lines = [text.count("\n", 0, match.end()) + 1 for match in _HEADER.finditer(text)]
    return lines if len(lines) == count else [0] * count


def repaired_table(path: Path) -> tuple[bytes, list[Mend]]:
    """The file with the masses and inertias of its rows mended, everything else untouched.

    Raises:
        ModelError: there is no table, or its rows are not written as blocks of their own.
    """
    table = read_table(path)
    if not table.rows:
        raise refuse(str(path), table.findings)
    mended, _ = repaired_rows(table.rows)
    starts = [match.end() for match in _HEADER.finditer(table.text)]
    if len(starts) != len(table.rows):
        raise ModelError(f"{path.name}: only rows written as blocks [[robot.dh]] can be repaired in place")
    text, changes = table.text, []
    for number in range(len(starts), 0, -1):  # from the end, so that the places before stay
        old, new, start = table.rows[number - 1], mended[number - 1], starts[number - 1]
        if new is not old:
            text = _rewritten(text, start, number, old, new, changes)
    return text.encode(), changes[::-1]


def _rewritten(text: str, start: int, number: int, old: DHLink, new: DHLink, changes: list[Mend]) -> str:
    following = _BLOCK.search(text, start)
    end = following.start() if following else len(text)
    block = text[start:end]
    for key, value in (("inertia", _tensor_text(new)), ("mass", repr(float(new.mass)))):
        pattern = re.compile(rf"^([ \t]*{key}[ \t]*=[ \t]*)(\[[^#\n]*\]|[^\s#]+)", re.MULTILINE)
        match = pattern.search(block)
        if match is None or getattr(old, key) is getattr(new, key):
            continue
        line = text.count("\n", 0, start + match.start(2)) + 1
        changes.append(Mend(f"DH row {number}", line, key, match[2], value))
        block = block[: match.start(2)] + value + block[match.end(2) :]
    return text[:start] + block + text[end:]


def _tensor_text(row: DHLink) -> str:
    I = tensor_from(row.inertia)
    six = np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    shown = six if np.any(np.abs(six[3:]) > 1e-14 * np.abs(six).max()) else six[:3]
    return "[" + ", ".join(repr(float(f"{value:.9g}")) for value in shown) + "]"
