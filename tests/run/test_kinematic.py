"""Robots of which only the kinematics are known: servos that go where they are told, and what is refused by name."""

from __future__ import annotations

import re

import numpy as np
import pytest

from palpate.control import Admittance, GravityCompensation, JointImpedance, PythonLaw
from palpate.control.guards import Guards
from palpate.control.references.motions import Line
from palpate.errors import MassesMissing, UnknownName
from palpate.robot import Robot, load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.trace import Recording
from palpate.world.clock import Clock
from palpate.world.config import Attachment, FreeObject, PlantChange, Pole, Push, Surface, World

AXES = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")
PLACES = ("0 0 0.3", "0.05 0 0.1", "0 0 0.4", "0.1 0 0.05", "0.3 0 0", "0.08 0 0")


@pytest.fixture
def arm(tmp_path) -> Robot:
    """A six-axis arm as integrators publish them: frames and limits, no masses."""
    links = "".join(f'<link name="l{k}"/>' for k in range(7))
    joints = "".join(
        f'''<joint name="j{k + 1}" type="revolute"><origin xyz="{place}"/><parent link="l{k}"/><child link="l{k + 1}"/>
        <axis xyz="{axis}"/><limit lower="-3" upper="3" velocity="2" effort="100"/></joint>'''
        for k, (axis, place) in enumerate(zip(AXES, PLACES))
    )
    (tmp_path / "bare.urdf").write_text(f'<robot name="bare">{links}{joints}</robot>')
    robot = load_robot(tmp_path / "bare.urdf")
    assert robot.unresisted
    return robot


START = np.array([0.2, 0.4, 0.6, 0.3, 0.5, -0.2])


def test_a_commanded_velocity_is_the_velocity(arm) -> None:
    law = PythonLaw(lambda tick, gains, memory: {"move": np.cos(3 * tick.t) * np.arange(1, 7)}, ("move",), "velocity")
    trace = simulate(Run(arm, law, clock=Clock(duration=0.5, rate=500, timestep=1e-3), q_start=START))
    held = np.repeat(np.cos(3 * np.arange(0, 250) * 2e-3), 2)  # each command stands for a control period
    expected = START + np.outer(np.r_[0.0, np.cumsum(held)] * 1e-3, np.arange(1, 7))
    np.testing.assert_allclose(trace["q"], expected, atol=1e-12)
    np.testing.assert_allclose(trace["v"][1:], np.outer(held, np.arange(1, 7)), atol=1e-12)


def test_a_commanded_position_is_reached_when_the_period_ends(arm) -> None:
    law = PythonLaw(lambda tick, gains, memory: {"go": START + 0.1 * np.sin(2 * tick.t)}, ("go",), "position")
    trace = simulate(Run(arm, law, clock=Clock(duration=0.4, rate=250, timestep=1e-3), q_start=START))
    asked = START + 0.1 * np.sin(2 * trace.time[:-4:4])[:, None]
    np.testing.assert_allclose(trace["q"][4::4], asked, atol=1e-12)


@pytest.mark.parametrize("servo", ["position", "velocity"])
def test_an_admittance_leads_a_tool_without_masses_along_a_line(arm, servo) -> None:
    """Inverse kinematics in the loop: at the end the tool is where the line ends, and sideways errors stay small."""
    line = Line(offset=(0.1, -0.05, 0.08), duration=1.0)
    law = Admittance(servo=servo, stiffness=(2000.0,) * 3 + (200.0,) * 3)
    trace = simulate(Run(arm, law, reference=line, clock=Clock(duration=1.5), q_start=START))
    assert trace.outcome.kind == "completed"
    assert trace["tool_position"][-1] == pytest.approx(trace["target_position"][-1], abs=1e-6)
    assert trace["tool_position"][-1] - trace["tool_position"][0] == pytest.approx([0.1, -0.05, 0.08], abs=1e-6)


def test_a_push_is_felt_and_the_admittance_gives_way_by_its_stiffness(arm) -> None:
    """Δp = f / K at rest: the sensor reads the push, the servo goes where the law says."""
    law = Admittance(stiffness=(500.0,) * 3 + (50.0,) * 3, mass=(2.0,) * 6)
    world = World(pushes=(Push(force=(0, 0, 10.0), duration=9.0),))
    trace = simulate(Run(arm, law, world=world, clock=Clock(duration=2.0), q_start=START))
    assert trace["tool_position"][-1] - trace["tool_position"][0] == pytest.approx([0, 0, 0.02], abs=1e-5)


