"""Published results: every printed formula beside what its inputs lead to, and a changed one is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from palpate.cli.main import main
from palpate.errors import InvalidInput, UnknownName
from palpate.tools.sheets.cases import read_cases, shipped_cases


def test_thirty_cases_and_more_of_five_books_and_more_agree(capsys: pytest.CaptureFixture[str]) -> None:
    cases = shipped_cases()
    assert len(cases) >= 30
    assert len({case.source for case in cases}) >= 5
    assert all(case.place for case in cases)
    assert main(["cases"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{len(cases)} cases: all agree"


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
