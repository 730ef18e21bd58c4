"""Write NAME.toml, a scenario that runs as it is, with a comment at every key.

examples:
  palpate new mine && palpate run mine.toml
  palpate new circle --from iiwa14-pole-circle
  palpate new press --robot ur5e && palpate run press.toml
  palpate new arm --robot arm.urdf --tool tool0

With --robot, palpate chooses a posture away from singularities and joint stops, places a wall 3 cm in front of the
foremost part of the arm, which is the tool if possible, and presses on it, with 20 N if the motors are strong enough.
The scenario is tested before the file is written.
"""

from __future__ import annotations

import argparse
import re
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.check import add_model_options, model_overrides
from palpate.cli.console import CompileProgress
from palpate.cli.judged import add_code_option
from palpate.errors import FileError, InvalidInput
from palpate.files import write_file
from palpate.user_code import run_program

if TYPE_CHECKING:
    from palpate.scenario.model import Scenario

_TRIES = 8


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("new", help="write a commented scenario file to start from", description=__doc__)
    parser.add_argument("name", metavar="NAME", help="name of the scenario; the file is NAME.toml")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--from", metavar="SCENARIO", dest="source",
                        help="start from this one, a shipped name or a .toml file (a Panda on a wall)")  # fmt: skip
    source.add_argument("--robot", metavar="MODEL",
                        help="let this robot press on a wall: a catalogue name, a .urdf or an MJCF .xml")  # fmt: skip
    add_code_option(parser, "with --from: comments for the settings of its own laws, too")
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file, unless there is one."""
    path = Path(args.name if args.name.endswith(".toml") else f"{args.name}.toml")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", path.stem):
        raise InvalidInput(f"a scenario's name is letters, digits, '-', '_' and '.', got {path.stem!r}")
    if path.exists():
        raise FileError(f"{path} exists already", hint="choose another name, or delete it first")
    if args.robot is None and (unused := model_overrides(args)):
        raise InvalidInput(f"{', '.join(unused)}: options of a model need --robot MODEL")
    from palpate.scenario.file.starter import starter_text

    text = starter_text(path.stem, _source(args) if args.robot is None else _pressing(args, path))
    write_file(path, text)
    print(f"wrote {path}; run it with: palpate run {path}")
    return 0


def _source(args: argparse.Namespace) -> Scenario | None:
    """The scenario to start from, if there is one; with --code, its code is loaded."""
    if args.source is None:
        return None
    scenario = pp.load_scenario(args.source)
    return scenario.with_code() if args.code else scenario


def _pressing(args: argparse.Namespace, path: Path) -> dict[str, Any]:
    """A scenario in which the robot presses on a wall: the first of some postures that does when it is tried.

    One without a warning is preferred.
    """
    from palpate.scenario.file.overrides import apply_overrides
    from palpate.scenario.file.places import read_from, seen_from
    from palpate.scenario.file.pressing import description, pressing_scenarios

    asked = apply_overrides({"robot": {"model": args.robot}}, model_overrides(args))
    settings = read_from(asked, Path.cwd())["robot"]
    if settings.get("xacro"):
        run_program(settings["model"], asked=True)
    failed, warned = "", None
    with CompileProgress(quiet=False):
        for data in islice(pressing_scenarios(settings), _TRIES):
            trace, failed = _tried({"name": path.stem, **data})
            if failed:
                continue
            warned = data if warned is None else warned
            if not trace.warnings:
                warned = data
                break
    if warned is not None:
        print(description(warned), file=sys.stderr)
        return seen_from(warned, path.parent)
    why = f"the tested postures failed: {failed}" if failed else "from no posture can the tool move 3 cm straight ahead"
    raise InvalidInput(f"{args.robot} cannot press on a wall: {why}", hint="name another frame: --tool FRAME")


def _tried(data: dict[str, Any]) -> tuple[pp.Trace, str]:
    """Run a scenario: its trace, and why it does not do what it should, or nothing."""
    from palpate.scenario.file.load import scenario_from_data

    scenario = scenario_from_data(data)
    trace = pp.simulate(scenario)
    if trace.outcome.kind != "completed":
        return trace, str(trace.outcome)
    broken = [result for result in pp.metrics.evaluate(trace, scenario.metrics) if result.passed is False]
    return trace, ", ".join(f"{result.name} {result.value:.3g} {result.unit}" for result in broken)
