"""simulate: a run in, a trace out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from palpate.checks import Array
from palpate.engine.records import ReadOnly
from palpate.errors import BadShape, InvalidInput
from palpate.run import loop
from palpate.run import state as S
from palpate.run.assemble import BATCH, Assembly, assemble
from palpate.run.build import build
from palpate.run.checks import check_start
from palpate.run.finish import INTERRUPTED, bare_trace, trace_of
from palpate.run.run import Run
from palpate.scenario.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.trace import Trace

Progress = Callable[[float, float], None]
Source = Run | Scenario | str | os.PathLike[str]


def simulate(run: Source, *, progress: Progress | None = None) -> Trace:
    """Run a scenario and record what happened.

    Args:
        run: a scenario, its shipped name or file, or a `Run` put together in Python.
        progress: called with (simulated time, duration) between batches.

    Returns:
        The trace; `trace.outcome` says how the run ended. A diverged or interrupted run keeps its trace up to there.
    """
    return execute(assemble(as_run(run)), progress)


def as_run(source: Source) -> Run:
    """A run, from itself, a scenario, or its name or file."""
    if isinstance(source, str | os.PathLike):
        source = load_scenario(source)
    if isinstance(source, Scenario):
        return build(source)
    if not isinstance(source, Run):
        raise InvalidInput(
            f"simulate takes a scenario, its name or file, or a Run, got {type(source).__name__}",
            hint="simulate('panda-wall'), or simulate(Run(robot, law, clock=Clock(duration=2)))",
        )
    return source


def simulate_many(runs: Sequence[Source], *, threads: int = 2) -> list[Trace]:
    """Run many in threads; the compiled loop releases the interpreter. Same traces as one by one."""
    pool = ThreadPoolExecutor(max_workers=max(1, threads))
    try:
        return list(pool.map(simulate, runs))
    finally:
        pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C the runs not yet begun are left out


def execute(assembly: Assembly, progress: Progress | None = None) -> Trace:
    """Check the start of an assembled run, step it to its end, and hand out its trace. An assembly runs once."""
    foretold = check_start(assembly)
    return trace_of(assembly, _ended(assembly, progress), foretold)


def execute_bare(assembly: Assembly, *, singular: bool = True) -> Trace:
    """The same for whoever wants numbers and no report: nothing is predicted, and few facts are noted.

    Args:
        assembly: ready to start.
        singular: whether to look for the smallest singular value on the way.

    Returns:
        A trace for metrics, not for keeping: it holds until the assembly is run again.
    """
    foretold = check_start(assembly, predict=False)
    return bare_trace(assembly, _ended(assembly), foretold, singular=singular)


def _ended(assembly: Assembly, progress: Progress | None = None) -> int:
    try:
        return _run(assembly, progress)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(assembly: Assembly, progress: Progress | None) -> int:
    L, duration = assembly.loop, assembly.run.clock.duration
    ratio, status = L.ratio, S.RUNNING
    while status == S.RUNNING:
        ticks = _fill_targets(assembly, max(1, BATCH // ratio))
        if ticks == 0:
            return S.BAD_REFERENCE
        if assembly.law.compiled:
            status = loop.run_steps(L.address, ticks * ratio)
        else:
            status = _run_python(assembly, ticks * ratio)
        if progress is not None:
            progress(L.step * L.dt, duration)
    return status


def _fill_targets(assembly: Assembly, ticks: int) -> int:
    """Sample the reference for the next control ticks; how many of them can be run before it stops being finite."""
    L, run = assembly.loop, assembly.run
    if assembly.sampled and L.tick_count == 0:
        return ticks
    numbers = np.arange(L.tick_count, min(L.tick_count + ticks, L.steps // L.ratio + 1))
    q_start, _ = run.start()
    rows: Array = np.asarray(run.reference.sample(numbers * L.period, run.robot, q_start))
    if rows.shape != (len(numbers), L.target.size):
        raise BadShape(f"the reference must give {(len(numbers), L.target.size)} numbers, got {rows.shape}")
    L.targets[: len(numbers)] = rows
    L.first_target = L.tick_count
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad) == 0:
        return ticks
    L.where = int(bad[0, 1])
    return int(bad[0, 0])


def _run_python(assembly: Assembly, steps: int) -> int:
    """The same loop with a law in plain Python between its two compiled halves."""
    L, law, status = assembly.loop, assembly.law, S.RUNNING
    tick = ReadOnly(L.tick)
    for _ in range(steps):
        due = loop.before_law(L.address)
        if due and not L.blind:
            law.take(law.function(tick, law.gains, law.memory))
        status = loop.after_law(L.address, due)
        if status != S.RUNNING:
            break
    return status
