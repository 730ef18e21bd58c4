"""The ghost of a replay: where the reference wants the bodies of the robot."""

from __future__ import annotations

import numpy as np

from palpate.spatial.rows import conjugate, rotate
from palpate.trace import Trace
from palpate.views.kinematics import Path, body_paths, compose, scene_of

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
