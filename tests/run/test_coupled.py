"""Joints that follow others, in a run: the coupling is exact, laws see the independent joints alone."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from palpate.control import CartesianImpedance, GravityCompensation, JointImpedance, PythonLaw
from palpate.control.references.motions import Line
from palpate.control.references.reference import Hold
from palpate.robot import Robot, load_robot
from palpate.run.assemble.assemble import assemble
from palpate.run.run import Run
from palpate.run.simulate import execute, simulate
from palpate.views.kinematics import body_paths
from palpate.world.clock import Clock
from palpate.world.config import Pole, Push, Sensors, Surface, World

S, C, G = -0.8, 0.25, 9.81


def rack(friction=0.0, damping=0.0, gravity=G) -> Robot:
    """Two blocks on upright slides, 2 kg and 0.5 kg; the second one's height is S z + C."""
    bodies = "".join(
        f"""<body name="{name}" pos="{x} 0 0"><inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/>
        <joint name="{name}" type="slide" axis="0 0 1" damping="{damping}" frictionloss="{friction}"/>
        <geom name="{geom}" type="sphere" size="0.02" mass="0"/><site name="{name}_site"/></body>"""
        for name, x, mass, geom in (("lead", 0, 2.0, "lead_ball"), ("follow", 0.3, 0.5, "tip"))
    )
    return Robot.from_mjcf_text(
        f"""<mujoco><option gravity="0 0 {-gravity}"/><worldbody>{bodies}</worldbody><equality>
        <joint joint1="follow" joint2="lead" polycoef="{C} {S} 0 0 0"/></equality></mujoco>""",
        name="rack",
    )


def hand(base: bool = False) -> Robot:
    """A swinging hand with two fingers on inclined slides, the right one tied to the left by S and C."""
    root = '<body name="base"><freejoint name="base"/><inertial pos="0 0 0" mass="3" diaginertia=".1 .2 .2"/>'
    return Robot.from_mjcf_text(
        f"""<mujoco><worldbody>{root if base else "<body name='base'>"}<body name="wrist" pos="0 0 0.2">
        <inertial pos="0.1 0.02 -0.3" mass="1.5" diaginertia="0.01 0.02 0.02"/><joint name="turn" axis="0 1 0"/>
        <body name="left" pos="0.2 0.05 0"><inertial pos="0.1 0 0" mass="0.3" diaginertia="1e-3 1e-3 1e-3"/>
        <joint name="left" type="slide" axis="0.6 0.8 0" stiffness="40"/></body>
        <body name="right" pos="0.2 -0.05 0"><inertial pos="0.1 0 0" mass="0.4" diaginertia="1e-3 1e-3 1e-3"/>
        <joint name="right" type="slide" axis="0 0.6 0.8"/><geom name="tip" type="sphere" size="0.01" mass="0"/>
        <site name="tool"/></body></body></body></worldbody>
        <equality><joint joint1="right" joint2="left" polycoef="{C} {S} 0 0 0"/></equality></mujoco>""",
        name="hand",
    )


def in_steps(robot: Robot, q: np.ndarray, v: np.ndarray, dt: float, count: int) -> np.ndarray:
    """The robot's own reduced equations of motion, without torques, by classical Runge–Kutta steps."""
    path, rest = [q], np.zeros(robot.nv)
    for _ in range(count):
        speeds, rates = [], []
        for ahead in (0.0, dt / 2, dt / 2, dt):
            at_v = v + ahead * rates[-1] if rates else v
            at_q = robot.integrate(q, speeds[-1], ahead) if speeds else q
            speeds.append(at_v)
            rates.append(robot.forward_dynamics(at_q, at_v, rest))
        mean_v, mean_a = (np.average(x, axis=0, weights=[1, 2, 2, 1]) for x in (speeds, rates))
        q, v = robot.integrate(q, mean_v, dt), v + dt * mean_a
        path.append(q)
    return np.array(path)


@pytest.mark.parametrize("integrator", ["rk4", "euler", "implicit"])
def test_tied_blocks_fall_as_one_block_worked_out_by_hand(idle, integrator) -> None:
    """(m₁ + s² m₂) z̈ = −(m₁ + s m₂) g, which every method integrates in closed form: constant acceleration."""
    trace = simulate(Run(rack(), idle, clock=Clock(duration=0.5, integrator=integrator), v_start=[0.4]))
    a, t, dt = -(2.0 + S * 0.5) * G / (2.0 + S**2 * 0.5), trace.time, 1e-3
    late = 0.0 if integrator == "rk4" else a * dt * t / 2  # the semi-implicit step moves by the velocity at its end
    np.testing.assert_allclose(trace["q"][:, 0], 0.4 * t + a * t**2 / 2 + late, atol=1e-11)
    np.testing.assert_allclose(trace["v"][:, 0], 0.4 + a * t, atol=1e-11)


