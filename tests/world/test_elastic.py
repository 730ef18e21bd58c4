"""Elastic joints: frequencies, damping, responses and energies of two masses in closed form; friction that sticks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from palpate.control import CartesianImpedance, GravityCompensation, JointImpedance, PythonLaw
from palpate.errors import InvalidInput
from palpate.robot import Robot, load_robot
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.run import Run
from palpate.run.simulate import execute, simulate
from palpate.scenario import load_scenario
from palpate.trace import Trace
from palpate.world.clock import Clock
from palpate.world.config import FreeObject, LockedPoint, PlantChange, Pole, Push, Sensors, Surface, World
from palpate.world.driver import Driver

ONE = """<mujoco><option gravity="0 0 {g}"/><worldbody><body name="b">
<joint name="x" type="slide" axis="0 0 1" armature="{B}" damping="{d}" frictionloss="{F}" {more}/>
<geom name="tip" type="sphere" size="0.1" mass="{m}"/><site name="tool"/></body></worldbody></mujoco>"""
STIFF, SOFT = (1e5, 4.0, 0.01, 1.0), (400.0, 1.0, 0.5, 2.0)  # K, D, B, m; ωh = 3.18 and 0.03 at 1 ms
H = 1e-3


def one_joint(B: float, m: float, *, d: float = 0.0, F: float = 0.0, g: float = 0.0, more: str = "") -> Robot:
    return Robot.from_mjcf_text(ONE.format(B=B, m=m, d=d, F=F, g=g, more=more), name="one")


def _timing(clock: dict[str, Any]) -> dict[str, Any]:
    return {"duration": 0.2} | clock


def run_of(robot: Robot, change: PlantChange, *, law: Any = None, world: dict[str, Any] | None = None, **clock) -> Run:
    """A run of a robot under no torque of its law but gravity's."""
    law = law or GravityCompensation(damping=0.0)
    start = np.zeros(robot.nv) if robot.nv == 1 else robot.home
    return Run(robot, law, World(plant=change, **(world or {})), clock=Clock(**_timing(clock)), q_start=start)


def started(run: Run, bent: float, speed: float) -> Assembly:
    """The run with its first motor ahead of its link."""
    made = assemble(run)
    made.loop.elastic.motor_q[0] += bent
    made.loop.elastic.motor_v[0] = speed
    return made


def deflection(trace: Trace) -> np.ndarray:
    return trace["motor_q"][:, 0] - trace["q"][:, 0]


def pair(K: float, D: float, mu: float) -> np.ndarray:
    """A of ẋ = A x, x = (δ, δ̇), μ δ̈ + D δ̇ + K δ = 0."""
    return np.array([[0.0, 1.0], [-K / mu, -D / mu]])


