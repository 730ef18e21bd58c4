"""What is said before a run, and what is noticed in it."""

import numpy as np
import pytest

from counting import calls, dense_sizes
from palpate.cli.main import main
from palpate.control import GravityCompensation, JointImpedance, PythonLaw
from palpate.control.design.arm import Wall, arm_contact
from palpate.control.law import Shown
from palpate.engine.records import Record, Vector, sized
from palpate.robot import Robot, load_robot
from palpate.run.assemble.assemble import assemble
from palpate.run.before.foresee import Forecast, foresee, foretell, loop_size, timing_of, wall_of
from palpate.run.run import Run
from palpate.run.simulate import as_run, simulate
from palpate.scenario.file.load import load_scenario
from palpate.world.clock import Clock
from palpate.world.config import Sensors, Surface, World

LATE = ['robot.joints="ideal"', "world.surfaces.wall.stiffness=1e5", "world.sensors.delay=5", "run.duration=4.0"]


def test_a_contact_that_will_ring_is_warned_of_before_it_does():
    trace = simulate(load_scenario("panda-wall", LATE))
    assert any("on 'wall'" in text and "UNSTABLE" in text for text in trace.warnings)
    assert any("what happened: in contact" in text for text in trace.facts.expected)


def test_a_contact_that_will_hold_is_not():
    (expected,) = foresee(Forecast(assemble(as_run(load_scenario("panda-wall")))), limits=False)
    assert expected.prediction.stable
    assert expected.warnings == []


def test_design_tells_and_warns(capsys):
    assert main(["design", "panda-wall", *(word for change in LATE for word in ("--set", change))]) == 3
    out = capsys.readouterr().out
    assert "UNSTABLE" in out
    assert "|pole|" in out


def test_strict_turns_a_warning_into_an_exit_code(tmp_path):
    words = ["run", "panda-wall", *(word for change in LATE for word in ("--set", change)), "--no-report", "--quiet"]
    words += ["--set", "metrics={}", "--set", "run.duration=1"]  # later it diverges
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    assert main([*words, "--strict", "--out", str(tmp_path / "b")]) == 3


@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_a_stiffening_surface_counts_with_its_slope_at_some_newtons(exponent):
    surface = Surface(model="hunt-crossley", stiffness=2e5, exponent=exponent, position=(0, 0, 0.1))
    wall, h = wall_of(surface, np.array([0.0, 0.0, 0.3])), 1e-8
    depth = (10.0 / 2e5) ** (1 / exponent)
    slope = 2e5 * ((depth + h) ** exponent - (depth - h) ** exponent) / (2 * h)
    assert wall.stiffness == pytest.approx(slope, rel=1e-6)
    assert tuple(np.asarray(wall.normal)) == (0.0, 0.0, 1.0)


HELD = ["control.stiffness=[2e4,2e4,0,0,0,0]", "control.damping=[5,2,0,0,0,0]", "world.pushes=[]", "run.duration=0.01"]


@pytest.mark.parametrize("ratio", [1, 2])
def test_a_physics_step_as_long_as_the_period_is_warned_of_with_the_number(ratio):
    """2 kg, K = 2e4, D = 2, T = 1 ms: e^(2 t) in truth, e^(−0.5 t) simulated in steps of 1 ms."""
    changes = [*HELD, "run.timestep=1e-3", *(["run.timestep=5e-4", "run.period=1e-3"] if ratio == 2 else [])]
    trace = simulate(load_scenario("cartesian2-eigenvalues", changes))
    (warned,) = [text for text in trace.warnings if "physics step" in text]
    shown = {1: "decays at 0.5 1/s", 2: "grows at 0.749 1/s"}[ratio]
    assert f"{shown} where the sampled loop grows at 2 1/s; shorten the physics step to 0.0002 s" in warned


def test_what_was_warned_of_is_what_happens():
    """Growth of the swing, simulated with one and with twenty steps per period, beside the numbers of the warning."""
    rates = []
    for step in ("1e-3", "5e-5"):
        changes = [*HELD, f"run.timestep={step}", "run.period=1e-3", "run.duration=1.5", "robot.start.v=[0,0.01]"]
        trace = simulate(load_scenario("cartesian2-eigenvalues", changes))
        swing, at = np.abs(trace["tool_position"][:, 1]), trace.time
        early, late = swing[(at > 0.2) & (at < 0.4)].max(), swing[(at > 1.2) & (at < 1.4)].max()
        rates.append(float(np.log(late / early)))
    assert rates == pytest.approx([-0.5, 2.0 - 0.125], abs=0.05)


@pytest.mark.parametrize(
    "change", [["run.timestep=2e-5", "run.period=1e-3"], ["run.timestep=1e-3", "run.integrator='rk4'"]]
)
def test_a_short_step_or_a_runge_kutta_step_is_not_warned_of(change):
    trace = simulate(load_scenario("cartesian2-eigenvalues", [*HELD, *change]))
    assert not [text for text in trace.warnings if "physics step" in text]