@pytest.mark.parametrize("base", [False, True])
def test_a_hand_swings_by_its_reduced_equations_of_motion(idle, residue, base) -> None:
    """To 1e-11 of the same steps taken with the robot's own terms, fixed and free."""
    robot = hand(base).with_gravity([0, 0, 0]) if base else hand()
    v = np.array([0.2, -0.1, 0.3, 0.5, 1.0, -0.4, 2.0, 0.3] if base else [2.0, 0.3])
    clock = Clock(duration=0.5, integrator="rk4")
    trace = simulate(Run(robot, idle, clock=clock, v_start=v))
    path = in_steps(robot, robot.home, v, clock.timestep, len(trace) - 1)
    assert np.abs(path[-1] - path[0]).max() > 0.1
    np.testing.assert_allclose(trace["q"], path, atol=1e-11)
    assert residue(trace) < 1e-7  # of the step's truncation


def test_the_engines_own_joints_keep_the_tie_to_rounding() -> None:
    law = PythonLaw(lambda tick, gains, memory: {"torque": [0.3 * np.sin(9 * tick.t), 4 * np.cos(7 * tick.t)]})
    assembly = assemble(Run(hand(), law, clock=Clock(duration=0.2)))
    assert execute(assembly).outcome.kind == "completed"
    q, v, a = assembly.data.qpos, assembly.data.qvel, assembly.data.qacc
    assert q[2] == S * q[1] + C
    assert v[2] == S * v[1]
    assert a[2] == pytest.approx(S * a[1], abs=1e-12)


def test_a_torque_on_the_leader_accelerates_what_it_leads() -> None:
    """4 N on the lead block without gravity: z̈ = 4 / (m₁ + s² m₂)."""
    law = PythonLaw(lambda tick, gains, memory: {"torque": [4.0]})
    trace = simulate(Run(rack(gravity=0.0), law, clock=Clock(duration=0.3, integrator="rk4")))
    np.testing.assert_allclose(trace["q"][:, 0], 2.0 / (2.0 + S**2 * 0.5) * trace.time**2, atol=1e-12)
    assert trace["energy.injected"][-1] == pytest.approx(trace["energy.kinetic"][-1], rel=1e-10)


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_friction_and_damping_of_followers_are_felt_by_the_leader(idle, integrator) -> None:
    """m z̈ = −f (1 + |s|) − b (1 + s²) ż while it slides, then it sticks; friction regularised by the engine."""
    clock = Clock(duration=1.5, integrator=integrator, timestep=2e-4, period=2e-4)
    trace = simulate(Run(rack(friction=0.4, damping=1.5, gravity=0.0), idle, clock=clock, v_start=[0.3]))
    m, f, b, t = 2.0 + S**2 * 0.5, 0.4 * (1 - S), 1.5 * (1 + S**2), trace.time
    expected = (0.3 + f / b) * np.exp(-b / m * t) - f / b
    slides = expected > 0.01  # below, the engine's friction turns soft
    tolerance = 2e-4 if integrator == "euler" else 2e-5
    np.testing.assert_allclose(trace["v"][slides, 0], expected[slides], atol=tolerance)
    assert np.abs(trace["v"][t > t[slides][-1] + 0.2, 0]).max() < 1e-4


@pytest.mark.parametrize("friction", [0.0, 1e-9])
def test_stiff_damping_of_tied_joints_is_taken_at_the_end_of_a_semi_implicit_step(idle, friction) -> None:
    """v ← v m/(m + h b) with m = m₁ + s² m₂ and b = d (1 + s²), h b = 7 m: taken before, it would diverge."""
    trace = simulate(
        Run(rack(damping=1e4, gravity=0.0, friction=friction), idle, clock=Clock(duration=0.01), v_start=[0.3])
    )
    m, b = 2.0 + S**2 * 0.5, 1e4 * (1 + S**2)
    np.testing.assert_allclose(trace["v"][:, 0], 0.3 * (m / (m + 1e-3 * b)) ** np.arange(11), rtol=1e-6, atol=1e-10)


def test_a_force_on_the_follower_reaches_the_leader_through_the_tie() -> None:
    """A push f on the follower is s f at the leader; a spring law holds z = s f / k."""
    law = JointImpedance(stiffness=200.0, damping=60.0)
    world = World(gravity=(0, 0, 0), pushes=(Push(name="p", frame="follow_site", force=(0, 0, 5.0), duration=9),))
    trace = simulate(Run(rack(gravity=0.0), law, world=world, clock=Clock(duration=8.0)))
    assert trace["q"][-1, 0] == pytest.approx(S * 5.0 / 200.0, rel=1e-6)


