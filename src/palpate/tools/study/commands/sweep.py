"""Run a scenario many times with varying keys, and report what the runs prove.

values of a key:
  control.damping_ratio=0.2:1.2:6              six values from 0.2 to 1.2
  world.surfaces.wall.stiffness=1e3:1e5:9:log  evenly spaced in the logarithm
  control.law=joint-impedance,computed-torque  a list
  world.plant.mass_scale='normal(1, 0.05)'     also uniform(a, b), loguniform(a, b), integers(a, b)
  'control.stiffness*=loguniform(0.5, 2)'      * multiplies the scenario's own value

examples:
  palpate sweep panda-wall --vary world.surfaces.wall.stiffness=200:20000:9:log
  palpate sweep panda-wall --vary 'world.plant.mass_scale=normal(1, 0.05)' --runs 1000 --traces worst
  palpate sweep panda-wall --method map --vary 'control.damping*=0.1:10:33:log' \\
      --vary 'world.surfaces.wall.stiffness*=0.1:10:33:log'
  palpate sweep panda-wall --vary 'world.plant.mass_scale=normal(1, 0.05)' --cluster slurm:job.toml --dry-run
  palpate sweep --resume runs/panda-wall-sweep-1
  palpate sweep panda-wall --uncertain --runs 300
  palpate sweep panda-wall --uncertain --without world.driver.delay --no-map
  palpate sweep panda-wall --uncertain --map 'control.damping*=0.1:10:log' --map 'world.plant.mass_scale=0.5:2'

The folder holds table.parquet (one row per run), summary.json, scenario.toml, report.html and the traces kept.
Exit code: 0 if all runs were made, whatever their outcome; 1 if --until failure<LEVEL is refuted; 2 for bad input.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.console import patience, starting
from palpate.cli.folder import next_folder
from palpate.errors import InvalidInput, check_names
from palpate.files import is_there
from palpate.memory import shown_bytes
from palpate.tools.study.commands.common import (
    SweepProgress,
    add_common,
    checked_cluster,
    interruptible,
    parse_varied,
    print_job_script,
)
from palpate.tools.study.commands.output import print_summary, write_pages

if TYPE_CHECKING:
    from palpate.tools.study import Sweep
    from palpate.tools.study.plans.plan import Plan
    from palpate.tools.study.running.address import ClusterAddress

DONE, REFUTED = 0, 1


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "sweep", help="run a scenario many times: table, probability of failure, map", description=__doc__
    )
    add_common(parser, "sweep")
    _add_uncertain(parser)
    parser.add_argument("--vary", metavar="KEY=WHAT", action="append", default=[],
                        help="values of a key (repeatable); see below")  # fmt: skip
    parser.add_argument("--method", help="grid, random, latin, sobol, saltelli (sensitivity) or map (boundary)")
    parser.add_argument("--runs", type=int, metavar="N", help="number of runs; not for a grid (1000)")
    parser.add_argument("--repeat", type=int, metavar="N", help="runs of each point, with different seeds (1)")
    parser.add_argument("--metric", metavar="NAME", help="metric that ranks the runs (the first with a bound)")
    parser.add_argument("--metrics", metavar="A,B", help="metrics to compute, fewer are faster (all)")
    parser.add_argument("--traces", metavar="WHICH", help="keep traces: none, all, failing, best, worst (none)")
    parser.add_argument("--until", metavar="RULE", help="failure<0.01 or width<0.02: stop when this is established")
    parser.add_argument("--rare", metavar="RULE", help="force_peak>40: a small probability, by importance sampling")
    parser.add_argument("--by", metavar="RULE", help="criterion of a map: passed, ended, or force_peak<40 (passed)")
    parser.add_argument("--predict", action="store_true", help="also draw the predicted boundary of a map")
    parser.add_argument("--pareto", metavar="A,B", help="Pareto front of two metrics, both minimised")
    parser.add_argument("--confidence", type=float, metavar="P", help="confidence level of every interval (0.95)")
    parser.add_argument(
        "--dry-run", action="store_true", help="show the number of runs, time and disk space without running"
    )


def run(args: argparse.Namespace) -> int:
    """Plan, run, say, write."""
    if _is_uncertain(args):
        from palpate.tools.study.commands import uncertain

        return uncertain.run(args)
    with patience(starting, args.quiet):
        from palpate.tools.study.planning import check_points
        from palpate.tools.study.sweeps import finish

        address = checked_cluster(args.cluster)
        store, plan = _begun(args)
        if store is None:
            check_points(plan)
    if args.predict and plan.method != "map":
        raise InvalidInput("--predict draws into a map", hint="add --method map")
    if args.dry_run:
        _print_estimate(plan, args, address)
        return DONE
    if store is None:
        from palpate.tools.study.running.store import Store

        name = f"{plan.scenario['name']}-sweep"
        store = Store.begin(next_folder(name) if args.out is None else Path(args.out), plan)
    name = str(plan.scenario["name"])
    with interruptible(store.folder), SweepProgress(name, args.quiet) as progress:
        sweep = finish(store, args.workers, args.cluster, progress)
        sweep.keep_traces()
    summary = _summary(sweep, args)
    with patience("writing the report …", args.quiet or args.no_report):
        output = write_pages(sweep, summary, store.folder, not args.no_report)
    print_summary(summary, args.quiet)
    print(f"{'' if args.quiet else chr(10)}see {output}")
    return _exit_code(sweep)


_NOT_UNCERTAIN = ("method", "repeat", "metric", "metrics", "traces", "until", "rare", "by", "predict", "pareto")


def _add_uncertain(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a sweep over what is uncertain."""
    group = parser.add_argument_group("uncertain quantities")
    group.add_argument("--uncertain", action="store_true",
                       help="draw all that is uncertain on a real robot, as far as the scenario has it")  # fmt: skip
    group.add_argument("--without", metavar="KEY", action="append", default=[], help="do not vary a key (repeatable)")
    group.add_argument("--map", metavar="KEY=WHAT", action="append", help="one of the two keys of the map (twice)")
    group.add_argument("--no-map", action="store_true", help="make no map")


