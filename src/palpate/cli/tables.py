"""Tables and matrices as text: the same columns on a terminal and in a pipe, colour on a terminal only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palpate.errors import harmless

WIDTH = 100
_LONGEST_NAME = 24
_WIDEST_WORD = 28
_STYLES = {"ok": "green", "FAILED": "bold red", "completed": "green", "diverged": "bold red"}


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> None:
    """Print aligned columns.

    Args:
        header: one title per column.
        rows: cells as text.
        align: one letter per column, l or r.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    header, rows = list(map(harmless, header)), [list(map(harmless, row)) for row in rows]
    for place, (title, side) in enumerate(zip(header, align)):  # Text: the brackets of a unit or a name are no markup
        words = [word for row in [header, *rows] for word in row[place].split()]
        least = min(max(map(len, words), default=1), _WIDEST_WORD)  # a word is broken only where it must be
        side = "right" if side == "r" else "left"
        table.add_column(Text(title), justify=side, overflow="fold", min_width=least, no_wrap=place == 0)
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(table)
        return
    console.width = 10 * WIDTH  # a pipe has no edge to fold at
    with console.capture() as capture:
        console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def matrix_lines(matrix: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> list[str]:
    """A labelled matrix in lines of at most WIDTH characters, split into blocks of columns where it is wider."""
    rows, columns = [short(name) for name in rows], [short(name) for name in columns]
    left = max(map(len, rows)) + 2
    cell = max(11, *(len(name) + 1 for name in columns))
    fit = max(1, (WIDTH - left) // cell)
    lines: list[str] = []
    for start in range(0, len(columns), fit):
        lines += [""] if lines else []
        block = slice(start, start + fit)
        lines.append(" " * left + "".join(f"{name:>{cell}}" for name in columns[block]))
        for name, values in zip(rows, matrix):
            lines.append(f"  {name:<{left - 2}}" + "".join(f"{number(x):>{cell}}" for x in values[block]))
    return lines


def number(value: float | None) -> str:
    """Four significant digits, '–' for an absent bound; what rounding left of a zero is shown as 0."""
    if value is None:
        return "–"
    return "0" if abs(value) < 1e-13 else f"{value:.4g}"


def short(name: str) -> str:
    """A name from a model file, safe to print and not wider than a column."""
    from palpate.robot.readers.findings import printable

    shown = printable(name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"
