"""A Franka's description of itself: its frames, its end effector, and the URDF that clients build their model from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import Pose, euler_from_matrix
from palpate.tools.serving.protocol.fci import JOINTS

_MODELS = ("fr3", "panda", "franka", "fer")
_FLANGE = 0.107  # m along link 7's z, on a Panda and an FR3 alike
# How the greatest speed of an FR3 falls towards a stop: offset, rad/s, and deceleration, rad/s²; a Panda's does not.
_OFFSET = (0.30, 0.20, 0.20, 0.30, 0.35, 0.35, 0.35)
_DECELERATION = (6.0, 2.585, 3.5, 4.0, 17.0, 5.5, 17.0)
_UNLIMITED = 1e9  # rad/s²


@dataclass(frozen=True)
class Inertia:
    """Mass, centre of mass, and inertia tensor about it, in some frame's axes."""

    mass: float
    com: Array
    tensor: Array


@dataclass(frozen=True)
class FrankaModel:
    """Frames and masses of a Franka as its protocol names them.

    Attributes:
        X_WO: pose of the base.
        X_FE: from the flange to the tool frame of the scenario's robot.
        end_effector: what is fixed beyond the last link, in flange axes.
        urdf: the arm up to the flange (`link8`).
    """

    X_WO: Pose
    X_FE: Pose
    end_effector: Inertia
    urdf: str


def stopping(robot: Robot) -> tuple[Array, Array]:
    """Offset and deceleration of √(2 a (q_max − q)) − offset, the greatest speed towards a stop, rad/s and rad/s²."""
    if "fr3" in robot.name.lower():
        return np.array(_OFFSET), np.array(_DECELERATION)
    return np.zeros(JOINTS), np.full(JOINTS, _UNLIMITED)


def franka_model(robot: Robot) -> FrankaModel:
    """The frames and masses of a Franka.

    Raises:
        InvalidInput: the robot is none.
    """
    bodies = _chain(robot)
    model, data = robot.model, mujoco.MjData(robot.model)
    data.qpos[:] = 0.0  # the arm's zero, not the model's reference
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    X_WO, tool = _pose(data, int(model.body_parentid[bodies[0]])), robot.frame()
    X_WF = _flange(robot, data, bodies[-1])
    X_WE = _pose(data, tool.body) @ Pose(tool.offset, tool.rotation)
    groups = [np.flatnonzero(model.body_weldid == model.body_weldid[body]) for body in bodies]
    beyond = groups[-1][groups[-1] != bodies[-1]]
    frames = [_pose(data, body) @ Pose(model.jnt_pos[model.body_jntadr[body]], np.eye(3)) for body in bodies]
    links = [_combined(model, data, group, X) for group, X in zip([*groups[:-1], np.array(bodies[-1:])], frames)]
    axes = [model.jnt_axis[model.body_jntadr[body]] for body in bodies]
    urdf = _urdf(robot, [X_WO, *frames, X_WF], links, axes)
    return FrankaModel(X_WO, X_WF.inverse() @ X_WE, _combined(model, data, beyond, X_WF), urdf)


def _chain(robot: Robot) -> list[int]:
    """The bodies of joints 1 to 7."""
    names = [re.sub(r".*(?=joint\d$)", "", name) for name in robot.dof_names]
    if robot.nv != JOINTS or robot.nq != JOINTS:
        raise InvalidInput(
            f"{robot.name} has {robot.nv} joints; the FCI protocol is that of Franka's arms, which have seven",
            hint='use robot.model = "fr3" or "panda", or your own model of one',
        )
    named = any(word in robot.name.lower() for word in _MODELS)
    if not named or names != [f"joint{i}" for i in range(1, JOINTS + 1)] or robot.coordinates.coupled:
        raise InvalidInput(
            f"{robot.name} is not a Franka: its name or its joints ({', '.join(robot.dof_names)}) are not those of one",
            hint="a model of a Franka has fr3, panda, fer or franka in its name, and joints … joint1 to … joint7",
        )
    return [int(body) for body in robot.model.jnt_bodyid[:JOINTS]]


def _flange(robot: Robot, data: mujoco.MjData, last: int) -> Pose:
    named = [name for name in robot.frame_names if re.search(r"(^|_|/)(flange|link8)$", name)]
    if not named:
        return _pose(data, last) @ Pose([0.0, 0.0, _FLANGE], np.eye(3))
    frame = robot.frame(named[0])
    return _pose(data, frame.body) @ Pose(frame.offset, frame.rotation)


def _pose(data: mujoco.MjData, body: int) -> Pose:
    return Pose(data.xpos[body], data.xmat[body].reshape(3, 3))


def _combined(model: mujoco.MjModel, data: mujoco.MjData, bodies: np.ndarray, X_WL: Pose) -> Inertia:
    """Several bodies as one, in the axes of a frame."""
    masses = model.body_mass[bodies]
    mass = float(masses.sum())
    if mass == 0.0:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    coms = X_WL.inverse().apply(data.xipos[bodies])
    com, tensor = masses @ coms / mass, np.zeros((3, 3))
    for body, m, r in zip(bodies, masses, coms - com):
        axes = X_WL.rotation.T @ data.ximat[body].reshape(3, 3)
        tensor += axes @ np.diag(model.body_inertia[body]) @ axes.T + m * (r @ r * np.eye(3) - np.outer(r, r))
    return Inertia(mass, com, tensor)


def _urdf(robot: Robot, frames: list[Pose], links: list[Inertia], axes: list[Array]) -> str:
    """The arm as libfranka wants it: joints joint1 to joint7, and the flange named link8."""
    limits, (offset, deceleration) = robot.limits, stopping(robot)
    parts = ['<robot name="fr3">', '<link name="link0"/>']
    for i, (inertia, axis) in enumerate(zip(links, axes)):
        bounds = {"effort": limits.torque, "velocity": limits.velocity, "lower": limits.lower, "upper": limits.upper}
        parts += [
            f'<joint name="joint{i + 1}" type="revolute">{_origin(frames[i], frames[i + 1])}',
            f'<parent link="link{i}"/><child link="link{i + 1}"/><axis xyz="{_numbers(axis)}"/>',
            f"<limit {_attributes((name, values[i]) for name, values in bounds.items())}/>",
            f'<position_based_velocity_limits velocity_offset="{offset[i]:g}"'
            f' deceleration_limit="{deceleration[i]:g}"/></joint>',
            f'<link name="link{i + 1}">{_inertial(inertia)}</link>',
        ]
    flange = _origin(frames[-2], frames[-1])
    parts.append(f'<joint name="joint8" type="fixed">{flange}<parent link="link7"/><child link="link8"/></joint>')
    return "\n".join([*parts, '<link name="link8"/>', "</robot>"])


def _attributes(pairs: Iterable[tuple[str, float]]) -> str:
    return " ".join(f'{name}="{float(value)!r}"' for name, value in pairs)


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in values)


def _origin(X_WA: Pose, X_WB: Pose) -> str:
    X_AB = X_WA.inverse() @ X_WB
    roll_pitch_yaw = euler_from_matrix(X_AB.rotation, "xyz")
    return f'<origin xyz="{_numbers(X_AB.position)}" rpy="{_numbers(roll_pitch_yaw)}"/>'


def _inertial(inertia: Inertia) -> str:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = _attributes(zip(names, inertia.tensor[np.triu_indices(3)]))
    return (
        f'<inertial><origin xyz="{_numbers(inertia.com)}" rpy="0 0 0"/>'
        f'<mass value="{inertia.mass!r}"/><inertia {moments}/></inertial>'
    )
