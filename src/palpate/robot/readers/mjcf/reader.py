"""MJCF files, checked with distrust: first the XML, line by line, then a compilation under guard.

MuJoCo stops at its first complaint and is silent about many values that ruin a run; the checks here tell all at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palpate.robot.readers.assets import Asset, find_asset, mesh_problem
from palpate.robot.readers.findings import UNDRAWN, Finding, did_you_mean, printable, quoted
from palpate.robot.readers.guarded import Compilation, CompileLimits, compile_guarded
from palpate.robot.readers.mjcf.rules import check_rules
from palpate.robot.readers.xmlfile import Element, Report, SourceFile, check_names_in, parse, read_bytes

# Contacts answer at 1/0.02 s = 50 rad/s unless told otherwise; MuJoCo itself wants dt·ω ≤ 0.5 there.
_LARGEST_STEP_ANGLE = 1.0  # rad: dt·ω of a spring; explicit integration diverges at 2


def inspect_mjcf(
    path: str | Path, *, limits: CompileLimits | None = None, package_roots: Sequence[str | Path] = ()
) -> MjcfSource:
    """The file with its includes, every problem of it, and MuJoCo's facts where the model compiles."""
    report = Report(str(path))
    source = load_mjcf(Path(path), report, [Path(root) for root in package_roots])
    if source.root is not None:
        check_rules(source.root, report)
    if source.root is not None and source.safe:
        compilation = compile_guarded(path, limits, source.missing)
        source.facts = compilation.facts
        for name in compilation.weighty:
            rule = "a body's mass is computed from this mesh: give the body an <inertial>, or the file"
            report.error(source.missing.get(name, source.root), f"mesh {quoted(name)} is not there", rule)
        _report_compilation(compilation, source.root, limits or CompileLimits(), report)
    source.findings = sorted(report.findings, key=lambda f: (f.file != report.file, f.file, f.line))
    return source


def _report_compilation(compilation: Compilation, root: Element, limits: CompileLimits, report: Report) -> None:
    if compilation.accident:
        rule = f"a foreign model gets {limits.seconds:g} s and {limits.memory / 2**30:g} GiB"
        report.error(None, compilation.accident, rule, "make it smaller: fewer bodies, smaller meshes and fields")
    elif compilation.refusal:
        if compilation.schema:
            _check_words(root, _vocabulary(compilation.schema), report)
        _report_refusal(compilation.refusal, root, report)
    elif compilation.facts:
        _report_facts(compilation.facts, root, report)


def _report_refusal(message: str, root: Element, report: Report) -> None:
    """MuJoCo's complaint with its line, unless a better report of the same line is there already."""
    line_match = re.search(r"line(?: number=)? ?(\d+)", message, re.IGNORECASE)
    line = int(line_match[1]) if line_match else 0
    at = _named_element(message, line, root)
    reported = {(finding.file, finding.line) for finding in report.findings if finding.level == "error"}
    if reported & _possible_lines(at, (report.file, line)):
        return
    problem = printable(" ".join(re.sub(r"^(XML )?Error:|^Element.*", "", message, flags=re.MULTILINE).split()))
    if at is not None:
        report.error(at, problem, "MuJoCo refuses this")
    elif not (line == 0 and report.has_errors):
        report.error(None, problem, "MuJoCo refuses this", line=line)


def _possible_lines(at: Element | None, otherwise: tuple[str, int]) -> set[tuple[str, int]]:
    """Where a complaint about an element may stand: itself, or what it is made of (but not the next body)."""
    if at is None:
        return {otherwise}
    parts = [at, *(child for child in at.children if child.tag != "body")]
    return {(part.source.file, part.line) for part in parts}


def _named_element(message: str, line: int, root: Element) -> Element | None:
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
    ancestors: list[str] = []
    for line in schema.splitlines():
        head = re.match(r"( *)(?:\(world\))?(\w+) \(.\)(.*)", line)
        if head:
            depth = len(head[1]) // 3
            ancestors[depth:] = [head[2]]
            if depth:
                words.setdefault(ancestors[depth - 1], (set(), set()))[1].add(head[2])
        if ancestors:
            attributes = head[3] if head else line
            words.setdefault(ancestors[-1], (set(), set()))[0].update(attributes.split())
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
                hint = did_you_mean(name, sorted(attributes), 1)
                report.error(element, f"unknown attribute {quoted(name)}", "not in MuJoCo's schema", hint)
        for child in element.children:
            if children and child.tag not in children | {"include"}:
                hint = did_you_mean(child.tag, sorted(children), 1)
                rule = f"not in MuJoCo's schema below <{element.tag}>"
                report.error(child, f"unknown element <{child.tag}>", rule, hint)


# ----------------------------------------------------------------------------------------------
# An MJCF file with its includes put in place, and every file it names looked at before MuJoCo may open it.


_MAX_INCLUDES = 100
_LOOKS = ("texture", "skin")


def load_mjcf(path: Path, report: Report, package_roots: Sequence[Path] = ()) -> MjcfSource:
    """The file, includes resolved and every file it names looked up."""
    source = MjcfSource(path, report, package_roots)
    root = source.read(path)
    if root is not None and root.tag != "mujoco":
        source.safe = False
        report.error(root, f"the root element is <{root.tag}>", "an MJCF file starts with <mujoco>", line=root.line)
    elif root is not None:
        source.root = root
        source.resolve(root, (path.resolve(),))
        source.check_files(root)
    return source


