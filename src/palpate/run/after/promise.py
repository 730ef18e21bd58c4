"""Promises of a law, compared with how the run ended.

The promise is kept where the error in the last part of the run is within what its own closed loop leaves: settling,
yielding, lag, statics and noise, whose formulas and numbers are in `tolerance`. The loop is asked for its poles and its
compliance as it stands at the end (`ending`), and only where the error is not small anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.promise import Promise, promise_axes
from palpate.run.after.ending import End
from palpate.run.after.tolerance import Span, lag, noise, resolution, settling, statics, yielding
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.differences import ModelDifference
from palpate.spatial import matrix_from_quat, rows as rotations

_NEEDED = ("time", "q", "v", "target_q", "tool_position", "tool_quat_wxyz", "target_position", "target_quat_wxyz",
           "target_twist", "target_wrench", "contact_wrench", "push_wrench", "contact_force", "guard")  # fmt: skip
_ROUNDING = 1e-9  # m, rad, N: less is arithmetic


@dataclass(frozen=True)
class Miss:
    """One promised quantity at the end of a run.

    Attributes:
        what: "the tool", "joint2", "the force", …
        unit: m, rad, N, …
        error: how far it is from what was promised, as a vector.
        tolerance: what the closed loop leaves.
        rows: k×n, the quantity's change with the joints; none for a force.
        moving: whether it is a motion that should have ended.
    """

    what: str
    unit: str
    error: Array
    tolerance: float
    rows: Array | None = None
    moving: bool = False

    @property
    def size(self) -> float:
        """|error|."""
        return float(np.linalg.norm(self.error))

    @property
    def kept(self) -> bool:
        """Whether it is within its tolerance."""
        return self.size <= self.tolerance + _ROUNDING


@dataclass(frozen=True)
class Goal:
    """Motion of a target at the end.

    Attributes:
        speed: (samples, k), of the target in the last part of the run.
        yielded: how far the wrench on the tool has moved it.
    """

    speed: Array
    yielded: float = 0.0


def violations(end: End) -> list[tuple[int, list[Miss]]]:
    """Every promise of the law that was not kept, by its number, with what is off; of the joints the worst one."""
    promises, broken = _promises(end.assembly, end.named), []
    for number, promise in enumerate(promises):
        missed = [miss for miss in _misses_of(promise, end) if not miss.kept]
        if missed and promise.joints:
            missed = [max(missed, key=lambda miss: miss.size / max(miss.tolerance, 1e-300))]
        broken += [(number, missed)] if missed else []
    return broken


def not_known(end: End) -> list[tuple[int, list[Miss]]]:
    """Every promise of the law about whose end nothing is known, by its number, with what has no bound."""
    found = []
    for number, promise in enumerate(_promises(end.assembly, end.named)):
        unbounded = [miss for miss in _misses_of(promise, end) if miss.size > _ROUNDING and np.isinf(miss.tolerance)]
        found += [(number, unbounded)] if unbounded else []
    return found


def judged(assembly: Assembly, named: Mapping[str, Array], number: int) -> list[Miss]:
    """All that one promise is about, kept or not; empty where it cannot be judged."""
    promises = _promises(assembly, named)
    return _misses_of(promises[number], End(assembly, named)) if promises else []


def _promises(assembly: Assembly, named: Mapping[str, Array]) -> tuple[Promise, ...]:
    """Those of the law; none where the run is too short to judge them, shows too little, or another command acts."""
    law, robot = assembly.run.law, assembly.run.robot
    if assembly.law.surrounded and np.any(assembly.loop.row.terms[-1 - assembly.law.compensates]):
        return ()
    if not isinstance(law, Law) or not set(_NEEDED) <= set(named) or robot.unresisted or len(named["time"]) < 20:
        return ()
    return law.traits.promises(robot)


def _misses_of(promise: Promise, end: End) -> list[Miss]:
    if promise.rest:
        return [_speed_miss(promise, end)]
    if promise.joints:
        return _joint_misses(promise, end)
    pressed = [] if not promise.force else _force_miss(promise, end)
    if promise.force and not pressed:  # never in contact, which the law says itself
        return []
    return [*pressed, *_tool_misses(promise, end)]


def _promised_axes(promise: Promise, end: End, directions: tuple[str, ...]) -> Array:
    return promise_axes(promise, matrix_from_quat(end.named["tool_quat_wxyz"][-1]), directions)


def _rotation_between(goal: Array, is_at: Array) -> Array:
    """Rotation vectors from one orientation to another, world axes."""
    return rotations.rotation_vectors(rotations.product(goal, rotations.conjugate(is_at)))


def _tool_misses(promise: Promise, end: End) -> list[Miss]:
    named, missed, reached = end.named, [], 0.0
    if not {promise.position, promise.quat_wxyz} <= set(named):
        return []
    for group, unit, first in (("x y z", "m", 0), ("rx ry rz", "rad", 3)):
        directions = tuple(d for d in promise.motion if d in group.split())
        if not directions:
            continue
        S = _promised_axes(promise, end, directions)
        if first == 0:
            tool = named["tool_position"]
            e, both = named[promise.position] - tool, (named["target_position"], tool)
            moved = [np.linalg.norm((x - tool[0]) @ S[:, :3].T, axis=1).max() for x in both]
        else:
            e = _rotation_between(named[promise.quat_wxyz], named["tool_quat_wxyz"])
            start = named["tool_quat_wxyz"][:1]
            moved = [
                np.linalg.norm(_rotation_between(x, np.broadcast_to(start, x.shape)) @ S[:, 3:].T, axis=1).max()
                for x in (named["target_quat_wxyz"], named["tool_quat_wxyz"])
            ]
        rows = S @ end.jacobian
        error, yields = e @ S[:, first : first + 3].T, np.zeros(len(rows))
        if promise.yields and promise.position == "target_position" and end.wrench.any():
            yields = rows @ _yielded(end)
        # An arm that moves its tool turns it a little too, and the other way round.
        span, reached = Span(float(moved[0]), float(max(moved)) + reached), float(max(moved))
        goal = Goal(end.named["target_twist"][end.window] @ S.T, float(np.linalg.norm(yields)))
        missed.append(_miss(end, promise, promise.what, unit, error + yields, rows, span, goal))
    return missed


def _yielded(end: End) -> Array:
    """The joints' displacement under the wrench on the tool."""
    compliance = end.compliance
    return np.zeros(end.robot.nv) if compliance is None else compliance.wrench @ end.wrench


