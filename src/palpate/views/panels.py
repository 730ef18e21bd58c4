"""Figures of a trace, made of panels made of lines, for any plotting library."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.errors import NotApplicable
from palpate.metrics.contact import energy_out
from palpate.metrics.signals import changes, orientation_error, position_error
from palpate.toolbox import figure_makers
from palpate.trace import Trace

# Okabe and Ito's colours, told apart with any kind of colour vision; the yellow is left out, too pale on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
TIME = "time (s)"
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class Curve:
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
    """Lines on one pair of axes; `unit` stands on the vertical one.

    Attributes:
        title, unit: of the vertical axis.
        lines: what is drawn.
        over: what the horizontal axis shows, where it is not time.
        least: smallest span of the vertical axis: less is not blown up to fill it.
    """

    title: str
    unit: str
    lines: tuple[Curve, ...]
    over: str = TIME
    least: float = 0.0


@dataclass(frozen=True)
class Figure:
    """Panels over one time axis, in columns; `group` is the part of a report they belong to."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    group: str = "motion"
    columns: int = 1


@dataclass(frozen=True)
class TimeSpan:
    """A stretch of time to mark, s."""

    start: float
    stop: float
    kind: str


Marks = tuple[TimeSpan, ...]
MODES = ("free", "sliding", "sticking", "locked")  # of exact contact, by their numbers in the trace
# Kind of a mark: what the legend calls it, its colour, and how strong its shade is.
MARKS = {
    "contact": ("contact", "#56B4E9", 0.13),
    "sliding": ("sliding", "#56B4E9", 0.13),
    "sticking": ("sticking", "#009E73", 0.16),
    "locked": ("locked", "#CC79A7", 0.18),
    "push": ("push", "#E69F00", 0.25),
    "guard": ("guard at work", "#D55E00", 1.0),
}


def kinds_of(marks: Marks) -> tuple[str, ...]:
    """Kinds of marks that occur."""
    return tuple(kind for kind in MARKS if any(span.kind == kind for span in marks))


def marks_of(trace: Trace) -> Marks:
    """Stretches of contact (exact contact by its modes), of pushes, and of guards at work.

    They are joined where they lie too close to be told apart.
    """
    flags = {
        **_contact_flags(trace),
        "push": np.any(trace["push_wrench"] != 0, axis=1) if "push_wrench" in trace else None,
        "guard": trace["guard"] != 0 if "guard" in trace else None,
    }
    return tuple(s for kind, on in flags.items() if on is not None for s in _spans(trace.time, on, kind))


def _contact_flags(trace: Trace) -> dict[str, np.ndarray]:
    """Stretches of contact; of several exact contacts the one that holds most counts: locked, sticking, sliding."""
    if "contact_mode" in trace:
        most = trace["contact_mode"].max(axis=1)
        return {name: most == number for number, name in enumerate(MODES) if number > 0}
    return {"contact": trace["contact_force"] > 0} if "contact_force" in trace else {}


def _spans(time: Array, on: np.ndarray, kind: str) -> list[TimeSpan]:
    starts, ends = changes(on)
    if not len(starts):
        return []
    shortest = 0.002 * (time[-1] - time[0])
    stops = time[np.append(ends, len(time) - 1)[: len(starts)]]
    spans: list[TimeSpan] = []
    for start, stop in zip(time[starts], stops):
        stop = max(float(stop), float(start) + shortest)
        if spans and start - spans[-1].stop < shortest:
            spans[-1] = replace(spans[-1], stop=stop)
        else:
            spans.append(TimeSpan(float(start), stop, kind))
    return spans


def figures_of(trace: Trace) -> list[Figure]:
    """Every figure that the recorded channels allow; none of a trace without samples."""
    if not len(trace):
        return []
    made = (
        joints(trace),
        _per_joint(trace, "v", "velocities", "Joint velocities", "velocity"),
        _per_joint(trace, "tau", "torques", "Joint torques", "torque"),
        _terms(trace),
        _tool_position(trace),
        tool_errors(trace),
        _forces(trace),
        _contact(trace),
        _exact(trace),
        _energy(trace),
        pole(trace),
        _law(trace),
    )
    of_tools = (figure for make in figure_makers() for figure in make(trace))
    return [figure for figure in (*made, *of_tools) if figure is not None and figure.panels]


