"""Read a recording of an arm and tell what it says: is it the arm that was modelled, what does its tool weigh, how does
it rub, how late are its torques; each number with an interval, or why there is none.

example: palpate log runs/panda-wall-1/trace.parquet --robot panda --template map.toml

Formats that define their units need no map: libfranka's CSV, sensor_msgs/JointState in a rosbag2 or MCAP, traces. For
others --template writes a map of the columns to fill in, which --map takes.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.check import add_model_options, model_options, model_overrides
from palpate.cli.console import Progress, open_page, patience
from palpate.cli.tables import print_json, print_table
from palpate.files import write_file

if TYPE_CHECKING:
    from palpate.robot import Robot
    from palpate.tools.logs.columns import Log
    from palpate.tools.logs.identify import Identification, Quantity


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("log", help="read a recording of an arm back in", description=__doc__)
    parser.add_argument(
        "files", metavar="FILE", nargs="+",
        help=".csv, .parquet, .mcap, .db3, .bag, .mat, .npz, or a rosbag2's folder; several are runs of the same arm",
    )  # fmt: skip
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--robot", metavar="MODEL", help="the arm: a catalogue name, or a model file")
    whose.add_argument("--scenario", metavar="SCENARIO", help="or the scenario that was meant to happen")
    parser.add_argument("--map", metavar="TOML", help="what the columns mean, with their units")
    parser.add_argument("--template", metavar="OUT", help="write such a map to fill in, nothing else")
    parser.add_argument(
        "--unloaded",
        metavar="FILE",
        help="the same arm without the load: tell the difference, free of the arm's errors",
    )
    parser.add_argument("--frame", metavar="FRAME", help="where a load may sit (flange, else the tool frame)")
    parser.add_argument(
        "--cutoff", metavar="HZ", type=float, help="of the zero-phase filter (10, at most a fifth of the rate)"
    )
    parser.add_argument("--no-rollouts", action="store_true", help="leave out refinement and judgement by rollouts")
    parser.add_argument("--write", metavar="TOML", help="write the fitted values; refused unless they beat the nominal")
    parser.add_argument("--suggest", metavar="CSV", help="write a motion that would tell what this one cannot")
    parser.add_argument(
        "--out", metavar="HTML", help="write a page: log over model in every panel, replay with a ghost"
    )
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Read, clean, identify, tell; write what was asked for."""
    from palpate.tools.logs.columns import joined, write_template
    from palpate.tools.logs.identify import identify, without_the_arms_errors
    from palpate.tools.logs.model import Arm

    robot, scenario = _robot(args)
    if args.template:
        print(f"wrote {write_file(args.template, write_template(args.files[0], robot))}")
        return 0
    log = joined([_load(args, robot, file) for file in args.files])
    with patience("identifying …", quiet=args.json):
        arm = Arm.of(robot, args.frame)
        result = identify(log, arm, cutoff=args.cutoff, rollouts=not args.no_rollouts)
        if args.unloaded:
            bare = identify(_load(args, robot, args.unloaded), arm, cutoff=args.cutoff, rollouts=False)
            result = without_the_arms_errors(result, bare, args.unloaded)
    with patience("comparing with what was asked for …", quiet=args.json):
        rendered, predicted_run = _rendered(log, robot, scenario, result), None
        if scenario is not None:
            from palpate.tools.logs.timeline import predict_run

            predicted_run = predict_run(scenario, result.motion.longest, log.wrench_frame)
    if args.json:
        print_json(as_data(log, result, rendered, predicted_run))
    else:
        tell(log, result, rendered, predicted_run)
    _write(args, log, result, rendered, predicted_run)
    return 0


def _load(args: argparse.Namespace, robot: Robot, file: str) -> Log:
    from palpate.tools.logs.columns import load_log

    with Progress(f"reading {file}", quiet=args.json) as bar:
        return load_log(file, robot, args.map, lambda done, total: None if args.json else _show(bar, done, total))


def _robot(args: argparse.Namespace) -> tuple[Robot, Any]:
    if args.robot:
        return pp.load_robot(args.robot, **model_options(args)), None
    from palpate.scenario.robot import build_robot

    scenario = pp.load_scenario(args.scenario, model_overrides(args))
    return build_robot(scenario.robot), scenario


def _show(bar: Progress, done: int, total: int) -> None:
    import time

    if time.perf_counter() - bar.started > 2.0 and total:
        bar.show(done, total, "", f"{done / total:.0%}")


def _rendered(log: Log, robot: Robot, scenario: Any, result: Identification) -> Any:
    from palpate.tools.logs.rendered import rendered_of

    return rendered_of(log, robot, scenario, result.motion)


