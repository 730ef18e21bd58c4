"""From a tree of links and joints to a MuJoCo spec, the form in which a robot is compiled and put into a world."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, get_args

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, ModelError, PalpateError
from palpate.robot.frames import Frame
from palpate.robot.gate import refuse_too_many
from palpate.robot.limits import FAR
from palpate.robot.mechanics import tree as trees
from palpate.robot.mechanics.compiled import STAND_INS, UNRESISTED, set_note, unused_name
from palpate.robot.mechanics.tree import Joint, Link, LinkShape, Mesh, Tree, massless_movers, unresisted_joints
from palpate.spatial import Pose, quat_from_matrix

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

# MuJoCo refuses bodies without rotational inertia; a point mass gets this much (kg·m² per kg), which is below the
# rounding of any arm's own inertia.
POINT_INERTIA = 1e-12
# The engine softens Coulomb friction: a joint at rest keeps this complement (0.001) of its free acceleration, and
# creeps. With the engine's default (0.9) an arm visibly sinks inside its friction.
STICKING = (0.999, 0.999, 0.001, 0.5, 2.0)
LEAST_INERTIA = 2e-15  # kg·m²; the engine's own floor is 1e-15
# kg, for a link without mass that moves others: the engine wants some (its floor is 1e-15).
PLACEHOLDER = 2e-15
# kg and kg·m², where there is no mass to speak of and only the kinematics count: any number the engine likes.
STAND_IN = 1.0
# rad or m: a spring whose rest lies this far away pulls with a constant force, to 1e-6 of it per rad or m.
FAR_REST = 1e6

_GEOM_KINDS = {k: getattr(mujoco.mjtGeom, f"mjGEOM_{k.upper()}") for k in get_args(trees.ShapeKind)}
_SLIDE, _HINGE, _BALL = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_BALL
_JOINT_KINDS = {"revolute": _HINGE, "continuous": _HINGE, "prismatic": _SLIDE, "spherical": _BALL}
_UNTOUCHED = {"contype": 0, "conaffinity": 0, "group": 1, "mass": 0.0}  # only seen
_LIMITED, _UNLIMITED = mujoco.mjtLimited.mjLIMITED_TRUE, mujoco.mjtLimited.mjLIMITED_FALSE


def spec_from_tree(tree: Tree) -> mujoco.MjSpec:
    """A MuJoCo spec with one body per link (fixed links kept), exact inertias, limits, losses and looks.

    A root link called `world` is the engine's own world. Where a joint moves no inertia, the spec carries the text
    `unresisted` with the names of such joints, and stand-ins for the masses.
    """
    refuse_too_many(len(tree.links), tree.name)
    try:
        return _spec_from_tree(tree)
    except PalpateError:
        raise
    except ValueError as error:  # the engine's: repeated names and the like
        raise ModelError(f"robot {tree.name!r} cannot be built: {error}") from error


def _spec_from_tree(tree: Tree) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.modelname = tree.name
    spec.compiler.degree = False
    spec.option.gravity = (0.0, 0.0, -9.81)
    spec.option.timestep = 1e-3
    links = {link.name: link for link in tree.links}
    bodies = {tree.root: _add_root(spec, links[tree.root])}
    for joint in _parents_first(tree):
        # The engine wants a floating body at the top, and the root does not move: it stands at the origin.
        parent = _floating_parent(spec, tree, joint) if joint.kind == "floating" else bodies[joint.parent]
        body = _add_body(spec, parent, links[joint.child], joint.position, joint.rotation)
        _add_joint(body, joint)
        bodies[joint.child] = body
    unresisted = unresisted_joints(tree.links, tree.joints)
    filled, mass = massless_movers(tree.links, tree.joints), STAND_IN if unresisted else PLACEHOLDER
    for name in filled:  # the engine wants some mass; a stand-in, where the masses of the robot are unknown
        set_inertia(bodies[name], mass, np.zeros(3), mass * np.eye(3))
    for frame in tree.frames:
        bodies[frame.link].add_site(name=frame.name, pos=frame.position, quat=quat_from_matrix(frame.rotation))
    _add_couplings(spec, tree)
    for field in ("velocity", "acceleration"):
        _add_limits(spec, tree, field)
    for name, text in tree.notes:
        set_note(spec, name, text)
    set_note(spec, UNRESISTED, "\n".join(unresisted))
    set_note(spec, STAND_INS, "\n".join(filled) if unresisted else "")
    return spec


def _floating_parent(spec: mujoco.MjSpec, tree: Tree, joint: Joint) -> mujoco.MjsBody:
    if joint.parent != tree.root:
        raise ModelError(
            f"{tree.name}: floating joint {joint.name!r} hangs on {joint.parent!r}, not on the root {tree.root!r}",
            hint="only a whole machine can float",
        )
    return spec.worldbody


def set_inertia(body: mujoco.MjsBody, mass: float, com: Array, inertia: Array) -> None:
    """Give a body its mass, centre of mass and tensor about it (body axes)."""
    body.explicitinertial = True
    body.mass = mass
    body.ipos = com
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    body.iquat = quat_from_matrix(axes)
    moments = np.maximum(moments, max(POINT_INERTIA * mass, LEAST_INERTIA))
    moments[2] = min(moments[2], moments[0] + moments[1])  # a flat plate's moments may break the rule by rounding
    body.inertia = moments


def drop_stand_ins(spec: mujoco.MjSpec, names: list[str]) -> None:
    """The dynamics are known after all: what stood in for unknown masses goes."""
    for name in names:
        set_inertia(spec.body(name), PLACEHOLDER, np.zeros(3), np.zeros((3, 3)))
    set_note(spec, STAND_INS, "")


def far_spring_energy(model: mujoco.MjModel) -> float:
    """Energy at q = 0 of the springs with a far rest that make up uneven Coulomb friction, J: no store of energy."""
    spring_rest = model.qpos_spring[model.jnt_qposadr]
    far = np.abs(spring_rest) >= FAR_REST
    return float(np.sum(0.5 * model.jnt_stiffness[far] * spring_rest[far] ** 2))


def _parents_first(tree: Tree) -> list[Joint]:
    """Joints depth first, all of which must hang on the root."""
    ordered = trees.depth_first([link for link in tree.links if link.name == tree.root], tree.joints)
    if len(ordered) != len(tree.joints):
        lost = sorted({joint.name for joint in tree.joints} - {joint.name for joint in ordered})
        raise ModelError(f"{tree.name}: joints {', '.join(lost)} hang on no link below the root {tree.root!r}")
    return ordered


def _add_root(spec: mujoco.MjSpec, link: Link) -> mujoco.MjsBody:
    if link.name != spec.worldbody.name:
        return _add_body(spec, spec.worldbody, link, np.zeros(3), np.eye(3))
    for shape in link.visuals or link.collisions:
        add_shape(spec, spec.worldbody, shape)
    return spec.worldbody


def _add_body(
    spec: mujoco.MjSpec, parent: mujoco.MjsBody, link: Link, position: Array, rotation: Array
) -> mujoco.MjsBody:
    body = parent.add_body(name=link.name, pos=position, quat=quat_from_matrix(rotation))
    if link.mass > 0 or link.inertia.any():  # tables give links that only turn an inertia alone
        set_inertia(body, link.mass or PLACEHOLDER, link.com, link.inertia)
    for shape in link.visuals or link.collisions:
        add_shape(spec, body, shape)
    return body


def add_shape(spec: mujoco.MjSpec, body: mujoco.MjsBody, shape: LinkShape) -> mujoco.MjsGeom:
    """A geom that is only seen: no mass, no collisions."""
    pose = {"pos": shape.position, "quat": quat_from_matrix(shape.rotation)}
    rgba = shape.rgba or (0.7, 0.7, 0.72, 1.0)
    geom = body.add_geom(type=_GEOM_KINDS[shape.kind], rgba=rgba, **pose, **_UNTOUCHED)
    if shape.kind == "mesh":
        geom.meshname = _add_mesh(spec, shape)
    elif shape.kind == "box":
        geom.size = [edge / 2 for edge in shape.size]
    elif shape.kind == "sphere":
        geom.size = [shape.size[0], 0, 0]
    else:
        geom.size = [shape.size[0], shape.size[1] / 2, 0]
    return geom


def _add_mesh(spec: mujoco.MjSpec, shape: LinkShape) -> str:
    name = f"mesh{len(spec.meshes)}"
    if isinstance(shape.mesh, Mesh):
        data = {"uservert": shape.mesh.vertices.reshape(-1), "userface": shape.mesh.faces.reshape(-1)}
        # A part of one colour is seldom closed, and only its surface is wanted.
        spec.add_mesh(name=name, scale=shape.size, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL, **data)
    else:
        spec.add_mesh(name=name, file=str(shape.mesh), scale=shape.size)
    return name


def _add_joint(body: mujoco.MjsBody, joint: Joint) -> None:
    if joint.kind == "floating":
        body.add_freejoint(name=joint.name)
    elif joint.kind == "planar":
        for suffix, kind, axis in _planar(joint):
            _set_losses(body.add_joint(name=f"{joint.name}_{suffix}", type=kind, axis=axis, pos=joint.anchor), joint)
    elif joint.kind != "fixed":
        added = body.add_joint(name=joint.name, type=_JOINT_KINDS[joint.kind], axis=joint.axis, pos=joint.anchor)
        _set_losses(added, joint)
        if joint.kind != "spherical":
            _set_bounds(added, joint)


def _planar(joint: Joint) -> list[tuple[str, mujoco.mjtJoint, Array]]:
    """Two slides in the plane across the axis and a turn about it: x and y for the axis z."""
    x, y, z = np.eye(3)
    if not np.allclose(joint.axis, z, atol=1e-12):
        x = np.cross(y if abs(joint.axis[1]) < 0.9 else z, joint.axis)
        x /= np.linalg.norm(x)
        y = np.cross(joint.axis, x)
    return [("x", _SLIDE, x), ("y", _SLIDE, y), ("theta", _HINGE, joint.axis)]


def _set_losses(added: mujoco.MjsJoint, joint: Joint) -> None:
    added.damping = [joint.damping, 0.0, 0.0]
    added.frictionloss = joint.friction
    added.solimp_friction = STICKING
    added.armature = joint.armature
    added.limited = _UNLIMITED
    if joint.friction_bias:
        # −bias, whichever way it moves: the engine's own friction is the same in both directions.
        added.stiffness = [abs(joint.friction_bias) / FAR_REST, 0.0, 0.0]
        added.springref = -math.copysign(FAR_REST, joint.friction_bias)


def _set_bounds(added: mujoco.MjsJoint, joint: Joint) -> None:
    if math.isfinite(joint.lower) or math.isfinite(joint.upper):
        added.limited = _LIMITED
        added.range = [max(joint.lower, -FAR), min(joint.upper, FAR)]
    if math.isfinite(joint.effort) and joint.effort > 0:
        added.actfrclimited = _LIMITED
        added.actfrcrange = [-joint.effort, joint.effort]


def _add_couplings(spec: mujoco.MjSpec, tree: Tree) -> None:
    for joint in tree.joints:
        if joint.mimic is not None:
            data = [joint.mimic.offset, joint.mimic.multiplier, *([0.0] * (mujoco.mjNEQDATA - 2))]
            kinds = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
            names = {
                "name": f"{joint.name} mimics {joint.mimic.joint}",
                "name1": joint.name,
                "name2": joint.mimic.joint,
            }
            spec.add_equality(**names, **kinds, data=data)


def _add_limits(spec: mujoco.MjSpec, tree: Tree, field: str) -> None:
    """A `<numeric>` with one number per scalar joint of the engine, if any of them is finite."""
    limits: list[float] = []
    for joint in _parents_first(tree):
        scalar = {"revolute": 1, "continuous": 1, "prismatic": 1, "planar": 3}.get(joint.kind, 0)
        value = getattr(joint, field) if scalar == 1 else math.inf
        limits += [value if value > 0 else math.inf] * scalar
    if any(map(math.isfinite, limits)):
        spec.add_numeric(name=f"{field}_limit", data=limits, size=len(limits))


# ----------------------------------------------------------------------------------------------
# Changes of a robot's description that give another robot: loads, tools, bases.
#
# Each takes a spec that belongs to the caller, and changes it.


JOINTS = "joints"  # the note that says how the joints are meant
FRICTION_SIDE, BEHIND_COMPENSATION = "friction_side", "behind_compensation"  # the note on friction, and what it says
STIFFNESS, GEAR_DAMPING = "joint_stiffness", "gear_damping"  # custom numerics of elastic joints
_FREE = mujoco.mjtJoint.mjJNT_FREE


def ideal_joints(spec: mujoco.MjSpec) -> None:
    """No rotor inertia, no viscous and no Coulomb friction in any joint or tendon: a textbook's arm."""
    for joint in spec.joints:
        joint.damping = np.zeros(3)
        if abs(joint.springref) >= FAR_REST:  # what makes Coulomb friction differ by direction
            joint.stiffness, joint.springref = np.zeros(3), 0.0
    for part in (*spec.joints, *spec.tendons):
        part.armature = part.frictionloss = 0.0
    for tendon in spec.tendons:
        tendon.damping = np.zeros(3)
    rigid_joints(spec)
    mark_ideal(spec)