def force_sizes(trace: Trace) -> tuple[Curve, ...]:
    """The contact force, the measured one where it differs, and the wanted one.

    Where a force is wanted the others are shown along it, so that friction across it is no error; their size is shown
    beside them where it differs.
    """
    size = trace["contact_force"]
    wanted = trace["target_wrench"][:, :3] if "target_wrench" in trace else np.zeros((len(size), 3))
    along = held_directions(wanted) if wanted.any() and "contact_wrench" in trace else None
    force = size if along is None else np.sum(trace["contact_wrench"][:, :3] * along, axis=1)
    label = "contact force" if along is None else "contact force along the desired force"
    lines = [Curve(label, trace.time, force, COLOURS[0], width=2.0)]
    if _differs(size, force):
        lines.append(Curve("magnitude, with friction", trace.time, size, COLOURS[5], "dot", 1.2))
    if "measured_wrench" in trace:
        felt = trace["measured_wrench"][:, :3]
        felt = np.linalg.norm(felt, axis=1) if along is None else np.sum(felt * along, axis=1)
        lines += [Curve("measured", trace.time, felt, COLOURS[1], "dot", 1.3)] if _differs(felt, force) else []
    if wanted.any():
        lines.append(Curve("desired", trace.time, np.linalg.norm(wanted, axis=1), COLOURS[3], "dash", 1.3))
    return tuple(lines)


def _differs(one: Array, force: Array) -> bool:
    """Whether a force can be told apart from another, and is there at all."""
    return bool(one.any()) and float(np.abs(one - force).max()) > 0.01 * float(np.abs(force).max())


def held_directions(wanted: Array) -> Array:
    """Unit vectors along the wanted force; while none is wanted, along the last one before, or else the first."""
    size = np.linalg.norm(wanted, axis=1)
    known = np.flatnonzero(size)
    latest = known[np.maximum(np.searchsorted(known, np.arange(len(size)), side="right") - 1, 0)]
    return wanted[latest] / size[latest, None]


# Below these a whole panel is what rounding left of a zero.
LEAST = {"m": 1e-8, "rad": 1e-8, "m/s": 1e-8, "rad/s": 1e-8, "N": 1e-7, "N·m": 1e-7, "J": 1e-9}
_SHARE = 0.01  # of the largest panel of the same unit; below, a panel says nothing beside it


def without_flat_panels(figure: Figure) -> tuple[Figure, str]:
    """A figure without its panels that do not move and its lines that are zero, and a sentence on what was left out."""
    widest: dict[str, float] = {}
    for panel in figure.panels:
        widest[panel.unit] = max(widest.get(panel.unit, 0.0), span_of(panel))
    panels, still, zero = [], [], []
    for panel in figure.panels:
        span = span_of(panel)
        if span <= max(_SHARE * widest[panel.unit], LEAST.get(panel.unit, 1e-12)):
            still.append(f"{panel.title} (changes by {span:.2g} {panel.unit})")
            continue
        dead = [line for line in panel.lines if len(panel.lines) > 1 and np.abs(line.values).max() < 1e-6 * span]
        zero += [line.label for line in dead if line.listed]
        panels.append(replace(panel, lines=tuple(line for line in panel.lines if line not in dead)))
    notes = [f"Not drawn, because almost constant: {', '.join(still)}." if still else ""]
    notes.append(f"Zero throughout: {', '.join(dict.fromkeys(zero))}." if zero else "")
    return replace(figure, panels=tuple(panels)), " ".join(note for note in notes if note)


def span_of(panel: Panel) -> float:
    """How far the lines of a panel move, at most."""
    return max((float(np.ptp(line.values)) for line in panel.lines if len(line.values)), default=0.0)


def styled(index: int, label: str, time: Array, values: Array, width: float = 1.6) -> Curve:
    """The line at a place: told apart by colours first, then by dashes."""
    colour, dash = COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]
    return Curve(label, time, values, colour, dash, width)


