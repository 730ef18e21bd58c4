"""Cartesian impedance without a force sensor: springs at the tool, in any axes, on a schedule, against walls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.control import CartesianImpedance
from palpate.control.design.damping import damping_by_ratio, damping_from_inertia
from palpate.control.laws.cartesian_impedance import Stage
from palpate.control.references.reference import Hold, joint_target
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import rotation_error
from palpate.world.clock import Clock
from palpate.world.config import Driver, Push, Surface, World

SIX = (400.0, 300.0, 500.0, 20.0, 15.0, 25.0)
SIX_D = (60.0, 50.0, 70.0, 4.0, 3.0, 5.0)
F = np.array([10.0, -5.0, 3.0, 0.1, 0.2, -0.3])
STRONG = Driver(torque_limit=False, torque_rate_limit=False)


def full(diagonal, seed: int) -> np.ndarray:
    """A symmetric positive definite 6×6 with everything coupled."""
    turn = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    mix = np.block([[turn, 0.05 * turn], [-0.02 * turn.T, turn.T]])
    return mix @ np.diag(diagonal) @ mix.T


def rows(matrix: np.ndarray) -> tuple:
    return tuple(map(tuple, matrix.tolist()))


def state(robot):
    """A moving arm off its target, its target's acceleration, and the error in world axes."""
    q, v = robot.home + 0.1, np.linspace(-0.4, 0.4, robot.nv)
    target = joint_target(robot, robot.home)
    wanted = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    target.acceleration[:] = wanted
    here, there = robot.pose(q), robot.pose(robot.home)
    e = np.r_[there.position - here.position, rotation_error(there.rotation, here.rotation)]
    return q, v, target, wanted, e, -robot.jacobian(q) @ v


@pytest.mark.parametrize("name", ["panda", "ur5e"])
@pytest.mark.parametrize("form", ["classic", "exact"])
def test_closed_loop_has_the_natural_inertia(name: str, form, answer) -> None:
    robot = load_robot(name, joints="ideal")
    q, v, target, wanted, e, rate = state(robot)
    K, D = full(SIX, 1), full(SIX_D, 2)
    law = CartesianImpedance(stiffness=rows(K), damping=rows(D), form=form)
    A = answer(law, robot, q, v, target=target, wrench=F)
    drift = robot.jacobian_drift(q, v)
    left = robot.task_inertia(q) @ (A - wanted - (drift if form == "classic" else 0.0))
    assert left == pytest.approx(K @ e + D @ rate + F, abs=1e-8)
    assert np.abs(robot.task_inertia(q) @ drift).max() > 0.01  # the two forms do differ here


@pytest.mark.parametrize("axes", ["world", "tool", "target"])
def test_stiffness_is_along_the_chosen_axes(axes) -> None:
    robot, turn = load_robot("panda", joints="ideal"), Rotation.from_rotvec([0.3, 0.6, -0.4])
    q, v, target, _, e, rate = state(robot)
    quat = tuple(turn.as_quat(scalar_first=True))
    law = CartesianImpedance(stiffness=SIX, damping=SIX_D, axes=axes, axes_quat_wxyz=quat)
    base = {"world": np.eye(3), "tool": robot.pose(q).rotation, "target": robot.pose(robot.home).rotation}[axes]
    X = np.kron(np.eye(2), base @ turn.as_matrix())
    tick, J = law.tick(robot, q, v, target=target), robot.jacobian(q)
    assert tick.terms["spring"] == pytest.approx(J.T @ X @ np.diag(SIX) @ X.T @ e, abs=1e-9)
    assert tick.terms["damper"] == pytest.approx(J.T @ X @ np.diag(SIX_D) @ X.T @ rate, abs=1e-9)


def test_unchosen_directions_have_no_spring_and_belong_to_the_null_space() -> None:
    robot = load_robot("panda", joints="ideal")
    q, v, target, _, e, _ = state(robot)
    law = CartesianImpedance(stiffness=SIX, damping=SIX_D, directions=("x", "z"))
    tick, x = law.tick(robot, q, v, target=target), robot.terms(q, v)
    assert tick.terms["spring"] == pytest.approx(x.J.T @ (np.array([400, 0, 500, 0, 0, 0]) * e), abs=1e-9)
    moved = x.J @ np.linalg.solve(x.M, tick.terms["null_space"])
    assert moved[[0, 2]] == pytest.approx([0, 0], abs=1e-10)
    assert np.abs(moved[[1, 3, 4, 5]]).max() > 0.1


