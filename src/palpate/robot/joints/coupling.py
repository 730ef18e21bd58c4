"""A robot's independent coordinates, and the linear map from them to all of the engine's: joints may mimic others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import ModelError
from palpate.robot.limits import JointLimits, scalar_joints

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


@dataclass(frozen=True)
class Coordinates:
    """From the independent coordinates to all of the engine's: q_all = P q + c, v_all = G v, τ = Gᵀ τ_all.

    Where no joint mimics another, G and P are identities and every function gives back what it is given.

    Fixed numbers, so a loop may hold them: the engine's position and velocity follow from q and v, and
    q = q_all[kept_position], v = v_all[kept] give them back. A force τ on the independent joints acts on the engine's
    joints `kept`. A free base is among the kept; its quaternion passes P unchanged.

    Attributes:
        coupled: whether any joint mimics another.
        map: G, n_v(all) × n_v.
        kept: indices of v in v_all.
        position_map: P, n_q(all) × n_q.
        position_offset: c, n_q(all).
        kept_position: indices of q in q_all.
        position_of: index in q_all of each scalar joint's velocity, −1 where a velocity has no coordinate of its own.
    """

    coupled: bool
    map: Array
    kept: np.ndarray
    position_map: Array
    position_offset: Array
    kept_position: np.ndarray
    position_of: np.ndarray

    def expand_position(self, q: Array) -> Array:
        """All joints' positions from the independent ones, q or one q a row."""
        return q @ self.position_map.T + self.position_offset if self.coupled else q

    def expand_velocity(self, v: Array) -> Array:
        """All joints' velocities or accelerations from the independent ones, v or one v a row."""
        return v @ self.map.T if self.coupled else v

    def reduce_force(self, full: Array) -> Array:
        """Gᵀ f."""
        return self.map.T @ full if self.coupled else full

    def reduce_columns(self, full: Array) -> Array:
        """A G."""
        return full @ self.map if self.coupled else full

    def reduce_matrix(self, full: Array) -> Array:
        """Gᵀ A G."""
        return self.map.T @ full @ self.map if self.coupled else full

    def reduce_limits(self, limits: JointLimits) -> JointLimits:
        """The independent joints' limits, narrowed so that their followers keep their own ranges and speeds."""
        if not self.coupled:
            return limits
        reduced = JointLimits(*(getattr(limits, name)[self.kept] for name in JointLimits.__dataclass_fields__))
        for follower, leader in zip(*np.nonzero(self.map)):
            if self.position_of[follower] < 0:
                continue  # a free base, or a ball
            slope, constant = self.map[follower, leader], self.position_offset[self.position_of[follower]]
            ends = np.sort((np.array([limits.lower[follower], limits.upper[follower]]) - constant) / slope)
            reduced.lower[leader] = max(reduced.lower[leader], ends[0])
            reduced.upper[leader] = min(reduced.upper[leader], ends[1])
            reduced.velocity[leader] = min(reduced.velocity[leader], limits.velocity[follower] / abs(slope))
        return reduced

    def accelerate(
        self, M: Array, start: Array, residual: Callable[[Array], Array], slopes: Callable[[], Array]
    ) -> Array:
        """The acceleration with residual(a) = M a + friction(a) − force = 0.

        MuJoCo's Coulomb friction is a steep line between two constants in each joint's acceleration, so the residual
        is the gradient of a convex, piecewise quadratic function: Newton's method with an exact search along each
        step ends after a few pieces. `slopes` are the lines' gradients where `residual` was last asked.
        """
        a, r = start, residual(start)
        for _ in range(100):
            step = -np.linalg.solve(M + (self.map.T * slopes()) @ self.map, r)
            a = a + _step_length(residual, a, step) * step
            r = residual(a)
            if np.abs(step).max() <= 1e-13 * (1 + np.abs(a).max()):
                break
        return a


def _step_length(residual: Callable[[Array], Array], a: Array, step: Array) -> float:
    """How far to go along a step: all of it, or to where the falling function begins to rise."""
    from scipy.optimize import brentq

    def rise(t: float) -> float:
        return float(step @ residual(a + t * step))

    return 1.0 if rise(1.0) <= 0 or rise(0.0) >= 0 else float(np.asarray(brentq(rise, 0.0, 1.0, xtol=1e-15)))


def acceleration(robot: Robot, q: ArrayLike, v: ArrayLike, tau: Array, data: mujoco.MjData | None) -> Array:
    """M⁻¹ (τ − C v − g), with losses where the engine's data of the robot's last call are given."""
    M, losses = robot.mass_matrix(q), data is not None
    start = np.linalg.solve(M, tau - robot.inverse_dynamics(q, v, np.zeros(robot.nv), losses=losses))
    if data is None or not robot.model.dof_frictionloss.any():
        return start
    return robot.coordinates.accelerate(
        M, start, lambda a: robot.inverse_dynamics(q, v, a) - tau, lambda: friction_slopes(data)
    )


def friction_slopes(data: mujoco.MjData) -> Array:
    """d(friction)/d(acceleration) of each joint: MuJoCo's regularisation where it sticks, 0 where it slides."""
    slopes = np.zeros(data.qacc.size)
    friction = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
    sticks = data.efc_state == mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC
    rows = np.flatnonzero(friction & sticks)
    slopes[data.efc_id[rows]] = data.efc_D[rows]
    return slopes