def _rate(promise: Promise, end: End) -> float | None:
    """1/s, of the loop's slowest pole; of a loop that is too large to be asked, as the law states it."""
    return promise.rate if end.poles is None else end.rate


def _joint_misses(promise: Promise, end: End) -> list[Miss]:
    named, robot = end.named, end.robot
    if robot.nq != robot.nv:
        return []
    yields = _yielded(end) if end.wrench.any() else np.zeros(robot.nv)
    error = named["target_q"] - named["q"] + yields
    speeds = np.gradient(named["target_q"], end.times, axis=0)[end.window] if len(end.times) > 2 else 0 * error
    missed = []
    for j, (name, unit) in enumerate(zip(robot.dof_names, robot.dof_units)):
        asked, moved = (float(np.abs(named[c][:, j] - named["q"][0, j]).max()) for c in ("target_q", "q"))
        one = slice(j, j + 1)
        goal = Goal(speeds[:, one], abs(float(yields[j])))
        span = Span(asked, max(asked, moved))
        missed.append(_miss(end, promise, name, unit, error[:, one], np.eye(robot.nv)[one], span, goal))
    return missed


def _force_miss(promise: Promise, end: End) -> list[Miss]:
    """The wrench of surfaces and objects along the force directions; none where nothing is wanted or touched."""
    named = end.named
    S = _promised_axes(promise, end, promise.force)
    wanted = named["target_wrench"] @ S.T
    if not named["contact_force"][end.window].any() or not np.abs(wanted[end.window]).max() > 0.0:
        return []
    error = wanted - (named["contact_wrench"] + named["push_wrench"]) @ S.T
    if not named["contact_force"][end.since :].all():
        return [Miss("the force", "N", 0.0 * error[0], np.inf)]
    size = float(np.linalg.norm(wanted[end.window], axis=1).max())
    span, now = Span(size, size), error[end.window].mean(axis=0)
    cheap = resolution(span) + _scatter(error, end)
    if float(np.linalg.norm(now)) <= cheap:
        return [Miss("the force", "N", now, cheap)]
    largest = float(np.linalg.norm(np.abs(error[end.since :]).max(axis=0, initial=0.0)))
    tolerance = cheap + settling(largest, _rate(promise, end), end.quiet) + _force_statics(end, S, span)
    return [Miss("the force", "N", now, tolerance)]


