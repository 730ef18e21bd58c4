"""Payload, tool, gravity and friction compensation of an exported law, with their bounds."""

from __future__ import annotations

import numpy as np

from palpate.control.friction import Compensation, compensation_of
from palpate.equations.model.symbols import INERTIAL
from palpate.robot.robot import Robot
from palpate.tools.exporting.code.own_model import OwnModel
from palpate.tools.exporting.code.tuning import CENTRE, GRAVITY, MASS, POSITION, SETUP, SHARE, TURN, Setup

MOST_OFFSET, MOST_GRAVITY = 1.0, 20.0  # m, m/s²
# Fields of the struct: name, how many numbers, first of them, unit and meaning.
FIELDS = (
    ("payload_mass", 1, MASS, "kg, beyond what the model carries; a point mass fixed to the tool's link"),
    ("payload_centre", 3, CENTRE, "m, its centre in the exported tool frame"),
    ("tool_position", 3, POSITION, "m, tool point from the exported tool frame, in its axes"),
    ("tool_quat_wxyz", 4, TURN, "w x y z, tool axes from the exported ones, norm 1"),
    ("gravity", 3, GRAVITY, "m/s², the acceleration of free fall, world axes"),
    ("friction_share", 1, SHARE, "1, share of the model's joint friction that is compensated"),
)


def setup_of(robot: Robot, share: float, own: OwnModel) -> Setup:
    """The setup that a robot is exported with: no payload, its tool, its gravity, the law's share of friction."""
    frame = robot.program.mechanism.placed(robot.frame().record)
    link, links = max(frame.link, 0), robot.program.sizes.links
    p = own.code.p
    now = np.zeros(SETUP)
    now[TURN], now[SHARE] = 1.0, share
    now[GRAVITY : GRAVITY + 3] = p[INERTIAL * links : INERTIAL * links + 3]
    low, high = _bounds(robot)
    torques = robot.nq == robot.nv
    return Setup(
        wanted=now.copy(),
        before=now.copy(),
        now=now,
        low=low,
        high=high,
        own=own,
        link=link,
        links=links,
        inertial=p[INERTIAL * link : INERTIAL * link + 10].copy(),
        tool_position=np.array(frame.position, dtype=float),
        tool_rotation=np.array(frame.rotation, dtype=float),
        pose=own.tool.pose.copy(),
        friction=compensation_of(robot, 1.0) if torques else Compensation({"nv": robot.nv}),
    )


def _bounds(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values: a payload of the arm's own mass, a metre, 20 m/s², a whole share."""
    low, high = np.full(SETUP, -1.0), np.full(SETUP, 1.0)
    low[MASS], high[MASS] = 0.0, float(np.sum(robot.model.body_mass))
    for first in (CENTRE, POSITION):
        low[first : first + 3], high[first : first + 3] = -MOST_OFFSET, MOST_OFFSET
    low[GRAVITY : GRAVITY + 3], high[GRAVITY : GRAVITY + 3] = -MOST_GRAVITY, MOST_GRAVITY
    low[SHARE], high[SHARE] = 0.0, 1.0
    return low, high
