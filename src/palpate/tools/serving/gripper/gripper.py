"""A two-finger gripper behind its own port, as Franka's hand has it: version 3 of the maker's gripper protocol.

Requests and answers travel over TCP, port 1338: a header (command, number, size of the whole message), then fields
without padding, little-endian; states go to the client over UDP.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass
from enum import IntEnum

from palpate.errors import InvalidInput
from palpate.tools.serving.gripper.fingers import MAX_WIDTH, STEP, Fingers
from palpate.tools.serving.protocol.link import close_at_once

PORT, VERSION = 1338, 3
STRONGEST = 140.0  # N, the hand's greatest force
TEMPERATURE = 25  # °C
_HEADER = struct.Struct("<HII")
_STATE = struct.Struct("<Idd?H")
_EVERY = 0.01  # s of real time between two states
_LONGEST_REQUEST = 64  # bytes


class Command(IntEnum):
    """Requests of a client."""

    CONNECT = 0
    HOMING = 1
    GRASP = 2
    MOVE = 3
    STOP = 4


_FIELDS = {
    Command.CONNECT: struct.Struct("<HH"),
    Command.HOMING: struct.Struct("<"),
    Command.GRASP: struct.Struct("<5d"),
    Command.MOVE: struct.Struct("<2d"),
    Command.STOP: struct.Struct("<"),
}


class Status(IntEnum):
    """How a command ended."""

    SUCCESS = 0
    FAIL = 1
    UNSUCCESSFUL = 2
    ABORTED = 3


_INCOMPATIBLE = 1  # of Connect


def state_message(number: int, fingers: Fingers) -> bytes:
    """A state as the protocol has it."""
    return _STATE.pack(number, fingers.width, MAX_WIDTH, fingers.grasped, TEMPERATURE)


def answer(command: int, number: int, status: int, more: bytes = b"") -> bytes:
    """The answer to a request."""
    return _HEADER.pack(command, number, _HEADER.size + 2 + len(more)) + struct.pack("<H", status) + more


@dataclass
class _Running:
    command: Command
    number: int


class GripperSession:
    """The gripper towards one client."""

    def __init__(self, fingers: Fingers) -> None:
        self.fingers = fingers
        self._running: _Running | None = None
        self._buffer = bytearray()

    def take(self, data: bytes) -> list[bytes]:
        """Obey requests; the answers that can be given at once.

        Raises:
            InvalidInput: this is no request of the protocol.
        """
        self._buffer += data
        answers: list[bytes] = []
        while len(self._buffer) >= _HEADER.size:
            code, number, size = _HEADER.unpack_from(self._buffer)
            if code not in Command.__members__.values() or size != _HEADER.size + _FIELDS[Command(code)].size:
                raise InvalidInput(f"it does not speak the gripper's protocol: command {code} of {size} bytes")
            if len(self._buffer) < size:
                break
            fields = _FIELDS[Command(code)].unpack_from(self._buffer, _HEADER.size)
            del self._buffer[:size]
            answers += self._obey(Command(code), number, fields)
        return answers

    def _obey(self, command: Command, number: int, fields: tuple[float, ...]) -> list[bytes]:
        aborted = self._abort()
        if command == Command.STOP:
            self.fingers.stop()
            return [*aborted, answer(command, number, Status.SUCCESS)]
        if not self._begin(command, fields):
            return [*aborted, answer(command, number, Status.FAIL)]
        self._running = _Running(command, number)
        return aborted

    def _begin(self, command: Command, fields: tuple[float, ...]) -> bool:
        """Begin a motion; False where its numbers are not good."""
        if command == Command.HOMING:
            self.fingers.move(MAX_WIDTH, 0.05)
            return True
        width, *rest = fields
        speed = rest[-2] if command == Command.GRASP else rest[0]
        if not 0.0 <= width <= MAX_WIDTH or not 0.0 < speed < float("inf"):
            return False
        if command == Command.MOVE:
            self.fingers.move(width, speed)
            return True
        inner, outer, _, force = rest
        if not (inner >= 0.0 and outer >= 0.0 and 0.0 < force <= STRONGEST):
            return False
        self.fingers.grasp(width, speed, force, (inner, outer))
        return True

    def _abort(self) -> list[bytes]:
        running, self._running = self._running, None
        return [] if running is None else [answer(running.command, running.number, Status.ABORTED)]

    def step(self) -> list[bytes]:
        """One step of the fingers; the answer to a command that has ended with it."""
        self.fingers.step()
        running = self._running
        if running is None or self.fingers.succeeded is None:
            return []
        self._running = None
        status = Status.SUCCESS if self.fingers.succeeded else Status.UNSUCCESSFUL
        return [answer(running.command, running.number, status)]


class GripperServer:
    """Listens beside the robot, and moves the fingers in a thread of its own, in real time.

    Args:
        fingers: the gripper; clients find it as the last one left it.
        host, port: where to listen.
        pace: simulated over real time.
    """

    def __init__(self, fingers: Fingers, host: str, port: int = PORT, pace: float = 1.0) -> None:
        self.fingers, self._pace, self._over = fingers, pace, threading.Event()
        try:
            self._socket = socket.create_server((host, port), backlog=1)
        except OSError as error:
            raise InvalidInput(f"cannot listen on {host}:{port} for the gripper ({error.strerror})") from None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> GripperServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        self._socket.settimeout(0.1)
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError, OSError):
                connection, peer = self._socket.accept()
                with contextlib.suppress(InvalidInput, OSError):
                    self._serve_one(connection, peer[0])
                close_at_once(connection)

    def _serve_one(self, connection: socket.socket, peer: str) -> None:
        """One client until it leaves; a second one is sent away."""
        port = _handshake(connection)
        session, number, due = GripperSession(self.fingers), 0, time.monotonic()
        connection.setblocking(False)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as states:
            states.bind((connection.getsockname()[0], 0))
            while not self._over.is_set():
                due += _EVERY
                readable = select.select([connection], [], [], max(due - time.monotonic(), 0.0))[0]
                answers: list[bytes] = []
                if readable:
                    data = connection.recv(_LONGEST_REQUEST)
                    if not data:
                        return
                    answers = session.take(data)
                    due -= _EVERY
                else:
                    for _ in range(round(self._pace * _EVERY / STEP)):
                        answers += session.step()
                    number += round(1e3 * self._pace * _EVERY)
                    states.sendto(state_message(number, self.fingers), (peer, port))
                for message in answers:
                    connection.sendall(message)


def _handshake(connection: socket.socket) -> int:
    """The port that wants the states.

    Raises:
        InvalidInput: it says something else, or speaks another version.
    """
    connection.settimeout(2.0)
    size = _HEADER.size + _FIELDS[Command.CONNECT].size
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) != size:
        raise InvalidInput("it did not ask to connect")
    command, number, announced = _HEADER.unpack_from(data)
    version, port = _FIELDS[Command.CONNECT].unpack_from(data, _HEADER.size)
    if (command, announced) != (Command.CONNECT, size):
        raise InvalidInput("it does not speak the gripper's protocol")
    status = Status.SUCCESS if version == VERSION else _INCOMPATIBLE
    connection.sendall(answer(command, number, status, struct.pack("<H", VERSION)))
    if version != VERSION:
        raise InvalidInput(f"it speaks version {version} of the gripper's protocol, and this is version {VERSION}")
    return port
