"""Mends what can be mended without inventing anything, in a copy of the file that is otherwise the same bytes.

Impossible inertias get the nearest possible value, decimal commas become points, reversed ranges of an MJCF file are
turned round; all in one go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from palpate.files import write_file
from palpate.robot.mechanics.tensor import tensor_from
from palpate.robot.readers.check import model_root
from palpate.robot.readers.findings import Mend, refuse
from palpate.robot.readers.mjcf.rules import RANGES
from palpate.robot.readers.urdf import inertials
from palpate.robot.readers.xmlfile import Element, Report, SourceFile, numbers, parse, parse_number, value_span

# How an element may write a tensor: attributes, and how many of xx yy zz xy xz yz each holds.
_TENSORS = {
    "inertia": [dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), 1)],
    "inertial": [{"fullinertia": 6}, {"diaginertia": 3}],
}
_DECIMAL_COMMA = re.compile(r"(?<!\S)([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)(?!\S)")


@dataclass(frozen=True)
class Change:
    """One inertia that was replaced.

    Attributes:
        element: where, by name.
        line: line of the element.
        old, new: ixx, iyy, izz, ixy, ixz, iyz [kg·m²] before and after.
    """

    element: str
    line: int
    old: tuple[float, ...]
    new: tuple[float, ...]

    def __str__(self) -> str:
        old, new = (" ".join(f"{value:.6g}" for value in six) for six in (self.old, self.new))
        return f"line {self.line}: {self.element}: inertia {old} → {new} kg·m² (xx yy zz xy xz yz)"


def repair_model(path: str | Path, out: str | Path) -> list[Change | Mend]:
    """Writes a copy of a URDF, MJCF or DH-table file with everything mended that has one nearest right value.

    Each impossible inertia is replaced by the nearest possible one (`inertials.nearest_physical`), each decimal comma
    by a point, each reversed range of MJCF by the same range the right way round. A tensor that no body is near to,
    such as a negative definite one, is left alone, as are negative masses and missing inertias: nothing is invented,
    and checking the copy tells what remains. Includes of an MJCF file are not followed. The copy is written whole or
    not at all.

    Raises:
        ModelError: the file cannot be read, or is no model.
        FileError: the copy cannot be written.
    """
    if Path(path).suffix.lower() == ".toml":
        from palpate.robot.readers.dh.table import repaired_table

        table, changes = repaired_table(Path(path))
        write_file(out, table)
        return list(changes)
    report = Report(str(path))
    root = model_root(Path(path), report)
    if root is None:
        raise refuse(str(path), report.findings)
    edits: list[tuple[int, int, bytes]] = []
    mends = [mend for element in root.walk() for mend in _mends(element, root.tag, edits)]
    data = _edited(root.source.data, edits)
    root, edits = parse(SourceFile(str(path), data), report), []
    elements = root.walk() if root else ()
    repairs = [change for element in elements for change in _repaired_tensors(element, edits)]
    write_file(out, _edited(data, edits))
    return sorted([*mends, *repairs], key=lambda change: change.line)


def _mends(element: Element, root: str, edits: list[tuple[int, int, bytes]]) -> Iterator[Mend]:
    """Values of an element that read wrong and have one right reading."""
    for attribute, old in element.attributes.items():
        new = old
        if all(parse_number(word.replace(",", ".")) is not None for word in old.split()):
            new = _DECIMAL_COMMA.sub(r"\1.\2", old)
        if root == "mujoco" and attribute in RANGES:
            new = _lower_end_first(new)
        span = value_span(element, attribute)
        if new != old and span is not None:
            edits.append((*span, new.encode()))
            yield Mend(element.label, element.line, attribute, repr(old), repr(new))


def _lower_end_first(text: str) -> str:
    """A range with its lower end first."""
    words = text.split()
    values = [parse_number(word) for word in words]
    if len(words) != 2 or any(value is None or not math.isfinite(value) for value in values):
        return text
    lower, upper = (value or 0.0 for value in values)
    return text if lower <= upper else f"{words[1]} {words[0]}"


def _repaired_tensors(element: Element, edits: list[tuple[int, int, bytes]]) -> Iterator[Change]:
    """The tensors of an element that no body has, each replaced by the nearest possible one."""
    for attributes in _TENSORS.get(element.tag, ()):
        parts = [part for name, count in attributes.items() if (part := numbers(element, name, Report(""), count))]
        spans = [span for name in attributes if (span := value_span(element, name))]
        if not len(parts) == len(spans) == len(attributes):
            continue
        given = [value for part in parts for value in part]
        old = tuple(given + [0.0] * (6 - len(given)))
        if max(map(abs, old)) >= inertials.LARGEST or inertials.is_physical(tensor_from(old)):
            continue
        new = inertials.printed_entries(inertials.nearest_physical(tensor_from(old)))
        if any(new):
            words = iter(f"{value:.{inertials.DIGITS}g}" for value in new)
            texts = [" ".join(islice(words, count)) for count in attributes.values()]
            edits += [(*span, text.encode()) for span, text in zip(spans, texts)]
            yield Change(element.label, element.line, old, new)


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text + data[end:]
    return data
