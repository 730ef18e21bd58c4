"""Friction's foot, curved surfaces, the energy of moving walls and of dry joints: each held against its equation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from palpate.control import PythonLaw
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Motion, PlantChange, Push, Surface, World
from palpate.world.forces.contact import PointContact, PointState, _rub, surface_state

IDLE = PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})
N = np.array([0.6, 0.0, 0.8])
MU, K_T, D_T = 0.5, 2e3, 30.0


def rubbed(slip, velocity, force, elapsed=1e-3):
    """What friction does to a contact on a surface of normal N, pressed with `force`."""
    surface = Surface(friction=MU, tangential_stiffness=K_T, tangential_damping=D_T)
    contact = PointContact(
        point=PointState(body=0, radius=0.0, on_robot=True, felt=False, share=1.0),
        surface=surface_state(surface, -1, np.zeros(3)),
    )
    contact.slip[:], contact.velocity[:], contact.normal[:] = slip, velocity, N
    _rub(contact, float(np.dot(velocity, N)), MU * force, elapsed)
    return contact


def across(v):
    return v - (v @ N) * N


def test_a_sticking_contact_is_a_spring_and_a_damper_in_the_tangent_plane():
    """On a curved surface the normal turns: what the stretch had along the new normal is dropped."""
    slip, velocity = np.array([1e-3, 2e-3, -1e-3]), np.array([0.02, -0.01, 0.05])
    found = rubbed(slip, velocity, 1e3)
    stretch = across(slip) + across(velocity) * 1e-3
    assert found.slip_next == pytest.approx(stretch, abs=1e-15)
    assert found.force == pytest.approx(-K_T * stretch - D_T * across(velocity), abs=1e-12)
    assert abs(found.slip_next @ N) < 1e-15


def test_the_foot_of_a_sliding_contact_follows_so_that_the_spring_alone_carries_the_friction():
    slip, velocity, force = np.array([0.1, 0.2, -0.1]), np.array([0.2, -0.1, 0.3]), 10.0
    found = rubbed(slip, velocity, force)
    assert np.linalg.norm(found.force) == pytest.approx(MU * force, rel=1e-14)
    assert found.slip_next == pytest.approx(-np.array(found.force) / K_T, rel=1e-14)
    assert abs(np.dot(found.force, N)) < 1e-13


def test_a_block_that_has_slid_swings_about_its_foot_by_no_more_than_the_limit_allows():
    """Without a damper: x = x_foot + (μN/k_t) cos(√(k_t/m) t) once it has come to rest."""
    robot, k_t, g = load_robot("cartesian2"), 2e3, 9.81
    tool = float(robot.pose(robot.home).position[1])
    depth, radius = g / 1e5, 0.01  # cartesian2 weighs 1 kg along y, its contact sphere is 1 cm
    floor = Surface(
        name="floor", position=(0, tool - radius + depth, 0), normal=(0, 1, 0), stiffness=1e5, damping=500.0,
        friction=MU, tangential_stiffness=k_t, tangential_damping=0.0,
    )  # fmt: skip
    world = World(surfaces=(floor,), pushes=(Push(force=(2 * MU * g, 0, 0), duration=0.1),))
    trace = simulate(Run(robot, IDLE, world, clock=Clock(duration=0.8, timestep=5e-5, integrator="rk4")))
    assert trace.outcome.kind == "completed"
    x, mass = trace["q"][:, 0], robot.mass_matrix(robot.home)[0, 0]
    late = x[trace.time > 0.5]
    # It comes to rest within a step, not at its end: 1.7 % at 2e-4 s, 0.43 % here.
    assert (late.max() - late.min()) / 2 == pytest.approx(MU * g / k_t, rel=6e-3)
    crossings = np.flatnonzero(np.diff(np.sign(late - late.mean())) > 0)
    period = np.diff(trace.time[trace.time > 0.5][crossings]).mean()
    assert period == pytest.approx(2 * np.pi * np.sqrt(mass / k_t), rel=2e-3)


@pytest.mark.parametrize(("integrator", "tolerance"), [("euler", 1e-12), ("rk4", 1e-2)])
def test_a_moving_wall_brings_in_its_force_times_its_speed(integrator: Any, tolerance):
    """∫ f·v_wall dt; a semi-implicit step holds the force of its start, so its sum is exact."""
    robot = load_robot("cartesian2", gravity=0.0)
    wall = Surface(
        name="wall", normal=(1, 0, 0), position=(-0.0101, 0, 0), stiffness=1e4, damping=20.0,
        motion=Motion(amplitude=(0.01, 0, 0), frequency=2.0),
    )  # fmt: skip
    trace = simulate(
        Run(robot, IDLE, World(surfaces=(wall,)), clock=Clock(integrator=integrator, timestep=1e-4, duration=0.4))
    )
    speed = 0.01 * 2 * np.pi * 2.0 * np.cos(2 * np.pi * 2.0 * trace.time)
    power = trace["contact_wrench"][:, 0] * speed
    expected = np.concatenate([[0.0], np.cumsum(power[:-1]) * 1e-4])
    scale = np.abs(expected).max()
    assert scale > 1e-3
    assert trace["energy.pushed"] == pytest.approx(expected, abs=tolerance * scale)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_dry_joints_lose_their_friction_times_the_way(integrator: Any):
    robot, friction = load_robot("cartesian2", gravity=0.0), 2.0
    world = World(plant=PlantChange(joint_friction=friction))
    run = Run(robot, IDLE, world, clock=Clock(integrator=integrator, duration=0.3), v_start=[1.0, 0.5])
    trace = simulate(run)
    speed = np.abs(trace["v"]).sum(axis=1)
    way = np.concatenate([[0.0], np.cumsum(speed[1:] + speed[:-1]) * 1e-3 / 2])  # the speeds fall along straight lines
    moving = (np.abs(trace["v"]) > 0.05).all(axis=1)
    assert moving.sum() > 50
    assert trace["energy.dissipated"][moving] == pytest.approx(friction * way[moving], rel=1e-9, abs=1e-9)
    total = trace["energy.kinetic"] + trace["energy.dissipated"]
    assert np.abs(total - total[0]).max() < 1e-3 * total[0]


def test_a_sliding_contact_loses_friction_times_the_speed_of_its_foot_and_a_sticking_one_its_dampers_power():
    """−f_t · (v_t − ṡ) and d_t v_t²."""
    slip, velocity, elapsed = np.array([0.1, 0.2, -0.1]), np.array([0.2, -0.1, 0.3]), 1e-2
    slid = rubbed(-1e-3 * across(velocity), velocity, 0.5, elapsed)
    rate = (np.array(slid.slip_next) - -1e-3 * across(velocity)) / elapsed
    expected = -np.array(slid.force) @ (across(velocity) - rate)
    assert expected > 0.01
    assert slid.lost == pytest.approx(expected, rel=1e-12)
    stuck = rubbed(1e-3 * slip, velocity, 1e3, elapsed)
    assert stuck.lost == pytest.approx(D_T * across(velocity) @ across(velocity), rel=1e-12)


def floor_under(robot, **settings):
    """A floor into which a cartesian2 of 1 kg has sunk by its weight; its contact sphere is 1 cm."""
    tool = float(robot.pose(robot.home).position[1])
    depth = 9.81 / 1e5
    return Surface(
        name="floor", position=(0, tool - 0.01 + depth, 0), normal=(0, 1, 0), stiffness=1e5, damping=500.0,
        **settings,
    )  # fmt: skip


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_sliding_loses_friction_times_the_way(integrator: Any):
    robot = load_robot("cartesian2")
    world = World(surfaces=(floor_under(robot, friction=MU, tangential_stiffness=2e4),))
    clock = Clock(integrator=integrator, duration=0.2, timestep=1e-4)
    trace = simulate(Run(robot, IDLE, world, clock=clock, v_start=[2.0, 0.0]))
    sliding = (trace.time > 0.02) & (trace["v"][:, 0] > 0.5)
    x, lost = trace["q"][sliding, 0], trace["energy.dissipated"][sliding]
    assert x[-1] - x[0] > 0.15
    assert lost - lost[0] == pytest.approx(MU * 9.81 * (x - x[0]), rel=1e-3, abs=1e-4)


def test_a_foot_that_is_lifted_while_its_friction_spring_is_stretched_gives_up_what_it_held():
    """8 N along the floor stretch the spring by 4 mm, ½ f²/k_t = 16 mJ; then a blow lifts the foot within one step."""
    robot = load_robot("cartesian2")
    world = World(
        surfaces=(floor_under(robot, friction=0.9, tangential_stiffness=2e3, tangential_damping=80.0),),
        pushes=(Push(force=(8.0, 0, 0), duration=2.0), Push(kind="impulse", force=(0, 2.0, 0), start=0.6)),
    )
    trace = simulate(Run(robot, IDLE, world, clock=Clock(duration=0.61, timestep=1e-4, period=1e-4)))
    at = int(np.searchsorted(trace.time, 0.5999))
    assert trace["energy.stored"][at] == pytest.approx(0.5 * 9.81**2 / 1e5 + 0.5 * 8.0**2 / 2e3, rel=1e-2)
    assert trace["contact_force"][-1] == 0.0
    change = {name: trace[f"energy.{name}"][-1] - trace[f"energy.{name}"][at] for name in (
        "kinetic", "potential", "stored", "pushed", "dissipated")}  # fmt: skip
    assert change["dissipated"] == pytest.approx(0.016, rel=0.02)
    held = change["kinetic"] + change["potential"] + change["stored"]
    assert held + change["dissipated"] == pytest.approx(change["pushed"], abs=2e-3)  # the floor's own work in that step
