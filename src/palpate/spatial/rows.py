"""Rotations of whole channels: quaternions wxyz and vectors in the last axis, sample by sample.

The functions of `rotation` check one rotation and tell what is wrong with it; these trust their input, which has been
checked or recorded, and take any number at once.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array


def dot(a: Array, b: Array) -> Array:
    """a · b."""
    return np.einsum("...i,...i", a, b)


def length(vector: Array) -> Array:
    """|v|."""
    return np.sqrt(dot(vector, vector))


def cross(a: Array, b: Array) -> Array:
    """a × b."""
    (a0, a1, a2), (b0, b1, b2) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def product(a: Array, b: Array) -> Array:
    """a ⊗ b."""
    (w, x, y, z), (s, p, q, r) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    vector = w * p + s * x + (y * r - z * q), w * q + s * y + (z * p - x * r), w * r + s * z + (x * q - y * p)
    return np.stack([w * s - (x * p + y * q + z * r), *vector], axis=-1)


def conjugate(quat_wxyz: Array) -> Array:
    """The inverse rotation of unit quaternions."""
    return quat_wxyz * np.array([1.0, -1.0, -1.0, -1.0])


def unit(quat_wxyz: Array) -> Array:
    """Quaternions of length 1."""
    return quat_wxyz / length(quat_wxyz)[..., None]


def rotate(quat_wxyz: Array, vector: Array) -> Array:
    """Vectors turned by unit quaternions: v + 2w (a × v) + 2 a × (a × v), a the vector part."""
    w, axis = quat_wxyz[..., :1], quat_wxyz[..., 1:]
    across = 2.0 * cross(axis, vector)
    return vector + w * across + cross(axis, across)


def rotation_vectors(quat_wxyz: Array) -> Array:
    """Axis times angle, rad, of unit quaternions; the shorter way, angle at most π."""
    w, axis = quat_wxyz[..., 0], quat_wxyz[..., 1:]
    size = length(axis)
    angle = 2.0 * np.arctan2(size, np.abs(w))
    # 2 is the limit of angle / sin(angle / 2) at 0; the other quaternion of the rotation where w < 0.
    factor = np.divide(angle, size, out=np.full_like(size, 2.0), where=size > 1e-12)
    return axis * np.where(w < 0, -factor, factor)[..., None]


def quats_from_rotation_vectors(r: Array) -> Array:
    """(cos ½θ, ½ sinc(½θ) r), θ = |r|; continuous in r."""
    half = 0.5 * length(r)[..., None]
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * r], axis=-1)
