"""Minimal coordinates, linear models, statics, ellipsoids."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, NoSolution, Singular, SingularTask, UnknownName
from palpate.tools import contact
from palpate.tools.contact import Plane, Ride, Sphere

G = 9.81
FLOOR = Plane(normal=(0, 1, 0))
XY = np.eye(6)[:2]


# ------------------------------------------------------------------ reduced dynamics


@pytest.mark.parametrize(("theta", "rate"), [(0.4, 1.3), (-1.1, 0.2), (2.0, -0.7)])
def test_the_slide_of_document_002_reduces_to_the_corrected_equation(theta: float, rate: float) -> None:
    """(1 + 4 s²) θ̈ + 4 s c θ̇² + g c = T1 − 2 T2."""
    s, c, tau = np.sin(theta), np.cos(theta), np.array([0.5, -0.3])
    robot, wall = pp.load_robot("planar2"), pp.contact.Contact(FLOOR, two_sided=True)
    q, v = [theta, -2 * theta], [rate, -2 * rate]
    found = pp.contact.reduced_dynamics(robot, q, v, tau, [wall], ["joint1"])
    assert found.basis[:, 0] == pytest.approx([1, -2])
    assert found.inertia[0, 0] == pytest.approx(1 + 4 * s * s, abs=1e-9)
    assert found.velocity_force[0] == pytest.approx(4 * s * c * rate**2, abs=1e-9)
    assert found.gravity_force[0] == pytest.approx(G * c, abs=1e-9)
    assert found.generalised_force[0] == pytest.approx(tau[0] - 2 * tau[1], abs=1e-12)
    full = pp.contact.constrained_dynamics(robot, q, v, tau, [wall])
    assert found.full_acceleration == pytest.approx(full.acceleration, abs=1e-10)
    assert found.multipliers[0] == pytest.approx(full.multipliers[0, 0], abs=1e-9)


def test_the_printed_numbers_of_the_audit_for_the_generalised_force() -> None:
    """θ = .4, θ̇ = 1.3, θ̈ = .7 needs T1 − 2 T2 = 12.5848825453."""
    found = pp.contact.reduced_dynamics(
        pp.load_robot("planar2"), [0.4, -0.8], [1.3, -2.6], [0, 0], [pp.contact.Contact(FLOOR)]
    )
    needed = found.inertia[0, 0] * 0.7 + found.velocity_force[0] + found.gravity_force[0]
    assert needed == pytest.approx(12.5848825453, abs=1e-9)


def test_a_panda_on_a_ball_reduces_to_the_multiplier_form() -> None:
    robot, random = pp.load_robot("panda", joints="ideal"), np.random.default_rng(2)
    q, tau = robot.home, 5 * random.normal(size=7)
    ball = pp.contact.Contact(Sphere(robot.pose(q).position - [0, 0, 0.3], 0.3), two_sided=True)
    row = robot.jacobian(q)[2]
    v = random.normal(size=7)
    v -= row * (row @ v) / (row @ row)
    found = pp.contact.reduced_dynamics(robot, q, v, tau, [ball])
    full = pp.contact.constrained_dynamics(robot, q, v, tau, [ball])
    assert len(found.independent) == 6
    assert found.full_acceleration == pytest.approx(full.acceleration, abs=1e-9)
    assert found.multipliers[0] == pytest.approx(full.multipliers[0, 0], rel=1e-9)


def test_coordinates_that_do_not_fit_are_refused() -> None:
    robot, wall = pp.load_robot("planar2"), pp.contact.Contact(FLOOR, two_sided=True)
    with pytest.raises(InvalidInput, match="leave 1 of 2 freedoms, but 2 velocities"):
        pp.contact.reduced_dynamics(robot, [0.4, -0.8], [0, 0], [0, 0], [wall], ["joint1", "joint2"])
    with pytest.raises(UnknownName, match="unknown velocity 'theta1'"):
        pp.contact.reduced_dynamics(robot, [0.4, -0.8], [0, 0], [0, 0], [wall], ["theta1"])
    with pytest.raises(InvalidInput, match=r"breaks.*constraints|leaves.*surface"):
        pp.contact.reduced_dynamics(robot, [0.4, -0.8], [1, 0], [0, 0], [wall], ["joint1"])
    front = pp.contact.Contact(Plane((2 * np.cos(0.4), 0, 0), (1, 0, 0)), two_sided=True)
    with pytest.raises(Singular, match="not determine"):  # the tip is beside the base: x does not hang on joint 1
        pp.contact.reduced_dynamics(robot, [0.4, -0.8], [0, 0], [0, 0], [front], ["joint2"])


# ------------------------------------------------------------------ linear models


def test_a_hanging_pendulum_has_its_textbook_frequency(bodies) -> None:
    found = pp.contact.linearise_state(bodies.pendulums(1), [0.0])
    assert np.sort(np.imag(found.eigenvalues)) == pytest.approx([-np.sqrt(1.5 * G), np.sqrt(1.5 * G)], rel=1e-10)
    assert pytest.approx(np.array([[0, 1], [-1.5 * G, 0]]), abs=1e-8) == found.A
    assert pytest.approx(np.array([[0], [3.0]]), abs=1e-9) == found.B
    assert not found.stable


def test_a_pd_law_closes_the_loop_with_the_designed_poles(bodies) -> None:
    robot = bodies.pendulums(2)
    q = np.array([0.4, -0.7])
    M = robot.mass_matrix(q)
    w, zeta = 8.0, 0.7

    def law(at, speed):
        return robot.gravity(at) + M @ (w**2 * (q - at) - 2 * zeta * w * speed)

    found = pp.contact.linearise_state(robot, q, law=law)
    expected = w * (-zeta + 1j * np.sqrt(1 - zeta**2))
    assert found.stable
    assert np.abs(np.real(found.eigenvalues)) == pytest.approx(np.full(4, -expected.real), rel=1e-9)
    assert np.abs(np.imag(found.eigenvalues)) == pytest.approx(np.full(4, expected.imag), rel=1e-9)


def test_a_bead_in_a_bowl_swings_like_a_pendulum_of_its_radius(bodies) -> None:
    """One motion is left, and the bowl's curvature makes it swing at √(g/R)."""
    bowl = pp.contact.Contact(Sphere(radius=2.0, inside=True))
    found = pp.contact.linearise_state(bodies.point(), [0.0, -2.0], contacts=[bowl])
    assert found.A.shape == (2, 2)
    assert np.abs(np.imag(found.eigenvalues)) == pytest.approx(np.full(2, np.sqrt(G / 2.0)), rel=1e-9)
    assert found.modes == ("sliding",)
    hill = pp.contact.Contact(Sphere(radius=2.0))
    top = pp.contact.linearise_state(bodies.point(), [0.0, 2.0], contacts=[hill])
    assert np.real(top.eigenvalues) == pytest.approx([np.sqrt(G / 2), -np.sqrt(G / 2)], rel=1e-9)


