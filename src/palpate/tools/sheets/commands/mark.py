"""Mark a folder of answers: every formula of every document is judged by a robot's derivation, with partial credit.

examples:
  palpate mark planar2 answers                          a table, and the mistakes line by line
  palpate mark planar2 answers --expect M,C,g           what an answer should have; what is missing has no credit
  palpate mark planar2 answers --csv marks.csv --html pages   the table as a file, and each answer as a marked page

answers are files .md .tex .txt .ipynb .py .m; nothing in them is run. An entry that is right has its whole credit, a
slip takes a quarter of it (a missing term a half), what no small correction makes right has none.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palpate.errors import InvalidInput


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "mark", help="mark a folder of derivations, with partial credit", description=__doc__
    )
    parser.add_argument("robot", metavar="ROBOT", help="a catalogue name, a .urdf or MJCF .xml file")
    parser.add_argument("folder", metavar="FOLDER", help="one document for each answer")
    parser.add_argument("--expect", metavar="Q,…", help="quantities that each answer should have: M,C,g")
    parser.add_argument("--equal", nargs="+", metavar="NAME=A,B,…", help="one name that stands for several, L=l1,l2")
    parser.add_argument("--conventions", choices=["any", "strict"], default="any",
                        help="strict does not excuse another sign of gravity or another zero (any)")  # fmt: skip
    parser.add_argument("--csv", metavar="FILE", help="write the marks as a table")
    parser.add_argument("--html", metavar="DIR", help="write each answer as a page, its mistakes circled")


def run(args: argparse.Namespace) -> int:
    """Mark, print, write."""
    import palpate as pp
    from palpate.files import make_folder, write_file
    from palpate.tools.sheets.marking import mark_folder, marks_csv

    expected = [word for word in (args.expect or "").replace(",", " ").split()]
    if args.expect is not None and not expected:
        raise InvalidInput("--expect takes quantities", hint="write --expect M,C,g")
    robot = pp.load_robot(args.robot)
    options: Any = {"equal": _equal(args.equal or []), "conventions": args.conventions}
    answers = mark_folder(robot, args.folder, expected, **options)
    for answer in answers:
        print(_answer_text(answer))
    if args.csv:
        print(f"wrote {write_file(args.csv, marks_csv(answers))}")
    if args.html:
        folder = make_folder(args.html)
        for answer in answers:
            if answer.sheet is not None:
                write_file(Path(folder) / f"{answer.name}.html", answer.sheet.html())
        print(f"wrote {folder}")
    return 0


def _equal(pairs: Sequence[str]) -> dict[str, list[str]]:
    """L=l1,l2 as {"L": ["l1", "l2"]}."""
    made: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, several = pair.partition("=")
        if not name or not several.replace(",", " ").split():
            raise InvalidInput(f"--equal takes NAME=A,B, got {pair!r}", hint="write --equal L=l1,l2")
        made[name] = several.replace(",", " ").split()
    return made


def _answer_text(answer: Any) -> str:
    """An answer in a few lines: its credit, and what is wrong where."""
    head = f"{answer.name}: {100 * answer.total:.0f} %"
    if answer.sheet is None:
        return f"{head}  {answer.problem}"
    missing = [what for what, value in answer.credits.items() if value == 0 and ":" not in what and " " not in what]
    judged = [one.verdict.what for one in answer.sheet.judged if one.verdict is not None]
    lines = [f"{head}  {len(answer.sheet.judged)} judged, {len(answer.sheet.wrong)} wrong"]
    for one in answer.sheet.wrong:
        words = "; ".join(one.slips) or ("another convention" if one.mark == "convention" else "no small correction")
        lines.append(f"  {one.where}: {' '.join(one.label.split())}: {words}")
    lines += [f"  missing: {what}" for what in missing if what not in judged]
    lines += [
        f"  {one.where}: {' '.join(one.label.split())} not judged: {one.reason}" for one in answer.sheet.of("skipped")
    ]
    return "\n".join(lines)
