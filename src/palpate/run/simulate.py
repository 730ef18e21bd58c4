"""simulate: a run in, a trace out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from palpate.checks import Array
from palpate.display import notebook_progress
from palpate.errors import PalpateNote
from palpate.run.advancing import fill_targets, stepper
from palpate.run.after.finish import Read, bare_trace, trace_of, unfinished
from palpate.run.after.keep import Keeper, Partial
from palpate.run.again import assembled, keep
from palpate.run.assemble.assemble import BATCH, Assembly, assemble
from palpate.run.before.checks import check_start
from palpate.run.build import Source, as_run
from palpate.run.loop import state as S
from palpate.run.run import Run
from palpate.run.stepping import INTERRUPTED, RAISED, Ending
from palpate.scenario.checking.checks import remarks
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.trace import Trace

Progress = Callable[[float, float], None]


class Watch(Protocol):
    """Who follows a run while it computes; it only reads, and how a run is sliced for it changes nothing in the run."""

    steps: int  # physics steps between two calls, at most

    def __call__(self, keeper: Keeper) -> None:
        """Look at what has been recorded so far."""
        ...


def simulate(run: Source, *, progress: Progress | None = None, partial: str | os.PathLike[str] | None = None) -> Trace:
    """Run a scenario and record what happened.

    Args:
        run: a scenario, its shipped name or file, or a `Run` put together in Python.
        progress: called with (simulated time, duration) between batches; in a notebook a bar, if not given.
        partial: a file (.parts) that a run of more than two seconds keeps up to date on its way, so that not even a
            killed process loses more than its last seconds; `load_trace` reads it. It is left behind.

    Returns:
        The trace; `trace.outcome` says how the run ended. A run that diverged, was interrupted, whose law raised or
        whose physics engine gave up keeps its trace up to there.

    Warns:
        PalpateNote: for each of the run's warnings, for settings that nothing reads, and for a surface that was never
            touched; none for a sound run.
    """
    source = load_scenario(run) if isinstance(run, str | os.PathLike) else run
    trace = _executed(source, progress or notebook_progress(), partial)
    _give_notes(source, trace)
    return trace


def _executed(source: Source, progress: Progress | None, partial: str | os.PathLike[str] | None) -> Trace:
    """The trace of a run; of a scenario that was the last one to run, too, with the assembly of that run."""
    if not isinstance(source, Scenario):
        return execute(assemble(as_run(source)), progress, partial)
    kept = assembled(source)
    trace = execute(kept.assembly, progress, partial)
    if trace.outcome.ok:
        keep(source, kept)
    return trace


def _give_notes(source: Source, trace: Trace) -> None:
    """Emit the warnings of a run as Python warnings at the caller of `simulate`; a sound run has none."""
    before = remarks(source.with_code()) if isinstance(source, Scenario) else []
    for text in dict.fromkeys((*trace.warnings, *before, *trace.facts.notes)):
        warnings.warn(text, PalpateNote, stacklevel=3)


def simulate_many(runs: Sequence[Source], *, threads: int = 2) -> list[Trace]:
    """Run many in threads; the compiled loop releases the interpreter. Same traces as one by one."""
    sources = [load_scenario(run) if isinstance(run, str | os.PathLike) else run for run in runs]
    pool = ThreadPoolExecutor(max_workers=max(1, threads))
    try:
        traces = list(pool.map(simulate_quietly, sources))
    finally:
        pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C the runs not yet begun are left out
    for source, trace in zip(sources, traces):
        _give_notes(source, trace)
    return traces


def simulate_quietly(run: Source) -> Trace:
    """The same trace without Python warnings, for callers that print its notes themselves."""
    return execute(assemble(as_run(run)), notebook_progress())


def execute(
    assembly: Assembly,
    progress: Progress | None = None,
    partial: str | os.PathLike[str] | None = None,
    ended: Callable[[], None] = lambda: None,
    watch: Watch | None = None,
) -> Trace:
    """Check the start of an assembled run, step it to its end, and hand out its trace. An assembly runs once.

    `ended` is called after the last step, before the trace is made; `watch` follows the run.
    """
    prediction = check_start(assembly)
    keeper, duration = Keeper(assembly), assembly.run.clock.duration
    file = Partial(keeper, partial, lambda: unfinished(assembly, prediction))

    def look() -> None:
        file.update()
        if progress is not None:
            progress(assembly.loop.step * assembly.loop.dt, duration)
        if watch is not None:
            watch(keeper)

    try:
        ending = _run(assembly, keeper, look, BATCH if watch is None else watch.steps)
    finally:
        ended()
        file.close()
    if file.trouble is not None:
        prediction.warnings.append(file.trouble)
    try:
        return trace_of(assembly, ending, keeper, prediction, _Repeats())
    except KeyboardInterrupt:  # too late to interrupt the run: it is kept
        return trace_of(assembly, ending, keeper, prediction)


class _Repeats:
    """Runs once more, without forecast and trace, until the user wants no more of it."""

    def __init__(self) -> None:
        self.interrupted = False

    def __call__(self, run: Run) -> tuple[Assembly, Mapping[str, Array]] | None:
        """A run and its channels; None where it does not come to its end."""
        if self.interrupted:
            return None
        assembly = assemble(run)
        keeper = Keeper(assembly)
        ending = _run(assembly, keeper)
        self.interrupted = ending.status == INTERRUPTED
        keeper.take()
        return (assembly, keeper.named) if ending.status == S.COMPLETED else None


def execute_bare(
    assembly: Assembly,
    *,
    singular: bool = True,
    look: Callable[[], None] = lambda: None,
    read: Read | None = None,
) -> Trace:
    """The same for callers that need numbers and no report: nothing is predicted, and few facts are noted.

    Args:
        assembly: ready to start.
        singular: whether to look for the smallest singular value on the way.
        look: called between slices of about a fifth of a second; what it raises ends the run.
        read: the channels that the run has, where it keeps some only, and a set that takes the names of those that are
            read; to read another one raises NotKept.
    """
    prediction = check_start(assembly, predict=False)
    keeper = Keeper(assembly)
    ending = _run(assembly, keeper, look)
    keeper.take()
    return bare_trace(assembly, ending, keeper.named, prediction, singular=singular, read=read)


def _run(assembly: Assembly, keeper: Keeper, look: Callable[[], None] = lambda: None, most: int = BATCH) -> Ending:
    """Step a run to its end, at most `most` physics steps between two looks at it."""
    L, ending = assembly.loop, Ending(S.RUNNING)
    step = stepper(assembly, ending)
    try:
        while ending.status == S.RUNNING:
            left = fill_targets(assembly, max(1, BATCH // L.ratio), ending) * L.ratio
            if left == 0:
                ending.status = S.BAD_REFERENCE if ending.raised is None else RAISED
            advance(step, left, keeper, ending, look, most)
    except KeyboardInterrupt:
        ending.interrupted()
    return ending


def advance(
    step: Callable[[int], int],
    steps: int,
    keeper: Keeper,
    ending: Ending,
    look: Callable[[], None] = lambda: None,
    most: int = BATCH,
) -> None:
    """Take up to `steps` physics steps and keep all samples; at most `most` between two looks."""
    L = keeper.assembly.loop
    while steps > 0 and ending.status == S.RUNNING:
        began = L.step
        ending.status = step(min(steps, most))
        steps -= max(L.step - began, 1)
        keeper.take()
        look()
