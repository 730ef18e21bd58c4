"""A linear closed loop with delays, sampled or continuous: its poles, and whether they let it rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import NotApplicable
from palpate.forking import cached_property

DENSE_MOST = 120  # states up to which every pole is found from one matrix; beyond, the leading ones by structure
_ROUNDING = 1e-12
_LIMIT = 1e150  # entries beyond this overflow when multiplied: no such loop is stable


@dataclass(frozen=True)
class ClosedLoop:
    """x_{k+1} = Σ A_d x_{k−d}, delays d in samples; with period 0, ẋ(t) = Σ A_τ x(t − τ), delays τ in seconds.

    Attributes:
        terms: A_d by delay; delay 0 is always there.
        period: T, s; 0 for a continuous loop.
        standing: poles nearer than this to z = 1 (s = 0) are of motion that nothing holds, and are not counted.
    """

    terms: Mapping[float, Array]
    period: float
    standing: float = 0.0

    @property
    def size(self) -> int:
        """States, those under way in delays not counted."""
        return len(self.terms[0])

    @property
    def states(self) -> float:
        """States with those under way in delays; infinite for a continuous delay."""
        if self.period == 0 and len(self.terms) > 1:
            return np.inf
        return self.size + len(self._delayed_states) * max(self.terms)

    @cached_property
    def poles(self) -> Array:
        """The poles, fastest growing first: all of them, or (long or continuous delays) the leading ones alone."""
        if not self._finite:
            return np.array([np.inf + 0j])
        poles = np.linalg.eigvals(self.transition) if self._dense else self._leading()
        poles = poles[np.argsort(-self._growth_of(poles), kind="stable")].astype(complex)
        poles[0] = self._polished(complex(poles[0]))
        return poles

    @cached_property
    def leading(self) -> complex:
        """The fastest growing pole that is not of motion that nothing holds."""
        integrator_pole = 1.0 if self.period > 0 else 0.0
        counted = self.poles[np.abs(self.poles - integrator_pole) > self.standing] if self.standing > 0 else self.poles
        return complex(counted[0]) if len(counted) else complex(0.0 if self.period > 0 else -np.inf)

    @property
    def growth(self) -> float:
        """How fast the slowest motion grows, 1/s; negative if it dies out."""
        return float(self._growth_of(np.array([self.leading]))[0])

    @property
    def rate(self) -> float:
        """How fast the slowest motion dies out, 1/s; negative if it grows."""
        return -self.growth

    @property
    def radius(self) -> float:
        """The largest |z|; of a continuous loop e^(Re s), the growth in a second."""
        return float(np.abs(self.leading)) if self.period > 0 else float(np.exp(min(self.leading.real, 700.0)))

    @property
    def frequency(self) -> float:
        """How fast the leading pole swings, Hz."""
        if not np.isfinite(self.leading):
            return 0.0
        angular_frequency = np.angle(self.leading) / self.period if self.period > 0 else self.leading.imag
        return float(abs(angular_frequency)) / (2 * np.pi)

    @cached_property
    def stable(self) -> bool:
        """Whether every motion dies out (motion that nothing holds may stand)."""
        if not self._finite:
            return False
        if self._dense:
            return self.growth < -_ROUNDING / (self.period or 1.0)
        # The boundary is passed where no standing pole lies on it.
        beyond = max(self.standing, 1e-11) / (self.period or 1.0)
        return self.count_beyond(beyond) == 0

    @cached_property
    def mode(self) -> Array:
        """Unit vector of the states in the leading pole's motion."""
        _, _, right = np.linalg.svd(self._matrices(np.array([self.leading]))[0])
        return right[-1].conj()

    @property
    def transition(self) -> Array:
        """The state matrix with the delays written out: [x; what is under way]. Of few states only."""
        if self.period == 0 and len(self.terms) > 1:
            raise NotApplicable("a continuous delay has no state matrix", hint="ask for poles, rate or stable")
        n, r, longest = self.size, len(self._delayed_states), int(max(self.terms))
        X = np.zeros((n + r * longest, n + r * longest))
        X[:n, :n] = self.terms[0]
        if longest:
            X[n : n + r, :n] = self._delayed_states
            X[n + r :, n:-r] = np.eye(r * (longest - 1))
            for delay, A in self.terms.items():
                if delay:
                    at = n + r * (int(delay) - 1)
                    X[:n, at : at + r] += A @ self._delayed_states.T
        return X

    def count_beyond(self, growth: float = 0.0) -> int:
        """How many poles grow faster than `growth`, 1/s, by the argument principle (see `resolved`)."""
        n, (_, signs, _) = self.size, self._along_boundary(growth)
        angle = float(np.angle(signs[1:] / signs[:-1]).sum())  # how far the argument turns along the boundary, rad
        if self.period > 0:
            return round(n - angle / np.pi)
        remaining_angle = float(np.angle(signs[-1] * (-1j) ** n))  # what is still to come beyond the boundary's end
        return round(n / 2 - (angle - remaining_angle) / np.pi)

    def critical_lags(self, cut: ClosedLoop, longest: float) -> Array:
        """Further delays of the command, s, shortest first, at which poles pass the boundary of stability.

        With the command cut the loop is Δ₀, closed Δ = Δ₀ − E. A delay τ makes it Δ₀ − e^(−sτ) E, singular on the
        boundary where an eigenvalue g of Δ₀⁻¹E has |g| = 1 and the delay turns it to 1: τ = (arg g + 2πk) / ω. Exact
        for whole samples and for continuous loops; the hold between samples moves the others a little.

        Args:
            cut: the same loop with its command held at 0.
            longest: how far to look, s.
        """
        tiny = 1e-9 / (self.period or 1.0)
        grid, _, _ = cut._along_boundary(tiny)
        for _ in range(3):  # a summit of |g| may pass 1 between two positions
            grid = _summits_refined(grid, np.abs(self._return_gains(cut, grid, tiny)))
        sizes = np.abs(self._return_gains(cut, grid, tiny))
        lags: list[float] = []
        for index, branch in zip(*np.nonzero((sizes[1:] > 1) != (sizes[:-1] > 1))):
            lag, spacing = self._lag_between(cut, float(grid[index]), float(grid[index + 1]), int(branch), tiny)
            lags += list(np.arange(lag, longest, spacing)) if spacing < np.inf else []
        return np.array(sorted(lags))

    def _return_gains(self, cut: ClosedLoop, positions: Array, growth: float) -> Array:
        """Eigenvalues of Δ₀⁻¹E at positions along the boundary, each row by size."""
        points = self._boundary(growth, positions)
        base = cut._matrices(points)
        with np.errstate(all="ignore"):
            values = np.linalg.eigvals(_solved(base, base - self._matrices(points)))
        return np.take_along_axis(values, np.argsort(-np.abs(values), axis=1), axis=1)

    def _lag_between(self, cut: ClosedLoop, low: float, high: float, branch: int, growth: float) -> tuple[float, float]:
        """The delay that meets the branch's way through |g| = 1, found by halving, and that of a further turn."""
        rising = abs(self._return_gains(cut, np.array([high]), growth)[0, branch]) > 1
        for _ in range(50):
            middle = (low + high) / 2
            above = abs(self._return_gains(cut, np.array([middle]), growth)[0, branch]) > 1
            low, high = (low, middle) if above == rising else (middle, high)
        frequency = high * (np.pi / self.period if self.period > 0 else self._reach)
        phase = float(np.angle(self._return_gains(cut, np.array([high]), growth)[0, branch])) % (2 * np.pi)
        return (phase / frequency, 2 * np.pi / frequency) if frequency > 0 else (np.inf, np.inf)

    # ------------------------------------------------------------------ structure

    @cached_property
    def _finite(self) -> bool:
        return all(np.isfinite(A).all() and np.abs(A).max(initial=0.0) < _LIMIT for A in self.terms.values())

    @cached_property
    def _delayed_states(self) -> Array:
        """Orthonormal rows: what of the state goes through delays."""
        late = [A / max(float(np.abs(A).max()), 1e-300) for d, A in self.terms.items() if d > 0]
        if not late:
            return np.zeros((0, self.size))
        _, sizes, rows = np.linalg.svd(np.vstack(late))
        return rows[: int((sizes > 1e-14 * max(sizes[0], 1e-300)).sum())]

    @property
    def _dense(self) -> bool:
        longest = max(self.terms)
        return self.states <= DENSE_MOST or eigenvalue_work(self.states) <= encirclement_work(self.size, longest)

    def _growth_of(self, poles: Array) -> Array:
        if self.period == 0:
            return np.real(poles)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(np.abs(poles), 1e-300)) / self.period

    def _matrices(self, points: Array, delayed: bool = True) -> Array:
        """Δ(p) = p 1 − Σ A_d p^(−d), or p 1 − Σ A_τ e^(−pτ); without the delayed terms if asked."""
        out = points[:, None, None] * np.eye(self.size) - self.terms[0]
        if delayed:
            for delay, A in self.terms.items():
                if delay > 0:
                    out = out - self._delayed(points, delay)[:, None, None] * A
        return out

    def _delayed(self, points: Array, delay: float) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-delay * (np.log(points) if self.period > 0 else points))

    def _boundary(self, growth: float, positions: Array) -> Array:
        """Points of the boundary's upper half: a half circle, or a line as far up as poles can lie."""
        if self.period > 0:
            return np.exp(growth * self.period + 1j * np.pi * positions)
        return growth + 1j * self._reach * positions

    @cached_property
    def _reach(self) -> float:
        """Far beyond any pole of a continuous loop, 1/s."""
        from scipy.linalg import matrix_balance

        total = sum(np.abs(A) for A in self.terms.values())
        return 20.0 * max(float(np.linalg.norm(matrix_balance(total, permute=False)[0])), 1e-9)

    def _along_boundary(self, growth: float) -> tuple[Array, Array, Array]:
        """Places, signs and log sizes of det Δ along the boundary, fine enough for loop and delays."""
        n = self.size
        base = np.unique(np.concatenate([[0.0], np.geomspace(1e-9, 1.0, 73), np.linspace(0.0, 1.0, 65)]))
        grid, _, _ = resolved(lambda p: self._matrices(p, delayed=False), lambda x: self._boundary(growth, x), base, n)
        if len(self.terms) > 1:
            angle = np.pi if self.period > 0 else self._reach
            grid = refined_where(grid, self._active(growth, grid), np.pi / 6 / (angle * max(self.terms)))
        return resolved(self._matrices, lambda x: self._boundary(growth, x), grid, n)

    def _active(self, growth: float, grid: Array) -> Array:
        """Where what comes late could turn the determinant: pieces whose late return is not well below 1."""
        points = self._boundary(growth, grid)
        strength = np.zeros(len(points))
        with np.errstate(all="ignore"):
            for at in range(0, len(points), 2000):
                chunk = points[at : at + 2000]
                into = _solved(self._matrices(chunk, delayed=False), np.eye(self.size))
                for delay, A in self.terms.items():
                    if delay > 0:
                        gain = np.linalg.norm(self._delayed_states @ into @ (A @ self._delayed_states.T), axis=(1, 2))
                        strength[at : at + 2000] += np.abs(self._delayed(chunk, delay)) * gain
        active = ~(strength < 0.5)
        return active[1:] | active[:-1]

    # ------------------------------------------------------------------ leading poles

    def _leading(self) -> Array:
        """The leading poles: Newton's method from the dips of |det Δ| along the boundary, confirmed by a count."""
        offset = max(self.standing, 1e-11) / (self.period or 1.0)
        poles = self._poles_near(offset)
        slack = 1e-7 / (self.period or 1.0)
        best = float(self._growth_of(poles).max()) if len(poles) else -np.inf
        if np.isfinite(best) and self.count_beyond(max(best, -np.inf) + slack) == 0:
            return poles
        return self._poles_near(self._boundary_of_growth(offset))

    def _boundary_of_growth(self, start: float) -> float:
        """A growth that no pole exceeds, and one only just reaches, by halving."""
        step = 1.0 / (self.period or 1.0)
        low, high = start, start
        while self.count_beyond(high) > 0:
            low, high, step = high, high + step, 2 * step
        while low == high or self.count_beyond(low) == 0:
            low, step = low - step, 2 * step
            if step > 1e3 / (self.period or 1.0):
                return low
        for _ in range(14):
            middle = (low + high) / 2
            low, high = (middle, high) if self.count_beyond(middle) > 0 else (low, middle)
        return high

    def _poles_near(self, growth: float) -> Array:
        positions, _, logs = self._along_boundary(growth)
        points = self._boundary(growth, positions)
        depth = logs - determinants(lambda p: self._matrices(p, delayed=False), points, self.size)[1]
        inside = np.flatnonzero((depth[1:-1] <= depth[:-2]) & (depth[1:-1] <= depth[2:])) + 1
        starts = [0, len(points) - 1, *inside[np.argsort(depth[inside])][:40]]
        poles = [self._polished(complex(points[i])) for i in starts]
        return np.array([p for p in poles if self._residual(p) < 1e-6])

    def _newton_step(self, p: complex) -> complex:
        """det Δ / (det Δ)′ = 1 / trace(Δ⁻¹ Δ′); 0 where Δ is singular to the last digit: p is the pole."""
        at = np.array([p])
        slope = np.eye(self.size, dtype=complex)
        for delay, A in self.terms.items():
            if delay > 0:
                slope = slope + delay * self._delayed(at, delay)[0] * A / (p if self.period > 0 else 1.0)
        try:
            with np.errstate(all="ignore"):
                return 1.0 / complex(np.trace(np.linalg.solve(self._matrices(at)[0], slope)))
        except np.linalg.LinAlgError:
            return 0.0j

    def _residual(self, p: complex) -> float:
        """How far p is from a pole, by the next Newton step; relative to 1 (sampled) or to its own size."""
        step = abs(self._newton_step(p))
        return step / (1.0 if self.period > 0 else 1.0 + abs(p)) if np.isfinite(step) else np.inf

    def _polished(self, start: complex) -> complex:
        """The pole next to `start`, by Newton's method; `start` itself where that leads astray."""
        p, before = start, np.inf
        for _ in range(60):
            step = self._newton_step(p)
            if not np.isfinite(step) or (abs(step) > 2 * before and before < 1e-3):
                break
            p, before = p - step, abs(step)
            if before < 1e-15 * (1.0 + abs(p)):
                break
        return p if np.isfinite(p) and (before < 1e-6 * (1.0 + abs(p))) else start