class MjcfSource:
    """An MJCF file with its includes.

    Attributes:
        root: its root element, or None.
        safe: whether MuJoCo may open the file: no path escapes the model's folder, no include is broken.
        missing: meshes that are not there, by name, each with the element that names it.
        findings: every problem, the main file's first, once the file is inspected.
        facts: MuJoCo's: bodies, joints, dof, mass; empty unless the file compiles.
    """

    def __init__(self, path: Path, report: Report, package_roots: Sequence[Path], attached: bool = False) -> None:
        self.folder, self.report, self.package_roots, self.attached = path.parent, report, package_roots, attached
        self.root: Element | None = None
        self.safe, self.count = True, 0
        self.missing: dict[str, Element] = {}
        self.findings: list[Finding] = []
        self.facts: dict[str, Any] = {}
        self.folders: dict[str, Path] = {}  # of each file that was read, by its name

    def read(self, path: Path, name: str | None = None) -> Element | None:
        """The root element of a file, or None with the reason reported."""
        report = Report(name or self.report.file)
        data = read_bytes(path, report)
        root = parse(SourceFile(report.file, data), report) if data else None
        if root is not None:
            check_names_in(root, report)
        self.folders[report.file] = path.parent
        self.report.findings += report.findings
        self.safe = self.safe and root is not None
        return root

    def resolve(self, root: Element, chain: tuple[Path, ...]) -> None:
        """Puts the content of every include where it stands; `chain` are the files being read."""
        for element in list(root.walk()):
            if any(child.tag == "include" for child in element.children):
                children = element.children[:]
                element.children.clear()
                for child in children:
                    element.children += self._included(child, chain) if child.tag == "include" else [child]
                for child in element.children:
                    child.parent = element

    def _included(self, include: Element, chain: tuple[Path, ...]) -> list[Element]:
        name = include.attributes.get("file", "")
        asset = find_asset(name, self.folder, self.package_roots, chain[-1].parent)
        if asset.escapes or asset.path is None:
            self._refuse_path(include, name, asset.escapes)
            return []
        if asset.path in chain:
            files = " → ".join(path.name for path in (*chain, asset.path))
            return self._refuse(include, f"the include chain {files} is cyclic", "a file cannot include itself")
        root = self._read_another(include, asset.path, "includes")
        if root is None:
            return []
        self.resolve(root, (*chain, asset.path))
        return root.children

    def check_files(self, root: Element) -> None:
        """Follows every file name: meshes, textures, height fields, sub-models."""
        keys, compilers = ("assetdir", "meshdir", "texturedir"), root.all("compiler")
        folders = {key: c.attributes[key] for c in compilers for key in keys if key in c.attributes}
        for element in root.walk():
            for attribute, name in element.attributes.items():
                if attribute.startswith("file") and name:
                    self._check_file(element, name, folders)

    def _check_file(self, element: Element, name: str, folders: dict[str, str]) -> None:
        key = "meshdir" if element.tag in ("mesh", "skin", "flexcomp") else "texturedir"
        folder = folders.get(key, folders.get("assetdir", "")) if element.tag != "model" else ""
        asset = self._lookup(element, str(Path(folder) / name), name)
        if element.tag in _LOOKS:
            return  # never opened: textures and skins are taken off before the model is compiled
        if asset.path is None and element.tag == "mesh" and not self.attached:
            self._note_missing(element, name, asset.escapes)
        elif asset.path is None:
            self._refuse_path(element, name, asset.escapes)
        elif element.tag == "model":
            self._check_submodel(element, asset.path)
        elif problem := mesh_problem(asset.path):
            self._refuse(element, f"file={quoted(name)}", f"the mesh {problem}")

    def _lookup(self, element: Element, path: str, name: str) -> Asset:
        """As MuJoCo looks it up: in the model's asset folder, then beside the included file that names it."""
        asset = find_asset(path, self.folder, self.package_roots)
        own = self.folders.get(element.source.file, self.folder)
        return asset if asset.path or own == self.folder else find_asset(name, own, [self.folder, *self.package_roots])

    def _note_missing(self, element: Element, name: str, escapes: bool) -> None:
        """A mesh is only looks, unless a body's mass is computed from it: then the compilation refuses."""
        called = element.attributes.get("name") or name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
        self.missing[called] = element
        rule = "the path escapes the model's folder" if escapes else "file not found"
        hint = "declare its folder as a package root" if escapes else ""
        self.report.warning(element, f"file={quoted(name)}", f"{rule}; {UNDRAWN}", hint)

    def _read_another(self, element: Element, path: Path, what: str) -> Element | None:
        """The root of a file that an element names, or None with the reason reported."""
        self.count += 1
        if self.count > _MAX_INCLUDES:
            self._refuse(element, f"more than {_MAX_INCLUDES} {what}", "the limit protects the engine")
            return None
        home = self.folder.resolve()
        return self.read(path, str(path.relative_to(home)) if path.is_relative_to(home) else str(path))

    def _check_submodel(self, element: Element, path: Path) -> None:
        """A sub-model is another file's whole model: it is checked for its paths alone, MuJoCo reads the rest."""
        root = self._read_another(element, path, "files")
        if root is not None:
            inner = MjcfSource(path, self.report, self.package_roots, attached=True)
            inner.count = self.count
            inner.resolve(root, (path,))
            inner.check_files(root)
            self.safe = self.safe and inner.safe
            self.count = inner.count

    def _refuse_path(self, element: Element, name: str, escapes: bool) -> None:
        hint = "move the file below the model's folder, or declare its folder as a package root" if escapes else ""
        rule = "the path escapes the model's folder" if escapes else "file not found"
        self._refuse(element, f"file={quoted(name)}", rule, hint)

    def _refuse(self, element: Element, problem: str, rule: str, hint: str = "") -> list[Element]:
        self.safe = False
        self.report.error(element, problem, rule, hint)
        return []
