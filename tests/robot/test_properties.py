"""Laws of mechanics that hold for every arm: random DH tables in both conventions."""

from __future__ import annotations

from math import cos, sin

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, given, settings
from scipy.spatial.transform import Rotation

import palpate as pp
from palpate.checks import Array

CONVENTIONS = st.sampled_from(["standard", "modified"])
LENGTH = st.floats(-1.0, 1.0)
ANGLE = st.floats(-3.0, 3.0)
STEP = 1e-5  # m or rad: central differences are then good to about 1e-9 of the scale of what is differenced
laws = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@st.composite
def links(draw) -> pp.robot.DHLink:
    sides = np.array([draw(st.floats(0.02, 0.5)) for _ in range(3)])
    mass = draw(st.floats(0.1, 10.0))
    box = mass / 12 * np.array([sides[1] ** 2 + sides[2] ** 2, sides[0] ** 2 + sides[2] ** 2, sides[:2] @ sides[:2]])
    R = Rotation.from_rotvec([draw(st.floats(-1, 1)) for _ in range(3)]).as_matrix()
    return pp.robot.DHLink(
        a=draw(LENGTH),
        alpha=draw(ANGLE),
        d=draw(LENGTH),
        theta=draw(ANGLE),
        kind=draw(st.sampled_from(["revolute", "revolute", "prismatic"])),
        mass=mass,
        com=[draw(LENGTH) for _ in range(3)],
        inertia=R @ np.diag(box) @ R.T,
        motor_inertia=draw(st.sampled_from([0.0, 1e-4])),
        gear=draw(st.floats(1.0, 100.0)),
    )


@st.composite
def arms(draw) -> tuple[pp.Robot, list[pp.robot.DHLink], str, Array, Array]:
    """A robot, its table and convention, and a state."""
    rows = draw(st.lists(links(), min_size=1, max_size=7))
    convention = draw(CONVENTIONS)
    numbers = st.lists(st.floats(-2.0, 2.0), min_size=len(rows), max_size=len(rows))
    q, v = np.array(draw(numbers)), np.array(draw(numbers))
    return pp.Robot.from_dh(rows, convention), rows, convention, q, v


def differences(function, q: Array, v: Array) -> Array:
    """d/dt of function(q(t)) along q̇ = v."""
    return (function(q + STEP * v) - function(q - STEP * v)) / (2 * STEP)


def near(ours: Array, other: Array, relative: float, scale: float = 0.0) -> bool:
    size = max(1.0, scale, float(np.abs(other).max()))
    return bool(np.abs(ours - other).max() <= relative * size)


def dh_matrix(row: pp.robot.DHLink, x: float, convention: str) -> Array:
    """Products of elementary motions, in the order each convention has."""
    theta, d = (row.theta + x, row.d) if row.kind == "revolute" else (row.theta, row.d + x)
    c, s, ca, sa = cos(theta), sin(theta), cos(row.alpha), sin(row.alpha)
    along_z = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, d], [0, 0, 0, 1]])
    along_x = np.array([[1, 0, 0, row.a], [0, ca, -sa, 0], [0, sa, ca, 0], [0, 0, 0, 1]])
    return along_z @ along_x if convention == "standard" else along_x @ along_z


@laws
@given(arms())
def test_pose_is_the_product_of_dh_matrices(arm) -> None:
    robot, rows, convention, q, _ = arm
    X = np.eye(4)
    for row, x in zip(rows, q):
        X = X @ dh_matrix(row, x, convention)
    assert near(robot.pose(q).matrix, X, 1e-13)


@laws
@given(arms())
def test_mass_matrix_is_symmetric_and_positive_definite(arm) -> None:
    robot, _, _, q, _ = arm
    M = robot.mass_matrix(q)
    assert near(M, M.T, 1e-14)
    assert np.linalg.eigvalsh(M)[0] > 0


