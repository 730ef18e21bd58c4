"""Texts of an exported folder: header, replay, build files, README."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate.exporting.code.image import Part
from palpate.exporting.code.objects import Target, template
from palpate.exporting.code.records import MEANINGS
from palpate.exporting.draft import LATEST, Bounds, Draft
from palpate.exporting.interface import Item
from palpate.exporting.wrappers import wrappers, wrappers_line

_MODEL_LINES = {
    "given": "The model's terms (M, bias, J, …) are part of the input: your driver's or your own model's.",
    "own": "The model's terms are computed inside, from q and v.",
}
_TORQUE = (
    "`torque` is what the joints shall do, gravity included: send `torque − gravity` to a driver that adds gravity."
)
_COMMAND_LINES = {
    "torque": _TORQUE,
    "acceleration": _TORQUE,
    "velocity": "`set_v` is the velocity that the joint servos shall follow.",
    "position": "`set_q` is the position that the joint servos shall follow.",
}


def texts(made: Draft, targets: list[Target], ticks: int) -> dict[str, str]:
    """Every text of the folder but the manifest, by the file's name."""
    wasm = any(not target.wide for target in targets)
    values = _values(made, targets, ticks, wasm)
    around = wrappers(made, values)
    values["WRAPPERS_LINE"] = wrappers_line(around)
    names = ["main.c", "CMakeLists.txt", "Makefile", "README.md", *(["replay.mjs"] if wasm else [])]
    return {f"{made.name}.h": header(made)} | {name: template(name, values) for name in names} | around


def _names(made: Draft) -> dict[str, Any]:
    """What header, README and programs say of a law."""
    return {
        "NAME_UPPER": made.name.upper(),
        "NAME": made.name,
        "LAW": made.bound.name,
        "ROBOT": made.run.robot.name,
        "SCENARIO": made.scenario.name,
        "SAFE": safe_command(made.bound.command),
        "VERSION": made.plan.version,
        "LATEST": f"{LATEST:g}",
    }


def _values(made: Draft, targets: list[Target], ticks: int, wasm: bool) -> dict[str, Any]:
    period = made.run.clock.control_period
    return _names(made) | {
        "ABOUT": made.scenario.description or made.scenario.name,
        "RATE": f"{1.0 / period:g}",
        "PERIOD": f"{period:g}",
        "PALPATE": version("palpate"),
        "TICKS": ticks,
        "TARGETS": ", ".join(target.name for target in targets),
        "WASM": "    node replay.mjs                            # the same in WebAssembly\n" if wasm else "",
        "STATE_BYTES": made.plan.state_bytes,
        "MODEL_LINE": _MODEL_LINES[made.model],
        "COMMAND_LINE": _COMMAND_LINES[made.bound.command],
        "GAINS_LINE": f"May be changed, within bounds: {', '.join(made.bounds)}."
        if made.bounds
        else "None may be changed alone.",
    }


def safe_command(kind: str) -> str:
    """What stands in the answer where there is an error."""
    if kind == "position":
        return "the last set point, NaN before the first"
    return "velocity 0" if kind == "velocity" else "torque 0"


def header(made: Draft) -> str:
    """The C header."""
    upper = made.name.upper()
    codes = (f"    {upper}_CODE_{code.name} = {code.value}, /* {text} */" for code, text in MEANINGS.items())
    values = _names(made) | {
        "JOINTS": made.run.robot.nv,
        "PERIOD_EXACT": repr(made.run.clock.control_period),
        "CODES": "\n".join(codes),
        "STATE_WORDS": made.plan.state_bytes // 8,
        "INPUTS": "\n".join(map(_declared, made.inputs)),
        "OUTPUTS": "\n".join(map(_declared, made.outputs)),
        "GAINS": _fields(made.gains, made.bounds),
        "MEMORY": _fields(made.memory, {}),
    }
    return template("law.h", values)


def _declared(each: Item) -> str:
    return f"    {each.kind} {each.name}{_shape(each.shape)}; /* {each.about} */"


def _shape(shape: Sequence[int]) -> str:
    return "".join(f"[{n}]" for n in shape)


def _fields(parts: list[Part], bounds: dict[str, Bounds]) -> str:
    lines = []
    for part in parts:
        note = f" /* {_interval(*bounds[part.name])}, may be changed */" if part.name in bounds else ""
        lines.append(f"    {'double' if part.real else 'int64_t'} {part.name}{_shape(part.shape)};{note}")
    return "\n".join(lines) or "    int64_t nothing;"


def _interval(low: float, high: float) -> str:
    largest = np.finfo(float).max
    return f"{'any' if low == -largest else f'from {low:.9g}'}{'' if high == largest else f' to {high:.9g}'}"
