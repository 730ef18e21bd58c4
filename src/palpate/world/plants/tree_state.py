"""State of a plant on its own equations, compiled: axes, bodies and velocities of its tree in world axes."""

from __future__ import annotations

from palpate.engine.kernels import clear, kernel
from palpate.engine.physics import Physics
from palpate.engine.records import Vector
from palpate.engine.views import part
from palpate.equations.code.tree_program import compute_terms
from palpate.world.plants.tree_plant import FARTHEST, FASTEST, FREE, HINGE, TreeBody, TreePlant, is_ordinary


@kernel(inline=True)
def can_carry(t: TreePlant, p: Physics) -> bool:
    """Whether equations carry the plant at its state: no joint at a stop that they do not hold, numbers ordinary."""
    first, count, t.at_stop = t.first, p.nv - t.first, False
    q, least, most = part(p.qpos, t.extra + first, count), part(t.least, first, count), part(t.most, first, count)
    for k in range(count):
        if not least[k] <= q[k] <= most[k]:
            t.at_stop = t.holds_stops and abs(q[k]) < FARTHEST
            if not t.at_stop:
                return False
    for k in range(p.nv):
        if not abs(p.qvel[k]) < FASTEST:
            return False
    return t.first == 0 or is_ordinary(p.qpos, p.qvel)


@kernel
def stage_tree(t: TreePlant, p: Physics) -> None:
    """Terms at the plant's state, and what others read of bodies, joints and dampers."""
    compute_terms(t.code, p.qpos, p.qvel, t.terms)
    _place_axes(t, p)
    for k in range(len(t.bodies)):
        _place_body(t, p, t.bodies[k])
    if t.damped:
        for k in range(p.nv):
            p.qfrc_damper[k] = -t.damping[k] * p.qvel[k]


@kernel(inline=True)
def _place_axes(t: TreePlant, p: Physics) -> None:
    """Motion axes [ω; v] of the joints, at the world's origin."""
    for i in range(t.kind.size):
        R, o, k = t.terms.rotation[i], t.terms.origin[i], t.dof[i]
        if t.kind[i] == FREE:
            for j in range(3):
                clear(p.cdof[k + j])
                p.cdof[k + j, 3 + j] = 1.0
                _put_axis(p.cdof[k + 3 + j], o, R[j], R[3 + j], R[6 + j])
        elif t.kind[i] == HINGE:
            _put_axis(p.cdof[k], o, R[2], R[5], R[8])
        else:
            axis = p.cdof[k]
            axis[0] = axis[1] = axis[2] = 0.0
            axis[3], axis[4], axis[5] = R[2], R[5], R[8]


@kernel(inline=True)
def _put_axis(axis: Vector, o: Vector, x: float, y: float, z: float) -> None:
    """A unit rotation about (x, y, z) through o."""
    axis[0], axis[1], axis[2] = x, y, z
    axis[3], axis[4], axis[5] = o[1] * z - o[2] * y, o[2] * x - o[0] * z, o[0] * y - o[1] * x


@kernel
def _place_body(t: TreePlant, p: Physics, b: TreeBody) -> None:
    """Pose of a body and of its inertia, and its velocity at the world's origin."""
    clear(p.subtree_com[b.root])
    position, rotation, centre, axes = p.xpos[b.body], p.xmat[b.body], p.xipos[b.body], p.ximat[b.body]
    if b.link < 0:
        for i in range(3):
            position[i], centre[i] = b.position[i], b.centre[i]
            for j in range(3):
                rotation[3 * i + j], axes[3 * i + j] = b.rotation[i, j], b.axes[i, j]
        clear(p.cvel[b.body])
        return
    o, R, moving = t.terms.origin[b.link], t.terms.rotation[b.link], t.terms.twist[b.link]
    for i in range(3):
        x, y, z = R[3 * i], R[3 * i + 1], R[3 * i + 2]
        position[i] = o[i] + (x * b.position[0] + y * b.position[1] + z * b.position[2])
        centre[i] = o[i] + (x * b.centre[0] + y * b.centre[1] + z * b.centre[2])
        for j in range(3):
            rotation[3 * i + j] = x * b.rotation[0, j] + y * b.rotation[1, j] + z * b.rotation[2, j]
            axes[3 * i + j] = x * b.axes[0, j] + y * b.axes[1, j] + z * b.axes[2, j]
    _put_velocity(p.cvel[b.body], o, moving)


@kernel(inline=True)
def _put_velocity(twist: Vector, o: Vector, moving: Vector) -> None:
    wx, wy, wz = moving[3], moving[4], moving[5]
    twist[0], twist[1], twist[2] = wx, wy, wz
    twist[3] = moving[0] + (o[1] * wz - o[2] * wy)
    twist[4] = moving[1] + (o[2] * wx - o[0] * wz)
    twist[5] = moving[2] + (o[0] * wy - o[1] * wx)
