"""What the served robot says about itself, and its own controllers, against independent numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from palpate.errors import InvalidInput
from palpate.robot import Robot, load_robot
from palpate.spatial import Pose
from palpate.tools.serving.arm.arm import CARTESIAN_STIFFNESS, Arm, spring_damper
from palpate.tools.serving.arm.franka import franka_model
from palpate.tools.serving.arm.guiding import Guiding
from palpate.tools.serving.arm.limits import Limits
from palpate.tools.serving.arm.motion import ActiveMove, JointReference
from palpate.tools.serving.protocol import fci
from palpate.tools.serving.protocol.fci import Controller, Generator


def test_a_spring_damper_is_critically_damped_in_every_mode():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(7, 7))
    M, K = A @ A.T + np.eye(7), np.diag(rng.uniform(100, 3000, 7))
    stiffness, D, fastest = spring_damper(K, M, 1e9)
    assert np.allclose(stiffness, K, atol=1e-9 * K.max())
    system = np.block([[np.zeros((7, 7)), np.eye(7)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    poles = np.linalg.eigvals(system)
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    assert np.abs(poles.imag).max() < 1e-3 * omega.max()  # double poles, found to the root of rounding
    assert np.sort(-poles.real)[::2] == pytest.approx(np.sort(omega), rel=1e-3)
    assert fastest == pytest.approx(omega.max())


def test_a_mode_that_is_too_fast_is_softened_and_the_others_are_left():
    K, D, fastest = spring_damper(np.diag([100.0, 1e6]), np.eye(2), 250.0)
    assert np.allclose(K, np.diag([100.0, 250.0**2]))
    assert np.allclose(D, np.diag([20.0, 500.0]))
    assert fastest == pytest.approx(1000.0)


@pytest.mark.parametrize(("name", "load"), [("fr3", 0.0), ("panda", 0.0), ("panda", 1.3)])
def test_the_urdf_is_the_arm(name: str, load: float):
    pin = pytest.importorskip("pinocchio")
    robot = load_robot(name).with_base(Pose([0.2, 0.1, 0.5], np.eye(3)))
    if load:
        robot = robot.with_payload(load, (0.02, 0.05, 0.1), (3e-3, 2e-3, 1e-3), frame="hand")
    model = franka_model(robot)
    arm = pin.buildModelFromXML(model.urdf)
    data, q = arm.createData(), robot.home + 0.1
    pin.framesForwardKinematics(arm, data, q)
    flange = Pose.from_matrix(data.oMf[arm.getFrameId("link8")].homogeneous)
    assert np.abs(((model.X_WO @ flange).matrix) - robot.pose(q, "flange").matrix).max() < 1e-12
    end, joint = model.end_effector, arm.getJointId("joint7")
    if end.mass:  # clients add what the state says of the end effector
        extra = pin.Inertia(end.mass, end.com, end.tensor)
        arm.inertias[joint] += arm.frames[arm.getFrameId("link8")].placement.act(extra)
    M = pin.crba(arm, arm.createData(), q) + np.diag(robot.model.dof_armature)  # a URDF has no rotors
    assert np.abs(np.triu(M) - np.triu(robot.mass_matrix(q))).max() < 1e-12
    assert arm.upperPositionLimit == pytest.approx(robot.limits.upper)


@pytest.mark.parametrize(
    ("name", "words"), [("iiwa14", "iiwa14.*not a"), ("ur5e", "ur5e has 6 joints"), ("planar2", "2 joints")]
)
def test_what_is_no_franka_is_named(name: str, words: str):
    with pytest.raises(InvalidInput, match=words):
        franka_model(load_robot(name))


def test_external_forces_are_estimated_from_torques_alone():
    """An arm at rest under g(q) − Jᵀ F, F at the flange from the environment: the robot pushes back with −F."""
    from palpate.control.law import Tick, sizes_of

    robot = load_robot("fr3")
    arm, tick, q = Arm(robot, franka_model(robot), np.zeros(7), 1e-3), Tick(sizes_of(robot)), robot.home
    terms = robot.terms(q, np.zeros(7))
    for name in ("M", "bias", "gravity", "position", "rotation", "J"):
        getattr(tick, name)[...] = getattr(terms, name)
    F = np.array([-20.0, 3.0, 1.0, 0.2, -0.1, 0.3])
    tick.q[:], tick.tau[:] = q, terms.gravity - terms.J.T @ F
    for _ in range(300):
        arm.observe(tick)
    assert arm.wrench == pytest.approx(-F, rel=1e-6, abs=1e-6)
    assert arm.external == pytest.approx(-terms.J.T @ F, abs=1e-9)
    arm.state.X_EK[2, 3] = 0.1
    arm.observe(tick)
    r = arm.O_T_EE[:3, :3] @ [0.0, 0.0, 0.1]
    assert arm.wrench[3:] == pytest.approx(-(F[3:] - np.cross(r, F[:3])), rel=1e-5, abs=1e-5)


def test_torque_sensors_behind_elastic_gears_do_not_feel_the_motors():
    """Links under M v̇ + b alone: nothing outside acts, however the motors turn; else B v̇ would be missing."""
    robot, q = load_robot("fr3", joints="elastic"), load_robot("fr3").home
    B, a = robot.model.dof_armature[:7], np.array([3.0, -2.0, 1.0, 4.0, -5.0, 2.0, 6.0])
    terms, felt = robot.terms(q, np.zeros(7)), []
    tau = (terms.M - np.diag(B)) @ a + terms.bias
    for known in (True, False):
        arm = Arm(robot, franka_model(robot), np.zeros(7), 1e-3)
        if known:
            assert robot.joint_stiffness is not None
            arm.know_gears(robot.joint_stiffness, B, "torque")
        _observed(robot, arm, q, np.zeros(7), tau)
        _observed(robot, arm, q, 1e-3 * a, tau)
        felt.append(arm.external / arm.state.filter_gain)
    assert np.abs(felt[0]).max() < 1e-9
    assert felt[1] == pytest.approx(-B * a, rel=1e-9)


def test_an_announced_load_is_compensated_and_is_no_external_force():
    from palpate.control.law import Tick, sizes_of

    robot = load_robot("fr3")
    carrying = robot.with_payload(1.5, (0.01, 0.02, 0.05), frame="flange")
    arm, tick, q = Arm(robot, franka_model(robot), np.zeros(7), 1e-3), Tick(sizes_of(robot)), robot.home
    terms = robot.terms(q, np.zeros(7))
    for name in ("M", "bias", "gravity", "position", "rotation", "J"):
        getattr(tick, name)[...] = getattr(terms, name)
    tick.q[:], tick.tau[:] = q, carrying.gravity(q)
    arm.set_load((1.5, np.array([0.01, 0.02, 0.05]), np.zeros((3, 3))))
    for _ in range(100):
        arm.observe(tick)
    assert arm.gravity == pytest.approx(carrying.gravity(q), abs=1e-12)
    assert np.abs(arm.external).max() < 1e-9


def _observed(robot: Robot, arm: Arm, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
    """One tick's measurement, with the model's terms of that state."""
    from palpate.control.law import Tick, sizes_of

    tick, terms = Tick(sizes_of(robot)), robot.terms(q, v)
    for name in ("M", "bias", "gravity", "position", "rotation", "J"):
        getattr(tick, name)[...] = getattr(terms, name)
    tick.q[:], tick.v[:], tick.tau[:] = q, v, tau
    arm.observe(tick)


@pytest.mark.parametrize("moving", [False, True])
def test_rotors_that_accelerate_are_no_external_torque(moving: bool):
    """τ = (M + B) a + b drives links and rotors alone: external torque 0, at rest and in motion."""
    robot, period, rotor = load_robot("fr3"), 1e-3, np.linspace(0.1, 0.7, 7)
    arm, q, a = Arm(robot, franka_model(robot), rotor, period), robot.home, np.linspace(-2.0, 3.0, 7)
    v = np.linspace(0.4, -0.3, 7) if moving else np.zeros(7)
    terms = robot.terms(q, v)
    tau = (terms.M + np.diag(rotor)) @ a + terms.bias
    _observed(robot, arm, q, v, tau)
    _observed(robot, arm, q, v + a * period, tau)
    assert np.abs(arm.external).max() < 1e-9 * np.abs(tau).max()


def test_the_posture_spring_does_not_move_the_tool():
    """At its pose and twist the tool's spring is slack: J (M + B)⁻¹ (τ − C v) = 0, though the posture pulls."""
    robot, rotor = load_robot("fr3"), np.linspace(0.1, 0.7, 7)
    arm, q, v = Arm(robot, franka_model(robot), rotor, 1e-3), robot.home, np.linspace(-0.2, 0.3, 7)
    _observed(robot, arm, q, v, robot.gravity(q))
    posture = q + np.linspace(0.2, -0.3, 7)
    pulled = arm.cartesian_impedance(arm.O_T_EE, arm.J @ v, posture) - arm.coriolis
    assert np.abs(pulled).max() > 0.1
    acceleration = arm.J @ np.linalg.solve(arm.M + np.diag(rotor), pulled)
    assert np.abs(acceleration).max() < 1e-6 * np.abs(pulled).max()


