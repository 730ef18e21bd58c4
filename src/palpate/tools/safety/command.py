"""Tell when a contact of a scenario is felt, which force and energy it reaches, and how often an alarm is false.

examples:
  palpate reactions panda-felt-wall
  palpate reactions panda-felt-wall --rate 0.05 --motions 99
  palpate reactions panda-wall --set reactions.on_contact=float --json
  palpate reactions panda-felt-wall --template limits.toml

The scenario is run. From the state at the first touch, delay, force and energy are predicted with the
masses, Jacobian and friction of that moment, rotors in them, and stand beside what happened in the run.
--rate P sets the scale of the threshold such that a motion of 2 s without contact gives a false alarm with probability
P: on N random motions with masses, friction and sensors off as the options say; then it counts alarms on N others.
--limits FILE takes permitted forces and pressures of body regions, with their source, and tells the speeds that they
allow along --direction at the posture of the touch. palpate brings no such numbers along, and none of this replaces an
assessment of the application (docs: contact reactions).
Exit code: 0; 1 if the count contradicts the stated rate.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import patience, starting
from palpate.cli.tables import number, numbers, print_json, print_table, say
from palpate.errors import InvalidInput
from palpate.files import write_file

if TYPE_CHECKING:
    from palpate.run.run import Run
    from palpate.tools.safety.calibration import Counted
    from palpate.tools.safety.predict import Expected, Happened, Touch
    from palpate.tools.safety.reactions import Reactions
    from palpate.tools.safety.thresholds import StatedRate

CONTRADICTED = 1


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "reactions", help="when a contact is felt, its force and energy; false alarms", description=__doc__
    )
    add_scenario(parser)
    parser.add_argument("--rate", metavar="P", type=float, help="false alarms a motion: set the threshold, and count")
    parser.add_argument("--motions", metavar="N", type=int, default=500, help="motions to set it on, and to count on")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of the motions it is set on (1)")
    parser.add_argument("--mass-error", metavar="X", type=float, default=0.05, help="of every link's mass (0.05)")
    parser.add_argument("--friction-error", metavar="X", type=float, default=0.05, help="of joint friction (0.05)")
    parser.add_argument("--limits", metavar="TOML", help="permitted forces and pressures, with their source")
    parser.add_argument("--direction", metavar="X,Y,Z", help="of a contact for --limits (that of the run)")
    parser.add_argument("--area", metavar="M2", type=float, help="of a contact for the pressures of --limits")
    parser.add_argument("--load", metavar="KG", type=float, default=0.0, help="carried at the tool beyond the model")
    parser.add_argument("--template", metavar="OUT", help="write a file of limits to fill in, nothing else")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Load, run, predict, count, tell."""
    if args.template:
        from palpate.tools.safety.limits import template

        print(f"wrote {write_file(args.template, template())}")
        return 0
    with patience(starting):
        from palpate.run.build import build
        from palpate.tools.safety.reactions import Reactions

        scenario = scenario_asked(args)
        made = build(scenario)
    assumed = made.around is None
    made = replace(made, around=Reactions()) if assumed else made
    answer: dict[str, Any] = {"scenario": scenario.name, "assumed_reactions": assumed}
    _contact(args, made, answer)
    code = _rate(args, made, answer) if args.rate is not None else 0
    if args.json:
        print_json(_plain(answer))
    return code


