"""Texts of an exported folder: header, replay, build files and README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate.escape.c import c_comment, c_string
from palpate.escape.documents import markdown_code
from palpate.escape.template import Written
from palpate.tools.exporting.arm_facts import adds_gravity
from palpate.tools.exporting.carrying import FIELDS
from palpate.tools.exporting.code.image import Part
from palpate.tools.exporting.code.objects import TargetMachine, template, template_text
from palpate.tools.exporting.code.records import Code
from palpate.tools.exporting.code.tuning import DEFINITE, EASE, FREE, SCALED
from palpate.tools.exporting.draft import LATEST, Draft
from palpate.tools.exporting.gain_table import kind_of
from palpate.tools.exporting.guarding import GUARDS, RAMP_TIME, has_guards
from palpate.tools.exporting.interface import Item
from palpate.tools.exporting.writing.gain_words import LARGEST, gain_words
from palpate.tools.exporting.writing.libfranka import franka_values
from palpate.tools.exporting.writing.release import revision, today
from palpate.tools.exporting.writing.ros2_control import ros_values
from palpate.tools.exporting.writing.wrappers import INTERFACES, WRAPPER_FILES, WRAPPER_LINES, can_be_wrapped

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


def texts(draft: Draft, targets: list[TargetMachine], ticks: int, note: str = "") -> dict[str, str]:
    """Every text of the folder but manifest and sheet, by the file's name."""
    wasm = any(not target.wide for target in targets)
    makers = {"franka": franka_values, "ros2_control": ros_values} if can_be_wrapped(draft) else {}
    wrappers = {folder: more for folder, make in makers.items() if (more := make(draft))}
    values = values_of(draft, note) | {
        "TICKS": ticks,
        "TARGETS": ", ".join(target.name for target in targets),
        "WASM": Written("    node replay.mjs                            # the same in WebAssembly\n" if wasm else ""),
        "WRAPPERS_LINE": Written("".join(WRAPPER_LINES[folder] for folder in wrappers)),
    }
    names = ["main.c", "CMakeLists.txt", "Makefile", "README.md", *(["replay.mjs"] if wasm else [])]
    files = {f"{draft.name}.h": header(draft)} | {name: template(name, values) for name in names}
    files |= {"LICENSE": template_text("LICENSE.txt"), "NOTICE": template("NOTICE.txt", values)}
    for folder, more in wrappers.items():
        for name, source in WRAPPER_FILES[folder].items():
            files[f"{folder}/{name.format(draft.name)}"] = template(source, values | more).rstrip() + "\n"
    return files


def values_of(draft: Draft, note: str) -> dict[str, Any]:
    """Values that the folder's texts and its sheet share; `note` is that of the rate."""
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
    if INTERFACES[draft.bound.command] != "effort":
        return "The joint servos hold gravity; the set points of the library stay within the joints' ranges."
    if adds_gravity(draft.run):
        return "The arm's controller adds gravity: send torque − gravity. On a code the ramp ends in damping alone."
    return "The arm's controller adds no gravity: send torque as it is; the library holds gravity while it is called."


def _values(draft: Draft) -> dict[str, Any]:
    """Values of a law for header, README and programs."""
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
        "FIRST": Written(_first_answer(draft.bound.command, "ramp" in draft.on)),
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
    """The command in an answer with an error, in words."""
    if ramp and kind in ("torque", "acceleration"):
        return f"a ramp of {RAMP_TIME:g} s to damping with gravity, held until reset; the library holds gravity"
    if ramp:
        return f"a ramp of {RAMP_TIME:g} s to rest, held until reset"
    if kind == "position":
        return "the last set point, NaN before the first"
    return "velocity 0" if kind == "velocity" else "torque 0; the library holds no gravity, the drive must"


def _first_answer(kind: str, ramp: bool) -> str:
    """The answer before the first good tick, in lines of a comment."""
    if not ramp:
        return "Before the first good tick nothing is known: do not enable the drive on a code."
    nothing = {"position": "no position (NaN)", "velocity": "velocity 0"}.get(kind, "torque 0")
    held = "" if kind in ("position", "velocity") else "nobody holds gravity: "
    return (
        "A usable q is all that the ramp needs, at the first tick too. Until there is one, after init and reset,\n"
        f" * the code is NO_POSTURE and the answer {nothing}: {held}keep the brakes closed. At a null pointer,\n"
        " * a wrong size or version nothing can be read: they keep their codes, with the same answer at the first tick."
    )


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
        unit, about = gain_words(draft, part)
        how = _HOW[kind_of(part)].format(_interval(*draft.bounds[part.name])) if part.name in draft.bounds else "fixed"
        note = "; ".join(filter(None, (f"{unit}: {about}" if about else "", how)))
        lines.append(f"{_field(part)} /* {c_comment(note)} */")
    return "\n".join(lines) or "    int64_t nothing;"


def _memory_fields(draft: Draft) -> str:
    """Fields of the law's memory: recorded numbers with their units, others by whether a tick carries them on."""
    shown = {each.field.replace(".", "_"): each for each in draft.law.report.shown}
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
    return f"{'any' if low == -LARGEST else f'from {low:.9g}'}{'' if high == LARGEST else f' to {high:.9g}'}"
