"""Robots from Denavit–Hartenberg tables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import Vector3
from palpate.errors import InvalidInput, ModelError
from palpate.robot.mechanics.tensor import checked_inertia, inertia_fault, tensor_from
from palpate.robot.mechanics.tree import FixedFrame, Joint, Link, LinkShape, Tree
from palpate.robot.readers.findings import Finding, Mend, did_you_mean, quoted, refuse
from palpate.robot.readers.urdf import inertials
from palpate.robot.readers.xmlfile import Report, read_bytes
from palpate.spatial.euler import axis_rotation
from palpate.toml import toml_data

Convention = Literal["standard", "modified"]
LIGHTEST = 2e-15  # kg; the engine's floor is 1e-15
Tensor = Annotated[
    tuple[float, float, float] | tuple[float, float, float, float, float, float] | tuple[Vector3, Vector3, Vector3],
    "three moments, six entries (xx yy zz xy xz yz) or three rows",
]
Friction = float | tuple[float, float]


def _column(default: Any, unit: str, help: str, kind: Any = float, **bounds: float) -> Any:
    """A column of the table, declared once: default, and what a file is told of it (an infinite default is none)."""
    return field(default=default, metadata={"unit": unit, "help": help, "kind": kind, "bounds": bounds})


@dataclass(frozen=True)
class DHLink:
    """One row of a DH table with the link's mass properties.

    Standard convention: A = Rz(θ) Tz(d) Tx(a) Rx(α), the frame at the link's far end.
    Modified (Craig) convention: A = Rx(α) Tx(a) Rz(θ) Tz(d), the frame at the joint.

    Attributes:
        a, d: lengths, m.
        alpha, theta: angles, rad. The joint's coordinate adds to θ (revolute) or to d (prismatic).
        mass: kg.
        com: centre of mass in the link's DH frame, m.
        inertia: about the centre of mass in DH axes, kg·m²: three principal moments, six entries
            (xx yy zz xy xz yz), or 3×3.
        motor_inertia: of the rotor about its own axis, kg·m².
        gear: turns of the rotor per turn of the joint (rad per m for a prismatic joint), negative where they turn
            against each other. The joint feels motor_inertia · gear².
        damping, friction: viscous and Coulomb losses at the joint. Two frictions are the torques that oppose
            positive and negative motion; the second may be written with its sign, (0.4, −0.45).
        motor_damping, motor_friction: the same at the rotor; the joint feels gear² and |gear| times as much.
        lower, upper, velocity, torque: limits, infinite where there is none.
    """

    a: float = _column(0.0, "m", "length along x")
    alpha: float = _column(0.0, "rad", "twist about x")
    d: float = _column(0.0, "m", "length along z; a prismatic joint adds to it")
    theta: float = _column(0.0, "rad", "angle about z; a revolute joint adds to it")
    kind: Literal["revolute", "prismatic"] = _column(
        "revolute", "1", "what the joint does", Literal["revolute", "prismatic"]
    )
    mass: float = _column(1.0, "kg", "of the link", ge=0)
    com: ArrayLike = _column(  # noqa: RUF009, a field
        (0.0, 0.0, 0.0), "m", "centre of mass in the link's DH frame", Vector3
    )
    inertia: ArrayLike = _column(  # noqa: RUF009
        (0.0, 0.0, 0.0), "kg·m²", "about that centre, DH axes: 3 moments, 6 entries or 3×3", Tensor
    )
    motor_inertia: float = _column(0.0, "kg·m²", "of the rotor about its own axis", ge=0)
    gear: float = _column(1.0, "1", "turns of the rotor per turn of the joint")
    damping: float = _column(0.0, "N·m·s/rad or N·s/m", "viscous loss at the joint", ge=0)
    friction: Friction = _column(  # noqa: RUF009
        0.0, "N·m or N", "Coulomb loss at the joint; two numbers where the ways differ", Friction
    )
    motor_damping: float = _column(0.0, "N·m·s/rad", "viscous loss at the rotor; the joint feels gear² as much", ge=0)
    motor_friction: Friction = _column(  # noqa: RUF009
        0.0, "N·m", "Coulomb loss at the rotor; the joint feels |gear| as much", Friction
    )
    lower: float = _column(-math.inf, "rad or m", "lower limit; none if not given")
    upper: float = _column(math.inf, "rad or m", "upper limit; none if not given")
    velocity: float = _column(math.inf, "rad/s or m/s", "largest speed; any if not given", gt=0)
    torque: float = _column(math.inf, "N·m or N", "largest torque; any if not given", gt=0)


def tree_from_dh(rows: Sequence[DHLink], convention: Convention = "standard", name: str = "dh-arm") -> Tree:
    """The chain of a DH table: links link1…linkN whose frames are the DH frames, and a frame `tool` at the last."""
    if convention not in ("standard", "modified"):
        raise InvalidInput(f"DH convention must be 'standard' or 'modified', got {convention!r}")
    if not isinstance(rows, list | tuple) or not all(isinstance(row, DHLink) for row in rows):
        raise InvalidInput("a DH table is a list of DHLink")
    if not rows:
        raise InvalidInput("a DH table needs at least one row")
    if faults := [fault for number, row in enumerate(rows, start=1) for fault in row_faults(row, number)]:
        raise refused_table(name, faults)
    links, joints = [Link("base")], []
    for number, row in enumerate(rows, start=1):
        parent = links[-1].name
        com, inertia = finite_array(row.com, "com", (3,)), checked_inertia(row.inertia)
        links.append(Link(f"link{number}", float(row.mass), com, inertia))
        joints.append(_joint(row, number, parent, convention))
    tool = FixedFrame("tool", links[-1].name)
    return Tree(name, tuple(_with_looks(links, joints)), tuple(joints), (tool,))


def repaired_rows(rows: Sequence[DHLink]) -> tuple[list[DHLink], list[Finding]]:
    """The table with what is impossible in its masses made possible, and a warning for each change.

    An inertia no body has becomes the nearest one; a mass of 0 with an inertia, as tables give links that only turn,
    becomes the least the engine takes. What cannot be mended so stays for `tree_from_dh` to refuse.
    """
    findings: list[Finding] = []
    return [_repaired(row, number, findings) for number, row in enumerate(rows, start=1)], findings


def _repaired(row: DHLink, number: int, findings: list[Finding]) -> DHLink:
    try:
        old = tensor_from(row.inertia)
    except InvalidInput:
        return row
    new = inertials.nearest_physical((old + old.T) / 2) if inertia_fault(old) else old
    if new is not old and new.any():
        findings.append(_changed(number, old, new))
        row = replace(row, inertia=new)
    if row.mass == 0 and new.any():
        rule = f"inertia without mass is no body; repaired: {LIGHTEST:g} kg, which moves nothing"
        findings.append(Finding("warning", "DH table", 0, f"row {number}", "mass 0 with an inertia", rule))
        row = replace(row, mass=LIGHTEST)
    return row


def _changed(number: int, old: Array, new: Array) -> Finding:
    before, after = (" ".join(f"{value:.4g}" for value in np.linalg.eigvalsh((I + I.T) / 2)) for I in (old, new))
    rule = f"no body has this inertia; repaired: the nearest one has {after}"
    return Finding("warning", "DH table", 0, f"row {number}", f"principal moments {before} kg·m²", rule)


def refused_table(name: str, faults: Sequence[Finding]) -> ModelError:
    """The error that tells every fault of a DH table."""
    lines = "".join(f"\n  {fault.element}: {fault.found}; {fault.rule}" for fault in faults)
    count = f"{len(faults)} error{'s' if len(faults) != 1 else ''}"
    inertias = any("inertia" in fault.found for fault in faults)
    hint = "Robot.from_dh(…, repair=True) takes the nearest possible inertias" if inertias else None
    return ModelError(f"the DH table of {name} has {count}:{lines}", faults, hint=hint)


def row_faults(row: DHLink, number: int) -> Iterator[Finding]:
    """Everything wrong with a row."""
    checks: list[Callable[[], object]] = [lambda: _check_kind(row)]
    checks += [partial(finite_number, getattr(row, name), name) for name in ("a", "alpha", "d", "theta", "gear")]
    checks += [lambda: finite_number(row.mass, "mass", above=0.0)]
    losses = ("motor_inertia", "damping", "motor_damping")
    checks += [partial(finite_number, getattr(row, name), name, least=0.0) for name in losses]
    checks += [partial(both_frictions, getattr(row, name), name) for name in ("friction", "motor_friction")]
    checks += [lambda: finite_array(row.com, "com", (3,)), lambda: checked_inertia(row.inertia)]
    checks += [lambda: _check_range(row), *(partial(_check_positive, row, name) for name in ("velocity", "torque"))]
    for check in checks:
        try:
            check()
        except InvalidInput as error:
            problem, _, hint = str(error).partition("\n")
            rule = hint.replace("hint: ", "").strip() or "a DH row takes finite numbers in range"
            yield Finding("error", "DH table", 0, f"DH row {number}", problem, rule)


def _check_kind(row: DHLink) -> None:
    if row.kind not in ("revolute", "prismatic"):
        raise InvalidInput(f"kind must be 'revolute' or 'prismatic', got {row.kind!r}")


def _check_range(row: DHLink) -> None:
    if not row.lower < row.upper:
        raise InvalidInput(f"lower limit {row.lower:g} must be below upper limit {row.upper:g}")


def _check_positive(row: DHLink, name: str) -> None:
    if not getattr(row, name) > 0:
        raise InvalidInput(f"{name} limit must be positive, got {getattr(row, name):g}")


def both_frictions(value: float | tuple[float, float], name: str) -> tuple[float, float]:
    """Coulomb friction against positive and against negative motion, both as magnitudes."""
    if np.ndim(value) == 0:
        one = finite_number(float(np.asarray(value)), name, least=0.0)
        return one, one
    against = finite_array(value, name, (2,))
    finite_number(against[0], f"{name} against positive motion", least=0.0)
    return float(against[0]), abs(float(against[1]))


def _losses(row: DHLink) -> tuple[float, float, float]:
    """Damping, mean friction and its bias at the joint, the rotor's losses seen through the gear."""
    with_motor = both_frictions(row.friction, "friction"), both_frictions(row.motor_friction, "motor_friction")
    at_rotor = with_motor[1] if row.gear >= 0 else with_motor[1][::-1]
    forward, backward = (joint + abs(row.gear) * rotor for joint, rotor in zip(with_motor[0], at_rotor))
    damping = row.damping + row.motor_damping * row.gear**2
    return damping, (forward + backward) / 2, (forward - backward) / 2


