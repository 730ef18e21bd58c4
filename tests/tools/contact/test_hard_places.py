"""Where exact contact used to loop, stall or look away: Painlevé's zone, creeping slips, short pulses, wedges."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalSubscript=false

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import palpate as pp
from counting import calls
from palpate.errors import InvalidInput
from palpate.tools.contact import HybridSystem, Plane


def whats(result) -> list[str]:
    return [e.what for e in result.events]


# ---------------------------------------------------------------------- Painlevé


def sliding_rod(phi: float, speed: float, mu: float, g: float) -> tuple[float, float, float]:
    """Glocker's rod (m = s = 1) sliding towards −x on its end, by its own equations, up to where p(φ) = 0.

    p N = g − sin φ φ̇² with p = 1 + 3 cos φ (cos φ − μ sin φ). Returns time, slip and the impulse that stops it there.
    """

    def p(phi: float) -> float:
        return 1 + 3 * math.cos(phi) * (math.cos(phi) - mu * math.sin(phi))

    def rates(_: float, y):
        phi, omega, _x = y
        N = (g - math.sin(phi) * omega**2) / p(phi)
        return [omega, 3 * N * (mu * math.sin(phi) - math.cos(phi)), mu * N]

    def singular(_: float, y) -> float:
        return p(y[0]) - 1e-9

    singular.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    found = solve_ivp(rates, (0, 2), [phi, 0.0, -speed], method="DOP853", events=singular, rtol=1e-11, atol=1e-12)
    phi, omega, v = found.y[:, -1]
    slip = v + math.sin(phi) * omega
    return found.t[-1], slip, -slip / (mu + 3 * math.sin(phi) * (mu * math.sin(phi) - math.cos(phi)))


@pytest.mark.parametrize(("degrees", "impulse"), [(31, 3.49992), (35, None)])
def test_sliding_into_painleves_zone_ends_by_the_impulse_that_stops_the_slip(bodies, degrees: int, impulse) -> None:
    mu, g, phi = 5 / 3, 10.0, math.radians(degrees)
    system = HybridSystem(bodies.rod(2.0, gravity=g), [pp.contact.Contact(Plane(), frame="a", friction=mu, name="tip")])
    result = system.run([0, math.sin(phi), phi], [-30.0, 0, 0], 1.0)
    when, _, expected = sliding_rod(phi, 30.0, mu, g)
    (blow,) = [e for e in result.events if e.what == "impact"]
    assert whats(result).count("painleve") == 1
    assert blow.time == pytest.approx(when, abs=1e-6)
    assert blow.detail["impulse"][2] == pytest.approx(expected, rel=1e-5)
    assert blow.detail["impulse"][2] == pytest.approx(impulse or expected, abs=1e-5 * expected + 1e-5)
    assert [word for _, word in blow.detail["phases"]] == ["slip −", "stick"]
    x, z, omega = blow.v_after  # the end has stopped
    at = blow.q[2]
    assert x + math.sin(at) * omega == pytest.approx(0.0, abs=1e-9)
    assert z - math.cos(at) * omega == pytest.approx(0.0, abs=1e-9)


def test_the_arm_of_document_002_goes_on_through_painleves_zone_and_its_books_close() -> None:
    trace = pp.simulate(pp.load_scenario("planar2-drop", ["robot.start.q=[0.5,-1.0]", "metrics={}"]))
    assert trace.outcome.kind == "completed"
    assert [e["what"] for e in trace.facts.contact_events][:3] == ["reversal", "painleve", "impact"]
    total = trace["energy.kinetic"] + trace["energy.potential"] + trace["energy.dissipated"]
    total = total - trace["energy.injected"] - trace["energy.pushed"]
    assert np.abs(total - total[0]).max() < 1e-6


# ---------------------------------------------------------------------- creeping slips


def creeping(bodies, force, duration: float):
    """A particle of 1 kg pressed on a rough table, with μ N = 2 N, pulled by a force of time along x and y."""
    robot = bodies.point("xyz")
    table = pp.contact.Contact(Plane(), friction=2.0 / bodies.g, name="table")
    return HybridSystem(robot, [table]).run(
        [0, 0, 0], None, duration, lambda s: [*force(s.time), 0.0], period=1e-3, sample=0.01
    )


def test_a_creeping_slip_follows_its_drive_at_the_cost_of_any_other(bodies) -> None:
    """Pulled with μ N (1 + 1e-5) along a direction that turns, the slip stays in it: |u| = ∫ (|f| − μ N) dt."""
    creeping(bodies, lambda t: (0.0, 0.0), 0.01)  # compiles

    def force(t: float) -> tuple[float, float]:
        return 2.0 * (1 + 1e-5) * math.cos(t), 2.0 * (1 + 1e-5) * math.sin(t)

    results = []
    assert calls(lambda: results.append(creeping(bodies, force, 1.0))) < 2_000_000  # 680 000; 200 000 at rest
    (result,) = results
    t, v = result.samples.time[1:], result.samples.v[1:]
    assert np.linalg.norm(v[:, :2], axis=1) == pytest.approx(2e-5 * t, rel=2e-3, abs=1e-8)
    assert np.arctan2(v[:, 1], v[:, 0]) == pytest.approx(t, abs=4e-3)
    assert whats(result) == []


def slip_by_scipy(force, ticks: int) -> np.ndarray:
    """u̇ = f − μ N u/|u| of the same particle, tick by tick, by SciPy's implicit method."""
    u = np.array([1e-9, 0.0])
    for n in range(ticks):
        f = np.array(force(n * 1e-3))
        rhs = lambda _, u, f=f: f - 2.0 * u / np.linalg.norm(u)  # noqa: E731
        u = solve_ivp(rhs, (0, 1e-3), u, method="Radau", rtol=1e-9, atol=1e-15).y[:, -1]
    return u


def test_a_creeping_slip_is_within_its_stated_error_of_the_equation(bodies) -> None:
    """Direction and speed within 1e-4."""
    pull = np.array([2.0003, 0.0, 0.0])

    def force(t: float) -> tuple[float, float]:
        n = round(t * 1e3)
        return float(pull[0] * math.cos(1e-3 * n)), float(pull[0] * math.sin(1e-3 * n))

    result = creeping(bodies, force, 0.2)
    u = slip_by_scipy(force, 200)
    assert result.state.v[:2] == pytest.approx(u, abs=2e-4 * np.linalg.norm(u) + 1e-9)


def test_a_slip_that_has_become_fast_creeps_no_more(bodies) -> None:
    """At 10 mm/s a slip settles at μ N/(m |u|) = 200/s: behind a pull that turns at 100 rad/s it lags by 0.4 rad."""

    def force(t: float) -> tuple[float, float]:
        n = max(round(t * 1e3) - 50, 0)  # creeps for 50 ms, then is pulled harder, round and round
        size, angle = 2.0003 + 0.05 * n, 0.1 * n
        return size * math.cos(angle), size * math.sin(angle)

    result = creeping(bodies, force, 0.08)
    u = slip_by_scipy(force, 80)
    assert result.state.v[:2] == pytest.approx(u, abs=5e-3 * np.linalg.norm(u))
    direction = np.array(force(0.079))
    assert np.linalg.norm(u) > 0.01
    assert abs(u @ direction) < 0.95 * np.linalg.norm(u) * np.linalg.norm(direction)


# ---------------------------------------------------------------------- a pin that rides


def test_a_pin_on_a_shaken_body_carries_its_point_with_the_force_of_its_acceleration(bodies) -> None:
    """x = a sin ωt of 2 kg: f = m (ẍ + g) at every instant, and the point stays where the pin is."""
    a, omega, mass = np.array([0.05, 0.02]), 2 * np.pi * 2.0, 2.0
    pin = pp.contact.Pin(ride=pp.contact.Ride(amplitude=(a[0], 0, a[1]), frequency=2.0))
    result = HybridSystem(bodies.point("xz", mass=mass), [pin]).run([0, 0], a * omega, 0.3, [0, 0], sample=0.05)
    wave = np.sin(omega * result.samples.time)[:, None]
    assert result.samples.q == pytest.approx(a * wave, abs=1e-10)
    assert result.samples.forces[:, 0, [0, 2]] == pytest.approx(mass * (np.array([0, bodies.g]) - omega**2 * a * wave))


# ---------------------------------------------------------------------- forces of time


def test_a_short_pulse_lifts_a_resting_block(bodies) -> None:
    """30 N for 20 ms on 1 kg: it rises with v = 20.19 · 0.02 and lands after (v + √(v² + 2 g z))/g."""
    system = HybridSystem(bodies.point("xz"), [pp.contact.Contact(Plane(), name="floor")])
    result = system.run([0, 0], None, 1.0, lambda t, q, v: [0.0, 30.0 if 0.513 < t < 0.533 else 0.0])
    rise = (30 - bodies.g) * 0.02
    height = 0.01 * rise
    assert whats(result) == ["lift-off", "touchdown"]
    assert result.events[0].time == pytest.approx(0.513, abs=1e-9)
    landing = 0.533 + (rise + math.sqrt(rise**2 + 2 * bodies.g * height)) / bodies.g
    assert result.events[1].time == pytest.approx(landing, abs=1e-8)


def test_a_friction_margin_that_is_broken_for_less_than_half_a_millisecond_is_seen(bodies) -> None:
    """|f| − μ N = 4.905 (1e-6 − 25 (t − 0.5037 s)²): above 0 for 0.4 ms."""
    system = HybridSystem(bodies.point("xz"), [pp.contact.Contact(Plane(), friction=0.5, name="floor")])
    hold = 0.5 * bodies.g
    excess = lambda t: max(1e-6 - 25 * (t - 0.5037) ** 2, -0.5)  # noqa: E731
    result = system.run([0, 0], None, 1.0, lambda t, q, v: [hold * (1 + excess(t)), 0.0])
    assert whats(result) == ["slip", "stick"]
    assert result.events[0].time == pytest.approx(0.5037 - 2e-4, abs=1e-7)


def test_an_error_inside_a_force_function_is_raised_as_it_is(bodies) -> None:
    system = HybridSystem(bodies.point("xz"), [pp.contact.Contact(Plane(), name="floor")])

    def force(t: float, q, v):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        system.run([0, 1], None, 1.0, force)


# ---------------------------------------------------------------------- wedges and ends of reach


def wedge() -> tuple[pp.Robot, np.ndarray, list, np.ndarray]:
    """An arm's tip in a corner, pressed into it by 10 N along both walls: each can carry it, and both together."""
    robot, q = pp.load_robot("planar2"), np.array([0.5, 0.9])
    corner = robot.pose(q).position
    walls = [pp.contact.Contact(Plane(corner, n), friction=0.5, name=f"wall{n}") for n in ((1, 0, 0), (0, 1, 0))]
    return robot, q, walls, robot.gravity(q) - robot.jacobian(q)[:2].T @ [10, 10]


def test_a_tip_wedged_at_rest_sticks_and_says_that_its_forces_are_one_choice_of_many() -> None:
    robot, q, walls, tau = wedge()
    found = pp.contact.constrained_dynamics(robot, q, [0, 0], tau, walls)
    assert found.modes == ("sticking", "sticking")
    assert found.redundant == 2
    assert found.acceleration == pytest.approx([0, 0], abs=1e-9)
    assert found.forces.sum(axis=0) == pytest.approx([10, 10, 0], abs=1e-9)
    for normal, force in zip(np.eye(3)[:2], found.forces):
        press = normal @ force
        assert np.linalg.norm(force - press * normal) <= 0.5 * press + 1e-9


def test_a_wedged_tip_stays_until_the_walls_can_no_longer_hold_it() -> None:
    """Pulled off one wall with more than the other's friction holds (from f_x = −½ f_y on) it slips along the other."""
    robot, q, walls, _ = wedge()
    J, g = robot.jacobian(q)[:2], robot.gravity(q)
    result = HybridSystem(robot, walls).run(q, None, 0.05, lambda s: g - J.T @ [10 - 400 * s.time, 10], period=1e-3)
    slip = next(e for e in result.events if e.what == "slip")
    assert slip.time == pytest.approx(0.038, abs=1e-9)
    assert result.state.modes[1] == "sliding"
    still = HybridSystem(robot, walls).run(q, None, 0.05, lambda s: g - J.T @ [10, 10], period=1e-3)
    assert still.state.modes == ("sticking", "sticking")
    assert still.state.q == pytest.approx(q, abs=1e-12)


def test_a_slot_at_the_end_of_an_arms_reach_is_refused_by_name() -> None:
    robot = pp.load_robot("planar2")
    tip = robot.pose([0, 0]).position
    system = HybridSystem(robot, [pp.contact.Contact(Plane(tip, (1, 0, 0)), two_sided=True, name="slot")])
    with pytest.raises(InvalidInput, match=r"'slot'.*two-sided.*'s reach"):
        system.start([0, 0])


def test_a_push_beyond_all_bounds_ends_with_a_named_outcome() -> None:
    pp.simulate(pp.load_scenario("planar2-slot", ["run.duration=0.002"]))  # compiles
    traces, pushed = [], pp.load_scenario("planar2-slot", ["world.pushes=[{force=[1e12,0,0]}]", "metrics={}"])
    assert calls(lambda: traces.append(pp.simulate(pushed))) < 800_000  # 200 000, 27 000 of them without the push
    (trace,) = traces
    assert trace.outcome.kind == "diverged"
    assert "too large" in trace.outcome.reason
