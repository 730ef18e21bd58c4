"""What a run tells of its joints, of its law's memory, and of the tool's orientation."""

import re

import numpy as np

from palpate.control.law import PythonLaw, Shown
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.engine.records import Record, Vector, sized
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock


def test_a_joint_at_its_stop_or_too_fast_is_named():
    robot = load_robot("panda")
    start = robot.home.copy()
    start[0] = robot.limits.upper[0] - 0.02
    run = Run(
        robot, GravityCompensation(damping=0.0), clock=Clock(duration=0.1), q_start=start, v_start=[4.0, *[0.0] * 6]
    )
    trace = simulate(run)
    stop, fast = (text for text in trace.warnings if text.startswith("joint1"))
    assert re.search(r"reached.*stop", stop)
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