def _is_uncertain(args: argparse.Namespace) -> bool:
    """Whether a sweep is one over what is uncertain: asked for, or begun so in the folder it goes on in."""
    begun = args.resume is not None and is_there(Path(args.resume) / "study.json")
    options = [f"--{name.replace('_', '-')}" for name in ("without", "map", "no_map") if getattr(args, name)]
    if options and not args.uncertain:
        raise InvalidInput(f"{options[0]} goes with --uncertain", hint="palpate sweep SCENARIO --uncertain")
    if not (args.uncertain or begun):
        return False
    if unused := [f"--{name}" for name in _NOT_UNCERTAIN if getattr(args, name)]:
        raise InvalidInput(f"{unused[0]} has no meaning with --uncertain, which draws independently and maps")
    return True


def _begun(args: argparse.Namespace) -> tuple[Any, Plan]:
    """The store of a sweep that goes on, or None, and its plan."""
    from palpate.tools.study.planning import make_plan
    from palpate.tools.study.running.store import Store

    if args.resume is not None:
        if args.scenario is not None or args.vary or args.overrides:
            raise InvalidInput("--resume continues an earlier command: no SCENARIO, --vary or --set")
        store = Store.open(args.resume)
        if store.plan.method == "tune":
            raise InvalidInput(f"{args.resume} holds a search", hint=f"palpate tune --resume {args.resume}")
        return store, store.plan
    if args.scenario is None:
        raise InvalidInput("sweep needs a SCENARIO, or --resume DIR", hint="palpate sweep --help")
    names = None if args.metrics is None else [name.strip() for name in args.metrics.split(",")]
    wanted = {name: getattr(args, name) for name in _WANTED}
    return None, make_plan(args.scenario, parse_varied(args.vary), args.overrides, metrics=names, **wanted)


_WANTED = ("method", "runs", "repeat", "seed", "metric", "traces", "until", "rare", "by", "confidence")


def _summary(sweep: Sweep, args: argparse.Namespace) -> dict[str, Any]:
    from palpate.tools.study.summary import summarise

    pair = None
    if args.pareto is not None:
        names = tuple(name.strip() for name in args.pareto.split(","))
        if len(names) != 2:
            raise InvalidInput(f"--pareto takes two metrics, got {args.pareto!r}", hint="--pareto force_peak,effort")
        check_names("metric", names, sweep.plan.metrics)
        pair = (names[0], names[1])
    summary = summarise(sweep, pair)
    if args.predict and "map" in summary:
        lines = [line.tolist() for line in pp.study.predicted_boundary(sweep.plan)]
        summary["map"]["predicted"] = lines
        summary["said"] += [] if lines else ["gain design predicts no boundary within this map"]
    return summary


def _exit_code(sweep: Sweep) -> int:
    from palpate.tools.study.drivers.stopping import check_until

    rule = sweep.plan.options.get("until")
    if rule is None or not isinstance(sweep.finding, pp.study.Interval):
        return DONE
    name, level = check_until(rule)
    return REFUTED if name == "failure" and sweep.finding.low > level else DONE


def _print_estimate(plan: Plan, args: argparse.Namespace, address: ClusterAddress | None) -> None:
    """Runs, time, disk and cost beforehand; a few points are run for that."""
    from palpate.tools.study.planning import draw_overrides
    from palpate.tools.study.running.jobs import estimated_cost
    from palpate.tools.study.running.pool import cores
    from palpate.tools.study.running.table import row_bytes
    from palpate.tools.study.sweeps import time_per_run

    seconds = time_per_run(plan, samples=draw_overrides(plan, 6))
    hands = cores() if args.workers is None else max(args.workers, 1)
    about = "about " if plan.method == "map" else "at most " if plan.options.get("until") else ""
    print(f"{plan.scenario['name']}: {about}{plan.runs} runs ({plan.method}), in chunks of {plan.chunk}")
    for axis in plan.axes:
        count = f"{len(axis.values)} values" if axis.values is not None else "a distribution"
        print(f"  {axis.key}: {axis.spec if isinstance(axis.spec, str) else 'a list'} ({count})")
    hands = hands if address is None else address.workers(plan.runs)
    where = f"{hands} workers" if address is None else f"{hands} workers of {address.text}"
    total = seconds * plan.runs / hands
    print(f"time: {1e3 * seconds:.3g} ms a run, about {_long(total)} with {where}")
    print(f"disk: about {shown_bytes(row_bytes(plan) * plan.runs)} for the table{_trace_disk(plan)}")
    if address is not None and address.job_file is not None:
        print(estimated_cost(address.job_file, seconds, plan.runs))
        print_job_script(address)


def _trace_disk(plan: Plan) -> str:
    if plan.traces != "all":
        return ""
    from palpate.tools.study.running.worker import Job, RunTask, run_task

    one = run_task(Job(plan.scenario, plan.metrics, "all"), RunTask(0, ()))
    return f", {shown_bytes(plan.runs * len(one.trace or b''))} for traces"


def _long(seconds: float) -> str:
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"
