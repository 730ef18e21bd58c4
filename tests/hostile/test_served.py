"""A served robot, a live page and an environment, given what no sound client gives."""

from __future__ import annotations

import socket
import struct
import time
import urllib.error
import urllib.parse
import urllib.request
from functools import cache

import numpy as np
import pytest

from moments import ENDLESS
from palpate.errors import BadShape, InvalidInput, NotFinite
from palpate.scenario.file.load import load_scenario
from palpate.tools.serving.arm.limits import pose_from
from palpate.tools.serving.pace import Pace
from palpate.tools.serving.protocol import fci
from palpate.tools.serving.protocol.fci import Command, Controller, Generator, Mode
from palpate.tools.serving.protocol.link import has_asked
from palpate.tools.serving.server import Server
from palpate.tools.serving.session import ClientSession
from palpate.views.pages.serve import MOST_WAITING, LiveServer, ReplayServer
from tools.serving.conftest import serving

WALL = load_scenario("fr3-wall")
EYE = np.eye(4).T.ravel()
NO_POSES = {
    "zeros": np.zeros(16), "huge": np.full(16, 1e200), "scaled": np.diag([2.0, 2, 2, 1]).ravel(),
    "mirrored": np.diag([-1.0, 1, 1, 1]).ravel(), "far": np.r_[EYE[:12], 1e300, 0, 0, 1],
    "skewed": EYE + np.r_[np.zeros(3), 1.0, np.zeros(12)],
}  # fmt: skip


@pytest.fixture(scope="module")
def server():
    with serving(WALL) as made:
        yield made


class _Link:
    """A client's connection that is not there: what the session sends is kept."""

    def __init__(self) -> None:
        self.peer, self.alive, self.gone, self.late, self.foreign, self.interrupted = ("", 0), True, "", 0, 0, False
        self.sent: list[bytes] = []

    def send(self, message: bytes) -> None:
        self.sent.append(message)


def session(server: Server) -> ClientSession:
    link = _Link()
    made = ClientSession(link, server._run.robot, server.model, server._rotor, Pace(1e-3))  # pyright: ignore
    made.arm.q[:], made.arm.v[:] = server._run.robot.home, 0.0
    made.arm.O_T_EE[:], made.arm.J[:] = made.arm.pose_at(made.arm.q)
    return made


def begin(made: ClientSession, generator: Generator) -> None:
    deviation = (10.0, 3.12, 6.28)
    fields = (Controller.JOINT_IMPEDANCE, generator - 1, *deviation, *deviation, False, *[0.0] * 7)
    made._answer(fci.Request(Command.MOVE, 1, fields))
    assert made.mode == Mode.MOVE


@pytest.mark.parametrize("name", NO_POSES)
def test_a_commanded_pose_that_is_no_rotation_ends_the_motion_with_the_makers_error(name: str, server: Server):
    made = session(server)
    begin(made, Generator.CARTESIAN_POSITION)
    command = np.zeros(1, fci.MOTION)
    command["O_T_EE_c"] = NO_POSES[name]
    assert made.motion is not None
    error = made._follow(made.motion, command[0])
    assert error == "cartesian_position_motion_generator_invalid_frame"
    made._abort(error)
    assert (made.mode, made.motion) == (Mode.REFLEX, None)
    made._answer(fci.Request(Command.AUTOMATIC_ERROR_RECOVERY, 2, ()))
    begin(made, Generator.CARTESIAN_POSITION)


@pytest.mark.parametrize("size", [1e3, 1e30, 1e150, 1e308])
@pytest.mark.parametrize(
    ("generator", "field"),
    [
        (Generator.JOINT_POSITION, "q_c"), (Generator.JOINT_VELOCITY, "dq_c"),
        (Generator.CARTESIAN_VELOCITY, "O_dP_EE_c"), (Generator.CARTESIAN_POSITION, "O_T_EE_c"),
    ],
)  # fmt: skip
def test_a_command_of_any_size_ends_the_motion_and_not_the_session(
    generator: Generator, field: str, size: float, server: Server
):
    made = session(server)
    begin(made, generator)
    command = np.zeros(1, fci.MOTION)
    command[field] = size
    assert made.motion is not None
    error = made._follow(made.motion, command[0])
    assert error in fci.ERRORS


def _load(mass: float, com: float = 0.0, inertia: float = 0.0) -> tuple[float, ...]:
    return (mass, com, 0.0, 0.0, inertia, 0, 0, 0, inertia, 0, 0, 0, inertia)


IMPOSSIBLE = [
    (Command.SET_LOAD, _load(1e4)), (Command.SET_LOAD, _load(1e300)), (Command.SET_LOAD, _load(1.0, 1e300)),
    (Command.SET_LOAD, _load(1.0, 0.0, -1e6)), (Command.SET_LOAD, _load(1.0, 0.0, 1e300)),
    (Command.SET_LOAD, _load(-1.0)), (Command.SET_LOAD, _load(float("nan"))),
    (Command.SET_NE_TO_EE, tuple(NO_POSES["far"])), (Command.SET_EE_TO_K, tuple(NO_POSES["zeros"])),
    (Command.SET_JOINT_IMPEDANCE, (1e300,) * 7), (Command.SET_CARTESIAN_IMPEDANCE, (-1.0,) * 6),
    (Command.SET_COLLISION_BEHAVIOR, (float("inf"),) * 52),
]  # fmt: skip


