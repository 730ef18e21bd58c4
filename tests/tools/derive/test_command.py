"""`palpate derive`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from palpate.cli.main import main
from palpate.control.design.pole import PoleModel


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["derive", *words]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["derive", *words]) == 2
    return capsys.readouterr().err


def test_it_prints_the_equations_and_compares_them_with_the_robot(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "planar2"]) == 0
    out, err = capsys.readouterr()
    assert "M = [ m1 l1² + m2 (l1² + 2 l1 l2 c2 + l2²)" in out
    assert "Shorthand: c1 = cos q1" in out
    assert "numeric robot at 20 random states" in err


def test_quantities_are_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "planar2", "--quantity", "J,Lambda")
    assert "Geometric Jacobian" in out
    assert "Λ = " in out
    assert "Mass matrix" not in out


def test_parameters_of_the_catalogue_are_set(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "planar3", "--set", "length=0.5", "mass=5", "--numbers", "--quantity", "M")
    assert "M[11] = 5 + 3.75 c2 + 1.25 c23 + 1.25 c3" in out


@pytest.mark.parametrize("method", ["lagrange", "newton-euler", "projected"])
def test_steps_are_a_worked_solution(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "pendulum", "--method", method, "--steps")
    assert "Forward kinematics" in out
    assert "τ1 = m1 l1² q̈1 + m1 g l1 s1" in out


def test_all_methods_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "planar2", "--method", "all")
    assert [out.count(f"\n{title}\n") + out.startswith(title) for title in ("Lagrange", "Newton–Euler")] == [1, 1]
    assert "They agree, term" in out


def test_latex_and_python_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert r"\begin{bmatrix}" in printed(capsys, "planar2", "--latex")
    assert "def M_C_g(q, v, parameters=PARAMETERS):" in printed(capsys, "planar2", "--python")


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert printed(capsys, "planar2", "--html", str(page), "--steps").strip() == str(page)
    assert "<math" in page.read_text(encoding="utf-8")
    listed = printed(capsys, "planar2", "--c", str(tmp_path / "build")).split()
    assert [Path(name).name for name in listed] == ["planar2.h", "planar2.c", "planar2_test.c"]


def test_a_long_arm_says_how_it_was_derived(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "ur5e", "--quantity", "g")
    assert "note: ur5e has 6 joints, too" in out


def test_mistakes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown quantity 'X'" in refused(capsys, "planar2", "--quantity", "X")
    assert "--set takes KEY=VALUE" in refused(capsys, "planar2", "--set", "length")
    assert "robot 'planar2' 'lenght'" in refused(capsys, "planar2", "--set", "lenght=1")
    assert "unknown robot 'planar9'" in refused(capsys, "planar9")
    assert "closed form" in refused(capsys, "panda", "--engine", "closed")


def test_a_file_is_checked_and_its_slip_is_mended(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    right, file = "[m1*l1*c1*g + m2*g*(l1*c1 + l2*c12), m2*g*l2*c12]", tmp_path / "hand.txt"
    file.write_text(f"g = {right}\n")
    assert main(["derive", "planar2", "--check", str(file)]) == 0
    assert "all agree" in capsys.readouterr().out
    file.write_text(f"g = {right.replace('m2*g*l2*c12]', 'm2*g*l2*s12]')}\n")
    assert main(["derive", "planar2", "--check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "entry (1,2)" in out
    assert "mended: m2*g*l2*c12" in out


def test_the_readers_own_symbols_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "names.toml"
    path.write_text('l1 = "L"\nl2 = "L"\nq1 = "theta1"\nq2 = "theta2"\n', encoding="utf-8")
    text = printed(capsys, "planar2", "--names", str(path), "--quantity", "g")
    assert "m2 g L c12" in text
    path.write_text("l1 = 3\n", encoding="utf-8")
    assert main(["derive", "planar2", "--names", str(path)]) == 2
    assert main(["derive", "planar2", "--names", str(tmp_path / "none.toml")]) == 2


def test_quantities_are_numbers_at_a_posture(capsys: pytest.CaptureFixture[str]) -> None:
    import palpate as pp

    robot = pp.load_robot("planar2")
    text = printed(capsys, "planar2", "--quantity", "g,M", "--at=0.3,0.4")
    assert f"{robot.gravity([0.3, 0.4])[1]:.9f}" in text
    assert f"{robot.mass_matrix([0.3, 0.4])[0, 0]:.9f}" in text
    assert main(["derive", "planar2", "--at=0.3"]) == 2


def test_a_pendulum_hanging_down_swings_at_the_root_of_g_over_l(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "pendulum", "--linearise=0")
    assert "3.13209j" in text  # √9.81


def test_the_pole_on_an_end_effector_is_derived_from_its_energies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "pole"]) == 0
    out, err = capsys.readouterr()
    assert "M = [ 0         0         me + ms       −ms xAB/zAB             −ms yAB/zAB           ]" in out
    assert "power at 20 random states" in err
    assert "3.28497" in printed(capsys, "pole", "--linearise", "0,0,0,0,0")  # √((m_e + m_s) g/(m_e l))


def test_the_poles_numbers_are_those_of_its_model(capsys: pytest.CaptureFixture[str]) -> None:
    state = ("--at", "0,0,0,0.3,-0.4", "--rates", "0,0,0,1.5,2", "--set", "sphere_mass=0.2")
    out = printed(capsys, "pole", *state, "--quantity", "M,bias")
    M, bias = PoleModel(sphere_mass=0.2).mass_and_bias([0.3, -0.4], [1.5, 2.0])
    assert f"{M[4, 4]:.9f}" in out
    assert f"{bias[4]:.9f}" in out


def test_what_the_pole_does_not_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "pole 'mass'" in refused(capsys, "pole", "--set", "mass=1")
    assert "--task" in refused(capsys, "pole", "--task", "x")


def test_the_poles_own_latex_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pole.tex").write_text(printed(capsys, "pole", "--latex"), encoding="utf-8")
    assert "3 checked: all agree" in printed(capsys, "pole", "--check", str(tmp_path / "pole.tex"))
