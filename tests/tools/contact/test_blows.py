"""Impacts of several contacts: none is left closing, energy and cones hold, theories are named and may be chosen."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp
from palpate.errors import EnergyCreated, InconsistentContact
from palpate.robot.robot import Robot
from palpate.tools.contact import Contact, HybridSystem, JointStop, Plane, impact
from palpate.tools.contact.collision import impacts
from palpate.tools.contact.modes import complementarity, dynamics, truth

CORNER = [
    Contact(Plane(normal=(1, 0, 0)), frame="a", name="wall"),
    Contact(Plane(normal=(0, 0, 1)), frame="b", name="floor"),
]


def leaning(degrees: float) -> list[float]:
    angle = math.radians(degrees)
    return [0.5 * math.cos(angle), 0.5 * math.sin(angle), -angle]


@pytest.mark.parametrize("order", ["simultaneous", "sequential"])
@pytest.mark.parametrize("law", ["poisson", "stronge", "newton"])
def test_no_blow_on_a_ladder_leaves_a_contact_closing_or_pulling_or_outside_its_cone(
    bodies, law: str, order: str
) -> None:
    """Both ends touch, one may open as the other closes: the blow itself may close it."""
    robot, rng, closed_by_the_blow = bodies.rod(), np.random.default_rng(0), 0
    for degrees in (20, 45, 70):
        q = leaning(degrees)
        Jn = np.array([robot.jacobian(q, "a")[0], robot.jacobian(q, "b")[2]])
        M = robot.mass_matrix(q)
        for mu in (0.0, 0.3, 0.6):
            for e in (0.0, 0.5, 1.0):
                for v in rng.uniform(-1, 1, (6, 3)):
                    try:
                        blow = impact(robot, q, v, CORNER, e, mu, law, order=order)
                    except EnergyCreated:
                        assert law == "newton"
                        continue
                    assert (Jn @ blow.velocity).min() > -1e-9
                    assert blow.normal_impulses.min() > -1e-12
                    grips = np.array([abs(blow.impulses[0, 2]), abs(blow.impulses[1, 0])])
                    assert (grips <= mu * blow.normal_impulses + 1e-9).all()
                    assert blow.energy_after <= blow.energy_before * (1 + 1e-12) + 1e-15
                    assert 0.5 * blow.velocity @ M @ blow.velocity == pytest.approx(blow.energy_after, abs=1e-12)
                    opened = (Jn @ v > 1e-3) & (blow.normal_impulses > 1e-9)
                    closed_by_the_blow += int(opened.any())
    assert closed_by_the_blow > 10


def cradle(masses: tuple[float, ...] = (1.0, 1.0, 1.0)) -> tuple[Robot, list[JointStop]]:
    """Balls on a rail that touch each other: each slides on the one before, and cannot come nearer than 0."""
    text = ""
    for number in range(len(masses), 0, -1):
        inertial = f'<inertial pos="0 0 0" mass="{masses[number - 1]}" diaginertia="1 1 1"/>'
        text = f'<body name="b{number}"><joint name="x{number}" type="slide" axis="1 0 0"/>{inertial}{text}</body>'
    robot = Robot.from_mjcf_text(
        f'<mujoco><option gravity="0 0 0"/><worldbody>{text}</worldbody></mujoco>', name="balls"
    )
    return robot, [JointStop(f"x{n}", 0.0, "lower", restitution=1.0) for n in range(2, len(masses) + 1)]


def speeds(relative: np.ndarray) -> list[float]:
    return np.cumsum(relative).tolist()


@pytest.mark.parametrize("law", ["poisson", "stronge", "newton"])
def test_three_touching_balls_leave_by_either_theory_and_the_result_names_both(law: str) -> None:
    robot, stops = cradle()
    together = impact(robot, [0, 0, 0], [1.0, -1.0, 0.0], stops, law=law)
    assert together.order == "simultaneous"
    assert speeds(together.velocity) == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-12)
    assert set(together.others) == {"sequential"}
    assert speeds(together.others["sequential"]) == pytest.approx([0, 0, 1], abs=1e-12)
    in_turn = impact(robot, [0, 0, 0], [1.0, -1.0, 0.0], stops, law=law, order="sequential")
    assert in_turn.order == "sequential"
    assert speeds(in_turn.velocity) == pytest.approx([0, 0, 1], abs=1e-12)
    assert speeds(in_turn.others["simultaneous"]) == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-12)
    for blow in (together, in_turn):
        assert blow.energy_after == pytest.approx(0.5, abs=1e-12)


def test_five_balls_in_turn_pass_the_blow_on_and_one_contact_has_no_other_theory() -> None:
    robot, stops = cradle((1.0,) * 5)
    blow = impact(robot, np.zeros(5), [1, -1, 0, 0, 0], stops, order="sequential")
    assert speeds(blow.velocity) == pytest.approx([0, 0, 0, 0, 1], abs=1e-12)
    two = impact(robot, np.zeros(5), [1, 0, -1, 0, 0], stops, order="sequential")  # two balls come in, two leave
    assert speeds(two.velocity) == pytest.approx([0, 0, 0, 1, 1], abs=1e-12)
    robot, stops = cradle((1.0, 3.0))
    alone = impact(robot, [0, 0], [1.0, -1.0], stops)
    assert alone.others == {}
    assert speeds(alone.velocity) == pytest.approx([-0.5, 0.5], abs=1e-12)


def test_an_exact_run_takes_the_order_it_is_told_and_says_which() -> None:
    robot, stops = cradle()
    for order, expected in (("simultaneous", [-1 / 3, 2 / 3, 2 / 3]), ("sequential", [0, 0, 1])):
        result = HybridSystem(robot, stops, order=order).run([0, 0, 0], [1.0, -1.0, 0.0], 0.1)
        assert speeds(result.state.v) == pytest.approx(expected, abs=1e-12)
        assert {event.detail.get("order") for event in result.events} == {order}
    with pytest.raises(pp.errors.UnknownName, match="sequential"):
        HybridSystem(robot, stops, order="together")


def test_the_second_blow_of_an_instant_is_an_event_with_its_impulse(bodies) -> None:
    """The foot strikes the floor; the top, which touched the wall and left it, is thrown back against it."""
    robot, q = bodies.rod(), leaning(30)
    Jn = np.array([robot.jacobian(q, "a")[0], robot.jacobian(q, "b")[2]])
    v = np.linalg.solve(np.vstack([Jn, [0, 0, 1]]), [0.05, -1.0, -0.5])
    blow = impact(robot, q, v, CORNER, 0.0)
    assert blow.normal_impulses.min() > 1e-3
    result = HybridSystem(robot, CORNER).run(q, v, 1e-4)
    first = {event.contact: event for event in result.events if event.time == 0.0}
    assert set(first) == {"wall", "floor"}
    for name, number in (("wall", 0), ("floor", 1)):
        assert first[name].what == "touchdown"
        assert first[name].detail["impulse"] == pytest.approx(blow.impulses[number], abs=1e-9)
    assert first["wall"].v_after == pytest.approx(blow.velocity, abs=1e-9)


class TestTheCoreRefusesItsOwnFaults:
    """Each fault put back: the answer is refused by name, or the books of the step are."""

    def test_friction_that_pushes_along_the_slip(self, bodies, monkeypatch) -> None:
        honest = complementarity.Candidate.push

        def along(self, option, size):
            return honest(self, option._replace(side=-option.side) if option.slip else option, size)

        monkeypatch.setattr(complementarity.Candidate, "push", along)
        walls = [Contact(c.surface, frame=c.frame, friction=0.3, name=c.name) for c in CORNER]
        with pytest.raises(InconsistentContact) as caught:
            pp.contact.constrained_dynamics(bodies.rod(), leaning(30), np.zeros(3), np.zeros(3), walls)
        assert caught.value.contact in ("wall", "floor")
        assert "friction" in caught.value.condition

    def test_friction_that_drives_a_motion_ends_the_run_by_name(self, bodies) -> None:
        system = HybridSystem(bodies.block(0.2, 0.1), [Contact(Plane(), frame="left", friction=0.3, name="skid")])
        simulation = system.simulation(system.start([0, 0.05, 0], [0.5, 0, 0]))
        simulation.push(np.zeros(3))
        simulation.go(1e-3)
        system.model.records["side"] = -1.0  # friction is turned round while it slides
        simulation.stepper.begin(simulation.t, simulation.y)
        with pytest.raises(InconsistentContact, match="skid"):
            simulation.go(0.1)

    def test_a_contact_left_closing(self, bodies, monkeypatch) -> None:
        monkeypatch.setattr(impacts, "_repeat_until_open", lambda *rest: None)
        with pytest.raises(InconsistentContact, match="no penetration") as caught:
            impact(bodies.rod(), leaning(45), [0, -1.0, 0], CORNER)
        assert caught.value.contact == "floor"

    def test_momentum_that_does_not_balance(self, bodies, monkeypatch) -> None:
        honest = dynamics.imbalance_of
        monkeypatch.setattr(dynamics, "imbalance_of", lambda left, *terms: honest(1.001 * left, *terms))
        with pytest.raises(InconsistentContact, match=r"equation.*motion"):
            pp.contact.constrained_dynamics(bodies.rod(), leaning(30), np.zeros(3), np.zeros(3), CORNER)

    @pytest.mark.parametrize(
        ("z", "rates", "condition"),
        [
            ([-1.0, 0.0], [0.0, 0.0], "no pull"),
            ([1.0, 0.0], [-1.0, 0.0], "no penetration"),
            ([1.0, 0.0], [1.0, 0.0], "complementarity"),
            ([1.0, 0.4], [0.0, 0.0], "Coulomb's cone"),
            ([1.0, 0.3], [0.0, 1.0], "friction against the slip that begins"),
        ],
    )
    def test_each_condition_of_one_contact(self, z, rates, condition: str) -> None:
        contact = complementarity.Candidate(0, 0, [1], friction=0.3, hold=0.3)
        problem = complementarity.ContactProblem(np.eye(2), np.zeros(2), [contact], 1.0)
        with pytest.raises(InconsistentContact) as caught:
            truth.check_accelerations(problem, np.array(z), np.array(rates), 0.0, ["tip"], 0.0)
        assert (caught.value.contact, caught.value.condition) == ("tip", condition)

    def test_what_is_right_passes(self) -> None:
        contact = complementarity.Candidate(0, 0, [1], friction=0.3, hold=0.3, slip=(1.0,))
        problem = complementarity.ContactProblem(np.eye(2), np.zeros(2), [contact], 1.0)
        truth.check_accelerations(problem, np.array([2.0, -0.6]), np.zeros(2), 0.0, ["tip"], 0.0)
