"""Misspell every key of every shipped scenario in turn: each is refused, and the right key suggested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from palpate.errors import ScenarioError
from palpate.scenario.checking.problems import Problem
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.file.overrides import merged
from palpate.scenario.file.sources import read_data

Path = tuple[str | int, ...]
# Names that the file gives are no keys of ours; parameters are checked by the robot they belong to.
FREE = {("robot", "parameters")}


def data_of(name: str) -> dict[str, Any]:
    return read_data(name)[0]  # what it extends merged in


def keys(data: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key)
            yield from keys(value, (*path, key))
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from keys(value, (*path, place))


def misspellings(key: str) -> list[str]:
    """One letter too few, one too many, two in the wrong order."""
    middle = len(key) // 2
    dropped = key[:middle] + key[middle + 1 :] if len(key) > 2 else key + key[-1]
    swapped = key[: middle - 1] + key[middle] + key[middle - 1] + key[middle + 1 :] if len(key) > 2 else key + "x"
    doubled = key[:middle] + key[middle] + key[middle:]
    return [word for word in dict.fromkeys((dropped, swapped, doubled)) if word != key]


def renamed(data: Any, path: Path, new: str) -> Any:
    if len(path) == 1:
        return {new if key == path[0] else key: value for key, value in data.items()}
    if isinstance(data, list):
        return [renamed(item, path[1:], new) if k == path[0] else item for k, item in enumerate(data)]
    return {key: renamed(value, path[1:], new) if key == path[0] else value for key, value in data.items()}


CASES = [
    (name, path, word)
    for name in shipped()
    for path in keys(data_of(name))
    for word in misspellings(str(path[-1]))
]  # fmt: skip


def test_there_is_something_to_misspell() -> None:
    assert len(CASES) > 200
    assert {len(path) for _, path, _ in CASES} >= {1, 2, 4}


# All in `make slow`: what differs between scenarios is mostly their numbers.
FEW = set(shipped()[::5])


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in shipped()]
)
def test_every_misspelt_key_is_refused_with_the_right_one(name: str) -> None:
    data, failures = data_of(name), []
    for scenario, path, word in CASES:
        if scenario != name:
            continue
        complaint = problem_of(renamed(data, path, word), (*path[:-1], word))
        if complaint is None or not suggests(complaint, path):
            failures.append(f"{'.'.join(map(str, path))} as {word!r}: {complaint}")
    assert failures == []


def problem_of(data: dict[str, Any], path: Path) -> Problem | None:
    try:
        scenario_from_data(merged({}, data))
    except ScenarioError as error:
        named = [p for p in error.problems if isinstance(p, Problem) and (p.path == path or path[:2] in FREE)]
        return named[0] if named else None
    return None


def suggests(problem: Problem, path: Path) -> bool:
    right = str(path[-1])
    if path[:2] in FREE and len(path) > 2:
        return f"did you mean {right!r}" in (problem.hint or "")
    return right in problem.nearest and f"did you mean {problem.nearest[0]!r}" in problem.message
