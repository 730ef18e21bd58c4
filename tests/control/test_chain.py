"""The chain inside a law agrees with the robot's own kinematics."""

import numpy as np
import pytest

from palpate.control.law import sizes_of
from palpate.control.steps.chain import ChainPose, LeastSquares, chain_of, chain_pose, damped_step
from palpate.errors import InvalidInput
from palpate.robot import load_robot


@pytest.mark.parametrize("name", ["ur5e", "panda", "planar3", "cartesian2"])
def test_pose_and_jacobian_are_the_robots_own(name):
    robot = load_robot(name)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(-2, 2, robot.nv)
        found = ChainPose(sizes_of(robot))
        chain_pose(chain_of(robot), q, found)
        wanted = robot.pose(q)
        np.testing.assert_allclose(found.position, wanted.position, atol=1e-14)
        np.testing.assert_allclose(found.rotation, wanted.rotation, atol=1e-14)
        np.testing.assert_allclose(found.J, robot.jacobian(q), atol=1e-14)


def test_a_damped_step_is_the_damped_least_squares_solution():
    rng = np.random.default_rng(1)
    J, e, step = rng.normal(size=(6, 7)), rng.normal(size=6), np.zeros(7)
    damped_step(J, e, 0.3, LeastSquares(), step)
    np.testing.assert_allclose(step, np.linalg.solve(J.T @ J + 0.09 * np.eye(7), J.T @ e), atol=1e-12)


def test_a_free_base_is_refused_by_name():
    with pytest.raises(InvalidInput, match="hinges and slides"):
        chain_of(load_robot("quadruped"))