def test_a_tool_goes_on_with_its_acceleration_where_a_command_is_lost():
    """x = ½ a t²: after a loss the twist is the one of constant acceleration, and the pose one step of it further."""
    robot, period = load_robot("fr3"), 1e-3
    arm, limits = Arm(robot, franka_model(robot), np.zeros(7), period), Limits(robot, period)
    _observed(robot, arm, robot.home, np.zeros(7), robot.gravity(robot.home))
    acceleration = np.array([0.5, -0.3, 0.2, 0.0, 0.0, 0.0])
    move = ActiveMove(
        1, Generator.CARTESIAN_VELOCITY, Controller.JOINT_IMPEDANCE, JointReference(robot.home), arm.O_T_EE.copy()
    )
    move.twist, move.acceleration, start = 0.1 * acceleration, acceleration, arm.O_T_EE[:3, 3].copy()
    assert move.miss(arm, limits) is None
    np.testing.assert_allclose(move.twist, (0.1 + period) * acceleration, rtol=1e-12)
    np.testing.assert_allclose(move.pose[:3, 3] - start, move.twist[:3] * period, atol=1e-15)
    X, _ = arm.pose_at(move.reference.q)
    np.testing.assert_allclose(X[:3, 3], move.pose[:3, 3], atol=1e-7)


