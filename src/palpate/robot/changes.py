"""Changes of a robot's description that give another robot: loads, tools, bases.

Each takes a spec that belongs to the caller, and changes it.
"""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.build import FAR_REST, PLACEHOLDER, set_inertia
from palpate.robot.frames import Frame
from palpate.robot.mechanics.compiled import set_note, unused
from palpate.spatial import Pose, quat_from_matrix

JOINTS = "joints"  # the note that says how the joints are meant
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
    mark_ideal(spec)


def mark_ideal(spec: mujoco.MjSpec) -> None:
    """Note that what the joints lack is meant to be absent."""
    set_note(spec, JOINTS, "ideal")


def add_load(
    spec: mujoco.MjSpec, body: str, frame: Frame, load: tuple[float, Array, Array], name: str, taken: Collection[str]
) -> None:
    """A body `name` fixed at `frame` of `body`; `load` is its mass, centre of mass and tensor, axes of the frame."""
    added = spec.body(body).add_body(
        name=unused(f"{name}_body", taken), pos=frame.offset, quat=quat_from_matrix(frame.rotation)
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
    root.add_freejoint(name=unused("base_free", [joint.name for joint in spec.joints]))
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
