"""Poses, Jacobians and J̇ v of any frames of a robot inside a law: the loop hands a law those of the tool alone.

From the base outwards, as MuJoCo counts joints and velocities: hinges, slides, balls and free bases, also several
on one body. It asks no engine, so that a law which uses it is machine code that stands alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from palpate.control.steps.linear_algebra import product
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.records import Integers, Matrix, ReadVector, Record, Vector, sized
from palpate.engine.views import flat, fold, part
from palpate.robot.joints.coupled import CoupledModel, coupled_model, expand_state, reduce_columns
from palpate.robot.mechanics.kernels import FrameOnBody, pose_on
from palpate.robot.robot import Robot
from palpate.spatial.kernels import matrix_from_quat, matrix_from_rotation_vector

FREE, BALL, SLIDE, HINGE = (
    int(getattr(mujoco.mjtJoint, f"mjJNT_{kind}")) for kind in ("FREE", "BALL", "SLIDE", "HINGE")
)


class BodyTree(Record):
    """The bodies that carry frames, parents first, and their joints; rows as MuJoCo numbers them."""

    carried: Integers = sized("carried")  # the bodies that count
    parent: Integers = sized("bodies")
    offset: Matrix = sized("bodies", 3)  # in the parent
    rotation: Matrix = sized("bodies", 9)
    first_joint: Integers = sized("bodies")
    joint_count: Integers = sized("bodies")
    last_dof: Integers = sized("bodies")  # the last that moves the body, −1 for none
    kind: Integers = sized("joints")
    axis: Matrix = sized("joints", 3)  # in the body
    anchor: Matrix = sized("joints", 3)
    start: Vector = sized("joints")  # q at which a hinge or slide does nothing
    q_index: Integers = sized("joints")
    dof: Integers = sized("joints")
    parent_dof: Integers = sized("nv")
    coupling: CoupledModel  # of joints that follow others; numbers in q, v and J are those of the independent ones


class BodyMotions(Record):
    """Every body of a tree at (q, v): pose, and velocity and acceleration of its origin while v̇ = 0; world axes.

    Then, for every velocity, how it moves a body: [v_O; ω] at the world's origin.
    """

    position: Matrix = sized("bodies", 3)
    rotation: Matrix = sized("bodies", 9)
    velocity: Matrix = sized("bodies", 3)
    omega: Matrix = sized("bodies", 3)
    acceleration: Matrix = sized("bodies", 3)
    alpha: Matrix = sized("bodies", 3)
    screws: Matrix = sized("nv", 6)
    joint_rotation: Matrix = sized(3, 3)  # scratch from here on
    product: Matrix = sized(3, 3)
    w: Vector = sized(3)
    u: Vector = sized(3)


def tree_of(robot: Robot, bodies: Iterable[int]) -> BodyTree:
    """The part of a robot's tree that moves some of its bodies."""
    m, carried = robot.model, set()
    for body in bodies:
        while body > 0:
            carried.add(int(body))
            body = m.body_parentid[body]
    rotations = np.zeros((m.nbody, 9))
    for body in range(m.nbody):
        mujoco.mju_quat2Mat(rotations[body], m.body_quat[body])
    return BodyTree(
        carried=_whole(sorted(carried)), parent=_whole(m.body_parentid), offset=m.body_pos.copy(), rotation=rotations,
        first_joint=_whole(m.body_jntadr), joint_count=_whole(m.body_jntnum), last_dof=_last_dofs(m),
        kind=_whole(m.jnt_type), axis=m.jnt_axis.copy(), anchor=m.jnt_pos.copy(), start=m.qpos0[m.jnt_qposadr],
        q_index=_whole(m.jnt_qposadr), dof=_whole(m.jnt_dofadr), parent_dof=_whole(m.dof_parentid),
        coupling=coupled_model(robot),
    )  # fmt: skip


def motion_of(robot: Robot) -> BodyMotions:
    """A record for the motion of a robot's bodies; the world itself rests at its origin."""
    motion = BodyMotions({"bodies": robot.model.nbody, "nv": robot.model.nv})
    motion.rotation[0] = np.eye(3).ravel()
    return motion


