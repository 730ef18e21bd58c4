"""Check published results: formulas and numbers of books and course notes beside what their own inputs lead to.

examples:
  palpate cases                     the results that come along
  palpate cases mine.toml           your own cases: an exam, a paper
  palpate cases --source            one line for each source, and where it was read
  palpate cases --errata            only the prints that are wrong, with the smallest correction

A case file has a source and tables [case.NAME] with place, asked, printed, and its inputs: dh rows, screws, a system of
bodies, or numbers. The exit code is 0 if all are as recorded, 1 if something differs. A source without `read` was
written from memory and not compared with its print.
"""

from __future__ import annotations

import argparse


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("cases", help="check published results by computation", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="case files (those that come along)")
    parser.add_argument("--source", action="store_true", help="only the sources, with the number of their cases")
    parser.add_argument("--errata", action="store_true", help="only the cases whose print is wrong")


def run(args: argparse.Namespace) -> int:
    """Check and print."""
    from palpate.tools.sheets.cases import cases_table, read_cases, shipped_cases

    cases = [case for path in args.files for case in read_cases(path)] if args.files else shipped_cases()
    cases = [case for case in cases if case.erratum] if args.errata else cases
    if args.source:
        for source, read in dict.fromkeys((case.source, case.read) for case in cases):
            count = sum(case.source == source for case in cases)
            print(f"{count:3d}  {source}\n       {f'read: {read}' if read else 'from memory'}")
        return 0
    text, wrong = cases_table(cases)
    print(text)
    read, errata = sum(bool(case.read) for case in cases), sum(bool(case.erratum) for case in cases)
    print(f"{len(cases)} cases, {read} compared with the text of their source, {errata} of them errata: "
          + ("all as recorded" if not wrong else f"{wrong} not as recorded"))  # fmt: skip
    return 1 if wrong else 0
