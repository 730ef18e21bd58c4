"""Joints welded at a value: the same machine with fewer freedoms, exactly.

A locked joint leaves the tree: its body stands, at the reference position of all other joints, where the engine's
kinematics puts it, and the joints before it on the same body are seen from the moved body.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from palpate.checks import Array, finite_number
from palpate.errors import InvalidInput, ModelError, UnknownName
from palpate.robot.build import drop_stand_ins
from palpate.robot.joints.coupling import bodies_joined, ties_of
from palpate.robot.limits import scalar_joints
from palpate.robot.mechanics.compiled import STAND_INS, UNRESISTED, set_note, text_lines
from palpate.robot.readers.findings import Finding
from palpate.spatial import Pose

_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)
_ROUNDING = 1e-9  # rad or m by which two locked joints of one tie may disagree
_PER_JOINT = ("joint_stiffness", "gear_damping", "velocity_limit", "acceleration_limit", "torque_rate_limit")


def lock_joints(spec: mujoco.MjSpec, model: mujoco.MjModel, values: Mapping[str, float]) -> list[Finding]:
    """Weld joints of `spec`, whose compilation is `model`, at `values` [rad or m].

    Joints tied to a locked one (mimic) are locked with it. Closed loops all of whose bodies have become one vanish.

    Returns:
        One warning for each joint that is locked outside its range.

    Raises:
        UnknownName: no such joint.
        InvalidInput: a joint of several freedoms, a value that is no number, or two values a tie contradicts.
    """
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise InvalidInput(f"joints to lock are given as {{name: value}}, got {type(values).__name__}")
    held = _with_followers(
        model, {_joint(model, name): finite_number(value, f"lock of joint {name!r}") for name, value in values.items()}
    )
    keys, numerics = _shortened_keys(model, held), _shortened_numerics(model, held)
    data = mujoco.MjData(model)
    for j, value in held.items():
        data.qpos[model.jnt_qposadr[j]] = value
    mujoco.mj_kinematics(model, data)
    for b in sorted({int(model.jnt_bodyid[j]) for j in held}):
        _lock_body(spec, model, data, b, held)
    _delete_settled(spec, model, held)
    for j in held:
        spec.delete(spec.joint(model.joint(j).name))
    for key, (qpos, qvel) in zip(spec.keys, keys):
        key.qpos, key.qvel = qpos, qvel
    for name, data in numerics.items():
        if len(data):
            spec.numeric(name).data, spec.numeric(name).size = data, len(data)
        else:
            spec.delete(spec.numeric(name))
    _update_unresisted(spec, model, held)
    return [finding for j, q in held.items() for finding in _out_of_range(model, spec.modelname, j, q)]


def _out_of_range(model: mujoco.MjModel, file: str, j: int, q: float) -> list[Finding]:
    low, high = model.jnt_range[j]
    if not model.jnt_limited[j] or low - _ROUNDING <= q <= high + _ROUNDING:
        return []
    unit, name = "m" if model.jnt_type[j] == _SLIDE else "rad", model.joint(j).name
    problem, rule = f"locked at {q:g} {unit}", f"its range is {low:g} to {high:g} {unit}"
    return [Finding("warning", file, 0, f"joint {name!r}", problem, rule, "lock it inside its range")]


def _joint(model: mujoco.MjModel, name: str) -> int:
    joint_id = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if joint_id < 0:
        raise UnknownName("joint", name, [model.joint(j).name for j in range(model.njnt)])
    if joint_id not in scalar_joints(model):
        raise InvalidInput(f"joint {name!r} cannot be locked at a number: it has several degrees of freedom")
    return joint_id


def _with_followers(model: mujoco.MjModel, held: dict[int, float]) -> dict[int, float]:
    """The locked joints and all that are tied to them: q_follower = slope q_leader + constant, read both ways."""
    changed = True
    while changed:
        changed = False
        for follower, (leader, slope, constant) in ties_of(model).items():
            if leader in held and follower not in held:
                held[follower] = slope * held[leader] + constant
                changed = True
            elif follower in held and leader >= 0 and leader not in held and slope != 0:
                held[leader] = (held[follower] - constant) / slope
                changed = True
            elif follower in held and leader in held:
                _refuse_disagreement(model, follower, leader, held[follower] - slope * held[leader] - constant)
    return held


def _refuse_disagreement(model: mujoco.MjModel, follower: int, leader: int, gap: float) -> None:
    if abs(gap) > _ROUNDING:
        names = f"{model.joint(follower).name!r} and {model.joint(leader).name!r}"
        raise InvalidInput(
            f"joints {names} are tied, and the values they are locked at disagree by {gap:.3g}",
            hint="lock one of them; the other follows",
        )


def _lock_body(spec: mujoco.MjSpec, model: mujoco.MjModel, data: mujoco.MjData, b: int, held: dict[int, float]) -> None:
    """Put the motion of a body's locked joints into its pose; its other joints are seen from the moved body."""
    body, X_WB = spec.body(model.body(b).name), Pose.from_quat(data.xpos[b], data.xquat[b])
    parent = model.body_parentid[b]
    pose = _pose_in_frame(body, spec, Pose.from_quat(data.xpos[parent], data.xquat[parent]).inverse() @ X_WB)
    body.pos, body.quat = pose.position, pose.quat_wxyz
    body.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    for j in range(model.body_jntadr[b], model.body_jntadr[b] + model.body_jntnum[b]):
        if j not in held:
            joint = spec.joint(model.joint(j).name)
            joint.axis, joint.pos = X_WB.rotation.T @ data.xaxis[j], X_WB.inverse().apply(data.xanchor[j])


