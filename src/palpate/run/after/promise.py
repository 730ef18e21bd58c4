"""What a law promised, compared with how the run ended.

The promise is kept where the error in the last part of the run is within what the law's own closed loop leaves:

    settling      what the linear loop leaves of the largest error since the last change, and what still dies out
    yielding      where the wrench on the tool has moved it: not an error, if the law yields
    lag           target speed × delay, and target acceleration against stiffness, while the target moves
    statics       dry friction and declared differences against the law's stiffness, up to a tenth of the motion asked
                  for: a law that stays away by more does not follow. Friction of the arm as built is tolerated up to
                  half of it, and wholly where no motion was asked for
    noise         the scatter that noisy sensors cause
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import ArmContact, Wall
from palpate.control.design.statics import Compliance, compliance_at_rest, remainder
from palpate.control.law import Law
from palpate.control.promise import Promise, promise_axes
from palpate.forking import cached_property
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.differences import ModelDifference, differences
from palpate.run.before.foresee import Forecast, unless_unsolvable, wall_of
from palpate.run.run import Run
from palpate.spatial import matrix_from_quat, rows as rotations
from palpate.world.config import Push, Surface

_NEEDED = ("time", "q", "v", "target_q", "tool_position", "tool_quat_wxyz", "target_position", "target_quat_wxyz",
           "target_twist", "target_wrench", "contact_wrench", "push_wrench", "contact_force", "guard")  # fmt: skip
_SIGNALS = ("target_position", "target_quat_wxyz", "target_q", "target_wrench", "push_wrench")
WINDOW = 0.05  # of the run, at its end, over which is averaged
_STATIC = 0.1  # of the motion asked for, up to which friction and declared differences are tolerated
_AS_BUILT = 0.5  # the same of friction that the arm as built has
_RESOLUTION = 0.01  # of the same, below which nothing is judged: the steps of integrators and references
_SAFETY = 2.0  # on what the linear loop leaves: arms are not linear
_ROUNDING = 1e-9  # m, rad, N: less is arithmetic
_CHANGED = 1e-3  # of a signal's size: less is no change


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


class End:
    """The last part of a run, and what its law is to first order there."""

    def __init__(self, assembly: Assembly, named: Mapping[str, Array]) -> None:
        self.assembly, self.run, self.named = assembly, assembly.run, named
        self.robot, self.law, self.times = assembly.run.robot, assembly.run.law, named["time"]
        self.q = named["q"][-1]
        self.window = slice(max(int((1.0 - WINDOW) * len(self.times)), 0), None)

    def mean(self, channel: str) -> Array:
        """Of a channel over the last part."""
        return self.named[channel][self.window].mean(axis=0)

    @cached_property
    def jacobian(self) -> Array:
        """6×n, world axes, at the end."""
        return self.robot.jacobian(self.q)

    @cached_property
    def wrench(self) -> Array:
        """Of surfaces, objects and pushes on the robot."""
        return self.mean("contact_wrench") + self.mean("push_wrench")

    @cached_property
    def touched(self) -> Surface | None:
        """The surface at which the run ended in contact; of several the nearest to the tool."""
        still = [s for s in self.run.world.surfaces if s.motion is None]
        if not still or not self.named["contact_force"][self.window].any():
            return None
        tool = self.named["tool_position"][-1]
        return min(still, key=lambda s: float(np.linalg.norm(tool - np.array(s.position))) if len(still) > 1 else 0.0)

    @cached_property
    def contact(self) -> ArmContact | None:
        """The linear loop, on the wall that it presses where it controls a force; None where there is no model."""
        wall, surface = Wall(0.0), self.touched
        if surface is not None and getattr(self.law, "force_directions", None):
            wall = wall_of(surface, self.named["tool_position"][-1])
        return unless_unsolvable(Forecast(self.assembly).contact, self.q, wall)

    @cached_property
    def compliance(self) -> Compliance | None:
        """How the arm gives way under its law."""
        return None if self.contact is None else unless_unsolvable(compliance_at_rest, self.contact)

    @cached_property
    def differences(self) -> list[ModelDifference]:
        """Declared ones that are there at the end."""
        end = self.times[-1]
        return [each for each in differences(self.assembly, self.q) if each.since < end < each.until]

    @cached_property
    def quiet_since(self) -> float:
        """When target, pushes, contact, loads or sensor last changed, s."""
        world, end = self.run.world, float(self.times[-1])
        spans = [(push, push.start + _duration(push, self.run)) for push in world.pushes]
        waving = any(push.kind in ("ramp", "sine") and push.start < end < until for push, until in spans)
        if waving or any(surface.motion is not None for surface in world.surfaces):
            return end
        instants = [t for load in world.attachments for t in (load.attach, load.release)]
        instants += [t for fault in world.faults for t in (fault.at, fault.end)]
        instants += [t for push, until in spans for t in (push.start, until)]
        clock = [t for t in instants if t is not None and t < end]
        touching = self.named["contact_force"] > 0
        return max(0.0, *clock, *map(self._last_change, _SIGNALS), self._last_time(touching != touching[-1]))

    def _last_change(self, name: str) -> float:
        x = self.named[name]
        size = max(float(np.abs(x).max(initial=0.0)), 1e-12)
        return self._last_time((np.abs(x - x[-1]) > _CHANGED * size).any(axis=1))

    def _last_time(self, differs: Array) -> float:
        """When samples have differed from the end's for the last time, s."""
        away = np.flatnonzero(differs)
        return float(self.times[min(away[-1] + 1, len(self.times) - 1)]) if len(away) else 0.0

    @property
    def quiet(self) -> float:
        """s since the last change."""
        return float(self.times[-1]) - self.quiet_since

    @property
    def since(self) -> int:
        """The sample of the last change."""
        return min(int(np.searchsorted(self.times, self.quiet_since)), len(self.times) - 1)

    @property
    def last_tenth(self) -> int:
        """The sample at which the last tenth of the quiet time begins."""
        return min(int(np.searchsorted(self.times, float(self.times[-1]) - 0.1 * self.quiet)), len(self.times) - 1)

    @property
    def noisy(self) -> bool:
        """Whether sensors scatter."""
        s = self.run.world.sensors
        wrist = s.wrench.noise_force or s.wrench.noise_torque
        return bool(s.encoder_noise or s.velocity_noise or s.encoder_resolution or wrist or s.camera.noise)


