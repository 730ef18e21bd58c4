"""Compiled parts of a motion against their counterparts: terms on equations, and the way back onto constraints."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.robot.robot import Robot
from palpate.tools.contact import HybridSystem, Plane, Sphere
from palpate.tools.contact.motion.projection import project
from palpate.tools.contact.touch.contacts import FREE, SLIDING, STICKING

_RNG = np.random.default_rng(4)


def _contacts(robot):
    """A ball on a plane, one against a sphere, a pinned point that can move in space, and a stop."""
    place = robot.pose(robot.home).position
    return [
        pp.contact.Contact(Plane(place - [0, 0, 0.03]), friction=0.2, radius=0.03),
        pp.contact.Contact(Sphere(place - [0, 0.2, 0], 0.1), friction=0.4, radius=0.02),
        pp.contact.Pin(),
        pp.contact.JointStop("joint2", 1.7, "upper"),
    ]


_FLYING = """<mujoco><worldbody><body name="hull"><freejoint/><geom type="box" size="0.1 0.2 0.3" mass="2"/>
<body name="arm" pos="0.1 0 0.2"><joint name="turn" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 0.5" size="0.02"/>
<site name="tool" pos="0 0 0.5"/></body></body></worldbody></mujoco>"""


def _arm():
    robot = pp.load_robot("panda", joints="ideal")
    return robot, _contacts(robot)


def _flying():
    robot = Robot.from_mjcf_text(_FLYING, name="flying")
    return robot, [pp.contact.Contact(Plane((0, 0, -1)), friction=0.3, radius=0.05), pp.contact.Pin(frame="hull")]


@pytest.mark.parametrize("make", [_arm, _flying])
def test_terms_of_the_equations_are_those_of_the_engine(make):
    robot, contacts = make()
    engine, equations = (HybridSystem(robot, contacts, equations=on) for on in (False, True))
    assert equations.model.machine.tree.on
    assert not engine.model.machine.tree.on
    for _ in range(5):
        q, v = robot.integrate(robot.home, 0.4 * _RNG.normal(size=robot.nv), 1.0), _RNG.normal(size=robot.nv)
        a, b = engine.model.survey(0.0, q, v), equations.model.survey(0.0, q, v)
        assert pytest.approx(a.M, abs=1e-13) == b.M
        assert b.bias == pytest.approx(a.bias, abs=1e-12)
        assert b.Jc == pytest.approx(a.Jc, abs=1e-13)
        for name in a.states.dtype.names or ():
            assert b.states[name] == pytest.approx(a.states[name], abs=1e-12), name


def test_numbers_beyond_the_equations_are_the_engines():
    robot = pp.load_robot("planar2")
    model = HybridSystem(robot, [pp.contact.Pin()], equations=True).model
    model.survey(0.0, np.array([0.1, 0.2]), np.zeros(2))
    assert model.machine.tree.now
    model.survey(0.0, np.array([0.1, 2e6]), np.zeros(2))
    assert not model.machine.tree.now


@pytest.mark.parametrize("creeps", [False, True])
def test_a_state_is_brought_back_as_linear_algebra_says(creeps):
    robot = pp.load_robot("panda", joints="ideal")
    place = robot.pose(robot.home).position
    contacts = [
        pp.contact.Contact(Plane(place), friction=0.2),
        pp.contact.Contact(Plane(place, (0, 1, 0)), frame="link5", offset=(0, 0, 0.1), friction=0.2),
        pp.contact.JointStop("joint2", float(robot.home[1]) + 1e-7, "upper"),
    ]
    system = HybridSystem(robot, contacts)
    simulation = system.simulation(system.start(robot.home))
    records, n = system.model.records, robot.nv
    records["mode"][:3] = SLIDING, FREE, STICKING
    records["creep"][0], records["slip"][0] = creeps, (0.6, 0.8, 0.0)
    y = np.concatenate([robot.home + 1e-7 * _RNG.normal(size=n), 1e-6 * _RNG.normal(size=n)])
    compiled = y.copy()
    assert project(system.model.machine.address, 0.0, compiled)
    assert compiled == pytest.approx(simulation.handler.project(0.0, y.copy()), abs=1e-15)
    snap = system.model.survey(0.0, compiled[:n], compiled[n:])
    assert abs(snap.states["gap"][[0, 2]]).max() < 1e-15
    assert abs(snap.states["rate"][[0, 2]]).max() < 1e-20
    held = abs(snap.states["across"][0] @ snap.states["slide"][0])
    assert (held < 1e-20) == creeps
    assert np.abs(compiled - y).max() > 1e-8
