"""Files of formulas: read, checked, told in words and by an exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from palpate.cli.main import main
from palpate.errors import FileError, InvalidInput, UnreadableExpression
from palpate.robot.load import load_robot
from palpate.robot.robot import Robot
from palpate.tools.review import check_file
from palpate.tools.review.read.statements import formulas

RIGHT = r"""
% a comment, and a definition used by two formulas
h = 1 + c_2

M(q) = \begin{bmatrix}
  3 + 2 c_2 & h \\
  h         & 1
\end{bmatrix}
# plain text goes as well; G is a number
G = 9.81
g = [2*G*c1 + G*c12,
     G*c12]
C_{12} = -s_2 (\dot q_1 + \dot q_2)
$$ T = \frac12 \dot q_1^2 + \frac12 \left( \dot q_1^2 + \dot q_{12}^2 + 2 c_2 \dot q_1 \dot q_{12} \right) $$
J = [-s1-s12, -s12; c1+c12, c12]
tau: [3*ddq1+2*c2*ddq1+(1+c2)*ddq2-2*s2*dq1*dq2-s2*dq2**2+2*G*c1+G*c12; ddq2+(1+c2)*ddq1+s2*dq1**2+G*c12]
"""


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("planar2")


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.tex"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_right_file_agrees_in_every_formula(robot: Robot, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "planar2", "--check", str(write(tmp_path, RIGHT))]) == 0
    told = capsys.readouterr().out
    assert "M(q) (line 5): agrees" in told
    assert told.splitlines()[-1] == "6 checked: all agree"


def test_a_wrong_file_tells_the_slip_and_the_mended_formula(
    robot: Robot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, RIGHT.replace("h = 1 + c_2", "h = 1 + s_2").replace("+ 2 c_2 \\dot", "+ c_2 \\dot"))
    assert main(["derive", "planar2", "--check", str(path)]) == 1
    told = capsys.readouterr().out
    assert "definition of h: s_{2} should be c_{2}" in told
    assert "3 + 2 c_{2} & 1 + c_{2}" in told
    assert "T (line 14): differs" in told
    assert re.search(r"factor.*two", told)
    assert told.splitlines()[-1] == "6 checked: 2 differ"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("M = [1, 2; 3", "line 1, column 13: expected ']' to close"),
        ("G = 9.81\n\ng = [G*c1 + w, G]", "line 3, column 13: unknown symbol w"),
        ("g = [1, 2, 3]", "gravity forces is 2×1"),
        ("h = 1\na = 2*h", "no quantity"),
        ("h = 1", "no quantity"),
        ("1 + 2", "document holds no"),
        ("", "document holds no"),
        ("C_{13} = 1", "entry (1,3) of C, which is 2×2"),
    ],
)
def test_a_bad_file_is_told_with_its_place_and_ends_with_2(
    robot: Robot, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    assert main(["derive", "planar2", "--check", str(write(tmp_path, text))]) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert "Traceback" not in told.err


def test_a_missing_file_and_a_wrong_reference_are_refused(robot: Robot, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        check_file(robot, tmp_path / "nothing.tex")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError):
        check_file(robot, tmp_path / "bytes")
    with pytest.raises(InvalidInput, match=r"neither a.*nor a"):
        check_file(3, write(tmp_path, RIGHT))


def test_names_decide_what_a_formula_is() -> None:
    text = "B = [b_{11}, 0; 0, 1]\nb_{11} = c_2\nC_{31} = 1\n\\dot{J} = [0]\nE_pot = 2\n\\mathbf{g}(\\mathbf{q}) = [0]"
    found = {one.label: (one.what, one.entry) for one in formulas(text)}
    assert found == {
        "B": ("M", None), "b_{11}": (None, None), "C_{31}": ("C", (2, 0)), "\\dot{J}": ("Jdot", None),
        "E_pot": ("V", None),
        "\\mathbf{g}(\\mathbf{q})": ("g", None),
    }  # fmt: skip


def test_a_formula_without_a_name_is_told() -> None:
    with pytest.raises(UnreadableExpression, match="without a name"):
        formulas("m*g*l")
