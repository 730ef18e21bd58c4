"""Robot: variants against independent formulas, losses, errors with their texts, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import palpate as pp
from palpate.errors import (
    BadShape,
    InvalidInput,
    ModelError,
    NotFinite,
    SingularTask,
    UnknownName,
)

RANDOM = np.random.default_rng(11)


@pytest.fixture(scope="module")
def iiwa() -> pp.Robot:
    return pp.load_robot("iiwa14")


@pytest.fixture(scope="module")
def q(iiwa: pp.Robot):
    return RANDOM.uniform(iiwa.limits.lower, iiwa.limits.upper)


@pytest.fixture(scope="module")
def v(iiwa: pp.Robot):
    return RANDOM.normal(size=iiwa.nv)


def tensor() -> np.ndarray:
    """A random inertia tensor of real mass."""
    points = RANDOM.normal(size=(5, 3)) * 0.05
    return sum((p @ p * np.eye(3) - np.outer(p, p) for p in points), np.zeros((3, 3)))


def skew(w) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def spatial_inertia(mass: float, inertia, rotation) -> np.ndarray:
    """6×6 about the centre of mass, world axes."""
    out = np.zeros((6, 6))
    out[:3, :3], out[3:, 3:] = mass * np.eye(3), rotation @ inertia @ rotation.T
    return out


def jacobian_at(robot: pp.Robot, q, point) -> np.ndarray:
    """J of a point given in the tool frame, by shifting the tool's J: v_P = v + ω × R p."""
    J = robot.jacobian(q)
    arm = robot.pose(q).rotation @ point
    return np.vstack([J[:3] - skew(arm) @ J[3:], J[3:]])


# --- description --------------------------------------------------------------------------------------------


def test_description_names_joints_frames_and_units(iiwa) -> None:
    assert iiwa.nq == iiwa.nv == 7
    assert iiwa.joint_names == iiwa.dof_names == iiwa.coordinate_names == tuple(f"joint{i}" for i in range(1, 8))
    assert iiwa.dof_units == ("rad",) * 7
    assert iiwa.tool_frame == "tool"
    assert {"world", "base", "link7", "tool"} <= set(iiwa.frame_names)
    assert iiwa.mass == pytest.approx(5 + 5.76 + 6.35 + 3 * 3.5 + 1.8 + 1.2)
    assert repr(iiwa) == "Robot('iiwa14', 7 degrees of freedom, 30.61 kg, tool frame 'tool')"


def test_description_of_sliding_joints_is_in_metres() -> None:
    assert pp.load_robot("cartesian2").dof_units == ("m", "m")


def test_text_returns_a_note_or_none(iiwa) -> None:
    assert "KUKA" in (iiwa.text("provenance") or "")
    assert iiwa.text("no such note") is None


def test_home_is_the_keyframe_or_the_zero_clipped_into_the_limits(iiwa) -> None:
    assert iiwa.home == pytest.approx([0, np.pi / 4, 0, -np.pi / 2, 0, 0, 0])
    robot = pp.Robot.from_dh([pp.robot.DHLink(a=1.0, lower=0.2, upper=1.0), pp.robot.DHLink(a=1.0)])
    assert robot.home == pytest.approx([0.2, 0.0])


def test_limits_are_the_data_sheets(iiwa) -> None:
    assert np.degrees(iiwa.limits.upper) == pytest.approx([170, 120, 170, 120, 170, 120, 175])
    assert np.degrees(iiwa.limits.velocity) == pytest.approx([85, 85, 100, 75, 130, 135, 135])
    assert list(iiwa.limits.torque) == [320, 320, 176, 176, 110, 40, 40]


def test_spec_is_a_copy_that_leaves_the_robot_alone(iiwa, q) -> None:
    before = iiwa.mass_matrix(q)
    spec = iiwa.spec()
    spec.body("link7").mass = 100.0
    assert spec.copy().compile().body("link7").mass[0] == 100.0
    assert np.array_equal(iiwa.with_gravity([0, 0, -9.81]).mass_matrix(q), before)


def test_a_robot_does_not_change_when_the_description_it_was_made_from_does() -> None:
    spec = pp.load_robot("iiwa14").spec()
    robot = pp.Robot(spec)
    spec.body("link7").mass = 100.0
    assert robot.with_gravity([0, 0, 0]).mass == pytest.approx(robot.mass)


