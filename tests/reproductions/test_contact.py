"""Exact contact: states and commands that once gave a wrong answer or none, with the answers they have now."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportFunctionMemberAccess=false

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import palpate as pp
from palpate.metrics import evaluate
from palpate.robot.robot import Robot
from palpate.tools.contact import Contact, HybridSystem, Plane, Ride, constrained_dynamics, impact, static_equilibrium

G = 9.81
LADDER = """<mujoco model="ladder"><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<body name="b"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
<joint name="p" type="hinge" axis="0 -1 0"/>
<inertial pos="0 0 0" mass="1" diaginertia="1e-9 0.08333333333333333 0.08333333333333333"/>
<site name="A" pos="-0.5 0 0"/><site name="B" pos="0.5 0 0"/><site name="tool"/></body></worldbody></mujoco>"""
SCENARIO = """name = "ladder"
[robot]
model = "ladder.xml"
[robot.start]
q = {q}
[control]
law = "passive"
[world]
contact_points = ["A", "B"]
[[world.surfaces]]
name = "wall"
normal = [1, 0, 0]
contact = "exact"
friction = 0.3
[[world.surfaces]]
name = "floor"
normal = [0, 0, 1]
contact = "exact"
friction = 0.3
[run]
duration = 0.4
[metrics]
energy_residual = {{most = 1e-3}}
"""


def posture(degrees: float) -> list[float]:
    angle = math.radians(degrees)
    return [0.5 * math.cos(angle), 0.5 * math.sin(angle), -angle]


def corner(mu: float, e: float = 0.0) -> list[Contact]:
    return [
        Contact(Plane(normal=(1, 0, 0)), frame="A", friction=mu, restitution=e, name="wall"),
        Contact(Plane(), frame="B", friction=mu, restitution=e, name="floor"),
    ]


@pytest.fixture(scope="module")
def ladder() -> Robot:
    return Robot.from_mjcf_text(LADDER, name="ladder")


@pytest.fixture
def run_ladder(tmp_path: Path):
    def run(degrees: float) -> pp.Trace:
        (tmp_path / "ladder.xml").write_text(LADDER)
        (tmp_path / "ladder.toml").write_text(SCENARIO.format(q=posture(degrees)))
        return pp.simulate(pp.load_scenario(tmp_path / "ladder.toml"))

    return run


def test_a_ladder_at_58_degrees_stands_since_the_limit_is_56_60(run_ladder) -> None:
    assert math.degrees(math.atan((1 - 0.3**2) / 0.6)) == pytest.approx(56.60, abs=5e-3)
    trace = run_ladder(58.0)
    assert trace.outcome.kind == "completed"
    assert np.abs(trace["q"] - trace["q"][0]).max() < 1e-12


def test_a_ladder_at_30_degrees_loses_energy_and_leaves_the_wall_at_0_2459_s(run_ladder) -> None:
    """Both ends slide: m ẍ = W − μ F, m z̈ = μ W + F − m g, and the moments about the centre, integrated apart."""
    trace = run_ladder(30.0)
    mu = 0.3

    def solve(angle: float, rate: float) -> np.ndarray:
        """θ̈ and the forces W of the wall and F of the floor, with x = cos θ/2 and z = sin θ/2."""
        c, s = math.cos(angle), math.sin(angle)
        balance_x = [-s / 2, -1.0, mu]
        balance_z = [c / 2, -mu, -1.0]
        # About the centre: the wall acts at (−c, s)/2, the floor at (c, −s)/2; θ falls as the ladder turns clockwise.
        moments = [-1 / 12, -((-c / 2) * mu - (s / 2)), -((c / 2) - (-s / 2) * -mu)]
        return np.linalg.solve([balance_x, balance_z, moments], [c * rate**2 / 2, s * rate**2 / 2 - G, 0.0])

    away = lambda t, y: solve(*y)[1]  # noqa: E731
    away.terminal = True
    path = solve_ivp(
        lambda t, y: [y[1], solve(*y)[0]],
        (0, 0.4),
        [math.radians(30), 0.0],
        "DOP853",
        events=away,
        rtol=1e-12,
        atol=1e-13,
    )
    left = [event["time"] for event in trace.facts.contact_events if event["what"] == "lift-off"]
    assert left == pytest.approx([path.t_events[0][0]], abs=1e-9)
    assert left == pytest.approx([0.2459], abs=5e-5)
    total = trace["energy.kinetic"] + trace["energy.potential"]
    assert np.diff(total).max() < 1e-9
    assert {r.name: r.value for r in evaluate(trace)}["energy_residual"] == pytest.approx(0.0, abs=1e-9)


def test_all_546_ladders_have_friction_against_their_slip_and_stand_where_they_must(ladder) -> None:
    for mu in np.linspace(0.1, 0.8, 7):
        for degrees in range(10, 88):
            result = constrained_dynamics(ladder, posture(degrees), np.zeros(3), np.zeros(3), corner(float(mu)))
            assert result.forces[0, 2] > -1e-9
            assert result.forces[1, 0] < 1e-9
            stands = math.tan(math.radians(degrees)) >= (1 - mu**2) / (2 * mu)
            assert (np.abs(result.acceleration).max() < 1e-9) == stands


def test_all_128_ladders_beyond_the_limit_are_in_static_equilibrium(ladder) -> None:
    for mu in np.linspace(0.2, 0.9, 16):
        limit = math.degrees(math.atan((1 - mu**2) / (2 * mu)))
        for degrees in np.linspace(limit + 0.01, 88.0, 8):
            assert static_equilibrium(ladder, posture(degrees), np.zeros(3), corner(float(mu))).holds


def test_a_sample_at_0_3_s_meets_the_tick_at_300_milliseconds() -> None:
    robot = pp.load_robot("planar2")
    system = HybridSystem(robot, [Contact(Plane(normal=(0, 1, 0)), friction=0.1, restitution=0.3)])
    result = system.run([1.2, -1.6], None, 0.9, lambda state: [0.0, 0.0], period=1e-3, sample=0.1)
    assert result.samples.time == pytest.approx(np.arange(1, 10) / 10)


def test_a_belt_that_is_sampled_every_millisecond_runs_past_0_4_s() -> None:
    point = (
        '<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="p"><joint name="x" type="slide" axis="1 0 0"/>'
        '<joint name="z" type="slide" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
        "</worldbody></mujoco>"
    )
    belt = Contact(Plane(), friction=0.3, ride=Ride(velocity=(0.5, 0, 0)), name="belt")
    system = HybridSystem(Robot.from_mjcf_text(point, name="block"), [belt])
    result = system.run([0, 0], None, 1.0, lambda t, q, v: [-10.0 * q[0], 0.0], sample=1e-3)
    assert len(result.samples.time) == 1000
    stick = next(event for event in result.events if event.what == "stick")
    again = system.advance(system.start([0, 0]), stick.time, lambda t, q, v: [-10.0 * q[0], 0.0])
    assert system.advance(again.state, stick.time + 0.1, [0.0, 0.0]).outcome == "done"


@pytest.mark.parametrize("mu", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("q1", [0.8, 1.0, 1.2, 1.4])
def test_document_002s_arm_slides_through_painleves_zone(mu: float, q1: float) -> None:
    changes = [f"robot.start.q=[{q1},{-2 * q1}]", "world.surfaces.wall.restitution=0", "metrics={}"]
    changes += [f"world.surfaces.wall.friction={mu}", "run.duration=2.5"]
    assert pp.simulate(pp.load_scenario("planar2-drop", changes)).outcome.kind == "completed"


@pytest.mark.parametrize("law", ["poisson", "stronge"])
def test_no_blow_on_a_ladder_leaves_a_contact_closing(ladder, law: str) -> None:
    rng = np.random.default_rng(0)
    for degrees in (20, 30, 45, 60, 75):
        q = posture(degrees)
        Jn = np.array([ladder.jacobian(q, "A")[0], ladder.jacobian(q, "B")[2]])
        for mu in (0.0, 0.2, 0.5):
            for e in (0.0, 0.5, 1.0):
                for v in rng.uniform(-1, 1, (4, 3)):
                    blow = impact(ladder, q, v, corner(mu, e), law=law)
                    assert (Jn @ blow.velocity).min() > -1e-9


@pytest.mark.parametrize("name", ["panda", "fr3", "ur3e", "ur5e", "ur10e", "puma560"])
def test_arms_with_joint_friction_are_not_refused(name: str) -> None:
    robot = pp.load_robot(name)
    q = np.array(robot.home)
    floor = Contact(Plane(robot.pose(q).position), friction=0.2)
    v = np.linalg.pinv(robot.jacobian(q)) @ np.array([0, 0, -0.1, 0, 0, 0])
    assert impact(robot, q, v, [floor]).normal_impulses[0] > 0.0
    assert constrained_dynamics(robot, q, 0 * v, robot.gravity(q), [floor]).acceleration == pytest.approx(
        0 * v, abs=1e-9
    )


def test_a_panda_with_its_friction_slides_on_an_exact_table() -> None:
    changes = ['world.surfaces.0.contact="exact"', "run.duration=0.5", "metrics={}"]
    trace = pp.simulate(pp.load_scenario("panda-slide", changes))
    assert trace.outcome.kind == "completed"
    assert {"joint1", "joint6"} <= {event["contact"] for event in trace.facts.contact_events}
