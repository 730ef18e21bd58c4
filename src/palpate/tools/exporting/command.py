"""Write the compiled law and guards of a scenario as object and static library without dependencies, with header,
manifest, replay of the verified run, build files and README.

examples:
  palpate export panda-wall --out panda && make -C panda check
  palpate export panda-wall --out panda --target x86-64 --target aarch64
  palpate export panda-joint-impedance --out arm --model given --set control.stiffness=300
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

import palpate as pp
from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import patience

if TYPE_CHECKING:
    from palpate.tools.exporting import Exported

_OPTIONS = ("targets", "model", "ticks", "force", "without", "sheet", "rate")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "export",
        help="the law as a C library for the robot, the same bits on every machine",
        description=__doc__,
    )
    add_scenario(parser)
    parser.add_argument("--out", metavar="DIR", required=True, help="folder to write; an older export is replaced")
    parser.add_argument("--force", action="store_true", help="replace files of an older export that were changed")
    parser.add_argument("--target", metavar="MACHINE", action="append", dest="targets",
                        help="x86-64, aarch64, riscv64 or wasm32 (repeatable; this machine)")  # fmt: skip
    parser.add_argument("--model", metavar="WHOSE", default="own",
                        help="own: M, J, … computed inside from q and v; given: by the caller (own)")  # fmt: skip
    parser.add_argument("--without", metavar="GUARD", action="append", default=[],
                        help="turn a guard off: torque, torque-rate, joint-range, joint-speed, q-jump, target-jump,"
                             " interval or ramp (repeatable; all are on)")  # fmt: skip
    parser.add_argument("--no-sheet", dest="sheet", action="store_false",
                        help="make no commissioning sheet, for which six steps are run three times each")  # fmt: skip
    parser.add_argument("--rate", metavar="WHOSE", default="arm",
                        help="arm: at the rate of the arm's interface; scenario: at the scenario's (arm)")  # fmt: skip
    parser.add_argument("--ticks", type=int, default=4000, metavar="N",
                        help="ticks of the run to keep for the replay (4000)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Load, compile, verify, write, tell."""
    with patience("exporting …", False):
        options = {name: getattr(args, name) for name in _OPTIONS}
        done = pp.export(scenario_asked(args), args.out, **options)
    print(f"wrote {done.folder}: {done.name} for {', '.join(done.targets)}")
    same = "every bit as in the loop" if done.difference == 0.0 else f"within {done.difference:.1g} of the loop's terms"
    print(f"{done.ticks} ticks of the run replayed here: {same}; largest stack frame {done.frame} bytes")
    for line in _guards(done):
        print(line)
    print(f"next: make -C {done.folder} check")
    return 0


def _guards(done: Exported) -> Iterator[str]:
    """Lines on the guards: which are off, and where they acted in the replay of the scenario's own run."""
    if done.note:
        yield done.note
    if done.off:
        yield f"guards off: {', '.join(done.off)}"
    if done.limited:
        yield f"at {done.limited} ticks the run asks for more than the arm's torque or torque rate; the library cuts it"
    if done.stopped:
        yield f"a guard ends the scenario's own run: {done.stopped}"
