"""Will it be stable? A sampled and delayed spring–damper or force loop against a wall, linearised.

    Λ ẍ + (B_own + B_w) ẋ + K_w x = u(t),   u held over each period and late by the delay
    impedance:  u_k = −K x_k − D ẋ_k
    force loop: u_k = c_k − d ẋ_k,  c_k = c_{k−1} − k T f_k,  f = K_w x + B_w ẋ

The loop is discretised exactly (matrix exponential), so its poles are those of the sampled system, not of an
approximation. Contact is assumed to last; losing it is not linear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from palpate.checks import Array, finite_array, finite_number
from palpate.control.design.damping import symmetric_positive
from palpate.errors import BadShape, InvalidInput, NoSolution
from palpate.robot.robot import Robot

_STABLE = 1.0 - 1e-12


@dataclass(frozen=True)
class ContactLoop:
    """A sampled closed loop.

    Attributes:
        transition: state from one tick to the next.
        poles: its eigenvalues, largest first; stable inside the unit circle.
        period: s.
    """

    transition: Array
    poles: Array
    period: float

    @property
    def radius(self) -> float:
        """The largest |pole|."""
        return float(np.abs(self.poles[0]))

    @property
    def stable(self) -> bool:
        """Whether every pole lies inside the unit circle."""
        return self.radius < _STABLE

    @property
    def rate(self) -> float:
        """How fast the slowest motion dies out, 1/s; negative if it grows."""
        return -float(np.log(max(self.radius, 1e-300))) / self.period


@dataclass(frozen=True)
class Limit:
    """The largest value that is stable, and the frequency at which it starts to ring there, Hz."""

    value: float
    frequency: float


@dataclass(frozen=True)
class ContactCheck:
    """What to expect of an impedance against a wall.

    Attributes:
        contact, free: the loop of all directions with and without the wall.
        axis: the loop along the wall's normal alone.
        mass: what the normal feels, kg.
        passivity_margin: own damping − K (T/2 + delay) − |D| along the normal, N·s/m; below 0 some passive
            environment, not necessarily this wall, can make the loop unstable.
        largest_stiffness_factor: K may be multiplied by this (D kept) before the contact is unstable.
        stable: with and without the wall.
    """

    contact: ContactLoop
    free: ContactLoop
    axis: ContactLoop
    mass: float
    passivity_margin: float
    largest_stiffness_factor: float
    account: str

    @property
    def stable(self) -> bool:
        """Whether the loop is stable in contact and in free motion."""
        return self.contact.stable and self.free.stable


def contact_loop(
    inertia: ArrayLike,
    stiffness: ArrayLike,
    damping: ArrayLike,
    *,
    period: float,
    delay: float = 0.0,
    wall_stiffness: ArrayLike = 0.0,
    wall_damping: ArrayLike = 0.0,
    own_damping: ArrayLike = 0.0,
) -> ContactLoop:
    """The sampled loop of a spring–damper law against a wall; one axis for numbers, n for matrices.

    Args:
        inertia: Λ, kg.
        stiffness: K of the law, N/m.
        damping: D of the law, N·s/m.
        period: T, s.
        delay: from measurement to effect, s; need not be a multiple of the period.
        wall_stiffness, wall_damping: K_w, N/m, and B_w, N·s/m.
        own_damping: physical damping of the arm, N·s/m.
    """
    L = symmetric_positive(np.atleast_2d(finite_array(inertia, "inertia")), "inertia")
    K, D, Kw, Bw, Bo = (
        _matrix(value, name, len(L))
        for value, name in (
            (stiffness, "stiffness"),
            (damping, "damping"),
            (wall_stiffness, "wall_stiffness"),
            (wall_damping, "wall_damping"),
            (own_damping, "own_damping"),
        )
    )
    A, B = _plant(L, Kw, Bw + Bo)
    return _closed(A, B, np.hstack([K, D]), None, period, delay)


def force_loop(
    mass: float,
    gain: float,
    *,
    wall_stiffness: float,
    wall_damping: float = 0.0,
    velocity_damping: float = 0.0,
    period: float,
    delay: float = 0.0,
) -> ContactLoop:
    """The sampled loop of integral force control, one axis.

    Args:
        mass: what moves along the axis, kg.
        gain: k, 1/s.
        wall_stiffness, wall_damping: N/m and N·s/m.
        velocity_damping: d of the law, N·s/m.
        period, delay: s.
    """
    m, kw = finite_number(mass, "mass", above=0.0), finite_number(wall_stiffness, "wall_stiffness", above=0.0)
    bw, d = finite_number(wall_damping, "wall_damping", least=0.0), finite_number(velocity_damping, "velocity_damping")
    step = finite_number(gain, "gain", least=0.0) * finite_number(period, "period", above=0.0)
    A, B = _plant(np.array([[m]]), np.array([[kw]]), np.array([[bw]]))
    integral = step * np.array([[kw, bw]])
    return _closed(A, B, np.array([[0.0, d]]), integral, period, delay)


def largest_stable(build: Callable[[float], ContactLoop], start: float, *, most: float = 1e12) -> Limit:
    """The first value, from `start` upwards, at which build(value) stops being stable; to nine digits.

    Args:
        build: from a value (a stiffness, a gain, a delay…) to a loop.
        start: a value that is stable.
        most: where to give up; the limit is then infinite.
    """
    low = finite_number(start, "start", above=0.0)
    if not build(low).stable:
        raise NoSolution(
            f"the loop is unstable already at {low:g} (largest pole {build(low).radius:.6g})",
            hint="start lower, add damping, or shorten the period or the delay",
        )
    high = low
    while build(high).stable:
        low, high = high, high * 1.05
        if high > most:
            return Limit(np.inf, 0.0)
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if build(middle).stable else (low, middle)
    loop = build(high)
    return Limit(low, float(abs(np.angle(loop.poles[0]))) / (2 * np.pi * loop.period))


def check_contact(
    robot: Robot,
    q: ArrayLike,
    stiffness: ArrayLike,
    damping: ArrayLike,
    *,
    wall_stiffness: float,
    wall_damping: float = 0.0,
    normal: ArrayLike = (0.0, 0.0, 1.0),
    period: float,
    delay: float = 0.0,
    frame: str | None = None,
    directions: ArrayLike | None = None,
) -> ContactCheck:
    """Poles, passivity margin and stiffness limit of a Cartesian impedance pressed on a wall at a posture.

    Assumes: small motion about q, lasting contact at the frame's origin, no friction, a cancelled bias, and rows of
    `directions` that are orthonormal.

    Args:
        robot: the arm.
        q: posture.
        stiffness, damping: K and D over the directions: matrices, or diagonals.
        wall_stiffness, wall_damping: N/m and N·s/m.
        normal: of the wall, world axes.
        period, delay: of the controller, s.
        frame: where the law acts; the tool frame by default.
        directions: rows of the task, k×6; all six by default. `np.eye(6)[:2]` for an arm in the x–y plane.
    """
    S = np.eye(6) if directions is None else finite_array(directions, "directions", (None, 6))
    L = robot.task_inertia(q, frame, directions=S)
    K, D = _matrix(stiffness, "stiffness", len(L)), _matrix(damping, "damping", len(L))
    n = S @ np.concatenate([_unit(normal), np.zeros(3)])
    if np.linalg.norm(n) < 1e-9:
        raise InvalidInput("the wall's normal lies outside the task's directions")
    kw, bw = (
        finite_number(wall_stiffness, "wall_stiffness", least=0),
        finite_number(wall_damping, "wall_damping", least=0),
    )
    own = _own_damping(robot, q, frame, S, L)
    return _judged(L, K, D, own, n, (kw, bw), {"period": period, "delay": delay})


def _judged(
    L: Array, K: Array, D: Array, own: Array, n: Array, wall: tuple[float, float], clock: dict[str, float]
) -> ContactCheck:
    """The check along the normal n of a task of inertia Λ."""
    (kw, bw), side = wall, np.outer(n, n)

    def loop(factor: float, contact: float = 1.0) -> ContactLoop:
        pushes = {"wall_stiffness": contact * kw * side, "wall_damping": contact * bw * side}
        return contact_loop(L, factor * K, D, own_damping=own, **pushes, **clock)

    mass, k, d, b = 1 / float(n @ np.linalg.solve(L, n)), float(n @ K @ n), float(n @ D @ n), float(n @ own @ n)
    axis = contact_loop(mass, k, d, wall_stiffness=kw, wall_damping=bw, own_damping=b, **clock)
    margin = b - k * (clock["period"] / 2 + clock["delay"]) - abs(d)
    in_contact, free, factor = loop(1.0), loop(1.0, 0.0), _largest_factor(loop)
    text = _account(in_contact, free, mass, k, margin, factor, kw, **clock)
    return ContactCheck(in_contact, free, axis, mass, margin, factor, text)


def _account(
    contact: ContactLoop,
    free: ContactLoop,
    mass: float,
    k: float,
    margin: float,
    factor: float,
    kw: float,
    period: float,
    delay: float,
) -> str:
    verdict = {True: "stable", False: "UNSTABLE"}
    return (
        f"against a wall of {kw:g} N/m, period {1e3 * period:g} ms, delay {1e3 * delay:g} ms: "
        f"{verdict[contact.stable]} in contact (largest pole {contact.radius:.6f}), "
        f"{verdict[free.stable]} in free motion ({free.radius:.6f}). The normal feels {mass:.4g} kg. "
        f"The stiffness along it, {k:.4g} N/m, may grow to {factor * k:.4g} N/m before contact is unstable. "
        f"Passivity margin {margin:.4g} N·s/m"
        + (": passive for every wall." if margin > 0 else ": some passive environment could make it unstable.")
    )


def _largest_factor(loop: Callable[[float], ContactLoop]) -> float:
    try:
        return largest_stable(loop, 1.0 if loop(1.0).stable else 1e-6, most=1e9).value
    except NoSolution:
        return 0.0


def _plant(L: Array, K: Array, B: Array) -> tuple[Array, Array]:
    n = len(L)
    inverse = np.linalg.inv(L)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ B]])
    return A, np.vstack([np.zeros((n, n)), inverse])


def _closed(A: Array, B: Array, F: Array, integral: Array | None, period: float, delay: float) -> ContactLoop:
    """Sample ẋ = A x + B u with u_k = −F x_k (and minus an integral of x), late by `delay`."""
    T, delay = finite_number(period, "period", above=0.0), finite_number(delay, "delay", least=0.0)
    whole = int(np.floor(delay / T + 1e-9))
    late = max(delay - whole * T, 0.0)
    late = 0.0 if late < 1e-9 * T else late
    n, m = B.shape
    Phi, now = _held(A, B, T - late)
    Phi_late, before = _held(A, B, late)
    before, Phi = Phi @ before, Phi @ Phi_late
    c = 0 if integral is None else m
    past = whole + (1 if late > 0 else 0)
    size = n + c + m * past
    command = np.zeros((m, size))
    command[:, :n] = -F
    if integral is not None:
        command[:, :n] -= integral
        command[:, n : n + c] = np.eye(m)
    rows = [command, *(np.eye(size)[n + c + i * m : n + c + (i + 1) * m] for i in range(past))]
    X = np.zeros((size, size))
    X[:n, :n] = Phi
    X[:n] += now @ rows[whole] + (before @ rows[whole + 1] if late > 0 else 0.0)
    if integral is not None:
        X[n : n + c, :n], X[n : n + c, n : n + c] = -integral, np.eye(m)
    for i in range(past):
        X[n + c + i * m : n + c + (i + 1) * m] = rows[i]
    poles = np.linalg.eigvals(X)
    return ContactLoop(X, poles[np.argsort(-np.abs(poles))], T)


def _held(A: Array, B: Array, time: float) -> tuple[Array, Array]:
    """exp(A t) and ∫ exp(A s) ds B."""
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A, B
    E = expm(block * time)
    return E[:n, :n], E[:n, n:]


def _own_damping(robot: Robot, q: ArrayLike, frame: str | None, S: Array, L: Array) -> Array:
    """The joints' viscous damping as the task feels it: J̄ᵀ B J̄, J̄ = M⁻¹ Jᵀ Λ."""
    joint = robot.model.dof_damping
    if len(joint) != robot.nv or not joint.any():
        return np.zeros((len(L), len(L)))
    bar = np.linalg.solve(robot.mass_matrix(q), (S @ robot.jacobian(q, frame)).T) @ L
    return bar.T @ np.diag(joint) @ bar


def _matrix(value: ArrayLike, name: str, n: int) -> Array:
    array = finite_array(value, name)
    if array.ndim == 0:
        array = array * np.eye(n)
    elif array.shape == (n,):
        array = np.diag(array)
    if array.shape != (n, n):
        raise BadShape(f"{name} must be a number, {n} numbers or {n}×{n}, got {array.shape}")
    return symmetric_positive(array, name, n, semi=True)


def _unit(normal: ArrayLike) -> Array:
    vector = finite_array(normal, "normal", (3,))
    size = float(np.linalg.norm(vector))
    if size == 0.0:
        raise InvalidInput("normal must have a direction, got zero")
    return vector / size