def coordinates_of(model: mujoco.MjModel) -> Coordinates:
    """The independent coordinates of a model whose joints may mimic others along a line.

    Raises:
        ModelError: joints are tied by a curve, twice or in a ring, or all of them are.
    """
    ties = ties_of(model)
    free = [j for j in range(model.njnt) if j not in ties]
    if ties and not free:
        raise ModelError("every joint mimics another; none is left to move")
    kept = _indices(model.jnt_dofadr, (6, 3, 1, 1), model, free)
    kept_position = _indices(model.jnt_qposadr, (7, 4, 1, 1), model, free)
    G, P = np.eye(model.nv)[:, kept], np.eye(model.nq)[:, kept_position]
    c, position_of = np.zeros(model.nq), np.full(model.nv, -1)
    scalar = scalar_joints(model)
    position_of[model.jnt_dofadr[scalar]] = model.jnt_qposadr[scalar]
    for follower in ties:
        leader, slope, constant = _leader(follower, ties)
        dof, address = model.jnt_dofadr[follower], model.jnt_qposadr[follower]
        c[address] = constant
        if leader >= 0:
            G[dof, np.searchsorted(kept, model.jnt_dofadr[leader])] = slope
            P[address, np.searchsorted(kept_position, model.jnt_qposadr[leader])] = slope
    return Coordinates(bool(ties), G, kept, P, c, kept_position, position_of)


_LOOPS = {
    mujoco.mjtEq.mjEQ_CONNECT: "connects two bodies in a point",
    mujoco.mjtEq.mjEQ_WELD: "welds two bodies",
    mujoco.mjtEq.mjEQ_TENDON: "ties tendons",
}


@dataclass(frozen=True)
class KinematicLoop:
    """A constraint that makes more than a tree of a model.

    Attributes:
        name: its name in quotes, or its number.
        what: what it does.
        joints: the joints between its two ends.
    """

    name: str
    what: str
    joints: tuple[str, ...]

    @property
    def hint(self) -> str:
        """The remedy: joints to lock, or a constraint to delete."""
        some = ", ".join(self.joints[:8]) + (" …" if len(self.joints) > 8 else "")
        return f"lock {some} (lock=…), or delete the constraint" if some else "delete the constraint"


def closed_loops(model: mujoco.MjModel) -> list[KinematicLoop]:
    """The constraints that close a loop of the model, in the order of the file."""
    loops = []
    for e in range(model.neq):
        if model.eq_active0[e] and model.eq_type[e] != mujoco.mjtEq.mjEQ_JOINT:
            name = model.equality(e).name
            what = _LOOPS.get(mujoco.mjtEq(int(model.eq_type[e])), "constrains more than joints")
            loops.append(KinematicLoop(repr(name) if name else f"number {e + 1}", what, _joints_between(model, e)))
    return loops


def _joints_between(model: mujoco.MjModel, e: int) -> tuple[str, ...]:
    """The joints that move one end of a constraint between bodies and not the other."""
    first, second = (_joints_carrying(model, body) for body in bodies_joined(model, e))
    return tuple(model.joint(j).name for j in sorted(first ^ second))


def bodies_joined(model: mujoco.MjModel, e: int) -> tuple[int, int]:
    """The bodies that a constraint joins in a point or welds; the ground twice for one of another kind."""
    if int(model.eq_type[e]) not in (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)):
        return 0, 0
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    if model.eq_objtype[e] == mujoco.mjtObj.mjOBJ_SITE:
        return int(model.site_bodyid[first]), int(model.site_bodyid[second])
    return first, second


def _joints_carrying(model: mujoco.MjModel, body: int) -> set[int]:
    joints: set[int] = set()
    while body > 0:
        joints |= set(range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]))
        body = int(model.body_parentid[body])
    return joints


def refuse_loops(model: mujoco.MjModel, robot: str) -> None:
    """Raise the error that names every closed loop, if there is one: the terms of a tree would be wrong for it."""
    loops = closed_loops(model)
    if loops:
        listed = "; ".join(f"equality {loop.name} {loop.what}" for loop in loops[:6])
        more = f"; and {len(loops) - 6} more" if len(loops) > 6 else ""
        raise ModelError(
            f"{robot} is not a tree: {listed}{more}. palpate computes with trees of joints", hint=loops[0].hint
        )


def _indices(first: np.ndarray, sizes: Sequence[int], model: mujoco.MjModel, joints: Sequence[int]) -> np.ndarray:
    """The indices of joints in q or v: where each begins, and how many a joint of its type has."""
    return np.array([first[j] + k for j in joints for k in range(sizes[model.jnt_type[j]])], dtype=np.int64)


def ties_of(model: mujoco.MjModel) -> dict[int, tuple[int, float, float]]:
    """For each following joint: its leader (−1 for none), slope and constant."""
    ties = {}
    for e in range(model.neq):
        if model.eq_type[e] != mujoco.mjtEq.mjEQ_JOINT or not model.eq_active0[e]:
            continue
        follower, leader = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        constant, slope, *higher = (float(x) for x in model.eq_data[e][:5])
        if any(higher):
            raise ModelError(f"joint {model.joint(follower).name!r} mimics by a curve; only a line is supported")
        if follower in ties:
            raise ModelError(f"joint {model.joint(follower).name!r} mimics twice")
        # The engine counts both joints from their reference positions.
        zero = model.qpos0[model.jnt_qposadr]
        constant += zero[follower] - (slope * zero[leader] if leader >= 0 else 0.0)
        ties[follower] = (leader, slope if leader >= 0 else 0.0, float(constant))
    return ties


def _leader(joint: int, ties: dict[int, tuple[int, float, float]]) -> tuple[int, float, float]:
    """Follow a chain of ties to the independent joint at its end: q_joint = slope q_leader + constant."""
    slope, constant = 1.0, 0.0
    for _ in range(len(ties) + 1):
        if joint not in ties:  # also the ground, −1
            return joint, slope, constant
        joint, s, c = ties[joint]
        constant += slope * c
        slope *= s
    raise ModelError("mimic joints follow each other in a ring")
