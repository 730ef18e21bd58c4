"""Control laws: each is a pure function of what is known at a tick, its gains and its memory.

    law(tick, gains, memory, terms)

All four are named records. `Tick` is the same for every law; `gains`, `memory` and `terms` are the law's own. A law
writes every element of its terms, may write its memory, and changes nothing else. The sum of its terms is the command.

    class Gains(Record):
        stiffness: Vector = sized("nv")

    class Terms(Record):
        spring: Vector = sized("nv")

    @law_kernel
    def _kernel(x: Tick, k: Gains, m: NoMemory, out: Terms) -> None:
        for i in range(x.v.size):
            out.spring[i] = k.stiffness[i] * (x.target.q[i] - x.q[i])

A law in plain Python is given the tick to read and returns its terms by name: slower, the same loop and the same trace.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import MOST_SENSOR_VALUES, Config, setting
from palpate.control.promise import Promise
from palpate.control.reads import NEEDS, Need, Reads, reads_of
from palpate.control.shown import ComputedNumber, Shown
from palpate.control.steps.reach import directions_of, reachable
from palpate.engine.kernels import Kernel, kernel
from palpate.engine.records import ReadOnly, Record, Vector, sized
from palpate.errors import BadShape, InvalidInput
from palpate.lazy import may_read
from palpate.robot.mechanics.kernels import ModelTerms
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_from_matrix

CommandKind = Literal["torque", "acceleration", "velocity", "position"]
COMMANDS: tuple[CommandKind, ...] = ("torque", "acceleration", "velocity", "position")

# Whose target a law follows: the tool's, or the joints'.
Follows = Literal["tool", "joints", "nothing"]

# What a report shows first: the tool's path against its line and u/U, a pole's tilt and path, the frame that yields, or
# the force and where the tool is along it. Without one the contact force or, where nothing is touched, the error.
Figure = Literal["straight-path", "balance", "compliant-frame", "force"]


class Target(Record):
    """Targets of this tick: joints, and the tool in world axes; the wrench is that of the environment on the tool."""

    q: Vector = sized("nq")
    v: Vector = sized("nv")
    a: Vector = sized("nv")
    position: Vector = sized(3)
    quat_wxyz: Vector = sized(4)
    twist: Vector = sized(6)
    acceleration: Vector = sized(6)
    wrench: Vector = sized(6)


class PoleView(Record):
    """A pole on the tool as it is seen: from its foot A to its sphere B, and the rate of that, world axes.

    A camera takes pictures: they show AB alone (`rated` is False), `age` seconds ago; `fresh` says that one has
    just come.
    """

    AB: Vector = sized(3)
    AB_rate: Vector = sized(3)
    rated: bool = True
    fresh: bool = True
    age: float = 0.0


class Seen(Record):
    """Readings of sensors beyond joints and wrist; `values` are those of custom sensors. 0 where there is no sensor."""

    pole: PoleView
    values: Vector = sized(MOST_SENSOR_VALUES)


class Tick(ModelTerms):
    """Knowledge of a law at a control tick: the nominal model's terms at (q, v), see `ModelTerms`, and

    t, dt           s; the tick's time and the control period
    q, v            measured joint positions and velocities
    wrench          measured wrench of the environment on the robot, at the tool's origin, world axes [f; n]
    tau             measured joint torques
    target, seen    what is wanted; what other sensors see
    """

    t: float = 0.0
    dt: float = 1e-3
    q: Vector = sized("nq")
    v: Vector = sized("nv")
    wrench: Vector = sized(6)
    tau: Vector = sized("nv")
    target: Target
    seen: Seen


@dataclass(frozen=True)
class Beginning:
    """The start of a run, as far as a law is told before the first tick.

    Attributes:
        q, v: the robot's state.
        period: of control, s.
        gravity: of the world, m/s².
        pole: length of the pole on the tool, m, mass of its sphere and of its rod, kg; None without one.
        camera: what watches the pole: s between pictures, s until one arrives, rad of noise; None if it is ideal.
    """

    q: Array
    v: Array
    period: float
    gravity: Array
    pole: tuple[float, float, float] | None = None
    camera: tuple[float, float, float] | None = None


class NoMemory(Record):
    """The memory of a law that needs none."""


def law_kernel(function: Callable[..., None]) -> Kernel:
    """Compile a law `(x: Tick, k: Gains, m: Memory, out: Terms)`, cached on disk."""
    return kernel(function)


def sizes_of(robot: Robot) -> dict[str, int]:
    """The sizes that records of laws are made with."""
    return {"nq": robot.nq, "nv": robot.nv}


@dataclass(frozen=True)
class Decision:
    """Answer of a law at one control tick.

    Attributes:
        terms: the named terms; their sum is the command.
        command: one number per degree of freedom, in the unit of `kind`.
    """

    terms: dict[str, Array]
    command: Array
    kind: CommandKind


@dataclass(frozen=True)
class Rig:
    """Facts of the loop that a law will run in, to choose what its settings leave open.

    Attributes:
        period: of control, s.
        delay: control periods between a measurement and the torque that answers it.
        noise_force, noise_moment: standard deviation of the wrench as it arrives, N and N·m.
        q: where the arm will work; home if None.
    """

    period: float = 1e-3
    delay: int = 0
    noise_force: float = 0.0
    noise_moment: float = 0.0
    q: Array | None = None

    @property
    def lag(self) -> float:
        """T (½ + delay), s: how late a held command is on average."""
        return self.period * (0.5 + self.delay)


_TERMS = ("M", "bias", "gravity", "position", "rotation", "J", "drift")  # of a robot at (q, v)


def _no_remarks(memory: Any) -> list[str]:
    return []


def _ended_by_law(memory: Any) -> str:
    return "the law ended the run"


@dataclass(frozen=True)
class BoundLaw:
    """A law made ready for one robot.

    Attributes:
        function: a kernel that writes its terms, or a Python function that returns them.
        terms: names of the terms.
        gains, memory: records of a compiled law; anything of a Python law.
        answer: the record that a compiled law writes its terms to, by rows of `rows`.
        needs: what it reads of the model.
        remarks: from the memory after a run, what the law did that its reader should know, in plain words.
        shown: what the trace records of the memory.
        warnings: what should be looked at before the run.
        alarms: from the memory after a run, where the law did not keep what it promises.
        ending: the shown number that ends the run once it is above 0.5; none by default.
        ended: from the memory, why the run was ended by it.
        compensates: whether the loop adds a last term, `FRICTION`, to the law's own.
        surrounded: whether the last of its own terms is the change by what stands around it (`control.around`).
    """

    name: str
    function: Any
    terms: tuple[str, ...]
    command: CommandKind
    gains: Any
    memory: Any
    rows: Array
    answer: Record | None = None
    needs: tuple[Need, ...] = NEEDS
    remarks: Callable[[Any], list[str]] = _no_remarks
    shown: tuple[Shown, ...] = ()
    warnings: tuple[str, ...] = ()
    alarms: Callable[[Any], list[str]] = _no_remarks
    ending: str | None = None
    ended: Callable[[Any], str] = _ended_by_law
    compensates: bool = False
    surrounded: bool = False
    _ticks: dict[tuple[int, int], tuple[Tick, Target, Seen]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def compiled(self) -> bool:
        """Whether it is machine code."""
        return self.answer is not None

    def decide(self, tick: Tick) -> None:
        """Write the terms for a tick into `rows`; the law's memory moves on."""
        if self.answer is not None:
            self.function(tick.address, self.gains.address, self.memory.address, self.answer.address)
        else:
            self.take(self.function(ReadOnly(tick), self.gains, self.memory))

    def take(self, terms: Any) -> None:
        """Check what a Python law returned and write it into `rows`."""
        if not isinstance(terms, Mapping):
            raise InvalidInput(
                f"law {self.name!r} returned {type(terms).__name__}, not its terms",
                hint=f"return a dictionary with {', '.join(map(repr, self.terms))}",
            )
        declared = self.terms[:-1] if self.compensates else self.terms
        if set(terms) != set(declared):
            differing = sorted(set(terms) ^ set(declared))
            raise InvalidInput(
                f"law {self.name!r} returned the terms {', '.join(map(repr, terms)) or 'none'}, declared are"
                f" {', '.join(map(repr, declared))}: see {', '.join(map(repr, differing))}"
            )
        for row, name in zip(self.rows, declared):
            value = np.asarray(terms[name])
            if value.shape != row.shape or value.dtype.kind not in "fiu":
                raise InvalidInput(
                    f"law {self.name!r}: term {name!r} must be {row.size} numbers, got"
                    f" {value.dtype} of shape {value.shape}"
                )
            row[:] = value

    def tick(
        self,
        robot: Robot,
        q: ArrayLike,
        v: ArrayLike,
        *,
        target: Target | None = None,
        wrench: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        seen: Seen | None = None,
        t: float = 0.0,
        dt: float = 1e-3,
    ) -> Decision:
        """One control tick from Python, model terms included; the law's memory moves on.

        Args:
            robot: the robot the law was bound to.
            q, v: measured joint positions and velocities.
            target: standing still at q by default (see `references.reference.joint_target`).
            wrench: measured wrench [f; n] of the environment on the robot; zero by default.
            tau: measured joint torques; zero by default.
            seen: what other sensors see; nothing by default.
            t, dt: time and control period, s.
        """
        x = robot.terms(q, v)
        if target is not None and (target.q.size, target.v.size) != (robot.nq, robot.nv):
            raise BadShape(f"the target has {target.q.size} coordinates, {robot.name} has {robot.nq}")
        known, resting, nothing = self._tick_of(robot)
        for name in _TERMS:
            getattr(known, name)[...] = getattr(x, name)
        known.t, known.dt = finite_number(t, "t"), finite_number(dt, "dt", above=0.0)
        known.q[:], known.v[:] = q, v
        known.wrench[:] = 0.0 if wrench is None else finite_array(wrench, "wrench", (6,))
        known.tau[:] = 0.0 if tau is None else finite_array(tau, "tau", (robot.nv,))
        if target is None:
            resting.q[:], resting.position[:] = q, x.position
            quat_from_matrix(x.rotation, resting.quat_wxyz)
        known.replace("target", resting if target is None else target)
        known.replace("seen", nothing if seen is None else seen)
        self.decide(known)
        return Decision(dict(zip(self.terms, self.rows.copy())), self.rows.sum(axis=0), self.command)

    def with_own_memory(self) -> BoundLaw:
        """The same law on a copy of its memory and without the loop's own term, for ticks that are no part of a run."""
        terms = len(self.terms) - self.compensates
        changes = {"terms": self.terms[:terms], "rows": self.rows[:terms], "compensates": False}
        return replace(self, memory=deepcopy(self.memory), **changes)

    def _tick_of(self, robot: Robot) -> tuple[Tick, Target, Seen]:
        """A tick to fill in, a target and a view of its own: to make them takes ten times as long as to use them."""
        size = robot.nq, robot.nv
        if size not in self._ticks:
            fresh = Tick(sizes_of(robot))
            self._ticks[size] = fresh, fresh.target, fresh.seen
        return self._ticks[size]


