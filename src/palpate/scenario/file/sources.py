"""Texts of a scenario: a shipped name or a file, what it extends, its paths and its modules."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palpate.errors import FileError, InvalidInput, ScenarioError, TooLarge, UnknownName, shortened
from palpate.files import a_path, is_there, open_regular
from palpate.robot.readers.assets import folders_above
from palpate.scenario.file.folders import shipped, shipped_text
from palpate.scenario.file.key_lines import KeyPath, key_lines
from palpate.scenario.file.overrides import TAGS, merged
from palpate.scenario.file.places import with_paths
from palpate.toml import toml_data
from palpate.user_code import is_address

MOST_BYTES, MOST_PARENTS = 1_000_000, 16


@dataclass(frozen=True)
class KeySource:
    """A text that gave some of the keys: how to call it, and the line of each key."""

    name: str
    lines: dict[KeyPath, int] = field(default_factory=dict)


def read_data(source: str | os.PathLike[str]) -> tuple[dict[str, Any], list[KeySource]]:
    """A scenario's data with what it extends merged in, and the texts it came from, its own first."""
    data: dict[str, Any] | None = None
    sources: list[KeySource] = []
    seen: list[str] = []
    folder: Path | None = None
    while True:
        name, text, folder = _text(source, folder)
        if name in seen:
            raise ScenarioError(f"{name} extends itself: {' → '.join([*seen, name])}")
        if len(seen) > MOST_PARENTS:
            raise ScenarioError(f"{seen[0]} extends more than {MOST_PARENTS} others")
        seen.append(name)
        content = with_modules(_resolved(_parsed(text, name), folder), folder)
        parent = content.pop("extends", None)
        data = content if data is None else merged(content, data)
        sources.append(KeySource(name, key_lines(text)))
        if parent is None:
            return data, sources
        if not isinstance(parent, str):
            raise ScenarioError(f"{name}: extends must be a name or a path, got {parent!r}")
        source = parent


def _text(source: str | os.PathLike[str], folder: Path | None) -> tuple[str, str, Path | None]:
    """How to call a scenario, its text and its folder; paths are relative to the folder of the file that names it."""
    shown = os.fspath(a_path(source, "a scenario"))
    if "." not in shown and (text := shipped_text(shown)) is not None:
        return shown, text, None
    path = Path(shown) if folder is None else folder / shown
    if path.suffix != ".toml" and len(path.parts) == 1 and not is_there(path):
        meant = path.with_suffix(".toml")
        hint = f"did you mean the file {meant}?" if is_there(meant) else None
        raise UnknownName("scenario (neither shipped nor a file)", shown, shipped(), hint=hint)
    try:
        with open_regular(path, most_bytes=MOST_BYTES) as file:
            return str(path), file.read(MOST_BYTES + 1).decode("utf-8"), path.resolve().parent
    except (FileError, TooLarge) as error:
        raise ScenarioError(f"cannot read the scenario: {error.args[0]}", hint=error.hint) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise ScenarioError(
            f"cannot read the scenario {shortened(str(path))}: {getattr(error, 'strerror', None) or error}",
            hint="palpate list scenarios shows the shipped ones",
        ) from error


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        return toml_data(text)
    except InvalidInput as error:
        raise ScenarioError(f"{name} {error.args[0]}") from error


def _resolved(data: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Paths inside a file made independent of where the program runs."""
    if folder is None:
        return data
    return with_paths(data, lambda path: str(folder / path), lambda surface: _surface_resolved(surface, folder))


def folder_of(source: str | os.PathLike[str]) -> Path:
    """The folder of a scenario's file; the working folder for a shipped one."""
    path = Path(os.fspath(source))
    return path.resolve().parent if path.suffix == ".toml" else Path.cwd()


def with_modules(data: dict[str, Any], folder: Path | None, more: Iterable[str] = ()) -> dict[str, Any]:
    """Data with the files of those modules that it names (`law = "my_module:Mine"`) and that lie in a folder."""
    if folder is None:
        return data
    named = [table.get(tag) for section, tag in TAGS.items() if isinstance(table := data.get(section), dict)]
    metrics = data.get("metrics")
    custom = _sensor_tables(data)
    named += [table.get("kind") for table in custom if isinstance(table, dict)]
    named += [*(metrics if isinstance(metrics, dict) else ()), *more]
    known = data.get("modules", {})
    modules = {name.partition(":")[0] for name in map(str, named) if is_address(name)}
    files = {name: folder.joinpath(*name.split(".")).with_suffix(".py") for name in sorted(modules)}
    module_files = {name: str(file) for name, file in files.items() if name not in known and file.is_file()}
    return {**data, "modules": {**known, **module_files}} if module_files else data


def _sensor_tables(data: dict[str, Any]) -> list[Any]:
    """The tables of custom sensors, whatever else is wrong with the data."""
    here: Any = data
    for key in ("world", "sensors", "custom"):
        here = here.get(key) if isinstance(here, dict) else None
    return list(here.values()) if isinstance(here, dict) else []


def _surface_resolved(surface: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A surface with its file's whole path, which must lie in the scenario's folder or one that this lies in."""
    file = surface["file"]
    try:
        whole = (folder / file).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise ScenarioError(f"the file {shortened(file)!r} of a surface cannot be: {error}") from error
    if not any(whole.is_relative_to(above) for above in folders_above(folder)):
        raise ScenarioError(
            f"the file {shortened(file)!r} of surface {surface.get('name', 'wall')!r} lies outside of the folders"
            " around the scenario",
            hint="put it beside the scenario, and name it relative to it",
        )
    return {**surface, "file": str(whole)}
