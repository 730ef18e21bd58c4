"""The torque balance: weighted least squares of measured torques on the model's columns, with honest intervals.

Rows are filtered alike on both sides. What a motion cannot tell apart is found by the variance inflation of its
columns and left at its nominal value. Intervals come from blocks of rows, whose length follows the residual's
autocorrelation: the larger of the block bootstrap's and the delete-one-block jackknife's deviation, times Student's t.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.stats import t as student

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.logs.cleaning import Filter, Motion
from palpate.tools.logs.model import Arm, load_regressor

INFLATION = (
    1e4  # of a variance by other columns, from which on 1 % of a column is its own, which a model may well err by
)
QUIET = 0.01  # rad/s: below, a joint may stick, and its row is left out
PIECE = 1 << 13  # rows whose columns are held at once, besides those that are kept
MOST_ROWS = 24_000  # that are compared
RESAMPLES = 300
_STRETCH = 1 << 11  # rows that are weighted at once
FEWEST_BLOCKS, MOST_BLOCKS = 12, 80


@dataclass(frozen=True)
class Rows:
    """Filtered rows of a motion: torques less the ideal arm's, and the columns of every parameter.

    Attributes:
        y: (N, n), N·m.
        X: (N, n, parameters).
        rate: d/dt of the measured torque, (N, n): the column of a time shift.
        use: which joint's row counts, (N, n).
        run: number of the run of each row.
        speed: filtered joint speeds, (N, n).
        sag: columns of joint compliances, (N, n, n), or (N, n, 0) where they were not asked for.
        bend: columns of the joints' Stribeck speeds, (N, n, n), or (N, n, 0) where they were not asked for.
    """

    y: Array
    X: Array
    rate: Array
    use: Array
    run: Array
    speed: Array
    sag: Array
    bend: Array

    def part(self, rows: Array) -> Rows:
        """Some of the rows."""
        return Rows(*(getattr(self, one.name)[rows] for one in fields(self)))

    def without_bend(self) -> Rows:
        """The rows without the columns of the Stribeck speeds."""
        return replace(self, bend=self.bend[:, :, :0])


def rows_of(
    motion: Motion,
    arm: Arm,
    stribeck: float = 0.05,
    low_pass: Filter | None = None,
    *,
    carrying: Array | None = None,
    bent_by: Array | None = None,
    every: int = 1,
) -> Rows:
    """The rows of a motion.

    Args:
        motion, arm: the recording and its arm.
        stribeck: v_s, rad/s.
        low_pass: the motion's own filter if not given.
        carrying: a load; with it columns of the joints' compliances come too.
        bent_by: each joint's Stribeck torque, N·m; with it columns of the Stribeck speeds come too.
        every: of so many filtered rows one is kept.
    """
    chosen = low_pass or motion.filter
    smooth = 3 * chosen.edge if carrying is not None else chosen.edge  # the sag is smoothed with a third of the cutoff
    runs = [run for run in motion.runs if len(run.time) >= 3 * chosen.edge + 8]
    edges = [smooth if len(run.time) > 12 * chosen.edge else chosen.edge for run in runs]
    parts = [list(pieces(len(run.time), chosen, every, edge)) for run, edge in zip(runs, edges)]
    count = sum(len(kept) for part in parts for _, kept in part)
    if not count:
        raise InvalidInput(
            f"every run of the recording is shorter than the filter of {chosen.cutoff:.3g} Hz needs",
            hint="record longer, or give a higher --cutoff",
        )
    rows = _empty_rows(count, arm, carrying is not None, bent_by is not None)
    first = 0
    for run, part in zip(runs, parts):
        V = chosen(run.v)
        A, rate = np.gradient(V, motion.period, axis=0), np.gradient(chosen(run.torque), motion.period, axis=0)
        use = _moving(V, max(1, int(0.25 / (chosen.cutoff * motion.period))))
        number = next(k for k, one in enumerate(motion.runs) if one is run)
        for whole, kept in part:
            to = slice(first, first + len(kept))
            first = to.stop
            state = run.q[whole], V[whole], A[whole]
            rows.y[to] = chosen(run.torque[whole] - arm.rigid(*state))[kept]
            load, joint = chosen(arm.load_columns(*state))[kept], chosen(arm.joint_columns(*state[1:], stribeck))[kept]
            rows.X[to] = arm.spread_out(load, joint)
            rows.rate[to], rows.use[to], rows.speed[to] = rate[whole][kept], use[whole][kept], V[whole][kept]
            rows.run[to] = number
            if carrying is not None:
                rows.sag[to] = chosen(_sag(arm, state, carrying, chosen))[kept]
            if bent_by is not None:
                rows.bend[to] = chosen(arm.bend(V[whole], stribeck, bent_by))[kept]
    return rows


def _empty_rows(count: int, arm: Arm, with_sag: bool, with_bend: bool) -> Rows:
    n = arm.robot.nv
    sizes = [(n,), (n, len(arm.names)), (n,), (n,), (), (n,), (n, n * with_sag), (n, n * with_bend)]
    kinds = [float, float, float, bool, int, float, float, float]
    return Rows(*(np.zeros((count, *size), dtype=kind) for size, kind in zip(sizes, kinds)))


def with_speed(rows: Rows, motion: Motion, arm: Arm, stribeck: float, bent_by: Array | None = None) -> Rows:
    """Thinned rows of a motion's own filter with the columns of another Stribeck speed; see `rows_of`."""
    chosen, every, X = motion.filter, thinning(motion, motion.filter), rows.X.copy()
    here, first, joint = arm.columns("stribeck").start, 0, np.arange(arm.robot.nv)
    bend = np.zeros((*rows.y.shape, 0 if bent_by is None else arm.robot.nv))
    for run in motion.runs:
        V = chosen(run.v) if len(run.time) >= 3 * chosen.edge + 8 else np.empty(0)
        for whole, kept in pieces(len(V), chosen, every) if len(V) else ():
            to = slice(first, first + len(kept))
            first = to.stop
            X[to, joint, here + joint] = chosen(arm.falling(V[whole], stribeck))[kept]
            if bent_by is not None:
                bend[to] = chosen(arm.bend(V[whole], stribeck, bent_by))[kept]
    return replace(rows, X=X, bend=bend)


