"""The engine's four kinds of joints: their names, and the labels and units of their coordinates and velocities."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco

Labels = tuple[tuple[str, ...], tuple[str, ...]]

KINDS = ("free", "ball", "slide", "hinge")  # by the engine's number
# Likewise: each end of a name with its unit; a quaternion is wxyz.
_QUATERNION = (("_qw", "1"), ("_qx", "1"), ("_qy", "1"), ("_qz", "1"))
_SPIN = (("_wx", "rad/s"), ("_wy", "rad/s"), ("_wz", "rad/s"))
_POSITIONS = ((("_x", "m"), ("_y", "m"), ("_z", "m"), *_QUATERNION), _QUATERNION, (("", "m"),), (("", "rad"),))
_RATES = ((("_vx", "m/s"), ("_vy", "m/s"), ("_vz", "m/s"), *_SPIN), _SPIN, (("", "m/s"),), (("", "rad/s"),))


def coordinate_labels(model: mujoco.MjModel, joints: Iterable[int]) -> Labels:
    """Labels and units of joints' coordinates; a free body has a position and a quaternion (wxyz)."""
    return _labels(model, joints, _POSITIONS)


def rate_labels(model: mujoco.MjModel, joints: Iterable[int]) -> Labels:
    """Labels and units of joints' velocities."""
    return _labels(model, joints, _RATES)


def _labels(model: mujoco.MjModel, joints: Iterable[int], ends: tuple[tuple[tuple[str, str], ...], ...]) -> Labels:
    pairs = [(f"{model.joint(j).name}{end}", unit) for j in joints for end, unit in ends[int(model.jnt_type[j])]]
    return tuple(label for label, _ in pairs), tuple(unit for _, unit in pairs)
