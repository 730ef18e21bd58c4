"""One time line of events and promises: what the simulated run did beside what the arm did, by the same rules.

The law's promises are judged on the recording as they are after every run (`run.after.promise`): the recorded motion
and wrench take the place of the simulated ones, and what the closed loop may leave is that of the scenario's loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.robot import JointLimits, Robot
from palpate.run.after.promise import judged
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.build import as_run
from palpate.run.simulate import execute
from palpate.scenario.model import Scenario
from palpate.spatial import Pose
from palpate.tools.logs.cleaning import Run
from palpate.trace import Trace

_LOOKS = 24  # how often a recording is judged on its way, to tell since when a promise is broken


@dataclass(frozen=True)
class Happening:
    """One kind of event: when it was predicted and when it happened first, s; None where it never was."""

    what: str
    predicted: float | None
    happened: float | None


@dataclass(frozen=True)
class Course:
    """Input of the rules: time, joints, torques, and the size of the contact force where it is known."""

    time: Array
    q: Array
    v: Array
    torque: Array
    force: Array | None = None


def happenings(
    recorded: Course, simulated: Course | None, limits: JointLimits, joints: tuple[str, ...]
) -> list[Happening]:
    """Contacts, limits and reversals of fortune in order of time, predicted beside happened."""
    largest = _largest_force(recorded, simulated)
    real = dict(_first_times(recorded, limits, joints, largest))
    predicted = dict(_first_times(simulated, limits, joints, largest)) if simulated is not None else {}
    every = [Happening(what, predicted.get(what), real.get(what)) for what in dict.fromkeys([*predicted, *real])]
    return sorted(every, key=lambda one: min(t for t in (one.predicted, one.happened) if t is not None))


def _largest_force(*courses: Course | None) -> float:
    forces = [float(np.max(c.force)) for c in courses if c is not None and c.force is not None and len(c.force)]
    return max(forces, default=0.0)


def _first_times(
    course: Course, limits: JointLimits, joints: tuple[str, ...], largest: float
) -> Iterator[tuple[str, float]]:
    """The first time of each event."""
    start = course.time[0]
    if course.force is not None and largest > 1.0:
        touch = course.force > 0.1 * largest
        if touch.any():
            first = int(np.argmax(touch))
            yield "first contact", float(course.time[first] - start)
            yield "largest force", float(course.time[int(np.argmax(course.force))] - start)
            after = ~touch[first:]
            if after.any():
                yield "contact lost", float(course.time[first + int(np.argmax(after))] - start)
    beyond = {
        "position limit": (course.q < limits.lower) | (course.q > limits.upper),
        "speed limit": np.abs(course.v) > limits.velocity,
        "torque limit": np.abs(course.torque) > limits.torque,
    }
    for what, broken in beyond.items():
        for k in np.flatnonzero(broken.any(axis=0)):
            yield f"{what} of {joints[k]} broken", float(course.time[int(np.argmax(broken[:, k]))] - start)


@dataclass(frozen=True)
class Promised:
    """One promise of the law: how far the simulated run and the arm are from it at the end.

    Attributes:
        what: such as "the tool, m" or "joint2, rad".
        predicted, happened: size of the error at the end.
        tolerance: what the closed loop may leave of it; infinite where nothing is known.
        since: s from which on the arm is beyond it; None where the promise is kept.
    """

    what: str
    predicted: float
    happened: float
    tolerance: float
    since: float | None

    def __str__(self) -> str:
        verdict = "kept" if self.since is None else f"broken since {self.since:.2f} s"
        return (
            f"promise of the law, {self.what}: {verdict}; error at the end {self.happened:.3g}, predicted"
            f" {self.predicted:.3g}, the loop may leave {self.tolerance:.3g}"
        )


@dataclass(frozen=True)
class PredictedRun:
    """The simulated run of a scenario beside a recording: its trace, and the promises of its law."""

    trace: Trace
    promises: tuple[Promised, ...]
    notes: tuple[str, ...]

    @property
    def course(self) -> Course:
        """The simulated run as input of the rules."""
        trace = self.trace
        force = np.linalg.norm(trace["contact_wrench"][:, :3], axis=1) if "contact_wrench" in trace else None
        return Course(trace.time, trace["q"], trace["v"], trace["tau"], force)

    def at(self, name: str, time: Array) -> Array:
        """A channel at the recording's instants, counted from its start."""
        instants = np.clip(time - time[0], 0.0, self.trace.time[-1])
        return np.stack([np.interp(instants, self.trace.time, column) for column in self.trace[name].T], axis=1)


