"""What is plotted of a trace: figures made of panels made of lines, for any plotting library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from palpate.checks import Array
from palpate.errors import NotApplicable
from palpate.metrics.contact import energy_out
from palpate.metrics.signals import changes, orientation_error, position_error
from palpate.trace import Trace

# Okabe and Ito's colours, told apart with any kind of colour vision; the yellow is left out, too pale on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class Line:
    """Values over time with a name, a colour and a dash; `listed` lines stand in the legend."""

    label: str
    time: Array
    values: Array
    colour: str
    dash: str = "solid"
    width: float = 1.6
    listed: bool = True


@dataclass(frozen=True)
class Panel:
    """Lines on one pair of axes; `unit` stands on the vertical one."""

    title: str
    unit: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Figure:
    """Panels over one time axis, in columns."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    columns: int = 1


@dataclass(frozen=True)
class Span:
    """A stretch of time to mark, s."""

    start: float
    stop: float
    kind: str


@dataclass(frozen=True)
class Marks:
    """Stretches of contact, of pushes and of guards at work, joined where they lie too close to be told apart."""

    spans: tuple[Span, ...] = field(default=())

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is marked."""
        return tuple(kind for kind in MARKS if any(span.kind == kind for span in self.spans))


MARKS = {"contact": "#56B4E9", "push": "#E69F00", "guard": "#D55E00"}  # kind: colour


def marks_of(trace: Trace) -> Marks:
    """What happened when: contact, pushes, guards at work."""
    flags = {
        "contact": trace["contact_force"] > 0 if "contact_force" in trace else None,
        "push": np.any(trace["push_wrench"] != 0, axis=1) if "push_wrench" in trace else None,
        "guard": trace["guard"] != 0 if "guard" in trace else None,
    }
    return Marks(tuple(s for kind, on in flags.items() if on is not None for s in _spans(trace.time, on, kind)))


def _spans(time: Array, on: np.ndarray, kind: str) -> list[Span]:
    starts, ends = changes(on)
    if not len(starts):
        return []
    shortest = 0.002 * (time[-1] - time[0])
    stops = time[np.append(ends, len(time) - 1)[: len(starts)]]
    spans: list[Span] = []
    for start, stop in zip(time[starts], stops):
        stop = max(float(stop), float(start) + shortest)
        if spans and start - spans[-1].stop < shortest:
            spans[-1] = replace(spans[-1], stop=stop)
        else:
            spans.append(Span(float(start), stop, kind))
    return spans


def figures_of(trace: Trace) -> list[Figure]:
    """Every figure that the recorded channels allow; none of a trace without samples."""
    if not len(trace):
        return []
    made = (
        _joints(trace),
        _per_joint(trace, "v", "velocities", "Joint velocities", "velocity"),
        _per_joint(trace, "tau", "torques", "Joint torques", "torque"),
        _terms(trace),
        _tool_position(trace),
        _tool_errors(trace),
        _forces(trace),
        _contact(trace),
        _energy(trace),
    )
    return [figure for figure in made if figure is not None and figure.panels]


def styled(place: int, label: str, time: Array, values: Array, width: float = 1.6) -> Line:
    """The line at a place: told apart by colours first, then by dashes."""
    colour, dash = COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]
    return Line(label, time, values, colour, dash, width)


def _columns(trace: Trace, name: str) -> list[tuple[str, str, Array]]:
    """Label, unit and values of each column of a channel."""
    channel = trace.channels[name]
    labels = channel.labels or [str(i) for i in range(channel.size)]
    values = trace[name].reshape(len(trace), channel.size)
    return [(label, unit, values[:, i]) for i, (label, unit) in enumerate(zip(labels, channel.column_units))]


def _by_unit(trace: Trace, name: str) -> dict[str, list[tuple[int, str, Array]]]:
    groups: dict[str, list[tuple[int, str, Array]]] = {}
    for place, (label, unit, values) in enumerate(_columns(trace, name)):
        groups.setdefault(unit, []).append((place, label, values))
    return groups


def _joints(trace: Trace) -> Figure | None:
    if "q" not in trace:
        return None
    targets = [values for _, _, values in _columns(trace, "target_q")] if "target_q" in trace else []
    panels = []
    for unit, columns in _by_unit(trace, "q").items():
        lines = [styled(place, label, trace.time, values) for place, label, values in columns]
        for place, label, _ in columns if targets else ():
            colour = COLOURS[place % len(COLOURS)]
            lines.append(Line(f"{label} target", trace.time, targets[place], colour, "dash", 0.9, listed=False))
        panels.append(Panel("position", unit, tuple(lines)))
    return Figure("joints", "Joint positions" + (", targets dashed" if targets else ""), tuple(panels))


def _per_joint(trace: Trace, channel: str, name: str, title: str, axis: str) -> Figure | None:
    if channel not in trace:
        return None
    panels = tuple(
        Panel(axis if unit != "N" else "force", unit, _lines(trace, columns))
        for unit, columns in _by_unit(trace, channel).items()
    )
    return Figure(name, title, panels)


def _lines(trace: Trace, columns: Iterable[tuple[int, str, Array]]) -> tuple[Line, ...]:
    return tuple(styled(place, label, trace.time, values) for place, label, values in columns)


def _terms(trace: Trace) -> Figure | None:
    """One panel per joint: the command and the terms it is the sum of."""
    terms = [name for name in trace if name.startswith("tau.")]
    if not terms:
        return None
    total = "command" if "command" in trace else "tau"
    panels = []
    for i, (label, unit, _) in enumerate(_columns(trace, terms[0])):
        lines = [
            styled(k, term.removeprefix("tau."), trace.time, _columns(trace, term)[i][2], 1.3)
            for k, term in enumerate(terms)
        ]
        if total in trace:
            lines.append(Line("sum", trace.time, _columns(trace, total)[i][2], "#888888", "dash", 2.0))
        panels.append(Panel(label, unit, tuple(lines)))
    return Figure("torque_terms", "Terms of the law, joint by joint", tuple(panels), 2 if len(panels) > 2 else 1)


def _tool_position(trace: Trace) -> Figure | None:
    if "tool_position" not in trace:
        return None
    panels = []
    for i, axis in enumerate("xyz"):
        lines = [Line("tool", trace.time, trace["tool_position"][:, i], COLOURS[0])]
        if "target_position" in trace:
            lines.append(Line("target", trace.time, trace["target_position"][:, i], COLOURS[3], "dash", 1.3))
        panels.append(Panel(axis, "m", tuple(lines)))
    return Figure("tool_position", "Tool position, world axes", tuple(panels))


def _tool_errors(trace: Trace) -> Figure | None:
    panels = []
    for what, unit, error in (("position", "m", position_error), ("orientation", "rad", orientation_error)):
        try:
            vector = error(trace)
        except NotApplicable:
            continue
        size = Line("size", trace.time, np.linalg.norm(vector, axis=1), "#888888", "dash", 1.3)
        axes = [Line(axis, trace.time, vector[:, i], COLOURS[i]) for i, axis in enumerate("xyz")]
        panels.append(Panel(f"{what} error", unit, (*axes, size)))
    return Figure("tool_errors", "Tool error: target − tool, world axes", tuple(panels))


def _forces(trace: Trace) -> Figure | None:
    kinds = {"contact_wrench": ("contact", "solid", 1.6), "measured_wrench": ("measured", "dot", 1.2)}
    if "target_wrench" in trace and trace["target_wrench"].any():
        kinds["target_wrench"] = ("target", "dash", 1.2)
    kinds = {name: look for name, look in kinds.items() if name in trace}
    panels = []
    for what, unit, first in (("force", "N", 0), ("torque", "N·m", 3)):
        lines = tuple(
            Line(f"{kind} {'fn'[first // 3]}{axis}", trace.time, trace[name][:, first + i], COLOURS[i], dash, width)
            for name, (kind, dash, width) in kinds.items()
            for i, axis in enumerate("xyz")
        )
        panels.append(Panel(what, unit, lines))
    return Figure("forces", "Wrench of the environment on the robot, at the tool", tuple(panels)) if kinds else None


def _contact(trace: Trace) -> Figure | None:
    wanted = {"contact_force": ("force", "N", COLOURS[0]), "penetration": ("penetration", "m", COLOURS[3])}
    panels = tuple(
        Panel(label, unit, (Line(label, trace.time, trace[name], colour),))
        for name, (label, unit, colour) in wanted.items()
        if name in trace
    )
    return Figure("contact", "Contact: size of the force, and deepest penetration", panels)


def _energy(trace: Trace) -> Figure | None:
    names = [name for name in trace if name.startswith("energy.")]
    lines = [
        styled(k, name.removeprefix("energy."), trace.time, trace[name] - trace[name][0])
        for k, name in enumerate(names)
    ]
    if "contact_wrench" in trace and "tool_twist" in trace and len(trace) > 1:
        lines.append(Line("given out at contact", trace.time, energy_out(trace), "#888888", "dash", 2.0))
    return Figure("energy", "Energy since the start", (Panel("energy", "J", tuple(lines)),)) if lines else None
