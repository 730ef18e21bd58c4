"""Do links and joints form one tree with names that can be told apart, and can every joint be moved?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from palpate.robot.mechanics.axis_inertia import massless_movers, unresisted_joints
from palpate.robot.mechanics.tree import FREEDOMS, Joint, Link
from palpate.robot.readers.findings import did_you_mean, quoted
from palpate.robot.readers.xmlfile import Element, Report

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
    whole = [joint for joint in joints if joint.item.parent in known and joint.item.child in known]
    if _check_one_tree(links, whole, report) and not report.has_errors:
        _check_masses(root, links, whole, report)
    if not any(FREEDOMS[joint.item.kind] for joint in joints):
        report.error(root, "no joint moves", "there is nothing to control", line=root.line)
    _check_mimic(joints, report)


# Names


def _check_names(links: list[Numbered[Link]], joints: list[Numbered[Joint]], report: Report) -> None:
    first_link = _check_unique("link", links, report)
    first_joint = _check_unique("joint", joints, report)
    for name in [name for name in first_link if name in first_joint]:
        line = first_joint[name].line
        report.warning(
            first_link[name],
            f"a joint on line {line} has the same name",
            "a link and a joint of one name make two frames of that name",
        )
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
                hint = did_you_mean(name, known)
                at = joint.element.first(end) or joint.element
                report.error(
                    joint.element,
                    f"the {end} link {quoted(name)} does not exist",
                    "a joint connects two links of the file",
                    hint,
                    line=at.line,
                )


# Tree


def _check_one_tree(links: list[Numbered[Link]], joints: list[Numbered[Joint]], report: Report) -> bool:
    incoming: dict[str, list[Numbered[Joint]]] = {}
    for joint in joints:
        incoming.setdefault(joint.item.child, []).append(joint)
    good = True
    for child, several in incoming.items():
        if len(several) > 1:
            names = ", ".join(f"{quoted(j.item.name)} (line {j.element.line})" for j in several)
            report.error(
                several[1].element,
                f"link {quoted(child)} has {len(several)} parents: joints {names}",
                "a loop: every link is the child of one joint",
            )
            good = False
    cycle = _find_cycle({child: several[0] for child, several in incoming.items()})
    if cycle:
        way = "→".join(joint.item.parent for joint in cycle) + f"→{cycle[0].item.parent}"
        report.error(cycle[0].element, f"the links form a cycle {way}", "links form a tree")
        good = False
    roots = [link for link in links if link.item.name not in incoming]
    if len(roots) > 1:
        names = ", ".join(f"{quoted(link.item.name)} (line {link.element.line})" for link in roots[:10])
        report.error(
            roots[1].element,
            f"{len(roots)} root links: {names}",
            "a robot has one root link",
            "connect them by a joint",
        )
        good = False
    return good and len(roots) == 1


def _find_cycle(parent_joint: dict[str, Numbered[Joint]]) -> list[Numbered[Joint]]:
    """The joints of one ring, parents first, or nothing."""
    done: set[str] = set()
    for start in parent_joint:
        way: dict[str, Numbered[Joint]] = {}
        link = start
        while link in parent_joint and link not in done and link not in way:
            way[link] = parent_joint[link]
            link = parent_joint[link].item.parent
        if link in way:
            links = list(way)
            return [way[name] for name in reversed(links[links.index(link) :])]
        done.update(way)
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
        elif _leads_back(joint.item.name, leader):
            report.error(at, problem, "the mimic joints follow each other in a ring")


def _leads_back(start: str, leader: dict[str, str]) -> bool:
    seen: set[str] = set()
    name = leader.get(start)
    while name is not None and name not in seen:
        if name == start:
            return True
        seen.add(name)
        name = leader.get(name)
    return False
