"""Constrained dynamics at one state: document 002's numbers, modes, curvature, rank."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, Painleve
from palpate.tools.contact import Box, Cylinder, Plane, Sphere

FLOOR_Y = Plane(normal=(0, 1, 0))


def slide(theta: float, rate: float) -> tuple[list[float], list[float]]:
    """Document 002's arm with its tip on y = 0: θ2 = −2 θ1."""
    return [theta, -2 * theta], [rate, -2 * rate]


def test_the_wall_of_document_002_gives_the_audited_acceleration_and_force() -> None:
    q, v = slide(0.4, 1.3)
    found = pp.contact.constrained_dynamics(pp.load_robot("planar2"), q, v, [0.5, -0.3], [pp.contact.Contact(FLOOR_Y)])
    assert found.acceleration == pytest.approx([-6.448623472249, 12.897246944498], abs=1e-9)
    assert found.multipliers[0, 0] == pytest.approx(10.942924362506, abs=1e-9)
    assert found.modes == ("sliding",)


def test_the_corrected_torques_of_document_002_give_the_wanted_acceleration() -> None:
    theta, rate, wanted, push = 0.4, 1.3, 0.7, 3.0
    s, c = np.sin(theta), np.cos(theta)
    robot = pp.load_robot("planar2")
    q, v = slide(theta, rate)
    held = np.array([wanted + 3 * 9.81 * c, -2 * s * s * wanted - 2 * s * c * rate**2 + 9.81 * c])
    tau = held + robot.jacobian(q)[:2].T @ [0.0, -push]  # F is the tip's force on the wall, downwards
    found = pp.contact.constrained_dynamics(robot, q, v, tau, [pp.contact.Contact(FLOOR_Y)])
    assert found.acceleration[0] == pytest.approx(wanted, abs=1e-9)
    assert found.multipliers[0, 0] == pytest.approx(push, abs=1e-9)


def test_joint_accelerations_of_a_tip_acceleration_need_the_drift() -> None:
    """A tip that rides on a plane with ẍ = (1, 0): θ̈ = J⁻¹ (ẍ − J̇ θ̇), the audit's (1.8029295, −4.4588336)."""
    robot, q, v = pp.load_robot("planar2"), [0.5, 0.6], np.array([0.7, -1.1])
    J, drift = robot.jacobian(q)[:2], robot.jacobian_drift(q, v)[:2]
    assert np.linalg.solve(J, np.array([1.0, 0.0]) - drift) == pytest.approx([1.8029295, -4.4588336], abs=1e-7)


def test_a_pinned_tip_carries_what_the_torques_and_gravity_leave() -> None:
    robot, q, tau = pp.load_robot("planar2"), np.array([0.4, 0.9]), np.array([3.0, -2.0])
    found = pp.contact.constrained_dynamics(robot, q, [0, 0], tau, [pp.contact.Pin()])
    expected = np.linalg.solve(robot.jacobian(q)[:2].T, robot.gravity(q) - tau)
    assert found.acceleration == pytest.approx([0, 0], abs=1e-11)
    assert found.forces[0, :2] == pytest.approx(expected, abs=1e-10)
    assert found.modes == ("locked",)


def test_a_wall_does_not_pull() -> None:
    q, v = slide(0.4, 0.0)
    found = pp.contact.constrained_dynamics(pp.load_robot("planar2"), q, v, [60.0, 20.0], [pp.contact.Contact(FLOOR_Y)])
    assert found.modes == ("free",)
    assert found.multipliers[0, 0] == 0.0
    assert found.acceleration == pytest.approx(pp.load_robot("planar2").forward_dynamics(q, v, [60.0, 20.0]))


def test_a_slot_pulls() -> None:
    q, v = slide(0.4, 0.0)
    found = pp.contact.constrained_dynamics(
        pp.load_robot("planar2"), q, v, [60.0, 20.0], [pp.contact.Contact(FLOOR_Y, two_sided=True)]
    )
    assert found.modes == ("sliding",)
    assert found.multipliers[0, 0] < -1.0


def test_sliding_friction_opposes_the_slip_with_mu_times_the_normal_force() -> None:
    q, v = slide(0.4, 1.3)
    robot = pp.load_robot("planar2")
    found = pp.contact.constrained_dynamics(robot, q, v, [0.5, -0.3], [pp.contact.Contact(FLOOR_Y, friction=0.3)])
    tip = robot.jacobian(q)[:2] @ v
    normal, tangential = found.forces[0, 1], found.forces[0, 0]
    assert tangential == pytest.approx(-0.3 * normal * np.sign(tip[0]), rel=1e-12)
    left = robot.mass_matrix(q) @ found.acceleration + robot.bias(q, v) - [0.5, -0.3]
    assert robot.jacobian(q)[:3].T @ found.forces[0] == pytest.approx(left, abs=1e-11)


