"""Where every body of a recorded scene was, from the trace alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import TraceError
from palpate.spatial.rows import conjugate, product, rotate, unit
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


# ----------------------------------------------------------------------------------------------
# Where the reference wants the robot: the bodies of its ghost in a replay.


_RIGID = 1e-5  # m and 1: what moves less against the tool hangs on it
_SAME = 2e-3  # m: wanted joints that lead the tool this close to the target mean the same as it


def ghost_paths(trace: Trace, rows: np.ndarray, paths: list[Path]) -> dict[int, Path]:
    """Where bodies would be if the robot were at its target, by their place in the scene.

    The whole arm where the wanted joints lead the tool to the target; else what hangs on the tool, since a law in tool
    space wants nothing of the joints. Nothing without a target.
    """
    if not {"tool_position", "tool_quat_wxyz", "target_position", "target_quat_wxyz"} <= set(trace):
        return {}
    tool = trace["tool_position"][rows], trace["tool_quat_wxyz"][rows]
    target = trace["target_position"][rows], trace["target_quat_wxyz"][rows]
    hanging = _hanging(trace, tool, paths)
    if not hanging or not all(np.isfinite(values).all() for values in target):
        return {}
    return _arm(trace, rows, target, hanging) or {
        b: compose(target, compose(_inverse(tool), paths[b])) for b in hanging
    }


def _hanging(trace: Trace, tool: Path, paths: list[Path]) -> list[int]:
    """Bodies that keep their place against the tool; of a robot that stands still the last ones."""
    scene = scene_of(trace)
    groups = _rigid_groups(scene)
    still = [
        b
        for b, body in enumerate(scene)
        if groups[b] and not body["surface"] and _constant(compose(_inverse(tool), paths[b]))
    ]
    group = max((groups[b] for b in still), default=0)
    return [b for b in still if groups[b] == group]


def _rigid_groups(scene: list[dict]) -> list[int]:
    """For each body the last one on the way to the world that a joint moves, itself among them; 0 for the world."""
    groups: list[int] = []
    for b, body in enumerate(scene):
        groups.append(b if body["joints"] else groups[body["parent"]] if b else 0)
    return groups


def _constant(path: Path) -> bool:
    return bool(np.ptp(path[0], axis=0).max() < _RIGID and np.abs(np.abs(path[1] @ path[1][0]) - 1).max() < _RIGID)


def _arm(trace: Trace, rows: np.ndarray, target: Path, hanging: list[int]) -> dict[int, Path]:
    """Every moving body at the wanted joints, if these and the target are one."""
    if "target_q" not in trace or not np.isfinite(trace["target_q"]).all():
        return {}
    wanted = body_paths(trace, rows, trace["target_q"][rows])
    tool = trace["tool_position"][rows[:1]], trace["tool_quat_wxyz"][rows[:1]]
    offset = compose(_inverse(body_paths(trace, rows[:1])[hanging[0]]), tool)
    reached = wanted[hanging[0]][0] + rotate(wanted[hanging[0]][1], offset[0][0])
    if np.linalg.norm(reached - target[0], axis=1).max() > _SAME:
        return {}
    groups, scene = _rigid_groups(scene_of(trace)), scene_of(trace)
    return {b: path for b, path in enumerate(wanted) if groups[b] and not scene[b]["surface"]}


def _inverse(path: Path) -> Path:
    back = conjugate(path[1])
    return -rotate(back, path[0]), back
