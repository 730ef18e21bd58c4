"""The package for ros2_control: a chainable controller and its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate.escape.builds import yaml_string
from palpate.escape.c import c_string
from palpate.escape.template import Written
from palpate.tools.exporting.arm_facts import adds_gravity
from palpate.tools.exporting.carrying import FIELDS
from palpate.tools.exporting.code.image import Part
from palpate.tools.exporting.code.tuning import FREE, Setup
from palpate.tools.exporting.draft import Draft
from palpate.tools.exporting.gain_table import kind_of
from palpate.tools.exporting.interface import Item
from palpate.tools.exporting.writing.gain_words import LARGEST, gain_words
from palpate.tools.exporting.writing.wrappers import INTERFACES, target_items

_COMMANDED = {
    "effort": "out.torque[j] - (params_.hardware_adds_gravity ? out.gravity[j] : 0.0)",
    "velocity": "out.set_v[j]",
    "position": "out.set_q[j]",
}


def ros_values(draft: Draft) -> dict[str, Any]:
    """Values of the package for ros2_control; none without targets: a chainable controller is one with references."""
    fields, kind, guards = target_items(draft), INTERFACES[draft.bound.command], draft.run.guards
    if not fields:
        return {}
    references = [c_string(f"{each.name}.{k}") for each in fields for k in range(each.size)]
    feels = draft.law.reads.wrench or (guards is not None and bool(guards.contact_force or guards.stale_ticks))
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
    if INTERFACES[draft.bound.command] == "effort":
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
    unit, about = gain_words(draft, part)
    words = draft.data[draft.plan.image + part.word : draft.plan.image + part.word + part.count]
    numbers = np.array(words, dtype=np.int64).view(np.float64).tolist()
    is_array, bounds, checks = bool(part.shape), draft.bounds[part.name], {}
    if kind_of(part) != FREE:  # off the diagonal they have both signs; the library looks at the whole
        bounds = -bounds[1], bounds[1]
    bounded = abs(bounds[0]) < LARGEST, abs(bounds[1]) < LARGEST
    if any(bounded):
        checks[_CHECKS[bounded][is_array]] = [bound for bound in bounds if abs(bound) < LARGEST]
    if is_array:
        checks["fixed_size<>"] = part.count
    kind, default = ("double_array", numbers) if is_array else ("double", numbers[0])
    return _parameter(f"    {part.name}", kind, default, f"[{unit}] {about}", checks)