def predict_run(scenario: Scenario, run: Run, wrench_frame: str) -> PredictedRun:
    """Simulate a scenario and judge its law's promises on a recorded run, from whose start on time is counted."""
    assembly = assemble(as_run(scenario))
    trace = execute(assembly)
    length = float(run.time[-1] - run.time[0])
    notes = []
    if abs(length - trace.time[-1]) > 0.1 * trace.time[-1]:
        notes.append(
            f"the recording lasts {length:.3g} s, the scenario {trace.time[-1]:.3g} s: both are judged together"
        )
    if "wrench" not in run.more:
        notes.append("no wrench was recorded: promises are judged with the simulated one")
    simulated = {name: trace[name] for name in trace.channels} | {"time": trace.time}
    rows = int(np.searchsorted(trace.time, min(length, trace.time[-1]), side="right"))
    simulated = {name: values[:rows] for name, values in simulated.items()}
    recorded = simulated | _channels(assembly.run.robot, run, wrench_frame, simulated["time"])
    return PredictedRun(trace, tuple(_promises(assembly, simulated, recorded)), tuple(notes))


def _channels(robot: Robot, run: Run, wrench_frame: str, time: Array) -> dict[str, Array]:
    """Channels of a trace from the recording, at the instants of the simulated run."""

    def put(values: Array) -> Array:
        return np.stack([np.interp(time, run.time - run.time[0], column) for column in values.T], axis=1)

    q = put(run.q)
    position, rotation = robot.pose_batch(q)
    quat = np.array([Pose(p, R).quat_wxyz for p, R in zip(position, rotation)])
    channels = {"q": q, "v": put(run.v), "tool_position": position, "tool_quat_wxyz": quat}
    if "wrench" in run.more:
        wrench = put(run.more["wrench"])
        if wrench_frame not in ("", "world"):
            R = robot.pose_batch(q, wrench_frame)[1]
            wrench = np.concatenate([np.einsum("nij,nj->ni", R, part) for part in np.split(wrench, 2, axis=1)], axis=1)
        size = np.linalg.norm(wrench[:, :3], axis=1)
        channels |= {"contact_wrench": wrench, "contact_force": size, "push_wrench": np.zeros_like(wrench)}
    return channels


def _promises(assembly: Assembly, simulated: Mapping[str, Array], recorded: Mapping[str, Array]) -> Iterator[Promised]:
    law, robot = assembly.run.law, assembly.run.robot
    if not isinstance(law, Law):
        return
    for number in range(len(law.traits.promises(robot))):
        predicted, happened = (judged(assembly, named, number) for named in (simulated, recorded))
        for one, other in zip(predicted, happened):
            since = None if other.kept else _since(assembly, recorded, number, happened.index(other))
            yield Promised(f"{other.what}, {other.unit}", one.size, other.size, other.tolerance, since)


def _since(assembly: Assembly, named: Mapping[str, Array], number: int, which: int) -> float:
    """The instant from which on a promise is broken to the end."""
    rows = len(named["time"])
    since = rows
    for end in np.linspace(rows, max(20, rows // _LOOKS), _LOOKS).astype(int):
        judgements = judged(assembly, {name: values[:end] for name, values in named.items()}, number)
        if which >= len(judgements) or judgements[which].kept:
            break
        since = int(end)
    return float(named["time"][since - 1])