def test_what_a_robot_hands_out_is_a_copy(iiwa) -> None:
    iiwa.home[0] = 9.0
    iiwa.limits.upper[0] = 9.0
    assert iiwa.home[0] == 0.0
    assert iiwa.limits.upper[0] == pytest.approx(np.radians(170))


# --- kinematics ---------------------------------------------------------------------------------------------


def test_jacobian_is_the_rate_of_the_pose(iiwa, q) -> None:
    step = 1e-6
    for j in range(7):
        delta = step * np.eye(7)[j]
        ahead, behind = iiwa.pose(q + delta), iiwa.pose(q - delta)
        linear = (ahead.position - behind.position) / (2 * step)
        angular = Rotation.from_matrix(ahead.rotation @ behind.rotation.T).as_rotvec() / (2 * step)
        assert iiwa.jacobian(q)[:, j] == pytest.approx([*linear, *angular], abs=1e-9)


def test_drift_is_the_rate_of_the_jacobian(iiwa, q, v) -> None:
    step = 1e-6
    rate = (iiwa.jacobian(q + step * v) - iiwa.jacobian(q - step * v)) / (2 * step)
    assert iiwa.jacobian_drift(q, v) == pytest.approx(rate @ v, abs=1e-8)


@pytest.mark.parametrize("euler", ["XYZ", "ZYX"])
def test_analytical_jacobian_is_the_rate_of_the_euler_angles(iiwa, q, euler) -> None:
    step = 1e-6
    for j in range(7):
        delta = step * np.eye(7)[j]
        ahead, behind = (
            Rotation.from_matrix(iiwa.pose(q + s * delta).rotation).as_euler(euler) for s in (1.0, -1.0)
        )  # fmt: skip
        rate = iiwa.analytical_jacobian(q, euler=euler)[3:, j]
        assert rate == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)
    assert np.array_equal(iiwa.analytical_jacobian(q)[:3], iiwa.jacobian(q)[:3])


def test_terms_are_the_single_quantities(iiwa, q, v) -> None:
    """By the compiled equations and by the engine: equal to rounding."""
    terms = iiwa.terms(q, v, "link5")
    assert pytest.approx(iiwa.mass_matrix(q), rel=1e-12, abs=1e-12) == terms.M
    assert terms.bias == pytest.approx(iiwa.bias(q, v), rel=1e-12, abs=1e-12)
    assert terms.gravity == pytest.approx(iiwa.gravity(q), rel=1e-12, abs=1e-12)
    assert terms.position == pytest.approx(iiwa.pose(q, "link5").position, rel=1e-12, abs=1e-12)
    assert terms.rotation == pytest.approx(iiwa.pose(q, "link5").rotation, rel=1e-12, abs=1e-12)
    assert pytest.approx(iiwa.jacobian(q, "link5"), rel=1e-12, abs=1e-12) == terms.J
    assert terms.drift == pytest.approx(iiwa.jacobian_drift(q, v, "link5"), rel=1e-12, abs=1e-12)


def test_integrate_moves_joints_by_their_velocity(iiwa, q, v) -> None:
    assert iiwa.integrate(q, v, 0.1) == pytest.approx(q + 0.1 * v, abs=1e-15)


def test_velocity_map_of_joints_is_the_identity(iiwa, q) -> None:
    assert np.array_equal(iiwa.velocity_map(q), np.eye(7))


# --- dynamics -----------------------------------------------------------------------------------------------


def test_bias_without_velocity_is_gravity(iiwa, q) -> None:
    assert iiwa.bias(q, np.zeros(7)) == pytest.approx(iiwa.gravity(q), abs=1e-12)


def test_coriolis_matrix_times_velocity_is_bias_minus_gravity(iiwa, q, v) -> None:
    assert iiwa.coriolis_matrix(q, v) @ v == pytest.approx(iiwa.bias(q, v) - iiwa.gravity(q), abs=1e-12)


def test_mass_rate_minus_twice_coriolis_is_skew(iiwa, q, v) -> None:
    step = 1e-6
    rate = (iiwa.mass_matrix(q + step * v) - iiwa.mass_matrix(q - step * v)) / (2 * step)
    S = rate - 2 * iiwa.coriolis_matrix(q, v)
    assert np.abs(S + S.T).max() < 1e-8
    assert np.abs(S).max() > 0.1


