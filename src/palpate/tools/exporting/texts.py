"""Texts of an exported folder: header, replay, build files, README; programs for libfranka and ros2_control."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate.escape import Written, c_comment, c_string, markdown_code, yaml_string
from palpate.tools.exporting.arm_facts import adds_gravity
from palpate.tools.exporting.carrying import FIELDS
from palpate.tools.exporting.code.image import Part
from palpate.tools.exporting.code.objects import TargetMachine, template, template_text
from palpate.tools.exporting.code.records import Code
from palpate.tools.exporting.code.tuning import DEFINITE, EASE, FREE, SCALED, Setup
from palpate.tools.exporting.draft import LATEST, Draft
from palpate.tools.exporting.gain_table import gain_about, kind_of
from palpate.tools.exporting.guarding import GUARDS, RAMP_TIME, has_guards
from palpate.tools.exporting.interface import Item
from palpate.tools.exporting.release import revision, today

_LARGEST = np.finfo(float).max
_HOW = {
    FREE: "may be changed, {}",
    DEFINITE: "may be changed, symmetric and positive semidefinite, diagonal {}",
    SCALED: "may be changed as a whole, by one factor from 0 to 1",
}
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
# Folder of a program around the library: what the README says of it.
_WRAPPER_LINES = {
    "franka": "- `franka/`: callback and active control of libfranka; gravity, filter and rates are dealt with.\n",
    "ros2_control": "- `ros2_control/`: a package with this law as a chainable controller; build it with colcon.\n",
}


def texts(draft: Draft, targets: list[TargetMachine], ticks: int, note: str = "") -> dict[str, str]:
    """Every text of the folder but manifest and sheet, by the file's name."""
    wasm = any(not target.wide for target in targets)
    makers = {"franka": _franka, "ros2_control": _ros} if _can_be_wrapped(draft) else {}
    wrappers = {folder: more for folder, make in makers.items() if (more := make(draft))}
    values = values_of(draft, note) | {
        "TICKS": ticks,
        "TARGETS": ", ".join(target.name for target in targets),
        "WASM": Written("    node replay.mjs                            # the same in WebAssembly\n" if wasm else ""),
        "WRAPPERS_LINE": Written("".join(_WRAPPER_LINES[folder] for folder in wrappers)),
    }
    names = ["main.c", "CMakeLists.txt", "Makefile", "README.md", *(["replay.mjs"] if wasm else [])]
    files = {f"{draft.name}.h": header(draft)} | {name: template(name, values) for name in names}
    files |= {"LICENSE": template_text("LICENSE.txt"), "NOTICE": template("NOTICE.txt", values)}
    for folder, more in wrappers.items():
        for name, source in _WRAPPER_FILES[folder].items():
            files[f"{folder}/{name.format(draft.name)}"] = template(source, values | more).rstrip() + "\n"
    return files


def values_of(draft: Draft, note: str) -> dict[str, Any]:
    """What the folder's texts and its sheet say alike; `note` is that of the rate."""
    return _values(draft) | {
        "ABOUT": draft.scenario.description or draft.scenario.name,
        "PALPATE": version("palpate"),
        "DATE": today(),
        "REVISION": revision(),
        "CLOCK_NOTE": note,
        "GRAVITY_NOTE": _gravity_note(draft),
    }


def _gravity_note(draft: Draft) -> str:
    """Who holds gravity."""
    if _INTERFACES[draft.bound.command] != "effort":
        return "The joint servos hold gravity; the set points of the library stay within the joints' ranges."
    if adds_gravity(draft.run):
        return "The arm's controller adds gravity: send torque − gravity. On a code the ramp ends in damping alone."
    return "The arm's controller adds no gravity: send torque as it is; the library holds gravity while it is called."


