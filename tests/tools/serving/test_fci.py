"""The protocol's layouts, byte by byte, and what is not of it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from palpate.errors import NotAClient
from palpate.tools.serving.arm.arm_kernels import Told
from palpate.tools.serving.arm.limits import Limits, Thresholds, cartesian_motion
from palpate.tools.serving.pace import Pace
from palpate.tools.serving.protocol import fci

MOVE = struct.pack("<III", 1, 7, 125) + struct.pack("<II3d3d?7d", 2, 4, *[0.0] * 6, False, *[0.0] * 7)


def test_messages_have_the_sizes_of_the_published_headers():
    assert fci.STATE.itemsize == 1377
    assert fci.MOTION.itemsize == 371
    sizes = {command: fci.HEADER.size + layout.size for command, layout in fci.REQUESTS.items()}
    assert (sizes[fci.Command.CONNECT], sizes[fci.Command.MOVE]) == (16, 125)
    assert sizes[fci.Command.SET_COLLISION_BEHAVIOR] == 12 + 8 * 52
    assert len(fci.ERRORS) == len(set(fci.ERRORS)) == 41


def test_fields_of_the_state_lie_where_a_packed_struct_has_them():
    fields: Any = fci.STATE.fields
    place = {name: offset for name, (_, offset, *_) in fields.items()}
    assert place["O_T_EE"] == 8
    assert place["m_ee"] == 8 + 6 * 64
    assert place["tau_J"] == 8 + 6 * 64 + 2 * (4 + 36 + 12) + 2 * 8
    assert place["robot_mode"] == 1377 - 5
    assert place["errors"] - place["motion_generator_mode"] == 2


def test_requests_are_read_off_a_stream_however_it_is_cut():
    stream, found = MOVE + struct.pack("<IIIHH", 0, 8, 16, 10, 4242) + MOVE[:30], []
    buffer = bytearray()
    for byte in stream:
        buffer.append(byte)
        while (request := fci.read_request(buffer)) is not None:
            found.append(request)
    assert [(r.command, r.number) for r in found] == [(fci.Command.MOVE, 7), (fci.Command.CONNECT, 8)]
    assert found[1].fields == (10, 4242)
    assert len(buffer) == 30


@pytest.mark.parametrize(
    ("head", "words"),
    [((77, 1, 12), "command 77.*not among"), ((1, 1, 4_000_000_000), "announces 4000000000 bytes"), ((2, 1, 0), "0")],
)
def test_what_is_no_request_is_named(head: tuple[int, int, int], words: str):
    with pytest.raises(NotAClient, match=words):
        fci.read_request(bytearray(struct.pack("<III", *head)))


def test_answers_carry_their_size():
    message = fci.answer(fci.Command.GET_ROBOT_MODEL, 3, fci.SUCCESS, b"<robot/>")
    assert fci.HEADER.unpack_from(message) == (11, 3, len(message))
    assert fci.connected(1, fci.SUCCESS)[12:] == b"\0" + struct.pack("<H", 10)


def test_thresholds_of_accelerating_and_of_steady_motion_are_kept_apart():
    thresholds, numbers, told = Thresholds(), np.arange(1.0, 53.0), Told()
    assert thresholds.set(tuple(numbers))
    thresholds.use(told, True)
    assert (told.lower[0], told.upper[6], told.lower[7], told.upper[12]) == (1.0, 14.0, 29.0, 40.0)
    thresholds.use(told, False)
    assert (told.lower[0], told.upper[6], told.lower[7], told.upper[12]) == (15.0, 28.0, 41.0, 52.0)
    assert not thresholds.set((0.0, *numbers[1:]))
    assert not thresholds.set((np.nan, *numbers[1:]))


@pytest.fixture(scope="module")
def limits() -> Limits:
    from palpate.robot import load_robot

    return Limits(load_robot("fr3"), 1e-3)


def test_the_greatest_speed_falls_towards_a_stop_as_the_maker_says(limits: Limits):
    """FR3's published formula for joint 1: min(2.62, max(0, −0.30 + √(12 (2.7437 − q))))."""
    q = np.array([2.7, 0.0, 0.0, -1.5, 0.0, 2.0, 0.0])
    low, high = limits.velocity(q)
    assert high[0] == pytest.approx(-0.30 + np.sqrt(12.0 * (2.7437 - 2.7)), abs=1e-12)
    assert (low[0], high[1]) == (-2.62, 2.62)


