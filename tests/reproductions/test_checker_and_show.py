"""Commands and calls that once gave a false or silent answer, each with the right one: checker, show, study, notes."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import InvalidInput, PalpateNote
from palpate.robot import catalogue
from palpate.robot.load import load_robot
from palpate.tools.review import check_derivation, check_file

# ------------------------------------------------------------------ the checker


@pytest.fixture(scope="module")
def planar2() -> Any:
    return pp.derive("planar2")


TORQUES = (
    "(m1*l1**2 + m2*(l1**2 + 2*l1*l2*c2 + l2**2))*ddq1 + m2*l2*(l1*c2 + l2)*ddq2 - m2*l1*l2*s2*(2*dq1*dq2 + dq2**2)"
    " + (m1 + m2)*g*l1*c1 + m2*g*l2*c12",
    "m2*l2*(l1*c2 + l2)*ddq1 + m2*l2**2*ddq2 + m2*l1*l2*s2*dq1**2 + m2*g*l2*c12",
)
GRAVITY = ("(m1 + m2)*g*l1*c1 + m2*g*l2*c12", "m2*g*l2*c12")
POSITION = ("l1*c1 + l2*c12", "l1*s1 + l2*s12")
LABELS = {"tau": (("tau_1", "tau_2"), TORQUES), "g": (("g_1", "g_2"), GRAVITY), "FK": (("x", "y"), POSITION)}
LABELS["p"] = (("p_x", "p_y"), POSITION)
LABELS["x_e"] = (("x_e", "y_e"), POSITION)
KINDS = {"p": "FK", "x_e": "FK"}


@pytest.mark.parametrize("case", LABELS)
def test_the_left_side_of_a_formula_counts(planar2: Any, case: str) -> None:
    """Every pair of labels with its own formulas agrees; exchanged, neither does."""
    what, (labels, right) = KINDS.get(case, case), LABELS[case]
    for k in range(2):
        assert check_derivation(f"{labels[k]} = {right[k]}", planar2, what)
        assert not check_derivation(f"{labels[k]} = {right[1 - k]}", planar2, what)


def test_labels_counted_from_0_are_rows_counted_from_0(planar2: Any) -> None:
    lines = r"g_0 = (m_1 + m_2) g l_1 c_1 + m_2 g l_2 c_{12} \\ g_1 = m_2 g l_2 c_{12}"
    assert check_derivation(lines, planar2, "g")
    assert not check_derivation(lines.replace("g_0 =", "g_2 ="), planar2, "g")


def test_a_wrong_y_is_mended_to_the_formula_of_y(planar2: Any) -> None:
    text = r"x_2 = l_1 c_1 + l_2 c_{12} \\ y_2 = l_1 c_1 + l_2 s_{12}"
    verdict = check_derivation(text, planar2, "FK")
    assert [step.agrees for step in verdict.steps] == [True, False]
    assert verdict.repaired
    assert check_derivation(f"y = {verdict.mended}", planar2, "FK")


def test_coordinates_of_the_tool_in_another_convention_agree_together_and_not_alone(planar2: Any) -> None:
    both = r"x = l_1 s_1 + l_2 s_{12} \\ y = l_1 c_1 + l_2 c_{12}"
    assert check_derivation(both, planar2, "FK").convention
    assert not check_derivation("x = l1*s1 + l2*s12", planar2, "FK")


def checked(capsys: pytest.CaptureFixture[str], folder: Path, text: str, robot: str = "planar2") -> tuple[int, str]:
    path = folder / "mine.txt"
    path.write_text(text, encoding="utf-8")
    code = main(["derive", robot, "--check", str(path)])
    return code, capsys.readouterr().out


CONSISTENT = {
    "FK": "FK = [l1*c1 + l2*c12; l1*s1 + l2*s12]",
    "J": "J = [-l1*s1-l2*s12, -l2*s12; l1*c1+l2*c12, l2*c12]",
    "V": "V = m1*g*l1*s1 + m2*g*(l1*s1+l2*s12)",
    "g": "g = [(m1+m2)*g*l1*c1 + m2*g*l2*c12; m2*g*l2*c12]",
}
LOST = {
    "J": "J = [l1*s1+l2*s12, l2*s12; l1*c1+l2*c12, l2*c12]",
    "g": "g = [-(m1+m2)*g*l1*c1 - m2*g*l2*c12; -m2*g*l2*c12]",
    "FK": "FK = [-l1*c1 - l2*c12; l1*s1 + l2*s12]",
    "V": "V = -m1*g*l1*s1 - m2*g*(l1*s1+l2*s12)",
}
# Angles from the y axis, clockwise: x = l1 s1 + …, y = l1 c1 + …
CLOCKWISE = {
    "FK": "FK = [l1*s1 + l2*s12; l1*c1 + l2*c12]",
    "J": "J = [l1*c1+l2*c12, l2*c12; -l1*s1-l2*s12, -l2*s12]",
    "V": "V = m1*g*l1*c1 + m2*g*(l1*c1+l2*c12)",
    "g": "g = [-(m1+m2)*g*l1*s1 - m2*g*l2*s12; -m2*g*l2*s12]",
    "M": "M = [m1*l1**2 + m2*(l1**2 + 2*l1*l2*c2 + l2**2), m2*l2*(l1*c2 + l2); m2*l2*(l1*c2 + l2), m2*l2**2]",
}


@pytest.mark.parametrize("wrong", [("J",), ("g",), ("J", "g"), ("FK",), ("V",)])
def test_a_sign_lost_in_one_formula_is_no_convention_of_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, wrong: tuple[str, ...]
) -> None:
    lines = CONSISTENT | {name: LOST[name] for name in wrong}
    code, told = checked(capsys, tmp_path, "\n".join(lines.values()))
    assert code == 1
    assert [name for name in lines if f"{name} (line {list(lines).index(name) + 1}): differs" in told] == list(
        name for name in lines if name in wrong
    )


def test_a_file_in_one_other_convention_agrees_throughout(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, told = checked(capsys, tmp_path, "\n".join(CLOCKWISE.values()))
    assert code == 0
    assert told.count("in another convention: q1 is measured from the y axis, in the opposite sense") == 4  # not of M


def test_a_slip_in_a_file_of_another_convention_is_mended_in_that_convention(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = CLOCKWISE | {"J": CLOCKWISE["J"].replace(", -l2*s12", ", -l2*c12")}
    code, told = checked(capsys, tmp_path, "\n".join(lines.values()))
    assert code == 1
    assert told.splitlines()[-1] == "5 checked: 1 differs"
    assert "mended: -l2*s12" in told


def test_free_motion_is_no_mistake_and_a_lost_torque_is_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pendulum = pp.derive("pendulum")
    assert check_derivation(r"\ddot\theta = -\frac{g}{l}\sin\theta", pendulum, "equation")
    assert check_derivation(r"m l^2 \ddot\theta + m g l \sin\theta = 0", pendulum, "equation")
    assert check_derivation(r"\ddot\theta = -9.81\sin\theta", load_robot("pendulum"), "equation")
    assert not check_derivation(r"\ddot\theta = -g\sin\theta", pendulum, "equation")
    assert not check_derivation(r"m l^2 \ddot\theta + m g \sin\theta = \tau", pendulum, "equation")
    arm = pp.derive("planar2")
    one, other = (f"equation: {text} = tau{k}" for k, text in enumerate(TORQUES, 1))
    (tmp_path / "two.txt").write_text(f"{one}\n{other}", encoding="utf-8")
    assert all(verdict.agrees for _, verdict in check_file(arm, tmp_path / "two.txt"))
    (tmp_path / "lost.txt").write_text(f"{one}\n{other.replace('= tau2', '= 0')}", encoding="utf-8")
    assert [verdict.agrees for _, verdict in check_file(arm, tmp_path / "lost.txt")] == [True, False]
    assert checked(capsys, tmp_path, r"\ddot\theta = -\frac{g}{l}\sin\theta", "pendulum")[0] == 0


SMALL = ("cartesian2", "pendulum", "planar2", "planar3", "planar3-vertical", "point3", "scara", "ur5e-3link")
# All that the checker takes: a free base has quaternions, which it refuses by name.
ARMS = [
    pytest.param(name, marks=() if name in SMALL else pytest.mark.slow)
    for name in catalogue.names()
    if name != "quadruped"
]


@pytest.mark.parametrize("name", ARMS)
def test_what_derive_prints_closes_through_check(name: str, tmp_path: Path) -> None:
    robot = load_robot(name)
    derivation = pp.derive(robot)
    for text in (derivation.latex(), derivation.text(), derivation.python("M", "C", "g")):
        path = tmp_path / "own.txt"
        path.write_text(text, encoding="utf-8")
        verdicts = check_file(robot, path)
        assert {str(formula.what) for formula, _ in verdicts} >= {"M", "C"}
        assert all(verdict.agrees and not verdict.convention for _, verdict in verdicts)


@pytest.mark.parametrize("name", ["scara", "ur5e"])
def test_every_line_that_a_derivation_prints_is_used(name: str) -> None:
    derivation = pp.derive(name)
    for quantity in ("M", "C", "g"):
        lines = derivation.definitions(quantity)
        used = derivation[quantity].free_symbols.union(*(expression.free_symbols for _, expression in lines))
        assert {symbol for symbol, _ in lines} <= used


# ------------------------------------------------------------------ show and derive


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["show", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


POSTURE = (0.0, -0.8, 0.0, -1.9, 0.0, -1.1, 0.0)
UPRIGHT = ("--force", "0", "0", "10.791", "--pole", "0", "0", "1", "--terms", "tauf")


def test_torques_under_a_pole_hold_the_end_effector_too(capsys: pytest.CaptureFixture[str]) -> None:
    """f = (m_e + m_s) g upwards holds the pole: τ is the arm's gravity with 1 kg, and 0.1 kg more, by virtual work."""
    bare = shown(capsys, "iiwa14", "--q", *map(str, POSTURE), *UPRIGHT)
    scenario = shown(capsys, "iiwa14-pole", *UPRIGHT)
    loaded = load_robot("iiwa14").with_payload(1.0)
    J, M = loaded.jacobian(POSTURE), loaded.mass_matrix(POSTURE)
    holding = loaded.gravity(POSTURE) + 0.1 * 9.81 * J[2]
    for found in (bare, scenario):
        assert found["tauf"][3] == pytest.approx(24.3635, abs=1e-4)
        np.testing.assert_allclose(J @ np.linalg.solve(M, found["tauf"] - holding), np.zeros(6), atol=1e-9)
    assert "1 kg" in bare["of"]
    assert "payload of 1 kg" in scenario["of"]