# ------------------------------------------------------------------ document 001, exercise 3


def test_document_001_eigenvalues_are_measured_in_the_response_to_a_force(extrapolate) -> None:
    robot = load_robot("cartesian2", mass=(3.0, 2.0))
    law = CartesianImpedance(stiffness=(245.0, 98.0, 1.0, 1.0, 1.0, 1.0), damping=(70.0, 28.0, 1.0, 1.0, 1.0, 1.0))
    force = np.array([12.0, -7.0])
    world = World(pushes=(Push(force=(*force, 0.0), duration=10.0),))
    run = extrapolate(Run(robot, law, world, clock=Clock(duration=1.0)), "q", step=5e-4)
    t = run.time[:, None]
    steady = force / [245.0, 98.0]
    assert np.abs(run["q"] - steady * (1 - (1 + 7 * t) * np.exp(-7 * t))).max() < 1e-8
    for axis in range(2):
        # Sampled response of two poles: y[k+2] = (z1 + z2) y[k+1] − z1 z2 y[k].
        y = run["q"][:, axis] - steady[axis]
        total, product = np.linalg.lstsq(np.column_stack([y[1:-1], -y[:-2]]), y[2:], rcond=None)[0]
        poles = np.log(np.roots([1, -total, product]).astype(complex)) / (run.time[1] - run.time[0])
        assert poles.sum().real == pytest.approx(-14.0, abs=1e-3)
        assert poles.prod().real == pytest.approx(49.0, abs=1e-2)
        assert np.abs(poles + 7.0).max() < 0.1  # a double pole splits with the root of the error


# ------------------------------------------------------------------ pressing on a wall


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
@pytest.mark.parametrize(("stiffness", "wall"), [(100.0, 1e3), (400.0, 1e4), (2000.0, 1e4), (400.0, 1e5)])
def test_steady_force_on_a_wall_is_the_closed_form(name: str, stiffness: float, wall: float) -> None:
    robot = load_robot(name, joints="ideal")
    p = robot.pose(robot.home).position
    radius, gap = 0.01, 0.012
    depth = min(0.05, 20.0 / stiffness - radius)  # the wrist is strong enough for the step
    surface = Surface(position=(p[0] + gap, 0.0, 0.0), normal=(-1.0, 0.0, 0.0), stiffness=wall, damping=50.0)
    law = CartesianImpedance(stiffness=(stiffness, 400.0, 400.0, 20.0, 20.0, 20.0), damping_ratio=1.0)
    reference = Hold(offset=(gap + depth, 0.0, 0.0))
    trace = simulate(Run(robot, law, World(surfaces=(surface,)), reference, clock=Clock(duration=4.0)))
    assert trace.outcome.kind == "completed"
    wanted = stiffness * wall / (stiffness + wall) * (depth + radius)
    assert trace["contact_wrench"][-1, 0] == pytest.approx(-wanted, rel=1e-3)


# ------------------------------------------------------------------ changing stiffness


def softer(
    start: float = 0.5, duration: float = 0.4, stiffness: Any = (100.0, 100.0, 100.0, 10.0, 10.0, 10.0)
) -> Stage:
    return Stage(start=start, duration=duration, stiffness=stiffness)


def pressed(law: CartesianImpedance, duration: float = 1.5):
    """A force of 20 N along x holds the tool 0.05 m off its target while the stiffness changes."""
    robot = load_robot("panda", joints="ideal")
    world = World(pushes=(Push(force=(20.0, 0.0, 0.0), duration=10.0),), driver=STRONG)
    return robot, simulate(Run(robot, law, world, clock=Clock(duration=duration)))


def test_a_scheduled_stiffness_is_reached_without_a_jump() -> None:
    robot, trace = pressed(CartesianImpedance(schedule=(softer(),)), duration=5.0)
    jumps = np.abs(np.diff(trace["tau.spring"], axis=0)).max(axis=1)
    assert jumps[1:].max() < 0.2
    assert trace["tool_position"][-1, 0] - robot.pose(robot.home).position[0] == pytest.approx(0.2, abs=2e-3)


def test_stiffness_is_eased_along_a_minimum_jerk_curve() -> None:
    robot = load_robot("panda", joints="ideal")
    law = CartesianImpedance(stiffness=(400.0, 400.0, 400.0, 20.0, 20.0, 20.0), damping=SIX_D, schedule=(softer(),))
    target = joint_target(robot, robot.home)
    target.position[0] += 0.01  # e = 0.01 m along x
    pull = robot.jacobian(robot.home)[0]
    for t, share in [(0.0, 0.0), (0.5, 0.0), (0.6, 0.103515625), (0.7, 0.5), (0.9, 1.0), (3.0, 1.0)]:
        spring = law.tick(robot, robot.home, np.zeros(7), target=target, t=t).terms["spring"]
        assert spring == pytest.approx(pull * 0.01 * (400 - 300 * share), abs=1e-9)