def samples(A: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    P, out = expm(H * A), []
    for _ in range(count):
        out.append(x[0])
        x = P @ x
    return np.array(out)


@pytest.mark.parametrize("physics", ["equations", "engine"])
@pytest.mark.parametrize("numbers", [STIFF, SOFT, (1e4, 300.0, 0.2, 0.3)])
def test_two_masses_keep_frequency_and_damping_however_stiff(numbers: tuple[float, ...], physics: str) -> None:
    K, D, B, m = numbers
    A, x = pair(K, D, 1.0 / (1.0 / B + 1.0 / m)), np.array([1e-3, 0.0])
    speed = (x[0] - np.linalg.solve(expm(H * A), x)[0]) / H  # between this sample and the one before
    run = run_of(one_joint(B, m), PlantChange(joint_stiffness=K, gear_damping=D), physics=physics)
    trace = execute(started(run, 1e-3, speed))
    assert deflection(trace) == pytest.approx(samples(A, x, 201), abs=1e-13)
    momentum = B * trace["motor_v"][:, 0] + m * trace["v"][:, 0]
    assert momentum == pytest.approx(np.full(201, B * speed), abs=1e-11 * B)


def test_the_frequency_is_that_of_both_inertias_and_the_link_alone_where_the_motor_is_held() -> None:
    K, B, m = 2000.0, 0.3, 0.7
    for held, square in ((False, K * (1 / B + 1 / m)), (True, K / m)):  # resonance; antiresonance
        friction = 1e3 if held else 0.0
        made = assemble(run_of(one_joint(B, m, F=friction), PlantChange(joint_stiffness=K)))
        made.loop.plant.qpos[0] = 1e-3
        bent = deflection(execute(made))
        # δ₊ + δ₋ = 2 cos(ω h) δ
        ratio = (bent[2:] + bent[:-2]) @ bent[1:-1] / (2.0 * bent[1:-1] @ bent[1:-1])
        tolerance = 1e-10 if not held else 1e-4  # coefficients are those of a motor that moves
        assert math.acos(ratio) / H == pytest.approx(math.sqrt(square), rel=tolerance)


def test_a_held_motor_has_its_own_frequency_to_the_fourth_order_of_the_step() -> None:
    """With a motor that sticks the link swings on its spring: ω²h² (κ − 1/12)/2 is the error that is left."""
    errors = []
    for step in (2e-3, 1e-3):
        run = run_of(one_joint(0.3, 0.7, F=1e3), PlantChange(joint_stiffness=2000.0), timestep=step, period=step)
        made = assemble(run)
        made.loop.plant.qpos[0] = 1e-3
        bent = deflection(execute(made))
        ratio = (bent[2:] + bent[:-2]) @ bent[1:-1] / (2.0 * bent[1:-1] @ bent[1:-1])
        errors.append(abs(math.acos(ratio) / step / math.sqrt(2000.0 / 0.7) - 1.0))
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.05)
    assert errors[1] < 1e-5


@pytest.mark.parametrize("numbers", [STIFF, SOFT])
def test_step_and_ramp_of_the_link_force_give_the_closed_forms(numbers: tuple[float, ...]) -> None:
    """A steady force bends by f B/(B + m)/K; a ramp of f t lags by its own steady deflection and D/K of it."""
    K, D, B, m = numbers
    mu, f = 1.0 / (1.0 / B + 1.0 / m), 3.0
    push = Push(name="p", force=(0, 0, f), start=0.0, duration=9.0)
    run = run_of(one_joint(B, m), PlantChange(joint_stiffness=K, gear_damping=D), world={"pushes": (push,)})
    rest = -f * B / (B + m) / K
    A = pair(K, D, mu)
    x = np.array([-rest, 0.0])  # from the deflection at rest
    before = np.linalg.solve(expm(H * A), x)[0]
    trace = execute(started(run, 0.0, (x[0] - before) / H))
    assert deflection(trace) == pytest.approx(rest + samples(A, x, 201), abs=1e-12 * f / K + 1e-15)


def test_a_ramp_lags_by_its_steady_deflection() -> None:
    """Steady, δ = −(μ/m) r (t − D/K)/K; a step has a lag of h (1 − z²)/(1 − 2zc + z²) for D/K, with z = e^(−σh)."""
    K, D, B, m = 400.0, 8.0, 0.5, 2.0
    mu, rate, T = 1.0 / (1.0 / B + 1.0 / m), 3.0, 6.0
    push = Push(name="p", kind="ramp", force=(0, 0, rate * T), start=0.0, duration=T)
    sigma, square = D / (2.0 * mu), K / mu
    lags = []
    for h in (1e-3, 5e-4):
        run = run_of(one_joint(B, m), PlantChange(joint_stiffness=K, gear_damping=D), world={"pushes": (push,)},
                     duration=T, timestep=h, period=h)  # fmt: skip
        trace = simulate(run)
        z, c = math.exp(-sigma * h), math.cos(h * math.sqrt(square - sigma**2))
        lags.append(h * (1.0 - z * z) / (1.0 - 2.0 * z * c + z * z))
        steady = -(mu / m) * rate * (trace.time[-500:] - lags[-1]) / K
        assert deflection(trace)[-500:] == pytest.approx(steady, rel=1e-10)
    errors = np.array(lags) - D / K
    assert abs(errors[1]) < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize("physics", ["equations", "engine"])
