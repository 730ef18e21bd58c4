"""Rigid contact: no penetration, Coulomb friction, no creep, first order to exact contact; the engine as witness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control.law import PythonLaw
from palpate.control.laws.cartesian_impedance import CartesianImpedance
from palpate.control.laws.hybrid_force import HybridForce
from palpate.control.references.motions import Line
from palpate.control.references.reference import Hold
from palpate.errors import InvalidInput
from palpate.run.assemble.assemble import assemble
from palpate.run.before.checks import check_start
from palpate.run.run import Run
from palpate.trace import Trace
from palpate.world.clock import Clock, PhysicsChoice
from palpate.world.config import ContactShape, Surface, World
from palpate.world.plants.plant import rigid_sliding_speed

MASS, FORCE, MU = 2.73, 10.0, 0.5  # what a Panda shows a table, and presses with
SLED = f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="sled" pos="0 0 0.01">
<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
<inertial pos="0 0 0" mass="{MASS}" diaginertia="1 1 1"/><geom name="tip" size="0.01"/></body></worldbody></mujoco>"""


def sled(
    speed: float | None = None, side: float = 0.0, duration: float = 1.0, physics: PhysicsChoice = "auto"
) -> Trace:
    """A point pressed down with a constant force, moved along at a speed, or pushed sideways."""

    def press(tick, gains, memory):
        along = side if speed is None else 400.0 * (speed - tick.v[0]) + MU * FORCE
        return {"press": np.array([along, -FORCE])}

    table = World(surfaces=(Surface(name="table", contact="rigid", friction=MU),))
    robot = pp.Robot.from_mjcf_text(SLED, name="sled")
    start = None if speed is None else [speed, 0.0]
    clock = Clock(duration=duration, physics=physics)
    return pp.simulate(Run(robot, PythonLaw(press, terms=("press",)), table, clock=clock, v_start=start))


@pytest.mark.parametrize("speed", [0.005, 0.19, 2.0])
def test_a_sliding_contact_carries_the_force_and_rubs_with_mu_to_rounding(speed: float) -> None:
    trace = sled(speed)
    force = trace["contact_wrench"][1:]
    assert trace.facts.physics == "equations"
    np.testing.assert_allclose(force[:, [0, 2]], np.broadcast_to([-MU * FORCE, FORCE], (1000, 2)), atol=1e-8)
    assert trace["tool_twist"][-1, 0] == pytest.approx(speed, rel=1e-12)
    assert np.abs(trace["q"][:, 1]).max() < 1e-14


@pytest.mark.parametrize("speed", [0.005, 0.05, 0.19])
def test_on_the_engine_a_sliding_contact_carries_the_force_and_rubs_with_mu(speed: float) -> None:
    trace = sled(speed, physics="engine")
    late = trace.time > 0.5
    force = trace["contact_wrench"][late]
    assert trace["tool_twist"][late, 0] == pytest.approx(speed, rel=0.02)
    assert np.abs(force[:, 2] - FORCE).max() < 0.005
    assert -force[:, 0] / force[:, 2] == pytest.approx(MU, abs=1e-3)


def test_a_panda_slides_on_a_rigid_table_with_the_exact_tables_force() -> None:
    """From the start of the way on within 1 % of the multiplier; at speed (9 cm/s) to a thousandth of a newton."""
    changes = ['robot.joints="ideal"', "run.duration=4"]
    kinds = {
        kind: pp.simulate(pp.load_scenario("panda-slide", [f"world.surfaces.table.contact={kind}", *changes]))
        for kind in ("rigid", "exact")
    }
    force, multiplier = (kinds[kind]["contact_wrench"][:, 2] for kind in ("rigid", "exact"))
    time, wrench = kinds["rigid"].time, kinds["rigid"]["contact_wrench"]
    sliding, fast = time > 1.6, time > 2.5
    assert np.abs(force[sliding] / multiplier[sliding] - 1.0).max() < 0.01
    assert np.abs(force - multiplier)[fast].max() < 2e-3
    assert np.hypot(wrench[fast, 0], wrench[fast, 1]) / force[fast] == pytest.approx(0.3, abs=1e-6)


