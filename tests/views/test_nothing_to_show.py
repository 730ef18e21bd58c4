"""Traces of no sample and of one go through every view, metric and file."""

from __future__ import annotations

from pathlib import Path

import pytest

from palpate import Run, World, load_robot, load_trace, report, simulate
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.errors import TraceError
from palpate.metrics import evaluate
from palpate.trace import Trace
from palpate.views import compare, replay, save_figures
from palpate.world import Clock


@pytest.fixture(scope="module", params=["none", "one"])
def trace(request: pytest.FixtureRequest) -> Trace:
    robot, clock = load_robot("pendulum"), Clock(duration=0.05)
    if request.param == "one":
        return simulate(Run(robot, GravityCompensation(), clock=clock)).slice(0.0, 0.0)
    broken = World.model_validate({"faults": [{"what": "wrench-nan"}]})
    trace = simulate(Run(robot, GravityCompensation(), world=broken, clock=clock))
    assert (len(trace), trace.outcome.kind, trace.outcome.where) == (0, "diverged", "measured_wrench")
    return trace


def test_a_run_that_ended_at_once_is_shown_judged_and_kept(trace: Trace, tmp_path: Path):
    assert all(result.value is None or result.value == result.value for result in evaluate(trace))
    assert trace.outcome.reason.split("(")[0] in report(trace, tmp_path / "r.html").read_text("utf-8")
    save_figures(trace, tmp_path / "figures")
    assert compare([trace, trace], ["a", "b"], tmp_path / "c.html").is_file()
    for suffix in ("parquet", "npz"):
        assert load_trace(trace.save(tmp_path / f"t.{suffix}")).equals(trace)
    trace.save(tmp_path / "t.csv")
    if len(trace):
        assert replay(trace, tmp_path / "p.html").is_file()
    else:
        with pytest.raises(TraceError, match="cannot be replayed"):
            replay(trace, tmp_path / "p.html")


def test_an_impossible_drawing_costs_the_picture_not_the_page(trace: Trace, tmp_path: Path, monkeypatch):
    def impossible(trace: Trace) -> str:
        raise OverflowError("1e308 m")

    monkeypatch.setattr("palpate.views.pages.page_sections.replay_element", impossible)
    assert "cannot be drawn (OverflowError" in report(trace, tmp_path / "r.html").read_text("utf-8")


def test_no_port_is_opened_while_a_page_is_written(tmp_path: Path, monkeypatch):
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("a port was opened")

    monkeypatch.setattr(socket.socket, "listen", refuse)
    monkeypatch.setattr(socket.socket, "bind", refuse)
    trace = simulate(Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=0.05)))
    assert "<html" in replay(trace, tmp_path / "p.html").read_text("utf-8").lower()