@pytest.mark.parametrize("contact", ["compliant", "rigid"])
def test_a_follower_that_lands_carries_its_leader(idle, contact) -> None:
    """The follower sinks as the leader rises; its ball rests on a floor that bears what lifts the leader, over |s|."""
    floor = Surface(name="floor", position=(0, 0, 0), contact=contact, stiffness=2e4, damping=300.0)
    lift = PythonLaw(lambda tick, gains, memory: {"torque": [40.0 - 20.0 * tick.v[0]]})
    clock = Clock(duration=2.0, integrator="euler")
    trace = simulate(Run(rack(), lift, world=World(surfaces=(floor,)), clock=clock))
    force = trace["contact_wrench"][-1, 2]
    assert trace.facts.physics == "equations"
    assert force == pytest.approx((40.0 - (2.0 + S * 0.5) * G) / -S, rel=2e-3 if contact == "compliant" else 1e-9)
    if contact == "rigid":
        assert trace["v"][-1, 0] == 0.0
        assert trace["penetration"].max() < 1e-12


def test_a_follower_slides_on_a_rigid_surface_against_coulombs_friction(idle) -> None:
    """A ceiling moving across at 1 m/s rubs the follower's ball, whose tilted slide hands the rest to its leader.

    Along the follower's axis a: (m₁ + s² m₂) z̈ = −(m₁ + s m₂ a_z) g + s a·f, with f = f_n (n + μ u/|u|) of the belt and
    0 acceleration of the ball along n, so that f follows.
    """
    a, mu, n = np.array([0.6, 0.0, 0.8]), 0.3, np.array([0.0, 0.0, -1.0])
    spec = rack().spec()
    spec.joint("follow").axis = a
    belt = {"velocity": (1.0, 0.0, 0.0)}
    ceiling = Surface.model_validate(
        {"name": "belt", "position": (0, 0, 0.8 * C + 0.02), "normal": n, "contact": "rigid", "friction": mu}
        | {"motion": belt}
    )
    trace = simulate(Run(Robot(spec, name="rack"), idle, World(surfaces=(ceiling,)), clock=Clock(duration=0.5)))
    force = (2.0 + S * 0.5 * a[2]) * G / (S * a @ (n + mu * np.array([1.0, 0.0, 0.0])))
    assert trace.facts.physics == "equations"
    np.testing.assert_allclose(trace["contact_wrench"][-1, :3], force * np.array([mu, 0.0, -1.0]), rtol=1e-9)
    assert trace["v"][-1, 0] == pytest.approx(0.0, abs=1e-15)


def stop_of_the_follower(friction: float) -> Robot:
    spec = rack(friction=friction).spec()
    joint = spec.joint("follow")
    joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_TRUE, (-1.0, C + 0.1)
    return Robot(spec, name="rack")


def test_a_stop_of_the_follower_beside_friction_is_the_engines(idle) -> None:
    robot = stop_of_the_follower(0.5)
    traces = [simulate(Run(robot, idle, clock=Clock(duration=1.0, physics=who))) for who in ("equations", "engine")]
    assert traces[0].facts.engine_steps == 0
    assert traces[0]["q"].min() < 0.1 / S
    np.testing.assert_allclose(traces[0]["q"], traces[1]["q"], atol=1e-9)


def test_a_stop_of_the_follower_stops_the_leader(idle) -> None:
    trace = simulate(Run(stop_of_the_follower(0.0), idle, clock=Clock(duration=1.0)))
    assert trace["q"][-1, 0] == pytest.approx(0.1 / S, abs=2e-3)
    assert abs(trace["v"][-1, 0]) < 1e-6


def test_laws_and_sensors_see_the_independent_joints() -> None:
    seen = {}

    def look(tick, gains, memory):
        seen.update({name: np.array(getattr(tick, name)) for name in ("q", "v", "M", "J", "bias", "gravity", "drift")})
        return {"torque": np.zeros(2)}

    robot, world = hand(), World(sensors=Sensors(encoder_resolution=1e-3))
    simulate(Run(robot, PythonLaw(look), world=world, clock=Clock(duration=0.05), v_start=[1.0, 0.5]))
    assert np.abs(seen["q"] / 1e-3 - np.round(seen["q"] / 1e-3)).max() < 1e-9  # as the encoders have it
    terms = robot.terms(seen["q"], seen["v"])
    for name in ("M", "J", "bias", "gravity", "drift"):
        np.testing.assert_allclose(seen[name], getattr(terms, name), atol=1e-12)