def test_energies_add_up_to_rounding(physics: str) -> None:
    K, D, B, m = 1e4, 2.0, 0.2, 0.5
    run = run_of(one_joint(B, m), PlantChange(joint_stiffness=K, gear_damping=D), physics=physics, duration=1.0)
    trace = execute(started(run, 1e-2, 0.0))
    kinetic, potential, lost = (trace[f"energy.{kind}"] for kind in ("kinetic", "potential", "dissipated"))
    whole = kinetic + potential + lost
    assert whole == pytest.approx(np.full(len(whole), whole[0]), abs=1e-12)
    assert lost[-1] > 0.9 * whole[0]
    assert (np.diff(lost) >= 0.0).all()


def energies_of_a_minute(step: float, *, elastic: bool) -> np.ndarray:
    """Kinetic and potential energy of a planar arm that swings freely for 60 s without damping."""
    robot = load_robot("planar2").with_gravity((0, 0, 0))
    change = PlantChange(joint_stiffness=3000.0, rotor_inertia=0.3) if elastic else PlantChange(rotor_inertia=0.3)
    made = assemble(run_of(robot, change, duration=60.0, timestep=step, period=1e-3))
    if elastic:
        made.loop.elastic.motor_q[:] += (0.02, -0.01)
        made.loop.elastic.motor_v[:] = (0.3, -0.2)
    made.loop.plant.qvel[:] = (0.3, -0.2)
    trace = execute(made)
    return trace["energy.kinetic"] + trace["energy.potential"]


def test_an_undamped_arm_keeps_its_energy_for_a_minute_as_a_rigid_one_does() -> None:
    """Springs drift by nothing; the links' semi-implicit step, whose inertia changes with the posture, is of order 1.

    The drift of 60 s is that of the rigid arm of the same start, 0.091 %, and half of it with half the step.
    """
    drifts, ripple = {}, {}
    for name, step, elastic in (("elastic", 1e-3, True), ("half", 5e-4, True), ("rigid", 1e-3, False)):
        whole = energies_of_a_minute(step, elastic=elastic)
        first, *_, last = np.array_split(whole, 12)
        drifts[name], ripple[name] = last.mean() / first.mean() - 1.0, np.ptp(whole) / whole[0]
    assert abs(drifts["elastic"]) < 1e-3
    assert drifts["elastic"] == pytest.approx(drifts["rigid"], rel=0.02)
    assert drifts["elastic"] / drifts["half"] == pytest.approx(2.0, rel=0.05)
    assert ripple["elastic"] < 2.5e-3
    assert ripple["elastic"] / ripple["half"] == pytest.approx(2.0, rel=0.05)


LAWS = {"motor": "motor", "link": "link", "torque": "torque", "gravity": "gravity"}


@pytest.mark.parametrize("encoders", LAWS)
def test_stiffer_and_stiffer_gears_reach_the_rigid_arm(encoders: Any) -> None:
    robot = load_robot("panda", joints="ideal")
    wall = Surface(name="wall", position=(0.34, 0, 0), normal=(-1, 0, 0), stiffness=1e4)
    law = CartesianImpedance(stiffness=(400.0,) * 3 + (20.0,) * 3)
    around = {"surfaces": (wall,), "pushes": (Push(name="p", force=(20, 10, 5), start=0.0, duration=0.2),)}
    rigid = simulate(run_of(robot, PlantChange(rotor_inertia=0.2), law=law, world=around, duration=0.5))
    assert rigid["contact_force"].max() > 5.0
    errors = []
    for K in (1e6, 1e8):
        change = PlantChange(rotor_inertia=0.2, joint_stiffness=K, gear_damping=5e-5 * K)
        world = around | {"sensors": Sensors(encoders=encoders)}
        errors.append(
            np.abs(simulate(run_of(robot, change, law=law, world=world, duration=0.5))["q"] - rigid["q"]).max()
        )
    assert errors[1] < 1e-6
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_both_plants_move_elastic_arms_alike(friction: float) -> None:
    """To 10⁻¹² on a wall and under a push; K times the rounding of θ − q acts in each step."""
    robot = load_robot("panda", joints="elastic")
    wall = Surface(name="wall", position=(0.325, 0, 0), normal=(-1, 0, 0), stiffness=1e4)
    push = Push(name="p", force=(20, 10, 5), start=0.05, duration=0.1)
    change, world = PlantChange(joint_friction=friction), {"surfaces": (wall,), "pushes": (push,)}
    law = CartesianImpedance(stiffness=(400.0,) * 3 + (20.0,) * 3)
    traces = [
        simulate(run_of(robot, change, law=law, world=world, duration=0.4, physics=physics))
        for physics in ("equations", "engine")
    ]
    assert traces[0]["contact_force"].max() > 5.0
    for name in ("q", "v", "motor_q", "motor_v", "joint_torque"):
        size = 1.0 if name != "joint_torque" else np.abs(traces[0][name]).max()
        assert traces[0][name] == pytest.approx(traces[1][name], abs=1e-12 * size)


