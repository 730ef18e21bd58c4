"""Document 000: the balanced pole, drawn."""

from __future__ import annotations

from typing import Any

from palpate_documents.drawing import label_axes, new_figure


def draw_balancing() -> Any:
    """The pole balanced with the right equations, and what the two slips change of it."""
    from palpate_documents.d000.runs import balanced

    figure, axes = new_figure(2, 3, (12, 6))
    wrong, right = balanced(True), balanced(False)
    t, off = right.time, "as printed − right"
    panels = (("q", "From foot to sphere", ("x_AB", "y_AB"), "m", 1e3, "mm"),
              ("tool_position", "The foot", ("x", "y", "z"), "m", 1e3, "mm"),
              ("f", "Force of the arm", ("f_x", "f_y", "f_z"), "N", 1e3, "mN"))  # fmt: skip
    for column, (channel, title, labels, unit, scale, small) in enumerate(panels):
        axes[0, column].plot(t, right[channel], label=list(labels))
        axes[1, column].plot(t, scale * (wrong[channel] - right[channel]), label=list(labels))
        label_axes(axes[0, column], title, "t [s]", unit)
        label_axes(axes[1, column], f"{title}: {off}", "t [s]", small)
    return figure
