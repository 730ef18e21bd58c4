"""Joints that mimic another: the robot's independent coordinates, and the linear map to all of them."""

from __future__ import annotations

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
        """The independent joints' own limits."""
        return JointLimits(*(getattr(limits, name)[self.kept] for name in JointLimits.__dataclass_fields__))

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


def coupling_from_model(model: mujoco.MjModel) -> Coupling | None:
    """The linear joint couplings of a model, or None where every joint is free."""
    ties = _ties(model)
    if not ties:
        return None
    if model.nq != model.nv:
        raise ModelError("mimic joints on a free-floating machine are not supported")
    kept = np.array([joint for joint in range(model.nv) if joint not in ties])
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
        ties[follower] = (int(model.eq_obj2id[e]), slope, constant)
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