def test_a_stuck_contact_stands_and_slips_beyond_its_friction() -> None:
    """Held to the last bit below μ F; above it the rest accelerates the sled."""
    held, slid = sled(side=0.9999 * MU * FORCE), sled(side=MU * FORCE + 0.5)
    assert not held["v"].any()
    assert not held["q"].any()
    np.testing.assert_allclose(held["contact_wrench"][1:, 0], -0.9999 * MU * FORCE, rtol=1e-12)
    np.testing.assert_allclose(slid["v"][:, 0], 0.5 / MASS * slid.time, rtol=1e-9, atol=1e-12)


def test_on_the_engine_a_stuck_contact_hardly_creeps() -> None:
    trace = sled(side=3.0, duration=5.0, physics="engine")  # the slip it began with fades within seconds
    late = trace.time > 4.5
    assert -trace["contact_wrench"][late, 0] == pytest.approx(3.0, abs=5e-3)
    assert np.abs(trace["tool_twist"][late, 0]).max() < 0.03e-3  # m/s


def test_on_the_engine_contact_chatters_beyond_its_sliding_speed() -> None:
    """The limit that is warned of is where it begins."""
    most = rigid_sliding_speed(FORCE, MU, MASS)
    assert most == pytest.approx(0.48, abs=0.02)
    below, above = (sled(share * most, physics="engine") for share in (0.8, 1.3))
    late = below.time > 0.5
    assert np.ptp(below["contact_wrench"][late, 2]) < 0.05
    assert np.ptp(above["contact_wrench"][late, 2]) > 1.0


@pytest.mark.parametrize(
    ("length", "physics", "warned"), [(0.1, "engine", False), (2.0, "engine", True), (2.0, "auto", False)]
)
def test_a_target_that_slides_too_fast_for_the_engine_is_warned_of(
    length: float, physics: PhysicsChoice, warned: bool
) -> None:
    robot = pp.load_robot("cartesian2")
    wall = Surface(name="wall", normal=(-1, 0, 0), position=(0.5, 0, 0), contact="rigid", friction=MU)
    reference = Line(offset=(0, length, 0), duration=1.0, wrench=(-10, 0, 0, 0, 0, 0))
    law = HybridForce(force=("x",), motion=("y",))
    run = Run(robot, law, World(surfaces=(wall,)), reference, clock=Clock(duration=1.0, physics=physics))
    said = [text for text in check_start(assemble(run)).warnings if "chatter" in text]
    assert bool(said) == warned
    if warned:
        assert "contact with 'wall' will chatter" in said[0]


