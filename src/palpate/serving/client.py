"""A law of palpate as the client of an FCI server: its torques go over the socket, the robot's states come back.

palpate has never moved a real arm. The robot's own thresholds stay unless others are asked for, torques change by no
more than the interface takes, and an arm that does not stand where the run starts is refused.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import replace

import numpy as np

from palpate.checks import Array
from palpate.control.law import Target, sizes_of
from palpate.errors import InvalidInput
from palpate.run.after.finish import unfinished
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.before.checks import check_start
from palpate.run.run import Run
from palpate.serving import fci
from palpate.serving.fci import Command, Controller, Generator, Mode, MoveStatus
from palpate.serving.franka import franka_model
from palpate.serving.limits import TORQUE_RATE
from palpate.spatial import rotate_axes
from palpate.trace import Outcome, Trace
from palpate.trace.outcome import OutcomeKind

_TIMEOUT = 2.0  # s for an answer or a state
_START_TOLERANCE = 0.02  # rad between the robot and the start of the run
_DEVIATION = (10.0, 3.12, 2.0 * np.pi)  # m, rad, rad: libfranka's own
_MOST_BYTES = 10_000_000  # of an answer


class Remote:
    """A connection to a robot that speaks FCI.

    Raises:
        InvalidInput: nobody listens there, or it speaks another version.
    """

    def __init__(self, host: str, port: int = fci.PORT) -> None:
        self._number = 0
        try:
            self._tcp = socket.create_connection((host, port), timeout=_TIMEOUT)
        except OSError as error:
            raise InvalidInput(
                f"no robot answers at {host}:{port} ({error})", hint="palpate serve SCENARIO starts one"
            ) from None
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind((self._tcp.getsockname()[0], 0))
        self._udp.settimeout(_TIMEOUT)
        status, more = self.ask(Command.CONNECT, fci.VERSION, self._udp.getsockname()[1])
        if status != fci.SUCCESS:
            self.close()
            version = struct.unpack("<H", more)[0] if len(more) == 2 else "another"
            raise InvalidInput(f"the robot speaks version {version} of FCI; palpate speaks version {fci.VERSION}")

    def ask(self, command: Command, *fields: float) -> tuple[int, bytes]:
        """Send a request; the status of its answer, and what follows it."""
        self._number += 1
        layout = fci.REQUESTS[command]
        head = fci.HEADER.pack(command, self._number, fci.HEADER.size + layout.size)
        self._tcp.sendall(head + layout.pack(*fields))
        _, _, size = fci.HEADER.unpack(self._receive(fci.HEADER.size))
        body = self._receive(min(max(size - fci.HEADER.size, 1), _MOST_BYTES))
        return body[0], body[1:]

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._tcp.recv(size - len(data))
            if not part:
                raise InvalidInput("the robot closed the connection")
            data += part
        return data

    def state(self) -> np.void:
        """The next state of the robot."""
        data, self._robot = self._udp.recvfrom(4096)
        if len(data) != fci.STATE.itemsize:
            raise InvalidInput(f"the robot sent a state of {len(data)} bytes; expected {fci.STATE.itemsize} bytes")
        return np.frombuffer(data, fci.STATE)[0]

    def send(self, number: int, torque: Array, finished: bool) -> None:
        """Answer a state with a torque, gravity left out."""
        command = np.zeros(1, fci.MOTION)
        command["message_id"], command["tau_J_d"], command["torque_finished"] = number, torque, finished
        self._udp.sendto(command.tobytes(), self._robot)

    def close(self) -> None:
        """Close both sockets."""
        self._udp.close()
        self._tcp.close()


class Driving:
    """A run whose plant is a robot elsewhere.

    Args:
        run: the robot as the law knows it, law, reference, clock and start; of its world nothing is used.
    """

    def __init__(self, run: Run) -> None:
        self._assembly: Assembly = assemble(run)
        self._run, self._law = self._assembly.run, self._assembly.law
        if self._law.command not in ("torque", "acceleration"):
            raise InvalidInput(
                f"the law {self._law.name!r} commands a {self._law.command}; only torques are sent to a robot"
            )
        if self._assembly.loop.wanted.kind != 0:
            raise InvalidInput("a robot can be driven only with wrench_axes = 'world'")
        self._axes = franka_model(self._run.robot).X_WO.rotation
        self._rows: list[dict[str, Array]] = []  # what was measured and commanded, by channel, tick by tick

    def go(self, remote: Remote) -> Trace:
        """Drive the robot through the run; what was measured and commanded.

        Raises:
            InvalidInput: the robot stands elsewhere, or refuses to move.
        """
        state = remote.state()
        off = np.abs(state["q"] - self._run.start()[0])
        if off.max() > _START_TOLERANCE:
            raise InvalidInput(
                f"the robot does not stand where the run starts: joint {off.argmax() + 1} is {off.max():.3g} rad off",
                hint=f"move it there first, or set robot.start.q = {np.round(state['q'], 4).tolist()}",
            )
        modes = Controller.EXTERNAL, Generator.NONE - 1
        status, _ = remote.ask(Command.MOVE, *modes, *_DEVIATION, *_DEVIATION, False, *[0.0] * 7)
        if status != MoveStatus.STARTED:
            mode = Mode(int(state["robot_mode"])).name
            raise InvalidInput(f"the robot refuses to move (status {status}, mode {mode})")
        while state["robot_mode"] == Mode.IDLE:
            state = remote.state()
        return self._trace(*self._ticks(remote))

    def _ticks(self, remote: Remote) -> tuple[OutcomeKind, str]:
        """All control ticks; kind and reason of the outcome."""
        state, run, T = remote.state(), self._run, self._run.clock.control_period
        count = run.clock.steps // run.clock.ratio
        rows = np.asarray(run.reference.sample(np.arange(count) * T, run.robot, run.start()[0]))
        row, last = rows[0].copy(), np.zeros(run.robot.nv)
        target = Target.over(row, sizes_of(run.robot))
        for k in range(count):
            if state["robot_mode"] != Mode.MOVE:
                names = [name for name, on in zip(fci.ERRORS, state["reflex_reason"]) if on]
                return "stopped", f"the robot stopped the motion: {', '.join(names) or 'no reason given'}"
            row[:] = rows[k]
            last = self._tick(state, target, last, k * T)
            remote.send(int(state["message_id"]), last, k == count - 1)
            state = remote.state()
        return "completed", f"finished after {run.clock.duration:g} s"

    def _tick(self, state: np.void, target: Target, last: Array, t: float) -> Array:
        """The law's torque without gravity, no farther from the last than the interface takes."""
        robot, T = self._run.robot, self._run.clock.control_period
        q, v, tau = (state[name].astype(float) for name in ("q", "dq", "tau_J"))
        wrench = -rotate_axes(self._axes, state["O_F_ext_hat_K"].astype(float))
        decision = self._law.tick(robot, q, v, target=target, wrench=wrench, tau=tau, t=t, dt=T)
        terms, torque = robot.terms(q, v), decision.command
        if decision.kind == "acceleration":
            torque = terms.M @ torque + terms.bias
        wanted = {f"target_{name}": getattr(target, name).copy() for name in ("q", "position", "wrench")}
        named = {f"tau.{name}": value for name, value in decision.terms.items()}
        measured = {"q": q, "v": v, "q_measured": q, "v_measured": v, "tau": tau, "measured_wrench": wrench}
        self._rows.append(measured | wanted | named | {"command": decision.command, "tool_position": terms.position})
        most = 0.999 * TORQUE_RATE * T
        return last + np.clip(torque - terms.gravity - last, -most, most)

    def _trace(self, kind: OutcomeKind, reason: str) -> Trace:
        assembly, T = self._assembly, self._run.clock.control_period
        rows, count = self._rows, len(self._rows)
        known = [channel for channel in assembly.layout.channels if rows and channel.name in rows[0]]
        data = {channel: np.array([row[channel.name] for row in rows]) for channel in known}
        facts = replace(
            unfinished(assembly, check_start(assembly, predict=False)).facts,
            warnings=() if kind == "completed" else (reason,),
            remarks=("driven over FCI: forces are those that the robot estimates",),
            assumptions=(),
            stride=assembly.run.clock.ratio,
            physics="fci",
        )
        return Trace(np.arange(count) * T, data, Outcome(kind, reason, count * T, count), (), facts)


def drive(run: Run, host: str, *, collision: float | None = None) -> Trace:
    """Let a run's law drive the robot at an address; see `Driving`.

    Args:
        run: what to do.
        host: the robot's address.
        collision: from which force on the robot stops, N (and N·m); as the robot has it if not given.

    Raises:
        InvalidInput: there is no robot, it stands elsewhere, it refuses, or stops answering.
    """
    driving, remote = Driving(run), Remote(host)
    try:
        if collision is not None and remote.ask(Command.SET_COLLISION_BEHAVIOR, *[collision] * 52)[0] != fci.SUCCESS:
            raise InvalidInput(f"the robot refuses a collision threshold of {collision:g} N")
        return driving.go(remote)
    except OSError as error:
        raise InvalidInput(f"the robot at {host} stopped answering ({error})") from None
    finally:
        remote.close()
