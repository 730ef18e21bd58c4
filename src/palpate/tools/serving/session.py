"""One client at the robot, as the law of a run: states out, commands in, torques to the joints, once per tick."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.bound_law import BoundLaw
from palpate.control.python_law import PythonLaw
from palpate.control.shown import Shown
from palpate.engine.records import Record
from palpate.robot.robot import Robot
from palpate.tools.serving.arm import limits
from palpate.tools.serving.arm.arm import FASTEST, Arm
from palpate.tools.serving.arm.franka import FrankaModel
from palpate.tools.serving.arm.guiding import Guiding
from palpate.tools.serving.arm.limits import Limits, Thresholds
from palpate.tools.serving.arm.motion import ActiveMove, JointReference
from palpate.tools.serving.arm.state import StateMessage
from palpate.tools.serving.buttons import Button, Buttons
from palpate.tools.serving.gripper.fingers import Fingers
from palpate.tools.serving.pace import Pace
from palpate.tools.serving.protocol import fci
from palpate.tools.serving.protocol.fci import Command, Controller, Generator, Mode, MoveStatus
from palpate.tools.serving.protocol.link import ClientConnection

TERMS = ("client", "robot", "gravity")
GRACE = 1.0  # s of a motion before its first command is missed
PATIENCE = 0.25  # s that the world waits for a command, where it waits
_WINDOW = 100  # commands of the success rate
_CHECK_EVERY = 16  # ticks between two looks at who else wants to connect, and at the buttons


class ConnectionChannels(Record):
    """Channels of the trace about a connection."""

    mode: float = 1.0
    lost: float = 0.0
    success: float = 0.0
    late: float = 0.0
    error: float = 0.0
    gone: float = 0.0
    opening: float = 0.0
    grip: float = 0.0


SHOWN = (
    Shown("robot_mode", "mode", help="1 idle, 2 in motion, 3 guided, 4 stopped by a reflex, 5 by the user"),
    Shown("packets_lost", "lost", help="commands that did not arrive in time, so far"),
    Shown("success_rate", "success", help="share of the last 100 commands that arrived"),
    Shown("ticks_late", "late", help="number of ticks so far that began late"),
    Shown("error", "error", help="0, or 1 + the number of the maker's error that stopped the motion"),
    Shown("gone", "gone", help="1 once the client is gone"),
)
SHOWN_GRIPPER = (
    Shown("gripper_width", "opening", unit="m", help="between the fingers"),
    Shown("gripper_force", "grip", unit="N", help="with which they press the object"),
)

# What a request sets on the arm, and what reads its numbers: None where they are not good.
_SETTINGS: dict[Command, tuple[Callable[[Array], Any], Callable[[Arm, Any], None]]] = {
    Command.SET_JOINT_IMPEDANCE: (limits.joint_stiffness_from, Arm.set_joint_stiffness),
    Command.SET_CARTESIAN_IMPEDANCE: (limits.cartesian_stiffness_from, Arm.set_cartesian_stiffness),
    Command.SET_EE_TO_K: (limits.pose_from, Arm.set_stiffness_frame),
    Command.SET_NE_TO_EE: (limits.pose_from, Arm.set_end_effector),
    Command.SET_LOAD: (limits.load_from, Arm.set_load),
}


class ClientSession:
    """The robot towards one client."""

    def __init__(self, link: ClientConnection, robot: Robot, model: FrankaModel, rotor: Array, pace: Pace) -> None:
        self.link, self.pace, self.recorded = link, pace, ConnectionChannels()
        self.motions = self.received = 0  # what the client began, and how many of its commands came in time
        self.arm, self.limits = Arm(robot, model, rotor, pace.period), Limits(robot, pace.period)
        self.thresholds, self.mode, self.buttons = Thresholds(), Mode.IDLE, Buttons()
        self.state = StateMessage(self.arm)
        self.errors, self.reason = self.state.errors, self.state.reason
        self.motion: ActiveMove | None = None
        self.fingers: Fingers | None = None
        self.guided = Guiding(self.arm)
        self.stops: list[str] = []
        self.lost = np.zeros(0, bool)
        self.refuse_others: Callable[[], None] = lambda: None
        self._answers: list[bytes] = []
        self._arrived: deque[bool] = deque(maxlen=_WINDOW)
        self._in_time = 0  # of those
        self._hold: JointReference | None = None
        self._torque = np.zeros(7)  # desired at the last tick, gravity left out
        self._number, self._t = 0, 0.0

    def decide(self, tick: Any, gains: Any, memory: Any) -> dict[str, Array]:
        """One tick: send the client the state, receive its command, and give the joints their torques."""
        if self._number == 0:
            self._hold = JointReference(tick.q.copy())
            self.link.accept()
        until = self.pace.begin()
        self._number, self._t = self._number + 1, tick.t
        self.arm.observe(tick)
        if self._number % _CHECK_EVERY == 0:
            self.refuse_others()
            self._obey_buttons()
        self._answer_all()
        self._check_limits()
        self._send_state()
        if self.motion is not None:
            self._receive(self.motion, until)
        client, own = self._joint_torques()
        self._torque = client + own
        self._record_status()
        if self.fingers is not None:
            self.fingers.tool = tick.position.copy(), tick.rotation.copy()
            self.recorded.opening, self.recorded.grip = self.fingers.width, self.fingers.force
        return {"client": client, "robot": own, "gravity": self.arm.gravity}

    def _answer_all(self) -> None:
        for request in self.link.requests():
            self._answer(request)

    def _answer(self, request: fci.Request) -> None:
        command, status, more = request.command, fci.SUCCESS, b""
        if command == Command.MOVE:
            status = self._move(request)
        elif command == Command.CONNECT:
            more = fci.SPOKEN
        elif command == Command.GET_ROBOT_MODEL:
            more = self.arm.model.urdf.encode()
        elif command == Command.STOP_MOVE:
            if self.motion is not None:
                self._end(MoveStatus.PREEMPTED)
        elif command == Command.AUTOMATIC_ERROR_RECOVERY:
            status = self._recover()
        elif self.motion is not None:
            status = fci.NOT_POSSIBLE
        elif not self._set(command, request.fields):
            status = fci.INVALID_ARGUMENT
        self.link.send(fci.answer(command, request.number, status, more))

    def _recover(self) -> int:
        """Reset errors and collisions, unless the user stop is pressed."""
        if self.mode == Mode.USER_STOPPED:
            return fci.RECOVERY_EMERGENCY_ABORTED
        self.errors[:] = False
        self.state.told.collision[:] = 0.0
        self.mode = Mode.IDLE if self.mode == Mode.REFLEX else self.mode
        return fci.SUCCESS

    def _move(self, request: fci.Request) -> MoveStatus:
        controller, generator, low_rate = int(request.fields[0]), int(request.fields[1]) + 1, request.fields[8]
        if self.mode != Mode.IDLE or self.motion is not None:
            return MoveStatus.NOT_POSSIBLE
        known = controller <= Controller.EXTERNAL and Generator.IDLE < generator <= Generator.NONE
        useless = controller != Controller.EXTERNAL and generator == Generator.NONE
        if not known or useless or low_rate:
            return MoveStatus.INVALID_ARGUMENT
        reference = JointReference((self.arm if self._hold is None else self._hold).q.copy())
        pose, _ = self.arm.pose_at(reference.q)
        self.motion = ActiveMove(request.number, Generator(generator), Controller(controller), reference, pose)
        self.mode, self.motions, self._hold = Mode.MOVE, self.motions + 1, None
        self._arrived.clear()
        self._in_time = 0
        return MoveStatus.STARTED

    def _set(self, command: Command, fields: tuple[float, ...]) -> bool:
        """Change a setting of the robot; False where the numbers are not good."""
        if command == Command.SET_COLLISION_BEHAVIOR:
            return self.thresholds.set(fields)
        if command == Command.SET_GUIDING_MODE:
            self.guided.unlock(fields)
            return True
        read, change = _SETTINGS[command]
        value = read(np.array(fields))
        if value is None:
            return False
        change(self.arm, value)
        self.state.describe_settings()
        return True

    def _obey_buttons(self) -> None:
        """Do what a person does at the robot: the user stop ends a motion; an arm without one can be guided."""
        pressed = self.buttons.pressed(self._t)
        if Button.STOP in pressed:
            if self.mode != Mode.USER_STOPPED:
                self.stops.append(f"the user stop was pressed at {self._t:.3f} s")
                if self.motion is not None:
                    self._end(MoveStatus.EMERGENCY_ABORTED)
                self._stand(Mode.USER_STOPPED)
        elif self.mode == Mode.USER_STOPPED or (self.mode == Mode.GUIDING and Button.GUIDE not in pressed):
            self._stand(Mode.IDLE)
        elif Button.GUIDE in pressed and self.mode == Mode.IDLE and self.motion is None:
            self.guided.begin()
            self.mode = Mode.GUIDING

    def _stand(self, mode: Mode) -> None:
        """Brake, and hold the posture from now on."""
        if self.mode == Mode.GUIDING or self._hold is None:
            self._hold = JointReference(self.arm.q.copy(), self.arm.v.copy())
        self.mode = mode

    def _check_limits(self) -> None:
        """Stop a motion whose measured state leaves the limits, or that touches too hard."""
        motion, arm = self.motion, self.arm
        self.thresholds.use(self.state.told, motion is not None and motion.accelerates(self.limits))
        reflex = arm.contact(self.state.told)
        if motion is None:
            return
        error = self.limits.measured(arm.q, arm.v) or reflex
        if error is not None:
            self._abort(error)

    def _receive(self, motion: ActiveMove, until: float) -> None:
        """Wait for the command to the state just sent, and follow it."""
        waits = self.pace.waits and motion.commands > 0 and motion.lost == 0
        until = time.monotonic() + PATIENCE if waits else until
        while (command := self.link.command(self._number, until)) is None and self.link.interrupted:
            self._answer_all()
            if self.motion is not motion or not self.link.alive:
                return
        motion.ticks += 1
        if self._number <= len(self.lost) and self.lost[self._number - 1]:
            command = None
        error = self._count_missed(motion) if command is None else self._follow(motion, command)
        if error is not None:
            self._abort(error)

    def _count_missed(self, motion: ActiveMove) -> str | None:
        if motion.commands == 0 and motion.ticks * self.pace.period < GRACE:
            return None
        self.recorded.lost += 1
        self._count_arrival(False)
        return motion.miss(self.arm, self.limits)

    def _follow(self, motion: ActiveMove, command: np.ndarray) -> str | None:
        self._count_arrival(True)
        self.received += 1
        if not fci.is_finite(command):
            return "communication_constraints_violation"
        if command["torque_finished"] or command["motion_finished"]:
            error = motion.finish(self.limits)
            if error is None:
                self._end(MoveStatus.SUCCESS)
            return error
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large becomes infinite, and is refused
            error = motion.follow(command, self.arm, self.limits)
        motion.commands, motion.lost = motion.commands + 1, 0
        return error

    def _abort(self, error: str) -> None:
        """Stop the motion with an error."""
        index = fci.ERRORS.index(error)
        self.errors[index] = True
        self.reason[:] = False
        self.reason[index] = True
        self.recorded.error = 1.0 + index
        self.stops.append(f"the robot stopped the motion at {self._t:.3f} s: {error}{self._details(error)}")
        self._end(MoveStatus.REFLEX_ABORTED)
        self.mode = Mode.REFLEX

    def _details(self, error: str) -> str:
        arm = self.arm
        if error == "cartesian_reflex":
            return f" ({np.linalg.norm(arm.wrench[:3]):.3g} N, {np.linalg.norm(arm.wrench[3:]):.3g} N·m at K)"
        if error == "joint_reflex":
            return f" ({np.abs(arm.external).max():.3g} N·m at joint {np.abs(arm.external).argmax() + 1})"
        if error == "communication_constraints_violation" and self.motion is not None:
            return f" ({self.motion.lost} commands in a row did not arrive in time)"
        return ""

    def _end(self, status: MoveStatus) -> None:
        motion = self.motion
        assert motion is not None
        self._answers.append(fci.answer(Command.MOVE, motion.number, status))
        moved = motion.reference if motion.moves_joints and motion.controller != Controller.EXTERNAL else None
        self._hold = JointReference(self.arm.q.copy(), self.arm.v.copy()) if moved is None else moved
        self.motion, self.mode = None, Mode.IDLE

    def _joint_torques(self) -> tuple[Array, Array]:
        """The client's torque, and that of the robot's own controllers; gravity comes beside them."""
        nothing = np.zeros(7)
        if self.motion is not None:
            torque = self.motion.torque_of(self.arm)
            return (torque, nothing) if self.motion.controller == Controller.EXTERNAL else (nothing, torque)
        if self.mode == Mode.GUIDING:
            return nothing, self.guided.torque()
        assert self._hold is not None
        self._hold.brake(self.limits.joints.acceleration, self.pace.period)
        return nothing, self.arm.joint_impedance(self._hold.q, self._hold.v)

    def _send_state(self) -> None:
        """The state as the protocol has it, then the answers that belong after it."""
        self.state.want(self.motion, self._hold, self._torque)
        self.link.send_state(self.state.message(self._number, self.mode, self.motion, self._success_rate()))
        for message in self._answers:
            self.link.send(message)
        self._answers.clear()

    def _success_rate(self) -> float:
        return self._in_time / len(self._arrived) if self.motion is not None and self._arrived else 0.0

    def _count_arrival(self, in_time: bool) -> None:
        """One more command of the last hundred."""
        if len(self._arrived) == _WINDOW:
            self._in_time -= self._arrived[0]
        self._arrived.append(in_time)
        self._in_time += in_time

    def _record_status(self) -> None:
        status = self.recorded
        status.mode, status.late = float(self.mode), float(self.pace.late)
        status.success, status.gone = self._success_rate(), 0.0 if self.link.alive else 1.0

    def remarks(self, memory: Any) -> list[str]:
        """Sentences about the connection, for the report."""
        host, port = self.link.peer
        messages = [
            f"served to a client at {host}:{port}: {self.motions} motions, {self.received} commands received,"
            f" {self.recorded.lost:.0f} lost, {self.link.late} of them late"
        ]
        if self.link.foreign:
            messages.append(f"{self.link.foreign} packets from other sockets than the client's were not obeyed")
        if self.pace.late:
            messages.append(
                f"real time was not kept: {self.pace.late} ticks began late, {self.pace.slipped:.3g} s were lost in all"
            )
        if self.arm.softened > FASTEST:
            messages.append(
                f"the robot's own controllers were softened: their stiffness would make a mode of"
                f" {self.arm.softened / self.pace.period:.0f} rad/s, and {FASTEST / self.pace.period:.0f} rad/s is the"
                " limit of this sampled loop; give the drives their rotor inertia (world.plant.rotor_inertia)"
            )
        return messages


@dataclass(frozen=True)
class ClientLaw(PythonLaw):
    """The law of a served run: τ = τ_client + g(q), or the robot's own controller in the client's place."""

    session: ClientSession | None = field(default=None, kw_only=True)

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot."""
        session = self.session
        assert session is not None
        return replace(
            super().bind(robot),
            memory=session.recorded,
            shown=SHOWN if session.fingers is None else SHOWN + SHOWN_GRIPPER,
            remarks=session.remarks,
            alarms=lambda memory: session.stops,
            ending="gone",
            ended=lambda memory: session.link.gone,
        )