def _joint(row: DHLink, number: int, parent: str, convention: Convention) -> Joint:
    fixed = axis_rotation(0, row.alpha)
    spin = axis_rotation(2, row.theta)
    if convention == "standard":
        position = spin @ np.array([row.a, 0.0, row.d])
        rotation = spin @ fixed
        axis = fixed.T @ np.array([0.0, 0.0, 1.0])
        anchor = -fixed.T @ np.array([row.a, 0.0, row.d])
    else:
        position = np.array([row.a, 0.0, 0.0]) + fixed @ np.array([0.0, 0.0, row.d])
        rotation = fixed @ spin
        axis = np.array([0.0, 0.0, 1.0])
        anchor = np.zeros(3)
    damping, friction, bias = _losses(row)
    pose, limits = (position, rotation, axis, anchor), (row.lower, row.upper, row.velocity, row.torque)
    losses = damping, friction, row.motor_inertia * row.gear**2
    return Joint(f"joint{number}", row.kind, parent, f"link{number}", *pose, *limits, *losses, friction_bias=bias)


def _with_looks(links: list[Link], joints: list[Joint]) -> list[Link]:
    """A capsule from each joint to the next origin, so that a replay shows an arm."""
    looks: dict[str, list[LinkShape]] = {link.name: [] for link in links}
    for joint in joints:
        looks[joint.child].append(LinkShape("sphere", (0.04,), rgba=(0.25, 0.3, 0.38, 1.0)))
        start = joint.anchor
        if np.linalg.norm(start) > 1e-6:
            looks[joint.child].append(capsule_between(start, np.zeros(3), 0.03))
        elif np.linalg.norm(joint.position) > 1e-6:
            looks[joint.parent].append(capsule_between(np.zeros(3), joint.position, 0.03))
    return [Link(k.name, k.mass, k.com, k.inertia, tuple(looks[k.name])) for k in links]


