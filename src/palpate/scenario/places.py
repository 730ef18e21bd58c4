"""Paths in a scenario's data, as others may see them: nothing of the user's machine leaves it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_FILES = (("robot", "model"), ("reference", "file"))


def without_places(data: dict[str, Any]) -> dict[str, Any]:
    """The data with absolute paths cut down to the names of their files: for traces and reports."""
    return _changed(data, lambda path: os.path.basename(path.rstrip("/\\")))


def seen_from(data: dict[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The data with absolute paths written as seen from a folder: for a file that lies there, and can be run again."""

    def relative(path: str) -> str:
        try:
            return Path(os.path.relpath(path, folder)).as_posix()
        except ValueError:  # another drive
            return path

    return _changed(data, relative)


def _changed(data: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    result = {name: dict(table) if isinstance(table, dict) else table for name, table in data.items()}
    for section, key in _FILES:
        table = result.get(section)
        if isinstance(table, dict) and isinstance(table.get(key), str) and os.path.isabs(table[key]):
            table[key] = change(table[key])
    robot = result.get("robot")
    if isinstance(robot, dict) and robot.get("packages"):
        robot["packages"] = [change(p) if isinstance(p, str) and os.path.isabs(p) else p for p in robot["packages"]]
    world = result.get("world")
    if isinstance(world, dict) and isinstance(world.get("surfaces"), list | tuple):
        world["surfaces"] = [_surface_changed(surface, change) for surface in world["surfaces"]]
    return result


def _surface_changed(surface: Any, change: Callable[[str], str]) -> Any:
    file = surface.get("file") if isinstance(surface, dict) else None
    return {**surface, "file": change(file)} if isinstance(file, str) and os.path.isabs(file) else surface
