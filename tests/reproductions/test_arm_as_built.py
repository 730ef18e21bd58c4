"""The arm as built: friction behind its maker's driver, delayed commands, and what a run says of both."""

from __future__ import annotations

import re
from typing import Any

import mujoco
import numpy as np
import pytest

import palpate as pp
from palpate.control.law import PythonLaw
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.control.laws.passive import Passive
from palpate.run.after.warnings import friction_warnings
from palpate.run.assemble.assemble import assemble
from palpate.run.assemble.carrier import carrier_before
from palpate.run.build import build
from palpate.run.loop import loop
from palpate.run.loop.state import RUNNING
from palpate.run.run import Run
from palpate.run.simulate import fill_targets as sample_targets, simulate
from palpate.run.stepping import Ending
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.file.pressing import pressing_scenarios
from palpate.scenario.model import Scenario
from palpate.trace import Recording
from palpate.world.clock import Clock
from palpate.world.config import Driver, Sensors, World
from palpate.world.driver import PRESETS, filter_gain
from palpate.world.sensing.sensor import Sensor
from palpate.world.surfaces.contact_points import link_points

# ------------------------------------------------------------------ friction and the maker's compensation


def moving(arm: str, driver: str) -> Scenario:
    """Five centimetres of free motion at 400 N/m."""
    changes = [f"robot.model={arm}", f"world.driver={driver}", "world.surfaces=[]", "metrics={}"]
    return pp.load_scenario("fr3-wall", [*changes, "reference.offset=[0.05,0,0]", "reference.wrench=[0,0,0,0,0,0]"])


def missing(scenario: Scenario) -> float:
    """How far the tool ends from its target, mm."""
    trace = simulate(scenario)
    return 1e3 * float(np.linalg.norm(trace["tool_position"][-1] - trace["target_position"][-1]))


@pytest.mark.parametrize(("arm", "off"), [("fr3", 17.3), ("panda", 3.9)])
@pytest.mark.parametrize("preset", ["ideal", "libfranka"])
def test_an_arm_behind_libfranka_has_the_friction_that_its_maker_leaves(arm: str, off: float, preset: str) -> None:
    assert missing(moving(arm, f"{{preset='{preset}'}}")) == pytest.approx(off, abs=0.05)


def test_a_share_that_is_given_is_taken_off_whatever_friction_there_is() -> None:
    assert missing(moving("fr3", "{preset='libfranka',viscous_compensation=1,coulomb_compensation=1}")) < 1e-4


def test_friction_before_the_compensation_is_compensated_by_the_preset() -> None:
    """Universal Robots' figures are all that a joint has, of which the interface takes most off."""
    facts = Driver(preset="ur-direct-torque").facts_for(pp.load_robot("ur10e"))
    assert facts.coulomb_compensation == PRESETS["ur-direct-torque"].coulomb_compensation


def test_a_presets_limits_are_those_of_the_arm() -> None:
    """libfranka's for a Panda: the maker's, less 1e-3 and three milliseconds of the largest acceleration."""
    driver, panda, fr3 = Driver(preset="libfranka"), pp.load_robot("panda"), pp.load_robot("fr3")
    a = panda.limits.acceleration - 1e-3
    assert driver.facts_for(panda).joint_acceleration_limit == pytest.approx(a, rel=1e-12)
    assert driver.facts_for(panda).joint_speed_limit == pytest.approx(
        panda.limits.velocity - 1e-3 - 3e-3 * a, rel=1e-12
    )
    assert driver.facts_for(fr3).joint_speed_limit == pytest.approx(fr3.limits.velocity - 1e-3, rel=1e-12)
    assert driver.facts_for(fr3).joint_acceleration_limit == 9.999
    given = Driver(preset="libfranka", joint_speed_limit=1.0)
    assert given.facts_for(panda).joint_speed_limit == 1.0


@pytest.mark.parametrize(("arm", "words"), [("iiwa14", "rotor inertia"), ("ur5e", "of joint4, joint5, joint6")])
def test_a_run_says_which_joints_nobody_has_published_figures_of(arm: str, words: str) -> None:
    trace = simulate(Run(pp.load_robot(arm), GravityCompensation(), clock=Clock(duration=0.01)))
    assert any(words in text for text in trace.facts.assumptions)
    assert trace.warnings == ()


