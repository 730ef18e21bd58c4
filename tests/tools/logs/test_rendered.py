"""Stiffness, damping, delay and the wall of simulated runs are found again; promises stand beside what happened."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.scenario.robot import build_robot
from palpate.tools.logs.cleaning import cleaned
from palpate.tools.logs.columns import Log, load_log
from palpate.tools.logs.page import _figure
from palpate.tools.logs.rendered import Rendered, _impedance, rendered_of
from palpate.tools.logs.timeline import Course, happenings, predict_run

STIFFNESS, DAMPING = (400.0, 600.0, 800.0), (60.0, 70.0, 80.0)


@cache
def pushed(delay: int = 0) -> tuple[pp.Scenario, pp.Trace]:
    """A Panda under Cartesian impedance, pushed along every axis."""
    pushes = [
        {"name": "a", "kind": "sine", "force": [15.0, 0.0, 0.0], "frequency": 0.7, "duration": 8.0},
        {"name": "b", "kind": "sine", "force": [0.0, 18.0, 0.0], "frequency": 1.1, "duration": 8.0},
        {"name": "c", "kind": "sine", "force": [6.0, 5.0, 20.0], "frequency": 0.4, "duration": 8.0},
    ]
    gains = {"stiffness": [*STIFFNESS, 30.0, 30.0, 30.0], "damping": [*DAMPING, 4.0, 4.0, 4.0]}
    scenario = pp.Scenario.model_validate({
        "name": "pushed",
        "robot": {"model": "panda", "joints": "ideal"},
        "control": {"law": "cartesian-impedance", **gains},
        "world": {"pushes": pushes, "driver": {"delay": delay}},
        "run": {"duration": 8.0, "rate": 1000.0},
    })  # fmt: skip
    return scenario, pp.simulate(scenario)


def told(delay: int, folder: Path, noise: float = 0.0) -> Rendered:
    scenario, trace = pushed(delay)
    trace.save(folder / "t.parquet")
    robot = build_robot(scenario.robot)
    log = load_log(folder / "t.parquet", robot)
    assert log.wrench is not None
    log = replace(log, wrench=log.wrench + noise * np.random.default_rng(0).normal(size=log.wrench.shape))
    return rendered_of(log, robot, scenario, cleaned(log))


def test_the_stiffness_and_damping_that_were_asked_for_are_found(tmp_path: Path) -> None:
    q = told(0, tmp_path, noise=0.3).quantities
    for axis, K, D in zip("xyz", STIFFNESS, DAMPING):
        assert q[f"stiffness {axis}"].low < K < q[f"stiffness {axis}"].high
        assert q[f"stiffness {axis}"].value == pytest.approx(K, rel=0.03)
        assert q[f"damping {axis}"].value == pytest.approx(D, rel=0.03)


def test_a_driver_that_is_late_takes_damping_away_and_the_delay_is_told(tmp_path: Path) -> None:
    """K e(t − T) costs K T of damping: two ticks more are 2 ms more, along each axis."""
    early, late = (told(delay, tmp_path).quantities for delay in (0, 2))
    for axis in "xyz":
        more = late[f"loop delay {axis}"].value - early[f"loop delay {axis}"].value
        assert more == pytest.approx(2e-3, abs=1e-4)
        assert late[f"damping {axis}"].value < early[f"damping {axis}"].value
    assert late["torque delay"].value == pytest.approx(2e-3, abs=1e-5)


def test_the_wall_of_a_run_is_inside_its_interval_and_events_stand_beside_each_other(tmp_path: Path) -> None:
    scenario = pp.load_scenario("panda-wall")
    trace = pp.simulate(scenario)
    trace.save(tmp_path / "t.parquet")
    robot = build_robot(scenario.robot)
    log = load_log(tmp_path / "t.parquet", robot)
    wall = rendered_of(log, robot, scenario, cleaned(log)).quantities["environment stiffness"]
    assert wall.low < 1e4 < wall.high
    force = np.linalg.norm(trace["contact_wrench"][:, :3], axis=1)
    course = Course(trace.time, trace["q"], trace["v"], trace["tau"], force)
    later = replace(course, time=trace.time + 7.0, force=np.concatenate([np.zeros(100), force[:-100]]))
    first = next(one for one in happenings(later, course, robot.limits, robot.dof_names) if one.what == "first contact")
    assert first.predicted is not None
    assert first.happened == pytest.approx(first.predicted + 0.1)


def test_a_page_draws_the_log_over_the_run_with_a_ghost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pp.simulate(pp.load_scenario("panda-wall")).save(tmp_path / "t.parquet")
    words = ["log", str(tmp_path / "t.parquet"), "--scenario", "panda-wall", "--no-rollouts"]
    assert main([*words, "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "simulated run" in page
    assert "recording" in page
    assert "ghost" in page
    assert "first contact" in page
    assert "Rendered stiffness x" in capsys.readouterr().out


def test_what_does_not_move_is_drawn_flat() -> None:
    """A joint that rounding moves by 1e-13 rad beside one that moves by 2 rad, and a figure of which nothing moves."""
    time = np.linspace(0.0, 1.0, 50)
    moves, stands = np.sin(20 * time), 1e-13 * np.cos(40 * time)
    both = np.column_stack([moves, stands])
    panels = _figure("q", "Joint positions", "rad", time, (both, both), ("a", "b"), "model").panels
    assert panels[1].least == panels[0].least == pytest.approx(0.01 * np.ptp(moves))
    still = np.column_stack([stands, stands])
    panels = _figure("q", "Joint positions", "rad", time, (still, still), ("a", "b"), "model").panels
    assert panels[0].least == 1e-8


def test_a_log_without_a_wrench_says_so() -> None:
    robot = pp.load_robot("planar2")
    time = np.arange(200) * 0.01
    q = np.stack([np.sin(time), np.cos(time)], axis=1)
    log = Log("x", "csv", "", time, q, np.gradient(q, 0.01, axis=0), q)
    assert any("No wrench" in text for text in rendered_of(log, robot, None, cleaned(log)).lines())


def test_a_run_judged_on_its_own_recording_happened_as_predicted(tmp_path: Path) -> None:
    """What the wall takes is F/K in both; without the wall's wrench in the question they were 2 mm apart."""
    scenario = pp.load_scenario("panda-wall")
    pp.simulate(scenario).save(tmp_path / "t.parquet")
    log = load_log(tmp_path / "t.parquet", build_robot(scenario.robot))
    promises = predict_run(scenario, cleaned(log).longest, log.wrench_frame).promises
    assert promises
    for one in promises:
        assert one.since is None
        assert one.happened == pytest.approx(one.predicted, rel=1e-6)


