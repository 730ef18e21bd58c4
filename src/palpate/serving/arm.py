"""A Franka: its frames and masses, its estimates of external forces, and its controllers behind motion commands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.serving.fci import JOINTS
from palpate.spatial import Pose, euler_from_matrix, rotation_error

# ---------------------------------------- What a Franka says about itself: its frames, its end effector, and the URDF
# that clients build their model from


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


EXTERNAL_CUTOFF = 30.0  # Hz, of the estimated external torque
FASTEST = 0.25  # ω dt of the robot's own controllers: stiffer modes are softened to it
JOINT_STIFFNESS = (3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0)  # N·m/rad, at the start
CARTESIAN_STIFFNESS = (3000.0, 3000.0, 3000.0, 300.0, 300.0, 300.0)  # N/m, N·m/rad, at the start
POSTURE_STIFFNESS = 20.0  # N·m/rad of the motion that the tool does not see
_RENEW_EVERY = 16  # ticks after which stiffness and damping are computed anew
_SMALLEST = 1e-9  # m²: keeps J Jᵀ regular at a singularity


def spring_damper(K: Array, M: Array, fastest: float) -> tuple[Array, Array, float]:
    """Stiffness and damping that make every mode of M ẍ + D ẋ + K x = 0 critically damped.

    With M = L Lᵀ and L⁻¹ K L⁻ᵀ = V ω² Vᵀ it is D = L V 2ω Vᵀ Lᵀ. Modes faster than `fastest`, rad/s, are softened to
    it, which is all that a sampled loop bears. Returns K, D and the fastest ω before that.
    """
    L = np.linalg.cholesky(M)
    half = np.linalg.solve(L, K)
    squares, V = np.linalg.eigh(np.linalg.solve(L, half.T))
    omega = np.sqrt(np.maximum(squares, 0.0))
    cut, LV = np.minimum(omega, fastest), L @ V
    return (LV * cut**2) @ LV.T, (LV * (2.0 * cut)) @ LV.T, float(omega[-1])


class Arm:
    """The robot's view of itself at a tick, in base axes, and its own controllers.

    Attributes:
        X_WO: the base. `X_EK`, `X_NE`: frames that clients may set, as the protocol names them.
        q, v: measured. `O_T_EE`: measured pose of the end effector. `J`: its Jacobian, base axes.
        external: estimated external torque, N·m: positive where the robot pushes, as the maker defines it.
        wrench: what the robot does to its environment at the frame K, base axes.
        softened: largest ω dt that a controller was asked for.
    """

    def __init__(self, robot: Robot, model: FrankaModel, rotor: Array, period: float) -> None:
        self.robot, self.model, self.period = robot, model, period
        self._rotor = np.diag(rotor)
        self._filter_gain = 1.0 - math.exp(-2.0 * math.pi * EXTERNAL_CUTOFF * period)
        self._to_base = np.kron(np.eye(2), model.X_WO.rotation.T)  # of a twist or a wrench
        self.gravity_vector = model.X_WO.rotation.T @ robot.model.opt.gravity
        self.X_FN, self.NE_T_EE, self.EE_T_K = model.X_FE.matrix, np.eye(4), np.eye(4)
        self.load = (0.0, np.zeros(3), np.zeros((3, 3)))
        self.joint_stiffness, self.cartesian_stiffness = np.array(JOINT_STIFFNESS), np.array(CARTESIAN_STIFFNESS)
        self.external, self.wrench, self.softened = np.zeros(7), np.zeros(6), 0.0
        self._last: tuple[Array, Array, Array] | None = None
        self._joint: tuple[int, Array, Array] = (-_RENEW_EVERY, np.zeros(0), np.zeros(0))
        self._count = 0

    @property
    def X_FE(self) -> Array:
        """From the flange to the end effector."""
        return self.X_FN @ self.NE_T_EE

    def observe(self, tick: Any) -> None:
        """Take a tick's measurement in."""
        self.q, self.v, self.M, self.gravity = tick.q, tick.v, tick.M, tick.gravity
        self.coriolis = tick.bias - tick.gravity
        self.O_T_EE, self.J = self._end_effector(tick)
        self._add_load()
        self._estimate(tick)
        self._count += 1

    def _estimate(self, tick: Any) -> None:
        """External torque: what the drives gave beyond M̂ v̇ + b̂ since the last tick, low-passed; and its wrench at K."""
        if self._last is not None:
            M, bias, v = self._last
            surplus = tick.tau - (M + self._rotor) @ ((tick.v - v) / self.period) - bias
            self.external += self._filter_gain * (surplus - self.external)
        self._last = tick.M.copy(), self.coriolis + self.gravity, tick.v.copy()
        J = _shifted(self.J, self.O_T_EE[:3, :3] @ self.EE_T_K[:3, 3])
        self.wrench = np.linalg.solve(J @ J.T + _SMALLEST * np.eye(6), J @ self.external)

    def _end_effector(self, terms: Any) -> tuple[Array, Array]:
        """Pose and Jacobian of the end effector, base axes, from those of the scenario's tool frame in the world."""
        R, X_ON = self._to_base[:3, :3], np.eye(4)
        X_ON[:3, :3], X_ON[:3, 3] = R @ terms.rotation, R @ (terms.position - self.model.X_WO.position)
        X = X_ON @ self.NE_T_EE
        return X, _shifted(self._to_base @ terms.J, X[:3, 3] - X_ON[:3, 3])

    def _add_load(self) -> None:
        """Gravity of a load that the client has announced, its centre of mass in flange axes."""
        mass, com, _ = self.load
        if mass:
            X_EF = np.linalg.inv(self.X_FE)
            com_offset = self.O_T_EE[:3, :3] @ (X_EF[:3, :3] @ com + X_EF[:3, 3])
            self.gravity = self.gravity - mass * _shifted(self.J, com_offset)[:3].T @ self.gravity_vector

    def joint_impedance(self, q: Array, v: Array) -> Array:
        """τ = K (q_d − q) + D (v_d − v) + C v, with D critically damped."""
        computed_at, K, D = self._joint
        if self._count - computed_at >= _RENEW_EVERY:
            K, D, fastest = spring_damper(np.diag(self.joint_stiffness), self.M + self._rotor, FASTEST / self.period)
            self.softened = max(self.softened, fastest * self.period)
            self._joint = self._count, K, D
        return K @ (q - self.q) + D @ (v - self.v) + self.coriolis

    def cartesian_impedance(self, pose: Array, twist: Array, q: Array) -> Array:
        """τ = Jᵀ (K e + D (ẋ_d − ẋ)) + C v, and a soft spring to the posture in the motion the tool does not see."""
        M, J = self.M + self._rotor, self.J
        M_inverse = np.linalg.inv(M)
        task = np.linalg.inv(J @ M_inverse @ J.T + _SMALLEST * np.eye(6))
        K, D, fastest = spring_damper(np.diag(self.cartesian_stiffness), task, FASTEST / self.period)
        self.softened = max(self.softened, fastest * self.period)
        error = np.concatenate([pose[:3, 3] - self.O_T_EE[:3, 3], rotation_error(pose[:3, :3], self.O_T_EE[:3, :3])])
        force = K @ error + D @ (twist - J @ self.v)
        K_posture, D_posture, _ = spring_damper(POSTURE_STIFFNESS * np.eye(7), M, FASTEST / self.period)
        posture = K_posture @ (q - self.q) - D_posture @ self.v
        null_space = posture - J.T @ (task @ (J @ (M_inverse @ posture)))
        return J.T @ force + null_space + self.coriolis

    def pose_at(self, q: Array) -> tuple[Array, Array]:
        """Pose and Jacobian of the end effector at a posture, base axes."""
        return self._end_effector(self.robot.terms(q, np.zeros(7)))


def _shifted(J: Array, r: Array) -> Array:
    """A Jacobian at a point r further on: v' = v + ω × r."""
    across = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    return np.vstack([J[:3] - across @ J[3:], J[3:]])