def misses(assembly: Assembly, named: Mapping[str, Array]) -> list[tuple[int, list[Miss], End]]:
    """Every promise of the law that was not kept, by its number, with what is off; of the joints the worst one."""
    promises = _promises(assembly, named)
    if not promises:
        return []
    end, broken = End(assembly, named), []
    for number, promise in enumerate(promises):
        missed = [miss for miss in _misses_of(promise, end) if not miss.kept]
        if missed and promise.joints:
            missed = [max(missed, key=lambda miss: miss.size / max(miss.tolerance, 1e-300))]
        broken += [(number, missed, end)] if missed else []
    return broken


def judged(assembly: Assembly, named: Mapping[str, Array], number: int) -> list[Miss]:
    """All that one promise is about, kept or not; empty where it cannot be judged."""
    promises = _promises(assembly, named)
    return _misses_of(promises[number], End(assembly, named)) if promises else []


def _promises(assembly: Assembly, named: Mapping[str, Array]) -> tuple[Promise, ...]:
    """Those of the law; none where the run is too short to judge them, or does not show enough."""
    law, robot = assembly.run.law, assembly.run.robot
    if not isinstance(law, Law) or not set(_NEEDED) <= set(named) or robot.unresisted or len(named["time"]) < 20:
        return ()
    return law.promises(robot)


def _duration(push: Push, run: Run) -> float:
    return run.clock.timestep if push.kind == "impulse" else push.duration


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


# ------------------------------------------------------------------ quantities


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
        error = e @ S[:, first : first + 3].T
        yields = np.zeros(len(rows))
        if promise.yields and end.compliance is not None and promise.position == "target_position":
            yields = rows @ end.compliance.under(end.wrench, end.jacobian)
        error = error + yields
        speed = end.named["target_twist"][end.window] @ S.T
        # An arm that moves its tool turns it a little too, and the other way round.
        asked, reached, far = float(moved[0]), float(max(moved)), float(max(moved)) + reached
        miss = _miss(promise, end, promise.what, unit, error, rows, (asked, far), speed)
        # Angles add up to first order only.
        curved = 0.5 * float(yields @ yields) if unit == "rad" else 0.0
        missed.append(replace(miss, tolerance=miss.tolerance + curved + _changing_wrench(end, rows)))
    return missed


