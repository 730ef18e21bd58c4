"""Slopes of metrics against closed forms, and what has none."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import InvalidInput, UnknownName
from palpate.tools.study import sensitivities
from palpate.tools.study.analysis.sensitivity import _agreed

K, WALL, WAY = 400.0, 2000.0, 0.06  # N/m, N/m, m: the tool's sphere touches the wall at the start


@pytest.fixture(scope="module")
def press() -> pp.Scenario:
    """A spring K on an axis, its goal WAY inside a wall k: at rest f = K k / (K + k) · WAY."""
    return pp.load_scenario("cartesian2-press").replace(
        control={"law": "cartesian-impedance", "stiffness": [K, K, 0, 0, 0, 0], "damping": [120, 120, 0, 0, 0, 0]},
        reference={"kind": "hold", "offset": [WAY, 0, 0], "wrench": [-10, 0, 0, 0, 0, 0]},
        run__duration=4,
        metrics={"force_steady_error": {"least": -100, "most": 100}},
    )


def slope(results, setting: str, metric: str):
    return next(s for r in results if r.setting == setting for s in r.slopes if s.metric == metric)


def test_the_force_at_rest_changes_with_both_springs_as_in_the_closed_form(press) -> None:
    """d f/d ln K = f k/(K + k) and d f/d ln k = f K/(K + k); the error is |f − f_d|."""
    results = sensitivities(press, ["control.stiffness", "world.surfaces.wall.stiffness"])
    force = K * WALL / (K + WALL) * WAY
    by_law = slope(results, "control.stiffness", "force_steady_error")
    by_wall = slope(results, "world.surfaces.wall.stiffness", "force_steady_error")
    assert by_law.value == pytest.approx(force - 10.0, abs=1e-6)
    assert by_law.per_share == pytest.approx(force * WALL / (K + WALL), rel=1e-5)
    assert by_wall.per_share == pytest.approx(force * K / (K + WALL), rel=1e-5)
    assert by_law.per_percent == pytest.approx(0.01 * force * WALL / (K + WALL), rel=1e-5)


def test_a_damper_does_not_move_the_rest(press) -> None:
    (result,) = sensitivities(press, ["world.surfaces.wall.damping"])
    assert result.slopes[0].per_share == pytest.approx(0.0, abs=1e-6)


def test_settings_are_found_by_themselves_without_positions_and_times(press) -> None:
    found = {result.setting: result.given for result in sensitivities(press)}
    assert found["control.stiffness"] == [K, K, 0, 0, 0, 0]
    assert found["world.surfaces.wall.stiffness"] == WALL
    assert not [key for key in found if key.endswith(("position", "normal", "offset", "seed"))]


def sides(metric: Callable[[float], float], share: float) -> tuple[float, float]:
    return (metric(share) - metric(0.0)) / share, (metric(0.0) - metric(-share)) / share


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (lambda s: math.exp(3.0 * s), 3.0),
        (lambda s: 2.0 + 0.0 * s, 0.0),
        (lambda s: 5.0 + (s > 0.0), None),  # a count that jumps here
        (abs, None),  # a kink
        (lambda s: max(s, 0.0), None),  # a limit that is just reached
        (lambda s: 1e-12 * math.sin(1e9 * s) + 1.0, 0.0),  # rounding
    ],
)
def test_smooth_metrics_have_a_slope_and_jumps_and_kinks_have_none(metric, expected) -> None:
    slope = _agreed(sides(metric, 0.01), sides(metric, 0.005), 1e-9 * abs(metric(0.0)) / 0.01)
    assert slope == (None if expected is None else pytest.approx(expected, abs=1e-6))


@pytest.mark.parametrize(
    "key", ["world.surfaces.wall.name", "control.posture_damping", "world.driver.delay", "no.such"]
)
def test_a_setting_that_is_no_number_is_refused_by_name(press, key: str) -> None:
    with pytest.raises(InvalidInput, match=key):
        sensitivities(press, [key])


def test_an_unknown_metric_is_refused(press) -> None:
    with pytest.raises(UnknownName, match="force_pek"):
        sensitivities(press, metrics=["force_pek"])


def test_the_command_prints_the_change_per_percent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "panda-wall", "--sensitivity", "control.stiffness", "world.surfaces.wall.damping"]) == 0
    table = capsys.readouterr().out.split("Change per 1 %")[1]
    assert "control.stiffness" in table
    assert "force_peak" in table