@pytest.mark.parametrize(("command", "fields"), IMPOSSIBLE)
def test_settings_that_no_machine_has_are_refused(command: Command, fields: tuple[float, ...], server: Server):
    made = session(server)
    assert not made._set(command, fields)


def test_settings_that_machines_have_are_taken(server: Server):
    made = session(server)
    assert made._set(Command.SET_LOAD, _load(3.0, 0.05, 1e-2))
    assert made._set(Command.SET_NE_TO_EE, tuple(np.r_[EYE[:12], 0, 0, 0.1034, 1]))
    assert made._set(Command.SET_JOINT_IMPEDANCE, (3000.0,) * 7)
    assert pose_from(EYE) is not None


def _hello(port: int) -> bytes:
    return struct.pack("<IIIHH", 0, 0, 16, fci.VERSION, port)


def test_silent_connections_do_not_keep_a_client_waiting(server: Server):
    silent = [socket.create_connection(server.address, timeout=ENDLESS) for _ in range(4)]
    client = socket.create_connection(server.address, timeout=ENDLESS)
    client.sendall(_hello(4242))
    link = server.wait(ENDLESS)  # all of them are silent for longer than it took
    try:
        assert link.peer == client.getsockname()
    finally:
        link.close()
        for one in (*silent, client):
            one.close()


def test_what_a_connection_wants_is_seen_without_taking_it():
    here, there = socket.socketpair()
    with here, there:
        assert not has_asked(here)
        there.sendall(_hello(1)[:10])
        assert not has_asked(here)
        there.sendall(_hello(1)[10:])
        assert has_asked(here)
        assert here.recv(100) == _hello(1)


def test_a_command_from_another_socket_of_the_machine_is_not_obeyed(server: Server):
    host = server.address[0]
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
        socket.create_connection(server.address, timeout=ENDLESS, source_address=(host, 0)) as client,
    ):
        own.bind((host, 0))
        other.bind((host, 0))
        client.sendall(_hello(own.getsockname()[1]))
        link = server.wait(ENDLESS)
        command = np.zeros(1, fci.MOTION)
        command["message_id"] = 5
        robot = link._udp.getsockname()
        other.sendto(command.tobytes(), robot)
        own.sendto(command.tobytes(), robot)
        obeyed = link.command(5, time.monotonic() + ENDLESS)  # clock: nothing is measured by it
        assert obeyed is not None
        assert (link.foreign, link.late) == (1, 0)
        link.close()


@pytest.mark.parametrize("make", [lambda: ReplayServer(b"<p>"), LiveServer])
def test_pages_of_this_machine_are_shown_to_whoever_knows_the_token(make):
    with make() as server:
        server.page = b"<p>hello"
        with urllib.request.urlopen(server.url) as answer:
            assert answer.read() == b"<p>hello"
        for path in ("/", "/events", "/report", "/wrong/", "/wrong/events", "//", "/../"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{urllib.parse.urlsplit(server.url).port}{path}")
            assert refused.value.code == 403, path
            refused.value.close()


def test_the_address_differs_from_server_to_server():
    with ReplayServer(b"") as one, ReplayServer(b"") as other:
        paths = {urllib.parse.urlsplit(server.url).path for server in (one, other)}
        assert len(paths) == 2
        assert min(map(len, paths)) > 20


def test_frames_for_a_viewer_who_does_not_read_are_bounded():
    with LiveServer() as server:
        server.page = b"<p>"
        where = urllib.parse.urlsplit(server.url)
        with socket.create_connection(("127.0.0.1", where.port or 0), timeout=ENDLESS) as viewer:
            viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            viewer.sendall(f"GET {where.path}events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert server.wait_for_viewer(ENDLESS)
            queue = server._stream._viewers[0]
            frame = {"x": "x" * 10_000}
            for _ in range(MOST_WAITING + 2000):
                server.send(frame)
                assert queue.qsize() <= MOST_WAITING
            assert server._stream._viewers == []


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (np.zeros(99), BadShape), (np.zeros(5), BadShape), (np.zeros((6, 1)), BadShape), (0.0, BadShape),
        (np.full(6, np.inf), NotFinite), (np.full(6, np.nan), NotFinite), ("left", InvalidInput), (None, InvalidInput),
    ],
)  # fmt: skip
def test_an_environment_refuses_an_action_of_the_wrong_shape_or_that_is_not_finite(action, error):
    pytest.importorskip("gymnasium")
    from palpate.tools.gym.environment import ContactEnv

    env = _environment(ContactEnv)
    before = env.steps.time
    with pytest.raises(error, match="action"):
        env.step(action)
    assert env.steps.time == before


@cache
def _environment(kind):
    env = kind("panda-wall")
    env.reset(seed=0)
    return env
