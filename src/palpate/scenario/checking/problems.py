"""Everything wrong with a scenario, each with its place, what was found, what is allowed and the nearest key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from palpate.config import MOVED
from palpate.errors import PalpateError, nearest
from palpate.scenario.fields import Setting, find, keys_at

Path = tuple[str | int, ...]
MOST_EXPLAINED = 100
_QUANTITY = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*([^\d\s][^\d]*)\s*")
# What people write, in SI.
_UNITS: dict[str, tuple[float, str]] = {
    "mm": (1e-3, "m"), "cm": (1e-2, "m"), "km": (1e3, "m"), "um": (1e-6, "m"), "µm": (1e-6, "m"), "in": (0.0254, "m"),
    "deg": (math.pi / 180, "rad"), "°": (math.pi / 180, "rad"), "degrees": (math.pi / 180, "rad"),
    "ms": (1e-3, "s"), "us": (1e-6, "s"), "µs": (1e-6, "s"), "min": (60.0, "s"), "g": (1e-3, "kg"), "t": (1e3, "kg"),
    "kN": (1e3, "N"), "mN": (1e-3, "N"), "N/mm": (1e3, "N/m"), "N/cm": (1e2, "N/m"), "kN/m": (1e3, "N/m"),
    "Ns/mm": (1e3, "N·s/m"), "Nmm": (1e-3, "N·m"), "Ncm": (1e-2, "N·m"), "kNm": (1e3, "N·m"), "Nm": (1.0, "N·m"),
    "Ns/m": (1.0, "N·s/m"), "Nm/rad": (1.0, "N·m/rad"), "mm/s": (1e-3, "m/s"), "cm/s": (1e-2, "m/s"),
    "deg/s": (math.pi / 180, "rad/s"), "°/s": (math.pi / 180, "rad/s"), "rpm": (math.pi / 30, "rad/s"),
    "kHz": (1e3, "Hz"), "mHz": (1e-3, "Hz"), "m/s2": (1.0, "m/s²"), "m/s^2": (1.0, "m/s²"),
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        path: keys and list places from the top of the file.
        message: what was found and what is allowed.
        hint: what to write instead, or None.
        nearest: valid keys closest to an unknown one, best first.
    """

    path: Path
    message: str
    hint: str | None = None
    nearest: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The path as `--set` writes it."""
        return ".".join(map(str, self.path))

    def __str__(self) -> str:
        text = f"{self.key}: {self.message}" if self.path else self.message
        return f"{text} ({self.hint})" if self.hint else text


def problem_from(error: PalpateError, path: Sequence[str | int]) -> Problem:
    """An error of the library as a problem of the section that caused it."""
    return Problem(tuple(path), " ".join(str(error.args[0]).split()), error.hint)


def problems_from(error: ValidationError, data: dict[str, Any]) -> list[Problem]:
    """Problems that pydantic reports, one per key."""
    branches: dict[Path, dict[str | int, list[tuple[Path, Any]]]] = {}
    for item in error.errors(include_url=False):
        path, union, branch = _data_path(item["loc"], data, item["type"] == "missing")
        branches.setdefault(union, {}).setdefault(branch, []).append((path, item))
    problems: dict[Path, Problem] = {}
    for options in branches.values():
        if len(problems) > MOST_EXPLAINED:  # a hostile file: nobody reads on, and each explanation takes time
            problems.update({path: Problem(path, item["msg"]) for path, item in min(options.values(), key=len)})
            continue
        # Of the types a value may have, the one it misses least is the one that was meant.
        for path, item in min(options.values(), key=len):
            problems.setdefault(path, _problem(path, item, data))
    return list(problems.values())


def _data_path(loc: Iterable[str | int], top: dict[str, Any], missing: bool) -> tuple[Path, Path, str | int]:
    """The location without pydantic's names for the branches of a union; the first union passed, and its branch."""
    path: list[str | int] = []
    data: Any = top
    parts = list(loc)
    union: tuple[Path, str | int] | None = None
    for index, part in enumerate(parts):
        last = missing and index == len(parts) - 1
        if _inside(part, data):
            data = data[part]
            path.append(part)
        elif last and isinstance(part, str):
            path.append(part)
        elif not last and union is None:
            union = tuple(path), part
    spot, branch = union or (tuple(path), "")
    return tuple(path), spot, branch


