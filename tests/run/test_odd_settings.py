"""Settings far from what anybody means end in a run or in a named refusal, in bounded time."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

from palpate.cli.main import main
from palpate.control.design.pole_camera import _kalman_gain
from palpate.errors import PalpateError, UnknownName
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario


@pytest.mark.parametrize(
    ("scenario", "changes"),
    [
        ("pole-alone", ["run.rate=0.001", "run.duration=0.1"]),
        ("pole-alone", ["run.rate=0.01", "run.duration=0.1"]),
        ("iiwa14-pole-camera", ["world.sensors.camera.rate=0.06", "run.duration=0.1"]),
        ("panda-blind-touch", ["world.faults.freeze.at=1e30", "run.duration=0.1"]),
        ("panda-blind-touch", ["world.faults.freeze.at=1e308", "run.duration=0.1"]),
    ],
)
def test_an_odd_setting_is_run(scenario: str, changes: list[str], tmp_path):
    words = [word for change in changes for word in ("--set", change)]
    assert main(["run", scenario, *words, "--no-report", "--quiet", "--out", str(tmp_path / "run")]) in (0, 1)


def test_a_fault_that_never_comes_changes_nothing():
    short = ["run.duration=0.2"]
    never = simulate(load_scenario("panda-blind-touch", ["world.faults.freeze.at=1e30", *short]))
    none = simulate(load_scenario("panda-blind-touch", ["world.faults=[]", *short]))
    assert all(np.array_equal(never[name], none[name]) for name in never)


@pytest.mark.parametrize("span", [3.0, 5.0, 8.0, 12.0, 16.0, 5000.0])
def test_rare_pictures_leave_the_gain_of_the_falling_motion(span: float):
    """The Riccati equation's gain tends to (1, ω) like e^(−2 ω T), and is taken for it where it cannot be solved."""
    omega, push, noise = 3.13, 0.1, 1e-3
    c, s, T = np.cosh(min(span, 8.0)), np.sinh(min(span, 8.0)), span / omega
    F, d = np.array([[c, s / omega], [omega * s, c]]), push * np.array([T * T / 2, T])
    gain = _kalman_gain(omega, T, push, noise)
    if span <= 8.0:
        P = solve_discrete_are(F.T, np.array([[1.0], [0.0]]), np.outer(d, d), np.array([[noise**2]]))
        assert gain == pytest.approx(P[:, 0] / (P[0, 0] + noise**2), rel=1e-9)
    assert gain == pytest.approx([1.0, omega], rel=10 * np.exp(-2 * span) + 1e-14)


def test_a_contact_point_without_a_name_is_unknown():
    with pytest.raises(UnknownName, match="contact point ''"):
        simulate(load_scenario("planar2-hybrid", ['world.contact_points=[""]']))


@pytest.mark.parametrize(
    ("scenario", "change", "said"),
    [
        ("panda-waves", "reference.start=5e29", "is nothing on a clock that ends at"),
        ("ur10e-polish", "reference.length=1e308", "is nothing on a clock that ends at"),
        ("cartesian2-eigenvalues", "robot.parameters.name=[3.0, 2.0]", "name"),
        ("iiwa14-pole-camera", "control.disturbance=1e30", "disturbance of 1e+30"),
        ("ur5e-3link-admittance-euler", "control.directions=[]", "directions is empty"),
    ],
)
def test_a_setting_beyond_all_use_is_refused_by_name(scenario: str, change: str, said: str):
    with pytest.raises(PalpateError, match=re.escape(said)):
        simulate(load_scenario(scenario, [change]))
