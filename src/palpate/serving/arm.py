"""What a Franka does by itself: estimates of external forces, and the impedance controllers behind motion commands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.serving.model import FrankaModel
from palpate.spatial import Pose, rotation_error

EXTERNAL_CUTOFF = 30.0  # Hz, of the estimated external torque
FASTEST = 0.25  # ω dt of the robot's own controllers: stiffer modes are softened to it
JOINT_STIFFNESS = (3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0)  # N·m/rad, at the start
CARTESIAN_STIFFNESS = (3000.0, 3000.0, 3000.0, 300.0, 300.0, 300.0)  # N/m, N·m/rad, at the start
POSTURE_STIFFNESS = 20.0  # N·m/rad of the motion that the tool does not see
_RENEWED = 16  # ticks between two looks at the masses
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
        self._share = 1.0 - math.exp(-2.0 * math.pi * EXTERNAL_CUTOFF * period)
        self._to_base = model.X_WO.rotation.T
        self.gravity_vector = self._to_base @ robot.model.opt.gravity
        self.NE_T_EE, self.EE_T_K = np.eye(4), np.eye(4)
        self.load = (0.0, np.zeros(3), np.zeros((3, 3)))
        self.joint_stiffness, self.cartesian_stiffness = np.array(JOINT_STIFFNESS), np.array(CARTESIAN_STIFFNESS)
        self.external, self.wrench, self.softened = np.zeros(7), np.zeros(6), 0.0
        self._before: tuple[Array, Array, Array] | None = None
        self._joint: tuple[int, Array, Array] = (-_RENEWED, np.zeros(0), np.zeros(0))
        self._count = 0

    @property
    def flange_to_tool(self) -> Array:
        """From the flange to the scenario's tool frame."""
        return self.model.X_FE.matrix

    @property
    def F_T_EE(self) -> Array:
        """From the flange to the end effector."""
        return self.flange_to_tool @ self.NE_T_EE

    def observe(self, tick: Any) -> None:
        """Take a tick's measurement in."""
        self.q, self.v, self.M, self.gravity = tick.q, tick.v, tick.M, tick.gravity
        self.coriolis = tick.bias - tick.gravity
        R = self._to_base @ tick.rotation
        X_ON = np.eye(4)
        X_ON[:3, :3], X_ON[:3, 3] = R, self._to_base @ (tick.position - self.model.X_WO.position)
        self.O_T_EE = X_ON @ self.NE_T_EE
        J = np.vstack([self._to_base @ tick.J[:3], self._to_base @ tick.J[3:]])
        self.J = _shifted(J, self.O_T_EE[:3, 3] - X_ON[:3, 3])
        self._add_load(X_ON, J)
        self._estimate(tick)
        self._count += 1

    def _estimate(self, tick: Any) -> None:
        """External torque: what the drives gave beyond M̂ v̇ + b̂ since the last tick, low-passed; and its wrench at K."""
        if self._before is not None:
            M, bias, v = self._before
            surplus = tick.tau - (M + self._rotor) @ ((tick.v - v) / self.period) - bias
            self.external += self._share * (surplus - self.external)
        self._before = tick.M.copy(), self.coriolis + self.gravity, tick.v.copy()
        J = _shifted(self.J, self.O_T_EE[:3, :3] @ self.EE_T_K[:3, 3])
        self.wrench = np.linalg.solve(J @ J.T + _SMALLEST * np.eye(6), J @ self.external)

    def _add_load(self, X_ON: Array, J: Array) -> None:
        """Gravity of a load that the client has announced."""
        mass, com, _ = self.load
        if mass:
            X_NF = np.linalg.inv(self.flange_to_tool)
            com_offset = X_ON[:3, :3] @ (X_NF[:3, :3] @ com + X_NF[:3, 3])
            self.gravity = self.gravity - mass * _shifted(J, com_offset)[:3].T @ self.gravity_vector

    def joint_impedance(self, q: Array, v: Array) -> Array:
        """τ = K (q_d − q) + D (v_d − v) + C v, with D critically damped."""
        made, K, D = self._joint
        if self._count - made >= _RENEWED:
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
        K_rest, D_rest, _ = spring_damper(POSTURE_STIFFNESS * np.eye(7), M, FASTEST / self.period)
        posture = K_rest @ (q - self.q) - D_rest @ self.v
        unseen = posture - J.T @ (task @ (J @ (M_inverse @ posture)))
        return J.T @ force + unseen + self.coriolis

    def pose_at(self, q: Array) -> tuple[Array, Array]:
        """Pose and Jacobian of the end effector at a posture, base axes."""
        terms = self.robot.terms(q, np.zeros(7))
        X_ON = (self.model.X_WO.inverse() @ Pose(terms.position, terms.rotation)).matrix
        J = np.vstack([self._to_base @ terms.J[:3], self._to_base @ terms.J[3:]])
        X = X_ON @ self.NE_T_EE
        return X, _shifted(J, X[:3, 3] - X_ON[:3, 3])


def _shifted(J: Array, r: Array) -> Array:
    """A Jacobian at a point r further on: v' = v + ω × r."""
    across = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    return np.vstack([J[:3] - across @ J[3:], J[3:]])
