"""The gripper: its fingers against closed forms, and its protocol with the maker's client."""

from __future__ import annotations

import json
import math
import socket
import struct
import subprocess
import sys

import numpy as np
import pytest
from tests.tools.serving.conftest import loopback

from moments import ENDLESS
from palpate.cli.main import main
from palpate.errors import InvalidInput
from palpate.tools.serving.gripper import gripper
from palpate.tools.serving.gripper.fingers import FASTEST, MAX_WIDTH, STEP, Fingers, read_fingers
from palpate.tools.serving.gripper.gripper import Command, GripperServer, GripperSession, Status


def settled(fingers: Fingers) -> int:
    """Step until the command has ended; how many steps that took."""
    for k in range(20_000):
        fingers.step()
        if fingers.succeeded is not None:
            return k + 1
    raise AssertionError("the command never ended")


@pytest.mark.parametrize(("force", "stiffness"), [(20.0, 1e5), (70.0, 1e5), (40.0, 2e4)])
def test_a_grasped_object_yields_by_force_over_stiffness(force: float, stiffness: float):
    fingers = Fingers(0.03, stiffness)
    fingers.grasp(0.03, 0.05, force, (0.005, 0.005))
    settled(fingers)
    assert (fingers.succeeded, fingers.grasped) == (True, True)
    assert fingers.force == pytest.approx(force, rel=1e-3)
    assert fingers.width == pytest.approx(0.03 - force / stiffness, abs=1e-6)