def test_masses_and_length_of_a_pole_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    force = str(2.3 * 9.81)
    words = ("--force", "0", "0", force, "--pole", "0", "0", "0.5", "--payload", "2", "--sphere", "0.3")
    found = shown(capsys, "iiwa14", "--q", *map(str, POSTURE), *words, "--terms", "tauf")
    loaded = load_robot("iiwa14").with_payload(2.0)
    J, M = loaded.jacobian(POSTURE), loaded.mass_matrix(POSTURE)
    holding = loaded.gravity(POSTURE) + 0.3 * 9.81 * J[2]
    np.testing.assert_allclose(J @ np.linalg.solve(M, found["tauf"] - holding), np.zeros(6), atol=1e-9)


def test_the_direction_of_a_scenarios_pole_is_that_at_the_start_of_its_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("iiwa14-pole", "--set", "world.pole.tilt=[0.1,0.0872665]", "--force", "1", "-2", "12", "--terms", "tauf")
    own = shown(capsys, *words)["tauf"]
    scenario = pp.load_scenario("iiwa14-pole").replace(world__pole__tilt=[0.1, 0.0872665], run__duration=0.002)
    direction = [repr(float(x)) for x in pp.simulate(scenario)["pole.AB"][0]]
    np.testing.assert_allclose(shown(capsys, *words, "--pole", *direction)["tauf"], own, atol=1e-9)


