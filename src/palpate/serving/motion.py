"""A motion that a client commands, step by step, as joint positions for the robot's controllers; what stops it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.serving.arm import Arm, stopping
from palpate.serving.fci import Controller, Generator
from palpate.spatial import matrix_from_rotation_vector, rotation_error

# ---------------------------------------- What makes a Franka stop a motion: limits of commands and of the measured
# state, and thresholds of contact
# Each check returns the maker's name of the error, or None. Limits are those of the maker's control parameters page;
# the tolerances are ours: a client computes from single-precision numbers, and rounding must not look like a jump.


LOST_IN_A_ROW = 20  # packets, after which the robot stops
TORQUE_RATE = 1000.0  # N·m/s
JOINT_JERK = 5000.0  # rad/s³
# Velocity, acceleration, jerk: translation and rotation.
CARTESIAN = ((3.0, 9.0, 4500.0), (2.5, 17.0, 8500.0))
_ROUNDING = 1e-3  # of a limit
_SPEED_ROUNDING = 1e-3  # rad/s: half a step of a single-precision angle in 1 ms is a fifth of it
_JERK_ROUNDING = 0.25  # of a limit: single precision in, differenced three times over 1 ms


@dataclass
class Thresholds:
    """From which external torques and forces on there is a contact (lower) or a collision (upper).

    N·m for joints; N and N·m for the frame K. The values at the start are ours.
    """

    lower_torque: Array = field(default_factory=lambda: np.full(7, 20.0))
    upper_torque: Array = field(default_factory=lambda: np.full(7, 20.0))
    lower_force: Array = field(default_factory=lambda: np.full(6, 20.0))
    upper_force: Array = field(default_factory=lambda: np.full(6, 20.0))

    def set(self, numbers: tuple[float, ...]) -> bool:
        """Take the eight lists of a request: of each pair those for steady motion; False if one is not positive."""
        values = np.array(numbers)
        if not (np.isfinite(values).all() and (values > 0).all()):
            return False
        self.lower_torque, self.upper_torque = values[14:21], values[21:28]
        self.lower_force, self.upper_force = values[40:46], values[46:52]
        return True

    def reflex(self, torque: Array, wrench: Array) -> str | None:
        """The error of an external torque or wrench beyond the upper thresholds."""
        if (np.abs(wrench) > self.upper_force).any():
            return "cartesian_reflex"
        return "joint_reflex" if (np.abs(torque) > self.upper_torque).any() else None


FARTHEST = 10.0  # m: no frame of such an arm lies farther from its flange or its base
_ORTHOGONAL = 1e-4  # of R Rᵀ, from single-precision numbers


def pose_from(numbers: Array) -> Array | None:
    """The 4×4 pose of 16 numbers by columns; None where they are no rotation, or lie beyond any arm's reach."""
    X = numbers.astype(np.float64).reshape(4, 4).T
    R = X[:3, :3]
    if not np.isfinite(X).all() or np.abs(X).max() > FARTHEST or np.abs(X[3] - [0, 0, 0, 1]).max() > 1e-9:
        return None
    return X if np.abs(R @ R.T - np.eye(3)).max() < _ORTHOGONAL and np.linalg.det(R) > 0 else None


