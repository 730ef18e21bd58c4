"""Linear models about an equilibrium, free or in contact, open or closed loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.contact.analysis.reduce import held_rows
from palpate.contact.modes.dynamics import SPEED, Wrench, closed_contacts
from palpate.contact.modes.model import ContactModel, Snapshot
from palpate.contact.modes.settling import apply_option, mode_of, settle
from palpate.contact.touch.contacts import FREE, MODES, SLIDING, Mode, Touch
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

Law = Callable[[Array, Array], ArrayLike]

_STEP = 2e-3  # of the differences: with sixth order their error is about 1e-12 of the derivative
_WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


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
    model = ContactModel(robot, contacts)
    y = model.stack(q, np.zeros(n) if v is None else v)
    q, v = y[: robot.nq], y[robot.nq :]
    held = np.zeros(n) if tau is None else robot._plain(tau, "tau", n, finite=True)

    def force(at: Array, speed: Array) -> Array:
        own = np.zeros(n) if law is None else robot._plain(law(at, speed), "the law's force", n, finite=True)
        return held + own + robot.generalised_force(at, wrench)

    model.pin_here(q)
    snap = model.survey(0.0, q, v)
    settled = settle(model, snap, force(q, v), closed_contacts(model, snap), SPEED)
    _refuse_motion(robot, settled.acceleration, v, tolerance)
    for c, o in zip(settled.rows.candidates, settled.solution.options):
        apply_option(model, snap, c.index, o)
    modes = {
        c.index: mode_of(o, model.records[c.index]) for c, o in zip(settled.rows.candidates, settled.solution.options)
    }
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
            f"this is no equilibrium: {robot.dof_names[worst]} accelerates at {a[worst]:.6g}",
            hint="give the torques that hold it (robot.gravity(q), less what the contacts carry), or a law",
        )
    if np.abs(v).max(initial=0.0) > tolerance:
        raise InvalidInput("an equilibrium has no velocity", hint="linearise where the robot rests")


def _free_motions(model: ContactModel, snap: Snapshot, modes: dict[int, int]) -> Array:
    n = model.robot.nv
    rows, _ = held_rows(model, snap, {i: SLIDING if m == 3 else m for i, m in modes.items()})
    if not len(rows):
        return np.eye(n)
    _, sizes, Vt = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * max(sizes[0], 1e-300)).sum())
    return Vt[rank:].T


def _matrices(model: ContactModel, q: Array, v: Array, Z: Array, force: Law) -> tuple[Array, Array]:
    """The accelerations' derivatives by sixth-order differences along the free motions."""
    n, k = Z.shape

    def acceleration(at: Array, speed: Array, extra: Array) -> Array:
        tau = np.ascontiguousarray(np.asarray(force(at, speed), dtype=float) + extra)
        return Z.T @ model.rate(0.0, np.concatenate([at, speed]), tau)[model.robot.nq :]

    def moved(xi: Array) -> Array:
        return _back_on_surfaces(model, model.robot.integrate(q, Z @ xi, 1.0), v)

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


def _back_on_surfaces(model: ContactModel, q: Array, v: Array) -> Array:
    """q brought back onto curved surfaces by Newton's method."""
    from palpate.contact.motion.event_handling import close_gaps

    closed = [i for i, record in enumerate(model.records) if record["mode"] != FREE]
    return close_gaps(model, 0.0, q, v, closed, rounds=8)
