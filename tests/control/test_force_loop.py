"""What the force laws share: the integral, its bound, and where it stops when a joint has no more torque."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from palpate.control import DirectForce, HybridForce, IntegralForce, ParallelForce
from palpate.control.law import BoundLaw, Decision
from palpate.control.references.reference import joint_target
from palpate.robot import Robot, load_robot

FORCE_LAWS: dict[str, Any] = {
    "integral-force": lambda **s: IntegralForce(directions=("z",), joint_damping=0.0, **s),
    "direct-force": DirectForce,
    "parallel-force": ParallelForce,
    "hybrid-force": HybridForce,
}
FELT = 2.0  # N, enough to count as contact


def ticked(bound: BoundLaw, robot: Robot, force: float, felt: float = FELT) -> Decision:
    """One tick at rest at home, a force wanted and one felt along z."""
    target = joint_target(robot, robot.home)
    target.wrench[2] = force
    return bound.tick(
        robot, robot.home, np.zeros(robot.nv), target=target, wrench=[0.0, 0.0, felt, 0.0, 0.0, 0.0], dt=1e-3
    )


@pytest.mark.parametrize("name", FORCE_LAWS)
def test_the_integral_is_that_of_the_error_up_to_its_bound(name: str) -> None:
    robot = load_robot("panda", joints="ideal")
    bound = FORCE_LAWS[name](integral=4.0, feed_forward=0.0, most_force=0.1).bind(robot)
    for count in range(1, 6):
        ticked(bound, robot, 10.0)
        assert bound.memory.integral == pytest.approx([0, 0, min(4.0 * count * 1e-3 * 8.0, 0.1), 0, 0, 0], abs=1e-15)
    ticked(bound, robot, 10.0, felt=15.0)
    assert bound.memory.integral[2] == pytest.approx(0.1 - 4e-3 * 5.0, abs=1e-15)
    ticked(bound, robot, 10.0, felt=60.0)
    assert bound.memory.integral[2] == -0.1


def torque_per_newton(name: str, robot: Robot) -> np.ndarray:
    """What a newton of the integral along z adds to the command: −J_zᵀ, or −Jᵀ Λ e_z / Λ_zz, which moves z alone."""
    J, inertia = robot.jacobian(robot.home), robot.task_inertia(robot.home)
    return -J.T @ inertia[:, 2] / inertia[2, 2] if name == "hybrid-force" else -J[2]


@pytest.mark.parametrize("name", FORCE_LAWS)
def test_the_integral_stops_at_the_last_torque_within_the_limits(name: str) -> None:
    """The command is affine in the integral: the tick at which it would leave the limits is known."""
    robot = load_robot("panda", joints="ideal")
    bound = FORCE_LAWS[name](integral=1.0, feed_forward=0.0, most_force=1e6).bind(robot)
    step, pull = 1e-3 * (5000.0 - FELT), torque_per_newton(name, robot)
    first = ticked(bound, robot, 5000.0).command - step * pull  # what the law commands beside its integral
    reach = (np.copysign(robot.limits.torque, pull) - first)[pull != 0] / pull[pull != 0]
    last = int(np.floor(reach.min() / step))
    assert 3 < last < 500
    for count in range(2, last + 20):
        command = ticked(bound, robot, 5000.0).command
        assert command == pytest.approx(first + min(count, last) * step * pull, abs=1e-9)
        assert bound.memory.integral[2] == pytest.approx(min(count, last) * step, abs=1e-9)
        assert (np.abs(command) <= robot.limits.torque).all()
    back = ticked(bound, robot, 1.0)  # nothing is wound up: an error the other way acts at once
    assert bound.memory.integral[2] == pytest.approx(last * step - 1e-3, abs=1e-9)
    assert back.command == pytest.approx(first + (last * step - 1e-3) * pull, abs=1e-9)