def test_the_slide_of_document_002_linearised_about_its_balance() -> None:
    """With T1 = g c held, (1 + 4 s²) δθ̈ = g s δθ: unstable above the wall's line."""
    theta = 0.9
    s, c = np.sin(theta), np.cos(theta)
    wall = pp.contact.Contact(FLOOR, two_sided=True)
    found = pp.contact.linearise_state(pp.load_robot("planar2"), [theta, -2 * theta], tau=[G * c, 0.0], contacts=[wall])
    assert np.real(found.eigenvalues) == pytest.approx(np.array([1, -1]) * np.sqrt(G * s / (1 + 4 * s * s)), rel=1e-8)


def test_a_sticking_contact_leaves_fewer_motions(bodies) -> None:
    robot = pp.load_robot("planar2")
    q = [0.4, -0.8]
    stuck = pp.contact.linearise_state(
        robot, q, tau=robot.gravity(q), contacts=[pp.contact.Contact(FLOOR, friction=0.5)]
    )
    assert stuck.modes in (("sticking",), ("free",))
    pressed = robot.gravity(q) + robot.jacobian(q).T @ [0, -5.0, 0, 0, 0, 0]
    stuck = pp.contact.linearise_state(robot, q, tau=pressed, contacts=[pp.contact.Contact(FLOOR, friction=0.5)])
    assert stuck.modes == ("sticking",)
    assert stuck.A.shape == (0, 0)


def test_what_is_no_equilibrium_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"not an.*joint2 accelerates"):
        pp.contact.linearise_state(pp.load_robot("planar2"), [0.4, 0.3])


def test_a_floating_machine_is_linearised_on_its_group(bodies) -> None:
    """A ball held by a spring law in space: six equal oscillators."""
    robot = bodies.ball(mass=2.0, gravity=0.0)
    spin = 0.4 * 2.0 * 0.01

    def law(q, v):
        from palpate.spatial import matrix_from_quat, rotation_vector_from_matrix

        turn = rotation_vector_from_matrix(matrix_from_quat(q[3:]))
        return np.concatenate([-18.0 * q[:3], -9.0 * spin * turn])

    found = pp.contact.linearise_state(robot, [0, 0, 0, 1, 0, 0, 0], law=law)
    assert np.abs(np.imag(found.eigenvalues)) == pytest.approx(np.full(12, 3.0), rel=1e-8)


