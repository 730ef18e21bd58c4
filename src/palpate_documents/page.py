"""The review as one page: what is printed and what is right, typeset; numbers side by side; no network needed."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from palpate.files import atomic_write
from palpate.lazy import check_extra
from palpate_documents.claim import VERDICTS, Comparison, Trajectories
from palpate_documents.drawing import label_axes, new_figure
from palpate_documents.library import document
from palpate_documents.mathml import formula_html, is_long, marked
from palpate_documents.review import Result, by_cause, counts

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_review(results: Sequence[Result], path: str | os.PathLike[str]) -> Path:
    """Write the review of some claims as one HTML file.

    Raises:
        FileError: the file cannot be written.
    """
    text = review_html(results).encode()
    return atomic_write(path, lambda file: file.write(text))


def review_html(results: Sequence[Result]) -> str:
    """The page's whole text."""
    numbers = list(dict.fromkeys(result.claim.document for result in results))
    title = "Review of " + ("document " if len(numbers) == 1 else "documents ") + ", ".join(numbers)
    parts = [f"<h1>{title}</h1>", _lead(results), _contents(numbers, results) if len(numbers) > 1 else ""]
    for number in numbers:
        about = document(number)
        parts.append(
            f'<h2 id="d{number}">{number}: {escape(about.title)}</h2><p class="soft">{escape(about.about)}</p>'
            + "\n".join(_claim(one) for one in results if one.claim.document == number)
        )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<link rel="icon" href="data:,"><title>{title}</title><style>{_style()}</style>'
    )
    body = "\n".join(part for part in parts if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _style() -> str:
    return (resources.files("palpate_documents") / "assets" / "page.css").read_text(encoding="utf-8")


def _lead(results: Sequence[Result]) -> str:
    spans = "".join(
        f'<span class="{_kind(verdict)}"><b>{n}</b> {verdict}</span>' for verdict, n in counts(results).items() if n
    )
    changed = [one for one in results if one.changed]
    words = (
        f'<p class="changed"><b>{len(changed)} verdicts have changed:</b> '
        + ", ".join(escape(f"{one.claim.id} is {one.found}, on record {one.claim.verdict}") for one in changed)
        + "</p>"
        if changed
        else ""
    )
    intro = (
        "Every equation, number and statement with computable content, computed anew and compared. Printed forms stand "
        "first, right ones beside or below them. “From the document's own” numbers follow from other printed ones, "
        "right or wrong."
    )
    return f'<p class="soft">{intro}</p><p class="counts">{spans}</p>{words}{_causes(results)}'


def _causes(results: Sequence[Result]) -> str:
    """Claims that are not right, by their root cause."""
    rows = []
    for cause, group in by_cause(results):
        links = ", ".join(f'<a href="#{escape(one.claim.id)}">{escape(one.claim.id)}</a>' for one in group)
        rows.append(f"<tr><td>{escape(cause) or 'each on its own'}</td><td>{len(group)}</td><td>{links}</td></tr>")
    if not rows:
        return ""
    heads = "<tr><th>root cause</th><th>claims</th><th>wrong or misprinted because of it</th></tr>"
    return f'<div class="wide"><table class="causes">{heads}{"".join(rows)}</table></div>'


def _kind(verdict: str) -> str:
    """The class of a verdict on the page."""
    return "unjudged" if verdict == "cannot be judged" else verdict


def _contents(numbers: Sequence[str], results: Sequence[Result]) -> str:
    rows = []
    for number in numbers:
        tally = counts([one for one in results if one.claim.document == number])
        cells = "".join(f"<td>{tally.get(v, 0)}</td>" for v in VERDICTS)
        rows.append(f'<tr><td><a href="#d{number}">{number} {escape(document(number).title)}</a></td>{cells}</tr>')
    heads = "<tr><th>document</th>" + "".join(f"<th>{verdict}</th>" for verdict in VERDICTS) + "</tr>"
    return f'<div class="wide"><table>{heads}{"".join(rows)}</table></div>'


def _claim(result: Result) -> str:
    claim = result.claim
    kind = "changed" if result.changed else _kind(claim.verdict)
    words = f"{result.found}, on record {claim.verdict}" if result.changed else claim.verdict
    head = (
        f'<p class="head"><b>{escape(claim.where)}</b><span class="badge {kind}">{escape(words)}</span>'
        f'<small class="soft">{escape(claim.id)}</small></p>'
    )
    wrong = claim.verdict in ("wrong", "typo")
    text, right = claim.printed, claim.corrected
    if wrong and right:
        text, right = marked(text, right, "slip"), marked(right, text, "mend")
    title = "implied by the document, not printed" if claim.implied else "printed"
    sides = [_side(title, text, "struck" if wrong else "")]
    if right:
        sides.append(_side("right" if wrong else "meant, or needed", right, "right"))
    cause = document(claim.document).causes.get(claim.cause, "")
    words = (claim.note if claim.note != "Right." else "", f"Root cause: {cause}." if cause else "")
    note = "".join(f"<p>{escape(one)}</p>" for one in words if one)
    plot = _plot(claim.plot()) if claim.plot is not None else ""
    long = " long" if is_long(claim.printed) or is_long(claim.corrected) else ""
    inside = f'<div class="sides{long}">{"".join(sides)}</div>{note}{plot}{_evidence(result)}'
    return f'<section class="claim" id="{escape(claim.id)}">{head}{inside}</section>'


def _side(title: str, latex: str, kind: str) -> str:
    return f'<div class="side {kind}"><small>{title}</small>{formula_html(latex)}</div>'


_ROLES = {"printed": "printed", "corrected": "corrected", "reading": "read so", "arithmetic": "from the document's own",
          "reference": "computed independently"}  # fmt: skip


def _evidence(result: Result) -> str:
    if not result.comparisons:
        return '<p class="soft">Read, not computed.</p>'
    rows = "".join(_row(one, result.claim.implied) for one in result.comparisons)
    heads = "<tr><th></th><th>what</th><th>given</th><th>computed</th><th></th></tr>"
    table = f'<div class="wide"><table>{heads}{rows}</table></div>'
    how = f'<p class="soft">Computed: {escape(result.claim.how)}.</p>'
    opened = "" if result.found == "agrees" and not result.changed else " open"
    return f"<details{opened}><summary>evidence</summary>{table}{how}</details>"


def _row(one: Comparison, implied: bool) -> str:
    role = "implied" if implied and one.role == "printed" else _ROLES[one.role]
    mark = '<span class="agrees">✓</span>' if one.holds else '<span class="wrong">✗</span>'
    if one.error is not None and 0 < one.error < np.inf and not one.holds:
        mark += f" off by {one.error:.3g}"
    note = f'<br><small class="soft">{escape(one.told)}</small>' if one.told else ""
    return (
        f'<tr><td>{role}</td><td>{escape(one.label)}{note}</td><td class="n">{_value(one.given)}</td>'
        f'<td class="n">{_value(one.found)}</td><td class="mark">{mark}</td></tr>'
    )


def _value(value: Any) -> str:
    if isinstance(value, list):
        rows = [_value(one) for one in value]
        if value and isinstance(value[0], list):
            return "<br>".join(rows)
        return ", ".join(rows if len(rows) < 12 else [*rows[:5], "…", *rows[-2:]])
    if isinstance(value, float):
        value = 0.0 if abs(value) < 1e-12 else value
        shown = {"inf": "∞", "-inf": "−∞"}.get(str(value), f"{value:.8g}".replace("-", "−"))
        return f'<span class="whole">{shown}</span>'
    return escape(str(value))


def _plot(curves: Trajectories) -> str:
    data = base64.b64encode(svg(curves)).decode()
    return f'<p><img alt="{escape(curves.title)}" src="data:image/svg+xml;base64,{data}"></p>'


def svg(curves: Trajectories) -> bytes:
    """Curves as a drawing."""
    check_extra("matplotlib", "figures", "a page with curves")
    figure, axes = new_figure(1, size=(6.4, 3.0))
    styles = ("-", "--", ":", "-.")
    for index, (label, x, y) in enumerate(curves.curves):
        axes[0, 0].plot(x, y, styles[index % 4], label=label, linewidth=1.6)
    label_axes(axes[0, 0], curves.title, curves.x, curves.y)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
