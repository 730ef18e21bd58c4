"""Twists [v; ω] and wrenches [f; n] seen from other frames and about other points.

A twist's v is the velocity of the body's point at the origin of the frame (or the named point); a wrench's n is the
moment about that point. Changes of both keep the power f · v + n · ω. Everything takes batches: twists and wrenches
(…, 6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.spatial import inputs, rotation as rotations, vector_kernels as vectors
from palpate.spatial.inputs import result_of
from palpate.spatial.pose import Pose, checked_pose


def adjoint_twist(X_AB: Pose) -> Array:
    """Ad (6×6) with V_A = Ad V_B: [R, S(p) R; 0, R]; axes and reference point go from B's to A's."""
    X_AB = checked_pose(X_AB, "X_AB")
    return _blocks(X_AB, upper=rotations.skew(X_AB.position) @ X_AB.rotation)


def adjoint_wrench(X_AB: Pose) -> Array:
    """Ad (6×6) with F_A = Ad F_B: [R, 0; S(p) R, R], the inverse transpose of `adjoint_twist`."""
    X_AB = checked_pose(X_AB, "X_AB")
    return _blocks(X_AB, lower=rotations.skew(X_AB.position) @ X_AB.rotation)


def rotate_axes(R_AB: ArrayLike, twist_or_wrench: ArrayLike) -> Array:
    """Components in A of a twist or wrench given in B, at the same point: both halves times R_AB."""
    six, R = inputs.numbers(twist_or_wrench, "twist_or_wrench", (6,)), inputs.rotation(R_AB, "R_AB")
    return np.concatenate(
        [rotations.rotate_vectors(R, six[..., :3]), rotations.rotate_vectors(R, six[..., 3:])], axis=-1
    )


def shift_twist(twist: ArrayLike, r_PQ: ArrayLike) -> Array:
    """The twist of the same body at Q instead of P, same axes: v_Q = v_P + ω × r_PQ."""
    return result_of(vectors.shift_twist, (6,), inputs.numbers(twist, "twist", (6,)), inputs.vector(r_PQ, "r_PQ"))


def shift_wrench(wrench: ArrayLike, r_PQ: ArrayLike) -> Array:
    """The same wrench with its moment about Q instead of P, same axes: n_Q = n_P − r_PQ × f."""
    return result_of(vectors.shift_wrench, (6,), inputs.numbers(wrench, "wrench", (6,)), inputs.vector(r_PQ, "r_PQ"))


def _blocks(X_AB: Pose, upper: Array | float = 0.0, lower: Array | float = 0.0) -> Array:
    out = np.zeros((*X_AB.position.shape[:-1], 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = X_AB.rotation
    out[..., :3, 3:], out[..., 3:, :3] = upper, lower
    return out
