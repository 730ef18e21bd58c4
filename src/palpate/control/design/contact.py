"""Will it be stable? A sampled and delayed spring–damper or force loop against a wall, from its matrices.

    Λ ẍ + (B_own + B_w) ẋ + K_w x = u(t),   u held over each period and late by the delay
    impedance:  u_k = −K x_k − D ẋ_k
    force loop: u_k = c_k − d ẋ_k,  c_k = c_{k−1} − k T f_k,  f = K_w x + B_w ẋ

The loop is sampled exactly, so its poles are those of the sampled system, not of an approximation. Contact is assumed
to last; losing it is not linear. For every kind of law, sensor and servo see `predict_contact` and `predict_for_arm`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.design.arm_terms import joint_damping_of
from palpate.control.design.case import ContactCase, stable_up_to
from palpate.control.design.closed_loop import ClosedLoop
from palpate.control.design.damping import symmetric_positive
from palpate.control.design.law_models import TaskGains, TaskModel, linear_law
from palpate.control.design.loop_model import Plant, Timing, close
from palpate.errors import BadShape, InvalidInput, NoSolution
from palpate.robot.robot import Robot


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

    contact: ClosedLoop
    free: ClosedLoop
    axis: ClosedLoop
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
) -> ClosedLoop:
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
    n = len(L)
    K, D = _matrix(stiffness, "stiffness", n), _matrix(damping, "damping", n)
    Kw, Bw = _matrix(wall_stiffness, "wall_stiffness", n), _matrix(wall_damping, "wall_damping", n)
    one, zero = np.eye(n), np.zeros((n, n))
    plant = Plant(np.linalg.inv(L), one, _matrix(own_damping, "own_damping", n), zero, Kw, Bw, -Kw, -Bw)
    gains = TaskGains(K, D, one, force=np.zeros(n, dtype=bool))
    law = linear_law("cartesian-impedance", TaskModel(one, L, L, zero, zero, one, one), gains, period)
    return close(plant, law, Timing(finite_number(period, "period", above=0.0), lag=delay))


def force_loop(
    mass: float,
    gain: float,
    *,
    wall_stiffness: float,
    wall_damping: float = 0.0,
    velocity_damping: float = 0.0,
    period: float,
    delay: float = 0.0,
) -> ClosedLoop:
    """The sampled loop of integral force control, one axis.

    Args:
        mass: what moves along the axis, kg.
        gain: k, 1/s.
        wall_stiffness, wall_damping: N/m and N·s/m.
        velocity_damping: d of the law, N·s/m.
        period, delay: s.
    """
    finite_number(wall_stiffness, "wall_stiffness", above=0.0)
    return ContactCase(
        "direct-force",
        mass,
        Timing(finite_number(period, "period", above=0.0), lag=delay),
        damping=velocity_damping,
        integral=gain,
        wall_stiffness=wall_stiffness,
        wall_damping=wall_damping,
    ).loop


def largest_stable(build: Callable[[float], ClosedLoop], start: float, *, most: float = 1e12) -> Limit:
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
    found = stable_up_to(lambda value: build(value).stable, low, most=most, first=0.0)
    return Limit(found, build(found * (1 + 1e-9)).frequency) if np.isfinite(found) else Limit(np.inf, 0.0)


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

    def loop(factor: float, contact: float = 1.0) -> ClosedLoop:
        pushes = {"wall_stiffness": contact * kw * side, "wall_damping": contact * bw * side}
        return contact_loop(L, factor * K, D, own_damping=own, **pushes, **clock)

    mass, k, d, b = 1 / float(n @ np.linalg.solve(L, n)), float(n @ K @ n), float(n @ D @ n), float(n @ own @ n)
    axis = contact_loop(mass, k, d, wall_stiffness=kw, wall_damping=bw, own_damping=b, **clock)
    margin = b - k * (clock["period"] / 2 + clock["delay"]) - abs(d)
    in_contact, free = loop(1.0), loop(1.0, 0.0)
    factor = stable_up_to(lambda x: loop(x).stable, 1.0, most=1e9, first=0.1)
    text = _account(in_contact, free, mass, (k, factor), margin, kw, clock)
    return ContactCheck(in_contact, free, axis, mass, margin, factor, text)


def _account(
    contact: ClosedLoop,
    free: ClosedLoop,
    mass: float,
    stiffness: tuple[float, float],
    margin: float,
    kw: float,
    clock: dict[str, float],
) -> str:
    verdict, (k, factor) = {True: "stable", False: "UNSTABLE"}, stiffness
    return (
        f"against a wall of {kw:g} N/m, period {1e3 * clock['period']:g} ms, delay {1e3 * clock['delay']:g} ms: "
        f"{verdict[contact.stable]} in contact (largest pole {contact.radius:.6f}), "
        f"{verdict[free.stable]} in free motion ({free.radius:.6f}). The normal feels {mass:.4g} kg. "
        f"The stiffness along it, {k:.4g} N/m, may grow to {factor * k:.4g} N/m before contact is unstable. "
        f"Passivity margin {margin:.4g} N·s/m"
        + (": passive for every wall." if margin > 0 else ": some passive environment could make it unstable.")
    )


def _own_damping(robot: Robot, q: ArrayLike, frame: str | None, S: Array, L: Array) -> Array:
    """The joints' viscous damping as the task feels it: J̄ᵀ B J̄, J̄ = M⁻¹ Jᵀ Λ."""
    bar = np.linalg.solve(robot.mass_matrix(q), (S @ robot.jacobian(q, frame)).T) @ L
    own = bar.T @ np.diag(joint_damping_of(robot)) @ bar
    return (own + own.T) / 2


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
