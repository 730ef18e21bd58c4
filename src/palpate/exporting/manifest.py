"""The manifest of an exported folder: every convention, version and hash, and its checks."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import FileError
from palpate.exporting.code.records import Code
from palpate.exporting.draft import LATEST, Draft
from palpate.exporting.interface import Item
from palpate.exporting.texts import safe_command
from palpate.files import read_text

KIND = "palpate export"
NAME = "manifest.json"


def manifest(made: Draft, targets: list[str], files: dict[str, bytes], facts: dict[str, Any]) -> dict[str, Any]:
    """What the folder is, for people and programs."""
    run, robot, law = made.run, made.run.robot, made.bound
    limits = robot.limits
    return {
        "kind": KIND,
        "name": made.name,
        "scenario": made.scenario.as_data(),
        "robot": {
            "name": robot.name,
            "joints": list(robot.dof_names),
            "limits": {
                "position": [_numbers(limits.lower), _numbers(limits.upper)],
                **{name: _numbers(getattr(limits, name)) for name in ("velocity", "torque", "torque_rate")},
            },
        },
        "law": {
            "name": law.name,
            "command": law.command,
            "terms": list(law.terms),
            "settings": made.law.model_dump(mode="json"),
        },
        "clock": {"rate": 1.0 / run.clock.control_period, "period": run.clock.control_period},
        "model": made.model,
        "conventions": {
            "units": "SI",
            "wrench": "[f; n], what the environment does to the robot, at the tool's origin, world-aligned axes",
            "twist": "[v; w], at the tool's origin, world-aligned axes",
            "quaternion": "w x y z",
            "matrices": "row by row",
            "target": "in world axes, whatever axes the scenario's reference has",
            "gravity": "included in `torque`: a driver that adds gravity itself is sent torque − gravity",
            "friction": "not compensated, but by terms of the law",
            "limits": "torque limits, rates and filters are left to the driver",
        },
        "guards": None if run.guards is None else run.guards.model_dump(mode="json"),
        "driver": made.scenario.as_data().get("world", {}).get("driver"),
        "start": {"q": _numbers(run.start()[0]), "v": _numbers(run.start()[1])},
        "ticks": {
            "first": "the law's own answer; blend(seconds) goes over from the measured torques",
            "missed": f"counted, the law goes on with one period; more than {LATEST:g} periods: code LATE until reset",
            "not finite": "code NOT_FINITE and the safe command; nothing is remembered of the tick",
            "safe command": safe_command(law.command),
        },
        "codes": {code.name: [code.value, code.meaning] for code in Code},
        "version": made.plan.version,
        "state_bytes": made.plan.state_bytes,
        "input": _fields(made.inputs),
        "output": _fields(made.outputs),
        "gains": {name: list(bounds) for name, bounds in made.bounds.items()},
        "targets": targets,
        "replay": facts,
        "versions": {name: importlib.metadata.version(name) for name in ("palpate", "numba", "llvmlite", "numpy")},
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }


def _numbers(values: Any) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in np.ravel(values)]


def _fields(items: list[Item]) -> list[dict[str, Any]]:
    return [{"name": each.name, "shape": list(each.shape), "about": each.about} for each in items]


def sealed(content: dict[str, Any]) -> str:
    """The manifest's text, with a hash of everything in it."""
    return json.dumps({**content, "hash": _hash(content)}, indent=1, ensure_ascii=False) + "\n"


def _hash(content: dict[str, Any]) -> str:
    plain = {key: value for key, value in content.items() if key != "hash"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder whose every listed file is as it was written.

    Raises:
        FileError: no export, or something in it was changed.
    """
    try:
        content = json.loads(read_text(folder / NAME, most_bytes=50_000_000))
    except (OSError, ValueError) as error:
        raise FileError(
            f"{folder} is not an export of palpate: no {NAME} that can be read",
            hint="palpate export SCENARIO --out DIR makes one",
        ) from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise FileError(f"{folder} is not an export of palpate: its {NAME} says something else")
    if content.get("hash") != _hash(content):
        raise FileError(f"{folder / NAME} was changed since it was written", hint="export anew; --set changes settings")
    for name, digest in content["files"].items():
        path = folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise FileError(f"{path} is not the file that was exported (another hash, or gone)", hint="export anew")
    return content


def is_export(folder: Path) -> bool:
    """Whether a folder was written by an export, changed or not."""
    try:
        return json.loads(read_text(folder / NAME)).get("kind") == KIND
    except (OSError, ValueError, AttributeError, FileError):
        return False
