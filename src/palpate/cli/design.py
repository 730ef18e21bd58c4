"""Predict the sampled, delayed loop of a scenario's law on the surfaces it can meet.

examples:
  palpate design panda-wall
  palpate design panda-wall --set world.surfaces.wall.stiffness=1e5 --set world.sensors.delay=5
  palpate design ur5e-admittance --set control.damping=[50,50,50,5,5,5]
  palpate design panda-wall --set world.driver.delay=20 --poles
  palpate design panda-wall --sensitivity control.stiffness control.damping

For the law at the start posture, on every compliant surface (or in free motion): the poles of the sampled and delayed
loop, whether it is stable, and the largest stable wall stiffness, delay and gains; with a driver
that filters, also the largest stable wall stiffness without it; whether it is stable too where friction holds the
contact, at the touch and at the end of the target. Then the torque, rate, speed and lag that the
target needs; the declared differences between plant and model, with their static effect; and whether a press
stays in contact.
With --poles, the scenario is run instead, and the poles are those of the loop's own map from one control tick to the
next: at the start, a little after each surface is first touched, and at the end.
--sensitivity adds the change of each bounded metric per 1 % of a setting, by runs on both sides of the scenario.
Exit code: 0, or 3 if there is a warning.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import patience, starting
from palpate.cli.tables import number, print_table, say

if TYPE_CHECKING:
    from palpate.run.before.foresee import Expectation
    from palpate.run.tangent.along import Moment
    from palpate.scenario.model import Scenario
    from palpate.study import Slope

WARNED = 3


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "design", help="predict a run: stability in contact, margins, limits", description=__doc__
    )
    add_scenario(parser)
    parser.add_argument("--poles", action="store_true", help="run it, and show the poles of the loop as it runs")
    parser.add_argument("--sensitivity", metavar="KEY", nargs="*",
                        help="change of bounded metrics per 1 %% of settings; without KEY, of all numbers")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Load, predict, tell."""
    return _show_poles(args) if args.poles else _predict(args)


def _show_poles(args: argparse.Namespace) -> int:
    """One line for each moment that matters, and what was held or left out."""
    with patience(starting):
        from palpate.run.build import build
        from palpate.run.tangent.along import poles_along

        made = build(scenario_asked(args))
    with patience("running it, and differentiating its control ticks …"):
        moments = poles_along(made)
    say(f"{made.robot.name} under {made.law.name}, control period {made.clock.control_period:g} s")
    head = ["moment", "time [s]", "contact", "largest |pole|", "frequency [Hz]", "damping ratio", "joint"]
    print_table(head, [_pole_row(moment) for moment in moments], "lrlrrrl")
    notes, warnings = [], []
    for moment in moments:
        found, when = moment.poles, f"{moment.name} ({moment.poles.time:.4g} s)"
        notes += [f"held: {text}" for text in found.held]
        notes += [f"{when}: {text}" for text in found.limits]
        if found.of_simulation:
            notes.append(
                f"{when}: of the simulation at {1e3 * found.timestep:g} ms; with steps of a quarter {found.finer:.6f}"
            )
        if found.not_known or found.not_differentiable:
            warnings.append(f"{when}: {found.not_known or f'no derivative here: {found.not_differentiable}'}")
        elif found.stable is False:
            warnings.append(f"{when}: unstable, an error grows {found.largest:.6f}-fold at every tick")
    for text in dict.fromkeys(notes):
        say(f"note: {text}")
    for text in warnings:
        say(f"warning: {text}")
    return WARNED if warnings else 0


def _pole_row(moment: Moment) -> list[str]:
    found = moment.poles
    touching = ", ".join(f"{state} on {name}" for name, state in found.contact.items() if state != "free")
    mode = found.modes[0] if found.modes else None
    known = not math.isnan(found.largest)
    return [
        moment.name,
        number(found.time),
        touching or "none",
        f"{found.largest:.6f}" if known else "not known",
        number(mode.frequency) if mode else "–",
        number(mode.damping_ratio) if mode else "–",
        (mode.joint if mode else "") or "–",
    ]


def _predict(args: argparse.Namespace) -> int:
    with patience(starting):
        from palpate.control.design.arm import why_unpredicted
        from palpate.robot.build import joint_remarks
        from palpate.robot.readers.findings import CONTACT, without_meshes
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
        expectations = foresee(forecast, path.postures if path is not None else {})
        asked, refused = demands(path)
        listed, contradictions = declared(forecast)
        pressed, bouncing = presses_in_words(foretold_presses(forecast, path))
    say(f"{scenario.name}: {made.robot.name} under {made.law.name}, control period {made.clock.control_period:g} s")
    if not expectations:
        other = f"the law {made.law.name!r} has no prediction on this robot"
        say(f"not predicted: {why_unpredicted(made.law) or reads_custom(made) or other}")
    for expectation in expectations:
        _print(expectation)
    findings, notes = without_meshes(made.robot.warnings)
    notes += [finding.sentence for finding in findings if finding.element == CONTACT]
    doubts = [finding.sentence for finding in findings if finding.element != CONTACT]
    lines = [
        *(f"\n{text}" for text in asked),
        *(f"warning: {text}" for text in refused),
        f"\nphysics: {assembly.carrier}",
        *listed,
        *pressed,
        *(f"warning: {text}" for text in (*contradictions, *bouncing, *doubts)),
        *(f"note: {text}" for text in (*notes, *joint_remarks(made.robot))),
    ]
    for line in lines:
        say(line)
    if args.sensitivity is not None:
        _print_sensitivities(scenario, args.sensitivity)
    warned = any(line.startswith("warning: ") for line in lines)
    return WARNED if warned or any(expectation.warnings for expectation in expectations) else 0


def _print(expectation: Expectation) -> None:
    prediction = expectation.prediction
    say(f"\n{expectation.place}:")
    for sentence in filter(None, [*prediction.sentences, expectation.elsewhere, expectation.driver, expectation.note]):
        say(f"  {sentence}")
    rows = [[number(abs(p)), number(float(p.real)), number(float(p.imag))] for p in prediction.poles[:6]]
    if rows:
        print_table(["|pole|", "real", "imaginary"], rows, "rrr")
    for warning in expectation.warnings:
        say(f"warning: {warning}")


def _print_sensitivities(scenario: Scenario, keys: list[str]) -> None:
    """A table of the settings that change a metric, most first by share; then those that change none."""
    from palpate.study import sensitivities

    with patience("running the scenario on both sides of each setting …"):
        results = sensitivities(scenario, keys or None)
    names = [slope.metric for slope in results[0].slopes]
    moved = [result for result in results if any(slope.per_share != 0.0 for slope in result.slopes)]
    say("\nChange per 1 % more of a setting, by runs with 1 % more and less:")
    units = [f"{slope.metric} [{slope.unit}]" for slope in results[0].slopes]
    rows = [[result.setting, *(_change(slope) for slope in result.slopes)] for result in moved]
    print_table(["setting", *units], rows, "l" + "r" * len(names))
    still = [result.setting for result in results if result not in moved]
    if still:
        say(f"no effect on any of them: {', '.join(still)}")
    for text in dict.fromkeys(f"{s.metric}: {s.reason}" for r in moved for s in r.slopes if s.reason):
        say(f"no slope of {text}")


def _change(slope: Slope) -> str:
    return "–" if slope.per_percent is None else "0" if slope.per_percent == 0.0 else f"{slope.per_percent:+.3g}"