def _whole(numbers: object) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def _last_dofs(model: mujoco.MjModel) -> np.ndarray:
    last = np.full(model.nbody, -1, dtype=np.int64)
    for body in range(1, model.nbody):
        dofs = model.body_dofnum[body]
        last[body] = model.body_dofadr[body] + dofs - 1 if dofs else last[model.body_parentid[body]]
    return last


@kernel
def move_tree(tree: BodyTree, q: Vector, v: Vector, x: BodyMotions) -> None:
    """Where every body of the tree is at (q, v), and how it moves while v̇ = 0."""
    if tree.coupling.on:
        expand_state(tree.coupling, q, v)
        _move_bodies(tree, tree.coupling.q, tree.coupling.v, x)
    else:
        _move_bodies(tree, q, v, x)


@kernel
def _move_bodies(tree: BodyTree, q: ReadVector, v: ReadVector, x: BodyMotions) -> None:
    for k in range(tree.carried.size):
        body = tree.carried[k]
        _start_at_parent(tree, body, x)
        for joint in range(tree.first_joint[body], tree.first_joint[body] + tree.joint_count[body]):
            kind = tree.kind[joint]
            if kind == HINGE:
                _hinge(tree, body, joint, q, v, x)
            elif kind == SLIDE:
                _slide(tree, body, joint, q, v, x)
            elif kind == FREE:
                _free(tree, body, joint, q, v, x)
            else:
                _ball(tree, body, joint, q, v, x)


@kernel
def _start_at_parent(tree: BodyTree, body: int, x: BodyMotions) -> None:
    """The body as its parent carries it, before its own joints."""
    parent = tree.parent[body]
    R = fold(x.rotation[parent], 0, 3, 3)
    put(x.position[body], 0, x.position[parent])
    put(x.velocity[body], 0, x.velocity[parent])
    put(x.acceleration[body], 0, x.acceleration[parent])
    put(x.omega[body], 0, x.omega[parent])
    put(x.alpha[body], 0, x.alpha[parent])
    _times(R, tree.offset[body], x.u)
    _shift(x, body, x.u, 1.0)
    product(R, fold(tree.rotation[body], 0, 3, 3), fold(x.rotation[body], 0, 3, 3))


@kernel
def _shift(x: BodyMotions, body: int, r: Vector, sign: float) -> None:
    """Go from the body's origin to the point at ± r that moves with it: v + ω × r, a + α × r + ω × (ω × r)."""
    rx, ry, rz = sign * r[0], sign * r[1], sign * r[2]
    w, b, p, v, a = x.omega[body], x.alpha[body], x.position[body], x.velocity[body], x.acceleration[body]
    sx, sy, sz = w[1] * rz - w[2] * ry, w[2] * rx - w[0] * rz, w[0] * ry - w[1] * rx
    p[0], p[1], p[2] = p[0] + rx, p[1] + ry, p[2] + rz
    v[0], v[1], v[2] = v[0] + sx, v[1] + sy, v[2] + sz
    a[0] += b[1] * rz - b[2] * ry + w[1] * sz - w[2] * sy
    a[1] += b[2] * rx - b[0] * rz + w[2] * sx - w[0] * sz
    a[2] += b[0] * ry - b[1] * rx + w[0] * sy - w[1] * sx


@kernel
def _shift_to_anchor(tree: BodyTree, body: int, joint: int, x: BodyMotions, sign: float) -> None:
    """Go from the body's origin to the joint's anchor, or back; most anchors are at the origin."""
    anchor = tree.anchor[joint]
    if anchor[0] != 0.0 or anchor[1] != 0.0 or anchor[2] != 0.0:
        _times(fold(x.rotation[body], 0, 3, 3), anchor, x.u)
        _shift(x, body, x.u, sign)


