"""One client at the robot, as the law of a run: states out, commands in, torques to the joints, once per tick."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.law import BoundLaw, PythonLaw, Shown
from palpate.engine.records import Record
from palpate.robot.robot import Robot
from palpate.serving import fci
from palpate.serving.arm import FASTEST, Arm, FrankaModel
from palpate.serving.fci import Command, Controller, Generator, Mode, MoveStatus
from palpate.serving.link import ClientConnection
from palpate.serving.motion import FARTHEST, ActiveMove, JointReference, Limits, Thresholds, pose_from

TERMS = ("client", "robot", "gravity")
GRACE = 1.0  # s of a motion before its first command is missed
PATIENCE = 0.25  # s that the world waits for a command, where it waits
_COMMAND_SHARE = 0.8  # of a tick that a command may take
_WINDOW = 100  # commands of the success rate
_ELBOW = -0.467002423653011  # rad: where the elbow changes its sign
_CHECK_EVERY = 64  # ticks between two checks for others who want to connect


class ConnectionChannels(Record):
    """What the trace records of a connection."""

    mode: float = 1.0
    lost: float = 0.0
    success: float = 0.0
    late: float = 0.0
    error: float = 0.0
    gone: float = 0.0


SHOWN = (
    Shown("robot_mode", "mode", help="1 idle, 2 in motion, 4 stopped by a reflex"),
    Shown("packets_lost", "lost", help="commands that did not arrive in time, so far"),
    Shown("success_rate", "success", help="share of the last 100 commands that arrived"),
    Shown("ticks_late", "late", help="number of ticks so far that began late"),
    Shown("error", "error", help="0, or 1 + the number of the maker's error that stopped the motion"),
    Shown("gone", "gone", help="1 once the client is gone"),
)


@dataclass
class Pace:
    """When ticks are due.

    Attributes:
        factor: simulated over real time.
        waits: whether the world waits for the client's commands instead of counting them as lost.
        late: ticks that began more than one period after they were due; the schedule then starts anew.
        slipped: s of real time lost by them.
    """

    period: float
    factor: float = 1.0
    waits: bool = False
    late: int = 0
    slipped: float = 0.0
    _due: float = 0.0

    @property
    def step(self) -> float:
        """s of real time for a tick."""
        return self.period / self.factor

    def begin(self) -> float:
        """Wait until the next tick is due, and return until when its command may arrive."""
        now = time.monotonic()
        self._due = self._due + self.step if self._due else now
        if now < self._due:
            time.sleep(self._due - now)
        elif now - self._due > self.step:
            self.late += not self.waits
            self.slipped += now - self._due
            self._due = now
        return self._due + _COMMAND_SHARE * self.step


# Bounds of settings, far beyond any machine's: what lies outside is refused as the robot refuses a bad argument.
STIFFEST = 1e6  # N·m/rad, N/m
HEAVIEST = 100.0  # kg
BULKIEST = 100.0  # kg·m²


def _stiffness(numbers: Array) -> Array | None:
    return numbers if np.isfinite(numbers).all() and ((numbers >= 0.0) & (numbers <= STIFFEST)).all() else None


def _load(numbers: Array) -> tuple[float, Array, Array] | None:
    """Mass, centre of mass and inertia tensor; None where no body has these."""
    mass, com, tensor = float(numbers[0]), numbers[1:4], numbers[4:].reshape(3, 3).T
    if not np.isfinite(numbers).all() or not 0.0 <= mass <= HEAVIEST:
        return None
    if np.abs(com).max() > FARTHEST or np.abs(tensor).max() > BULKIEST or np.abs(tensor - tensor.T).max() > 1e-6:
        return None
    return (mass, com, tensor) if np.linalg.eigvalsh(tensor)[0] >= -1e-9 else None


# Requests that change an attribute of the arm, and what reads its value; None where the numbers are not good.
_SETTINGS: dict[Command, tuple[str, Callable[[Array], Any]]] = {
    Command.SET_JOINT_IMPEDANCE: ("joint_stiffness", _stiffness),
    Command.SET_CARTESIAN_IMPEDANCE: ("cartesian_stiffness", _stiffness),
    Command.SET_EE_TO_K: ("EE_T_K", pose_from),
    Command.SET_NE_TO_EE: ("NE_T_EE", pose_from),
    Command.SET_LOAD: ("load", _load),
}


class ClientSession:
    """The robot towards one client."""

    def __init__(self, link: ClientConnection, robot: Robot, model: FrankaModel, rotor: Array, pace: Pace) -> None:
        self.link, self.pace, self.recorded = link, pace, ConnectionChannels()
        self.motions = self.received = 0  # what the client began, and how many of its commands came in time
        self.arm, self.limits = Arm(robot, model, rotor, pace.period), Limits(robot, pace.period)
        self.thresholds, self.mode = Thresholds(), Mode.IDLE
        self.errors, self.reason = np.zeros(len(fci.ERRORS), bool), np.zeros(len(fci.ERRORS), bool)
        self.motion: ActiveMove | None = None
        self.stops: list[str] = []
        self.lost = np.zeros(0, bool)
        self.refuse_others: Callable[[], None] = lambda: None
        self._answers: list[bytes] = []
        self._arrived: deque[bool] = deque(maxlen=_WINDOW)
        self._state = np.zeros(1, fci.STATE)
        self._arrays = {name: self._state[name][0] for name in fci.STATE.names or () if fci.STATE[name].shape}
        self._hold: JointReference | None = None
        self._number, self._t = 0, 0.0

    def decide(self, tick: Any, gains: Any, memory: Any) -> dict[str, Array]:
        """One tick: send the client the state, receive its command, and give the joints their torques."""
        if self._number == 0:
            self._hold = JointReference(tick.q.copy())
            self.link.accept()
        until = self.pace.begin()
        self._number, self._t = self._number + 1, tick.t
        if self._number % _CHECK_EVERY == 0:
            self.refuse_others()
        self.arm.observe(tick)
        self._answer_all()
        self._check_limits()
        self._send_state(tick)
        if self.motion is not None:
            self._receive(self.motion, until)
        client, own = self._joint_torques()
        self._record_status()
        return {"client": client, "robot": own, "gravity": self.arm.gravity.copy()}

    # ------------------------------------------------------------------------------------------ requests

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
            self.errors[:] = False
            self.mode = Mode.IDLE if self.mode == Mode.REFLEX else self.mode
        elif self.motion is not None:
            status = fci.NOT_POSSIBLE
        elif not self._set(command, request.fields):
            status = fci.INVALID_ARGUMENT
        self.link.send(fci.answer(command, request.number, status, more))

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
        return MoveStatus.STARTED

    def _set(self, command: Command, fields: tuple[float, ...]) -> bool:
        """Change a setting of the robot; False where the numbers are not good. The guiding mode changes nothing."""
        if command == Command.SET_COLLISION_BEHAVIOR:
            return self.thresholds.set(fields)
        if command in _SETTINGS:
            name, read = _SETTINGS[command]
            value = read(np.array(fields))
            if value is None:
                return False
            setattr(self.arm, name, value)
        return True

    # ------------------------------------------------------------------------------------------ motions

    def _check_limits(self) -> None:
        """Stop a motion whose measured state leaves the limits, or that touches too hard."""
        if self.motion is None:
            return
        arm = self.arm
        error = self.limits.measured(arm.q, arm.v) or self.thresholds.reflex(arm.external, arm.wrench)
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
        self._arrived.append(False)
        return motion.miss(self.arm, self.limits)

    def _follow(self, motion: ActiveMove, command: np.ndarray) -> str | None:
        self._arrived.append(True)
        self.received += 1
        if not all(np.isfinite(command[name]).all() for name in ("q_c", "dq_c", "O_T_EE_c", "O_dP_EE_c", "tau_J_d")):
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
        assert self._hold is not None
        self._hold.brake(self.limits.joints.acceleration, self.pace.period)
        return nothing, self.arm.joint_impedance(self._hold.q, self._hold.v)

    # ------------------------------------------------------------------------------------------ state and status

    def _send_state(self, tick: Any) -> None:
        """The state as the protocol has it, then the answers that belong after it."""
        s, p, arm, motion = self._state, self._arrays, self.arm, self.motion
        s["message_id"] = self._number
        p["q"][:], p["dq"][:], p["theta"][:], p["dtheta"][:] = arm.q, arm.v, arm.q, arm.v
        p["dtau_J"][:] = (tick.tau - p["tau_J"]) / self.pace.period if self._number > 1 else 0.0
        p["tau_J"][:] = tick.tau
        p["tau_J_d"][:] = motion.torque if motion is not None else 0.0
        reference = self._hold if motion is None else motion.reference if motion.moves_joints else None
        p["q_d"][:] = arm.q if reference is None else reference.q
        p["dq_d"][:] = arm.v if reference is None else reference.v
        p["ddq_d"][:] = 0.0 if reference is None else reference.a
        self._fill_tool(p, motion)
        p["elbow"][:] = arm.q[2], 1.0 if arm.q[3] > _ELBOW else -1.0
        p["elbow_d"][:] = p["elbow_c"][:] = p["q_d"][2], p["elbow"][1]
        p["tau_ext_hat_filtered"][:] = arm.external
        p["joint_contact"][:] = np.abs(arm.external) > self.thresholds.lower_torque
        p["joint_collision"][:] = np.abs(arm.external) > self.thresholds.upper_torque
        p["cartesian_contact"][:] = np.abs(arm.wrench) > self.thresholds.lower_force
        p["cartesian_collision"][:] = np.abs(arm.wrench) > self.thresholds.upper_force
        s["motion_generator_mode"] = Generator.IDLE if motion is None else motion.generator
        s["controller_mode"] = Controller.OTHER if motion is None else motion.controller
        p["errors"][:], p["reflex_reason"][:] = self.errors, self.reason
        s["robot_mode"], s["control_command_success_rate"] = self.mode, self._success_rate()
        self.link.send_state(s.tobytes())
        for message in self._answers:
            self.link.send(message)
        self._answers.clear()

    def _fill_tool(self, p: dict[str, Any], motion: ActiveMove | None) -> None:
        arm = self.arm
        p["O_T_EE"][:] = arm.O_T_EE.T.ravel()
        pose = arm.O_T_EE if motion is None or not motion.moves_joints else motion.pose
        p["O_T_EE_d"][:] = p["O_T_EE_c"][:] = pose.T.ravel()
        p["O_dP_EE_d"][:] = p["O_dP_EE_c"][:] = 0.0 if motion is None else motion.twist
        p["O_ddP_EE_c"][:] = 0.0 if motion is None else motion.acceleration
        R = arm.O_T_EE[:3, :3] @ arm.EE_T_K[:3, :3]
        p["O_F_ext_hat_K"][:] = arm.wrench
        p["K_F_ext_hat_K"][:] = np.concatenate([R.T @ arm.wrench[:3], R.T @ arm.wrench[3:]])
        p["O_ddP_O"][:] = arm.gravity_vector
        if self._number > 1 and motion is not None:
            return  # the rest changes between motions only
        for name, pose in (
            ("F_T_EE", arm.X_FE),
            ("EE_T_K", arm.EE_T_K),
            ("F_T_NE", arm.X_FN),
            ("NE_T_EE", arm.NE_T_EE),
        ):
            p[name][:] = pose.T.ravel()
        end, (mass, com, tensor) = arm.model.end_effector, arm.load
        self._state["m_ee"], p["F_x_Cee"][:], p["I_ee"][:] = end.mass, end.com, end.tensor.ravel()
        self._state["m_load"], p["F_x_Cload"][:], p["I_load"][:] = mass, com, tensor.ravel()

    def _success_rate(self) -> float:
        return sum(self._arrived) / len(self._arrived) if self.motion is not None and self._arrived else 0.0

    def _record_status(self) -> None:
        status = self.recorded
        status.mode, status.late = float(self.mode), float(self.pace.late)
        status.success, status.gone = self._success_rate(), 0.0 if self.link.alive else 1.0

    def remarks(self, memory: Any) -> list[str]:
        """What happened, for the report."""
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
            shown=SHOWN,
            remarks=session.remarks,
            alarms=lambda memory: session.stops,
            ending="gone",
            ended=lambda memory: session.link.gone,
        )
