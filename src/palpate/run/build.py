"""From a scenario to its run."""

from __future__ import annotations

import os

from palpate.errors import InvalidInput
from palpate.run.run import Run
from palpate.scenario.file.load import load_scenario
from palpate.scenario.file.places import without_places
from palpate.scenario.model import Scenario
from palpate.scenario.reference import placed
from palpate.scenario.robot import build_robot, start_state

Source = Run | Scenario | str | os.PathLike[str]


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
        around=scenario.reactions,
        scenario=without_places(scenario.as_data()),
        changed=without_places(scenario.changed()),
    )
    if scenario.fitted is not None and scenario.fitted.fits(run.law, robot, run.rig):
        run.__dict__["fitted"] = scenario.fitted  # instead of fitting the law once more
    return run


def as_run(source: Source) -> Run:
    """A run, from itself, a scenario, or its name or file."""
    if isinstance(source, str | os.PathLike):
        source = load_scenario(source)
    if isinstance(source, Scenario):
        return build(source)
    if not isinstance(source, Run):
        raise InvalidInput(
            f"simulate takes a scenario, its name or file, or a Run, got {type(source).__name__}",
            hint="simulate('panda-wall'), or simulate(Run(robot, law, clock=Clock(duration=2)))",
        )
    return source
