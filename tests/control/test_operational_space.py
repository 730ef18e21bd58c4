"""Operational-space control: the tool as a unit mass, direction by direction."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control import OperationalSpace
from palpate.control.law import Target, sizes_of
from palpate.control.references.reference import Hold, joint_target
from palpate.control.steps.orientation import KINDS, orientation_error
from palpate.errors import BadShape, InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import quat_from_rotation_vector, quat_multiply, rotation_error
from palpate.world.clock import Clock
from palpate.world.config import Driver, World

FREE = World(driver=Driver(torque_limit=False, torque_rate_limit=False))
ARMS = ["panda", "iiwa14"]


def target_with(robot, q, acceleration) -> Target:
    """Stand still at q but accelerate."""
    target = joint_target(robot, q)
    target.acceleration[:] = acceleration
    return target


class Slide:
    """The tool moves along an axis by d (1 − cos ω t), with velocity and acceleration."""

    def __init__(self, axis: int, distance: float = 0.05, rate: float = 3.0) -> None:
        self.axis, self.distance, self.rate = axis, distance, rate

    def sample(self, times, robot, q_start):
        rows, d, w = Hold().sample(times, robot, q_start), self.distance, self.rate
        target = Target.columns(rows, sizes_of(robot))
        target["position"][:, self.axis] += d * (1 - np.cos(w * times))
        target["twist"][:, self.axis] = d * w * np.sin(w * times)
        target["acceleration"][:, self.axis] = d * w * w * np.cos(w * times)
        return rows


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("direction", range(6))
def test_a_commanded_acceleration_moves_one_direction_alone(name: str, direction: int, answer) -> None:
    robot = load_robot(name, joints="ideal")
    q, v, wanted = robot.home + 0.1, np.linspace(-0.5, 0.5, 7), np.eye(6)[direction]
    law = OperationalSpace(kp=0.0, kd=0.0)
    assert answer(law, robot, q, v, target=target_with(robot, q, wanted)) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("projector", ["dynamic", "kinematic"])
@pytest.mark.parametrize("kind", KINDS)
def test_acceleration_is_the_one_in_the_docstring(kind, projector, answer) -> None:
    robot = load_robot("panda", joints="ideal")
    q, v = robot.home + 0.2, np.linspace(-0.5, 0.5, 7)
    kp, kd = np.linspace(50, 100, 6), np.linspace(5, 15, 6)
    law = OperationalSpace(kp=tuple(kp), kd=tuple(kd), orientation_error=kind, projector=projector)
    here, there = robot.pose(q), robot.pose(robot.home)
    e = np.r_[there.position - here.position, orientation_error(kind, there.quat_wxyz, here.quat_wxyz)]
    wanted = kp * e - kd * (robot.jacobian(q) @ v) + np.arange(6)
    target = target_with(robot, robot.home, np.arange(6))
    assert answer(law, robot, q, v, target=target) == pytest.approx(wanted, abs=1e-9)


def test_torque_is_lambda_mu_and_p_in_task_space() -> None:
    robot = load_robot("ur5e", joints="ideal")  # no null space: τ = Jᵀ F alone
    q, v = robot.home + 0.2, np.linspace(-0.5, 0.5, 6)
    x, C = robot.terms(q, v), robot.coriolis_matrix(q, v)
    inertia = robot.task_inertia(q)
    to_task = inertia @ x.J @ np.linalg.inv(x.M)
    mu, p = to_task @ C @ v - inertia @ x.drift, to_task @ x.gravity
    force = inertia @ np.arange(6.0) + mu + p
    law = OperationalSpace(kp=0.0, kd=0.0)
    command = law.tick(robot, q, v, target=target_with(robot, q, np.arange(6.0))).command
    assert command == pytest.approx(x.J.T @ force, abs=1e-8)


@pytest.mark.parametrize("name", ARMS)
def test_moving_along_one_direction_disturbs_no_other(name: str, extrapolate) -> None:
    robot = load_robot(name, joints="ideal")
    run = extrapolate(
        Run(robot, OperationalSpace(), FREE, Slide(2), clock=Clock(duration=0.6)),
        "tool_position",
        "tool_quat_wxyz",
        step=4e-4,
    )
    start = robot.pose(robot.home)
    moved = run["tool_position"] - start.position
    assert moved[:, 2] == pytest.approx(0.05 * (1 - np.cos(3 * run.time)), abs=1e-6)
    assert np.abs(moved[:, :2]).max() < 1e-6
    turned = [np.linalg.norm(orientation_error("rotation-vector", start.quat_wxyz, q)) for q in run["tool_quat_wxyz"]]
    assert max(turned) < 1e-6


@pytest.mark.parametrize("name", ARMS)
def test_position_error_follows_the_assigned_dynamics(name: str, extrapolate) -> None:
    robot = load_robot(name, joints="ideal")
    law = OperationalSpace(frequency=(15.0, 10.0, 12.0, 10.0, 10.0, 10.0), damping_ratio=1.0)
    offset = np.array([0.03, -0.02, 0.04])
    run = extrapolate(Run(robot, law, FREE, Hold(offset=tuple(offset)), clock=Clock(duration=0.5)), "tool_position")
    error = robot.pose(robot.home).position + offset - run["tool_position"]
    w, t = np.array([15.0, 10.0, 12.0]), run.time[:, None]
    assert np.abs(error - offset * (1 + w * t) * np.exp(-w * t)).max() < 1e-6


def test_rotation_about_one_axis_follows_the_assigned_dynamics(extrapolate) -> None:
    robot = load_robot("panda", joints="ideal")
    turn = np.array([0.0, 0.0, 0.3])
    quat = quat_multiply(quat_from_rotation_vector(turn), robot.pose(robot.home).quat_wxyz)
    turning = Run(robot, OperationalSpace(), FREE, Hold(quat_wxyz=tuple(quat)), clock=Clock(duration=0.5))
    run = extrapolate(turning, "tool_quat_wxyz")
    error = np.array([orientation_error("rotation-vector", quat, q) for q in run["tool_quat_wxyz"]])
    w, t = 10.0, run.time[:, None]
    assert np.abs(error - turn * (1 + w * t) * np.exp(-w * t)).max() < 1e-6


def test_planar_arms_follow_chosen_directions(extrapolate) -> None:
    robot = load_robot("planar3-vertical")
    law = OperationalSpace(directions=("x", "z"))
    offset = np.array([-0.1, 0.0, 0.08])
    run = extrapolate(Run(robot, law, FREE, Hold(offset=tuple(offset)), clock=Clock(duration=0.5)), "tool_position")
    error = robot.pose(robot.home).position + offset - run["tool_position"]
    w, t = 10.0, run.time[:, None]
    assert np.abs(error - offset * (1 + w * t) * np.exp(-w * t)).max() < 1e-6


def test_position_only_leaves_the_orientation_to_the_posture() -> None:
    robot = load_robot("panda", joints="ideal")
    law = OperationalSpace(directions=("x", "y", "z"))
    q = robot.home + np.linspace(0.2, -0.2, 7)
    reference = Hold(position=tuple(robot.pose(robot.home).position))
    trace = simulate(Run(robot, law, FREE, reference, clock=Clock(duration=4.0), q_start=q))
    end = robot.pose(trace["q"][-1])
    assert end.position == pytest.approx(robot.pose(robot.home).position, abs=1e-5)
    assert np.linalg.norm(rotation_error(robot.pose(robot.home).rotation, end.rotation)) > 0.01


@pytest.mark.parametrize("projector", ["dynamic", "kinematic"])
def test_the_posture_is_reached_beneath_the_task(projector) -> None:
    robot = load_robot("iiwa14")
    law = OperationalSpace(projector=projector)
    v0 = np.linspace(-0.6, 0.6, 7)
    trace = simulate(Run(robot, law, FREE, clock=Clock(duration=6.0), v_start=v0))
    assert np.abs(trace["q"] - robot.home).max() > 0.03
    assert trace["q"][-1] == pytest.approx(robot.home, abs=2e-3)
    assert np.abs(trace["v"][-1]).max() < 1e-3


@pytest.mark.parametrize("kind", ["rotation-vector", "quaternion"])
def test_a_half_turn_is_made(kind) -> None:
    robot = load_robot("panda", joints="ideal")
    start = robot.pose(robot.home)
    quat = quat_multiply(quat_from_rotation_vector(np.pi * start.rotation[:, 2]), start.quat_wxyz)
    law = OperationalSpace(orientation_error=kind, frequency=6.0)
    trace = simulate(Run(robot, law, FREE, Hold(quat_wxyz=tuple(quat)), clock=Clock(duration=4.0)))
    assert trace.outcome.kind == "completed"
    assert np.linalg.norm(orientation_error("rotation-vector", quat, trace["tool_quat_wxyz"][-1])) < 1e-3
    assert any("180°" in remark for remark in trace.facts.remarks)


@pytest.mark.parametrize("kind", ["matrix", "euler"])
def test_a_half_turn_by_errors_that_fade_or_stray_stays_finite_and_is_reported(kind) -> None:
    robot = load_robot("panda", joints="ideal")
    start = robot.pose(robot.home)
    quat = quat_multiply(quat_from_rotation_vector(np.pi * start.rotation[:, 2]), start.quat_wxyz)
    law = OperationalSpace(orientation_error=kind)
    trace = simulate(Run(robot, law, FREE, Hold(quat_wxyz=tuple(quat)), clock=Clock(duration=1.0)))
    assert trace.outcome.kind == "completed"
    assert np.isfinite(trace["q"]).all()
    assert any(kind in remark for remark in trace.facts.remarks)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_quaternion_changes_nothing(kind) -> None:
    robot = load_robot("panda", joints="ideal")
    law, target = OperationalSpace(orientation_error=kind), joint_target(robot, robot.home)
    flipped = target.copy()
    flipped.quat_wxyz[:] *= -1
    q = robot.home + 0.3
    one, other = (law.tick(robot, q, np.zeros(7), target=t).command for t in (target, flipped))
    assert one == pytest.approx(other, abs=1e-9)


def test_reaching_beyond_the_workspace_stretches_the_arm_and_stays_finite() -> None:
    robot = load_robot("planar2")
    law = OperationalSpace(directions=("x", "y"))
    # The target goes 0.6 m out of reach, twice, and comes back.
    trace = simulate(Run(robot, law, FREE, Slide(0, distance=0.8, rate=2.0), clock=Clock(duration=6.0)))
    assert trace.outcome.kind == "completed"
    assert trace["tool_position"][:, 0].max() > 1.98
    assert np.abs(trace["tau"]).max() < 3000
    (remark,) = trace.facts.remarks
    assert "lost direction" in remark
    naive = OperationalSpace(directions=("x", "y"), heaviest=1e12)
    undamped = simulate(Run(robot, naive, FREE, Slide(0, distance=0.8, rate=2.0), clock=Clock(duration=6.0)))
    assert undamped.outcome.kind == "diverged" or np.abs(undamped["tau"]).max() > 1e5


def test_passing_through_a_wrist_singularity_stays_finite_and_arrives() -> None:
    robot = load_robot("ur5e", joints="ideal")
    start, end = robot.home.copy(), robot.home.copy()
    start[4], end[4] = -0.25, 0.25  # joint 5 at 0 aligns joints 4 and 6
    goal = robot.pose(end)
    reference = Hold(position=tuple(goal.position), quat_wxyz=tuple(goal.quat_wxyz))
    run = Run(robot, OperationalSpace(frequency=5.0), FREE, reference, clock=Clock(duration=4.0), q_start=start)
    trace = simulate(run)
    assert trace.outcome.kind == "completed"
    assert trace["q"][0, 4] < 0
    assert any("lost direction" in remark for remark in trace.facts.remarks)
    assert np.linalg.norm(trace["tool_position"][-1] - goal.position) < 1e-3


@pytest.mark.parametrize(
    ("gains", "error", "says"),
    [
        ({"frequency": -1.0}, InvalidInput, "negative"),
        ({"frequency": 0.0}, InvalidInput, "greater than 0"),
        ({"kp": 1.0}, InvalidInput, "both kp"),
        ({"kp": (1.0, 1.0, 1.0, 1.0, -7.0, 1.0), "kd": 1.0}, InvalidInput, "-7"),
        ({"directions": ("x", "x")}, InvalidInput, "different"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, error, says) -> None:
    with pytest.raises(error, match=says):
        OperationalSpace(**gains).bind(load_robot("panda", joints="ideal"))


def test_more_directions_than_joints_are_refused() -> None:
    with pytest.raises(InvalidInput, match="planar2 has 2 degrees"):
        OperationalSpace().bind(load_robot("planar2"))
    with pytest.raises((InvalidInput, BadShape)):
        OperationalSpace().bind(load_robot("quadruped"))
