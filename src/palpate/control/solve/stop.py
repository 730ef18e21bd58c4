"""The fastest stop of a moving tool within bounds, keeping its direction.

    J u + h = −λ ṗ,   lower ≤ u ≤ upper,   λ as large as possible, then |u| as small as possible

Two versions: the true optimum over every feasible u; and the pseudo-inverse law, which looks at u = a λ + b with
a = −J⁺ṗ, b = −J⁺h only.
Where no command keeps the direction without speeding up, deviation and braking are traded by a stated weight, and the
tool is never sped up if any command within the bounds avoids it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.control.solve import stop_kernels as kernels
from palpate.control.solve.hierarchy import solve_hierarchy
from palpate.control.solve.stopping import problem
from palpate.control.solve.tasks import unit_matrix
from palpate.control.solve.workspaces import Workspaces
from palpate.errors import BadShape, InvalidInput, NoSolution, NotFinite
from palpate.forking import cached_property

Method = Literal["optimal", "pseudoinverse"]
METHODS: tuple[Method, ...] = ("optimal", "pseudoinverse")
WEIGHT = problem.WEIGHT
_NONE = 1e-12  # a component of J⁺ṗ below this fraction of the largest is zero
_STILL = 1e-9  # a tool slower than this fraction of |J| |q̇| does not move


@dataclass(frozen=True)
class TorqueBounds:
    """Bounds on τ = M u + bias in place of bounds on u, or besides them.

    Attributes:
        mass_matrix: M, n×n.
        bias: C v + g, n.
        torque: |τ_i| ≤ torque_i, or a pair (lower, upper); N·m or N.
        acceleration: |u_i| ≤ acceleration_i as well, or a pair; none by default.
    """

    mass_matrix: ArrayLike
    bias: ArrayLike
    torque: ArrayLike | tuple[ArrayLike, ArrayLike]
    acceleration: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None


@dataclass(frozen=True)
class ToolMotion:
    """p̈ = J u + drift of a tool with velocity p, lower ≤ C u ≤ upper.

    C is 1 for bounds on accelerations, M for bounds on torques (less the bias), and [M; 1] for both.
    """

    J: Array
    drift: Array
    p: Array
    C: Array
    lower: Array
    upper: Array
    most: float
    weight: float
    bias: Array | None = None
    torque: tuple[Array, Array] | None = None

    def solve(self, sign: float = 1.0, most: float | None = None) -> problem.StopProblem:
        """Result of the kernel for sign · p; the record is used again by the next problem of this size."""
        s, given = _problems.of(self.J.shape[1], len(self.p), len(self.lower))
        p = self.p if sign == 1.0 else sign * self.p
        for array, value in zip(given, (self.J, self.drift, self.C, self.lower, self.upper, p, p)):
            array[...] = value
        s.most, s.weight = self.most if most is None else most, self.weight
        kernels.stop_kernel(s.address)
        return s


def _problem(n: int, directions: int, limits: int) -> tuple[problem.StopProblem, tuple[Array, ...]]:
    """A problem, and where what is given of it goes."""
    s = problem.make_stop(n, directions, limits)
    return s, (s.J, s.drift, s.C, s.lower, s.upper, s.line, s.velocity)


_problems = Workspaces(_problem)


@dataclass(frozen=True)
class Stop:
    """Result of `fastest_stop`.

    Attributes:
        rate: λ, 1/s: the tool's speed falls as ṗ' = −λ ṗ; negative where the direction can only be kept by speeding
            up, −∞ where no command keeps it.
        acceleration: u, rad/s² or m/s²; where `feasible` is False, the command within the bounds with the least
            deviation² + weight² (most_braking − braking)² that does not speed the tool up.
        feasible: whether the direction can be kept within the bounds without speeding up (λ ≥ 0).
        braking: how fast the tool's speed falls under u, m/s²; negative only where every command speeds it up.
        deviation: |J u + h| across the direction under u, m/s²; 0 where the direction is kept.
        most_braking: what the bounds allow if the direction did not count, m/s²; None where the direction is kept.
        violation: largest excess of u (or τ) over its bounds; only bounds in conflict have any.
        conflict: by which fraction of their half widths torque and acceleration bounds were widened because they
            exclude each other; 0 if they do not.
        torque: M u + bias where torques are bounded, else None.
        method: which version.
        motion: what was to be stopped.
    """

    rate: float
    acceleration: Array
    feasible: bool
    braking: float
    deviation: float
    most_braking: float | None
    violation: float
    conflict: float
    torque: Array | None
    method: Method
    motion: ToolMotion = field(repr=False)

    @cached_property
    def a(self) -> Array:
        """−J⁺ṗ of (3), rad/s or m/s."""
        a = -self._inverse @ self.motion.p
        a[np.abs(a) <= _NONE * np.abs(a).max()] = 0.0
        return a

    @cached_property
    def b(self) -> Array:
        """−J⁺h of (3), rad/s² or m/s²."""
        return -self._inverse @ self.motion.drift

    @cached_property
    def rates(self) -> Array:
        """λ_i of (5), 1/s: how large each bound alone lets λ ≥ 0 be in u = a λ + b; −∞ where none is allowed."""
        low, high = _ends(self.a, self.b, self.motion)
        return np.where(high >= np.maximum(low, 0.0), high, -np.inf)

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The least and the greatest λ that keep the direction within the bounds, 1/s; None where none does.

        Of u = a λ + b for the pseudo-inverse versions, of every u for "optimal".
        """
        if self.method == "optimal":
            backwards, high = (self.motion.solve(sign, np.inf).rate for sign in (-1.0, 1.0))
            low = -backwards
        else:
            ends = _ends(self.a, self.b, self.motion)
            low, high = float(ends[0].max()), float(ends[1].min())
            drift = self.motion.drift
            if np.linalg.norm(self.motion.J @ self.b + drift) > 1e-9 * (1.0 + np.linalg.norm(drift)):
                return None  # a singular J may not reach the drift at all
        return (low, high) if low <= high else None

    @cached_property
    def relaxation(self) -> float:
        """By which fraction of their half widths the bounds would have to grow to keep the direction; 0 if kept."""
        if self.interval is not None:
            return 0.0
        return _needed(self.motion) if self.method == "optimal" else _relaxation(self.a, self.b, self.motion)

    @cached_property
    def active(self) -> Array:
        """−1, 0, +1 per bound (torques first where both are bounded): u at its lower bound, between, at its upper."""
        at, lower, upper = self.motion.C @ self.acceleration, self.motion.lower, self.motion.upper
        near = 1e-9 * (1.0 + np.abs(at))
        return np.where(at >= upper - near, 1, 0) - np.where(at <= lower + near, 1, 0)

    @property
    def account(self) -> str:
        """The outcome in a sentence."""
        if self.feasible:
            text = f"{self.method}: stops along its direction with λ = {self.rate:.6g} 1/s ({self.braking:.4g} m/s²)"
            return f"{text}, but leaves the bounds by {self.violation:.4g}" if self.violation > 0 else text
        wider = (
            f"only while speeding up, λ = {self.rate:.6g} 1/s"
            if np.isfinite(self.rate)
            else "whatever the bounds"
            if not np.isfinite(self.relaxation)
            else f"bounds {self.relaxation:.1%} wider would do"
        )
        slower = f"brakes with {self.braking:.4g} m/s²"
        if self.most_braking is not None:
            slower = f"brakes with {self.braking:.4g} of at most {self.most_braking:.4g} m/s²"
        if self.braking < 0:
            slower = f"speeds up by {-self.braking:.4g} m/s², as every command within the bounds does"
        return (
            f"{self.method}: no command within the bounds keeps the direction and brakes ({wider}); the one taken "
            f"{slower} and deviates by {self.deviation:.4g} m/s²"
        )

    @cached_property
    def _inverse(self) -> Array:
        return np.linalg.pinv(self.motion.J, rcond=1e-11)