def _values(draft: Draft) -> dict[str, Any]:
    """What header, README and programs say of a law."""
    upper, period = draft.name.upper(), draft.run.clock.control_period
    codes = (f"    {upper}_CODE_{code.name} = {code.value}, /* {code.meaning} */" for code in Code)
    changeable = f"May be changed, within bounds: {', '.join(draft.bounds)}."
    return {
        "NAME_UPPER": upper,
        "NAME": draft.name,
        "LAW": draft.bound.name,
        "LAW_CODE": Written(markdown_code(draft.bound.name)),
        "ROBOT": draft.run.robot.name,
        "ROBOT_CODE": Written(markdown_code(draft.run.robot.name)),
        "SCENARIO": draft.scenario.name,
        "SAFE": safe_command(draft.bound.command, "ramp" in draft.on),
        "GUARDS": Written("\n".join(_guard_lines(draft))),
        "RAMP_TIME": f"{RAMP_TIME:g}",
        "LIMITS": Written("\n".join(_limit_lines(draft))),
        "VERSION": draft.plan.version,
        "LATEST": f"{LATEST:g}",
        "JOINTS": draft.run.robot.nv,
        "RATE": f"{1.0 / period:g}",
        "PERIOD_EXACT": repr(period),
        "PERIOD": f"{period:g}",
        "CODE_NAMES": Written(", ".join(c_string(code.name) for code in Code)),
        "CODES": Written("\n".join(codes)),
        "STATE_BYTES": draft.plan.state_bytes,
        "STATE_WORDS": draft.plan.state_bytes // 8,
        "INPUTS": Written("\n".join(map(_declared, draft.inputs))),
        "OUTPUTS": Written("\n".join(map(_declared, draft.outputs))),
        "GAINS": Written(_gain_fields(draft)),
        "MEMORY": Written(_memory_fields(draft)),
        "SETUP": Written(_setup_fields(draft)),
        "EASE": f"{EASE:g}",
        "SETUP_LINE": "" if draft.setup is not None else " (not here: the model is given)",
        "MODEL_LINE": Written(_MODEL_LINES[draft.model]),
        "COMMAND_LINE": Written(_COMMAND_LINES[draft.bound.command]),
        "GAINS_LINE": Written(changeable if draft.bounds else "None may be changed alone."),
    }


def safe_command(kind: str, ramp: bool) -> str:
    """What stands in the answer where there is an error."""
    if ramp and kind in ("torque", "acceleration"):
        return f"a ramp of {RAMP_TIME:g} s to damping with gravity, held until reset; the library holds gravity"
    if ramp:
        return f"a ramp of {RAMP_TIME:g} s to rest, held until reset"
    if kind == "position":
        return "the last set point, NaN before the first"
    return "velocity 0" if kind == "velocity" else "torque 0; the library holds no gravity, the drive must"


def _guard_lines(draft: Draft) -> Iterator[str]:
    """The guards by name, one line of the header's first comment each."""
    if not has_guards(draft.run.robot):
        yield " *   none of joints: the base is free"
        return
    for name, about in GUARDS.items():
        yield f" *   {name}: {'' if name in draft.on else 'OFF. On, it '}{c_comment(about)}"


def _limit_lines(draft: Draft) -> Iterator[str]:
    """Bounds of the guards as comments; what is not known is not limited."""
    p, units = draft.protection, draft.run.robot.dof_units
    torque = ", ".join("N·m" if unit == "rad" else "N" for unit in dict.fromkeys(units))
    table = {
        f"|torque|, {torque}": p.torque,
        f"|change of torque in a tick|, {torque}": p.torque_step,
        "lower end of the joints' ranges, rad or m": p.lower,
        "upper end, rad or m": p.upper,
        "|measured speed|, rad/s or m/s": p.most_speed,
        "|change of q in a period|, rad or m": p.q_step,
        "|change of target_q in a tick|, rad or m": np.maximum(p.target_q_step, p.target_q_jump),
        "|change of target_position in a tick|, m": [max(p.target_position_step, p.target_position_jump)],
        "turn of target_quat_wxyz in a tick, rad": [max(p.target_turn_step, p.target_turn_jump)],
    }
    for name, bounds in table.items():
        known = np.isfinite(bounds).any()
        yield f" *   {name}: {', '.join(f'{x:.6g}' for x in bounds) if known else 'no limit (off, or not known)'}"


def header(draft: Draft) -> str:
    """The C header."""
    return template("law.h", _values(draft))


def _declared(each: Item) -> str:
    return f"    double {each.name}{_shape(each.shape)}; /* {c_comment(each.about)} */"


def _shape(shape: Sequence[int]) -> str:
    return "".join(f"[{n}]" for n in shape)


