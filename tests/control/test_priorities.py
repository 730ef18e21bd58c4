"""Priorities held to closed forms, to optimality certificates and to a cascade of DAQP's QPs."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import nnls

import palpate as pp
from palpate.control.solve import priorities as P, tasks as T
from palpate.control.solve.daqp_cascade import daqp_hierarchy
from palpate.errors import BadShape, InvalidInput, NoSolution, NotFinite
from palpate.spatial import matrix_from_rotation_vector

PANDA, IIWA = pp.load_robot("panda"), pp.load_robot("iiwa14")


# ------------------------------------------------------------------ closed forms


def test_the_documents_three_tasks_give_one_two_minus_three():
    tasks = [([[1, 0, 0]], [1]), ([[1, 1, 0]], [3]), ([[1, 1, 1]], [0])]
    assert P.prioritised(tasks) == pytest.approx([1, 2, -3], abs=1e-14)


def test_strict_priority_is_the_textbook_recursion():
    rng = np.random.default_rng(0)
    for _ in range(50):
        tasks = [(rng.normal(size=(m, 9)), rng.normal(size=m)) for m in (2, 3, 3, 4)]
        v, N, above = np.zeros(9), np.eye(9), np.zeros((0, 9))
        for J, w in tasks:
            v = v + np.linalg.pinv(J @ N, rcond=1e-10) @ (w - J @ v)
            above = np.vstack([above, J])
            N = np.eye(9) - np.linalg.pinv(above, rcond=1e-10) @ above
        assert P.prioritised(tasks) == pytest.approx(v, abs=1e-9)


def test_the_pseudo_inverse_is_the_shortest_least_squares_solution():
    J, w = np.random.default_rng(1).normal(size=(3, 6)), np.array([1.0, -2, 0.5])
    assert P.pseudo_inverse(J, w) == pytest.approx(np.linalg.lstsq(J, w, rcond=None)[0], abs=1e-13)
    singular = np.vstack([J, J[0]])
    assert P.pseudo_inverse(singular, [1.0, 0, 0, 0]) == pytest.approx(
        np.linalg.lstsq(singular, [1.0, 0, 0, 0], rcond=1e-10)[0], abs=1e-12
    )


def test_damping_minimises_error_plus_effort():
    J, w = np.random.default_rng(2).normal(size=(3, 6)), np.array([1.0, -2, 0.5])
    v = P.damped_least_squares(J, w, 0.3)
    assert J.T @ (J @ v - w) + 0.09 * v == pytest.approx(np.zeros(6), abs=1e-13)


def test_adaptive_damping_is_off_away_from_singular_postures_and_full_at_them():
    assert P.adaptive_damping(np.eye(2), threshold=0.1, most=0.5) == 0.0
    assert P.adaptive_damping(np.diag([1.0, 0.0]), threshold=0.1, most=0.5) == 0.5
    assert P.adaptive_damping(np.diag([1.0, 0.06]), threshold=0.1, most=0.5) == pytest.approx(0.4)


def test_the_null_space_term_leaves_the_task_alone():
    rng = np.random.default_rng(3)
    J, w, v0 = rng.normal(size=(3, 6)), rng.normal(size=3), rng.normal(size=6)
    v = P.with_null_space(J, w, v0)
    inverse = np.linalg.pinv(J)
    assert v == pytest.approx(inverse @ w + (np.eye(6) - inverse @ J) @ v0, abs=1e-13)
    assert J @ v == pytest.approx(w, abs=1e-13)


def test_weighted_tasks_are_right_without_full_column_rank():
    rng = np.random.default_rng(4)
    tall = [(rng.normal(size=(3, 3)), rng.normal(size=3)), (rng.normal(size=(2, 3)), rng.normal(size=2))]
    J, w, W = np.vstack([t[0] for t in tall]), np.concatenate([t[1] for t in tall]), np.diag([2.0] * 3 + [0.5] * 2)
    assert P.weighted(tall, [2.0, 0.5]) == pytest.approx(np.linalg.solve(J.T @ W @ J, J.T @ W @ w), abs=1e-12)
    wide = [(rng.normal(size=(3, 7)), rng.normal(size=3)), (rng.normal(size=(2, 7)), rng.normal(size=2))]
    v = P.weighted(wide, [2.0, 0.5])
    for J, w in wide:
        assert J @ v == pytest.approx(w, abs=1e-12)


def test_bad_closed_form_input_is_refused():
    with pytest.raises(BadShape, match=r"w.*shape"):
        P.pseudo_inverse(np.eye(2), [1.0])
    with pytest.raises(InvalidInput, match="damping"):
        P.damped_least_squares(np.eye(2), [1.0, 1.0], 0.0)
    with pytest.raises(NotFinite, match="J"):
        P.prioritised([([[np.nan, 0]], [1.0])])
    with pytest.raises(InvalidInput, match="weights"):
        P.weighted([(np.eye(2), [1.0, 1.0])], [-1.0])


# ------------------------------------------------------------------ inverse dynamics


def random_case(rng):
    """An arm in motion with a stack of tasks and torque limits, tight or wide."""
    robot = (PANDA, IIWA)[int(rng.integers(2))]
    q, v = robot.home + rng.uniform(-0.5, 0.5, 7), rng.uniform(-0.5, 0.5, 7)
    here = robot.pose(q)
    pool = [
        T.FramePosition(target=here.position + rng.uniform(-0.1, 0.1, 3)),
        T.FrameOrientation(target=matrix_from_rotation_vector(rng.uniform(-0.3, 0.3, 3)) @ here.rotation),
        T.Posture(target=robot.home + rng.uniform(-0.2, 0.2, 7)),
        T.FramePosition(target=rng.uniform(-0.5, 0.5, 3), directions=[[0.0, 0, 1]], name="height"),
        T.Posture(target=robot.home, joints=robot.dof_names[:2], name="shoulder"),
    ]
    order = rng.permutation(len(pool))[: int(rng.integers(2, 5))]
    levels = [pool[k] for k in order]
    if rng.random() < 0.3:
        levels = [levels[:2], *levels[2:]]
    gravity = np.abs(robot.gravity(q))
    torque = np.minimum(robot.limits.torque, (gravity + 2.0) * rng.choice([1.0, 2.0, 10.0]))
    return robot, q, v, levels, torque


def stack_of(robot, q, v, levels):
    """Rows, wants and starts of a stack, straight from the tasks."""
    state, A, b, starts = T.State(robot, q, v), [], [], [0]
    for level in levels:
        for task in [level] if isinstance(level, T.Task) else level:
            rows = task.rows(state)
            A.append(rows.J)
            b.append(task.acceleration(rows, v) - rows.drift)
        starts.append(sum(map(len, b)))
    return np.vstack(A), np.concatenate(b), np.array(starts)


def certificate(A, b, starts, C, lower, upper, x):
    """Largest relative failure of the optimality conditions of any level, the higher ones held."""
    at, worst = C @ x, 0.0
    size = 1e-9 * (1 + np.abs(at))
    tops, bottoms = C[at >= upper - size], C[at <= lower + size]
    for first, last in pairwise(starts):
        B = A[first:last]
        gradient = B.T @ (B @ x - b[first:last])
        columns = np.vstack([A[:first], -A[:first], tops, -bottoms]).T
        gap = nnls(columns, -gradient)[1] if columns.size else np.linalg.norm(gradient)
        worst = max(worst, gap / (1 + np.abs(b[first:last]).max() + np.abs(B @ x).max()))
    return worst


def test_a_thousand_stacks_are_lexicographic_optima_within_their_torques():
    rng = np.random.default_rng(6)
    limited, relaxed, gaps, errors = 0, 0, [], []
    for _ in range(1000):
        robot, q, v, levels, torque = random_case(rng)
        found = P.inverse_dynamics(robot, q, v, levels, torque=torque)
        assert found.solver == "active-set"
        assert found.torque is not None
        assert (np.abs(found.torque) <= torque * (1 + 1e-9)).all()
        M, bias = robot.mass_matrix(q), robot.bias(q, v)
        problem = (*stack_of(robot, q, v, levels), M, -torque - bias, torque - bias)
        gaps.append(certificate(*problem, found.command))
        limited += bool(found.limits)
        relaxed += not all(found.met.values())
        try:
            reference = daqp_hierarchy(*problem)
        except NoSolution:
            continue
        errors.append(np.abs(found.command - reference).max() / (1 + np.abs(reference).max()))
    assert max(gaps) < 1e-8
    assert np.median(errors) < 1e-8
    assert len(errors) > 900
    assert np.quantile(errors, 0.95) < 1e-4  # DAQP regularises singular levels
    assert min(limited, relaxed) > 200


def test_lower_levels_do_not_disturb_higher_ones():
    rng = np.random.default_rng(7)
    for _ in range(100):
        robot, q, v, levels, torque = random_case(rng)
        whole = P.inverse_dynamics(robot, q, v, levels, torque=torque)
        for depth in range(1, len(levels)):
            alone = P.inverse_dynamics(robot, q, v, levels[:depth], torque=torque)
            for name, residual in alone.residuals.items():
                assert whole.residuals[name] == pytest.approx(residual, abs=1e-9 * (1 + np.abs(residual).max()))


def test_without_limits_met_the_torque_is_the_textbook_one():
    q, v = PANDA.home, np.zeros(7)
    target = PANDA.pose(q).position + np.array([0.01, 0, 0])
    levels = [T.FramePosition(target=target, kp=50.0), T.Posture(target=q)]
    found = P.inverse_dynamics(PANDA, q, v, levels)
    t = PANDA.terms(q, v)
    J = t.J[:3]
    a = np.linalg.pinv(J) @ (50.0 * np.array([0.01, 0, 0]) - t.drift[:3])
    assert found.command == pytest.approx(a, abs=1e-10)
    assert found.torque == pytest.approx(t.M @ a + t.bias, abs=1e-10)
    assert found.met["FramePosition"]
    assert not found.met["Posture"]
    assert "FramePosition: met" in found.account


def test_a_level_that_cannot_be_met_is_relaxed_and_reported_by_task():
    q, v = PANDA.home, np.zeros(7)
    far = T.FramePosition(target=PANDA.pose(q).position + np.array([0, 0, 5.0]), name="reach")
    found = P.inverse_dynamics(PANDA, q, v, [far, T.Posture(target=q)])
    assert not found.met["reach"]
    assert found.limits
    assert all(name.startswith("torque of") for name in found.limits)
    assert "reach: relaxed by" in found.account
    assert found.conflicts == ()


def test_a_speed_that_cannot_be_braked_in_time_is_named():
    q, v = PANDA.home, np.zeros(7)
    v[1] = 3 * PANDA.limits.velocity[1]
    found = P.acceleration_ik(PANDA, q, v, [T.Posture(target=q)], dt=1e-3)
    assert PANDA.dof_names[1] in found.notes[0]
    assert found.command[1] == pytest.approx(-PANDA.limits.acceleration[1])  # as fast as it can


def test_torques_too_weak_for_the_acceleration_limits_are_named_and_widened_least():
    # Without torque the arm falls faster than its acceleration limits allow: the two exclude each other.
    q, v, torque = PANDA.home, np.zeros(7), np.full(7, 0.01)
    found = P.inverse_dynamics(PANDA, q, v, [T.Posture(target=q)], torque=torque, dt=0.01)
    assert found.relaxation > 0
    assert any(name.startswith("torque") for name in found.conflicts)
    assert any(name.startswith("acceleration") for name in found.conflicts)
    assert re.search(r"contradict.*other", "\n".join(found.notes))
    assert found.torque is not None
    excess = max(
        (np.abs(found.torque) / torque - 1).max(), (np.abs(found.command) / PANDA.limits.acceleration - 1).max()
    )
    assert excess == pytest.approx(found.relaxation, rel=1e-6)


def test_a_solver_without_answer_leads_to_the_stated_fallback(monkeypatch):
    def fail(*_):
        raise NoSolution("did not end")

    monkeypatch.setattr(P, "solve_hierarchy", fail)
    q, v = PANDA.home, np.zeros(7)
    found = P.inverse_dynamics(PANDA, q, v, [T.Posture(target=q + 1)])
    assert found.solver == "fallback"
    assert found.torque == pytest.approx(PANDA.gravity(q), abs=1e-9)
    assert "held against" in found.notes[0]
    stopped = P.differential_ik(PANDA, q, [T.Posture(target=q + 1)], dt=0.01)
    assert stopped.command == pytest.approx(np.zeros(7))
    assert "stopped" in stopped.notes[0]


# ------------------------------------------------------------------ differential inverse kinematics


def test_differential_ik_reaches_a_pose_within_every_limit():
    robot, dt = PANDA, 1e-2
    q, v = robot.home.copy(), np.zeros(7)
    target = robot.pose(robot.home + 0.3)
    levels = [T.FramePose(target=target, gain=3.0), T.Posture(target=robot.home)]
    limits = robot.limits
    found = P.differential_ik(robot, q, levels, dt=dt, v=v)
    for _ in range(600):
        found = P.differential_ik(robot, q, levels, dt=dt, v=v)
        assert (np.abs(found.command) <= limits.velocity + 1e-9).all()
        assert (np.abs(found.command - v) <= limits.acceleration * dt + 1e-9).all()
        v = found.command
        q = q + v * dt
        assert (q <= limits.upper + 1e-9).all()
        assert (q >= limits.lower - 1e-9).all()
    assert robot.pose(q).position == pytest.approx(target.position, abs=1e-6)
    assert found.met["FramePose"]


def test_a_joint_at_its_limit_stays_there_while_the_others_carry_on():
    robot = PANDA
    q = robot.home.copy()
    q[3] = robot.limits.upper[3]
    levels = [T.FramePosition(target=robot.pose(q).position + np.array([0.1, 0, 0]))]
    free = P.differential_ik(robot, q, levels, dt=0.01, limits=False).command
    q_sign = np.sign(free[3])
    if q_sign < 0:
        levels = [T.FramePosition(target=robot.pose(q).position - np.array([0.1, 0, 0]))]
    found = P.differential_ik(robot, q, levels, dt=0.01)
    assert found.command[3] <= 1e-12
    assert found.met["FramePosition"]  # seven joints, three rows: the task does not suffer
    assert f"speed of {robot.dof_names[3]}" in found.limits


def test_clipping_would_have_bent_the_motion_where_the_qp_does_not():
    robot, q = PANDA, PANDA.home
    fast = T.FramePosition(target=robot.pose(q).position, feedforward=[0.0, 1.0, 1.0])
    free = P.differential_ik(robot, q, [fast], dt=0.01, limits=False).command
    found = P.differential_ik(robot, q, [fast], dt=0.01)
    clipped = np.clip(free, -robot.limits.velocity, robot.limits.velocity)
    J = robot.jacobian(q)[:3]
    wanted = np.array([0.0, 1.0, 1.0])
    assert np.linalg.norm(J @ found.command - wanted) <= np.linalg.norm(J @ clipped - wanted) + 1e-12
    assert np.linalg.norm(J @ found.command - wanted) < 1e-9


def test_acceleration_ik_keeps_speed_and_position_over_the_step():
    robot, dt = PANDA, 1e-2
    q, v = robot.home.copy(), np.zeros(7)
    levels = [T.FramePosition(target=robot.pose(q).position + np.array([0.2, 0.3, 0]), kp=400.0, kd=40.0)]
    for _ in range(200):
        found = P.acceleration_ik(robot, q, v, levels, dt=dt)
        assert (np.abs(found.command) <= robot.limits.acceleration + 1e-9).all()
        q, v = q + v * dt + found.command * dt**2 / 2, v + found.command * dt
        assert (np.abs(v) <= robot.limits.velocity + 1e-9).all()


def test_equal_priority_shares_by_weight():
    q = PANDA.home
    one = T.Posture(target=q, feedforward=np.ones(7), weight=3.0, name="a")
    two = T.Posture(target=q, feedforward=-np.ones(7), weight=1.0, name="b")
    found = P.differential_ik(PANDA, q, [[one, two]], dt=0.1, limits=False)
    assert found.command == pytest.approx(np.full(7, 0.5), abs=1e-12)


def test_bad_stacks_are_refused():
    with pytest.raises(InvalidInput, match=r"least.*task"):
        P.differential_ik(PANDA, PANDA.home, [], dt=0.01)
    with pytest.raises(NotFinite, match="q of panda"):
        P.inverse_dynamics(PANDA, np.full(7, np.nan), np.zeros(7), [T.Posture(target=PANDA.home)])
    with pytest.raises(InvalidInput, match="torque must be"):
        P.inverse_dynamics(PANDA, PANDA.home, np.zeros(7), [T.Posture(target=PANDA.home)], torque=[-1.0] * 7)
