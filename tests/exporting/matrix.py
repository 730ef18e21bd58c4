"""Every compiled law on every catalogue arm that it fits: the exported code beside the loop's, bit by bit.

`python tests/exporting/matrix.py PAGE [LAW …]` writes the table; `make export-matrix` calls it. About half an hour on a
core of its own; the page is written anew after every cell, so that one that is cut short has what was done.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from palpate.control import LAWS
from palpate.control.law import Law
from palpate.control.plain_law import PlainLaw
from palpate.errors import PalpateError
from palpate.exporting.code.native import host
from palpate.exporting.draft import draft
from palpate.exporting.folder import verified
from palpate.exporting.library import Library
from palpate.exporting.vectors import packed, play
from palpate.files import write_file
from palpate.robot.catalogue import names
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.file.starter import pressing_scenarios
from palpate.scenario.model import Scenario

TICKS = 20_000
ARMS = (
    "panda", "ur5e", "iiwa14", "fr3", "gen3", "scara", "planar2", "cartesian2", "puma560", "ur10e", "sawyer", "xarm7",
    "planar3", "planar3-vertical", "ur3e", "pendulum", "point3", "ur5e-3link", "two-arm", "quadruped",
)  # fmt: skip
POLE = {"length": 1.0, "mass": 0.1, "tilt": [0.0, 0.02]}
ITS_OWN = {"standing": "floating-stand"}  # laws of a machine that cannot press on a wall


@dataclass(frozen=True)
class Cell:
    """A law on an arm: ticks of the run and stack frame in bytes, or why there is none."""

    law: str
    arm: str
    ticks: int = 0
    frame: int = 0
    ending: str = ""
    reason: str = ""


def kind_of(law: str) -> type[Law]:
    """The class of a law by its name."""
    entry = LAWS[law]
    return getattr(importlib.import_module(entry[0]), entry[1]) if isinstance(entry, tuple) else entry


def compiled_laws() -> list[str]:
    """Names of the laws that are kernels."""
    return [name for name in LAWS if not issubclass(kind_of(name), PlainLaw)]


@cache
def pressing(arm: str) -> dict[str, Any]:
    """The scenario that `palpate new --robot` begins with: the arm presses on a wall."""
    return next(pressing_scenarios({"model": arm}))


def scenario_of(law: str, arm: str) -> Scenario:
    """20 s of a law with its default settings on an arm that presses on a wall, balances, stands or stops."""
    if law in ITS_OWN:
        data = load_scenario(ITS_OWN[law]).as_data()
        data["robot"]["model"] = arm
    else:
        data = dict(pressing(arm))
        directions = data["control"].get("directions")
        control: dict[str, Any] = {"law": law}
        data["control"] = control
        if directions is not None and "directions" in kind_of(law).model_fields:
            control["directions"] = directions
        if law == "fastest-stop":
            control["acceleration"] = 10.0
        if law == "pole-balance":
            data["world"], data["reference"] = {"pole": POLE}, {"kind": "hold"}
    data["run"] = {**data["run"], "duration": 20.0}
    return scenario_from_data({**data, "name": f"{law}-{arm}", "metrics": {}})


def cell(law: str, arm: str) -> Cell:
    """Export in memory, run, compare; a difference of one bit is an error."""
    try:
        made = draft(scenario_of(law, arm), "given")
        library = Library(made)
        code = library.object_for(host())
        played = play(made, TICKS)
    except (PalpateError, StopIteration) as error:
        return Cell(law, arm, reason=" ".join(str(error).split()) or "it cannot press on a wall")
    _, apart = verified(made, code, played, packed(made, played))
    if apart:
        raise AssertionError(f"{law} on {arm}: the exported code differs from the loop's by {apart}")
    ending = "" if played.trace.outcome.kind == "completed" else str(played.trace.outcome)
    return Cell(law, arm, len(played.times), frame_of(library), ending)


_frames: dict[str, int] = {}


def frame_of(library: Library) -> int:
    """The largest stack frame of a law's code, looked at once: the arm is data of the same code."""
    name = library.made.bound.name
    if name not in _frames:
        _frames[name] = library.largest_frame()
    return _frames[name]


def table(laws: list[str]) -> Iterator[Cell]:
    """All cells, arm by arm; a law's kernels are compiled once in the process."""
    for arm in ARMS:
        for law in laws:
            yield cell(law, arm)


def page(cells: list[Cell]) -> str:
    """The table: ticks without a bit of difference, or a dash, with the reasons below."""
    reasons: dict[str, int] = {}
    laws, arms = (list(dict.fromkeys(getattr(c, name) for c in cells)) for name in ("law", "arm"))
    by_name = {(c.law, c.arm): _shown(c, reasons) for c in cells}
    frames = {law: max(c.frame for c in cells if c.law == law) for law in laws}
    text = ["# Every law on every arm, exported", ""]
    text += [
        "Ticks of a run in which the exported code gave every bit of the loop's; the largest stack frame, in bytes;"
    ]
    text += ["– where a law does not fit an arm, with the reason's number.", ""]
    text += ["| arm | " + " | ".join(laws) + " |", "|---" * (len(laws) + 1) + "|"]
    text += ["| " + " | ".join([arm, *(by_name.get((law, arm), "") for law in laws)]) + " |" for arm in arms]
    text += ["| stack frame | " + " | ".join(str(frames[law]) for law in laws) + " |", ""]
    return "\n".join([*text, *(f"{number}. {reason}" for reason, number in reasons.items())]) + "\n"


def _shown(c: Cell, reasons: dict[str, int]) -> str:
    if c.ticks and not c.ending:
        return str(c.ticks)
    reason = (c.ending or c.reason).replace(c.arm, "the arm")
    return f"{c.ticks or '–'} ({reasons.setdefault(reason, len(reasons) + 1)})"


if __name__ == "__main__":
    assert set(ARMS) == set(names())
    done: list[Cell] = []
    for made in table(sys.argv[2:] or compiled_laws()):
        done.append(made)
        print(made, flush=True)
        write_file(Path(sys.argv[1]), page(done))
