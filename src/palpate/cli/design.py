"""Ask the loop of a scenario: what happens, which modes it has where, and how far settings may go.

examples:
  palpate design panda-wall
  palpate design panda-wall --set world.surfaces.wall.stiffness=1e5 --set world.sensors.delay=5
  palpate design ur5e-admittance --set control.damping=[50,50,50,5,5,5]
  palpate design panda-wall --set world.driver.delay=20 --poles
  palpate design panda-wall --set robot.joints=elastic --set world.driver.delay=2
  palpate design panda-wall --sensitivity control.stiffness control.damping

The scenario is run. What happens: first touch, peak and steady force, lost contacts, time to settle, and the joints
that come nearest to their limits of torque and speed. Beside it stand the modes of the loop, from its own map of one
control tick to the next: at the start, after the first touch of each surface, at the worst of a few moments between,
and at the end, as the contact is and as it would be if it stuck or slid.
Then how far the delay of the command, the stiffness of each surface and every gain may go, alone: found with the poles,
and confirmed by runs with a push of about twice the dry friction, quiet at 0.9 of the limit and not at 1.1. Where dry
friction holds more than the poles say, both are told. "At least" means that nothing further was searched.
Where figures of elastic joints are known as ranges, the limits are searched at both ends of them too.
--poles shows the modes alone. --sensitivity adds the change of each bounded metric per 1 % of a setting, by runs on
both sides of the scenario.
Exit code: 0, or 3 if there is a warning.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import patience, starting
from palpate.cli.tables import number, say

if TYPE_CHECKING:
    from palpate.run.forecast.moments import Asked, LoopMoment
    from palpate.run.run import Run

WARNED = 3


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "design", help="ask the loop: what happens, its modes, how far settings may go", description=__doc__
    )
    add_scenario(parser)
    parser.add_argument("--poles", action="store_true", help="show the modes alone, without limits")


def run(args: argparse.Namespace) -> int:
    """Load, ask, tell."""
    with patience(starting):
        from palpate.run.build import build
        from palpate.run.forecast.design import design

        scenario = scenario_asked(args)
        made = build(scenario)
    with patience("running it, and asking its loop …"):
        answer = design(made, limits=not args.poles)
    say(f"{scenario.name}: {made.robot.name} under {made.law.name}, control period {made.clock.control_period:g} s")
    for sentence in answer.happened.sentences if not args.poles else ():
        say(f"  {sentence}")
    if answer.asked is not None:
        say("")
        _print_modes(answer.asked)
    say(f"warning: {answer.verdict}" if answer.verdict in answer.warnings else answer.verdict)
    if answer.limits:
        say("\nHow far each setting may go, alone:")
    for limit in answer.limits:
        say(f"  {limit.sentence}")
    if answer.ends:
        say(f"\nOver what is known of the joints, {', '.join(answer.end_names)}:")
    for sentence in answer.ends:
        say(f"  {sentence}")
    notes, doubts = _of_robot(made)
    warnings = list(dict.fromkeys([*answer.warnings, *doubts]))
    for text in dict.fromkeys([*answer.notes, *_declared(made), *answer.trace.facts.notes, *notes]):
        say(f"note: {text}")
    for text in warnings:
        if text != answer.verdict:
            say(f"warning: {text}")
    return WARNED if warnings else 0


def _declared(made: Run) -> list[str]:
    """Declared differences between the world and the law's model, with how far each moves the tool."""
    from palpate.run.assemble.assemble import assemble
    from palpate.run.before.differences import model_differences

    return model_differences(assemble(made), friction=True)[0]


def _of_robot(made: Run) -> tuple[list[str], list[str]]:
    """Notes about the robot's file, and doubts."""
    from palpate.robot.build import joint_remarks
    from palpate.robot.readers.findings import CONTACT, without_meshes

    findings, notes = without_meshes(made.robot.warnings)
    notes = [*notes, *(finding.sentence for finding in findings if finding.element == CONTACT)]
    doubts = [finding.sentence for finding in findings if finding.element != CONTACT]
    return [*notes, *joint_remarks(made.robot)], doubts


def _print_modes(asked: Asked) -> None:
    """A line for each moment that was asked."""
    say("Modes of the loop:")
    for moment in asked.moments:
        say(f"  {_mode_line(moment)}")


def _mode_line(moment: LoopMoment) -> str:
    """A moment, its state of contact, and the mode of its largest pole."""
    found = moment.poles
    head = f"{moment.name} ({number(found.time)} s), {'' if moment.stands else 'moving, '}{moment.state}:"
    if math.isnan(found.largest):
        return f"{head} not known"
    if found.largest == 0.0:
        return f"{head} every error is gone after a few ticks"
    mode, rate = (found.modes[0] if found.modes else None), -math.log(found.largest) / found.period
    course = f"decays at {number(rate)} 1/s" if rate > 0.0 else f"grows at {number(-rate)} 1/s"
    which = f", {mode.joint or 'no joint'} at {number(round(mode.frequency, 6))} Hz" if mode else ""
    return f"{head} largest pole {found.largest:.6f}, {course}{which}"
