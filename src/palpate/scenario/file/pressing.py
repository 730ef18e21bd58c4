"""A scenario for a user's robot: it stands well, a wall is 3 cm before its tool, and it presses on it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control import CartesianImpedance
from palpate.robot.robot import Robot
from palpate.scenario.file.postures import AHEAD, DIRECTIONS, PressPose, pressing_postures
from palpate.scenario.model import RobotSettings
from palpate.scenario.robot import build_robot
from palpate.world.plants.plant import touches_unasked

GAP, DEPTH = 0.03, 0.05  # m: to the wall, and from there to where the spring is drawn
_WALL, _WALL_RATE = 1e4, 100.0  # N/m at most; rad/s that the tool's mass may swing on it
_RATE, _SPIN = 60.0, 30.0  # rad/s of the law's springs at most
_SPRING = 20.0  # N·m/rad at most
_DURATION, _SLOWER, _LONGEST = 1.5, 0.1, 4.0  # s of the motion, s per kg that moves, s at most


def pressing_scenarios(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Scenarios in which a robot, given by the keys of `[robot]`, presses on a wall, the best one first.

    Raises:
        InvalidInput: a robot that cannot press: a free base, ball joints.
        MassesMissing: its masses are unknown.
    """
    robot = build_robot(RobotSettings.model_validate(settings))
    robot.demand_masses("pressing")
    for press in pressing_postures(robot, 1.3 * GAP):
        yield _scenario(settings, robot, press)


def description(data: dict[str, Any]) -> str:
    """Description of such a scenario for its user."""
    robot, wall = data["robot"], data["world"]["surfaces"][0]
    posture = "a posture found for it" if "start" in robot else "its home posture"
    missing = [d for d in DIRECTIONS if d not in data["control"].get("directions", DIRECTIONS)]
    links = ", ".join(data["world"].get("contact_links", ()))
    touching = f"\nWhat touches the wall first, and is let touch it (world.contact_links): {links}." if links else ""
    less = f"\nIts joints cannot serve {', '.join(missing)}: the law leaves them alone." if missing else ""
    return (
        f"The tool {robot['tool_frame']!r} starts from {posture}, 3 cm before a wall at {wall['position']} m,"
        f" and presses with {max(map(abs, data['reference']['wrench'])):g} N.{touching}{less}"
    )


def _scenario(settings: dict[str, Any], robot: Robot, press: PressPose) -> dict[str, Any]:
    mass, lightest = _masses(robot, press)
    duration = _digits(min(max(_DURATION, _SLOWER * press.mass), _LONGEST))
    wall = _digits(max(min(_WALL, lightest * _WALL_RATE**2), press.force / (0.1 * DEPTH)))
    spring = press.force / (DEPTH - press.force / wall)  # f = K (depth − f / k) at rest
    K = np.minimum([spring] * 3 + [_SPRING] * 3, mass * np.array([_RATE**2] * 3 + [_SPIN**2] * 3))
    depth = press.force * (1.0 / float(np.abs(press.axis) @ K[:3]) + 1.0 / wall)
    overhang = _overhang(robot, press)
    ahead = GAP + max(overhang, press.front)
    directions = {} if press.directions == DIRECTIONS else {"directions": list(press.directions)}
    home = bool(np.array_equal(press.q, robot.home))
    position = _rounded(robot.pose(press.q).position + ahead * press.axis)
    damping = _digits(0.7 * math.sqrt(wall * lightest))
    return {
        "description": f"{robot.name} presses on a wall with {press.force:g} N.",
        "robot": {**settings, "tool_frame": robot.tool_frame, **({} if home else {"start": {"q": press.q.tolist()}})},
        "control": {
            "law": CartesianImpedance.name,
            "stiffness": [_digits(k) for k in K],
            "damping": [_digits(2.0 * math.sqrt(k * m)) for k, m in zip(K, mass)],
            **directions,
        },
        "reference": {
            "kind": "line",
            "offset": _rounded((GAP + depth) * press.axis),
            "start": 0.2,
            "duration": duration,
            "wrench": [*_rounded(-press.force * press.axis), 0, 0, 0],
        },
        "world": {
            **({"contact_links": list(press.foremost)} if press.front > overhang + AHEAD else {}),
            "surfaces": [wall_table(position, _rounded(-press.axis), wall, damping)],
        },
        "run": {"duration": round(duration + 2.5, 2), "timestep": 0.001, "rate": 1000, "seed": 0},
        "metrics": _bounds(robot, press),
    }


def _overhang(robot: Robot, press: PressPose) -> float:
    """m that the spheres with which the robot touches stand out before the tool's origin."""
    model, tool = robot.model, robot.pose(press.q).position
    spheres = [geom for geom in map(model.geom, range(model.ngeom)) if touches_unasked(geom.name)]
    centres = [robot.pose(press.q, model.body(geom.bodyid[0]).name).apply(geom.pos) for geom in spheres]
    return max((float(press.axis @ (c - tool) + geom.size[0]) for c, geom in zip(centres, spheres)), default=0.0)


def wall_table(position: list[float], normal: list[float], stiffness: float, damping: float) -> dict[str, Any]:
    """A compliant wall as a table of `world.surfaces`."""
    pose = {"name": "wall", "shape": "plane", "position": position, "normal": normal}
    return {**pose, "stiffness": stiffness, "damping": damping, "friction": 0.3}


def _bounds(robot: Robot, press: PressPose) -> dict[str, Any]:
    """On the force, which friction in the joints holds back; on the motors too, if all can hold the robot up."""
    force, error = press.force, _digits(max(0.2 * press.force, 2.0 * press.friction))
    hold = bool(np.all(np.abs(robot.gravity(press.q)) < robot.limits.torque))
    return {
        "force_steady_error": {"least": -error, "most": error},
        "force_peak": {"most": _digits(1.5 * force)},
        **({"saturation_time": {"most": 0}} if hold else {}),
    }


def _masses(robot: Robot, press: PressPose) -> tuple[Array, float]:
    """kg and kg·m²: what the arm weighs along each direction, the others free; 0 where it cannot move.

    Then kg: the least that the tool weighs in any direction, which is what bounces on the wall.
    """
    x = robot.terms(press.q, np.zeros(robot.nv))
    chosen = [DIRECTIONS.index(direction) for direction in press.directions]
    mobility, mass = x.J @ np.linalg.solve(x.M, x.J.T), np.zeros(6)
    mass[chosen] = 1.0 / np.diag(mobility)[chosen]
    return mass, 1.0 / float(np.linalg.norm(mobility[:3, :3], 2))


def _digits(value: float) -> float:
    """Two digits are enough for a person to change."""
    return float(f"{value:.2g}")


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 4) + 0.0 for value in values]
