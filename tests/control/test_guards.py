"""Guards around laws: what they keep, what they leave alone, and what they report."""

import numpy as np
import pytest

from palpate.control import CartesianImpedance, GravityCompensation, HybridForce, JointImpedance
from palpate.control.guards import (
    GUARD_FORCE,
    GUARD_JOINT,
    GUARD_NOT_FINITE,
    GUARD_SINGULAR,
    GUARD_SPEED,
    GUARD_STALE,
    GuardMemory,
    Guards,
    guard_torque,
    watch_measurement,
)
from palpate.control.law import PythonLaw, Tick, sizes_of
from palpate.control.laws.admittance import Admittance
from palpate.control.references import JointMotion, Line
from palpate.control.references.reference import Hold, WantedWrench
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Driver, PlantChange, Push, Sensors, Surface, World, WrenchSensor
from palpate.world.sensing.faults import Fault

PANDA = load_robot("panda")
PRESS = Hold(wrench=WantedWrench(value=(0, 0, 10, 0, 0, 0)))


def table(gap=0.02, **settings):
    height = PANDA.pose(PANDA.home).position[2] - gap
    return Surface(position=(0, 0, height), **{"stiffness": 1e4, "damping": 50.0, **settings})


def reasons(trace):
    return {e.message.split(" changed the command")[0] for e in trace.events if e.source == "guard"}


def seen(trace, bit):
    return (trace["guard"].astype(int) & bit) != 0


def test_guards_that_have_nothing_to_do_change_not_a_bit():
    world = World(surfaces=(table(),))
    free, guarded = (
        simulate(Run(PANDA, HybridForce(), world, PRESS, clock=Clock(duration=1.0), guards=guards))
        for guards in (None, Guards(tool_speed=2.0, contact_force=500.0, stale_ticks=50, singular_value=1e-4))
    )
    assert (free["q"] == guarded["q"]).all()
    assert not (guarded["guard"].astype(int) & ~3).any()


def test_a_joint_is_stopped_before_its_limit():
    """A spring pulls joint 4 towards a posture 0.5 rad beyond its range."""
    limit = PANDA.limits.upper[3]
    way = np.zeros(7)
    way[3] = limit + 0.5 - PANDA.home[3]
    beyond = JointMotion(offset=tuple(way), duration=2.0)
    reach = {}
    for guards in (None, Guards(joint_margin=0.05)):
        trace = simulate(Run(PANDA, JointImpedance(), World(), beyond, clock=Clock(duration=4.0), guards=guards))
        reach[guards is None] = trace["q"][:, 3].max()
    assert reach[True] > limit - 0.01
    assert reach[False] <= limit - 0.05 + 1e-3
    assert seen(trace, GUARD_JOINT).any()
    assert "joint limit" in reasons(trace)


def test_the_tool_keeps_its_speed_limit():
    """A stiff spring to a target 10 cm away: without the guard the tool would fly."""
    world = World(driver=Driver(torque_rate_limit=False))
    fast = CartesianImpedance(stiffness=(2000, 2000, 2000, 50, 50, 50), damping=(20, 20, 20, 5, 5, 5))
    jump = Hold(offset=(0, 0.1, 0))
    speeds = {}
    for guards in (None, Guards(tool_speed=0.25)):
        trace = simulate(Run(PANDA, fast, world, jump, clock=Clock(duration=2.0), guards=guards))
        speeds[guards is None] = np.linalg.norm(trace["tool_twist"][:, :3], axis=1)
    assert speeds[True].max() > 0.6
    assert speeds[False].max() < 0.25 * 1.01
    assert seen(trace, GUARD_SPEED).any()
    np.testing.assert_allclose(trace["tool_position"][-1, 1], 0.1, atol=0.01)


def test_set_points_of_a_servo_keep_the_speed_limit_too():
    robot = load_robot("ur5e")
    world = World(driver=Driver(servo_bandwidth=120.0), plant=PlantChange(rotor_inertia=0.1))
    trace = simulate(
        Run(
            robot,
            Admittance(),
            world,
            Hold(offset=(0.1, -0.1, -0.1)),
            clock=Clock(duration=2.0),
            guards=Guards(tool_speed=0.2),
        )
    )
    speed = np.linalg.norm(trace["tool_twist"][:, :3], axis=1)
    assert speed.max() < 0.2 * 1.25  # the servo itself overshoots a step of speed by e⁻² = 14 % and more
    assert speed[100:].max() < 0.2 * 1.02
    assert seen(trace, GUARD_SPEED).any()
    np.testing.assert_allclose(trace["tool_position"][-1] - trace["tool_position"][0], (0.1, -0.1, -0.1), atol=1e-3)