def fastest_stop(
    J: ArrayLike,
    drift: ArrayLike,
    velocity: ArrayLike,
    limits: ArrayLike | tuple[ArrayLike, ArrayLike] | TorqueBounds,
    *,
    velocity_of: Literal["tool", "joints"] | None = None,
    method: Method = "optimal",
    most: float = np.inf,
    weight: float = WEIGHT,
) -> Stop:
    """The joint acceleration that stops the tool fastest along its own direction, within bounds.

    Args:
        J: task Jacobian, m×n, of any rank.
        drift: h = J̇ q̇, m.
        velocity: the tool's velocity ṗ (m), or joint velocities q̇ (n), from which ṗ = J q̇.
        limits: |u_i| ≤ limits_i; or a pair (lower, upper); or `TorqueBounds`. A bound may be infinite if its
            opposite is.
        velocity_of: which of the two `velocity` is. Its length says so where J is not square; where it is, this must.
        method: "optimal"; "pseudoinverse", which ignores the redundancy.
        most: a bound on λ, 1/s: 1/dt brings the tool to rest within one period dt instead of turning it round.
        weight: how many m/s² across the direction are worth one m/s² of braking, where not both can be had.

    Raises:
        NoSolution: if nothing bounds λ, or the solver does not end.
        InvalidInput: if the tool does not move: for joint velocities, if they lie in the null space of J.
    """
    if not most > 0:
        raise InvalidInput(f"most must be positive, got {most:g}")
    if not (weight > 0 and math.isfinite(weight)):
        raise InvalidInput(f"weight must be positive and finite, got {weight:g}")
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if velocity_of not in (None, "tool", "joints"):
        raise InvalidInput(f"velocity_of must be 'tool' or 'joints', got {velocity_of!r}")
    motion = _motion_of(J, drift, velocity, velocity_of, limits, float(most), float(weight))
    return _optimal(motion) if method == "optimal" else _by_pseudoinverse(motion)