class Limits:
    """Limits of a robot's joints, in motion and in command."""

    def __init__(self, robot: Robot, period: float) -> None:
        self.period, self.joints = period, robot.limits
        self._offset, self._deceleration = stopping(robot)

    def velocity(self, q: Array) -> tuple[Array, Array]:
        """Smallest and greatest joint velocity at a posture, rad/s."""
        distances = np.array([q - self.joints.lower, self.joints.upper - q])
        speeds = np.sqrt(np.maximum(2.0 * self._deceleration * distances, 0.0)) - self._offset
        down, up = np.clip(speeds, 0.0, self.joints.velocity)
        return -down, up

    def measured(self, q: Array, v: Array) -> str | None:
        """The error of a measured state."""
        if (q < self.joints.lower).any() or (q > self.joints.upper).any():
            return "joint_position_limits_violation"
        return "joint_velocity_violation" if (np.abs(v) > 1.05 * self.joints.velocity).any() else None

    def torque(self, wanted: Array, last: Array, gravity: Array, ticks: int) -> str | None:
        """The error of a commanded torque, `ticks` after the last that arrived."""
        if (np.abs(wanted - last) > TORQUE_RATE * (1.0 + _ROUNDING) * self.period * ticks).any():
            return "controller_torque_discontinuity"
        return "tau_j_range_violation" if (np.abs(wanted + gravity) > self.joints.torque).any() else None

    def joint_motion(
        self, q: Array, v: Array, a: Array, jerk: Array, *, kind: str = "joint_motion_generator"
    ) -> str | None:
        """The error of a commanded joint motion."""
        joints, (low, high) = self.joints, self.velocity(q)
        exceeded = {
            "position_limits_violation": (q < joints.lower) | (q > joints.upper),
            "velocity_limits_violation": (v < low - _SPEED_ROUNDING) | (v > high + _SPEED_ROUNDING),
            "velocity_discontinuity": np.abs(a) > joints.acceleration + _SPEED_ROUNDING / self.period,
            "acceleration_discontinuity": np.abs(jerk) > JOINT_JERK * (1 + _JERK_ROUNDING),
        }
        return next((f"{kind}_{name}" for name, of_joints in exceeded.items() if of_joints.any()), None)


def cartesian_motion(twist: Array, acceleration: Array, jerk: Array) -> str | None:
    """The error of a commanded tool motion: [v; ω] and its two derivatives."""
    names = ("velocity_limits_violation", "velocity_discontinuity", "acceleration_discontinuity")
    for part, limits in zip((slice(0, 3), slice(3, 6)), CARTESIAN):
        for values, limit, slack, name in zip(
            (twist, acceleration, jerk), limits, (_ROUNDING, 2e-2, _JERK_ROUNDING), names
        ):
            if np.linalg.norm(values[part]) > limit * (1.0 + slack):
                return f"cartesian_motion_generator_{name}"
    return None


_CARTESIAN = (Generator.CARTESIAN_POSITION, Generator.CARTESIAN_VELOCITY)
_REGULAR = 1e-6  # keeps the inverse of a Jacobian bounded at a singularity


@dataclass
class JointReference:
    """Where the joints should be, and how they move: q, v, a."""

    q: Array
    v: Array = field(default_factory=lambda: np.zeros(7))
    a: Array = field(default_factory=lambda: np.zeros(7))

    def brake(self, most: Array, period: float) -> None:
        """One step of slowing down with the greatest deceleration, then of standing still."""
        self.v = np.sign(self.v) * np.maximum(np.abs(self.v) - most * period, 0.0)
        self.q, self.a = self.q + self.v * period, np.zeros(7)


