"""List what palpate ships and what was run here, by section.

examples:
  palpate list                         an overview
  palpate list robots
  palpate list commands                what each command does
  palpate list runs                    the runs in runs/, newest first
  palpate list channels --json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import palpate as pp
from palpate.cli.folder import METRICS, TRACE
from palpate.cli.tables import print_json, print_table
from palpate.errors import PalpateError, check_names
from palpate.files import is_there, read_text


@dataclass(frozen=True)
class ListedTable:
    """A table: its heads, how its columns stand, and its rows."""

    heads: tuple[str, ...]
    align: str
    rows: list[list[str]]

    def as_data(self) -> list[dict[str, str]]:
        """The rows by key: "mass [kg]" is the mass, "what it is" the help."""
        keys = ["help" if h.startswith("what ") else h.partition(" [")[0].replace(" ", "_") for h in self.heads]
        return [dict(zip(keys, row)) for row in self.rows]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "list", help="list robots, scenarios, laws, metrics and past runs", description=__doc__
    )
    parser.add_argument("section", nargs="*", metavar="SECTION", help=f"one or more of: {', '.join(SECTIONS)}")
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the sections asked for; without one, an overview (as JSON, everything that ships)."""
    check_names("section", args.section, SECTIONS)
    if args.json:
        chosen = args.section or [name for name in SECTIONS if name not in _ASKED_FOR]
        print_json({name: SECTIONS[name]().as_data() for name in chosen})
        return 0
    if not args.section:
        print_table(("section", "", "such as"), [_overview(name) for name in SECTIONS], "lrl")
        print("\n'palpate list SECTION' lists one; 'palpate show', 'explain' and 'run' take its names")
        return 0
    for index, name in enumerate(args.section):
        section = SECTIONS[name]()
        print(f"{name}:" if index == 0 else f"\n{name}:")
        if section.rows:
            print_table(section.heads, section.rows, section.align)
        else:
            print("none" + (" here: palpate run SCENARIO makes one" if name == "runs" else ""))
    return 0


_SUCH_AS = {"robots": "panda, fr3, iiwa14, ur5e", "scenarios": "panda-wall, ur10e-polish, panda-slide"}


def _overview(name: str) -> list[str]:
    """A section in one line: how many it has, and the first of them."""
    names = [row[0] for row in SECTIONS[name]().rows]
    return [name, str(len(names)), _SUCH_AS.get(name) or ", ".join(names[:3])]


def _robots() -> ListedTable:
    from palpate.robot import catalogue

    rows = []
    for name in catalogue.names():
        robot, entry = pp.load_robot(name), catalogue.describe(name)
        rows.append([name, str(robot.nv), f"{robot.mass:.3f}", entry.summary])
    return ListedTable(("name", "dof", "mass [kg]", "what it is"), "lrrl", rows)


def _scenarios() -> ListedTable:
    from palpate.scenario.file.folders import shipped
    from palpate.scenario.file.sources import read_data

    library = sorted((read_data(name)[0] for name in shipped()), key=lambda one: "document" in one)
    rows = [[one["name"], one.get("document", ""), one.get("description", "")] for one in library]
    return ListedTable(("name", "document", "what it shows"), "lll", rows)


def _documents() -> ListedTable:
    """Documents that scenarios show a part of."""
    rows = [(document, name) for name, document, _ in _scenarios().rows if document]
    numbers = sorted({document for document, _ in rows})
    listed = [[one, ", ".join(name for document, name in rows if document == one)] for one in numbers]
    return ListedTable(("document", "scenarios"), "ll", listed)


def _commands() -> ListedTable:
    from palpate.cli.main import descriptions

    return ListedTable(("name", "what it does"), "ll", [[*row] for row in descriptions().items()])


def _laws() -> ListedTable:
    from palpate.scenario.explanation import summary_of_law

    return ListedTable(("name", "what it does"), "ll", [[name, summary_of_law(name)] for name in pp.control.LAWS])


def _references() -> ListedTable:
    from palpate.scenario.explanation import explain

    rows = [[*line] for line in explain("reference").choices.items()]
    return ListedTable(("kind", "what it asks for"), "ll", rows)


def _metrics() -> ListedTable:
    rows = [[metric.name, metric.unit, metric.help] for metric in pp.metrics.METRICS.values()]
    return ListedTable(("name", "unit", "what it is"), "lll", rows)


def _channels() -> ListedTable:
    """Everything a run can record; units that depend on the joint are told for both kinds."""
    from palpate.run.loop.row import Row

    rows = []
    for name, declared in Row.fields.items():
        meaning: Any = declared.default
        shown = (meaning.name or name).format("<name>")
        unit = (
            _UNITS.get(meaning.unit, meaning.unit)
            if isinstance(meaning.unit, str)
            else ", ".join(dict.fromkeys(meaning.unit))
        )
        rows.append([shown, unit, meaning.help.format("<name>") if meaning.help != "{}" else "what the law shows"])
    return ListedTable(("name", "unit", "what it is"), "lll", rows)


_UNITS = {
    "position": "rad or m", "speed": "rad/s or m/s", "effort": "N·m or N", "command": "that of the law's command",
    "rest": "rad or m", "rest speed": "rad/s or m/s",
}  # fmt: skip


def _runs() -> ListedTable:
    """The runs in runs/, newest first."""
    traces = sorted(Path("runs").glob(f"*/{TRACE}"), key=lambda path: -path.stat().st_mtime)
    heads = ("folder", "scenario", "outcome", "time [s]", "bounds kept", "made")
    return ListedTable(heads, "lllrrl", [_run_row(path) for path in traces])


def _run_row(path: Any) -> list[str]:
    from palpate.trace.header import peek

    made = datetime.fromtimestamp(path.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
    try:
        header = peek(path)
    except PalpateError:
        return [str(path.parent), "", "damaged", "", "", made]
    scenario = str((header.facts.scenario or {}).get("name", ""))
    kept = _kept_bounds(path.parent / METRICS)
    return [str(path.parent), scenario, header.outcome.kind, f"{header.outcome.time:.6g}", kept, made]


def _kept_bounds(path: Path) -> str:
    """How many bounds a run kept, of how many; nothing where its metrics are missing."""
    try:
        judged = [one["passed"] for one in json.loads(read_text(path)).values() if one.get("passed") is not None]
        return f"{sum(judged)} of {len(judged)}" if judged else ""
    except (PalpateError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return f"{path.name} is damaged" if is_there(path) else ""


SECTIONS: dict[str, Callable[[], ListedTable]] = {
    make.__name__[1:]: make
    for make in (_commands, _robots, _scenarios, _documents, _laws, _references, _metrics, _channels, _runs)
}
_ASKED_FOR = ("commands", "documents", "channels", "runs")  # as JSON, only when named