def _gain_fields(draft: Draft) -> str:
    """The gains with unit, meaning, and how they may be changed."""
    lines = []
    for part in draft.gains:
        unit, about = _gain_words(draft, part)
        how = _HOW[kind_of(part)].format(_interval(*draft.bounds[part.name])) if part.name in draft.bounds else "fixed"
        note = "; ".join(filter(None, (f"{unit}: {about}" if about else "", how)))
        lines.append(f"{_field(part)} /* {c_comment(note)} */")
    return "\n".join(lines) or "    int64_t nothing;"


def _gain_words(draft: Draft, part: Part) -> tuple[str, str]:
    """Unit and meaning of a gain: of the setting that it is, else of the table."""
    field = type(draft.law).model_fields.get(part.path[-1]) if part.name in draft.bounds else None
    if field is not None and len(part.path) == 1 and isinstance(field.json_schema_extra, dict):
        return str(field.json_schema_extra.get("unit", "1")), str(field.description)
    told = gain_about(part)
    return told.unit, told.about


def _memory_fields(draft: Draft) -> str:
    """What the law remembers: recorded numbers with their units, others by whether a tick carries them on."""
    shown = {each.field.replace(".", "_"): each for each in draft.law.shown}
    lines = []
    for part in draft.memory:
        each = shown.get("_".join(part.path))
        if each is not None:
            unit = each.unit if isinstance(each.unit, str) else ", ".join(dict.fromkeys(each.unit))
            note = f"{unit}: {each.help or each.name}"
        else:
            note = "carried on from tick to tick" if _carried(draft.bound.memory, part.path) else "scratch of a tick"
        lines.append(f"{_field(part)} /* {c_comment(note)} */")
    return "\n".join(lines) or "    int64_t nothing;"


def _carried(record: Any, path: tuple[str, ...]) -> bool:
    """Whether a field of a memory is declared as one that a tick carries on."""
    for name in path[:-1]:
        record = getattr(record, name, None)
    fields = getattr(type(record), "fields", {}) if record is not None else {}
    return path[-1] in fields and bool(getattr(fields[path[-1]], "carried", False))


def _field(part: Part) -> str:
    return f"    {'double' if part.real else 'int64_t'} {part.name}{_shape(part.shape)};"


def _setup_fields(draft: Draft) -> str:
    """Payload, tool, gravity and friction with unit, meaning and bounds."""
    if draft.setup is None:
        return "    double nothing[15];"
    s, lines = draft.setup, []
    for name, size, first, about in FIELDS:
        value = ", ".join(f"{x:.6g}" for x in s.wanted[first : first + size])
        note = f"{about}; from {s.low[first]:.6g} to {s.high[first]:.6g}; exported with {value}"
        lines.append(f"    double {name}{f'[{size}]' if size > 1 else ''}; /* {c_comment(note)} */")
    return "\n".join(lines)


def _interval(low: float, high: float) -> str:
    return f"{'any' if low == -_LARGEST else f'from {low:.9g}'}{'' if high == _LARGEST else f' to {high:.9g}'}"


# ------------------------------------------------ programs around the library: libfranka's loops, ros2_control

_INTERFACES = {"torque": "effort", "acceleration": "effort", "velocity": "velocity", "position": "position"}
_MEASURED = ("q", "v", "tau", "wrench")  # fields of a tick that a driver measures
_WRAPPER_FILES = {
    "franka": {"{}_franka.h": "franka.h", "{}_franka.hpp": "franka.hpp"},
    "ros2_control": {
        "{}_controller.cpp": "controller.cpp",
        "{}_controller.xml": "controller.xml",
        "package.xml": "package.xml",
        "CMakeLists.txt": "controller_CMakeLists.txt",
        "{}_parameters.yaml": "parameters.yaml",
        "config/{}_controllers.yaml": "controllers.yaml",
        "launch/{}.launch.py": "launch.txt",
    },
}


def _targets(draft: Draft) -> list[Item]:
    return [each for each in draft.inputs if each.name.startswith("target_")]


def _can_be_wrapped(draft: Draft) -> bool:
    """A program knows measurements and targets: terms of a given model, or a pole, it does not."""
    known = all(each.name in _MEASURED or each.name.startswith("target_") for each in draft.inputs)
    return draft.model == "own" and known and draft.run.robot.nq == draft.run.robot.nv


# ---------------------------------------------------------------------------------------------------------- libfranka

_FRANKAS = ("fr3", "panda", "franka", "fer")
_NO_FILTER = 1000.0  # Hz, from which on libfranka's loop filters nothing
_FRANKA_CUTOFF, _FRANKA_RATE = 100.0, 999.999  # Hz, N·m/s: libfranka's own defaults


