"""Where every body of a recorded scene was, from the trace alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import TraceError
from palpate.spatial.rows import product, rotate, unit
from palpate.trace import Trace

Path = tuple[Array, Array]  # positions (frames, 3), m, and unit quaternions wxyz (frames, 4), in the world


def scene_of(trace: Trace) -> list[dict[str, Any]]:
    """The bodies a trace describes.

    Raises:
        TraceError: the trace holds no scene or no joint positions.
    """
    scene = trace.facts.scene
    if not scene or "q" not in trace or not len(trace):
        raise TraceError(
            "this trace cannot be replayed: it holds no scene or no joint positions",
            hint="record the channel 'q'; traces made by palpate's simulate carry their scene",
        )
    return scene


def body_paths(trace: Trace, rows: np.ndarray, q: Array | None = None) -> list[Path]:
    """Position and orientation of every body of the scene at the given samples, parents before children.

    Args:
        trace: what happened.
        rows: which samples.
        q: joint positions in those samples instead of the recorded ones.
    """
    coordinates = trace["q"][rows] if q is None else q
    if "rest_q" in trace:
        coordinates = np.hstack([coordinates, trace["rest_q"][rows]])
    paths: list[Path] = []
    for index, body in enumerate(scene_of(trace)):
        if index == 0:
            paths.append((np.zeros((len(rows), 3)), np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1))))
            continue
        path = compose(paths[body["parent"]], (np.array(body["position"]), np.array(body["quat_wxyz"])))
        for joint in body["joints"]:
            path = _moved(path, joint, coordinates)
        channel = f"surface.{body['surface']}"
        paths.append((trace[channel][rows], path[1]) if body["surface"] and channel in trace else path)
    return paths


def compose(first: Path, second: Path) -> Path:
    """X_AC = X_AB X_BC, frame by frame; the second may be one pose for all frames."""
    return first[0] + rotate(first[1], second[0]), product(first[1], np.broadcast_to(second[1], first[1].shape))


def _moved(path: Path, joint: dict[str, Any], coordinates: Array) -> Path:
    """A body's path once one of its joints has moved it."""
    first, kind = joint["coordinate"], joint["kind"]
    if kind == "free":
        pose = coordinates[:, first : first + 7]
        return pose[:, :3], unit(pose[:, 3:])
    anchor, axis = np.array(joint["position"]), np.array(joint["axis"])
    follows = joint.get("slope", 1.0) * coordinates[:, first : first + 1] + joint.get("constant", 0.0)
    moved = follows - joint["reference"]
    if kind == "slide":
        return path[0] + rotate(path[1], axis) * moved, path[1]
    if kind == "ball":
        quaternion = unit(coordinates[:, first : first + 4])
    else:
        quaternion = np.hstack([np.cos(moved / 2), np.sin(moved / 2) * axis])
    turned = product(path[1], quaternion)
    # The anchor stays where it was.
    return path[0] + rotate(path[1], anchor) - rotate(turned, anchor), turned
