"""The documents' own robots and numbers, typed from the pages and from their audited corrections."""

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp

XY = np.eye(6)[:2]


def test_document_001_cartesian_inertia_of_the_planar_arm_is_diagonal_at_q_star() -> None:
    """Exercise 2: L = 0.5 m, m = 5 kg at q* = (π/2, π/2, 0): M_p = diag(35/3, 35/24)."""
    robot = pp.load_robot("planar3", length=0.5, mass=5.0)
    q = [math.pi / 2, math.pi / 2, 0.0]
    assert robot.jacobian(q)[:2] == pytest.approx(np.array([[-0.5, 0, 0], [-1, -1, -0.5]]), abs=1e-15)
    M = np.array([[25 / 4, 10 / 3, 25 / 24], [10 / 3, 10 / 3, 25 / 24], [25 / 24, 25 / 24, 5 / 12]])
    assert robot.mass_matrix(q) == pytest.approx(M, rel=1e-12)
    assert robot.task_inertia(q, directions=XY) == pytest.approx(np.diag([35 / 3, 35 / 24]), rel=1e-11, abs=1e-11)


def test_document_001_jacobian_and_drift_at_the_stop() -> None:
    """Exercise 1 with the audited J_0 (row 2 is negative): ṗ_0 = (−2π, −π), h_0 = (3π², −4π²)."""
    robot = pp.load_robot("planar3")
    q, v = np.array([0, math.pi / 2, math.pi / 2]), np.array([math.pi, math.pi, 0])
    assert robot.jacobian(q)[:2] == pytest.approx(np.array([[-1, -1, 0], [0, -1, -1]]), abs=1e-15)
    assert (robot.jacobian(q) @ v)[:2] == pytest.approx([-2 * math.pi, -math.pi], abs=1e-14)
    assert robot.jacobian_drift(q, v)[:2] == pytest.approx([3 * math.pi**2, -4 * math.pi**2], abs=1e-12)


def test_document_001_cartesian_robot_is_decoupled() -> None:
    """Exercise 3: M = diag(m1 + m2, m2), no velocity terms, gravity on y alone."""
    robot = pp.load_robot("cartesian2", mass=[3.0, 2.0])
    q, v = [0.3, -0.2], [1.0, 2.0]
    assert robot.mass_matrix(q) == pytest.approx(np.diag([5.0, 2.0]), abs=1e-15)
    assert robot.bias(q, v) == pytest.approx([0.0, 2.0 * 9.81], abs=1e-13)
    assert robot.jacobian(q)[:2] == pytest.approx(np.eye(2), abs=1e-15)


@pytest.mark.parametrize(("q", "v"), [((0.5, 0.6), (0.7, -1.1)), ((-1.2, 2.0), (0.4, 0.9))])
def test_document_002_two_link_arm_has_the_printed_terms(q, v) -> None:
    """Unit lengths and point masses: M, c, G of the audit, and J in the x-axis convention."""
    robot = pp.load_robot("planar2")
    (t1, t2), (w1, w2), g = q, v, 9.81
    c2, s2 = math.cos(t2), math.sin(t2)
    c1, c12, s1, s12 = math.cos(t1), math.cos(t1 + t2), math.sin(t1), math.sin(t1 + t2)
    M = np.array([[3 + 2 * c2, 1 + c2], [1 + c2, 1]])
    c = np.array([-2 * s2 * w1 * w2 - s2 * w2**2, s2 * w1**2])
    G = np.array([2 * g * c1 + g * c12, g * c12])
    # The engine's point masses carry 1e-12 of rotational inertia.
    assert robot.mass_matrix(q) == pytest.approx(M, abs=5e-12)
    assert robot.gravity(q) == pytest.approx(G, abs=1e-12)
    assert robot.bias(q, v) == pytest.approx(c + G, abs=1e-11)
    assert robot.jacobian(q)[:2] == pytest.approx(np.array([[-s1 - s12, -s12], [c1 + c12, c12]]), abs=1e-15)