def _franka(draft: Draft) -> dict[str, Any]:
    """Values of the programs for libfranka; none where the arm or the law does not fit."""
    robot = draft.run.robot
    franka = robot.nv == 7 and any(make in robot.name.lower() for make in _FRANKAS)
    if not franka or _INTERFACES[draft.bound.command] != "effort":
        return {}
    cutoff, rate, driver = _FRANKA_CUTOFF, _FRANKA_RATE, draft.run.world.driver
    if driver.preset == "libfranka":
        cutoff = driver.facts.cutoff or _NO_FILTER
        rate = driver.facts.torque_rate_limit if isinstance(driver.facts.torque_rate_limit, float) else rate
    base = robot.model.body(int(robot.model.body_parentid[robot.model.jnt_bodyid[0]])).name
    X_WO = robot.pose(robot.home, base)
    return {
        "TOOL": robot.tool_frame,
        "CUTOFF": cutoff,
        "TORQUE_RATE": rate,
        "R_WO": Written(_in_braces(X_WO.rotation)),
        "P_WO": Written(_in_braces(X_WO.position)),
        "HOLD": Written("\n".join(_hold_lines(draft))),
    }


def _in_braces(numbers: Any) -> str:
    return repr(np.asarray(numbers, dtype=float).tolist()).replace("[", "{").replace("]", "}")


def _hold_lines(draft: Draft) -> Iterator[str]:
    """C that makes a measured posture and pose (q, p, w) the target; rates and wrenches of a target become 0."""
    sources = {"target_q": "q", "target_position": "p", "target_quat_wxyz": "w"}
    unused = set(sources.values())
    for each in _targets(draft):
        field, source = f"f->in.{each.name}", sources.get(each.name)
        unused.discard(source or "")
        yield (
            f"    memcpy({field}, {source}, sizeof {field});" if source else f"    memset({field}, 0, sizeof {field});"
        )
    yield from (f"    (void){name};" for name in sorted(unused))


# ------------------------------------------------------------------------------------------------------- ros2_control

_COMMANDED = {
    "effort": "out.torque[j] - (params_.hardware_adds_gravity ? out.gravity[j] : 0.0)",
    "velocity": "out.set_v[j]",
    "position": "out.set_q[j]",
}


def _ros(draft: Draft) -> dict[str, Any]:
    """Values of the package for ros2_control; none without targets: a chainable controller is one with references."""
    fields, kind, guards = _targets(draft), _INTERFACES[draft.bound.command], draft.run.guards
    if not fields:
        return {}
    references = [c_string(f"{each.name}.{k}") for each in fields for k in range(each.size)]
    feels = draft.law.feels or (guards is not None and bool(guards.contact_force or guards.stale_ticks))
    by_name = {part.name: part for part in draft.gains}
    gains = [by_name[name] for name in draft.bounds]
    return {
        "REFERENCES": len(references),
        "REFERENCE_NAMES": Written(", ".join(references)),
        "FEELS": str(feels).lower(),
        "COMMANDED": Written(_COMMANDED[kind]),
        "COMMAND": kind,
        "TARGETS_FROM_PARAMETERS": Written(
            "\n".join(f"        put(params_.target.{_short(each)});" for each in fields)
        ),
        "TARGET_FIELDS": Written(", ".join(f"next.{each.name}" for each in fields)),
        "TARGET_SIZES": ", ".join(str(each.size) for each in fields),
        "GAINS_FROM_PARAMETERS": Written("\n".join(map(_gain_line, gains))),
        "GRAVITY_HELD": "params_.hardware_adds_gravity" if kind == "effort" else "true",
        "SETUP_FROM_PARAMETERS": Written("\n".join(map(_setup_line, FIELDS))),
        "RATE_INTEGER": round(1.0 / draft.run.clock.control_period),
        "PACKAGE_VERSION": (re.match(r"\d+\.\d+\.\d+", version("palpate")) or ["0.0.0"])[0],
        "SETTINGS": f"    hardware_adds_gravity: {str(adds_gravity(draft.run)).lower()}" if kind == "effort" else "",
        "JOINT_NAMES": Written(f"[{', '.join(map(yaml_string, draft.run.robot.dof_names))}]"),
        "PARAMETERS": Written("\n".join(_parameters(draft, fields, gains))),
    }


