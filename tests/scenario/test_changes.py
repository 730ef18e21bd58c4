"""What of a scenario is not a default, and scenarios with other values."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import ScenarioError
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.file.starter import starter_text
from palpate.toml import toml_text


@pytest.mark.parametrize("name", shipped())
def test_what_differs_from_the_defaults_is_the_whole_scenario(name: str) -> None:
    scenario = load_scenario(name)
    short = scenario.changed()
    assert scenario_from_data(tomllib.loads(toml_text(short))) == scenario
    assert len(toml_text(short)) < 0.7 * len(toml_text(scenario.as_data()))


@pytest.mark.parametrize("name", shipped())
def test_a_new_scenario_from_another_runs_the_same_under_its_own_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(starter_text("mine", name), encoding="utf-8")
    mine, other = load_scenario(path), load_scenario(name)
    assert mine.name == "mine"
    assert mine.model_copy(update={"name": other.name}) == other


def test_values_are_replaced_by_the_keys_of_a_file() -> None:
    scenario = load_scenario("panda-wall")
    other = scenario.replace(control__stiffness=np.full(6, 300.0), world__surfaces__wall__stiffness=2e4)
    assert other.control.model_dump()["stiffness"] == (300.0,) * 6
    assert other.world.surfaces[0].stiffness == 2e4
    assert scenario.world.surfaces[0].stiffness == 1e4
    assert (
        other.replace(control__stiffness=[400, 400, 400, 20, 20, 20], world__surfaces__wall__stiffness=1e4) == scenario
    )


def test_another_law_takes_no_gains_over() -> None:
    other = load_scenario("panda-wall").replace(control__law="gravity-compensation", name="floating")
    assert (other.name, other.control.name) == ("floating", "gravity-compensation")


def test_a_wrong_value_is_told_as_in_a_file() -> None:
    with pytest.raises(ScenarioError, match="mean 'stiffness'"):
        load_scenario("panda-wall").replace(control__stifness=1)
    with pytest.raises(ScenarioError, match="no entry 'wal'"):
        load_scenario("panda-wall").replace(world__surfaces__wal__stiffness=1)
    with pytest.raises(ScenarioError, match="duration"):
        load_scenario("panda-wall").replace(run__duration=-1)
