"""The exact integrator: events and their order, ticks, resuming, slots, pins, edges, singular points, Painlevé."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.tools.contact import Box, Cylinder, HybridSystem, Plane, Ride, Sphere

FLOOR_Y = Plane(normal=(0, 1, 0))


def energy(robot, state) -> float:
    return robot.kinetic_energy(state.q, state.v) + robot.potential_energy(state.q)


def test_the_free_slide_of_document_002_gives_the_audited_angles() -> None:
    start = np.pi / 3
    system = HybridSystem(pp.load_robot("planar2"), [pp.contact.Contact(FLOOR_Y)])
    result = system.run([start, -2 * start], None, 0.5, [0, 0], sample=0.1)
    angle = dict(zip(result.samples.time.round(6), result.samples.q[:, 0]))
    assert angle[0.3] == pytest.approx(0.990168862966, abs=1e-9)
    assert angle[0.5] == pytest.approx(0.878183846981, abs=1e-9)
    assert result.state.v[0] == pytest.approx(-0.749441462068, abs=1e-9)
    assert result.state.modes == ("sliding",)
    theta, rate = result.state.q[0], result.state.v[0]
    s, c = np.sin(theta), np.cos(theta)
    a = -(4 * s * c * rate**2 + 9.81 * c) / (1 + 4 * s * s)
    assert result.state.forces[0, 1] == pytest.approx((a + 3 * 9.81 * c) / (2 * c), abs=1e-9)


@pytest.mark.parametrize("wall", ["y = 0", "x = -1"])
def test_energy_is_kept_along_a_frictionless_slide_for_ten_seconds(wall: str) -> None:
    """On y = 0 the arm folds through its branch point θ2 = π three times, which is said; on x = −1 it never does."""
    robot = pp.load_robot("planar2")
    if wall == "y = 0":
        contact, q = pp.contact.Contact(FLOOR_Y), [np.pi / 3, -2 * np.pi / 3]
    else:
        contact = pp.contact.Contact(Plane((-1, 0, 0), (1, 0, 0)), two_sided=True)
        q = [2.2, np.arccos(-1 - np.cos(2.2)) - 2.2 + 2 * np.pi * (np.arccos(-1 - np.cos(2.2)) < 2.2)]
    system = HybridSystem(robot, [contact])
    state = system.start(q)
    before, events = energy(robot, state), []
    while state.time < 10.0:
        step = system.advance(state, state.time + 0.5, [0, 0])
        state, events = step.state, [*events, *step.events]
        assert energy(robot, state) == pytest.approx(before, abs=1e-10)
        assert abs(robot.pose(state.q).position @ contact.surface.form.rotation[:, 2] - (wall == "x = -1") * -1) < 1e-11
    assert [e.what for e in events] == (["dependent"] * 3 if wall == "y = 0" else [])


def test_a_torque_that_changes_at_ticks_passes_the_branch_point_too() -> None:
    """Held torques make the multiplier grow like 1/cos θ there; the motion is the reduced equation's."""
    from scipy.integrate import solve_ivp

    def force(t: float) -> np.ndarray:
        return np.array([2.0 * np.sin(5 * t), -np.cos(3 * t)])

    period, end = 1e-3, 1.6
    system = HybridSystem(pp.load_robot("planar2"), [pp.contact.Contact(FLOOR_Y, two_sided=True)])
    result = system.run([np.pi / 3, -2 * np.pi / 3], None, end, lambda state: force(state.time), period=period)
    assert "dependent" in [e.what for e in result.events]

    y = np.array([np.pi / 3, 0.0])
    for n in range(round(end / period)):
        T = force(n * period)

        def reduced(_: float, x, T=T):
            s, c = np.sin(x[0]), np.cos(x[0])
            return [x[1], (T[0] - 2 * T[1] - 4 * s * c * x[1] ** 2 - 9.81 * c) / (1 + 4 * s * s)]

        y = solve_ivp(reduced, (0, period), y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert result.state.q[0] < -np.pi / 2
    assert result.state.q[0] == pytest.approx(y[0], abs=1e-8)
    assert result.state.v[0] == pytest.approx(y[1], abs=1e-7)


def test_the_pinned_arm_follows_the_force_step_of_document_002() -> None:
    """dT = Jᵀ k (F_ref − F) through an integrator at 1 kHz, [1, 2] → [1, 3] N at 1 s: F = F_ref (1 − (1 − k h)ⁿ)."""
    robot, k, h = pp.load_robot("planar2"), 10.0, 1e-3
    q = robot.inverse_kinematics([1.0, 0.3, 0.0], seed=[1.0, -1.5])
    J, gravity = robot.jacobian(q)[:2], robot.gravity(q)
    torque = np.zeros(2)
    seen = []

    def law(state) -> np.ndarray:
        nonlocal torque
        push = -state.forces[0, :2] if state.time > 0 else np.zeros(2)  # the robot's on the wall
        seen.append(push)
        wanted = np.array([1.0, 2.0 if state.time < 1.0 - 1e-9 else 3.0])
        torque = torque + J.T @ (k * h * (wanted - push))
        return gravity + torque

    result = HybridSystem(robot, [pp.contact.Pin()]).run(q, None, 2.0, law, period=h)
    steps = np.arange(1000)
    expected = np.array([1.0, 2.0]) * (1 - (1 - k * h) ** steps)[:, None]
    assert np.array(seen[:1000]) == pytest.approx(expected, abs=1e-9)
    last = np.array([1.0, 3.0]) - (np.array([1.0, 3.0]) - np.array([1.0, 2.0]) * (1 - 0.99**1000)) * 0.99**999
    assert seen[-1] == pytest.approx(last, abs=1e-9)
    assert result.state.modes == ("locked",)
    assert result.state.q == pytest.approx(q, abs=1e-12)
    settled = np.flatnonzero(np.abs(np.array(seen[:1000])[:, 1] - 2.0) > 0.04)[-1] * h
    assert settled == pytest.approx(np.log(50) / k, abs=3e-3)


def test_events_are_located_to_a_ten_thousandth_of_a_microsecond(bodies) -> None:
    """A point on a sinusoidal lift leaves it where the lift falls faster than gravity lets it."""
    a, f = 0.05, 3.0
    w = 2 * np.pi * f
    lift = pp.contact.Contact(Plane(), ride=Ride(amplitude=(0, 0, a), frequency=f))
    system = HybridSystem(bodies.point("z"), [lift])
    result = system.run([0.0], [a * w], 0.3, [0.0])
    leaves = np.arcsin(bodies.g / (a * w * w)) / w
    assert result.events[0].what == "lift-off"
    assert result.events[0].time == pytest.approx(leaves, abs=1e-10)
    flight = next(e for e in result.events if e.what == "touchdown")

    def gap(t: float) -> float:
        s = t - leaves
        z = a * np.sin(w * leaves) + a * w * np.cos(w * leaves) * s - 0.5 * bodies.g * s * s
        return z - a * np.sin(w * t)

    from scipy.optimize import brentq

    lands = brentq(gap, leaves + 0.05, leaves + 0.3, xtol=1e-15)
    assert flight.time == pytest.approx(lands, abs=1e-10)


def test_a_graze_is_seen_and_changes_nothing(bodies) -> None:
    """A point flying along a tangent touches a ball without speed along the normal."""
    robot = bodies.point("xz", gravity=0.0)
    line = HybridSystem(robot, [pp.contact.Contact(Sphere((0, 0, -1.0), 1.0))])
    result = line.run([-0.5, 0.0], [1.0, 0.0], 1.0, [0, 0])
    assert [e.what for e in result.events] == ["graze"]
    assert result.events[0].time == pytest.approx(0.5, abs=1e-5)
    assert result.state.q == pytest.approx([0.5, 0.0], abs=1e-12)


def test_an_advance_can_be_cut_anywhere_and_resumed_from_any_state(bodies) -> None:
    robot = bodies.rod()
    contacts = [pp.contact.Contact(Plane(), frame=name, friction=0.3, restitution=0.4) for name in "ab"]
    system = HybridSystem(robot, contacts)
    start = system.start([0, 0.4, 0.5], [0.3, 0, 1.0])
    whole = system.advance(start, 0.7, [0, 0, 0])
    state, events = start, []
    for end in (0.05, 0.2, 0.21, 0.4, 0.7):
        part = system.advance(state, end, [0, 0, 0])
        state, events = part.state, [*events, *part.events]
    assert [e.what for e in events] == [e.what for e in whole.events]
    assert [e.time for e in events] == pytest.approx([e.time for e in whole.events], abs=1e-9)
    assert state.q == pytest.approx(whole.state.q, abs=1e-8)
    again = system.advance(start, 0.7, [0, 0, 0])
    assert again.state.q == pytest.approx(whole.state.q, abs=1e-12)


def test_samples_show_modes_forces_and_states_where_asked(bodies) -> None:
    system = HybridSystem(bodies.point(), [pp.contact.Contact(Plane(), friction=0.3)])
    stop = 2.0 / (0.3 * bodies.g)
    result = system.run([0, 0], [2.0, 0], 1.0, [0, 0], sample=0.05)
    t = result.samples.time
    sliding = t < stop
    assert (result.samples.modes[:, 0] == np.where(sliding, 1, 2)).all()
    assert result.samples.forces[sliding, 0, 0] == pytest.approx(-0.3 * bodies.g)
    assert result.samples.forces[~sliding, 0, 0] == pytest.approx(0.0, abs=1e-12)
    expected = np.where(sliding, 2 * t - 0.15 * bodies.g * t**2, 2.0**2 / (0.6 * bodies.g))
    assert result.samples.q[:, 0] == pytest.approx(expected, abs=1e-12)


def test_a_tick_that_pulls_a_contact_off_is_an_event_at_the_tick(bodies) -> None:
    system = HybridSystem(bodies.point("z"), [pp.contact.Contact(Plane())])
    state = system.advance(system.start([0.0]), 0.1, [0.0]).state
    assert state.modes == ("sliding",)
    lifted = system.advance(state, 0.2, [2 * bodies.g])
    assert [(e.what, e.time) for e in lifted.events] == [("lift-off", 0.1)]
    assert lifted.state.q == pytest.approx([0.5 * bodies.g * 0.01])
    pressed = system.advance(state, 0.2, [-5.0])
    assert pressed.events == ()
    assert pressed.state.forces[0, 2] == pytest.approx(5.0 + bodies.g)


def test_simultaneous_events_come_in_the_stated_order(bodies) -> None:
    """Two ends strike at once: both touchdowns, one impact; what lifts off at the same instant is listed last."""
    ends = [pp.contact.Contact(Plane(), frame=name, restitution=0.5, name=name) for name in "ab"]
    result = HybridSystem(bodies.rod(), ends).run([0, 0.2, 0], None, 0.25, [0, 0, 0])
    first, second = result.events[:2]
    assert (first.what, first.contact, second.what, second.contact) == ("touchdown", "a", "touchdown", "b")
    assert first.time == second.time == pytest.approx(np.sqrt(0.4 / bodies.g), abs=1e-12)
    assert first.detail["impulse"] == pytest.approx(second.detail["impulse"])
    assert result.state.v[2] == pytest.approx(0.0, abs=1e-12)


def test_a_bead_in_a_rough_slot_feels_friction_from_either_side(bodies) -> None:
    """A bead on a horizontal rail pressed up, then down: friction is μ|N|, and changes side with the force."""
    rail = pp.contact.Contact(Plane(), friction=0.5, two_sided=True)
    system = HybridSystem(bodies.point(), [rail])
    lift = 30.0  # N/s: N = g − lift t changes sign at g/30
    result = system.run([0, 0], [3.0, 0], 0.5, lambda t, q, v: [0.0, lift * t])
    turn = bodies.g / lift
    assert [(e.what) for e in result.events] == ["side"]
    assert result.events[0].time == pytest.approx(turn, abs=1e-10)
    lost = 0.5 * (0.5 * lift * turn**2 + 0.5 * lift * (0.5 - turn) ** 2)
    assert result.state.v[0] == pytest.approx(3.0 - lost, abs=1e-10)
    assert result.state.forces[0, 2] == pytest.approx(bodies.g - lift * 0.5, abs=1e-9)


def test_a_point_falls_off_the_edge_of_a_box_and_a_ball_rolls_over_it(bodies) -> None:
    table = Box((0, 0, -0.5), (1.0, 1.0, 1.0))
    result = HybridSystem(bodies.point(), [pp.contact.Contact(table)]).run([0, 0], [2.0, 0], 0.4, [0, 0])
    assert [(e.what, e.after) for e in result.events] == [("edge", "free")]
    assert result.events[0].time == pytest.approx(0.25, abs=1e-12)
    assert result.state.q[1] == pytest.approx(-0.5 * bodies.g * 0.15**2, abs=1e-12)
    slow = HybridSystem(bodies.point(), [pp.contact.Contact(table, radius=0.2)])
    rolled = slow.run([0, 0.2], [0.4, 0], 2.0, [0, 0])
    assert [e.what for e in rolled.events[:2]] == ["edge", "lift-off"]
    assert rolled.events[0].time == pytest.approx(1.25, abs=1e-11)
    # Over the edge it is a particle on a cylinder of radius 0.2: it leaves where v² = g r cos θ.
    leaving = rolled.events[1]
    cosine = leaving.q[1] / 0.2
    assert cosine == pytest.approx((2 + 0.16 / (bodies.g * 0.2)) / 3, abs=1e-10)


def test_a_point_slides_around_a_cylinder_and_inside_a_bowl(bodies) -> None:
    bowl = pp.contact.Contact(Sphere(radius=1.0, inside=True))
    robot = bodies.point()
    system = HybridSystem(robot, [bowl])
    state = system.start([1.0, 0.0])
    before = energy(robot, state)
    for _ in range(8):
        state = system.advance(state, state.time + 0.25, [0, 0]).state
        assert np.hypot(*state.q) == pytest.approx(1.0, abs=1e-12)
        assert energy(robot, state) == pytest.approx(before, abs=1e-11)
        place = -state.q / np.hypot(*state.q)
        # N = m (v²/R − g·n) = 3 m g cos θ for a start at the rim.
        assert state.forces[0, [0, 2]] @ place == pytest.approx(3 * bodies.g * place[1], abs=1e-9)
    log = pp.contact.Contact(Cylinder((0, 0, 0), 1.0, axis=(0, 1, 0)))
    off = HybridSystem(robot, [log]).run([np.sin(0.3), np.cos(0.3)], None, 1.0, [0, 0])
    assert off.events[0].q[1] == pytest.approx(2 / 3 * np.cos(0.3), abs=1e-11)


def test_a_joint_stop_catches_the_elbow(bodies) -> None:
    robot = bodies.pendulums(2)
    stops = [pp.contact.JointStop("j2", 0.5, "upper"), pp.contact.JointStop("j2", -0.5, "lower", restitution=0.3)]
    system = HybridSystem(robot, stops)
    state = system.start([1.2, 0.0])
    before = energy(robot, state)
    seen = set()
    for _ in range(40):
        step = system.advance(state, state.time + 0.05, [0, 0])
        state = step.state
        seen |= {(e.contact, e.what) for e in step.events}
        assert -0.5 - 1e-11 <= state.q[1] <= 0.5 + 1e-11
        assert energy(robot, state) <= before + 1e-11
        before = energy(robot, state)
    assert ("j2:upper", "touchdown") in seen or ("j2:lower", "touchdown") in seen


def test_painleves_paradox_is_named_and_passed_by_an_impact_without_collision(bodies) -> None:
    phi, mu = 1.0, 3.0
    foot = pp.contact.Contact(Plane(), frame="a", friction=mu, name="foot")
    start = [0, np.sin(phi) / 2, phi]
    result = HybridSystem(bodies.rod(), [foot]).run(start, [-1, 0, 0], 0.01, [0, 0, 0])
    paradox, blow = result.events[:2]
    assert paradox.what == "painleve"
    assert paradox.detail["kind"] == "inconsistent"
    zone = 1 + 3 * np.cos(phi) ** 2 - 3 * mu * np.sin(phi) * np.cos(phi)
    assert paradox.detail["coefficient"] == pytest.approx(zone)
    assert (blow.what, blow.before, blow.after) == ("impact", "sliding", "sticking")
    # The impulse brings the tip to rest: the end of compression with the slip stopped is a sticking contact.
    J = np.array([[1, 0, np.sin(phi) / 2], [0, 1, -np.cos(phi) / 2]])
    assert J @ blow.v_after == pytest.approx([0, 0], abs=1e-12)
    assert blow.detail["dissipated"] > 0
    assert blow.detail["impulse"][2] > 0


def test_painleves_paradox_stops_the_run_if_asked(bodies) -> None:
    foot = pp.contact.Contact(Plane(), frame="a", friction=3.0)
    system = HybridSystem(bodies.rod(), [foot], painleve="stop")
    result = system.run([0, np.sin(1.0) / 2, 1.0], [-1, 0, 0], 0.01, [0, 0, 0])
    assert result.outcome == "painleve"
    assert result.state.time == 0.0
    assert result.state.v == pytest.approx([-1, 0, 0])


def test_where_flight_and_sliding_both_hold_the_least_force_is_taken(bodies) -> None:
    """Inside the zone with a turning rod, b > 0 > A: it may fly, or slide with λ = −b/A. It flies, and it is said."""
    phi, mu, w = 1.0, 3.0, 6.0
    foot = pp.contact.Contact(Plane(), frame="a", friction=mu)
    v = [-5.0 - w * np.sin(phi) / 2, w * np.cos(phi) / 2, w]
    result = HybridSystem(bodies.rod(), [foot]).run([0, np.sin(phi) / 2, phi], v, 0.01, [0, 0, 0])
    assert result.events[0].what == "painleve"
    assert result.events[0].detail["kind"] == "indeterminate"
    assert result.state.modes == ("free",)


def test_a_joint_beyond_its_range_is_said() -> None:
    robot = pp.load_robot("panda", joints="ideal")
    result = HybridSystem(robot, []).run(robot.home, None, 1.0, np.zeros(7))
    assert "limit" in [e.what for e in result.events]


def test_a_force_on_the_tool_acts_as_its_wrench_says(bodies) -> None:
    system = HybridSystem(pp.load_robot("cartesian2"), [])
    state = system.advance(system.start([0, 0]), 0.5, [0, 0], wrench=[2.0, 0, 0, 0, 0, 0]).state
    robot = pp.load_robot("cartesian2")
    a = robot.forward_dynamics([0, 0], [0, 0], [0, 0], wrench=[2.0, 0, 0, 0, 0, 0])
    assert state.v == pytest.approx(0.5 * a)


@pytest.mark.parametrize("seed", range(6))
def test_a_tumbling_block_never_penetrates_never_is_pulled_and_never_gains(seed: int, bodies) -> None:
    random = np.random.default_rng(seed)
    width, height = (float(x) for x in random.uniform(0.1, 0.6, 2))
    corners = {
        n: (x * width / 2, z * height / 2) for n, x, z in (("a", -1, -1), ("b", 1, -1), ("c", 1, 1), ("d", -1, 1))
    }
    inertia = (width**2 + height**2) / 12
    robot = bodies.planar_body(1.0, inertia, corners, thin=inertia / 2)
    mu, e = float(random.choice([0.0, 0.2, 0.6, 1.5])), float(random.choice([0.0, 0.3, 0.6]))
    law = str(random.choice(["poisson", "stronge"]))
    walls = {"floor": Plane(), "wall": Plane((1.0, 0, 0), (-1, 0, 0))}
    contacts = [
        pp.contact.Contact(plane, frame=n, friction=mu, restitution=e, law=law, name=f"{w}_{n}")  # type: ignore[arg-type]
        for w, plane in walls.items()
        for n in corners
    ]
    system = HybridSystem(robot, contacts)
    state = system.start([0, 0.8, random.uniform(-3, 3)], [random.uniform(-1, 3), 0, random.uniform(-8, 8)])
    before = energy(robot, state)
    while state.time < 1.5:
        state = system.advance(state, state.time + 0.05, [0, 0, 0]).state
        found = system.model.survey(state.time, state.q, state.v).states
        normal = np.einsum("ki,ki->k", state.forces, found["normal"])
        sideways = np.linalg.norm(state.forces - normal[:, None] * found["normal"], axis=1)
        assert found["gap"].min() > -1e-9
        assert normal.min() > -1e-8
        assert (sideways <= mu * normal + 1e-8).all()
        assert energy(robot, state) <= before + 1e-10
        before = energy(robot, state)


@pytest.mark.slow
def test_a_box_tumbling_in_space_with_friction_comes_to_rest_on_a_face(bodies) -> None:
    """Slips in two directions, impacts with turning slip, four points of rest: energy only falls."""
    robot = bodies.ball(mass=1.0, radius=0.1)
    size = np.array([0.08, 0.06, 0.05])
    corners = [pp.contact.Contact(Plane(), offset=size * s, friction=0.4, restitution=0.2) for s in _signs()]
    system = HybridSystem(robot, corners)
    quat = np.array([0.9, 0.2, -0.3, 0.1])
    state = system.start([0, 0, 0.3, *(quat / np.linalg.norm(quat))], [0.5, -0.2, 0, 2.0, -3.0, 1.0])
    before = energy(robot, state)
    while state.time < 1.35:
        state = system.advance(state, state.time + 0.1, np.zeros(6)).state
        assert energy(robot, state) <= before + 1e-10
        before = energy(robot, state)
        assert system.model.survey(state.time, state.q, state.v).states["gap"].min() > -1e-9
    assert np.abs(state.v).max() < 1e-8
    assert sum(mode != "free" for mode in state.modes) >= 3


def _signs() -> list[np.ndarray]:
    return [np.array([x, y, z]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
