"""What cannot be simulated is refused before the first step, by name."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, NotFinite, UnknownName
from palpate.tools.contact import Box, Cylinder, HybridSystem, Plane, Ride, Sphere

FLOOR = Plane(normal=(0, 1, 0))


def planar2():
    return pp.load_robot("planar2")


def test_a_surface_through_the_start_posture_is_refused_with_its_depth() -> None:
    system = HybridSystem(planar2(), [pp.contact.Contact(Plane((0, 0.2, 0), (0, 1, 0)), name="table")])
    with pytest.raises(InvalidInput, match=r"contact 'table' reaches 0.2.*into"):
        system.start([0.5, -1.0])


def test_a_two_sided_surface_off_the_start_posture_is_refused() -> None:
    system = HybridSystem(planar2(), [pp.contact.Contact(FLOOR, two_sided=True)])
    with pytest.raises(InvalidInput, match=r"two-sided.*point"):
        system.start([0.5, -0.2])


def test_a_two_sided_surface_that_is_left_at_the_start_is_refused() -> None:
    system = HybridSystem(planar2(), [pp.contact.Contact(FLOOR, two_sided=True)])
    with pytest.raises(InvalidInput, match=r"leaves.*surface"):
        system.start([0.5, -1.0], [1.0, 0.0])


def test_a_pin_on_a_moving_point_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"holds.*moves"):
        HybridSystem(planar2(), [pp.contact.Pin()]).start([0.5, -1.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"restitution": 1.5}, "restitution.*0 and 1"),
        ({"restitution": -0.1}, "restitution.*least 0"),
        ({"friction": -0.2}, "friction.*least 0"),
        ({"friction": float("nan")}, "friction.*finite"),
        ({"radius": -1.0}, "radius.*least 0"),
        ({"friction": 0.5, "static_friction": 0.2}, "static.*sliding.*0.5"),
        ({"offset": (0, 0)}, "offset.*shape"),
    ],
)
def test_a_bad_contact_is_refused(options, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        pp.contact.Contact(FLOOR, **options)


def test_an_unknown_law_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="newton, poisson, stronge"):
        pp.contact.Contact(FLOOR, law="newtn")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Plane(normal=(0, 0, 0)), "normal.*direction"),
        (lambda: Sphere(radius=0), "radius.*greater.*0"),
        (lambda: Cylinder(radius=1, length=-1), "length.*greater.*0"),
        (lambda: Cylinder(radius=1, length=1, inside=True), "endless"),
        (lambda: Box(size=(1, 0, 1)), "edges.*positive"),
        (lambda: Ride(start=2, stop=1), "starts.*stops"),
        (lambda: Plane(point=(0, float("inf"), 0)), "point.*finite"),
        (lambda: pp.contact.Contact("floor"), "surface.*Plane"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_shape_is_refused(build, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        build()


def test_a_contact_on_a_body_that_cannot_move_is_refused() -> None:
    with pytest.raises(InvalidInput, match="frame 'base' of planar2 cannot move"):
        HybridSystem(planar2(), [pp.contact.Contact(FLOOR, frame="base")])


def test_a_plane_the_arm_can_never_approach_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"never moves.*'s normal"):
        HybridSystem(planar2(), [pp.contact.Contact(Plane((0, 0, -1)))])


def test_more_constraints_than_freedoms_are_refused() -> None:
    walls = [pp.contact.Contact(FLOOR, two_sided=True), pp.contact.Pin()]
    with pytest.raises(InvalidInput, match=r"3 directions.* but planar2 has 2 freedoms"):
        HybridSystem(planar2(), walls)


def test_names_must_differ_and_exist() -> None:
    with pytest.raises(InvalidInput, match="called 'w'"):
        HybridSystem(planar2(), [pp.contact.Contact(FLOOR, name="w"), pp.contact.Contact(FLOOR, name="w")])
    with pytest.raises(UnknownName, match="unknown frame 'tol'"):
        HybridSystem(planar2(), [pp.contact.Contact(FLOOR, frame="tol")])
    with pytest.raises(UnknownName, match="unknown joint 'elbow'"):
        HybridSystem(planar2(), [pp.contact.JointStop("elbow", 1.0, "upper")])
    with pytest.raises(InvalidInput, match="side must be"):
        pp.contact.JointStop("joint1", 1.0, "left")  # type: ignore[arg-type]


def test_a_joint_that_sticks_has_no_linear_model_and_no_reduced_equation() -> None:
    robot = pp.Robot.from_dh([pp.robot.DHLink(a=1.0, friction=0.5), pp.robot.DHLink(a=1.0)])
    for ask in (
        lambda: pp.contact.linearise_state(robot, [0.1, 0.2]),
        lambda: pp.contact.reduced_dynamics(robot, [0.1, 0.2], [0, 0], [0, 0], []),
    ):
        with pytest.raises(InvalidInput, match="dry friction") as caught:
            ask()
        assert 'joints="ideal"' in str(caught.value)


def test_a_force_that_is_not_finite_is_refused_by_name() -> None:
    system = HybridSystem(planar2(), [])
    state = system.start([0.1, 0.2])
    with pytest.raises(NotFinite, match="tau of planar2"):
        system.advance(state, 0.1, [np.nan, 0.0])
    with pytest.raises(NotFinite, match="function's value"):
        system.advance(state, 0.1, lambda t, q, v: [np.inf, 0.0])


def test_time_does_not_run_backwards() -> None:
    system = HybridSystem(planar2(), [])
    state = system.advance(system.start([0.1, 0.2]), 0.1, [0, 0]).state
    with pytest.raises(InvalidInput, match=r"until.*least 0.1"):
        system.advance(state, 0.05, [0, 0])
