"""Tables and matrices as text: the same columns on a terminal and in a pipe, colour on a terminal only."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from palpate.errors import InvalidInput, harmless, printable

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
WIDTH = 100
_LONGEST_NAME = 24
_WIDEST_WORD = 28
_GAP = 2  # blanks between columns
SHARE_OF_PI = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)?)\*?pi(?:/(\d+\.?\d*))?")
_STYLES = {"ok": "green", "FAILED": "bold red", "completed": "green", "diverged": "bold red"}


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> None:
    """Print aligned columns.

    Args:
        header: one title per column.
        rows: cells as text.
        align: one letter per column, l or r.
    """
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    header, rows = list(map(harmless, header)), [list(map(harmless, row)) for row in rows]
    console = _console()
    widths = _widths([header, *rows], console.width)
    for index, (title, side) in enumerate(zip(header, align)):  # Text: the brackets of a unit or a name are no markup
        side = "right" if side == "r" else "left"
        table.add_column(Text(title), justify=side, overflow="fold", width=widths[index], no_wrap=index == 0)
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as capture:
        console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def key_values(
    words: Iterable[str], form: str, read: Callable[[str], T | None], sign: str = "=", hint: str | None = None
) -> dict[str, T]:
    """The words KEY=VALUE of an option, such as "--lock takes JOINT=VALUE", by key.

    Raises:
        InvalidInput: a word without key or sign, or with a value that `read` refuses: by None or a ValueError.
    """
    values: dict[str, T] = {}
    for word in words:
        key, separated, text = word.strip().partition(sign)
        try:
            value = read(text) if key and separated else None
        except ValueError:
            value = None
        if value is None:
            raise InvalidInput(f"{form}, got {word!r}", hint=hint)
        values[key] = value
    return values


def print_json(data: object) -> None:
    """Print data as JSON, in UTF-8; NaN is no word of JSON and refused."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def _console() -> Console:
    """Where text is printed: as wide as the terminal; a pipe has no edge to fold at."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 10 * WIDTH
    return console


def say(text: str, indent: str = "  ", pipe: int | None = None) -> None:
    """Print prose; a line that is too long goes on in the next one, between two words.

    Args:
        text: one line or several; what begins with blanks goes on with as many.
        indent: before the further lines of a long one, beside its own.
        pipe: columns where the output is no terminal; without it, lines stay whole there.
    """
    console = _console()
    width = min(WIDTH, console.width) if console.is_terminal else pipe or console.width
    for line in text.split("\n"):
        if len(line) <= width or not (console.is_terminal or pipe):
            print(line)
            continue
        hanging = " " * (len(line) - len(line.lstrip())) + indent
        print(textwrap.fill(line, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False))


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Column widths that fit: names in the first whole, others at least their longest word, more where text is long.

    Where that is too wide, columns are narrowed so that the fewest words break.
    """
    from rich.cells import cell_len

    words = [[cell_len(word) for cell in cells for word in cell.split()] for cells in zip(*rows)]
    whole = [max(map(cell_len, cells)) for cells in zip(*rows)]
    widths = [min(max(column, default=1), _WIDEST_WORD) for column in words]
    widths[0], others = whole[0], range(1, len(whole))
    free = width - sum(widths) - _GAP * len(others)
    while free < 0 and (wide := [index for index in others if widths[index] > 1]):
        widths[min(wide, key=lambda index: (words[index].count(widths[index]), -widths[index]))] -= 1
        free += 1
    while free > 0 and (folded := [index for index in others if widths[index] < whole[index]]):
        widths[max(folded, key=lambda index: whole[index] / widths[index])] += 1
        free -= 1
    return widths


def matrix_lines(matrix: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> list[str]:
    """A labelled matrix in lines of at most WIDTH characters, or what a terminal has, in blocks of columns."""
    rows, columns = [short(name) for name in rows], [short(name) for name in columns]
    left = max(map(len, rows)) + 2
    cell = max(11, *(len(name) + 1 for name in columns))
    fit = max(1, (min(WIDTH, _console().width) - left) // cell)
    lines: list[str] = []
    for start in range(0, len(columns), fit):
        lines += [""] if lines else []
        block = slice(start, start + fit)
        lines.append(" " * left + "".join(f"{name:>{cell}}" for name in columns[block]))
        for name, values in zip(rows, matrix):
            lines.append(f"  {name:<{left - 2}}" + "".join(f"{number(x):>{cell}}" for x in values[block]))
    return lines


def numbers(words: Sequence[str], option: str) -> list[float]:
    """The numbers of an option, separated by spaces or commas."""
    pieces = [piece.strip() for word in words for piece in word.split(",") if piece.strip()]
    try:
        return [_number(piece) for piece in pieces]
    except ValueError as error:
        raise InvalidInput(
            f"{option} takes numbers in SI units, got {' '.join(pieces)!r}", hint=f"write {option} 0.1 -0.5 …"
        ) from error


def _number(word: str) -> float:
    """A number, or a share of pi such as pi/2, -pi, 1.5pi or 3*pi/4."""
    match = SHARE_OF_PI.fullmatch(word)
    if match is None:
        return float(word)
    factor = {"": 1.0, "-": -1.0, "+": 1.0}.get(match[1])
    return (float(match[1]) if factor is None else factor) * math.pi / float(match[2] or 1)


def number(value: float | None, digits: int = 4) -> str:
    """A number in significant digits, '–' for an absent bound; what rounding left of a zero is shown as 0."""
    if value is None:
        return "–"
    return "0" if abs(value) < 1e-13 else f"{value:.{digits}g}"


def short(name: str) -> str:
    """A name from a model file, safe to print and not wider than a column."""
    shown = printable(name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"
