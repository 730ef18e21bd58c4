"""Figures as files, for papers: PNG, SVG or PDF by matplotlib."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.errors import check_names
from palpate.files import make_folder, write_file
from palpate.lazy import check_extra
from palpate.trace import Trace
from palpate.views.panels import MARKS, TIME, Figure, Marks, Panel, figures_of, kinds_of, marks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FORMATS = ("png", "svg", "pdf")
_DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.2)), "dashdot": (0, (5, 1.5, 1, 1.5))}
_LOOK: Any = {  # matplotlib's stubs want its own literal keys

    "font.size": 9, "axes.grid": True, "grid.alpha": 0.25, "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 10, "legend.fontsize": 8, "legend.frameon": False, "figure.dpi": 150,
    "svg.hashsalt": "palpate", "svg.fonttype": "none",
}  # fmt: skip


def save_figures(trace: Trace, folder: str | os.PathLike[str], formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write every figure the trace allows into a folder, which is made if missing.

    Args:
        trace: what happened.
        folder: where to.
        formats: of "png", "svg", "pdf".

    Returns:
        The files, `<figure>.<format>`.

    Raises:
        UnknownName: another format.
        MissingExtra: matplotlib is not installed.
        FileError: a file cannot be written.
    """
    check_names("figure format", formats, FORMATS)
    check_extra("matplotlib", "figures", "a figure as a file")
    target = make_folder(folder)
    marks = marks_of(trace)
    return [path for figure in figures_of(trace) for path in _save(figure, marks, target, formats)]


def _save(figure: Figure, marks: Marks, folder: Path, formats: Sequence[str]) -> list[Path]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    paths = []
    with rc_context(_LOOK):
        drawing = draw(figure, marks)
        for kind in formats:
            buffer = io.BytesIO()
            if kind == "png":  # savefig would lay it out and draw it twice
                FigureCanvasAgg(drawing).print_png(buffer, metadata=_MAKER, pil_kwargs={"compress_level": 1})
            else:  # without a date the same trace gives the same bytes
                drawing.savefig(buffer, format=kind, metadata={_DATES[kind]: None})
            paths.append(write_file(folder / f"{figure.name}.{kind}", buffer.getvalue()))
    return paths


def is_palpates(file: Path) -> bool:
    """Whether a PNG was drawn here: its head says so."""
    if file.is_symlink() or not file.is_file():
        return False
    with open(file, "rb") as opened:
        return b"Software\0palpate" in opened.read(200)


_MAKER = {"Software": "palpate"}
_DATES = {"svg": "Date", "pdf": "CreationDate"}


def draw(figure: Figure, marks: Marks) -> Drawing:
    """A figure drawn by matplotlib, without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    rows = -(-len(figure.panels) // figure.columns)
    height = 3.4 if rows == 1 else 0.6 + (2.0 if figure.columns == 1 else 1.7) * rows
    drawing = Drawing(figsize=(8.0, height), layout="constrained")
    FigureCanvasAgg(drawing)
    shared = all(panel.over == TIME for panel in figure.panels)
    grid = drawing.subplots(rows, figure.columns, sharex=shared, squeeze=False)
    axes = list(grid.flat)
    for panel, ax in zip(figure.panels, axes):
        draw_panel(ax, panel, marks, titled=figure.columns > 1)
    for spare in axes[len(figure.panels) :]:
        spare.set_axis_off()
    _label_feet(axes, figure)
    drawing.suptitle(_plain(figure.title), fontsize=11)
    _legends(drawing, axes[: len(figure.panels)], figure, marks)
    return drawing


def draw_panel(ax: Axes, panel: Panel, marks: Marks, titled: bool) -> None:
    """Draw one panel on matplotlib axes."""
    for line in panel.lines:
        label = _plain(line.label) if line.listed else "_"
        ax.plot(line.time, line.values, color=line.colour, ls=_DASHES[line.dash], lw=line.width, label=label)
    for span in marks if panel.over == TIME else ():
        _, colour, strength = MARKS[span.kind]
        if span.kind == "guard":  # a bar along the foot, so that it hides nothing
            ax.axvspan(span.start, span.stop, ymax=0.03, color=colour, lw=0)
        else:
            ax.axvspan(span.start, span.stop, color=colour, alpha=strength, lw=0, zorder=0)
    if titled:
        ax.set_title(_plain(panel.title), loc="left")
        ax.set_ylabel(_plain(panel.unit))
    else:
        ax.set_ylabel(f"{_plain(panel.title)} ({_plain(panel.unit)})")
    ax.margins(x=0)
    low, high = ax.get_ylim()
    if high - low < panel.least:
        ax.set_ylim((low + high - panel.least) / 2, (low + high + panel.least) / 2)


def _label_feet(axes: list[Axes], figure: Figure) -> None:
    """Label the lowest panel of every column, also where a spare place lies below it, and those not over time."""
    last = len(figure.panels) - figure.columns
    for index, (ax, panel) in enumerate(zip(axes, figure.panels)):
        if index >= last or panel.over != TIME:
            ax.set_xlabel(_plain(panel.over))
            ax.tick_params(labelbottom=True)


def _legends(drawing: Drawing, axes: list[Axes], figure: Figure, marks: Marks) -> None:
    from matplotlib.patches import Patch

    known = [MARKS[kind] for kind in kinds_of(marks)]
    patches = [Patch(color=colour, alpha=strength, label=label) for label, colour, strength in known]
    labels = [tuple(line.label for line in panel.lines) for panel in figure.panels]
    if len(set(labels)) == 1:  # one legend for all
        lines = axes[0].get_legend_handles_labels()[0]
        drawing.legend(handles=[*lines, *patches], loc="outside right upper")
        return
    for ax in axes:
        if len(ax.get_lines()) > 1:  # a single line is named by its axis
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if patches:
        drawing.legend(handles=patches, loc="outside lower right", ncols=len(patches))


def _plain(text: str) -> str:
    """Text that matplotlib takes as it is: no mathematics between dollars, no hidden entry behind an underscore."""
    escaped = text.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped
