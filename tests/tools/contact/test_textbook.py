"""Closed forms of the textbooks, to 1e-9: balls, rods, ladders, blocks, oscillators."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import palpate as pp
from palpate.tools.contact import HybridSystem, Plane, Ride, Sphere


def run(robot, contacts, q, v, duration, tau=None, **options):
    force = np.zeros(robot.nv) if tau is None else tau
    return HybridSystem(robot, contacts, **options.pop("system", {})).run(q, v, duration, force, **options)


def what(result) -> list[str]:
    return [event.what for event in result.events]


@pytest.mark.parametrize("e", [0.3, 0.5, 0.8])
def test_a_bouncing_ball_keeps_its_times_and_ends_where_its_series_does(bodies, e: float) -> None:
    """t_n = √(2h/g) (1 + 2 Σ eᵏ), Zeno at √(2h/g) (1 + e)/(1 − e)."""
    fall = np.sqrt(2 / bodies.g)
    result = run(
        bodies.point("z"), [pp.contact.Contact(Plane(), restitution=e)], [1.0], None, fall * (1 + e) / (1 - e) + 0.1
    )
    bounces = [event.time for event in result.events if event.what == "touchdown"]
    expected = fall * (1 + 2 * np.cumsum([0.0, *(e**k for k in range(1, len(bounces)))]))
    assert bounces == pytest.approx(expected, abs=1e-11)
    flights = 2 * fall * e ** np.array([len(bounces) - 1, len(bounces)])  # the last two; the tail begins below 1e-5 s
    assert flights[1] < 1e-5 <= flights[0]
    last = result.events[-1]
    assert last.what == "zeno"
    assert last.time == pytest.approx(fall * (1 + e) / (1 - e), abs=1e-11)
    assert last.after == "sliding"
    assert result.state.q == pytest.approx([0.0], abs=1e-12)
    assert result.state.forces[0, 2] == pytest.approx(bodies.g)


def test_a_pinned_rod_bounces_to_rest_on_the_floor_through_its_pivot(bodies) -> None:
    """L = 1, from 60°, e = 0.5: α̈ = −(3g/2) cos α; the sum of its flights by quadrature, 1.171779372068 s."""
    g, e, start = bodies.g, 0.5, np.pi / 3

    def flight(speed: float) -> float:
        top = np.arcsin(speed**2 / (3 * g))
        # α = top (1 − s²) takes the root out of the integrand at the top.
        return 2 * quad(lambda s: 2 * s * top / np.sqrt(3 * g * (np.sin(top) - np.sin(top * (1 - s * s)))), 0, 1)[0]

    fall = 0.5 * flight(np.sqrt(3 * g * np.sin(start)))
    speeds = [np.sqrt(3 * g * np.sin(start)) * e**n for n in range(1, 50)]
    expected = fall + sum(flight(w) for w in speeds)
    assert expected == pytest.approx(1.171779372068, abs=1e-11)
    floor = pp.contact.Contact(Plane(), restitution=e)
    result = run(bodies.pendulums(1), [floor], [np.pi / 2 + start], None, 1.3)
    assert result.events[0].time == pytest.approx(fall, abs=1e-11)
    assert what(result)[-1] == "zeno"
    assert result.events[-1].time == pytest.approx(expected, abs=1e-10)


def test_a_sliding_ladder_leaves_the_wall_at_two_thirds_of_its_height(bodies) -> None:
    start = np.pi / 3
    walls = [
        pp.contact.Contact(Plane(normal=(1, 0, 0)), frame="a", name="wall"),
        pp.contact.Contact(Plane(), frame="b", name="floor"),
    ]
    result = run(bodies.rod(), walls, [np.cos(start) / 2, np.sin(start) / 2, -start], None, 0.5)
    first = result.events[0]
    assert (first.what, first.contact) == ("lift-off", "wall")
    assert np.sin(-first.q[2]) == pytest.approx(2 / 3 * np.sin(start), abs=1e-11)
    # Until then ½ (1/3) θ̇² = (g/2)(sin θ0 − sin θ).
    rate = np.sqrt(3 * bodies.g * (np.sin(start) - np.sin(-first.q[2])))
    assert first.v_after[2] == pytest.approx(rate, abs=1e-10)


@pytest.mark.parametrize("start", [0.05, 0.3, 0.8])
def test_a_point_leaves_a_smooth_hemisphere_at_two_thirds_of_its_start(bodies, start: float) -> None:
    ball = pp.contact.Contact(Sphere(radius=1.0))
    result = run(bodies.point(), [ball], [np.sin(start), np.cos(start)], None, 3.0)
    first = result.events[0]
    assert first.what == "lift-off"
    assert first.q[1] == pytest.approx(2 / 3 * np.cos(start), abs=1e-10)
    assert first.v_after @ first.v_after == pytest.approx(bodies.g * first.q[1], abs=1e-9)  # v² = g R cos θ


@pytest.mark.parametrize("mu", [0.1, 0.2, 0.3, 0.36, 0.5, 1.0])
def test_a_rod_falling_on_a_rough_floor_slips_where_the_textbook_says(bodies, mu: float) -> None:
    """N = ¼mg(1 − 3 cos θ)², F = ¾mg sin θ (3 cos θ − 2) for a fall from the vertical."""
    theta, g = 0.05, bodies.g
    rate = np.sqrt(3 * g * (1 - np.cos(theta)))
    phi = np.pi / 2 - theta
    q, v = [np.cos(phi) / 2, np.sin(phi) / 2, phi], [rate * np.sin(phi) / 2, -rate * np.cos(phi) / 2, -rate]
    result = run(bodies.rod(), [pp.contact.Contact(Plane(), frame="a", friction=mu)], q, v, 1.2)

    def margin(angle: float) -> float:
        c = np.cos(angle)
        return abs(0.75 * np.sin(angle) * (3 * c - 2)) - mu * 0.25 * (1 - 3 * c) ** 2

    angles = np.linspace(theta, np.pi / 2, 5000)
    signs = np.sign([margin(a) for a in angles])
    place = int(np.flatnonzero((signs[:-1] < 0) & (signs[1:] > 0))[0])
    expected = brentq(margin, angles[place], angles[place + 1], xtol=1e-15)
    slip = result.events[0]
    assert slip.what == "slip"
    assert np.pi / 2 - slip.q[2] == pytest.approx(expected, abs=1e-10)
    assert slip.v_after[2] == pytest.approx(-np.sqrt(3 * g * (1 - np.cos(expected))), abs=1e-9)


def test_a_block_is_stopped_by_friction(bodies) -> None:
    v0, mu = 2.0, 0.3
    result = run(bodies.point(), [pp.contact.Contact(Plane(), friction=mu)], [0, 0], [v0, 0], 1.0)
    assert what(result) == ["stick"]
    assert result.events[0].time == pytest.approx(v0 / (mu * bodies.g), abs=1e-12)
    assert result.state.q[0] == pytest.approx(v0**2 / (2 * mu * bodies.g), abs=1e-12)
    assert result.state.v == pytest.approx([0, 0], abs=1e-15)


def test_a_coulomb_oscillator_loses_two_widths_per_half_period_and_stops(bodies) -> None:
    """Turning points 1 − 2n μg/ω²; it stays where the spring is weaker than friction."""
    k, mu, g = 40.0, 0.3, bodies.g
    width, half = mu * g / k, np.pi / np.sqrt(k)
    result = run(
        bodies.point(),
        [pp.contact.Contact(Plane(), friction=mu)],
        [1.0, 0],
        None,
        5.0,
        lambda t, q, v: [-k * q[0], 0.0],
    )
    count = int(np.ceil((1 / width - 1) / 2))
    assert what(result) == ["reversal"] * (count - 1) + ["stick"]
    assert [e.time for e in result.events] == pytest.approx(half * np.arange(1, count + 1), abs=1e-10)
    places = [(-1) ** n * (1 - 2 * n * width) for n in range(1, count + 1)]
    assert [e.q[0] for e in result.events] == pytest.approx(places, abs=1e-10)


def test_stick_and_slip_on_a_belt(bodies) -> None:
    """Sticks until k x = μ_s mg, slips for (2/ω)(π − atan((x_s − x_k) ω/v_b)), and again."""
    k, speed, static, kinetic, g = 40.0, 0.3, 0.5, 0.3, bodies.g
    belt = pp.contact.Contact(Plane(), friction=kinetic, static_friction=static, ride=Ride(velocity=(speed, 0, 0)))
    result = run(bodies.point(), [belt], [0, 0], [speed, 0], 3.0, lambda t, q, v: [-k * q[0], 0.0])
    w, x_s, x_k = np.sqrt(k), static * g / k, kinetic * g / k
    slipping = 2 / w * (np.pi - np.arctan((x_s - x_k) * w / speed))
    sticking = 2 * (x_s - x_k) / speed
    first = x_s / speed
    expected = [first, first + slipping, first + slipping + sticking, first + 2 * slipping + sticking]
    assert what(result)[:4] == ["slip", "stick", "slip", "stick"]
    assert [e.time for e in result.events[:4]] == pytest.approx(expected, abs=1e-9)


def test_a_block_on_a_moving_belt_is_carried_up_to_its_speed(bodies) -> None:
    speed, mu = 1.5, 0.4
    belt = pp.contact.Contact(Plane(), friction=mu, ride=Ride(velocity=(speed, 0, 0), start=0.2, stop=1.0))
    result = run(bodies.point(), [belt], [0, 0], None, 2.0)
    caught = 0.2 + speed / (mu * bodies.g)
    assert [e.time for e in result.events] == pytest.approx(
        [0.2, caught, 1.0, 1.0 + speed / (mu * bodies.g)], abs=1e-10
    )
    assert what(result) == ["slip", "stick", "slip", "stick"]
    assert result.state.v == pytest.approx([0, 0], abs=1e-14)


def test_housners_block_rocks_itself_to_rest(bodies) -> None:
    """Each impact keeps 1 − (3/2) sin²α of the turning rate; the infinitely many end at a finite time."""
    width, height, tilt = 0.2, 0.8, 0.1
    robot, alpha = bodies.block(width, height), np.arctan(0.25)
    corners = [pp.contact.Contact(Plane(), frame=name, friction=5.0, name=name) for name in ("left", "right")]
    c, s = np.cos(tilt), np.sin(tilt)
    q = [c * width / 2 - s * height / 2, s * width / 2 + c * height / 2, tilt]
    result = run(robot, corners, q, None, 6.0)
    ratio = 1 - 1.5 * np.sin(alpha) ** 2
    hits = [e for e in result.events if e.what == "touchdown"][:20]
    assert [e.contact for e in hits[:4]] == ["right", "left", "right", "left"]
    assert [e.v_after[2] / e.v_before[2] for e in hits] == pytest.approx([ratio] * len(hits), abs=1e-9)
    inertia = (width**2 + height**2) / 3
    p = np.sqrt(bodies.g * np.hypot(width, height) / 2 / inertia)
    quarter = np.arccosh(1 / (1 - tilt / alpha)) / p  # linearised; the real one within a few per cent
    assert hits[0].time == pytest.approx(quarter, rel=0.05)
    assert "zeno" in what(result)
    assert result.state.modes == ("sticking", "sticking")
    assert np.abs(result.state.v).max() < 1e-9


def test_a_ball_with_spin_skids_and_then_rolls(bodies) -> None:
    """Slip u = v − r ω × … stops after 2|u|/(7 μ g) along a straight line; then v − 2/7 u for ever."""
    r, mu, v = 0.1, 0.2, np.array([1.0, 0.5, 0, 3.0, -8.0, 2.0])
    ball = pp.contact.Contact(Plane(), radius=r, friction=mu)
    result = run(bodies.ball(radius=r), [ball], [0, 0, r, 1, 0, 0, 0], v, 1.0)
    slip = np.array([v[0] - r * v[4], v[1] + r * v[3]])
    stop = 2 * np.linalg.norm(slip) / (7 * mu * bodies.g)
    assert what(result) == ["stick"]
    assert result.events[0].time == pytest.approx(stop, abs=1e-10)
    rolling = v[:2] - 2 / 7 * slip
    assert result.state.v[:2] == pytest.approx(rolling, abs=1e-10)
    braking = mu * bodies.g * slip / np.linalg.norm(slip)
    place = v[:2] * stop - 0.5 * braking * stop**2 + rolling * (1.0 - stop)
    assert result.state.q[:2] == pytest.approx(place, abs=1e-9)
    assert result.state.forces[0, :2] == pytest.approx([0, 0], abs=1e-9)


def test_the_uniform_rods_paradox_begins_at_four_thirds(bodies) -> None:
    """A(φ) = 1 + 3 cos²φ − 3μ sin φ cos φ is the library's coefficient; its minimum is 0 first at μ = 4/3."""
    robot = bodies.rod()

    def coefficient(mu: float, phi: float) -> float:
        foot = pp.contact.Contact(Plane(), frame="a", friction=mu)
        found = pp.contact.constrained_dynamics(robot, [0, np.sin(phi) / 2, phi], [-1, 0, 0], np.zeros(3), [foot])
        return float(found.coefficients[0])

    for phi in np.linspace(0.2, 1.4, 7):
        zone = 1 + 3 * np.cos(phi) ** 2 - 3 * 1.3 * np.sin(phi) * np.cos(phi)
        assert coefficient(1.3, phi) == pytest.approx(zone, abs=1e-9)
    worst = np.arctan(2.0)  # where A touches 0 for μ = 4/3
    assert coefficient(4 / 3 - 1e-6, worst) == pytest.approx(3e-6 * np.sin(worst) * np.cos(worst), abs=1e-9)
    with pytest.raises(pp.errors.Painleve):
        coefficient(4 / 3 + 1e-6, worst)
