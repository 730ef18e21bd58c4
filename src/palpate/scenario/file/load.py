"""Reading a scenario: a shipped name or a file, what it extends, overrides, and every problem in one message."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from palpate.control import LAWS
from palpate.errors import FileError, InvalidInput, PalpateError, ScenarioError, TooLarge, UnknownName, shortened
from palpate.files import a_path, is_there, open_regular
from palpate.robot.readers.assets import folders_above
from palpate.scenario.checking.checks import contradictions
from palpate.scenario.checking.problems import Problem, problem_from, problems_from
from palpate.scenario.file.folders import shipped, shipped_text
from palpate.scenario.file.overrides import TAGS, apply_overrides, merged, parse_override
from palpate.scenario.file.places import with_paths
from palpate.scenario.model import RobotSettings, Scenario
from palpate.toml import toml_data, toml_value
from palpate.user_code import Unloaded, is_address, load, loaded, may_run_program, run_program

MOST_BYTES, MOST_PARENTS, MOST_PROBLEMS = 1_000_000, 16, 10
# The least scenario, while one section is read without the others.
STAND_IN = {"name": "x", "robot": {"model": "x"}, "control": {"law": next(iter(LAWS))}}


KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class KeySource:
    """A text that gave some of the keys: how to call it, and the line of each key."""

    name: str
    lines: dict[KeyPath, int] = field(default_factory=dict)


def load_scenario(source: str | os.PathLike[str], overrides: Iterable[str] = ()) -> Scenario:
    """Read a scenario and check it; no code that it names is run, see `Scenario.with_code`.

    Args:
        source: a shipped name (`palpate list scenarios`), or the path of a .toml file.
        overrides: `key=value` texts, applied in turn, such as "control.stiffness=[300, 300, 300, 20, 20, 20]".

    Raises:
        ScenarioError: everything that is wrong with it, in one message; `.problems` lists it.
        UnknownName: no such shipped scenario, and no such file.
    """
    overrides = list(overrides)
    data, sources = read_data(source)
    if overrides:
        data = with_modules(apply_overrides(data, overrides), folder_of(source))
        lines = {tuple(int(p) if p.isdecimal() else p for p in parse_override(text)[0]): 0 for text in overrides}
        sources = [KeySource("--set", lines), *sources]
    return scenario_from_data(data, sources)


def replaced(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """A scenario with other values; keys have `__` where a file has dots, None takes away what was given."""
    values = {key: "" if value is None else toml_value(_plain(value)) for key, value in changes.items()}
    texts = [f"{key.replace('__', '.')}={value}" for key, value in values.items()]
    return overridden(scenario.as_data(), texts, [KeySource(f"{scenario.name} with other values")])


def _plain(value: Any) -> Any:
    """Arrays and their numbers as Python's own."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def overridden(data: Mapping[str, Any], overrides: Iterable[str], sources: Iterable[KeySource] = ()) -> Scenario:
    """Plain data with `key=value` texts in them, typed and checked."""
    return scenario_from_data(apply_overrides(dict(data), overrides), sources)


def scenario_from_data(data: dict[str, Any], sources: Iterable[KeySource] = ()) -> Scenario:
    """Type plain data and check it, collecting every problem."""
    sources = list(sources) or [KeySource("scenario")]
    problems: list[Problem] = []
    scenario = None
    try:
        scenario = Scenario.__pydantic_validator__.validate_json(_json(data), strict=True)
    except ValidationError as error:
        problems = problems_from(error, data)
    sections = _sections(scenario, data, problems)
    kept = {name: section for name, section in sections.items() if not _is_unloaded(section)}
    contradicting, fitted = contradictions(kept)
    problems += contradicting
    if problems or scenario is None:
        raise ScenarioError(_message(problems, sources), problems)
    scenario.keep_fitted(fitted)
    object.__setattr__(scenario, "_sources", sources)
    object.__setattr__(scenario, "_complete", len(kept) == len(sections))
    return scenario