def _write(args: argparse.Namespace, log: Log, result: Identification, rendered: Any, predicted_run: Any) -> None:
    if args.suggest:
        from palpate.tools.logs.suggest import suggested

        with patience("seeking a motion …", quiet=args.json):
            motion = suggested(result)
        print(motion.sentence)
        print(f"wrote {write_file(args.suggest, motion.csv)}")
    if args.out:
        from palpate.tools.logs.page import write_page

        with patience("writing the page …", quiet=args.json):
            page = write_page(args.out, log, result, rendered, predicted_run)
        print(f"wrote {page}")
        if args.open:
            open_page(page)
    if args.write:
        from palpate.tools.logs.fitted import fitted_text

        print(f"wrote {write_file(args.write, fitted_text(log, result, args.robot or args.scenario))}")


def tell(log: Log, result: Identification, rendered: Any, predicted_run: Any = None) -> None:
    """Print what the recording says."""
    import re

    for remark in (*log.notes, *result.remarks):
        print(remark[0].upper() + remark[1:] + ".")
    parity = result.parity
    if any(x == x for x in parity.residual["raw"]):
        print("\nTorque residual, root mean square, N·m")
        rows = [[step, *("–" if x != x else f"{x:.3g}" for x in values)] for step, values in parity.residual.items()]
        print_table(["model", *parity.joints], rows, "l" + "r" * len(parity.joints))
        told = ", ".join(f"{name} {share:.0%}" for name, share in parity.explained.items() if share > 0.005)
        print(f"\nExplained alone: {told or 'nothing'}.")
    shown = [q for q in result.quantities.values() if not q.reason]
    cells = [[q.name, f"{q.value:.4g}", f"{q.low:.4g}", f"{q.high:.4g}", q.unit] for q in shown]
    if cells:
        print("\n95 % intervals")
        print_table(["quantity", "value", "low", "high", "unit"], cells, "lrrrl")
    refused: dict[str, list[str]] = {}
    for q in result.quantities.values():
        if q.reason:
            refused.setdefault(q.reason, []).append(q.name)
    for reason, names in refused.items():
        every = "everything" if len(names) == len(result.quantities) else ", ".join(names)
        why = reason if len(names) == 1 else re.sub(r"\bit\b", "any of them", reason)
        print(f"  {every}: refused; {why}")
    _tell_judgement(result)
    for line in rendered.lines():
        print(line)
    for promise in predicted_run.promises if predicted_run is not None else ():
        text = str(promise)
        print(text[0].upper() + text[1:] + ".")


def _tell_judgement(result: Identification) -> None:
    judged = result.judgement
    if judged is None:
        print("\nNo rollouts: the arm stands still, its runs are too short to hold some out, or none were asked for.")
        return
    print(f"\nHeld-out rollouts, {judged.windows} windows: error of the tool, mm")
    from palpate.tools.logs.rollout import millimetres

    rows = [[name, *map(millimetres, errors)] for name, errors in judged.errors.items()]
    print_table(["model", *(f"{h:g} s" for h in judged.horizons)], rows, "l" + "r" * len(judged.horizons))
    text = judged.floor_sentence
    print(text[0].upper() + text[1:] + ".")


def _quantity_data(q: Quantity) -> dict[str, Any]:
    import math

    told = {"value": q.value, "low": q.low, "high": q.high}
    return {k: x if math.isfinite(x) else None for k, x in told.items()} | {"unit": q.unit, "refused": q.reason or None}


def as_data(log: Log, result: Identification, rendered: Any, predicted_run: Any = None) -> dict[str, Any]:
    """The same as plain data for JSON; what is not known is null."""
    import math

    def finite(x):
        return None if x is None or not math.isfinite(x) else float(x)

    parity, judged = result.parity, result.judgement
    return {
        "file": log.source,
        "kind": log.kind,
        "sha256": log.sha256,
        "remarks": [*log.notes, *result.remarks],
        "counts": {k: finite(v) for k, v in result.motion.counts.items()},
        "filter": str(result.motion.filter),
        "residual": {step: [finite(x) for x in values] for step, values in parity.residual.items()},
        "explained": parity.explained,
        "quantities": {q.name: _quantity_data(q) for q in (*result.quantities.values(), result.shift)},
        "rollouts": None if judged is None else {
            "horizons": list(judged.horizons),
            "windows": judged.windows,
            "errors": {k: [finite(x) for x in v] for k, v in judged.errors.items()},
        },
        "rendered": rendered.data(),
        "promises": [
            {"what": one.what, "predicted": finite(one.predicted), "happened": finite(one.happened),
             "tolerance": finite(one.tolerance), "broken_since": one.since}
            for one in (predicted_run.promises if predicted_run is not None else ())
        ],
    }  # fmt: skip
