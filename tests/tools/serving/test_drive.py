"""A law of palpate drives the served robot through the maker's client, after dry runs and inside its limits."""

from __future__ import annotations

import signal
import subprocess
import threading
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.tools.serving.conftest import serving

from moments import COMMAND, ENDLESS
from palpate.cli.main import main
from palpate.errors import InvalidInput
from palpate.run.build import build
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.tools.serving.drive import PERIOD, Drive, DriveLimits, limits_of
from palpate.trace import Trace, load_trace

# All friction is compensated, so that formulas hold.
FREE = ["world.driver.viscous_compensation=1", "world.driver.coulomb_compensation=1"]
WALL = load_scenario("fr3-wall", FREE)
SETTINGS = [word for change in (*FREE, "run.duration=2.5", "metrics={}") for word in ("--set", change)]


def driven(
    tmp_path: Path, *options: str, served: Scenario = WALL, typed: str = "", stop: int = 0
) -> tuple[str, str, Trace]:
    """What `palpate drive` prints and complains of, and the server's trace; keys and a signal while it drives."""
    pytest.importorskip("pylibfranka")
    with serving(served) as server:
        words = [
            "drive",
            "fr3-wall",
            server.address[0],
            "--out",
            str(tmp_path / "run"),
            "--no-report",
            *SETTINGS,
            *options,
        ]
        client = subprocess.Popen(
            [*COMMAND, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        said: list[str] = []

        def listen() -> None:
            assert client.stdout is not None
            assert client.stdin is not None
            for line in client.stdout:
                said.append(line)
                if line.startswith("driving"):
                    if typed:
                        client.stdin.write(typed)
                        client.stdin.flush()
                    if stop:
                        client.send_signal(stop)

        listening = threading.Thread(target=listen)
        listening.start()
        trace = server.serve(server.wait(ENDLESS))
        listening.join(ENDLESS)
        assert client.stderr is not None
        complaint = client.stderr.read()
        client.wait(ENDLESS)
    return f"{client.returncode}\n" + "".join(said), complaint, trace


def test_a_law_drives_the_served_robot_as_it_does_in_a_run(tmp_path):
    said, complaint, served = driven(tmp_path, "--move", "--force", "100")
    assert said.startswith("0\n"), complaint
    run, told = simulate(WALL.replace(run__duration=2.5, metrics={})), load_trace(tmp_path / "run" / "trace.parquet")
    assert told.outcome.kind == "completed"
    assert np.abs(told["q"] - run["q"][:2500]).max() < 1e-4  # states come in single precision
    assert served["contact_force"].max() == pytest.approx(run["contact_force"].max(), rel=0.01)
    assert told["measured_wrench"][-1, 0] == pytest.approx(-run["contact_force"][-1], rel=0.02)
    assert told.facts.physics == "fci"


def test_without_move_nothing_moves_and_the_dry_runs_are_told(tmp_path):
    said, complaint, served = driven(tmp_path)
    assert said.startswith("0\n"), complaint
    assert "nothing moved" in said
    assert served["law.robot_mode"].max() == 1.0
    assert np.abs(served["q"] - served["q"][0]).max() < 1e-3
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("typed", "stop"), [(" ", 0), pytest.param("", signal.SIGINT, marks=pytest.mark.slow)], ids=["key", "ctrl-c"]
)
def test_a_key_ends_it_by_a_ramp_to_damping(tmp_path, typed: str, stop: int):
    said, complaint, served = driven(tmp_path, "--move", typed=typed, stop=stop)
    assert said.startswith("0\n"), complaint
    assert "person ended" in said
    told = load_trace(tmp_path / "run" / "trace.parquet")
    assert told.outcome.kind == "stopped"
    assert len(told) < 2500
    assert not served.warnings
    assert np.abs(np.diff(served["tau.client"], axis=0)).max() <= 1.0
    moving = served["law.robot_mode"] == 2.0
    assert np.abs(served["tau.client"][moving][-1]).max() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reason"),
    [(["--force", "5"], "limit is 5"), (["--room", "0"], "tool left")],
)
def test_a_limit_ends_it(tmp_path, options: list[str], reason: str):
    shifted = WALL.replace(robot__start__q=[0.0, -0.785, 0, -2.356, 0.01, 1.571, 0.785])
    said, complaint, served = driven(tmp_path, "--move", *options, served=shifted if "--room" in options else WALL)
    assert said.startswith("0\n"), complaint
    told = load_trace(tmp_path / "run" / "trace.parquet")
    assert told.outcome.kind == "stopped"
    assert reason in told.outcome.reason or "cartesian_reflex" in told.outcome.reason
    assert served["law.robot_mode"].max() >= 2.0


class Standing:
    """In the place of the maker's client: an arm that stands still, and keeps the torques it is sent."""

    def __init__(self, q: np.ndarray, v: np.ndarray | None = None) -> None:
        self.sent: list[np.ndarray] = []
        still = np.zeros(7) if v is None else v
        self._state = SimpleNamespace(q=q, dq=still, tau_J=np.zeros(7), O_F_ext_hat_K=np.zeros(6))

    def state(self) -> SimpleNamespace:
        return self._state

    def motion(self, decide) -> None:
        finished = False
        while not finished:
            torque, finished = decide(self._state)
            self.sent.append(torque)


