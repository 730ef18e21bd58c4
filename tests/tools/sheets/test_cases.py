"""Published results: every printed formula beside what its inputs lead to, and a changed one is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

from palpate.cli.main import main
from palpate.errors import InvalidInput, UnknownName
from palpate.tools.sheets.cases import read_cases, shipped_cases


def test_thirty_cases_and_more_of_five_books_and_more_agree(capsys: pytest.CaptureFixture[str]) -> None:
    cases = shipped_cases()
    assert len(cases) >= 30
    assert len({case.source for case in cases}) >= 5
    assert all(case.place for case in cases)
    read = [case for case in cases if case.read]
    assert len(read) >= 30
    assert len({case.source for case in read}) >= 5
    assert main(["cases"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{len(cases)} cases, {len(read)} compared")


def test_errata_differ_as_printed_and_one_that_agrees_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    errata = [case for case in shipped_cases() if case.erratum]
    assert len(errata) >= 4
    assert all(case.read and not case.verdict().agrees for case in errata)
    right = next(case for case in shipped_cases() if case.name == "underactuated.mass")
    assert replace(right, data={**right.data, "erratum": "none"}).outcome() == (
        False, "agrees, though an erratum is recorded",
    )  # fmt: skip
    assert main(["cases", "--errata"]) == 0
    assert f"{len(errata)} cases" in capsys.readouterr().out


def test_screws_lead_to_the_pose_and_the_jacobian_of_the_exponential() -> None:
    """Against SciPy's matrix exponential and differences of the pose."""
    case = next(case for case in shipped_cases() if case.name == "modern-robotics-library.jacobian-space")
    screws = np.array([[float(sp.Rational(cell)) for cell in row] for row in case.data["screws"]])
    at = np.array([float(sp.Rational(cell)) for cell in case.data["at"]])

    def pose(values: np.ndarray) -> np.ndarray:
        made = np.eye(4)
        for (wx, wy, wz, *v), value in zip(screws, values):
            made = made @ expm(value * np.array([[0, -wz, wy, v[0]], [wz, 0, -wx, v[1]], [-wy, wx, 0, v[2]], [0] * 4]))
        return made

    for k, step in enumerate(np.eye(4) * 1e-6):
        twist = (pose(at + step) - pose(at - step)) / 2e-6 @ np.linalg.inv(pose(at))
        column = [twist[2, 1], twist[0, 2], twist[1, 0], *twist[:3, 3]]
        np.testing.assert_allclose(np.array(case.right[:, k], dtype=float).ravel(), column, atol=1e-8)


def test_the_right_result_is_made_from_the_inputs() -> None:
    """A Jacobian against differences of the position, and a torque against energies, by numbers."""
    cases = {case.name: case for case in shipped_cases()}
    J, T = cases["siciliano.anthropomorphic-jacobian"].right, cases["siciliano.anthropomorphic"].right
    q = sp.symbols("theta_1:4")
    at = dict(zip((*q, *sp.symbols("a2 a3")), (0.3, -0.7, 1.1, 0.4, 0.35)))
    for k in range(3):
        ends = [np.array(T[:3, 3].subs({**at, q[k]: at[q[k]] + h}), dtype=float) for h in (1e-6, -1e-6)]
        np.testing.assert_allclose(
            (ends[0] - ends[1]) / 2e-6, np.array(J[:3, k : k + 1].subs(at), dtype=float), atol=1e-9
        )


def test_a_changed_formula_is_found_with_the_smallest_edit() -> None:
    case = next(case for case in shipped_cases() if case.name == "craig.rp1")
    wrong = replace(case, data={**case.data, "printed": case.printed.replace("+ 2 m_2 d", "+ m_2 d")})
    verdict = wrong.verdict()
    assert not verdict.agrees
    assert verdict.differences[0].kinds == ("factor of two",)


def test_ones_own_case_file_is_checked_and_bad_ones_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "exam.toml"
    text = 'source = "exam"\n[case.a]\nplace = "1"\nasked = "expression"\nnumbers = [["2*cos(pi/3)"]]\nprinted = "%s"\n'
    path.write_text(text % "1.000", encoding="utf-8")
    assert main(["cases", str(path)]) == 0
    path.write_text(text % "-1.000", encoding="utf-8")
    assert main(["cases", str(path)]) == 1
    assert "sign" in capsys.readouterr().out
    path.write_text(text % "1" + 'printer = "x"\n', encoding="utf-8")
    with pytest.raises(UnknownName, match="printer"):
        read_cases(path)
    path.write_text("a = 1", encoding="utf-8")
    with pytest.raises(InvalidInput, match="no case file"):
        read_cases(path)
    assert main(["cases", str(path)]) == 2
