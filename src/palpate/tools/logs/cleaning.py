"""Rows of a recording on one even grid: what was wrong with them is found, told and mended.

Order of work: rows with a missing clock go, resets of the clock and long gaps cut the recording into runs, rows that
repeat the one before them and single rows that jump away and back go, the rest is put on a grid of the median period by
cubic interpolation, and every quantity passes the same zero-phase low-pass filter (Butterworth, order 4, forwards and
backwards), so that model and measurement are compared at equal phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.signal import butter, sosfiltfilt

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.logs.columns import Log

GAP = 8.0  # periods without a row that cut a recording
SHORTEST = 32  # rows of a run that is kept
ORDER = 4
SPIKE = 20.0  # times what 99 % of the rows differ from their neighbours by: a row that jumps away and back
STANDING = 2e-3  # rad/s: below, an arm may well repeat its numbers
CUTOFF = 10.0  # Hz, of the filter unless asked otherwise
SHARE = 0.2  # of the row rate: the highest cutoff


@dataclass(frozen=True)
class Filter:
    """A zero-phase low-pass: Butterworth of order 4, run forwards and backwards.

    Attributes:
        cutoff: Hz, where one pass takes 3 dB.
        period: s, of the grid.
    """

    cutoff: float
    period: float

    def __call__(self, values: Array) -> Array:
        """The filtered values, along the first axis."""
        sections = butter(ORDER, self.cutoff, fs=1.0 / self.period, output="sos")
        reach = min(len(values) - 1, int(3.0 / (self.cutoff * self.period)))
        return sosfiltfilt(sections, values, axis=0, padlen=reach)

    @property
    def edge(self) -> int:
        """Rows at each end that the filter's start disturbs."""
        return int(np.ceil(0.7 / (self.cutoff * self.period)))

    def __str__(self) -> str:
        return f"zero-phase Butterworth low-pass, order {ORDER} run both ways, {self.cutoff:.3g} Hz"


@dataclass(frozen=True)
class Run:
    """One uninterrupted stretch on an even grid, unfiltered."""

    time: Array
    q: Array
    v: Array
    torque: Array
    more: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Motion:
    """A cleaned recording.

    Attributes:
        runs: uninterrupted stretches, each on the grid.
        period: s, of the grid.
        filter: what every quantity passes before it is compared.
        remarks: what was wrong with the rows, and what was done.
        counts: how many rows were repeated, missing, without a clock …, by name.
    """

    runs: tuple[Run, ...]
    period: float
    filter: Filter
    remarks: tuple[str, ...]
    counts: dict[str, float]

    @property
    def longest(self) -> Run:
        """The run of the most rows."""
        return max(self.runs, key=lambda run: len(run.time))

    @property
    def rows(self) -> int:
        """Rows on the grid, of all runs."""
        return sum(len(run.time) for run in self.runs)


def cleaned(log: Log, cutoff: float | None = None) -> Motion:
    """Put a recording on one even grid.

    Args:
        log: rows as they were written.
        cutoff: Hz of the low-pass; 10 Hz if not given, never more than a fifth of the row rate.

    Raises:
        InvalidInput: too little is left.
    """
    counts: dict[str, float] = {"rows": len(log.time)}
    keep = _with_numbers(log, counts)
    cuts: dict[str, Array] = {}
    pieces = _runs(log.time, keep, log.starts, cuts)
    counts |= {name: len(instants) for name, instants in cuts.items()}
    pieces = [_without_repeats(log, rows, counts) for rows in pieces]
    steps = [np.diff(log.time[rows]) for rows in pieces if len(rows) > 1]
    if not steps:
        raise InvalidInput(f"{log.source}: no two rows of the recording follow each other")
    step = np.concatenate(steps)
    period = _period(step)
    counts |= {"shortest_step": float(step.min()), "longest_step": float(step.max()), "jitter": float(np.std(step))}
    counts["missing"] = int(np.sum(np.maximum(np.round(step / period) - 1, 0)))
    runs = tuple(_on_grid(log, rows, period) for rows in pieces if len(rows) >= SHORTEST)
    counts["short_runs"] = sum(len(rows) < SHORTEST for rows in pieces)
    if not runs:
        raise InvalidInput(f"{log.source}: no stretch of {SHORTEST} rows is left after cleaning")
    highest = SHARE / period
    chosen = Filter(min(CUTOFF if cutoff is None else cutoff, highest), period)
    _clock_drift(log, keep, counts)
    return Motion(runs, period, chosen, tuple(_remarks(counts, cuts, (period, chosen, len(runs)))), counts)


