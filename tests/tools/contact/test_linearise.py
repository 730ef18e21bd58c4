"""A scenario as a linear model, free and in contact, and the multiplier as the limit of stiffer walls."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import palpate as pp
from palpate.control.laws.joint_impedance import JointImpedance
from palpate.control.laws.passive import Passive
from palpate.errors import InvalidInput
from palpate.run.run import Run
from palpate.tools.contact import Plane
from palpate.world.clock import Clock
from palpate.world.config import Surface, World

G = 9.81


def test_an_arm_on_an_exact_wall_has_the_reduced_equations_poles() -> None:
    """(1 + 4 s²) θ̈ + g c = T1 − 2 T2 about θ: poles ±√(g s/(1 + 4 s²)), with the torque [g c, 0] that holds it."""
    theta = np.pi / 3
    s, c = np.sin(theta), np.cos(theta)
    model = pp.contact.linearise("planar2-slide", tau=[G * c, 0.0])
    assert model.modes == ("sliding",)
    assert model.A.shape == (2, 2)
    expected = np.sqrt(G * s / (1 + 4 * s * s))
    assert np.real(model.eigenvalues) == pytest.approx([expected, -expected], rel=1e-8)


def test_a_wanted_wrench_presses_the_contact_it_is_linearised_in() -> None:
    model = pp.contact.linearise("planar2-hybrid")
    assert model.modes == ("sliding",)
    assert model.A.shape == (2, 2)
    with pytest.raises(InvalidInput, match=r"'wall'.*without force"):
        pp.contact.linearise("planar2-slide")


def test_a_pinned_arm_has_no_motion_left() -> None:
    assert pp.contact.linearise("planar2-pinned").A.shape == (0, 0)


def test_a_free_arm_closed_by_a_spring_law_has_its_poles() -> None:
    """A spring law that compensates gravity: M θ̈ = −K θ − D θ̇."""
    robot = pp.load_robot("planar2")
    run = Run(robot, JointImpedance(stiffness=50.0, damping_ratio=1.0))
    model = pp.contact.linearise(run, closed=True)
    assert model.A.shape == (4, 4)
    assert model.stable
    M = robot.mass_matrix(robot.home)
    assert -model.A[2:, :2] == pytest.approx(np.linalg.solve(M, 50.0 * np.eye(2)), rel=1e-6)


def test_a_compliant_wall_is_a_spring_in_the_linear_model() -> None:
    """cartesian2 pressed 1 mm into a wall of k and d: M ẍ = −k x − d ẋ along its normal."""
    robot = pp.load_robot("cartesian2")
    x = float(robot.pose(robot.home).position[0])
    radius = _tip_radius(robot)
    wall = Surface(name="wall", position=(x + radius - 1e-3, 0, 0), normal=(-1, 0, 0), stiffness=1e4, damping=50.0)
    model = pp.contact.linearise(Run(robot, Passive(), World(surfaces=(wall,))))
    inverse = np.linalg.inv(robot.mass_matrix(robot.home))
    row = robot.jacobian(robot.home)[0]
    assert model.A[2:, :2] == pytest.approx(-inverse @ np.outer(row, row) * 1e4, rel=1e-6, abs=1e-3)
    assert model.A[2:, 2:] == pytest.approx(-inverse @ np.outer(row, row) * 50.0, rel=1e-6, abs=1e-6)


def _tip_radius(robot: pp.Robot) -> float:
    names = [robot.model.geom(g).name for g in range(robot.model.ngeom)]
    return float(robot.model.geom("tip").size[0]) if "tip" in names else 0.0


def test_a_rigid_wall_has_no_linear_model() -> None:
    robot = pp.load_robot("cartesian2")
    with pytest.raises(InvalidInput, match=r"'wall'.*no linear"):
        pp.contact.linearise(Run(robot, Passive(), World(surfaces=(Surface(contact="rigid"),))))


def pressed(contact: Literal["compliant", "rigid", "exact"], stiffness: float = 1e4, timestep: float = 1e-3) -> float:
    """Mean normal force of a slide's second half: an arm with dampers pulled along a wall by gravity."""
    robot = pp.load_robot("planar2")
    wall = Surface(
        name="wall", normal=(0, 1, 0), position=(0, -0.01, 0), contact=contact, stiffness=stiffness,
        damping=2 * np.sqrt(stiffness),
    )  # fmt: skip
    run = Run(
        robot, Passive(damping=3.0), World(surfaces=(wall,)), clock=Clock(duration=0.5, timestep=timestep),
        q_start=[np.pi / 3, -2 * np.pi / 3],
    )  # fmt: skip
    trace = pp.simulate(run)
    return float(trace["contact_wrench"][trace.time > 0.25, 1].mean())


def test_the_compliant_walls_force_tends_to_the_multiplier_with_first_order() -> None:
    """|f_k − λ| ∝ 1/k: the wall yields by f/k. The rigid wall is within 1 %."""
    exact = pressed("exact")
    errors = [abs(pressed("compliant", k, h) - exact) for k, h in ((1e3, 1e-4), (1e4, 1e-4), (1e5, 2e-5))]
    orders = np.log10(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([1.0, 1.0], abs=0.15)
    assert errors[-1] < 1e-3 * exact
    assert pressed("rigid") == pytest.approx(exact, rel=0.01)


def test_the_exact_multiplier_is_the_one_of_constrained_dynamics() -> None:
    robot, q = pp.load_robot("planar2"), [np.pi / 3, -2 * np.pi / 3]
    found = pp.contact.constrained_dynamics(
        robot, q, [0, 0], [0, 0], [pp.contact.Contact(Plane((0, -0.01, 0), (0, 1, 0)), radius=0.01)]
    )
    assert found.modes == ("sliding",)