def _joint_misses(promise: Promise, end: End) -> list[Miss]:
    named, robot = end.named, end.robot
    if robot.nq != robot.nv:
        return []
    error = named["target_q"] - named["q"]
    if end.compliance is not None:
        error = error + end.compliance.under(end.wrench, end.jacobian)
    speeds = np.gradient(named["target_q"], end.times, axis=0)[end.window] if len(end.times) > 2 else 0 * error
    missed = []
    for j, (name, unit) in enumerate(zip(robot.dof_names, robot.dof_units)):
        asked, moved = (float(np.abs(named[c][:, j] - named["q"][0, j]).max()) for c in ("target_q", "q"))
        row = np.eye(robot.nv)[j : j + 1]
        missed.append(
            _miss(promise, end, name, unit, error[:, j : j + 1], row, (asked, max(asked, moved)), speeds[:, j : j + 1])
        )
    return missed


def _force_miss(promise: Promise, end: End) -> list[Miss]:
    """The wrench of surfaces and objects along the force directions; none where nothing is wanted or touched."""
    named = end.named
    S = _promised_axes(promise, end, promise.force)
    wanted = named["target_wrench"] @ S.T
    if not named["contact_force"][end.window].any() or not np.abs(wanted[end.window]).max() > 0.0:
        return []
    error = wanted - (named["contact_wrench"] + named["push_wrench"]) @ S.T
    size = float(np.linalg.norm(wanted[end.window], axis=1).max())
    largest = np.abs(error[end.since :]).max(axis=0, initial=0.0)
    left = largest if end.contact is None else _remaining_error(end, S @ end.jacobian) @ largest
    tolerance = _SAFETY * float(np.linalg.norm(left)) + _decreasing_error(error, end) + _scatter(error, end)
    tolerance += min(_force_statics(end, S), _STATIC * size) + _RESOLUTION * size
    if not named["contact_force"][end.since :].all():
        return [Miss("the force", "N", 0.0 * error[0], np.inf)]
    return [Miss("the force", "N", error[end.window].mean(axis=0), tolerance)]


def _speed_miss(promise: Promise, end: End) -> Miss:
    speed = np.abs(end.named["v"]).max(axis=1)
    rate = promise.rate if promise.rate is not None else 0.0 if end.contact is None else end.contact.loop.rate
    time = 0.5 * end.quiet if promise.rate is not None else end.quiet
    moving = bool(np.abs(end.wrench).max() > 0.0)
    left = double_pole(rate, time) * float(speed.max())
    tolerance = np.inf if moving else _SAFETY * left + _RESOLUTION * float(speed.max()) + _scatter(speed[:, None], end)
    return Miss("the joints", "rad/s or m/s", np.array([speed[end.window].mean()]), tolerance, moving=True)


# ------------------------------------------------------------------ tolerance


def _miss(
    promise: Promise, end: End, what: str, unit: str, error: Array, rows: Array, span: tuple[float, float], speed: Array
) -> Miss:
    """`span`: how far it was asked to go, and how far it went or was asked to."""
    largest = np.abs(error[end.since :]).max(axis=0, initial=0.0)
    if end.contact is not None and promise.rate is None:
        settling = min(float(np.linalg.norm(_remaining_error(end, rows) @ largest)), _remaining_motion(end, rows))
    else:
        # A push grows into an error first: half the time is left to die out.
        settling = double_pole(promise.rate or 0.0, 0.5 * end.quiet) * float(np.linalg.norm(largest))
    tolerance = _SAFETY * settling + _decreasing_error(error, end) + _scatter(error, end) + _lag(end, rows, speed)
    tolerance += _tolerated_statics(end, rows, *span) + _RESOLUTION * span[1]
    return Miss(what, unit, error[end.window].mean(axis=0), tolerance, rows)


def _remaining_motion(end: End, rows: Array) -> float:
    """How far what still moves can come: v/r of a loop that dies out at r. A law with a memory may move again."""
    contact = end.contact
    assert contact is not None
    rate = contact.loop.rate
    if rate <= 0.0 or len(contact.model.law().update):
        return np.inf
    return float(np.linalg.norm(np.abs(end.named["v"][end.window] @ rows.T).max(axis=0))) / rate