def capsule_between(start: Array, end: Array, radius: float) -> LinkShape:
    """A capsule whose axis runs from start to end."""
    along = end - start
    length = float(np.linalg.norm(along))
    z = along / length
    helper = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    rotation = np.column_stack([x, np.cross(z, x), z])
    return LinkShape("capsule", (radius, length), (start + end) / 2, rotation, (0.55, 0.6, 0.68, 1.0))


# ----------------------------------------------------------------------------------------------
# DH tables in TOML files, as scenarios hold them: `[[robot.dh]]` or `[[dh]]`, one block per row.
#
# Every fault of every row is reported in one pass, with its line.


_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*(?:robot[ \t]*\.[ \t]*)?dh[ \t]*\]\]", re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*\[", re.MULTILINE)
_FIELDS = {field.name for field in fields(DHLink)}


@dataclass(frozen=True)
class DHTable:
    """A table read from a file: its rows, how they are meant, and every fault."""

    name: str
    rows: tuple[DHLink, ...]
    convention: Convention
    findings: tuple[Finding, ...]
    text: str


def read_table(path: Path) -> DHTable:
    """The DH table of a file; a file without one has an error among its findings."""
    report = Report(str(path))
    text = (read_bytes(path, report) or b"").decode(errors="replace")
    data: dict[str, Any] = {}
    try:
        data = toml_data(text)
    except InvalidInput as error:
        report.error(None, error.args[0], "a DH table stands in a TOML file")
    inner = data.get("robot")
    robot: dict[str, Any] = inner if isinstance(inner, dict) else data
    listed = robot.get("dh")
    if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed) or not listed:
        if not report.has_errors:
            report.error(None, "holds no DH table", "rows are blocks [[robot.dh]]")
        return DHTable(path.stem, (), "standard", tuple(report.findings), text)
    rows, lines = [], _lines(text, len(listed))
    for number, (given, line) in enumerate(zip(listed, lines), start=1):
        row = _read_row(given, number, line, report)
        rows.append(row)
        for fault in row_faults(row, number):
            report.error(None, f"{fault.element}: {fault.found}", fault.rule, _HINT, line=line)
    convention = _read_convention(robot, report)
    return DHTable(path.stem, tuple(rows), convention, tuple(report.findings), text)