def thinned_rows(
    motion: Motion,
    arm: Arm,
    speed: float = 0.05,
    low_pass: Filter | None = None,
    *,
    carrying: Array | None = None,
    bent_by: Array | None = None,
) -> Rows:
    """Rows at four times the filter's cutoff or more, which tell all there is; of a long recording at most so many."""
    chosen = low_pass or motion.filter
    every = thinning(motion, chosen)
    return rows_of(motion, arm, speed, chosen, carrying=carrying, bent_by=bent_by, every=every)


def _moving(V: Array, reach: int) -> Array:
    """Which joint's row counts: it is disturbed by a joint that stands still within the filter's reach."""
    fast = np.abs(V) > QUIET
    use = fast.copy()
    for k in range(1, reach + 1):
        use[k:] &= fast[:-k]
        use[:-k] &= fast[k:]
    return use


def thinning(motion: Motion, chosen: Filter) -> int:
    """Of how many filtered rows one is kept: four per period of the cutoff, at least 500 and at most `MOST_ROWS`."""
    count = sum(max(len(run.time) - 2 * chosen.edge, 0) for run in motion.runs)
    return max(1, min(int(1.0 / (8.0 * chosen.cutoff * motion.period)), count // 500), -(-count // MOST_ROWS))


def pieces(rows: int, chosen: Filter, every: int, edge: int | None = None) -> Iterator[tuple[slice, Array]]:
    """A long run piece by piece, so that memory is bounded: rows to filter, and which of them to keep.

    A piece brings a margin in which what the filter remembers of its start dies out: 24 periods of the cutoff, for the
    slowest filter in use has a third of it.
    """
    margin = int(np.ceil(24.0 / (chosen.cutoff * chosen.period)))
    left_out = chosen.edge if edge is None else edge
    kept = np.arange(left_out, rows - left_out, every)
    for part in np.array_split(kept, max(1, -(-rows // PIECE))):
        if len(part):
            start = max(0, int(part[0]) - margin) if rows > PIECE else 0
            end = min(rows, int(part[-1]) + margin + 1) if rows > PIECE else rows
            yield slice(start, end), part - start


def _sag(arm: Arm, state: tuple[Array, Array, Array], load: Array, low_pass: Filter) -> Array:
    """Torques per compliance of each joint, (N, n, n).

    Link k hangs behind its motor by c τ, τ the torque that the model says it passes (friction and rotors lie before the
    gear, and the measured torque's noise would come in twice): the column is d/dc of the model's torques at
    q − c τ, q̇ − c τ̇, q̈ − c τ̈. All is slow, so that it is taken at four times the cutoff and interpolated.
    """
    every = max(1, int(1.0 / (8.0 * low_pass.cutoff * low_pass.period)))
    at = np.arange(0, len(state[0]), every)
    Q, V, A = (part[at] for part in state)
    n, step, small = Q.shape[1], every * low_pass.period, 1e-6

    def link(moved: tuple[Array, Array, Array]) -> Array:
        return arm.rigid(*moved) + load_regressor(arm.robot, *moved, arm.frame) @ load

    torque = Filter(low_pass.cutoff / 3.0, step)(link((Q, V, A)))
    rate = np.gradient(torque, step, axis=0)
    hanging = torque, rate, np.gradient(rate, step, axis=0)
    columns = np.empty((len(at), n, n))
    for k in range(n):
        one = np.arange(n) == k
        there, back = (
            link((Q + side * small * one * hanging[0], V + side * small * one * hanging[1],
                  A + side * small * one * hanging[2])) for side in (-1.0, 1.0)
        )  # fmt: skip
        columns[:, :, k] = (there - back) / (2 * small)
    return CubicSpline(at, columns)(np.arange(len(state[0]))) if every > 1 else columns


@dataclass(frozen=True)
class Fit:
    """A least-squares fit.

    Attributes:
        values: every parameter, nominal where it was not fitted.
        deviation: standard deviation of the fitted ones, NaN of the others.
        free: which were fitted.
        shift: s, by which the torques come late, and its deviation.
        refused: reasons, by parameter name.
        residual: (N, n), N·m; NaN where a row did not count.
        block: rows of a block.
        blocks: how many.
        compliance: of each joint, rad/(N·m), and its deviation; empty where it was not asked for.
        bend: correction of each joint's Stribeck speed, rad/s, and its deviation; empty where it was not asked for.
    """

    values: Array
    deviation: Array
    free: Array
    shift: float
    shift_deviation: float
    refused: dict[str, str]
    residual: Array
    block: int
    blocks: int
    compliance: Array
    compliance_deviation: Array
    bend: Array
    bend_deviation: Array

    @property
    def rms(self) -> Array:
        """Root mean square of each joint's residual, N·m; NaN where no row of it counts."""
        count = np.isfinite(self.residual).sum(axis=0)
        squares = np.nansum(self.residual**2, axis=0)
        return np.sqrt(np.where(count > 0, squares / np.maximum(count, 1), np.nan))

    @property
    def t95(self) -> float:
        """Student's t of a two-sided 95 % interval for this number of blocks."""
        return float(student.ppf(0.975, max(self.blocks - 1, 1)))


def fit(rows: Rows, arm: Arm, kinds: tuple[str, ...], *, intervals: bool = True) -> Fit:
    """Fit the parameters of some kinds ("load" and keys of `JOINT`), and the time shift."""
    wanted = np.zeros(len(arm.names), dtype=bool)
    for kind in kinds:
        wanted[arm.columns(kind)] = True
    chosen = np.flatnonzero(wanted)
    if not rows.use.any():
        return _standing(rows, arm, wanted)
    y = rows.y - rows.X @ np.where(wanted, 0.0, arm.nominal)
    weight = weights(y, rows.use)
    X = _chosen_columns(rows, chosen)
    unnamed = [""] * (X.shape[2] - len(chosen))
    basis, refused = told_apart(X, weight * rows.use, [*(arm.names[k] for k in chosen), *unnamed])
    theta, residual = solve(X, y, weight, rows.use, basis)
    for _ in range(2):
        weight = weights(residual, rows.use)
        theta, residual = solve(X, y, weight, rows.use, basis)
    block = block_length(residual, rows.use)
    deviation, blocks = theta * np.nan, 1
    if intervals:
        deviation, blocks = deviations(X, y, (weight * rows.use, rows.run, basis), block)
    values, spread, free = arm.nominal.copy(), np.full(len(wanted), np.nan), wanted.copy()
    values[chosen], spread[chosen] = theta[: len(chosen)], deviation[: len(chosen)]
    free[[k for k in chosen if arm.names[k] in refused]] = False
    sag = slice(len(chosen), len(chosen) + rows.sag.shape[2])
    bend = slice(sag.stop, len(theta) - 1)
    return Fit(values, np.where(free, spread, np.nan), free, float(theta[-1]), float(deviation[-1]), refused,
               np.where(rows.use, residual, np.nan), block, blocks,
               theta[sag], deviation[sag], theta[bend], deviation[bend])  # fmt: skip


def _chosen_columns(rows: Rows, chosen: Array) -> Array:
    """Columns of some parameters, of what rows have besides, and of the time shift; column by column, as X is large."""
    more = rows.sag.shape[2], rows.bend.shape[2]
    X = np.empty((*rows.y.shape, len(chosen) + sum(more) + 1))
    for k, column in enumerate(chosen):
        X[:, :, k] = rows.X[:, :, column]
    sag = len(chosen) + more[0]
    X[:, :, len(chosen) : sag], X[:, :, sag:-1], X[:, :, -1] = rows.sag, rows.bend, -rows.rate
    return X


def _standing(rows: Rows, arm: Arm, wanted: Array) -> Fit:
    """The fit of an arm that does not move: nothing is told."""
    fastest = float(np.max(np.abs(rows.speed), initial=0.0))
    reason = f"the arm stands still: no joint is faster than {QUIET:g} rad/s (the fastest: {fastest:.2g})"
    empty, soft, bend = (np.full(k, np.nan) for k in (len(wanted), rows.sag.shape[2], rows.bend.shape[2]))
    refused = {arm.names[k]: reason for k in np.flatnonzero(wanted)}
    residual = np.full(rows.y.shape, np.nan)
    return Fit(arm.nominal.copy(), empty, np.zeros_like(wanted), 0.0, np.nan, refused, residual, 1, 1, soft, soft,
               bend, bend)  # fmt: skip


def weights(y: Array, use: Array) -> Array:
    """1/σ of each joint, the same in every row."""
    scale = np.sqrt(np.sum(np.where(use, y, 0.0) ** 2, axis=0) / np.maximum(use.sum(axis=0), 1))
    floor = 1e-6 * max(float(scale.max(initial=0.0)), 1e-9)
    return np.broadcast_to(1.0 / np.maximum(scale, floor), y.shape)


def solve(X: Array, y: Array, weight: Array, use: Array, basis: Array) -> tuple[Array, Array]:
    """Weighted least squares along the columns of `basis`, θ = basis z, by the normal equations; θ and the residual.

    The columns of X basis are nearly orthogonal, so that the normal equations are well conditioned.
    """
    G, b = _normal(X, y, weight * use)
    z = _solved(basis.T @ G @ basis, basis.T @ b)
    theta = basis @ z
    return theta, y - X @ theta


def _normal(X: Array, y: Array | None, w: Array) -> tuple[Array, Array]:
    """Xᵀ w² X and Xᵀ w² y, gathered from stretches of rows, so that no copy of X is held."""
    count = X.shape[2]
    G, b = np.zeros((count, count)), np.zeros(count)
    for start in range(0, len(X), _STRETCH):
        part = slice(start, start + _STRETCH)
        A = (X[part] * w[part, :, None]).reshape(-1, count)
        G += A.T @ A
        if y is not None:
            b += A.T @ (y[part] * w[part]).reshape(-1)
    return G, b


def _solved(G: Array, b: Array) -> Array:
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    return np.linalg.solve(G / np.outer(scale, scale), b / scale) / scale


def told_apart(X: Array, w: Array, names: list[str]) -> tuple[Array, dict[str, str]]:
    """Directions of the parameters that this motion tells, as columns of a matrix, and why single ones are refused.

    Directions without any signal are left out of the fit; a parameter that has a part in one is refused, and so is one
    whose variance the others inflate beyond `INFLATION`. Columns without a name are never refused.
    """
    G, _ = _normal(X, None, w)
    size = np.sqrt(np.diag(G))
    silent = size < 1e-9 * max(float(size.max(initial=0.0)), 1e-300)
    scale = np.where(silent, 1.0, size)
    C = np.where(silent[:, None] | silent[None, :], np.eye(len(size)) * 0.0, G / np.outer(scale, scale))
    values, vectors = np.linalg.eigh(C)
    told = values > 1e-8 * max(values[-1], 1e-300)
    hidden = np.sqrt(np.sum(vectors[:, ~told] ** 2, axis=1))
    inflation = np.sum(vectors[:, told] ** 2 / values[told], axis=1)
    refused = {}
    for k, name in enumerate(names):
        if not name:
            continue
        others = np.argsort(-np.abs(C[k] - np.eye(len(size))[k]))
        partner = next((names[j] for j in others if names[j] and j != k), "")
        if silent[k]:
            refused[name] = "this motion does not excite it"
        elif hidden[k] > 1e-3:
            refused[name] = "the torques do not depend on it alone, only on a sum with others"
        elif inflation[k] > INFLATION:
            refused[name] = f"this motion does not tell it from {partner} (variance inflated {inflation[k]:.0f}-fold)"
    return vectors[:, told] / scale[:, None], refused


def block_length(residual: Array, use: Array) -> int:
    """Rows of a block: five times the residual's integrated autocorrelation time, 12 to 80 blocks in all."""
    N = len(residual)
    times = []
    for k in range(residual.shape[1]):
        e = np.where(use[:, k], residual[:, k], 0.0)
        e = e - e.mean()
        power = np.abs(np.fft.rfft(e, 2 * N)) ** 2
        rho = np.fft.irfft(power)[: N // 2]
        if rho[0] <= 0:
            continue
        rho = rho / rho[0]
        end = int(np.argmax(rho < 0.05)) or len(rho)
        times.append(1.0 + 2.0 * rho[1:end].sum())
    longest = 5.0 * max(times, default=1.0)
    return int(np.clip(longest, max(N // MOST_BLOCKS, 1), max(N // FEWEST_BLOCKS, 1)))


def deviations(X: Array, y: Array, counted: tuple[Array, Array, Array], block: int) -> tuple[Array, int]:
    """Standard deviation of each parameter θ = basis z: bootstrap over blocks or jackknife, the larger one.

    A block never crosses the end of a run; where there are three runs or more, each whole run is a block as well, with
    Student's t of so few, and the larger deviation counts.
    """
    w, run, basis = counted
    number = np.zeros(len(y), dtype=int)
    start = 0
    runs = np.unique(run)
    for which in runs:
        rows = np.flatnonzero(run == which)
        count = max(1, round(len(rows) / block))
        number[rows] = start + np.minimum(np.arange(len(rows)) * count // len(rows), count - 1)
        start += count
    deviation = _by_blocks(X, y, w, number, basis)
    if len(runs) >= 3:
        few = student.ppf(0.975, len(runs) - 1) / student.ppf(0.975, max(start - 1, 1))
        deviation = np.maximum(deviation, few * _by_blocks(X, y, w, np.searchsorted(runs, run), basis))
    return deviation, start


def _by_blocks(X: Array, y: Array, w: Array, number: Array, basis: Array) -> Array:
    edges = np.searchsorted(number, np.arange(int(number.max()) + 2))
    parts = [slice(*edge) for edge in itertools.pairwise(edges)]
    flat = [_normal(X[part], y[part], w[part]) for part in parts]
    G, r = np.stack([basis.T @ one @ basis for one, _ in flat]), np.stack([basis.T @ one for _, one in flat])
    scale = np.sqrt(np.maximum(np.diag(G.sum(axis=0)), 1e-300))
    G, r, blocks = G / np.outer(scale, scale), r / scale, len(flat)
    ridge, to_theta = 1e-10 * np.eye(len(scale)), basis / scale
    left_out = np.linalg.solve(G.sum(axis=0) - G + ridge, (r.sum(axis=0) - r)[..., None])[..., 0] @ to_theta.T
    jackknife = np.sqrt((blocks - 1) / blocks * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0))
    draws = np.random.default_rng(0).multinomial(blocks, np.full(blocks, 1 / blocks), size=RESAMPLES).astype(float)
    resampled = np.linalg.solve(np.tensordot(draws, G, 1) + ridge, np.tensordot(draws, r, 1)[..., None])[..., 0]
    low, high = np.percentile(resampled @ to_theta.T, [15.87, 84.13], axis=0)
    return np.maximum(jackknife, 0.5 * (high - low))


def line(y: Array, X: Array, use: Array, run: Array | None = None) -> tuple[Array, Array, float]:
    """Least squares of one quantity on some columns: values, deviations over blocks, and t of a 95 % interval.

    Args:
        y: (N,).
        X: (N, columns); a column without signal gets a value of 0 and an infinite deviation.
        use: which rows count.
        run: number of the run of each row; one run if not given.
    """
    size = np.sqrt(np.sum(X[use] ** 2, axis=0))
    told = size > 1e-9 * max(float(size.max(initial=0.0)), 1e-300)
    Z, rows, weight = X[:, None, told], y[:, None], np.ones((len(y), 1))
    basis = np.diag(1.0 / size[told])
    theta, residual = solve(Z, rows, weight, use[:, None], basis)
    block = block_length(residual[use], use[use][:, None])
    which = np.zeros(int(use.sum()), dtype=int) if run is None else run[use]
    deviation, blocks = deviations(Z[use], rows[use], (weight[use], which, basis), block)
    values, spread = np.zeros(X.shape[1]), np.full(X.shape[1], np.inf)
    values[told], spread[told] = theta, deviation
    return values, spread, float(student.ppf(0.975, max(blocks - 1, 1)))