@pytest.mark.parametrize(
    ("v", "a", "jerk", "error"),
    [
        (2.7, 0.0, 0.0, "joint_motion_generator_velocity_limits_violation"),
        (0.0, 12.0, 0.0, "joint_motion_generator_velocity_discontinuity"),
        (0.0, 9.0, 7000.0, "joint_motion_generator_acceleration_discontinuity"),
        (2.0, 9.9, 4900.0, None),
    ],
)
def test_a_joint_motion_beyond_a_limit_has_the_makers_error(
    limits: Limits, v: float, a: float, jerk: float, error: str | None
):
    axis, q = np.eye(7)[0], np.array([0.0, 0.0, 0.0, -1.5, 0.0, 2.0, 0.0])
    assert limits.joint_motion(q, v * axis, a * axis, jerk * axis) == error
    beyond = limits.joint_motion(q + 9.0 * axis, 0 * axis, 0 * axis, 0 * axis)
    assert beyond == "joint_motion_generator_position_limits_violation"


def test_a_motion_accelerates_from_one_hundredth_of_the_greatest_acceleration_on(limits: Limits):
    still = np.zeros(7)
    assert not limits.accelerates(still + 0.99e-2 * limits.joints.acceleration, np.zeros(6))
    assert limits.accelerates(still - 1.01e-2 * limits.joints.acceleration, np.zeros(6))
    assert limits.accelerates(still, np.array([0.1, 0, 0, 0, 0, 0]))
    assert not limits.accelerates(still, np.array([0.08, 0, 0, 0, 0.16, 0]))


def test_torques_may_change_by_one_newton_metre_a_tick(limits: Limits):
    axis, nothing = np.eye(7)[2], np.zeros(7)
    assert limits.torque(1.0 * axis, nothing, nothing, 1) is None
    assert limits.torque(1.01 * axis, nothing, nothing, 1) == "controller_torque_discontinuity"
    assert limits.torque(1.99 * axis, nothing, nothing, 2) is None
    assert limits.torque(0.5 * axis, nothing, 87.0 * axis, 1) == "tau_j_range_violation"


def test_a_tool_motion_beyond_a_limit_has_the_makers_error():
    x, turn = np.eye(6)[0], np.eye(6)[4]
    assert cartesian_motion(2.9 * x, 8.9 * x, 4000 * x) is None
    assert cartesian_motion(3.1 * x, 0 * x, 0 * x) == "cartesian_motion_generator_velocity_limits_violation"
    assert cartesian_motion(0 * x, 18 * turn, 0 * x) == "cartesian_motion_generator_velocity_discontinuity"
    assert cartesian_motion(0 * x, 0 * x, 6000 * x) == "cartesian_motion_generator_acceleration_discontinuity"


def test_a_server_that_wakes_late_takes_nothing_of_the_clients_time(monkeypatch: pytest.MonkeyPatch):
    """The window is 0.8 of a tick from the state on; the schedule stays, so that the next tick is due when it was."""
    now, late = [100.0], [0.0]
    monkeypatch.setattr("palpate.tools.serving.pace.time.monotonic", lambda: now[0])
    monkeypatch.setattr("palpate.tools.serving.pace.time.sleep", lambda s: now.__setitem__(0, now[0] + s + late[0]))
    pace = Pace(1e-3)
    pace.begin()
    late[0] = 0.7e-3
    assert pace.begin() == pytest.approx(100.0 + 1e-3 + 0.7e-3 + 0.8e-3)
    late[0] = 0.0
    pace.begin()
    assert (now[0], pace.late) == (pytest.approx(100.0 + 2e-3), 0)


def test_late_ticks_are_counted_and_not_made_up_for(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr("palpate.tools.serving.pace.time.monotonic", lambda: now[0])
    monkeypatch.setattr("palpate.tools.serving.pace.time.sleep", lambda s: now.__setitem__(0, now[0] + s))
    pace = Pace(1e-3, 0.5)
    for _ in range(10):
        pace.begin()
    assert now[0] == pytest.approx(100.0 + 9 * 2e-3)  # half of real time
    now[0] += 7e-3
    deadline = pace.begin()
    assert (pace.late, pace.slipped) == (1, pytest.approx(5e-3))
    assert deadline == pytest.approx(now[0] + 0.8 * 2e-3)
    pace.begin()
    assert pace.late == 1
