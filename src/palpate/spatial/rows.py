"""Rotations of whole channels: quaternions wxyz and vectors in the last axis, sample by sample.

The functions of `rotation` check one rotation and tell what is wrong with it; these trust their input, which has been
checked or recorded, and take any number at once.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array


def product(a: Array, b: Array) -> Array:
    """a ⊗ b."""
    w, v = a[..., :1], a[..., 1:]
    s, u = b[..., :1], b[..., 1:]
    scalar = w * s - np.sum(v * u, axis=-1, keepdims=True)
    return np.concatenate([scalar, w * u + s * v + np.cross(v, u)], axis=-1)


def conjugate(quat_wxyz: Array) -> Array:
    """The inverse rotation of unit quaternions."""
    return quat_wxyz * np.array([1.0, -1.0, -1.0, -1.0])


def unit(quat_wxyz: Array) -> Array:
    """Quaternions of length 1."""
    return quat_wxyz / np.linalg.norm(quat_wxyz, axis=-1, keepdims=True)


def rotate(quat_wxyz: Array, vector: Array) -> Array:
    """Vectors turned by unit quaternions: v + 2w (a × v) + 2 a × (a × v), a the vector part."""
    w, axis = quat_wxyz[..., :1], quat_wxyz[..., 1:]
    across = 2.0 * np.cross(axis, vector)
    return vector + w * across + np.cross(axis, across)


def rotation_vectors(quat_wxyz: Array) -> Array:
    """Axis times angle, rad, of unit quaternions; the shorter way, angle at most π."""
    quat = np.where(quat_wxyz[..., :1] < 0, -quat_wxyz, quat_wxyz)
    size = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, quat[..., :1])
    # 2 is the limit of angle / sin(angle / 2) at 0.
    return quat[..., 1:] * np.divide(angle, size, out=np.full_like(size, 2.0), where=size > 1e-12)


def quats_from_rotation_vectors(r: Array) -> Array:
    """(cos ½θ, ½ sinc(½θ) r), θ = |r|; continuous in r."""
    half = 0.5 * np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * r], axis=-1)
