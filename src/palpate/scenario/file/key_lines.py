"""On which line of a TOML file each key stands: a light reader beside tomllib, which does not tell."""

from __future__ import annotations

import re

KeyPath = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=""")
_PART = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")
_TRIPLE = re.compile(r'"""|' + r"'''")
_INLINE = re.compile(r"""[{,]\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*=""")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Line (from 1) of every key and table header. Where it cannot tell it says nothing."""
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    inside = ""
    for number, line in enumerate(text.splitlines(), start=1):
        marks = _TRIPLE.findall(line)
        if inside:
            inside = "" if inside in marks else inside
            continue
        if header := _HEADER.match(line):
            table = _header_path(_parts(header[2]), header[1] == "[[", counts)
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            path = (*table, *_parts(key[1]))
            lines.setdefault(path, number)
            for name in _INLINE.findall(line[key.end() :]):
                lines.setdefault((*path, *_parts(name)), number)
        inside = marks[0] if len(marks) % 2 else ""
    return lines


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _header_path(names: tuple[str, ...], many: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """The header's path with the index of the list entry it opens, or stands in."""
    path: KeyPath = ()
    for index, name in enumerate(names):
        path = (*path, name)
        if many and index == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
