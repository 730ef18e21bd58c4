"""The manifest of an exported folder: every convention, version and hash, and its checks."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import FileError
from palpate.files import checksum, read_text
from palpate.tools.exporting.arm_facts import adds_gravity
from palpate.tools.exporting.code.objects import template
from palpate.tools.exporting.code.records import Code
from palpate.tools.exporting.commissioning import Expected
from palpate.tools.exporting.draft import LATEST, Draft
from palpate.tools.exporting.guarding import described
from palpate.tools.exporting.interface import Item
from palpate.tools.exporting.writing.release import revision, today
from palpate.tools.exporting.writing.texts import safe_command

KIND = "palpate export"
NAME = "manifest.json"


def manifest(
    draft: Draft, targets: list[str], files: dict[str, bytes], facts: dict[str, Any], steps: Sequence[Expected]
) -> dict[str, Any]:
    """Contents of the manifest: what the folder is, for people and programs."""
    run, robot, law = draft.run, draft.run.robot, draft.bound
    limits, (q, v) = robot.limits, run.start()
    safe = safe_command(law.command, "ramp" in draft.on)
    words = json.loads(template("conventions.json", {"LATEST": f"{LATEST:g}", "SAFE": safe}))
    return {
        "kind": KIND,
        "name": draft.name,
        "scenario": draft.scenario.as_data(),
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
            "settings": draft.law.model_dump(mode="json"),
        },
        "clock": {"rate": 1.0 / run.clock.control_period, "period": run.clock.control_period},
        "model": draft.model,
        "conventions": words["conventions"],
        "protection": described(draft.on, draft.protection, robot),
        "guards": None if run.guards is None else run.guards.model_dump(mode="json"),
        "driver": draft.scenario.as_data().get("world", {}).get("driver"),
        "start": {"q": _numbers(q), "v": _numbers(v)},
        "ticks": words["ticks"],
        "codes": {code.name: [code.value, code.meaning] for code in Code},
        "version": draft.plan.version,
        "state_bytes": draft.plan.state_bytes,
        "input": _fields(draft.inputs),
        "output": _fields(draft.outputs),
        "gains": {name: list(bounds) for name, bounds in draft.bounds.items()},
        "targets": targets,
        "replay": facts,
        "commissioning": [each.as_data() for each in steps],
        "date": today(),
        "revision": revision(),
        "licence": "Apache-2.0",
        "gravity": "added by the arm's controller" if adds_gravity(run) else "held by the library",
        "versions": {name: importlib.metadata.version(name) for name in ("palpate", "numba", "llvmlite", "numpy")},
        "files": {name: checksum(data) for name, data in files.items()},
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
    return checksum(json.dumps(plain, sort_keys=True))


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder whose every listed file is as it was written.

    Raises:
        FileError: no export, or something in it was changed.
    """
    try:
        content = json.loads(read_text(folder / NAME, most_bytes=50_000_000))
    except (FileError, ValueError, RecursionError) as error:
        raise FileError(
            f"{folder} is not an export of palpate: it has no readable {NAME}",
            hint="palpate export SCENARIO --out DIR makes one",
        ) from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise FileError(f"{folder} is not an export of palpate: its {NAME} is of another kind")
    if content.get("hash") != _hash(content):
        raise FileError(f"{folder / NAME} was changed since it was written", hint="export anew; --set changes settings")
    for name, digest in content["files"].items():
        path = folder / name
        if not path.is_file() or checksum(path.read_bytes()) != digest:
            raise FileError(f"{path} is not the file that was exported (another hash, or gone)", hint="export anew")
    return content


def exported_files(folder: Path) -> dict[str, str] | None:
    """The checksum of every file that an export wrote into a folder, by name; None for another folder."""
    try:
        content = json.loads(read_text(folder / NAME))
        if content.get("kind") != KIND:
            return None
        files = {str(name): str(digest) for name, digest in content["files"].items()}
        known = content.get("hash") == _hash(content)
    except (FileError, ValueError, LookupError, AttributeError, RecursionError):
        return None
    return files | ({NAME: checksum((folder / NAME).read_bytes())} if known else {})
