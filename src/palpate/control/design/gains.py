"""Gains from what a person knows: forces and displacements, poles, settling times, weights, damping ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.design.hold import held
from palpate.control.steps.reach import LEVER
from palpate.errors import BadShape, InvalidInput, NoSolution
from palpate.robot.robot import Robot

# ---------------------------------------- Damping for a full stiffness matrix and the arm's real inertia, by double
# diagonalisation


@dataclass(frozen=True)
class DampingDesign:
    """A damping matrix and what it does.

    Attributes:
        damping: D, units of stiffness times second.
        frequencies: undamped frequency of each mode, rad/s, slowest first.
        ratios: damping ratio of each mode under D.
        naive_ratios: what D = 2 ζ √K, right only for unit inertia, would give instead.
        account: the same in words.
    """

    damping: Array
    frequencies: Array
    ratios: Array
    naive_ratios: Array
    account: str


@dataclass(frozen=True)
class WorkspaceDamping:
    """One damping matrix for many postures.

    Attributes:
        damping: D.
        least_ratio, greatest_ratio: over all postures and modes.
        naive_least_ratio, naive_greatest_ratio: the same under D = 2 ζ √K.
    """

    damping: Array
    least_ratio: float
    greatest_ratio: float
    naive_least_ratio: float
    naive_greatest_ratio: float
    account: str


def damping_from_inertia(stiffness: ArrayLike, inertia: ArrayLike, *, ratio: float = 1.0) -> DampingDesign:
    """D that gives every mode of Λ ẍ + D ẋ + K x = F the damping ratio ζ.

    Double diagonalisation: Λ = Q Qᵀ and K = Q diag(κ) Qᵀ hold together for Q = Λ V, where K V = Λ V diag(κ) and
    Vᵀ Λ V = 1; then D = Q diag(2 ζ √κ) Qᵀ and every mode obeys s² + 2 ζ √κ s + κ = 0.
    Assumes: inertia frozen at one posture; K symmetric, positive definite.

    Args:
        stiffness: K, n×n or its diagonal; N/m, N·m/rad.
        inertia: Λ, n×n, such as `robot.task_inertia(q)`.
        ratio: ζ.
    """
    K, L = _pair(stiffness, inertia)
    ratio = finite_number(ratio, "ratio", least=0.0)
    kappa, Q, _ = diagonalised(K, np.linalg.inv(L))
    D = Q @ np.diag(2 * ratio * np.sqrt(kappa)) @ Q.T
    naive = modal_ratios(K, naive_damping(K, ratio), L)
    text = (
        f"D gives every mode the ratio {ratio:g}; the modes lie at {listed(np.sqrt(kappa) / (2 * np.pi))} Hz. "
        f"D = 2 ζ √K, right for unit inertia only, would give the ratios {listed(naive)}. "
        "Assumes the inertia of one posture."
    )
    return DampingDesign((D + D.T) / 2, np.sqrt(kappa), np.full(len(K), ratio), naive, text)


def damping_over_workspace(
    robot: Robot,
    stiffness: ArrayLike,
    postures: Sequence[ArrayLike],
    *,
    ratio: float = 1.0,
) -> WorkspaceDamping:
    """One D whose least damping ratio over the postures is ζ: the mean of the postures' own D, scaled.

    The ratio of a mode v is vᵀDv / (2 √κ), exact where D shares the modes and the first-order value elsewhere.
    Assumes: slow motion between the postures; none of them singular.

    Args:
        robot: whose inertia counts.
        stiffness: K at the tool, 6×6, or its diagonal.
        postures: coordinates q.
        ratio: ζ wanted at the worst posture.
    """
    if len(postures) == 0:
        raise InvalidInput("postures must hold at least one posture")
    inertias = [robot.task_inertia(q) for q in postures]
    K, _ = _pair(stiffness, inertias[0])
    if finite_number(ratio, "ratio", least=0.0) == 0:
        raise InvalidInput("ratio must be greater than 0 to be held over a workspace")
    mean = np.mean([damping_from_inertia(K, L, ratio=ratio).damping for L in inertias], axis=0)
    D = mean * ratio / min(modal_ratios(K, mean, L).min() for L in inertias)
    ours = np.array([modal_ratios(K, D, L) for L in inertias])
    naive = np.array([modal_ratios(K, naive_damping(K, ratio), L) for L in inertias])
    text = (
        f"over {len(postures)} postures D keeps every mode's ratio between {ours.min():.3g} and {ours.max():.3g}; "
        f"2 ζ √K would leave it between {naive.min():.3g} and {naive.max():.3g}. Assumes slow changes of posture."
    )
    return WorkspaceDamping(D, float(ours.min()), float(ours.max()), float(naive.min()), float(naive.max()), text)


def damping_by_ratio(
    stiffness: ArrayLike, mobility: ArrayLike, ratio: float = 1.0, *, scale: ArrayLike | None = None
) -> Array:
    """D = 2 ζ Q √κ Qᵀ: every mode of Λ ẍ + D ẋ + K x = 0 that can move has the damping ratio ζ.

    For a law at the tool of any arm: directions that cannot move, or that K leaves free, get no damping.

    Args:
        stiffness: K, n×n, positive semi-definite.
        mobility: Λ⁻¹ = J M⁻¹ Jᵀ, n×n, positive semi-definite, in the same axes; may be singular.
        ratio: ζ.
        scale: n lengths that make the directions comparable when it is judged which cannot move; for six directions
            1 m along and 0.1 m about an axis if not given, else 1.
    """
    K = finite_array(stiffness, "stiffness", (None, None))
    kappa, Q, _ = diagonalised(K, finite_array(mobility, "mobility", K.shape), scale)
    return 2.0 * finite_number(ratio, "ratio", least=0.0) * (Q * np.sqrt(kappa)) @ Q.T


def diagonalised(stiffness: Array, mobility: Array, scale: ArrayLike | None = None) -> tuple[Array, Array, Array]:
    """(κ, Q, V): Λ = Q Qᵀ and K = Q diag(κ) Qᵀ together, slowest mode first; Vᵀ Λ V = 1, V = Λ⁻¹ Q.

    κ are squared frequencies and the columns of V the modes. On the directions that can move alone: a mobility of rank
    r gives r modes.
    """
    lengths = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER]) if scale is None and len(stiffness) == 6 else scale
    s = np.ones(len(stiffness)) if lengths is None else finite_array(lengths, "scale", (len(stiffness),))
    mu, U = np.linalg.eigh(s[:, None] * mobility * s)
    free = mu > 1e-9 * max(float(mu[-1]), 1e-300)
    root = np.sqrt(mu[free])
    half = U[:, free] * root / s[:, None]  # mobility = half halfᵀ
    kappa, Z = np.linalg.eigh(half.T @ stiffness @ half)
    return np.clip(kappa, 0.0, None), s[:, None] * (U[:, free] / root) @ Z, half @ Z


def modal_ratios(K: Array, D: Array, L: Array) -> Array:
    """Damping ratio of each undamped mode of Λ ẍ + D ẋ + K x = 0, slowest first."""
    kappa, _, V = diagonalised(K, np.linalg.inv(L))
    return np.einsum("ij,ik,kj->j", V, D, V) / (2 * np.sqrt(kappa))


def naive_damping(K: Array, ratio: float) -> Array:
    """2 ζ √K, as if the inertia were one."""
    values, vectors = np.linalg.eigh(K)
    return 2 * ratio * (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


def symmetric_positive(value: ArrayLike, name: str, size: int | None = None, *, semi: bool = False) -> Array:
    """A symmetric positive (semi-)definite matrix, refused otherwise with its numbers."""
    A = finite_array(value, name, (size, size))
    if A.shape[0] != A.shape[1]:
        raise BadShape(f"{name} must be square, got {A.shape}")
    scale = max(float(np.abs(A).max()), 1e-300)
    if np.abs(A - A.T).max() > 1e-9 * scale:
        raise InvalidInput(f"{name} must be symmetric; it differs from its transpose by {np.abs(A - A.T).max():g}")
    least = float(np.linalg.eigvalsh(A)[0])
    if least < -1e-12 * scale or (not semi and least <= 0):
        kind = "positive semi-definite" if semi else "positive definite"
        raise InvalidInput(f"{name} must be {kind}; its least eigenvalue is {least:g}")
    return (A + A.T) / 2


def _pair(stiffness: ArrayLike, inertia: ArrayLike) -> tuple[Array, Array]:
    L = symmetric_positive(inertia, "inertia")
    K = finite_array(stiffness, "stiffness")
    return symmetric_positive(np.diag(K) if K.ndim == 1 else K, "stiffness", len(L)), L


def listed(values: Array) -> str:
    """Numbers with commas between them."""
    return ", ".join(f"{value:.3g}" for value in values)


@dataclass(frozen=True)
class SpringDamper:
    """A spring and damper for a mass: numbers for one axis, arrays for several.

    Attributes:
        stiffness: N/m (N·m/rad about an axis).
        damping: N·s/m (N·m·s/rad about an axis).
        account: how they came about.
    """

    stiffness: Array
    damping: Array
    account: str


def stiffness_from_force(
    force: ArrayLike, displacement: ArrayLike, mass: ArrayLike, *, ratio: float = 1.0
) -> SpringDamper:
    """k = f / x and b = 2 ζ √(k m), axis by axis.

    Assumes: decoupled axes, each of the given mass, and a static force.

    Args:
        force: the force expected, N (N·m about an axis).
        displacement: the displacement allowed under it, m (rad).
        mass: what moves, kg (kg·m²): the shaped mass of an admittance, or the arm's own.
        ratio: ζ; 1 is the fastest without overshoot.
    """
    known = _positive(force, "force"), _positive(displacement, "displacement"), _positive(mass, "mass")
    try:
        f, x, m = np.broadcast_arrays(*known)
    except ValueError as error:
        raise BadShape("force, displacement and mass must have one entry each, or one per axis") from error
    ratio = finite_number(ratio, "ratio", least=0.0)
    k = f / x
    b = 2 * ratio * np.sqrt(k * m)
    return SpringDamper(
        k,
        b,
        f"stiffness k = f / x = {_show(k)} N/m: {_show(f)} N displaces by {_show(x)} m at rest. "
        f"Damping b = 2 ζ √(k m) = {_show(b)} N·s/m gives the ratio ζ = {ratio:g} for a mass of {_show(m)} kg; "
        f"the undamped frequency is {_show(np.sqrt(k / m) / (2 * np.pi))} Hz. Assumes decoupled axes of that mass.",
    )


def coincident_poles(mass: ArrayLike, rate: float) -> SpringDamper:
    """K = M λ², D = 2 M λ: both poles of every axis at −λ.

    Closed loop: M ë + D ė + K e = F, with characteristic polynomial (s + λ)² on every axis.
    Assumes: the law cancels everything but M, which may be a number, one per axis, or a symmetric matrix.

    Args:
        mass: kg (kg·m²).
        rate: λ, 1/s.
    """
    m = finite_array(mass, "mass")
    m = symmetric_positive(m, "mass") if m.ndim == 2 else _positive(m, "mass")
    rate = finite_number(rate, "rate", above=0.0)
    settling = 5.8339 / rate  # (1 + λt) exp(−λt) = 0.02
    return SpringDamper(
        m * rate**2,
        2 * m * rate,
        f"both poles at −{rate:g} 1/s on every axis: K = M λ² = {_show(m * rate**2)} N/m, D = 2 M λ = "
        f"{_show(2 * m * rate)} N·s/m; a displacement is down to 2 % after {settling:.3g} s without overshoot. "
        "Assumes that the law cancels all of the dynamics but M.",
    )


@dataclass(frozen=True)
class ForceGain:
    """The gain of an integral force loop; `gain` in 1/s."""

    gain: float
    account: str


def force_gain_from_settling(time: float, *, band: float = 0.02) -> ForceGain:
    """k = ln(1 / band) / t_s: the force error falls as exp(−k t).

    Assumes: the force follows the command at once (a stiff contact, τ = Jᵀ f), so that the loop is 1 / (1 + s/k).
    `palpate.run.design` says what period, delay and wall allow.

    Args:
        time: t_s, s, after which the error stays within the band.
        band: fraction of the step, 0.02 by default.
    """
    time = finite_number(time, "settling time", above=0.0)
    if not 0.0 < finite_number(band, "band") < 1.0:
        raise InvalidInput(f"band must lie between 0 and 1, got {band:g}")
    gain = math.log(1 / band) / time
    return ForceGain(
        gain,
        f"integral gain k = ln(1/{band:g}) / {time:g} s = {gain:.6g} 1/s: the force error falls as exp(−k t) and is "
        f"within {100 * band:g} % after {time:g} s. Assumes that the contact passes the force on without delay.",
    )


@dataclass(frozen=True)
class LinearRegulator:
    """u = −K x.

    Attributes:
        gain: K.
        cost: P, with least cost xᵀ P x from state x.
        poles: of the closed loop; 1/s, or of the sampled system if a period was given.
    """

    gain: Array
    cost: Array
    poles: Array
    account: str


def lqr(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, *, period: float | None = None) -> LinearRegulator:
    """u = −K x that minimises ∫ xᵀQx + uᵀRu dt for ẋ = A x + B u, or the sum over samples if `period` is given.

    With a period, (A, B) is first sampled with a zero-order hold; Q and R then weigh one sample each.
    Assumes: the state is measured; (A, B) can be stabilised, and Q sees what is unstable.
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    A, B = finite_array(A, "A", (None, None)), finite_array(B, "B", (None, None))
    n, m = len(A), B.shape[1]
    if A.shape != (n, n) or len(B) != n:
        raise BadShape(f"A must be n×n and B n×m, got {A.shape} and {B.shape}")
    Q, R = symmetric_positive(Q, "Q", n, semi=True), symmetric_positive(R, "R", m)
    if period is not None:
        A, B = held(A, B, finite_number(period, "period", above=0.0))
    try:
        P = solve_continuous_are(A, B, Q, R) if period is None else solve_discrete_are(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise NoSolution(
            f"the Riccati equation has no stabilising solution: {error}",
            hint="(A, B) must be stabilisable, and every unstable or undamped mode must be weighted by Q",
        ) from error
    K = np.linalg.solve(R, B.T @ P) if period is None else np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    poles = np.linalg.eigvals(A - B @ K)
    slowest = poles[np.argmax(np.real(poles) if period is None else np.abs(poles))]
    kind = "1/s" if period is None else f"in the z plane (period {period:g} s)"
    account = f"u = −K x, K =\n{np.array2string(K, precision=6)}\nslowest closed-loop pole {slowest:.6g} {kind}."
    return LinearRegulator(K, P, poles, account)


def _positive(value: ArrayLike, name: str) -> Array:
    array = finite_array(value, name)
    if (array <= 0).any():
        raise InvalidInput(f"{name} must be positive, got {array.min():g}")
    return array


def _show(value: Array) -> str:
    return np.array2string(np.asarray(value), precision=6, separator=", ")
