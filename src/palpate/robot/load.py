"""One door for every robot: a catalogue name, a URDF or an MJCF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from palpate.errors import InvalidInput, ModelError, UnknownName
from palpate.robot import catalogue
from palpate.robot.robot import Robot
from palpate.robot.tree import Shape, Tree

_SUFFIXES = (".urdf", ".xml", ".mjcf")


def load_robot(
    source: str | Path, *, package_roots: Sequence[str | Path] = (), **parameters: float | Sequence[float]
) -> Robot:
    """Load a robot.

    Args:
        source: a catalogue name (`palpate list`), or the path of a .urdf or MJCF .xml file.
        package_roots: folders in which a URDF's `package://` paths are looked up, besides its own.
        **parameters: a catalogue robot's own parameters, such as `length=0.5, mass=5.0` for `planar3`.

    Raises:
        UnknownName: no such catalogue robot.
        ModelError: the file breaks physics or cannot be read; lists every problem.
    """
    if not isinstance(source, str | Path):
        raise InvalidInput(f"a robot is a catalogue name or the path of a model file, got {source!r}")
    path = Path(source)
    if isinstance(source, str) and source in catalogue.names():
        return Robot.from_mjcf_text(catalogue.model_xml(source, **parameters), name=source)
    if path.suffix.lower() not in _SUFFIXES and not path.exists():
        raise UnknownName("robot", str(source), catalogue.names())
    if parameters:
        raise InvalidInput(f"a model file takes no parameters, got {', '.join(sorted(parameters))}")
    return _from_file(path, [Path(root) for root in package_roots])


def _from_file(path: Path, package_roots: list[Path]) -> Robot:
    from palpate.robot.readers.check import check_model

    report = check_model(path, package_roots=package_roots)
    if report.errors:
        raise ModelError(_message(path, report.errors), report.findings)
    if report.tree is not None:
        return _from_tree(report.tree)
    return Robot(_passive_spec(path), name=path.stem)


def _from_tree(tree: Tree) -> Robot:
    """The robot; without its meshes if the engine cannot take one of them, for they are only its looks."""
    try:
        return Robot.from_tree(tree)
    except ModelError:
        plain = (replace(k, visuals=_primitives(k.visuals), collisions=_primitives(k.collisions)) for k in tree.links)
        return Robot.from_tree(replace(tree, links=tuple(plain)))


def _primitives(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    return tuple(shape for shape in shapes if shape.kind != "mesh")


def _message(path: Path, errors: list) -> str:
    return "\n".join([f"{path.name} has {len(errors)} error(s):", *(f"  {finding}" for finding in errors)])


def _passive_spec(path: Path) -> mujoco.MjSpec:
    """An MJCF file without its actuators: laws command joint torques, whose limits are kept on the joints."""
    spec = mujoco.MjSpec.from_file(str(path))
    model = spec.copy().compile()
    for j, limit in _torque_limits(model).items():
        joint = spec.joint(model.joint(j).name)
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.actfrcrange = [-limit, limit]
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for key in list(spec.keys):
        key.ctrl, key.act = [], []
    return spec


def _torque_limits(model: mujoco.MjModel) -> dict[int, float]:
    """Largest torque each joint's motors can give, where the file bounds it and the joint does not yet."""
    limits: dict[int, float] = {}
    for a in range(model.nu):
        joint = int(model.actuator_trnid[a, 0])
        if model.actuator_trntype[a] != mujoco.mjtTrn.mjTRN_JOINT or model.jnt_actfrclimited[joint]:
            continue
        motor = model.actuator_gaintype[a] == mujoco.mjtGain.mjGAIN_FIXED and not model.actuator_biasprm[a].any()
        bound = np.inf
        if model.actuator_forcelimited[a]:
            bound = np.abs(model.actuator_forcerange[a]).min()
        elif motor and model.actuator_ctrllimited[a]:
            bound = np.abs(model.actuator_ctrlrange[a]).min() * abs(model.actuator_gainprm[a, 0])
        if np.isfinite(bound):
            limits[joint] = limits.get(joint, 0.0) + float(bound * abs(model.actuator_gear[a, 0]))
    return limits