def test_gravity_is_the_gradient_of_the_potential_energy(iiwa, q) -> None:
    step = 1e-6
    for j in range(7):
        delta = step * np.eye(7)[j]
        slope = (iiwa.potential_energy(q + delta) - iiwa.potential_energy(q - delta)) / (2 * step)
        assert iiwa.gravity(q)[j] == pytest.approx(slope, abs=1e-7)


def test_kinetic_energy_is_half_v_M_v(iiwa, q, v) -> None:
    assert iiwa.kinetic_energy(q, v) == pytest.approx(0.5 * v @ iiwa.mass_matrix(q) @ v, rel=1e-14)


def lossy_arm() -> pp.Robot:
    link: dict[str, Any] = dict(mass=2.0, com=(-0.2, 0.0, 0.01), inertia=(0.01, 0.02, 0.02))
    return pp.Robot.from_dh(
        [
            pp.robot.DHLink(a=0.4, alpha=0.3, damping=0.5, friction=1.5, motor_inertia=1e-4, gear=100, **link),
            pp.robot.DHLink(a=0.3, alpha=-1.0, d=0.1, damping=0.2, friction=0.7, **link),
            pp.robot.DHLink(a=0.3, d=0.1, kind="prismatic", damping=0.3, friction=2.0, **link),
        ]
    )


def test_sliding_joints_lose_damping_and_coulomb_friction() -> None:
    robot, q, v = lossy_arm(), np.array([0.3, -0.8, 0.1]), np.array([1.0, -1.0, 0.5])
    lost = robot.inverse_dynamics(q, v, np.zeros(3)) - robot.bias(q, v)
    assert lost == pytest.approx([0.5 * 1.0 + 1.5, -0.2 * 1.0 - 0.7, 0.3 * 0.5 + 2.0], rel=1e-12)
    assert robot.inverse_dynamics(q, v, np.zeros(3), losses=False) == pytest.approx(robot.bias(q, v), rel=1e-14)


@pytest.mark.parametrize("speed", [1.0, 1e-3, 0.0])
def test_inverse_dynamics_undoes_forward_dynamics_with_losses(speed) -> None:
    """To 1e-11, also where joints stick: the engine's friction is a function of acceleration solved to rounding."""
    robot, random = lossy_arm(), np.random.default_rng(2)
    for _ in range(50):
        q, v, tau = random.normal(size=3), speed * random.normal(size=3), 10 * random.normal(size=3)
        a = robot.forward_dynamics(q, v, tau)
        assert robot.inverse_dynamics(q, v, a) == pytest.approx(tau, abs=1e-11)
        a = random.normal(size=3)
        assert robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a)) == pytest.approx(a, abs=1e-11)


def test_inverse_dynamics_undoes_forward_dynamics_without_losses(iiwa, q, v) -> None:
    tau = RANDOM.normal(size=7)
    a = iiwa.forward_dynamics(q, v, tau, losses=False)
    assert iiwa.inverse_dynamics(q, v, a, losses=False) == pytest.approx(tau, abs=1e-11)
    assert iiwa.mass_matrix(q) @ a + iiwa.bias(q, v) == pytest.approx(tau, abs=1e-11)


def test_a_joint_at_rest_sticks_below_its_friction() -> None:
    """As far as the engine's soft friction allows: about a thousandth of the free acceleration remains."""
    robot, q, rest = lossy_arm(), np.array([0.3, 0.2, 0.1]), np.zeros(3)
    tau = robot.gravity(q) + np.array([0.0, 0.6, 0.0])
    free = robot.forward_dynamics(q, rest, tau, losses=False)
    assert np.abs(robot.forward_dynamics(q, rest, tau)).max() < 0.002 * np.abs(free).max()
    slipping = robot.forward_dynamics(q, rest, robot.gravity(q) + np.array([0.0, 30.0, 0.0]))
    assert slipping[1] > 1.0