class Law(Config):
    """Settings of a control law; a subclass adds its gains, its kernel and its docstring's equation."""

    name: ClassVar[str]
    command: ClassVar[CommandKind] = "torque"
    shown: ClassVar[tuple[Shown, ...]] = ()  # what the trace records of the memory
    ending: ClassVar[str | None] = None  # the shown number that ends the run once it is above 0.5
    kernel: ClassVar[Kernel]
    yields: ClassVar[bool] = False  # whether its spring presses towards a goal behind a surface
    holds: ClassVar[bool] = True  # whether an arm that nothing touches can stand still under it
    drops_motion: ClassVar[bool] = False  # whether the target's position does not count along its force directions
    figure: ClassVar[Figure | None] = None  # what to see first of a run
    literature: ClassVar[tuple[str, ...]] = ()  # DOIs
    ignored: ClassVar[dict[str, str]] = {}  # inherited settings that its equation does not have, and why

    friction_compensation: float = setting(
        0.0, "1", "share of the model's joint friction that the loop compensates", ge=0, le=1
    )

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse what a run would pass over: it binds a law that leaves nothing open by `bound_to`."""
        super().__init_subclass__(**options)
        if "bind" in vars(cls):
            raise InvalidInput(f"the law {cls.__name__} overrides `bind`", hint="override `bound_to(robot)` instead")

    @property
    def follows(self) -> Follows | None:
        """Whose target it follows, as its kernel reads it: the tool's, else the joints', or none; None for both."""
        if not set(self.takes) <= {"q", "v", "a"}:
            return "tool"
        return "joints" if self.takes else "nothing"

    def computed(self, robot: Robot) -> tuple[ComputedNumber, ...]:
        """Numbers that it computes from its settings and a reader asks for: gains, poles, bounds."""
        return ()

    @property
    def commanded(self) -> CommandKind:
        """The kind of its command, where a setting decides; else `command`."""
        return self.command

    @property
    def tick_reads(self) -> Reads:
        """Fields of the tick that its kernel reads."""
        return reads_of(type(self).kernel)

    @property
    def takes(self) -> tuple[str, ...]:
        """The fields of the target that its kernel reads; it ignores the others."""
        return self.tick_reads.target

    @property
    def reads_sensors(self) -> bool:
        """Whether its kernel reads custom sensors, `seen.values`."""
        return self.tick_reads.sensors

    @property
    def feels(self) -> bool:
        """Whether its kernel reads the measured wrench."""
        return self.tick_reads.wrench

    @property
    def force_directions(self) -> tuple[str, ...] | None:
        """The directions along which it controls a force, among x … rz; None where it does not choose them."""
        return None

    def task_directions(self, robot: Robot) -> tuple[str, ...] | None:
        """The directions of the tool that it follows, along its `axes_at`; None for all of them, or none."""
        return directions_of(self.takes) if len(directions_of(self.takes)) == 3 else None

    def promises(self, robot: Robot) -> tuple[Promise, ...]:
        """Promises to compare with the end of every run, of the target as its kernel reads it; see `Promise`."""
        if self.follows == "joints":
            return (Promise(joints=True),)
        return (Promise(motion=reachable(robot, directions_of(self.takes))),) if self.follows == "tool" else ()

    def acceleration_bound(self, robot: Robot) -> Array | None:
        """Bounds on joint accelerations that the law keeps at its ticks, one each; None if it keeps none."""
        return None

    def spring_damper(self, gains: Any) -> tuple[Array, Array] | None:
        """K and D at the tool, 6×6, where the kernel reads them, to be changed between ticks; None if it has none."""
        return None

    @abstractmethod
    def gains(self, robot: Robot) -> Record:
        """The gains that the kernel reads, checked against the robot."""

    def record_sizes(self, robot: Robot) -> dict[str, int]:
        """The sizes that its memory and its terms are made with."""
        return sizes_of(robot)

    def memory(self, robot: Robot) -> Any:
        """The memory at the start: a fresh record of the class that the kernel states."""
        return type(self).kernel.stated.args[2].record(self.record_sizes(robot))

    def remarks(self, memory: Any) -> list[str]:
        """Sentences on what the law did during a run that its reader should know, from its memory at the end."""
        return []

    def alarms(self, memory: Any) -> list[str]:
        """Where the law did not keep what it promises, from its memory at the end; a warning of the run."""
        return []

    def ended(self, memory: Any) -> str:
        """Why the law ended the run, where it did."""
        return _ended_by_law(memory)

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """The law with everything that its settings leave open chosen for a robot and a loop."""
        return self

    def term_names(self) -> tuple[str, ...]:
        """Names of the terms: the fields of the record that the kernel states."""
        return tuple(type(self).kernel.stated.args[3].record.fields)

    def needed(self) -> tuple[Need, ...]:
        """Terms of the model that the law reads: those of its kernel, unless some settings need fewer."""
        return self.tick_reads.needs

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot; what it leaves open is chosen for a `Rig` of 1 ms, unless done before."""
        return self.suited(robot, Rig()).bound_to(robot)

    def bound_to(self, robot: Robot) -> BoundLaw:
        """`bind` for a law that leaves nothing open: gains, memory and code for a robot."""
        names, record = self.term_names(), type(self).kernel.stated.args[3].record
        rows = np.zeros((len(names), robot.nv))
        return BoundLaw(
            self.name,
            type(self).kernel,
            names,
            self.commanded,
            self.gains(robot),
            self.memory(robot),
            rows,
            record.over(rows.reshape(-1), self.record_sizes(robot)),
            self.needed(),
            self.remarks,
            self.shown,
            alarms=self.alarms,
            ending=self.ending,
            ended=self.ended,
        )

    def begin(self, bound: BoundLaw, robot: Robot, start: Beginning) -> BoundLaw:
        """The bound law ready for a run that begins so; refuse a beginning that the law cannot serve."""
        return bound

    def tick(self, robot: Robot, q: ArrayLike, v: ArrayLike, **inputs: Any) -> Decision:
        """One control tick with fresh memory; see `BoundLaw.tick`, which keeps its memory between ticks."""
        return self.bind(robot).tick(robot, q, v, **inputs)