@pytest.mark.parametrize("reaction", ["stop", "retreat"])
def test_too_much_contact_force_ends_the_laws_reign(reaction):
    """A stiff law drives 5 cm into the table at 20 N allowed."""
    stiff = CartesianImpedance(stiffness=(2000, 2000, 2000, 50, 50, 50), damping=(150, 150, 150, 5, 5, 5))
    down = Line(offset=(0, 0, -0.07), start=0.1, duration=2.0)
    guards = Guards(contact_force=20.0, on_contact_force=reaction)
    trace = simulate(Run(PANDA, stiff, World(surfaces=(table(),)), down, clock=Clock(duration=4.0), guards=guards))
    assert trace.outcome.kind == "completed"
    assert trace["contact_force"].max() < 30
    assert abs(trace["v"][-1]).max() < 1e-3
    assert "contact-force limit" in reasons(trace)
    first = np.flatnonzero(seen(trace, GUARD_FORCE))[0]
    assert seen(trace, GUARD_FORCE)[first:].all()
    if reaction == "retreat":
        rise = trace["tool_position"][-1, 2] - trace["tool_position"][first, 2]
        assert rise == pytest.approx(0.02, rel=0.15)
        assert trace["contact_force"][-1] == 0


def test_a_servo_stops_at_the_contact_force_limit():
    robot = load_robot("ur5e")
    world = World(
        pushes=(Push(force=(0, 30.0, 0), start=0.5, duration=1.0),),
        driver=Driver(servo_bandwidth=120.0),
        plant=PlantChange(rotor_inertia=0.1),
    )
    trace = simulate(
        Run(robot, Admittance(), world, Hold(), clock=Clock(duration=2.0), guards=Guards(contact_force=20.0))
    )
    assert trace.outcome.kind == "completed"
    moved = np.linalg.norm(trace["tool_position"] - trace["tool_position"][0], axis=1)
    assert moved.max() < 2e-3
    assert seen(trace, GUARD_FORCE)[510:].all()


def faulty(fault, **more):
    return World(
        surfaces=(table(friction=0.2),),
        sensors=Sensors(wrench=WrenchSensor(noise_force=0.01, **more)),
        faults=(Fault.model_validate({"what": f"wrench-{fault}", "at": 1.2}),),
    )


SLIDE = Line(offset=(0, 0.15, 0), start=1.0, duration=2.0, wrench=WantedWrench(value=(0, 0, 10, 0, 0, 0)))


def test_a_nan_force_without_guards_ends_the_run_by_name():
    trace = simulate(Run(PANDA, HybridForce(), faulty("nan"), SLIDE, clock=Clock(duration=3.0)))
    assert trace.outcome.kind == "diverged"
    assert "measured wrench" in trace.outcome.reason
    assert trace.time[-1] == pytest.approx(1.199)
    assert np.isfinite(trace["measured_wrench"]).all()


def test_a_nan_force_with_guards_stops_the_arm_and_says_so():
    trace = simulate(Run(PANDA, HybridForce(), faulty("nan"), SLIDE, clock=Clock(duration=3.0), guards=Guards()))
    assert trace.outcome.kind == "completed"
    assert abs(trace["v"][-1]).max() < 1e-3
    assert np.flatnonzero(seen(trace, GUARD_NOT_FINITE))[0] == 1200
    assert any("not finite" in one for one in reasons(trace))
    assert trace["contact_force"].max() < 30


def test_a_frozen_force_is_found_while_the_arm_moves():
    guards = Guards(stale_ticks=20)
    trace = simulate(Run(PANDA, HybridForce(), faulty("frozen"), SLIDE, clock=Clock(duration=3.0), guards=guards))
    assert trace.outcome.kind == "completed"
    first = np.flatnonzero(seen(trace, GUARD_STALE))[0]
    assert 1219 <= first < 1400
    assert abs(trace["v"][-1]).max() < 1e-3
    assert "stale measurement" in reasons(trace)


def test_a_frozen_force_without_guards_is_pressed_on_no_faster_than_the_cap_and_told():
    """The law believes 10 N for ever: it neither races (the cap) nor goes unnoticed (the warning)."""
    law = HybridForce(force_speed=0.05)
    trace = simulate(Run(PANDA, law, faulty("frozen"), SLIDE, clock=Clock(duration=3.0)))
    assert trace.outcome.kind == "completed"
    frozen = trace.time > 1.2
    assert np.ptp(trace["measured_wrench"][frozen][1:], axis=0).max() == 0.0
    assert np.ptp(trace["contact_force"][frozen]) > 1e-3  # while the true force did change
    assert -trace["tool_twist"][frozen, 2].min() < 0.06
    assert any("stuck from 1.199" in text for text in trace.warnings)


def test_a_force_that_drops_out_is_sought_again_and_bounded_by_the_guards():
    """Exactly 0 looks like free space: the law approaches at its speed, and the table pushes back unseen."""
    trace = simulate(Run(PANDA, HybridForce(approach_speed=0.02), faulty("dropout"), SLIDE, clock=Clock(duration=2.0)))
    assert np.isfinite(trace["q"]).all()
    assert not trace["measured_wrench"][1210:].any()