def _is_unloaded(section: Any) -> bool:
    """Whether a section cannot be checked without code that was not loaded."""
    if isinstance(section, RobotSettings) and section.xacro is not False:
        return section.model is not None and not may_run_program(section.model)
    return isinstance(section, Unloaded)


def with_code(scenario: Scenario) -> Scenario:
    """A scenario with the code that it names loaded, checked anew where that matters; see `Scenario.with_code`."""
    named, program = scenario.code, scenario.robot.model if scenario.robot.xacro is not False else None
    if not named and program is None:
        return scenario
    sources: list[KeySource] = scenario.__dict__.get("_sources") or [KeySource(scenario.name)]
    problems: list[Problem] = []
    loads = {path: partial(load, address, scenario.modules) for path, address in named.items()}
    if program is not None:
        loads["robot", "xacro"] = partial(run_program, program)
    for path, step in loads.items():
        try:
            step()
        except PalpateError as error:
            problems.append(problem_from(error, path))
    if problems:
        raise ScenarioError(_message(problems, sources), problems)
    if scenario.__dict__.get("_complete") and _is_current(scenario):
        return scenario
    return scenario_from_data(scenario.as_data(), sources)


def _is_current(scenario: Scenario) -> bool:
    """Whether own laws, references and sensors are those that are loaded now: a file may have been edited."""
    parts = {("control",): scenario.control, ("reference",): scenario.reference}
    parts |= {("world", "sensors", "custom", k): sensor for k, sensor in scenario.world.sensors.custom.items()}
    return all(type(part) is loaded(scenario.code[path]) for path, part in parts.items() if path in scenario.code)


def _json(data: dict[str, Any]) -> str:
    try:
        return json.dumps(data, default=str)
    except RecursionError as error:
        raise ScenarioError("the scenario is nested too deeply") from error
    except ValueError as error:  # a number of more digits than Python prints
        raise ScenarioError(f"the scenario holds a number that JSON cannot hold: {error}") from error


def _sections(scenario: Scenario | None, data: dict[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """The sections that are well-formed, typed; with some wrong, the others are typed on their own."""
    if scenario is not None:
        return {name: getattr(scenario, name) for name in Scenario.model_fields}
    bad = {problem.path[0] for problem in problems if problem.path}
    good = [name for name in data if name in Scenario.model_fields and name not in bad]
    typed: dict[str, Any] = {}
    kept = {"modules": data["modules"]} if "modules" in good else {}
    for name in good:
        text = _json({**STAND_IN, **kept, name: data[name]})
        typed[name] = getattr(Scenario.__pydantic_validator__.validate_json(text, strict=True), name)
    return typed


def _message(problems: list[Problem], sources: list[KeySource]) -> str:
    file = next(source.name for source in sources if source.name != "--set")
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    many = len(problems) > 2 * MOST_PROBLEMS
    lines = [f"  {_located(problem, sources)}" for problem in (problems[:MOST_PROBLEMS] if many else problems)]
    more = [f"  … and {len(problems) - MOST_PROBLEMS} more"] if many else []
    return "\n".join([f"{file} has {count}:", *lines, *more])


def _located(problem: Problem, sources: list[KeySource]) -> str:
    """The problem with the line of its key, or of the nearest table above it."""
    for length in range(len(problem.path), 0, -1):
        for index, source in enumerate(sources):
            line = source.lines.get(problem.path[:length])
            if line == 0:
                return f"--set {problem}"
            if line is not None:
                own = index == 0 or sources[0].name == "--set"
                return f"line {line}: {problem}" if own and index <= 1 else f"{source.name}, line {line}: {problem}"
    return str(problem)


# ---------------------------------------------------------------------------------------------- files


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
    """The tables of sensors of one's own, whatever else is wrong with the data."""
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


# ----------------------------------------------------------------------------------------------
# On which line of a TOML file each key stands: a light reader beside tomllib, which does not tell.


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