# A point of 2 kg on three slides, its sphere of 10 mm on top of a surface of each shape.
POINT = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="point" pos="0 0 0.01">
<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
<joint name="z" type="slide" axis="0 0 1" {z}/><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
<geom name="tip" size="0.01"/></body></worldbody></mujoco>"""
SHAPES = {"plane": ((), 0.0), "box": ((1.0, 1.0, 0.2), 0.1), "sphere": ((0.2,), 0.2), "cylinder": ((0.2, 0.6), 0.2)}
LYING = (0.5**0.5, 0.5**0.5, 0.0, 0.0)  # a cylinder along y


def slid_over(
    shape: str, contact: str, h: float = 1e-3, force=(4.0, 2.0, -15.0), integrator: Any = "euler", **changes: object
) -> Trace:
    """A point that is pushed over a surface from 0.4 m/s on."""
    size, top = SHAPES[shape]
    quat = LYING if shape == "cylinder" else None
    given = {"friction": 0.3, "position": (0.0, 0.0, -top), "quat_wxyz": quat} | changes
    surface = Surface.model_validate({"name": "thing", "shape": shape, "size": size, "contact": contact, **given})
    law = PythonLaw(lambda tick, gains, memory: {"push": np.array(force)}, terms=("push",))
    robot = pp.Robot.from_mjcf_text(POINT.format(z=""), name="point")
    clock = Clock(duration=0.3, timestep=h, rate=1 / h, integrator=integrator)
    return pp.simulate(Run(robot, law, World(surfaces=(surface,)), clock=clock, v_start=[0.4, 0.1, 0.0]))


@pytest.mark.parametrize(("shape", "integrator"), [*((shape, "euler") for shape in SHAPES), ("sphere", "rk4")])
def test_force_slip_and_energy_converge_to_exact_contact_with_the_first_power_of_the_step(
    shape: str, integrator: str
) -> None:
    exact = slid_over(shape, "exact")

    def errors(h: float) -> list[float]:
        trace = slid_over(shape, "rigid", h, integrator=integrator)
        k, j = round(0.28 / h), round(0.28 / 1e-3)
        assert trace.facts.physics == "equations"
        names = ("contact_wrench", "q", "energy.dissipated")
        return [float(np.abs(trace[name][k] - exact[name][j]).max()) for name in names]

    coarse, fine = errors(4e-3), errors(1e-3)
    for large, small in zip(coarse, fine):
        assert small < 1e-9 or 3.5 < large / small < 4.5 or small < 2e-5  # a plane's energy is nearly exact
    assert fine[0] < 0.6  # N of 37
    assert fine[1] < 1.1e-3  # m of 0.13
    assert fine[2] < 0.01  # J of 0.98


WALL = {"normal": (0.0, -1.0, 0.0), "position": (0.0, 0.01, 0.0)}
PLACES: dict[str, tuple[list[dict[str, Any]], float]] = {
    "belt": ([{"motion": {"velocity": (0.3, 0.0, 0.0)}}], 2.0),
    "swinging table": ([{"motion": {"amplitude": (0.0, 0.0, 0.004), "frequency": 4.0}}], 2.0),
    "sphere beside a wall": ([{"shape": "sphere", "size": (0.2,), "position": (0.0, 0.0, -0.2)}, WALL], 6.0),
}


@pytest.mark.parametrize("name", PLACES)
def test_moving_surfaces_and_two_contacts_converge_to_exact_contact_alike(name: str) -> None:
    surfaces, side = PLACES[name]
    law = PythonLaw(lambda tick, gains, memory: {"push": np.array([4.0, side, -15.0])}, terms=("push",))
    robot = pp.Robot.from_mjcf_text(POINT.format(z=""), name="point")

    def slid(contact: str, h: float) -> Trace:
        common = {"contact": contact, "friction": 0.3}
        placed = (Surface.model_validate(common | {"name": f"s{k}"} | s) for k, s in enumerate(surfaces))
        clock = Clock(duration=0.3, timestep=h, rate=1 / h)
        rising = 0.004 * 2 * np.pi * 4.0 if "swinging" in name else 0.0
        start = [0.4, 0.1 if len(surfaces) == 1 else 0.0, rising]
        return pp.simulate(Run(robot, law, World(surfaces=tuple(placed)), clock=clock, v_start=start))

    exact, traces = slid("exact", 1e-3), {h: slid("rigid", h) for h in (4e-3, 1e-3)}
    for channel, small in (("contact_wrench", 0.1), ("q", 6e-4), ("energy.dissipated", 4e-3)):
        wanted = np.atleast_1d(exact[channel][280])[:3]  # forces, not moments
        at = {h: np.atleast_1d(trace[channel][round(0.28 / h)])[:3] for h, trace in traces.items()}
        coarse, fine = (np.abs(value - wanted).max() for value in at.values())
        assert fine < small
        nearly = 2e-4 if channel == "energy.dissipated" else 1e-9
        assert 3.5 < coarse / fine < 4.5 or fine < nearly


def test_a_fall_ends_on_the_surface_and_stays() -> None:
    """5 cm above a plane: the impulse is m v, and nothing goes below the surface or bounces."""
    trace = slid_over("plane", "rigid", force=(0.0, 0.0, 0.0), position=(0.0, 0.0, -0.005), friction=0.0)
    height = trace["q"][:, 2] + 0.005
    assert height.min() > -1e-12
    rest = trace.time > 0.1
    assert not height[rest].round(9).any()
    np.testing.assert_allclose(trace["contact_wrench"][rest, 2], 2 * 9.81, rtol=1e-9)
    lost = trace["energy.dissipated"][-1]
    assert lost == pytest.approx(2 * 9.81 * 0.005, rel=1e-2)
    assert trace["contact_wrench"][:, 2].sum() * 1e-3 == pytest.approx(2 * 9.81 * 0.3, rel=5e-3)


def test_runge_kutta_steps_fly_freely_and_end_on_the_surface() -> None:
    """A fall is a parabola to rounding until the step that meets the surface; there the point stands."""
    low = (0.0, 0.0, -0.005)
    trace = slid_over("plane", "rigid", force=(0.0, 0.0, 0.0), integrator="rk4", position=low, friction=0.0)
    t = trace.time[:31]
    assert trace.facts.physics == "equations"
    assert trace["q"][:31, 2] == pytest.approx(-0.5 * 9.81 * t**2, abs=1e-15)
    late = trace.time > 0.1
    assert trace["q"][late, 2] == pytest.approx(-0.005, abs=1e-15)
    assert trace["contact_wrench"][late, 2] == pytest.approx(2 * 9.81, rel=1e-9)
    whole = trace["energy.kinetic"] + trace["energy.potential"] + trace["energy.dissipated"]
    assert np.ptp(whole[:31]) < 1e-15
    assert np.ptp(whole[late]) < 1e-12
    assert np.ptp(whole) < 0.5 * 2 * 9.81 * 0.32 * 1e-3  # the step that lands is semi-implicit


def test_a_moving_wall_takes_a_stuck_point_along() -> None:
    """The surface has a velocity: what sticks moves with it, and its work is pushed in, not lost."""
    velocity = (0.05, 0.0, 0.02)
    motion = {"velocity": velocity}
    trace = slid_over("plane", "rigid", force=(0.0, 0.0, -30.0), friction=0.9, motion=motion)
    late = trace.time > 0.1
    np.testing.assert_allclose(trace["v"][late], np.broadcast_to(velocity, (late.sum(), 3)), atol=1e-12)
    power = 0.02 * (2 * 9.81 + 30.0)
    pushed = trace["energy.pushed"][late]
    assert np.diff(pushed) == pytest.approx(power * 1e-3, rel=1e-6)
    assert np.abs(np.diff(trace["energy.dissipated"][late])).max() < 1e-12


def stopped(physics: PhysicsChoice, damping: float) -> Trace:
    """A slide with friction that is pushed against its stop, out of it, and again."""
    stop = f'limited="true" range="-0.005 0.005" frictionloss="1.5" damping="{damping}"'
    robot = pp.Robot.from_mjcf_text(POINT.format(z=stop).replace("-9.81", "0"), name="point")

    def law(tick, gains, memory):
        return {"push": np.array([0.0, 0.0, 8.0 * np.sin(40.0 * tick.t)])}

    return pp.simulate(Run(robot, PythonLaw(law, terms=("push",)), clock=Clock(duration=1.0, physics=physics)))


@pytest.mark.parametrize(("damping", "tolerance"), [(0.0, 1e-12), (3.0, 5e-3)])
def test_a_stop_beside_friction_is_the_engines(damping: float, tolerance: float) -> None:
    """Its compliance is that of the engine, whose damping acts at another place of the step."""
    equations, engine = stopped("equations", damping), stopped("engine", damping)
    assert np.abs(engine["q"][:, 2]).max() > 0.005
    assert equations.facts.engine_steps == 0
    np.testing.assert_allclose(equations["q"], engine["q"], atol=tolerance * 0.005, rtol=0.0)


@pytest.mark.parametrize("joints", ["ideal", "as_built"])
def test_a_pressed_panda_is_that_of_the_engine_but_for_its_softness(joints: str) -> None:
    """At rest the same force, as far as friction determines it; the engine's wall gives way by a millimetre."""
    changes = ["world.surfaces.wall.contact=rigid", f'robot.joints="{joints}"', "metrics={}"]
    traces = [pp.simulate(pp.load_scenario("panda-wall", [*changes, f'run.physics="{who}"'])) for who in WHO]
    forces = [np.linalg.norm(trace["contact_wrench"][-1, :3]) for trace in traces]
    assert forces[0] == pytest.approx(forces[1], rel=0.02 if joints == "ideal" else 0.1)
    assert traces[0]["penetration"].max() < 2e-7 < 1e-4 < traces[1]["penetration"].max()
    if joints == "as_built":
        assert not traces[0]["v"][-1].any()


