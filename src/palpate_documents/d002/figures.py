"""Document 002: the tip force under the printed code and under the right one, drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate_documents.drawing import label_axes, new_figure


def draw_coded_force() -> Any:
    """The document's figure: its own code, reference (1, 2) N, from 1 s on (1, 3) N."""
    from palpate_documents.d002.force_control import DOWN, coded_force, coded_torque

    return _force_figure("Tip force, the document's code", [("", coded_force(DOWN), coded_torque(DOWN))])


def draw_true_force() -> Any:
    """The same with a true arm: the printed correction in both elbows, and the right one."""
    from palpate_documents.d002.force_control import DOWN, UP, coded_torque, force_of, torque_of

    cases = [
        (", (J^T)⁻¹, θ2 = −120°", force_of(DOWN), coded_torque(DOWN)),
        (", (J^T)⁻¹, θ2 = +120°", force_of(UP), coded_torque(UP)),
        (", J^T", force_of(UP), torque_of(UP)),
    ]
    return _force_figure("Tip force of a true arm (cut at ±8 N)", cases)


def _force_figure(title: str, cases: Sequence[tuple[str, Callable[[Array], Array], Callable[[Array], Array]]]) -> Any:
    from palpate_documents.d002.force_control import loop

    figure, axes = new_figure(1)
    t = np.arange(0, 2, 1e-3)
    wanted = np.where(t[:, None] < 1, [1.0, 2.0], [1.0, 3.0])
    axes[0, 0].plot(t, wanted, "k--", linewidth=0.8)
    for (label, plant, correction), style in zip(cases, ("-", ":", "-.")):
        forces, _ = loop(plant, correction, len(t), wanted=wanted)
        for i, axis in enumerate("xy"):
            axes[0, 0].plot(t, np.clip(forces[:, i], -8, 8), style, color=f"C{i}", label=f"F_{axis}{label}")
    label_axes(axes[0, 0], title, "Time (seconds)", "Tip Force (N)")
    return figure
