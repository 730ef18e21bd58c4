"""Single equations of exact contact, each against its closed form: what no other test would miss."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalSubscript=false, reportOptionalMemberAccess=false

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import palpate as pp
from palpate.tools.contact import Box, Cylinder, HybridSystem, Plane, Ride
from palpate.tools.contact.modes.complementarity import Candidate, ContactProblem, ModeOption, Solution
from palpate.tools.contact.modes.dynamics import _by_hysteresis
from palpate.tools.contact.touch.contacts import SLIDING, STICKING

FLOOR_Y = Plane(normal=(0, 1, 0))


def test_the_multiplier_after_the_branch_point_answers_torques_that_changed_on_it() -> None:
    """λ of the folded arm on y = 0 under held torques: M q̈ + h = τ + (n·J)ᵀ λ, where θ2 = −2 θ1 gives q̈ exactly."""

    def force(t: float) -> np.ndarray:
        return np.array([2.0 * np.sin(5 * t), -np.cos(3 * t)])

    robot, period = pp.load_robot("planar2"), 1e-4
    system = HybridSystem(robot, [pp.contact.Contact(FLOOR_Y, two_sided=True)])
    state, coasted, worst = system.start([np.pi / 3, -2 * np.pi / 3]), False, 0.0
    for n in range(16000):
        tau = force(n * period)
        step = system.advance(state, (n + 1) * period, tau)
        state, before = step.state, coasted
        coasted = coasted or any(e.what == "dependent" for e in step.events)
        if before and state.time < 1.6:
            q, v = state.q, state.v
            s, c = np.sin(q[0]), np.cos(q[0])
            a = (tau[0] - 2 * tau[1] - 4 * s * c * v[0] ** 2 - 9.81 * c) / (1 + 4 * s * s)
            need = robot.inverse_dynamics(q, v, [a, -2 * a]) - tau
            pull = robot.jacobian(q)[1] * state.forces[0, 1]
            worst = max(worst, float(np.abs(need - pull).max()))
    assert coasted
    assert worst < 1e-4


def series_end(e: float) -> float:
    """When the bounces of a hanging rod (θ̈ = −3g/2 sin θ) on a wall at 0.3 rad end, flight by flight."""
    k = 1.5 * 9.81

    def launched(angle: float, rate: float, ends) -> tuple[float, float]:
        ends.terminal = True
        rhs = lambda _, y: [y[1], -k * math.sin(0.3 + y[0])]  # noqa: E731
        way = solve_ivp(rhs, (0, 5), [angle, rate], events=ends, method="DOP853", rtol=1e-13, atol=1e-18)
        return way.t[-1], way.y[1, -1]

    t, arrival = launched(0.6, 0.0, lambda _, y: y[0])
    rate, rise = -e * arrival, 1.0
    while rise > 1e-6:
        rise = launched(0.0, rate, lambda _, y: y[1])[0]  # it falls as long as it rises
        t, rate = t + 2 * rise, rate * e
    return t + 2 * rise * e / (1 - e)


@pytest.mark.parametrize("e", [0.5, 0.7])
def test_the_end_of_a_series_of_long_bounces_is_extrapolated(bodies, e: float) -> None:
    """From flights below 5 ms the end is found to 1e-8 s, ten times closer than by one geometric series."""
    robot = bodies.pendulums(1)
    wall = pp.contact.Contact(Plane(robot.pose([0.3]).position, (1, 0, 0)), restitution=e)
    result = HybridSystem(robot, [wall], shortest_flight=5e-3).run([0.9], None, 4.0)
    (end,) = [event.time for event in result.events if event.what == "zeno"]
    assert end == pytest.approx(series_end(e), abs=1e-8)


@pytest.mark.parametrize(
    ("load", "moving", "mode"), [(4.0, 0.0, "sticking"), (4.0, 0.3, "sliding"), (6.0, 0.0, "sliding")]
)
def test_between_sliding_and_static_friction_a_contact_stays_as_it_is(
    bodies, load: float, moving: float, mode: str
) -> None:
    """μ = 0.3 and μ_s = 0.5 on 9.81 N: from rest 4 N do not move it, in motion they do (4 > 2.94)."""
    floor = pp.contact.Contact(Plane(), friction=0.3, static_friction=0.5)
    found = pp.contact.constrained_dynamics(bodies.point("xz"), [0, 0], [moving, 0], [load, 0], [floor])
    assert found.modes == (mode,)
    assert found.acceleration[0] == pytest.approx(load - 0.3 * bodies.g if mode == "sliding" else 0.0, abs=1e-12)
    result = HybridSystem(bodies.point("xz"), [floor]).run([0, 0], [moving, 0], 0.2, [load, 0.0])
    gained = (load - 0.3 * bodies.g) * 0.2 if mode == "sliding" else 0.0
    assert result.state.v[0] == pytest.approx(moving + gained, abs=1e-10)


def test_the_last_bounces_take_their_share_of_the_slip(bodies) -> None:
    """A particle that falls obliquely: all normal impulses sum to m (u + g T), and friction to μ times that."""
    mu, e, u, slip, g = 0.2, 0.5, 1.0, 5.0, bodies.g
    for shortest in (1e-5, 5e-2):
        floor = pp.contact.Contact(Plane(), friction=mu, restitution=e)
        system = HybridSystem(bodies.point("xz"), [floor], shortest_flight=shortest)
        result = system.run([0, 0], [slip, -u], 0.6)
        # impulses (1 + e) u (1 + e + e² + …) = u (1 + e)/(1 − e); from then on the weight
        flights = 2 * u * e / (g * (1 - e))
        expected = slip - mu * (u * (1 + e) / (1 - e) + g * (0.6 - flights))
        assert result.state.v[0] == pytest.approx(expected, abs=1e-9)


def test_a_ball_rolls_over_a_cylinders_rim_onto_its_side(bodies) -> None:
    """Pushed over the rim of an upright cylinder it leaves the end for the rim and the rim for the side."""
    robot = bodies.ball(radius=0.1, gravity=0.0)
    can = pp.contact.Contact(Cylinder((0, 0, 0), radius=0.5, length=1.0), radius=0.1, name="can")
    system = HybridSystem(robot, [can])
    q = np.array([0.45, 0, 0.6, 1, 0, 0, 0.0])

    def press(t: float, q, v):
        """Towards the axis and the middle plane, and along the meridian."""
        p = q[:3]
        ring = np.array([0.5, 0, 0.5])
        way = p - ring if p[0] > 0.5 and p[2] > 0.5 else np.array([0, 0, 1.0]) if p[2] > 0.5 else np.array([1.0, 0, 0])
        normal = way / np.linalg.norm(way)
        along = np.array([normal[2], 0, -normal[0]])
        speed = v[:3] @ along
        centre = speed**2 / 0.1  # holds it on the rim
        return np.concatenate([-(5.0 + centre) * normal + 20.0 * (0.3 - speed) * along, np.zeros(3)])

    features, state = [], system.start(q, np.array([0.3, 0, 0, 0, 0, 0]))
    for n in range(120):
        step = system.advance(state, 0.01 * (n + 1), press)
        state = step.state
        features += [e.what for e in step.events]
    assert features == ["edge", "edge"]
    assert state.modes == ("sliding",)
    assert state.q[0] == pytest.approx(0.6, abs=1e-9)
    assert state.q[2] < 0.49


@pytest.mark.parametrize("load", [-7.0, 7.0])
def test_a_bead_in_a_rough_slot_presses_on_the_side_it_is_pushed_to(bodies, load: float) -> None:
    """From either guess of the side: f_n = −load, friction μ |load| against the slip."""
    slot = pp.contact.Contact(Plane(), friction=0.2, two_sided=True)
    found = pp.contact.constrained_dynamics(bodies.point("xz", gravity=0.0), [0, 0], [1.0, 0], [0, load], [slot])
    assert found.multipliers[0, 0] == pytest.approx(-load, abs=1e-12)
    assert found.acceleration == pytest.approx([-0.2 * 7.0, 0.0], abs=1e-12)
    c = Candidate(0, 0, [1], one_sided=False, friction=0.2, hold=0.2, slip=(1.0,))
    problem = ContactProblem(np.eye(2), np.array([load, 0.0]), [c], 1.0)
    (answer,) = problem.solve()
    assert answer.options[0].side == -math.copysign(1.0, load)
    wrong = problem.attempt([ModeOption(SLIDING, (1.0,), math.copysign(1.0, load))])
    assert problem._violation(c, wrong.options[0], wrong).side == -math.copysign(1.0, load)


def test_a_belt_and_a_shaken_table_bring_in_the_work_of_their_forces() -> None:
    """energy.pushed = ∫ f·v_surface dt of a tip pressed on a belt, and the books close."""
    belt = 'world.surfaces=[{name="belt",normal=[0,1,0],contact="exact",friction=0.3,motion={velocity=[0.4,0,0]}}]'
    trace = pp.simulate(pp.load_scenario("planar2-slide", [belt, "metrics={}"]))
    force, t = trace["contact.belt"][:, 0], trace.time
    brought = np.concatenate([[0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(t))]) * 0.4
    assert np.abs(brought).max() > 0.05
    assert trace["energy.pushed"] == pytest.approx(brought, abs=5e-3 * np.abs(brought).max())
    total = trace["energy.kinetic"] + trace["energy.potential"] + trace["energy.dissipated"] - trace["energy.pushed"]
    assert np.abs(total - total[0]).max() < 1e-8


def test_a_table_that_is_shaken_moves_its_load_as_its_sinusoid_says(bodies) -> None:
    """Stuck on a table x = a sin ωt the load's force is −m a ω² sin ωt."""
    ride = Ride(amplitude=(0.01, 0, 0), frequency=2.0)
    w = 2 * math.pi * 2.0
    table = pp.contact.Contact(Plane(), friction=2.0, ride=ride)
    result = HybridSystem(bodies.point("xz"), [table]).run([0, 0], [0.01 * w, 0], 1.0, sample=0.05)
    t = result.samples.time
    assert result.samples.q[:, 0] == pytest.approx(0.01 * np.sin(w * t), abs=1e-11)
    assert result.samples.forces[:, 0, 0] == pytest.approx(-0.01 * w**2 * np.sin(w * t), abs=1e-9)


def test_a_point_leaves_a_box_at_its_edge_and_not_before(bodies) -> None:
    box = pp.contact.Contact(Box((0, 0, 0), (1, 1, 1)), name="box")
    result = HybridSystem(bodies.point("xz"), [box]).run([0.2, 0.5], [1.0, 0], 0.5)
    assert [e.what for e in result.events] == ["edge"]
    assert result.events[0].time == pytest.approx(0.3, abs=1e-10)


def test_where_both_stick_and_slip_are_answers_a_contact_at_rest_sticks_until_it_is_made_to_slip() -> None:
    c = Candidate(0, 0, [1], friction=0.3, hold=0.5)
    stick, slide = (Solution((ModeOption(mode),), np.zeros(2), np.zeros(2)) for mode in (STICKING, SLIDING))
    assert _by_hysteresis([c], [slide, stick], {}) == [stick]
    assert _by_hysteresis([c], [slide, stick], {0: SLIDING}) == [slide]
    assert _by_hysteresis([c], [slide], {}) == [slide]
