"""`palpate export SCENARIO --out DIR`: the scenario's law as a C library."""

from __future__ import annotations

import argparse

from palpate.cli.check import add_model_options, model_overrides

_EXAMPLES = """\
examples:
  palpate export panda-wall --out panda && make -C panda check
  palpate export panda-wall --out panda --target x86-64 --target aarch64
  palpate export panda-joint-impedance --out arm --model given --set control.stiffness=300
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "export",
        help="write a scenario's law as a C library that gives the run's bits on every machine",
        description="Write the compiled law and guards of a scenario as object and static library without dependencies,"
        " with header, manifest, replay of the verified run, build files and README.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", metavar="SCENARIO", help="a shipped name, or a .toml file")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder to write; an older export is replaced")
    parser.add_argument("--target", metavar="MACHINE", action="append", dest="targets",
                        help="x86-64, aarch64, riscv64 or wasm32 (repeatable; this machine)")  # fmt: skip
    parser.add_argument("--model", metavar="WHOSE", default="own",
                        help="own: M, J, … computed inside from q and v; given: by the caller (own)")  # fmt: skip
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                        help="change a setting, such as run.duration=2; KEY= takes it away (repeatable)")  # fmt: skip
    parser.add_argument("--ticks", type=int, default=4000, metavar="N",
                        help="ticks of the run to keep for the replay (4000)")  # fmt: skip
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Load, compile, verify, write, tell."""
    from palpate.cli.console import patience

    with patience("exporting …", False):
        from palpate.exporting.folder import export
        from palpate.scenario.file.load import load_scenario

        scenario = load_scenario(args.scenario, [*model_overrides(args), *args.overrides])
        done = export(scenario, args.out, targets=args.targets, model=args.model, ticks=args.ticks)
    print(f"wrote {done.folder}: {done.name} for {', '.join(done.targets)}")
    same = "every bit as in the loop" if done.difference == 0.0 else f"within {done.difference:.1g} of the loop's terms"
    print(f"{done.ticks} ticks of the run replayed here: {same}; largest stack frame {done.frame} bytes")
    print(f"next: make -C {done.folder} check")
    return 0