def test_an_arm_that_stands_elsewhere_is_refused():
    run = build(WALL)
    elsewhere: Any = Standing(run.start()[0] + 0.1 * np.eye(7)[0])
    with pytest.raises(InvalidInput, match=r"joint 1 is 0\.1 rad off"):
        Drive(run).look(elsewhere)
    there: Any = Standing(run.start()[0])
    look = Drive(run).look(there)
    assert look.off.max() == 0.0
    assert np.abs(look.first).max() < 1e-3
    assert there.sent == []


def test_the_end_is_a_ramp_from_the_last_torque_to_damping():
    """A moving arm that is ended at its 40th tick: torque goes to −D v in 0.2 s, by at most 0.999 N·m a tick."""
    run, v = build(WALL), np.full(7, 0.2)
    drive, asked = Drive(run), count()
    drive.ended = lambda: next(asked) == 40
    client: Any = Standing(run.start()[0] + 0.005, v)
    trace = drive.go(client)
    sent = np.array(client.sent)
    assert (trace.outcome.kind, trace.outcome.reason, len(trace)) == ("stopped", "a person ended it", 41)
    assert len(sent) == 41 + 1000  # it never rests, and is left after a second
    assert np.abs(np.diff(sent, axis=0)).max() <= 0.999 + 1e-12
    np.testing.assert_allclose(sent[41 + 199], -0.2 * np.array([10, 10, 10, 10, 5, 3, 1]), atol=1e-12)
    half = 0.5 * sent[40] + 0.5 * sent[41 + 199]
    np.testing.assert_allclose(sent[41 + 99], half, atol=1e-9)


def limits() -> DriveLimits:
    return limits_of(build(WALL), torque=0.5, speed=0.1, force=30.0)


def test_torques_are_cut_to_the_joints_limits_and_to_the_rate():
    most, gravity, last = limits(), np.linspace(-5.0, 20.0, 7), np.zeros(7)
    for _ in range(200):
        last, before = most.cut(np.full(7, 500.0), gravity, last), last
        assert np.abs(last - before).max() <= 999.0 * PERIOD + 1e-12
    np.testing.assert_allclose(last + gravity, most.torque)
    np.testing.assert_allclose(most.torque, 0.5 * WALL_ROBOT.limits.torque)


WALL_ROBOT = build(WALL).robot


def test_speed_box_and_force_are_watched():
    still, nothing = np.zeros(7), np.zeros(6)
    most = replace(limits(), box=(np.array([0.0, -1.0, 0.0]), np.array([1.0, 1.0, 1.0])))
    inside = np.array([0.5, 0.0, 0.5])
    assert most.violation(still, inside, nothing) is None
    assert "joint 3 moved at 0.3 rad/s" in str(most.violation(0.3 * np.eye(7)[2], inside, nothing))
    assert "left its box: it was at (0.500, 0.000, 1.100) m" in str(
        most.violation(still, [0.5, 0.0, 1.1] + 0 * inside, nothing)
    )
    assert "31 N" in str(most.violation(still, inside, np.array([0, 31.0, 0, 0, 0, 0])))
    assert most.violation(still, inside, np.array([0, 29.0, 0, 0, 99.0, 0])) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"torque": 0.0}, "--torque.*share"),
        ({"speed": 2.0}, "--speed.*share"),
        ({"force": -1.0}, "--force must be"),
    ],
)
def test_limits_that_are_none_are_refused(options: dict[str, float], said: str):
    with pytest.raises(InvalidInput, match=said):
        limits_of(build(WALL), **options)


def test_a_simulated_run_beyond_the_limits_speaks_against_a_drive():
    run = build(WALL)
    with pytest.raises(InvalidInput, match=r"simulated.*joint \d moves at"):
        Drive(run, limits_of(run, speed=0.001)).rehearse()
    with pytest.raises(InvalidInput, match=r"simulated.*joint \d needs"):
        Drive(run, limits_of(run, torque=0.05)).rehearse()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("192.168.1.7", "palpate has never moved a real arm"),
        ("[::1]", "IPv6"),
        ("ros://127.0.0.1", "not an IP address"),
        ("127.99.99.99", "answers at 127.99.99.99"),
    ],
)
def test_what_cannot_be_connected_to_is_refused(address: str, said: str, capsys):
    pytest.importorskip("pylibfranka")
    assert main(["drive", "fr3-wall", address, "--quiet", "--set", "run.duration=0.01"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--connect", "fci://127.0.0.1", "--collision", "50"], "palpate drive fr3-wall 127.0.0.1 --move --force 50"),
        (["--connect", "fci://10.0.0.2", "--allow-network"], "palpate drive fr3-wall 10.0.0.2 --move --allow-network"),
    ],
)
def test_the_old_spelling_names_the_new_one(words: list[str], hint: str, capsys):
    assert main(["run", "fr3-wall", *words]) == 2
    assert hint in capsys.readouterr().err


def test_what_is_no_torque_at_one_kilohertz_is_refused():
    with pytest.raises(InvalidInput, match=r"torques.*sent"):
        Drive(build(load_scenario("ur5e-admittance")))
    with pytest.raises(InvalidInput, match=r"the robot's is 0.001 s"):
        Drive(build(WALL.replace(run__rate=500, world__driver__rate=0)))
