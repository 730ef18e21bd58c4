"""MJCF files, checked with distrust: first the XML, line by line, then a compilation under guard.

MuJoCo stops at its first complaint and is silent about many values that ruin a run; the checks here tell all at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palpate.robot.readers.findings import Finding, did_you_mean, printable, quoted
from palpate.robot.readers.guarded import Compilation, CompileLimits, compile_guarded
from palpate.robot.readers.mjcf.rules import Defaults, check_rules
from palpate.robot.readers.mjcf.source import load_mjcf
from palpate.robot.readers.xmlfile import Element, Report

# Contacts answer at 1/0.02 s = 50 rad/s unless told otherwise; MuJoCo itself wants dt·ω ≤ 0.5 there.
_LARGEST_STEP_ANGLE = 1.0  # rad: dt·ω of a spring; explicit integration diverges at 2


@dataclass(frozen=True)
class MjcfInspection:
    """What there is to say of an MJCF file.

    Attributes:
        findings: every problem, the main file's first.
        facts: MuJoCo's: bodies, joints, dof, mass; empty unless the file compiles.
        missing: meshes that are not there, by name.
        root: the root element, includes in place, or None.
    """

    findings: tuple[Finding, ...]
    facts: dict[str, Any]
    missing: tuple[str, ...]
    root: Element | None


def inspect_mjcf(
    path: str | Path, *, limits: CompileLimits | None = None, package_roots: Sequence[str | Path] = ()
) -> MjcfInspection:
    """The findings, MuJoCo's facts where the model compiles, and what it must be compiled without."""
    report = Report(str(path))
    source = load_mjcf(Path(path), report, [Path(root) for root in package_roots])
    facts: dict[str, Any] = {}
    if source.root is not None:
        check_rules(source.root, Defaults(source.root), report)
    if source.root is not None and source.safe:
        compilation = compile_guarded(path, limits, source.missing)
        facts = compilation.facts
        for name in compilation.weighty:
            rule = "a body's mass is computed from this mesh: give the body an <inertial>, or the file"
            report.error(source.missing.get(name, source.root), f"mesh {quoted(name)} is not there", rule)
        _report_compilation(compilation, source.root, limits or CompileLimits(), report)
    main_file_first = sorted(report.findings, key=lambda f: (f.file != report.file, f.file, f.line))
    return MjcfInspection(tuple(main_file_first), facts, tuple(source.missing), source.root)


def _report_compilation(made: Compilation, root: Element, limits: CompileLimits, report: Report) -> None:
    if made.accident:
        rule = f"a foreign model gets {limits.seconds:g} s and {limits.memory / 2**30:g} GiB"
        report.error(None, made.accident, rule, "make it smaller: fewer bodies, smaller meshes and fields")
    elif made.schema:
        _check_words(root, _vocabulary(made.schema), report)
        _report_refusal(made.refusal or "", root, report)
    elif made.refusal:
        _report_refusal(made.refusal, root, report)
    elif made.facts:
        _report_facts(made.facts, root, report)


def _report_refusal(message: str, root: Element, report: Report) -> None:
    """MuJoCo's complaint with its line, unless the same line has been told better already."""
    line_match = re.search(r"line(?: number=)? ?(\d+)", message, re.IGNORECASE)
    line = int(line_match[1]) if line_match else 0
    at = _culprit(message, line, root)
    reported = {(finding.file, finding.line) for finding in report.findings if finding.level == "error"}
    if reported & _places(at, (report.file, line)):
        return
    problem = printable(" ".join(re.sub(r"^(XML )?Error:|^Element.*", "", message, flags=re.MULTILINE).split()))
    if at is not None:
        report.error(at, problem, "MuJoCo refuses this")
    elif not (line == 0 and report.has_errors):
        report.error(None, problem, "MuJoCo refuses this", line=line)


def _places(at: Element | None, otherwise: tuple[str, int]) -> set[tuple[str, int]]:
    """Where a complaint about an element may stand: itself, or what it is made of (but not the next body)."""
    if at is None:
        return {otherwise}
    parts = [at, *(child for child in at.children if child.tag != "body")]
    return {(part.source.file, part.line) for part in parts}


def _culprit(message: str, line: int, root: Element) -> Element | None:
    named = re.search(r"Element (?:name )?'([^']*)'", message)
    if named is None:
        return None
    word = named[1]
    for element in root.walk():
        hit = word and word in (element.tag, element.attributes.get("name"))
        if element.line == line and (hit or not word) and element is not root:
            return element
        if not line and hit and word == element.attributes.get("name"):
            return element
    return None


def _report_facts(facts: dict[str, Any], root: Element, report: Report) -> None:
    for warning in facts["warnings"]:
        if not report.has_errors:
            report.warning(root, printable(" ".join(warning.split())), "a warning of MuJoCo", line=root.line)
    if not facts["finite"] and not report.has_errors:
        report.error(root, "the first acceleration is not finite", "the dynamics are singular", line=root.line)
    angle = facts["timestep"] * facts["frequency"]
    if angle > _LARGEST_STEP_ANGLE:
        problem = f"timestep {facts['timestep']:g} s with a spring of {facts['frequency']:.3g} rad/s"
        at = next((e for e in root.walk() if "timestep" in e.attributes and e.tag == "option"), root)
        rule = f"dt·ω_max = {angle:.2g} > {_LARGEST_STEP_ANGLE:g}: the motion is not resolved"
        report.warning(at, problem, rule, "a smaller timestep, or a softer spring")


# Vocabulary


def _vocabulary(schema: str) -> dict[str, tuple[set[str], set[str]]]:
    """For each element name of MuJoCo's printed schema: its attributes and its children."""
    words: dict[str, tuple[set[str], set[str]]] = {}
    way: list[str] = []
    for line in schema.splitlines():
        head = re.match(r"( *)(?:\(world\))?(\w+) \(.\)(.*)", line)
        if head:
            depth = len(head[1]) // 3
            way[depth:] = [head[2]]
            if depth:
                words.setdefault(way[depth - 1], (set(), set()))[1].add(head[2])
        if way:
            attributes = head[3] if head else line
            words.setdefault(way[-1], (set(), set()))[0].update(attributes.split())
    _add_recursion(words)
    return words


def _add_recursion(words: dict[str, tuple[set[str], set[str]]]) -> None:
    """The schema prints once what may stand inside itself: bodies, their frames and copies, default classes."""
    bodies = words["body"][1] | {"body", "frame", "replicate", "attach", "composite", "flexcomp", "plugin"}
    for tag in ("worldbody", "body", "frame", "replicate"):
        words[tag] = (words.get(tag, words["body"])[0], bodies)
    words["default"][1].add("default")
    words["mujoco"][1].add("worldbody")


def _check_words(root: Element, words: dict[str, tuple[set[str], set[str]]], report: Report) -> None:
    for element in root.walk():
        attributes, children = words.get(element.tag, (set(), set()))
        for name in element.attributes:
            if attributes and name not in attributes and ":" not in name:
                report.error(
                    element,
                    f"unknown attribute {quoted(name)}",
                    "not in MuJoCo's schema",
                    did_you_mean(name, sorted(attributes), 1),
                )
        for child in element.children:
            if children and child.tag not in children | {"include"}:
                report.error(
                    child,
                    f"unknown element <{child.tag}>",
                    f"not in MuJoCo's schema below <{element.tag}>",
                    did_you_mean(child.tag, sorted(children), 1),
                )
