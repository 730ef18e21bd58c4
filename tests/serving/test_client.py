"""A law of palpate as the client: it drives the served robot as it drives the simulated one."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.serving.conftest import serving

from moments import ENDLESS
from palpate.cli.main import main
from palpate.errors import InvalidInput
from palpate.run.build import build
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.serving.client import drive
from palpate.trace import Trace, load_trace

# All friction is compensated, so that formulas hold.
FREE = ["world.driver.viscous_compensation=1", "world.driver.coulomb_compensation=1"]
WALL = load_scenario("fr3-wall", FREE)


def driven(scenario: Scenario, served: Scenario = WALL, **options: float) -> tuple[Trace | Exception, Trace]:
    """What the client and the server say of the same motion."""
    said: list[Trace | Exception] = []

    def act() -> None:
        try:
            said.append(drive(build(scenario), server.address[0], **options))
        except InvalidInput as error:
            said.append(error)

    with serving(served) as server:
        thread = threading.Thread(target=act)
        thread.start()
        trace = server.serve(server.wait(ENDLESS))
        thread.join(ENDLESS)
    return said[0], trace


def test_a_law_drives_the_served_robot_as_it_does_in_a_run():
    scenario = WALL.replace(run__duration=2.5)
    told, served = driven(scenario, collision=100.0)
    run = simulate(scenario)
    assert isinstance(told, Trace)
    assert told.outcome.kind == "completed"
    assert np.abs(told["q"] - run["q"][:2500]).max() < 1e-4  # states come in single precision
    assert served["contact_force"].max() == pytest.approx(run["contact_force"].max(), rel=0.01)
    assert told["measured_wrench"][-1, 0] == pytest.approx(-run["contact_force"][-1], rel=0.02)


def test_a_reflex_ends_it_with_the_makers_word():
    told, served = driven(WALL.replace(run__duration=2.5), collision=5.0)
    assert isinstance(told, Trace)
    assert (told.outcome.kind, told.outcome.reason) == ("stopped", "the robot stopped the motion: cartesian_reflex")
    assert told.warnings == ("the robot stopped the motion: cartesian_reflex",)
    assert "cartesian_reflex" in served.warnings[0]


def test_an_arm_that_stands_elsewhere_is_refused():
    elsewhere = WALL.replace(robot__start__q=[0.1, -0.785, 0, -2.356, 0, 1.571, 0.785])
    told, _ = driven(WALL, elsewhere)
    assert isinstance(told, InvalidInput)
    assert "joint 1 is 0.1 rad off" in str(told)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--connect", "fci://192.168.1.7"], "palpate has never moved a real arm"),
        (["--connect", "fci://[::1]"], "IPv6"),
        (["--connect", "127.0.0.1"], "--connect takes fci://ADDRESS"),
        (["--connect", "ros://127.0.0.1"], "--connect takes fci://ADDRESS"),
        (["--connect", "fci://127.99.99.99"], "no robot answers at 127.99.99.99:1337"),
    ],
)
def test_what_cannot_be_connected_to_is_refused(words: list[str], said: str, tmp_path, capsys):
    assert main(["run", "fr3-wall", *words, "--quiet", "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err


def test_a_law_that_commands_positions_is_refused():
    with pytest.raises(InvalidInput, match="only torques are sent"):
        drive(build(load_scenario("ur5e-admittance")), "127.0.0.1")


def test_the_command_writes_a_folder_with_its_report(tmp_path):
    folder, said = tmp_path / "driven", []
    short = ["--set", "run.duration=0.3", "--set", "metrics={}"]

    def act() -> None:
        connect = ["--connect", f"fci://{server.address[0]}", "--out", str(folder), "--quiet"]
        said.append(main(["run", "fr3-wall", *short, *connect]))

    with serving(WALL) as server:
        thread = threading.Thread(target=act)
        thread.start()
        server.serve(server.wait(ENDLESS))
        thread.join(ENDLESS)
    assert said == [0]
    assert load_trace(folder / "trace.parquet").facts.physics == "fci"
    assert (folder / "report.html").exists()