def test_rotor_inertia_times_gear_squared_stands_on_the_diagonal() -> None:
    link: dict[str, Any] = dict(a=0.5, alpha=0.4, mass=2.0, com=(-0.2, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    plain = pp.Robot.from_dh([pp.robot.DHLink(**link), pp.robot.DHLink(**link)])
    geared = pp.Robot.from_dh([pp.robot.DHLink(motor_inertia=2e-4, gear=-80.0, **link), pp.robot.DHLink(**link)])
    q = np.array([0.2, -0.9])
    assert geared.mass_matrix(q) - plain.mass_matrix(q) == pytest.approx(np.diag([2e-4 * 80.0**2, 0.0]), abs=1e-13)
    assert geared.bias(q, q) == pytest.approx(plain.bias(q, q), abs=1e-13)


def test_energy_of_tendon_springs_belongs_to_the_posture_asked_for() -> None:
    text = """<mujoco><worldbody><body name="a"><geom size=".1"/><joint name="j" type="slide" axis="1 0 0"/></body>
    </worldbody><tendon><fixed stiffness="50" springlength="0"><joint joint="j" coef="2"/></fixed></tendon></mujoco>"""
    robot = pp.Robot.from_mjcf_text(text).with_gravity([0, 0, 0])
    for x in (0.3, -0.1):
        assert robot.potential_energy([x]) == pytest.approx(0.5 * 50 * (2 * x) ** 2)


# --- variants -----------------------------------------------------------------------------------------------


def test_payload_adds_its_inertia_through_the_jacobian(iiwa, q, v) -> None:
    com, inertia = np.array([0.02, -0.03, 0.1]), tensor()
    loaded = iiwa.with_payload(3.0, com, inertia)
    J = jacobian_at(iiwa, q, com)
    added = J.T @ spatial_inertia(3.0, inertia, iiwa.pose(q).rotation) @ J
    assert loaded.mass_matrix(q) - iiwa.mass_matrix(q) == pytest.approx(added, abs=1e-12)
    assert loaded.gravity(q) - iiwa.gravity(q) == pytest.approx(J[:3].T @ [0, 0, 3.0 * 9.81], abs=1e-11)
    assert loaded.mass == pytest.approx(iiwa.mass + 3.0)
    assert loaded.tool_frame == "tool"


def test_point_payload_at_a_named_frame(iiwa, q) -> None:
    loaded = iiwa.with_payload(2.0, frame="link4")
    J = iiwa.jacobian(q, "link4")[:3]
    assert loaded.mass_matrix(q) - iiwa.mass_matrix(q) == pytest.approx(2.0 * J.T @ J, abs=1e-11)


def test_two_payloads_are_one_of_both(iiwa, q, v) -> None:
    twice = iiwa.with_payload(1.0, (0, 0, 0.1)).with_payload(1.0, (0, 0, 0.1))
    once = iiwa.with_payload(2.0, (0, 0, 0.1))
    assert twice.bias(q, v) == pytest.approx(once.bias(q, v), abs=1e-11)


def test_tool_moves_the_tool_frame_to_its_tip(iiwa, q) -> None:
    X_ET = pp.spatial.Pose.exp([0.1, 0.0, 0.2, 0.3, -0.5, 0.1])
    equipped = iiwa.with_tool(0.5, (0, 0, 0.05), tip=X_ET)
    assert equipped.tool_frame == "tool_tip"
    assert equipped.pose(q).matrix == pytest.approx((iiwa.pose(q) @ X_ET).matrix, abs=1e-14)
    assert equipped.pose(q, "tool").matrix == pytest.approx(iiwa.pose(q).matrix, abs=1e-15)
    assert equipped.with_tool(0.1, tip=X_ET).tool_frame == "tool_tip2"


def test_base_carries_the_robot_and_turns_its_gravity(iiwa, q, v) -> None:
    X_WB = pp.spatial.Pose([0.3, -0.2, 1.0], Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix())
    moved = iiwa.with_base(X_WB)
    assert moved.pose(q).matrix == pytest.approx((X_WB @ iiwa.pose(q)).matrix, abs=1e-14)
    assert moved.mass_matrix(q) == pytest.approx(iiwa.mass_matrix(q), abs=1e-13)
    turned = iiwa.with_gravity(X_WB.rotation.T @ [0, 0, -9.81])
    assert moved.gravity(q) == pytest.approx(turned.gravity(q), abs=1e-11)
    R = np.kron(np.eye(2), X_WB.rotation)
    assert moved.jacobian(q) == pytest.approx(R @ iiwa.jacobian(q), abs=1e-14)


def test_bases_compose(iiwa, q) -> None:
    X, Y = pp.spatial.Pose.exp([1, 2, 3, 0.1, 0.2, 0.3]), pp.spatial.Pose.exp([0.5, 0, 0, 0, -0.7, 0])
    assert iiwa.with_base(X).with_base(Y).pose(q).matrix == pytest.approx((Y @ X @ iiwa.pose(q)).matrix, abs=1e-14)


def test_base_of_a_robot_described_by_euler_angles_and_frames() -> None:
    text = """<mujoco><worldbody><frame pos="0 0 1"><body name="a" pos="1 0 0" euler="0 0 90"><geom size=".1"/>
    <joint name="j" axis="1 0 0"/></body></frame></worldbody></mujoco>"""
    robot, X = pp.Robot.from_mjcf_text(text), pp.spatial.Pose.exp([0.1, 0.2, 0.3, 0.5, 0.0, 0.0])
    assert robot.pose([0.0]).position == pytest.approx([1, 0, 1])
    assert robot.with_base(X).pose([0.4]).matrix == pytest.approx((X @ robot.pose([0.4])).matrix, abs=1e-15)


def test_gravity_scales_with_the_acceleration(iiwa, q, v) -> None:
    moon = iiwa.with_gravity([0, 0, -1.62])
    assert moon.gravity(q) == pytest.approx(iiwa.gravity(q) * 1.62 / 9.81, abs=1e-12)
    assert np.array_equal(iiwa.with_gravity([0, 0, 0]).gravity(q), np.zeros(7))


def test_gravity_can_be_given_to_a_model_that_switched_it_off() -> None:
    text = """<mujoco><option><flag gravity="disable"/></option><worldbody><body name="a"><geom size=".1"/>
    <joint name="j" type="slide" axis="0 0 1"/></body></worldbody></mujoco>"""
    robot = pp.Robot.from_mjcf_text(text)
    assert robot.gravity([0.0]) == [0.0]
    assert robot.bias([0.0], [1.0]) == [0.0]
    assert robot.with_gravity([0, 0, -10.0]).gravity([0.0]) == pytest.approx([10 * robot.mass])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.with_payload(0.0), "mass.*greater.*0, got 0"),
        (lambda r: r.with_payload(np.nan), "mass.*finite.*nan"),
        (lambda r: r.with_payload(1.0, (0, 0)), r"com.*shape \(3,\), got \(2,\)"),
        (lambda r: r.with_payload(1.0, inertia=np.diag([1.0, 1.0, 3.0])), "inertia.*inequality"),
        (lambda r: r.with_payload(1.0, inertia=np.diag([-1.0, 1.0, 1.0])), "no negative principal moment"),
        (lambda r: r.with_payload(1.0, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "inertia.*symmetric"),
        (lambda r: r.with_payload(1.0, inertia="heavy"), "inertia.*numbers"),
        (lambda r: r.with_gravity([0, np.inf, 0]), "gravity.*finite.*inf.*index 1"),
        (lambda r: r.task_inertia(r.home, damping=-1.0), "damping.*0, got -1"),
        (lambda r: r.task_inertia(r.home, directions=np.eye(3)), r"directions.*shape \(any, 6\)"),
        (lambda r: r.integrate(r.home, r.home, np.nan), "dt.*finite"),
    ],
)
def test_impossible_variants_are_refused(iiwa, call, words) -> None:
    with pytest.raises(InvalidInput, match=words):
        call(iiwa)