def _optimal(motion: ToolMotion) -> Stop:
    solution = motion.solve()
    status = solution.status
    if status == problem.BAD_DATA:
        _refuse(motion)
    if status == problem.UNBOUNDED:
        raise NoSolution("nothing bounds the stop: λ grows without end", hint="give finite limits, or `most`")
    if status == problem.GAVE_UP:
        raise NoSolution("the search for the fastest stop did not end", hint="are the data well scaled?")
    best = solution.most_braking if status == problem.LOST else None
    braking = solution.braking, solution.deviation, best
    return _stop("optimal", motion, solution.u.copy(), solution.rate, braking, solution.conflict)


def _stop(
    method: Method,
    motion: ToolMotion,
    u: Array,
    rate: float,
    braking: tuple[float, float, float | None],
    conflict: float = 0.0,
) -> Stop:
    """The stop by a command u; `braking` is (braking, deviation, most_braking) of `Stop`."""
    feasible, torque, violation = braking[2] is None and rate >= 0.0, None, 0.0
    if motion.bias is not None and motion.torque is not None:
        torque = motion.C[: len(u)] @ u + motion.bias
    if conflict > 0.0:
        at = motion.C @ u
        violation = max(float((at - motion.upper).max()), float((motion.lower - at).max()), 0.0)
    elif torque is not None and motion.torque is not None:  # within its bounds up to rounding: without it, too
        torque = np.minimum(np.maximum(torque, motion.torque[0]), motion.torque[1])
    return Stop(rate, u, feasible, *braking, violation, conflict, torque, method, motion)


def _by_pseudoinverse(motion: ToolMotion) -> Stop:
    """u = a λ + b with the largest λ that keeps the bounds; where there is none, what the optimum does."""
    _refuse(motion)
    idea = _stop("pseudoinverse", motion, np.zeros(motion.J.shape[1]), -np.inf, (0.0, 0.0, None))
    rate = -np.inf if idea.interval is None else max(min(idea.interval[1], motion.most), idea.interval[0])
    if rate == np.inf:
        raise NoSolution("nothing bounds the stop: λ grows without end", hint="give finite limits, or `most`")
    if rate >= 0.0:
        u = idea.a * rate + idea.b
        return _stop("pseudoinverse", motion, u, rate, (*_judged(motion, u), None))
    best = _optimal(motion)
    braking = best.braking, best.deviation, best.most_braking
    return _stop("pseudoinverse", motion, best.acceleration, rate, braking)


