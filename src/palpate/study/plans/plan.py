"""What a sweep is, as plain data: enough to make every run again, anywhere, and to know whether two sweeps are one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from palpate.errors import FileError, InvalidInput
from palpate.scenario.file.places import absolute_path, read_from, relative_path, seen_from
from palpate.scenario.model import RobotSettings
from palpate.scenario.robot import files_of_robot
from palpate.study.plans.axis import Axis, axes_of, override
from palpate.study.plans.design import Point
from palpate.user_code import texts_of, use_files

FORMAT = 1
MOST_CHUNK, CHUNKS = 100, 64  # runs that are made, written and redone together; how many chunks a sweep has at least
KEPT_TRACES = ("none", "all", "failing", "best", "worst")
MOST_KEPT = 5  # traces of best or worst runs
NUMBERS_FROM = ("palpate", "mujoco-core", "numba", "numpy", "scipy")  # packages that decide what a run gives
# Outcomes beside a trace's own: refused before it began; its process died, or a defect showed; never run, by theory.
IMPOSSIBLE, CRASHED, REFUSED = "impossible", "crashed", "refused"
ENDED = ("completed", "stopped")  # outcomes of a trace that ended as it should


@dataclass(frozen=True)
class Plan:
    """A sweep.

    Attributes:
        scenario: its data, everything but what varies.
        source: words after `palpate run` that give the same scenario; none where they name an absolute path.
        vary: what each key may be.
        method: of the design, or "map", "rare", "tune".
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

    def overrides(self, point: Point) -> list[str]:
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
        use_files({name: file for name, file in scenario.get("modules", {}).items() if os.path.isfile(file)})
        return replace(self, scenario=scenario, files=files)

    def text(self) -> str:
        """As JSON, the same for the same plan; keys keep their order, by which parameters get their draws."""
        return json.dumps({"palpate": "sweep", "format": FORMAT, **asdict(self)}, indent=1)


def plan_from_text(text: str, where: str) -> Plan:
    """Read a plan back."""
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.pop("palpate", None) != "sweep":
            raise InvalidInput("no sweep of palpate's")
        file_format = content.pop("format", None)
        if file_format != FORMAT:
            raise InvalidInput(f"its format is {file_format!r}, this version of palpate reads {FORMAT}")
        lists = {key: tuple(content[key]) for key in ("source", "metrics")}
        return Plan(**{**content, **lists})
    except (ValueError, TypeError, KeyError) as error:
        raise FileError(f"{where} describes no sweep: {error}", hint="give the folder of a sweep") from error


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