# --- the inertia felt at the tool -----------------------------------------------------------------------------


def test_task_inertia_is_the_inverse_of_the_mobility(iiwa, q) -> None:
    J, M = iiwa.jacobian(q), iiwa.mass_matrix(q)
    assert iiwa.task_inertia(q) @ (J @ np.linalg.inv(M) @ J.T) == pytest.approx(np.eye(6), abs=1e-8)


def test_task_inertia_along_a_direction_is_the_mass_a_push_there_meets(iiwa, q) -> None:
    """Push the tool with a unit force: it accelerates by 1 / Λ."""
    direction = np.array([0.6, 0.0, 0.8, 0.0, 0.0, 0.0])
    J = iiwa.jacobian(q)
    a = iiwa.forward_dynamics(q, np.zeros(7), iiwa.gravity(q) + J.T @ direction)
    assert iiwa.task_inertia(q, directions=[direction])[0, 0] == pytest.approx(1 / (direction @ J @ a), rel=1e-9)


def test_task_inertia_refuses_a_singular_posture(iiwa) -> None:
    stretched = np.zeros(7)
    with pytest.raises(SingularTask, match=r"task.*'tool'.*smallest") as caught:
        iiwa.task_inertia(stretched)
    assert caught.value.smallest_singular_value < 1e-12
    assert np.isfinite(iiwa.task_inertia(stretched, damping=0.1)).all()