def test_the_gears_of_a_published_industrial_arm_ring_as_their_motor_side_numbers_say() -> None:
    """First axis of the Modelica library's r3: J = 0.0013 kg·m², c = 43 N·m/rad, d = 0.005 at the motor, 105 to 1.

    On a link that stands still the motor rings at √(c/J) with ζ = d/(2 √(c J)), whatever the gear's ratio.
    """
    J, c, d, n = 0.0013, 43.0, 0.005, 105.0  # at the joint 14.3 kg·m² and 474 kN·m/rad
    B, K, D = J * n**2, c * n**2, d * n**2
    trace = execute(started(run_of(one_joint(B, 9e6), PlantChange(joint_stiffness=K, gear_damping=D)), 1e-3, 0.0))
    bent = deflection(trace)
    frequency, ratio = math.sqrt(c / J), d / (2.0 * math.sqrt(c * J))
    assert frequency / (2.0 * math.pi) == pytest.approx(28.95, abs=0.005)
    # δ₊ = 2 z c δ − z² δ₋
    (twice, last), *_ = np.linalg.lstsq(np.column_stack([bent[1:-1], bent[:-2]]), bent[2:], rcond=None)
    rate = np.log(np.roots([1.0, -twice, -last]).astype(complex)[0]) / H
    assert abs(rate) == pytest.approx(frequency, rel=2e-6)
    assert -rate.real / abs(rate) == pytest.approx(ratio, rel=1e-5)


def test_a_motor_that_sticks_stands_still_exactly_and_slips_beyond_its_friction() -> None:
    K, B, m, F = 5000.0, 0.2, 0.5, 1.5
    for force, moves in ((1.47, False), (1.53, True)):
        push = Push(name="p", kind="ramp", force=(0, 0, force), start=0.0, duration=2.0)
        hold = Push(name="h", force=(0, 0, force), start=2.0, duration=9.0)
        run = run_of(one_joint(B, m, F=F), PlantChange(joint_stiffness=K, gear_damping=20.0),
                     world={"pushes": (push, hold)}, duration=3.0)  # fmt: skip
        trace = simulate(run)
        assert (trace["motor_v"][:, 0] != 0.0).any() == moves
        if not moves:
            assert (trace["motor_q"][:, 0] == 0.0).all()
            assert deflection(trace)[-1] == pytest.approx(-force / K, rel=1e-9)


def test_friction_of_several_motors_fits_link_by_link() -> None:
    """Friction opposes each motor's motion with all it has, or less where it stands still; energies add up."""
    robot = load_robot("panda", joints="elastic")
    push = Push(name="p", kind="sine", force=(15, 25, 10), frequency=3.0, start=0.0, duration=2.0)
    run = run_of(robot, PlantChange(joint_friction=0.5), world={"pushes": (push,)}, duration=0.6)
    made = assemble(run)
    e, coulomb = made.loop.elastic, np.asarray(made.loop.elastic.coulomb).copy()
    trace = execute(made)
    w = trace["motor_v"]
    assert ((w == 0.0).sum(axis=0) > 5).any()
    assert ((w != 0.0).sum(axis=0) > 5).any()
    assert (np.abs(e.friction) <= coulomb * (1 + 1e-9)).all()
    sliding = np.asarray(e.motor_v) != 0.0
    assert np.asarray(e.friction)[sliding] == pytest.approx((coulomb * np.sign(e.motor_v))[sliding], rel=1e-9)
    books = [trace[f"energy.{kind}"][-1] for kind in ("kinetic", "potential", "injected", "pushed", "dissipated")]
    T, V, injected, pushed, lost = books
    start = trace["energy.kinetic"][0] + trace["energy.potential"][0]
    assert T + V - injected - pushed + lost == pytest.approx(start, abs=2e-3 * pushed + 1e-3)


