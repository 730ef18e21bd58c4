"""Dynamics in minimal coordinates, and linear models about an equilibrium, free or in contact, open or closed loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput, Singular, check_names
from palpate.robot.robot import Robot
from palpate.tools.contact.modes.dynamics import (
    SPEED,
    Wrench,
    apply_option,
    close_gaps,
    closed_contacts,
    mode_of,
    settle,
)
from palpate.tools.contact.modes.model import ContactModel, Snapshot, refuse_dry_friction
from palpate.tools.contact.touch.contacts import FREE, LOCKED, MODES, SLIDING, STICKING, Mode, Touch

_SINGULAR = 1e-9
Law = Callable[[Array, Array], ArrayLike]
_STEP = 2e-3  # of the differences: with sixth order their error is about 1e-12 of the derivative
_WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


@dataclass(frozen=True)
class Reduced:
    """Φᵀ M Φ s̈ + Φᵀ (M γ + C v + g) = Φᵀ τ for the independent velocities ṡ, with v = Φ ṡ and v̇ = Φ s̈ + γ.

    Attributes:
        independent: names of the independent velocities.
        basis: Φ, n × k.
        drift: γ, the part of v̇ that the velocities alone ask for.
        inertia: Φᵀ M Φ.
        velocity_force: Φᵀ (M γ + C v + losses).
        gravity_force: Φᵀ g.
        generalised_force: Φᵀ (τ + Jᵀ F): the force that belongs to s, not the torque of a joint.
        acceleration: s̈.
        full_acceleration: v̇ of every joint.
        multipliers: of the held rows, as the multiplier form has them, N.
    """

    independent: tuple[str, ...]
    basis: Array
    drift: Array
    inertia: Array
    velocity_force: Array
    gravity_force: Array
    generalised_force: Array
    acceleration: Array
    full_acceleration: Array
    multipliers: Array


def reduced_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Sequence[Touch],
    independent: Sequence[str] | None = None,
    *,
    wrench: Wrench | None = None,
) -> Reduced:
    """The equation of motion along frictionless constraints, in some of the robot's own velocities.

    Every contact that touches holds its normal direction (a pin all of them). With A v = 0 solved for the other
    velocities, v = Φ ṡ. For two unit links on the wall y = 0 (θ2 = −2 θ1) Φ = (1, −2)ᵀ, and the generalised force of
    θ1 is T1 − 2 T2, not T1.

    Args:
        robot: the robot.
        q, v: its state; v must obey the constraints.
        tau: generalised forces, N·m or N.
        contacts: what holds it.
        independent: names (of `robot.dof_names`) of the velocities to keep, as many as the constraints leave;
            the first ones that work if None.
        wrench: of the environment at the tool frame, or by frame.

    Raises:
        InvalidInput: the velocities break a constraint, or not as many names as freedoms.
        Singular: the named velocities do not determine the motion.
    """
    refuse_dry_friction(robot, "an equation of motion along a constraint")
    model = ContactModel(robot, contacts)
    snap = model.begin_at(q, v)
    A, drift = held_rows(model, snap)
    kept = _independent_indices(robot, A, independent)
    Phi, gamma = _basis(A, drift, kept, robot)
    force = robot._plain(tau, "tau", robot.nv, finite=True) + robot.generalised_force(snap.q, wrench)
    gravity = robot.gravity(snap.q)
    inertia = Phi.T @ snap.M @ Phi
    moving = Phi.T @ (snap.M @ gamma + snap.bias - gravity)
    s = np.linalg.solve(inertia, Phi.T @ (force - gravity) - moving)
    full = Phi @ s + gamma
    multipliers = np.linalg.lstsq(A.T, snap.M @ full + snap.bias - force, rcond=None)[0]
    names = tuple(robot.dof_names[i] for i in kept)
    return Reduced(names, Phi, gamma, inertia, moving, Phi.T @ gravity, Phi.T @ force, s, full, multipliers)


def held_rows(model: ContactModel, snap: Snapshot, modes: dict[int, int] | None = None) -> tuple[Array, Array]:
    """Rows A and drifts with A v̇ + drift = 0 of the contacts that touch; normals, tangents too of what sticks."""
    closed = closed_contacts(model, snap)
    rows = snap.rows(closed, SPEED)
    kept: list[int] = []
    for c in rows.candidates:
        mode = SLIDING if modes is None else modes.get(c.index, FREE)
        if mode == FREE and c.normal is not None:
            continue
        kept += c.rows if c.normal is None or mode == STICKING else [c.normal]
    u = snap.row_velocities(closed, exact=True)
    if np.abs(u[kept]).max(initial=0.0) > 1e3 * SPEED:
        raise InvalidInput("v breaks the constraints", hint="choose v with A v = 0, such as (θ̇, −2 θ̇)")
    return rows.R[kept], rows.drift[kept]


def _independent_indices(robot: Robot, A: Array, names: Sequence[str] | None) -> list[int]:
    rank = int(np.linalg.matrix_rank(A)) if len(A) else 0
    if names is None:
        return _first_that_work(A, rank)
    check_names("velocity", names, robot.dof_names)
    if len(names) != robot.nv - rank:
        raise InvalidInput(
            f"the constraints leave {robot.nv - rank} of {robot.nv} freedoms, but {len(names)} velocities are named"
        )
    return [robot.dof_names.index(name) for name in names]


def _first_that_work(A: Array, rank: int) -> list[int]:
    """The first velocities whose complement the constraints determine."""
    n = A.shape[1]
    dependent: list[int] = []
    for column in range(n - 1, -1, -1):
        trial = [*dependent, column]
        if len(dependent) < rank and np.linalg.matrix_rank(A[:, trial]) == len(trial):
            dependent = trial
    return [i for i in range(n) if i not in dependent]


def _basis(A: Array, drift: Array, kept: list[int], robot: Robot) -> tuple[Array, Array]:
    """Φ and γ: A Φ = 0 with unit rows at the chosen places, A γ = −drift with zeros there."""
    n = robot.nv
    others = [i for i in range(n) if i not in kept]
    Phi, gamma = np.zeros((n, len(kept))), np.zeros(n)
    Phi[kept, range(len(kept))] = 1.0
    if not others:
        return Phi, gamma
    sizes = np.linalg.svd(A[:, others], compute_uv=False)
    if len(sizes) < len(others) or sizes[-1] < _SINGULAR:
        names_kept = ", ".join(robot.dof_names[i] for i in kept)
        raise Singular(f"({names_kept}) does not determine the constrained motion", float(sizes[-1]), _SINGULAR)
    Phi[others] = -np.linalg.lstsq(A[:, others], A[:, kept], rcond=None)[0]
    gamma[others] = -np.linalg.lstsq(A[:, others], drift, rcond=None)[0]
    return Phi, gamma


@dataclass(frozen=True)
class Linearised:
    """ẋ = A x + B u about an equilibrium, x = [ξ; ξ̇] with δq = Z ξ the motions the contacts leave.

    Attributes:
        A: 2k × 2k; B: 2k × n, u the change of the generalised forces.
        eigenvalues: of A, 1/s, by falling real part.
        basis: Z, n × k, orthonormal columns (the identity where nothing is held).
        modes: of the contacts.
        stable: whether every eigenvalue has a negative real part.
    """

    A: Array
    B: Array
    eigenvalues: np.ndarray
    basis: Array
    modes: tuple[Mode, ...]

    @property
    def stable(self) -> bool:
        """Whether every eigenvalue lies left of the imaginary axis (by more than 1e-9 of the largest)."""
        return bool((np.real(self.eigenvalues) < -1e-9 * np.abs(self.eigenvalues).max(initial=0.0)).all())


def linearise_state(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    contacts: Sequence[Touch] = (),
    *,
    law: Law | None = None,
    wrench: Wrench | None = None,
    tolerance: float = 1e-6,
) -> Linearised:
    """A, B and eigenvalues of the motion about an equilibrium, with contacts kept in the modes they have there.

    Closed contacts hold their normals, sticking ones their tangents too, pins everything; what is left are the
    tangential motions. Friction of a contact that slides (over a surface that rides) keeps its direction.

    Args:
        robot: the robot.
        q: the equilibrium.
        v: its velocity, 0 if None (nothing else is an equilibrium of a robot on still ground).
        tau: the forces that hold it; 0 if None; with a `law`, added to the law's.
        contacts: what may hold it.
        law: (q, v) → generalised forces, for the closed loop; B is then of a force added to them.
        wrench: of the environment at the tool frame, or by frame, constant in world axes.
        tolerance: largest acceleration, rad/s² or m/s², that still counts as equilibrium.

    Raises:
        InvalidInput: the robot accelerates there.
    """
    n = robot.nv
    refuse_dry_friction(robot, "a linear model")
    model = ContactModel(robot, contacts)
    snap = model.begin_at(q, np.zeros(n) if v is None else v)
    q, v = snap.q, snap.v
    held = np.zeros(n) if tau is None else robot._plain(tau, "tau", n, finite=True)

    def force(at: Array, speed: Array) -> Array:
        own = np.zeros(n) if law is None else robot._plain(law(at, speed), "the law's force", n, finite=True)
        return held + own + robot.generalised_force(at, wrench)

    settled = settle(model, snap, force(q, v), closed_contacts(model, snap), SPEED)
    _refuse_motion(robot, settled.acceleration, v, tolerance)
    for i, option in settled.options.items():
        apply_option(model, snap, i, option)
    modes = {i: mode_of(option, model.records[i]) for i, option in settled.options.items()}
    Z = _free_motions(model, snap, modes)
    A, B = _matrices(model, q, v, Z, force)
    eigenvalues = np.linalg.eigvals(A)
    order = np.lexsort((eigenvalues.imag, -eigenvalues.real))
    names: tuple[Mode, ...] = tuple(MODES[modes.get(i, FREE)] for i in range(model.count))
    return Linearised(A, B, eigenvalues[order], Z, names)


def _refuse_motion(robot: Robot, a: Array, v: Array, tolerance: float) -> None:
    worst = int(np.argmax(np.abs(a)))
    if abs(a[worst]) > tolerance:
        raise InvalidInput(
            f"this is not an equilibrium: {robot.dof_names[worst]} accelerates at {a[worst]:.6g}",
            hint="give the torques that hold it (robot.gravity(q), less what the contacts carry), or a law",
        )
    if np.abs(v).max(initial=0.0) > tolerance:
        raise InvalidInput("an equilibrium has no velocity", hint="linearise where the robot rests")


def _free_motions(model: ContactModel, snap: Snapshot, modes: dict[int, int]) -> Array:
    from scipy.linalg import null_space

    rows, _ = held_rows(model, snap, {i: SLIDING if m == LOCKED else m for i, m in modes.items()})
    return null_space(rows, rcond=1e-9) if len(rows) else np.eye(model.robot.nv)


def _matrices(model: ContactModel, q: Array, v: Array, Z: Array, force: Law) -> tuple[Array, Array]:
    """The accelerations' derivatives by sixth-order differences along the free motions."""
    n, k = Z.shape
    closed = np.flatnonzero(model.records["mode"] != FREE)

    def acceleration(at: Array, speed: Array, extra: Array) -> Array:
        tau = np.ascontiguousarray(np.asarray(force(at, speed), dtype=float) + extra)
        return Z.T @ model.rate(0.0, np.concatenate([at, speed]), tau)[model.robot.nq :]

    def moved(xi: Array) -> Array:
        return close_gaps(model, 0.0, model.robot.integrate(q, Z @ xi, 1.0), v, closed.tolist(), rounds=8)

    zero = np.zeros(n)
    position = _jacobian(lambda xi: acceleration(moved(xi), v, zero), k)
    velocity = _jacobian(lambda w: acceleration(q, v + Z @ w, zero), k)
    torque = _jacobian(lambda u: acceleration(q, v, u), n)
    A = np.block([[np.zeros((k, k)), np.eye(k)], [position, velocity]])
    return A, np.vstack([np.zeros((k, n)), torque])


def _jacobian(function: Callable[[Array], Array], size: int) -> Array:
    rows = len(function(np.zeros(size)))
    out = np.zeros((rows, size))
    for k, e in enumerate(np.eye(size)):
        for s, w in _WEIGHTS:
            out[:, k] += w / _STEP * (function(s * _STEP * e) - function(-s * _STEP * e))
    return out