WHO = ("equations", "engine")


def test_what_equations_cannot_hold_stays_the_engines_and_says_so() -> None:
    table = World(surfaces=(Surface(name="table", contact="rigid"),))
    box = SLED.replace('name="tip" size="0.01"', 'name="tip" type="box" size="0.01 0.01 0.01"')
    cases = {"a box, meets the rigid surface 'table'": (box, Clock(duration=0.01))}
    cases['integrator = "implicit"'] = SLED, Clock(duration=0.01, integrator="implicit")
    for reason, (text, clock) in cases.items():
        robot = pp.Robot.from_mjcf_text(text, name="sled")
        law = PythonLaw(lambda tick, gains, memory: {"push": np.zeros(2)}, terms=("push",))
        trace = pp.simulate(Run(robot, law, table, clock=clock))
        assert trace.facts.physics == "engine"
        assert any(reason in line for line in trace.facts.assumptions)


SHAPES_OF_TOOLS = {"sphere": ((0.02,), 1), "edge": ((0.05,), 2), "pad": ((0.04, 0.04), 4), "disc": ((0.03,), 8)}


@pytest.mark.parametrize("shape", SHAPES_OF_TOOLS)
def test_a_tools_shape_stands_flat_on_a_rigid_table(shape: str) -> None:
    """Pressed down by a spring of 400 N/m that wants 40 mm more; a pad and a disc take the tilt away."""
    robot = pp.load_robot("panda").with_ideal_joints()
    height = robot.pose(robot.home).position[2]
    size, count = SHAPES_OF_TOOLS[shape]
    tool = ContactShape(shape=shape, size=size, count=count)  # pyright: ignore[reportArgumentType]
    table = Surface(name="table", position=(0, 0, height - 0.02), contact="rigid", friction=0.4)
    law = CartesianImpedance(stiffness=(400, 400, 400, 20, 20, 20), damping=(60, 60, 60, 4, 4, 4))
    world = World(surfaces=(table,), contact_shapes=(tool,))
    trace = pp.simulate(Run(robot, law, world, Hold(offset=(0, 0, -0.06)), clock=Clock(duration=1.5)))
    above = 0.02 if shape == "sphere" else 0.0
    assert trace.facts.physics == "equations"
    assert trace["contact_wrench"][-1, 2] == pytest.approx(400 * (0.04 + above), rel=1e-3)
    np.testing.assert_allclose(trace["measured_wrench"][-1], trace["contact_wrench"][-1], atol=1e-9)
    assert trace["penetration"].max() < 2e-7


