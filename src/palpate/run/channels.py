"""The channels a run can record, and where each lies in the loop's row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.control.guards import GUARD_NAMES
from palpate.control.law import BoundLaw
from palpate.robot.robot import Robot
from palpate.run import state as S
from palpate.run.parts import Parts
from palpate.trace import Channel
from palpate.world.plant import Plant

_XYZ, _WXYZ = ("x", "y", "z"), ("w", "x", "y", "z")
_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
_TWIST_UNITS, _WRENCH_UNITS = ("m/s",) * 3 + ("rad/s",) * 3, ("N",) * 3 + ("N·m",) * 3
ENERGIES = ("kinetic", "potential", "stored", "injected", "pushed", "dissipated")


@dataclass(frozen=True)
class Layout:
    """Every channel of a run in row order, and where the loop's groups begin."""

    channels: tuple[Channel, ...]
    starts: dict[str, int]
    at: np.ndarray
    width: int

    def column(self, name: str) -> int | None:
        """Place of a flat column in the row."""
        for channel in self.channels:
            if name in channel.columns:
                return self.starts[channel.name] + channel.columns.index(name)
        return None

    def columns(self) -> list[str]:
        """Every flat column name."""
        return [column for channel in self.channels for column in channel.columns]


def layout(parts: Parts, plant: Plant, law: BoundLaw) -> Layout:
    """Lay the row out; one group per R_ constant, in their order."""
    groups = _groups(parts, plant, law)
    channels, starts, at, place = [], {}, np.zeros(S.R_GROUPS, dtype=np.int64), 0
    for number, group in enumerate(groups):
        at[number] = place
        for channel in group:
            channels.append(channel)
            starts[channel.name] = place
            place += channel.size
    return Layout(tuple(channels), starts, at, place)


def _groups(parts: Parts, plant: Plant, law: BoundLaw) -> list[list[Channel]]:
    robot = parts.robot
    joints, units = robot.dof_names, robot.dof_units
    q_labels, q_units = _coordinates(robot.model, range(robot.model.njnt))
    speed = tuple(f"{u}/s" for u in units)
    effort = tuple("N" if u == "m" else "N·m" for u in units)
    rate = {"torque": effort, "velocity": speed, "position": units, "acceleration": tuple(f"{u}/s²" for u in units)}

    def per_joint(name: str, unit: tuple[str, ...], help: str) -> Channel:
        return Channel(name, unit, (robot.nv,), None, joints, help)

    def coordinates(name: str, help: str) -> Channel:
        return Channel(name, q_units, (robot.nq,), None, q_labels, help)

    def task(prefix: str, help: str) -> list[list[Channel]]:
        return [
            [Channel(f"{prefix}_position", "m", (3,), "world", _XYZ, f"position of {help}")],
            [Channel(f"{prefix}_quat_wxyz", "1", (4,), "world", _WXYZ, f"orientation of {help}")],
            [Channel(f"{prefix}_twist", _TWIST_UNITS, (6,), "world", _TWIST, f"twist of {help}")],
        ]

    def wrench(name: str, help: str) -> list[Channel]:
        return [Channel(name, _WRENCH_UNITS, (6,), "world, about the tool's origin", _WRENCH, help)]

    terms = [per_joint(f"tau.{t}", rate[law.command], f"the law's term {t!r}") for t in law.terms]
    rest = _rest(robot, plant)
    places = [Channel(f"surface.{s.name}", "m", (3,), "world", _XYZ, "where the surface is") for s in plant.surfaces]
    return [
        [coordinates("q", "true joint positions")],
        [per_joint("v", speed, "true joint velocities")],
        [coordinates("q_measured", "joint positions the law saw")],
        [per_joint("v_measured", speed, "joint velocities the law saw")],
        [per_joint("tau", effort, "torques at the joints")],
        [per_joint("command", rate[law.command], "the law's command, sum of its terms, before guards")],
        terms,
        *task("tool", "the tool"),
        [coordinates("target_q", "wanted joint positions")],
        [per_joint("target_v", speed, "wanted joint velocities")],
        *task("target", "the target"),
        wrench("target_wrench", "wanted wrench of the environment on the robot"),
        wrench("contact_wrench", "true wrench of surfaces and objects on the robot"),
        wrench("measured_wrench", "wrench of the environment on the robot, as the wrist sensor has it"),
        wrench("push_wrench", "wrench of pushes on the robot"),
        [Channel("penetration", "m", help="how deep the robot is in a surface or object, at most")],
        [Channel("contact_force", "N", help="size of the contact force on the robot")],
        [Channel(f"energy.{name}", "J", help=_ENERGY_HELP[name]) for name in ENERGIES],
        [Channel("guard", "1", help=_GUARD_HELP)],
        rest,
        places,
    ]


_GUARD_HELP = "guards at work, summed: 1 torque limit, 2 torque-rate limit" + "".join(
    f", {bit} {name}" for bit, name in GUARD_NAMES.items()
)
_ENERGY_HELP = {
    "kinetic": "kinetic energy of everything that moves",
    "potential": "energy of gravity and of springs in the model",
    "stored": "energy stored in compliant contacts",
    "injected": "work of the joint torques since the start",
    "pushed": "work of pushes and moving surfaces, and energy of attached loads, since the start",
    "dissipated": "energy lost in joints and contacts since the start; rigid surfaces that move count as contacts",
}


def _rest(robot: Robot, plant: Plant) -> list[Channel]:
    """Coordinates and velocities of what is not the robot: pole, objects."""
    model = plant.model
    joints = range(robot.model.njnt, model.njnt)
    labels, units = _coordinates(model, joints)
    if not labels:
        return []
    rates = [f"{model.joint(j).name}{end}" for j in joints for end in _VELOCITY_ENDS[int(model.jnt_type[j])]]
    speeds = [unit for j in joints for unit in _VELOCITY_UNITS[int(model.jnt_type[j])]]
    return [
        Channel("rest_q", units, (len(labels),), None, labels, "coordinates of pole and objects"),
        Channel("rest_v", tuple(speeds), (len(rates),), None, tuple(rates), "velocities of pole and objects"),
    ]


# By joint type: free, ball, slide, hinge.
_POSITION_ENDS = (("_x", "_y", "_z", "_qw", "_qx", "_qy", "_qz"), ("_qw", "_qx", "_qy", "_qz"), ("",), ("",))
_POSITION_UNITS = (("m",) * 3 + ("1",) * 4, ("1",) * 4, ("m",), ("rad",))
_VELOCITY_ENDS = (("_vx", "_vy", "_vz", "_wx", "_wy", "_wz"), ("_wx", "_wy", "_wz"), ("",), ("",))
_VELOCITY_UNITS = (("m/s",) * 3 + ("rad/s",) * 3, ("rad/s",) * 3, ("m/s",), ("rad/s",))


def _coordinates(model: mujoco.MjModel, joints: Iterable[int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels and units of joints' coordinates; a free body has a position and a quaternion (wxyz)."""
    kinds = [(model.joint(j).name, int(model.jnt_type[j])) for j in joints]
    labels = tuple(f"{name}{end}" for name, kind in kinds for end in _POSITION_ENDS[kind])
    return labels, tuple(unit for _, kind in kinds for unit in _POSITION_UNITS[kind])
