"""The fastest stop of a moving tool within bounds, keeping its direction (document 001, exercise 1).

    J u + h = −λ ṗ,   lower ≤ u ≤ upper,   λ as large as possible, then |u| as small as possible

Three versions: the true optimum, a linear program over every feasible u; the pseudo-inverse law with its lower bounds,
which looks at u = −λ J⁺ṗ − J⁺h only; and equations (5)–(6) as the document prints them, for study.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.control.solve import stop_kernels as kernels
from palpate.errors import BadShape, InvalidInput, NoSolution, NotFinite

Method = Literal["optimal", "pseudoinverse", "as-printed"]
METHODS: tuple[Method, ...] = ("optimal", "pseudoinverse", "as-printed")
_NONE = 1e-12  # a component of J⁺ṗ below this fraction of the largest is zero


@dataclass(frozen=True)
class TorqueBounds:
    """Bounds on τ = M u + bias in place of bounds on u.

    Attributes:
        mass_matrix: M, n×n.
        bias: C v + g, n.
        torque: |τ_i| ≤ torque_i, or a pair (lower, upper); N·m or N.
    """

    mass_matrix: ArrayLike
    bias: ArrayLike
    torque: ArrayLike | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class Stop:
    """What `fastest_stop` found.

    Attributes:
        rate: λ, 1/s: the tool's speed falls as ṗ' = −λ ṗ; −∞ where no command keeps the direction.
        acceleration: u, rad/s² or m/s²; where `feasible` is False, the command within bounds that leaves the direction
            least, then brakes most, then is shortest.
        feasible: whether the direction can be kept within the bounds without speeding up (λ ≥ 0).
        braking: how fast the tool's speed falls under u, m/s².
        deviation: |J u + h| across the direction under u, m/s²; 0 where the direction is kept.
        relaxation: by which fraction of their half widths the bounds would have to grow to keep the direction; 0
            where it can be kept.
        violation: largest excess of u over its bounds; only "as-printed" has any.
        torque: M u + bias where torques are bounded, else None.
        method: which version.
    """

    rate: float
    acceleration: Array
    feasible: bool
    braking: float
    deviation: float
    relaxation: float
    violation: float
    torque: Array | None
    method: Method

    @property
    def account(self) -> str:
        """The outcome in a sentence."""
        if self.feasible:
            text = f"{self.method}: stops along its direction with λ = {self.rate:.6g} 1/s ({self.braking:.4g} m/s²)"
            return f"{text}, but leaves the bounds by {self.violation:.4g}" if self.violation > 0 else text
        if np.isfinite(self.rate):
            return f"{self.method}: keeps its direction only while speeding up, λ = {self.rate:.6g} 1/s"
        wider = (
            "no bounds would do" if not np.isfinite(self.relaxation) else f"bounds {self.relaxation:.1%} wider would"
        )
        return (
            f"{self.method}: no command within the bounds keeps the direction ({wider}); the nearest one brakes with "
            f"{self.braking:.4g} m/s² and deviates by {self.deviation:.4g} m/s²"
        )


@dataclass(frozen=True)
class _Problem:
    """A x + λ p = c, lower ≤ x ≤ upper, u = T x + t."""

    J: Array
    drift: Array
    p: Array
    A: Array
    c: Array
    T: Array
    t: Array
    lower: Array
    upper: Array
    torques: bool


def fastest_stop(
    J: ArrayLike,
    drift: ArrayLike,
    velocity: ArrayLike,
    limits: ArrayLike | tuple[ArrayLike, ArrayLike] | TorqueBounds,
    *,
    method: Method = "optimal",
    most: float = np.inf,
) -> Stop:
    """The joint acceleration that stops the tool fastest along its own direction, within bounds.

    Args:
        J: task Jacobian, m×n, of any rank.
        drift: h = J̇ q̇, m.
        velocity: the tool's velocity ṗ (m), or joint velocities q̇ (n) where n ≠ m, from which ṗ = J q̇.
        limits: |u_i| ≤ limits_i; or a pair (lower, upper); or `TorqueBounds`. A bound may be infinite if its
            opposite is.
        method: "optimal"; "pseudoinverse", which ignores the redundancy; "as-printed", equations (5)–(6) of the
            document, which forget the lower bounds on λ and take symmetric bounds only.
        most: a bound on λ, 1/s: 1/dt brings the tool to rest within one period dt instead of turning it round.

    Raises:
        NoSolution: if nothing bounds λ, or the solver does not end.
        InvalidInput: if the tool does not move.
    """
    problem = _problem(J, drift, velocity, limits)
    if not most > 0:
        raise InvalidInput(f"most must be positive, got {most:g}")
    if method == "optimal":
        return _optimal(problem, float(most))
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    return _by_pseudoinverse(problem, method, float(most))


def _optimal(problem: _Problem, most: float) -> Stop:
    x, info = np.empty(len(problem.lower)), np.empty(kernels.INFO_SIZE)
    kernels.stop_kernel(
        problem.A, problem.p, problem.c, problem.lower, problem.upper, most, problem.T, problem.t, x, info
    )
    status = info[kernels.I_STATUS]
    if status == kernels.BAD_DATA:
        _refuse(problem)
    if status == kernels.UNBOUNDED:
        raise NoSolution("nothing bounds the stop: λ grows without end", hint="give finite limits, or `most`")
    if status == kernels.GAVE_UP:
        raise NoSolution("the linear program of the fastest stop did not end", hint="are the data well scaled?")
    return _result(problem, x, info, "optimal")


def _by_pseudoinverse(problem: _Problem, method: Method, most: float) -> Stop:
    """u = a λ + b with a = −J⁺ṗ, b = −J⁺h, mapped to what is bounded; the interval of λ that keeps the bounds."""
    _refuse(problem)
    if method == "as-printed" and not np.array_equal(problem.lower, -problem.upper):
        raise InvalidInput("equations (5)–(6) as printed take symmetric bounds only", hint='use "pseudoinverse"')
    inverse = np.linalg.pinv(problem.J, rcond=1e-11)
    back = np.linalg.inv(problem.T)
    a, b = back @ (-inverse @ problem.p), back @ (-inverse @ problem.drift - problem.t)
    a[np.abs(a) <= _NONE * np.abs(a).max()] = 0.0
    gap = np.linalg.norm(problem.J @ inverse @ problem.drift - problem.drift)
    kept = gap <= 1e-9 * (1.0 + np.linalg.norm(problem.drift))  # a singular J may not reach the drift at all
    high, low = (_printed_rate(a, b, problem.upper), -np.inf) if method == "as-printed" else _interval(a, b, problem)
    high = min(high, most)
    if not kept or low > high or high == -np.inf:
        nearest = _optimal(problem, most)
        return _judged(problem, _bounded(problem, nearest), -np.inf, _relaxation(a, b, problem), method)
    if high == np.inf:
        raise NoSolution("nothing bounds the stop: λ grows without end", hint="give finite limits, or `most`")
    return _judged(problem, a * high + b, high, 0.0, method)


def _printed_rate(a: Array, b: Array, U: Array) -> float:
    """(5)–(6), with −U ≤ b ≤ U in the cases that print U ≤ b ≤ U."""
    rates = []
    for ai, bi, Ui in zip(a, b, U):
        if bi < -Ui:
            rates.append((Ui - bi) / ai if ai > 0 else -np.inf)
        elif bi > Ui:
            rates.append(-(Ui + bi) / ai if ai < 0 else -np.inf)
        else:
            rates.append(max(-(Ui + bi) / ai, (Ui - bi) / ai) if ai != 0 else np.inf)
    return float(min(rates))


def _interval(a: Array, b: Array, problem: _Problem) -> tuple[float, float]:
    """The largest and the smallest λ with lower ≤ a λ + b ≤ upper; crossed if there is none."""
    still = a == 0
    slack = 1e-12 * (1.0 + np.abs(b))
    if (still & ((b > problem.upper + slack) | (b < problem.lower - slack))).any():
        return -np.inf, np.inf
    moving = ~still
    ends = np.array([(problem.lower - b)[moving] / a[moving], (problem.upper - b)[moving] / a[moving]])
    return float(ends.max(axis=0).min()), float(ends.min(axis=0).max())


def _relaxation(a: Array, b: Array, problem: _Problem) -> float:
    """By which fraction of the half widths the bounds must grow for some a λ + b to fit: a one-variable minimax."""
    half, middle = (problem.upper - problem.lower) / 2, (problem.upper + problem.lower) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        slope, start = np.nan_to_num(a / half), np.nan_to_num((b - middle) / half)
    lines = [(s, o) for s, o in zip(np.r_[slope, -slope], np.r_[start, -start])]
    crossings = [(o2 - o1) / (s1 - s2) for i, (s1, o1) in enumerate(lines) for s2, o2 in lines[i + 1 :] if s1 != s2]
    return float(min((max(s * at + o for s, o in lines) for at in [0.0, *crossings]), default=np.inf) - 1.0)


def _bounded(problem: _Problem, stop: Stop) -> Array:
    return stop.acceleration if not problem.torques else np.asarray(stop.torque)


def _result(problem: _Problem, x: Array, info: Array, method: Method) -> Stop:
    rate, relaxation, _, _, _, braking, deviation, violation = info.tolist()
    u = problem.T @ x + problem.t if problem.torques else x
    torque = x if problem.torques else None
    return Stop(rate, u, rate >= 0.0, braking, deviation, relaxation, violation, torque, method)


def _judged(problem: _Problem, x: Array, rate: float, relaxation: float, method: Method) -> Stop:
    info = np.zeros(kernels.INFO_SIZE)
    kernels.judge_kernel(problem.A, problem.p, problem.c, problem.lower, problem.upper, x, info)
    info[kernels.I_RATE], info[kernels.I_RELAXATION] = rate, relaxation
    return _result(problem, x, info, method)


def _problem(J: ArrayLike, drift: ArrayLike, velocity: ArrayLike, limits: object) -> _Problem:
    """Shapes are checked here; whether the numbers are sound, by the kernel."""
    J = _numbers(J, "J")
    if J.ndim != 2:
        raise BadShape(f"J must be m×n, got shape {J.shape}")
    m, n = J.shape
    h, v = _numbers(drift, "drift"), _numbers(velocity, "velocity")
    if h.shape != (m,):
        raise BadShape(f"drift must have shape ({m},), got {h.shape}")
    if v.shape not in ((m,), (n,)):
        raise BadShape(f"velocity must have {m} (tool) or {n} (joint) entries, got shape {v.shape}")
    p = v if v.shape == (m,) else J @ v
    if isinstance(limits, TorqueBounds):
        M, bias = (
            finite_array(limits.mass_matrix, "mass_matrix", (n, n)),
            finite_array(limits.bias, "bias", (n,)),
        )
        inverse = np.ascontiguousarray(np.linalg.inv(M))
        A = J @ inverse
        return _Problem(J, h, p, A, A @ bias - h, inverse, -inverse @ bias, *_pair(limits.torque, n), True)
    return _Problem(J, h, p, J, -h, np.eye(n), np.zeros(n), *_pair(limits, n), False)


def _numbers(value: object, name: str) -> Array:
    try:
        return np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be numbers, got {value!r}") from error


def _pair(limits: object, n: int) -> tuple[Array, Array]:
    """(lower, upper) from symmetric limits or a pair."""
    given = _numbers(limits, "limits")
    if given.shape == (n,):
        return -given, given
    if given.shape == (2, n):
        return given[0], given[1]
    raise BadShape(f"limits must be {n} numbers or a pair of them (lower, upper), got shape {given.shape}")


def _refuse(problem: _Problem) -> None:
    """Say which of the numbers is not sound; nothing to say if all are."""
    for value, name in ((problem.J, "J"), (problem.drift, "drift"), (problem.p, "velocity")):
        finite_array(value, name)
    lower, upper = problem.lower, problem.upper
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise NotFinite("limits must not be NaN")
    if (lower > upper).any():
        j = int(np.argmax(lower > upper))
        raise InvalidInput(f"limits of joint {j} exclude each other: lower {lower[j]:g} > upper {upper[j]:g}")
    if (np.isinf(lower) != np.isinf(upper)).any() or (lower == np.inf).any() or (upper == -np.inf).any():
        raise InvalidInput("a joint's limits must both be finite, or −∞ and ∞")
    if not problem.p.any():
        raise InvalidInput("the tool does not move: there is no direction to keep")
