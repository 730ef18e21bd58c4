"""Figures of a report: residuals and their thresholds, the wrench behind them, tank, flow and valve, barriers."""

from __future__ import annotations

import numpy as np

from palpate.trace import Trace
from palpate.views.panels import COLOURS, Curve, Figure, Panel, per_axis, styled


def figures_of(trace: Trace) -> list[Figure]:
    """Every figure that the channels `reaction.…` allow; none of a run without them."""
    if "reaction.mode" not in trace:
        return []
    return [_felt(trace), _energy(trace)]


def _felt(trace: Trace) -> Figure:
    """The ratio that decides, residuals joint by joint, the wrench at the tool beside the true one, and the mode."""
    t, panels = trace.time, []
    if "reaction.ratio" in trace:
        limit = Curve("contact above 1", t, np.ones(len(t)), COLOURS[3], "dash", 1.2)
        panels.append(Panel("largest residual / threshold", "1", (_single(trace, "reaction.ratio", "ratio"), limit)))
    if "reaction.residual" in trace:
        channel = trace.channels["reaction.residual"]
        lines = [styled(k, label, t, trace["reaction.residual"][:, k]) for k, label in enumerate(channel.labels)]
        panels.append(Panel("residual", str(channel.column_units[0]), tuple(lines)))
    if "reaction.wrench" in trace:
        lines = per_axis(trace, trace["reaction.wrench"][:, :3], "xyz", "estimated f{}")
        if "contact_wrench" in trace and "push_wrench" in trace:
            true = trace["contact_wrench"][:, :3] + trace["push_wrench"][:, :3]
            lines += per_axis(trace, true, "xyz", "true f{}", "dot", 1.2)
        panels.append(Panel("force at the tool", "N", tuple(lines)))
    mode = _single(trace, "reaction.mode", "mode")
    panels.append(Panel("0 law, 1 reaction, 2 taking over", "1", (mode,)))
    return Figure("reactions", "Contact felt from joint torques, and the reaction", tuple(panels), "forces")


def _energy(trace: Trace) -> Figure:
    """Work of the law, the tank with its flow and valve, brakes, and barriers at work."""
    wanted = {
        "reaction.work": ("work of the law on the arm", "J"),
        "reaction.tank": ("tank", "J"),
        "reaction.flow": ("flow out of the tank", "W"),
        "reaction.valve": ("valve: share let through", "1"),
        "reaction.brake": ("brake", "1/s"),
        "reaction.barriers": ("barriers at work", "1"),
    }
    chosen = {name: words for name, words in wanted.items() if name in trace}
    if len(chosen) < 2:  # the work alone is in the figure of energies
        return Figure("reaction_energy", "", (), "forces")
    panels = [Panel(title, unit, (_single(trace, name, title),)) for name, (title, unit) in chosen.items()]
    return Figure("reaction_energy", "Energy kept and limits held around the law", tuple(panels), "forces")


def _single(trace: Trace, name: str, label: str) -> Curve:
    return Curve(label, trace.time, trace[name].reshape(-1), COLOURS[0])
