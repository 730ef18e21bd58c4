"""What a sweep is, as plain data: enough to make every run again, anywhere, and to know whether two sweeps are one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from palpate.checks import Array, whole_number
from palpate.config import Config, required, setting
from palpate.errors import FileError, InvalidInput, check_names, value_text
from palpate.forking import cached_property
from palpate.scenario.file.places import absolute_path, read_from, relative_path, seen_from
from palpate.scenario.model import RobotSettings
from palpate.scenario.robot import files_of_robot
from palpate.sealed import sealed, unsealed
from palpate.tools.study.plans.axis import Axis, Value, axes_of, override
from palpate.user_code import texts_of

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
            orders = _orders(self.seed, count, d)
            return [(order[point] + u) / count for order, u in zip(orders, chances(self.seed, point, d))]
        if self.method == "sobol":
            return _sobol_block(self.seed, d, point // _BLOCK)[point % _BLOCK].tolist()
        if self.method == "saltelli":
            row, part = divmod(point, d + 2)
            return mixed(chances(self.seed, row, 2 * d), part)
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
    """What differs between two plans, in words; nothing where they give the same table."""
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


# ----------------------------------------------------------------------------------------------
# Which runs a sweep makes: from the number of a run to the values of its parameters and its seed.


CELLS = 32  # along a side of a map, where nothing else is said
ONCE = ("saltelli", "map", "rare")  # methods that make each run once
METHODS = ("grid", "random", "latin", "sobol", "saltelli", "map", "rare")
INDEPENDENT = ("random", "saltelli")  # whose draws a probability can be read from
MOST_RUNS = 100_000_000
DEFAULT_RUNS = 1000


@dataclass(frozen=True)
class PlannedRun:
    """One run to make.

    Attributes:
        values: of the parameters, in their order.
        seed: of sensor noise.
        point: runs with the same values have the same one.
        repeat: which of them.
        stage, weight: of adaptive sweeps; what a run counts where the draw was not the plain one.
        refusal: why it is not run at all, or None.
    """

    values: tuple[Value, ...]
    seed: int
    point: int
    repeat: int = 0
    stage: int = 0
    weight: float = 1.0
    refusal: str | None = None


@dataclass(frozen=True)
class PlanStage:
    """Runs that can be made at once: numbers first … first + count − 1, and what each of them is."""

    first: int
    count: int
    points: Callable[[int, int], list[PlannedRun]] = field(repr=False)


def planned_runs(method: str | None, axes: Sequence[Axis], runs: int | None, repeat: int) -> tuple[str, int]:
    """The method and its number of runs, from what was asked for.

    Without a method a grid where every parameter has a list, random draws otherwise.
    """
    endless = [axis.key for axis in axes if axis.values is None]
    method = method or ("grid" if not endless and runs is None else "random")
    if repeat < 1:
        raise InvalidInput(f"--repeat must be at least 1, got {repeat}")
    if repeat > 1 and method in ONCE:
        raise InvalidInput(f"method {method} makes each run once; --repeat must be 1")
    if method == "map" and runs is not None:
        raise InvalidInput("a map chooses its own runs; its fineness is the n of start:stop:n", hint="leave --runs out")
    if method == "grid" and endless:
        raise InvalidInput(
            f"a grid needs a range with a number of values, or a list, for {', '.join(endless)}",
            hint="write start:stop:n, or choose --method random",
        )
    asked = DEFAULT_RUNS if runs is None else runs
    count = -(-asked // repeat) * repeat
    if method == "map":
        count = 4 * map_cells(axes) ** 2 // 10 + 100
    elif method == "grid":
        count = prod(len(axis.values or ()) for axis in axes) * repeat
        if runs is not None and runs != count:
            raise InvalidInput(f"this grid has {count} runs, not {runs}", hint="leave --runs out, or --method random")
    elif method == "saltelli" and asked > 0:
        row = len(axes) + 2
        count = max(2, -(-asked // row)) * row
    if not 1 <= count <= MOST_RUNS:
        raise InvalidInput(f"a sweep makes 1 to {MOST_RUNS} runs, got {count}", hint="change --runs")
    return method, count


def map_cells(axes: Sequence[Axis]) -> int:
    """Finest cells along a side of a map."""
    return max((len(axis.values) - 1 for axis in axes if axis.values), default=CELLS)


def chances(seed: int, point: int, count: int) -> list[float]:
    """Independent numbers from (0, 1) of one point."""
    return np.random.default_rng([seed, point]).random(count).tolist()


def run_seed(seed: int, point: int, repeat: int) -> int:
    """The noise seed of one run, below 2³¹ so that a command stays readable."""
    return int(np.random.default_rng([seed, point, repeat, 1]).integers(2**31))


def mixed(row: Sequence[float], part: int) -> list[float]:
    """Part 0: row A, 1…d: A with that column of B, d + 1: row B; `row` holds A and then B."""
    d = len(row) // 2
    if part == d + 1:
        return list(row[d:])
    return [row[d + i] if i == part - 1 else row[i] for i in range(d)]


@lru_cache(maxsize=4)
def _orders(seed: int, points: int, d: int) -> list[Array]:
    """A permutation of the strata for each parameter."""
    return [np.random.default_rng([seed, i, 2]).permutation(points).astype(np.int64) for i in range(d)]


@lru_cache(maxsize=8)
def _sobol_block(seed: int, d: int, block: int) -> Array:
    import warnings

    from scipy.stats import qmc

    engine = qmc.Sobol(d, scramble=True, rng=np.random.default_rng([seed, 3]))
    if block:
        engine.fast_forward(block * _BLOCK)
    with warnings.catch_warnings(action="ignore"):  # a sweep need not be a power of two long
        return engine.random(_BLOCK)


_BLOCK = 1024