@pytest.mark.parametrize("duration", [0.0, 0.4])
def test_holding_the_force_moves_the_rest_pose_instead(duration: float) -> None:
    change = softer(4.0, duration)
    law = CartesianImpedance(schedule=(change,), hold_force=True, damping_ratio=1.0)
    _, trace = pressed(law, duration=6.0)
    settled = trace["tool_position"][3990]
    assert np.abs(trace["tool_position"][4000:] - settled).max() < 1e-5  # nothing moves: the force is what it was
    assert np.abs(np.diff(trace["tau.spring"], axis=0))[3990:].max() < 1e-4


def test_after_holding_the_force_the_new_stiffness_answers_a_new_force() -> None:
    change = softer(1.0, 0.2)
    law = CartesianImpedance(schedule=(change,), hold_force=True, damping_ratio=1.0)
    robot = load_robot("panda", joints="ideal")
    pushes = (Push(force=(20.0, 0, 0), duration=20.0), Push(force=(2.0, 0, 0), start=3.0, duration=20.0))
    trace = simulate(Run(robot, law, World(pushes=pushes, driver=STRONG), clock=Clock(duration=9.0)))
    more = trace["tool_position"][-1, 0] - trace["tool_position"][2990, 0]
    assert more == pytest.approx(2.0 / 100.0, rel=0.02)


# ------------------------------------------------------------------ damping by ratio


def test_damping_by_ratio_gives_every_mode_that_ratio() -> None:
    robot = load_robot("panda", joints="ideal")
    K, inertia = full(SIX, 3), robot.task_inertia(robot.home)
    D = damping_by_ratio(K, np.linalg.inv(inertia), 0.4)
    A = np.block([[np.zeros((6, 6)), np.eye(6)], [-np.linalg.solve(inertia, K), -np.linalg.solve(inertia, D)]])
    poles = np.linalg.eigvals(A)
    assert -poles.real / np.abs(poles) == pytest.approx(np.full(12, 0.4), abs=1e-6)


def test_damping_by_ratio_agrees_with_gain_design() -> None:
    inertia = load_robot("iiwa14").task_inertia(load_robot("iiwa14").home)
    K = full(SIX, 4)
    D = damping_by_ratio(K, np.linalg.inv(inertia), 0.7)
    assert damping_from_inertia(K, inertia, ratio=0.7).damping == pytest.approx(D, rel=1e-6)


def test_directions_that_cannot_move_get_no_damping() -> None:
    robot = load_robot("cartesian2", mass=(3.0, 2.0))
    law = CartesianImpedance(stiffness=(245.0, 98.0, 50.0, 1.0, 1.0, 1.0), damping_ratio=1.0)
    D = law.bind(robot).gains.stages[0].D
    assert pytest.approx(np.diag([70.0, 28.0, 0, 0, 0, 0]), abs=1e-9) == D


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("gains", "says"),
    [
        ({"stiffness": (1.0, 1.0, -5.0, 1.0, 1.0, 1.0)}, "smallest eigenvalue.*-5"),
        ({"stiffness": rows(np.eye(6) + np.eye(6, k=1))}, r"entry \(0, 1\) is 1"),
        ({"damping": (-1.0, 1.0, 1.0, 1.0, 1.0, 1.0)}, "damping.*semidefinite"),
        ({"schedule": (softer(duration=0.0),)}, "hold_force"),
        ({"schedule": (softer(), softer(0.6))}, r"schedule\[1\] starts at 0.6 s, before"),
        ({"schedule": (softer(stiffness=(-1.0,) * 6),)}, r"schedule\[0\].stiffness"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, says) -> None:
    with pytest.raises(InvalidInput, match=says):
        CartesianImpedance(**gains).bind(load_robot("panda", joints="ideal"))


@pytest.mark.parametrize("bad", [(1.0, 2.0), (1.0, 1.0, float("nan"), 1.0, 1.0, 1.0), "stiff", -4.0])
def test_a_stiffness_that_is_no_matrix_is_refused(bad) -> None:
    with pytest.raises(ValueError, match="stiffness"):
        CartesianImpedance(stiffness=bad)
