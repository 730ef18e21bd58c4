"""Damping for a full stiffness matrix and the arm's real inertia, by double diagonalisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.steps.reach import LEVER
from palpate.errors import BadShape, InvalidInput
from palpate.robot.robot import Robot


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
        f"D gives every mode the ratio {ratio:g}; the modes lie at {number_list(np.sqrt(kappa) / (2 * np.pi))} Hz. "
        f"D = 2 ζ √K, right for unit inertia only, would give the ratios {number_list(naive)}. "
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


def number_list(values: Array) -> str:
    """Numbers with commas between them."""
    return ", ".join(f"{value:.3g}" for value in values)
