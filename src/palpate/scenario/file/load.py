"""Reading a scenario: a shipped name or a file, what it extends, overrides, and every problem in one message."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pydantic import ValidationError

from palpate.control import LAWS
from palpate.errors import PalpateError, ScenarioError
from palpate.scenario.checking.checks import contradictions
from palpate.scenario.checking.problems import Problem, problem_from, problems_from
from palpate.scenario.file.overrides import apply_overrides, parse_override
from palpate.scenario.file.sources import KeySource, folder_of, read_data, with_modules
from palpate.scenario.model import RobotSettings, Scenario
from palpate.toml import toml_value
from palpate.user_code import Unloaded, load, loaded, may_run_program, run_program

MOST_PROBLEMS = 10  # in one message
# The least scenario, while one section is read without the others.
STAND_IN = {"name": "x", "robot": {"model": "x"}, "control": {"law": next(iter(LAWS))}}


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
    """A scenario with the code that it names loaded, checked again where that matters; see `Scenario.with_code`."""
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
