"""A motion that a client commands, step by step, as joint positions for the robot's controllers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from palpate.checks import Array
from palpate.tools.serving.arm.arm import Arm
from palpate.tools.serving.arm.arm_kernels import ELBOW_FLIP
from palpate.tools.serving.arm.limits import LOST_IN_A_ROW, Limits, cartesian_motion, pose_from
from palpate.tools.serving.protocol.fci import Controller, Generator

_STILL = np.zeros(7)
_CARTESIAN = (Generator.CARTESIAN_POSITION, Generator.CARTESIAN_VELOCITY)


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

    def accelerates(self, limits: Limits) -> bool:
        """Whether what is commanded speeds up or slows down; torques alone never do."""
        return self.moves_joints and limits.accelerates(self.reference.a, self.acceleration)

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
            twist = arm.difference(pose, self.pose) / limits.period
            if self.commands == 0 and cartesian_motion(twist, np.zeros(6), np.zeros(6)):
                return "cartesian_position_motion_generator_start_pose_invalid"
        else:
            twist = command["O_dP_EE_c"].copy()
        acceleration = (twist - self.twist) / limits.period
        error = cartesian_motion(twist, acceleration, (acceleration - self.acceleration) / limits.period)
        if error is not None:
            return error
        elbow = None
        if command["valid_elbow"]:
            elbow = float(command["elbow_c"][0])
            if (error := self._elbow_error(elbow, float(command["elbow_c"][1]), limits)) is not None:
                return error
        self.acceleration = acceleration
        return self._move_tool(twist, arm, limits, elbow)

    def _elbow_error(self, elbow: float, sign: float, limits: Limits) -> str | None:
        """The error of a commanded elbow: joint 3, and on which side of its flip joint 4 is."""
        q, kind = self.reference.q, "cartesian_motion_generator"
        if sign != (1.0 if q[3] > ELBOW_FLIP else -1.0):
            return f"{kind}_elbow_sign_inconsistent"
        if abs(elbow - q[2]) > limits.joints.velocity[2] * limits.period * (self.lost + 1):
            return f"{kind}_start_elbow_invalid" if self.commands == 0 else f"{kind}_elbow_limit_violation"
        return None

    def _move_tool(self, twist: Array, arm: Arm, limits: Limits, elbow: float | None = None) -> str | None:
        """One step of the tool, and of the joints by inverse kinematics: the smallest motion that leads there."""
        self.twist, self.pose, r, dt = twist, arm.advanced(self.pose, twist), self.reference, limits.period
        step = arm.step_towards(self.pose, r.q, elbow)
        q, v = r.q + step, step / dt
        error = limits.joint_motion(q, v, _STILL, _STILL, kind="cartesian_motion_generator_joint")
        if error is None:
            r.q, r.v, r.a = q, v, (v - r.v) / dt
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
        """Torques of the joints for this motion, without gravity, N·m."""
        if self.controller == Controller.EXTERNAL:
            return self.torque
        r = self.reference
        if self.controller == Controller.CARTESIAN_IMPEDANCE:
            pose = self.pose if self.generator in _CARTESIAN else arm.pose_at(r.q)[0]
            twist = self.twist if self.generator in _CARTESIAN else arm.J @ r.v
            return arm.cartesian_impedance(pose, twist, r.q)
        return arm.joint_impedance(r.q, r.v)
