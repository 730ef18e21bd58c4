"""Commands that once ended in silence where the ideal case ends: each is right now, refused, or says what is wrong."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.metrics import evaluate
from palpate.run.forecast.design import Design, design
from palpate.scenario.file.load import load_scenario


@dataclass(frozen=True)
class Ended:
    """A run at the command line: its exit code, what was printed, and its trace."""

    code: int
    printed: str
    folder: Path

    @property
    def trace(self) -> pp.Trace:
        return pp.load_trace(self.folder / "trace.parquet")

    def warned(self, words: str) -> bool:
        return any("warning" in line and words in line for line in self.printed.splitlines())


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(scenario: str, *changes: str, words: tuple[str, ...] = ()) -> Ended:
        line = ["run", scenario, "--no-report", "--strict", "--out", str(tmp_path / "out"), *words]
        code = main([*line, *(word for change in changes for word in ("--set", change))])
        return Ended(code, "".join(capsys.readouterr()), tmp_path / "out")

    return run


def designed(scenario: str, *changes: str) -> Design:
    """What `palpate design` knows of a scenario, without the search of limits."""
    return design(load_scenario(scenario, list(changes)), limits=False)


def test_1_the_feed_forward_of_document_001_is_there(command) -> None:
    found = command(
        "cartesian2-eigenvalues", "reference.kind=line", "reference.offset=[0.3,0.2,0]", "world.pushes=[]",
        "metrics={}",
    )  # fmt: skip
    trace = found.trace
    assert np.abs(trace["tau.feed_forward"]).max() > 8.0
    assert np.abs(trace["target_position"] - trace["tool_position"])[:, :2].max() < 1e-4


def test_2_the_three_joint_arm_of_document_004_yields_along_what_it_can_or_refuses(command) -> None:
    plant = ("robot.model=ur5e-3link", "world.plant.rotor_inertia=0.1", "robot.start={}")
    arm = (*plant, "metrics={}", "run.duration=9.5")
    refused = command("ur5e-admittance", *arm)
    assert refused.code == 2
    assert "only together" in refused.printed
    found = command("ur5e-admittance", *arm, 'control.directions=["x","y","z"]')
    moved = found.trace["tool_position"][-1] - found.trace["tool_position"][0]
    assert moved == pytest.approx((0.099, 0.199, 0.298), abs=2e-3)


def test_3_a_contact_that_rings_is_known_to_design_and_told_by_the_run(command) -> None:
    changes = ["robot.joints=ideal", "world.surfaces.wall.stiffness=1e5", "world.sensors.delay=5", "metrics={}"]
    rings = command("panda-wall", *changes, "run.duration=0.5")
    assert rings.code == 3
    assert rings.warned("rated speed")
    assert "UNSTABLE" in designed("panda-wall", *changes, "run.duration=0.5").warnings[0]
    late = command(
        "ur5e-admittance", "robot.joints=ideal", "world.pushes=[]", "metrics={}", "run.duration=5",
        "run.timestep=0.0001", "world.sensors.wrench.delay_time=0.002",
        'world.surfaces=[{name="wall",position=[0,0,0.18],normal=[0,0,1],stiffness=1e6}]',
        'reference={kind="line",offset=[0,0,-0.03],duration=1}',
    )  # fmt: skip
    assert late.code == 3
    assert late.warned("contact bounces")


def test_4_a_physics_step_that_hides_the_hold_is_known_to_design_with_its_number() -> None:
    found = designed(
        "cartesian2-eigenvalues", "control.stiffness=[2e4,2e4,0,0,0,0]", "control.damping=[5,2,0,0,0,0]",
        "world.pushes=[]", "run.duration=0.01", "run.rate=1000", "run.timestep=0.001", "metrics={}",
    )  # fmt: skip
    assert found.stable
    (hidden, *_) = [text for text in found.notes if "simulation at 1 ms" in text]
    assert float(hidden.split()[-1]) > 1.0  # the largest pole with steps of a quarter


def test_5_a_stop_that_cannot_keep_its_direction_says_so_and_does_not_lose_to_naive_braking(command) -> None:
    found = command("planar3-stop", "robot.start.v=[4.0841,4.0841,0]", "metrics={}")
    assert found.code == 3
    assert found.warned("the tool's direction could not be kept")
    speed = np.linalg.norm(found.trace["tool_twist"][:, :3], axis=1)
    stands = found.trace.time[int(np.argmax(speed < 0.02 * speed[0]))]
    assert stands < 0.115  # −U sign(Jᵀ ṗ) takes 0.105 s; it took 0.212 s
    assert np.diff(speed[:100]).max() < 1e-3 * speed[0]  # never faster


def test_6_the_pole_under_least_torque_keeps_clear_of_stops_and_ratings(command) -> None:
    found = command("iiwa14-pole", "control.self_motion=free", "control.nearest=torque")
    assert found.code == 0
    assert "steered clear" in found.printed
    assert "7 of 7 bounds kept" in found.printed


def test_6_a_panda_beyond_its_reach_names_the_joints_that_are_too_fast_or_at_their_stops(command) -> None:
    found = command(
        "panda-operational-space", 'reference={kind="hold",offset=[1.0,0.0,0.0]}', "run.duration=1.5", "metrics={}"
    )
    assert found.code in (1, 3)  # diverged, or warned of
    assert found.warned("rated speed") or found.warned("reached its stop")
    assert "singular posture" in found.printed


def test_7_one_noisy_sample_is_no_contact(command) -> None:
    noisy = ("world.sensors.wrench.noise_force=1.0", "metrics={}", "run.duration=1.4")
    found = command("panda-slide", *noisy)
    assert "contact made 1 times, lost 0 times" in found.printed
    assert np.abs(found.trace["contact_wrench"][:, 2]).max() < 30.0  # it was 45 N
    away = command("panda-slide", *noisy, "world.surfaces=[]")
    assert away.warned("contact was never made")


@pytest.mark.parametrize("arm", ["iiwa14", "ur5e"])
def test_8_force_control_left_to_its_defaults_is_stable_on_the_catalogues_arms(command, arm: str) -> None:
    found = command(
        "panda-slide", f"robot.model={arm}", "control={law=\"direct-force\"}", "reference.offset=[0,0,0]", "metrics={}",
        "world.surfaces=[]", "reference.wrench=[0,0,0,0,0,0]", "run.duration=1.0",
    )  # fmt: skip
    assert found.code == 0, found.printed
    assert np.abs(found.trace["v"]).max() < 0.1  # joint 7 was at 46 rad/s


def test_9_the_pole_is_seen_measured_and_refused_where_there_is_none(command) -> None:
    found = command("pole-alone", "run.duration=1.0", "metrics={}")
    assert found.code == 0, found.printed
    assert {"pole.AB", "pole.tilt", "law.f", "law.f_B"} <= set(found.trace)
    refused = command("iiwa14-push", 'control={law="pole-balance"}', "metrics={}")
    assert refused.code == 2
    assert re.search(r"none in.*world", refused.printed)


def test_10_the_compliant_pose_is_a_channel_and_meaningless_metrics_are_absent(command) -> None:
    found = command("ur5e-admittance", "run.duration=0.5", "metrics={}")
    assert any(name.startswith("law.") and "position" in name for name in found.trace)
    results = {result.name: result for result in evaluate(pp.simulate("iiwa14-pole"))}
    assert "not a step" in str(results["position_overshoot"].reason)  # it was 110
    assert re.search(r"joints.*none", str(results["joint_error_max"].reason))


def test_11_a_large_rotor_is_no_singular_posture(command) -> None:
    found = command(
        "panda-operational-space", "robot.model=sawyer", "world.plant.rotor_inertia=0.5", "run.duration=0.5",
        "reference.duration=3.0", "metrics={}",
    )  # fmt: skip
    assert "near a singular posture" not in found.printed


def test_a_fifo_in_the_place_of_a_sweep_is_refused_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "sweep.json")
    assert main(["sweep", "--resume", str(tmp_path)]) == 2
    assert "no regular file" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["mine", "[]", '{"a": 1}', '{"a": {"passed": "x"}}', None])
def test_runs_are_listed_whatever_lies_beside_them(content: str | None, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "pendulum", "--set", "run.duration=0.01", "--no-report", "--quiet", "--out", "runs/x"]) == 0
    metrics = tmp_path / "runs" / "x" / "metrics.json"
    metrics.unlink()
    if content is None:
        os.mkfifo(metrics)
    else:
        metrics.write_text(content)
    assert main(["list", "runs"]) == 0
    assert "pendulum" in capsys.readouterr().out