def per_axis(
    trace: Trace, vectors: Array, axes: str, label: str = "{}", dash: str = "solid", width: float = 1.6
) -> list[Curve]:
    """A line for each component of vectors over time, in the colour of its axis."""
    return [Curve(label.format(a), trace.time, vectors[:, i], COLOURS[i], dash, width) for i, a in enumerate(axes)]


def _columns(trace: Trace, name: str) -> list[tuple[str, str, Array]]:
    """Label, unit and values of each column of a channel."""
    channel = trace.channels[name]
    labels = channel.labels or [str(i) for i in range(channel.size)]
    values = trace[name].reshape(len(trace), channel.size)
    return [(label, unit, values[:, i]) for i, (label, unit) in enumerate(zip(labels, channel.column_units))]


def _by_unit(trace: Trace, name: str) -> dict[str, list[tuple[int, str, Array]]]:
    groups: dict[str, list[tuple[int, str, Array]]] = {}
    for index, (label, unit, values) in enumerate(_columns(trace, name)):
        groups.setdefault(unit, []).append((index, label, values))
    return groups


def joints(trace: Trace) -> Figure | None:
    """Joint positions, targets dashed."""
    return _per_joint(trace, "q", "joints", "Joint positions", "position", target="target_q")


def _per_joint(trace: Trace, channel: str, name: str, title: str, axis: str, target: str = "") -> Figure | None:
    """A line for each joint, one panel per unit; those of its target are dashed."""
    if channel not in trace:
        return None
    targets = [values for _, _, values in _columns(trace, target)] if target in trace else []
    panels = []
    for unit, columns in _by_unit(trace, channel).items():
        lines = [styled(index, label, trace.time, values) for index, label, values in columns]
        for index, label, _ in columns if targets else ():
            colour = COLOURS[index % len(COLOURS)]
            lines.append(Curve(f"{label} target", trace.time, targets[index], colour, "dash", 0.9, listed=False))
        panels.append(Panel(axis if unit != "N" else "force", unit, tuple(lines)))
    return Figure(name, title + (", targets dashed" if targets else ""), tuple(panels), "joints")


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
            lines.append(Curve("sum", trace.time, _columns(trace, total)[i][2], "#888888", "dash", 2.0))
        panels.append(Panel(label, unit, tuple(lines)))
    columns = 2 if len(panels) > 2 else 1
    return Figure("torque_terms", "Terms of the law, joint by joint", tuple(panels), "joints", columns)


def _tool_position(trace: Trace) -> Figure | None:
    if "tool_position" not in trace:
        return None
    panels = []
    for i, axis in enumerate("xyz"):
        lines = [Curve("tool", trace.time, trace["tool_position"][:, i], COLOURS[0])]
        if "target_position" in trace:
            lines.append(Curve("target", trace.time, trace["target_position"][:, i], COLOURS[3], "dash", 1.3))
        panels.append(Panel(axis, "m", tuple(lines)))
    return Figure("tool_position", "Tool position, world axes", tuple(panels))


TOOL_ERRORS = (("position error", "m", position_error), ("orientation error", "rad", orientation_error))


def tool_errors(trace: Trace) -> Figure | None:
    """Target − tool, position and orientation."""
    panels = []
    for title, unit, error in TOOL_ERRORS:
        try:
            vector = error(trace)
        except NotApplicable:
            continue
        size = Curve("size", trace.time, np.linalg.norm(vector, axis=1), "#888888", "dash", 1.3)
        panels.append(Panel(title, unit, (*per_axis(trace, vector, "xyz"), size)))
    return Figure("tool_errors", "Tool error: target − tool, world axes", tuple(panels))


def _forces(trace: Trace) -> Figure | None:
    kinds = {"contact_wrench": ("contact", "solid", 1.6), "measured_wrench": ("measured", "dot", 1.2)}
    if "target_wrench" in trace and trace["target_wrench"].any():
        kinds["target_wrench"] = ("target", "dash", 1.2)
    kinds = {name: look for name, look in kinds.items() if name in trace}
    if len(kinds) > 1 and _same(trace, "contact_wrench", "measured_wrench"):
        del kinds["measured_wrench"]
    panels = []
    for what, unit, first in (("force", "N", 0), ("torque", "N·m", 3)):
        lines: list[Curve] = []
        for name, (kind, dash, width) in kinds.items():
            vector, label = trace[name][:, first : first + 3], f"{kind} {'fn'[first // 3]}{{}}"
            lines += per_axis(trace, vector, "xyz", label, dash, width)
        panels.append(Panel(what, unit, tuple(lines)))
    title = "Wrench of the environment on the robot, at the tool"
    return Figure("forces", title, tuple(panels) if kinds else (), "forces")


