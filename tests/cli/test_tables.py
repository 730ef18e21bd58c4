"""Tables and matrices as text."""

from __future__ import annotations

import pytest

from palpate.cli.tables import matrix_lines, number, print_table, short


def test_a_wide_matrix_is_split_into_blocks_that_lose_no_number() -> None:
    names = [f"joint_number_{i}" for i in range(20)]
    matrix = [[float(100 * i + j) for j in range(20)] for i in range(3)]
    lines = matrix_lines(matrix, names[:3], names)
    assert max(map(len, lines)) <= 100
    for i in range(3):
        cells = [float(cell) for line in lines if line.startswith(f"  joint_number_{i} ") for cell in line.split()[1:]]
        assert cells == matrix[i]


def test_neighbouring_cells_never_touch() -> None:
    lines = matrix_lines([[-1.23456e-100] * 3], ["a"], ["x", "y", "z"])
    assert len(lines[-1].split()) == 4


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (-0.12345678, "-0.1235"), (6e-17, "0"), (-0.0, "0"), (None, "–"), (1e-12, "1e-12")]
)
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert number(value) == text


def test_names_from_a_file_cannot_move_the_cursor_or_flood_the_line() -> None:
    assert short("a\x1b[2Jb") == "a\\u001b[2Jb"
    assert len(short("x" * 1000)) == 24


def test_a_piped_table_is_plain_and_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name [/s]", "n"], [["[bold]x[/bold]", "1"], ["y", "20"]], "lr")
    assert capsys.readouterr().out == "name [/s]        n\n[bold]x[/bold]   1\ny               20\n"
