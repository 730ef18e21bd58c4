from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib import rc_context
from PIL import Image

from palpate.errors import FileError, UnknownName
from palpate.trace import Channel, Outcome, Trace
from palpate.views import save_figures
from palpate.views.figures import draw
from palpate.views.panels import figures_of, marks_of


def test_every_figure_is_written_in_every_format(trace: Trace, tmp_path: Path) -> None:
    short = trace.slice(0.0, 0.6)
    paths = save_figures(short, tmp_path / "deep" / "figures", formats=("png", "svg"))
    names = [figure.name for figure in figures_of(short)]
    assert [path.name for path in paths] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    picture = np.asarray(Image.open(paths[0]).convert("RGB"))
    assert picture.shape[1] > 1000
    assert picture.std() > 10
    assert "<svg" in paths[1].read_text("utf-8")


def test_axes_are_labelled_with_units_and_time(trace: Trace) -> None:
    for figure in figures_of(trace):
        axes = draw(figure, marks_of(trace)).axes[: len(figure.panels)]
        assert all(panel.unit in ax.get_ylabel() for panel, ax in zip(figure.panels, axes))
        assert [ax.get_xlabel() for ax in axes[-figure.columns :]] == ["time (s)"] * figure.columns


def test_contact_and_pushes_are_shaded_on_every_panel(trace: Trace) -> None:
    figure = figures_of(trace)[0]
    ax = draw(figure, marks_of(trace)).axes[0]
    assert len(ax.patches) == 3  # contact, push, guard


def test_the_same_trace_gives_the_same_bytes(trace: Trace, tmp_path: Path) -> None:
    one = Trace(trace.time, {trace.channels["q"]: trace["q"]}, trace.outcome)
    first = [path.read_bytes() for path in save_figures(one, tmp_path / "a", ("svg", "png"))]
    assert first == [path.read_bytes() for path in save_figures(one, tmp_path / "b", ("svg", "png"))]


def test_odd_labels_are_drawn_as_they_are(tmp_path: Path) -> None:
    labels = ("$x^$", "_hidden", "<script>alert(1)</script>")
    q = Channel("q", "rad", (3,), labels=labels)
    odd = Trace([0.0, 1.0], {q: np.zeros((2, 3))}, Outcome("completed", "done", 1.0, 1))
    text = save_figures(odd, tmp_path, ("svg",))[0].read_text("utf-8")
    assert "<script>" not in text
    with rc_context({"figure.dpi": 50}):
        drawing = draw(figures_of(odd)[0], marks_of(odd))
    assert [entry.get_text().strip() for entry in drawing.legends[0].get_texts()] == [
        r"\$x^\$", "_hidden", "<script>alert(1)</script>",
    ]  # fmt: skip


def test_an_unknown_format_is_refused_before_anything_is_written(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="mean 'png'"):
        save_figures(trace, tmp_path / "new", ("pngg",))
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_said(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match=r"cannot make.*folder"):
        save_figures(trace, tmp_path / "file" / "figures")
