"""Pieces of a page. Whatever comes from a model, a scenario or a trace passes through `palpate.escape`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from palpate.escape.documents import html_json, html_text
from palpate.metrics import MetricResult
from palpate.views.pages.assets import script
from palpate.views.pages.interactive import charts
from palpate.views.pages.player import html
from palpate.views.panels import Figure, Marks


def page(title: str, body: Iterable[str], plots: Sequence[dict[str, Any]], scripts: Sequence[str] = ()) -> str:
    """A whole page; `body` is markup, `title` is text, `scripts` run once the charts are drawn."""
    sweep = ["sweeps.js"] if any("data" in plot for plot in plots) else []
    data = f'<script id="charts" type="application/json">{html_json(list(plots))}</script>'
    return html(title, ["<body>", *body, data, script("charts.js", *sweep, "page.js", *scripts)], styles=("page.css",))


def contents(sections: Iterable[str]) -> str:
    """Links to the sections of a page that there are, from their markup."""
    headings = [match for part in sections for match in _SECTION.findall(part)]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title in headings)
    return f'<nav class="contents" aria-label="Contents">{links}</nav>' if len(headings) > 1 else ""


_SECTION = re.compile(r'<section id="([\w-]+)">(?:<details[^>]*><summary>)?<h2>(.*?)</h2>')


def facts(pairs: Mapping[str, object]) -> str:
    """Names with their values; what is None is left out."""
    items = [
        f"<div><dt>{html_text(k)}</dt><dd>{html_text(str(v))}</dd></div>" for k, v in pairs.items() if v is not None
    ]
    return f"<dl>{''.join(items)}</dl>"


def section(title: str, *content: str) -> str:
    """A headed part of the page; nothing without content."""
    return _section(title, f"<h2>{html_text(title)}</h2>", content, "")


def folded_section(title: str, *content: str) -> str:
    """A headed part of the page behind a click; printed all the same."""
    head = f"<details class=print><summary><h2>{html_text(title)}</h2></summary>"
    return _section(title, head, content, "</details>")


def _section(title: str, head: str, content: Iterable[str], end: str) -> str:
    inside, slug = "\n".join(part for part in content if part), re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f'<section id="{slug}">{head}{inside}{end}</section>' if inside else ""


def bullets(items: Sequence[str], most: int = 100) -> str:
    """Texts as a list."""
    more = f"<li class=soft>and {len(items) - most} more</li>" if len(items) > most else ""
    return f"<ul>{''.join(f'<li>{html_text(item)}</li>' for item in items[:most])}{more}</ul>" if items else ""


def folded(summary: str, content: str) -> str:
    """Content behind a click."""
    return f"<details><summary>{html_text(summary)}</summary>{content}</details>" if content else ""


def listing(value: object) -> str:
    """A text as it is, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return f"<pre>{html_text(text)}</pre>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], classes: Sequence[str]) -> str:
    """A table of heads and cells that are markup; `classes` are those of its columns, "" for none."""
    marked = ("number", "judged")
    head = "".join(f"<th class={c}>{text}" if c in marked else f"<th>{text}" for text, c in zip(heads, classes))
    cells = [f"<td class={c}>" if c else "<td>" for c in classes]
    body = "".join(f"<tr>{''.join(cell + text for cell, text in zip(cells, row))}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</thead><tbody>{body}</tbody></table></div>"


def verdicts(results: Sequence[MetricResult]) -> str:
    """The metrics that were judged, in a table."""
    heads = ("Metric", "Value", "Bound", "<span class=verdict><span class=word>Verdict</span></span>")
    rows = [_judged_row(result) for result in results if result.bounded]
    return table(heads, rows, ("", "number", "bound", "judged")) if rows else ""


def metrics_table(results: Sequence[MetricResult]) -> str:
    """The metrics that were not judged, and those that do not apply folded away."""
    others = [result for result in results if not result.bounded and result.value is not None]
    silent = [f"{r.name}: {r.reason}" for r in results if r.value is None and not r.bounded]
    cells = "".join(f"<div class=cell><div>{_named(r)}</div><b>{_value(r)}</b></div>" for r in others)
    left = folded(f"{count(len(silent), 'metric')} without a value", bullets(silent)) if silent else ""
    return f'<div class="cells">{cells}</div>{left}' if cells or left else ""


def events_table(events: Sequence[Mapping[str, Any]], most: int = 200) -> str:
    """Events of exact contact: what, when, where, the mode before and after; a long list behind a click."""
    if not events:
        return ""
    texts = [[e["what"], e["contact"], mode_change(e), place_text(e)] for e in events[:most]]
    rows = [[f"{e['time']:.10f} s", *map(html_text, row)] for e, row in zip(events, texts)]
    listed = table(("Time", "Event", "Contact", "Mode", "Where"), rows, ("number", "", "", "", ""))
    if len(events) > most:
        listed += f"<p class=soft>and {len(events) - most} more in the trace</p>"
    return listed if len(events) <= 20 else folded(count(len(events), "event"), listed)


def mode_change(event: Mapping[str, Any]) -> str:
    """Mode before and after, as "free → sliding"; one word where it stays."""
    before, after = str(event["before"]), str(event["after"])
    return before if before == after else f"{before} → {after}"


def place_text(event: Mapping[str, Any]) -> str:
    """Where an event was, m, world axes."""
    return "(" + ", ".join(f"{x:.4g}" if abs(x) > 1e-12 else "0" for x in event["where"]) + ")"


_VERDICTS = {True: ("good", "✓", "pass"), False: ("bad", "✗", "fail"), None: ("soft", "–", "not judged")}


def _judged_row(result: MetricResult) -> list[str]:
    good, mark, word = _VERDICTS[result.passed]
    badge = f'<b class="verdict {good}">{mark}<span class="word"> {word}</span></b>'
    ends = {"≥": result.least, "≤": result.most}
    limits = [f"{sign} {end:.6g}".replace("-", "−") for sign, end in ends.items() if end is not None]
    bound = ", ".join(f"<span class=whole>{html_text(limit)}</span>" for limit in limits)
    return [_named(result), _value(result), bound, badge]


def _named(result: MetricResult) -> str:
    reason = f" — {result.reason}" if result.reason else ""
    return f"{html_text(result.name)}<small>{html_text(result.help + reason)}</small>"


def _value(result: MetricResult) -> str:
    return "—" if result.value is None else number(result.value, result.unit)


def count(how_many: int, what: str) -> str:
    """ "1 event", "2 events"."""
    return f"{how_many} {what}{'' if how_many == 1 else 's'}"


def number(value: float, unit: str) -> str:
    """A number with its unit, as markup."""
    return html_text(f"{value:.4g}".replace("-", "−") + ("" if unit == "1" else f" {unit}"))


class Plots:
    """The charts of a page: places for them in its markup, and their data for its script."""

    def __init__(self, marks: Marks = ()) -> None:
        """Begin with no chart; `marks` are shaded in every figure."""
        self.marks = marks
        self.data: list[dict[str, Any]] = []

    def figure(self, figure: Figure, note: str = "", titled: bool = True) -> str:
        """Places for the panels of a figure; nothing for one without panels."""
        if not figure.panels:
            return ""
        head = f"<h3>{html_text(figure.title)}</h3>" if titled else ""
        remark = f"<p class=soft>{html_text(note)}</p>" if note else ""
        both = zip(charts(figure, self.marks), figure.panels)
        if figure.columns > 1:
            return head + self.grid(self.place(chart, panel.title) for chart, panel in both) + remark
        return head + "".join(self.place(chart) for chart, _ in both) + remark

    def grid(self, places: Iterable[str]) -> str:
        """Places side by side; nothing without any."""
        inside = "".join(places)
        return f'<div class="grid">{inside}</div>' if inside else ""

    def place(self, chart: dict[str, Any], title: str = "", look: str = "") -> str:
        """A place for one chart."""
        name = f"plot-{len(self.data)}"
        self.data.append({"id": name, **chart})
        head = f"<p class=title>{html_text(title)}</p>" if title else ""
        return f'<div class="plot"{look}>{head}<div id="{name}"></div></div>'
