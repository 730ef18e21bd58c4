"""Integral and direct force control: the closed loops their docstrings promise."""

from typing import Any

import numpy as np
import pytest
from scipy.signal import lti, step

from palpate.control.law import TargetLayout
from palpate.control.laws.force import DirectForce, IntegralForce
from palpate.control.references.reference import Hold, WantedWrench, joint_target
from palpate.control.steps.force_loop import force_loop_poles
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.parts import Parts
from palpate.run.simulate import simulate
from palpate.spatial import matrix_from_quat
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
    return simulate(Parts(robot, law, world, Hold(wrench=wanted), duration=2.0, timestep=dt, q_start=np.array(elbow)))


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
    target[TargetLayout(2, 2).task + 19 + 1] = -2.0
    tick = IntegralForce(directions=("x", "y"), integral=0.0).tick(robot, q, np.zeros(2), target=target)
    np.testing.assert_allclose(tick.terms["feed_forward"], robot.jacobian(q)[:2].T @ [0, 2], atol=1e-14)


def test_forces_and_moments_of_a_turned_frame_go_through_the_same_map():
    robot = load_robot("panda")
    rng = np.random.default_rng(3)
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    law = IntegralForce(directions=("x", "rz"), axes_quat_wxyz=tuple(quat), integral=5.0, feed_forward=0.5)
    wanted, felt = rng.normal(size=6), rng.normal(size=6)
    target = joint_target(robot, robot.home)
    target[TargetLayout(7, 7).task + 19 : TargetLayout(7, 7).task + 25] = wanted
    tick = law.tick(robot, robot.home, np.zeros(7), target=target, wrench=felt, dt=1e-3)
    R = matrix_from_quat(quat)
    rows = np.vstack([R[:, 0] @ robot.jacobian(robot.home)[:3], R[:, 2] @ robot.jacobian(robot.home)[3:]])
    chosen = np.array([[R[:, 0] @ w[:3], R[:, 2] @ w[3:]] for w in (wanted, felt)])
    np.testing.assert_allclose(tick.terms["feed_forward"], -0.5 * rows.T @ chosen[0], atol=1e-13)
    np.testing.assert_allclose(tick.terms["integral"], -5e-3 * rows.T @ (chosen[0] - chosen[1]), atol=1e-15)


def test_the_integral_stops_while_a_joint_torque_is_beyond_its_limit():
    robot = load_robot("panda")
    law = IntegralForce(directions=("z",), integral=1.0, feed_forward=0.0, most_force=1e6, joint_damping=0.0)
    bound = law.bind(robot)
    target = joint_target(robot, robot.home)
    target[TargetLayout(7, 7).task + 19 + 2] = 5000.0
    ticks = [bound.tick(robot, robot.home, np.zeros(7), target=target).command for _ in range(400)]
    excess = np.abs(ticks) - robot.limits.torque
    assert (np.diff(ticks[:50], axis=0) != 0).any()
    assert (ticks[-1] == ticks[-2]).all()
    assert excess.max() < 0


def test_the_integral_never_leaves_its_bound():
    robot = load_robot("planar2")
    bound = IntegralForce(directions=("x", "y"), most_force=3.0, feed_forward=0.0).bind(robot)
    target = joint_target(robot, robot.home)
    target[TargetLayout(2, 2).task + 19] = 50.0
    tick = [bound.tick(robot, robot.home, np.zeros(2), target=target) for _ in range(1000)][-1]
    J = robot.jacobian(robot.home)[:2]
    np.testing.assert_allclose(tick.terms["integral"], -J.T @ [3.0, 0.0], atol=1e-12)


# --------------------------------------------------------------------------------------------- direct PI control

SLIDE: dict[str, Any] = {"force": ("x",), "motion": ("y",), "integral": 8.0, "proportional": 0.5}
D = 40.0
SIX: Any = (D,) * 6


def pressed(law, stiffness=2e3, wall_damping=5.0, duration=1.5, force=-10.0):
    """cartesian2 resting against a wall at x = 0 (tip just touching), pressing from t = 0."""
    robot = load_robot("cartesian2")
    wall = Surface(position=(TIP, 0, 0), normal=(-1, 0, 0), stiffness=stiffness, damping=wall_damping)
    reference = Hold(wrench=WantedWrench(value=(force, 0, 0, 0, 0, 0)))
    return simulate(Parts(robot, law, World(surfaces=(wall,)), reference, duration=duration, timestep=1e-4))


def test_the_force_step_has_the_poles_of_the_closed_form():
    """Transfer from F_d to F: k_w-branch (d_w s + k_w)((1 + k_p) s + k_i) over the docstring's polynomial."""
    law = DirectForce(**SLIDE, damping=SIX)
    trace = pressed(law)
    m, k_w, d_w, k_p, k_i = 2.0, 2e3, 5.0, 0.5, 8.0
    poles = force_loop_poles(m, D, k_i, k_w, proportional=k_p, wall_damping=d_w)
    system = lti(np.polymul([d_w, k_w], [1 + k_p, k_i]), m * np.poly(poles).real)
    _, exact = step(system, T=trace.time)
    np.testing.assert_allclose(
        -trace["contact_wrench"][:, 0], 10 * exact, atol=0.03
    )  # the physics step is of first order
    assert load_robot("cartesian2").mass_matrix([0, 0])[0, 0] == m


def test_a_loop_beyond_its_routh_bound_grows():
    """Without wall damping the bound is k_i < (1 + k_p) D / m."""
    bound = (1 + 0.5) * D / 2.0
    for factor, stable in ((0.9, True), (1.1, False)):
        poles = force_loop_poles(2.0, D, factor * bound, 2e3, proportional=0.5)
        assert bool(poles.real.max() < 0) is stable
        law = DirectForce(**{**SLIDE, "integral": factor * bound, "most_force": 1e5}, damping=SIX)
        swing = -pressed(law, wall_damping=0.0, duration=6.0)["contact_wrench"][:, 0] - 10
        early, late = abs(swing[5000:15000]).max(), abs(swing[-10000:]).max()
        assert bool(late < early) is stable


@pytest.mark.parametrize("stiffness", [5e2, 5e3, 5e4])
def test_steady_force_is_the_wanted_one_whatever_the_wall(stiffness):
    trace = pressed(DirectForce(**SLIDE, damping=SIX), stiffness, duration=4.0)
    assert trace["contact_wrench"][-1, 0] == pytest.approx(-10, abs=1e-3)


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ({"force": ("x",), "motion": ("x",)}, "x cannot be both"),
        ({"force": ()}, "at least one force direction"),
        ({"damping": (1, 1, -1, 1, 1, 1)}, "damping along z must be at least 0, got -1"),
        ({"stiffness": (-4, 1, 1, 1, 1, 1)}, "stiffness along x must be at least 0, got -4"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, words):
    with pytest.raises(InvalidInput, match=words):
        DirectForce(**gains).bind(load_robot("panda"))


def test_more_directions_than_joints_are_refused():
    with pytest.raises(InvalidInput, match="2 degrees of freedom"):
        IntegralForce().bind(load_robot("planar2"))


def test_a_wall_without_stiffness_has_no_force_loop():
    with pytest.raises(InvalidInput, match="wall_stiffness must be greater than 0"):
        force_loop_poles(1.0, 1.0, 1.0, 0.0)
