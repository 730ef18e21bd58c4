"""Admittance: the equations of document 004 alone, then on an arm behind a joint servo."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from palpate.control.laws.admittance import Admittance, admittance_response
from palpate.control.references.reference import Hold, joint_target
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import Pose, matrix_from_rotation_vector
from palpate.world.clock import Clock
from palpate.world.config import Driver, PlantChange, Push, Surface, World

GAINS: dict[str, Any] = {"mass": (5.0,) * 6, "stiffness": (10.0,) * 6, "damping": (14.142,) * 6}
FORCE, TORQUE = (1.0, 2.0, 3.0), (1.0, 0.5, 1.0)


def document_wrenches(dt, duration=25.0):
    """Force 5–10 s, torque 15–20 s, held over each step."""
    t = (np.arange(round(duration / dt)) + 0.5) * dt
    h = np.zeros((len(t), 6))
    h[(t > 5) & (t < 10), :3] = FORCE
    h[(t > 15) & (t < 20), 3:] = TORQUE
    return h


def extrapolated(value, **law):
    """A value of the response at vanishing step: the method is of first order, so 2 x(dt/2) − x(dt)."""
    coarse, fine = (
        value(admittance_response(Admittance(**GAINS, **law), document_wrenches(dt), dt)) for dt in (1e-3, 5e-4)
    )
    return 2 * fine - coarse


def at(seconds, field):
    return lambda r: getattr(r, field)[np.argmin(abs(r.time - seconds))]


def test_translation_ends_the_push_where_the_exact_solution_does():
    found = extrapolated(at(10, "displacement"))
    np.testing.assert_allclose(found, (0.099314599454, 0.198629198907, 0.297943798361), atol=1e-7)


def test_a_step_of_one_millisecond_is_the_semi_implicit_one():
    response = admittance_response(Admittance(**GAINS), document_wrenches(1e-3), 1e-3)
    assert response.displacement[10000, 0] == pytest.approx(0.0993109519, abs=1e-10)


def test_translation_peaks_just_after_the_push_and_returns():
    """The exact motion, from the matrix exponential: it coasts on for some milliseconds."""
    A = np.array([[0.0, 1.0], [-10 / 5, -14.142 / 5]])
    rest = np.array([0.3, 0.0])
    end = rest - expm(5 * A) @ rest
    coast = [(expm(s * A) @ end)[0] for s in np.linspace(0, 0.02, 201)]
    peak = extrapolated(lambda r: r.displacement[:, 2].max())
    assert peak == pytest.approx(max(coast), abs=1e-6)
    assert max(coast) > end[0]
    final = extrapolated(at(25, "displacement"))
    np.testing.assert_allclose(final[2], (expm(15 * A) @ end)[0], atol=1e-9)


def test_steady_states_are_those_of_the_equations():
    steady = np.tile([*FORCE, *TORQUE], (40000, 1))
    euler = admittance_response(Admittance(**GAINS, rotation="euler"), steady, 1e-3)
    quat = admittance_response(Admittance(**GAINS), steady, 1e-3)
    np.testing.assert_allclose(euler.displacement[-1], (0.1, 0.2, 0.3), atol=1e-9)
    np.testing.assert_allclose(euler.angles[-1], (0.1, 0.059733549929, 0.100309991013), atol=1e-9)
    np.testing.assert_allclose(quat.angles[-1], np.arcsin(0.15) * np.array([2, 1, 2]) / 3, atol=1e-9)


def test_quaternion_turn_at_the_end_of_the_torque_is_the_exact_one():
    turn = extrapolated(at(20, "angles"))
    np.testing.assert_allclose(turn, 0.149441314198 * np.array([2, 1, 2]) / 3, atol=1e-7)


def test_euler_angles_follow_an_independent_integration():
    def T(a):
        return np.array(
            [
                [1, 0, np.sin(a[1])],
                [0, np.cos(a[0]), -np.cos(a[1]) * np.sin(a[0])],
                [0, np.sin(a[0]), np.cos(a[0]) * np.cos(a[1])],
            ]
        )

    def rate(_, x):
        return np.r_[x[3:], (T(x[:3]).T @ np.array(TORQUE) - 14.142 * x[3:] - 10 * x[:3]) / 5]

    exact = solve_ivp(rate, (0, 5), np.zeros(6), rtol=1e-11, atol=1e-13).y[:3, -1]
    np.testing.assert_allclose(extrapolated(at(20, "angles"), rotation="euler"), exact, atol=1e-7)


def test_a_turned_desired_frame_feels_the_moment_in_its_own_axes():
    R = matrix_from_rotation_vector([0.3, -1.1, 0.7])
    h = np.tile([0, 0, 0, *TORQUE], (40000, 1))
    law = Admittance(**{**GAINS, "stiffness": (10.0, 10.0, 10.0, 6.0, 10.0, 20.0)})
    response = admittance_response(law, h, 1e-3, Pose(np.zeros(3), R))
    e = response.angles[-1]
    angle = np.linalg.norm(e)
    eps, eta = np.sin(angle / 2) * e / angle, np.cos(angle / 2)
    bent = np.array([6.0, 10.0, 20.0]) * eps
    np.testing.assert_allclose(2 * (eta * bent + np.cross(eps, bent)), R.T @ TORQUE, atol=1e-8)


@pytest.mark.parametrize("rotation", ["quaternion", "euler"])
def test_without_a_wrench_the_compliant_pose_is_the_moving_desired_one(rotation):
    poses = [Pose(np.array([0.1 * k, 0, 0]), matrix_from_rotation_vector([0.1, 0.01 * k, 0.2])) for k in range(50)]
    response = admittance_response(Admittance(rotation=rotation), np.zeros((50, 6)), 1e-3, poses)
    for k, pose in enumerate(poses):
        np.testing.assert_allclose(response.position[k], pose.position, atol=1e-15)
        assert abs(response.quat_wxyz[k] @ pose.quat_wxyz) == pytest.approx(1, abs=1e-14)


def test_a_moment_about_the_base_is_moved_to_the_desired_frame():
    """A pure force line through the base has a moment about the desired frame: (0.2, 0.5, −0.4) N·m here."""
    pose = Pose(np.array([0.3, 0.2, 0.4]), np.eye(3))
    h = np.tile([*FORCE, 0, 0, 0], (40000, 1))
    base = admittance_response(Admittance(**GAINS, moment_about="base"), h, 1e-3, pose)
    tool = admittance_response(Admittance(**GAINS), h, 1e-3, pose)
    np.testing.assert_allclose(np.linalg.norm(base.angles[-1]), np.arcsin(np.linalg.norm([0.2, 0.5, -0.4]) / 10))
    assert np.linalg.norm(base.angles[-1]) == pytest.approx(0.067132453, abs=1e-6)
    assert not tool.angles.any()


def test_a_turn_beyond_half_a_revolution_stays_finite():
    response = admittance_response(Admittance(**GAINS), np.tile([0, 0, 0, 0, 0, 40.0], (20000, 1)), 1e-3)
    assert np.isfinite(response.angles).all()


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ({"mass": (5, 5, 5, 0, 5, 5)}, r"mass\[3\].*above 0, got 0"),
        ({"stiffness": (-1, 10, 10, 10, 10, 10)}, r"stiffness\[0\].*least 0, got -1"),
        ({"damping": (14, 14, 14, 14, 14, -3)}, r"damping\[5\].*least 0, got -3"),
        ({"stiffness": (0,) * 6}, r"damping\[0\] = 0 with mass 5 and stiffness 0"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, words):
    with pytest.raises(InvalidInput, match=words):
        Admittance(**gains).bind(load_robot("ur5e"))


def test_wrenches_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidInput, match=r"wrenches.*finite"):
        admittance_response(Admittance(), np.full((3, 6), np.nan), 1e-3)


# ------------------------------------------------------------------------------ full matrices, axes, directions


def full_gains():
    """Coupled M, D and K, symmetric and positive definite."""
    rng = np.random.default_rng(5)
    found = []
    for scale in (5.0, 14.0, 10.0):
        A = rng.uniform(-0.3, 0.3, (6, 6))
        found.append(scale * (np.eye(6) + 0.5 * (A + A.T)))
    return found


def as_rows(A):
    return tuple(map(tuple, A.tolist()))


def test_full_matrices_answer_as_the_coupled_linear_system_does():
    """Small wrenches: 2 ε is the rotation vector and Eᵀ is 1, so that the response is that of a matrix exponential."""
    M, D, K = full_gains()
    law, F = Admittance(mass=as_rows(M), damping=as_rows(D), stiffness=as_rows(K)), 1e-6 * np.arange(1.0, 7.0)
    A = np.block([[np.zeros((6, 6)), np.eye(6)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    rest = np.r_[np.linalg.solve(K, F), np.zeros(6)]
    exact = rest - expm(0.8 * A) @ rest
    coarse, fine = (admittance_response(law, np.tile(F, (round(0.8 / dt), 1)), dt) for dt in (1e-3, 5e-4))
    for name, place in (("displacement", slice(0, 3)), ("angles", slice(3, 6))):
        found = 2 * getattr(fine, name)[-1] - getattr(coarse, name)[-1]
        np.testing.assert_allclose(found, exact[place], rtol=1e-5, atol=1e-13)


def test_a_coupled_spring_at_a_large_turn_is_the_slope_of_its_potential():
    """At rest F = ∂U/∂x of U = ½ zᵀ K z, z = [Δp; 2 ε], by differences over shifts and turns of the compliant frame."""
    M, D, K = full_gains()
    F = np.array([0.5, -1.0, 0.8, 2.0, -1.5, 1.0])
    law = Admittance(mass=as_rows(M), damping=as_rows(D), stiffness=as_rows(K))
    response = admittance_response(law, np.tile(F, (60_000, 1)), 1e-3)
    p, r = response.displacement[-1], response.angles[-1]
    assert np.linalg.norm(r) > 0.3

    def energy(dp, turn):
        angle = np.linalg.norm(r)
        q = np.r_[np.cos(angle / 2), np.sin(angle / 2) * r / angle]
        half = 0.5 * turn  # to first order exp(½ turn) ⊗ q
        eps = q[1:] + half * q[0] + np.cross(half, q[1:])
        z = np.r_[p + dp, 2 * eps]
        return 0.5 * z @ K @ z

    h, zero = 1e-6, np.zeros(3)
    slope = [(energy(h * e, zero) - energy(-h * e, zero)) / (2 * h) for e in np.eye(3)]
    slope += [(energy(zero, h * e) - energy(zero, -h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(slope, F, atol=1e-7)


@pytest.mark.parametrize("axes", ["document", "world", "target", "tool"])
def test_gains_are_along_the_axes_that_are_named(axes):
    """One soft direction of translation and one of rotation, a small wrench: what yields lies along those axes."""
    R_d, turn = matrix_from_rotation_vector([0.3, -1.1, 0.7]), matrix_from_rotation_vector([0.2, 0.4, -0.9])
    quat = tuple(Pose(np.zeros(3), turn).quat_wxyz.tolist())
    soft = Admittance(stiffness=(1e-2, 1e4, 1e4, 1e4, 1e-2, 1e4), axes=axes, axes_quat_wxyz=quat)
    h = np.tile([1e-5, 2e-5, -1e-5, 1e-5, -2e-5, 1e-5], (4000, 1))
    response = admittance_response(soft, h, 1e-3, Pose(np.zeros(3), R_d))
    linear = {"document": turn, "world": turn}.get(axes, R_d @ turn)[:, 0]
    angular = {"world": R_d.T @ turn}.get(axes, turn)[:, 1]  # response.angles are in the desired frame
    for found, along in ((response.displacement[-1], linear), (response.angles[-1], angular)):
        np.testing.assert_allclose(abs(found @ along), np.linalg.norm(found), rtol=1e-6)
        assert np.linalg.norm(found) > 1e-6


def test_rotation_is_followed_along_the_axes_of_the_desired_frame_not_of_the_world():
    """Three links turn their tool freely about one axis: the elbow's, which is the tool's z wherever the tool is."""
    arm = load_robot("ur5e-3link")
    alone = Admittance(**GAINS, directions=("rz",)).traits.task_directions(arm)
    assert alone is not None
    assert alone[0] == "rz"
    with pytest.raises(InvalidInput, match=r"ry.*together.*rx"):
        Admittance(**GAINS, directions=("rx", "ry")).traits.task_directions(arm)
    world = Admittance(**GAINS, directions=("rx", "rz"), axes="world")  # the floor's normal, and along the elbow
    both = world.traits.task_directions(arm)
    assert both is not None
    assert both[:2] == ("rx", "rz")


def test_only_the_chosen_directions_yield():
    chosen = Admittance(**GAINS, directions=("y", "rz"))
    response = admittance_response(chosen, np.tile([*FORCE, *TORQUE], (40000, 1)), 1e-3)
    np.testing.assert_allclose(response.displacement[-1], (0, 0.2, 0), atol=1e-9)
    np.testing.assert_allclose(response.angles[-1], (0, 0, np.arcsin(0.1)), atol=1e-9)


def test_a_wanted_wrench_is_what_the_environment_should_do():
    """K Δx = F − F_d at rest: with F = F_d nothing moves, with F = 0 the frame goes against F_d."""
    robot = load_robot("ur5e")
    bound, q = Admittance(**GAINS).bind(robot), robot.home
    target = joint_target(robot, q)
    target.wrench[:] = (1.0, -2.0, 3.0, 0.1, 0.2, -0.1)
    for _ in range(20):
        bound.tick(robot, q, np.zeros(6), target=target, wrench=target.wrench)
    assert not bound.memory.c.displacement.any()
    for _ in range(40_000):
        bound.tick(robot, q, np.zeros(6), target=target)
        if bound.memory.c.displacement[0] < -0.0999:
            break
    np.testing.assert_allclose(bound.memory.c.displacement, (-0.1, 0.2, -0.3), rtol=2e-3)


def test_the_documents_three_joint_arm_yields_as_the_document_says():
    robot = load_robot("ur5e-3link")
    world = World(pushes=PUSHES[:1], **ROTORS)
    law, q = Admittance(**GAINS, directions=("x", "y", "z")), np.array([0.3, -0.9, 1.6])
    trace = simulate(Run(robot, law, world, Hold(), clock=Clock(duration=10.0), q_start=q))
    moved = trace["tool_position"][-1] - trace["tool_position"][0]
    np.testing.assert_allclose(moved, (0.0993, 0.1986, 0.2979), atol=1e-3)
    assert not trace.facts.remarks


@pytest.mark.parametrize(("name", "words"), [("ur5e-3link", "rx.*together"), ("planar2", "never moves.*z")])
def test_an_arm_that_cannot_yield_in_every_direction_is_refused_by_name(name, words):
    with pytest.raises(InvalidInput, match=words):
        Admittance().bind(load_robot(name))


def test_what_does_not_yield_is_held():
    """A UR5e that yields along z alone keeps its other directions under the same push."""
    robot, q = arm_and_start()
    push = Push(force=FORCE, torque=(0.2, 0.1, 0.2), duration=3.0)
    law = Admittance(**GAINS, directions=("z",))
    trace = simulate(Run(robot, law, World(pushes=(push,), **ROTORS), clock=Clock(duration=3.0), q_start=q))
    moved = trace["tool_position"][-1] - trace["tool_position"][0]
    assert moved[2] > 0.25
    assert np.abs(moved[:2]).max() < 1e-3
    assert abs(trace["tool_quat_wxyz"][-1] @ trace["tool_quat_wxyz"][0]) > np.cos(np.deg2rad(0.1))


def test_a_force_is_held_through_the_wanted_wrench():
    """Without stiffness the tool goes on until the wall gives what is wanted."""
    robot, q = arm_and_start()
    p = robot.pose(q).position
    wall = Surface(position=(p[0], p[1], p[2] - 0.01), stiffness=2000.0, damping=50.0)
    world = World(surfaces=(wall,), **ROTORS)
    law = Admittance(mass=(5.0,) * 6, damping=(200.0, 200.0, 200.0, 5, 5, 5), stiffness=(10, 10, 0, 10, 10, 10))
    reference = Hold(wrench=(0, 0, 8.0, 0, 0, 0))
    trace = simulate(Run(robot, law, world, reference, clock=Clock(duration=3.0), q_start=q))
    assert trace["measured_wrench"][-1, 2] == pytest.approx(8.0, abs=0.05)


def test_euler_angles_have_their_own_axes_alone():
    with pytest.raises(InvalidInput, match=r"Euler.*no other"):
        Admittance(rotation="euler", axes="world").bind(load_robot("ur5e"))


# ------------------------------------------------------------------------------------------------- trim


def trims(law, late, ticks):
    """The trim after each tick of an arm that stays behind its command by `late`, joint by joint."""
    robot = load_robot("ur5e")
    bound, q = law.bind(robot), robot.home
    target = joint_target(robot, q)
    bound.tick(robot, q, np.zeros(6), target=target, dt=1e-3)
    return [bound.tick(robot, q - late, np.zeros(6), target=target, dt=1e-3).terms["trim"] for _ in range(ticks)]


def test_the_trim_integrates_the_servos_error_up_to_its_bound():
    late = np.array([0.005, -0.005, 0.01, 0.0, 0.0199, -0.0199])  # the last two near the largest that counts
    found = trims(Admittance(trim=40.0, most_trim=0.02), late, 120)
    for k, trim in enumerate(found):
        np.testing.assert_allclose(trim, np.clip((k + 1) * 1e-3 * 40.0 * late, -0.02, 0.02), atol=1e-12)
    np.testing.assert_allclose(found[-1][[0, 1, 2]], (0.02, -0.02, 0.02), atol=1e-12)  # at the bound, no further


def test_an_arm_held_back_further_than_the_bound_winds_nothing_up():
    """Beyond the bound the trim keeps what it has: neither more, nor nothing."""
    robot = load_robot("ur5e")
    bound, q = Admittance(trim=40.0, most_trim=0.02).bind(robot), robot.home
    target, apart = joint_target(robot, q), np.array([0.021, -0.021, 0.3, -0.3, 0.0201, 5.0])
    bound.tick(robot, q, np.zeros(6), target=target, dt=1e-3)
    before = [bound.tick(robot, q - 0.01, np.zeros(6), target=target, dt=1e-3) for _ in range(10)][-1]
    np.testing.assert_allclose(before.terms["trim"], 10 * 1e-3 * 40.0 * 0.01, atol=1e-12)
    held = [bound.tick(robot, q - apart, np.zeros(6), target=target, dt=1e-3) for _ in range(50)][-1]
    np.testing.assert_allclose(held.terms["trim"], before.terms["trim"], atol=1e-15)


def test_a_velocity_servo_is_trimmed_in_proportion_to_its_error():
    late = np.array([0.005, -0.01, 0.3, 0.0, 0.02, -0.02])
    for trim in trims(Admittance(trim=7.0, servo="velocity"), late, 5):
        np.testing.assert_allclose(trim, 7.0 * late, atol=1e-12)


# ------------------------------------------------------------------------------------------------- on the arm

ROTORS = {"driver": Driver(servo_bandwidth=120.0), "plant": PlantChange(rotor_inertia=0.1)}
PUSHES = (
    Push(name="force", force=FORCE, start=5.0, duration=5.0),
    Push(name="torque", torque=TORQUE, start=15.0, duration=5.0),
)


def arm_and_start():
    robot = load_robot("ur5e")
    return robot, robot.inverse_kinematics(Pose(np.array([0.4, -0.1, 0.2]), robot.pose(robot.home).rotation))


@pytest.mark.parametrize("law", [{}, {"rotation": "euler"}, {"servo": "velocity"}, {"moment_about": "base"}])
def test_the_arm_follows_the_compliant_pose_within_a_millimetre_and_a_tenth_of_a_degree(law):
    robot, q = arm_and_start()
    law = Admittance(**GAINS, **law)
    trace = simulate(Run(robot, law, World(pushes=PUSHES, **ROTORS), Hold(), clock=Clock(duration=25.0), q_start=q))
    assert trace.outcome.kind == "completed"
    wrench = trace["measured_wrench"][:-1].copy()
    if law.moment_about == "base":
        wrench[:, 3:] += np.cross(trace["tool_position"][:-1], wrench[:, :3])
    wanted = admittance_response(law, wrench, 1e-3, robot.pose(q))
    assert np.linalg.norm(trace["tool_position"] - wanted.position, axis=1).max() < 1e-3
    cosine = abs(np.sum(trace["tool_quat_wxyz"] * wanted.quat_wxyz, axis=1))
    assert np.degrees(2 * np.arccos(np.minimum(cosine, 1))).max() < 0.1
    assert np.linalg.norm(wanted.displacement[10000]) > 0.37


def test_joint_speed_limits_hold_when_the_target_jumps():
    robot, q = arm_and_start()
    trace = simulate(
        Run(
            robot,
            Admittance(),
            World(**ROTORS),
            Hold(offset=(0.2, 0.2, 0.1)),
            clock=Clock(duration=1.5),
            q_start=q,
        )
    )
    speed = abs(np.diff(trace["tau.compliant"], axis=0)) / 1e-3
    assert (speed <= robot.limits.velocity * (1 + 1e-9)).all()
    assert speed.max() > 0.9 * robot.limits.velocity.min()
    np.testing.assert_allclose(trace["tool_position"][-1] - trace["tool_position"][0], (0.2, 0.2, 0.1), atol=1e-4)


def test_a_push_beyond_the_arms_reach_stays_finite():
    robot = load_robot("ur5e")
    world = World(pushes=(Push(force=(0, 0, 40.0), duration=4.0),), **ROTORS)
    trace = simulate(Run(robot, Admittance(), world, Hold(), clock=Clock(duration=5.0)))
    assert trace.outcome.kind == "completed"
    assert np.isfinite(trace["q"]).all()
    assert any(re.search(r"limited.*command", said) for said in trace.facts.remarks)
