"""`palpate verify`: the five documents, every claim computed again."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from palpate.errors import InvalidInput

if TYPE_CHECKING:
    from palpate_documents.review import Result

CHANGED = 1
_EXAMPLES = """\
examples:
  palpate verify                      all five documents
  palpate verify 001 --wrong          what is not right in document 001
  palpate verify --claim 001.J0       one claim, with its numbers
  palpate verify 004 --html 004.html  a review to read and print; needs no network
  palpate verify 002 --as-printed     simulate the printed version beside the corrected one
  palpate verify --claim 004.44 --as-printed   one claim as printed, run beside the right form
  palpate verify 004 --equations      every equation number with its command
  palpate verify 001 --list           its scenarios, and how many claims it has
  palpate verify --figures figures    the documents' figures, and the corrected ones

exit code: 0 if every claim has the verdict on record, 1 if a verdict has changed, 2 for bad input
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "verify",
        help="check every claim of the five documents by computation",
        description="Compute every equation and number that the five documents print, compare, and judge:"
        " agrees, typo, wrong, ambiguous, or cannot be judged.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("document", nargs="*", metavar="DOCUMENT", help="000 to 004 (all)")
    parser.add_argument("--wrong", action="store_true", help="only claims that are not right as printed")
    parser.add_argument("--claim", metavar="ID", help="one claim, with all its numbers")
    parser.add_argument("--html", metavar="OUT", help="write a review as one page")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--figures", metavar="DIR", help="draw the documents' figures into a folder, and nothing else")
    parser.add_argument("--list", action="store_true", help="list the scenarios of a document, and count its claims")
    parser.add_argument("--equations", action="store_true", help="every equation number, with the command for it")
    parser.add_argument("--as-printed", action="store_true", help="simulate the printed and the corrected version")


def run(args: argparse.Namespace) -> int:
    """Verify, print, write; the exit code says whether a verdict has changed."""
    from palpate_documents.review import verify

    if args.json and args.html:
        raise InvalidInput("--json and --html exclude each other", hint="give one of them")
    numbers = [word.strip() for word in args.document]
    if args.figures:
        return _draw(numbers, args.figures)
    if args.list:
        return _list(numbers)
    if args.equations:
        return _equations(numbers)
    if args.as_printed:
        return _compare([args.claim] if args.claim else numbers, args.html)
    start = time.perf_counter()
    results = verify(numbers, args.claim, _progress())
    changed = [result for result in results if result.changed]
    shown = [one for one in results if one.found != "agrees" or one.changed] if args.wrong else results
    _output(shown, args)
    if not args.json:
        _print_summary(results, time.perf_counter() - start)
    for one in changed:
        print(f"changed: {one.claim.id} is {one.found}, on record {one.claim.verdict}", file=sys.stderr)
    return CHANGED if changed else 0


def _draw(numbers: Sequence[str], folder: str) -> int:
    from palpate_documents.figures import draw_figures
    from palpate_documents.library import document

    for number in numbers:
        document(number)
    for path in draw_figures(folder, numbers):
        print(path)
    return 0


def _list(numbers: Sequence[str]) -> int:
    """Print the scenarios and claims of some documents."""
    from palpate.cli.tables import print_table
    from palpate_documents.library import DOCUMENTS, document, scenarios_of

    for number in numbers or DOCUMENTS:
        about = document(number)
        print(f"document {number}: {about.title}\n{about.about}\n")
        rows = [[name, data.get("description", "")] for name, data in scenarios_of(number).items()]
        print_table(["scenario", "what it shows"], rows, "ll")
        wrong = sum(claim.verdict in ("wrong", "typo") for claim in about.claims)
        print(f"\n{len(about.claims)} claims, {wrong} of them wrong or misprinted: palpate verify {number}")
    return 0


def _equations(numbers: Sequence[str]) -> int:
    """Every equation number, its verdict on record, and its commands."""
    from palpate.cli.tables import print_table
    from palpate_documents.equations import equations
    from palpate_documents.library import DOCUMENTS

    rows = [
        [f"{one.document} ({one.number})", one.main.verdict, one.command, one.run]
        for number in numbers or DOCUMENTS
        for one in equations(number)
    ]
    print_table(["equation", "verdict", "command", "run as printed"], rows, "llll")
    return 0


def _compare(numbers: Sequence[str], out: str | None) -> int:
    """Runs of what is printed beside the right thing: their metrics, and a page that overlays them."""
    from palpate.cli.tables import number, print_table
    from palpate.metrics import evaluate
    from palpate.views import compare
    from palpate_documents.as_printed import RUN_METRICS, distances_from_right, runs_as_printed
    from palpate_documents.library import document

    if len(numbers) != 1:
        raise InvalidInput("--as-printed takes one document", hint="palpate verify 002 --as-printed")
    document(numbers[0].partition(".")[0])
    runs = runs_as_printed(numbers[0])
    names, traces = zip(*runs)
    metrics = RUN_METRICS.get(numbers[0], ())
    table = [[result for result in evaluate(trace) if result.name in metrics] for trace in traces]
    rows = [
        [f"{row[0].name} [{row[0].unit}]", *(number(result.value) for result in row)]
        for row in zip(*table)
        if any(result.value is not None for result in row)
    ]
    distances = distances_from_right(runs)
    for index, what in enumerate(("tool, distance from the right run [m]", "joints, difference from it [rad or m]")):
        rows.append([what, *("–" if one is None else number(one[index]) for one in distances)])
    ends = ["ended", *(f"{t.outcome.kind} at {t.outcome.time:.3g} s" for t in traces)]
    print_table(["", *names], [ends, *rows], "l" + "r" * len(names))
    for name, trace in runs:
        if trace.outcome.kind != "completed":
            print(f"\n{name}: {trace.outcome.reason}")
    print(f"\nwrote {compare(traces, names, out or f'as-printed-{numbers[0]}.html')}")
    return 0


