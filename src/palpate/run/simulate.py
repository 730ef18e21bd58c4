"""simulate: the parts of a run in, a trace out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from palpate.checks import Array
from palpate.errors import BadShape
from palpate.run import loop
from palpate.run import state as S
from palpate.run.assemble import BATCH, Assembly, assemble
from palpate.run.build import build
from palpate.run.checks import check_start
from palpate.run.finish import INTERRUPTED, trace_of
from palpate.run.parts import Parts
from palpate.scenario.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.trace import Trace

Progress = Callable[[float, float], None]


def simulate(parts: Parts | Scenario | str | os.PathLike[str], *, progress: Progress | None = None) -> Trace:
    """Run a scenario and record what happened.

    Args:
        parts: a scenario, its shipped name or file, or parts put together in Python.
        progress: called with (simulated time, duration) between batches.

    Returns:
        The trace; `trace.outcome` says how the run ended. A diverged or interrupted run keeps its trace up to there.
    """
    return run(assemble(as_parts(parts)), progress)


def as_parts(source: Parts | Scenario | str | os.PathLike[str]) -> Parts:
    """The parts of a run, from themselves, a scenario, or its name or file."""
    if isinstance(source, str | os.PathLike):
        source = load_scenario(source)
    return build(source) if isinstance(source, Scenario) else source


def simulate_many(runs: Sequence[Parts], *, threads: int = 2) -> list[Trace]:
    """Run many parts in threads; the compiled loop releases the interpreter. Same traces as one by one."""
    pool = ThreadPoolExecutor(max_workers=max(1, threads))
    try:
        return list(pool.map(simulate, runs))
    finally:
        pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C the runs not yet begun are left out


def run(assembly: Assembly, progress: Progress | None = None) -> Trace:
    """Check the start of an assembled run, step it to its end, and hand out its trace. An assembly runs once."""
    warnings = check_start(assembly)
    try:
        status = _run(assembly, progress)
    except KeyboardInterrupt:
        status = INTERRUPTED
    return trace_of(assembly, status, warnings)


def _run(assembly: Assembly, progress: Progress | None) -> int:
    L, duration = assembly.loop, assembly.parts.duration
    ratio = int(L.i[S.I_RATIO])
    status = S.RUNNING
    while status == S.RUNNING:
        ticks = _fill_targets(assembly, max(1, BATCH // ratio))
        if ticks == 0:
            return S.BAD_REFERENCE
        if assembly.law.compiled:
            status = loop.run_steps(assembly.table, assembly.law.function, ticks * ratio)
        else:
            status = _run_python(assembly, ticks * ratio)
        if progress is not None:
            progress(float(L.x[S.X_TIME]), duration)
    return status


def _fill_targets(assembly: Assembly, ticks: int) -> int:
    """Sample the reference for the next control ticks; how many of them can be run before it stops being finite."""
    L, parts = assembly.loop, assembly.parts
    first = int(L.i[S.I_TICK])
    last = parts.steps() // parts.ratio()
    numbers = np.arange(first, min(first + ticks, last + 1))
    q_start, _ = parts.start()
    rows: Array = np.asarray(parts.reference.sample(numbers * L.x[S.X_PERIOD], parts.robot, q_start))
    if rows.shape != (len(numbers), L.targets.shape[1]):
        raise BadShape(f"the reference must give {(len(numbers), L.targets.shape[1])} numbers, got {rows.shape}")
    L.targets[: len(numbers)] = rows
    L.i[S.I_FIRST_TARGET] = first
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad) == 0:
        return ticks
    L.i[S.I_WHERE] = bad[0, 1]
    return int(bad[0, 0])


def _run_python(assembly: Assembly, steps: int) -> int:
    """The same loop with a law in plain Python between its two compiled halves."""
    L, table, status = assembly.loop, assembly.table, S.RUNNING
    for _ in range(steps):
        due = loop.before_law(table)
        if due:
            assembly.law.function(
                L.x[S.X_TIME], L.x[S.X_PERIOD], L.q, L.v, L.M, L.bias, L.gravity, L.position, L.rotation, L.J, L.drift,
                L.wrench, L.tau_measured, L.target, L.gains, L.memory, L.terms,
            )  # fmt: skip
        status = loop.after_law(table, due)
        if status != S.RUNNING:
            break
    return status
