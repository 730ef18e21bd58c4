"""One HTML page of a derivation that needs nothing else: formulas are MathML, which browsers draw by themselves."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from palpate.derive.document import as_html
from palpate.derive.legend import parameter_rows, shorthand_lines, where_lines
from palpate.derive.notation import Notation
from palpate.derive.styles import Text

if TYPE_CHECKING:
    from palpate.derive.derivation import Derivation
    from palpate.derive.verify import Verification

_STYLE = """
:root{--ink:#1b2733;--soft:#5b6b7a;--line:#dfe5ea;--good:#00694d;--bad:#a83f00}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:1.2rem;font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
color:var(--ink);background:#fff}
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0 .4rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:1.8rem 0 .5rem;padding-bottom:.2rem;border-bottom:1px solid var(--line)}
p{margin:.4rem 0;color:var(--soft)} .lead{color:var(--ink)}
.formula{overflow-x:auto;padding:.4rem .2rem} math{font-size:1.1rem}
mi.dotted{font-style:italic} mtd{padding:.2em .6em}
mtable.matrix{margin:0 .25em;padding:0 .1em;border:solid currentColor;border-width:0 1.5px;
--tick:linear-gradient(currentColor,currentColor);background-repeat:no-repeat;background-size:6px 1.5px;
background-image:var(--tick),var(--tick),var(--tick),var(--tick);
background-position:0 0,0 100%,100% 0,100% 100%}
details{margin:.4rem 0} summary{cursor:pointer}
table{border-collapse:collapse} td,th{padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);text-align:left}
th{font-size:.82rem;color:var(--soft);font-weight:600} td.number{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}
.good{color:var(--good)} .bad{color:var(--bad)} ul{padding-left:1.2rem}
@media(max-width:600px){body{padding:.8rem;font-size:14px}}
@media print{.formula{overflow:visible}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLOSED = ("position", "rotation", "J", "Ja", "Jdot", "drift", "T", "V", "M", "C", "g", "tau", "Lambda", "mu", "p")
_RECURSIVE = ("tau",)
_ENERGY = ("T", "V", "M", "C", "g", "tau")


def derivation_page(
    derivation: Derivation, notation: Notation, steps: bool, verification: Verification | None = None
) -> str:
    """The page's whole text."""
    sections = derivation.steps() if steps else derivation.sections(_shown(derivation))
    body = as_html(sections, notation, derivation.notation(Text()))
    title = f"Equations of motion of {derivation.name}"
    parts = [f"<h1>{escape(title)}</h1>", f'<p class="lead">{escape(_lead(derivation))}</p>']
    parts += [f"<p>{escape(note)}</p>" for note in derivation.notes]
    parts += [_verdict(verification)] if verification is not None else []
    parts += [_shorthand(derivation, notation), body, _symbols(derivation, notation)]
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _shown(derivation: Derivation) -> tuple[str, ...]:
    if derivation.model is None:
        return _ENERGY
    return _CLOSED if derivation.engine == "closed" else _RECURSIVE


def _lead(derivation: Derivation) -> str:
    count = len(derivation.names.v)
    method = {"lagrange": "Lagrange", "newton-euler": "Newton–Euler", "projected": "projected Newton–Euler"}
    freedoms = f"{count} degree{'s' if count > 1 else ''} of freedom"
    return f"{freedoms}; derived by {method[derivation.method]}. M q̈ + C q̇ + g = τ, SI units."


def _verdict(verification: Verification) -> str:
    kind = "good" if verification.ok else "bad"
    rows = "".join(
        f'<tr><td>{escape(f.what)}</td><td class="number">{f.error:.1e}</td></tr>' for f in verification.findings
    )
    words = "agrees with the numeric robot" if verification.ok else "DIFFERS from the numeric robot"
    lead = f'<summary class="{kind}">This derivation {words} at {verification.states} random states.</summary>'
    return f"<details>{lead}<table><tr><th>compared</th><th>largest error</th></tr>{rows}</table></details>"


def _shorthand(derivation: Derivation, notation: Notation) -> str:
    """Waves that were abbreviated, in plain text: they are few and short."""
    plain = derivation.notation(Text())
    plain.shorthand.update(notation.shorthand)
    plain.used.update(notation.used)
    found = [*shorthand_lines(plain), *where_lines(derivation, plain)]
    return f"<p>Shorthand: {escape('; '.join(found))}.</p>" if found else ""


def _symbols(derivation: Derivation, notation: Notation) -> str:
    plain = derivation.notation(Text())
    plain.used.update(notation.used)
    rows = parameter_rows(derivation, plain)
    if not rows:
        return ""
    cells = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{escape(value)}</td><td>{escape(meaning)}</td></tr>'
        for name, value, meaning in rows
    )
    return f"<h2>Symbols</h2><table><tr><th>symbol</th><th>value</th><th>meaning</th></tr>{cells}</table>"
