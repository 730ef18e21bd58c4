"""`palpate show`: against closed forms and against the robot itself."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from palpate.cli.main import main
from palpate.robot import catalogue
from palpate.robot.load import load_robot


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


def facts(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    return json.loads(shown(capsys, *words, "--json"))


def test_planar_arm_terms_are_the_textbook_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Two point masses of 1 kg at the ends of two links of 1 m, gravity along −y."""
    q1, q2, v1, v2 = 0.3, -0.5, 1.0, 0.25
    found = facts(capsys, "planar2", "--q", str(q1), str(q2), "--v", str(v1), str(v2))
    c1, s1, c12, s12 = math.cos(q1), math.sin(q1), math.cos(q1 + q2), math.sin(q1 + q2)
    c2, h = math.cos(q2), -math.sin(q2)
    gravity = 9.81 * np.array([2 * c1 + c12, c12])
    coriolis = np.array([h * (2 * v1 * v2 + v2**2), -h * v1**2])
    close = {"atol": 1e-11, "rtol": 0}  # the engine wants an inertia of every point mass: 1e-12 kg·m² each
    np.testing.assert_allclose(found["position"], [c1 + c12, s1 + s12, 0], **close)
    np.testing.assert_allclose(found["mass_matrix"], [[3 + 2 * c2, 1 + c2], [1 + c2, 1]], **close)
    np.testing.assert_allclose(found["gravity"], gravity, **close)
    np.testing.assert_allclose(found["bias"], gravity + coriolis, **close)
    np.testing.assert_allclose(np.array(found["jacobian"])[:2], [[-s1 - s12, -s12], [c1 + c12, c12]], **close)
    np.testing.assert_allclose(found["quat_wxyz"], [math.cos((q1 + q2) / 2), 0, 0, math.sin((q1 + q2) / 2)], **close)


def test_without_options_the_robot_stands_at_home(capsys: pytest.CaptureFixture[str]) -> None:
    found, robot = facts(capsys, "iiwa14"), load_robot("iiwa14")
    assert found["q"] == robot.home.tolist()
    assert found["v"] == [0.0] * 7
    assert found["bias"] == pytest.approx(found["gravity"], abs=1e-12)
    singular = np.linalg.svd(np.array(found["jacobian"]), compute_uv=False)
    assert found["smallest_singular_value"] == pytest.approx(singular[-1], rel=1e-9)


def test_json_holds_limits_with_null_for_none(capsys: pytest.CaptureFixture[str]) -> None:
    joints = facts(capsys, "iiwa14")["joints"]
    assert [j["torque"] for j in joints] == [320, 320, 176, 176, 110, 40, 40]
    assert {j["unit"] for j in joints} == {"rad"}
    assert facts(capsys, "pendulum")["joints"][0]["torque"] is None


def test_the_frame_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    found, robot = facts(capsys, "iiwa14", "--frame", "link4"), load_robot("iiwa14")
    assert found["frame"] == "link4"
    np.testing.assert_allclose(found["position"], robot.pose(robot.home, "link4").position, atol=1e-12)


@pytest.mark.parametrize("name", catalogue.names())
def test_the_text_fits_a_hundred_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, name).splitlines()
    assert max(map(len, lines)) <= 100
    for title in ("pose of frame", "mass matrix M(q)", "gravity", "Jacobian of frame", "smallest singular value"):
        assert any(line.startswith(title) for line in lines), title


def test_the_text_labels_numbers_with_joints_and_units(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.split() for line in shown(capsys, "cartesian2", "--q", "2", "-1").splitlines()]
    assert ["mass", "matrix", "M(q),", "kg"] in lines
    assert ["joint1", "2", "0"] in lines
    assert ["gravity,", "N"] in lines
    assert ["g(q)", "0", "9.81"] in lines
    assert ["position", "2", "-1", "0", "m"] in lines


def test_motion_adds_the_bias_and_the_drift(capsys: pytest.CaptureFixture[str]) -> None:
    assert "C(q,v) v" not in shown(capsys, "pendulum")
    moving = shown(capsys, "pendulum", "--v", "2")
    assert "C(q,v) v + g(q)" in moving
    assert "drift J̇ v" in moving


def test_a_posture_beyond_the_limits_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "iiwa14", "--q", "0", "-3", "0", "0", "0", "0", "0")
    assert "note: joint2 = -3 rad is beyond its limits [-2.094, 2.094]" in out
    assert out.count("note:") == 1
    assert "note:" not in shown(capsys, "iiwa14")


@pytest.mark.parametrize("words", [["0.1", "-2e-1"], ["0.1,-2e-1"], ["0.1,", "-0.2"]])
def test_numbers_may_be_negative_and_separated_by_spaces_or_commas(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert facts(capsys, "planar2", "--q", *words)["q"] == [0.1, -0.2]


def test_a_list_may_start_with_a_negative_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert facts(capsys, "planar2", "--q", "-1e-3,2")["q"] == [-0.001, 2.0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--q", "1", "2"], "q of iiwa14 must have shape (7,), got (2,)"),
        (["--v", "1"], "v of iiwa14 must have shape (7,), got (1,)"),
        (["--q", "0", "0", "nan", "0", "0", "0", "0"], "q of iiwa14 must be finite, got nan at joint3"),
        (["--q", "0", "0", "0", "0", "-inf", "0", "0"], "q of iiwa14 must be finite, got -inf at joint5"),
        (["--q", "ten"], "--q takes numbers in SI units, got 'ten'"),
        (["--frame", "tol"], "unknown frame 'tol'"),
    ],
)
def test_bad_input_is_refused_by_name(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "iiwa14", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"palpate: {message}")
