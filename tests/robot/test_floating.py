"""Machines with a free base: u = E q̇, and the base's conventions against Pinocchio's free-flyer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import palpate as pp
from palpate.checks import Array
from palpate.errors import BadRotation, InvalidInput, NotFinite
from palpate.robot.mechanics.motion import body_rate_map

RANDOM = np.random.default_rng(21)


@pytest.fixture(scope="module")
def quadruped() -> pp.Robot:
    return pp.load_robot("quadruped")


@pytest.fixture(scope="module")
def flying_arm() -> pp.Robot:
    return pp.load_robot("iiwa14").with_free_base()


def rotation_of(q: Array) -> Array:
    return Rotation.from_quat(q[3:7], scalar_first=True).as_matrix()


def tool_velocity(robot: pp.Robot, q: Array, u: Array, frame: str | None = None) -> Array:
    step = 1e-6
    ahead, behind = (robot.pose(robot.integrate(q, u, s * step), frame) for s in (1, -1))
    linear = (ahead.position - behind.position) / (2 * step)
    turn = Rotation.from_matrix(ahead.rotation @ behind.rotation.T).as_rotvec() / (2 * step)
    return np.concatenate([linear, turn])


def test_coordinates_of_a_free_base_are_named(quadruped) -> None:
    assert (quadruped.nq, quadruped.nv) == (19, 18)
    names = ("floating_x", "floating_y", "floating_z", "floating_qw", "floating_qx", "floating_qy", "floating_qz")
    assert quadruped.coordinate_names[:8] == (*names, "fl_abduction")
    assert quadruped.dof_names[:7] == (*(f"floating_{a}" for a in ("vx", "vy", "vz", "wx", "wy", "wz")), "fl_abduction")
    assert quadruped.dof_units == ("m",) * 3 + ("rad",) * 15


def test_velocity_is_the_map_times_the_rate_of_the_coordinates(quadruped, state) -> None:
    q, u = state(quadruped, RANDOM)
    step = 1e-6
    rate = (quadruped.integrate(q, u, step) - quadruped.integrate(q, u, -step)) / (2 * step)
    assert quadruped.velocity_map(q) @ rate == pytest.approx(u, abs=1e-8)


def test_base_velocity_is_linear_in_the_world_and_angular_in_the_body(quadruped, state) -> None:
    q, u = state(quadruped, RANDOM)
    V = tool_velocity(quadruped, q, u, "base")
    assert V[:3] == pytest.approx(u[:3], abs=1e-8)
    assert V[3:] == pytest.approx(rotation_of(q) @ u[3:6], abs=1e-8)


def test_integrate_turns_by_the_exponential_of_body_rates(quadruped, state) -> None:
    q, u = state(quadruped, RANDOM)
    moved = quadruped.integrate(q, u, 0.3)
    assert moved[:3] == pytest.approx(q[:3] + 0.3 * u[:3], abs=1e-14)
    turn = rotation_of(q) @ Rotation.from_rotvec(0.3 * u[3:6]).as_matrix()
    assert rotation_of(moved) == pytest.approx(turn, abs=1e-13)
    assert np.linalg.norm(moved[3:7]) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("which", ["quadruped", "flying_arm"])
def test_jacobian_and_drift_of_a_floating_machine_by_finite_differences(which, state, request) -> None:
    robot = request.getfixturevalue(which)
    q, u = state(robot, RANDOM)
    assert robot.jacobian(q) @ u == pytest.approx(tool_velocity(robot, q, u), abs=1e-7)
    step = 1e-6
    ahead, behind = (robot.jacobian(robot.integrate(q, u, s * step)) @ u for s in (1, -1))
    assert robot.jacobian_drift(q, u) == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)


def test_a_freed_arm_agrees_with_pinocchios_free_flyer(flying_arm, twin, state) -> None:
    other = twin(flying_arm)
    for _ in range(5):
        q, u = state(flying_arm, RANDOM)
        assert flying_arm.mass_matrix(q) == pytest.approx(other.mass_matrix(q), abs=1e-11)
        assert flying_arm.bias(q, u) == pytest.approx(other.bias(q, u), abs=1e-10)
        assert flying_arm.gravity(q) == pytest.approx(other.gravity(q), abs=1e-10)
        assert flying_arm.jacobian(q) == pytest.approx(other.jacobian(q, "tool"), abs=1e-12)
        assert flying_arm.jacobian_drift(q, u) == pytest.approx(other.drift(q, u, "tool"), abs=1e-10)


def test_coriolis_matrix_of_a_floating_machine_gives_its_bias_and_keeps_energy(quadruped, state) -> None:
    q, u = state(quadruped, RANDOM)
    C = quadruped.coriolis_matrix(q, u)
    assert C @ u == pytest.approx(quadruped.bias(q, u) - quadruped.gravity(q), abs=1e-10)
    step = 1e-6
    ahead, behind = (quadruped.mass_matrix(quadruped.integrate(q, u, s * step)) for s in (1, -1))
    S = (ahead - behind) / (2 * step) - 2 * C
    assert np.abs(S + S.T).max() < 1e-7


def test_weight_of_a_floating_machine_hangs_on_its_base(quadruped, state) -> None:
    q, _ = state(quadruped, RANDOM)
    assert quadruped.gravity(q)[:3] == pytest.approx([0, 0, quadruped.mass * 9.81], rel=1e-12)
    a = quadruped.forward_dynamics(q, np.zeros(18), np.zeros(18))
    assert a == pytest.approx([0, 0, -9.81, *[0.0] * 15], abs=1e-9)


def test_a_freed_arm_keeps_its_home_and_its_base_pose() -> None:
    arm = pp.load_robot("iiwa14")
    X_WB = pp.spatial.Pose.exp([1.0, 2.0, 0.5, 0.2, 0.3, -0.4])
    freed = arm.with_base(X_WB).with_free_base()
    assert freed.home[:3] == pytest.approx(X_WB.position)
    assert rotation_of(freed.home) == pytest.approx(X_WB.rotation)
    assert freed.home[7:] == pytest.approx(arm.home)
    assert freed.pose(freed.home).matrix == pytest.approx((X_WB @ arm.pose(arm.home)).matrix, abs=1e-14)
    assert freed.mass_matrix(freed.home)[6:, 6:] == pytest.approx(arm.mass_matrix(arm.home), abs=1e-12)


def test_home_without_a_keyframe_is_clipped_joint_by_joint() -> None:
    text = """<mujoco><compiler angle="radian"/><worldbody><body name="b"><freejoint name="f"/><geom size=".1"/>
    <body name="a"><geom size=".1"/><joint name="j" range="0.5 1"/></body></body></worldbody></mujoco>"""
    assert list(pp.Robot.from_mjcf_text(text).home) == [0, 0, 0, 1, 0, 0, 0, 0.5]


def test_body_rate_map_inverts_the_quaternion_kinematics() -> None:
    quat = RANDOM.normal(size=4)
    quat /= np.linalg.norm(quat)
    omega = np.array([0.3, -1.0, 0.7])
    step = 1e-6
    ahead, behind = (
        (Rotation.from_quat(quat, scalar_first=True) * Rotation.from_rotvec(s * step * omega)) for s in (1, -1)
    )
    rate = (ahead.as_quat(scalar_first=True) - behind.as_quat(scalar_first=True)) / (2 * step)
    if ahead.as_quat(scalar_first=True) @ quat < 0:
        rate = -rate
    assert body_rate_map(quat) @ rate == pytest.approx(omega, abs=1e-8)


def test_a_quaternion_of_the_wrong_length_is_refused(quadruped) -> None:
    q = quadruped.home.copy()
    q[3:7] *= 1.1
    with pytest.raises(BadRotation, match=r"q.*quadruped.*quaternion.*1 \(wxyz"):
        quadruped.mass_matrix(q)
    with pytest.raises(BadRotation, match=r"norm.*not 1"):
        quadruped.integrate(q, np.zeros(18), 0.1)
    with pytest.raises(BadRotation, match=r"norm.*not 1"):
        quadruped.velocity_map(q)


def test_a_coordinate_that_is_no_number_is_named(quadruped) -> None:
    q = quadruped.home.copy()
    q[4] = np.nan
    with pytest.raises(NotFinite, match=r"q.*quadruped.*finite.*nan.*floating_qx"):
        quadruped.gravity(q)


def test_a_base_that_cannot_float_or_already_does_is_refused(quadruped) -> None:
    with pytest.raises(InvalidInput, match="the base 'base' of quadruped already moves"):
        quadruped.with_free_base()
    with pytest.raises(InvalidInput, match=r"the base 'base' of planar2.*no mass"):
        pp.load_robot("planar2").with_free_base()
    with pytest.raises(InvalidInput, match=r"quadruped.*pose"):
        quadruped.with_base(pp.spatial.Pose.identity())
