"""Rules for an MJCF file beyond MuJoCo's own: it accepts values that stop, reverse or poison a simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator

from palpate.robot.mechanics.tensor import tensor_from
from palpate.robot.readers.findings import did_you_mean, quoted
from palpate.robot.readers.urdf import inertials
from palpate.robot.readers.xmlfile import Element, Report, number_list, numbers, parse_number

RANGES = ("range", "ctrlrange", "forcerange", "actrange", "actuatorfrcrange", "lengthrange", "frcrange")
_NOT_NEGATIVE = ("damping", "armature", "frictionloss", "kv", "kp", "mass", "density")
# Elements that make names and joints of their own: what they make is known to MuJoCo alone.
_GENERATORS = {"replicate", "attach", "composite", "flexcomp", "plugin", "model"}
_TEXT = {"name", "class", "childclass", "model", "value", "data", "key", "user_name", "prefix", "content_type"}
_SMALL_DEGREES = 2 * math.pi + 1e-3  # a range in degrees that would be a whole turn in rad
_FEW_TURNS = 4 * math.pi + 1e-3
_UNLIMITED = 1e3
_CONTACT_FREQUENCY = 50.0  # rad/s, 1/0.02 s: MuJoCo's default contact
_LARGE_STEP, _HUGE_STEP = 0.01, 0.1  # s
_KINDS = {
    "joint": "joint", "joint1": "joint", "joint2": "joint", "jointinparent": "joint",
    "body": "body", "body1": "body", "body2": "body",
    "site": "site", "site1": "site", "site2": "site", "refsite": "site",
    "tendon": "tendon", "actuator": "actuator",
}  # fmt: skip


def _joint_types(root: Element) -> dict[str, str]:
    """The type that each of MJCF's default classes gives to a joint."""
    types = {"main": "hinge"}
    stack = [(element, "main", "hinge") for element in root.all("default")]
    while stack:
        element, name, inherited = stack.pop()
        name = element.attributes.get("class", name)
        given = [joint.attributes["type"] for joint in element.all("joint") if "type" in joint.attributes]
        types[name] = [types.get(name, inherited), *given][-1]
        stack.extend((child, name, types[name]) for child in element.all("default"))
    return types


def _joint_type(joint: Element, types: dict[str, str]) -> str:
    """The type of a joint: its own, that of its class, or of the childclass of a body above."""
    above = joint.parent
    while above is not None and "childclass" not in above.attributes:
        above = above.parent
    name = joint.attributes.get("class") or (above.attributes["childclass"] if above else "main")
    return joint.attributes.get("type") or types.get(name) or "hinge"


def check_rules(root: Element, report: Report) -> None:
    """Reports every value that breaks a rule."""
    unit, types = _angle_unit(root), _joint_types(root)
    for element in root.walk():
        for check in (_check_finite, _check_ranges, _check_signs, _check_directions):
            check(element, report)
        _check_inertial(element, root, report)
        _check_angles(element, unit, types, report)
        _check_timestep(element, report)
    _check_names(root, report)
    if not any(element.tag in _GENERATORS for element in root.walk()):
        _check_references(root, report)
        _check_keyframes(root, types, report)


def _quiet(element: Element, attribute: str) -> list[float] | None:
    """The numbers of an attribute if all are finite; what is wrong is reported by _check_finite or MuJoCo."""
    return numbers(element, attribute, Report("")) or None


def _check_finite(element: Element, report: Report) -> None:
    for attribute, text in element.attributes.items():
        if attribute in _TEXT or attribute in _KINDS or attribute.startswith("file"):
            continue
        values = [parse_number(word) for word in text.split()]
        bad = any(value is not None and not math.isfinite(value) for value in values)
        comma = any(value is None and "," in word for word, value in zip(text.split(), values))
        if bad or (comma and any(character.isdigit() for character in text)):
            numbers(element, attribute, report)


