"""One compiled call for joint velocities, held to `differential_ik`, its errors, and SciPy's bounded least squares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import palpate as pp
from palpate.control.solve import priorities as P, tasks as T
from palpate.control.solve.velocity_solver import VelocitySolver
from palpate.errors import BadShape, InvalidInput, NotFinite, UnknownName
from palpate.spatial import Pose, matrix_from_rotation_vector

PANDA = pp.load_robot("panda")
ROBOTS = {"panda": PANDA, "ur5e": pp.load_robot("ur5e"), "planar2": pp.load_robot("planar2")}


def _posture(robot, rng, **more):
    return T.Posture(target=robot.home + rng.uniform(-0.6, 0.6, robot.nv), gain=20.0, **more)


def _near(robot, rng, size):
    """A pose some way from home's."""
    here, turn = robot.pose(robot.home), matrix_from_rotation_vector(rng.uniform(-size, size, 3))
    return Pose(here.position + rng.uniform(-size, size, 3), turn @ here.rotation)


def _stacks(robot, rng):
    """Stacks of levels: one task, by weight, by priority, of several frames and of some joints and directions."""
    frame, joints = robot.frame_names[len(robot.frame_names) // 2], robot.dof_names[:2]
    pose, other = T.FramePose(target=_near(robot, rng, 0.3), gain=5.0), T.FramePose(target=_near(robot, rng, 0.02))
    some = T.FramePosition(target=_near(robot, rng, 0.1).position, directions=[[1, 0, 0], [0.6, 0.8, 0]], frame=frame)
    turned = T.FrameOrientation(target=_near(robot, rng, 0.2).rotation, gain=2.0, feedforward=[0.1, 0.0, -0.2])
    middle = T.JointMiddle(gain=3.0)
    yield [pose]
    yield [[pose, _posture(robot, rng, weight=1e-2)]]
    yield [[other, _posture(robot, rng, weight=0.3), some]]
    yield [some, turned, _posture(robot, rng)]
    yield [[some, turned], _posture(robot, rng, joints=joints, feedforward=[0.5, -0.5]), middle]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_velocities_are_those_of_differential_ik(name):
    robot, rng, reached = ROBOTS[name], np.random.default_rng(5), 0
    lower, upper = np.maximum(robot.limits.lower, -3.0), np.minimum(robot.limits.upper, 3.0)
    for _ in range(20):
        for levels in _stacks(robot, rng):
            for limits in (True, False):
                solve = VelocitySolver(robot, levels, dt=2e-3, limits=limits)
                q, v = rng.uniform(lower, upper), rng.normal(size=robot.nv)
                for speed in (None, v):
                    x, full = solve(q, speed), P.differential_ik(robot, q, levels, dt=2e-3, v=speed, limits=limits)
                    assert x == pytest.approx(full.command, rel=1e-9, abs=1e-9)
                    assert solve.kept == (not full.notes)
                    if solve.kept:  # else there are joints without room, which may count as held or not
                        assert [f"speed of {joint}" for joint in solve.limits] == list(full.limits)
                    reached += len(solve.limits)
    assert reached > 100 or not np.isfinite(robot.limits.velocity).any()


def test_one_level_that_settles_every_joint_is_bounded_least_squares():
    rng, reached = np.random.default_rng(6), 0
    for _ in range(200):
        pose = T.FramePose(target=_near(PANDA, rng, 0.3), gain=rng.uniform(1, 30))
        posture = _posture(PANDA, rng, weight=10 ** rng.uniform(-3, 0))
        q, v = PANDA.home + rng.uniform(-0.3, 0.3, 7), 0.3 * rng.normal(size=7)
        solve = VelocitySolver(PANDA, [[pose, posture]], dt=1e-2)
        x, most, room = solve(q, v), PANDA.limits.velocity, PANDA.limits.acceleration * 1e-2
        here, root = PANDA.pose(q), posture.weight**0.5
        turn = pp.spatial.rotation_vector_from_matrix(pose.target.rotation @ here.rotation.T)
        b = [
            pose.gain * np.r_[pose.target.position - here.position, turn],
            root * 20.0 * (np.asarray(posture.target) - q),
        ]
        A = np.vstack([PANDA.jacobian(q), root * np.eye(7)])
        best = lsq_linear(
            A, np.concatenate(b), (np.maximum(-most, v - room), np.minimum(most, v + room)), "bvls", tol=1e-14
        )
        assert x == pytest.approx(best.x, abs=1e-8)
        reached += len(solve.limits)
    assert reached > 100


def test_a_moved_target_is_followed():
    levels = [[T.FramePose(target=PANDA.pose(PANDA.home)), T.Posture(target=PANDA.home, weight=0.1)]]
    solve, target, posture = VelocitySolver(PANDA, levels, dt=1e-3), _near(PANDA, np.random.default_rng(7), 0.1), None
    assert solve(PANDA.home) == pytest.approx(np.zeros(7), abs=1e-12)
    posture = PANDA.home + 0.1
    solve.aim(0, target)
    solve.aim(1, posture)
    moved = [[T.FramePose(target=target), T.Posture(target=posture, weight=0.1)]]
    assert solve(PANDA.home) == pytest.approx(P.differential_ik(PANDA, PANDA.home, moved, dt=1e-3).command, abs=1e-12)
    assert solve.answer(PANDA.home).residuals.keys() == {"FramePose", "Posture"}


def test_errors_are_those_of_differential_ik():
    levels = [T.FramePose(target=PANDA.pose(PANDA.home))]
    solve, far = VelocitySolver(PANDA, levels, dt=1e-3), PANDA.home.copy()
    far[2] = 1e12
    for q, v, error in (
        (PANDA.home[:5], None, BadShape),
        (PANDA.home * np.nan, None, NotFinite),
        (PANDA.home, np.full(7, np.inf), NotFinite),
        (PANDA.home, np.zeros(3), BadShape),
        (far, None, InvalidInput),
    ):
        with pytest.raises(error) as ours:
            solve(q, v)
        with pytest.raises(error) as theirs:
            P.differential_ik(PANDA, q, levels, dt=1e-3, v=v)
        assert type(ours.value) is type(theirs.value)
        assert str(ours.value) == str(theirs.value)
    assert solve(list(PANDA.home)) == pytest.approx(solve(PANDA.home), abs=0)
    assert solve(np.repeat(PANDA.home, 2)[::2]) == pytest.approx(solve(PANDA.home), abs=0)


def test_what_one_call_cannot_carry_is_refused_by_name():
    with pytest.raises(InvalidInput, match="CentreOfMass"):
        VelocitySolver(PANDA, [T.CentreOfMass(target=np.zeros(3))], dt=1e-3)
    with pytest.raises(InvalidInput, match=r"least.*task"):
        VelocitySolver(PANDA, [], dt=1e-3)
    with pytest.raises(InvalidInput, match="dt"):
        VelocitySolver(PANDA, [T.Posture(target=PANDA.home)], dt=0.0)
    with pytest.raises(UnknownName, match="joint99"):
        VelocitySolver(PANDA, [T.Posture(target=PANDA.home, joints=("joint99",))], dt=1e-3)
    solve = VelocitySolver(PANDA, [T.JointMiddle(), T.FramePose(target=PANDA.pose(PANDA.home))], dt=1e-3)
    for task, target in ((0, PANDA.home), (2, PANDA.home), (1, PANDA.home)):
        with pytest.raises(InvalidInput, match=r"target|no task"):
            solve.aim(task, target)


def test_a_joint_beyond_its_limit_is_brought_back():
    q = PANDA.home.copy()
    q[3] = PANDA.limits.upper[3] + 0.5
    levels = [T.Posture(target=PANDA.home)]
    solve = VelocitySolver(PANDA, levels, dt=1e-3)
    x = solve(q)
    assert x[3] == -PANDA.limits.velocity[3]
    assert not solve.kept
    assert x == pytest.approx(P.differential_ik(PANDA, q, levels, dt=1e-3).command, abs=1e-12)
