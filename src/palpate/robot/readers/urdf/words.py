"""The vocabulary of URDF, and what to say of a word that is not in it.

A word close to a known one is a misspelling: an error if the dynamics hang on it. Any other word is some
vendor's extension: a warning, since it is ignored.
"""

from __future__ import annotations

import difflib

from palpate.robot.readers.findings import quoted
from palpate.robot.readers.xmlfile import Element, Report

# element -> (attributes, children)
_WORDS: dict[str, tuple[set[str], set[str]]] = {
    "robot": ({"name", "version"}, {"link", "joint", "material"}),
    "link": ({"name", "type"}, {"inertial", "visual", "collision"}),
    "inertial": (set(), {"origin", "mass", "inertia"}),
    "mass": ({"value"}, set()),
    "inertia": ({"ixx", "ixy", "ixz", "iyy", "iyz", "izz"}, set()),
    "origin": ({"xyz", "rpy"}, set()),
    "visual": ({"name"}, {"origin", "geometry", "material"}),
    "collision": ({"name"}, {"origin", "geometry", "material", "verbose"}),
    "geometry": ({"name"}, {"box", "cylinder", "sphere", "capsule", "mesh"}),
    "box": ({"size"}, set()),
    "cylinder": ({"radius", "length"}, set()),
    "capsule": ({"radius", "length"}, set()),
    "sphere": ({"radius"}, set()),
    "mesh": ({"filename", "scale"}, set()),
    "material": ({"name"}, {"color", "texture"}),
    "color": ({"rgba"}, set()),
    "texture": ({"filename"}, set()),
    "joint": (
        {"name", "type"},
        {
            "origin",
            "parent",
            "child",
            "axis",
            "limit",
            "dynamics",
            "mimic",
            "calibration",
            "safety_controller",
        },
    ),
    "parent": ({"link"}, set()),
    "child": ({"link"}, set()),
    "axis": ({"xyz"}, set()),
    "limit": ({"lower", "upper", "effort", "velocity"}, set()),
    "dynamics": ({"damping", "friction"}, set()),
    "mimic": ({"joint", "multiplier", "offset"}, set()),
    "calibration": ({"rising", "falling", "reference_position"}, set()),
    "safety_controller": ({"soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"}, set()),
}
# Blocks for other programs: neither read nor checked, with all they hold.
_FOREIGN = {"gazebo", "transmission", "ros2_control", "sensor", "mujoco", "plugin", "verbose", "contact"}
_ONCE = {
    "inertial",
    "origin",
    "mass",
    "inertia",
    "geometry",
    "parent",
    "child",
    "axis",
    "limit",
    "dynamics",
    "mimic",
}
_ONLY_LOOKS = {"visual", "material", "color", "texture", "rgba"}
_CLOSE = 0.7


def check_words(root: Element, report: Report) -> None:
    """Reports unknown elements and attributes, with the nearest known name, and elements given twice."""
    stack = [root]
    while stack:
        element = stack.pop()
        attributes, children = _WORDS[element.tag]
        _check_attributes(element, attributes, report)
        _check_repeats(element, report)
        for child in reversed(element.children):
            if child.tag not in children:
                _check_unknown_child(child, children, report)
            elif child.tag in _WORDS:
                stack.append(child)


def _check_attributes(element: Element, known: set[str], report: Report) -> None:
    unknown = [n for n in element.attributes if n not in known and ":" not in n and n != "xmlns"]
    strange: list[str] = []
    for name in unknown:
        near = _near(name, known - element.attributes.keys())
        if near:
            _report_misspelt(element, f"unknown attribute {quoted(name)}", near, known, report)
        else:
            strange.append(quoted(name))
    if strange:
        problem = f"unknown attribute{'s' if len(strange) > 1 else ''} {', '.join(strange)}"
        report.warning(element, problem, f"ignored; known here: {_listed(known)}")


def _check_unknown_child(child: Element, known: set[str], report: Report) -> None:
    problem = f"unknown element <{child.tag}>"
    if child.tag.startswith("xacro:"):
        report.error(
            child,
            problem,
            "xacro is run only on request",
            "ask for it: --xacro, load_robot(…, xacro=True)",
        )
    elif child.tag in _FOREIGN or ":" in child.tag:
        return
    elif near := _near(child.tag, known):
        _report_misspelt(child, problem, near, known, report)
    else:
        report.warning(child, problem, f"ignored; known here: {_listed(known)}")


def _report_misspelt(at: Element, problem: str, near: str, known: set[str], report: Report) -> None:
    tell = report.warning if near in _ONLY_LOOKS else report.error
    tell(at, problem, f"known here: {_listed(known)}", f"did you mean {near!r}?")


def _near(word: str, known: set[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word.lower(), sorted(known), n=1, cutoff=_CLOSE)), None)


def _listed(known: set[str]) -> str:
    return ", ".join(sorted(known)) or "none"


def _check_repeats(element: Element, report: Report) -> None:
    first: dict[str, Element] = {}
    for child in element.children:
        if child.tag in _ONCE and child.tag in first:
            problem = f"<{child.tag}> is given twice, on lines {first[child.tag].line} and {child.line}"
            report.error(child, problem, f"<{element.tag}> takes one")
        first.setdefault(child.tag, child)
