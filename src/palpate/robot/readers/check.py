"""Can this model file be trusted? One question for URDF and MJCF, answered with findings, never with a crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from palpate.robot.readers.findings import Finding, errors_of
from palpate.robot.readers.guarded import CompileLimits
from palpate.robot.readers.mjcf import inspect_mjcf
from palpate.robot.readers.urdf import inspect_urdf
from palpate.robot.readers.xmlfile import Report, Source, parse, read_bytes
from palpate.robot.tree import Tree

Format = Literal["urdf", "mjcf"]
_ENDINGS = (".urdf", ".xml", ".mjcf")


@dataclass(frozen=True)
class Summary:
    """What a readable model holds: links, joints that move, degrees of freedom, mass [kg]."""

    links: int
    joints: int
    dof: int
    mass: float


@dataclass(frozen=True)
class ModelReport:
    """What there is to say about a model file.

    Attributes:
        path: the file.
        format: "urdf" or "mjcf", told by the content; None if it is neither.
        findings: every problem, in the order of the lines.
        summary: what the model holds, or None if it could not be built.
        tree: a URDF without errors as plain data, else None.
    """

    path: str
    format: Format | None
    findings: tuple[Finding, ...]
    summary: Summary | None = None
    tree: Tree | None = None

    @property
    def errors(self) -> list[Finding]:
        """What makes the model unusable."""
        return errors_of(self.findings)

    @property
    def warnings(self) -> list[Finding]:
        """What is implausible or ignored."""
        return [finding for finding in self.findings if finding.level == "warning"]


def check_model(
    path: str | Path, *, package_roots: Sequence[str | Path] = (), limits: CompileLimits | None = None
) -> ModelReport:
    """Checks a URDF or MJCF file, told apart by the root element.

    Args:
        path: the file.
        package_roots: folders, besides its own, that a URDF's meshes may lie in.
        limits: what compiling an MJCF file may cost.
    """
    report = Report(str(path))
    found = model_format(Path(path), report)
    if found == "urdf":
        tree, findings = inspect_urdf(path, package_roots=package_roots)
        summary = _summary(tree) if tree else None
        return ModelReport(str(path), found, (*report.findings, *findings), summary, tree)
    if found == "mjcf":
        findings, facts = inspect_mjcf(path, limits=limits)
        summary = Summary(facts["bodies"], facts["joints"], facts["dof"], facts["mass"]) if facts else None
        return ModelReport(str(path), found, (*report.findings, *findings), summary)
    return ModelReport(str(path), None, tuple(report.findings))


def model_format(path: Path, report: Report) -> Format | None:
    """What the file is by its root element, or None with the reason reported."""
    data = read_bytes(path, report)
    if data is None or not _looks_like_xml(data, path, report):
        return None
    root = parse(Source(report.file, data), report)
    if root is None:
        return None
    if root.tag not in ("robot", "mujoco"):
        hint = "convert SDF to URDF or MJCF first" if root.tag == "sdf" else ""
        found = f"the root element is <{root.tag}>"
        rule = "a model starts with <robot> (URDF) or <mujoco> (MJCF)"
        report.error(None, found, rule, hint, line=root.line)
        return None
    if path.suffix.lower() not in _ENDINGS:
        found = f"the name ends in {path.suffix!r}" if path.suffix else "the name has no ending"
        report.warning(None, found, "model files end in .urdf or .xml")
    return "urdf" if root.tag == "robot" else "mjcf"


def _looks_like_xml(data: bytes, path: Path, report: Report) -> bool:
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:2]
    if start[:1] == b"<" or start in (b"\xff\xfe", b"\xfe\xff"):  # the latter: UTF-16
        return True
    rule = "it is not a model: a URDF or MJCF file is XML text and starts with <"
    hint = "a compiled model (.mjb) is not read: save it as MJCF" if path.suffix.lower() == ".mjb" else ""
    found = "binary data" if b"\0" in data[:4096] else "text that is not XML"
    report.error(None, found, rule, hint, line=1)
    return False


def _summary(tree: Tree) -> Summary:
    dofs = [6 if joint.kind == "floating" else 1 for joint in tree.joints if joint.kind != "fixed"]
    tied = sum(joint.mimic is not None for joint in tree.joints)
    return Summary(len(tree.links), len(dofs), sum(dofs) - tied, sum(link.mass for link in tree.links))
