"""What the shorthand and the symbols of a page mean."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from palpate.derive.closed.present import natural
from palpate.derive.writing.document import WIDTH
from palpate.derive.writing.notation import Notation

if TYPE_CHECKING:
    from palpate.derive.derivation import Derivation


def legend_text(derivation: Derivation, notation: Notation) -> str:
    """Shorthand used so far, and the parameters with their values, as text."""
    lines = []
    short = [*shorthand_lines(notation), *where_lines(derivation, notation)]
    if short:
        lines.append(textwrap.fill("Shorthand: " + "; ".join(short), WIDTH, subsequent_indent="  "))
    rows = parameter_rows(derivation, notation)
    if rows:
        width = max(len(row[0]) for row in rows)
        lines.append("Symbols:")
        lines += [f"  {name:<{width}}  {value:>14}  {meaning}".rstrip() for name, value, meaning in rows]
    lines += [f"note: {note}" for note in derivation.notes]
    return "\n".join(lines)


def shorthand_lines(notation: Notation) -> list[str]:
    """c12 = cos(q1 + q2) and so on, in order."""
    lines = []
    for short, (kind, angle) in sorted(notation.shorthand.items(), key=lambda item: natural(item[0])):
        single = not angle.args
        inside = notation.write(angle)
        lines.append(f"{short} = {kind} {inside}" if single else f"{short} = {kind}({inside})")
    return lines


def where_lines(derivation: Derivation, notation: Notation) -> list[str]:
    """Shorthand the user (or a root) brought along: z = √(l² − x²)."""
    table = getattr(derivation.forms, "where", {})
    return [f"{notation.symbol(name)} = {notation.write(e)}" for name, e in table.items() if name in notation.used]


def parameter_rows(derivation: Derivation, notation: Notation) -> list[tuple[str, str, str]]:
    """(symbol, value with unit, meaning) of every parameter that was written and has a value."""
    rows = []
    for name, p in sorted(derivation.parameters.items(), key=lambda item: natural(item[0])):
        if p.value == p.value and name in notation.used:
            rows.append((notation.symbol(name), f"{p.value:.10g} {p.unit}".strip(), p.meaning))
    return rows
