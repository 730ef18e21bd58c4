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
    return _changed(data, lambda path: os.path.basename(path.rstrip("/\\")) if os.path.isabs(path) else path)


def seen_from(data: dict[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The data with absolute paths written as seen from a folder: for a file that lies there, and can be run again."""
    return _changed(data, lambda path: relative_path(path, folder) if os.path.isabs(path) else path)


def read_from(data: dict[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The data with paths that are relative to a folder made absolute: the other way round than `seen_from`."""
    return _changed(data, lambda path: absolute_path(path, folder))


def placed_below(data: dict[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The data with each absolute path below a folder instead, where copies of the files lie."""
    return _changed(data, lambda path: below(path, folder) if os.path.isabs(path) else path)


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


def _changed(data: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    result = {name: dict(table) if isinstance(table, dict) else table for name, table in data.items()}
    for section, key in _FILES:
        table = result.get(section)
        if isinstance(table, dict) and isinstance(table.get(key), str) and _is_file(section, table[key]):
            table[key] = change(table[key])
    modules = result.get("modules")
    if isinstance(modules, dict):
        modules.update({name: change(file) for name, file in modules.items() if isinstance(file, str)})
    robot = result.get("robot")
    if isinstance(robot, dict) and robot.get("packages"):
        robot["packages"] = [change(path) if isinstance(path, str) else path for path in robot["packages"]]
    world = result.get("world")
    if isinstance(world, dict) and isinstance(world.get("surfaces"), list | tuple):
        world["surfaces"] = [_surface_changed(surface, change) for surface in world["surfaces"]]
    return result


def _is_file(section: str, value: str) -> bool:
    """Whether a robot's model, or a reference's file, is a path and not a name of the catalogue."""
    return bool(value) and (section != "robot" or os.path.isabs(value) or value.lower().endswith(MODEL_FILES))


def _surface_changed(surface: Any, change: Callable[[str], str]) -> Any:
    file = surface.get("file") if isinstance(surface, dict) else None
    return {**surface, "file": change(file)} if isinstance(file, str) and file else surface
