"""Message layouts of Franka's control interface (FCI), version 10: what libfranka 0.18 to 0.21 sends and expects.

Requests and answers travel over TCP, port 1337: a header (command, number, size of the whole message), then fields
without padding, little-endian. While a client is connected the robot sends its state over UDP once a millisecond; a
client in motion answers each with a command that carries the state's number.
"""

from __future__ import annotations

import math
import struct
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files

import numpy as np

from palpate.errors import NotAClient

VERSION = 10
SPOKEN = struct.pack("<H", VERSION)  # after the status of an answer to Connect
PORT = 1337
HEADER = struct.Struct("<III")
JOINTS = 7


class Command(IntEnum):
    """Requests of a client over TCP."""

    CONNECT = 0
    MOVE = 1
    STOP_MOVE = 2
    SET_COLLISION_BEHAVIOR = 3
    SET_JOINT_IMPEDANCE = 4
    SET_CARTESIAN_IMPEDANCE = 5
    SET_GUIDING_MODE = 6
    SET_EE_TO_K = 7
    SET_NE_TO_EE = 8
    SET_LOAD = 9
    AUTOMATIC_ERROR_RECOVERY = 10
    GET_ROBOT_MODEL = 11


# Bytes after the header of each request.
_FIELDS = ("HH", "II3d3d?7d", "", "28d24d", "7d", "6d", "7?", "16d", "16d", "d3d9d", "", "")
REQUESTS = {command: struct.Struct(f"<{fields}") for command, fields in zip(Command, _FIELDS)}

# First byte of an answer. 0 is success for every command.
SUCCESS = 0
INCOMPATIBLE_VERSION = 1  # of Connect
NOT_POSSIBLE, INVALID_ARGUMENT = 1, 2  # of the commands that set something
RECOVERY_EMERGENCY_ABORTED = 5  # of AutomaticErrorRecovery


class MoveStatus(IntEnum):
    """How a Move was taken or ended."""

    SUCCESS = 0
    STARTED = 1
    PREEMPTED = 2
    NOT_POSSIBLE = 5
    INVALID_ARGUMENT = 7
    REFLEX_ABORTED = 8
    EMERGENCY_ABORTED = 9
    INPUT_ERROR_ABORTED = 10


class Controller(IntEnum):
    """Controllers that turn a motion into torques: the robot's own joint or Cartesian impedance, or the client."""

    JOINT_IMPEDANCE = 0
    CARTESIAN_IMPEDANCE = 1
    EXTERNAL = 2
    OTHER = 3  # no motion


class Generator(IntEnum):
    """Kinds of command of a client; in a Move request the numbers are one less."""

    IDLE = 0
    JOINT_POSITION = 1
    JOINT_VELOCITY = 2
    CARTESIAN_POSITION = 3
    CARTESIAN_VELOCITY = 4
    NONE = 5


class Mode(IntEnum):
    """Modes of the robot."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    RECOVERY = 6


_LAYOUTS = tomllib.loads((files("palpate.tools.serving.protocol") / "fci.toml").read_text(encoding="utf-8"))
ERRORS: tuple[str, ...] = tuple(_LAYOUTS["errors"])  # the maker's names, in the order of their bits
STATE, MOTION = (np.dtype([tuple(field) for field in _LAYOUTS[name]]) for name in ("state", "motion"))
_FIRST, _NUMBER = 8, 4  # bytes before the first number of a state, and bytes of a number
# Which of the numbers of a state is the first of a field; they lie together, between its counter and its flags.
FLOATS: dict[str, int] = {
    name: (offset - _FIRST) // _NUMBER
    for name, (kind, offset, *_) in (STATE.fields or {}).items()
    if kind.base == np.dtype("<f4") and name != "control_command_success_rate"
}
FLOAT_COUNT = FLOATS["accelerometer_bottom"] + 18
_COMMAND = struct.Struct("<Q38d??7d?")
assert _COMMAND.size == MOTION.itemsize


def numbers_of(state: np.ndarray) -> np.ndarray:
    """The single-precision numbers of a state of one element, as one array."""
    return state.view(np.uint8)[_FIRST : _FIRST + _NUMBER * FLOAT_COUNT].view("<f4")


def is_finite(command: np.ndarray) -> bool:
    """Whether all numbers of a client's command are finite."""
    return all(map(math.isfinite, _COMMAND.unpack(command.tobytes())))


@dataclass(frozen=True)
class Request:
    """A request of a client: its number, what it asks for, and its fields in order."""

    command: Command
    number: int
    fields: tuple[float, ...]


def answer(command: int, number: int, status: int, more: bytes = b"") -> bytes:
    """The answer to a request: header, status, and what follows it."""
    return HEADER.pack(command, number, HEADER.size + 1 + len(more)) + bytes([status]) + more


def connected(number: int, status: int) -> bytes:
    """The answer to Connect, with the version that is spoken here."""
    return answer(Command.CONNECT, number, status, SPOKEN)


def read_request(buffer: bytearray) -> Request | None:
    """Take the next whole request off the front of what has arrived; None if it is not all there.

    Raises:
        NotAClient: no request of this protocol, in words for the person at the server.
    """
    if len(buffer) < HEADER.size:
        return None
    code, number, size = HEADER.unpack_from(buffer)
    if code not in Command.__members__.values():
        raise NotAClient(f"command {code} is not among the {len(Command)} of this protocol")
    command = Command(code)
    layout = REQUESTS[command]
    length = HEADER.size + layout.size
    if size != length:
        raise NotAClient(f"{command.name} announces {size} bytes, and has {length}")
    if len(buffer) < length:
        return None
    request = Request(command, number, layout.unpack_from(buffer, HEADER.size))
    del buffer[:length]
    return request
