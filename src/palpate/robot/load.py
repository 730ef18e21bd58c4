"""One door for every robot: a catalogue name, a URDF or an MJCF file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from palpate.errors import InvalidInput, UnknownName, check_names
from palpate.files import is_there
from palpate.robot import catalogue
from palpate.robot.build import ideal_joints, mark_ideal
from palpate.robot.gate import spec_from_text
from palpate.robot.readers.findings import refuse
from palpate.robot.robot import Robot

Joints = Literal["as_built", "ideal", "elastic"]
_SUFFIXES = (".urdf", ".xml", ".mjcf", ".xacro", ".toml")


def load_robot(
    source: str | Path,
    *,
    package_roots: Sequence[str | Path] = (),
    xacro: bool | Mapping[str, str] = False,
    estimate_inertia: float | None = None,
    lock: Mapping[str, float] | None = None,
    tool_frame: str | None = None,
    joints: Joints = "as_built",
    **parameters: float | Sequence[float],
) -> Robot:
    """Load a robot.

    What is doubtful about a file, and what was assumed, is in `Robot.warnings`.

    Args:
        source: a catalogue name (`palpate list`), or the path of a .urdf or MJCF .xml file, or of a .toml file with a
            DH table.
        package_roots: folders in which `package://` paths and files beside the model are looked up, besides its own.
        xacro: the file is xacro, a program: run it (in a process of its own, with limits). True, or its arguments
            by name. Needs the package `xacro`.
        estimate_inertia: total mass, kg. Masses that a URDF does not give are estimated from its shapes, so that the
            whole robot weighs this much; marked as an estimate everywhere.
        lock: joints to weld, at which values, rad or m.
        tool_frame: the frame that does the work; chosen by its name, or by where it stands, if not given.
        joints: "as_built" has the rotors and friction that are known, "ideal" has none, "elastic" also gears that give.
        **parameters: a catalogue robot's own parameters, such as `length=0.5, mass=5.0` for `planar3`.

    Raises:
        UnknownName: no such catalogue robot, joint or frame.
        ModelError: the file breaks physics or cannot be read; lists every problem.
    """
    if not isinstance(source, str | Path):
        raise InvalidInput(f"a robot is a catalogue name or the path of a model file, got {source!r}")
    check_names("kind of joints", [str(joints)], get_args(Joints))
    path = Path(source)
    if isinstance(source, str) and source in catalogue.names():
        spec = spec_from_text(catalogue.model_xml(source, joints == "elastic", **parameters))
        if joints == "ideal":
            ideal_joints(spec)
        elif catalogue.is_textbook(source):
            mark_ideal(spec)
        robot = Robot(spec, name=source)
        robot = robot.with_locked(lock) if lock else robot
        return robot.with_tool_frame(tool_frame) if tool_frame else robot
    if path.suffix.lower() not in _SUFFIXES and not is_there(path):
        raise UnknownName("robot", str(source), catalogue.names())
    if parameters:
        raise InvalidInput(f"a model file takes no parameters, got {', '.join(sorted(parameters))}")
    from palpate.robot.readers.check import check_model

    options: dict[str, Any] = {"package_roots": package_roots, "xacro": xacro, "estimate_inertia": estimate_inertia}
    report = check_model(path, lock=lock, tool_frame=tool_frame, **options)
    if report.robot is None:
        raise refuse(str(path), report.findings)
    return with_joints(report.robot, joints)


def with_joints(robot: Robot, joints: Joints) -> Robot:
    """The robot of a model file with its joints as they are asked for.

    Raises:
        InvalidInput: elastic ones, and the model does not say how stiff its gears are.
    """
    if joints != "elastic":
        rigid = robot.with_rigid_joints()
        return rigid.with_ideal_joints() if joints == "ideal" else rigid
    if robot.joint_stiffness is None:
        raise InvalidInput(
            f"the model of {robot.name} does not say how stiff its gears are",
            hint='give a <numeric name="joint_stiffness"> in its <custom>, or world.plant.joint_stiffness',
        )
    return robot
