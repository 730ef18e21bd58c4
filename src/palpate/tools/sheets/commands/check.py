"""`palpate derive --check`: the formulas of a document, judged by a derivation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import palpate as pp
from palpate.cli.tables import key_values
from palpate.errors import InvalidInput, PalpateError
from palpate.tools.derive.command import DIFFERS, derivation_asked, names_from, pole_asked, robot_asked

MISUSE = 2


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a document."""
    parser.add_argument("--check", metavar="FILE", help="judge the formulas of a document by this derivation; with"
                        " --html OUT also as a page, the mistakes circled")  # fmt: skip
    parser.add_argument("--also", nargs="+", metavar="ROBOT", help="with --check: further robots of the document")
    parser.add_argument("--where", nargs="+", metavar="NAME=FORMULA",
                        help="with --check: what names of the document stand for, or a TOML file of them")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="with --check: print the result as JSON")
    parser.add_argument("--equal", nargs="+", metavar="NAME=A,B,…",
                        help="with --check: one name that stands for several, L=l1,l2,l3")  # fmt: skip
    parser.add_argument("--conventions", choices=["any", "strict"], help="with --check: strict does not"
                        " excuse another sign of gravity or another zero (any)")  # fmt: skip


def run(args: argparse.Namespace, command: Callable[[argparse.Namespace], int]) -> int:
    """Judge the document, or derive where there is none."""
    if args.check is not None:
        return _check(args)
    for option in ("equal", "conventions", "also", "where", "json"):
        if getattr(args, option):
            raise InvalidInput(f"--{option} is an option of --check")
    return command(args)


def _check(args: argparse.Namespace) -> int:
    """Judge a document; 0 if all that was judged agrees, 1 if something differs, 2 if nothing could be judged."""
    from palpate.files import write_file
    from palpate.tools.sheets import check_document

    robot = robot_asked(args)
    reference: Any = pole_asked(args) if robot is None else derivation_asked(robot, args) if args.names else robot
    references = [reference, *(pp.load_robot(name) for name in args.also or ())]
    options: Any = {"equal": equal_names(args.equal or []), "conventions": args.conventions or "any"}
    try:
        sheet = check_document(references, args.check, symbols=_where(args.where or []), **options)
    except PalpateError as error:
        print(f"palpate: {args.check}: {error}", file=sys.stderr)
        return MISUSE
    if args.html:
        write_file(args.html, sheet.html())
    if args.json:
        print(sheet.json())
    elif sheet.judged:
        print(sheet)
    if not sheet.judged:
        print(f"palpate: {args.check}: {sheet.refusal}", file=sys.stderr)
        return MISUSE
    return DIFFERS if sheet.wrong else 0


def _where(pairs: Sequence[str]) -> dict[str, str]:
    """Names of a document and what they stand for: NAME=FORMULA, or a TOML file with such lines."""
    made: dict[str, str] = {}
    for pair in pairs:
        if pair.endswith(".toml"):
            made |= names_from(pair)
            continue
        name, equals, formula = pair.partition("=")
        if not equals or not name.strip() or not formula.strip():
            raise InvalidInput(f"--where takes NAME=FORMULA, got {pair!r}", hint="write --where 'pl_{21}=r2x-a2'")
        made[name.strip()] = formula.strip()
    return made


def equal_names(pairs: Sequence[str]) -> dict[str, list[str]]:
    """L=l1,l2,l3 as {"L": ["l1", "l2", "l3"]}."""
    form, hint = "--equal takes NAME=A,B", "write --equal L=l1,l2,l3"
    return key_values(pairs, form, lambda text: text.replace(",", " ").split() or None, hint=hint)