def slip_cycle(K: float, m: float, speed: float, F: float, extra: float, vs: float) -> tuple[float, float]:
    """Period and largest stretch of a block drawn by a spring over a Stribeck floor, from event to event."""

    def sliding(_, x):
        return [speed - x[1], (K * x[0] - F - extra * math.exp(-((x[1] / vs) ** 2))) / m]

    def stops(_, x):
        return x[1]

    event: Any = stops
    event.terminal, event.direction = True, -1
    stretch = (F + extra) / K
    found = solve_ivp(sliding, (0, 50), [stretch, 1e-9], events=event, rtol=1e-11, atol=1e-13, max_step=1e-3)
    slip, left = found.t_events[0][0], found.y_events[0][0][0]
    return slip + (stretch - left) / speed, found.y[0].max()


def test_stick_slip_has_the_period_and_stretch_of_an_event_driven_integration() -> None:
    """A link that is moved steadily draws its motor along: the motor sticks, slips, and sticks again.

    Both are off in first order of the step, and what is extrapolated to none is off by 3 in 10⁵.
    """
    K, B, F, extra, vs, speed = 200.0, 0.5, 1.0, 0.8, 0.05, 0.05
    heavy = 1e7  # a link whose motion the motor does not change
    change = PlantChange(joint_stiffness=K, breakaway=extra, stribeck_speed=vs)
    period, stretch = slip_cycle(K, B, speed, F, extra, vs)
    errors = []
    for step in (5e-4, 2.5e-4):
        run = run_of(one_joint(B, heavy, F=F), change, duration=4.0, timestep=step, period=step)
        made = assemble(run)
        made.loop.plant.qvel[0] = speed
        trace = execute(made)
        w, t, bent = trace["motor_v"][:, 0], trace.time, -deflection(trace)
        (last,) = np.nonzero((w[:-1] == 0.0) & (w[1:] != 0.0))
        # where the stretch of a motor that sticks, which grows steadily, reaches the friction at rest
        begins = t[last] + ((F + extra) / K - bent[last]) / speed
        begins = begins[np.diff(begins, prepend=-1.0) > 0.5 * period]
        errors.append(np.array([np.diff(begins).mean() / period - 1.0, bent.max() / stretch - 1.0]))
    assert (np.abs(errors[0]) < 1.2e-3).all()
    assert errors[0] / errors[1] == pytest.approx([2.0, 2.0], abs=0.1)
    assert np.abs(2.0 * errors[1] - errors[0]).max() < 3e-5


def test_a_stop_holds_the_link_and_the_motor_goes_on_against_the_spring() -> None:
    K, B, m = 3000.0, 0.2, 0.5
    robot = one_joint(B, m, F=0.2, more='range="-0.5 0.02" limited="true"')
    push = Push(name="p", force=(0, 0, 5.0), start=0.0, duration=9.0)
    run = run_of(robot, PlantChange(joint_stiffness=K, gear_damping=10.0), world={"pushes": (push,)}, duration=1.5)
    trace = simulate(run)
    assert trace["q"][:, 0].max() < 0.03
    assert trace["q"][-1, 0] == pytest.approx(0.02, abs=2e-3)
    assert abs(trace["motor_q"][-1, 0] - trace["q"][-1, 0]) < 0.2 / K + 1e-5


