"""A law of palpate on a served or real Franka, through the maker's client: dry runs first, limits, and a way to end it.

palpate has never moved a real arm. Nothing moves until a simulated run and a look at the robot have shown nothing
against it. A drive ends by a ramp to joint damping, whatever ended it; the robot itself holds gravity.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.bound_law import BoundLaw
from palpate.control.tick import Target, sizes_of
from palpate.errors import InvalidInput
from palpate.lazy import check_extra
from palpate.run.after.finish import unfinished
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.before.checks import check_start
from palpate.run.run import Run
from palpate.run.simulate import simulate_quietly
from palpate.spatial import rotate_axes
from palpate.tools.serving.arm.franka import franka_model
from palpate.tools.serving.arm.limits_kernels import TORQUE_RATE
from palpate.tools.serving.pace import no_collector, real_time
from palpate.tools.serving.protocol.fci import JOINTS
from palpate.trace import Outcome, Trace
from palpate.trace.outcome import OutcomeKind

PERIOD = 1e-3  # s, of the interface
START_TOLERANCE = 0.02  # rad between the robot and the start of the run
LOOKS = 200  # states that a dry run looks at
_RATE_SHARE = 0.999  # of the torque rate that the interface takes
_RAMP, _LONGEST_END = 0.2, 1.0  # s: from the law's torque to damping, and until the arm rests at the latest
_DAMPING = (10.0, 10.0, 10.0, 10.0, 5.0, 3.0, 1.0)  # N·m·s/rad at the end
_AT_REST = 0.01  # rad/s
_AHEAD = 0.1  # s, within which a joint may not come to the end of its range: the time in which the end brakes it


@dataclass(frozen=True)
class DriveLimits:
    """Limits that a drive keeps, whatever its law commands.

    Attributes:
        torque: N·m of each joint, gravity included; commands beyond it are cut.
        rate: N·m/s; commands change by no more.
        speed: rad/s of each joint; an arm that is faster ends the drive.
        box: lowest and highest corner of where the tool may be, m in the world; None if it is not known.
        force: N that the robot may estimate at its tool before the drive ends; None leaves that to the robot.
        error: m that the tool may be away from its target; None for any.
        range: lowest and highest position of each joint, rad; it is not to be there 0.1 s later either.
    """

    torque: Array
    rate: float
    speed: Array
    box: tuple[Array, Array] | None = None
    force: float | None = None
    error: float | None = None
    range: tuple[Array, Array] | None = None

    def cut(self, torque: Array, gravity: Array, last: Array) -> Array:
        """A torque without gravity inside what the joints and the interface take, one period after the last one."""
        inside = np.clip(torque, -self.torque - gravity, self.torque - gravity)
        most = self.rate * PERIOD
        return last + np.clip(inside - last, -most, most)

    def violation(
        self, v: Array, position: Array, wrench: Array, q: Array | None = None, target: Array | None = None
    ) -> str | None:
        """The limit that an arm in this state exceeds, in words; None if it exceeds none.

        `position` and `target` are the tool's; what is not given is not looked at.
        """
        if (np.abs(v) > self.speed).any():
            joint = int(np.argmax(np.abs(v) / self.speed))
            return f"joint {joint + 1} moved at {abs(v[joint]):.3g} rad/s; the limit is {self.speed[joint]:.3g} rad/s"
        if self.box is not None and ((position < self.box[0]) | (position > self.box[1])).any():
            where = ", ".join(f"{x:.3f}" for x in position)
            return f"the tool left its box: it was at ({where}) m"
        force = float(np.linalg.norm(wrench[:3]))
        if self.force is not None and force > self.force:
            return f"the robot estimated {force:.3g} N at its tool; the limit is {self.force:.3g} N"
        if self.range is not None and q is not None:
            ahead = q + _AHEAD * v
            beyond = np.maximum(self.range[0] - np.minimum(q, ahead), np.maximum(q, ahead) - self.range[1])
            if (beyond > 0.0).any():
                joint = int(beyond.argmax())
                return f"joint {joint + 1} at {q[joint]:.3f} rad and {v[joint]:.3g} rad/s came to the end of its range"
        if self.error is not None and target is not None:
            error = float(np.linalg.norm(target - position))
            if error > self.error:
                return f"the tool was {1e3 * error:.3g} mm from its target; the limit is {1e3 * self.error:.3g} mm"
        return None


def limits_of(run: Run, *, torque: float = 1.0, speed: float = 1.0, force: float | None = None) -> DriveLimits:
    """Limits of a run's arm: shares of its rated torque and speed, and a force; the box comes from a rehearsal.

    Raises:
        InvalidInput: a share is not in (0, 1], or the force is not positive.
    """
    for name, share in (("torque", torque), ("speed", speed)):
        if not 0.0 < share <= 1.0:
            raise InvalidInput(f"--{name} is a share of the arm's rated {name}, above 0 and at most 1, got {share:g}")
    if force is not None and not 0.0 < force < np.inf:
        raise InvalidInput(f"--force must be positive, got {force:g} N")
    rated = run.robot.limits
    rate = _RATE_SHARE * min(TORQUE_RATE, float(rated.torque_rate.min()))
    between = (rated.lower, rated.upper)
    return DriveLimits(torque * rated.torque, rate, speed * rated.velocity, None, force, range=between)


class FrankaClient:
    """The maker's client of an arm, `pylibfranka`.

    Args:
        host: the robot's address.
        real_time: whether the maker's library demands a real-time kernel, as it does by default.

    Raises:
        MissingExtra: it is not installed.
        InvalidInput: no robot answers there, or it speaks another version.
    """

    def __init__(self, host: str, real_time: bool = True) -> None:
        check_extra("pylibfranka", "franka", "palpate drive")
        self._maker = pylibfranka = importlib.import_module("pylibfranka")
        config = pylibfranka.RealtimeConfig
        try:
            self.robot: Any = pylibfranka.Robot(host, config.kEnforce if real_time else config.kIgnore)
        except (pylibfranka.FrankaException, RuntimeError) as error:
            raise InvalidInput(
                f"no robot answers at {host} ({error})", hint="palpate serve SCENARIO starts one"
            ) from None

    def state(self) -> Any:
        """The next state of a robot that is not in motion."""
        try:
            return self.robot.read_once()
        except (self._maker.FrankaException, RuntimeError) as error:
            raise InvalidInput(f"the robot stopped answering ({error})") from None

    def set_threshold(self, force: float) -> None:
        """Let the robot itself stop from a force on, N (and N·m)."""
        try:
            self.robot.set_collision_behavior([force] * 7, [force] * 7, [force] * 6, [force] * 6)
        except self._maker.CommandException as error:
            raise InvalidInput(f"the robot refuses a threshold of {force:g} N ({error})") from None

    def motion(self, decide: Callable[[Any], tuple[Array, bool]]) -> str | None:
        """Answer every state with a torque until `decide` says that it was the last; why the robot stopped, if it did.

        Raises:
            InvalidInput: it refuses to move.
        """
        try:
            control = self.robot.start_torque_control()
        except (self._maker.FrankaException, RuntimeError) as error:
            raise InvalidInput(f"the robot refuses to move ({error})") from None
        try:
            finished = False
            while not finished:
                state, _ = control.readOnce()
                torque, finished = decide(state)
                command = self._maker.Torques(torque.tolist())
                command.motion_finished = finished
                control.writeOnce(command)
        except (self._maker.FrankaException, RuntimeError) as error:
            return str(error)
        return None


@dataclass(frozen=True)
class Rehearsal:
    """Results of the simulated run.

    Attributes:
        trace: of it.
        speed, torque: greatest speed and torque of each joint, rad/s and N·m.
        low, high: corners of the box that the tool stayed in, m in the world.
    """

    trace: Trace
    speed: Array
    torque: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Look:
    """Results of a first look at the robot, which does not move.

    Attributes:
        off: rad of each joint between the robot and the start of the run.
        first: the law's torque without gravity at the robot as it stands, N·m.
    """

    off: Array
    first: Array


class Drive:
    """A run whose plant is a robot elsewhere.

    Args:
        run: the robot as the law knows it, law, reference, clock and start; its world is used by the dry run only.
        limits: what the drive keeps to; those of the arm if not given.
        ended: asked at every tick whether a person ends it.
    """

    def __init__(self, run: Run, limits: DriveLimits | None = None, ended: Callable[[], bool] = lambda: False) -> None:
        self._assembly: Assembly = assemble(run)
        self._run, self._law = self._assembly.run, self._assembly.law
        if self._law.command not in ("torque", "acceleration"):
            raise InvalidInput(
                f"the law {self._law.name!r} commands a {self._law.command}; only torques are sent to a robot"
            )
        if abs(run.clock.control_period - PERIOD) > 1e-9:
            raise InvalidInput(
                f"the control period is {run.clock.control_period:g} s; the robot's is {PERIOD:g} s",
                hint="set run.rate = 1000",
            )
        if self._assembly.loop.wanted.kind != 0:
            raise InvalidInput("a robot can be driven only with wrench_axes = 'world'")
        self._axes = franka_model(self._run.robot).X_WO.rotation
        self.limits, self.ended = limits or limits_of(run), ended
        count = run.clock.steps // run.clock.ratio
        self._rows = np.asarray(run.reference.sample(np.arange(count) * PERIOD, self._run.robot, self._run.start()[0]))
        self._row = self._rows[0].copy()
        self._target = Target.over(self._row, sizes_of(self._run.robot))
        self._recorded: list[dict[str, Array]] = []  # what was measured and commanded, by channel, tick by tick
        self._last, self._gravity, self.cut = np.zeros(JOINTS), np.zeros(JOINTS), 0
        self._end: tuple[OutcomeKind, str] | None = None
        self.about = ""  # a remark on what is driven
        self._ramp_from, self._ramped = np.zeros(JOINTS), 0

    def rehearse(self) -> Rehearsal:
        """Simulate the run in the scenario's world.

        Raises:
            InvalidInput: it does not complete, or leaves the limits.
        """
        trace = simulate_quietly(self._run)
        outcome = trace.outcome
        if outcome.kind != "completed":
            raise InvalidInput(f"the simulated run {outcome.kind} at {outcome.time:.3g} s: {outcome.reason}")
        speed, torque = np.abs(trace["v"]).max(axis=0), np.abs(trace["tau"]).max(axis=0)
        _check_share("moves at", speed, self.limits.speed, "rad/s")
        _check_share("needs", torque, self.limits.torque, "N·m")
        tool = trace["tool_position"]
        return Rehearsal(trace, speed, torque, tool.min(axis=0), tool.max(axis=0))

    def look(self, client: FrankaClient) -> Look:
        """Read states of the robot and compute what the law would command; nothing is sent.

        Raises:
            InvalidInput: the robot stands elsewhere, or the torque is no number or beyond the limits.
        """
        law, start = self._law.with_own_memory(), self._run.start()[0]
        off = wanted = np.zeros(JOINTS)
        for _ in range(LOOKS):
            state = client.state()
            off = np.abs(np.array(state.q) - start)
            if off.max() > START_TOLERANCE:
                joint = int(off.argmax())
                raise InvalidInput(
                    f"the robot does not stand where the run starts: joint {joint + 1} is {off[joint]:.3g} rad off",
                    hint=f"move it there first, or set robot.start.q = {np.round(state.q, 4).tolist()}",
                )
            wanted, gravity, _ = self._wanted(law, state, 0.0)
            if not np.isfinite(wanted).all() or (np.abs(wanted + gravity) > self.limits.torque).any():
                asked = np.round(wanted + gravity, 2).tolist()
                raise InvalidInput(f"for the robot as it stands the law asks for {asked} N·m")
        return Look(off, wanted)

    def go(self, client: FrankaClient) -> Trace:
        """Drive the robot through the run; what was measured and commanded.

        Raises:
            InvalidInput: the robot refuses to move.
        """
        with real_time(True), no_collector():
            stopped = client.motion(self._tick)
        if stopped is not None:
            return self._trace("stopped", f"the robot stopped the motion: {stopped}")
        assert self._end is not None
        return self._trace(*self._end)

    def _wanted(self, law: BoundLaw, state: Any, t: float) -> tuple[Array, Array, dict[str, Array]]:
        """The law's torque without gravity, gravity, and what is recorded of the tick."""
        robot = self._run.robot
        q, v, tau = np.array(state.q), np.array(state.dq), np.array(state.tau_J)
        wrench = -rotate_axes(self._axes, np.array(state.O_F_ext_hat_K))
        decision = law.tick(robot, q, v, target=self._target, wrench=wrench, tau=tau, t=t, dt=PERIOD)
        terms, torque = robot.terms(q, v), decision.command
        if decision.kind == "acceleration":
            torque = terms.M @ torque + terms.bias
        wanted = {f"target_{name}": getattr(self._target, name).copy() for name in ("q", "position", "wrench")}
        named = {f"tau.{name}": value for name, value in decision.terms.items()}
        measured = {"q": q, "v": v, "q_measured": q, "v_measured": v, "tau": tau, "measured_wrench": wrench}
        row = measured | wanted | named | {"command": decision.command, "tool_position": terms.position.copy()}
        return torque - terms.gravity, terms.gravity, row

    def _tick(self, state: Any) -> tuple[Array, bool]:
        """The torque for a state, and whether it is the last."""
        if self._end is not None:
            return self._ending_tick(state)
        k = len(self._recorded)
        self._row[:] = self._rows[k]
        wanted, gravity, row = self._wanted(self._law, state, k * PERIOD)
        self._recorded.append(row)
        where = row["tool_position"], row["measured_wrench"], row["q"], row["target_position"]
        violation = self.limits.violation(row["v"], *where)
        if not np.isfinite(wanted).all():
            violation = "the law's torque is not a number"
        if violation is not None:
            self._end = ("stopped", violation)
        elif self.ended():
            self._end = ("stopped", "a person ended it")
        elif k + 1 == len(self._rows):
            self._end = ("completed", f"finished after {self._run.clock.duration:g} s")
        self._gravity = gravity
        if violation is not None:
            return self._ending_tick(state)
        self._ramp_from = self._last = self.limits.cut(wanted, gravity, self._last)
        self.cut += bool(np.abs(self._last - wanted).max() > 1e-9)
        return self._last, False

    def _ending_tick(self, state: Any) -> tuple[Array, bool]:
        """A ramp from the last torque of the law to joint damping; the last one once the arm rests."""
        self._ramped += 1
        v, share = np.array(state.dq), min(self._ramped * PERIOD / _RAMP, 1.0)
        wanted = (1.0 - share) * self._ramp_from - share * np.array(_DAMPING) * v
        self._last = self.limits.cut(wanted, self._gravity, self._last)
        rests = share == 1.0 and bool(np.abs(v).max() < _AT_REST)
        return self._last, rests or self._ramped * PERIOD >= _LONGEST_END

    def _trace(self, kind: OutcomeKind, reason: str) -> Trace:
        assembly, rows, count = self._assembly, self._recorded, len(self._recorded)
        known = [channel for channel in assembly.layout.channels if rows and channel.name in rows[0]]
        data = {channel: np.array([row[channel.name] for row in rows]) for channel in known}
        remarks = [*filter(None, [self.about]), "driven over FCI: forces are those that the robot estimates"]
        if self.cut:
            remarks.append(f"torque or torque rate was cut in {self.cut} of {count} ticks")
        facts = replace(
            unfinished(assembly, check_start(assembly, predict=False)).facts,
            warnings=() if kind == "completed" else (reason,),
            remarks=tuple(remarks),
            assumptions=(),
            stride=assembly.run.clock.ratio,
            physics="fci",
        )
        return Trace(np.arange(count) * PERIOD, data, Outcome(kind, reason, count * PERIOD, count), (), facts)


def _check_share(verb: str, values: Array, limit: Array, unit: str) -> None:
    if (values > limit).any():
        joint = int(np.argmax(values / limit))
        raise InvalidInput(
            f"in the simulated run joint {joint + 1} {verb} {values[joint]:.3g} {unit}; the limit is"
            f" {limit[joint]:.3g} {unit}"
        )