def _check_ranges(element: Element, report: Report) -> None:
    for attribute in RANGES:
        values = _quiet(element, attribute)
        if values is None or len(values) != 2:
            continue
        lower, upper = values
        problem = f"{attribute} {lower:g} to {upper:g}"
        if lower > upper:
            rule = "the lower end lies above the upper; MuJoCo would drop the limit"
            report.error(element, problem, rule, "swap them")
        elif (
            lower == upper and element.tag != "numeric" and (element.parent is None or element.parent.tag != "actuator")
        ):
            # Actuators are removed, so findings about them do not matter.
            report.warning(element, problem, "an empty range; MuJoCo takes 0 0 as no limit")


def _check_signs(element: Element, report: Report) -> None:
    for attribute in _NOT_NEGATIVE:
        values = _quiet(element, attribute) if element.tag not in ("option", "flag") else None
        if values and values[0] < 0:
            report.error(element, f"{attribute} {values[0]:g}", f"{attribute} is not negative")
    sizes = _quiet(element, "size")
    if sizes and min(sizes) < 0 and element.tag in ("geom", "site"):
        report.error(element, f"size {number_list(sizes)}", f"the sizes of a {element.tag} are positive")
    gain = _quiet(element, "gainprm")
    if gain and gain[0] < 0:
        report.error(element, f"gain {gain[0]:g}", "an actuator gain is not negative", "turn the gear's sign instead")
    scale = _quiet(element, "scale")
    if scale and element.tag == "mesh" and 0 in scale:
        report.error(element, f"scale {number_list(scale)}", "a scale of 0 flattens the mesh")


def _check_directions(element: Element, report: Report) -> None:
    for attribute, name in (("quat", "a quaternion (w x y z)"), ("axis", "an axis")):
        values = _quiet(element, attribute)
        if values and math.hypot(*values) < 1e-9:
            report.error(element, f"{attribute} {number_list(values)} has norm 0", f"{name} needs a direction")


def _check_inertial(element: Element, root: Element, report: Report) -> None:
    if element.tag != "inertial":
        return
    diagonal, full = _quiet(element, "diaginertia"), _quiet(element, "fullinertia")
    six = full if full and len(full) == 6 else [*(diagonal or []), 0.0, 0.0, 0.0]
    if len(six) != 6 or max(map(abs, six)) > inertials.LARGEST:
        return
    inertia_report = Report(report.file, dynamics=not _balanced(root))
    mass = _quiet(element, "mass")
    inertials.check_inertia(element, mass[0] if mass else None, tensor_from(six), inertia_report)
    report.findings += inertia_report.findings


def _balanced(root: Element) -> bool:
    """Whether MuJoCo is told to replace explicit inertias, so that theirs does no harm."""
    compilers = [compiler.attributes for compiler in root.all("compiler")]
    return any(c.get("balanceinertia") == "true" or c.get("inertiafromgeom") == "true" for c in compilers)


def _angle_unit(root: Element) -> str:
    """ "radian", "degree", or "default" where the file says nothing and MuJoCo takes degrees."""
    units = [c.attributes["angle"] for c in root.all("compiler") if "angle" in c.attributes]
    return units[-1] if units else "default"


def _check_angles(element: Element, unit: str, types: dict[str, str], report: Report) -> None:
    values = _quiet(element, "range")
    if element.tag == "joint" and values and _joint_type(element, types) in ("hinge", "ball"):
        largest = max(map(abs, values))
        problem = f"range {number_list(values)}"
        if unit == "default" and 0 < largest <= _SMALL_DEGREES:
            rule = f"read as ±{largest:g}°: without angle= the MJCF default is degrees"
            report.warning(element, problem, rule, '<compiler angle="radian"/>?')
        elif unit == "radian" and _FEW_TURNS < largest < _UNLIMITED:
            turns = f"{largest:g} rad = {largest / (2 * math.pi):.0f} turns"
            report.warning(element, problem, f"implausible: {turns}", "degrees?")
    euler = _quiet(element, "euler")
    if euler and unit == "default" and any(abs(abs(a) - b) < 2e-3 for a in euler for b in (1.5708, 3.1416)):
        rule = "read as degrees: without angle= the MJCF default is degrees"
        report.warning(element, f"euler {number_list(euler)}", rule, '<compiler angle="radian"/>?')