def _remaining_error(end: End, rows: Array) -> Array:
    """k×k, what the linear loop leaves of an error: of joints displaced, and of a memory that has to follow."""
    contact = end.contact
    assert contact is not None
    left = unless_unsolvable(remainder, contact, rows, end.quiet)
    if left is None:
        return np.eye(len(rows))
    if not contact.model.model.presses and len(contact.model.law().update):
        left = np.maximum(left, np.eye(len(rows)) * double_pole(contact.loop.rate, end.quiet))
    return left


def double_pole(rate: float, time: float) -> float:
    """(1 + r t) e^(−r t): what is left of an error that dies out at a double pole."""
    exponent = min(max(rate, 0.0) * time, 700.0)
    return float((1.0 + exponent) * np.exp(-exponent))


def _decreasing_error(error: Array, end: End) -> float:
    """By how much the error fell in the last tenth of the quiet time, ten times: it is not at its end yet."""
    before, now = (float(np.linalg.norm(error[k])) for k in (end.last_tenth, -1))
    return 10.0 * max(before - now, 0.0)


def _changing_wrench(end: End, rows: Array) -> float:
    """How far the change of the wrench on the tool in the last tenth of the quiet time would move it at rest."""
    if end.compliance is None:
        return 0.0
    wrench = (end.named["contact_wrench"] + end.named["push_wrench"])[end.last_tenth :]
    return float(np.linalg.norm(np.abs(rows @ end.compliance.under(np.eye(6), end.jacobian)) @ np.ptp(wrench, axis=0)))


def _scatter(error: Array, end: End) -> float:
    """Of noisy sensors, in the second half of the run: what they cause may wander slowly."""
    return 3.0 * float(np.linalg.norm(error[len(error) // 2 :].std(axis=0))) if end.noisy else 0.0


def _lag(end: End, rows: Array, speed: Array) -> float:
    """Of a target that moves: its speed over delays, and its acceleration against the law's stiffness."""
    fastest = np.abs(speed).max(axis=0)
    if not fastest.any():
        return 0.0
    world, T, takes = end.run.world, end.run.clock.control_period, getattr(end.law, "takes", ())
    late = T * (1.5 + world.sensors.delay + world.driver.delay)
    rate = 0.0 if end.contact is None else max(end.contact.loop.rate, 0.0)
    if not {"twist", "v"} & set(takes):
        return float(np.linalg.norm(fastest)) * (late + 1.0 / max(rate, 1e-3))
    steps = np.diff(end.times[end.window])
    pace = np.abs(np.diff(speed, axis=0) / steps[:, None]).max(axis=0, initial=0.0) if len(steps) else 0 * fastest
    push = 0.0
    if end.compliance is not None and pace.any():
        inertia = end.robot.mass_matrix(end.q) @ np.linalg.pinv(rows)
        push = float(np.linalg.norm(np.abs(rows @ end.compliance.torque @ inertia) @ pace))
    return _SAFETY * (float(np.linalg.norm(fastest)) * late + push)


def _tolerated_statics(end: End, rows: Array, asked: float, moved: float) -> float:
    """How much of what friction and declared differences can do is tolerated."""
    most, friction = _STATIC * moved, [each for each in end.differences if each.cause == "friction"]
    if end.compliance is None or not friction or np.any(end.run.world.plant.joint_friction):
        return min(_statics(end, rows), most)
    held = sum(each.moves_at_most(end.compliance, rows) for each in friction)
    return min(held, _AS_BUILT * moved if asked > 0.0 else np.inf) + min(_statics(end, rows) - held, most)


def _force_statics(end: End, S: Array) -> float:
    """How far friction and declared differences can hold a force off, at the most: through the wall, and as read."""
    if end.compliance is None or end.contact is None:
        return np.inf
    through = S @ end.contact.plant().felt_q
    by_reading = sum(float(np.linalg.norm(S @ each.reading)) for each in end.differences)
    return by_reading + _statics(end, through)


def _statics(end: End, rows: Array) -> float:
    """How far friction and declared differences can hold or move it, at the most."""
    if end.compliance is None:
        return np.inf if end.differences else 0.0
    return sum(each.moves_at_most(end.compliance, rows) for each in end.differences)
