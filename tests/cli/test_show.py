"""`palpate show`: against closed forms and against the robot itself."""

from __future__ import annotations

import json
import math
import re
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
    assert re.search(r"note: joint2 = -3 rad.*beyond.*\[-2\.094, 2\.094\]", out)
    assert out.count("beyond its limits") == 1
    assert "beyond its limits" not in shown(capsys, "iiwa14")


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


def terms(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    return json.loads(shown(capsys, *words, "--json"))


def test_terms_of_a_robot_with_parameters_are_those_an_exercise_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Document 001, exercise 2."""
    words = ("--set", "length=0.5", "--set", "mass=5", "--q", "pi/2", "pi/2", "0", "--terms", "M,J,Mp,eig")
    found = terms(capsys, "planar3", *words)
    np.testing.assert_allclose(found["M"][0], [25 / 4, 10 / 3, 25 / 24], atol=1e-12)
    np.testing.assert_allclose(found["J"], [[-0.5, 0, 0], [-1, -1, -0.5]], atol=1e-12)
    np.testing.assert_allclose(found["Mp"], [[35 / 3, 0], [0, 35 / 24]], atol=1e-11)
    np.testing.assert_allclose(found["eig"], [35 / 3, 35 / 24], atol=1e-11)


def test_terms_of_a_stop(capsys: pytest.CaptureFixture[str]) -> None:
    """Document 001, exercise 1, on the true robot."""
    state = ("--q", "0", "pi/2", "pi/2", "--v", "pi", "pi", "0", "--limits", "15pi", "10pi", "10pi")
    found = terms(capsys, "planar3", *state, "--terms", "a b lambda_i lambda u pdd")
    np.testing.assert_allclose(found["a"], [-math.pi, -math.pi, 0], atol=1e-12)
    np.testing.assert_allclose(found["b"], np.array([10, -1, -11]) * math.pi**2 / 3, atol=1e-11)
    assert found["lambda_i"][2] == "-inf"
    assert found["lambda"] == pytest.approx(20 - 4 * math.pi, abs=1e-9)
    np.testing.assert_allclose(found["pdd"], -found["lambda"] * np.array([-2, -1]) * math.pi, atol=1e-9)
    law = terms(capsys, "planar3", *state, "--method", "pseudoinverse", "--terms", "lambda")
    assert law["lambda"] == "-inf"


def test_terms_of_the_three_link_arm_are_those_of_document_004(capsys: pytest.CaptureFixture[str]) -> None:
    state = ("--q", "0.3", "-0.7", "1.1", "--v", "0.5", "-1.2", "0.8")
    found = terms(capsys, "ur5e-3link", *state, "--terms", "M,B,C,c,g,J6")
    assert found["M"][1][1] == pytest.approx(1.5668412613, abs=1e-9)
    assert found["B"] == found["M"]
    np.testing.assert_allclose(np.array(found["C"]) @ [0.5, -1.2, 0.8], found["c"], atol=1e-12)
    np.testing.assert_allclose(found["c"], [-0.5302065666, 0.1984594366, 0.4167409215], atol=1e-9)
    np.testing.assert_allclose(found["g"], [0, -28.1513814184, -6.2282556792], atol=1e-9)
    assert np.shape(found["J6"]) == (6, 3)


def test_terms_of_the_pole_are_those_of_document_000(capsys: pytest.CaptureFixture[str]) -> None:
    found = terms(capsys, "pole", "--set", "length=1", "sphere_mass=0.1", "--terms", "K7,K10,eig")
    np.testing.assert_allclose(found["K7"], [-1, -27.693529808075, -8.575424715232], atol=1e-8)
    assert len(found["K10"]) == 4
    assert found["eig"][-1] == pytest.approx(3.284965753246, abs=1e-9)
    text = shown(capsys, "pole")
    assert "K10: LQR gains" in text
    assert "-27.69353" in text


_ON_A_FLOOR = ("planar2", "--q", "0.6", "-1.2", "--plane", "0", "0", "0", "0", "1", "0")


def test_one_state_in_contact_obeys_the_equation_of_motion_and_coulombs_law(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = terms(
        capsys, *_ON_A_FLOOR, "--v", "0.5", "-1", "--tau", "2", "1", "--friction", "0.3",
        "--terms", "M,c,g,J,h,vdot,modes,forces,pdot",
    )  # fmt: skip
    x = {name: np.array(value) for name, value in found.items()}
    assert found["modes"] == ["sliding"]
    force = x["forces"][0, :2]
    assert force[1] > 0
    assert force[0] == pytest.approx(-0.3 * force[1] * np.sign(x["pdot"][0]), rel=1e-12)
    np.testing.assert_allclose(x["M"] @ x["vdot"] + x["c"] + x["g"], [2, 1] + x["J"].T @ force, atol=1e-12)
    assert (x["J"] @ x["vdot"] + x["h"])[1] == pytest.approx(0.0, abs=1e-12)


def test_one_impact_without_friction_has_its_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    """P = −(1 + e) u/(n·J M⁻¹ Jᵀ n), ΔT = ½ (1 − e²) u²/(n·J M⁻¹ Jᵀ n)."""
    found = terms(capsys, *_ON_A_FLOOR, "--v", "0", "-1", "--restitution", "0.5", "--terms", "M,J,vafter,impulses,loss")
    row = np.array(found["J"])[1]
    mobility, u = row @ np.linalg.solve(found["M"], row), row @ [0, -1]
    assert found["impulses"][0] == pytest.approx([0, -1.5 * u / mobility, 0], abs=1e-12)
    assert row @ found["vafter"] == pytest.approx(-0.5 * u, rel=1e-12)
    assert found["loss"] == pytest.approx(0.5 * 0.75 * u**2 / mobility, rel=1e-12)


def test_a_hanging_double_pendulum_has_its_two_frequencies(capsys: pytest.CaptureFixture[str]) -> None:
    """Two unit masses on two unit links: ω² = g (2 ± √2)."""
    found = terms(capsys, "planar2", "--q", "-pi/2", "0", "--terms", "Alin Blin rates M")
    omega = sorted({abs(round(imaginary, 9)) for _, imaginary in found["rates"]})
    np.testing.assert_allclose(omega, np.sqrt(9.81 * (2 + np.sqrt([2, 2]) * [-1, 1])), atol=1e-8)
    np.testing.assert_allclose(np.array(found["Blin"])[2:] @ found["M"], np.eye(2), atol=1e-9)
    assert np.shape(found["Alin"]) == (4, 4)


def test_gains_put_both_poles_at_the_rate_asked_for_or_at_that_of_the_stop(capsys: pytest.CaptureFixture[str]) -> None:
    state = ("planar3", "--q", "0", "pi/2", "pi/2", "--v", "pi", "pi", "0", "--limits", "15pi", "10pi", "10pi")
    given = terms(capsys, *state[:-4], "--rate", "10", "--terms", "K,D,Mp")
    np.testing.assert_allclose(given["K"], 100 * np.array(given["Mp"]), atol=1e-11)
    np.testing.assert_allclose(given["D"], 20 * np.array(given["Mp"]), atol=1e-11)
    stop = terms(capsys, *state, "--terms", "K,Mp,lambda")
    np.testing.assert_allclose(stop["K"], stop["lambda"] ** 2 * np.array(stop["Mp"]), atol=1e-11)


def test_forces_and_torques_at_rest(capsys: pytest.CaptureFixture[str]) -> None:
    """10 N downwards at the tip of two unit links: lever arms 2 cos 0.6 and cos 0.6 m."""
    torque = terms(capsys, "planar2", "--q", "0.6", "-1.2", "--force", "0", "-10", "--terms", "tauF")["tauF"]
    np.testing.assert_allclose(torque, -10 * math.cos(0.6) * np.array([2, 1]), rtol=1e-12)
    words = [str(x) for x in torque]
    force = terms(capsys, "planar2", "--q", "0.6", "-1.2", "--tau", *words, "--terms", "Ftau")["Ftau"]
    np.testing.assert_allclose(force, [0, -10], atol=1e-12)


def test_least_torques_under_a_pole_give_its_foot_the_acceleration_of_the_force(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An upright pole under f = (m_e + m_s) g e_z stays where it is, and so does the arm under the sphere's weight."""
    found = terms(capsys, "iiwa14", "--force", "0", "0", "10.791", "--pole", "0", "0", "1", "--terms", "tauf,g,J6,M")
    J, M = np.array(found["J6"]), np.array(found["M"])
    held = np.array(found["tauf"]) - found["g"] - J[2] * 0.1 * 9.81
    np.testing.assert_allclose(J @ np.linalg.solve(M, held), np.zeros(6), atol=1e-9)


def test_the_poles_terms_at_a_state_are_those_of_document_000(capsys: pytest.CaptureFixture[str]) -> None:
    state = ("--q", "0.3", "-0.4", "--v", "1.5", "2", "--force", "1", "-2", "12")
    found = terms(capsys, "pole", *state, "--terms", "M,C,a")
    right = [0.861482595125, -1.815310126833, 1.790134695040, 0.523691453624, -0.031588604832]
    np.testing.assert_allclose(found["a"], right, atol=1e-11)
    np.testing.assert_allclose(np.array(found["M"]) @ right + found["C"], [1, -2, 12, 0, 0], atol=1e-10)


def test_terms_as_text_have_a_meaning_a_unit_and_eight_digits(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "planar3", "--set", "length=0.5", "mass=5", "--q", "pi/2", "pi/2", "0", "--terms", "Mp,T,V")
    assert "Mp: Cartesian inertia (J M⁻¹ Jᵀ)⁻¹ [kg]" in text
    assert "11.666667" in text
    assert "T: kinetic energy [J]" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["planar3", "--terms", "Mq"], "unknown term 'Mq'"),
        (["planar3", "--terms", "a"], "needs bounds"),
        (["planar3", "--terms", "Mp", "--task", "x,w"], "unknown direction 'w'"),
        (
            ["planar3", "--terms", "a", "--limits", "1", "1", "1", "--method", "best", "--v", "1", "1", "1"],
            "unknown method",
        ),
        (["planar3", "--q", "pi/x", "0", "0"], "--q takes numbers"),
        (["planar3", "--set", "length"], "--set takes KEY=VALUE"),
        (["pole", "--set", "mass=1"], "unknown parameter"),
        (["pole", "--terms", "K9"], "unknown term"),
        (["pole", "--q", "1", "1", "--terms", "M"], "point up"),
        (["pole", "--force", "1", "--terms", "a"], "--force must"),
        (["planar2", "--terms", "tauF"], "term needs"),
        (["planar2", "--terms", "loss"], "impact needs"),
        (["planar2", "--force", "0", "1", "--terms", "tauf"], "term needs"),
        (["planar2", "--terms", "K"], "needs bounds"),
        (["planar2", "--q", "0.6", "-1.2", "--terms", "rates"], "this is not an equilibrium"),
        (["planar2", "--plane", *"000001", "--terms", "vdot"], "plane's normal"),
        ([*_ON_A_FLOOR, "--v", "0", "-1", "--terms", "vdot"], "an impact is due"),
    ],
)
def test_a_term_that_cannot_be_shown_is_refused(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", *words]) == 2
    assert told in capsys.readouterr().err