def test_document_002_tip_forces_are_torques_through_the_transposed_jacobian() -> None:
    """θ = (.5, .6) counted from y, as that section of the document does: a quarter turn of the base."""
    quarter = pp.spatial.Pose([0, 0, 0], [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    J = pp.load_robot("planar2").with_base(quarter).jacobian([0.5, 0.6])[:2]
    assert np.linalg.solve(J.T, [1.0, 2.0]) == pytest.approx([3.2765130582, -3.9117872801], abs=1e-9)
    assert J.T.dot([0.0, 2.0]) == pytest.approx([-2.7412657973, -1.7824147201], abs=1e-9)


@pytest.mark.parametrize("q", [(0.3, -0.8, 1.2), (-1.0, 0.4, 0.7)])
def test_document_003_planar_arm_has_the_printed_kinematics(q) -> None:
    lengths, l0 = [0.7, 0.5, 0.3], 0.4
    robot = pp.load_robot("planar3-vertical", length=lengths, base_height=l0)
    angles = np.cumsum(q)
    s, c = np.array(lengths) * np.sin(angles), np.array(lengths) * np.cos(angles)
    pose = robot.pose(q)
    assert pose.position == pytest.approx([s.sum(), 0.0, l0 + c.sum()], abs=1e-15)
    turn = angles[-1]
    about_y = [[math.cos(turn), 0, math.sin(turn)], [0, 1, 0], [-math.sin(turn), 0, math.cos(turn)]]
    assert pose.rotation == pytest.approx(np.array(about_y), abs=1e-15)
    J = robot.jacobian(q)
    assert J[0] == pytest.approx([c.sum(), c[1:].sum(), c[2]], abs=1e-15)
    assert J[2] == pytest.approx([-s.sum(), -s[1:].sum(), -s[2]], abs=1e-15)
    assert np.array_equal(J[[1, 3, 5]], np.zeros((3, 3)))
    assert J[4] == pytest.approx([1, 1, 1])


def test_document_003_pendulum_swings_as_printed() -> None:
    """θ̈ = −(g/l) sin θ, whatever the mass."""
    robot = pp.load_robot("pendulum", length=0.7, mass=2.5)
    assert robot.forward_dynamics([0.9], [1.3], [0.0]) == pytest.approx([-9.81 / 0.7 * math.sin(0.9)], rel=1e-10)


def test_document_004_three_link_ur5e_has_the_audited_terms() -> None:
    """Printed with one tensor per link (the document reuses link 1's): audited to ten digits."""
    robot = pp.load_robot("ur5e-3link")
    q, v = [0.3, -0.7, 1.1], [0.5, -1.2, 0.8]
    B = [
        [1.3454380249, -0.1385844102, 0.0071133031],
        [-0.1385844102, 1.5668412613, 0.3460310997],
        [0.0071133031, 0.3460310997, 0.2131487506],
    ]
    assert robot.mass_matrix(q) == pytest.approx(np.array(B), abs=1e-10)
    assert robot.coriolis_matrix(q, v) @ v == pytest.approx([-0.5302065666, 0.1984594366, 0.4167409215], abs=1e-10)
    assert robot.gravity(q) == pytest.approx([0.0, -28.1513814184, -6.2282556792], abs=1e-9)


def test_document_004_three_link_ur5e_has_the_printed_jacobian() -> None:
    """(22), (28)–(30) with a2, a3 < 0."""
    a2, a3, d1, q = -0.425, -0.3922, 0.1625, (0.3, -0.7, 1.1)
    s1, c1 = math.sin(q[0]), math.cos(q[0])
    s2, c2, s3, c3 = math.sin(q[1]), math.cos(q[1]), math.sin(q[1] + q[2]), math.cos(q[1] + q[2])
    reach, fall = a2 * c2 + a3 * c3, a2 * s2 + a3 * s3
    robot = pp.load_robot("ur5e-3link")
    assert robot.pose(q).position == pytest.approx([c1 * reach, s1 * reach, d1 + fall], abs=1e-15)
    J = np.array(
        [
            [-s1 * reach, -c1 * fall, -c1 * a3 * s3],
            [c1 * reach, -s1 * fall, -s1 * a3 * s3],
            [0, reach, a3 * c3],
            [0, s1, s1],
            [0, -c1, -c1],
            [1, 0, 0],
        ]
    )
    assert robot.jacobian(q) == pytest.approx(J, abs=1e-15)


def test_document_004_three_link_ur5e_falls_as_audited() -> None:
    """Section 1.8: D = 5 1 in every joint, from q0 = (1, π/3, π/3) at rest; classical Runge–Kutta, 1 ms."""
    robot = pp.load_robot("ur5e-3link")

    def rate(x):
        return np.concatenate([x[3:], robot.forward_dynamics(x[:3], x[3:], -5.0 * x[3:])])

    x, h, seen = np.array([1, math.pi / 3, math.pi / 3, 0, 0, 0]), 1e-3, {}
    for tick in range(1, 1001):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
        seen[tick] = x[:3]
    assert seen[500] == pytest.approx([0.966421256235, 1.454064419961, 0.676632056386], abs=1e-9)
    assert seen[1000] == pytest.approx([1.008893475388, 1.536287980301, 0.421019489755], abs=1e-9)
