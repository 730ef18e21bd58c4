"""Let the law of a scenario drive a served or real Franka arm, through the maker's client pylibfranka.

examples:
  palpate drive fr3-wall 127.0.0.1                       dry runs: a simulation, and a look at the robot
  palpate drive fr3-wall 127.0.0.1 --move --force 50     the same, then the robot moves
  palpate drive fr3-wall 127.0.0.1 --move --speed 0.05 --torque 0.5 --room 0.02
  palpate drive fr3-wall 127.0.0.1 --sheet panda --step 1 --move      step 1 of the commissioning sheet of an export

Without --move nothing moves. With it the drive ends by any key, by Ctrl-C, and by itself when a joint is faster than
--speed allows or comes to the end of its range, the tool leaves the box of the simulated run by more than --room, or
the robot estimates more than --force: the torque then goes over to joint damping within 0.2 s, and the robot holds the
arm. Torques are cut to the arm's limits and to the rate that the interface takes. With --sheet a step of an export's
commissioning sheet is driven, with its share of stiffness and speed; the force and the tool error at which the sheet
ends it end the drive, and what was measured is printed beside the sheet's bands.
Exit code: 0 if the drive completed or was ended, 1 if it broke a bound on its metrics, 2 for bad input and for dry runs
that speak against it.
palpate has never moved a real arm, and is not a safety device: begin far from obstacles, the user stop in your hand.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import patience
from palpate.cli.folder import claim_folder
from palpate.cli.signals import Saving, asked_for, undivided
from palpate.cli.tables import print_table
from palpate.errors import InvalidInput, harmless

if TYPE_CHECKING:
    from palpate.scenario.model import Scenario
    from palpate.tools.serving.drive import Drive, FrankaClient, Look, Rehearsal
    from palpate.tools.serving.sheet_step import SheetStep
    from palpate.trace import Trace

_ROOM = 0.05  # m


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    about = "let a law drive a served or real Franka arm, after dry runs"
    parser = subparsers.add_parser("drive", help=about, description=__doc__)
    add_scenario(parser)
    parser.add_argument(
        "address", metavar="ADDRESS", help="IPv4 address of the robot, such as 127.0.0.1 of palpate serve"
    )
    parser.add_argument("--move", action="store_true", help="move the robot after the dry runs")
    parser.add_argument("--force", type=float, metavar="N",
                        help="end it, and let the robot stop, from this force on (N, N·m)")  # fmt: skip
    parser.add_argument("--speed", type=float, default=1.0, metavar="SHARE",
                        help="greatest joint speed, as a share of the rated one (1)")  # fmt: skip
    parser.add_argument("--torque", type=float, default=1.0, metavar="SHARE",
                        help="greatest joint torque, as a share of the rated one (1)")  # fmt: skip
    parser.add_argument("--room", type=float, default=_ROOM, metavar="M",
                        help=f"m that the tool may leave the box of the simulated run by ({_ROOM})")  # fmt: skip
    parser.add_argument("--sheet", metavar="DIR", help="folder of the scenario's export, with its commissioning sheet")
    parser.add_argument("--step", type=int, metavar="N", help="step of the sheet (the last one: the scenario as it is)")
    parser.add_argument("--allow-network", action="store_true", help="allow an address that is not loopback")
    parser.add_argument("--no-real-time", action="store_true",
                        help="of an address that is not loopback: do without a real-time kernel")  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="folder to write (runs/<name>-<n>)")
    parser.add_argument("--no-report", action="store_true", help="write no figures and no report.html")
    parser.add_argument("--quiet", action="store_true", help="print the last line only")


def run(args: argparse.Namespace) -> int:
    """Load, connect, dry runs, move if asked, write, tell."""
    from palpate.cli.run import exit_code, last_line, print_story, written
    from palpate.tools.serving.drive import FrankaClient
    from palpate.tools.serving.protocol.link import check_address, is_loopback

    host = args.address.removeprefix("fci://")
    check_address(host, args.allow_network, "is not this machine: palpate has never moved a real arm")
    if not 0.0 <= args.room < float("inf"):
        raise InvalidInput(f"--room must be a distance, got {args.room:g} m")
    with patience("loading …", args.quiet):
        scenario = scenario_asked(args)
        step = _step(scenario, args)
        drive = _drive(scenario, step, args)
        rehearsal = drive.rehearse()
        client = FrankaClient(host, real_time=not is_loopback(host) and not args.no_real_time)
        look = drive.look(client)
    drive.limits = replace(drive.limits, box=(rehearsal.low - args.room, rehearsal.high + args.room))
    if not args.quiet:
        _print_dry_runs(drive, rehearsal, look, step)
    if not args.move:
        print("dry runs only: nothing moved; --move drives the robot")
        return 0
    with ExitStack() as stack:
        with undivided():
            folder = stack.enter_context(claim_folder(args.out, scenario.name, args.scenario))
        trace, results, output = written(scenario, folder, args, lambda saving: _driven(drive, client, args, saving))
    if not args.quiet:
        print_story(scenario, trace, results, ())
    if step is not None:
        _print_measured(step, trace)
    print(last_line(trace, results, output))
    return exit_code(trace, results, strict=False)


def _step(scenario: Scenario, args: argparse.Namespace) -> SheetStep | None:
    """The step of a commissioning sheet that is asked for."""
    if args.sheet is None:
        if args.step is not None:
            raise InvalidInput("--step is one of a commissioning sheet", hint="add --sheet, the folder of an export")
        return None
    from palpate.tools.serving.sheet_step import read_step

    return read_step(args.sheet, args.step, scenario)


def _drive(scenario: Scenario, step: SheetStep | None, args: argparse.Namespace) -> Drive:
    from palpate.run.build import build
    from palpate.tools.serving.drive import Drive, limits_of

    built = build(scenario) if step is None else step.run
    limits = limits_of(built, torque=args.torque, speed=args.speed, force=args.force)
    drive = Drive(built, limits if step is None else step.limited(limits))
    drive.about = "" if step is None else f"step {step.number} of the commissioning sheet: {step.title}"
    return drive


def _driven(drive: Drive, client: FrankaClient, args: argparse.Namespace, saving: Saving) -> Trace:
    """Move the robot; any key and Ctrl-C end it."""
    from palpate.tools.serving.buttons import typed_keys

    if drive.limits.force is not None:
        client.set_threshold(drive.limits.force)
    with typed_keys(pipes=True) as keys, asked_for() as interrupted:
        if not args.quiet:
            print("driving; any key ends it", flush=True)
        drive.ended = lambda: bool(keys()) or interrupted()
        trace = drive.go(client)
    saving.begin()
    return trace


def _print_measured(step: SheetStep, trace: Trace) -> None:
    """Print what was measured in a step beside the sheet's bands."""
    if trace.outcome.kind != "completed":
        print(f"step {step.number} did not finish: its numbers are not those of the sheet")
        return
    rows = [
        [name, f"{low:.3g} … {high:.3g}", f"{value:.3g}", "inside" if inside else "outside"]
        for name, (low, high), value, inside in step.measured(trace)
    ]
    print_table([f"step {step.number}", "sheet", "measured", ""], rows, "lrrl")


def _print_dry_runs(drive: Drive, ready: Rehearsal, look: Look, step: SheetStep | None) -> None:
    """Print the results of the dry runs, beside the limits."""
    limits = drive.limits
    if step is not None:
        print(
            harmless(f"step {step.number}, {step.title}: ends above {limits.force:.3g} N or {1e3 * step.error:.3g} mm")
        )
    print(harmless(f"simulated: {ready.trace.outcome.reason}; the robot as it stands, first torque without gravity"))
    rows = [
        [f"joint {k + 1}", f"{look.off[k]:.4f}", f"{look.first[k]:.3g}",
         f"{ready.torque[k]:.3g}", f"{limits.torque[k]:.3g}", f"{ready.speed[k]:.3g}", f"{limits.speed[k]:.3g}"]
        for k in range(len(look.off))
    ]  # fmt: skip
    heads = ["", "off start (rad)", "first (N·m)", "torque (N·m)", "limit", "speed (rad/s)", "limit"]
    print_table(heads, rows, "lrrrrrr")
    low, high = (", ".join(f"{x:.3f}" for x in corner) for corner in (ready.low, ready.high))
    print(f"tool between ({low}) and ({high}) m")
