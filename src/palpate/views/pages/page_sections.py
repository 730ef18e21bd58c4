"""Sections of the report below its first screen: replay, figures, guards, scenario, run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from palpate.errors import TraceError
from palpate.escape.documents import html_text
from palpate.toml import toml_text
from palpate.trace import Trace
from palpate.views.pages import markup
from palpate.views.pages.interactive import MOST_POINTS
from palpate.views.pages.player import replay_element
from palpate.views.panels import Figure, without_flat_panels


def replay_part(trace: Trace) -> tuple[str, bool]:
    """The replay and whether there is one, or why there is none."""
    try:
        inside = replay_element(trace)
    except TraceError as error:
        return f"<p class=soft>{html_text(str(error))}</p>", False
    except Exception as error:  # an impossible drawing costs the picture, not the page
        reason = f"{type(error).__name__}: {error}"
        return f"<p class=soft>This scene cannot be drawn ({html_text(reason)}).</p>", False
    return f'{inside}<div class="stills"></div><p class=soft>{_KEYS}</p>', True


_KEYS = (
    "Arrows: contact force (red) and push (purple) on the robot, scale at the lower left. Axes and pale blue shape:"
    " target. Blue line: path of the tool. Drag to rotate, Ctrl and wheel or two fingers to zoom, Shift and drag to"
    " move, space to play. The plots follow the same time; drag across one to zoom in, double-click for the whole run."
)


def group_html(plots: markup.Plots, figures: Sequence[Figure], lead: Figure | None, group: str) -> str:
    """The figures of a part of the page, without what stands on the first screen already and what does not move."""
    chosen = [without_flat_panels(_without(figure, lead)) for figure in figures if figure.group == group]
    return "".join(plots.figure(figure, note) for figure, note in chosen)


def _without(figure: Figure, lead: Figure | None) -> Figure:
    """A figure without the panels that stand on the first screen."""
    if lead is not None and lead.name == "contact_force" and figure.name == "contact":
        panels = tuple(panel for panel in figure.panels if panel.unit != "N")
        return replace(figure, title="Deepest penetration", panels=panels)
    seen = [panel.title for panel in lead.panels] if lead is not None and figure.name == lead.name else []
    return replace(figure, panels=tuple(panel for panel in figure.panels if panel.title not in seen))


def guard_parts(trace: Trace) -> list[str]:
    """Control ticks of each guard, and its interventions."""
    ticks = trace.facts.guard_ticks
    counts = [f"{name}: {markup.count(number, 'control tick')}" for name, number in ticks.items() if number]
    events = [str(event) for event in trace.events if event.kind == "intervention"]
    idle = ticks and not any(ticks.values())
    first = "<p class=soft>No guard had to intervene.</p>" if idle else markup.bullets(counts)
    return [first, markup.folded(markup.count(len(events), "intervention"), markup.bullets(events)) if events else ""]


def scenario_parts(trace: Trace) -> list[str]:
    """The scenario as a file, with what is not a default marked; of a run made in Python its world."""
    run = trace.facts
    if not run.scenario:
        return [markup.folded("World", markup.listing(run.world)) if run.world else ""]
    scenario = _ordered(run.scenario)
    if run.changed is None:
        return [markup.listing(toml_text(scenario))]
    lines = [_marked(line) for line in toml_text(scenario, _changed_note(run.changed)).splitlines()]
    note = "Settings that differ from the defaults. Save them as a .toml file to run the scenario again."
    return [
        f"<p class=soft>{note}</p>{markup.listing(toml_text(_ordered(run.changed)))}",
        markup.folded("All settings, those that differ marked", f"<pre>{chr(10).join(lines)}</pre>"),
    ]


_FIRST = ("name", "description", "law", "kind", "model", "robot", "control", "reference", "world", "guards", "run")


def _ordered(data: Any) -> Any:
    """Tables in the order in which a person writes them; a trace's file has their keys sorted."""
    if isinstance(data, list):
        return [_ordered(item) for item in data]
    if not isinstance(data, dict):
        return data
    keys = sorted(data, key=lambda key: _FIRST.index(key) if key in _FIRST else len(_FIRST))
    return {key: _ordered(data[key]) for key in keys}


_NOTE = "≠ default"


def _changed_note(changed: dict[str, Any]) -> Any:
    """A comment that marks the lines whose key stands in `changed`."""

    def comment(path: tuple[str | int, ...]) -> str:
        here: Any = changed
        for part in path:
            if isinstance(here, list):
                here = dict(enumerate(here))
            if not isinstance(here, dict) or part not in here:
                return ""
            here = here[part]
        return _NOTE

    return comment


def _marked(line: str) -> str:
    if line.endswith(_NOTE):
        return f"<mark>{html_text(line.removesuffix(f'  # {_NOTE}'))}</mark>"
    return f'<span class="default">{html_text(line)}</span>' if line else ""


def run_parts(trace: Trace, thin: bool) -> list[str]:
    """Facts of the run, its events and its channels."""
    run, events = trace.facts, [str(event) for event in trace.events]
    drawn = f"Of {len(trace)} samples at most {MOST_POINTS} per line are drawn, peaks kept." if thin else ""
    known = {
        "Robot": run.robot,
        "Duration": _seconds(run.duration),
        "Physics step": _seconds(run.timestep),
        "Control period": _seconds(run.period),
        "Integrator": run.integrator,
        "Physics": run.physics,
        "Seed": run.seed,
        "Samples": len(trace),
        "Versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()) or None,
    }
    return [
        markup.facts(known),
        f"<p class=soft>{drawn}</p>" if drawn else "",
        markup.folded(markup.count(len(events), "event"), markup.bullets(events)) if events else "",
        markup.folded("Channels", markup.bullets([_channel(trace, name) for name in trace], 500)),
    ]


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:g} s"


def _channel(trace: Trace, name: str) -> str:
    channel = trace.channels[name]
    units = ", ".join(dict.fromkeys(channel.column_units))
    return f"{name} [{units}]" + (f": {channel.help}" if channel.help else "")
