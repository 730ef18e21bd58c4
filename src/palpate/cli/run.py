"""Simulate a scenario and write one folder.

examples:
  palpate run panda-wall
  palpate run panda-wall --set world.surfaces.wall.stiffness=4e4 --set run.duration=2
  palpate run panda-wall --set robot.joints=ideal
  palpate run iiwa14-push --out pushed --open
  palpate new mine && palpate run mine.toml --json

The folder holds scenario.toml (as run), trace.parquet, metrics.json, figures/ and report.html. It is runs/<name>-<n>
unless --out names one; files that palpate wrote there are replaced, others are kept. The folder is created and locked
before the simulation; a run of more than two seconds keeps trace.partial.parts there until it has ended.
Exit code: 0 if the run completed or was stopped, 1 if it diverged or violated a bound on its metrics, 2 for bad input,
and with --strict 3 if there was a warning, such as a law that gave up (a pole that fell).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import CompileProgress, RunProgress, open_page, patience
from palpate.cli.folder import PARTIAL, RunFolder, claim_folder
from palpate.cli.live import Live
from palpate.cli.signals import Saving, had_its_effect, undivided
from palpate.cli.tables import number, print_json, print_table
from palpate.errors import InvalidInput, harmless

if TYPE_CHECKING:
    from palpate.metrics import MetricResult
    from palpate.scenario.model import Scenario
    from palpate.trace import Trace

DONE, FAILED, WARNED, INTERRUPTED = 0, 1, 3, 130
# Options of `palpate drive` that were once here: whoever gives --connect is told.
_MOVED: dict[str, dict[str, Any]] = {
    "--connect": {}, "--collision": {"type": float}, "--allow-network": {"action": "store_true"},
}  # fmt: skip
LARGE = 100.0  # MB of record, from which on it is said before the run


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    about = "simulate a scenario; writes trace, metrics, figures and report.html"
    parser = subparsers.add_parser("run", help=about, description=__doc__)
    add_scenario(parser)
    parser.add_argument("--out", metavar="DIR", help="folder to write (runs/<name>-<n>)")
    for moved, options in _MOVED.items():
        parser.add_argument(moved, help=argparse.SUPPRESS, **options)
    parser.add_argument("--no-report", action="store_true", help="write no figures and no report.html")
    parser.add_argument("--open", action="store_true", help="open report.html in the browser after the run")
    parser.add_argument("--live", action="store_true",
                        help="slow the run down to real time and show it in the browser meanwhile")  # fmt: skip
    parser.add_argument("--port", type=int, metavar="N", help="with --live: port of 127.0.0.1 (any free one)")
    parser.add_argument("--quiet", action="store_true", help="print the last line only")
    parser.add_argument("--strict", action="store_true", help="end with exit code 3 if there was a warning")
    parser.add_argument("--json", action="store_true", help="print outcome and metrics as JSON only")


def run(args: argparse.Namespace) -> int:
    """Load, claim the folder, simulate, judge, write, tell."""
    args.quiet |= args.json
    _check_options(args)
    with patience("loading …", args.quiet):
        from palpate.scenario.checking.checks import remarks
        from palpate.scenario.file.swap import dropped_gains

        scenario = scenario_asked(args)
        dropped = dropped_gains(args.scenario, args.overrides)
    notes = [] if args.quiet else [*([dropped] if dropped else []), *remarks(scenario)]
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    with ExitStack() as stack:
        live = stack.enter_context(Live(args.port or 0)) if args.live else None
        with undivided():
            folder = stack.enter_context(claim_folder(args.out, scenario.name, args.scenario))

        trace, results, output = written(
            scenario, folder, args, lambda saving: _simulated(scenario, folder, args.quiet, saving, live)
        )
        if live is not None:
            live.finish(trace, output)
    if not args.quiet:
        print_story(scenario, trace, results, notes)
    if args.json:
        _print_json(scenario, trace, results, output)
    else:
        print(last_line(trace, results, output))
    if args.open:
        open_page(output)
    return exit_code(trace, results, args.strict)


def written(
    scenario: Scenario, folder: RunFolder, args: argparse.Namespace, simulated: Callable[[Saving], Trace]
) -> tuple[Trace, list[MetricResult], Path]:
    """Simulate and write; the trace first, so that whatever goes wrong with the pages costs the pages only."""
    try:
        with Saving() as saving:
            trace = simulated(saving)
            results = pp.metrics.evaluate(trace, scenario.metrics)
            with patience("writing the trace …", args.quiet):
                output = folder.write_run(scenario, trace, results)
    except KeyboardInterrupt:
        if folder.partial is not None:
            print(f"palpate: the run was not saved; its first part is in {folder.partial}", file=sys.stderr)
        raise
    if args.no_report or trace.outcome.kind == "interrupted":
        return trace, results, output
    if saving.waited:
        print("palpate: the trace is saved; no report was written", file=sys.stderr)
        return trace, results, output
    return trace, results, _with_pages(folder, trace, results, args) or output


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, or are not here any more."""
    if args.port is not None and not args.live:
        raise InvalidInput("--port is that of the live view", hint="add --live")
    if args.connect is not None or args.collision is not None or args.allow_network:
        words = ["palpate", "drive", args.scenario, (args.connect or "127.0.0.1").removeprefix("fci://"), "--move"]
        words += [] if args.collision is None else ["--force", f"{args.collision:g}"]
        words += ["--allow-network"] if args.allow_network else []
        raise InvalidInput("run simulates: a robot is moved by palpate drive", hint=" ".join(words))