def test_a_motion_keeps_its_speed_and_the_guides_speed():
    for speed in (0.02, 5.0):
        fingers = Fingers()
        fingers.move(0.0, 0.1)
        settled(fingers)
        fingers.move(MAX_WIDTH, speed)
        rates = []
        while fingers.succeeded is None:
            fingers.step()
            rates.append(fingers.rate)
        kept = min(speed, FASTEST)
        assert rates[len(rates) // 2] == pytest.approx(kept, rel=1e-3)
        assert len(rates) * STEP == pytest.approx(MAX_WIDTH / kept, abs=0.15)
        assert (fingers.succeeded, fingers.grasped) == (True, False)
        assert fingers.width == pytest.approx(MAX_WIDTH, abs=2e-4)


@pytest.mark.parametrize(("object_width", "width", "grasped"), [
    (None, 0.02, False), (0.03, 0.02, False), (0.03, 0.034, True), (0.03, 0.036, False), (0.03, 0.026, True),
])  # fmt: skip
def test_a_grasp_succeeds_inside_its_tolerances_alone(object_width: float | None, width: float, grasped: bool):
    fingers = Fingers(object_width)
    fingers.grasp(width, 0.1, 10.0, (0.005, 0.005))
    settled(fingers)
    assert fingers.succeeded is grasped
    assert fingers.grasped is grasped


def test_an_object_in_the_way_of_a_motion_makes_it_unsuccessful():
    fingers = Fingers(0.03)
    fingers.move(0.01, 0.1)
    settled(fingers)
    assert fingers.succeeded is False
    assert 0.029 < fingers.width < 0.03


def at(x: float, turn: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A tool at x, turned about z."""
    c, s = math.cos(turn), math.sin(turn)
    return np.array([x, 0.0, 0.0]), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def test_an_object_is_grasped_where_it_stands_carried_and_left_where_the_fingers_open():
    fingers = Fingers(0.03, object_position=(0.5, 0.005, 0.0))
    for x, grasped in ((0.4, False), (0.5, True)):
        fingers.move(0.08, 0.1)
        settled(fingers)
        fingers.tool = at(x)
        fingers.grasp(0.03, 0.1, 20.0, (0.005, 0.005))
        settled(fingers)
        assert fingers.grasped is grasped
        assert fingers.width == pytest.approx(0.03 - 20.0 / 1e5 if grasped else 0.0, abs=1e-5)
    assert fingers.object_position is not None
    fingers.tool = at(0.7, turn=math.pi / 2)
    fingers.step()
    np.testing.assert_allclose(fingers.object_position, [0.695, 0.0, 0.0], atol=1e-12)
    fingers.move(0.08, 0.1)
    settled(fingers)
    fingers.tool = at(0.2)
    fingers.step()
    np.testing.assert_allclose(fingers.object_position, [0.695, 0.0, 0.0], atol=1e-12)
    assert not fingers.grasped
    fingers.put_back()
    np.testing.assert_array_equal(fingers.object_position, [0.5, 0.005, 0.0])


def test_fingers_that_come_closed_do_not_reach_around_an_object():
    fingers = Fingers(0.03, object_position=(0.5, 0.0, 0.0))
    fingers.tool = at(0.4)
    fingers.move(0.0, 0.1)
    settled(fingers)
    fingers.tool = at(0.5)
    fingers.step()
    assert (fingers.force, fingers.width) == (0.0, pytest.approx(0.0, abs=1e-6))


@pytest.mark.parametrize(("text", "width", "position"), [
    ("", None, None), ("0.03", 0.03, None), ("0.03@0.5,0,0.1", 0.03, [0.5, 0.0, 0.1]),
])  # fmt: skip
def test_the_objects_width_and_place_are_read(text: str, width: float | None, position: list[float] | None):
    fingers = read_fingers(text)
    assert fingers.object_width == width
    assert (None if fingers.object_position is None else fingers.object_position.tolist()) == position


@pytest.mark.parametrize("text", ["0.2", "-0.01", "nan", "wide", "@1,2,3", "0.03@1,2", "0.03@1,2,inf", "0.03@a,b,c"])
def test_what_is_no_object_is_refused(text: str):
    with pytest.raises(InvalidInput, match="--gripper takes"):
        read_fingers(text)


def request(command: Command, number: int, *fields: float) -> bytes:
    layout = gripper._FIELDS[command]
    return struct.pack("<HII", command, number, 10 + layout.size) + layout.pack(*fields)


def status(message: bytes) -> tuple[int, int, int]:
    command, number, size = struct.unpack_from("<HII", message)
    assert size == len(message)
    return command, number, struct.unpack_from("<H", message, 10)[0]


def test_messages_have_the_sizes_of_the_published_header():
    assert len(gripper.state_message(1, Fingers())) == 4 + 8 + 8 + 1 + 2
    assert len(request(Command.GRASP, 1, *[0.0] * 5)) == 10 + 40
    assert status(gripper.answer(Command.CONNECT, 7, 0, b"\x03\0")) == (0, 7, 0)


def test_a_command_aborts_the_one_before_and_stop_aborts_it_too():
    session = GripperSession(Fingers())
    assert session.take(request(Command.MOVE, 1, 0.01, 0.1)) == []
    assert [status(m) for m in session.take(request(Command.MOVE, 2, 0.07, 0.1))] == [(3, 1, Status.ABORTED)]
    stopped = [status(m) for m in session.take(request(Command.STOP, 3))]
    assert stopped == [(3, 2, Status.ABORTED), (4, 3, Status.SUCCESS)]


@pytest.mark.parametrize(("command", "fields"), [
    (Command.MOVE, (0.09, 0.1)), (Command.MOVE, (-0.01, 0.1)), (Command.MOVE, (0.02, 0.0)),
    (Command.MOVE, (float("nan"), 1.0)),
    (Command.GRASP, (0.02, 0.005, 0.005, 0.1, 0.0)), (Command.GRASP, (0.02, 0.005, 0.005, 0.1, 141.0)),
    (Command.GRASP, (0.02, -1.0, 0.005, 0.1, 10.0)),
])  # fmt: skip
def test_what_no_gripper_does_fails(command: Command, fields: tuple[float, ...]):
    session = GripperSession(Fingers())
    assert [status(m) for m in session.take(request(command, 5, *fields))] == [(command, 5, Status.FAIL)]


def test_what_is_no_request_ends_the_session_however_it_is_cut():
    session = GripperSession(Fingers())
    data = request(Command.MOVE, 1, 0.01, 0.1)
    assert [session.take(data[k : k + 1]) for k in range(len(data))] == [[]] * len(data)
    with pytest.raises(InvalidInput, match=r"not speak.*'s protocol"):
        session.take(b"GET / HTTP/1.1\r\n")


PROGRAM = """
import json, sys, time
import pylibfranka as franka
gripper = franka.Gripper(sys.argv[1])
said = {"version": gripper.server_version(), "homing": gripper.homing(), "open": gripper.read_once().width}
said["moved"] = gripper.move(0.05, 0.1), gripper.read_once().width
said["grasped"] = gripper.grasp(0.03, 0.1, 20.0)
state = gripper.read_once()
said["state"] = state.width, state.max_width, state.is_grasped, state.temperature
said["blocked"] = gripper.move(0.0, 0.1)
said["missed"] = gripper.grasp(0.01, 0.1, 20.0), gripper.read_once().is_grasped
said["stop"] = gripper.stop()
try:
    gripper.move(0.2, 0.1)
except franka.CommandException as error:
    said["failed"] = str(error)
print(json.dumps(said))
"""


def test_the_makers_client_opens_moves_and_grasps():
    pytest.importorskip("pylibfranka")
    host = loopback()
    with GripperServer(Fingers(0.03), host, pace=10.0):
        command = [sys.executable, "-c", PROGRAM, host]
        done = subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["version"], said["homing"], said["stop"]) == (3, True, True)
    assert said["open"] == pytest.approx(0.08, abs=2e-4)
    assert said["moved"] == [True, pytest.approx(0.05, abs=2e-4)]
    assert said["grasped"] is True
    assert said["state"] == [pytest.approx(0.03 - 20.0 / 1e5, abs=1e-5), 0.08, True, 25]
    assert (said["blocked"], said["missed"]) == (False, [False, False])
    assert "Command failed" in said["failed"]


def test_a_port_in_use_and_a_width_that_is_none_are_named(capsys):
    host = loopback()
    with socket.create_server((host, gripper.PORT)):
        assert main(["serve", "fr3-wall", "--host", host, "--quiet", "--gripper"]) == 2
    assert f"cannot listen on {host}:1338" in capsys.readouterr().err
    assert main(["serve", "fr3-wall", "--host", host, "--quiet", "--gripper", "0.2"]) == 2
    assert "--gripper takes" in capsys.readouterr().err
