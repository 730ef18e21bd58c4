"""Delays and periods in seconds beside samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.control import JointImpedance
from palpate.errors import InvalidInput, ScenarioError
from palpate.robot import load_robot
from palpate.run.build import build
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.world.clock import Clock
from palpate.world.config import Driver, Sensors, World, WrenchSensor

TEXT = """name = "x"
[robot]
model = "planar2"
[control]
law = "joint-impedance"
stiffness = 20.0
damping = 4.0
[world.{part}]
{delay}
[run]
duration = 0.1
timestep = 1e-3
rate = 500
[record]
{record}
"""


def written(folder: Path, part: str = "sensors", delay: str = "", record: str = "") -> Path:
    (folder / "s.toml").write_text(TEXT.format(part=part, delay=delay, record=record))
    return folder / "s.toml"


@pytest.mark.parametrize("part", ["sensors", "sensors.wrench", "driver"])
def test_seconds_are_as_many_control_periods(tmp_path, part) -> None:
    seconds = build(load_scenario(written(tmp_path, part, "delay_time = 0.006")))
    samples = build(load_scenario(written(tmp_path, part, "delay = 3")))
    assert seconds.world == samples.world


def test_a_run_late_by_seconds_is_the_run_late_by_samples() -> None:
    law, clock = JointImpedance(stiffness=50.0, damping=5.0), Clock(duration=0.2, rate=500)
    worlds = [
        World(sensors=Sensors(delay=2, wrench=WrenchSensor(delay=1)), driver=Driver(delay=3)),
        World(sensors=Sensors(delay_time=4e-3, wrench=WrenchSensor(delay_time=2e-3)), driver=Driver(delay_time=6e-3)),
    ]
    traces = [simulate(Run(load_robot("planar2"), law, world=w, clock=clock, v_start=[1.0, -1.0])) for w in worlds]
    assert np.array_equal(traces[0]["q"], traces[1]["q"])
    assert not np.array_equal(
        traces[0]["q"], simulate(Run(load_robot("planar2"), law, clock=clock, v_start=[1.0, -1.0]))["q"]
    )


@pytest.mark.parametrize("part", ["sensors", "sensors.wrench", "driver"])
def test_both_at_once_are_refused_at_their_line(tmp_path, part) -> None:
    with pytest.raises(ScenarioError, match=r"line 8: .*by delay \(samples\) or by delay_time \(s\), not both"):
        load_scenario(written(tmp_path, part, "delay = 1\ndelay_time = 0.002"))


def test_a_delay_between_two_ticks_is_refused_with_the_nearest(tmp_path) -> None:
    with pytest.raises(ScenarioError, match=r"line 9: world.sensors.delay_time: .*0.005.*no whole"):
        load_scenario(written(tmp_path, delay="delay_time = 0.005"))
    with pytest.raises(InvalidInput, match=r"no whole.*periods"):
        Run(load_robot("planar2"), JointImpedance(), world=World(driver=Driver(delay_time=0.5e-3)))
    with pytest.raises(ScenarioError, match=r"2000 control periods.*1000"):
        load_scenario(written(tmp_path, delay="delay_time = 4.0"))


def test_recording_by_seconds(tmp_path) -> None:
    run = build(load_scenario(written(tmp_path, record="period = 0.01")))
    assert run.record.stride == 10
    assert np.diff(simulate(run).time) == pytest.approx(0.01)
    with pytest.raises(ScenarioError, match=r"stride \(physics steps\).*period \(s\), not both"):
        load_scenario(written(tmp_path, record="period = 0.01\nstride = 2"))
    with pytest.raises(ScenarioError, match=r"record.period.*recording.*0.0015.*multiple"):
        load_scenario(written(tmp_path, record="period = 0.0015"))


def test_a_stride_beyond_all_measure_is_refused_at_its_own_key(tmp_path) -> None:
    with pytest.raises(ScenarioError, match=r"line 15: record\.stride: recording stride"):
        load_scenario(written(tmp_path, record="stride = 100000000000000000"))