def test_a_shape_with_too_many_points_for_a_rigid_surface_is_refused() -> None:
    world = World(surfaces=(Surface(name="table", contact="rigid"),), contact_shapes=(ContactShape(count=24),))
    run = Run(pp.load_robot("panda"), CartesianImpedance(), world, clock=Clock(duration=0.01))
    with pytest.raises(InvalidInput, match=r"24.*meet 1 rigid surface; equations hold 12 pairs"):
        pp.simulate(run)


@pytest.mark.slow
def test_ten_million_ticks_on_a_rigid_wall_do_not_drift() -> None:
    """A Panda as built stands on the wall to the last bit; with ideal joints its force stays to 1e-9."""
    for joints, drift in (("as_built", 0.0), ("ideal", 1e-7)):
        changes = ["world.surfaces.wall.contact=rigid", f'robot.joints="{joints}"', "metrics={}"]
        changes += ["run.duration=10000", 'record.channels=["q", "v", "contact_wrench"]', "record.stride=10000"]
        trace = pp.simulate(pp.load_scenario("panda-wall", changes))
        late = trace.time > 10.0
        assert trace.outcome.ok
        assert np.ptp(trace["q"][late], axis=0).max() <= drift
        assert np.ptp(trace["contact_wrench"][late, 0]) <= 1e-6
