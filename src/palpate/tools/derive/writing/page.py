"""One HTML page of a derivation that needs nothing else: formulas are MathML, which browsers draw by themselves."""

from __future__ import annotations

import textwrap
from importlib import resources
from typing import TYPE_CHECKING

from palpate.equations.spelling import Text
from palpate.escape.documents import html_text
from palpate.tools.derive.closed.forms import METHOD_NAMES
from palpate.tools.derive.closed.present import natural
from palpate.tools.derive.writing.html import as_html
from palpate.tools.derive.writing.notation import Notation
from palpate.tools.derive.writing.plain_text import WIDTH

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation
    from palpate.tools.derive.verify import Verification

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLOSED = ("position", "rotation", "J", "Ja", "Jdot", "drift", "T", "V", "M", "C", "g", "tau", "Lambda", "mu", "p")
_RECURSIVE = ("tau",)
_ENERGY = ("T", "V", "M", "C", "g", "tau")


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


def derivation_page(
    derivation: Derivation, notation: Notation, steps: bool, verification: Verification | None = None
) -> str:
    """The page's whole text."""
    sections = derivation.steps() if steps else derivation.sections(_quantities_shown(derivation))
    body = as_html(sections, notation, derivation.notation(Text()))
    title = f"Equations of motion of {derivation.name}"
    parts = [f"<h1>{html_text(title)}</h1>", f'<p class="lead">{html_text(_lead(derivation))}</p>']
    parts += [f"<p>{html_text(note)}</p>" for note in derivation.notes]
    style = (resources.files("palpate.tools.derive") / "assets" / "page.css").read_text(encoding="utf-8")
    against = "what every derivation obeys" if derivation.model is None else "the numeric robot"
    parts += [_verdict(verification, against)] if verification is not None else []
    plain = derivation.notation(Text())  # shorthand and symbols are few and short
    plain.shorthand.update(notation.shorthand)
    plain.used.update(notation.used)
    symbols = _symbols(derivation, plain)  # those of the formulas; not what the shorthand itself is written with
    parts += [_shorthand(derivation, plain), body, symbols]
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{html_text(title)}</title><style>{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _quantities_shown(derivation: Derivation) -> tuple[str, ...]:
    if derivation.model is None:
        return _ENERGY
    return _CLOSED if derivation.engine == "closed" else _RECURSIVE


def _lead(derivation: Derivation) -> str:
    count = len(derivation.names.v)
    freedoms = f"{count} degree{'s' if count > 1 else ''} of freedom"
    return f"{freedoms}; derived by {METHOD_NAMES[derivation.method]}. M q̈ + C q̇ + g = τ, SI units."


def _verdict(verification: Verification, against: str) -> str:
    kind = "good" if verification.ok else "bad"
    rows = "".join(
        f'<tr><td>{html_text(f.what)}</td><td class="number">{f.error:.1e}</td></tr>' for f in verification.findings
    )
    words = f"agrees with {against}" if verification.ok else f"DIFFERS from {against}"
    lead = f'<summary class="{kind}">This derivation {words} at {verification.states} random states.</summary>'
    return f"<details>{lead}<table><tr><th>compared</th><th>largest error</th></tr>{rows}</table></details>"


def _shorthand(derivation: Derivation, plain: Notation) -> str:
    lines = [*shorthand_lines(plain), *where_lines(derivation, plain)]
    return f"<p>Shorthand: {html_text('; '.join(lines))}.</p>" if lines else ""


def _symbols(derivation: Derivation, plain: Notation) -> str:
    rows = parameter_rows(derivation, plain)
    if not rows:
        return ""
    cells = "".join(
        f'<tr><td>{html_text(name)}</td><td class="number">{html_text(value)}</td><td>{html_text(meaning)}</td></tr>'
        for name, value, meaning in rows
    )
    return f"<h2>Symbols</h2><table><tr><th>symbol</th><th>value</th><th>meaning</th></tr>{cells}</table>"