@pytest.mark.parametrize("words", [("cartesian2", "--set", "mass=[3,2]"), ("cartesian2-eigenvalues",)])
def test_unequal_masses_can_be_asked_for(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    found = shown(capsys, *words, "--rate", "7", "--terms", "K,D")
    np.testing.assert_allclose(found["K"], np.diag([245.0, 98.0]), atol=1e-11)
    np.testing.assert_allclose(found["D"], np.diag([70.0, 28.0]), atol=1e-11)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("cartesian2-eigenvalues", "--rate", "7"), "--rate"),
        (("iiwa14-pole", "--q", "0"), "--q"),
        (("iiwa14-pole", "--payload", "2", "--terms", "M"), "--payload"),
        (("planar2", "--rate", "7"), "--rate"),
        (("planar2", "--rate", "7", "--terms", "M"), "--rate"),
        (("planar2", "--friction", "0.3", "--terms", "vdot"), "--friction"),
        (("pole", "--joints", "ideal"), "--joints"),
    ],
)
def test_an_option_that_nothing_uses_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], option: str
) -> None:
    assert main(["show", *words]) == 2
    assert option in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ur10e", "panda"])
def test_ideal_joints_give_the_mass_matrix_of_the_links(capsys: pytest.CaptureFixture[str], name: str) -> None:
    ideal = shown(capsys, name, "--joints", "ideal", "--terms", "M")
    built = shown(capsys, name, "--joints", "as-built", "--terms", "M")
    robot = load_robot(name)
    rotors = robot.model.dof_armature[robot.coordinates.kept]
    assert np.any(rotors > 0)
    np.testing.assert_allclose(np.array(built["M"]) - ideal["M"], np.diag(rotors), atol=1e-12)
    assert "no rotor inertia in M" in ideal["of"]
    assert "rotor inertia" in built["of"]