def test_a_replay_moves_the_followers(idle) -> None:
    robot = hand()
    trace = simulate(Run(robot, idle, clock=Clock(duration=0.3), v_start=[1.0, 0.5]))
    rows = np.array([0, len(trace) - 1])
    names = [body["name"] for body in trace.facts.scene or []]
    paths = body_paths(trace, rows)
    for name in ("left", "right"):
        for k, row in enumerate(rows):
            assert paths[names.index(name)][0][k] == pytest.approx(robot.pose(trace["q"][row], name).position)


def test_a_pole_stands_on_a_tool_moved_by_tied_joints(idle, residue) -> None:
    """What lies beyond the robot keeps its own coordinates, and the work of all of it adds up."""
    robot = hand()
    world = World(pole=Pole(mass=0.2, length=0.4, tilt=(0.1, 0.0)))
    trace = simulate(Run(robot, idle, world=world, clock=Clock(duration=0.3, integrator="rk4")))
    assert trace["rest_q"].shape[1] == 2
    assert trace["rest_q"][0] == pytest.approx([0.1, 0.0])
    assert residue(trace) < 1e-7


# ------------------------------------------------------------------------------------------- a Panda with its gripper


def gripping_panda() -> Robot:
    """The catalogue's Panda with two fingers of 15 g on its flange, one mirrored by the other, 0 to 40 mm."""
    panda = load_robot("panda", joints="ideal")
    spec = panda.spec()
    holder = spec.body(panda.model.body(panda.frame().body).name)
    for name, side in (("finger1", 1.0), ("finger2", -1.0)):
        body = holder.add_body(name=name, pos=panda.frame().offset)
        body.explicitinertial, body.mass, body.inertia = True, 0.015, np.full(3, 1e-5)
        body.add_joint(
            name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, side, 0], armature=0.1, damping=[1.0, 0, 0],
            limited=mujoco.mjtLimited.mjLIMITED_TRUE, range=[0, 0.04],
        )  # fmt: skip
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT, name1="finger2", name2="finger1",
        data=[0, 1, *[0] * 10],
    )  # fmt: skip
    for numeric in list(spec.numerics):  # the arm's speeds and accelerations, seven each
        spec.delete(numeric)
    for key in list(spec.keys):
        key.qpos = [*list(key.qpos)[:7], 0.02, 0.02]
    return Robot(spec, name="panda-hand", tool_frame=panda.tool_frame)


def test_a_panda_with_a_gripper_runs_under_compiled_laws() -> None:
    """Computed with its fingers in the loop: the arm follows a line, the fingers stay where a spring holds them."""
    robot = gripping_panda()
    assert robot.nv == 8
    law = JointImpedance(stiffness=(300.0,) * 4 + (30.0,) * 3 + (80.0,), damping=(20.0,) * 4 + (1.0,) * 3 + (8.0,))
    trace = simulate(Run(robot, law, clock=Clock(duration=0.5)))
    assert trace.outcome.kind == "completed"
    assert np.abs(trace["q"] - robot.home).max() < 1e-9  # gravity is known, nothing else acts
    line = Line(offset=(0.0, 0.1, 0.05), duration=1.0)
    moved = simulate(Run(robot, CartesianImpedance(), reference=line, clock=Clock(duration=1.5)))
    assert moved.outcome.kind == "completed"
    assert np.abs(moved["tool_position"][-1] - moved["target_position"][-1]).max() < 2e-3


@pytest.mark.parametrize("command", ["velocity", "position"])
def test_servos_drive_tied_joints(command) -> None:
    robot = gripping_panda()
    goal = robot.home + np.array([0.1, 0, 0, 0, 0, 0, 0, 0.01])

    def ask(tick, gains, memory):
        return {"move": 5 * (goal - tick.q) if command == "velocity" else tick.q + 0.05 * (goal - tick.q)}

    trace = simulate(Run(robot, PythonLaw(ask, ("move",), command), clock=Clock(duration=2.0)))
    assert np.abs(trace["q"][-1] - goal).max() < 1e-3


def test_a_hand_on_a_free_base_runs_and_its_sensors_are_true(idle) -> None:
    robot = hand(base=True)
    trace = simulate(Run(robot, idle, clock=Clock(duration=0.2)))
    assert trace["q"].shape[1] == 9
    assert trace["q"][-1, 2] == pytest.approx(-G * 0.2**2 / 2, rel=0.02)
    held = simulate(Run(robot, GravityCompensation(), reference=Hold(), clock=Clock(duration=0.05)))
    assert np.abs(held["tau"][:, :6]).max() == 0.0  # no motor at a free base