def _judged(motion: ToolMotion, u: Array) -> tuple[float, float]:
    """Braking along the direction and deviation across it, m/s²."""
    direction, a = motion.p / np.linalg.norm(motion.p), motion.J @ u + motion.drift
    along = float(direction @ a)
    return -along, float(np.linalg.norm(a - along * direction))


def _ends(a: Array, b: Array, motion: ToolMotion) -> tuple[Array, Array]:
    """Per bound, the least and the greatest λ with lower ≤ C (a λ + b) ≤ upper; crossed if there is none."""
    slope, start = motion.C @ a, motion.C @ b
    slope[np.abs(slope) <= _NONE * np.abs(slope).max()] = 0.0
    low, high, slack = np.full(len(slope), np.inf), np.full(len(slope), -np.inf), 1e-12 * (1.0 + np.abs(start))
    inside = (start <= motion.upper + slack) & (start >= motion.lower - slack)
    low[inside], high[inside] = -np.inf, np.inf
    moving = slope != 0.0
    ends = np.array([(motion.lower - start)[moving], (motion.upper - start)[moving]]) / slope[moving]
    low[moving], high[moving] = ends.min(axis=0), ends.max(axis=0)
    return low, high


def _needed(motion: ToolMotion) -> float:
    """By how many half widths the bounds must grow for some u to keep the direction: least t over (u, t)."""
    n, k = motion.J.shape[1], len(motion.lower)
    direction = motion.p / np.linalg.norm(motion.p)
    across = motion.J - np.outer(direction, direction @ motion.J)
    wanted = direction * (direction @ motion.drift) - motion.drift
    half = np.where(np.isfinite(motion.upper), (motion.upper - motion.lower) / 2, 1.0)
    half = np.maximum(half, 1e-9 * half.max())  # a bound without width can hardly be widened
    A = np.block([[across, np.zeros((len(across), 1))], [np.zeros((1, n)), np.ones((1, 1))]])
    C = np.vstack([np.column_stack([motion.C, -half]), np.column_stack([motion.C, half])])
    far = np.full(k, np.inf)
    levels = np.array([0, len(across), len(across) + 1])
    lower, upper = np.concatenate([-far, motion.lower]), np.concatenate([motion.upper, far])
    solution = solve_hierarchy(A, np.append(wanted, 0.0), levels, C, lower, upper, np.ones(2 * k)).x
    gap = np.linalg.norm(across @ solution[:n] - wanted)
    return float(solution[n]) if gap <= 1e-9 * (1.0 + np.linalg.norm(wanted)) else np.inf


def _relaxation(a: Array, b: Array, motion: ToolMotion) -> float:
    """By which fraction of the half widths the bounds must grow for some a λ + b to fit: a one-variable minimax."""
    half, middle = (motion.upper - motion.lower) / 2, (motion.upper + motion.lower) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        slope, start = np.nan_to_num(motion.C @ a / half), np.nan_to_num((motion.C @ b - middle) / half)
    lines = [(s, o) for s, o in zip(np.r_[slope, -slope], np.r_[start, -start])]
    crossings = [(o2 - o1) / (s1 - s2) for i, (s1, o1) in enumerate(lines) for s2, o2 in lines[i + 1 :] if s1 != s2]
    return float(min((max(s * at + o for s, o in lines) for at in [0.0, *crossings]), default=np.inf) - 1.0)