@dataclass(frozen=True)
class PythonLaw:
    """A law written in plain Python: slower, the same loop and the same trace.

        def spring_to_home(tick, gains, memory):
            return {"spring": 50 * (tick.target.q - tick.q) - 8 * tick.v, "gravity": tick.gravity}

        PythonLaw(spring_to_home, terms=("spring", "gravity"))

    Attributes:
        function: given the `Tick` to read, gains and memory, it returns one array per term, by name.
        terms: names of the terms.
        command: what their sum means.
        gains, memory: handed to it; the memory is copied for every run.
        follows: whose target it follows, "tool", "joints" or "nothing"; errors of both are reported if not said.
    """

    function: Callable[[Any, Any, Any], Mapping[str, ArrayLike]]
    terms: tuple[str, ...] = ("torque",)
    command: CommandKind = "torque"
    gains: Any = None
    memory: Any = None
    name: str = "python"
    follows: Follows | None = None
    holds: ClassVar[bool] = True
    figure: ClassVar[None] = None

    @property
    def commanded(self) -> CommandKind:
        """The kind of its command."""
        return self.command

    @property
    def reads_sensors(self) -> bool:
        """Whether its function may read custom sensors, `tick.seen`."""
        return may_read(self.function, 0, "seen")

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """Itself: what it leaves open is not known."""
        return self

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot."""
        if self.command not in COMMANDS:
            raise InvalidInput(f"command must be one of {', '.join(COMMANDS)}, got {self.command!r}")
        if isinstance(self.terms, str) or not self.terms or len(set(self.terms)) != len(self.terms):
            raise InvalidInput(f"a law needs terms of different names, got {self.terms!r}")
        rows = np.zeros((len(self.terms), robot.nv))
        return BoundLaw(
            self.name, self.function, tuple(self.terms), self.command, self.gains, deepcopy(self.memory), rows
        )

    def bound_to(self, robot: Robot) -> BoundLaw:
        """As `bind`: it leaves nothing open."""
        return self.bind(robot)

    def begin(self, bound: BoundLaw, robot: Robot, start: Beginning) -> BoundLaw:
        """The bound law: any beginning suits it."""
        return bound


def sentences_that_hold(conditions: Mapping[str, object]) -> list[str]:
    """The sentences whose condition is true, for remarks and alarms."""
    return [sentence for sentence, holds in conditions.items() if holds]


def per_joint(
    robot: Robot, value: float | Sequence[float], name: str, *, least: float | None = None, above: float | None = None
) -> Array:
    """One number per degree of freedom, from one for all or one each; `least` and `above` are lower bounds."""
    if isinstance(value, int | float):
        return np.full(robot.nv, finite_number(value, name, least=least, above=above))
    numbers = finite_array(value, f"{name} for {robot.name}", (robot.nv,))
    for joint, number in zip(robot.dof_names, numbers):
        finite_number(number, f"{name} of joint {joint}", least=least, above=above)
    return numbers


def refuse_free_base(robot: Robot, law: str) -> None:
    """Laws that subtract coordinates need as many of them as velocities: no free base, no ball joint."""
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"law {law!r} cannot drive {robot.name}: it has {robot.nq} coordinates for {robot.nv} velocities",
            hint="use a robot with a fixed base and single-axis joints",
        )
