"""Textbook bodies for the contact room's tests."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from palpate.robot.robot import Robot

G = 9.81
_HEAD = '<mujoco><compiler angle="radian"/><option gravity="0 0 -{g}"/><worldbody>{body}</worldbody></mujoco>'
_SLIDE = '<joint name="{0}" type="slide" axis="{1}"/>'
_AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}


def _robot(body: str, name: str, gravity: float) -> Robot:
    return Robot.from_mjcf_text(_HEAD.format(g=gravity, body=body), name=name)


def point(axes: str = "xz", mass: float = 1.0, gravity: float = G) -> Robot:
    """A particle that moves along some of the world's axes."""
    joints = "".join(_SLIDE.format(a, _AXES[a]) for a in axes)
    inertial = f'<inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/>'
    return _robot(f'<body name="point">{joints}{inertial}</body>', "point", gravity)


def planar_body(
    mass: float, inertia: float, sites: dict[str, Sequence[float]], gravity: float = G, thin: float = 1e-9
) -> Robot:
    """A rigid body in the x–z plane: q = (x, z, θ), θ turning x towards z; sites are named points of it."""
    joints = _SLIDE.format("x", _AXES["x"]) + _SLIDE.format("z", _AXES["z"]) + '<joint name="turn" axis="0 -1 0"/>'
    inertial = f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{thin} {inertia!r} {inertia!r}"/>'
    marks = "".join(f'<site name="{n}" pos="{p[0]!r} 0 {p[1]!r}"/>' for n, p in sites.items())
    return _robot(f'<body name="body">{joints}{inertial}{marks}</body>', "body", gravity)


def rod(length: float = 1.0, mass: float = 1.0, gravity: float = G) -> Robot:
    """A thin uniform rod in the x–z plane with ends `a` (behind) and `b` (ahead)."""
    ends = {"a": (-length / 2, 0.0), "b": (length / 2, 0.0)}
    return planar_body(mass, mass * length**2 / 12, ends, gravity)


def block(width: float, height: float, mass: float = 1.0, gravity: float = G) -> Robot:
    """A uniform block in the x–z plane with lower corners `left` and `right`."""
    corners = {"left": (-width / 2, -height / 2), "right": (width / 2, -height / 2)}
    inertia = mass * (width**2 + height**2) / 12
    return planar_body(mass, inertia, corners, gravity, thin=inertia / 2)


def ball(mass: float = 1.0, radius: float = 0.1, gravity: float = G) -> Robot:
    """A solid ball that moves freely."""
    inertia = 0.4 * mass * radius**2
    inertial = f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia!r} {inertia!r} {inertia!r}"/>'
    return _robot(f'<body name="ball"><freejoint name="free"/>{inertial}</body>', "ball", gravity)


def pendulums(count: int, gravity: float = G) -> Robot:
    """Thin uniform rods of 1 kg and 1 m hanging from each other; angles from the vertical, relative, towards +x."""
    inertial = f'<inertial pos="0 0 -.5" mass="1" diaginertia="{1 / 12!r} {1 / 12!r} 1e-9"/>'
    text = '<site name="tool" pos="0 0 -1"/>'
    for number in range(count, 0, -1):
        place = "0 0 0" if number == 1 else "0 0 -1"
        joint = f'<joint name="j{number}" axis="0 -1 0"/>'
        text = f'<body name="rod{number}" pos="{place}">{joint}{inertial}{text}</body>'
    return _robot(text, "pendulums", gravity)


@pytest.fixture(scope="session")
def bodies() -> SimpleNamespace:
    """Builders of textbook bodies."""
    return SimpleNamespace(
        g=G, point=point, planar_body=planar_body, rod=rod, block=block, ball=ball, pendulums=pendulums
    )


def _robot_room() -> ModuleType:
    """The robot room's fixtures: a Pinocchio twin of any robot, and random states."""
    path = Path(__file__).parents[2] / "robot" / "conftest.py"
    spec = importlib.util.spec_from_file_location("robot_room_fixtures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_ROOM = _robot_room()
twin, state = _ROOM.twin, _ROOM.state
