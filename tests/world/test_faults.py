"""Faults on the clock: what fails, when, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.errors import InvalidInput
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.world.sensing.faults import FAULTS, Fault, lost_commands, read_fault

SHORT = load_scenario("panda-wall", ["run.duration=0.3", "metrics={}", "reference.start=0"])


def with_faults(*faults: dict[str, object]):
    return simulate(SHORT.replace(world__faults=list(faults)))


def test_a_lost_command_is_the_last_one_again_and_the_run_before_is_the_same():
    clean, lossy = simulate(SHORT), with_faults({"what": "commands-lost", "at": 0.1, "duration": 0.02})
    assert np.array_equal(lossy["tau"][:100], clean["tau"][:100])
    assert (lossy["tau"][99:120] == lossy["tau"][99]).all()
    assert not np.array_equal(lossy["tau"][120], lossy["tau"][99])
    event = next(event for event in lossy.events if event.source == "fault")
    assert (event.time, event.kind, event.message) == (0.1, "commands-lost", "commands-lost for 0.02 s")


def test_a_driver_stops_the_arm_after_as_many_losses_as_it_bears():
    scenario = load_scenario("fr3-wall", ["run.duration=0.4"])
    for duration, kind in ((0.019, "completed"), (0.02, "stopped")):
        lost = [{"what": "commands-lost", "at": 0.1, "duration": duration}]
        trace = simulate(scenario.replace(world__faults=lost))
        assert trace.outcome.kind == kind
    assert trace.outcome.time == pytest.approx(0.119, abs=1.5e-3)


def test_commands_are_lost_with_their_probability_and_by_the_seed_alone():
    fault = Fault(what="commands-lost", share=0.3)
    lost = lost_commands([fault], 7, 1e-3, 20_000)
    assert lost.mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 20_000))
    assert np.array_equal(lost, lost_commands([fault], 7, 1e-3, 20_000))
    assert not np.array_equal(lost, lost_commands([fault], 8, 1e-3, 20_000))
    trace = with_faults({"what": "commands-lost", "share": 0.3})
    held = (trace["tau"][1:300] == trace["tau"][:299]).all(axis=1)
    assert np.array_equal(held, lost_commands([fault], SHORT.run.seed, 1e-3, 300)[1:])


def test_frozen_joints_are_measured_as_they_were_and_move_on():
    trace = with_faults({"what": "joints-frozen", "at": 0.1, "duration": 0.05})
    seen, true = trace["q_measured"], trace["q"]
    assert (seen[99:150] == seen[99]).all()
    assert np.array_equal(seen[150], true[150])
    assert np.abs(true[149] - true[99]).max() > 1e-4


@pytest.mark.parametrize(("what", "value"), [("wrench-dropout", 0.0), ("wrench-frozen", None)])
def test_a_wrist_sensor_recovers_after_its_fault(what: str, value: float | None):
    noisy = SHORT.replace(world__sensors__wrench__noise_force=0.1)
    trace = simulate(noisy.replace(world__faults=[{"what": what, "at": 0.1, "duration": 0.05}]))
    seen = trace["measured_wrench"][:, :3]
    assert (seen[100:150] == (seen[99] if value is None else value)).all()
    assert (seen[150] != seen[149]).all()


def test_a_fault_is_written_in_one_word():
    assert read_fault("commands-lost@2.5+0.02") == Fault(
        name="commands-lost@2.5+0.02", what="commands-lost", at=2.5, duration=0.02
    )
    assert read_fault("wrench-nan@0").duration is None


@pytest.mark.parametrize(
    "text", ["lost@1", "commands-lost", "commands-lost@x", "commands-lost@1+0", "wrench-nan@-1", ""]
)
def test_what_is_no_fault_is_refused_with_those_there_are(text: str):
    with pytest.raises(InvalidInput, match=FAULTS[0]):
        read_fault(text)


@pytest.mark.parametrize("key", ["at=-1", "at=nan", "duration=0", "share=0", "share=1.5", "what='rust'"])
def test_a_fault_out_of_range_is_refused_by_its_key(key: str):
    name, value = key.split("=")
    with pytest.raises(InvalidInput, match=f"world.faults.*{name}"):
        load_scenario("panda-blind-touch", [f"world.faults.freeze.{name}={value}"])