def rigid_joints(spec: mujoco.MjSpec) -> None:
    """Gears that do not give."""
    for numeric in [numeric for numeric in spec.numerics if numeric.name in (STIFFNESS, GEAR_DAMPING)]:
        spec.delete(numeric)


def mark_ideal(spec: mujoco.MjSpec) -> None:
    """Note that what the joints lack is meant to be absent."""
    set_note(spec, JOINTS, "ideal")


def add_load(
    spec: mujoco.MjSpec, body: str, frame: Frame, load: tuple[float, Array, Array], name: str, taken: Collection[str]
) -> None:
    """A body `name` fixed at `frame` of `body`; `load` is its mass, centre of mass and tensor, axes of the frame."""
    added = spec.body(body).add_body(
        name=unused_name(f"{name}_body", taken), pos=frame.offset, quat=quat_from_matrix(frame.rotation)
    )
    set_inertia(added, *load)


def add_tip(spec: mujoco.MjSpec, body: str, frame: Frame, tip: Pose, name: str) -> None:
    """A site `name` on `body`, at the pose `tip` in `frame`."""
    X_BT = Pose(frame.offset, frame.rotation) @ tip
    spec.body(body).add_site(name=name, pos=X_BT.position, quat=X_BT.quat_wxyz)


def move_base(spec: mujoco.MjSpec, pose: Pose, name: str) -> None:
    """Everything that stands in the world, moved to `pose`."""
    frame = spec.worldbody.add_frame(pos=pose.position, quat=pose.quat_wxyz)
    for body in spec.worldbody.bodies:
        if any(joint.type == _FREE for joint in body.joints):
            raise InvalidInput(f"the base of {name} is free: its pose is part of q")
        _outermost(body).set_frame(frame)


