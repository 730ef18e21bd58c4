"""The plan of a sweep as plain data: every run can be repeated from it, and two sweeps can be compared by it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from palpate.checks import whole_number
from palpate.config import Config, required, setting
from palpate.errors import FileError, InvalidInput, check_names, value_text
from palpate.forking import cached_property
from palpate.module_copies import texts_of
from palpate.scenario.file.places import absolute_path, read_from, relative_path, seen_from
from palpate.scenario.model import RobotSettings
from palpate.scenario.robot import files_of_robot
from palpate.sealed import sealed, unsealed
from palpate.tools.study.plans.axis import Axis, Value
from palpate.tools.study.plans.override import override
from palpate.tools.study.plans.points import (
    MOST_RUNS,
    SOBOL_BLOCK,
    PlannedRun,
    chances,
    latin_orders,
    run_seed,
    saltelli_row,
    sobol_block,
)
from palpate.tools.study.plans.spec import axes_of

FORMAT = 1
MOST_CHUNK, CHUNKS = 100, 64  # runs that are made, written and redone together; how many chunks a sweep has at least
MOST_CHUNKS = 2_000_000
KEPT_TRACES = ("none", "all", "failing", "best", "worst")
MOST_KEPT = 5  # traces of best or worst runs
NUMBERS_FROM = ("palpate", "mujoco-core", "numba", "numpy", "scipy")  # packages that decide what a run gives
# Outcomes beside a trace's own: refused before it began; its process died, or a defect showed; never run, by theory.
IMPOSSIBLE, CRASHED, REFUSED = "impossible", "crashed", "refused"
_TABLES = ("robot", "control", "reference", "run", "record", "metrics", "modules", "world.sensors.custom")
ENDED = ("completed", "stopped")  # outcomes of a trace that ended as it should


@dataclass(frozen=True)
class Plan:
    """A sweep.

    Attributes:
        scenario: its data, everything but what varies.
        source: words after `palpate run` that give the same scenario; none where they name an absolute path.
        vary: what each key may be.
        method: grid (every combination), random (independent), latin (hypercube), sobol (scrambled sequence),
            saltelli (independent rows A, B and their mixtures, for sensitivity), map, rare or tune.
        runs: how many at most.
        repeat: of each point, with different seeds.
        seed: of the draws.
        metrics: columns of the table.
        traces: which are kept.
        chunk: runs that are made and written together.
        options: of the method.
        files: SHA-256 of the files that the scenario names.
        versions: of the packages that decide what a run gives.
    """

    scenario: dict[str, Any]
    source: tuple[str, ...]
    vary: dict[str, Any]
    method: str
    runs: int
    repeat: int = 1
    seed: int = 0
    metrics: tuple[str, ...] = ()
    traces: str = "none"
    chunk: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The parameters."""
        return axes_of(self.vary)

    @property
    def own_seed(self) -> int:
        """The scenario's seed."""
        return int(self.scenario.get("run", {}).get("seed", 0))

    @property
    def adaptive(self) -> bool:
        """Whether later runs depend on earlier ones."""
        return self.method in ("map", "rare", "tune")

    def overrides(self, point: PlannedRun) -> list[str]:
        """The `key=value` texts of a run, its seed among them."""
        texts = [override(axis, value, self.scenario) for axis, value in zip(self.axes, point.values)]
        seeded = any(axis.key == "run.seed" for axis in self.axes)
        return texts if seeded else [*texts, f"run.seed={point.seed}"]

    def seen_from(self, folder: str | os.PathLike[str]) -> Plan:
        """The plan as it is written down in a folder: the files it names as seen from there, no other path at all.

        So a folder goes on elsewhere once it was moved together with these files.
        """
        files = {relative_path(name, folder): digest for name, digest in self.files.items()}
        return replace(self, scenario=seen_from(self.scenario, folder), files=files)

    def read_in(self, folder: str | os.PathLike[str]) -> Plan:
        """The plan that was written down in a folder, with the files it names where they are now."""
        files = {absolute_path(name, folder): digest for name, digest in self.files.items()}
        scenario = read_from(self.scenario, folder)
        return replace(self, scenario=scenario, files=files)

    def points(self, first: int, stop: int) -> list[PlannedRun]:
        """Runs number first … stop − 1 of a method whose runs are known beforehand.

        Every run is a function of its number alone, so that chunks may be run anywhere, in any order, and again.
        """
        return [self._point(number) for number in range(first, stop)]

    def _point(self, number: int) -> PlannedRun:
        point, repeat = divmod(number, self.repeat)
        if self.method == "grid":
            return PlannedRun(self._combination(point), self.own_seed + repeat, point, repeat)
        values = tuple(axis.at(u) for axis, u in zip(self.axes, self._chances(point)))
        return PlannedRun(values, run_seed(self.seed, self._seeded(point), repeat), point, repeat)

    def _combination(self, point: int) -> tuple[Value, ...]:
        """A point of a grid; the last parameter changes fastest."""
        places = np.unravel_index(point, [len(axis.values or ()) for axis in self.axes])
        return tuple((axis.values or ())[int(index)] for axis, index in zip(self.axes, places))

    def _chances(self, point: int) -> Sequence[float]:
        d = len(self.axes)
        if self.method == "latin":
            count = self.runs // self.repeat
            orders = latin_orders(self.seed, count, d)
            return [(order[point] + u) / count for order, u in zip(orders, chances(self.seed, point, d))]
        if self.method == "sobol":
            return sobol_block(self.seed, d, point // SOBOL_BLOCK)[point % SOBOL_BLOCK].tolist()
        if self.method == "saltelli":
            row, part = divmod(point, d + 2)
            return saltelli_row(chances(self.seed, row, 2 * d), part)
        return chances(self.seed, point, d)

    def _seeded(self, point: int) -> int:
        """Runs A and A with a column of B share their noise; B has its own, so that A and B are independent draws."""
        if self.method != "saltelli":
            return point
        row, part = divmod(point, len(self.axes) + 2)
        return 2 * row + (part == len(self.axes) + 1)

    def text(self) -> str:
        """As JSON, the same for the same plan; keys keep their order, by which parameters get their draws."""
        return sealed({"palpate": "sweep", "format": FORMAT, **asdict(self)})


class _Options(Config):
    """Options of all methods, as a plan keeps them."""

    confidence: float = required("1", "level of every interval", gt=0.0, lt=1.0)
    until: str | None = setting(None, "1", "when a sweep stops by itself")
    rare: str | None = setting(None, "1", "failure that is looked for")
    by: str | None = setting(None, "1", "rule of a map")
    metric: str | None = setting(None, "1", "by which runs are ranked")
    minimise: str | None = setting(None, "1", "metric of a search")
    keep: list[str] | None = setting(None, "1", "bounds of a search")
    cells: int | None = setting(None, "1", "of a side of a map", gt=0, le=100_000)
    tolerance: float | None = setting(None, "1", "of a map's boundary", gt=0.0)


def plan_from_text(text: str, where: str) -> Plan:
    """Read a plan back.

    Raises:
        FileError: damaged, of another format, or no sweep's; `where` names the file.
    """
    content = unsealed(text, where)
    if content.pop("palpate", None) != "sweep":
        raise FileError(f"{where} describes no sweep of palpate's", hint="give the folder of a sweep")
    file_format = content.pop("format", None)
    if file_format != FORMAT:
        raise FileError(f"the format of {where} is {file_format!r}; this version of palpate reads {FORMAT}")
    try:
        check_names("entry", content, [one.name for one in fields(Plan)])
        plan = TypeAdapter(Plan).validate_json(json.dumps(content), strict=True)
        _check_tables(plan.scenario)
        _Options.model_validate(plan.options, strict=True)
        for name in ("runs", "repeat", "chunk"):
            whole_number(getattr(plan, name), name, least=1)
        if plan.runs > MOST_RUNS or plan.runs > MOST_CHUNKS * plan.chunk:
            raise InvalidInput(f"{plan.runs} runs in chunks of {plan.chunk}; at most {MOST_CHUNKS} chunks are made")
        return plan
    except (ValueError, LookupError, RecursionError) as error:
        raise FileError(f"{where} describes no sweep: {error}", hint="give the folder of a sweep") from error


def _check_tables(scenario: Mapping[str, Any]) -> None:
    """Refuse a scenario whose tables are none; their keys are judged when it is run."""
    check_names("table of its scenario", ("robot", "control"), scenario)
    for path in _TABLES:
        table: Any = scenario
        for name in path.split("."):
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise InvalidInput(f"its scenario has no table {path}, but {value_text(table)}")
    for sensor in scenario.get("world", {}).get("sensors", {}).get("custom", {}).values():
        if not isinstance(sensor, dict):
            raise InvalidInput(f"a sensor of its scenario is no table, but {value_text(sensor)}")


def differences(mine: Plan, there: Plan) -> list[str]:
    """Differences between two plans, in words; none where they give the same table."""
    changes = []
    for name, one in asdict(mine).items():
        other = asdict(there)[name]
        if name == "source" or json.dumps(one) == json.dumps(other):
            continue
        if isinstance(one, dict):
            keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
            changes.append(f"{name} ({', '.join(sorted(keys)) or 'in another order'})")
        else:
            changes.append(f"{name} ({other} there, {one} now)")
    return changes


def chunk_size(runs: int, traces: str) -> int:
    """Small enough that an interruption costs little, large enough that writing does not count."""
    return max(1, min(MOST_CHUNK if traces in ("none", "best", "worst") else 8, runs // CHUNKS))


def versions() -> dict[str, str]:
    """Of the packages that decide what a run gives."""
    from palpate import __version__

    return {name: __version__ if name == "palpate" else version(name) for name in NUMBERS_FROM}


def file_digest(path: str) -> str | None:
    """SHA-256 of a file, or None where there is none."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if Path(path).is_file() else None


def file_digests(scenario: Mapping[str, Any]) -> dict[str, str]:
    """SHA-256 of the files that a scenario is run from: model, meshes, reference, surfaces, the code of its modules."""
    robot = RobotSettings.model_validate_json(json.dumps(scenario["robot"]))
    named = [scenario.get("reference", {}).get("file"), *files_of_robot(robot)]
    named += [surface.get("file") for surface in scenario.get("world", {}).get("surfaces", ())]
    named += texts_of(scenario.get("modules", {}))
    digests = {name: file_digest(name) for name in named if isinstance(name, str)}
    return {name: digest for name, digest in digests.items() if digest is not None}