def _plain(value: Any) -> Any:
    """Data that JSON has words for: infinite and absent numbers are null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _contact(args: argparse.Namespace, made: Run, answer: dict[str, Any]) -> None:
    """The first contact, predicted and happened; where nothing is touched, that."""
    from palpate.errors import NotApplicable
    from palpate.tools.safety.predict import predicted

    around: Any = made.around
    if not args.json:
        _tell_settings(made, around, answer["assumed_reactions"])
    try:
        with patience("running it …", quiet=args.json):
            touch, expected, happened, _ = predicted(made)
    except NotApplicable as reason:
        answer["contact"] = None
        if not args.json:
            say(f"  No contact is predicted: {reason.args[0]}.")
        return
    masses = _masses(made, touch)
    answer["contact"] = _contact_data(touch, expected, happened, masses)
    if not args.json:
        _tell_contact(touch, expected, happened, masses)
    if args.limits:
        _limits(args, made, touch, answer)


def _masses(made: Run, touch: Touch) -> dict[str, float]:
    from palpate.tools.safety.impact import reflected_mass

    mass = reflected_mass(made.robot, touch.q, touch.normal)
    return {"links": mass.links, "with_rotors": mass.with_rotors, "half_mass_rule": mass.rule}


def _tell_settings(made: Run, around: Reactions, assumed: bool) -> None:
    say(f"{made.robot.name} under {made.law.name}, control period {made.clock.control_period:g} s")
    if assumed:
        say("  The scenario has no [reactions]; the defaults are assumed.")
    o = around.observer
    second = f"second order, ω = {o.frequency:g} rad/s, ζ = {o.damping_ratio:g}"
    kind = f"first order, K = {o.gain:g} 1/s" if o.order == 1 else second
    say(f"  Observer: {kind}; 5 N·m pass 1 N·m after {1e3 * o.delay(5.0, 1.0):.4g} ms, at the next tick.")
    t = around.threshold
    level = ", ".join(f"{x:g}" for x in (t.level if isinstance(t.level, tuple) else (t.level,)))  # pyright: ignore[reportGeneralTypeIssues]
    say(f"  Threshold: {t.kind}, level {level} N·m × {t.scale:g}; reaction: {around.on_contact}.")


def _contact_data(touch: Touch, expected: Expected, happened: Happened, masses: dict[str, float]) -> dict[str, Any]:
    return {
        "time": touch.time,
        "with": touch.name,
        "kind": touch.source,
        "speed": touch.speed,
        "reflected_mass": masses,
        "predicted": vars(expected),
        "happened": vars(happened),
    }


def _tell_contact(touch: Touch, expected: Expected, happened: Happened, masses: dict[str, float]) -> None:
    what = "Wall" if touch.source == "wall" else "Push"
    say(f"  {what} {touch.name!r} at {touch.time:.4g} s, tool at {touch.speed:.3g} m/s towards it.")
    say(
        f"  Reflected mass along it: {masses['with_rotors']:.3g} kg with rotors, {masses['links']:.3g} kg without;"
        f" half the moving mass: {masses['half_mass_rule']:.3g} kg."
    )
    print()
    rows = [
        ["felt after", _ms(expected.delay), _ms(happened.delay), "ms"],
        ["force then", number(expected.force_felt, 3), number(happened.force_felt, 3), "N"],
        ["largest force", number(expected.force_peak, 3), number(happened.force_peak, 3), "N"],
    ]
    if touch.source == "wall":
        rows.append(["largest force without reaction", number(expected.force_unanswered, 3), "–", "N"])
        rows.append(["largest energy in the surface", *_mj(expected, happened), "mJ"])
    print_table(["", "predicted", "happened", "unit"], rows, "lrrl")


def _ms(seconds: float) -> str:
    return "never" if math.isinf(seconds) else f"{1e3 * seconds:.3g}"


def _mj(expected: Expected, happened: Happened) -> tuple[str, str]:
    return f"{1e3 * expected.energy_peak:.3g}", f"{1e3 * happened.energy_peak:.3g}"


def _rate(args: argparse.Namespace, made: Run, answer: dict[str, Any]) -> int:
    """Set the threshold's scale, count on other seeds, tell."""
    from palpate.tools.safety.calibration import ModelErrors, calibrate, count

    if not 0.0 < args.rate < 1.0:
        raise InvalidInput(f"--rate must be between 0 and 1, got {args.rate:g}", hint="--rate 0.02")
    if not 1 <= args.motions <= 100_000:
        raise InvalidInput(f"--motions must be between 1 and 100000, got {args.motions}")
    errors = ModelErrors(args.mass_error, args.friction_error)
    with patience(f"{2 * args.motions} motions without contact …", quiet=args.json):
        stated = calibrate(made, args.rate, args.motions, args.seed, errors)
        counted = count(made, stated, args.motions, args.seed + 1_000_000, errors)
    answer["false_alarms"] = {
        "scale": stated.scale,
        "probability": stated.probability,
        "per_hour": stated.per_hour,
        "motions": counted.motions,
        "ticks": counted.ticks,
        "counted": counted.alarms,
        "expected": list(counted.expected),
        "interval": list(counted.interval),
        "holds": counted.holds,
    }
    if not args.json:
        _tell_rate(args, stated, counted)
    return 0 if counted.holds else CONTRADICTED


def _tell_rate(args: argparse.Namespace, stated: StatedRate, counted: Counted) -> None:
    say(
        f"\nFalse alarms: {stated.rank} of {stated.motions + 1} motions of {stated.seconds:g} s"
        f" ({100 * stated.probability:.3g} %, {stated.per_hour:.3g} an hour) with reactions.threshold.scale ="
        f" {stated.scale:.4g}, set on seeds {args.seed} to {args.seed + stated.motions - 1}."
    )
    low, high = counted.expected
    first = args.seed + 1_000_000
    say(
        f"  Counted on seeds {first} to {first + counted.motions - 1}, {counted.ticks} ticks: {counted.alarms};"
        f" {low} to {high} are expected in 95 % of all counts:"
        f" {'the rate holds' if counted.holds else 'the count contradicts the rate'}."
    )


def _limits(args: argparse.Namespace, made: Run, touch: Touch, answer: dict[str, Any]) -> None:
    """Speeds that a file of limits allows at the posture of the touch."""
    from palpate.tools.safety.limits import load_limits, permitted_speeds

    limits = load_limits(args.limits)
    direction = touch.normal if args.direction is None else numbers([args.direction], "--direction")
    speeds = permitted_speeds(limits, made.robot, touch.q, direction, args.area, args.load)
    regions = [vars(speed) for speed in speeds]
    source = {"title": limits.title, "edition": limits.edition, "source": limits.source}
    answer["limits"] = {**source, "regions": regions}
    if args.json:
        return
    say(f"\nSpeeds by {limits.title}, {limits.edition} ({limits.source}), m/s")
    rows = [
        [s.region, *(number(x, 3) for x in (s.free, s.clamped, s.pressure, s.pressure_clamped, s.rule, s.energy))]
        for s in speeds
    ]
    print_table(["region", "free", "clamped", "pressure", "p. clamped", "free, M/2 rule", "energy J"], rows, "lrrrrrr")
