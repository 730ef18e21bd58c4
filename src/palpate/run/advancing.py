"""Stepping of an assembled run: the exact loop, the compiled one, or the one around plain Python, and its targets."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from palpate.checks import Array
from palpate.errors import BadShape
from palpate.run.assemble.assemble import BATCH, Assembly
from palpate.run.loop import loop
from palpate.run.stepping import Ending, run_python

_TARGETS_AHEAD = 512  # control ticks whose targets are sampled at least: most of it is the same for one or many
_PYTHON_SLICE = 64  # physics steps between two looks: what is kept of them is moved in half a millisecond


def stepper(assembly: Assembly, ending: Ending) -> Callable[[int], int]:
    """The stepping function of a run: the exact loop, the compiled one, or the one around a law in Python."""
    if assembly.exact is not None:
        return assembly.exact.stepper(assembly, ending)
    if assembly.compiled:
        return _Slices(assembly).run
    return lambda steps: run_python(assembly, min(steps, _PYTHON_SLICE), ending)


class _Slices:
    """The compiled loop in slices of about a fifth of a second, so that Ctrl-C and the progress bar are never late.

    How a run is sliced changes nothing in it.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._call, self._most = assembly.rescues.call, 1024

    def run(self, steps: int) -> int:
        """Some of the next `steps` physics steps."""
        began = time.perf_counter()
        status = self._call(loop.run_steps, min(steps, self._most))
        took = time.perf_counter() - began
        self._most = int(np.clip(self._most * (2.0 if took < 0.1 else 0.5 if took > 0.3 else 1.0), 1, BATCH))
        return status


def fill_targets(assembly: Assembly, ticks: int, ending: Ending) -> int:
    """Sample the reference for the next control ticks; how many of them can be run before it stops being finite.

    Some more are sampled where few are asked for, and kept for the next call.
    """
    L, run = assembly.loop, assembly.run
    first, last = assembly.sampled_span
    if assembly.sampled is run.reference and L.first_target == first <= L.tick_count < last:
        return ticks if last > L.steps // L.ratio else min(ticks, last - L.tick_count)
    assembly.sampled = None
    ahead = min(max(ticks, _TARGETS_AHEAD), max(len(L.targets), ticks))
    numbers = np.arange(L.tick_count, min(L.tick_count + ahead, L.steps // L.ratio + 1))
    q_start, _ = run.start()
    with ending.noting("reference", L.step):
        sampled = run.reference.sample(numbers * L.period, run.robot, q_start)
    if ending.raised is not None:
        return 0
    rows: Array = np.asarray(sampled)
    if rows.shape != (len(numbers), L.target.size):
        raise BadShape(f"the reference must give {(len(numbers), L.target.size)} numbers, got {rows.shape}")
    L.targets[: len(numbers)] = rows
    L.first_target = L.tick_count
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad) == 0:
        assembly.sampled, assembly.sampled_span = run.reference, (L.tick_count, L.tick_count + len(numbers))
        return ticks
    L.where = int(bad[0, 1])
    return min(int(bad[0, 0]), ticks)