def test_a_joint_at_its_stop_or_too_fast_is_named():
    robot = load_robot("panda")
    start = robot.home.copy()
    start[0] = robot.limits.upper[0] - 0.02
    run = Run(
        robot, GravityCompensation(damping=0.0), clock=Clock(duration=0.1), q_start=start, v_start=[4.0, *[0.0] * 6]
    )
    trace = simulate(run)
    stop, fast = (text for text in trace.warnings if text.startswith("joint1"))
    assert "reached its stop" in stop
    past = (trace["q"][:, 0] - robot.limits.upper[0]).max()
    assert f"{past:.3g} rad beyond it" in stop
    assert f"{4.0 / 2.175:.3g} times its rated speed of 2.175 rad/s" in fast


def test_a_law_shows_of_its_memory_what_it_declares():
    class Memory(Record):
        seen: Vector = sized(2)
        count: float = 0.0

    class Counting(PythonLaw):
        def bind(self, robot):
            from dataclasses import replace

            shown = (Shown("seen", "seen", "rad", ("a", "b")), Shown("count", "count", "1", help="ticks"))
            return replace(super().bind(robot), shown=shown)

    def law(tick, gains, memory):
        memory.count += 1.0
        memory.seen[:] = tick.q[0], tick.t
        return {"torque": 0.0 * tick.v}

    trace = simulate(Run(load_robot("pendulum"), Counting(law, memory=Memory()), clock=Clock(duration=0.01)))
    np.testing.assert_array_equal(trace["law.count"], np.arange(1.0, 12.0))
    np.testing.assert_allclose(trace["law.seen"][:, 1], trace.time, atol=1e-15)
    assert trace.channels["law.seen"].columns == ("law.seen[a]", "law.seen[b]")


def test_a_quaternion_channel_does_not_jump_although_the_tool_turns_round():
    robot = load_robot("iiwa14")
    run = Run(robot, GravityCompensation(damping=0.0), clock=Clock(duration=3.0), v_start=[2.0, *[0.0] * 5, 2.0])
    trace = simulate(run)
    steps = np.linalg.norm(np.diff(trace["tool_quat_wxyz"], axis=0), axis=1)
    assert np.ptp(trace["tool_quat_wxyz"], axis=0).max() > 1.0
    assert steps.max() < 0.01


def chain(joints: int) -> Robot:
    """A chain of hinges with axes that alternate."""
    link = (
        '<body pos="0.1 0 0"><joint name="j{0}" type="hinge" axis="0 {1} {2}" damping="0.1" armature="0.01"/>'
        '<inertial pos="0.05 0 0" mass="0.2" diaginertia="1e-3 1e-3 1e-3"/>'
    )
    links = "".join(link.format(k, 1 - k % 2, k % 2) for k in range(joints))
    tool = '<site name="tool" pos="0.1 0 0"/>' + "</body>" * joints
    return Robot.from_mjcf_text(f'<mujoco><compiler angle="radian"/><worldbody>{links}{tool}</worldbody></mujoco>')


def chain_run(joints: int, delay: int = 0, damping: float = 2.0) -> Run:
    law = JointImpedance(stiffness=50.0, damping=damping)
    return Run(chain(joints), law, world=World(sensors=Sensors(delay=delay)), clock=Clock(duration=0.02))


@pytest.mark.parametrize(("joints", "delay"), [(80, 0), (200, 0), (30, 50), (80, 50), (200, 5)])
def test_the_forecast_of_a_long_chain_takes_little_work(joints: int, delay: int, monkeypatch):
    assembly, said = assemble(chain_run(joints, delay)), list[object]()
    sizes = dense_sizes(monkeypatch)
    assert calls(lambda: said.append(foretell(Forecast(assembly))[0])) < 1_500_000  # 140 000 to 460 000
    assert sum(float(n) ** 3 for n in sizes) < 3e9  # at most 7e8; by determinants a hundred times as much
    assert said[0]


def test_a_loop_too_large_to_judge_before_a_run_is_judged_along_one_axis_and_a_note_says_so():
    said, warnings = foretell(Forecast(assemble(chain_run(30, 50))))
    assert any("the loop of the whole arm has 1560 states" in text for text in said)
    assert any("UNSTABLE" in text for text in warnings)
    (whole,) = foresee(Forecast(assemble(chain_run(8, 5))), limits=False)
    assert not whole.note


def test_a_machine_of_many_joints_is_not_judged_and_that_is_said(monkeypatch):
    monkeypatch.setattr("palpate.run.before.foresee._MOST_JOINTS", 5)
    said, warnings = foretell(Forecast(assemble(chain_run(6))))
    assert said == ["stability was not predicted: 6 joints, the limit before a run is 5"]
    assert warnings == []


@pytest.mark.parametrize("delay", [0, 4])
def test_the_size_of_the_loop_is_known_beforehand(delay: int):
    run = chain_run(5, delay)
    q, _ = run.start()
    contact = arm_contact(run.robot, q, run.law, wall=Wall(0.0), timing=timing_of(run))
    assert loop_size(run).states == contact.loop.states
