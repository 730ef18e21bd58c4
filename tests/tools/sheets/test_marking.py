"""A folder of answers with known mistakes: each is found at its line, with partial credit, and as a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import FileError, UnknownName
from palpate.tools.sheets.marking import SHARE, mark_folder, marks_csv

M = (
    r"M = \begin{bmatrix} (m_1+m_2) l_1^2 + m_2 l_2^2 + 2 m_2 l_1 l_2 c_2 & m_2 l_2^2 + m_2 l_1 l_2 c_2 \\"
    r" m_2 l_2^2 + m_2 l_1 l_2 c_2 & m_2 l_2^2 \end{bmatrix}"
)
C = r"C = \begin{bmatrix} h \dot q_2 & h(\dot q_1 + \dot q_2) \\ -h \dot q_1 & 0 \end{bmatrix}"
G = r"g = \begin{bmatrix} (m_1+m_2) g l_1 c_1 + m_2 g l_2 c_{12} \\ m_2 g l_2 c_{12} \end{bmatrix}"
ANNA = f"# Anna\n\nWith $h = -m_2 l_1 l_2 s_2$ the result is\n\n$${M}$$\n$${C}$$\n$${G}$$\n"
PROGRAM = """import numpy as np
def mass(q):
    M[0, 0] = (m1 + m2)*l1**2 + m2*l2**2 + m2*l1*l2*np.cos(q[1])
    M[0, 1] = m2*l2**2 + m2*l1*l2*np.cos(q[1])
    M[1, 0] = M[0, 1]
    M[1, 1] = m2*l3**2
    return M
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "anna.md").write_text(ANNA, encoding="utf-8")
    (answers / "ben.tex").write_text(
        ANNA.replace("+ m_2 g l_2 c_{12} \\\\", "+ m_2 g l_2 s_{12} \\\\"), encoding="utf-8"
    )
    (answers / "cleo.py").write_text(PROGRAM, encoding="utf-8")
    (answers / "dan.txt").write_bytes(b"\xff\xfe")
    (answers / "notes.docx").write_bytes(b"PK")
    return answers


def test_each_mistake_is_found_at_its_line_with_partial_credit(folder: Path) -> None:
    anna, ben, cleo, dan = mark_folder(pp.load_robot("planar2"), folder, ["M", "C", "g"])
    assert (anna.name, anna.total) == ("anna.md", 1.0)
    assert ben.sheet is not None
    assert cleo.sheet is not None
    assert [(one.line, one.slips[0].partition(":")[0]) for one in ben.sheet.wrong] == [(7, "sine for cosine")]
    assert ben.credits == {"M": 1.0, "C": 1.0, "g": 1 - SHARE / 2}
    found = [(one.line, one.slips[0].partition(":")[0]) for one in cleo.sheet.wrong]
    assert found == [(3, "factor of two"), (6, "wrong index")]
    assert cleo.credits == {"M": 1 - 2 * SHARE / 4, "C": 0.0, "g": 0.0}
    assert dan.sheet is None
    assert dan.total == 0.0
    assert "not UTF-8" in dan.problem


def test_a_lost_sign_costs_credit_though_another_convention_would_excuse_it(tmp_path: Path) -> None:
    position = "FK = [l1*c1 + l2*c12; l1*s1 + l2*s12]\n"
    (tmp_path / "eve.txt").write_text(f"{position}J = [l1*s1 + l2*s12, l2*s12; l1*c1 + l2*c12, l2*c12]\n", "utf-8")
    (eve,) = mark_folder(pp.load_robot("planar2"), tmp_path, ["FK", "J"])
    assert eve.sheet is not None
    (jacobian,) = eve.sheet.wrong
    assert [slip.partition(":")[0] for slip in jacobian.slips] == ["sign", "sign"]
    assert any("another convention" in note for note in jacobian.notes)
    assert eve.credits == {"FK": 1.0, "J": 1 - 2 * SHARE / 4}


def test_the_table_has_a_row_for_each_formula_and_no_cell_runs(folder: Path) -> None:
    (folder / "eve.md").write_text("$$g = \\begin{bmatrix} =1 \\end{bmatrix}$$\n", encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(marks_csv(mark_folder(pp.load_robot("planar2"), folder, ["M", "C", "g"])))))
    ben = [row for row in rows if row["answer"] == "ben.tex"]
    assert [row["mark"] for row in ben] == ["agrees", "agrees", "differs", ""]
    assert ben[2]["where"] == "line 7"
    assert ben[2]["credit"] == "0.875"
    assert ben[3]["quantity"] == "total"
    assert {row["formula"] for row in rows if row["answer"] == "cleo.py" and row["mark"] == "missing"} == {"C", "g"}
    assert not any(cell[:1] in "=+@" for row in rows for cell in row.values() if cell)


def test_the_command_prints_marks_and_writes_table_and_pages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, pages = folder.parent / "marks.csv", folder.parent / "pages"
    command = ["mark", "planar2", str(folder), "--expect", "M,C,g", "--csv", str(table), "--html", str(pages)]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "anna.md: 100 %" in told
    assert "line 6: M[1, 1]: wrong index" in told
    assert "missing: C" in told
    assert table.read_text(encoding="utf-8").startswith("answer,where,formula,")
    assert sorted(one.name for one in pages.iterdir()) == ["anna.md.html", "ben.tex.html", "cleo.py.html"]
    assert main(["mark", "planar2", str(folder / "none")]) == 2


def test_a_folder_without_answers_and_an_unknown_quantity_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no answer"):
        mark_folder(pp.load_robot("planar2"), tmp_path)
    with pytest.raises(UnknownName, match="quantity"):
        mark_folder(pp.load_robot("planar2"), tmp_path, ["mass"])
