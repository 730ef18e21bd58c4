"""Pieces of a page. Whatever comes from a model, a scenario or a trace passes through `escape`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from palpate.metrics import MetricResult
from palpate.views.interactive import as_script, charts, plotly_script
from palpate.views.panels import Figure, Marks

# No request leaves the page: only what stands in it may run, be shown or be fetched.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data:; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob: data:; "
    "connect-src data: blob:; frame-src 'self' blob: data:"
)
_STYLE = """
:root{--ink:#1b2733;--soft:#5b6b7a;--line:#dfe5ea;--good:#00694d;--bad:#a83f00}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:1.2rem;font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
color:var(--ink);background:#fff}
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2rem 0 .6rem;padding-bottom:.2rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:1.4rem 0 .2rem}
.soft,small{color:var(--soft)} small{font-size:.82rem;display:block;line-height:1.3}
.outcome{padding:.6rem .8rem;border-left:5px solid;border-radius:3px;background:#f5f7f9;overflow-wrap:anywhere}
.good{color:var(--good);border-color:var(--good)} .bad{color:var(--bad);border-color:var(--bad)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:.7rem 1.2rem;margin:1rem 0}
dt{color:var(--soft);font-size:.82rem} dd{margin:0;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%} td,th{padding:.35rem .6rem;border-bottom:1px solid var(--line);
text-align:left;vertical-align:top} th{font-size:.82rem;color:var(--soft);font-weight:600}
td.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums} th.number{text-align:right}
td.bound{white-space:nowrap}
.cells{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:0 2rem;margin-top:.6rem}
.cell{display:flex;justify-content:space-between;gap:1rem;padding:.3rem .2rem;border-bottom:1px solid var(--line)}
.cell b{white-space:nowrap;font-weight:600;font-variant-numeric:tabular-nums}
.key{margin:.2rem 0;font-size:.85rem} .key span{margin-right:1.1rem;white-space:nowrap}
.key i{display:inline-block;width:1.6rem;margin-right:.35rem;vertical-align:middle}
iframe{width:100%;height:min(560px,75vh);border:1px solid var(--line);border-radius:4px}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:.3rem 1rem}
.plot{width:100%;min-width:0;overflow:hidden}
pre{overflow:auto;background:#f5f7f9;padding:.8rem;border-radius:4px;font-size:.85rem}
li{overflow-wrap:anywhere} details{margin:.6rem 0} summary{cursor:pointer;color:var(--soft)}
@media(max-width:600px){body{padding:.8rem;font-size:14px} iframe{height:62vh} td,th{padding:.3rem .35rem}}
"""
# A narrow screen gets its legends below the plots.
_DRAW = """
const narrow=()=>window.innerWidth<700;
const look=p=>({margin:{l:62,r:12,t:p.layout.title?34:12,b:44},font:{size:11.5,color:"#1b2733"},
paper_bgcolor:"#fff",plot_bgcolor:"#fff",hovermode:"x unified",hoverlabel:{font:{size:11}},
legend:narrow()?{orientation:"h",y:-66/(p.layout.height-60),yanchor:"top",x:0}:{x:1.01,y:1}});
const axis={gridcolor:"#e9edf0",zerolinecolor:"#cfd6dc",automargin:true};
for(const p of JSON.parse(document.getElementById("charts").textContent)){
const layout=Object.assign(look(p),p.layout);
if(narrow()&&p.data.length>4)layout.height+=18*Math.ceil(p.data.length/3);
for(const k of Object.keys(layout))if(/^[xy]axis/.test(k))layout[k]=Object.assign({},axis,layout[k]);
Plotly.newPlot(p.id,p.data,layout,{responsive:true,displaylogo:false,
modeBarButtonsToRemove:["select2d","lasso2d","autoScale2d"]});}
"""


def page(title: str, body: Iterable[str], plots: Sequence[dict[str, Any]]) -> str:
    """A whole page; `body` is markup, `title` is text."""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head><body>',
            *body,
            f'<script id="charts" type="application/json">{as_script(list(plots))}</script>',
            f"<script>{plotly_script()}</script><script>{_DRAW}</script></body></html>",
        ]
    )


def facts(pairs: Mapping[str, object]) -> str:
    """Names with their values; what is None is left out."""
    items = [f"<div><dt>{escape(k)}</dt><dd>{escape(str(v))}</dd></div>" for k, v in pairs.items() if v is not None]
    return f"<dl>{''.join(items)}</dl>"


def section(title: str, *content: str) -> str:
    """A headed part of the page; nothing without content."""
    inside = "\n".join(part for part in content if part)
    return f"<section><h2>{escape(title)}</h2>{inside}</section>" if inside else ""


def bullets(items: Sequence[str], most: int = 100) -> str:
    """Texts as a list."""
    more = f"<li class=soft>and {len(items) - most} more</li>" if len(items) > most else ""
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items[:most])}{more}</ul>" if items else ""


def folded(summary: str, content: str) -> str:
    """Content behind a click."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>" if content else ""


def listing(value: object) -> str:
    """A text as it is, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return f"<pre>{escape(text)}</pre>"


def metrics_table(results: Sequence[MetricResult]) -> str:
    """Judged metrics in a table, the others below it, and those that do not apply folded away."""
    judged = [result for result in results if result.passed is not None]
    others = [result for result in results if result.passed is None and result.value is not None]
    silent = [f"{r.name}: {r.reason}" for r in results if r.value is None and r.passed is None]
    table = ""
    if judged:
        heads = "<th>Metric<th class=number>Value<th>Bound<th>Verdict"
        rows = "".join(_judged_row(result) for result in judged)
        table = f"<div class=wide><table><thead><tr>{heads}</thead><tbody>{rows}</tbody></table></div>"
    cells = "".join(f"<div class=cell><div>{_named(r)}</div><b>{_value(r)}</b></div>" for r in others)
    left = folded(f"{count(len(silent), 'metric')} without a value", bullets(silent)) if silent else ""
    return f'{table}<div class="cells">{cells}</div>{left}'


def events_table(events: Sequence[Mapping[str, Any]], most: int = 200) -> str:
    """Events of exact contact: what, when, where, the mode before and after; a long list behind a click."""
    if not events:
        return ""
    heads = "<th class=number>Time<th>Event<th>Contact<th>Mode<th>Where"
    rows = "".join(
        f"<tr><td class=number>{e['time']:.10f} s<td>{escape(e['what'])}<td>{escape(e['contact'])}"
        f"<td>{escape(mode_change(e))}<td>{escape(place_text(e))}</tr>"
        for e in events[:most]
    )
    table = f"<div class=wide><table><thead><tr>{heads}</thead><tbody>{rows}</tbody></table></div>"
    more = f"<p class=soft>and {len(events) - most} more in the trace</p>" if len(events) > most else ""
    return table + more if len(events) <= 20 else folded(count(len(events), "event"), table + more)


def mode_change(event: Mapping[str, Any]) -> str:
    """Mode before and after, as "free → sliding"; one word where it stays."""
    before, after = str(event["before"]), str(event["after"])
    return before if before == after else f"{before} → {after}"


def place_text(event: Mapping[str, Any]) -> str:
    """Where an event was, m, world axes."""
    return "(" + ", ".join(f"{x:.4g}" if abs(x) > 1e-12 else "0" for x in event["where"]) + ")"


def _judged_row(result: MetricResult) -> str:
    badge = '<b class="good">✓ pass</b>' if result.passed else '<b class="bad">✗ fail</b>'
    ends = {"≥": result.least, "≤": result.most}
    bound = ", ".join(f"{sign} {end:.6g}" for sign, end in ends.items() if end is not None)
    return f"<tr><td>{_named(result)}<td class=number>{_value(result)}<td class=bound>{bound}<td>{badge}</tr>"


def _named(result: MetricResult) -> str:
    reason = f" — {result.reason}" if result.reason else ""
    return f"{escape(result.name)}<small>{escape(result.help + reason)}</small>"


def _value(result: MetricResult) -> str:
    return "—" if result.value is None else number(result.value, result.unit)


def count(how_many: int, what: str) -> str:
    """ "1 event", "2 events"."""
    return f"{how_many} {what}{'' if how_many == 1 else 's'}"


def number(value: float, unit: str) -> str:
    """A number with its unit, as markup."""
    return escape(f"{value:.4g}" + ("" if unit == "1" else f" {unit}"))


def plot_section(figures: Sequence[Figure], marks: Marks) -> tuple[str, list[dict[str, Any]]]:
    """Places for the figures' charts, and the charts with the places they belong to."""
    markup, plots = [], []
    for figure in figures:
        divs = []
        for chart in charts(figure, marks):
            name = f"plot-{len(plots)}"
            plots.append({"id": name, **chart})
            height = int(chart["layout"]["height"])
            divs.append(f'<div class="plot" id="{name}" style="min-height:{height}px"></div>')
        inside = f'{_key(figure)}<div class="grid">{"".join(divs)}</div>' if figure.columns > 1 else "".join(divs)
        markup.append(f"<h3>{escape(figure.title)}</h3>{inside}")
    return "\n".join(markup), plots


def _key(figure: Figure) -> str:
    """One legend for panels that share their lines' names."""
    styles = {"solid": "solid", "dash": "dashed", "dot": "dotted", "dashdot": "dashed"}
    items = [
        f'<span><i style="border-top:3px {styles[line.dash]} {line.colour}"></i>{escape(line.label)}</span>'
        for line in figure.panels[0].lines
        if line.listed
    ]
    return f'<p class="key">{"".join(items)}</p>'
