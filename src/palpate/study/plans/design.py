"""Which runs a sweep makes: from the number of a run to the values of its parameters and its seed.

Every run is a function of its number alone, so that chunks may be run anywhere, in any order, and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.study.plans.axis import Axis, Value

METHODS = ("grid", "random", "latin", "sobol", "saltelli", "map", "rare")
INDEPENDENT = ("random", "saltelli")  # whose draws a probability can be read from
MOST_RUNS = 100_000_000
DEFAULT_RUNS = 1000


@dataclass(frozen=True)
class Point:
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
class Stage:
    """Runs that can be made at once: numbers first … first + count − 1, and what each of them is."""

    first: int
    count: int
    points: Callable[[int, int], list[Point]] = field(repr=False)


@dataclass(frozen=True)
class Design:
    """A sweep whose runs are known beforehand.

    Attributes:
        method: grid (every combination), random (independent), latin (hypercube), sobol (scrambled sequence) or
            saltelli (independent rows A, B and their mixtures, for sensitivity).
        axes: the parameters.
        points: how many different ones; a grid knows itself.
        repeat: runs of each, with different seeds.
        seed: of the draws.
        own_seed: the scenario's.
    """

    method: str
    axes: tuple[Axis, ...]
    points: int
    repeat: int
    seed: int
    own_seed: int

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.points * self.repeat

    def stage(self) -> Stage:
        """All of it at once."""
        return Stage(0, self.runs, self.between)

    def between(self, first: int, stop: int) -> list[Point]:
        """Runs number first … stop − 1."""
        return [self._run(number) for number in range(first, stop)]

    def _run(self, number: int) -> Point:
        point, repeat = divmod(number, self.repeat)
        if self.method == "grid":
            return Point(self._grid(point), self.own_seed + repeat, point, repeat)
        values = tuple(axis.at(u) for axis, u in zip(self.axes, self._chances(point)))
        return Point(values, run_seed(self.seed, self._seeded(point), repeat), point, repeat)

    def _grid(self, point: int) -> tuple[Value, ...]:
        """The last parameter changes fastest."""
        places = np.unravel_index(point, [len(axis.values or ()) for axis in self.axes])
        return tuple((axis.values or ())[int(index)] for axis, index in zip(self.axes, places))

    def _chances(self, point: int) -> Sequence[float]:
        d = len(self.axes)
        if self.method == "latin":
            orders = _orders(self.seed, self.points, d)
            return [(order[point] + u) / self.points for order, u in zip(orders, chances(self.seed, point, d))]
        if self.method == "sobol":
            return _sobol(self.seed, d, point)
        if self.method == "saltelli":
            row, part = divmod(point, d + 2)
            return mixed(chances(self.seed, row, 2 * d), part)
        return chances(self.seed, point, d)

    def _seeded(self, point: int) -> int:
        """Runs A and A with a column of B share their noise; B has its own, so that A and B are independent draws."""
        if self.method != "saltelli":
            return point
        row, part = divmod(point, len(self.axes) + 2)
        return 2 * row + (part == len(self.axes) + 1)


def design(
    method: str | None, axes: tuple[Axis, ...], runs: int | None, repeat: int, seed: int, own_seed: int
) -> Design:
    """A design from what was asked for; a grid where every parameter has a list, random otherwise."""
    gridded = all(axis.values is not None for axis in axes)
    chosen = method or ("grid" if gridded and runs is None else "random")
    if repeat < 1:
        raise InvalidInput(f"--repeat must be at least 1, got {repeat}")
    if chosen == "grid":
        return _grid_design(axes, runs, repeat, seed, own_seed)
    wanted = DEFAULT_RUNS if runs is None else runs
    if not 1 <= wanted <= MOST_RUNS:
        raise InvalidInput(f"--runs must lie between 1 and {MOST_RUNS}, got {wanted}")
    points = -(-wanted // repeat)
    if chosen == "saltelli":
        if repeat > 1:
            raise InvalidInput("saltelli makes each run once; --repeat must be 1")
        points = max(2, -(-wanted // (len(axes) + 2))) * (len(axes) + 2)
    return Design(chosen, axes, points, repeat, seed, own_seed)


def _grid_design(axes: tuple[Axis, ...], runs: int | None, repeat: int, seed: int, own_seed: int) -> Design:
    endless = [axis.key for axis in axes if axis.values is None]
    if endless:
        raise InvalidInput(
            f"a grid needs a range with a number of values, or a list, for {', '.join(endless)}",
            hint="write start:stop:n, or choose --method random",
        )
    points = prod(len(axis.values or ()) for axis in axes)
    if runs is not None and runs != points * repeat:
        raise InvalidInput(
            f"this grid has {points * repeat} runs, not {runs}", hint="leave --runs out, or choose --method random"
        )
    if points * repeat > MOST_RUNS:
        raise InvalidInput(f"this grid has {points * repeat} runs, at most {MOST_RUNS} are made")
    return Design("grid", axes, points, repeat, seed, own_seed)


def chances(seed: int, point: int, count: int) -> list[float]:
    """Independent numbers from (0, 1) of one point."""
    return np.random.default_rng([seed, point]).random(count).tolist()


def run_seed(seed: int, point: int, repeat: int) -> int:
    """The noise seed of one run, below 2³¹ so that a command stays readable."""
    return int(np.random.default_rng([seed, point, repeat, 1]).integers(2**31))


def mixed(row: Sequence[float], part: int) -> list[float]:
    """Part 0: row A, 1…d: A with that column of B, d + 1: row B; `row` holds A and then B."""
    d = len(row) // 2
    if part == d + 1:
        return list(row[d:])
    return [row[d + i] if i == part - 1 else row[i] for i in range(d)]


@lru_cache(maxsize=4)
def _orders(seed: int, points: int, d: int) -> list[Array]:
    """A permutation of the strata for each parameter."""
    return [np.random.default_rng([seed, i, 2]).permutation(points).astype(np.int64) for i in range(d)]


@lru_cache(maxsize=8)
def _sobol_block(seed: int, d: int, block: int) -> Array:
    import warnings

    from scipy.stats import qmc

    engine = qmc.Sobol(d, scramble=True, rng=np.random.default_rng([seed, 3]))
    if block:
        engine.fast_forward(block * _BLOCK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a sweep need not be a power of two long
        return engine.random(_BLOCK)


_BLOCK = 1024


def _sobol(seed: int, d: int, point: int) -> list[float]:
    return _sobol_block(seed, d, point // _BLOCK)[point % _BLOCK].tolist()
