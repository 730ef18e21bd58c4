"""Documents as they are written: what is right agrees, what is wrong is found in its place, the rest has a reason.

The formulas of three documents stand in `data` as printed, faults of reading included.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.toml import toml_data
from palpate.tools.sheets import Finding, Sheet, check_document

DATA = Path(__file__).parent / "data"


def found(sheet: Sheet, label: str) -> list[Finding]:
    return [one for one in sheet.findings if one.label.replace(" ", "") == label.replace(" ", "")]


def marks(sheet: Sheet, label: str) -> list[str]:
    return [one.mark for one in found(sheet, label)]


@pytest.fixture(scope="module")
def wall() -> Sheet:
    return check_document(pp.load_robot("planar2"), DATA / "wall.md")


@pytest.fixture(scope="module")
def summary() -> Sheet:
    return check_document([pp.load_robot("planar3"), pp.load_robot("pendulum")], DATA / "summary.md")


@pytest.fixture(scope="module")
def admittance() -> Sheet:
    text = (resources.files("palpate_documents.d004") / "names.toml").read_text(encoding="utf-8")
    return check_document(pp.load_robot("ur5e-3link"), DATA / "admittance.md", symbols=toml_data(text))


def test_kinematics_and_energies_on_the_wall_are_right(wall: Sheet) -> None:
    for label in ("x_1", "y_1", r"\dot{x}_1", r"\dot{y}_1", "x_2", "y_2", r"\dot{x}_2", r"\dot{y}_2"):
        assert marks(wall, label)[-1] == "agrees", label
    assert marks(wall, "KE") == ["agrees"] * 4
    assert marks(wall, "PE") == ["skipped", "agrees"]  # m g y_1: the arm has m1 and m2
    assert marks(wall, "L") == ["agrees", "agrees"]
    assert marks(wall, r"\frac{\partial L}{\partial \dot{\theta}_1}") == ["agrees"]
    assert marks(wall, r"\frac{\partial L}{\partial \theta_1}") == ["agrees"]


def test_the_momentums_rate_lacks_a_factor_of_two_and_the_torque_a_term(wall: Sheet) -> None:
    (rate,) = found(wall, r"\frac{d}{dt}\left(\frac{\partial L}{\partial \dot{\theta}_1}\right)")
    assert rate.slips[0].startswith("factor of two: 4 s_{1} c_{1}")
    ((first, last),) = rate.spans
    assert wall.source.text[first:last] == "4"
    symbolic, second, third = found(wall, "T_1")
    assert symbolic.mark == "skipped"
    assert second.slips[0].startswith("factor of two")
    assert third.slips == (r"missing term: 2 \dot{q}_{1}^{2} \sin\left(2 q_{1}\right) is missing",)
    assert any("joint alone" in note for note in third.notes)


def test_second_torques_are_told_from_their_convention(wall: Sheet) -> None:
    free, put_in, rotated = found(wall, "T_2")
    assert any("y axis" in note for note in free.notes)
    assert put_in.slips[0].startswith("sign: ")
    assert rotated.slips[0].startswith(r"sign: -\cos")


def test_forces_at_the_tip_go_through_the_transposed_jacobian(wall: Sheet) -> None:
    torques = [one for one in found(wall, r"\begin{bmatrix} T_1 \\ T_2 \end{bmatrix}") if one.judged]
    assert [one.slips for one in torques] == [("wrong matrix: (J^T)^{-1} should be J^T",)]
    row, column = (one for one in wall.wrong if one.label.startswith(r"\begin{bmatrix} F_x"))
    assert row.slips == ("wrong matrix: J should be J^{-1}",)
    assert column.slips == ("wrong matrix: J^T should be (J^T)^{-1}",)
    assert marks(wall, "J") == ["convention", "agrees"]


def test_every_formula_of_the_planar_arm_and_the_pendulum_is_judged(summary: Sheet) -> None:
    right = (
        r"\chi_{eP}(q)", r"\chi_{eR}", r"\mathbf{J}_{eAP}(q)", r"\mathbf{J}_{eAR}", "T", "V", "L",
        r"\frac{d}{dt} \left(\frac{\partial L}{\partial \dot{\theta}} \right)",
        r"m \ell^2 \ddot{\theta} + m \ell g \sin \theta", r"\ddot{\theta} + \frac{g}{\ell} \sin \theta",
    )  # fmt: skip
    for label in right:
        assert marks(summary, label)[-1] == "agrees", label
    (wrong,) = summary.wrong
    assert wrong.label == r"\frac{\partial L}{\partial \theta}"
    assert wrong.slips[0].startswith("sign: ")
    assert all(one.reason for one in summary.of("skipped"))


def test_mass_matrix_coriolis_gravity_and_jacobian_of_three_links_are_judged(admittance: Sheet) -> None:
    for label in (r"\mathbf{g}(\mathbf{q})", r"\mathbf{J}(\mathbf{q})", r"E_{\text{pot}}(\mathbf{q})"):
        assert marks(admittance, label) == ["agrees"], label
    for label in (
        r"\mathbf{T}_{3}^{0}",
        r"\mathbf{p}_{c3}^{0}",
        r"\mathbf{J}_{P}^{l_{2}}",
        r"\mathbf{I}_{l_1}(\mathbf{q})",
    ):
        assert marks(admittance, label) == ["agrees"], label
    (B,) = found(admittance, r"\mathbf{B}(\mathbf{q})")
    assert any("symbol throughout: I_{11,1} stands where I_{31,1} is meant" in slip for slip in B.slips)
    (C,) = found(admittance, r"\mathbf{C}(\mathbf{q}, \dot{\mathbf{q}})")
    assert C.verdict is not None
    assert [one.entry for one in C.verdict.differences] == [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]
    assert any("symbol throughout: I_{12,2} stands where I_{22,2} is meant" in slip for slip in C.slips)
    assert [one.label for one in admittance.wrong].count(r"E_{\rm kin}(\mathbf{q}, \dot{\mathbf{q}})") == 0
    assert any(one.reason.startswith("follows from") for one in admittance.of("skipped"))


def test_the_page_shows_the_document_with_its_marks(wall: Sheet) -> None:
    page = wall.html()
    assert "default-src 'none'" in page
    assert '<i class="slip">4</i>' in page
    assert page.count('class="row') == wall.source.text.count("\n") + 1
    assert "<script" not in page


def test_the_command_prints_text_and_json_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "marked.html"
    command = ["derive", "planar3", "--also", "pendulum", "--check", str(DATA / "summary.md"), "--html", str(page)]
    assert main(command) == 1
    assert "12 checked: 1 differs" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main([*command, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["judged"], data["wrong"]) == (12, 1)
    assert main(["derive", "planar2", "--json"]) == 2


def test_a_notebook_is_read_cell_by_cell_and_a_magic_judges_one(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["Take $h = -m_2 l_1 l_2 s_2$.\n", "$$V = m_1 g l_1 c_1$$"]},
        {"cell_type": "code", "source": ["import os\n", "count = 0\n", "g_2 = m2*g*l2*cos(q1 + q2)\n"]},
    ]
    path = tmp_path / "notes.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    sheet = check_document(pp.load_robot("planar2"), path)
    assert [(one.cell, one.line, one.mark) for one in sheet.judged] == [(1, 2, "differs"), (2, 3, "agrees")]
    registered = {}

    class Shell:
        def register_magic_function(self, function, kind, name) -> None:
            registered[kind, name] = function

    pp.sheets.load_ipython_extension(Shell())
    shown = registered["cell", "derivation"]("pendulum", r"$$V = -m g l \cos\theta$$")
    assert shown
    assert "srcdoc" in shown._repr_html_()
    path.write_text("[1", encoding="utf-8")
    with pytest.raises(pp.errors.InvalidInput, match="no notebook"):
        check_document(pp.load_robot("planar2"), path)