@pytest.mark.parametrize("name", ["ur10e", "panda"])
def test_the_mass_matrix_of_ideal_joints_is_the_sum_over_the_links(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """M = Σ m Jₚᵀ Jₚ + Jᵣᵀ I Jᵣ, link by link, as a URDF's inertials give it."""
    robot = load_robot(name)
    model, data = robot.model, mujoco.MjData(robot.model)
    data.qpos[:] = robot.home
    mujoco.mj_forward(model, data)
    M = np.zeros((robot.nv, robot.nv))
    for body in range(1, model.nbody):
        moving, turning = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBodyCom(model, data, moving, turning, body)
        axes = data.ximat[body].reshape(3, 3)
        inertia = axes @ np.diag(model.body_inertia[body]) @ axes.T
        M += model.body_mass[body] * moving.T @ moving + turning.T @ inertia @ turning
    np.testing.assert_allclose(shown(capsys, name, "--joints", "ideal", "--terms", "M")["M"], M, atol=1e-12)


def test_terms_of_the_task_are_those_that_derive_has(capsys: pytest.CaptureFixture[str]) -> None:
    q, v = [0.3, 0.5], [1.0, 2.0]
    found = shown(capsys, "planar2", "--q", *map(str, q), "--v", *map(str, v), "--terms", "mu,p,Mp")
    derivation = pp.derive("planar2")
    np.testing.assert_allclose(found["mu"], derivation.function("mu")(q, v), atol=1e-10)
    np.testing.assert_allclose(found["p"], derivation.function("p")(q), atol=1e-10)
    np.testing.assert_allclose(found["Mp"], derivation.function("Lambda")(q), atol=1e-10)


@pytest.mark.parametrize("quantity", ["Lambda", "mu", "p"])
@pytest.mark.parametrize("posture", ["0,0", "0.4,pi"])
def test_a_singular_task_has_no_inertia_to_print(
    capsys: pytest.CaptureFixture[str], quantity: str, posture: str
) -> None:
    assert main(["derive", "planar2", "--quantity", quantity, f"--at={posture}", "--task", "x,y"]) == 2
    told = capsys.readouterr()
    assert "singular" in told.err
    assert "nan" not in told.out


@pytest.mark.parametrize("words", [("--rates=1,2",), ("--equal", "L=l1,l2"), ("--conventions", "strict")])
def test_derive_refuses_options_that_nothing_uses(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main(["derive", "planar2", *words]) == 2
    assert words[0].partition("=")[0] in capsys.readouterr().err


def test_shares_of_pi_are_exact_in_a_linearisation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "pendulum", "--linearise=pi/2"]) == 0
    quarter = capsys.readouterr().out
    assert "K = 0" in quarter
    assert "τ1 = m1 g l1" in quarter
    assert main(["derive", "pendulum", "--linearise=pi"]) == 0
    assert "τ1 = 0" in capsys.readouterr().out


def test_derive_can_leave_rotor_inertia_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "ur10e", "--quantity", "M"]) == 0
    assert "Ir1" in capsys.readouterr().out
    assert main(["derive", "ur10e", "--quantity", "M", "--joints", "ideal"]) == 0
    assert "Ir1" not in capsys.readouterr().out


# ------------------------------------------------------------------ many runs


def test_a_range_in_numpys_words_is_translated() -> None:
    with pytest.raises(InvalidInput, match="5:50:4") as refused:
        pp.sweep("pendulum", {"run.duration": "linspace(5, 50, 4)"}, runs=4)
    assert refused.value.hint is not None


# ------------------------------------------------------------------ notes in Python


def test_python_tells_what_the_terminal_tells() -> None:
    scenario = pp.load_scenario("panda-wall").replace(control__law="computed-torque", run__duration=0.1)
    with pytest.warns(PalpateNote) as told:
        trace = pp.simulate(scenario)
    texts = [str(one.message) for one in told]
    assert any("ignored" in text for text in texts)
    assert any("no surface" in text for text in texts)
    for shown_text in (repr(trace), trace._repr_html_()):
        assert "completed at 0.1 s" in shown_text
        assert "no surface" in shown_text
        assert "force_peak" in shown_text


def test_a_sound_run_gives_no_note_and_shows_its_contact() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PalpateNote)
        trace = pp.simulate("panda-wall")
    lines = repr(trace).splitlines()
    assert sum(" N" in line or " s" in line or " m" in line for line in lines[2:]) >= 4
    assert re.search(r"contact.*0\.899.*most 20\.22 N", repr(trace))
    assert re.search(r"contact.*0\.899.*most 20\.22 N", trace._repr_html_())
    assert not trace.facts.notes


def test_commands_and_sweeps_give_no_python_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PalpateNote)
        words = ["--set", "control.law=computed-torque", "--set", "run.duration=0.1", "--no-report"]
        assert main(["run", "panda-wall", *words]) == 1
        assert "no surface" in capsys.readouterr().out
        scenario = pp.load_scenario("panda-wall").replace(control__law="computed-torque", run__duration=0.1)
        found = pp.sweep(scenario, {"run.seed": [1, 2]}, workers=0)
        assert len(found.trace(0)) > 1