def _turned(axis_from: int, axis_to: np.ndarray) -> np.ndarray:
    """A rotation whose column `axis_from` is a given direction."""
    other = np.cross(axis_to, [0.3, 0.5, 0.8])
    columns = {axis_from: axis_to, (axis_from + 1) % 3: other / np.linalg.norm(other)}
    columns[(axis_from + 2) % 3] = np.cross(columns[axis_from], columns[(axis_from + 1) % 3])
    return np.column_stack([columns[k] for k in range(3)])


def _stiffness_felt(arm: Arm, robot: Robot, direction: np.ndarray) -> np.ndarray:
    """Force per metre of the controller's spring where its goal lies in a direction."""
    goal, J = arm.O_T_EE.copy(), arm.state.J_K
    goal[:3, 3] += 1e-4 * direction
    torque = arm.cartesian_impedance(goal, np.zeros(6), arm.q.copy()) - arm.coriolis
    return np.linalg.lstsq(J.T, torque, rcond=None)[0][:3] / 1e-4


def test_the_stiffness_is_that_of_the_stiffness_frames_axes():
    robot = load_robot("fr3")
    arm = Arm(robot, franka_model(robot), np.full(7, 0.3), 1e-3)
    arm.set_cartesian_stiffness(np.array([1000.0, 1000.0, 100.0, 30.0, 30.0, 30.0]))
    _observed(robot, arm, robot.home, np.zeros(7), robot.gravity(robot.home))
    X_EK = np.eye(4)
    x, y = np.eye(3)[0], np.eye(3)[1]
    X_EK[:3, :3] = arm.O_T_EE[:3, :3].T @ _turned(2, x)  # K's z is the base's x
    arm.set_stiffness_frame(X_EK)
    _observed(robot, arm, robot.home, np.zeros(7), robot.gravity(robot.home))
    np.testing.assert_allclose(_stiffness_felt(arm, robot, x), 100.0 * x, atol=1e-6)
    np.testing.assert_allclose(_stiffness_felt(arm, robot, y), 1000.0 * y, atol=1e-6)
    assert arm.state.wrench_K[2] == pytest.approx(arm.wrench[0], abs=1e-12)


