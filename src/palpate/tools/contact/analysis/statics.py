"""Statics: tip forces and torques, what holds a posture; velocity and force ellipsoids, force polytopes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, NoSolution, Singular, SingularTask
from palpate.forking import cached_property
from palpate.robot.mechanics.motion import task_jacobian
from palpate.robot.robot import Robot
from palpate.tools.contact.modes.dynamics import Constrained, Wrench, constrained_dynamics
from palpate.tools.contact.touch.contacts import Touch

_LINEAR = np.eye(6)[:3]


@dataclass(frozen=True)
class TipForce:
    """The force at a frame that joint torques balance.

    Attributes:
        force: along the directions asked for, N or N·m: what the robot does to the environment.
        residual: torque that no such force balances; the joints would accelerate with it. 0 for a square, regular J.
    """

    force: Array
    residual: Array


def torque_from_tip_force(
    robot: Robot, q: ArrayLike, force: ArrayLike, frame: str | None = None, *, directions: ArrayLike | None = None
) -> Array:
    """τ = Jᵀ F: joint torques with which the robot at rest pushes with F, gravity aside.

    From virtual work, F·ẋ = τ·θ̇ with ẋ = J θ̇. It is the transpose that maps forces to torques, and never the
    transpose's inverse.

    Args:
        robot: the robot.
        q: its posture.
        force: along the directions, N or N·m: what the robot does to the environment.
        frame: where; the tool frame by default.
        directions: rows over [linear; angular], world axes; all six by default.
    """
    J = task_jacobian(robot.jacobian(q, frame), directions)
    return J.T @ finite_array(force, "force", (len(J),))


def tip_force_from_torque(
    robot: Robot,
    q: ArrayLike,
    tau: ArrayLike,
    frame: str | None = None,
    *,
    directions: ArrayLike | None = None,
    gravity: bool = False,
) -> TipForce:
    """F with Jᵀ F = τ (or τ − g(q) if gravity counts): the force the robot exerts at rest.

    A redundant arm's torques need not be balanced by any tip force: F is then the least-squares one, and `residual` is
    what is left over.

    Raises:
        SingularTask: forces along some direction cost no torque, so τ does not tell them.
    """
    J = task_jacobian(robot.jacobian(q, frame), directions)
    wanted = robot._plain(tau, "tau", robot.nv, finite=True) - (robot.gravity(q) if gravity else 0.0)
    sizes = np.linalg.svd(J, compute_uv=False)
    if len(J) > robot.nv or sizes[-1] <= 1e-9 * sizes[0]:
        raise SingularTask(frame or robot.tool_frame, 0.0 if len(J) > robot.nv else float(sizes[-1]))
    force = np.linalg.lstsq(J.T, wanted, rcond=None)[0]
    return TipForce(force, wanted - J.T @ force)


def holding_torque(robot: Robot, q: ArrayLike, wrench: Wrench | None = None) -> Array:
    """τ = g(q) − Σ Jᵀ F: torques that hold a posture while the environment pushes with F."""
    return robot.gravity(q) - robot.generalised_force(q, wrench)


@dataclass(frozen=True)
class Equilibrium:
    """Whether a robot at rest stays so.

    Attributes:
        holds: whether no joint accelerates (to 1e-9 of the accelerations gravity would give).
        contacts: accelerations, forces and modes.
        missing: the generalised force that would be needed besides, M v̇, N·m or N; 0 where it holds.
    """

    holds: bool
    contacts: Constrained
    missing: Array


def static_equilibrium(
    robot: Robot, q: ArrayLike, tau: ArrayLike, contacts: Sequence[Touch], wrench: Wrench | None = None
) -> Equilibrium:
    """Whether contacts and torques hold a robot at rest, and with what forces."""
    zero = np.zeros(robot.nv)
    dynamics = constrained_dynamics(robot, q, zero, tau, contacts, wrench)
    free = robot.forward_dynamics(q, zero, tau, wrench=wrench)
    size = 1.0 + float(np.abs(free).max())
    holds = bool(np.abs(dynamics.acceleration).max() < 1e-9 * size)
    missing = np.zeros(robot.nv) if holds else -robot.mass_matrix(q) @ dynamics.acceleration
    return Equilibrium(holds, dynamics, missing)


@dataclass(frozen=True)
class Ellipsoid:
    """{ Σ radii_i axes_i x_i : |x| ≤ 1 } in the space of some task directions.

    Attributes:
        kind: "velocity" (per unit of joint speed) or "force" (per unit of joint torque).
        centre: the frame's place in the world, m.
        directions: rows of the task, k × 6.
        axes: k × k, unit columns, largest radius first.
        radii: half lengths; of a force ellipsoid infinite where a force costs no torque.
    """

    kind: str
    centre: Array
    directions: Array
    axes: Array
    radii: Array

    def outline(self, plane: tuple[int, int] = (0, 1)) -> Array:
        """The shadow's boundary on two of the directions, 181 × 2."""
        if not np.isfinite(self.radii).all():
            raise Singular("the force ellipsoid is endless here: some force costs no torque", 0.0, 1e-12)
        shadow = (self.axes * self.radii)[list(plane)]
        U, sizes, _ = np.linalg.svd(shadow)
        angle = np.linspace(0, 2 * math.pi, 181)
        return ((U * sizes[:2]) @ np.vstack([np.cos(angle), np.sin(angle)])).T