def eigenvalue_work(states: float) -> float:
    """Floating-point operations, roughly, for all poles from one matrix: about 1e10 in a second."""
    return 10.0 * states**3


def encirclement_work(size: float, longest: float) -> float:
    """The same for the leading poles by structure: points along the boundary grow with the states and the delay.

    Args:
        size: states, those under way in delays not counted.
        longest: delay, samples.
    """
    return 700.0 * size**3 * (size + 15.0 * longest)


def _solved(matrices: Array, right: Array) -> Array:
    """matrices⁻¹ right; in the least-squares sense where one of them is singular to the last digit."""
    try:
        return np.linalg.solve(matrices, np.broadcast_to(right, matrices.shape))
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrices) @ right


def _summits_refined(grid: Array, sizes: Array) -> Array:
    """The grid with more positions beside each summit or valley of a size that is near 1."""
    inner = sizes[1:-1]
    summit = (inner >= sizes[:-2]) & (inner >= sizes[2:]) & (inner > 0.3) & (inner <= 1.0)
    valley = (inner <= sizes[:-2]) & (inner <= sizes[2:]) & (inner < 3.0) & (inner > 1.0)
    positions = np.flatnonzero((summit | valley).any(axis=1)) + 1
    extra = [np.linspace(grid[i - 1], grid[i + 1], 18) for i in positions]
    return np.unique(np.concatenate([grid, *extra]))


