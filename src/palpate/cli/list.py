"""`palpate list`: what there is to work with."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from palpate.errors import InvalidInput, UnknownName


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "list",
        help="what there is to work with",
        description="List what palpate ships, by section.",
        epilog="example: palpate list robots",
    )
    parser.add_argument("section", nargs="*", metavar="SECTION", help=f"one or more of: {', '.join(SECTIONS)} (all)")
    parser.add_argument("--document", metavar="NUMBER", help="scenarios and claims of one document, 000 to 004")


def run(args: argparse.Namespace) -> int:
    """Print the sections asked for, all of them by default."""
    for section in args.section:
        if section not in SECTIONS:
            raise UnknownName("section", section, SECTIONS)
    if args.document is not None:
        _document(args.document.strip(), args.section)
        return 0
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
    from palpate.cli.tables import print_table

    rows = [[one["name"], one.get("document", ""), one.get("description", "")] for one in _library()]
    print_table(["name", "document", "what it shows"], rows, "lll")


def _library() -> list[dict[str, Any]]:
    """The shipped scenarios as data, what they extend merged in."""
    from palpate.scenario.load import read_data, shipped

    return [read_data(name)[0] for name in shipped()]


def _document(number: str, sections: Sequence[str]) -> None:
    """What there is to run and to check of one document."""
    from palpate.cli.tables import print_table
    from palpate.documents.library import document

    if set(sections) - {"scenarios"}:
        raise InvalidInput(f"--document lists scenarios, not {', '.join(sections)}", hint="palpate list --document 002")
    about = document(number)
    print(f"document {number}: {about.title}\n{about.about}\n")
    found = [one for one in _library() if one.get("document") == number]
    print_table(["scenario", "what it shows"], [[one["name"], one.get("description", "")] for one in found], "ll")
    wrong = sum(claim.verdict in ("wrong", "typo") for claim in about.claims)
    print(f"\n{len(about.claims)} claims, {wrong} of them wrong or misprinted: palpate verify {number}")


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