def _simulated(scenario: Scenario, folder: RunFolder, quiet: bool, saving: Saving, live: Live | None) -> Trace:
    from palpate.run.simulate import as_run, assemble, execute

    with CompileProgress(quiet) as compiling:
        assembly = assemble(as_run(scenario))
        _say_if_large(scenario, 1 + sum(channel.size for channel in assembly.chosen), quiet)
        with RunProgress(scenario.name, quiet, lambda: compiling.spent) as progress:
            watch = None if live is None else live.of(scenario, assembly)
            return execute(assembly, progress, folder.path / PARTIAL, saving.begin, watch)


def _with_pages(folder: RunFolder, trace: Trace, results: list[MetricResult], args: argparse.Namespace) -> Path | None:
    """Write figures and report; None, and a line that says why, where that does not succeed."""
    with patience("writing figures and report …", args.quiet):
        try:
            return folder.write_pages(trace, results)
        except KeyboardInterrupt:
            had_its_effect()
            print("palpate: interrupted while the report was written; the trace is kept", file=sys.stderr)
        except Exception as error:
            if args.debug:
                raise
            print(f"palpate: no report ({type(error).__name__}: {error}); the trace is kept", file=sys.stderr)
    return None


def _say_if_large(scenario: Scenario, columns: int, quiet: bool) -> None:
    """Before the run: how much it will record, and how to record less."""
    samples = scenario.run.steps // scenario.record.stride + 1
    size = 8e-6 * samples * columns
    if quiet or size <= LARGE:
        return
    stride = scenario.record.stride * -(-int(size) // 20)
    print(
        f"note: this records {size:.0f} MB: {samples} samples of {columns} numbers; --set record.stride={stride} keeps"
        f' every {stride}th physics step, --set \'record.channels=["q", "contact_force"]\' those channels',
        file=sys.stderr,
    )


def _print_json(scenario: Scenario, trace: Trace, results: Sequence[MetricResult], output: Path) -> None:
    answer = {
        "scenario": scenario.name,
        "outcome": asdict(trace.outcome),
        "ok": trace.outcome.ok and all(result.passed is not False for result in results),
        "warnings": list(trace.facts.warnings),
        "remarks": list(trace.facts.remarks),
        "metrics": {r.name: {k: v for k, v in asdict(r).items() if k not in ("name", "help")} for r in results},
        "folder": str(output.parent),
        "see": str(output),
    }
    print_json(answer)


def print_story(scenario: Scenario, trace: Trace, results: Sequence[MetricResult], noted: Sequence[str]) -> None:
    """The run in lines; what was noted before it is not said twice."""
    from palpate.views.summary import contact_line, edge_line, notes_of

    print(harmless(f"{scenario.name}: {scenario.description}" if scenario.description else scenario.name))
    if trace.outcome.kind == "diverged":
        print(harmless(f"diverged at {trace.outcome.time:.6g} s: {trace.outcome.reason}"))
    for line in filter(None, (contact_line(results), edge_line(trace))):
        print(harmless(line))
    for note in notes_of(trace, noted):
        print(harmless(note))
    _print_events(trace)
    if trace.outcome.kind != "interrupted":
        _print_metrics(results)
    absent = sum(not result.bounded and result.reason is not None for result in results)
    if absent:
        print(f"{absent} metrics do not apply; metrics.json and the report say why")


_VERDICTS = {True: "ok", False: "FAILED", None: "not judged"}


def _print_metrics(results: Sequence[MetricResult]) -> None:
    """The metrics with a bound, and main ones."""
    from palpate.views.summary import bound_text, main_metrics

    shown = main_metrics(results)
    rows = [[r.name, number(r.value), "" if r.unit == "1" else r.unit] for r in shown]
    if any(result.bounded for result in shown):
        verdicts = [[bound_text(r), _VERDICTS[r.passed]] if r.bounded else ["", ""] for r in shown]
        rows = [[*row, *verdict] for row, verdict in zip(rows, verdicts)]
        print_table(["metric", "value", "unit", "bound", ""], rows, "lrlll")
    elif rows:
        print_table(["metric", "value", "unit"], rows, "lrl")


def _print_events(trace: Trace, most: int = 14) -> None:
    """The events of exact contact; of a long list the first and the last."""
    from palpate.views.pages.markup import mode_change, place_text

    events = trace.facts.contact_events
    if not events:
        return
    rows = [[f"{e['time']:.10f}", e["what"], e["contact"], mode_change(e), place_text(e)] for e in events]
    if len(rows) > most:
        rows = [*rows[: most - 4], ["…", f"{len(rows) - most + 1} more", "", "", ""], *rows[-3:]]
    print_table(["time (s)", "event", "contact", "mode", "where (m)"], rows, "rllll")


def last_line(trace: Trace, results: Sequence[MetricResult], output: Path) -> str:
    """How it ended, which bounds it kept, and where to look."""
    outcome = trace.outcome
    judged = [result.passed for result in results if result.passed is not None]
    silent = sum(result.bounded for result in results) - len(judged)
    kept = f"; {sum(judged)} of {len(judged)} bounds kept" if judged and outcome.kind != "interrupted" else ""
    kept += f"; {silent} not judged" if silent and outcome.kind != "interrupted" else ""
    return harmless(f"{outcome.kind} at {outcome.time:.6g} s ({outcome.reason}){kept}; see {output}")


def exit_code(trace: Trace, results: Sequence[MetricResult], strict: bool) -> int:
    """The exit code of a run; see above."""
    if trace.outcome.kind == "interrupted":
        return INTERRUPTED
    broken = any(result.passed is False for result in results)
    if broken or not trace.outcome.ok:
        return FAILED
    unjudged = any(result.bounded and result.passed is None for result in results)
    return WARNED if strict and (trace.warnings or unjudged) else DONE
