"""The pole's whole controller, and how far it can be taken: largest tilt and pushes that it recovers from.

The tick is one call from Python: the arm's terms, LQR force, pole accelerations, joint torques within limits.
"Recovers" means: the run completes, the tool is back within 1 cm and the pole within 1° after 8 s, no torque beyond the
arm's limits and no joint at its stop. The smallest value over eight directions counts. "At the arm's speed" also
keeps every joint below its speed limit.
"""

from __future__ import annotations

import numpy as np

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from benchmarks._search import bisect
from palpate.control import PoleBalance
from palpate.control.law import PoleView, Seen
from palpate.control.references.reference import Hold, joint_target
from palpate.robot import Robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.trace import Recording, StopWhen, Trace
from palpate.world.clock import Clock
from palpate.world.config import Pole, Push, World

ROUNDS, BATCH = 300, 20
POSTURE = np.array([0, -0.8, 0, -1.9, 0, -1.1, 0])
DIRECTIONS = tuple(np.array([np.cos(a), np.sin(a), 0.0]) for a in np.arange(8) * np.pi / 4)
FALLEN = tuple(StopWhen(f"rest_q[pole_{axis}]", above=1.2, magnitude=True) for axis in "xy")


def measure() -> list[Measurement]:
    """The tick's time, then the largest recoverable tilt and pushes."""
    robot = pp.load_robot("iiwa14").with_payload(1.0, (0, 0, 0))
    rows = [Measurement("tick, terms included", 1e6 * _tick_seconds(robot), "µs", 100.0)]
    for any_speed, note in ((True, ""), (False, ", at the arm's speed")):
        rows += [
            Measurement(f"largest tilt{note}", largest_tilt(robot, any_speed), "°"),
            Measurement(
                f"largest push on the sphere, 0.2 s{note}", largest_push(robot, "pole_tip", 2.0, any_speed), "N"
            ),
            Measurement(f"largest push on the tool, 0.2 s{note}", largest_push(robot, None, 400.0, any_speed), "N"),
        ]
    return rows


def _tick_seconds(robot: Robot) -> float:
    law, target = PoleBalance().bind(robot), joint_target(robot, POSTURE)
    view = PoleView(AB=[0.05, 0.02, np.sqrt(1 - 0.0029)], AB_rate=[0.1, 0.0, -0.005])
    inputs = {"target": target, "seen": Seen(pole=view)}
    v = np.full(7, 0.1)
    return interleaved_medians({"tick": lambda: law.tick(robot, POSTURE, v, **inputs)}, ROUNDS, BATCH)["tick"]


def largest_tilt(robot: Robot, any_speed: bool = True, tolerance: float = 0.1) -> float:
    """Degrees from which the pole is brought back in every direction."""

    def holds(degrees: float, towards: np.ndarray) -> bool:
        angle = np.radians(degrees)
        # Turns about x and y that lean the pole towards a direction.
        tilt = (-angle * towards[1], angle * towards[0])
        return recovers(robot, World(pole=Pole(tilt=tilt)), any_speed)

    return min(bisect(lambda x, d=d: holds(x, d), 1.0, 40.0, tolerance) for d in DIRECTIONS)


def largest_push(robot: Robot, frame: str | None, most: float, any_speed: bool = True) -> float:
    """Newtons for 0.2 s that the balance survives in every direction."""

    def holds(size: float, towards: np.ndarray) -> bool:
        x, y, z = (float(part) for part in size * towards)
        push = Push(frame=frame, force=(x, y, z), start=0.1, duration=0.2)
        return recovers(robot, World(pole=Pole(), pushes=(push,)), any_speed)

    return min(bisect(lambda x, d=d: holds(x, d), 0.01 * most, most, 0.005 * most) for d in DIRECTIONS)


def recovers(robot: Robot, world: World, any_speed: bool) -> bool:
    """Whether the arm gets pole and tool back by itself."""
    trace = simulate(
        Run(
            robot, PoleBalance(), world, Hold(), clock=Clock(duration=8.0, max_speed=30.0), q_start=POSTURE,
            stop=FALLEN, record=Recording(channels=("q", "v", "tool_position", "target_position", "rest_q"), stride=5),
        )
    )  # fmt: skip
    return trace.outcome.kind == "completed" and _sound(trace, robot, any_speed)


def _sound(trace: Trace, robot: Robot, any_speed: bool) -> bool:
    limits = robot.limits
    back = np.linalg.norm(trace["tool_position"][-1] - trace["target_position"][-1]) < 0.01
    up = np.abs(trace["rest_q"][-1]).max() < np.radians(1.0)
    free = bool(np.minimum(trace["q"] - limits.lower, limits.upper - trace["q"]).min() > 0)
    slow = any_speed or bool((np.abs(trace["v"]) < limits.velocity).all())
    return bool(back) and bool(up) and free and slow and trace.facts.guard_ticks["torque limit"] == 0