def velocity_ellipsoid(
    robot: Robot,
    q: ArrayLike,
    frame: str | None = None,
    *,
    directions: ArrayLike | None = None,
    speeds: ArrayLike | None = None,
) -> Ellipsoid:
    """{ J θ̇ : |θ̇| ≤ 1 }, or |θ̇_i/speeds_i| ≤ 1 together: radii are the singular values of J.

    Args:
        robot: the robot.
        q: its posture.
        frame: where; the tool frame by default.
        directions: rows over [linear; angular], world axes; x, y, z by default.
        speeds: what counts as one unit of each joint's speed.
    """
    S, J, centre = _task(robot, q, frame, directions)
    axes, sizes = _principal(J * _weights(robot, speeds, "speeds"))
    return Ellipsoid("velocity", centre, S, axes, sizes)


def force_ellipsoid(
    robot: Robot,
    q: ArrayLike,
    frame: str | None = None,
    *,
    directions: ArrayLike | None = None,
    torques: ArrayLike | None = None,
) -> Ellipsoid:
    """{ F : |Jᵀ F| ≤ 1 }, or |τ_i/torques_i| ≤ 1 together: the velocity ellipsoid's axes with inverse radii.

    Args:
        robot: the robot.
        q: its posture.
        frame: where; the tool frame by default.
        directions: rows over [linear; angular], world axes; x, y, z by default.
        torques: what counts as one unit of each joint's torque.
    """
    S, J, centre = _task(robot, q, frame, directions)
    axes, sizes = _principal(J / _weights(robot, torques, "torques"))
    with np.errstate(divide="ignore"):
        radii = np.where(sizes > 1e-12 * max(sizes[0], 1e-300), 1.0 / np.maximum(sizes, 1e-300), np.inf)
    return Ellipsoid("force", centre, S, axes[:, ::-1], radii[::-1])


def _principal(J: Array) -> tuple[Array, Array]:
    """Left singular vectors of J and its singular values, largest first, 0 for directions it does not reach."""
    U, sizes, _ = np.linalg.svd(J)
    return U, np.concatenate([sizes, np.zeros(len(J))])[: len(J)]