def test_a_link_on_a_rigid_surface_stands_while_its_motor_rings() -> None:
    """The held link lets B δ̈ + D δ̇ + K δ = −F; the surface bears what the spring carries, F + B θ̈.

    Samples of the motor come with the error of a step whose coefficients are those of a link that moves.
    """
    K, D, B, m, F = 400.0, 4.0, 0.5, 2.0, 30.0
    push = PythonLaw(lambda tick, gains, memory: {"push": np.array([-F])}, terms=("push",))
    floor = Surface(name="floor", position=(0, 0, -0.1), contact="rigid")
    change = PlantChange(joint_stiffness=K, gear_damping=D)
    trace = simulate(run_of(one_joint(B, m), change, law=push, world={"surfaces": (floor,)}, duration=2.0))
    force, bent = trace["contact_wrench"][:, 2], deflection(trace)
    assert trace.facts.physics == "equations"
    assert trace.facts.engine_steps == 0
    assert np.abs(trace["q"]).max() < 1e-15  # nothing rubs here, so that its speed is a sum's rounding
    assert force[1:] == pytest.approx(F + B * np.diff(trace["motor_v"][:, 0]) / H, abs=1e-9)
    A = pair(K, D, B)
    expected = -F / K + samples(A, expm(0.5 * H * A) @ [F / K, 0.0], 2001)  # speeds are those between samples
    assert bent == pytest.approx(expected, abs=1e-3 * F / K)
    assert force[-1] == pytest.approx(F, rel=1e-3)
    kinetic, potential, lost = (trace[f"energy.{kind}"] for kind in ("kinetic", "potential", "dissipated"))
    whole = kinetic + potential + lost - trace["energy.injected"]
    assert np.abs(whole - whole[0]).max() < 1e-12


def test_friction_of_the_motor_holds_a_pressed_link_when_the_drive_lets_go() -> None:
    """Pressed on by 30 N and let go, a motor with 12 N of friction stands to the last bit, the link pressed on."""
    F, friction = 30.0, 12.0
    push = PythonLaw(lambda tick, gains, memory: {"push": np.array([-F if tick.t < 1.0 else 0.0])}, terms=("push",))
    floor = Surface(name="floor", position=(0, 0, -0.1), contact="rigid")
    change = PlantChange(joint_stiffness=2e4, gear_damping=200.0)
    robot = one_joint(0.5, 2.0, F=friction)
    trace = simulate(run_of(robot, change, law=push, world={"surfaces": (floor,)}, duration=2.0))
    force = trace["contact_wrench"][:, 2]
    assert force[900] == pytest.approx(F - friction, rel=1e-3)
    assert 0.0 < force[-1] <= friction * (1.0 + 1e-9)  # a motor slower than a 1e-9th stands
    assert np.ptp(force[-500:]) == 0.0
    assert not trace["motor_v"][-500:].any()


def test_stiffer_gears_touch_a_rigid_surface_as_rigid_joints_do() -> None:
    """Force on a wall at rest and the way there: the difference falls with 1/K."""
    changes = ["world.surfaces.wall.contact=rigid", "metrics={}", "run.duration=1.5", "run.rate=1000"]
    rigid = simulate(load_scenario("panda-wall", [*changes, 'robot.joints="as_built"']))
    off = []
    for K in (1e5, 1e6):
        plant = [f"world.plant.joint_stiffness={K}", f"world.plant.gear_damping={K / 1e3}"]
        trace = simulate(load_scenario("panda-wall", [*changes, *plant]))
        assert trace.facts.physics == "equations"
        off.append(np.abs(trace["q"][-1] - rigid["q"][-1]).max())
    assert off[1] < 0.2 * off[0] < 1e-3


def test_on_the_engine_elastic_joints_meet_no_rigid_surface() -> None:
    world = {"surfaces": (Surface(name="w", contact="rigid"),)}
    with pytest.raises(InvalidInput, match="'w'"):
        assemble(run_of(one_joint(0.2, 0.5), PlantChange(joint_stiffness=1e4), world=world, physics="engine"))