def _check_timestep(element: Element, report: Report) -> None:
    step = _quiet(element, "timestep")
    if element.tag != "option" or step is None:
        return
    problem = f"timestep {step[0]:g} s"
    if step[0] <= 0:
        report.error(element, problem, "a timestep is greater than 0: time would stand still or run backward")
    elif step[0] > _LARGE_STEP:
        angle = f"dt·ω_max = {step[0] * _CONTACT_FREQUENCY:.3g} > 0.5 at the default contact's 50 rad/s"
        report_it = report.error if step[0] >= _HUGE_STEP else report.warning
        report_it(element, problem, f"too large: {angle}", "1 to 2 ms is usual")


# Names


def _named(root: Element) -> Iterator[tuple[str, Element]]:
    """Every element that makes something which can be named, with its kind."""
    for element in root.walk():
        parent = element.parent.tag if element.parent else ""
        if parent in ("actuator", "sensor", "tendon"):
            yield parent, element
        elif element.tag in ("joint", "freejoint") and parent in ("body", "frame"):
            yield "joint", element
        elif element.tag in ("body", "geom", "site") and parent in ("worldbody", "body", "frame"):
            yield element.tag, element


def _check_names(root: Element, report: Report) -> None:
    first: dict[tuple[str, str], Element] = {}
    for kind, element in _named(root):
        name = element.attributes.get("name")
        if name is None:
            continue
        if kind == "body" and name == "world":
            report.error(element, "the name 'world'", "reserved: MuJoCo gives it to the ground")
        before = first.setdefault((kind, name), element)
        if before is not element:
            lines = f"lines {before.line} and {element.line}"
            problem = f"two {kind}s are called {quoted(name)}, {lines}"
            report.error(element, problem, f"names are unique among the {kind}s")


def _check_references(root: Element, report: Report) -> None:
    names: dict[str, set[str]] = {kind: set() for kind in _KINDS.values()}
    names["body"].add("world")
    for kind, element in _named(root):
        names.setdefault(kind, set()).add(element.attributes.get("name", ""))
    for section in ("actuator", "sensor", "equality"):
        for block in root.all(section):
            for element in (e for e in block.walk() if e is not block):
                _check_reference(element, names, report)


def _check_reference(element: Element, names: dict[str, set[str]], report: Report) -> None:
    for attribute, name in element.attributes.items():
        kind = _KINDS.get(attribute)
        if kind is not None and name not in names[kind]:
            hint = did_you_mean(name, names[kind] - {""})
            report.error(element, f"{attribute}={quoted(name)} does not exist", f"it names a {kind} of the model", hint)


def _check_keyframes(root: Element, types: dict[str, str], report: Report) -> None:
    sizes = {"qpos": 0, "qvel": 0, "ctrl": 0}
    for kind, element in _named(root):
        if kind == "joint":
            joint = "free" if element.tag == "freejoint" else _joint_type(element, types)
            sizes["qpos"] += {"free": 7, "ball": 4}.get(joint, 1)
            sizes["qvel"] += {"free": 6, "ball": 3}.get(joint, 1)
        elif kind == "actuator":
            sizes["ctrl"] += 1
    for block in root.all("keyframe"):
        for key in block.all("key"):
            for attribute, size in sizes.items():
                text = key.attributes.get(attribute)
                if text is not None and len(text.split()) != size:
                    problem = f"{attribute} holds {len(text.split())} numbers"
                    report.error(key, problem, f"the model has {size} of them")