def free_base(spec: mujoco.MjSpec, model: mujoco.MjModel, name: str) -> None:
    """A free joint for the one body that stands in the world; keyframes keep their meaning.

    A base without mass, with nothing fixed to it that has some, gets next to none: whether what moves on it is enough
    to resist is for the mass matrix to say.
    """
    root = _only_base(spec, model, name)
    here = model.body(root.name)
    if _welded_mass(model, here.id) <= 0:
        set_inertia(root, PLACEHOLDER, np.zeros(3), np.zeros((3, 3)))
    root.add_freejoint(name=unused_name("base_free", [joint.name for joint in spec.joints]))
    for number, key in enumerate(spec.keys):
        key.qpos = np.concatenate([here.pos, here.quat, model.key_qpos[number]])
        key.qvel = np.concatenate([np.zeros(6), model.key_qvel[number]])


def _only_base(spec: mujoco.MjSpec, model: mujoco.MjModel, name: str) -> mujoco.MjsBody:
    roots = list(spec.worldbody.bodies)
    whole = [body for body in roots if model.body_subtreemass[model.body(body.name).id] > 0] or roots
    if len(whole) > 1:
        listed = ", ".join(repr(body.name) for body in whole)
        raise InvalidInput(f"{name} stands on {len(whole)} bodies ({listed}); only one base can float")
    if list(whole[0].joints):
        raise InvalidInput(f"the base {whole[0].name!r} of {name} already moves")
    return whole[0]