@dataclass(frozen=True)
class Polytope:
    """{ F : lower ≤ Jᵀ F + g ≤ upper }: forces the robot at rest can exert.

    Attributes:
        centre: the frame's place in the world, m.
        directions: rows of the task, k × 6.
        vertices: m × k, N or N·m.
        normals, offsets: its sides, normals F ≤ offsets.
    """

    centre: Array
    directions: Array
    vertices: Array
    normals: Array
    offsets: Array

    def contains(self, force: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether a force can be exerted."""
        F = finite_array(force, "force", (len(self.directions),))
        return bool((self.normals @ F <= self.offsets + tolerance * (1 + np.abs(self.offsets))).all())

    def reach(self, direction: ArrayLike) -> float:
        """The largest force along a direction, N or N·m; 0 where not even no force can be held."""
        d = finite_array(direction, "direction", (len(self.directions),))
        d = d / np.linalg.norm(d)
        across = self.normals @ d
        if not self.contains(np.zeros(len(d))):
            return 0.0
        return float((self.offsets[across > 1e-12] / across[across > 1e-12]).min())

    @cached_property
    def hull(self) -> Array:
        """Its surface as vertex numbers: edges in two directions, triangles in three."""
        from scipy.spatial import ConvexHull

        return ConvexHull(self.vertices).simplices

    def outline(self, plane: tuple[int, int] = (0, 1)) -> Array:
        """The shadow's boundary on two of the directions, closed."""
        from scipy.spatial import ConvexHull

        shadow = self.vertices[:, list(plane)]
        ring = ConvexHull(shadow).vertices
        return shadow[[*ring, ring[0]]]


def force_polytope(
    robot: Robot,
    q: ArrayLike,
    frame: str | None = None,
    *,
    directions: ArrayLike | None = None,
    torques: ArrayLike | None = None,
    gravity: bool = True,
) -> Polytope:
    """Forces a robot at rest can exert within its torque limits: −τ_max ≤ Jᵀ F + g(q) ≤ τ_max.

    Args:
        robot: the robot.
        q: its posture.
        frame: where; the tool frame by default.
        directions: rows over [linear; angular], world axes, one to three of them; x, y, z by default.
        torques: limits, N·m or N; the robot's own if None.
        gravity: whether the torques carry the arm too.

    Raises:
        InvalidInput: a joint has no torque limit.
        Singular: a force along some direction costs no torque, so there is no limit to it.
        NoSolution: gravity alone reaches or exceeds the torque limits.
    """
    S, J, centre = _task(robot, q, frame, directions)
    if not 1 <= len(S) <= 3:
        raise InvalidInput(f"a force polytope has one to three directions, got {len(S)}")
    limit = _limits(robot, torques)
    sizes = np.linalg.svd(J, compute_uv=False)
    if len(S) > robot.nv or sizes[-1] <= 1e-9 * sizes[0]:
        raise Singular("some force costs no torque here, so there is no limit to it", float(sizes[-1]), 1e-9)
    load = robot.gravity(q) if gravity else np.zeros(robot.nv)
    normals, offsets = np.vstack([J.T, -J.T]), np.concatenate([limit - load, limit + load])
    moving = np.linalg.norm(normals, axis=1) > 1e-12 * sizes[0]
    if (offsets[~moving] < 0).any():
        raise NoSolution("gravity alone exceeds the torque limits", hint="choose another posture, or larger limits")
    normals, offsets = normals[moving], offsets[moving]
    return Polytope(centre, S, _vertices(normals, offsets), normals, offsets)


def _vertices(normals: Array, offsets: Array) -> Array:
    from scipy.optimize import linprog
    from scipy.spatial import HalfspaceIntersection

    k, lengths = normals.shape[1], np.linalg.norm(normals, axis=1)
    # The centre of the largest ball inside.
    best = linprog(
        np.append(np.zeros(k), -1.0),
        np.column_stack([normals, lengths]),
        offsets,
        bounds=[(None, None)] * k + [(0, None)],
    )
    if best.status != 0 or best.x[-1] <= 1e-12 * (1 + np.abs(offsets).max()):
        raise NoSolution("gravity alone reaches the torque limits", hint="choose another posture, or larger limits")
    if k == 1:
        ends = offsets / normals[:, 0]
        return np.array([[ends[normals[:, 0] < 0].max()], [ends[normals[:, 0] > 0].min()]])
    sides = HalfspaceIntersection(np.column_stack([normals, -offsets]), best.x[:k])
    return np.unique(sides.intersections.round(12), axis=0)


def _task(robot: Robot, q: ArrayLike, frame: str | None, directions: ArrayLike | None) -> tuple[Array, Array, Array]:
    S = _LINEAR if directions is None else finite_array(directions, "directions", (None, 6))
    return S, S @ robot.jacobian(q, frame), robot.pose(q, frame).position


def _weights(robot: Robot, values: ArrayLike | None, name: str) -> Array:
    if values is None:
        return np.ones(robot.nv)
    weights = robot._plain(values, name, robot.nv, finite=True)
    if (weights <= 0).any():
        raise InvalidInput(f"{name} must be positive, got {weights.tolist()}")
    return weights


def _limits(robot: Robot, torques: ArrayLike | None) -> Array:
    limit = robot.limits.torque if torques is None else _weights(robot, torques, "torques")
    if not np.isfinite(limit).all():
        joint = robot.dof_names[int(np.flatnonzero(~np.isfinite(limit))[0])]
        raise InvalidInput(f"{robot.name} has no torque limit at {joint}", hint="give torques=…")
    return limit
