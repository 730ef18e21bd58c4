"""Gives impossible inertias the nearest possible value, in a copy of the file that is otherwise the same bytes."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from palpate.checks import Array
from palpate.errors import ModelError
from palpate.robot.readers import inertials
from palpate.robot.readers.check import model_format
from palpate.robot.readers.findings import refuse
from palpate.robot.readers.xmlfile import Element, Report, Source, numbers, parse, place_of, read_bytes

_SIX = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_DIGITS = 9  # the floor of a repaired tensor is 1e-6 of it, so nine digits keep it valid


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


def repair_model(path: str | Path, out: str | Path) -> list[Change]:
    """Writes a copy of a URDF or MJCF file whose inertias all belong to bodies that can exist.

    Each impossible tensor is replaced by the nearest possible one (`inertials.nearest_physical`); a tensor that no
    body is near to, such as a negative definite one, is left alone, as are negative masses and missing inertias:
    nothing is invented, and checking the copy tells what remains. Includes of an MJCF file are not followed.
    The copy is written whole or not at all.

    Raises:
        ModelError: the file cannot be read, is no model, or the copy cannot be written.
    """
    report = Report(str(path))
    root = _root(Path(path), report)
    if root is None:
        raise refuse(str(path), report.findings)
    edits: list[tuple[int, int, bytes]] = []
    changes: list[Change] = []
    for element in root.walk():
        for tensor in _tensors(element):
            if change := tensor.repair(edits):
                changes.append(change)
    _write(Path(out), _edited(root.source.data, edits))
    return changes


@dataclass(frozen=True)
class _Tensor:
    """A tensor of the file: the attributes it stands in, in the order xx yy zz xy xz yz."""

    element: Element
    attributes: tuple[str, ...]
    six: tuple[float, ...]

    def repair(self, edits: list[tuple[int, int, bytes]]) -> Change | None:
        inertia = inertials.inertia_from_six(*self.six)
        if inertials.is_physical(inertia):
            return None
        new = _rounded(_entries(inertials.nearest_physical(inertia)))
        places = [place_of(self.element, attribute) for attribute in self.attributes]
        if any(place is None for place in places) or not any(new):
            return None
        for place, text in zip(places, self._texts(new)):
            if place is not None:
                edits.append((*place, text.encode()))
        return Change(self.element.label, self.element.line, self.six, new)

    def _texts(self, new: tuple[float, ...]) -> list[str]:
        words = [f"{value:.{_DIGITS}g}" for value in new]
        if self.attributes == ("diaginertia",):
            return [" ".join(words[:3])]
        return [" ".join(words)] if self.attributes == ("fullinertia",) else words


def _root(path: Path, report: Report) -> Element | None:
    if model_format(path, report) is None:
        return None
    data = read_bytes(path, report)
    return parse(Source(str(path), data), report) if data else None


def _tensors(element: Element) -> list[_Tensor]:
    quiet = Report("")
    found: list[_Tensor] = []
    if element.tag == "inertia" and element.parent is not None and element.parent.tag == "inertial":
        present = tuple(name for name in _SIX if name in element.attributes)
        values = [numbers(element, name, quiet, 1) for name in present]
        if all(values) and len(present) == len(_SIX):
            found.append(_Tensor(element, _SIX, tuple(value[0] for value in values if value)))
    elif element.tag == "inertial":
        for attribute, count in (("fullinertia", 6), ("diaginertia", 3)):
            values = numbers(element, attribute, quiet, count)
            if values:
                found.append(_Tensor(element, (attribute,), (*values, *[0.0] * (6 - count))))
    return [t for t in found if max(map(abs, t.six)) < inertials.LARGEST]


def _entries(inertia: Array) -> tuple[float, ...]:
    rows, columns = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    return tuple(float(inertia[row, column]) for row, column in zip(rows, columns))


def _rounded(six: tuple[float, ...]) -> tuple[float, ...]:
    """As many digits as are written, and no traces of round-off where an entry is zero."""
    scale = float(np.max(np.abs(six)))
    return tuple(float(f"{value:.{_DIGITS}g}") if abs(value) > 1e-14 * scale else 0.0 for value in six)


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text + data[end:]
    return data


def _write(out: Path, data: bytes) -> None:
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=f".{out.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
        os.chmod(temporary, 0o644)  # a temporary file is private; a model is not
        os.replace(temporary, out)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise ModelError(f"cannot write the repaired model: {error}") from error
