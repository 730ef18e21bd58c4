"""The figure to see first of a run: what its law says it is about, else the contact force, else the tool's error.

A law names one of `KINDS` (`LawReport.figure`); nothing here knows a law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from palpate.checks import Array
from palpate.trace import Trace
from palpate.views.panels import (
    COLOURS,
    LEAST,
    Curve,
    Figure,
    Panel,
    force_sizes,
    held_directions,
    joints,
    per_axis,
    pole,
    span_of,
    tool_errors,
)

STILL = 0.02  # of the first speed: below, the tool counts as stopped
AFTER = 1.6  # how much longer than the stop its figure lasts


def leading(trace: Trace) -> Figure | None:
    """The one figure to see first."""
    if not len(trace):
        return None
    kind = KINDS.get(trace.facts.figure or "")
    if kind is not None and (figure := kind(trace)) is not None:
        return figure
    if _touched(trace):
        return _contact_force(trace)
    if (balanced := _balance(trace)) is not None:
        return balanced
    if "tool_position" in trace and "target_position" in trace and (errors := tool_errors(trace)) is not None:
        wanted = [panel for panel in errors.panels if panel.unit == "m" and span_of(panel) > LEAST["m"]]
        if wanted:
            return replace(errors, panels=tuple(wanted), title="Distance of the tool from its target")
    return joints(trace)


def _touched(trace: Trace) -> bool:
    return "contact_force" in trace and bool(np.any(trace["contact_force"] > 0))


def _contact_force(trace: Trace) -> Figure:
    return Figure("contact_force", "Contact force", (Panel("force", "N", force_sizes(trace)),))


def _force(trace: Trace) -> Figure | None:
    """The force, and where the tool is along it: how deep the wall lets it, or how far it had to go."""
    if not _touched(trace):
        return None
    first = _contact_force(trace)
    if "tool_position" not in trace:
        return first
    along = _normals(trace)
    begin = int(np.argmax(trace["contact_force"] > 0))
    origin = trace["tool_position"][begin]
    places = {"tool": ("tool_position", COLOURS[0], "solid"), "target": ("target_position", COLOURS[3], "dash")}
    lines = [
        Curve(label, trace.time, np.sum((trace[name] - origin) * -along, axis=1), colour, dash)
        for label, (name, colour, dash) in places.items()
        if name in trace
    ]
    return replace(first, title="Contact force, and where along its direction",
                   panels=(*first.panels, Panel("beyond the first touch", "m", tuple(lines))))  # fmt: skip


def _normals(trace: Trace) -> Array:
    """Unit vectors of the force that the environment is wanted to apply, else of the mean of the one it applied."""
    wanted = trace["target_wrench"][:, :3] if "target_wrench" in trace else np.zeros((len(trace), 3))
    if wanted.any():
        return held_directions(wanted)
    mean = trace["contact_wrench"][:, :3].sum(axis=0) if "contact_wrench" in trace else np.zeros(3)
    return np.tile(mean / max(float(np.linalg.norm(mean)), 1e-12), (len(trace), 1))


def _straight_path(trace: Trace) -> Figure | None:
    """The tool's path against the line it began on, and each joint's command as a share of its bound."""
    if "tool_position" not in trace or "tool_twist" not in trace:
        return None
    velocity = trace["tool_twist"][:, :3]
    first = float(np.linalg.norm(velocity[0]))
    if first <= 0:
        return None
    speed = np.linalg.norm(velocity, axis=1)
    slow = np.flatnonzero(speed <= STILL * first)
    stop = int(slow[0]) if len(slow) else len(trace) - 1
    last = max(int(np.searchsorted(trace.time, trace.time[0] + AFTER * (trace.time[stop] - trace.time[0]))), 2)
    until = slice(0, min(last, len(trace)))
    along, across = _along_and_across(trace["tool_position"][until], velocity[0] / first)
    line = Curve("its straight line", np.array([along.min(), along.max()]), np.zeros(2), COLOURS[3], "dash", 1.3)
    path = Panel("across the line", "m", (Curve("path of the tool", along, across, COLOURS[0]), line),
                 over="along the line (m)", least=1e-4)  # fmt: skip
    shares = _shares(trace, until)
    return Figure("straight_path", "Path of the tool until it stands", (path, *([shares] if shares else [])))


def _along_and_across(path: Array, direction: Array) -> tuple[Array, Array]:
    """How far a path went along a direction, and across it: the component that deviates most."""
    moved = path - path[0]
    along = moved @ direction
    beside = moved - np.outer(along, direction)
    farthest = beside[np.argmax(np.linalg.norm(beside, axis=1))]
    size = float(np.linalg.norm(farthest))
    return along, beside @ (farthest / size) if size > 0 else np.zeros(len(path))


def _shares(trace: Trace, until: slice) -> Panel | None:
    """u/U of each joint: the terms of the law without friction, over the bounds that it was designed with."""
    bounds = next((one["value"] for one in trace.facts.computed if one["name"] == "U"), None)
    terms = [f"tau.{name}" for name in trace.facts.terms if name != "friction" and f"tau.{name}" in trace]
    if bounds is None or not terms:
        return None
    u = sum((trace[name][until] for name in terms), np.zeros_like(trace[terms[0]][until])) / np.array(bounds)
    time, labels = trace.time[until], trace.channels[terms[0]].labels
    names = labels or tuple(f"joint {k + 1}" for k in range(u.shape[1]))
    lines = [Curve(name, time, u[:, k], COLOURS[k % len(COLOURS)]) for k, name in enumerate(names)]
    lines += [Curve("±1", time[[0, -1]], np.full(2, x), "#888888", "dash", 1.2, listed=x > 0) for x in (1.0, -1.0)]
    return Panel("u / U", "1", tuple(lines))


def _balance(trace: Trace) -> Figure | None:
    """Tilt of the pole, and the paths of its foot and its sphere."""
    figure = pole(trace)
    if figure is None:
        return None
    panels = [panel for panel in figure.panels if panel.unit == "rad"] + list(figure.panels[2:3])
    return replace(figure, panels=tuple(panels))


def _compliant_frame(trace: Trace) -> Figure | None:
    """How far the compliant frame yields from the desired one, and the Euler angles of desired, compliant and tool."""
    if "law.compliant_position" not in trace or "target_position" not in trace:
        return None
    panels = []
    if _touched(trace):
        panels += list(_contact_force(trace).panels)
    yielded = trace["law.compliant_position"] - trace["target_position"]
    panels.append(Panel("compliant − desired", "m", tuple(per_axis(trace, yielded, "xyz"))))
    angles = _angles(trace)
    panels += [angles] if angles is not None else []
    moving = [panel for panel in panels if span_of(panel) > LEAST[panel.unit]]
    return Figure("compliant_frame", "Compliant frame", tuple(moving)) if moving else None


def _angles(trace: Trace) -> Panel | None:
    """XYZ Euler angles without jumps: of the tool, dotted, of the compliant frame and, dashed, of the desired one."""
    frames = {
        "compliant {}": ("law.compliant_quat_wxyz", "solid", 1.6),
        "desired {}": ("target_quat_wxyz", "dash", 1.2),
        "tool {}": ("tool_quat_wxyz", "dot", 1.2),
    }
    lines: list[Curve] = []
    for label, (name, dash, width) in frames.items():
        if name in trace:
            lines += per_axis(trace, continuous_euler(trace[name]), "φθψ", label, dash, width)
    return Panel("Euler angles XYZ", "rad", tuple(lines)) if lines else None


def continuous_euler(quat_wxyz: Array) -> Array:
    """XYZ Euler angles φ, θ, ψ of R = Rx(φ) Ry(θ) Rz(ψ), (n, 3), rad, without jumps of 2π."""
    w, x, y, z = quat_wxyz.T
    phi = np.arctan2(-2 * (y * z - w * x), 1 - 2 * (x**2 + y**2))
    theta = np.arcsin(np.clip(2 * (x * z + w * y), -1.0, 1.0))
    psi = np.arctan2(-2 * (x * y - w * z), 1 - 2 * (y**2 + z**2))
    return np.unwrap(np.column_stack([phi, theta, psi]), axis=0)


KINDS: dict[str, Callable[[Trace], Figure | None]] = {
    "straight-path": _straight_path,
    "balance": _balance,
    "compliant-frame": _compliant_frame,
    "force": _force,
}