def _short(each: Item) -> str:
    return each.name.removeprefix("target_")


def _gain_line(part: Part) -> str:
    taken = f"params_.gains.{part.name}"
    if not part.shape:
        return f"        gains.{part.name} = {taken};"
    return f"        std::copy({taken}.begin(), {taken}.end(), &gains.{part.name}[0]);"


def _setup_line(row: tuple[str, int, int, str]) -> str:
    name, size, _, _ = row
    taken = f"params_.setup.{name}"
    return (
        f"        std::copy({taken}.begin(), {taken}.end(), setup.{name});"
        if size > 1
        else f"        setup.{name} = {taken};"
    )


def _setup_parameters(setup: Setup) -> Iterator[str]:
    for name, size, first, about in FIELDS:
        numbers = setup.wanted[first : first + size].tolist()
        bounds = [float(setup.low[first]), float(setup.high[first])]
        checks = {"element_bounds<>" if size > 1 else "bounds<>": bounds} | ({"fixed_size<>": size} if size > 1 else {})
        kind, default = ("double_array", numbers) if size > 1 else ("double", numbers[0])
        yield from _parameter(f"    {name}", kind, default, about, checks)


def _parameters(draft: Draft, targets: list[Item], gains: list[Part]) -> Iterator[str]:
    """The parameters that depend on the law, for generate_parameter_library: units and bounds are the settings'."""
    if _INTERFACES[draft.bound.command] == "effort":
        adds = str(adds_gravity(draft.run)).lower()
        yield from _parameter("  hardware_adds_gravity", "bool", adds, "the law's gravity is not sent", {})
        yield "    read_only: true"
    yield "  target:"
    for each in targets:
        yield from _target(draft, each)
    if draft.setup is not None:
        yield "  setup:"
        yield from _setup_parameters(draft.setup)
    if gains:
        yield "  gains:"
    for part in gains:
        yield from _gain(draft, part)


def _parameter(name: str, kind: str, default: Any, about: str, checks: Mapping[str, Any]) -> Iterator[str]:
    """A parameter's lines; the name comes with its indentation."""
    indent = name[: len(name) - len(name.lstrip())]
    yield f"{name}:"
    yield f"{indent}  type: {kind}"
    yield f"{indent}  default_value: {default}"
    yield f"{indent}  description: {yaml_string(about)}"
    if checks:
        yield f"{indent}  validation:"
    yield from (f"{indent}    {check}: {value}" for check, value in checks.items())


def _target(draft: Draft, each: Item) -> Iterator[str]:
    """A target that counts when no controller stands before this one; by default where the scenario starts."""
    q = draft.run.start()[0]
    pose = draft.run.robot.pose(q)
    starts = {"target_q": q, "target_position": pose.position, "target_quat_wxyz": pose.quat_wxyz}
    numbers = np.ravel(starts.get(each.name, np.zeros(each.size))).tolist()
    return _parameter(f"    {_short(each)}", "double_array", numbers, each.about, {"fixed_size<>": each.size})


# Names of checks, of one number and of an array's elements, by whether there is a lower and an upper bound.
_CHECKS = {
    (True, True): ("bounds<>", "element_bounds<>"),
    (True, False): ("gt_eq<>", "lower_element_bounds<>"),
    (False, True): ("lt_eq<>", "upper_element_bounds<>"),
}


def _gain(draft: Draft, part: Part) -> Iterator[str]:
    unit, about = _gain_words(draft, part)
    words = draft.data[draft.plan.image + part.word : draft.plan.image + part.word + part.count]
    numbers = np.array(words, dtype=np.int64).view(np.float64).tolist()
    is_array, bounds, checks = bool(part.shape), draft.bounds[part.name], {}
    if kind_of(part) != FREE:  # off the diagonal they have both signs; the library looks at the whole
        bounds = -bounds[1], bounds[1]
    bounded = abs(bounds[0]) < _LARGEST, abs(bounds[1]) < _LARGEST
    if any(bounded):
        checks[_CHECKS[bounded][is_array]] = [bound for bound in bounds if abs(bound) < _LARGEST]
    if is_array:
        checks["fixed_size<>"] = part.count
    kind, default = ("double_array", numbers) if is_array else ("double", numbers[0])
    return _parameter(f"    {part.name}", kind, default, f"[{unit}] {about}", checks)