def pole(trace: Trace) -> Figure | None:
    """Tilt, and the paths of foot and sphere."""
    if "pole.tilt" not in trace or "pole.AB" not in trace:
        return None
    AB = trace["pole.AB"]
    tilt = Curve("tilt", trace.time, trace["pole.tilt"], COLOURS[0])
    lines = per_axis(trace, AB, "xy", "{} of AB")
    if "law.AB" in trace:
        lines += per_axis(trace, trace["law.AB"], "xy", "{}, as estimated by the law", "dot", 1.2)
    panels = [Panel("angle from the vertical", "rad", (tilt,)), Panel("foot to sphere, level", "m", tuple(lines))]
    if "tool_position" in trace:
        foot = trace["tool_position"] - trace["tool_position"][0]
        path = [*per_axis(trace, foot, "xy", "foot {}"), *per_axis(trace, foot + AB, "xy", "sphere {}", "dash", 1.3)]
        panels.append(Panel("path from the foot's start, level", "m", tuple(path)))
    return Figure("pole", "Pole: tilt and path", tuple(panels))


def _same(trace: Trace, a: str, b: str) -> bool:
    """Whether two wrenches cannot be told apart on paper."""
    if a not in trace or b not in trace:
        return False
    scale = np.abs(trace[a]).max(initial=0.0)
    return bool(np.abs(trace[a] - trace[b]).max(initial=0.0) <= 0.005 * scale)


def _contact(trace: Trace) -> Figure | None:
    wanted = {"contact_force": ("force", "N", COLOURS[0]), "penetration": ("penetration", "m", COLOURS[3])}
    panels = tuple(
        Panel(label, unit, (Curve(label, trace.time, trace[name], colour),))
        for name, (label, unit, colour) in wanted.items()
        if name in trace
    )
    return Figure("contact", "Contact: magnitude of the force, and largest penetration", panels, "forces")


def _exact(trace: Trace) -> Figure | None:
    """Multipliers, gaps and modes of exact contacts."""
    wanted = {"contact_multiplier": "normal force", "contact_gap": "gap", "contact_mode": "mode"}
    panels = []
    for name, title in wanted.items():
        if name in trace:
            unit = "0 free … 3 locked" if name == "contact_mode" else str(trace.channels[name].unit)
            lines = [styled(k, label, trace.time, x) for k, (label, _, x) in enumerate(_columns(trace, name))]
            panels.append(Panel(title, unit, tuple(lines)))
    return Figure("exact_contact", "Exact contact: multipliers, gaps and modes", tuple(panels), "forces")


def _energy(trace: Trace) -> Figure | None:
    names = [name for name in trace if name.startswith("energy.")]
    lines = [
        styled(k, name.removeprefix("energy."), trace.time, trace[name] - trace[name][0])
        for k, name in enumerate(names)
    ]
    if "contact_wrench" in trace and "tool_twist" in trace and len(trace) > 1:
        lines.append(Curve("delivered at the contact", trace.time, energy_out(trace), "#888888", "dash", 2.0))
    panels = (Panel("energy", "J", tuple(lines)),) if lines else ()
    return Figure("energy", "Energy since the start", panels, "forces")


def _law(trace: Trace) -> Figure | None:
    """Figure of the law's memory, quantities of one name together."""
    names = [name for name in trace if name.startswith("law.")]
    panels = []
    for name in names:
        for unit, columns in _by_unit(trace, name).items():
            title = name.removeprefix("law.").replace("_", " ")
            single = trace.channels[name].size == 1
            lines = tuple(
                styled(k, title if single else label, trace.time, np.unwrap(v) if unit == "rad" else v)
                for k, (_, label, v) in enumerate(columns)
            )
            panels.append(Panel(title, unit, lines))
    return Figure("law", "Internal state of the law", tuple(panels), "law")