def _with_numbers(log: Log, counts: dict[str, float]) -> Array:
    """Indices of the rows that have a clock, positions and torques."""
    parts = [log.time[:, None], log.q, log.torque] + ([] if log.v is None else [log.v])
    good = np.all([np.isfinite(part).all(axis=1) for part in parts], axis=0)
    bad = ~good
    if log.tau is None:  # before a start, and at the end, there is no row that a command could be moved up from
        last = [*(row - 1 for row in log.starts), -1]
        bad[last] &= not bad[last].all()
    counts["without_numbers"] = int(bad.sum())
    return np.flatnonzero(good)


def _runs(time: Array, keep: Array, starts: tuple[int, ...], cuts: dict[str, Array]) -> list[Array]:
    """Rows of each run: cut where another file begins, the clock goes back, or stands away for long.

    `cuts` takes the instants before resets and gaps, s from the first row.
    """
    step = np.diff(time[keep])
    period = float(np.median(step[step > 0])) if np.any(step > 0) else 0.0
    back, gap = step < -0.5 * period, step > GAP * max(period, float(np.percentile(step, 95)))
    begins = np.isin(np.arange(1, len(keep)), np.searchsorted(keep, starts))
    for name, cut in (("resets", back), ("gaps", gap)):
        cuts[name] = time[keep][:-1][cut & ~begins] - time[keep[0]]
    return np.split(keep, np.flatnonzero(back | gap | begins) + 1)


def _without_repeats(log: Log, rows: Array, counts: dict[str, float]) -> Array:
    """Rows without those whose clock does not advance, or whose numbers all repeat while the arm moves."""
    time = log.time[rows]
    advanced = np.concatenate([[True], np.diff(time) > 0])
    counts["same_time"] = counts.get("same_time", 0) + int((~advanced).sum())
    rows = rows[advanced]
    stale = repeats(log, rows)
    counts["repeated"] = counts.get("repeated", 0) + int(stale.sum())
    rows = rows[~stale]
    jumps = _spikes(log, rows)
    counts["spikes"] = counts.get("spikes", 0) + int(jumps.sum())
    return rows[~jumps]


def _spikes(log: Log, rows: Array) -> Array:
    """Single rows that lie far off the line between their neighbours, which agree: a jump away and back."""
    jumps = np.zeros(len(rows), dtype=bool)
    if len(rows) < SHORTEST:
        return jumps
    t = log.time[rows]
    share = ((t[1:-1] - t[:-2]) / (t[2:] - t[:-2]))[:, None]
    for values in (log.q[rows], log.torque[rows], *([] if log.v is None else [log.v[rows]])):
        across = values[2:] - values[:-2]
        off = np.abs(values[1:-1] - values[:-2] - share * across)
        usual = np.percentile(off, 99, axis=0)
        far = (off > SPIKE * usual) & (usual > 0) & (np.abs(across) < 0.5 * off)
        jumps[1:-1] |= far.any(axis=1)
    return jumps


def repeats(log: Log, rows: Array | None = None) -> Array:
    """Which rows hold the very numbers of the one before while the arm moves: positions, velocities and torques."""
    parts = [log.q, log.torque] + ([] if log.v is None else [log.v])
    same = np.zeros(len(log.time) if rows is None else len(rows), dtype=bool)
    same[1:] = True
    for part in parts:
        values = part if rows is None else part[rows]
        for column in values.T:
            same[1:] &= column[1:] == column[:-1]
    if log.v is None:
        return same & ~np.concatenate([[False], same[:-1]])
    speed = log.v if rows is None else log.v[rows]
    return same & (np.abs(speed).max(axis=1) > STANDING)


def _period(step: Array) -> float:
    """The grid's period: the median step; where the steps vary widely a shorter one, so that no row is lost."""
    median = float(np.median(step))
    return median if np.percentile(step, 25) > 0.6 * median else float(np.percentile(step, 25))