@laws
@given(arms())
def test_inverse_dynamics_undoes_forward_dynamics(arm) -> None:
    """The error of a grows with the condition of M; pushed back through M it is rounding again."""
    robot, _, _, q, v = arm
    tau = 10 * np.sin(np.arange(robot.nv) + 1.0)
    # With losses by equations, which take angles within 1e-10 of a quarter turn for one; without by the engine alone.
    for losses, most in ((True, 1e-9), (False, 1e-12)):
        a = robot.forward_dynamics(q, v, tau, losses=losses)
        scale = float(np.abs(robot.mass_matrix(q)).max() * np.abs(a).max())
        assert near(robot.inverse_dynamics(q, v, a, losses=losses), tau, most, scale)


@laws
@given(arms())
def test_jacobian_times_velocity_is_the_velocity_of_the_tool(arm) -> None:
    robot, _, _, q, v = arm
    linear = differences(lambda x: robot.pose(x).position, q, v)
    ahead, behind = robot.pose(q + STEP * v).rotation, robot.pose(q - STEP * v).rotation
    angular = Rotation.from_matrix(ahead @ behind.T).as_rotvec() / (2 * STEP)
    V = robot.jacobian(q) @ v
    speed = 1 + float(np.abs(v).sum())
    assert near(V, np.concatenate([linear, angular]), 1e-8, speed**3)


@laws
@given(arms())
def test_drift_is_the_rate_of_the_jacobian_times_velocity(arm) -> None:
    robot, _, _, q, v = arm
    rate = differences(robot.jacobian, q, v) @ v
    assert near(robot.jacobian_drift(q, v), rate, 1e-8, (1 + float(np.abs(v).sum())) ** 4)


@laws
@given(arms())
def test_coriolis_matrix_gives_the_bias_and_a_skew_mass_rate(arm) -> None:
    robot, _, _, q, v = arm
    C = robot.coriolis_matrix(q, v)
    assert near(C @ v, robot.bias(q, v) - robot.gravity(q), 1e-12, float(np.abs(C).max()))
    S = differences(robot.mass_matrix, q, v) - 2 * C
    scale = float(np.abs(robot.mass_matrix(q)).max()) * (1 + float(np.abs(v).sum())) ** 3
    assert near(S, -S.T, 1e-8, scale)


@laws
@given(arms())
def test_gravity_is_the_gradient_of_the_potential_energy(arm) -> None:
    robot, _, _, q, _ = arm
    gradient = np.array([differences(robot.potential_energy, q, e) for e in np.eye(robot.nv)])
    assert near(robot.gravity(q), gradient, 1e-8, abs(robot.potential_energy(q)))


@laws
@given(arms())
def test_energy_grows_by_the_power_of_the_torques(arm) -> None:
    """d/dt (½ vᵀ M v + V) = vᵀ τ: with v̇ from forward dynamics, M's rate from finite differences."""
    robot, _, _, q, v = arm
    tau = 5 * np.cos(np.arange(robot.nv))
    a = robot.forward_dynamics(q, v, tau, losses=False)
    M = robot.mass_matrix(q)
    rate = v @ M @ a + 0.5 * v @ differences(robot.mass_matrix, q, v) @ v + v @ robot.gravity(q)
    scale = float(np.abs(M).max()) * (1 + float(np.abs(v).sum())) ** 4 + float(np.abs(v @ M).sum() * np.abs(a).max())
    assert near(np.array(rate), np.array(v @ tau), 1e-8, scale)


@laws
@given(arms(), st.floats(0.1, 5.0))
def test_payload_adds_its_inertia_through_the_jacobian(arm, mass) -> None:
    robot, _, _, q, _ = arm
    J = robot.jacobian(q)[:3]
    added = robot.with_payload(mass).mass_matrix(q) - robot.mass_matrix(q)
    assert near(added, mass * J.T @ J, 1e-11, float(np.abs(robot.mass_matrix(q)).max()))
