"""Single steps of the exported library, called as kernels: set points, quaternions, the command after an error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from palpate.control.guards import guard_settings
from palpate.control.law import Tick, sizes_of
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.robot import load_robot
from palpate.robot.robot import Robot
from palpate.run.run import Run
from palpate.tools.exporting.code import station
from palpate.tools.exporting.code.records import INPUT_HEAD, Code, Station
from palpate.tools.exporting.code.tuning import GainEase
from palpate.tools.exporting.guarding import protection


def run_of(robot: Robot) -> Run:
    return Run(robot, GravityCompensation())


def at_work(kind: int, quaternion: int = -1) -> Station:
    """A station of a two-joint arm with no law: 500 Hz, two physics steps a tick, four numbers as input."""
    robot = load_robot("planar2")
    sizes = sizes_of(robot)
    return Station(
        sizes, period=2e-3, dt=1e-3, ratio=2, kind=kind, latest=10.0, tick=Tick(sizes), input=np.zeros(4),
        rows=np.zeros((1, 2)), quaternion=quaternion, pole=-1, shows_gravity=False,
        guard=guard_settings(None, robot), protection=protection(run_of(robot), ()), ease=GainEase({"words": 1}),
        held=np.zeros(4), told=np.zeros(4),
    )  # fmt: skip


def test_a_velocity_s_first_set_point_is_where_the_joints_are() -> None:
    S = at_work(station.VELOCITY)
    S.tick.q[:], S.command[:], S.set_v[:] = (0.3, -0.2), (0.5, 1.0), (9.0, 9.0)
    station._compute_set_points(S)
    np.testing.assert_array_equal(S.set_q, [0.3, -0.2])
    S.count, S.command[:] = 1, (2.0, 2.0)
    station._compute_set_points(S)  # moved by the first velocity for one period, in the loop's two steps
    np.testing.assert_allclose(S.set_q, [0.3 + 0.5 * 2e-3, -0.2 + 1.0 * 2e-3], rtol=1e-15)
    np.testing.assert_array_equal(S.set_v, [2.0, 2.0])


@pytest.mark.parametrize(
    ("off", "code"), [(0.0, Code.OK), (8e-7, Code.OK), (2e-6, Code.QUATERNION), (1e-3, Code.QUATERNION)]
)
def test_a_quaternion_s_norm_may_be_off_by_a_millionth(off: float, code: Code) -> None:
    S = at_work(station.POSITION, quaternion=0)
    quaternion = (1.0 + off) * np.array([0.5, -0.5, 0.1, 0.7]) / np.linalg.norm([0.5, -0.5, 0.1, 0.7])
    assert station._read_input(S, np.array([0.0] * INPUT_HEAD + list(quaternion))) == code


def test_a_position_is_held_after_an_error_and_is_no_number_before_the_first_tick() -> None:
    S, out = at_work(station.POSITION), np.full(6, 7.0)
    S.set_q[:] = 0.4, -0.7
    station._write_safe_command(S, out)
    assert all(map(math.isnan, out[:4]))
    np.testing.assert_array_equal(out[4:], 0.0)
    S.count = 1
    station._write_safe_command(S, out)
    np.testing.assert_array_equal(out, [0.4, -0.7, 0.4, -0.7, 0.0, 0.0])
