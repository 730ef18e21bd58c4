"""Gains from forces and displacements, poles, settling times and weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.design.damping import symmetric_positive
from palpate.control.design.hold import zero_order_hold
from palpate.errors import BadShape, InvalidInput, NoSolution


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
        A, B = zero_order_hold(A, B, finite_number(period, "period", above=0.0))
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
