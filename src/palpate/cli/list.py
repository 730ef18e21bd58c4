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


def _scenarios() -> None:
    import tomllib
    from importlib import resources

    from palpate.cli.tables import print_table

    folder = resources.files("palpate.scenario") / "library"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    found = [tomllib.loads(entry.read_text(encoding="utf-8")) for entry in files]
    print_table(["name", "what it shows"], [[one["name"], one.get("description", "")] for one in found], "ll")


def _laws() -> None:
    from palpate.cli.tables import print_table
    from palpate.control import LAWS
    from palpate.scenario.explain import summary_of_law

    print_table(["name", "what it does"], [[name, summary_of_law(name)] for name in LAWS], "ll")


def _references() -> None:
    from palpate.cli.tables import print_table
    from palpate.scenario.explain import explain

    print_table(["kind", "what it asks for"], [[*line] for line in explain("reference").choices.items()], "ll")


def _metrics() -> None:
    from palpate.cli.tables import print_table
    from palpate.metrics import METRICS

    rows = [[metric.name, metric.unit, metric.help] for metric in METRICS.values()]
    print_table(["name", "unit", "what it is"], rows, "lll")


SECTIONS: dict[str, Callable[[], None]] = {
    "robots": _robots,
    "scenarios": _scenarios,
    "laws": _laws,
    "references": _references,
    "metrics": _metrics,
}
