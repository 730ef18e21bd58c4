"""Integral force control: the first-order lag its docstring promises, and its anti-windup."""

import numpy as np
import pytest

from palpate.control.laws.integral_force import IntegralForce
from palpate.control.references.reference import Hold, WantedWrench, joint_target
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import matrix_from_quat
from palpate.world.clock import Clock
from palpate.world.config import Surface, World

TIP = 0.01  # m, radius of the catalogue arms' tip
ELBOWS = [(np.pi / 3, -2 * np.pi / 3), (-np.pi / 3, 2 * np.pi / 3)]


def vice(point, stiffness):
    """Four jaws that hold the tip: preloaded planes, together a spring of 2 k along x and y that also pulls."""
    normals = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
    return tuple(
        Surface(
            name=f"jaw{i}",
            position=tuple(point - np.array(n) * (TIP - 1e-3)),
            normal=n,
            stiffness=stiffness,
            damping=np.sqrt(stiffness),
        )
        for i, n in enumerate(normals)
    )


def settled(time, force, goal, share):
    """When the force stays within `share` of the goal."""
    return time[np.flatnonzero(abs(force - goal) > abs(share))[-1] + 1]


def held_arm(elbow, stiffness=1e6, dt=5e-5, **law):
    """The document's experiment: the tip held, [1, 2] N wanted, [1, 3] N from 1 s on (on the environment)."""
    robot = load_robot("planar2")
    wanted = WantedWrench(value=(-1, -2, 0, 0, 0, 0), then=(-1, -3, 0, 0, 0, 0), at=1.0)
    law = IntegralForce(**{"directions": ("x", "y"), "integral": 10.0, "feed_forward": 0.0, **law})
    world = World(surfaces=vice(robot.pose(elbow).position, stiffness))
    return simulate(
        Run(robot, law, world, Hold(wrench=wanted), clock=Clock(duration=2.0, timestep=dt), q_start=np.array(elbow))
    )


@pytest.mark.parametrize("elbow", ELBOWS)
def test_force_settles_as_a_first_order_lag_of_gain_k_in_both_elbow_postures(elbow):
    trace = held_arm(elbow)
    t, F = trace.time, trace["contact_wrench"]
    early, late = t < 1, t >= 1
    exact = np.log(50) / 10  # 0.3912 s
    assert settled(t[early], F[early, 0], -1, 0.02) == pytest.approx(exact, abs=2e-4)
    assert settled(t[early], F[early, 1], -2, 0.04) == pytest.approx(exact, abs=2e-4)
    assert settled(t[late], F[late, 1], -3, 0.02) - 1 == pytest.approx(exact, abs=2e-4)
    lag = -2 * (1 - np.exp(-10 * t[early]))
    np.testing.assert_allclose(F[early, 1], lag, atol=0.015)  # the jaws ring at first


def test_a_step_of_one_axis_moves_the_other_only_as_far_as_the_jaws_give():
    """The coupling is the tip's own motion: it fades with the square root of the stiffness, to none."""
    shift = []
    for stiffness, dt in ((1e4, 2e-4), (1e6, 5e-5)):
        trace = held_arm(ELBOWS[0], stiffness, dt)
        late = trace["contact_wrench"][trace.time >= 1, 0]
        shift.append(abs(late - late[0]).max())
    assert shift[1] < 2e-3
    assert shift[1] < 0.15 * shift[0]


def test_feed_forward_gives_the_wanted_force_at_once():
    trace = held_arm(ELBOWS[0], feed_forward=1.0)
    soon = trace.time > 0.02
    np.testing.assert_allclose(trace["contact_wrench"][soon & (trace.time < 1), 1], -2, atol=0.02)


def test_torque_is_the_transposed_jacobian_of_the_documents_example():
    """F = (0, 2) N on the environment at θ = (0.5, 0.6): in the x-axis convention T = Jᵀ F."""
    robot, q = load_robot("planar2"), np.array([0.5, 0.6])
    target = joint_target(robot, q)
    target.wrench[1] = -2.0
    tick = IntegralForce(directions=("x", "y"), integral=0.0).tick(robot, q, np.zeros(2), target=target)
    np.testing.assert_allclose(tick.terms["feed_forward"], robot.jacobian(q)[:2].T @ [0, 2], atol=1e-14)


def test_forces_and_moments_of_a_turned_frame_go_through_the_same_map():
    robot = load_robot("panda", joints="ideal")
    rng = np.random.default_rng(3)
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    law = IntegralForce(directions=("x", "rz"), axes_quat_wxyz=tuple(quat), integral=5.0, feed_forward=0.5)
    wanted, felt = rng.normal(size=6), rng.normal(size=6)
    target = joint_target(robot, robot.home)
    target.wrench[:] = wanted
    tick = law.tick(robot, robot.home, np.zeros(7), target=target, wrench=felt, dt=1e-3)
    R = matrix_from_quat(quat)
    rows = np.vstack([R[:, 0] @ robot.jacobian(robot.home)[:3], R[:, 2] @ robot.jacobian(robot.home)[3:]])
    chosen = np.array([[R[:, 0] @ w[:3], R[:, 2] @ w[3:]] for w in (wanted, felt)])
    np.testing.assert_allclose(tick.terms["feed_forward"], -0.5 * rows.T @ chosen[0], atol=1e-13)
    np.testing.assert_allclose(tick.terms["integral"], -5e-3 * rows.T @ (chosen[0] - chosen[1]), atol=1e-15)


def test_the_integral_stops_while_a_joint_torque_is_beyond_its_limit():
    robot = load_robot("panda", joints="ideal")
    law = IntegralForce(directions=("z",), integral=1.0, feed_forward=0.0, most_force=1e6, joint_damping=0.0)
    bound = law.bind(robot)
    target = joint_target(robot, robot.home)
    target.wrench[2] = 5000.0
    ticks = [bound.tick(robot, robot.home, np.zeros(7), target=target).command for _ in range(400)]
    excess = np.abs(ticks) - robot.limits.torque
    assert (np.diff(ticks[:50], axis=0) != 0).any()
    assert (ticks[-1] == ticks[-2]).all()
    assert excess.max() < 0


def test_the_integral_never_leaves_its_bound():
    robot = load_robot("planar2")
    bound = IntegralForce(directions=("x", "y"), most_force=3.0, feed_forward=0.0).bind(robot)
    target = joint_target(robot, robot.home)
    target.wrench[0] = 50.0
    tick = [bound.tick(robot, robot.home, np.zeros(2), target=target) for _ in range(1000)][-1]
    J = robot.jacobian(robot.home)[:2]
    np.testing.assert_allclose(tick.terms["integral"], -J.T @ [3.0, 0.0], atol=1e-12)


def test_more_directions_than_joints_are_refused():
    with pytest.raises(InvalidInput, match=r"2 degrees.*freedom"):
        IntegralForce().bind(load_robot("planar2"))
