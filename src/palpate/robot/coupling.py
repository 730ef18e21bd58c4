"""Joints that mimic another: the robot's independent coordinates, and the linear map to all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import ModelError
from palpate.robot.limits import JointLimits

if TYPE_CHECKING:
    from palpate.robot.robot import Terms


@dataclass(frozen=True)
class Coupling:
    """q_full = map q + offset, v_full = map v, with `kept` the places of q in q_full."""

    map: Array
    offset: Array
    kept: np.ndarray

    @property
    def count(self) -> int:
        """How many independent coordinates."""
        return len(self.kept)

    def expand_position(self, q: Array) -> Array:
        """All joints' positions from the independent ones."""
        return self.map @ q + self.offset

    def reduce_matrix(self, full: Array) -> Array:
        """Gᵀ A G."""
        return self.map.T @ full @ self.map

    def reduce_limits(self, limits: JointLimits) -> JointLimits:
        """The independent joints' limits, narrowed so that their followers keep their own ranges and speeds."""
        reduced = JointLimits(*(getattr(limits, name)[self.kept] for name in JointLimits.__dataclass_fields__))
        for follower, leader in zip(*np.nonzero(self.map)):
            slope, constant = self.map[follower, leader], self.offset[follower]
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
            a = a + _fraction(residual, a, step) * step
            r = residual(a)
            if np.abs(step).max() <= 1e-13 * (1 + np.abs(a).max()):
                break
        return a

    def reduce_terms(self, full: Terms) -> Terms:
        """Every term in the independent coordinates."""
        G = self.map
        return type(full)(
            G.T @ full.M @ G,
            G.T @ full.bias,
            G.T @ full.gravity,
            full.position,
            full.rotation,
            full.J @ G,
            full.drift,
        )


def _fraction(residual: Callable[[Array], Array], a: Array, step: Array) -> float:
    """How far to go along a step: all of it, or to where the falling function begins to rise."""
    from scipy.optimize import brentq

    def rise(t: float) -> float:
        return float(step @ residual(a + t * step))

    return 1.0 if rise(1.0) <= 0 or rise(0.0) >= 0 else float(np.asarray(brentq(rise, 0.0, 1.0, xtol=1e-15)))


def friction_slopes(data: mujoco.MjData) -> Array:
    """d(friction)/d(acceleration) of each joint: MuJoCo's regularisation where it sticks, 0 where it slides."""
    slopes = np.zeros(data.qacc.size)
    friction = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
    sticks = data.efc_state == mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC
    rows = np.flatnonzero(friction & sticks)
    slopes[data.efc_id[rows]] = data.efc_D[rows]
    return slopes


def coupling_from_model(model: mujoco.MjModel) -> Coupling | None:
    """The linear joint couplings of a model, or None where every joint is free."""
    ties = _ties(model)
    if not ties:
        return None
    if model.nq != model.nv:
        raise ModelError("mimic joints on a free-floating machine are not supported")
    kept = np.array([joint for joint in range(model.nv) if joint not in ties], dtype=int)
    if kept.size == 0:
        raise ModelError("every joint mimics another; none is left to move")
    G, offset = np.zeros((model.nv, len(kept))), np.zeros(model.nv)
    for joint in range(model.nv):
        leader, slope, offset[joint] = _leader(joint, ties)
        if leader >= 0:
            G[joint, np.searchsorted(kept, leader)] = slope
    return Coupling(G, offset, kept)


def _ties(model: mujoco.MjModel) -> dict[int, tuple[int, float, float]]:
    """For each following joint: its leader (−1 for none), slope and constant."""
    ties = {}
    for e in range(model.neq):
        if model.eq_type[e] != mujoco.mjtEq.mjEQ_JOINT or not model.eq_active0[e]:
            continue
        follower = int(model.eq_obj1id[e])
        constant, slope, *higher = (float(x) for x in model.eq_data[e][:5])
        if any(higher):
            raise ModelError(f"joint {model.joint(follower).name!r} mimics by a curve; only a line is supported")
        leader = int(model.eq_obj2id[e])
        if follower in ties:
            raise ModelError(f"joint {model.joint(follower).name!r} mimics twice")
        # The engine counts both joints from their reference positions.
        constant += model.qpos0[follower] - (slope * model.qpos0[leader] if leader >= 0 else 0.0)
        ties[follower] = (leader, slope, float(constant))
    return ties


def _leader(joint: int, ties: dict[int, tuple[int, float, float]]) -> tuple[int, float, float]:
    """Follow a chain of ties to the independent joint at its end: q_joint = slope q_leader + constant."""
    slope, constant = 1.0, 0.0
    for _ in range(len(ties) + 1):
        if joint not in ties:
            return joint, slope, constant
        joint, s, c = ties[joint]
        constant += slope * c
        slope *= s
    raise ModelError("mimic joints follow each other in a ring")