def test_a_wrench_of_the_other_sign_and_a_missing_target_are_said(tmp_path: Path) -> None:
    scenario, trace = pushed()
    trace.save(tmp_path / "t.parquet")
    robot = build_robot(scenario.robot)
    log = load_log(tmp_path / "t.parquet", robot)
    assert log.wrench is not None
    turned = replace(log, wrench=-log.wrench)
    told = rendered_of(turned, robot, scenario, cleaned(turned)).quantities["stiffness x"]
    assert "acts_on" in told.reason
    alone = replace(log, position_desired=None, q_desired=None)
    assert any("No target" in text for text in rendered_of(alone, robot, scenario, cleaned(alone)).lines())


def test_torques_that_act_a_period_late_leave_the_damping_that_was_asked_for_inside() -> None:
    """F(t) = K e(t − T) + D ė(t − T) + Λ a fits as D − K T; the interval reaches D, and no farther than by K T."""
    K, D, T, t = 800.0, 60.0, 1e-3, np.arange(0.0, 20.0, 1e-3)
    waves = ((0.01, 1.3), (0.006, 4.1), (0.004, 7.7))
    error, motion = np.zeros((len(t), 3)), np.zeros((len(t), 4, 6))
    error[:, 0] = sum(a * np.sin(w * t) for a, w in waves)
    late = [sum(a * w**k * np.sin(w * (t - T) + k * np.pi / 2) for a, w in waves) for k in (0, 1)]
    motion[:, 2, 0] = 5.0 * np.cos(2.9 * t)
    motion[:, 1, 0] = np.cos(t)
    noise = 0.01 * np.random.default_rng(0).normal(size=len(t))
    force = K * late[0] + D * late[1] + motion[:, 2, 0] + noise
    told = _impedance(0, (error, motion, force), np.zeros(len(t), dtype=int), T)["damping x"]
    assert abs(told.value - (D - K * T)) < 0.1
    assert told.low < D < told.high
    assert K * T < told.chance < 1.2 * K * T
