"""Limits, home position and coordinate labels of a robot's joints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import ModelError

# The engine bounds a joint on both sides or not at all, so an absent bound is written as this, and read as infinite.
FAR = 1e10


@dataclass(frozen=True)
class JointLimits:
    """Bounds per degree of freedom, infinite where none is known.

    Attributes:
        lower, upper: position, rad or m.
        velocity: |q̇|, rad/s or m/s.
        acceleration: |q̈|, rad/s² or m/s².
        torque: |τ|, N·m or N.
        torque_rate: |dτ/dt|, N·m/s or N/s.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    torque: Array
    torque_rate: Array

    def copy(self) -> JointLimits:
        """The same limits in arrays of their own."""
        return JointLimits(*(getattr(self, name).copy() for name in self.__dataclass_fields__))


def limits_from_model(model: mujoco.MjModel) -> JointLimits:
    """Read the limits a compiled model carries: joint ranges, force ranges and our `<custom>` numerics."""
    joints = scalar_joints(model)
    low, high = np.where(model.jnt_limited[joints, None], model.jnt_range[joints], (-np.inf, np.inf)).T
    lower = _spread(model, joints, np.where(low <= -FAR, -np.inf, low), -np.inf)
    upper = _spread(model, joints, np.where(high >= FAR, np.inf, high))
    torques = np.where(model.jnt_actfrclimited[joints], np.abs(model.jnt_actfrcrange[joints]).min(axis=1), np.inf)
    torque = _spread(model, joints, torques)
    velocity, acceleration = joint_numbers(model, "velocity_limit"), joint_numbers(model, "acceleration_limit")
    return JointLimits(lower, upper, velocity, acceleration, torque, joint_numbers(model, "torque_rate_limit"))


def scalar_joints(model: mujoco.MjModel) -> np.ndarray:
    """The hinges and slides of a model, by the engine's numbers."""
    return np.flatnonzero(model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))


def _spread(model: mujoco.MjModel, joints: np.ndarray, values: Array, without: float = np.inf) -> Array:
    """Values of scalar joints over all velocities, and what the others have instead."""
    out = np.full(model.nv, without)
    out[model.jnt_dofadr[joints]] = values
    return out


def home_position(model: mujoco.MjModel) -> Array:
    """The keyframe `home` of a model, or else its zero position moved into the joints' ranges."""
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
    return model.key_qpos[key].copy() if key >= 0 else clipped_zero(model)


def clipped_zero(model: mujoco.MjModel) -> Array:
    """The model's zero position, moved into the joints' ranges."""
    q, limits, joints = model.qpos0.copy(), limits_from_model(model), scalar_joints(model)
    addresses, dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    q[addresses] = np.clip(q[addresses], limits.lower[dofs], limits.upper[dofs])
    return q


def joint_numbers(model: mujoco.MjModel, name: str) -> Array:
    """A `<custom>` numeric spread over the scalar joints, infinite where absent."""
    numeric_id = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_NUMERIC, name)
    if numeric_id < 0:
        return np.full(model.nv, np.inf)
    start, size, joints = model.numeric_adr[numeric_id], model.numeric_size[numeric_id], scalar_joints(model)
    if size != len(joints):
        raise ModelError(f"custom numeric {name!r} holds {size} numbers; the robot has {len(joints)} scalar joints")
    return _spread(model, joints, model.numeric_data[start : start + size])


# ----------------------------------------------------------------------------------------------
# The engine's four kinds of joints: their names, and the labels and units of their coordinates and velocities.


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