_HINT = "palpate check --repair writes the nearest valid inertia"


def _read_convention(robot: dict[str, Any], report: Report) -> Convention:
    convention = robot.get("dh_convention", robot.get("convention", "standard"))
    if convention not in ("standard", "modified"):
        report.error(None, f"dh_convention {convention!r}", "a DH table is 'standard' or 'modified'")
        return "standard"
    return convention


def _read_row(given: dict[str, Any], number: int, line: int, report: Report) -> DHLink:
    for key in given:
        if key not in _FIELDS:
            hint = did_you_mean(key, _FIELDS, 1)
            report.error(None, f"DH row {number}: unknown key {quoted(key)}", "not of a DH row", hint, line=line)
    taken: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items() if key in _FIELDS}
    return DHLink(**taken)


def _lines(text: str, count: int) -> list[int]:
    """The line of each row's header; 0 where rows are written another way."""
    lines = [text.count("\n", 0, match.end()) + 1 for match in _HEADER.finditer(text)]
    return lines if len(lines) == count else [0] * count


def repaired_table(path: Path) -> tuple[bytes, list[Mend]]:
    """The file with the masses and inertias of its rows mended, everything else untouched.

    Raises:
        ModelError: there is no table, or its rows are not written as blocks of their own.
    """
    table = read_table(path)
    if not table.rows:
        raise refuse(str(path), table.findings)
    mended, _ = repaired_rows(table.rows)
    starts = [match.end() for match in _HEADER.finditer(table.text)]
    if len(starts) != len(table.rows):
        raise ModelError(f"{path.name}: only rows written as blocks [[robot.dh]] can be repaired in place")
    text, changes = table.text, []
    for number in range(len(starts), 0, -1):  # from the end, so that the offsets before stay
        old, new, start = table.rows[number - 1], mended[number - 1], starts[number - 1]
        if new is not old:
            text = _rewritten(text, start, number, old, new, changes)
    return text.encode(), changes[::-1]


def _rewritten(text: str, start: int, number: int, old: DHLink, new: DHLink, changes: list[Mend]) -> str:
    following = _BLOCK.search(text, start)
    end = following.start() if following else len(text)
    block = text[start:end]
    for key, value in (("inertia", _tensor_text(new)), ("mass", repr(float(new.mass)))):
        pattern = re.compile(rf"^([ \t]*{key}[ \t]*=[ \t]*)(\[[^#\n]*\]|[^\s#]+)", re.MULTILINE)
        match = pattern.search(block)
        if match is None or getattr(old, key) is getattr(new, key):
            continue
        line = text.count("\n", 0, start + match.start(2)) + 1
        changes.append(Mend(f"DH row {number}", line, key, match[2], value))
        block = block[: match.start(2)] + value + block[match.end(2) :]
    return text[:start] + block + text[end:]


def _tensor_text(row: DHLink) -> str:
    six = inertials.printed_entries(tensor_from(row.inertia))
    return "[" + ", ".join(map(repr, six if any(six[3:]) else six[:3])) + "]"
