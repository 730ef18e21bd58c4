"""Coulomb friction in the joints: what sticks stands still, what slides is braked, and the energies add up."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import palpate as pp
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.robot.robot import Robot
from palpate.world.clock import Clock
from palpate.world.config import PlantChange, Push, Surface, World
from palpate.world.driver import Driver
from palpate.world.plants.joint_friction import FrictionWork, solve_joint_friction
from palpate.world.plants.plant import dry_friction, true_robot

INTEGRATORS = ("euler", "implicit", "rk4")
F, K, MASS = 3.0, 200.0, 2.0  # N, N/m, kg
BLOCK = """<mujoco><option gravity="0 0 0"/><worldbody><body name="b">
<joint name="x" type="slide" axis="1 0 0" frictionloss="{F}" stiffness="{K}" damping="{D}"/>
<geom name="tip" type="sphere" size="0.1" mass="2"/><site name="tool"/></body></worldbody></mujoco>"""


def slid(q: float = 0.0, v: float = 0.0, *, friction: float = F, stiffness: float = 0.0, damping: float = 0.0,
         force: float = 0.0, world: World | None = None, **clock) -> pp.Trace:  # fmt: skip
    """A block of 2 kg on a rough floor, with a spring, a damper and a steady push."""
    robot = Robot.from_mjcf_text(BLOCK.format(F=friction, K=stiffness, D=damping), name="block")
    pushes = (Push(name="push", force=(force, 0, 0), start=0.0, duration=1e3),) if force else ()
    run = pp.Run(
        robot, GravityCompensation(damping=0.0), world or World(pushes=pushes), clock=Clock(**clock),
        q_start=np.array([q]), v_start=np.array([v]),
    )  # fmt: skip
    return pp.simulate(run)


def by_all_choices(M: np.ndarray, b: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """The same by trying every way of sticking and sliding."""
    n, best, least = len(b), np.zeros(len(b)), math.inf
    for sides in product((-1, 0, 1), repeat=n):
        s = np.array(sides)
        free = (s != 0) | (bound == 0)
        v = np.zeros(n)
        v[free] = np.linalg.solve(M[np.ix_(free, free)], (b - bound * s)[free])
        value = 0.5 * v @ M @ v - b @ v + bound @ np.abs(v)
        if value < least - 1e-14:
            best, least = v, value
    return best


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_velocities_are_those_of_the_best_of_all_choices(n: int) -> None:
    random, work = np.random.default_rng(n), FrictionWork({"N": n})
    for _ in range(60):
        A = random.normal(size=(n, n))
        M, b, bound = A @ A.T + 0.1 * np.eye(n), 2 * random.normal(size=n), random.uniform(0, 1.5, n)
        bound[random.random(n) < 0.2] = 0.0
        v = random.normal(size=n) * (random.random(n) < 0.6)
        solve_joint_friction(M, b, bound, v, work.address)
        assert v == pytest.approx(by_all_choices(M, b, bound), abs=1e-11)


def test_seven_joints_keep_their_friction_law_to_rounding() -> None:
    random, work = np.random.default_rng(7), FrictionWork({"N": 7})
    for _ in range(300):
        A = random.normal(size=(7, 7))
        M, b, bound = A @ A.T + 1e-3 * np.eye(7), random.normal(size=7), random.uniform(0, 1, 7)
        v = random.normal(size=7)
        solve_joint_friction(M, b, bound, v, work.address)
        friction = M @ v - b
        assert (np.abs(friction) <= bound + 1e-10).all()
        slides = v != 0
        assert friction[slides] == pytest.approx(-(bound * np.sign(v))[slides], abs=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_load_below_the_friction_moves_nothing_in_ten_seconds(integrator: str) -> None:
    trace = slid(force=0.999999 * F, duration=10.0, timestep=1e-3, integrator=integrator)
    assert np.abs(trace["q"]).max() < 1e-20
    assert np.abs(trace["v"]).max() == 0.0
    assert not trace.warnings


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_load_above_it_accelerates_by_what_is_left(integrator: str) -> None:
    trace = slid(force=5.0, duration=2.0, timestep=1e-3, integrator=integrator)
    assert trace["v"][-1, 0] == pytest.approx((5.0 - F) / MASS * 2.0, rel=1e-12)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_sliding_block_stops_after_m_v2_over_2f_and_stays(integrator: str) -> None:
    trace = slid(v=0.6, duration=2.0, timestep=1e-4, integrator=integrator)
    assert trace["q"][-1, 0] == pytest.approx(0.5 * MASS * 0.36 / F, abs=1e-4)
    stopped = np.argmax(trace["v"][:, 0] == 0.0)
    assert trace["time"][stopped] == pytest.approx(0.6 * MASS / F, abs=2e-4)
    assert (trace["v"][stopped:, 0] == 0.0).all()
    assert trace["energy.dissipated"][-1] == pytest.approx(0.5 * MASS * 0.36, rel=1e-4)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_spring_loses_2f_over_k_with_every_half_swing_and_ends_inside_its_dead_band(integrator: str) -> None:
    trace = slid(0.1, stiffness=K, duration=3.0, timestep=1e-4, integrator=integrator)
    q, v = trace["q"][:, 0], trace["v"][:, 0]
    turns = [q[0], *(q[i] for i in range(1, len(q)) if v[i - 1] != 0 and v[i] * v[i - 1] <= 0)]
    assert turns == pytest.approx([0.1, -0.07, 0.04, -0.01], abs=1e-6)  # 0.1 − 2 F/K n, from side to side
    assert abs(q[-1]) < F / K
    assert v[-1] == 0.0
    energy = {name: trace[f"energy.{name}"] for name in ("kinetic", "potential", "dissipated")}
    assert energy["kinetic"] + energy["potential"] + energy["dissipated"] == pytest.approx(1.0, abs=1e-3)
    assert energy["dissipated"][-1] == pytest.approx(0.5 * K * (0.1**2 - 0.01**2), rel=1e-5)
    assert not trace.warnings


def test_viscous_and_coulomb_friction_together_follow_the_closed_form() -> None:
    """m v̇ = −d v − F: v = (v₀ + F/d) e^{−d t/m} − F/d until it stands."""
    d, v0 = 4.0, 1.0
    trace = slid(v=v0, damping=d, duration=1.0, timestep=1e-4)
    t, expected = trace["time"], np.maximum((v0 + F / d) * np.exp(-d / MASS * trace["time"]) - F / d, 0.0)
    assert trace["v"][:, 0] == pytest.approx(expected, abs=2e-4)
    assert trace["v"][t > MASS / d * math.log(1 + v0 * d / F) + 1e-3, 0].max() == 0.0


def test_a_stop_takes_what_friction_leaves_and_the_block_stands_there() -> None:
    """Between a rigid wall's force and friction: pushed against a wall it presses with the push less the friction."""
    wall = Surface(name="wall", contact="rigid", position=(0.15, 0, 0), normal=(-1, 0, 0))
    push = Push(name="push", force=(10.0, 0, 0), start=0.0, duration=1e3)
    trace = slid(world=World(surfaces=(wall,), pushes=(push,)), duration=2.0, timestep=1e-3)
    late = trace["time"] > 1.5
    assert np.abs(trace["v"][late]).max() < 1e-9
    force = trace["contact_force"][late]
    assert force.min() >= 10.0 - F - 1e-6
    assert force.max() <= 10.0 + F + 1e-6


