"""Times that agree up to rounding: ticks, samples, events; and the step that follows every kind of event."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp
from palpate.tools.contact import Box, Contact, HybridSystem, JointStop, Plane, Ride
from palpate.tools.contact.motion.steps import SHORTEST

G = 9.81


def beside(time: float, ulps: int) -> float:
    """The number so many steps of the last bit away."""
    for _ in range(abs(ulps)):
        time = math.nextafter(time, math.inf if ulps > 0 else -math.inf)
    return time


@pytest.fixture(scope="module")
def ball() -> HybridSystem:
    return HybridSystem(drop(), [Contact(Plane(), restitution=0.5, friction=0.3, name="floor")])


def drop() -> pp.Robot:
    text = (
        f'<mujoco><option gravity="0 0 -{G}"/><worldbody><body name="p"><joint name="x" type="slide" axis="1 0 0"/>'
        '<joint name="z" type="slide" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
        "</worldbody></mujoco>"
    )
    return pp.Robot.from_mjcf_text(text, name="ball")


@pytest.mark.parametrize("ulps", range(-3, 4))
def test_a_run_in_parts_that_end_beside_its_events_is_the_run_in_one(ball, ulps: int) -> None:
    whole = ball.run([0.0, 1.0], [0.4, 0.0], 1.6)
    events = whole.events
    assert [e.what for e in events[:2]] == ["touchdown", "touchdown"]
    assert events[-1].what in ("zeno", "stick")
    state, found = ball.start([0.0, 1.0], [0.4, 0.0]), []
    ends = sorted({beside(event.time, ulps) for event in events} | {beside(event.time, -ulps) for event in events})
    for end in [*ends, 1.6]:
        step = ball.advance(state, max(end, state.time), [0.0, 0.0])
        state, found = step.state, found + list(step.events)
    assert [e.what for e in found] == [e.what for e in events]
    assert [e.time for e in found] == pytest.approx([e.time for e in events], abs=1e-11)
    assert state.q == pytest.approx(whole.state.q, abs=1e-11)
    assert state.v == pytest.approx(whole.state.v, abs=1e-11)


@pytest.mark.parametrize("ulps", range(-3, 4))
def test_samples_beside_ticks_and_events_are_noted_where_they_are(ball, ulps: int) -> None:
    whole = ball.run([0.0, 1.0], [0.4, 0.0], 1.6)
    ticks = [0.1 * k for k in range(1, 16)]
    notes = sorted({*ticks, *(beside(t, ulps) for t in ticks), *(beside(e.time, ulps) for e in whole.events)})
    step = ball.advance(ball.start([0.0, 1.0], [0.4, 0.0]), 1.6, [0.0, 0.0], samples=notes)
    assert step.samples.time.tolist() == notes
    free = step.samples.time < whole.events[0].time
    assert step.samples.q[free, 1] == pytest.approx(1.0 - 0.5 * G * step.samples.time[free] ** 2, abs=1e-13)
    assert step.state.q == pytest.approx(whole.state.q, abs=1e-11)


@pytest.mark.parametrize("period", [1e-3, 2e-3, 5e-3, 7e-4])
@pytest.mark.parametrize("sample", [0.1, 0.05, 0.03, 0.01, 1e-3])
def test_any_sampling_goes_with_any_control_period(ball, period: float, sample: float) -> None:
    """300 · 0.001 is not 0.3: one of the two is met a bit before the other."""
    result = ball.run([0.0, 1.0], [0.4, 0.0], 0.45, lambda state: [0.0, 0.0], period=period, sample=sample)
    assert len(result.samples.time) == math.ceil(0.45 / sample - 1e-9)
    assert result.state.time == 0.45


def test_a_run_that_begins_late_meets_its_ticks_too(ball) -> None:
    """At 1e5 s the last bit of a time is 1.5e-11 s."""
    state = ball.start([0.0, 1.0], [0.4, 0.0], time=1e5)
    for tick in range(1, 600):
        state = ball.advance(state, 1e5 + tick * 1e-3, [0.0, 0.0]).state
    assert state.time == 1e5 + 0.599
    assert state.v[0] < 0.4


def slope_of(robot: pp.Robot, angle: float, **options) -> HybridSystem:
    n = (math.sin(angle), 0.0, math.cos(angle))
    return HybridSystem(robot, [Contact(Plane(normal=n), name="floor", **options)])


def _belt() -> tuple:
    floor = Contact(Plane(), friction=0.3, ride=Ride(velocity=(0.5, 0, 0), start=0.1, stop=0.3), name="belt")
    return HybridSystem(drop(), [floor]), [0.0, 0.0], None, lambda t, q, v: [-40.0 * q[0] - 0.1 * v[0], 0.0]


def _pushed(law) -> tuple:
    return HybridSystem(drop(), [Contact(Plane(), friction=0.3, name="floor")]), [0.0, 0.0], None, law


def _rod(degrees: float, speed: float) -> tuple:
    half = '<inertial pos="0 0 0" mass="1" diaginertia="1e-9 0.3333333333333333 0.3333333333333333"/>'
    text = (
        '<mujoco><compiler angle="radian"/><option gravity="0 0 -10"/><worldbody><body name="b">'
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>'
        f'<joint name="p" axis="0 -1 0"/>{half}<site name="a" pos="-1 0 0"/></body></worldbody></mujoco>'
    )
    phi = math.radians(degrees)
    system = HybridSystem(pp.Robot.from_mjcf_text(text, name="rod"), [Contact(Plane(), frame="a", friction=5 / 3)])
    return system, [0.0, math.sin(phi), phi], [-speed, 0.0, 0.0], np.zeros(3)


def _hill() -> tuple:
    """Up a slope: it stops and slides back."""
    down = np.array([math.cos(0.5), -math.sin(0.5)])
    return slope_of(drop(), 0.5, friction=0.1), [0.0, 0.0], -0.5 * down, [0.0, 0.0]


def _stop() -> tuple:
    return HybridSystem(drop(), [JointStop("x", 0.2, "upper", restitution=0.3)]), [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]


def _box() -> tuple:
    return HybridSystem(drop(), [Contact(Box((0, 0, -0.5)), name="box")]), [0.3, 0.0], [0.5, 0.0], [0.0, 0.0]


# Each kind of event: a system with its start and force, how long it takes, and the event.
KINDS = {
    "touchdown": (lambda: (slope_of(drop(), 0.0), [0, 0.3], None, [0, 0]), 0.5, "touchdown"),
    "lift-off": (lambda: _pushed(lambda t, q, v: [0.0, 30.0 * t]), 0.5, "lift-off"),
    "slip": (lambda: _pushed(lambda t, q, v: [10.0 * t, 0.0]), 0.5, "slip"),
    "stick": (lambda: (slope_of(drop(), 0.0, friction=0.3), [0, 0], [0.3, 0], [0, 0]), 0.4, "stick"),
    "reversal": (_hill, 0.5, "reversal"),
    "zeno": (lambda: (slope_of(drop(), 0.0, restitution=0.4), [0, 0.3], None, [0, 0]), 1.0, "zeno"),
    "edge": (_box, 0.6, "edge"),
    "belt": (_belt, 0.6, "stick"),
    "painleve": (lambda: _rod(31, 30.0), 1.0, "painleve"),
    "stop": (_stop, 0.6, "touchdown"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_after_every_kind_of_event_the_steps_are_long_again(kind: str) -> None:
    """A run of half a second takes some steps around each event, not thousands, and its stride recovers."""
    make, duration, what = KINDS[kind]
    system, q, v, tau = make()
    result = system.run(q, v, duration, tau)
    assert what in {event.what for event in result.events}
    simulation = system.simulation(system.start(q, v))
    simulation.push(system._force(tau, None))
    strides = []
    while simulation.t < duration - 1e-12:
        simulation.go(min(duration, simulation.t + duration / 50))
        strides.append(simulation.control.stride)
    assert min(strides) > 1e3 * SHORTEST
    assert strides[-1] > 1e-5


def test_the_arm_of_document_002_goes_on_after_painleves_paradox_from_every_start() -> None:
    """60 runs along the wall y = 0 with little friction: each meets the paradox or not, and reaches its end."""
    robot, paradoxes = pp.load_robot("planar2"), 0
    for mu in np.linspace(0.01, 0.2, 10):
        system = HybridSystem(robot, [Contact(Plane(normal=(0, 1, 0)), friction=float(mu), name="wall")])
        for q1 in (0.6, 0.8, 1.0, 1.1, 1.2, 1.4):
            result = system.run([q1, -2 * q1], None, 2.5, [0.0, 0.0])
            assert result.state.time == 2.5
            paradoxes += any(event.what == "painleve" for event in result.events)
    assert paradoxes > 20
