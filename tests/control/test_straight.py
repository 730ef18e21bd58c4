"""The task's inertia in a straight line against NumPy, and where there is none."""

import numpy as np
import pytest

from palpate.control import CartesianImpedance
from palpate.control.law import Tick, sizes_of
from palpate.control.steps.task_space import TaskMemory, find_factor, find_inertia, set_axes, set_rows
from palpate.robot import load_robot


def memory_of(n):
    return TaskMemory({"nv": n, "nq": n, "k": 6})


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_six_directions_weigh_what_numpy_says(name):
    robot, rng = load_robot(name), np.random.default_rng(1)
    m = memory_of(robot.nv)
    for _ in range(10):
        x = robot.terms(robot.home + rng.uniform(-0.3, 0.3, robot.nv), np.zeros(robot.nv))
        m.J_t[:] = x.J
        trace = find_inertia(x.M, 1e6, m.address)
        Y = np.linalg.solve(x.M, x.J.T).T
        Lambda = np.linalg.inv(x.J @ Y.T)
        np.testing.assert_allclose(m.Y, Y, atol=1e-10 * np.abs(Y).max())
        np.testing.assert_allclose(m.Lambda, Lambda, atol=1e-8 * np.abs(Lambda).max())
        find_factor(x.M, m.address)
        np.testing.assert_allclose(np.tril(m.factor), np.linalg.cholesky(x.M), atol=1e-12)
        assert trace == pytest.approx(np.trace(Lambda), rel=1e-8)


def test_a_lost_direction_is_left_to_the_eigenvectors():
    robot = load_robot("panda")
    m, x = memory_of(7), robot.terms(robot.home, np.zeros(7))
    m.J_t[:] = x.J
    m.J_t[5] = 0.0
    assert find_inertia(x.M, 100.0, m.address) > 100.0
    assert np.isfinite(m.Lambda).all()
    np.testing.assert_allclose(m.Lambda[5], 0.0, atol=1e-9)


def test_a_task_in_the_world_s_axes_has_the_same_rows_whether_turned_or_not():
    robot, rows = load_robot("panda"), []
    x = Tick(sizes_of(robot))
    x.J[:] = robot.terms(robot.home, np.zeros(7)).J
    for aligned in (True, False):
        bound = CartesianImpedance().bind(robot)
        assert bound.gains.aligned
        bound.gains.aligned = aligned
        set_axes(x.address, bound.gains.address, bound.memory.address)
        set_rows(x.address, bound.gains.address, bound.memory.address)
        rows.append(bound.memory.J_t.copy())
    np.testing.assert_array_equal(*rows)


def test_turned_axes_and_directions_in_another_order_are_not_aligned():
    robot = load_robot("panda")
    mixed = ("y", "x", "z", "rx", "ry", "rz")
    for law in (
        CartesianImpedance(axes="tool"),
        CartesianImpedance(axes_quat_wxyz=(0.0, 1.0, 0.0, 0.0)),
        CartesianImpedance(directions=mixed),
    ):
        assert not law.bind(robot).gains.aligned
