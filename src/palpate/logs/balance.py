"""The torque balance: weighted least squares of measured torques on the model's columns, with honest intervals.

Rows are filtered alike on both sides. What a motion cannot tell apart is found by the variance inflation of its
columns and left at its nominal value. Intervals come from blocks of rows, whose length follows the residual's
autocorrelation: the larger of the block bootstrap's and the delete-one-block jackknife's deviation, times Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import t as student

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.logs.cleaning import Filter, Motion
from palpate.logs.model import Arm

INFLATION = 200.0  # of a variance by other columns, from which on they cannot be told apart
QUIET = 0.01  # rad/s: below, a joint may stick, and its row is left out
RESAMPLES = 300
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
    """

    y: Array
    X: Array
    rate: Array
    use: Array
    run: Array
    speed: Array

    def part(self, rows: Array) -> Rows:
        """Some of the rows."""
        return Rows(*(getattr(self, name)[rows] for name in ("y", "X", "rate", "use", "run", "speed")))


def rows_of(motion: Motion, arm: Arm, stribeck: float = 0.05, low_pass: Filter | None = None) -> Rows:
    """The rows of a motion; `low_pass` is its own filter if not given."""
    chosen = low_pass or motion.filter
    parts = []
    for number, run in enumerate(motion.runs):
        edge = chosen.edge
        if len(run.time) < 3 * edge + 8:
            continue
        Q, V = run.q, chosen(run.v)
        A = np.gradient(V, motion.period, axis=0)
        y = chosen(run.torque - arm.rigid(Q, V, A))
        X = chosen(arm.regressor(Q, V, A, stribeck))
        rate = np.gradient(chosen(run.torque), motion.period, axis=0)
        use = np.abs(V) > QUIET
        # a row is disturbed by a joint that stands still within the filter's reach
        reach = max(1, int(0.25 / (chosen.cutoff * motion.period)))
        for k in range(1, reach + 1):
            use[k:] &= np.abs(V[:-k]) > QUIET
            use[:-k] &= np.abs(V[k:]) > QUIET
        inner = slice(edge, len(Q) - edge)
        parts.append(Rows(y[inner], X[inner], rate[inner], use[inner], np.full(len(y[inner]), number), V[inner]))
    if not parts:
        raise InvalidInput(
            f"every run of the recording is shorter than the filter of {chosen.cutoff:.3g} Hz needs",
            hint="record longer, or give a higher --cutoff",
        )
    return Rows(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("y", "X", "rate", "use", "run", "speed")))


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
        weight: per joint, 1/(N·m).
        block: rows of a block.
        blocks: how many.
        information: of the free parameters, for metrics.
    """

    values: Array
    deviation: Array
    free: Array
    shift: float
    shift_deviation: float
    refused: dict[str, str]
    residual: Array
    weight: Array
    block: int
    blocks: int
    information: Array = field(repr=False)

    @property
    def t95(self) -> float:
        """Student's t of a two-sided 95 % interval for so many blocks."""
        return float(student.ppf(0.975, max(self.blocks - 1, 1)))


def fit(rows: Rows, arm: Arm, kinds: tuple[str, ...], *, intervals: bool = True) -> Fit:
    """Fit the parameters of some kinds ("load" and keys of `JOINT`), and the time shift."""
    wanted = np.zeros(len(arm.names), dtype=bool)
    for kind in kinds:
        wanted[arm.columns(kind)] = True
    y = rows.y - rows.X @ np.where(wanted, 0.0, arm.nominal)
    weight = _first_weights(y, rows.use)
    X = np.concatenate([rows.X[:, :, wanted], -rows.rate[:, :, None]], axis=2)
    free, refused = _told_apart(X, weight, rows.use, [arm.names[k] for k in np.flatnonzero(wanted)])
    X = X[:, :, free]
    for _ in range(3):
        theta, residual = _solve(X, y, weight, rows.use)
        weight = _first_weights(residual, rows.use)
    block = block_length(residual, rows.use, rows.run)
    deviation, blocks = _deviations(X, y, (weight, rows.use, rows.run), block) if intervals else (theta * np.nan, 1)
    chosen = np.flatnonzero(wanted)[[k for k in free if k < wanted.sum()]]
    values, spread, which = arm.nominal.copy(), np.full(len(wanted), np.nan), np.zeros(len(wanted), dtype=bool)
    values[chosen], spread[chosen], which[chosen] = theta[: len(chosen)], deviation[: len(chosen)], True
    has_shift = len(free) > len(chosen)
    shift, shift_deviation = (theta[-1], deviation[-1]) if has_shift else (0.0, np.nan)
    flat = (X * (weight * rows.use)[:, :, None]).reshape(-1, X.shape[2])[:, : len(chosen)]
    shown = np.where(rows.use, residual, np.nan)
    return Fit(values, spread, which, float(shift), float(shift_deviation), refused, shown, weight[0], block, blocks,
               flat.T @ flat)  # fmt: skip


