"""Message layouts of Franka's control interface (FCI), version 10: what libfranka 0.18 to 0.21 sends and expects.

Requests and answers travel over TCP, port 1337: a header (command, number, size of the whole message), then fields
without padding, little-endian. While a client is connected the robot sends its state over UDP once a millisecond; a
client in motion answers each with a command that carries the state's number.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from palpate.errors import NotAClient

VERSION = 10
PORT = 1337
HEADER = struct.Struct("<III")
JOINTS = 7


class Command(IntEnum):
    """What a client asks for over TCP."""

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
_LAYOUTS = ("HH", "II3d3d?7d", "", "28d24d", "7d", "6d", "7?", "16d", "16d", "d3d9d", "", "")
REQUESTS = {command: struct.Struct(f"<{layout}") for command, layout in zip(Command, _LAYOUTS)}

# First byte of an answer. 0 is success for every command.
SUCCESS = 0
INCOMPATIBLE_VERSION = 1  # of Connect
NOT_POSSIBLE, INVALID_ARGUMENT = 1, 2  # of the commands that set something


class MoveStatus(IntEnum):
    """How a Move was taken or ended."""

    SUCCESS = 0
    STARTED = 1
    PREEMPTED = 2
    NOT_POSSIBLE = 5
    INVALID_ARGUMENT = 7
    REFLEX_ABORTED = 8
    INPUT_ERROR_ABORTED = 10


class Controller(IntEnum):
    """What turns a motion into torques: the robot's own joint or Cartesian impedance, or the client."""

    JOINT_IMPEDANCE = 0
    CARTESIAN_IMPEDANCE = 1
    EXTERNAL = 2
    OTHER = 3  # no motion


class Generator(IntEnum):
    """What the client commands; in a Move request the numbers are one less."""

    IDLE = 0
    JOINT_POSITION = 1
    JOINT_VELOCITY = 2
    CARTESIAN_POSITION = 3
    CARTESIAN_VELOCITY = 4
    NONE = 5


class Mode(IntEnum):
    """What the robot is doing."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    RECOVERY = 6


# The maker's names of errors, in the order of their bits.
ERRORS = (
    "joint_position_limits_violation",
    "cartesian_position_limits_violation",
    "self_collision_avoidance_violation",
    "joint_velocity_violation",
    "cartesian_velocity_violation",
    "force_control_safety_violation",
    "joint_reflex",
    "cartesian_reflex",
    "max_goal_pose_deviation_violation",
    "max_path_pose_deviation_violation",
    "cartesian_velocity_profile_safety_violation",
    "joint_position_motion_generator_start_pose_invalid",
    "joint_motion_generator_position_limits_violation",
    "joint_motion_generator_velocity_limits_violation",
    "joint_motion_generator_velocity_discontinuity",
    "joint_motion_generator_acceleration_discontinuity",
    "cartesian_position_motion_generator_start_pose_invalid",
    "cartesian_motion_generator_elbow_limit_violation",
    "cartesian_motion_generator_velocity_limits_violation",
    "cartesian_motion_generator_velocity_discontinuity",
    "cartesian_motion_generator_acceleration_discontinuity",
    "cartesian_motion_generator_elbow_sign_inconsistent",
    "cartesian_motion_generator_start_elbow_invalid",
    "force_controller_desired_force_tolerance_violation",
    "start_elbow_sign_inconsistent",
    "communication_constraints_violation",
    "power_limit_violation",
    "cartesian_motion_generator_joint_position_limits_violation",
    "cartesian_motion_generator_joint_velocity_limits_violation",
    "cartesian_motion_generator_joint_velocity_discontinuity",
    "cartesian_motion_generator_joint_acceleration_discontinuity",
    "cartesian_position_motion_generator_invalid_frame",
    "controller_torque_discontinuity",
    "joint_p2p_insufficient_torque_for_planning",
    "tau_j_range_violation",
    "instability_detected",
    "joint_move_in_wrong_direction",
    "cartesian_spline_motion_generator_violation",
    "joint_via_motion_generator_planning_joint_limit_violation",
    "base_acceleration_initialization_timeout",
    "base_acceleration_invalid_reading",
)

_FLOATS = "<f4"
STATE = np.dtype(
    [
        ("message_id", "<u8"),
        *((name, _FLOATS, (16,)) for name in ("O_T_EE", "O_T_EE_d", "F_T_EE", "EE_T_K", "F_T_NE", "NE_T_EE")),
        ("m_ee", _FLOATS), ("I_ee", _FLOATS, (9,)), ("F_x_Cee", _FLOATS, (3,)),
        ("m_load", _FLOATS), ("I_load", _FLOATS, (9,)), ("F_x_Cload", _FLOATS, (3,)),
        ("elbow", _FLOATS, (2,)), ("elbow_d", _FLOATS, (2,)),
        *((name, _FLOATS, (7,)) for name in ("tau_J", "tau_J_d", "dtau_J", "q", "q_d", "dq", "dq_d", "ddq_d")),
        ("joint_contact", _FLOATS, (7,)), ("cartesian_contact", _FLOATS, (6,)),
        ("joint_collision", _FLOATS, (7,)), ("cartesian_collision", _FLOATS, (6,)),
        ("tau_ext_hat_filtered", _FLOATS, (7,)),
        ("O_F_ext_hat_K", _FLOATS, (6,)), ("K_F_ext_hat_K", _FLOATS, (6,)), ("O_dP_EE_d", _FLOATS, (6,)),
        ("O_ddP_O", _FLOATS, (3,)),
        ("elbow_c", _FLOATS, (2,)), ("delbow_c", _FLOATS, (2,)), ("ddelbow_c", _FLOATS, (2,)),
        ("O_T_EE_c", _FLOATS, (16,)), ("O_dP_EE_c", _FLOATS, (6,)), ("O_ddP_EE_c", _FLOATS, (6,)),
        ("theta", _FLOATS, (7,)), ("dtheta", _FLOATS, (7,)),
        ("accelerometer_top", _FLOATS, (18,)), ("accelerometer_bottom", _FLOATS, (18,)),
        ("motion_generator_mode", "u1"), ("controller_mode", "u1"),
        ("errors", "?", (len(ERRORS),)), ("reflex_reason", "?", (len(ERRORS),)),
        ("robot_mode", "u1"), ("control_command_success_rate", _FLOATS),
    ]
)  # fmt: skip

MOTION = np.dtype(
    [
        ("message_id", "<u8"),
        ("q_c", "<f8", (7,)), ("dq_c", "<f8", (7,)), ("O_T_EE_c", "<f8", (16,)), ("O_dP_EE_c", "<f8", (6,)),
        ("elbow_c", "<f8", (2,)), ("valid_elbow", "?"), ("motion_finished", "?"),
        ("tau_J_d", "<f8", (7,)), ("torque_finished", "?"),
    ]
)  # fmt: skip


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
    return answer(Command.CONNECT, number, status, struct.pack("<H", VERSION))


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