def _speed_miss(promise: Promise, end: End) -> Miss:
    speed = np.abs(end.named["v"]).max(axis=1)
    now, span = np.array([speed[end.window].mean()]), Span(0.0, float(speed.max()))
    tolerance = resolution(span) + _scatter(speed[:, None], end)
    if np.abs(end.wrench).max() > 0.0:
        tolerance = np.inf
    elif now[0] > tolerance:
        tolerance += settling(span.moved, _rate(promise, end), end.quiet)
    return Miss("the joints", "rad/s or m/s", now, tolerance, moving=True)


def _miss(end: End, promise: Promise, what: str, unit: str, error: Array, rows: Array, span: Span, goal: Goal) -> Miss:
    """One quantity of the arm's motion with what is tolerated of it, as far as the loop has to be asked for that."""
    now, cheap = error[end.window].mean(axis=0), resolution(span) + _scatter(error, end)
    if float(np.linalg.norm(now)) <= cheap:
        return Miss(what, unit, now, cheap, rows)
    largest = float(np.linalg.norm(np.abs(error[end.since :]).max(axis=0, initial=0.0)))
    speed = float(np.linalg.norm(np.abs(end.named["v"][end.window] @ rows.T).max(axis=0, initial=0.0)))
    rate = _rate(promise, end)
    tolerance = cheap + settling(largest, rate, end.quiet, speed)
    tolerance += yielding(goal.yielded, turns=unit == "rad") + _lag(end, goal.speed, rate) + _statics(end, rows, span)
    return Miss(what, unit, now, tolerance, rows)


def _scatter(error: Array, end: End) -> float:
    """Of noisy sensors, in the second half of the run: what they cause may wander slowly."""
    return noise(float(np.linalg.norm(error[len(error) // 2 :].std(axis=0)))) if end.noisy else 0.0


def _lag(end: End, speed: Array, rate: float | None) -> float:
    """Of a target that moves."""
    steps = np.diff(end.times[end.window])
    pace = np.abs(np.diff(speed, axis=0) / steps[:, None]).max(axis=0, initial=0.0) if len(steps) else np.zeros(1)
    told = isinstance(end.law, Law) and bool({"twist", "v"} & set(end.law.reads.target))
    fastest = float(np.linalg.norm(np.abs(speed).max(axis=0)))
    return lag(fastest, float(np.linalg.norm(pace)), end.late, rate, told_speed=told)


def _statics(end: End, rows: Array, span: Span) -> float:
    """Tolerance for friction and declared differences."""
    friction = _moved_by([each for each in end.differences if each.cause == "friction"], end, rows)
    others = _moved_by([each for each in end.differences if each.cause != "friction"], end, rows)
    as_built = not np.any(end.run.world.plant.joint_friction)
    return statics(friction, others, span, as_built=as_built)


def _force_statics(end: End, S: Array, span: Span) -> float:
    """The same of a force: through the surfaces, and as it is read wrongly."""
    by_reading = sum(float(np.linalg.norm(S @ each.reading)) for each in end.differences)
    slope = end.contact_slope
    through = np.inf if slope is None else _moved_by(end.differences, end, S @ slope)
    return statics(through + by_reading, 0.0, span, as_built=False)


def _moved_by(what: list[ModelDifference], end: End, rows: Array) -> float:
    """How far some differences can hold or move it, at the most."""
    if not what:
        return 0.0
    compliance = end.compliance
    return np.inf if compliance is None else sum(each.moves_at_most(compliance, rows) for each in what)
