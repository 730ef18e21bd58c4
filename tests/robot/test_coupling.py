"""Joints that mimic another: one degree of freedom, every term reduced by G."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from palpate.errors import BadShape, InvalidInput, ModelError, NotFinite
from palpate.robot.mechanics.tree import FixedFrame, Joint, Link, Mimic, Tree
from palpate.robot.robot import Robot

RANDOM = np.random.default_rng(31)
G = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -0.8]])
OFFSET = np.array([0.0, 0.0, 0.25])


FOLLOW = Mimic("left", -0.8, 0.25)


def gripper(mimic: Mimic | None = FOLLOW, friction: float = 0.0, damping: float = 0.0) -> Robot:
    """A wrist with two fingers on inclined slides; the right one follows the left."""
    body = Link("wrist", 1.5, np.array([0.1, 0.02, 0.0]), np.diag([0.01, 0.02, 0.02]))
    fingers = [replace(body, name=name, mass=0.3) for name in ("left_finger", "right_finger")]
    turn = Joint("turn", "revolute", "base", "wrist", lower=-2.0, upper=2.0, velocity=3.0, effort=20.0)
    slide = Joint(
        "left", "prismatic", "wrist", "left_finger", np.array([0.2, 0.05, 0.0]), axis=np.array([0.6, 0.8, 0.0]),
        lower=-0.5, upper=0.5, velocity=1.0, friction=friction, damping=damping,
    )  # fmt: skip
    other = replace(
        slide, name="right", child="right_finger", axis=np.array([0.0, 0.6, 0.8]), mimic=mimic,
        lower=-0.1, upper=0.6, velocity=0.4,
    )  # fmt: skip
    tip = FixedFrame("tip", "right_finger", np.array([0.1, 0.0, 0.0]))
    base = Link("base", 1.0, np.zeros(3), 0.01 * np.eye(3))
    return Robot.from_tree(Tree("gripper", (base, body, *fingers), (turn, slide, other), (tip,)), tool_frame="tip")


def test_a_mimic_joint_is_no_coordinate() -> None:
    robot = gripper()
    assert (robot.nq, robot.nv) == (2, 2)
    assert robot.joint_names == robot.dof_names == robot.coordinate_names == ("turn", "left")
    assert robot.dof_units == ("rad", "m")
    assert robot.home.shape == (2,)
    assert np.array_equal(robot.velocity_map([0.1, 0.2]), np.eye(2))
    assert robot.integrate([0.1, 0.2], [1.0, 2.0], 0.5) == pytest.approx([0.6, 1.2])


def test_every_term_is_the_open_machines_reduced_by_G() -> None:
    """Against the same gripper whose finger is free: q_all = G q + c, M = Gᵀ M_all G."""
    robot, free = gripper(), gripper(mimic=None)
    q, v, a = RANDOM.uniform(-0.4, 0.4, (3, 2))
    Q, V = G @ q + OFFSET, G @ v
    assert robot.mass_matrix(q) == pytest.approx(G.T @ free.mass_matrix(Q) @ G, abs=1e-13)
    assert robot.bias(q, v) == pytest.approx(G.T @ free.bias(Q, V), abs=1e-12)
    assert robot.gravity(q) == pytest.approx(G.T @ free.gravity(Q), abs=1e-12)
    assert robot.coriolis_matrix(q, v) == pytest.approx(G.T @ free.coriolis_matrix(Q, V) @ G, abs=1e-13)
    assert robot.jacobian(q) == pytest.approx(free.jacobian(Q) @ G, abs=1e-14)
    assert robot.pose(q).matrix == pytest.approx(free.pose(Q).matrix, abs=1e-15)
    assert robot.jacobian_drift(q, v) == pytest.approx(free.jacobian_drift(Q, V), abs=1e-13)
    assert robot.potential_energy(q) == pytest.approx(free.potential_energy(Q))
    assert robot.kinetic_energy(q, v) == pytest.approx(free.kinetic_energy(Q, V))
    expected = G.T @ free.inverse_dynamics(Q, V, G @ a)
    assert robot.inverse_dynamics(q, v, a) == pytest.approx(expected, abs=1e-12)
    terms = robot.terms(q, v)
    assert pytest.approx(robot.mass_matrix(q), abs=1e-14) == terms.M
    assert pytest.approx(robot.jacobian(q), abs=1e-14) == terms.J


def test_a_gripper_agrees_with_pinocchio_reduced_by_G(twin) -> None:
    robot = gripper()
    other = twin(robot)  # knows nothing of the tie: three joints
    q, v = RANDOM.uniform(-0.4, 0.4, (2, 2))
    Q, V = G @ q + OFFSET, G @ v
    assert robot.mass_matrix(q) == pytest.approx(G.T @ other.mass_matrix(Q) @ G, abs=1e-13)
    assert robot.bias(q, v) == pytest.approx(G.T @ other.bias(Q, V), abs=1e-12)
    assert robot.jacobian(q) == pytest.approx(other.jacobian(Q, "tip") @ G, abs=1e-13)
    assert robot.jacobian_drift(q, v) == pytest.approx(other.drift(Q, V, "tip"), abs=1e-13)


@pytest.mark.parametrize("speed", [1.0, 1e-4, 0.0])
@pytest.mark.parametrize("friction", [0.0, 1.5])
def test_inverse_dynamics_undoes_forward_dynamics_of_coupled_joints(speed, friction) -> None:
    """Also where the fingers stick: friction is solved together with the tie, to 1e-10 (its slope is 1e4 kg)."""
    robot = gripper(friction=friction, damping=0.3)
    for _ in range(30):
        q, v, tau = RANDOM.uniform(-0.4, 0.4, 2), speed * RANDOM.normal(size=2), 5 * RANDOM.normal(size=2)
        a = robot.forward_dynamics(q, v, tau)
        assert robot.inverse_dynamics(q, v, a) == pytest.approx(tau, abs=1e-10)


def test_coupled_sliding_friction_opposes_both_fingers() -> None:
    robot, free = gripper(friction=1.5), gripper(mimic=None)
    q, v = np.array([0.1, 0.2]), np.array([0.0, 0.5])
    lost = robot.inverse_dynamics(q, v, np.zeros(2)) - G.T @ free.bias(G @ q + OFFSET, G @ v)
    assert lost == pytest.approx([0.0, 1.5 + 0.8 * 1.5], rel=1e-9)


def test_limits_of_the_leader_keep_the_follower_inside_its_own() -> None:
    """−0.1 ≤ 0.25 − 0.8 x ≤ 0.6 and |0.8 ẋ| ≤ 0.4 are tighter than the leader's ±0.5 and 1."""
    limits = gripper().limits
    assert limits.lower == pytest.approx([-2.0, (0.25 - 0.6) / 0.8])
    assert limits.upper == pytest.approx([2.0, (0.25 + 0.1) / 0.8])
    assert limits.velocity == pytest.approx([3.0, 0.4 / 0.8])
    assert limits.torque == pytest.approx([20.0, np.inf])