def test_the_force_missing_for_an_equilibrium_is_the_one_that_makes_it_hold() -> None:
    """Without contacts it is g(q); with a floor under the tip the torques add to what the floor carries."""
    robot, q = pp.load_robot("planar2"), np.array([0.6, -1.2])
    free = contact.static_equilibrium(robot, q, [0, 0], [])
    assert not free.holds
    assert free.missing == pytest.approx(robot.gravity(q), rel=1e-12)
    floor = contact.Contact(contact.Plane(normal=(0, 1, 0)))
    falling = contact.static_equilibrium(robot, q, [0, 0], [floor])
    assert not falling.holds
    assert contact.static_equilibrium(robot, q, falling.missing, [floor]).holds


def test_a_contact_that_slides_on_a_belt_keeps_its_friction(bodies) -> None:
    """A block on a belt against a spring: constant friction, so only the spring swings it."""
    k, mu = 40.0, 0.3
    belt = pp.contact.Contact(Plane(), friction=mu, ride=Ride(velocity=(1.0, 0, 0)))
    rest = mu * G / k
    found = pp.contact.linearise_state(bodies.point(), [rest, 0.0], contacts=[belt], law=lambda q, v: [-k * q[0], 0.0])
    assert np.abs(np.imag(found.eigenvalues)) == pytest.approx(np.full(2, np.sqrt(k)), rel=1e-9)


# ------------------------------------------------------------------ statics


def test_tip_forces_and_torques_are_the_audits() -> None:
    """The document's arm has angles from y: turned by 90° it is ours. T = JᵀF and F = J⁻ᵀT, never the reverse."""
    robot, q = pp.load_robot("planar2"), [0.5 + np.pi / 2, 0.6]
    tau = contact.torque_from_tip_force(robot, q, [0, 2], directions=XY)
    assert tau == pytest.approx([-2.7412657973, -1.7824147201], abs=1e-9)
    found = contact.tip_force_from_torque(robot, q, [1, 2], directions=XY)
    assert found.force == pytest.approx([3.2765130582, -3.9117872801], abs=1e-9)
    assert found.residual == pytest.approx([0, 0], abs=1e-12)


def test_torques_that_no_tip_force_balances_are_told() -> None:
    robot = pp.load_robot("planar3", gravity=0.0)
    found = contact.tip_force_from_torque(robot, [0.3, 0.5, 0.4], [1, 2, 3], directions=XY)
    J = robot.jacobian([0.3, 0.5, 0.4])[:2]
    assert J.T @ found.force + found.residual == pytest.approx([1, 2, 3])
    assert pytest.approx([0, 0], abs=1e-12) == J @ found.residual
    assert np.linalg.norm(found.residual) > 0.1
    with pytest.raises(SingularTask):
        contact.tip_force_from_torque(pp.load_robot("planar2"), [0.3, 0.0], [1, 2], directions=XY)


def test_a_holding_torque_holds() -> None:
    robot, F = pp.load_robot("panda", joints="ideal"), np.array([5.0, -3, 10, 0.2, 0.1, 0])
    tau = contact.holding_torque(robot, robot.home, F)
    assert robot.forward_dynamics(robot.home, np.zeros(7), tau, wrench=F) == pytest.approx(np.zeros(7), abs=1e-9)


def test_a_ladder_holds_only_if_the_floor_is_rough_enough(bodies) -> None:
    """On a smooth wall it stands where μ ≥ 1/(2 tan θ)."""
    theta = 1.0
    least = 0.5 / np.tan(theta)
    q = [np.cos(theta) / 2, np.sin(theta) / 2, -theta]

    def found(mu: float):
        walls = [
            pp.contact.Contact(Plane(normal=(1, 0, 0)), frame="a", name="wall"),
            pp.contact.Contact(Plane(), frame="b", friction=mu, name="floor"),
        ]
        return contact.static_equilibrium(bodies.rod(), q, np.zeros(3), walls)

    stands, slides = found(least + 1e-6), found(least - 1e-6)
    assert stands.holds
    assert stands.contacts.forces[0, 0] == pytest.approx(least * G, rel=1e-6)
    assert stands.contacts.forces[1, 2] == pytest.approx(G)
    assert not slides.holds
    assert np.abs(slides.missing).max() > 1e-7


# ------------------------------------------------------------------ ellipsoids and polytopes