def holding(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
    """Gravity, and a torque that changes every tick."""
    return {"torque": tick.gravity + np.sin(300.0 * tick.t + np.arange(tick.v.size)) * 3.0}


# ------------------------------------------------------------------ a command that is late


def as_told(trace: pp.Trace, held: np.ndarray, delay: int, cutoff: float, rate: float) -> np.ndarray:
    """What the joints get: the arm held until the first command arrives, then each `delay` ticks late.

    y ← y + g (u − y), then no farther than `rate` from the last y.
    """
    gain, y, torques = filter_gain(cutoff, 1e-3), held.copy(), []
    for k in range(len(trace["command"])):
        u = trace["command"][k - delay] if k >= delay else held
        y = y + np.clip(gain * (u - y), -rate * 1e-3, rate * 1e-3)
        torques.append(y)
    return np.array(torques)


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
@pytest.mark.parametrize(("cutoff", "rate"), [(0.0, 1e9), (100.0, 1e9), (100.0, 400.0)])
def test_nothing_of_a_law_acts_before_its_first_command_arrives(delay: int, cutoff: float, rate: float) -> None:
    robot = pp.load_robot("panda")
    driver = Driver(delay=delay, cutoff=cutoff, torque_rate_limit=rate, torque_limit=False)
    trace = simulate(Run(robot, PythonLaw(holding), World(driver=driver), clock=Clock(duration=0.2, rate=1000)))
    expected = as_told(trace, robot.gravity(robot.home), delay, cutoff, rate)
    assert np.abs(trace["tau"] - expected).max() < 1e-12
    if delay:
        assert (trace["tau"][:delay] == robot.gravity(robot.home)).all()


@pytest.mark.parametrize("delay", [1, 4])
def test_an_interface_that_adds_gravity_holds_the_arm_until_then(delay: int) -> None:
    robot = pp.load_robot("fr3")
    world = World(driver=Driver(preset="libfranka", delay=delay, cutoff=0.0, torque_rate_limit=False))
    trace = simulate(Run(robot, PythonLaw(holding), world, clock=Clock(duration=0.02, rate=1000)))
    assert np.abs(trace["tau"][:delay] - robot.gravity(robot.home)).max() < 1e-12
    assert np.abs(trace["v"][: delay + 1]).max() < 1e-12
    assert np.abs(trace["tau"][delay] - robot.gravity(robot.home)).max() > 1.0


# ------------------------------------------------------------------ forward dynamics with friction


@pytest.mark.parametrize("name", ["panda", "fr3", "ur10e", "puma560"])
def test_the_solvers_tolerance_changes_nothing_that_can_be_measured(name: str) -> None:
    """Beside a hundred Newton steps: at rest, creeping and moving, under small and large torques."""
    robot, exact, random = pp.load_robot(name), pp.load_robot(name), np.random.default_rng(1)
    exact.model.opt.tolerance = 0.0
    for _ in range(100):
        q, n = robot.home + random.normal(size=robot.nv), robot.nv
        v = random.choice([0.0, 1e-3, 1.0, 5.0]) * random.normal(size=n)
        tau = random.choice([0.1, 1.0, 10.0, 100.0]) * random.normal(size=n)
        a = exact.forward_dynamics(q, v, tau)
        assert np.abs(robot.forward_dynamics(q, v, tau) - a).max() <= 2e-13 * np.abs(a).max()


# ------------------------------------------------------------------ friction beside a rigid wall


@pytest.mark.parametrize("name", ["panda-wall", "fr3-wall"])
def test_friction_and_a_rigid_wall_agree_at_every_step(name: str) -> None:
    """Each step is the engine's own answer to the friction torques, and these fit the velocities at its end."""
    assembly = assemble(
        build(pp.load_scenario(name, ["world.surfaces.wall.contact=rigid", "metrics={}", 'run.physics="engine"']))
    )
    model, L, ticks = assembly.plant.model, assembly.loop, 2200
    sample_targets(assembly, ticks, Ending(RUNNING))
    again, F, D, h = mujoco.MjData(model), assembly.plant.friction, model.dof_damping, L.dt
    M, touched = np.zeros((model.nv, model.nv)), 0
    for k in range(ticks):
        q, v = assembly.data.qpos.copy(), assembly.data.qvel.copy()
        loop.run_steps(L.address, 1)
        if k % 20 or not assembly.data.qfrc_constraint.any():
            continue
        touched, x, end = touched + 1, L.friction.force.copy(), assembly.data.qvel
        again.qpos[:], again.qvel[:], again.qfrc_applied[:] = q, v, L.row.tau + x
        again.mocap_pos[:], again.mocap_quat[:] = assembly.data.mocap_pos, assembly.data.mocap_quat
        mujoco.mj_forward(model, again)
        mujoco.mj_fullM(model, again, M)
        off = (M + h * np.diag(D)) @ end - M @ (v + h * again.qacc) - h * D * v  # an impulse, N·m·s
        assert np.abs(off / h / F).max() < 1e-6
        sliding = end != 0.0
        assert (x[sliding] == -F[sliding] * np.sign(end[sliding])).all()
        assert (np.abs(x) <= F * (1 + 1e-12)).all()
    assert touched > 20
    assert L.friction.settling.steps == 0


def test_a_step_that_does_not_settle_is_a_warning_with_its_size() -> None:
    run = build(
        pp.load_scenario("panda-wall", ["world.surfaces.wall.contact=rigid", "run.duration=0.05", "metrics={}"])
    )
    assembly = assemble(run)
    assembly.loop.friction.settling.steps, assembly.loop.friction.settling.worst = 7, 0.042
    (warning,) = friction_warnings(assembly)
    assert "7 of" in warning
    assert "4.2 %" in warning


# ------------------------------------------------------------------ energies, whatever is recorded


@pytest.mark.parametrize("record", [Recording(), Recording(channels=("q", "v")), Recording(stride=1000)])
@pytest.mark.parametrize(("step", "share"), [(1e-3, "17%"), (2e-3, "21%")])
def test_a_fall_that_loses_energy_says_so_whatever_is_recorded(record: Recording, step: float, share: str) -> None:
    clock = Clock(duration=60.0, timestep=step, integrator="euler")
    trace = simulate(Run(pp.load_robot("planar2"), Passive(damping=0.0), clock=clock, record=record))
    (warning,) = trace.warnings
    assert share in warning


def test_a_fall_that_keeps_its_energy_says_nothing() -> None:
    clock = Clock(duration=20.0, integrator="rk4")
    run = Run(pp.load_robot("planar2"), Passive(damping=0.0), clock=clock, record=Recording(channels=("q",)))
    assert simulate(run).warnings == ()


# ------------------------------------------------------------------ encoders too coarse for a stop


def test_a_stop_does_not_end_at_a_difference_that_is_no_measurement() -> None:
    coarse = ["world.sensors.encoder_resolution=0.01", "world.sensors.velocity=differentiated"]
    remarks = simulate(pp.load_scenario("planar3-stop", coarse)).facts.remarks
    stopped = [float(word) for text in remarks for word in re.findall(r"the tool stopped at ([0-9.]+) s", text)]
    assert all(time > 0.08 for time in stopped)  # with true speeds it takes 0.09 s
    assert any("measured speed" in text for text in remarks)


@pytest.mark.parametrize("change", ["run.duration=0.6", "world.driver.delay=3", "world.plant.joint_friction=5"])
def test_speeds_that_can_be_are_believed(change: str) -> None:
    remarks = simulate(pp.load_scenario("planar3-stop", [change])).facts.remarks
    assert not any("measured speed" in text for text in remarks)


# ------------------------------------------------------------------ sensors of one's own


class Gap(Sensor):
    """Distance of the tool from a plane."""

    def read(self, truth: Any, memory: Any) -> Any:
        """By the tool's position."""
        return 0.35 - truth.position[0]


class Wrist(Sensor):
    """Height of a body of the engine."""

    def read(self, truth: Any, memory: Any) -> Any:
        """By the engine's array."""
        return truth.plant.xpos[5][2]


class Handed(Sensor):
    """Somebody else reads for it."""

    def read(self, truth: Any, memory: Any) -> Any:
        """Whatever that reads."""
        return float(np.sum(vars(truth).get("q", 0.0)))


def sensing(sensor: Sensor, law: Any) -> Run:
    """A run with one sensor."""
    world = World(sensors=Sensors(custom={"mine": sensor}))
    return Run(pp.load_robot("panda"), law, world, clock=Clock(duration=0.02))


def test_a_sensor_that_reads_no_body_of_the_engine_leaves_the_plant_to_the_equations() -> None:
    run = sensing(Gap(), GravityCompensation())
    assert carrier_before(run).name == "equations"
    trace = simulate(run)
    assert trace["sensor.mine"].ravel() == pytest.approx(0.35 - trace["tool_position"][:, 0], abs=1e-15)
    for sensor in (Wrist(), Handed()):
        assert carrier_before(sensing(sensor, GravityCompensation())).name == "engine"


# ------------------------------------------------------------------ links in a wall


def test_a_run_says_which_links_are_inside_a_surface_that_only_a_point_touches() -> None:
    pressed = {"stiffness": 1e4, "damping": 100.0, "friction": 0.3}
    endless = {"name": "wall", "position": [0.35, 0, 0], "normal": [-1, 0, 0], **pressed}
    trace = simulate(pp.load_scenario("panda-wall").replace(world__surfaces=[endless]))
    (note,) = [text for text in trace.facts.remarks if "inside 'wall'" in text]
    assert note.startswith("link7, ")
    assert "51.9 mm" in note
    assert trace.warnings == ()


@pytest.mark.parametrize("name", ["panda-wall", "panda-slide", "iiwa14-wipe", "cartesian2-press", "planar2-slide"])
def test_an_arm_that_is_before_its_surface_says_nothing(name: str) -> None:
    assert not any("inside" in text for text in simulate(name).facts.remarks)


@pytest.mark.parametrize("arm", ["panda", "ur5e", "iiwa14", "puma560"])
def test_a_new_scenario_puts_the_wall_before_the_foremost_part_of_the_arm(arm: str) -> None:
    data = next(pressing_scenarios({"model": arm}))
    scenario = scenario_from_data({"name": "press", **data})
    robot, wall = build(scenario).robot, data["world"]["surfaces"][0]
    q, near, normal = build(scenario).start()[0], 0.25, np.array(wall["normal"])
    tool, distances = robot.pose(q).position, []
    for b in range(1, robot.model.nbody):
        points = link_points(robot.model, b)
        if points is not None:
            positions = robot.pose(q, robot.model.body(b).name).apply(points)
            positions = positions[np.linalg.norm(positions - tool, axis=1) < near]
            distances += ((positions - wall["position"]) @ normal).tolist()
    assert min(distances) == pytest.approx(0.03, abs=2e-3)
    assert not any("inside" in text for text in simulate(scenario).facts.remarks)