@pytest.mark.parametrize(("mu", "mode"), [(0.3, "sliding"), (0.75, "sticking")])
def test_a_contact_at_rest_sticks_only_inside_its_cone(mu: float, mode: str) -> None:
    """Sticking needs 10.19 N along a wall that carries 14.44 N: μ = 0.7055."""
    q, v = slide(0.4, 0.0)
    found = pp.contact.constrained_dynamics(
        pp.load_robot("planar2"), q, v, [0.5, -0.3], [pp.contact.Contact(FLOOR_Y, friction=mu)]
    )
    assert found.modes == (mode,)
    normal, tangential = found.forces[0, 1], found.forces[0, 0]
    assert abs(tangential) <= mu * normal * (1 + 1e-12)
    assert (np.abs(found.acceleration).max() < 1e-10) == (mode == "sticking")


def test_the_branch_point_of_document_002_is_solved_and_reported() -> None:
    found = pp.contact.constrained_dynamics(
        pp.load_robot("planar2"), [np.pi / 2, -np.pi], [1, -2], [0, 0], [pp.contact.Contact(FLOOR_Y, two_sided=True)]
    )
    assert found.redundant == 1
    assert np.isfinite(found.acceleration).all()
    assert found.multipliers[0, 0] == pytest.approx(0.0, abs=1e-9)


def test_four_legs_share_the_weight_by_the_shortest_multipliers(bodies) -> None:
    """A table on four frictionless points: the rows have rank 3, and symmetry shares the weight."""
    robot, corners = bodies.ball(mass=8.0), [(0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2), (0.3, -0.2)]
    legs = [pp.contact.Contact(Plane(), offset=(x, y, -0.5)) for x, y in corners]
    found = pp.contact.constrained_dynamics(robot, [0, 0, 0.5, 1, 0, 0, 0], np.zeros(6), np.zeros(6), legs)
    assert found.redundant == 1
    assert found.multipliers[:, 0] == pytest.approx(np.full(4, 2 * bodies.g), rel=1e-12)


def test_an_overloaded_corner_lifts_the_opposite_leg(bodies) -> None:
    """A load outside the legs' diagonal: one leg carries nothing, none pulls, and the table tips."""
    robot, corners = bodies.ball(mass=8.0), [(0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2), (0.3, -0.2)]
    legs = [pp.contact.Contact(Plane(), offset=(x, y, -0.5)) for x, y in corners]
    push = {"ball": [0, 0, -100, -30, 60, 0]}
    found = pp.contact.constrained_dynamics(robot, [0, 0, 0.5, 1, 0, 0, 0], np.zeros(6), np.zeros(6), legs, push)
    assert found.multipliers[:, 0].min() == pytest.approx(0.0, abs=1e-9)
    assert (found.multipliers[:, 0] >= -1e-9).all()
    assert "free" in found.modes or np.abs(found.acceleration).max() < 1e-9


def test_a_wrench_enters_as_its_transposed_jacobian_says() -> None:
    robot, F = pp.load_robot("panda", joints="ideal"), np.array([3.0, -2.0, 5.0, 0.4, 0.1, -0.2])
    q, v, tau = robot.home, np.linspace(-0.3, 0.3, 7), robot.gravity(robot.home)
    by_hand = robot.forward_dynamics(q, v, tau + robot.jacobian(q).T @ F)
    assert robot.forward_dynamics(q, v, tau, wrench=F) == pytest.approx(by_hand, rel=1e-12)
    split = (
        {robot.tool_frame: F / 2, "link5": np.zeros(6)} if "link5" in robot.frame_names else {robot.tool_frame: F / 2}
    )
    half = robot.forward_dynamics(q, v, tau + robot.jacobian(q).T @ F / 2)
    assert robot.forward_dynamics(q, v, tau, wrench=split) == pytest.approx(half, rel=1e-12)
    free = pp.contact.constrained_dynamics(robot, q, v, tau, [pp.contact.Contact(Plane((0, 0, -5)))], F)
    assert free.acceleration == pytest.approx(by_hand, rel=1e-9)


