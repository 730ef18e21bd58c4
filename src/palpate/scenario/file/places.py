"""Paths in a scenario's data, as others may see them: nothing of the user's machine leaves it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_FILES = (("robot", "model"), ("reference", "file"))
MODEL_FILES = (".urdf", ".xml", ".mjcf", ".xacro")


def without_places(data: dict[str, Any]) -> dict[str, Any]:
    """The data with absolute paths cut down to the names of their files: for traces and reports."""
    return with_paths(data, lambda path: os.path.basename(path.rstrip("/\\")) if os.path.isabs(path) else path)


def seen_from(data: dict[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The data with absolute paths written as seen from a folder: for a file that lies there, and can be run again."""
    return with_paths(data, lambda path: relative_path(path, folder) if os.path.isabs(path) else path)


def read_from(data: dict[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The data with paths that are relative to a folder made absolute: the other way round than `seen_from`."""
    return with_paths(data, lambda path: absolute_path(path, folder))


def placed_below(data: dict[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The data with each absolute path below a folder instead, where copies of the files lie."""
    return with_paths(data, lambda path: below(path, folder) if os.path.isabs(path) else path)


def below(path: str, folder: str | os.PathLike[str]) -> str:
    """Where the copy of a file lies: the folders over it are kept, for models find others by their names."""
    return os.path.join(folder, os.path.splitdrive(path)[1].lstrip("/\\"))


def relative_path(path: str, folder: str | os.PathLike[str]) -> str:
    """A path as seen from a folder."""
    try:
        return Path(os.path.relpath(path, os.path.realpath(folder))).as_posix()
    except ValueError:  # another drive
        return path


def absolute_path(path: str, folder: str | os.PathLike[str]) -> str:
    """The path that is seen from a folder as `path`."""
    return os.path.normpath(os.path.join(os.path.realpath(folder), path))


def with_paths(
    data: dict[str, Any], change: Callable[[str], str], of_surface: Callable[[dict[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """The data with every path in it changed; `of_surface` makes another surface of one that names a file."""
    result = {name: dict(table) if isinstance(table, dict) else table for name, table in data.items()}
    tables = {name: table if isinstance(table, dict) else {} for name, table in result.items()}
    for section, key in _FILES:
        value = tables.get(section, {}).get(key)
        if isinstance(value, str) and _is_file(section, value):
            tables[section][key] = change(value)
    modules, robot, world = (tables.get(name, {}) for name in ("modules", "robot", "world"))
    modules.update({name: change(file) for name, file in modules.items() if isinstance(file, str)})
    if isinstance(robot.get("packages"), list | tuple):
        robot["packages"] = [change(path) if isinstance(path, str) else path for path in robot["packages"]]
    if isinstance(world.get("surfaces"), list | tuple):
        changed = of_surface or (lambda surface: {**surface, "file": change(surface["file"])})
        world["surfaces"] = [changed(surface) if _has_file(surface) else surface for surface in world["surfaces"]]
    return result


def _is_file(section: str, value: str) -> bool:
    """Whether a robot's model, or a reference's file, is a path and not a name of the catalogue."""
    return bool(value) and (section != "robot" or os.path.isabs(value) or value.lower().endswith(MODEL_FILES))


def _has_file(surface: Any) -> bool:
    return isinstance(surface, dict) and isinstance(surface.get("file"), str) and bool(surface["file"])