def test_limits_of_a_branching_tree_stand_at_their_own_joints() -> None:
    """The engine numbers joints depth first; a table written breadth first must not mix them up."""
    links = tuple(Link(n, 1.0, np.zeros(3), 0.01 * np.eye(3)) for n in ("base", "a", "b", "a2"))
    joints = (
        Joint("to_a", "revolute", "base", "a", velocity=1.0),
        Joint("to_b", "revolute", "base", "b", velocity=2.0),
        Joint("to_a2", "revolute", "a", "a2", velocity=3.0),
    )
    robot = Robot.from_tree(Tree("fork", links, joints))
    speeds = dict(zip(robot.joint_names, robot.limits.velocity))
    assert speeds == {"to_a": 1.0, "to_b": 2.0, "to_a2": 3.0}


def test_inverse_kinematics_moves_coupled_joints_together() -> None:
    robot = gripper()
    for _ in range(10):
        q = RANDOM.uniform(robot.limits.lower, robot.limits.upper)
        found = robot.inverse_kinematics(robot.pose(q))
        assert robot.pose(found).matrix == pytest.approx(robot.pose(q).matrix, abs=1e-8)
        assert (found >= robot.limits.lower).all()
        assert (found <= robot.limits.upper).all()


def mjcf(equalities: str, ref: str = "") -> str:
    joints = "".join(
        f'<body name="b{i}" pos="0 0 {i}"><geom size=".1"/><joint name="j{i}" axis="0 1 0" {ref}/></body>'
        for i in range(3)
    )
    return (
        f'<mujoco><compiler angle="radian"/><worldbody>{joints}</worldbody><equality>{equalities}</equality></mujoco>'
    )


def test_chains_of_mimics_lead_to_the_one_free_joint() -> None:
    """j2 = 2 j1 + 0.1, j1 = −3 j0 + 0.5."""
    second = '<joint joint1="j2" joint2="j1" polycoef="0.1 2 0 0 0"/>'
    first = '<joint joint1="j1" joint2="j0" polycoef="0.5 -3 0 0 0"/>'
    robot = Robot.from_mjcf_text(mjcf(second + first))
    x = 0.3
    for body, angle in (("b0", x), ("b1", -3 * x + 0.5), ("b2", 2 * (-3 * x + 0.5) + 0.1)):
        c, s = np.cos(angle), np.sin(angle)
        assert robot.pose([x], body).rotation == pytest.approx(np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]))


def test_the_engine_counts_ties_from_reference_positions() -> None:
    """With ref = 0.2 on both, j1 − 0.2 = 0.5 + 2 (j0 − 0.2), and a body turns by q − ref."""
    robot = Robot.from_mjcf_text(mjcf('<joint joint1="j1" joint2="j0" polycoef="0.5 2 0 0 0"/>', 'ref="0.2"'))
    turned = robot.pose([0.7, 0.2], "b1").rotation
    assert np.arctan2(turned[0, 2], turned[0, 0]) == pytest.approx(0.5 + 2 * (0.7 - 0.2))