def _pose_in_frame(body: mujoco.MjsBody, spec: mujoco.MjSpec, whole: Pose) -> Pose:
    """The body's pose as its element gives it: in its parent, or in the `<frame>` it stands in.

    The compiled pose has the frames in it, so they are taken off again.
    """
    frame, outside = body.frame, Pose.identity()
    while frame is not None:
        outside = _resolved(frame, spec) @ outside
        frame = frame.frame
    return outside.inverse() @ whole


def _resolved(frame: mujoco.MjsFrame, spec: mujoco.MjSpec) -> Pose:
    """A frame's own pose; the engine itself turns Euler angles and the like into a quaternion."""
    if frame.alt.type == mujoco.mjtOrientation.mjORIENTATION_QUAT:
        return Pose.from_quat(frame.pos, frame.quat)
    angles = {"degree": bool(spec.compiler.degree), "sequence": spec.compiler.eulerseq}
    return Pose.from_quat(frame.pos, spec.resolve_orientation(**angles, orientation=frame.alt))


def _delete_settled(spec: mujoco.MjSpec, model: mujoco.MjModel, held: dict[int, float]) -> None:
    """Delete ties of locked joints, loops that have become rigid, and tendons that no longer move anything."""
    names = {model.joint(j).name for j in held}
    group = _rigid_groups(model, held)
    for e in range(model.neq):
        if _is_settled(model, e, held, group):
            # They keep their order, and earlier ones may be gone.
            spec.delete(spec.equalities[e - (model.neq - len(spec.equalities))])
    for tendon in list(spec.tendons):
        _release_tendon(spec, model, tendon, names)
    for sensor in list(spec.sensors):
        if sensor.objtype == mujoco.mjtObj.mjOBJ_JOINT and sensor.objname in names:
            spec.delete(sensor)


def _is_settled(model: mujoco.MjModel, e: int, held: dict[int, float], group: list[int]) -> bool:
    kind = mujoco.mjtEq(int(model.eq_type[e]))
    if kind == mujoco.mjtEq.mjEQ_JOINT:
        return int(model.eq_obj1id[e]) in held
    first, second = bodies_joined(model, e)
    return kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD) and group[first] == group[second]


def _rigid_groups(model: mujoco.MjModel, held: dict[int, float]) -> list[int]:
    """For each body, the topmost body it is rigidly joined to once the joints are locked."""
    group = [0] * model.nbody
    for b in range(1, model.nbody):
        own = range(model.body_jntadr[b], model.body_jntadr[b] + model.body_jntnum[b])
        group[b] = group[model.body_parentid[b]] if all(j in held for j in own) else b
    return group


def _release_tendon(spec: mujoco.MjSpec, model: mujoco.MjModel, tendon: mujoco.MjsTendon, names: set[str]) -> None:
    t = model.tendon(tendon.name).id if tendon.name else -1
    if t < 0:
        return
    first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
    wraps = [w for w in range(first, first + count) if model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT]
    joints = [model.joint(int(model.wrap_objid[w])).name for w in wraps]
    touched = names.intersection(joints)
    if not touched:
        return
    if touched != set(joints) and _tendon_acts(model, t):
        raise ModelError(
            f"tendon {tendon.name!r} ties the locked joint {sorted(touched)[0]!r} to joints that still move",
            hint=f"lock all of {', '.join(joints)}, or none",
        )
    spec.delete(tendon)


def _tendon_acts(model: mujoco.MjModel, t: int) -> bool:
    """Whether a tendon does anything without its actuator."""
    fields = (getattr(model, f"tendon_{name}") for name in ("stiffness", "damping", "frictionloss", "armature"))
    tied = np.isin(model.eq_type, int(mujoco.mjtEq.mjEQ_TENDON)) & (model.eq_obj1id == t)
    return bool(any(np.any(field[t]) for field in fields) or tied.any())


def _shortened_keys(model: mujoco.MjModel, held: dict[int, float]) -> list[tuple[Array, Array]]:
    addresses = [int(model.jnt_qposadr[j]) for j in held]
    dofs = [int(model.jnt_dofadr[j]) for j in held]
    return [(np.delete(model.key_qpos[k], addresses), np.delete(model.key_qvel[k], dofs)) for k in range(model.nkey)]


def _shortened_numerics(model: mujoco.MjModel, held: dict[int, float]) -> dict[str, Array]:
    scalar = scalar_joints(model)
    kept = ~np.isin(scalar, list(held))
    shortened = {}
    for name in _PER_JOINT:
        numeric_id = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_NUMERIC, name)
        if numeric_id >= 0 and model.numeric_size[numeric_id] == len(scalar):
            start = model.numeric_adr[numeric_id]
            shortened[name] = model.numeric_data[start : start + len(scalar)][kept]
    return shortened


def _update_unresisted(spec: mujoco.MjSpec, model: mujoco.MjModel, held: dict[int, float]) -> None:
    """A joint that moved no mass does no harm once it is locked."""
    locked = {model.joint(j).name for j in held}
    left = [name for name in text_lines(model, UNRESISTED) if name not in locked]
    set_note(spec, UNRESISTED, "\n".join(left))
    if not left:
        drop_stand_ins(spec, list(text_lines(model, STAND_INS)))
