"""Predict the sampled, delayed loop of a scenario's law on the surfaces it can meet.

examples:
  palpate design panda-wall
  palpate design panda-wall --set world.surfaces.wall.stiffness=1e5 --set world.sensors.delay=5
  palpate design ur5e-admittance --set control.damping=[50,50,50,5,5,5]

For the law at the start posture, on every compliant surface (or in free motion): the poles of the sampled and delayed
loop, whether it is stable, and the largest stable wall stiffness, delay and gains; with a driver
that filters, also the largest stable wall stiffness without it. Then the torque, rate, speed and lag that the
target needs; the declared differences between plant and model, with their static effect; and whether a press
stays in contact.
Exit code: 0, or 3 if there is a warning.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import patience, starting
from palpate.cli.tables import number, print_table, say

if TYPE_CHECKING:
    from palpate.run.before.foresee import Expectation

WARNED = 3


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "design", help="predict a run: stability in contact, margins, limits", description=__doc__
    )
    add_scenario(parser)


def run(args: argparse.Namespace) -> int:
    """Load, predict, tell."""
    with patience(starting):
        from palpate.control.design.arm import why_unpredicted
        from palpate.robot.build import joint_remarks
        from palpate.robot.readers.findings import without_meshes
        from palpate.run.assemble.assemble import assemble
        from palpate.run.before.demands import demands, target_path
        from palpate.run.before.differences import declared
        from palpate.run.before.foresee import Forecast, foresee, loop_size, reads_custom
        from palpate.run.before.presses import foretold_presses, presses_in_words
        from palpate.run.build import build

        scenario = scenario_asked(args)
        made = build(scenario)
        size = loop_size(made)
    with patience(f"computing the poles of {size.states} states and the limits, about {max(size.seconds, 1):.0f} s …"):
        assembly = assemble(made)
        forecast = Forecast(assembly)
        path = target_path(forecast)
        expectations, (asked, refused) = foresee(forecast), demands(path)
        listed, contradictions = declared(forecast)
        pressed, bouncing = presses_in_words(foretold_presses(forecast, path))
    say(f"{scenario.name}: {made.robot.name} under {made.law.name}, control period {made.clock.control_period:g} s")
    if not expectations:
        other = f"the law {made.law.name!r} has no prediction on this robot"
        say(f"not predicted: {why_unpredicted(made.law) or reads_custom(made) or other}")
    for expectation in expectations:
        _print(expectation)
    doubts, meshes = without_meshes(made.robot.warnings)
    lines = [
        *(f"\n{text}" for text in asked),
        *(f"warning: {text}" for text in refused),
        f"\nphysics: {assembly.carrier}",
        *listed,
        *pressed,
        *(f"warning: {text}" for text in (*contradictions, *bouncing, *(doubt.sentence for doubt in doubts))),
        *(f"note: {text}" for text in (*meshes, *joint_remarks(made.robot))),
    ]
    for line in lines:
        say(line)
    warned = any(line.startswith("warning: ") for line in lines)
    return WARNED if warned or any(expectation.warnings for expectation in expectations) else 0


def _print(expectation: Expectation) -> None:
    prediction = expectation.prediction
    say(f"\n{expectation.place}:")
    for sentence in filter(None, [*prediction.sentences, expectation.driver, expectation.note]):
        say(f"  {sentence}")
    rows = [[number(abs(p)), number(float(p.real)), number(float(p.imag))] for p in prediction.poles[:6]]
    if rows:
        print_table(["|pole|", "real", "imaginary"], rows, "rrr")
    for warning in expectation.warnings:
        say(f"warning: {warning}")