def test_the_force_ellipsoid_is_the_velocity_ellipsoids_inverse() -> None:
    robot, q = pp.load_robot("planar2"), [0.5, 0.9]
    fast, strong = (f(robot, q, directions=XY) for f in (contact.velocity_ellipsoid, contact.force_ellipsoid))
    J = robot.jacobian(q)[:2]
    assert fast.radii == pytest.approx(np.linalg.svd(J, compute_uv=False))
    assert strong.radii * fast.radii[::-1] == pytest.approx([1, 1])
    assert np.abs(strong.axes.T @ fast.axes[:, ::-1]) == pytest.approx(np.eye(2), abs=1e-12)
    edge = fast.outline()
    assert np.einsum("ij,jk,ik->i", edge, np.linalg.inv(J @ J.T), edge) == pytest.approx(np.ones(len(edge)))
    edge = strong.outline()
    assert np.einsum("ij,jk,ik->i", edge, J @ J.T, edge) == pytest.approx(np.ones(len(edge)))


def test_units_of_joint_speed_and_torque_stretch_the_ellipsoids() -> None:
    robot, q, units = pp.load_robot("planar2"), [0.5, 0.9], np.array([2.0, 0.3])
    J = robot.jacobian(q)[:2]
    edge = contact.velocity_ellipsoid(robot, q, directions=XY, speeds=units).outline()
    assert np.linalg.norm(np.linalg.solve(J, edge.T) / units[:, None], axis=0) == pytest.approx(np.ones(len(edge)))
    edge = contact.force_ellipsoid(robot, q, directions=XY, torques=units).outline()
    assert np.linalg.norm(J.T @ edge.T / units[:, None], axis=0) == pytest.approx(np.ones(len(edge)))


def test_a_stretched_arm_resists_without_end() -> None:
    strong = contact.force_ellipsoid(pp.load_robot("planar2"), [0.3, 0.0], directions=XY)
    assert strong.radii[0] == np.inf
    assert np.abs(strong.axes[:, 0]) == pytest.approx(np.abs([np.cos(0.3), np.sin(0.3)]))
    with pytest.raises(Singular, match="endless"):
        strong.outline()


def test_the_force_polytope_is_what_the_torques_allow() -> None:
    robot, q, limit = pp.load_robot("planar2"), [0.5, 0.9], np.array([40.0, 25.0])
    found = contact.force_polytope(robot, q, directions=XY, torques=limit)
    J, gravity = robot.jacobian(q)[:2], robot.gravity(q)
    corners = [np.linalg.solve(J.T, np.array([a, b]) * limit - gravity) for a in (-1, 1) for b in (-1, 1)]
    ours, theirs = (np.array(sorted(map(tuple, np.round(x, 8)))) for x in (found.vertices, corners))
    assert ours == pytest.approx(theirs, abs=1e-7)
    assert found.contains([0, 0])
    push = found.reach([0, 1])
    assert found.contains([0, push * 0.999])
    assert not found.contains([0, push * 1.001])
    assert np.abs(gravity + J.T @ [0, push] - limit * np.sign(gravity + J.T @ [0, push])).min() < 1e-9


def test_a_pandas_polytope_is_bounded_by_its_own_limits() -> None:
    robot = pp.load_robot("panda", joints="ideal")
    found = contact.force_polytope(robot, robot.home)
    limit, J, gravity = robot.limits.torque, robot.jacobian(robot.home)[:3], robot.gravity(robot.home)
    torques = np.abs(gravity + found.vertices @ J)
    assert (torques <= limit * (1 + 1e-6)).all()
    assert (np.isclose(torques, limit, rtol=1e-6).sum(axis=1) >= 3).all()
    assert found.hull.shape[1] == 3
    line = contact.force_polytope(robot, robot.home, directions=[[0, 0, 1, 0, 0, 0]])
    assert line.vertices.max() == pytest.approx(found.reach([0, 0, 1]), rel=1e-9)


def test_polytopes_that_cannot_be_are_refused() -> None:
    robot, q = pp.load_robot("planar2"), [0.5, 0.9]
    with pytest.raises(InvalidInput, match=r"no torque.*joint1"):
        contact.force_polytope(robot, q, directions=XY)
    with pytest.raises(NoSolution, match="gravity alone"):
        contact.force_polytope(robot, q, directions=[[0, 1, 0, 0, 0, 0]], torques=[1.0, 1e-3])
    with pytest.raises(Singular, match="costs no torque"):
        contact.force_polytope(robot, [0.5, 0.0], directions=XY, torques=[10, 10])