def _welded_mass(model: mujoco.MjModel, base: int) -> float:
    """The mass of a body and of all that is fixed to it."""
    welded = {base}
    for b in range(base + 1, model.nbody):
        if model.body_parentid[b] in welded and model.body_jntnum[b] == 0:
            welded.add(b)
    return float(sum(model.body_mass[b] for b in welded))


def _outermost(body: mujoco.MjsBody) -> mujoco.MjsBody | mujoco.MjsFrame:
    """The body, or the outermost of the frames it stands in."""
    outermost = body
    while outermost.frame is not None:
        outermost = outermost.frame
    return outermost


# ----------------------------------------------------------------------------------------------
# What is not known of a robot's joints, and what follows from it.


def joint_remarks(robot: Robot) -> list[str]:
    """A sentence on rotor inertia and one on friction where they are not known; none for joints that are ideal."""
    if robot.text(JOINTS) == "ideal" or robot.unresisted:
        return []
    model, kept = robot.model, robot.coordinates.kept
    driven = np.isin(model.jnt_type[model.dof_jntid[kept]], (_HINGE, _SLIDE))
    lacking = {
        "rotor inertia": (model.dof_armature, "predicted limits are pessimistic along {}"),
        "friction": (
            model.dof_damping + model.dof_frictionloss,
            "the real arm's steady errors and stick–slip are not predicted",
        ),
    }
    remarks = []
    for what, (values, consequence) in lacking.items():
        joints = [name for name, lacks in zip(robot.dof_names, driven & (values[kept] == 0)) if lacks]
        listed = ", ".join(joints[:6]) + (" …" if len(joints) > 6 else "")
        if len(joints) == robot.nv:
            remarks.append(f"no {what} known: {consequence.format('the wrist')}")
        elif joints:
            remarks.append(f"no {what} known of {listed}: {consequence.format(listed)}")
    return remarks
