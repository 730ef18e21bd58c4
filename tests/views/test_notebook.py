"""What a notebook shows, and traces as tables of other libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

from palpate.display import notebook_progress
from palpate.errors import TraceError, UnknownName
from palpate.metrics import Bound, evaluate
from palpate.robot import load_robot
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.tools.derive import derive
from palpate.tools.study.sweeps import sweep
from palpate.trace import Channel, Outcome, Trace
from palpate.views.notebook import progress as bar

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_channels_and_columns_are_plotted_by_unit(trace: Trace) -> None:
    axes = trace.plot("contact_force", "q[joint1]", "tool_position")
    assert [ax.get_ylabel() for ax in axes] == ["contact force (N)", "q (rad)", "tool position (m)"]
    assert [len(ax.get_lines()) for ax in axes] == [1, 1, 3]
    np.testing.assert_array_equal(axes[1].get_lines()[0].get_ydata(), trace["q"][:, 1])
    assert axes[-1].get_xlabel() == "time (s)"


def test_one_unit_gives_one_pair_of_axes_and_they_can_be_given(trace: Trace) -> None:
    ax = trace.plot("contact_force")
    assert trace.slice(0.0, 1.0).plot("contact_force", axes=ax) is ax
    assert len(ax.get_lines()) == 2


def test_nothing_plots_what_a_report_shows_first(trace: Trace) -> None:
    assert trace.plot().get_ylabel() == "force (N)"


def test_a_misspelt_channel_is_answered_with_the_nearest(trace: Trace) -> None:
    with pytest.raises(UnknownName, match="contact_forc") as caught:
        trace.plot("contact_forc")
    assert "contact_force" in str(caught.value.hint)


def test_a_table_of_pandas_has_time_and_units(trace: Trace) -> None:
    pytest.importorskip("pandas")
    frame = trace.to_pandas()
    assert frame.index.name == "time"
    np.testing.assert_array_equal(frame.index, trace.time)
    np.testing.assert_array_equal(frame["q[joint2]"], trace["q"][:, 2])
    assert frame.attrs["units"]["q[joint2]"] == "rad"
    assert "time" not in frame.columns


def test_a_dataset_of_xarray_has_labels_and_units(trace: Trace) -> None:
    pytest.importorskip("xarray")
    data = trace.to_xarray()
    np.testing.assert_array_equal(data["q"].sel(joint="joint3"), trace["q"][:, 3])
    np.testing.assert_array_equal(data["tool_position"].sel(axis="z"), trace["tool_position"][:, 2])
    power = (data["tau"] * data["v"]).sum("joint")
    np.testing.assert_allclose(power, np.sum(trace["tau"] * trace["v"], axis=1))
    assert data["contact_wrench"].attrs["units"] == ["N"] * 3 + ["N·m"] * 3
    assert data["time"].attrs["units"] == "s"
    assert "completed" in data.attrs["outcome"]


def test_channels_of_a_run_share_their_dimensions() -> None:
    pytest.importorskip("xarray")
    data = simulate(load_scenario("panda-wall", ["run.duration=0.01"])).to_xarray()
    assert set(data.dims) == {"time", "joint", "axis", "quaternion", "twist", "wrench"}


def test_coordinates_of_a_free_base_are_a_dimension_of_their_own() -> None:
    pytest.importorskip("xarray")
    time, wide, narrow = np.arange(2.0), tuple("abcd"), tuple("abc")
    channels = {
        Channel("q", "1", (4,), labels=wide): np.zeros((2, 4)),
        Channel("v", "1", (3,), labels=narrow): np.ones((2, 3)),
    }
    data = Trace(time, channels, Outcome("completed", "done", 1.0, 1)).to_xarray()
    assert (data["q"].dims, data["v"].dims) == (("time", "coordinate"), ("time", "joint"))


def test_a_missing_library_is_said(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    from palpate.views.notebook.datasets import to_pandas

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TraceError, match=r"needs pandas.*not installed"):
        to_pandas(trace)


def test_things_show_themselves_as_escaped_html(hostile: Trace, trace: Trace) -> None:
    results = evaluate(trace, {"force_peak": Bound(most=20.0)})
    for shown, part in (
        (trace._repr_html_(), "completed at 2 s"),
        (load_robot("panda")._repr_html_(), "joint7"),
        (load_scenario("panda-wall")._repr_html_(), "cartesian-impedance"),
        (results._repr_html_(), "✗ fail"),
    ):
        assert part in shown
    assert "<script>" not in hostile._repr_html_()


def test_a_replay_shows_itself_in_a_frame_and_can_be_saved(trace: Trace, tmp_path: Path) -> None:
    shown = trace.replay()
    assert shown._repr_html_().startswith("<iframe")
    assert "<script>" not in shown._repr_html_()  # it is text of an attribute
    assert "<canvas" not in shown.page
    assert shown.save(tmp_path / "replay.html").read_text("utf-8") == shown.page


def test_a_sweep_shows_what_it_proves_and_its_runs() -> None:
    scenario = load_scenario("panda-wall").replace(run__duration=0.05)
    found = sweep(scenario, {"world.surfaces.wall.stiffness": [1e4, 2e4]}, workers=0)
    html = found._repr_html_()
    assert "2 runs" in html
    assert "palpate run" in html
    assert "world.surfaces.wall.stiffness" in html
    assert repr(found).startswith("<Sweep: 2 runs in ")


def test_a_derivation_shows_its_equations_and_a_long_one_its_name() -> None:
    html = derive("planar2")._repr_html_()
    assert "&lt;math" in html
    assert 'sandbox=""' in html
    assert "<iframe" not in derive("panda")._repr_html_()


def test_a_replay_says_what_it_is(trace: Trace) -> None:
    assert ".save(path)" in repr(trace.replay())
    assert "allow-downloads" in trace.replay()._repr_html_()


def test_a_bar_is_shown_in_a_notebook_once_it_takes_long(monkeypatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bar: Any) -> None:
            shown.append(bar.data)

    def display(bar: Any, display_id: bool) -> Handle:
        shown.append(bar.data)
        return Handle()

    now = iter([0.0, 0.5, 1.5, 1.6, 2.0, 4.0])
    monkeypatch.setattr(bar.time, "monotonic", lambda: next(now))
    monkeypatch.setattr("IPython.display.display", display)
    progress = bar.NotebookProgress()
    for done in (1.0, 3.0, 3.2, 4.0):  # at 0.5 s too early, at 1.6 s too soon after the last
        progress(done, 8.0)
    progress(8.0, 8.0, 2)
    assert [text.count("<progress") for text in shown] == [1, 1, 0]
    assert "3 of 8, 2 s left" in shown[0]


def test_only_a_notebooks_kernel_gets_a_bar(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert notebook_progress() is None
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert isinstance(notebook_progress(), bar.NotebookProgress)