@dataclass
class ActiveMove:
    """A Move under way.

    Attributes:
        number: of the Move request, which is answered when the motion ends.
        generator, controller: what is commanded, and who makes torques of it.
        torque: the client's, the last that arrived, N·m.
        pose, twist, acceleration: of the end effector as commanded, base axes.
        commands: how many arrived. `lost`: how many did not, in a row.
    """

    number: int
    generator: Generator
    controller: Controller
    reference: JointReference
    pose: Array
    torque: Array = field(default_factory=lambda: np.zeros(7))
    twist: Array = field(default_factory=lambda: np.zeros(6))
    acceleration: Array = field(default_factory=lambda: np.zeros(6))
    ticks: int = 0
    commands: int = 0
    lost: int = 0

    @property
    def moves_joints(self) -> bool:
        """Whether there is a motion beside the torques."""
        return self.generator != Generator.NONE

    def follow(self, command: np.ndarray, arm: Arm, limits: Limits) -> str | None:
        """Take a command; the error it makes, if it does."""
        if self.controller == Controller.EXTERNAL:
            wanted = command["tau_J_d"].copy()
            error = limits.torque(wanted, self.torque, arm.gravity, self.lost + 1)
            if error is not None:
                return error
            self.torque = wanted
        if self.generator in (Generator.JOINT_POSITION, Generator.JOINT_VELOCITY):
            return self._follow_joints(command, limits)
        return self._follow_tool(command, arm, limits) if self.generator in _CARTESIAN else None

    def _follow_joints(self, command: np.ndarray, limits: Limits) -> str | None:
        r, dt = self.reference, limits.period
        if self.generator == Generator.JOINT_POSITION:
            q = command["q_c"].copy()
            v = (q - r.q) / dt
            if self.commands == 0 and (np.abs(v) > limits.joints.velocity).any():
                return "joint_position_motion_generator_start_pose_invalid"
        else:
            v = command["dq_c"].copy()
            q = r.q + v * dt
        a = (v - r.v) / dt
        error = limits.joint_motion(q, v, a, (a - r.a) / dt)
        if error is None:
            r.q, r.v, r.a = q, v, a
        return error

    def _follow_tool(self, command: np.ndarray, arm: Arm, limits: Limits) -> str | None:
        if self.generator == Generator.CARTESIAN_POSITION:
            pose = pose_from(command["O_T_EE_c"])
            if pose is None:
                return "cartesian_position_motion_generator_invalid_frame"
            twist = _difference(pose, self.pose) / limits.period
            if self.commands == 0 and cartesian_motion(twist, np.zeros(6), np.zeros(6)):
                return "cartesian_position_motion_generator_start_pose_invalid"
        else:
            twist = command["O_dP_EE_c"].copy()
        acceleration = (twist - self.twist) / limits.period
        error = cartesian_motion(twist, acceleration, (acceleration - self.acceleration) / limits.period)
        if error is not None:
            return error
        elbow = float(command["elbow_c"][0]) if command["valid_elbow"] else None
        self.acceleration = acceleration
        return self._move_tool(twist, arm, limits, elbow)

    def _move_tool(self, twist: Array, arm: Arm, limits: Limits, elbow: float | None = None) -> str | None:
        """One step of the tool, and of the joints by inverse kinematics: the smallest motion that leads there."""
        self.twist, pose, dt = twist, self.pose.copy(), limits.period
        pose[:3, :3] = matrix_from_rotation_vector(twist[3:] * dt) @ pose[:3, :3]
        pose[:3, 3] += twist[:3] * dt
        self.pose, r = pose, self.reference
        X, J = arm.pose_at(r.q)
        wanted = _difference(pose, X)
        if elbow is not None:
            J, wanted = np.vstack([J, np.eye(7)[2]]), np.append(wanted, elbow - r.q[2])
        step = J.T @ np.linalg.solve(J @ J.T + _REGULAR * np.eye(len(wanted)), wanted)
        kind, still = "cartesian_motion_generator_joint", np.zeros(7)
        error = limits.joint_motion(r.q + step, step / dt, still, still, kind=kind)
        if error is None:
            r.q, r.v, r.a = r.q + step, step / dt, still
        return error

    def miss(self, arm: Arm, limits: Limits) -> str | None:
        """A command did not arrive: torques are held, motions go on with the acceleration they had."""
        self.lost += 1
        r, dt = self.reference, limits.period
        if self.lost >= LOST_IN_A_ROW:
            return "communication_constraints_violation"
        if self.generator in _CARTESIAN:
            return self._move_tool(self.twist + self.acceleration * dt, arm, limits)
        if self.moves_joints:
            r.v = r.v + r.a * dt
            r.q = r.q + r.v * dt
        return None

    def finish(self, limits: Limits) -> str | None:
        """The client says that it is done; an error where its motion had not come to rest."""
        still = (np.abs(self.reference.v) <= limits.joints.acceleration * limits.period * 1.1).all()
        return None if still or not self.moves_joints else "joint_motion_generator_velocity_discontinuity"

    def torque_of(self, arm: Arm) -> Array:
        """What the joints get for it, beside gravity."""
        if self.controller == Controller.EXTERNAL:
            return self.torque
        r = self.reference
        if self.controller == Controller.CARTESIAN_IMPEDANCE:
            pose = self.pose if self.generator in _CARTESIAN else arm.pose_at(r.q)[0]
            twist = self.twist if self.generator in _CARTESIAN else arm.J @ r.v
            return arm.cartesian_impedance(pose, twist, r.q)
        return arm.joint_impedance(r.q, r.v)


def _difference(to: Array, start: Array) -> Array:
    """[p; rotation vector] that leads from one pose to another, in the axes both are given in."""
    return np.concatenate([to[:3, 3] - start[:3, 3], rotation_error(to[:3, :3], start[:3, :3])])