def test_a_soft_floor_pushes_back_on_the_sensor(arm) -> None:
    tool = arm.pose(START).position
    floor = Surface(name="floor", position=(0, 0, tool[2] - 0.01), stiffness=1e4, damping=0.0)
    law = PythonLaw(lambda tick, gains, memory: {"go": -np.linalg.pinv(tick.J)[:, 2] * 0.02}, ("go",), "velocity")
    trace = simulate(Run(arm, law, world=World(surfaces=(floor,)), clock=Clock(duration=1.0), q_start=START))
    depth = tool[2] - 0.01 - trace["tool_position"][:, 2]
    assert depth[-1] == pytest.approx(0.01, rel=0.02)
    np.testing.assert_allclose(trace["contact_force"], 1e4 * np.maximum(depth, 0), atol=1e-9)
    np.testing.assert_allclose(trace["measured_wrench"][:, 2], trace["contact_force"], atol=1e-9)


def test_what_masses_would_say_is_not_recorded_and_not_a_number(arm) -> None:
    seen = {}

    def look(tick, gains, memory):
        seen.update(M=np.array(tick.M), bias=np.array(tick.bias), J=np.array(tick.J))
        return {"move": np.zeros(6)}

    run = Run(arm, PythonLaw(look, ("move",), "velocity"), clock=Clock(duration=0.01), q_start=START)
    trace = simulate(run)
    assert np.isnan(seen["M"]).all()
    assert np.isnan(seen["bias"]).all()
    np.testing.assert_allclose(seen["J"], arm.jacobian(START), atol=1e-14)
    assert not [name for name in trace.channels if name == "tau" or name.startswith("energy.")]
    assert any(re.search(r"masses.*unknown", note) for note in trace.facts.assumptions)
    with pytest.raises(UnknownName, match="tau"):
        simulate(Run(arm, run.law, record=Recording(("tau",)), q_start=START))


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (World(surfaces=(Surface(contact="rigid"),)), "rigid.*bare needs masses"),
        (World(objects=(FreeObject(name="o"),)), "free object"),
        (World(pole=Pole()), "pole.*tool"),
        (World(attachments=(Attachment(mass=1.0),)), "load attached"),
        (World(plant=PlantChange(mass_scale=1.1)), "plant.*masses"),
        (World(plant=PlantChange(joint_damping=1.0)), "plant.*losses"),
        (World(plant=PlantChange(rotor_inertia=0.1)), "plant.*masses"),
    ],
)
def test_worlds_that_need_masses_are_refused_by_name(arm, world, words) -> None:
    law = PythonLaw(lambda tick, gains, memory: {"move": np.zeros(6)}, ("move",), "velocity")
    with pytest.raises(MassesMissing, match=words):
        simulate(Run(arm, law, world=world, q_start=START))


@pytest.mark.parametrize(
    "law", [GravityCompensation(), JointImpedance(), PythonLaw(lambda t, g, m: {"torque": 0 * t.v})]
)
def test_laws_that_need_masses_are_refused_by_name(arm, law) -> None:
    with pytest.raises(MassesMissing, match="of bare needs masses"):
        simulate(Run(arm, law, q_start=START))


def test_a_wrong_place_of_the_tool_is_no_question_of_masses(arm) -> None:
    law = PythonLaw(lambda tick, gains, memory: {"move": np.zeros(6)}, ("move",), "velocity")
    world = World(plant=PlantChange(base_position=(0.1, 0.0, 0.0)))
    trace = simulate(Run(arm, law, world=world, clock=Clock(duration=0.01), q_start=START))
    assert trace["tool_position"][0] - arm.pose(START).position == pytest.approx([0.1, 0, 0], abs=1e-12)


def test_guards_hold_set_points_without_masses(arm) -> None:
    law = PythonLaw(lambda tick, gains, memory: {"move": np.full(6, 0.5)}, ("move",), "velocity")
    guards = Guards(contact_force=5.0)
    world = World(pushes=(Push(force=(20.0, 0, 0), start=0.05, duration=9.0),))
    trace = simulate(Run(arm, law, world=world, guards=guards, clock=Clock(duration=0.2), q_start=START))
    assert np.abs(trace["v"][-1]).max() == 0.0
