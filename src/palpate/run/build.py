"""From a scenario to its run."""

from __future__ import annotations

from palpate.run.run import Run
from palpate.scenario.file.places import without_places
from palpate.scenario.model import Scenario
from palpate.scenario.reference import placed
from palpate.scenario.robot import build_robot, start_state


def build(scenario: Scenario) -> Run:
    """The run that a scenario describes, with the code that it names.

    It carries the scenario's data, so that the trace can be made again.
    """
    scenario = scenario.with_code()
    robot = build_robot(scenario.robot)
    q, v = start_state(scenario.robot.start, robot)
    run = Run(
        robot=robot,
        law=scenario.control,
        world=scenario.world,
        reference=placed(scenario.reference, scenario.world),
        clock=scenario.run,
        record=scenario.record.recording(scenario.run.timestep),
        stop=tuple(event.rule() for event in scenario.stop),
        q_start=q,
        v_start=v,
        guards=scenario.guards,
        scenario=without_places(scenario.as_data()),
        changed=without_places(scenario.changed()),
    )
    if scenario.fitted is not None and scenario.fitted.fits(run.law, robot, run.rig):
        run.__dict__["fitted"] = scenario.fitted  # instead of fitting the law once more
    return run
