"""From a scenario to the parts of a run."""

from __future__ import annotations

from palpate.run.parts import Parts, StopWhen
from palpate.scenario.model import Scenario
from palpate.scenario.robot import build_robot, start_state
from palpate.trace import Recording


def build(scenario: Scenario) -> Parts:
    """The parts that a scenario describes; they carry its data, so that the trace can be made again."""
    robot = build_robot(scenario.robot)
    q, v = start_state(scenario.robot.start, robot)
    clock, record = scenario.run, scenario.record
    return Parts(
        robot=robot,
        law=scenario.control,
        world=scenario.world,
        reference=scenario.reference,
        duration=clock.duration,
        timestep=clock.timestep,
        period=clock.control_period,
        integrator=clock.integrator,
        q_start=q,
        v_start=v,
        recording=Recording(record.channels or "all", record.stride),
        stop_when=tuple(StopWhen(event.column, event.above, event.below, event.magnitude) for event in scenario.stop),
        seed=clock.seed,
        max_speed=clock.max_speed,
        scenario=scenario.as_data(),
        guards=scenario.guards,
    )
