"""Each task's Jacobian, drift and error held to finite differences and to the motion they promise."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.control.solve import tasks as T
from palpate.errors import BadShape, InvalidInput, NotFinite, UnknownName
from palpate.spatial import Pose, matrix_from_rotation_vector

ROBOT = pp.load_robot("panda")
FRAMES = [name for name in ROBOT.frame_names if "link" in name]
TURN = matrix_from_rotation_vector([0.3, -0.2, 0.4])
TARGET = Pose(np.array([0.4, 0.1, 0.5]), TURN)

TASKS = {
    "pose": T.FramePose(target=TARGET),
    "three directions of a pose": T.FramePose(target=TARGET, directions=np.eye(6)[[0, 2, 4]]),
    "position": T.FramePosition(target=[0.4, 0.1, 0.5]),
    "one direction": T.FramePosition(target=[0.4, 0.1, 0.5], directions=[[0.6, 0.0, 0.8]]),
    "orientation": T.FrameOrientation(target=TURN),
    "another frame": T.FramePosition(target=[0.1, 0.2, 0.3], frame=FRAMES[4]),
    "relative pose": T.RelativePose(target=TARGET, frame=ROBOT.tool_frame, reference=FRAMES[3]),
    "centre of mass": T.CentreOfMass(target=[0.1, 0.0, 0.4]),
    "posture": T.Posture(target=np.linspace(-1, 1, 7)),
    "two joints": T.Posture(target=np.linspace(-1, 1, 7), joints=(ROBOT.dof_names[1], ROBOT.dof_names[4])),
}


def state(q, v):
    return T.State(ROBOT, q, v)


@pytest.fixture(params=range(3))
def motion(request):
    rng = np.random.default_rng(request.param)
    return ROBOT.home + rng.uniform(-0.3, 0.3, 7), rng.uniform(-1, 1, 7)


@pytest.mark.parametrize("name", TASKS)
def test_the_error_falls_at_the_rate_the_jacobian_says(name, motion):
    """ė = −J v to first order in the rotation error, so a target near the present pose is used for turns."""
    q, v = motion
    task = TASKS[name]
    if isinstance(task, T.FramePose):
        task = T.FramePose(target=ROBOT.pose(q), directions=task.directions)
    if isinstance(task, T.FrameOrientation):
        task = T.FrameOrientation(target=ROBOT.pose(q).rotation)
    if isinstance(task, T.RelativePose):
        a, b = ROBOT.pose(q, task.reference), ROBOT.pose(q, task.frame)
        here = Pose(a.rotation.T @ (b.position - a.position), a.rotation.T @ b.rotation)
        task = T.RelativePose(target=here, frame=task.frame, reference=task.reference)
    h = 1e-6
    change = (task.rows(state(q + h * v, v)).error - task.rows(state(q - h * v, v)).error) / (2 * h)
    assert change == pytest.approx(-task.rows(state(q, v)).J @ v, abs=1e-7)


@pytest.mark.parametrize("name", TASKS)
def test_the_drift_is_the_change_of_the_jacobian(name, motion):
    q, v = motion
    task, h = TASKS[name], 1e-6
    rate = (task.rows(state(q + h * v, v)).J - task.rows(state(q - h * v, v)).J) / (2 * h)
    assert task.rows(state(q, v)).drift == pytest.approx(rate @ v, abs=2e-7)


def test_joint_middle_descends_the_distance_from_the_middle(motion):
    q, v = motion
    limits = ROBOT.limits
    span = limits.upper - limits.lower

    def cost(q):
        return 0.5 * np.sum(((q - (limits.upper + limits.lower) / 2) / span) ** 2)

    slope = [(cost(q + e) - cost(q - e)) / 2e-6 for e in 1e-6 * np.eye(7)]
    assert T.JointMiddle().rows(state(q, v)).error == pytest.approx(-np.array(slope), abs=1e-9)


def test_manipulability_climbs(motion):
    q, v = motion
    step = T.Manipulability().rows(state(q, v)).error
    small = 1e-4 * step / np.linalg.norm(step)
    gain = ROBOT.manipulability(q + small) - ROBOT.manipulability(q - small)
    assert gain == pytest.approx(2e-4 * np.linalg.norm(step), rel=1e-3)


def test_wanted_velocity_and_acceleration_are_what_the_gains_say(motion):
    q, v = motion
    task = T.Posture(target=np.zeros(7), gain=2.0, kp=3.0, kd=4.0, feedforward=np.ones(7))
    rows = task.rows(state(q, v))
    assert task.velocity(rows) == pytest.approx(-2.0 * q + 1.0)
    assert task.acceleration(rows, v) == pytest.approx(-3.0 * q + 4.0 * (1.0 - v))


def test_bad_tasks_are_refused():
    here, floating = state(ROBOT.home, np.zeros(7)), pp.load_robot("iiwa14").with_free_base()
    with pytest.raises(NotFinite, match="target of FramePosition"):
        T.FramePosition(target=[np.nan, 0, 0])
    with pytest.raises(InvalidInput, match="kp of hand"):
        T.FramePosition(target=[0, 0, 0], kp=-1.0, name="hand")
    with pytest.raises(InvalidInput, match="weight"):
        T.FramePosition(target=[0, 0, 0], weight=0.0)
    with pytest.raises(InvalidInput):
        T.FrameOrientation(target=2 * np.eye(3))
    with pytest.raises(BadShape, match="7 entries"):
        T.Posture(target=[0.0]).rows(here)
    with pytest.raises(UnknownName, match="joint"):
        T.Posture(target=np.zeros(7), joints=("elbow",)).rows(here)
    with pytest.raises(UnknownName, match="frame"):
        T.FramePosition(target=[0, 0, 0], frame="nowhere").rows(here)
    with pytest.raises(InvalidInput, match="scalar joints"):
        T.Posture(target=np.zeros(13)).rows(T.State(floating, floating.home, np.zeros(13)))
