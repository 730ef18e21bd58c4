"""One gate for every robot and every world, whatever door they came through: is this a machine that can exist?

Sizes are held against the limit before anything is compiled; lengths, masses, inertias, axes, springs and dampers
afterwards, by the engine's own numbers; and the mass matrix must be positive definite at home and at random postures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import ModelError, shortened
from palpate.escape.text import control_characters
from palpate.robot.joints.coupling import refuse_loops
from palpate.robot.limits import scalar_joints
from palpate.robot.mechanics.compiled import SINGULAR, weakest_motion

MOST_BODIES = 600  # compiling takes time by their cube: a second
LONGEST_TEXT = 20_000_000  # characters of an MJCF document
POSTURES = 6  # random ones at which the mass matrix is tried
# The engine's field, its largest value, its unit; every number must be finite, too.
_BODY_LIMITS = {
    "body_mass": (1e7, "kg"), "body_inertia": (1e10, "kg·m²"), "body_pos": (1e5, "m"), "body_ipos": (1e5, "m"),
    "body_quat": (1.1, "1"), "body_iquat": (1.1, "1"),
}  # fmt: skip
_JOINT_LIMITS = {"jnt_axis": (1.001, "1"), "jnt_pos": (1e5, "m"), "jnt_stiffness": (1e12, "N·m/rad")}
_DOF_LIMITS = {"dof_damping": (1e12, "N·m·s/rad"), "dof_armature": (1e9, "kg·m²"), "dof_frictionloss": (1e12, "N·m")}
_GEOM_LIMITS = {"geom_pos": (1e5, "m"), "geom_size": (1e5, "m")}
_STRONGEST_GRAVITY = 1e4  # m/s²


def refuse_too_many(bodies: int, robot: str) -> None:
    """Refuse a model whose compilation would not end in time, before it is tried."""
    if bodies > MOST_BODIES:
        raise ModelError(
            f"robot {shortened(robot)!r} has {bodies} bodies, at most {MOST_BODIES} are taken",
            hint="leave out what does not move, or merge links that are fixed to each other",
        )


def spec_from_text(text: object) -> mujoco.MjSpec:
    """The spec of an MJCF document, refused unless it is a text of bearable size."""
    if not isinstance(text, str):
        raise ModelError(f"an MJCF document is a text, got {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise ModelError(f"the MJCF text has {len(text)} characters, at most {LONGEST_TEXT} are read")
    if "\0" in text:
        raise ModelError("the MJCF text holds a null character")
    refuse_too_many(text.count("<body"), "MJCF text")
    try:
        return mujoco.MjSpec.from_string(text)
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"the MJCF text cannot be read: {error}") from error


def refuse_impossible_robot(model: mujoco.MjModel, robot: str, *, weightless: bool) -> None:
    """Refuse a robot that cannot exist.

    Args:
        model: compiled.
        robot: its name.
        weightless: only its kinematics are known, so its mass matrix says nothing.
    """
    refuse_loops(model, robot)
    _refuse_names(model, robot)
    refuse_impossible(model, f"robot {shortened(robot)!r}")
    if not weightless:
        _refuse_singular(model, robot)


def _refuse_names(model: mujoco.MjModel, robot: str) -> None:
    """Refuse names with control characters, and joint names that cannot head a column of a trace, as `q[joint1]`."""
    every = model.names.decode("utf-8", "surrogateescape").split("\0")  # of bodies, joints, sites, actuators …
    for name in (robot, *every):
        if bad := control_characters(name):
            raise ModelError(
                f"robot {shortened(robot)!r}: the name {shortened(name)!r} contains {', '.join(bad)}; a name has no"
                " control characters",
                hint="rename it in the model",
            )
    names = [model.joint(j).name for j in range(model.njnt)]
    wrong = [name for name in names if not name.strip() or not name.isprintable() or set(name) & set("[]")]
    if wrong:
        listed = ", ".join(repr(shortened(name)) for name in wrong[:8])
        raise ModelError(
            f"robot {shortened(robot)!r}: joint names are printable text without [ or ], got {listed}",
            hint="rename them in the model",
        )


def refuse_impossible(model: mujoco.MjModel, what: str, only: Collection[str] | None = None) -> None:
    """Refuse numbers beyond every machine: they only make others meaningless.

    Args:
        model: compiled.
        what: it is, for the message.
        only: the engine's fields to look at, where the others have been looked at before.

    Raises:
        ModelError: every such number, by the name of its body or joint.
    """
    problems = [*_impossible_numbers(model, only)]
    if not np.linalg.norm(model.opt.gravity) <= _STRONGEST_GRAVITY:
        problems.append(f"gravity is {model.opt.gravity} m/s², at most {_STRONGEST_GRAVITY:g}")
    if problems:
        more = f"; and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise ModelError(f"{what} cannot exist: " + "; ".join(problems[:10]) + more, hint="lengths in m, masses in kg")


def _impossible_numbers(model: mujoco.MjModel, only: Collection[str] | None) -> Iterator[str]:
    groups = (
        (_BODY_LIMITS, lambda i: f"body {shortened(model.body(i).name)!r}"),
        (_JOINT_LIMITS, lambda i: f"joint {shortened(model.joint(i).name)!r}"),
        (_DOF_LIMITS, lambda i: f"joint {shortened(model.joint(int(model.dof_jntid[i])).name)!r}"),
        (_GEOM_LIMITS, lambda i: f"geom {i} of {shortened(model.body(int(model.geom_bodyid[i])).name)!r}"),
    )
    for limits, named in groups:
        for name, (most, unit) in limits.items():
            if only is not None and name not in only:
                continue
            field = getattr(model, name)
            if np.abs(field).max(initial=0.0) <= most:
                continue
            values = field.reshape(len(field), -1)
            for i in np.flatnonzero(~(np.abs(values).max(axis=1) <= most)):  # also a NaN
                largest = values[i][np.abs(values[i]).argmax()]  # also a negative one
                yield f"{name} of {named(int(i))} is {largest:.3g} {unit}, at most {most:g}"


def _refuse_singular(model: mujoco.MjModel, robot: str) -> None:
    data = mujoco.MjData(model)
    for q in _postures(model):
        value, motion = _least_resisted(model, data, q)
        if not value > SINGULAR:
            joints = [model.joint(int(model.dof_jntid[k])).name for k in np.flatnonzero(np.abs(motion) > 1e-3)]
            named = ", ".join(map(repr, dict.fromkeys(shortened(name) for name in joints[:8])))
            raise ModelError(
                f"robot {shortened(robot)!r} cannot exist: its mass matrix is not positive definite"
                f" ({value:.3g} of 1), {named} move together without moving any mass",
                hint="two joints with one axis on one body, or a moving link without mass",
            )


def _least_resisted(model: mujoco.MjModel, data: mujoco.MjData, q: Array) -> tuple[float, Array]:
    data.qpos[:] = q
    M = np.zeros((model.nv, model.nv))
    try:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, data, M)
        if not np.isfinite(M).all() or not (np.diag(M) > 0).all():
            return float("nan"), np.ones(model.nv)
        return weakest_motion(M)
    except (np.linalg.LinAlgError, mujoco.FatalError):
        return float("nan"), np.ones(model.nv)


def _postures(model: mujoco.MjModel) -> Iterator[Array]:
    """Home, and random postures within the limits; the same ones every time."""
    home = model.key_qpos[0] if model.nkey else model.qpos0
    yield home
    draw = np.random.default_rng(0)
    hinges = scalar_joints(model)
    addresses = model.jnt_qposadr[hinges]
    limited = model.jnt_limited[hinges].astype(bool)
    reach = np.where(model.jnt_type[hinges] == int(mujoco.mjtJoint.mjJNT_HINGE), np.pi, 1.0)
    lower = np.where(limited, np.clip(model.jnt_range[hinges, 0], -1e3, 1e3), -reach)
    upper = np.where(limited, np.clip(model.jnt_range[hinges, 1], -1e3, 1e3), reach)
    for _ in range(POSTURES):
        q = home.copy()
        q[addresses] = lower + (upper - lower) * draw.random(len(hinges))
        yield q
