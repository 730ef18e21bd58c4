"""A document as plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from palpate.equations.spelling import width
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.matrices import entry_by_entry, factored
from palpate.tools.derive.writing.notation import Notation

WIDTH = 110  # columns of text


def as_text(sections: Iterable[Section], notation: Notation) -> str:
    """Sections for a terminal."""
    blocks = []
    for section in sections:
        lines = [section.title, "─" * width(section.title)] if section.title else []
        lines += [textwrap.fill(word, WIDTH) for word in section.words]
        for formula in section.formulas:
            lines += [textwrap.fill(formula.remark, WIDTH)] if formula.remark else []
            lines += formula_lines(formula, notation)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def formula_lines(formula: Formula, notation: Notation) -> list[str]:
    """A formula in a few lines: a matrix in brackets where it fits, entry by entry where it does not."""
    label, e = notation.label(formula.label), formula.expression
    if not hasattr(e, "shape"):
        return _wrapped(f"  {label} = ", notation.write(e))
    if not any(x != 0 for x in e):
        return [f"  {label} = 0"]
    front, matrix = factored(e, notation)
    head = f"  {label} = " + (f"{front} " if front else "")
    rows = matrix.split("\n")
    if max(map(width, rows)) + width(head) <= WIDTH:
        middle = (len(rows) - 1) // 2
        return [(head if i == middle else " " * width(head)) + row for i, row in enumerate(rows)]
    return _entries(formula, notation)


def _entries(formula: Formula, notation: Notation) -> list[str]:
    entries, note = entry_by_entry(formula.expression)
    label, lines = notation.label(formula.label), []
    for subscript, entry in entries:
        lines += _wrapped(f"  {label}[{subscript}] = ", notation.write(entry))
    return [*lines, f"  {note}"] if len(entries) < len(formula.expression) else lines


def _wrapped(head: str, text: str) -> list[str]:
    """A long formula broken at its signs, outside brackets where that is enough."""
    available = WIDTH - width(head)
    lines, line = [], ""
    for piece in _broken(text, available, 0):
        if line and width(line + piece) > available:
            lines.append(line.rstrip())
            line = ""
        line += piece
    lines.append(line.rstrip())
    return [(head if i == 0 else " " * width(head)) + line for i, line in enumerate(lines)]


def _broken(text: str, available: int, level: int) -> list[str]:
    """Pieces that start with a sign at one depth of brackets; those too long for a line broken at the next depth."""
    if width(text) <= available or level > 4:
        return [text]
    pieces, start, depth = [], 0, 0
    for i in range(1, len(text) - 1):
        depth += {"(": 1, ")": -1}.get(text[i - 1], 0)
        if text[i - 1 : i + 2] in (" + ", " − ") and depth == level:
            pieces.append(text[start:i])
            start = i
    pieces.append(text[start:])
    return [part for piece in pieces for part in _broken(piece, available, level + 1)]
