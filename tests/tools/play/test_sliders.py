"""Sliders of a scenario: every number of it, with the schema's unit and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from palpate.scenario.explanation import explain
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.file.overrides import apply_overrides
from palpate.scenario.file.swap import swap_law_in_data
from palpate.tools.play.edges import Judged, nearest_edge
from palpate.tools.play.sliders import first_sliders, sliders_of, span


def test_a_slider_has_the_unit_the_help_and_the_bounds_of_the_schema() -> None:
    sliders = sliders_of(load_scenario("panda-wall").as_data())
    wall, told = sliders["world.surfaces.wall.stiffness"], explain("world.surfaces.stiffness")
    setting = told.settings["stiffness"]
    assert (wall.unit, wall.help) == (setting.unit, setting.help)
    assert (wall.value, wall.low, wall.high, wall.log) == (1e4, 1e3, 1e5, True)
    delay = sliders["world.driver.delay"]
    assert (delay.kind, delay.step, delay.least, delay.unit) == ("integer", 1.0, 0.0, "samples")
    assert sliders["control.form"].choices == ("classic", "exact")
    assert sliders["control.hold_force"].choices == (False, True)


def test_a_list_has_a_factor_and_its_numbers() -> None:
    sliders = sliders_of(load_scenario("panda-wall").as_data())
    assert sliders["control.stiffness"].kind == "list"
    assert [sliders[f"control.stiffness.{k}"].unit for k in (2, 3)] == ["N/m", "N·m/rad"]
    assert [sliders[f"control.stiffness.{k}"].value for k in (2, 3)] == [400.0, 20.0]


@pytest.mark.parametrize("name", ["panda-wall", "iiwa14-stop", "iiwa14-pole", "planar2-drop"])
def test_every_number_of_a_scenario_has_a_slider_whose_key_set_takes(name: str) -> None:
    data = load_scenario(name).as_data()
    sliders = sliders_of(data)
    assert set(first_sliders(data, sliders)) <= set(sliders)
    assert 3 <= len(first_sliders(data, sliders)) <= 8
    numbers = [one for one in sliders.values() if one.kind in ("number", "integer")]
    for one in numbers:
        assert one.low <= one.value <= one.high
        assert one.low < one.high
        assert apply_overrides(data, [f"{one.key}={one.value!r}"]) == data


def test_a_free_key_with_dots_is_quoted() -> None:
    data = load_scenario("panda-wall").as_data()
    data["world"]["plant"]["link_mass_scale"] = {"link.<b>5": 1.5}
    one = sliders_of(data)['world.plant.link_mass_scale."link.<b>5"']
    assert one.value == 1.5
    changed = apply_overrides(data, [f"{one.key}=2.0"])
    assert changed["world"]["plant"]["link_mass_scale"] == {"link.<b>5": 2.0}


def test_the_ends_of_a_slider_stay_within_what_is_allowed() -> None:
    assert span(0.5, "1", 0.0, 1.0) == (0.05, 1.0, True)
    assert span(0.0, "s", 0.0, None) == (0.0, 0.1, False)
    assert span(-3.0, "N", None, None) == (-23.0, 17.0, False)
    low, high, log = span(2.0, "m", None, 2.0)
    assert (low, high, log) == (-2.0, 2.0, False)
    assert math.isfinite(span(5.0, "kg", 0.0, None)[1])


def test_the_nearest_edge_encloses_where_a_judgement_turns() -> None:
    sliders, asked = sliders_of(load_scenario("panda-wall").as_data()), []

    def above(limit: float) -> Callable[[float], Judged]:
        def judge(x: float) -> Judged:
            asked.append(x)
            return Judged(x > limit, "high")

        return judge

    wall, delay = sliders["world.surfaces.wall.stiffness"], sliders["world.driver.delay"]
    edge = nearest_edge(above(31_234.5), wall, 1e4, wall.high)
    assert edge is not None
    assert edge.inside <= 31_234.5 < edge.beyond < 1.03 * edge.inside
    assert {edge.inside, edge.beyond} <= set(asked)  # both were run
    assert len(asked) <= 10
    back = nearest_edge(above(31_234.5), wall, 6e4, wall.low)  # from the red side
    assert back is not None
    assert back.beyond <= 31_234.5 < back.inside
    whole = nearest_edge(above(6.0), delay, 0.0, delay.high)
    assert whole is not None
    assert (whole.inside, whole.beyond) == (6.0, 7.0)
    assert nearest_edge(above(1e9), wall, 1e4, wall.high) is None


def test_another_law_takes_over_what_has_the_same_name_and_unit() -> None:
    scenario = load_scenario("panda-wall")
    data, swapped = swap_law_in_data(scenario.as_data(), "shaped-impedance", scenario.changed()["control"])
    assert {"stiffness", "damping"} <= set(swapped.taken)
    assert swapped.dropped == {}
    control = data["control"]
    assert control["stiffness"] == [400.0, 400.0, 400.0, 20.0, 20.0, 20.0]
    assert control["damping"] == [80.0, 80.0, 80.0, 5.0, 5.0, 5.0]
    scenario_from_data(data)


def test_what_another_law_cannot_take_is_named() -> None:
    scenario = load_scenario("panda-wall")
    _, swapped = swap_law_in_data(scenario.as_data(), "joint-impedance", scenario.changed()["control"])
    assert list(swapped.dropped) == ["damping"]  # six numbers of the tool; the joints have their own stiffness
    assert "stiffness" in swapped.defaults
    assert "drops damping" in swapped.names_sentence


def test_a_setting_of_another_unit_does_not_go_over() -> None:
    scenario = load_scenario("panda-wall", ["control.posture_stiffness=30"])  # N·m/rad; in operational space 1/s²
    data, swapped = swap_law_in_data(scenario.as_data(), "operational-space", scenario.changed()["control"])
    assert data["control"]["posture_stiffness"] == 25.0
    assert "posture_stiffness" in swapped.dropped
