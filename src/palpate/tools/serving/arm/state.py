"""The state that a client receives once a millisecond."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.tools.serving.arm.arm import Arm
from palpate.tools.serving.arm.arm_kernels import Told
from palpate.tools.serving.arm.motion import ActiveMove, JointReference
from palpate.tools.serving.protocol import fci
from palpate.tools.serving.protocol.fci import Controller, Generator, Mode


class StateMessage:
    """The bytes of a state; compiled code writes its numbers, in double precision first.

    Attributes:
        told: what is wanted of the arm, its thresholds, and the collisions since the last reset.
        errors, reason: the maker's errors, now and those that ended the last motion.
    """

    def __init__(self, arm: Arm) -> None:
        self.told, self._arm = told, _ = Told(), arm
        self._wanted = told.q, told.v, told.a, told.tau, told.pose, told.twist, told.acceleration
        self._state = np.zeros(1, fci.STATE)
        self._sent, self._numbers = fci.numbers_of(self._state), np.zeros(fci.FLOAT_COUNT)
        self.errors, self.reason = self._state["errors"][0], self._state["reflex_reason"][0]
        self.describe_settings()

    def describe_settings(self) -> None:
        """Write what changes only when a client sets it: frames, end effector, load."""
        arm, end, (mass, com, tensor) = self._arm, self._arm.model.end_effector, self._arm.load
        for name, X in (
            ("F_T_EE", arm.X_FE),
            ("EE_T_K", arm.state.X_EK),
            ("F_T_NE", arm.X_FN),
            ("NE_T_EE", arm.state.X_NE),
        ):
            self._put(name, X.T.ravel())
        for name, values in (
            ("m_ee", [end.mass]), ("F_x_Cee", end.com), ("I_ee", end.tensor.ravel()),
            ("m_load", [mass]), ("F_x_Cload", com), ("I_load", tensor.ravel()),
            ("O_ddP_O", arm.state.gravity_vector),
        ):  # fmt: skip
            self._put(name, np.asarray(values))

    def _put(self, name: str, values: Array) -> None:
        start = fci.FLOATS[name]
        self._numbers[start : start + len(values)] = values

    def want(self, motion: ActiveMove | None, hold: JointReference | None, torque: Array) -> None:
        """Write the desired values: of a motion, or of an arm that holds its posture; the torque is without gravity."""
        arm, (q, v, a, tau, pose, twist, acceleration) = self._arm, self._wanted
        reference = hold if motion is None else motion.reference if motion.moves_joints else None
        q[:] = arm.q if reference is None else reference.q
        v[:] = arm.v if reference is None else reference.v
        a[:] = 0.0 if reference is None else reference.a
        tau[:] = torque
        pose[:] = arm.O_T_EE if motion is None or not motion.moves_joints else motion.pose
        twist[:] = 0.0 if motion is None else motion.twist
        acceleration[:] = 0.0 if motion is None else motion.acceleration

    def message(self, number: int, mode: Mode, motion: ActiveMove | None, success: float) -> bytes:
        """The state as the protocol has it."""
        s = self._state
        self._arm.tell(self.told, self._numbers)
        self._sent[:] = self._numbers
        s["message_id"], s["robot_mode"], s["control_command_success_rate"] = number, mode, success
        s["motion_generator_mode"] = Generator.IDLE if motion is None else motion.generator
        s["controller_mode"] = Controller.OTHER if motion is None else motion.controller
        return s.tobytes()
