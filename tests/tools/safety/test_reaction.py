"""Reactions in the compiled loop: a push and a wall, felt and answered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import palpate as pp
from palpate.control.law import PythonLaw
from palpate.errors import InvalidInput
from palpate.run.build import build
from palpate.tools.safety.barriers import Barriers
from palpate.tools.safety.energy import Passivity, Tank
from palpate.tools.safety.predict import predicted
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import Threshold, ticks_until_felt
from tools.safety.arms import pushed_planar, quietly, towards_wall

LEVEL = Threshold(level=2.0)


def answered(kind: str, name: str = "panda", **settings: object) -> pp.Trace:
    around = Reactions(on_contact=kind, threshold=LEVEL, **settings)  # pyright: ignore[reportArgumentType]
    return quietly(towards_wall(name, around))


def test_a_stop_stands_and_holds() -> None:
    trace = answered("stop")
    felt = np.argmax(trace["reaction.mode"] > 0)
    speed = np.abs(trace["v"]).max(axis=1)
    assert 0 < felt < len(speed) - 200
    assert speed[felt + 150 :].max() < 0.1
    assert np.ptp(trace["q"][-100:], axis=0).max() < 1e-2
    assert (
        trace["contact_force"].max()
        < quietly(towards_wall("panda", Reactions(on_contact="nothing", threshold=LEVEL)))["contact_force"].max()
    )


def test_a_retreat_leaves_the_wall_by_its_distance() -> None:
    trace = answered("retract", retract_distance=0.04)
    touch = np.argmax(trace["contact_force"] > 0)
    back = trace["tool_position"][touch, 0] - trace["tool_position"][-1, 0]
    assert back == pytest.approx(0.04, abs=0.015)
    assert trace["contact_force"][-100:].max() == 0.0


def test_a_floating_arm_commands_no_acceleration_but_damping() -> None:
    trace = answered("float", float_damping=3.0)
    k = int(np.argmax(trace["reaction.mode"] > 0)) + 5
    robot = pp.load_robot("panda")
    terms = robot.terms(trace["q"][k], trace["v"][k])
    command = trace["command"][k]
    a = np.linalg.solve(np.array(terms.M), command - np.array(terms.bias))
    assert a == pytest.approx(-3.0 * trace["v"][k], abs=1e-6)


def test_a_softened_law_goes_on_with_a_share_of_its_stiffness() -> None:
    hard, soft = answered("nothing"), answered("soften", soften_share=0.1)
    assert soft["contact_force"][-1] < 0.3 * hard["contact_force"][-100:].max()
    assert not soft["tau.change"].any()  # it is the law's own torque


def test_a_law_takes_over_again_after_the_push() -> None:
    around = Reactions(on_contact="float", threshold=Threshold(level=1.0), resume_after=0.1, blend=0.05)
    run = pushed_planar(around, (5.0, 0.0), seconds=1.0)
    push = run.world.pushes[0].model_copy(update={"duration": 0.2})
    trace = quietly(replace(run, world=run.world.model_copy(update={"pushes": (push,)})))
    modes = trace["reaction.mode"]
    changes = np.flatnonzero(np.diff(modes)) + 1
    assert modes[changes].tolist() == [1.0, 2.0, 0.0]
    first, second, third = trace.time[changes]
    assert first == pytest.approx(0.025, abs=1e-9)
    assert third - second == pytest.approx(0.05, abs=2e-3)
    release = np.flatnonzero(np.abs(trace["reaction.ratio"][: changes[1]]) > 0.5)[-1]
    assert second - trace.time[release] == pytest.approx(0.1, abs=2e-3)
    assert not trace["tau.change"][changes[2] :].any()


@pytest.mark.parametrize("kind", ["float", "stop"])
@pytest.mark.parametrize("name", ["panda", "fr3", "ur5e"])
@pytest.mark.parametrize("stiffness", [5e3, 2e4])
def test_delay_and_force_of_a_wall_are_as_predicted(name: str, stiffness: float, kind: str) -> None:
    around = Reactions(on_contact=kind, threshold=LEVEL)  # pyright: ignore[reportArgumentType]
    touch, expected, happened, trace = predicted(towards_wall(name, around, stiffness))
    assert touch.normal == pytest.approx([-1.0, 0.0, 0.0], abs=1e-9)
    # A UR5e lags its target behind its friction.
    assert touch.speed == pytest.approx(0.183 if name == "ur5e" else 0.25, abs=0.015)
    assert happened.delay == pytest.approx(expected.delay, abs=1.1e-3)
    assert happened.force_felt == pytest.approx(expected.force_felt, rel=0.08)
    assert happened.force_peak == pytest.approx(expected.force_peak, rel=0.03)
    assert happened.energy_peak == pytest.approx(expected.energy_peak, rel=0.05)
    if kind == "stop":
        assert np.abs(trace["v"][-50:]).max() < 0.1


def test_a_cusum_is_predicted_too() -> None:
    around = Reactions(on_contact="stop", threshold=Threshold(kind="cusum", level=1.0, decision=0.01))
    _, expected, happened, _ = predicted(pushed_planar(around, (5.0, 0.0)))
    assert expected.delay == pytest.approx(happened.delay)
    assert expected.delay == pytest.approx(1e-3 * ticks_until_felt(around.threshold, around.observer, 5.0, 1e-3))


def test_the_delay_of_a_push_is_as_predicted() -> None:
    around = Reactions(on_contact="stop", threshold=Threshold(level=1.0))
    _, expected, happened, _ = predicted(pushed_planar(around, (5.0, 0.0)))
    assert expected.delay == pytest.approx(5e-3)
    assert happened.delay == pytest.approx(5e-3)


def test_a_law_of_set_points_stops_too() -> None:
    scenario = pp.load_scenario("ur5e-admittance")
    around = Reactions(on_contact="stop", threshold=Threshold(level=0.5))
    trace = quietly(replace(build(scenario), around=around))
    felt = int(np.argmax(trace["reaction.mode"] > 0))
    assert felt > 0
    assert np.ptp(trace["command"][felt + 1 :], axis=0).max() < 1e-9


def test_a_law_in_plain_python_is_surrounded_too() -> None:
    def hold(tick, gains, memory):
        return {"torque": 200 * (tick.target.q - tick.q) - 20 * tick.v + tick.bias}

    around = Reactions(on_contact="float", threshold=Threshold(level=1.0))
    trace = quietly(replace(pushed_planar(around, (5.0, 0.0)), law=PythonLaw(hold)))
    assert trace["reaction.mode"].max() == 1.0
    assert np.abs(trace["tau.change"]).max() > 0.1


@pytest.mark.parametrize(
    ("settings", "law", "named"),
    [
        ({"on_contact": "soften"}, "joint-impedance", "stiffness.*tool"),
        ({"on_contact": "float"}, "admittance", "law.*torques"),
        ({"passivity": Passivity()}, "admittance", "passivity"),
        ({"barriers": Barriers()}, "admittance", "barriers"),
        ({"tank": Tank(start=1.0, floor=2.0)}, "joint-impedance", "floor"),
    ],
)
def test_what_a_law_cannot_do_is_refused_by_name(settings: dict[str, object], law: str, named: str) -> None:
    scenario = {"admittance": "ur5e-admittance", "joint-impedance": "panda-joint-impedance"}[law]
    run = replace(build(pp.load_scenario(scenario)), around=Reactions(**settings))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match=named):
        quietly(run)


def test_poles_of_a_watched_loop_hold_those_of_the_law() -> None:
    from palpate.run.tangent.loop_poles import poles

    run = build(pp.load_scenario("panda-wall").replace(metrics=None))
    plain, watched = poles(run), poles(replace(run, around=Reactions(on_contact="nothing")))
    assert watched.not_known is None
    assert watched.poles == pytest.approx(plain.poles, abs=1e-6)  # what only watches moves nothing
