"""`palpate list`: what there is to work with."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from palpate.errors import UnknownName


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "list",
        help="what there is to work with",
        description="List what palpate ships, by section.",
        epilog="example: palpate list robots",
    )
    parser.add_argument("section", nargs="*", metavar="SECTION", help=f"one or more of: {', '.join(SECTIONS)} (all)")


def run(args: argparse.Namespace) -> int:
    """Print the sections asked for, all of them by default."""
    for section in args.section:
        if section not in SECTIONS:
            raise UnknownName("section", section, SECTIONS)
    for place, section in enumerate(args.section or SECTIONS):
        print(f"{section}:" if place == 0 else f"\n{section}:")
        SECTIONS[section]()
    return 0


def _robots() -> None:
    from palpate.cli.tables import print_table
    from palpate.robot import catalogue
    from palpate.robot.load import load_robot

    rows = []
    for name in catalogue.names():
        robot, entry = load_robot(name), catalogue.describe(name)
        rows.append([name, str(robot.nv), f"{robot.mass:.3f}", entry.summary])
    print_table(["name", "dof", "mass [kg]", "what it is"], rows, "lrrl")


SECTIONS: dict[str, Callable[[], None]] = {"robots": _robots}