@kernel
def _rotate_body(x: BodyMotions, body: int) -> None:
    """R ← R x.joint_rotation."""
    R = fold(x.rotation[body], 0, 3, 3)
    product(R, x.joint_rotation, x.product)
    put(flat(R), 0, flat(x.product))


@kernel
def _times(R: Matrix, r: Vector, out: Vector) -> None:
    """out = R r, three numbers."""
    for i in range(3):
        out[i] = R[i, 0] * r[0] + R[i, 1] * r[1] + R[i, 2] * r[2]


@kernel
def _spin(x: BodyMotions, body: int, u: Vector, rate: float) -> None:
    """Let the body turn about u, which its parent carries: ω + u q̇, α + ω × u q̇."""
    w, b = x.omega[body], x.alpha[body]
    sx, sy, sz = u[0] * rate, u[1] * rate, u[2] * rate
    b[0], b[1], b[2] = b[0] + w[1] * sz - w[2] * sy, b[1] + w[2] * sx - w[0] * sz, b[2] + w[0] * sy - w[1] * sx
    w[0], w[1], w[2] = w[0] + sx, w[1] + sy, w[2] + sz


@kernel
def _screw_about(x: BodyMotions, dof: int, u: Vector, c: Vector) -> None:
    """The screw of a turn about u through the point c: [c × u; u]."""
    S = x.screws[dof]
    S[0], S[1], S[2] = c[1] * u[2] - c[2] * u[1], c[2] * u[0] - c[0] * u[2], c[0] * u[1] - c[1] * u[0]
    put(S, 3, u)


@kernel
def _hinge(tree: BodyTree, body: int, joint: int, q: ReadVector, v: ReadVector, x: BodyMotions) -> None:
    """Turn about an axis through the anchor, which stays where it is."""
    R, dof, angle = fold(x.rotation[body], 0, 3, 3), tree.dof[joint], q[tree.q_index[joint]] - tree.start[joint]
    _shift_to_anchor(tree, body, joint, x, 1.0)
    _times(R, tree.axis[joint], x.u)
    _screw_about(x, dof, x.u, x.position[body])
    _spin(x, body, x.u, v[dof])
    for i in range(3):
        x.w[i] = tree.axis[joint, i] * angle
    matrix_from_rotation_vector(x.w, x.joint_rotation)
    _rotate_body(x, body)
    _shift_to_anchor(tree, body, joint, x, -1.0)


@kernel
def _slide(tree: BodyTree, body: int, joint: int, q: ReadVector, v: ReadVector, x: BodyMotions) -> None:
    """Go along an axis that the parent carries: v + u q̇, a + 2 ω × u q̇."""
    dof, w, a, S = tree.dof[joint], x.omega[body], x.acceleration[body], x.screws[tree.dof[joint]]
    _times(fold(x.rotation[body], 0, 3, 3), tree.axis[joint], x.u)
    distance = q[tree.q_index[joint]] - tree.start[joint]
    for i in range(3):
        x.w[i] = distance * x.u[i]
        S[i], S[3 + i] = x.u[i], 0.0
    _shift(x, body, x.w, 1.0)
    for i in range(3):
        x.w[i] = v[dof] * x.u[i]
        x.velocity[body, i] += x.w[i]
    a[0] += 2.0 * (w[1] * x.w[2] - w[2] * x.w[1])
    a[1] += 2.0 * (w[2] * x.w[0] - w[0] * x.w[2])
    a[2] += 2.0 * (w[0] * x.w[1] - w[1] * x.w[0])


@kernel
def _free(tree: BodyTree, body: int, joint: int, q: ReadVector, v: ReadVector, x: BodyMotions) -> None:
    """Three velocities along the world's axes, then three about the body's own; α = ω × ω = 0."""
    start, dof, R = tree.q_index[joint], tree.dof[joint], fold(x.rotation[body], 0, 3, 3)
    for i in range(4):
        x.screws[dof, i] = q[start + 3 + i]  # the quaternion, for a moment
    matrix_from_quat(x.screws[dof], R)
    for i in range(3):
        x.position[body, i], x.velocity[body, i] = q[start + i], v[dof + i]
        x.acceleration[body, i] = x.omega[body, i] = x.alpha[body, i] = 0.0
        for j in range(6):
            x.screws[dof + i, j] = 1.0 if i == j else 0.0
    _about_body_axes(x, body, dof + 3, v)


