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
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic.fields import FieldInfo

from palpate.config import Config, setting
from palpate.control.bound_law import BoundLaw as BoundLaw, Decision as Decision
from palpate.control.commands import COMMANDS as COMMANDS, CommandKind as CommandKind
from palpate.control.fitting import per_joint as per_joint, refuse_free_base as refuse_free_base
from palpate.control.python_law import PythonLaw as PythonLaw
from palpate.control.reads import NEEDS as NEEDS, Need as Need, Reads, reads_of
from palpate.control.report import Figure as Figure, LawReport as LawReport, sentences_that_hold as sentences_that_hold
from palpate.control.rig import Beginning as Beginning, Rig as Rig
from palpate.control.shown import ComputedNumber as ComputedNumber, Shown as Shown
from palpate.control.tick import (
    NoMemory as NoMemory,
    PoleView as PoleView,
    Seen as Seen,
    Target as Target,
    Tick as Tick,
    law_kernel as law_kernel,
    sizes_of as sizes_of,
)
from palpate.control.traits import Follows as Follows, LawTraits as LawTraits, traits_of
from palpate.engine.kernels import Kernel
from palpate.engine.records import Record
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

# Attributes of a law before it had `report`, `traits` and `reads`, and what says the same now.
_REPORT = ("shown", "remarks", "alarms", "ending", "ended", "figure", "computed", "literature")
_TRAITS = (
    "follows", "holds", "yields", "drops_motion", "force_directions", "task_directions", "promises",
    "acceleration_bound", "spring_damper", "ignored",
)  # fmt: skip
MOVED = {
    **{name: f"report.{name}" for name in _REPORT},
    **{name: f"traits.{name}" for name in _TRAITS},
    "tick_reads": "reads",
    "takes": "reads.target",
    "feels": "reads.wrench",
    "reads_sensors": "reads.sensors",
    "needed": "reads.needs",
    "term_names": "terms",
    "commanded": "command",
}


class Law(Config):
    """Settings of a control law; a subclass adds its gains, its kernel and its docstring's equation.

    A law is its name, settings, kernel, gains and memory. What a reader of its runs is told is its `report`; what else
    may be asked of it is in `traits`; what its kernel reads of a tick is found in the kernel (`reads`).
    """

    name: ClassVar[str]
    command: ClassVar[CommandKind] = "torque"
    kernel: ClassVar[Kernel]
    _kept_names: ClassVar[tuple[str, ...]] = ()  # of `MOVED`, which a kind of law has still

    friction_compensation: float = setting(
        0.0, "1", "share of the model's joint friction that the loop compensates", ge=0, le=1
    )

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse what a run would pass over: it binds a law by `bound_to`, and asks `report`, `traits` and `reads`."""
        super().__init_subclass__(**options)
        if "bind" in vars(cls):
            raise InvalidInput(f"the law {cls.__name__} overrides `bind`", hint="override `bound_to(robot)` instead")
        for name in MOVED:
            if name not in cls._kept_names and _defines(cls, name):
                raise InvalidInput(f"the law {cls.__name__} defines `{name}`, which nothing reads", hint=_hint(name))

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> Any:
            """Name the new place of an attribute that moved."""
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name not in MOVED:
                    raise
            raise AttributeError(f"a law has no attribute {name!r}; it is `law.{MOVED[name]}` now", name=name)

    @abstractmethod
    def gains(self, robot: Robot) -> Record:
        """The gains that the kernel reads, checked against the robot."""

    def memory(self, robot: Robot) -> Any:
        """The memory at the start: a fresh record of the class that the kernel states."""
        return type(self).kernel.stated.args[2].record(self.record_sizes(robot))

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of its terms: the fields of the record that the kernel states."""
        return tuple(type(self).kernel.stated.args[3].record.fields)

    @property
    def report(self) -> LawReport:
        """Statements for the reader of a run; see `LawReport`."""
        return LawReport()

    @property
    def traits(self) -> LawTraits:
        """Promises and whatever else may be asked of it; see `LawTraits`. By default as its kernel reads the target."""
        return traits_of(self.reads)

    @property
    def reads(self) -> Reads:
        """Fields of the tick that it reads: those of its kernel, unless some settings need fewer."""
        return reads_of(type(self).kernel)

    def record_sizes(self, robot: Robot) -> dict[str, int]:
        """The sizes that its memory and its terms are made with."""
        return sizes_of(robot)

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """The law with everything that its settings leave open chosen for a robot and a loop."""
        return self

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot; what it leaves open is chosen for a `Rig` of 1 ms, unless done before."""
        return self.suited(robot, Rig()).bound_to(robot)

    def bound_to(self, robot: Robot) -> BoundLaw:
        """`bind` for a law that leaves nothing open: gains, memory and code for a robot."""
        names, record, report = self.terms, type(self).kernel.stated.args[3].record, self.report
        rows = np.zeros((len(names), robot.nv))
        return BoundLaw(
            self.name,
            type(self).kernel,
            names,
            self.command,
            self.gains(robot),
            self.memory(robot),
            rows,
            record.over(rows.reshape(-1), self.record_sizes(robot)),
            self.reads.needs,
            report.remarks,
            report.shown,
            alarms=report.alarms,
            ending=report.ending,
            ended=report.ended,
        )

    def begin(self, bound: BoundLaw, robot: Robot, start: Beginning) -> BoundLaw:
        """The bound law ready for a run that begins so; refuse a beginning that the law cannot serve."""
        return bound

    def tick(self, robot: Robot, q: ArrayLike, v: ArrayLike, **inputs: Any) -> Decision:
        """One control tick with fresh memory; see `BoundLaw.tick`, which keeps its memory between ticks."""
        return self.bind(robot).tick(robot, q, v, **inputs)


def _defines(cls: type, name: str) -> bool:
    """Whether a class gives an attribute that is no setting of its own."""
    if name not in vars(cls) or isinstance(vars(cls)[name], FieldInfo):
        return False
    annotation = vars(cls).get("__annotations__", {}).get(name)
    return annotation is None or "ClassVar" in str(annotation)


def _hint(name: str) -> str:
    new, _, field = MOVED[name].partition(".")
    kinds = {"report": "LawReport", "traits": "LawTraits", "reads": "Reads"}
    if not field or new not in kinds:
        return f"it is `{new}` now"
    given = f"return LawReport({field}=…)" if new == "report" else f"return replace(super().{new}, {field}=…)"
    return f"it is a part of the property `{new}` now: {given} from it (docs/extending.md)"