def test_task_of_more_directions_than_joints_is_singular() -> None:
    planar = pp.load_robot("planar3")
    with pytest.raises(SingularTask):
        planar.task_inertia(planar.home)
    assert planar.smallest_singular_value(planar.home) == 0.0
    assert planar.manipulability(planar.home) == 0.0


def test_manipulability_is_the_root_of_the_determinant(iiwa, q) -> None:
    J = iiwa.jacobian(q)
    assert iiwa.manipulability(q) == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-9)
    planar, directions = pp.load_robot("planar2"), np.eye(6)[:2]
    assert planar.manipulability([0.3, 0.7], directions=directions) == pytest.approx(abs(np.sin(0.7)))
    values = np.linalg.svd(planar.jacobian([0.3, 0.7])[:2], compute_uv=False)
    assert planar.smallest_singular_value([0.3, 0.7], directions=directions) == pytest.approx(values[-1])


# --- what is refused ----------------------------------------------------------------------------------------

STATE_CALLS = [
    lambda r, q, v: r.mass_matrix(q),
    lambda r, q, v: r.bias(q, v),
    lambda r, q, v: r.gravity(q),
    lambda r, q, v: r.coriolis_matrix(q, v),
    lambda r, q, v: r.inverse_dynamics(q, v, r.home),
    lambda r, q, v: r.inverse_dynamics(q, v, r.home, losses=False),
    lambda r, q, v: r.forward_dynamics(q, v, r.home),
    lambda r, q, v: r.forward_dynamics(q, v, r.home, losses=False),
    lambda r, q, v: r.kinetic_energy(q, v),
    lambda r, q, v: r.potential_energy(q),
    lambda r, q, v: r.pose(q),
    lambda r, q, v: r.jacobian(q),
    lambda r, q, v: r.analytical_jacobian(q),
    lambda r, q, v: r.jacobian_drift(q, v),
    lambda r, q, v: r.terms(q, v),
    lambda r, q, v: r.task_inertia(q),
    lambda r, q, v: r.manipulability(q),
    lambda r, q, v: r.integrate(q, v, 0.1),
    lambda r, q, v: r.velocity_map(q),
]


