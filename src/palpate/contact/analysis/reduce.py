"""Dynamics in minimal coordinates: the motion a constraint leaves, with the generalised force that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.contact.modes.dynamics import SPEED, Wrench, closed_contacts
from palpate.contact.modes.model import ContactModel, Snapshot
from palpate.contact.modes.settling import Rows, rows_of
from palpate.contact.touch.contacts import FREE, SLIDING, STICKING, Touch
from palpate.errors import InvalidInput, Singular, UnknownName
from palpate.robot.robot import Robot

_SINGULAR = 1e-9


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
    model = ContactModel(robot, contacts)
    y = model.stack(q, v)
    q, v = y[: robot.nq], y[robot.nq :]
    model.pin_here(q)
    snap = model.survey(0.0, q, v)
    A, drift = held_rows(model, snap)
    chosen = _chosen(robot, A, independent)
    Phi, gamma = _basis(A, drift, chosen, robot)
    force = robot._plain(tau, "tau", robot.nv, finite=True) + robot.generalised_force(q, wrench)
    gravity = robot.gravity(q)
    inertia = Phi.T @ snap.M @ Phi
    moving = Phi.T @ (snap.M @ gamma + snap.rest - gravity)
    s = np.linalg.solve(inertia, Phi.T @ (force - gravity) - moving)
    full = Phi @ s + gamma
    multipliers = np.linalg.lstsq(A.T, snap.M @ full + snap.rest - force, rcond=None)[0]
    names = tuple(robot.dof_names[i] for i in chosen)
    return Reduced(names, Phi, gamma, inertia, moving, Phi.T @ gravity, Phi.T @ force, s, full, multipliers)


def held_rows(model: ContactModel, snap: Snapshot, modes: dict[int, int] | None = None) -> tuple[Array, Array]:
    """Rows A and drifts with A v̇ + drift = 0 of the contacts that touch; normals, tangents too of what sticks."""
    closed = closed_contacts(model, snap)
    rows = rows_of(model, snap, closed, SPEED)
    kept: list[int] = []
    for c in rows.candidates:
        mode = SLIDING if modes is None else modes.get(c.index, FREE)
        if mode == FREE and c.normal is not None:
            continue
        kept += [] if c.normal is None else [c.normal]
        kept += c.tangents if c.normal is None or mode == STICKING else []
    A = rows.R[kept]
    if len(kept) and np.abs(A @ snap.v - _carried(model, snap, rows, kept)).max() > 1e3 * SPEED:
        raise InvalidInput("v breaks the constraints", hint="choose v with A v = 0, such as (θ̇, −2 θ̇)")
    return A, rows.drift[kept]


def _carried(model: ContactModel, snap: Snapshot, rows: Rows, kept: list[int]) -> Array:
    """What surfaces that ride ask of the held rows' velocities."""
    from palpate.contact.collision.impacts import row_velocities

    closed = [c.index for c in rows.candidates]
    u = row_velocities(model, snap, closed, exact=True)
    return (rows.R @ snap.v - u)[kept]


def _chosen(robot: Robot, A: Array, names: Sequence[str] | None) -> list[int]:
    rank = int(np.linalg.matrix_rank(A)) if len(A) else 0
    if names is None:
        return _first_that_work(A, rank)
    for name in names:
        if name not in robot.dof_names:
            raise UnknownName("velocity", name, robot.dof_names)
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


def _basis(A: Array, drift: Array, chosen: list[int], robot: Robot) -> tuple[Array, Array]:
    """Φ and γ: A Φ = 0 with unit rows at the chosen places, A γ = −drift with zeros there."""
    n = robot.nv
    others = [i for i in range(n) if i not in chosen]
    Phi, gamma = np.zeros((n, len(chosen))), np.zeros(n)
    Phi[chosen, range(len(chosen))] = 1.0
    if not others:
        return Phi, gamma
    sizes = np.linalg.svd(A[:, others], compute_uv=False)
    if len(sizes) < len(others) or sizes[-1] < _SINGULAR:
        named = ", ".join(robot.dof_names[i] for i in chosen)
        raise Singular(f"({named}) does not determine the constrained motion", float(sizes[-1]), _SINGULAR)
    Phi[others] = -np.linalg.lstsq(A[:, others], A[:, chosen], rcond=None)[0]
    gamma[others] = -np.linalg.lstsq(A[:, others], drift, rcond=None)[0]
    return Phi, gamma
