"""The Cartesian part of a joint motion: pose, twist and acceleration of the tool at many instants at once."""

from __future__ import annotations

from palpate.control.references.reference import Targets
from palpate.engine.kernels import kernel
from palpate.engine.physics import Physics
from palpate.engine.records import Matrix, Record, sized
from palpate.errors import InvalidInput
from palpate.robot.mechanics.kernels import (
    OK,
    FrameOnBody,
    ModelTerms,
    read_drift,
    read_jacobian,
    read_pose,
    stage_state,
)
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_from_matrix


def check_joint_motion(robot: Robot) -> None:
    """Refuse robots whose coordinates are not one number per joint."""
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"{robot.name} has a free base or ball joints; a joint motion needs one number per joint",
            hint="use a reference of its tool: hold, line, circle, or waypoints with positions",
        )


class JointPath(Record):
    """The motion of all joints, also of those that follow others, one row per instant, and of the tool with them."""

    q: Matrix = sized("count", "nq")
    v: Matrix = sized("count", "nv")
    a: Matrix = sized("count", "nv")
    position: Matrix = sized("count", 3)
    quat_wxyz: Matrix = sized("count", 4)
    twist: Matrix = sized("count", 6)
    acceleration: Matrix = sized("count", 6)
    here: ModelTerms


def follow_joints(targets: Targets, robot: Robot) -> None:
    """Fill the Cartesian part from q, v, a: pose by forward kinematics, twist J v, acceleration J a + J̇ v."""
    check_joint_motion(robot)
    c, sizes = robot.coordinates, {"nq": robot.model.nq, "nv": robot.model.nv, "count": len(targets.array)}
    q, v, a = c.expand_position(targets.q), c.expand_velocity(targets.v), c.expand_velocity(targets.a)
    path = JointPath(sizes, q=q, v=v, a=a)
    done = _follow(robot._work.physics.address, robot.frame().record.address, path.address)
    if done < len(targets.array):
        raise InvalidInput(f"the reference of {robot.name} is not finite at its sample {done}")
    targets.position[:], targets.quat_wxyz[:] = path.position, path.quat_wxyz
    targets.twist[:], targets.acceleration[:] = path.twist, path.acceleration


@kernel
def _follow(p: Physics, frame: FrameOnBody, path: JointPath) -> int:
    x = path.here
    for k in range(path.q.shape[0]):
        if stage_state(p, path.q[k], path.v[k]) != OK:
            return k
        read_pose(p, frame, path.position[k], x.rotation)
        quat_from_matrix(x.rotation, path.quat_wxyz[k])
        read_jacobian(p, frame.body, path.position[k], x.J)
        read_drift(p, frame.body, path.position[k], path.v[k], x.J_rate, path.acceleration[k])
        for i in range(6):
            for j in range(p.nv):
                path.twist[k, i] += x.J[i, j] * path.v[k, j]
                path.acceleration[k, i] += x.J[i, j] * path.a[k, j]
    return path.q.shape[0]