def test_a_python_law_that_explodes_at_a_singular_posture_is_damped():
    """An undamped inverse at a stretched planar arm: without the guard its speed has no bound."""
    robot = load_robot("planar2", gravity=0.0)

    def law(x, gains, memory):
        goal = np.array([1.99 + 0.02 * x.t, 0.0])  # passes out of reach at 2 m
        J = x.J[:2]
        A = J @ np.linalg.solve(x.M, J.T)
        want = 100 * (goal - x.position[:2]) - 20 * (J @ x.v) - x.drift[:2]
        return {"torque": J.T @ np.linalg.solve(A + 1e-12 * np.eye(2), want) + x.bias}

    start = np.array([0.1, -0.2])
    peak = {}
    for guards in (None, Guards(singular_value=0.15)):
        trace = simulate(
            Run(robot, PythonLaw(law), World(), Hold(), clock=Clock(duration=1.5), q_start=start, guards=guards)
        )
        peak[guards is None] = abs(trace["v"]).max()
    assert trace.outcome.kind == "completed"
    assert seen(trace, GUARD_SINGULAR).any()
    assert "singular posture" in reasons(trace)
    assert peak[False] < 2.0
    assert peak[True] > 5.0


def test_guard_ticks_are_counted_in_the_traces_info():
    trace = simulate(Run(PANDA, HybridForce(), faulty("nan"), SLIDE, clock=Clock(duration=1.5), guards=Guards()))
    assert trace.facts.guard_ticks["measurement that is not finite"] == 301


def test_a_floating_arm_at_rest_is_not_taken_for_a_dead_sensor():
    trace = simulate(
        Run(PANDA, GravityCompensation(), World(), clock=Clock(duration=0.5), guards=Guards(stale_ticks=5))
    )
    assert not trace["guard"].any()


# ------------------------------------------------------------------ one tick, against the equations


def tick_of(robot, q, v, wrench=(0,) * 6):
    x = robot.terms(q, v)
    terms = {name: getattr(x, name) for name in ("M", "bias", "gravity", "position", "rotation", "J", "drift")}
    return Tick(sizes_of(robot), q=np.array(q, float), v=np.array(v, float), wrench=np.array(wrench, float), **terms)


def guarded_acceleration(robot, guards, x, a):
    """What is left of an acceleration behind the guards, and the bits of those at work."""
    torque = x.M @ a + x.bias
    bits = guard_torque(guards.settings(robot), GuardMemory(sizes_of(robot)), x, torque)
    return np.linalg.solve(x.M, torque - x.bias), bits


def test_the_speed_guard_bounds_the_rate_of_the_tools_speed_with_the_drift_in_it():
    """d|V|/dt = u · (J a + J̇ v) = (limit − |V|)/T, at speeds where J̇ v is most of it."""
    robot, rng = load_robot("panda"), np.random.default_rng(2)
    q, v = robot.home + 0.1, 2.0 * rng.normal(size=7)
    x, guards = tick_of(robot, q, v), Guards(joint_limits=False, joint_speeds=False, tool_speed=1.0, speed_time=0.05)
    V = x.J[:3] @ v
    u = V / np.linalg.norm(V)
    a, bits = guarded_acceleration(robot, guards, x, 5.0 * rng.normal(size=7))
    assert bits == GUARD_SPEED
    assert u @ (x.J[:3] @ a + x.drift[:3]) == pytest.approx((1.0 - np.linalg.norm(V)) / 0.05, abs=1e-9)
    assert abs(u @ x.drift[:3]) > 1.0


def test_near_a_singular_posture_the_lost_motion_fades_in_proportion_and_is_damped():
    """a ← a − n (1 − σ/σ₀) (n · a + ω n · v), n the joint motion of the smallest singular value σ."""
    robot, a = load_robot("planar2"), np.array([3.0, -2.0])
    q, v = np.array([0.4, 0.03]), np.array([0.5, 0.7])
    x, guards = tick_of(robot, q, v), Guards(joint_limits=False, singular_value=0.1, stop_frequency=15.0)
    _, sigma, rows = np.linalg.svd(x.J[:2])
    n, share = rows[-1], 1 - sigma[-1] / 0.1
    assert 0.2 < share < 0.9
    left, bits = guarded_acceleration(robot, guards, x, a)
    assert bits == GUARD_SINGULAR
    np.testing.assert_allclose(left, a - n * share * (n @ a + 15.0 * n @ v), atol=1e-9)


def test_an_unchanging_wrench_is_stale_only_once_the_joints_have_moved():
    robot, guards = load_robot("panda"), Guards(stale_ticks=10, moved=1e-3)
    g, m = guards.settings(robot), GuardMemory(sizes_of(robot))
    resting = tick_of(robot, robot.home, np.zeros(7), (0, 0, 10, 0, 0, 0))
    for count in range(200):
        assert watch_measurement(g, m, resting, count)
    assert m.stopped == 0  # pressing at rest, the same for ever, is no fault
    for step, stale in ((0.9e-3, False), (1.1e-3, True)):
        moved = tick_of(robot, robot.home + step * np.eye(7)[1], np.zeros(7), (0, 0, 10, 0, 0, 0))
        watch_measurement(g, m, moved, 300)
        assert bool(m.stopped & GUARD_STALE) == stale
    fresh = GuardMemory(sizes_of(robot))
    for count in range(200):  # exactly 0 is an arm that touches nothing, however far it moves
        free = tick_of(robot, robot.home + 1e-3 * count, np.zeros(7))
        watch_measurement(g, fresh, free, count)
    assert fresh.stopped == 0
