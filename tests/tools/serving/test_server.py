"""Everything that is not a well-behaved client: each is named, nothing hangs, and the next client is served."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import threading

import pytest
from tests.tools.serving.conftest import loopback, serving

from moments import ENDLESS
from palpate.cli.main import main
from palpate.errors import InvalidInput
from palpate.scenario.file.load import load_scenario
from palpate.tools.serving.buttons import Button, Buttons, read_press
from palpate.tools.serving.protocol import fci
from palpate.tools.serving.protocol.link import check_address
from palpate.tools.serving.server import Server
from palpate.trace import Trace

WALL = load_scenario("fr3-wall")


def connect(server: Server, data: bytes) -> socket.socket:
    client = socket.create_connection(server.address, timeout=ENDLESS)
    client.sendall(data)
    return client


def hello(port: int, version: int = 10) -> bytes:
    return struct.pack("<IIIHH", 0, 0, 16, version, port)


class Plain:
    """A client of our own: asks to connect, and answers nothing."""

    def __init__(self, server: Server) -> None:
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.settimeout(ENDLESS)
        self.tcp = connect(server, hello(self.udp.getsockname()[1]))

    def close(self) -> None:
        self.tcp.close()
        self.udp.close()


def served_while(server: Server, act) -> Trace:
    """Serve one plain client while a function runs beside it; the trace."""
    client = Plain(server)

    def run() -> None:
        try:
            assert client.tcp.recv(100) == fci.connected(0, fci.SUCCESS)
            assert len(client.udp.recv(4096)) == fci.STATE.itemsize
            act(client)
        finally:
            client.close()

    thread = threading.Thread(target=run)
    thread.start()
    trace = server.serve(server.wait(ENDLESS))
    thread.join(ENDLESS)
    return trace


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "speak the FCI protocol"),
        (b"\xff" * 100, "speak the FCI protocol"),
        (struct.pack("<III", 2, 0, 12), "request is STOP_MOVE"),
        (struct.pack("<IIIHH", 0, 0, 16, 5, 4242), "speaks version 5"),
    ],
    ids=["web", "garbage", "stop", "version"],
)
def test_strangers_are_named_and_sent_away(data: bytes, words: str):
    said: list[str] = []
    with serving(WALL, say=said.append) as server:
        stranger = connect(server, data)
        trace = served_while(server, lambda client: None)
        stranger.close()
    assert len(said) == 1
    assert words in said[0]
    assert trace.outcome.reason == "the client disconnected"


def test_a_client_of_another_version_is_told_ours():
    with serving(WALL) as server:
        old = connect(server, hello(4242, version=9))
        served_while(server, lambda client: None)
        assert old.recv(100) == fci.connected(0, fci.INCOMPATIBLE_VERSION)
        old.close()


def test_a_second_client_is_sent_away_at_once():
    said: list[str] = []

    def act(client: Plain) -> None:
        second = connect(server, hello(4242))
        with pytest.raises(ConnectionResetError):
            second.recv(1)
        second.close()

    with serving(WALL, say=said.append) as server:
        served_while(server, act)
    assert len(said) == 1
    assert re.search(r"robot.*already", said[0])


def test_garbage_in_the_middle_ends_the_connection_and_the_trace_says_so():
    with serving(WALL) as server:
        trace = served_while(server, lambda client: (client.tcp.sendall(b"\xff" * 64), client.udp.recv(4096)))
    assert "speak the FCI protocol" in trace.outcome.reason


def test_a_client_that_never_commands_is_stopped_after_a_while():
    """A motion without commands: a second of grace, then twenty losses."""

    def act(client: Plain) -> None:
        move = struct.pack("<II3d3d?7d", 2, 4, *[0.0] * 6, False, *[0.0] * 7)
        client.tcp.sendall(struct.pack("<III", 1, 9, 125) + move)
        assert client.tcp.recv(13) == fci.answer(1, 9, fci.MoveStatus.STARTED)
        assert client.tcp.recv(13) == fci.answer(1, 9, fci.MoveStatus.REFLEX_ABORTED)

    with serving(WALL, grace=1.0) as server:
        trace = served_while(server, act)
    assert "communication_constraints_violation (20 commands" in trace.warnings[0]


def test_foreign_and_broken_datagrams_are_no_commands():
    def act(client: Plain) -> None:
        _, server_side = client.udp.recvfrom(4096)
        for data in (b"", b"x" * 371, b"\xff" * 371, b"x" * 1400):
            client.udp.sendto(data, server_side)
        for _ in range(20):
            client.udp.recv(4096)

    with serving(WALL) as server:
        trace = served_while(server, act)
    assert trace.outcome.reason == "the client disconnected"
    assert not trace.warnings


def test_the_longest_connection_ends_by_itself():
    def act(client: Plain) -> None:
        with pytest.raises(ConnectionResetError):
            client.tcp.recv(1)

    with serving(WALL, duration=0.05) as server:
        trace = served_while(server, act)
    assert trace.outcome.kind == "completed"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("::1", "IPv6"),
        ("fe80::1", "IPv6"),
        ("0.0.0.0", "can be reached from other machines"),
        ("192.168.1.7", "can be reached from other machines"),
        ("robot", "not an IP address"),
    ],
)
def test_addresses_that_are_not_loopback_are_refused(host: str, words: str, capsys):
    with pytest.raises(InvalidInput, match=words):
        check_address(host, False)
    assert main(["serve", "fr3-wall", "--host", host]) == 2
    assert words in capsys.readouterr().err
    if words.startswith("can be"):
        check_address(host, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ur5e-admittance"], "ur5e has 6 joints"),
        (["iiwa14-push"], "iiwa14 is not"),
        (["fr3-wall", "--set", "run.rate=500"], "period is 0.002 s"),
        (["fr3-wall", "--pace", "fast"], "--pace must be"),
        (["fr3-wall", "--pace", "2"], "--pace must be"),
        (["fr3-wall", "--port", "70000"], "--port must be 1 to 65535"),
        (["fr3-wall", "--clients", "0"], "least 1"),
        (["fr3-wall", "--out", "x"], "--out is"),
        (["fr3-wall", "--faults", "lost@3"], "no fault"),
        (["fr3-wall", "--press", "brake@3+1"], "no press"),
        (["fr3-wall", "--press", "stop@3"], "no press"),
    ],
)
def test_what_cannot_be_served_is_refused_with_exit_code_2(words: list[str], said: str, capsys):
    assert main(["serve", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_port_in_use_is_named(capsys):
    host = loopback()
    with socket.create_server((host, fci.PORT)):
        assert main(["serve", "fr3-wall", "--host", host, "--quiet"]) == 2
    assert f"cannot listen on {host}:1337" in capsys.readouterr().err


def test_keys_press_and_release_and_times_do_too():
    typed = iter(["", "s", "xg", "s", "", "g"])
    buttons = Buttons([read_press("guide@2+0.5")], lambda: next(typed))
    states = [buttons.pressed(t) for t in (0.0, 1.0, 1.1, 1.2, 1.3, 2.2)]
    stop, guide = {Button.STOP}, {Button.GUIDE}
    assert states == [set(), stop, stop | guide, guide, guide, guide]
    assert buttons._held == set()


PRESSED = """
from palpate.tools.serving.buttons import typed_keys
with typed_keys() as keys:
    print("ready", flush=True)
    typed = ""
    while len(typed) < 2:
        typed += keys()
print(typed)
"""


def test_keys_are_read_one_by_one_at_a_terminal_in_the_foreground():
    pty = pytest.importorskip("pty")
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", PRESSED])
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 100)
    os.write(terminal, b"sg")  # no line ends it
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(terminal, 100).strip().endswith(b"sg")
    os.close(terminal)


_STANDING = """
from palpate.scenario.file.load import load_scenario
from palpate.tools.serving.arm import arm_kernels, limits_kernels
from palpate.engine.kernels import Kernel
from palpate.tools.serving.server import Server
with Server(load_scenario("fr3-wall"), host="127.0.0.9", port=0):
    for module in (arm_kernels, limits_kernels):
        own = [one for one in vars(module).values() if isinstance(one, Kernel) and one.__module__ == module.__name__]
        print(*(one.__name__ for one in own if one.__name__[0] != "_" and not one.overloads))
"""


def test_nothing_is_left_to_compile_for_the_first_client():
    """libfranka gives a robot up that is silent for a second."""
    done = subprocess.run([sys.executable, "-c", _STANDING], capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