def _motion_of(
    J: ArrayLike,
    drift: ArrayLike,
    velocity: ArrayLike,
    velocity_of: str | None,
    limits: object,
    most: float,
    weight: float,
) -> ToolMotion:
    """Shapes are checked here; whether the numbers are sound, by the kernel."""
    J = _numbers(J, "J")
    if J.ndim != 2:
        raise BadShape(f"J must be m×n, got shape {J.shape}")
    m, n = J.shape
    h, v = _numbers(drift, "drift"), _numbers(velocity, "velocity")
    if h.shape != (m,):
        raise BadShape(f"drift must have shape ({m},), got {h.shape}")
    meant = [kind for kind, size in (("tool", m), ("joints", n)) if v.shape == (size,) and velocity_of in (None, kind)]
    if not meant:
        wanted = {"tool": f"{m} (tool)", "joints": f"{n} (joint)", None: f"{m} (tool) or {n} (joint)"}[velocity_of]
        raise BadShape(f"velocity must have {wanted} entries, got shape {v.shape}")
    if len(meant) > 1:
        raise InvalidInput(
            f"J is {m}×{n}: velocity may be the tool's or the joints'",
            hint='velocity_of="tool" or velocity_of="joints"',
        )
    p = v if meant == ["tool"] else _tool_velocity(J, v)
    if isinstance(limits, TorqueBounds):
        return _dynamic(J, h, p, limits, most, weight)
    return ToolMotion(J, h, p, unit_matrix(n), *bounds_of(limits, n, "limits"), most, weight)


def _tool_velocity(J: Array, v: Array) -> Array:
    p = J @ v
    if np.linalg.norm(p) <= _STILL * np.linalg.norm(J) * np.linalg.norm(v):
        raise InvalidInput(
            "the joint velocities lie in the null space of J: the tool does not move, there is no direction to keep",
            hint="q̇ must lie outside of N(J); to stop the joints themselves, brake them one by one",
        )
    return p


def _dynamic(J: Array, h: Array, p: Array, limits: TorqueBounds, most: float, weight: float) -> ToolMotion:
    """Bounds on torques, lower ≤ M u + bias ≤ upper, and on accelerations if there are any."""
    n = J.shape[1]
    M, bias = _numbers(limits.mass_matrix, "mass_matrix"), _numbers(limits.bias, "bias")
    torque = bounds_of(limits.torque, n, "torque")
    for value, name, shape in ((M, "mass_matrix", (n, n)), (bias, "bias", (n,))):
        if value.shape != shape:
            raise BadShape(f"{name} must have shape {shape}, got {value.shape}")
    C, lower, upper = M, torque[0] - bias, torque[1] - bias
    if limits.acceleration is not None:
        low, high = bounds_of(limits.acceleration, n, "acceleration")
        C, lower, upper = np.vstack([M, unit_matrix(n)]), np.concatenate([lower, low]), np.concatenate([upper, high])
    return ToolMotion(J, h, p, C, lower, upper, most, weight, bias, torque)


def _numbers(value: object, name: str) -> Array:
    try:
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be numbers, got {value!r}") from error


def bounds_of(limits: object, n: int, name: str) -> tuple[Array, Array]:
    """(lower, upper) from symmetric limits or a pair."""
    given = _numbers(limits, name)
    if given.shape == (n,):
        return -given, given
    if given.shape == (2, n):
        return given[0], given[1]
    raise BadShape(f"{name} must be {n} numbers or a pair of them (lower, upper), got shape {given.shape}")


def _refuse(motion: ToolMotion) -> None:
    """Say which of the numbers is not sound; nothing to say if all are."""
    for value, name in ((motion.J, "J"), (motion.drift, "drift"), (motion.p, "velocity"), (motion.bias, "bias")):
        finite_array(0.0 if value is None else value, name)
    finite_array(motion.C, "mass_matrix")
    lower, upper = motion.lower, motion.upper
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise NotFinite("limits must not be NaN")
    if (lower > upper).any():
        j = int(np.argmax(lower > upper))
        raise InvalidInput(f"limits of joint {j} exclude each other: lower {lower[j]:g} > upper {upper[j]:g}")
    if (np.isinf(lower) != np.isinf(upper)).any() or (lower == np.inf).any() or (upper == -np.inf).any():
        raise InvalidInput("a joint's limits must both be finite, or −∞ and ∞")
    if not motion.p.any():
        raise InvalidInput("the tool does not move: there is no direction to keep")