def test_a_joint_tied_to_nothing_stands_still() -> None:
    robot = Robot.from_mjcf_text(mjcf('<joint joint1="j1" polycoef="0.5 0 0 0 0"/>'))
    assert robot.joint_names == ("j0", "j2")
    turned = robot.pose([0.7, 0.2], "b1").rotation
    assert np.arctan2(turned[0, 2], turned[0, 0]) == pytest.approx(0.5)
    assert np.array_equal(robot.jacobian([0.7, 0.2], "b1"), np.zeros((6, 2)))


@pytest.mark.parametrize(
    ("ties", "words"),
    [
        ('<joint joint1="j1" joint2="j0" polycoef="0 1 2 0 0"/>', "joint 'j1' mimics"),
        ('<joint joint1="j1" joint2="j0"/><joint joint1="j0" joint2="j1"/>', "follow.*ring"),
        ('<joint joint1="j1" joint2="j0"/><joint joint1="j1" joint2="j2"/>', "joint 'j1' mimics twice"),
    ],
)
def test_ties_that_are_no_line_are_refused(ties, words) -> None:
    with pytest.raises(ModelError, match=words):
        Robot.from_mjcf_text(mjcf(ties))


def test_a_floating_gripper_agrees_with_pinocchio_reduced_by_G(twin, state) -> None:
    """q_all = P q + c and v_all = G v, the base's seven and six before the joints."""
    robot = gripper().with_free_base()
    assert (robot.nq, robot.nv) == (9, 8)
    assert robot.joint_names == ("base_free", "turn", "left")
    assert robot.coordinates.coupled
    other = twin(robot)  # knows nothing of the tie: three joints on a free base
    for _ in range(5):
        q, v = state(robot, RANDOM)
        Q, V = np.concatenate([q, [0.25 - 0.8 * q[8]]]), np.concatenate([v, [-0.8 * v[7]]])
        W = robot.coordinates.map
        assert robot.coordinates.expand_position(q) == pytest.approx(Q)
        assert Q[robot.coordinates.kept_position] == pytest.approx(q)
        assert robot.mass_matrix(q) == pytest.approx(W.T @ other.mass_matrix(Q) @ W, abs=1e-12)
        assert robot.bias(q, v) == pytest.approx(W.T @ other.bias(Q, V), abs=1e-11)
        assert robot.gravity(q) == pytest.approx(W.T @ other.gravity(Q), abs=1e-11)
        assert robot.jacobian(q) == pytest.approx(other.jacobian(Q, "tip") @ W, abs=1e-12)
        assert robot.jacobian_drift(q, v) == pytest.approx(other.drift(Q, V, "tip"), abs=1e-11)
        tau = RANDOM.normal(size=8)
        accelerated = robot.forward_dynamics(q, v, tau)
        assert robot.inverse_dynamics(q, v, accelerated) == pytest.approx(tau, abs=1e-10)


def test_a_floating_gripper_moves_on_the_rotation_group(state) -> None:
    robot = gripper().with_free_base()
    q, v = state(robot, RANDOM)
    later = robot.integrate(q, v, 1e-7)
    assert robot.velocity_map(q) @ (later - q) / 1e-7 == pytest.approx(v, abs=1e-6)
    goal = robot.pose(robot.integrate(q, np.concatenate([np.zeros(6), [0.2, -0.1]]), 1.0))
    found = robot.inverse_kinematics(goal, seed=q)
    assert robot.pose(found).matrix == pytest.approx(goal.matrix, abs=1e-8)
    assert found[:7] == pytest.approx(q[:7])  # the base stays where the seed has it


def test_bad_states_of_coupled_robots_are_named() -> None:
    robot = gripper()
    with pytest.raises(NotFinite, match=r"q.*gripper.*finite.*nan.*turn"):
        robot.mass_matrix([np.nan, 0.0])
    with pytest.raises(NotFinite, match=r"v.*gripper.*finite.*inf.*left"):
        robot.terms([0.0, 0.0], [0.0, np.inf])
    with pytest.raises(NotFinite, match=r"tau.*gripper.*finite.*nan.*left"):
        robot.forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, np.nan])
    with pytest.raises(BadShape, match=r"q.*gripper.*shape \(2,\), got \(3,\)"):
        robot.pose([0.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match=r"dt.*finite"):
        robot.integrate([0.0, 0.0], [0.0, 0.0], np.nan)


def test_a_tree_with_a_lost_joint_is_refused() -> None:
    links = tuple(Link(n, 1.0, np.zeros(3), 0.01 * np.eye(3)) for n in ("base", "a", "b"))
    joints = (Joint("to_a", "revolute", "base", "a"), Joint("to_b", "revolute", "nowhere", "b"))
    with pytest.raises(ModelError, match=r"odd: joints to_b hang.*'base'"):
        Robot.from_tree(Tree("odd", links, joints))
