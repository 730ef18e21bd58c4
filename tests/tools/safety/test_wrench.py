"""Wrench, link and place of a contact from residuals."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control.law import Tick
from palpate.tools.safety.wrench import (
    WrenchMemory,
    _ends,
    contact_on_link,
    estimate_wrench,
    link_of_contact,
    residual_of_force,
    residual_of_payload,
)
from tools.safety.arms import arm


def estimated(name: str, q: np.ndarray, residual: np.ndarray, singular: float = 0.05) -> np.ndarray:
    robot = arm(name)
    tick, memory = Tick({"nq": robot.nq, "nv": robot.nv}), WrenchMemory()
    tick.J[:] = np.array(robot.terms(q, np.zeros(robot.nv)).J)
    estimate_wrench(tick, residual, singular, memory)
    return memory.wrench.copy()


def test_the_wrench_at_the_tool_is_told_exactly_away_from_singularities() -> None:
    robot, F = arm("panda"), np.array([10.0, -5.0, 3.0, 0.5, -0.2, 0.1])
    J = np.array(robot.terms(robot.home, np.zeros(7)).J)
    assert estimated("panda", robot.home, J.T @ F) == pytest.approx(F, abs=1e-9)


def test_directions_that_no_joint_feels_are_zero() -> None:
    robot, q = arm("planar2"), np.array([0.3, 0.8])
    J = np.array(robot.terms(q, np.zeros(2)).J)
    told = estimated("planar2", q, J.T @ np.array([2.0, 3.0, 7.0, 1.0, 1.0, 0.0]))
    assert told[[2, 3, 4]] == pytest.approx(0.0, abs=1e-12)
    assert J.T @ told == pytest.approx(J.T @ np.array([2.0, 3.0, 7.0, 1.0, 1.0, 0.0]))


def test_a_stretched_arm_damps_the_direction_it_is_losing() -> None:
    robot, q = arm("panda"), np.array([0.0, 0.0, 0.0, -0.0698, 0.0, 0.0, 0.0])
    J = np.array(robot.terms(q, np.zeros(7)).J)
    scaled = J * np.array([1.0] * 3 + [0.1] * 3)[:, None]
    U, sigma, _ = np.linalg.svd(scaled)
    assert sigma[-1] < 0.01 < sigma[1]
    residual = np.full(7, 0.1)
    undamped, told = estimated("panda", q, residual, singular=0.0), estimated("panda", q, residual)
    unit = np.array([1.0] * 3 + [10.0] * 3)
    parts = [(U.T @ (unit * F)) for F in (undamped, told)]
    factor = sigma**2 / (sigma**2 + np.maximum(1.0 - (sigma / 0.05) ** 2, 0.0) * 0.05**2)
    assert parts[1] == pytest.approx(factor * parts[0], abs=1e-9)
    assert abs(parts[1][-1]) < 0.02 * abs(parts[0][-1])


def test_the_link_is_the_one_behind_the_last_loaded_joint() -> None:
    threshold = np.full(4, 1.0)
    assert link_of_contact(np.array([5.0, -3.0, 0.2, 0.0]), threshold) == 1
    assert link_of_contact(np.zeros(4), threshold) == -1


@pytest.mark.parametrize(("joint", "distance", "force"), [(1, 0.3, 4.0), (1, 0.72, -9.0)])
def test_a_force_across_a_planar_link_is_found_at_its_distance(joint: int, distance: float, force: float) -> None:
    """r₂ = d f and r₁ = (d + l₁ cos q₂) f of a force across the second link."""
    robot, q = arm("planar2"), np.array([0.3, 0.8])
    l1 = 1.0
    elbow = l1 * np.array([np.cos(q[0]), np.sin(q[0])])
    residual = np.array([(distance + l1 * np.cos(q[1])) * force, distance * force])
    found = contact_on_link(robot, q, residual, joint)
    along = np.array([np.cos(q.sum()), np.sin(q.sum())])
    assert found.distance == pytest.approx(distance, abs=1e-6)
    assert found.position[:2] == pytest.approx(elbow + distance * along, abs=1e-6)
    assert np.linalg.norm(found.force) == pytest.approx(abs(force), rel=1e-6)
    assert found.left < 1e-9


@pytest.mark.parametrize(("distance", "angle"), [(0.2, 0.3), (0.55, -1.1), (0.9, 2.4)])
def test_three_planar_joints_tell_an_oblique_force_and_its_distance(distance: float, angle: float) -> None:
    """f = 12 N at an angle to the normal of the third link: three residuals, three unknowns."""
    robot, q = arm("planar3"), np.array([0.4, 0.7, -0.5])
    ends = [_ends(robot, q, k) for k in range(3)]
    start, end = ends[2]
    line = (end - start) / np.linalg.norm(end - start)
    normal = np.array([-line[1], line[0], 0.0])
    force = 12.0 * (np.cos(angle) * normal + np.sin(angle) * line)
    point = start + distance * (end - start)
    # Moments about the three joints, by hand.
    residual = np.array([np.cross(point - first, force)[2] for first, _ in ends])
    assert residual_of_force(robot, q, force, point) == pytest.approx(residual)
    found = contact_on_link(robot, q, residual, 2)
    assert found.position == pytest.approx(point, abs=1e-6)
    assert found.force == pytest.approx(force, abs=1e-5)
    # A normal force is preferred within the noise.
    rough = contact_on_link(robot, q, residual, 2, noise=1e3)
    assert rough.force @ line == pytest.approx(0.0, abs=1e-9)


def test_an_oblique_force_on_a_pandas_hand_is_found() -> None:
    robot, q = arm("panda"), arm("panda").home + 0.1
    start, end = _ends(robot, q, 6)
    point, force = start + 0.4 * (end - start), np.array([5.0, -8.0, 11.0])
    found = contact_on_link(robot, q, residual_of_force(robot, q, force, point), 6)
    assert found.position == pytest.approx(point, abs=1e-6)
    assert found.force == pytest.approx(force, abs=1e-4)


def test_a_payload_off_the_tool_is_its_weight_at_its_centre() -> None:
    """Energy: r = −∂(m g z_C)/∂q by differences."""
    robot, q, offset = arm("panda"), arm("panda").home + 0.05, np.array([0.03, -0.02, 0.1])

    def height(q: np.ndarray) -> float:
        terms = robot.terms(q, np.zeros(7))
        return float((np.array(terms.position) + np.array(terms.rotation) @ offset)[2])

    steps = 1e-6 * np.eye(7)
    slope = np.array([(height(q + d) - height(q - d)) / 2e-6 for d in steps])
    g = -float(robot.model.opt.gravity[2])
    assert residual_of_payload(robot, q, 0.7, offset) == pytest.approx(-0.7 * g * slope, abs=1e-7)


def test_a_force_across_the_forearm_of_a_panda_is_found() -> None:
    import mujoco

    robot, joint, share = arm("panda"), 3, 0.6
    q = robot.home
    data = mujoco.MjData(robot.model)
    data.qpos[:] = q
    mujoco.mj_kinematics(robot.model, data)
    mujoco.mj_comPos(robot.model, data)
    anchors = [np.array(data.xanchor[robot.model.joint(name).id]) for name in robot.joint_names]
    point = anchors[joint] + share * (anchors[joint + 1] - anchors[joint])
    line = (anchors[joint + 1] - anchors[joint]) / np.linalg.norm(anchors[joint + 1] - anchors[joint])
    force = np.cross(line, [0.3, 0.2, 0.9]) * 20.0
    J = np.zeros((3, robot.model.nv))
    mujoco.mj_jac(robot.model, data, J, None, point, robot.model.joint(robot.joint_names[joint]).bodyid[0])
    found = contact_on_link(robot, q, J.T @ force, joint)
    assert found.position == pytest.approx(point, abs=2e-3)
    assert found.force == pytest.approx(force, abs=0.1)
