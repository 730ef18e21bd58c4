"""The Cartesian part of a joint motion, and rotations along a path, for many instants at once."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.control.references.reference import Targets
from palpate.engine import kernel
from palpate.errors import InvalidInput
from palpate.robot.kernels import OK, read_drift, read_jacobian, read_pose, stage_state
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_from_matrix


def check_joint_motion(robot: Robot) -> None:
    """Refuse robots whose coordinates are not one number per joint."""
    if robot.nq != robot.nv or robot.nv != robot.model.nv:
        raise InvalidInput(
            f"{robot.name} has a free base, ball joints or mimic joints; a joint motion needs one number per joint",
            hint="use a reference of its tool: hold, line, circle, or waypoints with positions",
        )


def follow_joints(targets: Targets, robot: Robot) -> None:
    """Fill the Cartesian part from q, v, a: pose by forward kinematics, twist J v, acceleration J a + J̇ v."""
    check_joint_motion(robot)
    place, size = robot.frame(), len(targets.array)
    q, v, a = (np.ascontiguousarray(part) for part in (targets.q, targets.v, targets.a))
    position, quat, twist, acceleration = (np.empty((size, k)) for k in (3, 4, 6, 6))
    done = _follow(
        robot._work.handle, q, v, a, place.body, place.offset, place.turn, position, quat, twist, acceleration
    )
    if done < size:
        raise InvalidInput(f"the reference of {robot.name} is not finite at its sample {done}")
    targets.position[:], targets.quat_wxyz[:] = position, quat
    targets.twist[:], targets.acceleration[:] = twist, acceleration


@kernel(
    "int64(int64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64, float64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])"
)
def _follow(handle, q, v, a, body, offset, turn, position, quat, twist, acceleration):
    n = v.shape[1]
    R, J, J_rate = np.empty((3, 3)), np.empty((6, n)), np.empty((6, n))
    for k in range(q.shape[0]):
        if stage_state(handle, q[k], v[k]) != OK:
            return k
        read_pose(handle, body, offset, turn, position[k], R)
        quat_from_matrix(R, quat[k])
        read_jacobian(handle, body, position[k], J)
        read_drift(handle, body, position[k], v[k], J_rate, acceleration[k])
        for i in range(6):
            twist[k, i] = 0.0
            for j in range(n):
                twist[k, i] += J[i, j] * v[k, j]
                acceleration[k, i] += J[i, j] * a[k, j]
    return q.shape[0]


def quats_from_rotation_vectors(r: Array) -> Array:
    """(cos ½θ, ½ sinc(½θ) r), θ = |r|, for many rotation vectors (N, 3); continuous in r."""
    half = 0.5 * np.linalg.norm(r, axis=1, keepdims=True)
    return np.hstack([np.cos(half), 0.5 * np.sinc(half / np.pi) * r])


def turned(r: Array, quat_wxyz: Array) -> Array:
    """exp(r) ⊗ quat for many rotation vectors (N, 3), world axes, and one quaternion (4,)."""
    a = quats_from_rotation_vectors(r)
    w, xyz = quat_wxyz[0], quat_wxyz[1:]
    scalar = a[:, :1] * w - a[:, 1:] @ xyz[:, None]
    return np.hstack([scalar, a[:, :1] * xyz + w * a[:, 1:] + np.cross(a[:, 1:], xyz)])
