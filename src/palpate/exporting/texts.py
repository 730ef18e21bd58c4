"""Texts of an exported folder: header, replay, build files, README; programs for libfranka and ros2_control."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate.exporting.code.image import Part
from palpate.exporting.code.objects import TargetMachine, template
from palpate.exporting.code.records import Code
from palpate.exporting.draft import LATEST, Bounds, Draft
from palpate.exporting.interface import Item

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


def texts(made: Draft, targets: list[TargetMachine], ticks: int) -> dict[str, str]:
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


def _values(made: Draft, targets: list[TargetMachine], ticks: int, wasm: bool) -> dict[str, Any]:
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
    codes = (f"    {upper}_CODE_{code.name} = {code.value}, /* {code.meaning} */" for code in Code)
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
    return f"    double {each.name}{_shape(each.shape)}; /* {each.about} */"


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


# ------------------------------------------------ programs around the library: libfranka's loops, ros2_control

_FRANKAS = ("fr3", "panda", "franka", "fer")
_NO_FILTER = 1000.0  # Hz, from which on libfranka's loop filters nothing
_FRANKA_CUTOFF, _FRANKA_RATE = 100.0, 999.999  # Hz, N·m/s: libfranka's own defaults
_FIELDS = ("q", "v", "tau", "wrench")  # of a tick, which a driver measures; targets beside them


def wrappers(made: Draft, values: Mapping[str, Any]) -> dict[str, str]:
    """Files by name. A wrapper knows measurements and targets: terms of a given model, or a pole, it does not."""
    known = all(each.name in _FIELDS or each.name.startswith("target_") for each in made.inputs)
    if made.model != "own" or not known or made.run.robot.nq != made.run.robot.nv:
        return {}
    return _franka(made, values) | _ros(made, values)


def wrappers_line(files: Iterable[str]) -> str:
    """What the README says of them."""
    folders = {name.split("/")[0] for name in files}
    lines = {
        "franka": "- `franka/`: callback and active control of libfranka; gravity, filter and rates are dealt with.\n",
        "ros2_control": "- `ros2_control/`: a package with this law as a chainable controller; build it with colcon.\n",
    }
    return "".join(line for folder, line in lines.items() if folder in folders)


def _targets(made: Draft) -> list[Item]:
    return [each for each in made.inputs if each.name.startswith("target_")]


# ---------------------------------------------------------------------------------------------------------- libfranka


def _franka(made: Draft, names: Mapping[str, Any]) -> dict[str, str]:
    robot = made.run.robot
    if robot.nv != 7 or made.bound.command not in ("torque", "acceleration") or not _is_franka(robot.name):
        return {}
    facts = made.run.world.driver.facts
    theirs = made.run.world.driver.preset == "libfranka"  # else libfranka's own defaults
    base = robot.model.body(int(robot.model.body_parentid[robot.model.jnt_bodyid[0]])).name
    X_WO = robot.pose(robot.home, base)
    values = {**names} | {
        "TOOL": robot.tool_frame,
        "CUTOFF": (facts.cutoff or _NO_FILTER) if theirs else _FRANKA_CUTOFF,
        "TORQUE_RATE": facts.torque_rate_limit
        if theirs and isinstance(facts.torque_rate_limit, float)
        else _FRANKA_RATE,
        "R_WO": _braces(X_WO.rotation),
        "P_WO": _braces(X_WO.position),
        "HOLD": "\n".join(_held(made)),
    }
    return {
        f"franka/{made.name}_franka.h": template("franka.h", values),
        f"franka/{made.name}_franka.hpp": template("franka.hpp", values),
    }


def _is_franka(name: str) -> bool:
    return any(make in name.lower() for make in _FRANKAS)


def _braces(numbers: Any) -> str:
    if np.ndim(numbers) == 0:
        return repr(float(numbers))
    return "{" + ", ".join(_braces(row) for row in numbers) + "}"


def _held(made: Draft) -> Iterable[str]:
    """C that makes a measured posture and pose (q, p, w) the target; rates and wrenches of a target become 0."""
    sources = {"target_q": "q", "target_position": "p", "target_quat_wxyz": "w"}
    unused = {"q", "p", "w"}
    for each in made.inputs:
        field = f"f->in.{each.name}"
        if each.name in sources:
            unused.discard(sources[each.name])
            yield f"    memcpy({field}, {sources[each.name]}, sizeof {field});"
        elif each.name.startswith("target_"):
            yield f"    memset({field}, 0, sizeof {field});"
    yield from (f"    (void){name};" for name in sorted(unused))


# ------------------------------------------------------------------------------------------------------- ros2_control

_INTERFACES = {"torque": "effort", "acceleration": "effort", "velocity": "velocity", "position": "position"}
_COMMANDED = {
    "effort": "out.torque[j] - (params_.hardware_adds_gravity ? out.gravity[j] : 0.0)",
    "velocity": "out.set_v[j]",
    "position": "out.set_q[j]",
}


def _ros(made: Draft, names: Mapping[str, Any]) -> dict[str, str]:
    fields, kind, guards = _targets(made), _INTERFACES[made.bound.command], made.run.guards
    if not fields:
        return {}  # a chainable controller is one with references
    references = [f'"{each.name}.{k}"' for each in fields for k in range(each.size)]
    feels = made.law.feels or (guards is not None and bool(guards.contact_force or guards.stale_ticks))
    values = {**names} | {
        "REFERENCES": len(references),
        "REFERENCE_NAMES": ", ".join(references),
        "FEELS": str(feels).lower(),
        "COMMANDED": _COMMANDED[kind],
        "COMMAND": kind,
        "TARGETS_FROM_PARAMETERS": "\n".join(f"        put(params_.target.{_short(each)});" for each in fields),
        "TARGET_FIELDS": ", ".join(f"next.{each.name}" for each in fields),
        "TARGET_SIZES": ", ".join(str(each.size) for each in fields),
        "GAINS_FROM_PARAMETERS": "\n".join(_gain_line(_part(made, name)) for name in made.bounds),
    }
    files = {
        f"{made.name}_controller.cpp": "controller.cpp",
        f"{made.name}_controller.xml": "controller.xml",
        "package.xml": "package.xml",
        "CMakeLists.txt": "controller_CMakeLists.txt",
    }
    made_of = {f"ros2_control/{name}": template(source, values) for name, source in files.items()}
    return made_of | {f"ros2_control/{made.name}_parameters.yaml": parameters(made)}


def _short(each: Item) -> str:
    return each.name.removeprefix("target_")


def _part(made: Draft, name: str) -> Part:
    return next(part for part in made.gains if part.name == name)


def _gain_line(part: Part) -> str:
    taken = f"params_.gains.{part.name}"
    if not part.shape:
        return f"        gains.{part.name} = {taken};"
    return f"        std::copy({taken}.begin(), {taken}.end(), &gains.{part.name}[0]);"


def parameters(made: Draft) -> str:
    """The controller's parameters for generate_parameter_library: units and bounds are those of palpate's settings."""
    robot = made.run.robot
    lines = [f"# Parameters of the controller {made.name}, for generate_parameter_library.", f"{made.name}:"]
    joints = f"[{', '.join(_quoted(name) for name in robot.dof_names)}]"
    size = {"fixed_size<>": str(robot.nv)}
    lines += _parameter("joints", "string_array", joints, "joints, in the law's order", size, frozen=True)
    lines += _parameter("wrench_sensor", "string", '""', "name of the force-torque sensor; empty for none", frozen=True)
    lines += _parameter("blend", "double", "0.5", "[s] from the measured efforts to the law's", {"gt_eq<>": "[0.0]"})
    about = "[ticks] with a state or reference missing, after which update returns ERROR; the last command holds before"
    lines += _parameter("missing_limit", "int", "10", about, {"gt_eq<>": "[0]"})
    if _INTERFACES[made.bound.command] == "effort":
        adds = str(made.run.world.driver.facts.adds_gravity).lower()
        lines += _parameter("hardware_adds_gravity", "bool", adds, "the law's gravity is not sent", frozen=True)
    lines += ["  target:", *(f"  {line}" for each in _targets(made) for line in _target(made, each))]
    if made.bounds:
        lines += ["  gains:", *(f"  {line}" for name in made.bounds for line in _gain(made, name))]
    return "\n".join(lines) + "\n"


def _parameter(
    name: str, kind: str, default: str, about: str, checks: dict[str, str] | None = None, frozen: bool = False
) -> list[str]:
    lines = [f"  {name}:", f"    type: {kind}", f"    default_value: {default}", f"    description: {_quoted(about)}"]
    lines += ["    read_only: true"] if frozen else []
    return [*lines, *(["    validation:"] if checks else []), *(f"      {k}: {v}" for k, v in (checks or {}).items())]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(numbers: Any) -> str:
    return f"[{', '.join(repr(float(x)) for x in np.ravel(numbers))}]"


def _target(made: Draft, each: Item) -> list[str]:
    """A target that counts when no controller stands before this one; by default where the scenario starts."""
    q = made.run.start()[0]
    pose = made.run.robot.pose(q)
    starts = {"target_q": q, "target_position": pose.position, "target_quat_wxyz": pose.quat_wxyz}
    numbers = starts.get(each.name, np.zeros(each.size))
    return _parameter(_short(each), "double_array", _list(numbers), each.about, {"fixed_size<>": str(each.size)})


def _gain(made: Draft, name: str) -> list[str]:
    part, (low, high) = _part(made, name), made.bounds[name]
    field = type(made.law).model_fields[part.path[-1]]
    extra = field.json_schema_extra
    unit = extra.get("unit", "1") if isinstance(extra, dict) else "1"
    words = made.data[made.plan.image + part.word : made.plan.image + part.word + part.count]
    numbers = np.array(words, dtype=np.int64).view(np.float64)
    checks, element = {}, "" if not part.shape else "element_"
    largest = np.finfo(float).max
    if low > -largest and high < largest:
        checks[f"{element}bounds<>"] = f"[{low!r}, {high!r}]"
    elif low > -largest:
        checks["lower_element_bounds<>" if element else "gt_eq<>"] = f"[{low!r}]"
    elif high < largest:
        checks["upper_element_bounds<>" if element else "lt_eq<>"] = f"[{high!r}]"
    if part.shape:
        checks["fixed_size<>"] = str(part.count)
    default = _list(numbers) if part.shape else repr(float(numbers[0]))
    kind = "double_array" if part.shape else "double"
    return _parameter(name, kind, default, f"[{unit}] {field.description}", checks)