def _on_grid(log: Log, rows: Array, period: float) -> Run:
    time = log.time[rows]
    grid = np.arange(time[0], time[-1] + 1e-9 * period, period)
    even = len(grid) == len(time) and np.allclose(grid, time, rtol=0, atol=1e-3 * period)
    spline = None if even and log.v is not None else CubicSpline(time, log.q[rows])
    put = (lambda values: values[rows]) if even else (lambda values: PchipInterpolator(time, values[rows])(grid))
    more = {}
    for name in ("wrench", "position_desired", "tau_command", "q_desired", "q_motor"):
        values = getattr(log, name)
        if values is not None and np.isfinite(values[rows[:-1]]).all():
            whole = values.copy()
            whole[rows[-1]] = np.where(np.isfinite(whole[rows[-1]]), whole[rows[-1]], whole[rows[-2]])
            between = CubicSpline if name == "q_motor" else PchipInterpolator  # as q is, for their difference counts
            more[name] = whole[rows] if even else between(time, whole[rows])(grid)
    q = log.q[rows] if even or spline is None else spline(grid)
    v = put(log.v) if log.v is not None else _rate(spline, grid)
    return Run(grid, q, v, put(log.torque), more)


def _rate(spline: CubicSpline | None, grid: Array) -> Array:
    return np.asarray(spline(grid, 1)) if spline is not None else np.empty(0)


def _clock_drift(log: Log, keep: Array, counts: dict[str, float]) -> None:
    """How the second clock runs against the first: rate in ppm, spread about the line in s."""
    if log.clock is None:
        return
    rows = keep[np.isfinite(log.clock[keep])]
    time, clock = log.time[rows], log.clock[rows]
    if len(rows) < SHORTEST or np.ptp(time) <= 0:
        return
    slope, offset = np.polyfit(time - time[0], clock - clock[0], 1)
    counts["clock_rate_ppm"] = 1e6 * float(slope - 1.0)
    counts["clock_spread"] = float(np.std(clock - clock[0] - offset - slope * (time - time[0])))


def _at(instants: Array) -> str:
    """When something happened: the first three instants, s from the first row."""
    told = ", ".join(f"{t:.4g}" for t in instants[:3])
    return f"after {told}{', …' if len(instants) > 3 else ''} s"


def _remarks(counts: dict[str, float], cuts: dict[str, Array], grid: tuple[float, Filter, int]) -> Iterator[str]:
    period, chosen, runs = grid
    rows = counts["rows"]
    steps = f"{1e3 * counts['shortest_step']:.3g} to {1e3 * counts['longest_step']:.3g} ms"
    yield f"{rows:.0f} rows, {1 / period:.4g} Hz; steps of {steps}"
    told = {
        "without_numbers": ("row", "without a number (NaN): left out"),
        "same_time": ("row", "whose clock does not advance: left out"),
        "repeated": ("row", f"equal to the one before ({counts.get('repeated', 0) / rows:.1%}): left out"),
        "spikes": ("row", "far off the rows around it: left out"),
        "missing": ("row", "missing: interpolated"),
        "resets": ("reset", f"of the clock {_at(cuts['resets'])}: cut there"),
        "gaps": ("long gap", f"{_at(cuts['gaps'])}: cut there"),
        "short_runs": ("stretch", f"of fewer than {SHORTEST} rows: left out"),
    }
    for key, (noun, text) in told.items():
        if counts.get(key):
            many = "" if counts[key] == 1 else "es" if noun.endswith("ch") else "s"
            yield f"{counts[key]:.0f} {noun}{many} {text}"
    if abs(counts.get("clock_rate_ppm", 0.0)) > 1.0 or counts.get("clock_spread", 0.0) > 0.1 * period:
        yield (
            f"the second clock runs {counts['clock_rate_ppm']:+.0f} ppm against the first,"
            f" spread {1e3 * counts['clock_spread']:.3g} ms; the first is used"
        )
    yield f"{'one run' if runs == 1 else f'{runs} runs'} on a grid of {1e3 * period:.4g} ms; {chosen}"