@pytest.mark.parametrize("call", STATE_CALLS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_position_that_is_no_number_is_named(iiwa, q, v, call, bad) -> None:
    broken = q.copy()
    broken[2] = bad
    with pytest.raises(NotFinite, match=f"q of iiwa14 must be finite, got {bad} at joint3"):
        call(iiwa, broken, v)


@pytest.mark.parametrize("call", [STATE_CALLS[i] for i in (1, 3, 4, 5, 6, 7, 8, 13, 14, 17)])
def test_a_velocity_that_is_no_number_is_named(iiwa, q, v, call) -> None:
    broken = v.copy()
    broken[4] = np.nan
    with pytest.raises(NotFinite, match=r"v of iiwa14.*finite.*nan.*joint5"):
        call(iiwa, q, broken)


@pytest.mark.parametrize("losses", [True, False])
def test_a_torque_or_acceleration_that_is_no_number_is_named(iiwa, q, v, losses) -> None:
    broken = v.copy()
    broken[0] = np.inf
    with pytest.raises(NotFinite, match=r"tau of iiwa14.*finite.*inf.*joint1"):
        iiwa.forward_dynamics(q, v, broken, losses=losses)
    with pytest.raises(NotFinite, match=r"a of iiwa14.*finite.*inf.*joint1"):
        iiwa.inverse_dynamics(q, v, broken, losses=losses)


@pytest.mark.parametrize("call", STATE_CALLS)
def test_a_position_of_the_wrong_shape_is_refused(iiwa, q, v, call) -> None:
    with pytest.raises(BadShape, match=r"q of iiwa14.*shape \(7,\), got \(6,\)"):
        call(iiwa, q[:6], v)
    with pytest.raises(BadShape, match=r"q of iiwa14.*shape \(7,\), got \(1, 7\)"):
        call(iiwa, q[None], v)
    with pytest.raises(InvalidInput, match=r"q of iiwa14.*numbers.*'straight'"):
        call(iiwa, "straight", v)


def test_a_velocity_of_the_wrong_shape_is_refused(iiwa, q) -> None:
    with pytest.raises(BadShape, match=r"v of iiwa14.*shape \(7,\), got \(8,\)"):
        iiwa.bias(q, np.zeros(8))
    with pytest.raises(BadShape, match=r"tau of iiwa14.*shape \(7,\), got \(0,\)"):
        iiwa.forward_dynamics(q, q, [])


def test_an_unknown_frame_is_named_with_its_neighbours(iiwa, q) -> None:
    with pytest.raises(UnknownName, match=r"unknown frame 'link77'; known: .*link6, link7.*\n.*mean 'link7'"):
        iiwa.pose(q, "link77")
    with pytest.raises(UnknownName, match="unknown frame 'flnge'"):
        iiwa.with_payload(1.0, frame="flnge")


def test_read_only_lists_and_integers_are_welcome(iiwa, q) -> None:
    frozen = q.copy()
    frozen.flags.writeable = False
    assert np.array_equal(iiwa.mass_matrix(frozen), iiwa.mass_matrix(q))
    assert np.array_equal(iiwa.mass_matrix(list(q)), iiwa.mass_matrix(q))
    assert np.array_equal(iiwa.mass_matrix([0] * 7), iiwa.mass_matrix(np.zeros(7)))
    assert np.array_equal(iiwa.mass_matrix(np.repeat(q, 2)[::2]), iiwa.mass_matrix(q))


def test_inputs_are_left_as_they_were(iiwa, q, v) -> None:
    kept, speed = q.copy(), v.copy()
    iiwa.terms(q, v)
    iiwa.forward_dynamics(q, v, v)
    iiwa.integrate(q, v, 1.0)
    iiwa.inverse_kinematics(iiwa.pose(q), seed=q)
    assert np.array_equal(q, kept)
    assert np.array_equal(v, speed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<mujoco><worldbody/></mujoco>", "has no moving joint"),
        ("<mujoco><worldbody>", "the MJCF text cannot be read"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "cannot be compiled"),
    ],
)
def test_a_text_that_is_no_robot_is_refused(text, words) -> None:
    with pytest.raises(ModelError, match=words):
        pp.Robot.from_mjcf_text(text)


def test_nameless_bodies_and_joints_get_names() -> None:
    text = """<mujoco><worldbody><body><geom size=".1"/><joint/><body pos="1 0 0"><geom size=".1"/><joint/>
    <site name="tool"/></body></body></worldbody></mujoco>"""
    robot = pp.Robot.from_mjcf_text(text, name="nameless")
    assert robot.joint_names == ("joint_0", "joint_1")
    assert robot.frame_names == ("world", "body_1", "body_2", "tool")
    assert robot.with_payload(1.0).mass == pytest.approx(robot.mass + 1.0)


def test_a_robot_leaves_no_log_file_behind(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    robot = pp.load_robot("planar2")
    data = mujoco.MjData(robot.model)
    data.qvel[:] = 1e12
    mujoco.mj_step(robot.model, data)
    assert list(tmp_path.iterdir()) == []


# --- threads ------------------------------------------------------------------------------------------------


def test_four_threads_get_the_very_same_numbers() -> None:
    robot, random = lossy_arm(), np.random.default_rng(5)
    states = [random.normal(size=(3, 3)) for _ in range(200)]

    def work(order):
        out = {}
        for i in order:
            q, v, tau = states[i]
            terms = robot.terms(q, v)
            out[i] = np.concatenate([
                terms.M.ravel(), terms.bias, terms.gravity, terms.J.ravel(), terms.drift,
                robot.forward_dynamics(q, v, tau), robot.coriolis_matrix(q, v).ravel(),
            ])  # fmt: skip
        return [out[i] for i in range(len(states))]

    orders = [random.permutation(200) for _ in range(4)]
    alone = work(range(200))
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(work, orders):
            assert np.array_equal(result, alone)
