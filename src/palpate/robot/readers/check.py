"""Can this model file be trusted? One question for URDF and MJCF, answered with findings, never with a crash.

The answer holds the robot itself: what loads is what was checked, by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from palpate.errors import ModelError
from palpate.robot.mechanics.tree import FREEDOMS, Link, Tree
from palpate.robot.readers.findings import Finding, collision_warning, errors_of
from palpate.robot.readers.guarded import CompileLimits
from palpate.robot.readers.mjcf.reader import MjcfSource, inspect_mjcf
from palpate.robot.readers.urdf.reader import inspect_urdf
from palpate.robot.readers.xmlfile import Element, Report, SourceFile, parse, read_bytes

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

Format = Literal["urdf", "mjcf", "dh"]
_ENDINGS = (".urdf", ".xml", ".mjcf")


@dataclass(frozen=True)
class Summary:
    """Contents of a readable model: links, joints that move, degrees of freedom, mass [kg]."""

    links: int
    joints: int
    dof: int
    mass: float


@dataclass(frozen=True)
class ModelReport:
    """Result of checking a model file.

    Attributes:
        path: the file.
        format: "urdf" or "mjcf", told by the content; "dh" for a table in a TOML file; None if it is neither.
        findings: every problem, in the order of the lines.
        summary: what the model holds, or None if it could not be built.
        tree: a URDF without errors as plain data, else None.
        robot: the robot, or None if there are errors.
    """

    path: str
    format: Format | None
    findings: tuple[Finding, ...]
    summary: Summary | None = None
    tree: Tree | None = None
    robot: Robot | None = None

    @property
    def errors(self) -> list[Finding]:
        """Findings that make the model unusable."""
        return errors_of(self.findings)

    @property
    def warnings(self) -> list[Finding]:
        """Findings about values that are implausible or ignored."""
        return [finding for finding in self.findings if finding.level == "warning"]


@dataclass(frozen=True)
class ModelOptions:
    """How a model file is to be taken; see `load_robot`."""

    package_roots: tuple[Path, ...] = ()
    xacro: bool | Mapping[str, str] = False
    estimate_inertia: float | None = None
    lock: Mapping[str, float] | None = None
    tool_frame: str | None = None
    limits: CompileLimits | None = None


def check_model(
    path: str | Path,
    *,
    package_roots: Sequence[str | Path] = (),
    xacro: bool | Mapping[str, str] = False,
    estimate_inertia: float | None = None,
    lock: Mapping[str, float] | None = None,
    tool_frame: str | None = None,
    limits: CompileLimits | None = None,
) -> ModelReport:
    """Checks a URDF or MJCF file, told apart by the root element, and builds the robot where it can be built.

    Args:
        path: the file.
        package_roots: folders, besides its own, that meshes may lie in.
        xacro: expand the file first: True, or the xacro arguments by name.
        estimate_inertia: total mass, kg, from which missing masses of a URDF are estimated.
        lock: joints to weld, at which values, rad or m.
        tool_frame: the frame to be taken for the tool.
        limits: what compiling an MJCF file, or expanding xacro, may cost.

    Raises:
        UnknownName: `lock` or `tool_frame` names what the model does not have.
        InvalidInput: `lock` or `estimate_inertia` cannot be met.
    """
    roots = tuple(Path(root) for root in package_roots)
    options = ModelOptions(roots, xacro, estimate_inertia, lock, tool_frame, limits)
    if Path(path).suffix.lower() == ".toml":
        return _check_table(Path(path), options)
    report = Report(str(path))
    text = _expanded(Path(path), report, options)
    root = None if report.has_errors else model_root(Path(path), report, text)
    if root is None:
        return ModelReport(str(path), None, tuple(report.findings))
    if root.tag == "robot":
        return _check_urdf(Path(path), report, options, text)
    return _check_mjcf(Path(path), report, options)


def _expanded(path: Path, report: Report, options: ModelOptions) -> bytes | None:
    """The text of a xacro file, if it is to be expanded."""
    if options.xacro is False:
        return None
    from palpate.robot.readers.guarded import expand_xacro

    arguments = options.xacro if isinstance(options.xacro, Mapping) else {}
    return expand_xacro(path, report, arguments, options.package_roots, options.limits)


def _check_urdf(path: Path, report: Report, options: ModelOptions, text: bytes | None) -> ModelReport:
    tree, urdf_findings = inspect_urdf(path, package_roots=options.package_roots, text=text)
    findings = [*report.findings, *urdf_findings]
    if tree is None:
        return ModelReport(str(path), "urdf", tuple(findings))
    findings += collision_warning(
        str(path), sum(bool(link.collisions) for link in tree.links), "links with <collision>"
    )
    if options.estimate_inertia is not None:
        from palpate.robot.readers.dh.estimate import estimate_inertias

        tree, warning = estimate_inertias(tree, options.estimate_inertia, str(path))
        findings = [finding for finding in findings if "--estimate-inertia" not in finding.hint] + [warning]
    return _tree_report(path, "urdf", tree, findings, options)


def _check_table(path: Path, options: ModelOptions) -> ModelReport:
    """A DH table in a TOML file."""
    from palpate.robot.readers.dh.table import read_table, tree_from_dh

    table = read_table(path)
    if errors_of(table.findings):
        return ModelReport(str(path), "dh" if table.rows else None, table.findings)
    tree = tree_from_dh(table.rows, table.convention, table.name)
    return _tree_report(path, "dh", tree, table.findings, options)


def _tree_report(
    path: Path, file_format: Format, tree: Tree, findings: Sequence[Finding], options: ModelOptions
) -> ModelReport:
    try:
        robot = _from_tree(tree, options, findings)
    except ModelError as error:
        return ModelReport(str(path), file_format, (*findings, _refusal(path, error)), tree=tree)
    joints = sum(FREEDOMS[joint.kind] > 0 for joint in tree.joints)
    summary = Summary(len(tree.links), joints, robot.nv, sum(link.mass for link in tree.links))
    return ModelReport(str(path), file_format, _all_findings(findings, robot), summary, tree, robot)


def _from_tree(tree: Tree, options: ModelOptions, findings: Sequence[Finding]) -> Robot:
    """The robot; without its meshes if the engine cannot take one of them, for they are only its looks."""
    from palpate.robot.robot import Robot

    warnings = [finding for finding in findings if finding.level == "warning"]
    try:
        robot = Robot.from_tree(tree, tool_frame=options.tool_frame, warnings=warnings)
    except ModelError:
        tree = replace(tree, links=tuple(map(_without_meshes, tree.links)))
        robot = Robot.from_tree(tree, tool_frame=options.tool_frame, warnings=warnings)
    return robot.with_locked(options.lock) if options.lock else robot


def _without_meshes(link: Link) -> Link:
    visuals, collisions = (
        tuple(shape for shape in shapes if shape.kind != "mesh") for shapes in (link.visuals, link.collisions)
    )
    return replace(link, visuals=visuals, collisions=collisions)


def _check_mjcf(path: Path, report: Report, options: ModelOptions) -> ModelReport:
    source = inspect_mjcf(path, limits=options.limits, package_roots=options.package_roots)
    findings = [*report.findings, *source.findings]
    if options.estimate_inertia is not None:
        rule = "the bodies of an MJCF file have masses, its own or those of their shapes; estimate_inertia is ignored"
        findings.append(Finding("warning", str(path), 0, "", "no mass is missing", rule))
    facts, robot = source.facts, None
    if facts and not errors_of(findings):
        robot = _build_mjcf(path, source, options, findings)
    if not facts:
        return ModelReport(str(path), "mjcf", tuple(findings))
    dof, all_findings = (robot.nv, _all_findings(findings, robot)) if robot else (facts["dof"], tuple(findings))
    return ModelReport(
        str(path), "mjcf", all_findings, Summary(facts["bodies"], facts["joints"], dof, facts["mass"]), None, robot
    )


def _build_mjcf(path: Path, source: MjcfSource, options: ModelOptions, findings: list[Finding]) -> Robot | None:
    """The robot of a file that compiles; what stands against it is added to the findings."""
    from palpate.robot.readers.mjcf.build import build_mjcf

    warnings = [finding for finding in findings if finding.level == "warning"]
    try:
        return build_mjcf(path, source, options.lock, options.tool_frame, warnings)
    except ModelError as error:
        findings += [finding for finding in error.findings if isinstance(finding, Finding)] or [_refusal(path, error)]
        return None


def _all_findings(findings: Sequence[Finding], robot: Robot) -> tuple[Finding, ...]:
    """The findings, and what building the robot added."""
    return (*findings, *(warning for warning in robot.warnings if warning not in findings))


def _refusal(path: Path, error: ModelError) -> Finding:
    problem, _, hint = str(error).partition("\n  hint: ")
    return Finding("error", str(path), 0, "", " ".join(problem.split()), "palpate cannot compute with it", hint)


def model_root(path: Path, report: Report, text: bytes | None = None) -> Element | None:
    """The root element of a URDF or MJCF file, or None with the reason reported; `text` stands in for its content."""
    data = read_bytes(path, report) if text is None else text
    if data is None or not _looks_like_xml(data, path, report):
        return None
    root = parse(SourceFile(report.file, data), report)
    if root is None:
        return None
    if root.tag not in ("robot", "mujoco"):
        hint = "convert SDF to URDF or MJCF first" if root.tag == "sdf" else ""
        problem = f"the root element is <{root.tag}>"
        rule = "a model starts with <robot> (URDF) or <mujoco> (MJCF)"
        report.error(None, problem, rule, hint, line=root.line)
        return None
    if text is None and path.suffix.lower() not in _ENDINGS:
        problem = f"the name ends in {path.suffix!r}" if path.suffix else "the name has no ending"
        report.warning(None, problem, "model files end in .urdf or .xml")
    return root


def _looks_like_xml(data: bytes, path: Path, report: Report) -> bool:
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:2]
    if start[:1] == b"<" or start in (b"\xff\xfe", b"\xfe\xff"):  # the latter: UTF-16
        return True
    rule = "it is not a model: a URDF or MJCF file is XML text and starts with <"
    hint = "a compiled model (.mjb) is not read: save it as MJCF" if path.suffix.lower() == ".mjb" else ""
    problem = "binary data" if b"\0" in data[:4096] else "text that is not XML"
    report.error(None, problem, rule, hint, line=1)
    return False
