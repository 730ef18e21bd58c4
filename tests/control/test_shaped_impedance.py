"""Cartesian impedance with a force sensor: a push meets the wanted mass."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control import ShapedImpedance
from palpate.control.references.reference import Hold, joint_target
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import rotation_error
from palpate.world.clock import Clock
from palpate.world.config import Driver, Push, Surface, World

F = np.array([10.0, -5.0, 3.0, 0.1, 0.2, -0.3])
STRONG = Driver(torque_limit=False, torque_rate_limit=False)


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5e"])
def test_closed_loop_is_the_wanted_mass_spring_and_damper(name: str, answer) -> None:
    robot = load_robot(name, joints="ideal")
    q, v = robot.home + 0.1, np.linspace(-0.4, 0.4, robot.nv)
    rng = np.random.default_rng(0)
    mass, K, D = (m @ m.T + np.eye(6) for m in rng.normal(size=(3, 6, 6)))
    law = ShapedImpedance(mass=mass.tolist(), stiffness=K.tolist(), damping=D.tolist())
    target, wanted = joint_target(robot, robot.home), np.linspace(-1, 1, 6)
    target.acceleration[:] = wanted
    here, there = robot.pose(q), robot.pose(robot.home)
    e = np.r_[there.position - here.position, rotation_error(there.rotation, here.rotation)]
    A = answer(law, robot, q, v, target=target, wrench=F)
    assert mass @ (A - wanted) == pytest.approx(K @ e - D @ robot.jacobian(q) @ v + F, abs=1e-7)


def test_only_chosen_directions_are_shaped(answer) -> None:
    robot = load_robot("panda", joints="ideal")
    q, still = robot.home + 0.1, np.zeros(7)
    law = ShapedImpedance(mass=(2.0, 3.0, 4.0, 1.0, 1.0, 1.0), directions=("x", "z"))
    A = answer(law, robot, q, still, wrench=F)
    assert A[[0, 2]] == pytest.approx([10.0 / 2, 3.0 / 4], abs=1e-9)


def second_order(force: float, m: float, d: float, k: float, t: np.ndarray) -> np.ndarray:
    """Displacement of an underdamped m, d, k under a constant force from rest."""
    w, s = np.sqrt(k / m), d / (2 * m)
    wd = np.sqrt(w * w - s * s)
    return force / k * (1 - np.exp(-s * t) * (np.cos(wd * t) + s / wd * np.sin(wd * t)))


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_a_push_is_answered_by_the_wanted_second_order_system(name: str, extrapolate) -> None:
    robot = load_robot(name, joints="ideal")
    mass, K, D = (
        (4.0, 8.0, 6.0, 0.3, 0.3, 0.3),
        (200.0, 400.0, 300.0, 20.0, 20.0, 20.0),
        (20.0, 30.0, 25.0, 3.0, 3.0, 3.0),
    )
    force = np.array([5.0, -8.0, 4.0])
    world = World(pushes=(Push(force=tuple(force), duration=10.0),), driver=STRONG)
    law = ShapedImpedance(mass=mass, stiffness=K, damping=D)
    run = extrapolate(Run(robot, law, world, clock=Clock(duration=0.8)), "tool_position", step=4e-4)
    moved = run["tool_position"] - robot.pose(robot.home).position
    for axis in range(3):
        wanted = second_order(force[axis], mass[axis], D[axis], K[axis], run.time)
        assert np.abs(moved[:, axis] - wanted).max() < 1e-4 * np.abs(wanted).max()


def test_at_one_kilohertz_the_response_is_still_the_wanted_one_to_a_percent() -> None:
    robot = load_robot("panda", joints="ideal")
    world = World(pushes=(Push(force=(5.0, 0.0, 0.0), duration=10.0),), driver=STRONG)
    trace = simulate(Run(robot, ShapedImpedance(), world, clock=Clock(duration=0.8)))
    moved = trace["tool_position"][:, 0] - robot.pose(robot.home).position[0]
    d = 2 * 0.7 * np.sqrt(400.0 * 5.0)
    assert np.abs(moved - second_order(5.0, 5.0, d, 400.0, trace.time)).max() < 0.01 * moved.max()


def test_steady_force_on_a_wall_is_the_closed_form() -> None:
    robot = load_robot("panda", joints="ideal")
    p = robot.pose(robot.home).position
    surface = Surface(position=(p[0] + 0.012, 0.0, 0.0), normal=(-1.0, 0.0, 0.0), stiffness=5e3, damping=100.0)
    law = ShapedImpedance(damping_ratio=1.5)
    trace = simulate(
        Run(robot, law, World(surfaces=(surface,)), Hold(offset=(0.062, 0.0, 0.0)), clock=Clock(duration=4.0))
    )
    assert trace["contact_wrench"][-1, 0] == pytest.approx(-400 * 5e3 / 5400 * 0.06, rel=1e-3)


@pytest.mark.parametrize(
    ("gains", "says"),
    [
        ({"mass": (1.0, 1.0, 1.0, 0.0, 1.0, 1.0)}, "mass.*definite"),
        ({"stiffness": (1.0, 1.0, 1.0, -2.0, 1.0, 1.0)}, "smallest eigenvalue.*-2"),
        ({"mass": (np.eye(6) + 0.1 * np.eye(6, k=2)).tolist()}, r"entry \(0, 2\) is 0.1"),
        ({"directions": ()}, "different ones"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, says) -> None:
    with pytest.raises(InvalidInput, match=says):
        ShapedImpedance(**gains).bind(load_robot("panda", joints="ideal"))