def _first_weights(y: Array, use: Array) -> Array:
    """1/σ of each joint, the same in every row."""
    scale = np.sqrt(np.sum(np.where(use, y, 0.0) ** 2, axis=0) / np.maximum(use.sum(axis=0), 1))
    floor = 1e-6 * max(float(scale.max(initial=0.0)), 1e-9)
    return np.broadcast_to(1.0 / np.maximum(scale, floor), y.shape)


def _solve(X: Array, y: Array, weight: Array, use: Array) -> tuple[Array, Array]:
    w = weight * use
    A, b = (X * w[:, :, None]).reshape(-1, X.shape[2]), (y * w).reshape(-1)
    scale = np.sqrt(np.einsum("ij,ij->j", A, A))
    theta = np.linalg.lstsq(A / scale, b, rcond=None)[0] / scale
    return theta, y - X @ theta


def _told_apart(X: Array, weight: Array, use: Array, names: list[str]) -> tuple[list[int], dict[str, str]]:
    """Columns that this motion tells apart, and why each other one is refused; the time shift comes last."""
    A = (X * (weight * use)[:, :, None]).reshape(-1, X.shape[2])
    G = A.T @ A
    size = np.sqrt(np.diag(G))
    refused: dict[str, str] = {}
    largest = max(float(size.max(initial=0.0)), 1e-300)
    for k, name in enumerate(names):
        if size[k] < 1e-6 * largest or size[k] == 0:
            refused[name] = "this motion does not excite it"
    free = [k for k in range(X.shape[2]) if (k >= len(names) or names[k] not in refused) and size[k] > 0]
    while len(free) > 1:
        C = G[np.ix_(free, free)] / np.outer(size[free], size[free])
        inflation = np.diag(np.linalg.pinv(C, rcond=1e-13, hermitian=True)).copy()
        worst = int(np.argmax(inflation))
        if inflation[worst] < INFLATION:
            break
        partner = np.argsort(-np.abs(C[worst] - np.eye(len(free))[worst]))[0]
        called = [names[k] if k < len(names) else "the time shift" for k in free]
        if free[worst] < len(names):
            refused[called[worst]] = (
                f"this motion does not tell it from others, {called[partner]} first (variance inflated"
                f" {min(inflation[worst], 1e9):.0f}-fold)"
            )
        del free[worst]
    return free, refused


def block_length(residual: Array, use: Array, run: Array) -> int:
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


def _deviations(X: Array, y: Array, counted: tuple[Array, Array, Array], block: int) -> tuple[Array, int]:
    """Standard deviation of each parameter: bootstrap over blocks or jackknife, the larger one.

    A block never crosses the end of a run; where there are three runs or more, each whole run is a block as well and
    the larger deviation counts.
    """
    weight, use, run = counted
    number = np.zeros(len(y), dtype=int)
    start = 0
    for which in np.unique(run):
        rows = np.flatnonzero(run == which)
        count = max(1, round(len(rows) / block))
        number[rows] = start + np.minimum(np.arange(len(rows)) * count // len(rows), count - 1)
        start += count
    deviation = _by_blocks(X, y, weight * use, number)
    if len(np.unique(run)) >= 3:
        deviation = np.maximum(deviation, _by_blocks(X, y, weight * use, np.unique(run, return_inverse=True)[1]))
    return deviation, start


def _by_blocks(X: Array, y: Array, w: Array, number: Array) -> Array:
    blocks = int(number.max()) + 1
    A, b = X * w[:, :, None], y * w
    G = np.stack([np.einsum("nij,nik->jk", A[number == k], A[number == k]) for k in range(blocks)])
    r = np.stack([np.einsum("nij,ni->j", A[number == k], b[number == k]) for k in range(blocks)])
    scale = np.sqrt(np.maximum(np.diag(G.sum(axis=0)), 1e-300))
    G, r = G / np.outer(scale, scale), r / scale
    ridge = 1e-12 * np.eye(len(scale))
    whole_G, whole_r = G.sum(axis=0), r.sum(axis=0)
    left_out = np.linalg.solve(whole_G - G + ridge, (whole_r - r)[..., None])[..., 0]
    jackknife = np.sqrt((blocks - 1) / blocks * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0))
    draws = np.random.default_rng(0).multinomial(blocks, np.full(blocks, 1 / blocks), size=RESAMPLES).astype(float)
    resampled = np.linalg.solve(np.tensordot(draws, G, 1) + ridge, np.tensordot(draws, r, 1)[..., None])[..., 0]
    low, high = np.percentile(resampled, [15.87, 84.13], axis=0)
    return np.maximum(jackknife, 0.5 * (high - low)) / scale