def test_the_spring_sits_at_the_stiffness_frame():
    """The tool turns about a K that lies elsewhere: K stays, so that only the spring of rotation pulls."""
    robot = load_robot("fr3")
    arm = Arm(robot, franka_model(robot), np.full(7, 0.3), 1e-3)
    arm.set_cartesian_stiffness(np.array([1000.0] * 3 + [30.0] * 3))
    X_EK = np.eye(4)
    X_EK[:3, 3] = 0.05, -0.02, 0.1
    arm.set_stiffness_frame(X_EK)
    _observed(robot, arm, robot.home, np.zeros(7), robot.gravity(robot.home))
    r, turn = arm.O_T_EE[:3, :3] @ X_EK[:3, 3], np.array([2e-4, -1e-4, 3e-4])
    goal = arm.advanced(arm.O_T_EE, np.concatenate([np.zeros(3), turn / 1e-3]))
    goal[:3, 3] += r - goal[:3, :3] @ X_EK[:3, 3]
    torque = arm.cartesian_impedance(goal, np.zeros(6), arm.q.copy()) - arm.coriolis
    wrench = np.linalg.lstsq(arm.state.J_K.T, torque, rcond=None)[0]
    np.testing.assert_allclose(wrench, np.concatenate([np.zeros(3), 30.0 * turn]), atol=1e-9)


def test_near_a_singularity_no_wrench_is_estimated():
    robot = load_robot("fr3")
    arm, stretched = Arm(robot, franka_model(robot), np.zeros(7), 1e-3), np.array([0.0, 0, 0, -0.01, 0, 0.6, 0])
    for q, near in ((robot.home, False), (stretched, True)):
        for _ in range(3):
            _observed(robot, arm, q, np.zeros(7), robot.gravity(q) + 1.0)
        smallest = np.linalg.svd(arm.state.J_K)[1][-1]
        assert bool(smallest < 0.02) is near
        assert arm.state.clear == pytest.approx(np.sum(np.linalg.svd(arm.state.J_K)[1] ** -2.0) ** -0.5, rel=1e-3)
        assert bool(np.any(arm.wrench)) is not near
        assert np.abs(arm.external).max() > 0.1


def test_the_first_state_is_that_of_an_arm_which_stood_there_before():
    robot = load_robot("fr3")
    arm, g = Arm(robot, franka_model(robot), np.zeros(7), 1e-3), robot.gravity(robot.home)
    _observed(robot, arm, robot.home, np.zeros(7), np.zeros(7))  # no torque has been measured yet
    np.testing.assert_allclose(arm.state.tau, g, atol=1e-12)
    assert not arm.state.tau_rate.any()
    _observed(robot, arm, robot.home, np.zeros(7), g + 0.002)
    np.testing.assert_allclose(arm.state.tau_rate, 2.0, rtol=1e-9)


def test_inverse_kinematics_leads_to_the_pose_and_turns_the_elbow_if_asked():
    robot = load_robot("fr3")
    arm, q = Arm(robot, franka_model(robot), np.zeros(7), 1e-3), robot.home.copy()
    goal = arm.advanced(arm.pose_at(q)[0], np.array([0.3, -0.2, 0.1, 0.4, 0.2, -0.3]))
    for elbow in (None, q[2] + 2e-4):
        step = arm.step_towards(goal, q, elbow)
        assert np.abs(arm.difference(goal, arm.pose_at(q + step)[0])).max() < 1e-6  # steps of 4e-4, second order
        if elbow is not None:
            assert q[2] + step[2] == pytest.approx(elbow, abs=1e-7)
    smallest = np.linalg.pinv(arm.pose_at(q)[1]) @ arm.difference(goal, arm.pose_at(q)[0])
    np.testing.assert_allclose(arm.step_towards(goal, q), smallest, atol=1e-7)


