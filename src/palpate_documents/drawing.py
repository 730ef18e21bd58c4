"""A figure, its axes and their labels."""

from __future__ import annotations

from typing import Any


def new_figure(rows: int, columns: int = 1, size: tuple[float, float] = (7.5, 4.5)) -> tuple[Any, Any]:
    """A figure and its axes, by row and column."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def label_axes(axes: Any, title: str, x: str, y: str, beside: bool = False) -> None:
    """Title, labels, grid and legend of a drawing; the legend inside, or beside it."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, **({"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {}))