@kernel
def _about_body_axes(x: BodyMotions, body: int, dof: int, v: ReadVector) -> None:
    """Three velocities about the body's own axes through its origin; together, for ω × (u₁ + u₂ + u₃) of the parent."""
    R = fold(x.rotation[body], 0, 3, 3)
    for i in range(3):
        x.w[i] = R[i, 0] * v[dof] + R[i, 1] * v[dof + 1] + R[i, 2] * v[dof + 2]
    _spin(x, body, x.w, 1.0)
    for k in range(3):
        for i in range(3):
            x.u[i] = R[i, k]
        _screw_about(x, dof + k, x.u, x.position[body])


@kernel
def _ball(tree: BodyTree, body: int, joint: int, q: ReadVector, v: ReadVector, x: BodyMotions) -> None:
    """Turn about the anchor by a quaternion; velocities are about the axes that result."""
    dof, start = tree.dof[joint], tree.q_index[joint]
    _shift_to_anchor(tree, body, joint, x, 1.0)
    for i in range(4):
        x.screws[dof, i] = q[start + i]
    matrix_from_quat(x.screws[dof], x.joint_rotation)
    _rotate_body(x, body)
    _about_body_axes(x, body, dof, v)
    _shift_to_anchor(tree, body, joint, x, -1.0)


@kernel
def frame_pose(x: BodyMotions, frame: FrameOnBody, position: Vector, rotation: Matrix) -> None:
    """Pose of a frame fixed on a body."""
    pose_on(x.position[frame.body], fold(x.rotation[frame.body], 0, 3, 3), frame, position, rotation)


@kernel
def point_jacobian(tree: BodyTree, x: BodyMotions, body: int, p: Vector, J: Matrix) -> None:
    """J (6×nv, [linear; angular], world axes) of the point p moving with a body: [v_O + ω × p; ω] per velocity."""
    if tree.coupling.on:
        _columns(tree, x, body, p, tree.coupling.terms.J)
        reduce_columns(tree.coupling, tree.coupling.terms.J, J)
    else:
        _columns(tree, x, body, p, J)


@kernel
def _columns(tree: BodyTree, x: BodyMotions, body: int, p: Vector, J: Matrix) -> None:
    clear(flat(J))
    dof = tree.last_dof[body]
    while dof >= 0:
        S = x.screws[dof]
        J[0, dof] = S[0] + S[4] * p[2] - S[5] * p[1]
        J[1, dof] = S[1] + S[5] * p[0] - S[3] * p[2]
        J[2, dof] = S[2] + S[3] * p[1] - S[4] * p[0]
        J[3, dof], J[4, dof], J[5, dof] = S[3], S[4], S[5]
        dof = tree.parent_dof[dof]


@kernel
def point_drift(x: BodyMotions, body: int, p: Vector, drift: Vector) -> None:
    """J̇ v of the point p: its acceleration while v̇ = 0, a + α × r + ω × (ω × r), and α."""
    w, b, o = x.omega[body], x.alpha[body], x.position[body]
    rx, ry, rz = p[0] - o[0], p[1] - o[1], p[2] - o[2]
    sx, sy, sz = w[1] * rz - w[2] * ry, w[2] * rx - w[0] * rz, w[0] * ry - w[1] * rx
    drift[0] = x.acceleration[body, 0] + b[1] * rz - b[2] * ry + w[1] * sz - w[2] * sy
    drift[1] = x.acceleration[body, 1] + b[2] * rx - b[0] * rz + w[2] * sx - w[0] * sz
    drift[2] = x.acceleration[body, 2] + b[0] * ry - b[1] * rx + w[0] * sy - w[1] * sx
    put(part(drift, 3, 3), 0, b)
