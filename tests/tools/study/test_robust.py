"""Robustness studies: what is drawn, what is left out, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.one_axis import largest

import palpate as pp
from palpate.errors import FileError, InvalidInput, UnknownName
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.tools.study.analysis.maps import predicted_boundary
from palpate.tools.study.planning import make_plan
from palpate.tools.study.plans.points import PlannedRun
from palpate.tools.study.robust import map_axes, spreads, study_folder, uses_wrench

# A mass of 5 kg on a slide, pressed against a wall by a sampled spring with one sample of delay. Started at rest on the
# surface, the stable loop swings between 0 and twice its depth and never leaves; the unstable one does.
PRESS = {
    "name": "press",
    "robot": {"model": "cartesian2", "parameters": {"mass": [3.0, 2.0], "gravity": 0.0}, "start": {"q": [-0.01, 0.0]}},
    "control": {"law": "joint-impedance", "stiffness": [8000.0, 100.0], "damping": [150.0, 20.0]},
    "reference": {"kind": "joint", "q": [-0.005, 0.0], "duration": 0.001},
    "world": {
        "surfaces": [{"name": "wall", "normal": [-1.0, 0.0, 0.0], "stiffness": 2e4, "damping": 0.0}],
        "driver": {"delay": 1, "torque_limit": False},
    },
    "run": {"duration": 0.8, "timestep": 0.0005, "period": 0.004, "integrator": "rk4"},
    "record": {"channels": ["contact_force"]},
}


def sampled(scenario: Scenario) -> str | None:
    """What the closed form says about PRESS: the exactly sampled loop against the wall."""
    data = scenario.as_data()
    stiffness, wall = data["control"]["stiffness"][0], data["world"]["surfaces"][0]["stiffness"]
    radius = largest(5.0, stiffness, 150.0, wall=wall, period=0.004, delay=1)
    return None if radius < 1.0 else f"its largest pole is {radius:.4g}"


def test_the_map_of_runs_lies_on_the_boundary_in_closed_form() -> None:
    vary = {"control.stiffness.0": "1e4:2.5e4:9:log", "world.surfaces.wall.stiffness": "3e4:1.6e5:9:log"}
    found = pp.sweep(
        Scenario.model_validate(PRESS), vary, method="map", by="bounces<0.5", metrics=["bounces"], workers=0
    )
    lines = [np.log(np.concatenate(part)) for part in (found.map.boundary, predicted_boundary(found.plan, sampled, 8))]
    made, predicted = (line[np.argsort(line[:, 1])] for line in lines)
    walls = np.linspace(made[0, 1], made[-1, 1], 20)
    assert np.exp(walls[[0, -1]]) == pytest.approx([3e4, 1.6e5], rel=0.1)  # along its whole length
    gap = np.interp(walls, made[:, 1], made[:, 0]) - np.interp(walls, predicted[:, 1], predicted[:, 0])
    assert np.abs(np.exp(gap) - 1).max() < 0.02
    assert set(found["outcome"]) == {"completed"}


def test_what_a_scenario_has_is_drawn_and_nothing_else(pendulum: Scenario) -> None:
    keys = [one.key for one in spreads(pendulum)[0]]
    assert "world.plant.mass_scale" in keys
    assert "world.driver.delay" in keys
    assert not [key for key in keys if "surfaces" in key or "wrench" in key]  # no wall, and nobody minds the wrist
    pressing = [one.key for one in spreads(Scenario.model_validate(PRESS))[0]]
    assert "world.surfaces.wall.stiffness*" in pressing
    assert "world.surfaces.wall.damping*" not in pressing  # it has none


def test_force_laws_mind_the_wrist_sensor_and_springs_do_not() -> None:
    assert uses_wrench(load_scenario("cartesian2-press").as_data())
    assert not uses_wrench(Scenario.model_validate({**PRESS, "record": {}}).as_data())
    keys = [one.key for one in spreads(load_scenario("cartesian2-press"))[0]]
    assert {"world.sensors.wrench.bias.0", "world.sensors.wrench.noise_force"} <= set(keys)


def test_spreads_can_be_left_out_and_what_cannot_be_is_told() -> None:
    scenario = Scenario.model_validate(PRESS)
    kept, left_out = spreads(scenario, {"world.plant.mass_scale": "uniform(0.9, 1.1)"}, ["world.driver.delay"])
    assert not {"world.plant.mass_scale", "world.driver.delay"} & {one.key for one in kept}
    assert not left_out
    with pytest.raises(UnknownName, match=r"did.*mean"):
        spreads(scenario, {}, ["world.driver.dalay"])
    floating = load_scenario("floating-stand")
    kept, left_out = spreads(floating)
    assert "free base" in left_out["world.sensors.encoder_noise"]
    assert "world.sensors.encoder_noise" not in {one.key for one in kept}


def test_the_map_takes_stiffness_against_wall_where_there_are_both(pendulum: Scenario) -> None:
    assert list(map_axes(Scenario.model_validate(PRESS))) == ["control.stiffness*", "world.surfaces.wall.stiffness*"]
    assert list(map_axes(pendulum)) == ["world.plant.mass_scale", "world.plant.joint_friction"]


def test_a_study_draws_and_maps_and_goes_on(tmp_path: Path) -> None:
    over = {"world.plant.mass_scale": "0.5:2:5", "run.max_speed": "0.05:0.4:5"}
    asked = {"overrides": ["run.duration=0.02", "record.stride=5"], "runs": 12, "over": over, "workers": 0}
    found = pp.study.robustness("pendulum", out=tmp_path / "s", **asked)
    assert found.sentence.startswith("P(failure)")
    assert len(found.draws) == 12
    assert found.map is not None
    assert found.map.map.boundary
    assert {one.key for one in found.spreads} < set(found.draws.columns)
    assert study_folder(tmp_path / "s")[1]["scenario"] == "pendulum"
    before = found.draws.path.stat().st_mtime_ns
    again = pp.study.robustness("pendulum", out=tmp_path / "s", **asked)
    assert again.draws.path.stat().st_mtime_ns == before
    with pytest.raises(FileError, match=r"holds.*sweep"):
        pp.study.robustness("pendulum", out=tmp_path / "s", **{**asked, "runs": 13})


def test_strange_folders_and_empty_studies_are_refused(pendulum: Scenario, tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_text("meow")
    with pytest.raises(FileError, match=r"things.*study"):
        pp.study.robustness("pendulum", out=tmp_path, runs=2)
    with pytest.raises(FileError, match="holds no study"):
        study_folder(tmp_path)
    with pytest.raises(InvalidInput, match=r"nothing is.*draw"):
        spreads(pendulum, {}, [one.key for one in spreads(pendulum)[0]])


def test_no_map_is_made_where_none_is_wanted() -> None:
    found = pp.study.robustness("pendulum", overrides=["run.duration=0.01"], runs=2, over={}, workers=0)
    assert found.map is None


def test_a_seed_that_varies_is_not_drawn_a_second_time() -> None:
    assert make_plan("pendulum", {"run.seed": "0:9:10"}).overrides(PlannedRun((4,), 99, 0)) == ["run.seed=4"]