def test_an_arm_loaded_inside_its_friction_does_not_creep() -> None:
    """A Panda whose gravity model is 0.5 % off stands still to the last bit."""
    robot = pp.load_robot("panda")
    world = World(plant=PlantChange(mass_scale=1.002))
    run = pp.Run(robot, GravityCompensation(damping=0.0), world, clock=Clock(duration=10.0, timestep=1e-3))
    trace = pp.simulate(run)
    assert np.abs(trace["q"] - trace["q"][0]).max() == 0.0
    ideal = pp.Run(
        robot.with_ideal_joints(), GravityCompensation(damping=0.0), world, clock=Clock(duration=1.0, timestep=1e-3)
    )
    assert np.abs(pp.simulate(ideal)["q"] - trace["q"][0]).max() > 1e-3


def test_friction_of_a_joint_that_follows_is_felt_by_its_leader() -> None:
    """A second slide mirrors the first: it takes both frictions to move them, and both masses are moved."""
    xml = """<mujoco><option gravity="0 0 0"/><worldbody>
    <body name="a"><joint name="x" type="slide" axis="1 0 0" frictionloss="1"/><geom size="0.1" mass="2"/>
    <site name="tool"/></body>
    <body name="b"><joint name="y" type="slide" axis="0 1 0" frictionloss="2"/><geom size="0.1" mass="1"/></body>
    </worldbody><equality><joint joint1="y" joint2="x" polycoef="0 -2 0 0 0"/></equality></mujoco>"""
    robot = Robot.from_mjcf_text(xml, name="pair")

    def pushed(force: float) -> pp.Trace:
        push = Push(name="p", force=(force, 0, 0), start=0.0, duration=10.0)
        clock = Clock(duration=1.0, timestep=1e-3)
        return pp.simulate(pp.Run(robot, GravityCompensation(damping=0.0), World(pushes=(push,)), clock=clock))

    assert np.abs(pushed(4.99)["q"]).max() < 1e-12
    assert pushed(8.0)["v"][-1, 0] == pytest.approx((8.0 - 5.0) / (2.0 + 4.0), rel=1e-6)


@pytest.mark.parametrize("name", ["panda", "fr3", "ur5e", "quadruped", "planar2"])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_dry_friction_is_that_of_the_plant_that_would_be_built(name: str, share: float) -> None:
    change = PlantChange(joint_friction=0.3, mass_scale=1.1)
    robot, world = pp.load_robot(name), World(plant=change, driver=Driver(coulomb_compensation=share))
    true = true_robot(robot, world)
    expected = np.abs(true.coordinates.map).T @ true.model.dof_frictionloss
    np.testing.assert_array_equal(dry_friction(robot, world), expected)
    assert expected.any()
