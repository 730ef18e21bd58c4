"""The plant on its own equations beside the engine: the same traces, books, outcomes and warnings."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from palpate.control import CartesianImpedance, GravityCompensation, JointImpedance, PythonLaw
from palpate.control.references.reference import Hold
from palpate.errors import InvalidInput
from palpate.robot import Robot, load_robot
from palpate.run.assemble.assemble import assemble
from palpate.run.assemble.renew import Renewable
from palpate.run.run import Run
from palpate.run.simulate import as_run, execute_bare, simulate
from palpate.scenario.file.folders import shipped
from palpate.world.clock import Clock
from palpate.world.config import Attachment, FreeObject, Motion, PlantChange, Pole, Push, Sensors, Surface, World

# Scenarios that need something else than equations, and why: a change here is a change for users.
NOT_BY_EQUATIONS: dict[str, str] = dict.fromkeys(
    (f"planar2-{name}" for name in ("drop", "hybrid", "pinned", "slide", "slot")), "exact contact"
)
# Of a tip held in a vice every speed is what is left of an equilibrium: 1e-13 of 1e-4 m/s.
AT_REST = {"planar2-tip-force": 1e-8}

SKEW = """<mujoco><option gravity="0.5 0.2 -9.81"/><compiler angle="radian"/><worldbody>
<body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0" range="-0.4 0.5" limited="true" armature="0.01"/>
<inertial mass="1.2" pos="0.05 0.1 -0.3" diaginertia="0.02 0.03 0.01"/>
<body name="b" pos="0 0 -0.5"><joint name="j2" axis="0.3 1 0.2" range="-0.5 0.5" limited="true" stiffness="3"
springref="0.2" damping="{damping}"/><inertial mass="0.7" pos="0.02 0 -0.2" diaginertia="0.01 0.011 0.003"/>
<body name="c" pos="0 0.03 -0.3"><joint name="j3" type="slide" axis="0.1 0.2 1" range="-0.01 0.01" limited="true"
stiffness="2000" damping="{damping}"/><inertial mass="0.4" pos="0.02 0 -0.02" diaginertia="0.001 0.0011 0.0013"/>
<geom name="tip" type="sphere" size="0.01" mass="0" pos="0 0 -0.1"/><site name="tool" pos="0 0 -0.1"/>
</body></body></body></worldbody></mujoco>"""


def with_physics(run, physics):
    return replace(run, clock=run.clock.model_copy(update={"physics": physics}))


def both(run, go=simulate):
    return go(with_physics(run, "engine")), go(with_physics(run, "equations"))


def bare(run):
    return execute_bare(assemble(run))


def physical(warnings):
    """Warnings without the judgement of promises: of traces equal to 1e-15 it may fall on either side of a bound."""
    return [text for text in warnings if "did not keep its promise" not in text]


def assert_same(engine, equations, tolerance=1e-9):
    assert equations.outcome == engine.outcome
    assert physical(equations.warnings) == physical(engine.warnings)
    assert list(equations) == list(engine)
    for name in engine:
        scale = max(np.abs(engine[name]).max(initial=0.0), 1e-5)  # a term that is only rounding has no size
        np.testing.assert_allclose(equations[name], engine[name], rtol=0.0, atol=tolerance * scale, err_msg=name)


# ------------------------------------------------------------------------------------------------ shipped scenarios


def test_at_least_thirty_shipped_scenarios_run_on_equations():
    carriers = {name: assemble(as_run(name)).carrier for name in shipped()}
    other = {name: carrier.reason for name, carrier in carriers.items() if carrier.name != "equations"}
    print(*(f"{name}: {reason}" for name, reason in other.items()), sep="\n")
    assert other.keys() == NOT_BY_EQUATIONS.keys()
    assert all(NOT_BY_EQUATIONS[name] in reason for name, reason in other.items())
    assert len(carriers) - len(other) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in shipped() if name not in NOT_BY_EQUATIONS])
def test_a_shipped_scenario_is_the_same_on_both(name):
    assert_same(*both(as_run(name), bare), AT_REST.get(name, 1e-9))


@pytest.mark.parametrize("name", ["panda-wall", "floating-stand", "iiwa14-pole", "pendulum", "ur10e-polish"])
def test_scenarios_of_every_kind_are_the_same_on_both(name):
    run = as_run(name)
    short = run.clock.model_copy(update={"duration": min(run.clock.duration, 2.5)})
    assert_same(*both(replace(run, clock=short), bare))


# ------------------------------------------------------------------------------------------------ stops


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("damping", [0.0, 0.2])
def test_swinging_in_and_out_of_stops_a_hundred_times_is_the_engine_s(integrator, damping):
    robot = Robot.from_mjcf_text(SKEW.format(damping=damping), name="skew")
    shake = Push(kind="sine", force=(2.0, 0.0, 26.0), frequency=8.0, duration=30.0)
    law = JointImpedance(stiffness=(20.0, 20.0, 0.0), damping=(1.0, 1.0, 0.0))
    run = Run(
        robot, law, World(pushes=(shake,)), clock=Clock(duration=14.0, integrator=integrator, rate=250),
        q_start=[0.2, 0.1, 0.0],
    )  # fmt: skip
    engine, equations = both(run)
    assert_same(engine, equations)
    lower, upper = robot.model.jnt_range.T
    beyond = (engine["q"] < lower) | (engine["q"] > upper)
    entries = np.count_nonzero(beyond[1:] & ~beyond[:-1])
    assert entries >= 100
    assert entries <= equations.facts.engine_steps < 0.9 * len(engine)
    assert engine.facts.engine_steps == 0
    assert "joint stops" in "\n".join(equations.facts.assumptions)


@pytest.mark.parametrize("start", [(-0.35, 0.1, 0.0), (0.42, 0.1, 0.0)])
def test_a_stop_with_a_margin_acts_at_the_same_step_on_both(start):
    """A margin of 0.1 rad: the stop acts before its end, at the lower one as at the upper one."""
    text = SKEW.format(damping=0.2).replace('limited="true" armature', 'limited="true" margin="0.1" armature')
    robot = Robot.from_mjcf_text(text, name="skew")
    speed = [np.sign(start[0]) * 0.5, 0.0, 0.0]
    run = Run(robot, JointImpedance(), clock=Clock(duration=0.4, timestep=1e-3), q_start=start, v_start=speed)
    engine, equations = both(run)
    assert_same(engine, equations)
    assert equations.facts.engine_steps > 0
    beyond = np.abs(engine["q"][:, 0]) > np.abs(robot.model.jnt_range[0, int(start[0] > 0)]) - 0.1
    assert np.count_nonzero(beyond) >= equations.facts.engine_steps - 1


def test_a_model_that_disables_gravity_has_none_on_both():
    text = SKEW.format(damping=0.0).replace("<compiler", '<option><flag gravity="disable"/></option><compiler')
    robot = Robot.from_mjcf_text(text, name="skew")
    law = PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})
    run = Run(robot, law, clock=Clock(duration=0.3), q_start=[0.1, 0.2, 0.0], v_start=[0.3, -0.2, 0.0])
    engine, equations = both(run, bare)
    assert_same(engine, equations)


# ------------------------------------------------------------------------------------------------ everything at once


def test_loads_pushes_plant_errors_and_tilted_gravity_are_the_same_on_both():
    robot = load_robot("panda")
    world = World(
        gravity=(1.0, -2.0, -9.0),
        plant=PlantChange(mass_scale=1.1, com_offset=(0.01, -0.02, 0.015), joint_damping=0.7),
        attachments=(
            Attachment(name="bag", mass=1.5, com=(0.05, 0.02, 0.1), attach=0.2, release=0.6),
            Attachment(name="box", mass=0.7, com=(-0.03, 0.0, 0.04), release=0.4),
        ),
        pushes=(Push(force=(5.0, 3.0, 0.0), torque=(0.0, 0.2, 0.1), start=0.1, duration=0.3, axes="frame"),),
        sensors=Sensors.model_validate(
            {"encoder_noise": 1e-5, "velocity": "differentiated", "wrench": {"frame": "link7"}}
        ),
    )
    run = Run(robot, JointImpedance(), world, clock=Clock(duration=0.9, timestep=5e-4, rate=1000))
    engine, equations = both(run)
    assert_same(engine, equations)
    assert np.abs(np.diff(engine["energy.pushed"])).max() > 0.01  # the loads did come and go


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_wall_that_moves_and_rubs_is_the_same_on_both(integrator):
    robot = load_robot("panda")
    x = robot.pose(robot.home).position[0]
    motion = Motion(start=0.1, stop=0.5, velocity=(-0.05, 0.02, 0.03), amplitude=(0.005, 0.0, 0.0), frequency=3.0)
    wall = Surface(shape="box", size=(0.2, 1.0, 1.0), position=(x + 0.13, 0.0, 0.5), friction=0.4, motion=motion)
    law = CartesianImpedance(stiffness=(400.0,) * 3 + (20.0,) * 3, damping=(60.0,) * 3 + (4.0,) * 3)
    run = Run(
        robot, law, World(surfaces=(wall,)), Hold(offset=(0.05, 0, 0)), Clock(duration=0.6, integrator=integrator)
    )
    engine, equations = both(run)
    assert_same(engine, equations)
    assert engine["contact_force"].max() > 1.0


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_dry_joints_stick_and_slide_the_same_on_both(integrator):
    pushes = (Push(force=(25.0, 5.0, 0.0), start=0.05, duration=0.15),)
    world = World(pushes=pushes, plant=PlantChange(joint_friction=1.5, joint_damping=0.3))
    clock = Clock(duration=0.35, integrator=integrator)
    engine, equations = both(Run(load_robot("panda"), JointImpedance(), world, clock=clock), bare)
    assert_same(engine, equations)
    assert (engine["v"] == 0.0).any()
    assert np.abs(engine["v"]).max() > 1e-3


def test_a_sensor_that_carries_a_moving_tool_feels_the_same_on_both():
    run = as_run("panda-blind-touch")
    sensors = run.world.sensors.model_copy(
        update={"wrench": run.world.sensors.wrench.model_copy(update={"frame": "link5"})}
    )
    world = run.world.model_copy(update={"sensors": sensors, "plant": PlantChange(joint_damping=0.5)})
    run = replace(run, world=world, clock=run.clock.model_copy(update={"duration": 0.5}))
    engine, equations = both(run, bare)
    assert_same(engine, equations)
    assert np.ptp(engine["measured_wrench"]) > 1e-3


def test_a_law_that_reads_the_rate_of_its_jacobian_gets_it():
    seen: dict[Any, list[np.ndarray]] = {"engine": [], "equations": []}
    for physics, rows in seen.items():
        law = PythonLaw(
            lambda tick, gains, memory, rows=rows: rows.append(tick.J_rate.copy()) or {"torque": tick.bias - tick.v}
        )
        clock = Clock(duration=0.02, physics=physics)
        simulate(Run(load_robot("panda"), law, clock=clock, v_start=np.linspace(-0.5, 0.5, 7)))
    np.testing.assert_allclose(seen["equations"], seen["engine"], atol=1e-12)
    assert np.abs(seen["engine"][-1]).max() > 0.01


# ------------------------------------------------------------------------------------------------ when it goes wrong


@pytest.mark.parametrize("torque", [1e3, 1e9, 1e16, 1e300, np.nan])
def test_a_run_that_diverges_ends_in_the_same_words_on_both(torque):
    law = PythonLaw(lambda tick, gains, memory: {"torque": torque * (tick.t > 0.01) + 0.0 * tick.v})
    world = World.model_validate({"driver": {"torque_limit": False}})
    run = Run(load_robot("planar2"), law, world, clock=Clock(duration=0.1, max_speed=1e250))
    engine, equations = both(run)
    assert equations.outcome == engine.outcome
    assert len(equations) == len(engine)


# ------------------------------------------------------------------------------------------------ who can, and why not


def of(**world):
    return Run(load_robot("panda"), GravityCompensation(), World(**world), clock=Clock(duration=0.01))


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (of(objects=(FreeObject(name="cube", position=(1.0, 1.0, 1.0)),)), "object 'cube' moves freely"),
        (replace(of(), clock=Clock(duration=0.01, integrator="implicit")), "implicit"),
        (of(pole=Pole(joint="ball")), "ball joint"),
    ],
)
def test_what_needs_the_engine_is_run_by_it_and_says_why(run, reason):
    with pytest.raises(InvalidInput, match=reason):
        simulate(with_physics(run, "equations"))
    trace = simulate(run)
    assert trace.facts.physics == "engine"
    assert any(reason in line for line in trace.facts.assumptions)


def test_the_engine_is_taken_where_it_is_asked_for():
    trace = simulate(with_physics(of(), "engine"))
    assert trace.facts.physics == "engine"
    assert any("physics engine, as asked" in one for one in trace.facts.assumptions)


# ------------------------------------------------------------------------------------------------ sweeps


def test_a_renewed_run_has_the_bits_of_a_fresh_one():
    first = replace(as_run("panda-wall"), clock=Clock(duration=0.4))
    plant = PlantChange(mass_scale=1.2, joint_damping=0.3)
    other = replace(first, world=first.world.model_copy(update={"plant": plant}))
    third = replace(first, world=first.world.model_copy(update={"plant": PlantChange(mass_scale=0.9)}))
    renewable = Renewable(other)
    execute_bare(renewable.assembly)
    assert renewable.renew(third)
    again, fresh = execute_bare(renewable.assembly), bare(third)
    for name in fresh:
        np.testing.assert_array_equal(again[name], fresh[name], err_msg=name)
