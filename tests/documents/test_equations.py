"""Every equation number leads to one command; single claims run as printed beside the right form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate_documents.as_printed import distances_from_right, runs_as_printed
from palpate_documents.equations import LAST, all_equations, equations, numbers_in
from palpate_documents.printed_claims import (
    CLAIMS,
    DESIRED,
    STIFFNESS,
    TORQUE,
    euler_angle_run,
    euler_rates,
    quaternion_run,
)


def test_every_equation_number_has_a_command_and_a_claim_that_is_computed() -> None:
    for number, last in LAST.items():
        assert [one.number for one in equations(number)] == list(range(1, last + 1))
    for one in all_equations():
        assert one.claims, (one.document, one.number)
        assert one.command == f"palpate verify --claim {one.main.id}"
    assert numbers_in("(28)–(30), last line of (32)") == {28, 29, 30, 32}


@pytest.mark.parametrize("equation", ["36", "37", "38", "39", "40", "41", "31", "44"])
def test_gain_selection_and_the_admittance_equations_are_commands(
    equation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = equations("004")[int(equation) - 1]
    assert main(one.command.split()[1:]) == 0
    assert f"({equation})" in capsys.readouterr().out


def test_the_table_names_the_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "004", "--equations"]) == 0
    told = capsys.readouterr().out
    assert "palpate verify --claim 004.44 --as-printed" in told
    assert "004 (50)" in told


def test_the_error_with_the_printed_sign_turns_about_another_axis() -> None:
    wrong, right = quaternion_run(-1.0), quaternion_run(1.0)
    torque = pp.spatial.matrix_from_euler(DESIRED, "XYZ").T @ TORQUE
    steady = np.arcsin(np.linalg.norm(TORQUE) / STIFFNESS) * torque / np.linalg.norm(torque)
    np.testing.assert_allclose(right["q"][-1], steady, atol=2e-3)  # K sin θ = |μ|, about μ in the desired frame
    assert np.linalg.norm(wrong["q"][-1] - steady) > 0.02


def test_the_printed_entry_of_t_moves_the_equilibrium() -> None:
    for printed in (True, False):
        end = euler_angle_run(printed)["q"][-1]
        np.testing.assert_allclose(STIFFNESS * end, euler_rates(DESIRED + end, printed).T @ TORQUE, atol=0.02)
    phi, rate, h = np.array([0.4, -0.6, 0.9]), np.array([0.3, -0.5, 0.8]), 1e-6
    R = [pp.spatial.matrix_from_euler(phi + sign * h * rate, "XYZ") for sign in (1, -1)]
    omega = pp.spatial.rotation_vector_from_matrix(R[0] @ R[1].T) / (2 * h)
    np.testing.assert_allclose(euler_rates(phi, False) @ rate, omega, atol=1e-8)
    assert (euler_rates(phi, True) @ rate)[1] == pytest.approx(-0.7474729334, abs=1e-9)


def test_a_pure_force_turns_the_frame_only_as_printed() -> None:
    (_, wrong), (_, right) = runs_as_printed("004.44")
    assert np.abs(right["q"]).max() < 1e-9
    assert np.linalg.norm(wrong["q"][-1]) > 0.03


def test_the_command_of_the_printed_jacobian_leaves_the_direction() -> None:
    runs = runs_as_printed("001.J0")
    across = []
    for _, trace in runs:
        path = trace["tool_position"] - trace["tool_position"][0]
        along = path[1] / np.linalg.norm(path[1])
        across.append(np.abs(path - np.outer(path @ along, along)).max())
    assert across[0] > 5 * across[1]
    assert distances_from_right(runs)[0] is not None


def test_every_claim_that_runs_is_compared_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(CLAIMS) == {"001.J0", "004.epsilon", "004.35", "004.44"}
    assert main(["verify", "--claim", "004.35", "--as-printed"]) == 0
    assert "as printed: −cos φ sin φ" in capsys.readouterr().out
    assert list(tmp_path.glob("*.html"))
