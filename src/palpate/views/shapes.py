"""Shapes of the replay that the viewer does not have itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.spatial.rows import rotate

_AROUND, _UP = 24, 8  # segments around a capsule, and from its rim to its pole


def capsule(radius: float, half_length: float) -> tuple[Array, np.ndarray]:
    """Vertices (V, 3) and faces (F, 3) of a capsule along z, m."""
    angles = np.linspace(0.0, np.pi / 2, _UP + 1)
    top = np.column_stack([radius * np.sin(angles), half_length + radius * np.cos(angles)])
    return revolve(np.vstack([top, top[::-1] * [1.0, -1.0]]))


def revolve(profile: Array) -> tuple[Array, np.ndarray]:
    """A surface of revolution about z from a profile of (radius, height), first to last, normals outwards."""
    turns = np.linspace(0.0, 2 * np.pi, _AROUND, endpoint=False)
    radius, height = profile[:, :1], np.repeat(profile[:, 1:], _AROUND, axis=1)
    vertices = np.stack([radius * np.cos(turns), radius * np.sin(turns), height], axis=2).reshape(-1, 3)
    ring, turn = np.meshgrid(np.arange(len(profile) - 1), np.arange(_AROUND), indexing="ij")
    a, b = ring * _AROUND + turn, ring * _AROUND + (turn + 1) % _AROUND
    faces = np.concatenate([np.stack([a, a + _AROUND, b], -1), np.stack([b, a + _AROUND, b + _AROUND], -1)])
    return vertices, faces.reshape(-1, 3)


def rods(ends: list[Array], radius: float) -> list[dict[str, Any]]:
    """A ball at the origin and a capsule from there to each end: a link of which only the joints are known."""
    look = {"position": [0.0, 0.0, 0.0], "quat_wxyz": [1.0, 0.0, 0.0, 0.0], "rgba": [0.45, 0.5, 0.55, 1.0]}
    drawn: list[dict[str, Any]] = [{**look, "shape": "sphere", "size": [1.5 * radius, 0.0, 0.0]}]
    for end in ends:
        length = float(np.linalg.norm(end))
        if length > 1e-9:
            middle = {"position": (end / 2).tolist(), "quat_wxyz": quat_from_z(end / length).tolist()}
            drawn.append({**look, **middle, "shape": "capsule", "size": [radius, length / 2, 0.0]})
    return drawn


def quat_from_z(direction: Array) -> Array:
    """Quaternion wxyz of the shortest turn of z onto a unit vector."""
    if direction[2] < -1 + 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    quat = np.array([1.0 + direction[2], -direction[1], direction[0], 0.0])
    return quat / np.linalg.norm(quat)


def drawn_as(geom: dict[str, Any], anchor: tuple[Array, Array], focus: Array, reach: float) -> dict[str, Any]:
    """A geom as it is drawn: of an endless plane, the patch around the tool, as a thin plate below its face.

    Args:
        geom: as the scene holds it.
        anchor: position and quaternion wxyz of its body.
        focus: where the tool is, world, m.
        reach: size of the arm, m.
    """
    if geom["shape"] != "plane":
        return geom
    position, quat = anchor
    inverse = quat * np.array([1.0, -1.0, -1.0, -1.0])
    across = rotate(inverse, focus - position)
    thickness = 0.01 * reach
    return {
        **geom,
        "shape": "box",
        "size": [0.25 * reach, 0.25 * reach, thickness],
        "position": [across[0], across[1], -thickness],
        "quat_wxyz": [1.0, 0.0, 0.0, 0.0],
    }
