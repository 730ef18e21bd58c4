"""URDF files, read with distrust: a Tree, and every problem of the file reported in one pass.

Format: wiki.ros.org/urdf/XML. Angles rad, lengths m; rpy turns about the fixed x, y, z axes in that order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import nearest
from palpate.robot.mechanics.tensor import tensor_from
from palpate.robot.mechanics.tree import FREEDOMS, JOINT_KINDS, Joint, JointKind, Link, LinkShape, Mimic, Tree
from palpate.robot.readers.assets import Asset, find_asset, mesh_problem, undrawable
from palpate.robot.readers.findings import UNDRAWN, Finding, quoted
from palpate.robot.readers.urdf import inertials
from palpate.robot.readers.urdf.collada import SUFFIX, ColladaMesh, read_collada
from palpate.robot.readers.urdf.inertials import LARGEST
from palpate.robot.readers.urdf.structure import Numbered, check_structure, check_words, rotor_inertias
from palpate.robot.readers.xmlfile import (
    Element,
    Report,
    SourceFile,
    check_names_in,
    number_list,
    numbers,
    parse,
    read_bytes,
)

PLAUSIBLE_LENGTH = 10.0  # m: a longer offset or centre of mass suggests millimetres
PLAUSIBLE_MASS = 1e4  # kg: a heavier link suggests grams
MANY_LINKS = 500
_FEW_TURNS = 4 * math.pi + 1e-3  # a cable-fed joint turns no further; more suggests degrees
_UNLIMITED = 1e3  # rad: limits beyond this are a way of writing "none"
_ACCELERATION = "drake:acceleration"
_RGBA = tuple[float, float, float, float]
_ROUND = [("radius", 1), ("length", 1)]
# What may stand in <geometry>: attributes and how many numbers each has.
_SOLIDS = {"box": [("size", 3)], "sphere": [("radius", 1)], "cylinder": _ROUND, "capsule": _ROUND, "mesh": []}


def inspect_urdf(
    path: str | Path, *, package_roots: Sequence[str | Path] = (), text: bytes | None = None
) -> tuple[Tree | None, list[Finding]]:
    """The robot of a URDF file, all fixed links kept, or None if there are errors; and every problem of the file.

    Args:
        path: the file.
        package_roots: folders, besides the file's own, that meshes may lie in (`package://` looks there).
        text: stands in for the file's content, where that has been expanded.
    """
    report = Report(str(path))
    data = read_bytes(Path(path), report) if text is None else text
    root = parse(SourceFile(str(path), data), report) if data else None
    if root is None:
        return None, report.findings
    if root.tag != "robot":
        report.error(root, f"the root element is <{root.tag}>", "a URDF file starts with <robot>")
        return None, report.findings
    check_names_in(root, report)
    reader = _Reader(root, report, Path(path).parent, [Path(folder) for folder in package_roots])
    tree = reader.read()
    findings = sorted(report.findings, key=lambda finding: finding.line)
    return (None if report.has_errors else tree), findings


class _Reader:
    """Turns elements into links and joints; wrong values are reported and replaced, and reading goes on."""

    def __init__(self, root: Element, report: Report, folder: Path, package_roots: Sequence[Path]) -> None:
        self.root, self.report = root, report
        self.folder, self.package_roots = folder, package_roots
        self.colours: dict[str, _RGBA] = {}
        self.collada: dict[Path, ColladaMesh] = {}

    def read(self) -> Tree:
        check_words(self.root, self.report)
        self._collect_colours()
        self.collada = read_collada(self._collada_paths())
        links = [Numbered(self._link(e), e) for e in self.root.all("link")]
        joints = [Numbered(self._joint(e), e) for e in self.root.all("joint")]
        rotors = rotor_inertias(self.root, [joint.item.name for joint in joints], self.report)
        joints = [Numbered(replace(j.item, armature=rotors.get(j.item.name, 0.0)), j.element) for j in joints]
        check_structure(self.root, links, joints, self.report)
        if len(links) > MANY_LINKS:
            self.report.warning(self.root, f"{len(links)} links", "models this large simulate slowly")
        name = self.root.attributes.get("name", "")
        if not name:
            self.report.warning(self.root, "the robot has no name", "<robot> takes a name", line=self.root.line)
        self._check_reach(links, joints)
        return Tree(name or "robot", tuple(n.item for n in links), tuple(n.item for n in joints))

    # Links

    def _link(self, element: Element) -> Link:
        name = element.attributes.get("name", "")
        mass, com, inertia = self._inertial(element.first("inertial"))
        visuals = tuple(shape for e in element.all("visual") for shape in self._shapes(e))
        collisions = tuple(shape for e in element.all("collision") for shape in self._shapes(e))
        return Link(name, mass, com, inertia, visuals, collisions)

    def _inertial(self, element: Element | None) -> tuple[float, Array, Array]:
        if element is None:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        com, rotation = self._origin(element)
        mass = self._mass(element)
        inertia = self._inertia(element, mass)
        return mass or 0.0, com, rotation @ inertia @ rotation.T

    def _mass(self, inertial: Element) -> float | None:
        element = self._required(inertial, "mass")
        mass = self._number(element, "value", required=True) if element else None
        if element is None or mass is None:
            return None
        if mass < 0:
            self.report.dynamics_error(element, f"mass {mass:g} kg", "a mass is positive")
        elif mass > LARGEST:
            self.report.dynamics_error(element, f"mass {mass:g} kg", f"masses end at {LARGEST:g} kg")
        elif mass > PLAUSIBLE_MASS:
            self.report.warning(element, f"mass {mass:g} kg", "implausible for a link", "grams?")
        return mass if 0 <= mass <= LARGEST else None

    def _inertia(self, inertial: Element, mass: float | None) -> Array:
        element = self._required(inertial, "inertia")
        if element is None:
            return np.zeros((3, 3))
        names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        six = [self._number(element, name, required=name in names[:3]) for name in names]
        if any(abs(value or 0.0) > LARGEST for value in six):
            self.report.dynamics_error(element, f"entries beyond {LARGEST:g} kg·m²", "no link is that large")
            return np.zeros((3, 3))
        if any(value is None and name in element.attributes for name, value in zip(names, six)):
            return np.zeros((3, 3))  # reported already; do not judge a tensor of defaults
        absent = [name for name in names[3:] if name not in element.attributes]
        if absent:
            rule = "taken as 0, but other readers drop the whole inertial without them"
            self.report.warning(element, f"has no {', '.join(absent)}", rule)
        inertia = tensor_from([value or 0.0 for value in six])
        inertials.check_inertia(element, mass, inertia, self.report)
        return inertia

    def _check_reach(self, links: list[Numbered[Link]], joints: list[Numbered[Joint]]) -> None:
        """Compares each inertia with the size of the whole robot: millimetres and grams show there."""
        reach = sum(float(np.linalg.norm(joint.item.position)) for joint in joints)
        size = 2 * max(min(reach, PLAUSIBLE_LENGTH), 1.0)
        for link in links:
            if link.item.mass <= 0 or not inertials.is_physical(link.item.inertia):
                continue
            radius = math.sqrt(max(inertials.principal_moments(link.item.inertia)[-1], 0.0) / link.item.mass)
            if radius > size:
                problem = f"radius of gyration {radius:.3g} m"
                rule = f"implausible for mass {link.item.mass:g} kg in a robot {reach:.2g} m long"
                at = link.element.first("inertial")
                self.report.warning(at, problem, rule, "inertia in kg·mm² or g·mm² instead of kg·m²?")

    # Joints

    def _joint(self, element: Element) -> Joint:
        kind = self._kind(element)
        position, rotation = self._origin(element)
        values: dict[str, Any] = self._limits(element, kind) | self._joint_dynamics(element)
        ends = self._end(element, "parent"), self._end(element, "child")
        axis, mimic, name = self._axis(element, kind), self._mimic(element, kind), element.attributes.get("name", "")
        return Joint(name, kind, *ends, position, rotation, axis, mimic=mimic, **values)

    def _kind(self, element: Element) -> JointKind:
        kind = element.attributes.get("type")
        if kind not in JOINT_KINDS:
            problem = f"type {quoted(kind)}" if kind is not None else "has no type"
            near = {"hinge": "revolute", "slide": "prismatic", "free": "floating", "ball": "spherical"}
            guess = near.get(kind or "") or next(iter(nearest(kind or "", JOINT_KINDS)), "")
            hint = f"did you mean {guess!r}?" if guess else ""
            self.report.error(element, problem, f"a joint type is one of {', '.join(JOINT_KINDS)}", hint)
            kind = guess  # the rest of the joint is checked as what it was meant to be
        return kind if kind in JOINT_KINDS else "fixed"  # pyright: ignore[reportReturnType]

    def _end(self, joint: Element, tag: str) -> str:
        element = self._required(joint, tag, always=True)
        if element is None:
            return ""
        if "link" not in element.attributes:
            self.report.error(element, "has no attribute link", f'<{tag}> takes link="…"')
        return element.attributes.get("link", "")

    def _axis(self, joint: Element, kind: JointKind) -> Array:
        element = joint.first("axis")
        default = np.array([1.0, 0.0, 0.0])  # the URDF default, not ours
        if element is None or kind in ("fixed", "floating", "spherical"):
            return np.array([0.0, 0.0, 1.0]) if kind == "planar" else default
        xyz = numbers(element, "xyz", self.report, 3)
        if xyz is None:
            if "xyz" not in element.attributes:
                self.report.error(element, "has no attribute xyz", '<axis> takes xyz="x y z"')
            return default
        norm = math.hypot(*xyz)
        if not 1e-9 < norm < LARGEST:
            self.report.error(element, f"axis {number_list(xyz)} of length {norm:g}", "an axis needs a direction")
            return default
        if abs(norm - 1) > 1e-3:
            self.report.warning(element, f"axis {number_list(xyz)} of length {norm:.4g}", "taken as a unit vector")
        return np.array(xyz) / norm

    def _limits(self, joint: Element, kind: JointKind) -> dict[str, float]:
        """Those that the joint has, by their names in `Joint`; Drake's limit of the acceleration among them."""
        element = joint.first("limit")
        needs = kind in ("revolute", "prismatic")
        if element is None:
            if needs:
                hint = 'type="continuous" is without limits' if kind == "revolute" else ""
                self.report.error(joint, "has no <limit>", f"a {kind} joint needs one", hint)
            return {}
        limits = {name: self._bound(element, name, needs) for name in ("velocity", "effort")}
        if needs:
            limits["lower"], limits["upper"] = self._range(element, kind)
        if _ACCELERATION in element.attributes:
            limits["acceleration"] = self._bound(element, _ACCELERATION, False)
        return limits

    def _range(self, element: Element, kind: JointKind) -> tuple[float, float]:
        lower, upper = (self._number(element, name) or 0.0 for name in ("lower", "upper"))
        problem = f"limits {lower:g} to {upper:g}"
        largest = max(abs(lower), abs(upper))
        if lower > upper or lower == upper == 0:
            rule = "reversed" if lower > upper else "absent limits are 0 in URDF"
            self.report.warning(element, problem, f"taken as no limit ({rule})", "give the real ones")
            return -math.inf, math.inf
        if lower == upper:
            hint = 'type="fixed"? type="continuous"?'
            self.report.dynamics_error(element, problem, "the joint cannot move", hint)
        elif kind == "revolute" and _FEW_TURNS < largest < _UNLIMITED:
            turns = f"{largest:g} rad = {largest / (2 * math.pi):.0f} turns"
            self.report.warning(element, problem, f"implausible: {turns}", "degrees? URDF has radians")
        elif kind == "prismatic" and largest > PLAUSIBLE_LENGTH:
            self.report.warning(element, problem, f"implausible: {largest:g} m", "millimetres? URDF has metres")
        return lower, upper

    def _bound(self, limit: Element, name: str, needed: bool) -> float:
        value = self._number(limit, name)
        if value is None:
            if needed and name not in limit.attributes:
                self.report.warning(limit, f"has no attribute {name}", f"taken as no limit of {name}")
            return math.inf
        if value < 0:
            self.report.error(limit, f"{name} limit {value:g}", f"a limit of {name} is positive")
        elif value == 0 and needed:
            self.report.warning(limit, f"{name} limit 0", "the joint cannot be driven", "give the real limit")
        return value

    def _joint_dynamics(self, joint: Element) -> dict[str, float]:
        element = joint.first("dynamics")
        if element is None:
            return {}
        values = {name: self._number(element, name) or 0.0 for name in ("damping", "friction")}
        for name, value in values.items():
            if value < 0:
                self.report.dynamics_error(element, f"{name} {value:g}", f"{name} takes energy: it is not negative")
        return values

    def _mimic(self, joint: Element, kind: JointKind) -> Mimic | None:
        element = joint.first("mimic")
        if element is None:
            return None
        if FREEDOMS[kind] != 1:
            self.report.warning(element, f"mimic of a {kind} joint", "ignored: it has no single coordinate")
            return None
        multiplier, offset = self._number(element, "multiplier"), self._number(element, "offset")
        if multiplier == 0:
            self.report.warning(element, "multiplier 0", "the joint stands still")
        return Mimic(element.attributes.get("joint", ""), 1.0 if multiplier is None else multiplier, offset or 0.0)

    # Shapes

    def _shapes(self, element: Element) -> list[LinkShape]:
        """The shape of an element; of a COLLADA mesh one for each of its colours.

        A file's own colours win over the URDF's, which stands where the file gives none: so does RViz.
        """
        shape = self._shape(element)
        mesh = self.collada.get(Path(shape.mesh)) if shape and isinstance(shape.mesh, str) else None
        if shape is None or mesh is None:
            return [shape] if shape else []
        return [replace(shape, rgba=rgba or shape.rgba, mesh=part) for rgba, part in mesh.parts]

    def _shape(self, element: Element) -> LinkShape | None:
        geometry = self._required(element, "geometry", always=True)
        if geometry is None:
            return None
        solid = next((child for child in geometry.children if child.tag in _SOLIDS), None)
        if solid is None:
            if not geometry.children:
                self.report.warning(geometry, "is empty", f"<geometry> holds one of {', '.join(_SOLIDS)}")
            return None
        made = self._mesh(solid) if solid.tag == "mesh" else self._sizes(solid, _SOLIDS[solid.tag])
        position, rotation = self._origin(element)
        if made is None:
            return None
        colour = self._colour(element.first("material"))
        return LinkShape(solid.tag, made[0], position, rotation, colour, made[1])  # pyright: ignore[reportArgumentType]

    def _sizes(self, solid: Element, fields: list[tuple[str, int]]) -> tuple[tuple[float, ...], None] | None:
        sizes: list[float] = []
        for name, count in fields:
            values = numbers(solid, name, self.report, count)
            if values is None:
                if name not in solid.attributes:
                    self.report.error(solid, f"has no attribute {name}", f"<{solid.tag}> takes {name}")
                return None
            sizes += values
        if min(sizes) < 0:
            self.report.error(solid, f"size {number_list(sizes)}", f"the sizes of a {solid.tag} are positive")
            return None
        if min(sizes) == 0:
            self.report.warning(solid, f"size {number_list(sizes)}", f"a {solid.tag} without extent is left out")
            return None
        return tuple(sizes), None

    def _mesh(self, element: Element) -> tuple[tuple[float, ...], str] | None:
        """A mesh is only looks: what cannot be had is reported and left out."""
        scale = self._scale(element)
        name = element.attributes.get("filename", "")
        asset = find_asset(name, self.folder, self.package_roots)
        if asset.path is not None and (broken := mesh_problem(asset.path)):
            self.report.error(element, f"filename={quoted(name)}", f"the mesh {broken}")
            return None
        problem, hint = self._undrawn(asset)
        if problem:
            self.report.warning(element, f"filename={quoted(name)}", f"{problem}; {UNDRAWN}", hint)
        return None if problem or asset.path is None else (scale, str(asset.path))

    def _undrawn(self, asset: Asset) -> tuple[str, str]:
        """Why a mesh cannot be drawn, and what to try; nothing where it can."""
        if asset.escapes:
            rule = "the path escapes the model's folder and the package roots"
            return rule, "declare its folder as a package root"
        if asset.path is None:
            return "file not found", ""
        collada = self.collada.get(asset.path)
        problem = collada.problem if collada else undrawable(asset.path)
        return f"the mesh {problem}" if problem else "", ""

    def _collada_paths(self) -> list[Path]:
        """The COLLADA files that the model names and that may be read, each once."""
        names = [element.attributes.get("filename", "") for element in self.root.walk() if element.tag == "mesh"]
        wanted = dict.fromkeys(name for name in names if name.lower().endswith(SUFFIX))
        assets = (find_asset(name, self.folder, self.package_roots).path for name in wanted)
        return list(dict.fromkeys(path for path in assets if path and not mesh_problem(path)))

    def _scale(self, element: Element) -> tuple[float, ...]:
        """Three factors, or one for all axes."""
        single = len(element.attributes.get("scale", "").split()) == 1
        scale = numbers(element, "scale", self.report, 1 if single else 3) or [1.0]
        if 0 in scale:
            self.report.error(element, f"scale {number_list(scale)}", "a scale of 0 flattens the mesh")
        return tuple(scale * 3 if len(scale) == 1 else scale)

    def _collect_colours(self) -> None:
        """Materials may be defined anywhere and named anywhere, so they are gathered first."""
        for element in self.root.walk():
            if element.tag == "material" and element.first("color"):
                rgba = self._colour(element)
                if rgba is not None:
                    self.colours.setdefault(element.attributes.get("name", ""), rgba)

    def _colour(self, material: Element | None) -> _RGBA | None:
        if material is None:
            return None
        color = material.first("color")
        text = color.attributes.get("rgba", "") if color else ""
        try:
            rgba = [float(word) for word in text.split()]
        except ValueError:
            rgba = []
        if len(rgba) == 4 and all(0 <= value <= 1 for value in rgba):
            return rgba[0], rgba[1], rgba[2], rgba[3]
        return self.colours.get(material.attributes.get("name", ""))

    # Values

    def _origin(self, element: Element) -> tuple[Array, Array]:
        origin = element.first("origin")
        if origin is None:
            return np.zeros(3), np.eye(3)
        xyz = numbers(origin, "xyz", self.report, 3) or [0.0, 0.0, 0.0]
        rpy = numbers(origin, "rpy", self.report, 3) or [0.0, 0.0, 0.0]
        distance = math.hypot(*xyz)
        if distance > LARGEST:
            self.report.error(origin, f"xyz {number_list(xyz)}", f"lengths end at {LARGEST:g} m")
            xyz = [0.0, 0.0, 0.0]
        elif distance > PLAUSIBLE_LENGTH:
            rule = f"implausible: {distance:.3g} m away"
            self.report.warning(origin, f"xyz {number_list(xyz)}", rule, "millimetres? URDF has metres")
        if max(map(abs, rpy)) > _FEW_TURNS:
            self.report.warning(
                origin, f"rpy {number_list(rpy)}", "implausible: several turns", "degrees? URDF has radians"
            )
        return np.array(xyz), rotation_from_rpy(rpy[0], rpy[1], rpy[2])

    def _required(self, element: Element, tag: str, *, always: bool = False) -> Element | None:
        """The child `tag`; its absence is an error, of dynamics only unless `always`."""
        child = element.first(tag)
        if child is None:
            tell = self.report.error if always else self.report.dynamics_error
            tell(element, f"has no <{tag}>", f"<{element.tag}> needs one")
        return child

    def _number(self, element: Element, name: str, *, required: bool = False) -> float | None:
        if required and name not in element.attributes:
            self.report.dynamics_error(element, f"has no attribute {name}", f"<{element.tag}> needs {name}")
            return None
        values = numbers(element, name, self.report, 1)
        return values[0] if values else None


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll): turns about the fixed x, then y, then z axis, in rad.

    Not `spatial.matrix_from_euler`: a check of a file does not load the compiler behind it.
    """
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    first = [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr]
    second = [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr]
    return np.array([first, second, [-sp, cp * sr, cp * cr]])