def _inside(part: str | int, data: Any) -> bool:
    if isinstance(data, list):
        return isinstance(part, int) and part < len(data)
    return isinstance(data, dict) and part in data


def _problem(path: Path, item: Any, data: dict[str, Any]) -> Problem:
    if item["type"] == "extra_forbidden":
        return unknown_key(path, data)
    governed = find(path, data)
    if item["type"] == "missing" and isinstance(path[-1], str) and not _present(path, data):
        return Problem(
            path, f"missing; needed: {governed.allowed if governed else 'a value'}", governed and governed.help
        )
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, PalpateError):
        return _caused(path, cause, data)
    return _wrong_value(path, governed, item)


def _present(path: Path, data: Any) -> bool:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _caused(path: Path, cause: PalpateError, data: dict[str, Any]) -> Problem:
    """A rule of ours; where the tag of a table is missing, one of its other keys may be the tag misspelt."""
    tag = {"control": "law", "reference": "kind"}.get(".".join(map(str, path)))
    table = data.get(str(path[0])) if tag is not None else None
    if tag is None or not isinstance(table, dict):
        return problem_from(cause, path)
    if tag in table:
        return problem_from(cause, (*path, tag) if f"unknown {tag}" in str(cause) else path)
    known = keys_at(path, data)
    likely = [key for key in table if key not in known and nearest(key, [tag])]
    if likely:
        return Problem((*path, likely[0]), f"unknown key; did you mean {tag!r}?", str(cause.args[0]), (tag,))
    return problem_from(cause, path)


def unknown_key(path: Path, data: dict[str, Any]) -> Problem:
    """A key that does not exist, with the nearest that do, or the one of that very name one level down."""
    key, known = str(path[-1]), list(keys_at(path[:-1], data))
    if key in MOVED:
        return Problem(path, MOVED[key])
    near, hint = nearest(key, known), f"allowed: {', '.join(sorted(known))}" if known else None
    sections = ("world", "robot", "run", "record")
    if not near and (elsewhere := [f"{section}.{key}" for section in sections if key in keys_at((section,), {})]):
        near, hint = elsewhere[:1], None
    message = f"unknown key; did you mean {near[0]!r}?" if near else "unknown key"
    return Problem(path, message, hint, tuple(near))


def _wrong_value(path: Path, governed: Setting | None, item: Any) -> Problem:
    value = item["input"]
    if governed is None:
        return Problem(path, f"found {shown(value)}; {item['msg'][:1].lower()}{item['msg'][1:]}")
    allowed = governed.allowed
    if isinstance(path[-1], int) and governed.table is None and "a list of" in allowed:
        allowed = f"numbers, in {governed.unit}" if governed.unit != "1" else f"an item of {allowed}"
    rule = f"; {item['msg'][:1].lower()}{item['msg'][1:]}" if item["type"] == "string_pattern_mismatch" else ""
    hint = _six_hint(path, value, governed) or _unit_hint(value, governed.unit)
    return Problem(path, f"found {shown(value)}; allowed: {allowed}{rule}", hint)


def _six_hint(path: Path, number: Any, governed: Setting) -> str | None:
    """For one number where six are asked for: the line to type, the number for all translations."""
    if not isinstance(number, int | float) or isinstance(number, bool) or "six numbers" not in governed.allowed:
        return None
    if not abs(number) < 1e15:
        return None
    default = governed.default if isinstance(governed.default, list | tuple) else [number] * 6
    six = ", ".join(f"{value:g}" for value in [number] * 3 + list(default)[3:])
    return f"for all translations write {'.'.join(map(str, path))}=[{six}]"


def _unit_hint(value: Any, unit: str) -> str | None:
    """For "10 mm": the number in SI."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return f"units are SI: {unit}" if isinstance(value, str) and unit != "1" else None
    try:
        number = float(match[1])
    except ValueError:
        return None
    word = match[2].strip()
    factor, si = _UNITS.get(word, _UNITS.get(word.replace("·", "").replace("*", "").replace(" ", ""), (1.0, word)))
    if si not in re.split(r",\s*|\s+or\s+", unit):
        return f"its unit is {unit}; write the number alone"
    return f"its unit is {si}; write {number * factor:.10g}"


def shown(value: Any, most: int = 60) -> str:
    """A value from a file, safe and short."""
    if isinstance(value, bool):
        return str(value).lower()
    text = "a table" if isinstance(value, dict) else repr(value)
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
