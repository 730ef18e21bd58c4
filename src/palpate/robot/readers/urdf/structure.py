"""Do links and joints form one tree with names that can be told apart, and can every joint be moved?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from palpate.robot.mechanics.tree import FREEDOMS, Joint, Link, massless_movers, unresisted_joints
from palpate.robot.readers.findings import did_you_mean, quoted
from palpate.robot.readers.xmlfile import Element, Report, numbers, parse_number
from palpate.toml import toml_data

T = TypeVar("T")
_UNKNOWN = "the dynamics are unknown: only the kinematics can be used"
_REMEDY = "give mass and inertia, merge by a fixed joint, lock the joint, or estimate: --estimate-inertia"


@dataclass(frozen=True)
class Numbered(Generic[T]):
    """A link or joint, and the element it was read from."""

    item: T
    element: Element


def check_structure(root: Element, links: list[Numbered[Link]], joints: list[Numbered[Joint]], report: Report) -> None:
    """Reports every fault of names, of the tree and of mimic, and what moves without mass."""
    _check_names(links, joints, report)
    known = {link.item.name for link in links}
    _check_ends(joints, known, report)
    if not links:
        report.error(root, "has no <link>", "a robot has at least one link", line=root.line)
        return
    connected = [joint for joint in joints if joint.item.parent in known and joint.item.child in known]
    if _check_one_tree(links, connected, report) and not report.has_errors:
        _check_masses(root, links, connected, report)
    if not any(FREEDOMS[joint.item.kind] for joint in joints):
        report.error(root, "no joint moves", "there is nothing to control", line=root.line)
    _check_mimic(joints, report)


# Names


def _check_names(links: list[Numbered[Link]], joints: list[Numbered[Joint]], report: Report) -> None:
    first_link = _check_unique("link", links, report)
    first_joint = _check_unique("joint", joints, report)
    for name in [name for name in first_link if name in first_joint]:
        problem = f"a joint on line {first_joint[name].line} has the same name"
        report.warning(first_link[name], problem, "a link and a joint of one name make two frames of that name")
    if "universe" in first_link:
        report.warning(first_link["universe"], "the name 'universe'", "reserved: other engines give it to the ground")
    children = {joint.item.child for joint in joints}
    if "world" in first_link and "world" in children:
        report.error(first_link["world"], "the name 'world'", "reserved: only the root link may be called so")


def _check_unique(
    kind: str, items: Sequence[Numbered[Link]] | Sequence[Numbered[Joint]], report: Report
) -> dict[str, Element]:
    first: dict[str, Element] = {}
    for numbered in items:
        name, element = numbered.item.name, numbered.element
        if not name.strip():
            report.error(element, f"a {kind} with an empty or no name", f"every {kind} needs a name of its own")
        elif name in first:
            lines = f"lines {first[name].line} and {element.line}"
            report.error(element, f"two {kind}s are called {quoted(name)}, {lines}", f"{kind} names are unique")
        first.setdefault(name, element)
    return first


def _check_ends(joints: list[Numbered[Joint]], known: set[str], report: Report) -> None:
    for joint in joints:
        for end, name in (("parent", joint.item.parent), ("child", joint.item.child)):
            if name and name not in known:
                at, problem = joint.element.first(end) or joint.element, f"the {end} link {quoted(name)} does not exist"
                rule, hint = "a joint connects two links of the file", did_you_mean(name, known)
                report.error(joint.element, problem, rule, hint, line=at.line)


# Tree


def _check_one_tree(links: list[Numbered[Link]], joints: list[Numbered[Joint]], report: Report) -> bool:
    incoming: dict[str, list[Numbered[Joint]]] = {}
    for joint in joints:
        incoming.setdefault(joint.item.child, []).append(joint)
    good = True
    for child, several in incoming.items():
        if len(several) > 1:
            names = ", ".join(f"{quoted(j.item.name)} (line {j.element.line})" for j in several)
            problem = f"link {quoted(child)} has {len(several)} parents: joints {names}"
            report.error(several[1].element, problem, "a loop: every link is the child of one joint")
            good = False
    parents, done = {child: several[0].item.parent for child, several in incoming.items()}, set()
    ring = next(filter(None, (_ring(child, parents, done) for child in parents)), [])
    if cycle := [incoming[child][0] for child in reversed(ring)]:
        names = "→".join(joint.item.parent for joint in cycle) + f"→{cycle[0].item.parent}"
        report.error(cycle[0].element, f"the links form a cycle {names}", "links form a tree")
        good = False
    roots = [link for link in links if link.item.name not in incoming]
    if len(roots) > 1:
        names = ", ".join(f"{quoted(link.item.name)} (line {link.element.line})" for link in roots[:10])
        problem = f"{len(roots)} root links: {names}"
        report.error(roots[1].element, problem, "a robot has one root link", "connect them by a joint")
        good = False
    return good and len(roots) == 1


def _ring(name: str, following: Mapping[str, str], done: set[str]) -> list[str]:
    """The ring of names that one leads into, or nothing; `done` takes those that lead into none."""
    steps: dict[str, None] = {}
    while name in following and name not in done and name not in steps:
        steps[name] = None
        name = following[name]
    if name in steps:
        names = list(steps)
        return names[names.index(name) :]
    done.update(steps)
    return []


# Masses


def _check_masses(root: Element, links: list[Numbered[Link]], joints: list[Numbered[Joint]], report: Report) -> None:
    """A joint that moves no inertia leaves only the kinematics; a massless link that moves others is worth a word."""
    items = [link.item for link in links], [joint.item for joint in joints]
    unresisted = set(unresisted_joints(*items))
    massless = set(massless_movers(*items))
    by_name = {link.item.name: link for link in links}
    idle = [joint for joint in joints if joint.item.name in unresisted]
    if len(idle) == 1:
        _report_unresisted(by_name[idle[0].item.child], idle[0], idle[0].item.child in massless, report)
    elif idle:
        named = ", ".join(quoted(joint.item.name) for joint in idle[:8]) + (" …" if len(idle) > 8 else "")
        report.warning(root, f"{len(idle)} joints move no inertia: {named}", _UNKNOWN, _REMEDY, line=root.line)
    for joint in joints:
        if joint.item.child in massless and joint.item.name not in unresisted:
            rule = f"joint {quoted(joint.item.name)} moves it: taken as massless"
            report.warning(by_name[joint.item.child].element, "moves and has no mass", rule)


def _report_unresisted(link: Numbered[Link], joint: Numbered[Joint], massless: bool, report: Report) -> None:
    if massless:
        inertial = link.element.first("inertial")
        mass = inertial.first("mass") if inertial else None
        problem = f"{'mass 0' if inertial else 'has no <inertial>'}, and joint {quoted(joint.item.name)} moves it"
        report.warning(mass or inertial or link.element, problem, _UNKNOWN, _REMEDY)
    else:
        problem = "nothing resists the joint: what it moves has no inertia about its axis"
        report.warning(joint.element, problem, _UNKNOWN, _REMEDY)


# Mimic


def _check_mimic(joints: list[Numbered[Joint]], report: Report) -> None:
    by_name = {joint.item.name: joint for joint in joints}
    leader = {joint.item.name: joint.item.mimic.joint for joint in joints if joint.item.mimic}
    for joint in joints:
        if joint.item.mimic is None:
            continue
        at = joint.element.first("mimic")
        name = joint.item.mimic.joint
        problem = f"mimics joint {quoted(name)}"
        if name == joint.item.name:
            report.error(at, problem, "a joint cannot mimic itself")
        elif name not in by_name:
            hint = did_you_mean(name, by_name)
            report.error(at, f"{problem}, which does not exist", "mimic names a joint of the file", hint)
        elif FREEDOMS[by_name[name].item.kind] != 1:
            report.error(at, f"{problem}, which is {by_name[name].item.kind}", "mimic follows a joint of one dof")
        elif joint.item.name in _ring(joint.item.name, leader, set()):
            report.error(at, problem, "the mimic joints follow each other in a ring")


# ----------------------------------------------------------------------------------------------
# Rotor inertias from URDF's `<transmission>` blocks: the joint feels I_rotor · gear², as Drake computes it.
#
# The inertia stands in `<drake:rotor_inertia value="…"/>`, the gear in `<drake:gear_ratio value="…"/>` or, as ROS
# writes it, in `<mechanicalReduction>…</mechanicalReduction>`, each below `<actuator>`, below the transmission's
# `<joint>` or directly below `<transmission>`. A transmission without a rotor inertia says nothing about the dynamics.


_ROTOR, _GEARS = "drake:rotor_inertia", ("drake:gear_ratio", "mechanicalReduction")


def rotor_inertias(root: Element, joints: Iterable[str], report: Report) -> dict[str, float]:
    """I_rotor · gear² [kg·m², or kg for a prismatic joint], by joint; several motors of one joint add up."""
    known = set(joints)
    armatures: dict[str, float] = {}
    for transmission in root.all("transmission"):
        for at in transmission.all("joint"):
            name, inertia = at.attributes.get("name", ""), _armature(transmission, report)
            if inertia and name not in known:
                hint = did_you_mean(name, known)
                report.error(at, f"drives joint {quoted(name)}", "there is no such joint", hint)
            elif inertia:
                armatures[name] = armatures.get(name, 0.0) + inertia
    return armatures


def _armature(transmission: Element, report: Report) -> float:
    """The inertia of one transmission, or 0 where it gives none."""
    parents = [transmission, *transmission.all("actuator"), *transmission.all("joint")]
    rotor = next((e for parent in parents for e in parent.all(_ROTOR)), None)
    if rotor is None:
        return 0.0
    inertia = _value(rotor, report)
    ratios = [e for tag in _GEARS for parent in parents for e in parent.all(tag)]
    gear = _value(ratios[0], report) if ratios else 1.0
    if inertia is not None and inertia < 0:
        report.dynamics_error(rotor, f"rotor inertia {inertia:g} kg·m²", "an inertia is not negative")
        return 0.0
    return 0.0 if inertia is None or gear is None else inertia * gear**2


def _value(element: Element, report: Report) -> float | None:
    """The number of an element, in its attribute `value` or as its text."""
    if "value" in element.attributes:
        values = numbers(element, "value", report, 1)
        return values[0] if values else None
    value = parse_number(element.text.strip())
    if value is None or abs(value) == float("inf") or value != value:
        report.error(element, f"<{element.tag}> holds {quoted(element.text.strip())}", "this is not a number")
        return None
    return value


# ----------------------------------------------------------------------------------------------
# The vocabulary of URDF, and what to say of a word that is not in it.
#
# A word close to a known one is a misspelling: an error if the dynamics hang on it. Any other word is some
# vendor's extension: a warning, since it is ignored.


@cache
def _vocabulary() -> dict[str, dict[str, set[str]]]:
    """The attributes and the children of each element."""
    text = Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8")
    return {tag: {kind: set(words) for kind, words in known.items()} for tag, known in toml_data(text).items()}


# Blocks for other programs: neither read nor checked, with all they hold.
_FOREIGN = {"gazebo", "transmission", "ros2_control", "sensor", "mujoco", "plugin", "verbose", "contact"}
_ONCE = {"inertial", "origin", "mass", "inertia", "geometry", "parent", "child", "axis", "limit", "dynamics", "mimic"}
_ONLY_LOOKS = {"visual", "material", "color", "texture", "rgba"}
_CLOSE = 0.7


def check_words(root: Element, report: Report) -> None:
    """Reports unknown elements and attributes, with the nearest known name, and elements given twice."""
    stack, vocabulary = [root], _vocabulary()
    while stack:
        element = stack.pop()
        known = vocabulary[element.tag]
        _check_attributes(element, known["attributes"], report)
        _check_repeats(element, report)
        for child in reversed(element.children):
            if child.tag not in known["children"]:
                _check_unknown_child(child, known["children"], report)
            elif child.tag in vocabulary:
                stack.append(child)


def _check_attributes(element: Element, known: set[str], report: Report) -> None:
    unknown = [n for n in element.attributes if n not in known and ":" not in n and n != "xmlns"]
    unrelated: list[str] = []
    for name in unknown:
        near = _closest(name, known - element.attributes.keys())
        if near:
            _report_misspelt(element, f"unknown attribute {quoted(name)}", near, known, report)
        else:
            unrelated.append(quoted(name))
    if unrelated:
        problem = f"unknown attribute{'s' if len(unrelated) > 1 else ''} {', '.join(unrelated)}"
        report.warning(element, problem, f"ignored; known here: {_listed(known)}")


def _check_unknown_child(child: Element, known: set[str], report: Report) -> None:
    problem = f"unknown element <{child.tag}>"
    if child.tag.startswith("xacro:"):
        report.error(child, problem, "xacro is run only on request", "ask for it: --xacro, load_robot(…, xacro=True)")
    elif child.tag in _FOREIGN or ":" in child.tag:
        return
    elif near := _closest(child.tag, known):
        _report_misspelt(child, problem, near, known, report)
    else:
        report.warning(child, problem, f"ignored; known here: {_listed(known)}")


def _report_misspelt(at: Element, problem: str, near: str, known: set[str], report: Report) -> None:
    report_it = report.warning if near in _ONLY_LOOKS else report.error
    report_it(at, problem, f"known here: {_listed(known)}", f"did you mean {near!r}?")


def _closest(word: str, known: set[str]) -> str | None:
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
