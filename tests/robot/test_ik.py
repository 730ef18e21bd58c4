"""Inverse kinematics: every reachable pose is found within the limits, an unreachable one is refused with evidence."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.errors import BadShape, InvalidInput, NotFinite, UnknownName, Unreachable
from palpate.robot.ik import LONGEST_STEP, IkSearch, _step_within

POSES = 200
FULL = ("iiwa14", "panda", "ur5e")
POINTS = ("planar2", "planar3", "planar3-vertical", "ur5e-3link")


def reachable(robot: pp.Robot, count: int):
    random = np.random.default_rng(17)
    lower = np.where(np.isfinite(robot.limits.lower), robot.limits.lower, -np.pi)
    upper = np.where(np.isfinite(robot.limits.upper), robot.limits.upper, np.pi)
    return [robot.pose(random.uniform(lower, upper)) for _ in range(count)]


def inside(robot: pp.Robot, q) -> bool:
    return bool((q >= robot.limits.lower).all() and (q <= robot.limits.upper).all())


@pytest.mark.parametrize("name", FULL)
def test_every_reachable_pose_is_found_within_the_limits(name) -> None:
    robot = pp.load_robot(name)
    for X in reachable(robot, POSES):
        q = robot.inverse_kinematics(X)
        assert np.linalg.norm(robot.pose(q).error_to(X)[:3]) <= 1e-9
        assert np.linalg.norm(robot.pose(q).error_to(X)[3:]) <= 1e-9
        assert inside(robot, q)


@pytest.mark.parametrize("name", POINTS)
def test_every_reachable_point_is_found(name) -> None:
    robot = pp.load_robot(name)
    for X in reachable(robot, POSES):
        q = robot.inverse_kinematics(X.position)
        assert np.linalg.norm(robot.pose(q).position - X.position) <= 1e-9


def test_any_frame_can_be_placed() -> None:
    robot = pp.load_robot("iiwa14")
    X = robot.pose([0.4, 0.6, -0.3, -1.2, 0.5, 0.8, -0.2], "link7")
    q = robot.inverse_kinematics(X, "link7")
    assert robot.pose(q, "link7").matrix == pytest.approx(X.matrix, abs=2e-9)


def test_the_seed_is_kept_when_it_already_stands_there() -> None:
    robot = pp.load_robot("iiwa14")
    q = np.array([0.4, 0.6, -0.3, -1.2, 0.5, 0.8, -0.2])
    assert np.array_equal(robot.inverse_kinematics(robot.pose(q), seed=q), q)


def test_the_answer_stays_near_a_near_seed() -> None:
    robot = pp.load_robot("panda")
    q = robot.home + 0.05
    found = robot.inverse_kinematics(robot.pose(q), seed=robot.home)
    assert np.abs(found - robot.home).max() < 0.2


def test_no_joint_makes_a_needless_turn() -> None:
    """UR joints have two turns of travel; the answer never lies more than half a turn from the seed if it can."""
    robot = pp.load_robot("ur5e")
    for X in reachable(robot, 30):
        q = robot.inverse_kinematics(X)
        for turned in (q - 2 * np.pi, q + 2 * np.pi):
            nearer = np.abs(turned - robot.home) < np.abs(q - robot.home) - 1e-9
            allowed = (turned >= robot.limits.lower) & (turned <= robot.limits.upper)
            assert not (nearer & allowed).any()


def test_the_same_question_has_the_same_answer() -> None:
    robot = pp.load_robot("ur5e")
    X = reachable(robot, 1)[0]
    assert np.array_equal(robot.inverse_kinematics(X), robot.inverse_kinematics(X))


def test_a_point_out_of_reach_is_refused_with_the_nearest_posture() -> None:
    """The planar arm is 3 m long: a point at 3.5 m stays 500 mm away, on the straight line towards it."""
    robot = pp.load_robot("planar3")
    with pytest.raises(
        Unreachable,
        match=r"no posture.*planar3 within.*brings frame 'tool' there; nearest: 500 mm and 0° away after",
    ) as caught:
        robot.inverse_kinematics([2.1, 2.8, 0.0])
    assert caught.value.position_error == pytest.approx(0.5, abs=1e-6)
    assert robot.pose(np.asarray(caught.value.nearest)).position == pytest.approx([1.8, 2.4, 0.0], abs=1e-3)
    assert "joint limits" in str(caught.value)


def test_a_pose_beyond_the_limits_is_refused() -> None:
    """One joint limited to ±0.5 rad, asked to turn by 1: half a radian is missing."""
    robot = pp.Robot.from_dh([pp.robot.DHLink(lower=-0.5, upper=0.5, inertia=(1, 1, 1))])
    free = pp.Robot.from_dh([pp.robot.DHLink(inertia=(1, 1, 1))])
    with pytest.raises(Unreachable, match=r"nearest: 0 mm and 28.6° away after 3 starts") as caught:
        robot.inverse_kinematics(free.pose([1.0]), restarts=2)
    assert caught.value.angle_error == pytest.approx(0.5)
    assert caught.value.nearest == pytest.approx([0.5])


def test_one_sided_limits_are_respected() -> None:
    robot = pp.Robot.from_dh([pp.robot.DHLink(kind="prismatic", lower=0.2)])
    assert robot.inverse_kinematics([0.0, 0.0, 0.9]) == pytest.approx([0.9])
    with pytest.raises(Unreachable, match="nearest: 300 mm"):
        robot.inverse_kinematics([0.0, 0.0, -0.1])


def test_a_floating_machine_reaches_with_its_base_standing_still() -> None:
    robot = pp.load_robot("iiwa14").with_free_base()
    seed = robot.home.copy()
    seed[:3] = 0.3, -0.2, 1.0
    seed[3:7] = np.array([0.8, 0.0, 0.6, 0.0])
    target = seed.copy()
    target[7:] += 0.3
    q = robot.inverse_kinematics(robot.pose(target), seed=seed)
    assert np.array_equal(q[:7], seed[:7])
    assert robot.pose(q).matrix == pytest.approx(robot.pose(target).matrix, abs=2e-9)


def test_the_foot_of_a_quadruped_is_placed_by_its_own_leg() -> None:
    robot = pp.load_robot("quadruped")
    frame = next(name for name in robot.frame_names if "foot" in name)
    goal = robot.pose(robot.home, frame).position + np.array([0.02, 0.01, 0.05])
    q = robot.inverse_kinematics(goal, frame)
    assert robot.pose(q, frame).position == pytest.approx(goal, abs=1e-9)
    assert np.count_nonzero(np.abs(q - robot.home) > 1e-12) == 3


@pytest.mark.parametrize(
    ("target", "options", "error", "words"),
    [
        ([0.1, 0.2], {}, InvalidInput, r"three.*array.*\(2,\)"),
        (np.eye(4), {}, InvalidInput, r"Pose.* shape \(4, 4\)\n.*from_matrix"),
        ([0, np.nan, 0], {}, NotFinite, "target position.*finite.*nan.*index 1"),
        ([0, 0, 0], {"frame": "grip"}, UnknownName, r"unknown frame 'grip'"),
        ([0, 0, 0], {"seed": [0.0]}, BadShape, r"seed of iiwa14.*shape \(7,\)"),
        ([0, 0, 0], {"seed": [np.nan] * 7}, NotFinite, "seed of iiwa14.*finite.*nan.*joint1"),
        ([0, 0, 0], {"restarts": -1}, InvalidInput, "restarts.*least 0, got -1"),
        ([0, 0, 0], {"position_tolerance": 0}, InvalidInput, "position_tolerance.*greater.*0"),
        ([0, 0, 0], {"angle_tolerance": np.nan}, NotFinite, "angle_tolerance.*finite.*nan"),
    ],
)
def test_questions_without_meaning_are_refused(target, options, error, words) -> None:
    with pytest.raises(error, match=words):
        pp.load_robot("iiwa14").inverse_kinematics(target, **options)


def test_ball_joints_are_refused() -> None:
    joint = '<body name="a"><geom size=".1"/><joint name="j" type="ball"/></body>'
    text = f"<mujoco><worldbody>{joint}</worldbody></mujoco>"
    with pytest.raises(InvalidInput, match=r"inverse.*ball.*some"):
        pp.Robot.from_mjcf_text(text, name="ball").inverse_kinematics([0, 0, 0])


def test_joints_at_their_limits_leave_the_whole_step_to_the_others():
    """Joints that would push outward stay; the damped least-squares step of the others alone makes up for them."""
    random, n, rows, damping = np.random.default_rng(3), 5, 3, 1e-3
    met = 0
    for _ in range(40):
        J, e = random.normal(size=(rows, n)), 0.05 * random.normal(size=rows)
        x = np.array([1.0, -1.0, 0.0, 1.0, 0.2])
        search = IkSearch(
            {"rows": rows, "n": n, "nq": n, "nv": n}, frame=pp.load_robot("pendulum").frame(None).record,
            fixed=np.zeros(n), position_map=np.eye(n), velocity_map=np.eye(n), lower=-np.ones(n), upper=np.ones(n),
            position=np.zeros(3), rotation=np.eye(3), position_tolerance=1e-6, angle_tolerance=1e-6,
        )  # fmt: skip
        search.J[:], search.error[:rows] = J, e
        _step_within(search, x, damping)
        free = np.asarray(search.blocked) == 0
        met += not free.all()
        reduced = J[:, free]
        expected = np.zeros(n)
        expected[free] = reduced.T @ np.linalg.solve(reduced @ reduced.T + damping * np.eye(rows), e)
        expected *= min(1.0, LONGEST_STEP / np.abs(expected).max())
        assert search.step == pytest.approx(expected, abs=1e-12)
        assert not ((x >= 1) & (np.asarray(search.step) > 0)).any()
        assert not ((x <= -1) & (np.asarray(search.step) < 0)).any()
        unbounded = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(rows), e)
        outward = ((x >= 1) & (unbounded > 0)) | ((x <= -1) & (unbounded < 0))
        assert (~free)[outward].all()
    assert met > 10


@pytest.mark.parametrize("name", ["scara", "cartesian2"])
def test_slides_without_limits_are_searched_as_far_as_the_target_needs(name: str) -> None:
    robot, random = pp.load_robot(name), np.random.default_rng(3)
    slides = np.array(robot.dof_units) == "m"
    for size in (0.5, 3.0, 40.0):
        q = random.uniform(-1, 1, robot.nv) * np.where(slides, size, 1.0)
        target = robot.pose(q)
        for seed in (None, q):
            found = robot.inverse_kinematics(target, seed=seed)
            assert robot.pose(found).position == pytest.approx(target.position, abs=1e-6)


def test_an_unreachable_target_tells_how_far_slides_without_limits_were_searched() -> None:
    with pytest.raises(Unreachable, match=r"joint1 from -1\.\d+ to 1\.\d+ m, joint2 .* without limits"):
        pp.load_robot("cartesian2").inverse_kinematics([1.1, 0, 1.0])