SHAPES = {
    "plane": Plane((0.1, 0.2, 0.3), (1, 2, 3)),
    "sphere": Sphere((0.1, 0, -0.2), 0.4),
    "bowl": Sphere((0.1, 0, -0.2), 3.0, inside=True),
    "cylinder": Cylinder((0.1, -0.3, 0.2), 0.3, axis=(1, 1, 0)),
    "tube": Cylinder((0.1, -0.3, 0.2), 3.0, axis=(1, 1, 0), inside=True),
    "rim": Cylinder((0, 0, 0), 0.2, 0.2, axis=(0, 0, 1)),
    "edge": Box((0, 0, 0), (0.2, 0.4, 3.0), (0.8, 0.0, 0.6, 0.0)),
    "corner": Box((0, 0, 0), (0.2, 0.2, 0.2)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_gap_rate_and_curvature_are_the_gaps_derivatives(name: str) -> None:
    """ġ and g̈ = n·J a + bend against differences of the gap along q(t), for a ball on a moving Panda."""
    from palpate.tools.contact.modes.model import ContactModel

    robot, random = pp.load_robot("panda", joints="ideal"), np.random.default_rng(3)
    model = ContactModel(robot, [pp.contact.Contact(SHAPES[name], radius=0.05)])
    q, v, a = robot.home, 0.5 * random.normal(size=7), random.normal(size=7)
    h = 1e-3

    def gap(t: float) -> float:
        return float(model.survey(0.0, q + v * t + 0.5 * a * t * t, v).states["gap"][0])

    snap = model.survey(0.0, q, v)
    values = [gap(k * h) for k in (-3, -2, -1, 0, 1, 2, 3)]
    first = np.dot([-1, 9, -45, 0, 45, -9, 1], values) / (60 * h)
    second = np.dot([2, -27, 270, -490, 270, -27, 2], values) / (180 * h * h)
    assert snap.states["rate"][0] == pytest.approx(first, abs=1e-9)
    assert snap.normals[0] @ a + snap.states["bend"][0] == pytest.approx(second, abs=2e-7)


def test_the_touching_points_acceleration_is_its_velocitys_derivative(bodies) -> None:
    """u = ṗ + r n × ω of a ball on a sphere, and u̇ = J a + drift, by differences along its motion."""
    from palpate.tools.contact.modes.model import ContactModel

    robot, random = bodies.ball(), np.random.default_rng(5)
    model = ContactModel(robot, [pp.contact.Contact(Sphere(radius=0.7), radius=0.1, friction=0.1)])
    q, v, a = np.array([0.3, 0.4, 0.7, 1.0, 0, 0, 0]), random.normal(size=6), random.normal(size=6)

    def slip(t: float) -> np.ndarray:
        """All of u, the normal part too."""
        moved = robot.integrate(robot.integrate(q, v, t), 0.5 * a * t, t) if t else q
        snap = model.survey(0.0, moved, v + a * t)
        return snap.states["slide"][0] + snap.states["rate"][0] * snap.states["normal"][0]

    h = 1e-4
    snap = model.survey(0.0, q, v)
    by_hand = (8 * (slip(h) - slip(-h)) - (slip(2 * h) - slip(-2 * h))) / (12 * h)
    assert snap.Jc[0] @ a + snap.states["drift"][0] == pytest.approx(by_hand, abs=1e-6)


def test_joint_losses_of_a_model_act_unless_told_otherwise() -> None:
    robot = pp.Robot.from_dh([pp.robot.DHLink(a=1.0, mass=1.0, damping=2.0), pp.robot.DHLink(a=1.0, mass=1.0)])
    q, v, tau = [0.4, -0.8], [1.0, -2.0], [0.3, 0.1]
    lossy = pp.contact.constrained_dynamics(robot, q, v, tau, [])
    assert lossy.acceleration == pytest.approx(robot.forward_dynamics(q, v, tau), rel=1e-9)
    bare = pp.contact.constrained_dynamics(robot, q, v, tau, [], losses=False)
    assert bare.acceleration == pytest.approx(robot.forward_dynamics(q, v, tau, losses=False), rel=1e-9)


def test_mimic_joints_are_constrained_through_their_leader(tmp_path) -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="l" type="slide" axis="1 0 0"/>
      <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body>
      <body name="b"><joint name="r" type="slide" axis="1 0 0"/>
      <inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/></body></worldbody>
      <equality><joint joint1="r" joint2="l" polycoef="0 -1 0 0 0"/></equality></mujoco>"""
    robot = pp.Robot.from_mjcf_text(text)
    wall = pp.contact.Contact(Plane((0, 0, 0), (1, 0, 0)), frame="a")
    found = pp.contact.constrained_dynamics(robot, [0.0], [0.0], [-7.0], [wall])
    assert found.multipliers[0, 0] == pytest.approx(7.0)
    assert found.acceleration == pytest.approx([0.0], abs=1e-12)
    other = pp.contact.Contact(
        Plane((0, 0, 0), (-1, 0, 0)), frame="b"
    )  # b moves against a: this wall holds a's way too
    assert pp.contact.constrained_dynamics(robot, [0.0], [0.0], [-7.0], [other]).multipliers[0, 0] == pytest.approx(7.0)


def test_an_approaching_contact_is_sent_to_impact() -> None:
    with pytest.raises(InvalidInput, match=r"impact.*due") as caught:
        pp.contact.constrained_dynamics(
            pp.load_robot("planar2"), [0.4, -0.8], [-1, 0], [0, 0], [pp.contact.Contact(FLOOR_Y)]
        )
    assert "impact" in str(caught.value.hint)


def test_friction_without_an_answer_is_named_with_its_state(bodies) -> None:
    phi, mu = 1.0, 3.0
    foot = pp.contact.Contact(Plane(), frame="a", friction=mu, name="foot")
    with pytest.raises(Painleve, match="inconsistent") as caught:
        pp.contact.constrained_dynamics(bodies.rod(), [0, np.sin(phi) / 2, phi], [-1, 0, 0], np.zeros(3), [foot])
    assert caught.value.contact == "foot"
    zone = 1 + 3 * np.cos(phi) ** 2 - 3 * mu * np.sin(phi) * np.cos(phi)
    assert caught.value.coefficient == pytest.approx(zone, rel=1e-9)
    assert caught.value.q == pytest.approx([0, np.sin(phi) / 2, phi])
