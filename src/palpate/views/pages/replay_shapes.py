"""Shapes of a replay: rods between joints, and planes as plates."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.spatial.rows import conjugate, rotate


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
    across = rotate(conjugate(quat), focus - position)
    thickness = 0.01 * reach
    return {
        **geom,
        "shape": "box",
        "size": [0.25 * reach, 0.25 * reach, thickness],
        "position": [across[0], across[1], -thickness],
        "quat_wxyz": [1.0, 0.0, 0.0, 0.0],
    }