def test_the_law_sees_the_side_that_its_encoders_are_on() -> None:
    robot, K = one_joint(0.2, 0.5, g=-9.81), 800.0
    sag = 0.5 * 9.81 / K
    shown: dict[Any, float] = {"motor": sag, "link": 0.0, "torque": 0.0, "gravity": 0.0}
    for encoders, value in shown.items():
        world = {"sensors": Sensors(encoders=encoders)}
        trace = simulate(run_of(robot, PlantChange(joint_stiffness=K), world=world, duration=0.05))
        assert trace["motor_q"][:, 0] == pytest.approx(np.full(51, sag), abs=1e-12)
        assert trace["q"][:, 0] == pytest.approx(np.zeros(51), abs=1e-12)
        assert trace["q_measured"][:, 0] == pytest.approx(np.full(51, value), abs=1e-12)
        assert trace["joint_torque"][:, 0] == pytest.approx(np.full(51, 0.5 * 9.81), rel=1e-9)


def test_torque_feedback_makes_the_motor_lighter_and_its_friction_smaller() -> None:
    """B θ̈ + S = (1 + k) τ − k S − f is B/(1 + k) θ̈ + S = τ − f/(1 + k)."""
    K, B, m, k = 500.0, 0.6, 0.5, 2.0
    law = JointImpedance(stiffness=(50.0,), damping=(5.0,))
    push = Push(name="p", force=(0, 0, 4.0), start=0.0, duration=9.0)

    def trace_of(B: float, d: float, feedback: float, step: float) -> Trace:
        world = {"pushes": (push,), "driver": Driver(torque_feedback=feedback)}
        return simulate(run_of(one_joint(B, m, d=d), PlantChange(joint_stiffness=K), law=law, world=world,
                               duration=0.4, timestep=step, period=1e-3))  # fmt: skip

    errors = []
    for step in (1e-3, 2.5e-4):
        shaped, light = trace_of(B, 0.9, k, step), trace_of(B / (1 + k), 0.3, 0.0, step)
        errors.append(np.abs(shaped["motor_q"] - light["motor_q"]).max() / np.abs(light["motor_q"]).max())
    assert errors[0] < 0.02
    assert errors[1] < 0.3 * errors[0]


def test_a_lagging_torque_answers_like_a_first_order_filter() -> None:
    robot, f = one_joint(0.2, 0.5, g=-9.81), 20.0
    world = {"driver": Driver(torque_bandwidth=f), "gravity": (0.0, 0.0, -5.0)}
    trace = simulate(run_of(robot, PlantChange(joint_stiffness=1e4), world=world, duration=0.1))
    asked, first = 0.5 * 9.81, 0.5 * 5.0  # held by the plant's gravity at the start, asked for by the law's
    ticks = np.arange(1, 102)
    assert trace["tau"][:, 0] == pytest.approx(asked + (first - asked) * np.exp(-2 * np.pi * f * H * ticks), rel=1e-9)


@pytest.mark.parametrize(
    ("world", "name"),
    [
        ({"surfaces": (Surface(name="w", contact="exact"),)}, "exact contact"),
        ({"pins": (LockedPoint(),)}, "exact contact"),
        ({"objects": (FreeObject(name="ball"),)}, "free object"),
        ({"pole": Pole()}, "pole"),
    ],
)
def test_what_elastic_joints_are_not_simulated_with_is_refused_by_name(world: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        assemble(run_of(one_joint(0.2, 0.5), PlantChange(joint_stiffness=1e4), world=world))


def test_settings_that_only_elastic_joints_have_are_refused_for_rigid_ones() -> None:
    for world in (
        {"sensors": Sensors(encoders="link")},
        {"driver": Driver(torque_feedback=1.0)},
        {"driver": Driver(torque_bandwidth=100.0)},
    ):
        with pytest.raises(InvalidInput, match="elastic"):
            assemble(run_of(one_joint(0.2, 0.5), PlantChange(), world=world))
    with pytest.raises(InvalidInput, match="rotor inertia"):
        assemble(run_of(one_joint(0.0, 0.5), PlantChange(joint_stiffness=1e4)))
    for integrator in ("rk4", "implicit"):
        with pytest.raises(InvalidInput, match=integrator):
            assemble(run_of(one_joint(0.2, 0.5), PlantChange(joint_stiffness=1e4), integrator=integrator))