# ---------------------------------------- How many poles lie beyond a boundary, by the argument principle: cheap for
# delays of a thousand samples
# With Δ(p) the characteristic matrix of a real loop (p = z or s), det Δ is analytic beyond the boundary and grows like
# pⁿ there, so that the number of its zeros beyond is n − (1/π) × the turn of its argument along the upper half of the
# boundary: the circle |z| = e^{gT} of a sampled loop, or the line Re s = g of a continuous one.


Along = Callable[[Array], Array]  # positions along the boundary, 0 to 1, to complex points
Matrices = Callable[[Array], Array]  # complex points to characteristic matrices, (count, n, n)

MOST_CHANGE = 0.7  # rad, and in log size: the most that a resolved piece of the boundary may change
MOST_POINTS = 400_000
_FINEST = 1e-13
_CHUNK = 200_000  # complex numbers per batch of matrices


def determinants(matrices: Matrices, points: Array, size: int) -> tuple[Array, Array]:
    """(sign, log size) of det Δ at each point, in batches that stay small."""
    rows = max(1, _CHUNK // (size * size))
    pieces = [np.linalg.slogdet(matrices(points[i : i + rows])) for i in range(0, len(points), rows)]
    return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])


def resolved(matrices: Matrices, along: Along, grid: Array, size: int) -> tuple[Array, Array, Array]:
    """(positions, signs, log sizes): the grid, halved wherever det Δ still changes too much from one to the next.

    Pieces beside one that changes too much are halved too: two zeros between two positions turn the argument by a whole
    turn, which cannot be seen from the positions themselves, but their neighbours see the size fall towards them.
    """
    signs, logs = determinants(matrices, along(grid), size)
    while len(grid) < MOST_POINTS:
        unresolved = (np.abs(np.angle(signs[1:] / signs[:-1])) > MOST_CHANGE) | ~(np.abs(np.diff(logs)) < MOST_CHANGE)
        unresolved[1:] |= unresolved[:-1].copy()
        unresolved[:-1] |= unresolved[1:].copy()
        unresolved &= np.diff(grid) > _FINEST * np.maximum(grid[1:], _FINEST)
        if not unresolved.any():
            break
        middle = ((grid[1:] + grid[:-1]) / 2)[unresolved]
        new_signs, new_logs = determinants(matrices, along(middle), size)
        order = np.argsort(np.concatenate([grid, middle]), kind="stable")
        grid = np.concatenate([grid, middle])[order]
        signs, logs = np.concatenate([signs, new_signs])[order], np.concatenate([logs, new_logs])[order]
    return grid, signs, logs


def refined_where(grid: Array, active: Array, step: float) -> Array:
    """The grid with every active piece divided into parts no longer than `step`."""
    parts = np.where(active, np.maximum(np.ceil(np.diff(grid) / step), 1), 1).astype(int)
    starts, lengths = np.repeat(grid[:-1], parts), np.repeat(np.diff(grid) / parts, parts)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(starts + within * lengths, grid[-1])