def _output(shown: Sequence[Result], args: argparse.Namespace) -> None:
    if args.json:
        import json

        print(json.dumps([as_data(one) for one in shown], indent=2, ensure_ascii=False, allow_nan=False))
    elif args.html:
        from palpate_documents.page import write_review

        print(f"wrote {write_review(shown, args.html)}")
    elif args.claim:
        for one in shown:
            _print_claim(one)
    else:
        from palpate.cli.tables import print_table

        rows = [[one.claim.id, _mark(one), one.claim.where, _remark(one)] for one in shown]
        print_table(["claim", "verdict", "where", "remark"], rows, "llll")
        _print_causes(shown)


def as_data(result: Result) -> dict[str, Any]:
    """A result as plain data; infinities become text."""
    names = ("id", "where", "printed", "verdict", "found", "corrected", "how", "note", "cause", "implied")
    data = {name: getattr(result if name == "found" else result.claim, name) for name in names}
    return data | {"evidence": [{k: _plain(v) for k, v in asdict(one).items()} for one in result.comparisons]}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return str(value)
    return value


def _print_causes(results: Sequence[Result]) -> None:
    """Print the claims that are not right, by their root cause."""
    import textwrap

    from palpate_documents.review import by_cause

    groups = [(cause, group) for cause, group in by_cause(results) if cause]
    if groups:
        print("\nroot causes:")
    for cause, group in groups:
        names = ", ".join(one.claim.id.partition(".")[2] for one in group)
        print(f"  {cause}\n" + textwrap.indent(textwrap.fill(f"{len(group)}: {names}", 112), "    "))


def _mark(result: Result) -> str:
    return f"{result.found} (was {result.claim.verdict})" if result.changed else result.found


def _remark(result: Result) -> str:
    """The first sentence of the note, where there is something to say."""
    if result.found == "agrees" and not result.changed:
        return ""
    first = result.claim.note.split(". ")[0].rstrip(".")
    return first if len(first) <= 110 else f"{first[:107]}…"


def _print_claim(result: Result) -> None:
    from palpate.cli.tables import print_table

    claim = result.claim
    print(f"{claim.id}, {claim.where}: {_mark(result)}\n")
    printed = "implied" if claim.implied else "printed"
    print(f"  {printed:11}{claim.printed}")
    if claim.corrected:
        print(f"  corrected  {claim.corrected}")
    print(f"  computed   {claim.how}\n")
    print(f"  {claim.note}\n")
    if claim.cause:
        from palpate_documents.library import document

        print(f"  root cause: {document(claim.document).causes[claim.cause]}\n")
    roles = {"printed": printed}
    rows = [
        [roles.get(one.role, one.role), one.label, shown(one.given), shown(one.found), "✓" if one.holds else "✗"]
        for one in result.comparisons
    ]
    print_table(["", "what", "given", "computed", ""], rows, "llrrl")
    for note in dict.fromkeys(one.told for one in result.comparisons if one.told and not one.holds):
        print(f"\n  {note}")
    print()


def shown(value: Any) -> str:
    """Numbers with ten digits, rows of a matrix between semicolons."""
    if isinstance(value, list):
        rows = [shown(one) for one in value]
        if value and isinstance(value[0], list):
            return "; ".join(rows)
        return "(" + ", ".join(rows if len(rows) < 12 else [*rows[:5], "…", *rows[-2:]]) + ")"
    if isinstance(value, float):
        return "0" if abs(value) < 1e-12 else f"{value:.10g}"
    return str(value)


def _print_summary(results: Sequence[Result], seconds: float) -> None:
    from palpate_documents.review import counts

    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts(results).items() if count)
    read = sum(not one.computed for one in results)
    words = f" ({read} of them read, not computed)" if read else ""
    print(f"\n{len(results)} claims{words}: {parts}; {seconds:.0f} s")


def _progress() -> Callable[[int, int, str], None]:
    """A line that is written over on a terminal; elsewhere a word now and then."""
    terminal, last_print = sys.stderr.isatty(), [time.perf_counter()]

    def show(done: int, total: int, name: str) -> None:
        if terminal:
            end = "\r" if done + 1 < total else "\r\x1b[K"
            print(f"\x1b[K{done + 1} of {total}: {name}", end=end, file=sys.stderr, flush=True)
        elif time.perf_counter() - last_print[0] > 10:
            last_print[0] = time.perf_counter()
            print(f"{done} of {total} claims", file=sys.stderr, flush=True)

    return show
