"""Scenario as a value: written out and read back, laws by name, warnings."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
import pytest

from palpate.control import LAWS
from palpate.control.law import Law
from palpate.control.laws.passive import Passive
from palpate.control.references import REFERENCES
from palpate.errors import InvalidInput, UnknownName
from palpate.scenario.checking.checks import remarks
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import RobotSettings, Scenario, law_class
from palpate.world.clock import Clock

NEEDED: dict[str, dict[str, Any]] = {}  # what a law does not go without


def minimal(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "robot": {"model": "pendulum"}, "control": {"law": "passive"}, **changes}


@pytest.mark.parametrize("law", LAWS)
def test_every_law_reads_back_what_it_writes(law: str) -> None:
    scenario = Scenario.model_validate(minimal(control={"law": law, **NEEDED.get(law, {})}))
    data = json.loads(json.dumps(scenario.as_data()))
    assert data["control"]["law"] == law
    assert Scenario.model_validate(data) == scenario
    assert Scenario.model_validate_json(json.dumps(data), strict=True) == scenario
    assert type(scenario.control) is law_class(law)


@pytest.mark.parametrize("kind", REFERENCES)
def test_every_reference_reads_back_what_it_writes(kind: str) -> None:
    needs: dict[str, dict[str, Any]] = {
        "joint": {"q": [0.1]},
        "line": {"offset": [0, 0, 0.1], "wrench": [1, 2, 3, 4, 5, 6]},
        "waypoints": {"points": [{"time": 1, "q": [0.5]}]},
        "recorded": {"file": "x.csv"},
    }
    scenario = Scenario.model_validate(minimal(reference={"kind": kind, **needs.get(kind, {})}))
    assert Scenario.model_validate_json(json.dumps(scenario.as_data()), strict=True) == scenario


def test_a_scenario_can_be_put_together_in_python() -> None:
    scenario = Scenario(
        name="mine", robot=RobotSettings(model="pendulum"), control=Passive(damping=0.5), run=Clock(duration=0.2)
    )
    assert scenario.as_data()["control"] == {"law": "passive", "damping": 0.5, "friction_compensation": 0.0}


def test_a_law_that_no_file_can_name_is_refused() -> None:
    class Mine(Law):
        name: ClassVar[str] = "mine"

        def gains(self, robot: Any) -> Any:
            return np.zeros(1)

    with pytest.raises(InvalidInput, match="not registered"):
        Scenario.model_validate(minimal(control=Mine()))
    with pytest.raises(UnknownName, match="unknown law"):
        law_class("mine")


def test_a_scenario_holds_data_only() -> None:
    assert all(isinstance(text, str) for text in [load_scenario("panda-wall").model_dump_json()])
    with pytest.raises(InvalidInput, match="cannot be changed"):
        load_scenario("pendulum").name = "y"  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_probably_not_meant_is_remarked() -> None:
    scenario = load_scenario("panda-wall", ["run.duration=1.0", 'world.pushes=[{name = "late", start = 3}]'])
    assert remarks(scenario) == [
        "the reference ends at 1.7 s, after the run (1 s)",
        "push 'late' begins at 3 s, after the run (1 s)",
    ]


def test_rate_and_period_are_two_ways_to_say_one_thing() -> None:
    assert Clock(rate=500).control_period == Clock(period=0.002).control_period == 0.002
    assert Clock().control_period == Clock().timestep