@pytest.mark.parametrize("elbow_free", [True, False])
def test_a_hand_moves_what_is_unlocked_and_the_rest_is_held(elbow_free: bool):
    """Of a displacement at rest the locked x pulls back with 3000 N/m, the free y and z with nothing."""
    robot = load_robot("fr3")
    arm = Arm(robot, franka_model(robot), np.full(7, 1.0), 1e-3)
    guiding, g = Guiding(arm), robot.gravity(robot.home)
    _observed(robot, arm, robot.home, np.zeros(7), g)
    arm.set_stiffness_frame(np.block([[arm.O_T_EE[:3, :3].T, np.zeros((3, 1))], [np.zeros((1, 3)), 1.0]]))
    _observed(robot, arm, robot.home, np.zeros(7), g)
    guiding.begin()
    assert not guiding.torque().any()
    guiding.unlock([False, True, True, True, True, True, elbow_free])
    q = robot.home + np.linalg.pinv(arm.J) @ np.array([1e-4, 2e-4, -3e-4, 0, 0, 0])
    _observed(robot, arm, q, np.zeros(7), g)
    moved = arm.O_T_EE[0, 3] - guiding._pose[0, 3]
    force = np.linalg.lstsq(arm.state.J_K.T, guiding.torque(), rcond=None)[0]
    np.testing.assert_allclose(force[:3], [-3000.0 * moved, 0.0, 0.0], atol=0.02)
    assert np.array_equal(arm.state.cartesian_stiffness, CARTESIAN_STIFFNESS)


def _standing(generator: Generator) -> tuple[Arm, Limits, ActiveMove]:
    """A motion that has just begun at the home posture."""
    robot, period = load_robot("fr3"), 1e-3
    arm = Arm(robot, franka_model(robot), np.zeros(7), period)
    _observed(robot, arm, robot.home, np.zeros(7), robot.gravity(robot.home))
    pose, _ = arm.pose_at(robot.home)
    move = ActiveMove(1, generator, Controller.JOINT_IMPEDANCE, JointReference(robot.home.copy()), pose)
    return arm, Limits(robot, period), move


@pytest.mark.parametrize(
    ("turn", "sign", "commands", "error"),
    [
        (1e-6, -1.0, 0, None),
        (1e-6, 1.0, 0, "cartesian_motion_generator_elbow_sign_inconsistent"),
        (0.1, -1.0, 0, "cartesian_motion_generator_start_elbow_invalid"),
        (0.1, -1.0, 5, "cartesian_motion_generator_elbow_limit_violation"),
    ],
)
def test_a_commanded_elbow_is_followed_or_has_the_makers_error(turn: float, sign: float, commands: int, error: str):
    arm, limits, move = _standing(Generator.CARTESIAN_POSITION)
    move.commands, before = commands, move.reference.q[2]
    command = np.zeros(1, fci.MOTION)
    command["O_T_EE_c"], command["elbow_c"], command["valid_elbow"] = move.pose.T.ravel(), (before + turn, sign), True
    assert move.follow(command[0], arm, limits) == error
    if error is None:
        assert move.reference.q[2] == pytest.approx(before + turn, abs=1e-9)
        assert move.reference.v[2] == pytest.approx(turn / 1e-3, rel=1e-2)
        assert move.reference.a[2] == pytest.approx(turn / 1e-6, rel=1e-2)


@pytest.mark.parametrize("wrong", ["scaled", "mirrored", "nan", "far"])
def test_a_commanded_pose_that_is_none_has_the_makers_error(wrong: str):
    arm, limits, move = _standing(Generator.CARTESIAN_POSITION)
    pose = move.pose.copy()
    if wrong == "scaled":
        pose[:3, :3] *= 1.01
    elif wrong == "mirrored":
        pose[:3, 0] *= -1.0
    else:
        pose[0, 3] = math.nan if wrong == "nan" else 10.1
    command = np.zeros(1, fci.MOTION)
    command["O_T_EE_c"] = pose.T.ravel()
    assert move.follow(command[0], arm, limits) == "cartesian_position_motion_generator_invalid_frame"


def test_torques_alone_never_accelerate_and_motions_do_by_what_is_commanded():
    _, limits, torques = _standing(Generator.NONE)
    torques.reference.a = np.full(7, 5.0)
    assert not torques.accelerates(limits)
    _, limits, motion = _standing(Generator.JOINT_VELOCITY)
    assert not motion.accelerates(limits)
    motion.reference.a = np.full(7, 5.0)
    assert motion.accelerates(limits)
