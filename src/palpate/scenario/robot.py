"""The robot of a scenario, built from its settings."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, PalpateError
from palpate.robot.load import load_robot, with_joints
from palpate.robot.readers.assets import noting_files
from palpate.robot.robot import Robot
from palpate.scenario.model import Payload, RobotSettings, Start, Tool
from palpate.spatial import Pose
from palpate.user_code import may_run_program

_MOST_FILES = 2000
_INCLUDED = (".xacro", ".xml", ".urdf", ".yaml", ".yml")


def build_robot(settings: RobotSettings) -> Robot:
    """The nominal robot: loaded, placed, loaded with tool and payload. Equal settings share one robot."""
    stamp = _stamp([settings.model, *settings.packages]) if settings.model and os.path.isfile(settings.model) else ""
    return _built(settings.model_dump_json(exclude={"start"}), stamp)


def files_of_robot(settings: RobotSettings) -> list[str]:
    """Every file that the robot is read from: the model, what it includes, its meshes.

    What a xacro file includes is not known before it is run: all of its kind in its folder are taken.
    """
    if not settings.model or not os.path.isfile(settings.model):
        return []
    with noting_files() as named, contextlib.suppress(PalpateError):
        _source(settings)
    path = Path(settings.model)
    beside = path.parent.rglob("*") if settings.xacro else ()
    included = [file for file in beside if file.suffix in _INCLUDED and file.is_file()]
    return sorted({settings.model, *map(str, named), *map(str, included[:_MOST_FILES])})


def _stamp(places: Sequence[str]) -> str:
    """Stamp that changes with a model file and with anything it may include from its folder and packages."""
    seen: list[object] = []
    for path in places:
        for folder, _, names in os.walk(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))):
            for name in names:
                with contextlib.suppress(OSError):
                    status = os.stat(os.path.join(folder, name))
                    seen.append((folder, name, status.st_mtime_ns, status.st_size))
            if len(seen) > _MOST_FILES:  # too many to look at each time: nothing is remembered
                return f"at {time.monotonic_ns()}"
    return hashlib.sha256(repr(sorted(map(repr, seen))).encode()).hexdigest()


@lru_cache(maxsize=8)
def _built(text: str, stamp: str) -> Robot:
    settings = RobotSettings.model_validate_json(text)
    robot = _source(settings)
    if settings.base != type(settings.base)():
        robot = robot.with_base(Pose.from_quat(settings.base.position, settings.base.quat_wxyz))
    if settings.gravity is not None:
        robot = robot.with_gravity(settings.gravity)
    if settings.tool_frame is not None:
        robot = robot.with_tool_frame(settings.tool_frame)
    for load in (settings.tool, settings.payload):
        robot = robot if load is None else _loaded(robot, load)
    return robot


def _source(settings: RobotSettings) -> Robot:
    if settings.model is not None:
        if settings.xacro is not False and not may_run_program(settings.model):
            raise InvalidInput(
                f"the model {settings.model} is xacro, a program, and was not run", hint="use scenario.with_code()"
            )
        options: dict[str, Any] = {name: getattr(settings, name) for name in ("xacro", "estimate_inertia", "joints")}
        options |= {"package_roots": settings.packages, "lock": settings.lock or None}
        parameters: dict[str, Any] = dict(settings.parameters)
        return load_robot(settings.model, **options, **parameters)
    robot = Robot.from_dh([row.link() for row in settings.dh], settings.dh_convention, repair=settings.repair)
    robot = with_joints(robot, settings.joints)
    return robot.with_locked(settings.lock) if settings.lock else robot


def _loaded(robot: Robot, load: Payload) -> Robot:
    inertia = load.inertia if np.any(load.inertia) else None
    if isinstance(load, Tool):
        tip = Pose.from_quat(load.tip_position, load.tip_quat_wxyz)
        return robot.with_tool(load.mass, load.com, inertia, frame=load.frame, tip=tip)
    return robot.with_payload(load.mass, load.com, inertia, frame=load.frame)


def start_state(start: Start, robot: Robot) -> tuple[Array, Array]:
    """Coordinates and velocities at t = 0.

    Raises:
        Unreachable: no posture brings the tool to the start position.
    """
    v = np.zeros(robot.nv) if start.v is None else finite_array(start.v, f"v of {robot.name}", (robot.nv,))
    if start.q is not None:
        return finite_array(start.q, f"q of {robot.name}", (robot.nq,)), v
    if start.position is None:
        return robot.home, v
    if start.quat_wxyz is None:
        return robot.inverse_kinematics(start.position), v
    return robot.inverse_kinematics(Pose.from_quat(start.position, start.quat_wxyz)), v
