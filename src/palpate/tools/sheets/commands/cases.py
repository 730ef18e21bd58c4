"""Check textbook results: formulas and numbers of books beside what their own inputs lead to.

examples:
  palpate cases                     results after six books that come along
  palpate cases mine.toml           your own cases: an exam, a paper
  palpate cases --source            one line for each book

A case file has a source and tables [case.NAME] with place, asked, printed, and its inputs: dh rows, a system of bodies,
or numbers. The exit code is 0 if all agree, 1 if something differs.
"""

from __future__ import annotations

import argparse


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("cases", help="check textbook results by computation", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="case files (those that come along)")
    parser.add_argument("--source", action="store_true", help="only the sources, with the number of their cases")


def run(args: argparse.Namespace) -> int:
    """Check and print."""
    from palpate.tools.sheets.cases import cases_table, read_cases, shipped_cases

    cases = [case for path in args.files for case in read_cases(path)] if args.files else shipped_cases()
    if args.source:
        for source in dict.fromkeys(case.source for case in cases):
            print(f"{sum(case.source == source for case in cases):3d}  {source}")
        return 0
    text, wrong = cases_table(cases)
    print(text)
    print(f"{len(cases)} cases: {'all agree' if not wrong else f'{wrong} differ'}")
    return 1 if wrong else 0
