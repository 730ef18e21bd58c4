"""The runs that a sweep makes: from the number of a run to the values of its parameters and its seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.study.plans.axis import Axis, Value

CELLS = 32  # along a side of a map, where nothing else is said
ONCE = ("saltelli", "map", "rare")  # methods that make each run once
METHODS = ("grid", "random", "latin", "sobol", "saltelli", "map", "rare")
INDEPENDENT = ("random", "saltelli")  # whose draws a probability can be read from
MOST_RUNS = 100_000_000
DEFAULT_RUNS = 1000


@dataclass(frozen=True)
class PlannedRun:
    """One run to make.

    Attributes:
        values: of the parameters, in their order.
        seed: of sensor noise.
        point: runs with the same values have the same one.
        repeat: which of them.
        stage, weight: of adaptive sweeps; what a run counts where the draw was not the plain one.
        refusal: why it is not run at all, or None.
    """

    values: tuple[Value, ...]
    seed: int
    point: int
    repeat: int = 0
    stage: int = 0
    weight: float = 1.0
    refusal: str | None = None


@dataclass(frozen=True)
class PlanStage:
    """Runs that can be made at once: numbers first … first + count − 1, and what each of them is."""

    first: int
    count: int
    points: Callable[[int, int], list[PlannedRun]] = field(repr=False)


def planned_runs(method: str | None, axes: Sequence[Axis], runs: int | None, repeat: int) -> tuple[str, int]:
    """The method and its number of runs, from what was asked for.

    Without a method a grid where every parameter has a list, random draws otherwise.
    """
    endless = [axis.key for axis in axes if axis.values is None]
    method = method or ("grid" if not endless and runs is None else "random")
    if repeat < 1:
        raise InvalidInput(f"--repeat must be at least 1, got {repeat}")
    if repeat > 1 and method in ONCE:
        raise InvalidInput(f"method {method} makes each run once; --repeat must be 1")
    if method == "map" and runs is not None:
        raise InvalidInput("a map chooses its own runs; its fineness is the n of start:stop:n", hint="leave --runs out")
    if method == "grid" and endless:
        raise InvalidInput(
            f"a grid needs a range with a number of values, or a list, for {', '.join(endless)}",
            hint="write start:stop:n, or choose --method random",
        )
    asked = DEFAULT_RUNS if runs is None else runs
    count = -(-asked // repeat) * repeat
    if method == "map":
        count = 4 * map_cells(axes) ** 2 // 10 + 100
    elif method == "grid":
        count = prod(len(axis.values or ()) for axis in axes) * repeat
        if runs is not None and runs != count:
            raise InvalidInput(f"this grid has {count} runs, not {runs}", hint="leave --runs out, or --method random")
    elif method == "saltelli" and asked > 0:
        row = len(axes) + 2
        count = max(2, -(-asked // row)) * row
    if not 1 <= count <= MOST_RUNS:
        raise InvalidInput(f"a sweep makes 1 to {MOST_RUNS} runs, got {count}", hint="change --runs")
    return method, count


def map_cells(axes: Sequence[Axis]) -> int:
    """Finest cells along a side of a map."""
    return max((len(axis.values) - 1 for axis in axes if axis.values), default=CELLS)


def chances(seed: int, point: int, count: int) -> list[float]:
    """Independent numbers from (0, 1) of one point."""
    return np.random.default_rng([seed, point]).random(count).tolist()


def run_seed(seed: int, point: int, repeat: int) -> int:
    """The noise seed of one run, below 2³¹ so that a command stays readable."""
    return int(np.random.default_rng([seed, point, repeat, 1]).integers(2**31))


def saltelli_row(row: Sequence[float], part: int) -> list[float]:
    """Part 0: row A, 1…d: A with that column of B, d + 1: row B; `row` holds A and then B."""
    d = len(row) // 2
    if part == d + 1:
        return list(row[d:])
    return [row[d + i] if i == part - 1 else row[i] for i in range(d)]


@lru_cache(maxsize=4)
def latin_orders(seed: int, points: int, d: int) -> list[Array]:
    """A permutation of the strata for each parameter."""
    return [np.random.default_rng([seed, i, 2]).permutation(points).astype(np.int64) for i in range(d)]


@lru_cache(maxsize=8)
def sobol_block(seed: int, d: int, block: int) -> Array:
    """A block of `SOBOL_BLOCK` points of a scrambled Sobol sequence."""
    import warnings

    from scipy.stats import qmc

    engine = qmc.Sobol(d, scramble=True, rng=np.random.default_rng([seed, 3]))
    if block:
        engine.fast_forward(block * SOBOL_BLOCK)
    with warnings.catch_warnings(action="ignore"):  # a sweep need not be a power of two long
        return engine.random(SOBOL_BLOCK)


SOBOL_BLOCK = 1024
