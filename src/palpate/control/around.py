"""Something that stands around any law: it sees every tick before the law and may change the command after it.

    before(x, k, m)                    look at the tick: observers, energy books
    law(x, …)                          the law itself, as it is
    after(x, k, m, command, change)    what is added to the law's command; 0 leaves it as it is, bit for bit

`surrounded` makes one bound law of both. Its gains, memory and terms are the law's own records with one field more, so
that whatever reads a law's records finds the law's fields where they were: recording, poles, saved states, export.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from palpate.config import Config
from palpate.control.bound_law import BoundLaw
from palpate.control.commands import CommandKind
from palpate.control.law import Law
from palpate.control.python_law import PythonLaw
from palpate.control.reads import NEEDS, Need, reads_of
from palpate.control.rig import Beginning, Rig
from palpate.control.shown import Shown
from palpate.control.tick import Tick
from palpate.engine.carried import marks_any, real_at, word_at
from palpate.engine.kernels import Kernel, address_of_record, kernel
from palpate.engine.records import ReadOnly, Record, Vector, sized
from palpate.robot.robot import Robot

WORD = 8  # bytes
CHANGE = "change"  # name of the term that is added


@dataclass(frozen=True)
class Surroundings:
    """Facts that something around a law may use before the first tick.

    Attributes:
        robot: the nominal robot.
        law: the law's settings.
        bound: the law made ready.
        start: state, control period and gravity at the start.
        rig: delays and noise of the loop.
    """

    robot: Robot
    law: Law | PythonLaw
    bound: BoundLaw
    start: Beginning
    rig: Rig

    @property
    def command(self) -> CommandKind:
        """Kind of the law's command."""
        return self.bound.command


class Around(Config):
    """Settings of something around any law; a subclass brings two kernels, their records and what it shows."""

    before: ClassVar[Kernel]
    after: ClassVar[Kernel]

    @abstractmethod
    def settings(self, around: Surroundings) -> Record:
        """The numbers that the kernels read, checked against robot and law."""

    def memory(self, around: Surroundings) -> Record:
        """The memory at the start: a fresh record of the class that the kernels state."""
        return type(self).before.stated.args[2].record({"nq": around.robot.nq, "nv": around.robot.nv})

    def shows(self, around: Surroundings) -> tuple[Shown, ...]:
        """Numbers of its memory that the trace records."""
        return ()

    def remarks(self, memory: Any) -> list[str]:
        """Sentences on what it did during a run, from its memory at the end."""
        return []

    def alarms(self, memory: Any) -> list[str]:
        """Sentences on what it could not keep, from its memory at the end; warnings of the run."""
        return []


@kernel
def _add_up(terms: int, count: int, command: Vector) -> None:
    """command = the sum of so many terms, which stand one after another from an address on."""
    for j in range(command.size):
        total = 0.0
        for k in range(count):
            total += real_at(terms + WORD * (k * command.size + j))  # pyright: ignore[reportCallIssue]
        command[j] = total


class CommandSum(Record):
    """The law's command before the change; scratch."""

    command: Vector = sized("nv")


def _extended(name: str, parent: type[Record], fields: dict[str, Any], **values: Any) -> type[Record]:
    """A record class with more fields behind its parent's, which stay where they are."""
    return type(name, (parent,), {"__module__": __name__, "__annotations__": fields, **values})


@lru_cache(maxsize=64)
def _combined(law: Kernel, before: Kernel, after: Kernel, count: int) -> tuple[Kernel, tuple[type[Record], ...]]:
    """The kernel that strings the three together, and the classes of its gains, memory and terms."""
    gains, memory, terms = (argument.record for argument in law.stated.args[1:])
    settings, state = (argument.record for argument in before.stated.args[1:])
    of_law = f"{law.py_func.__module__}.{law.py_func.__name__}".replace(".", "_")
    whole = not marks_any(memory)
    Gains = _extended(f"GainsAround_{of_law}", gains, {"around": settings})
    Memory = _extended(
        f"MemoryAround_{of_law}", memory, {"around": state, "around_sum": CommandSum}, carried_whole=whole
    )
    Terms = _extended(f"TermsAround_{of_law}", terms, {CHANGE: Vector}, **{CHANGE: sized("nv")})

    @kernel
    def surrounded_law(x: Tick, k: Gains, m: Memory, out: Terms) -> None:  # pyright: ignore[reportInvalidTypeForm]
        before(x, k.around, m.around)
        law(x, k, m, out)
        _add_up(word_at(address_of_record(out)), count, m.around_sum.command)  # pyright: ignore[reportCallIssue]
        after(x, k.around, m.around, m.around_sum.command, out.change)

    return surrounded_law, (Gains, Memory, Terms)


def _with_fields(record: Record, kind: type[Record], **more: Any) -> Record:
    """A record of a class with more fields, on the same arrays."""
    return kind(**{name: getattr(record, name) for name in record.fields}, **more)


def surrounded(around: Around | None, here: Surroundings) -> BoundLaw:
    """The bound law with what stands around it, as one bound law; the law itself where nothing does."""
    if around is None:
        return here.bound
    law, settings, memory = here.bound, around.settings(here), around.memory(here)
    rows = np.vstack([law.rows, np.zeros(here.robot.nv)])
    shown = (*law.shown, *(replace(item, field=f"around.{item.field}") for item in around.shows(here)))
    changes: dict[str, Any] = {
        "surrounded": True,
        "terms": (*law.terms, CHANGE),
        "rows": rows,
        "needs": _needs(law, around),
        "shown": shown,
    }
    changes["remarks"] = lambda memory: [*law.remarks(memory), *around.remarks(memory.around)]
    changes["alarms"] = lambda memory: [*law.alarms(memory), *around.alarms(memory.around)]
    if not law.compiled:
        return _surrounded_python(around, law, (settings, memory), changes)
    function, (Gains, Memory, Terms) = _combined(law.function, type(around).before, type(around).after, len(law.terms))
    sizes = {"nq": here.robot.nq, "nv": here.robot.nv}
    return replace(
        law,
        function=function,
        gains=_with_fields(law.gains, Gains, around=settings),
        memory=_with_fields(law.memory, Memory, around=memory, around_sum=CommandSum(sizes)),
        answer=Terms.over(rows.reshape(-1), {**sizes, "terms": len(law.terms)}),
        **changes,
    )


def _needs(law: BoundLaw, around: Around) -> tuple[Need, ...]:
    """Terms of the model that any of them reads."""
    read = {*law.needs, *reads_of(type(around).before).needs, *reads_of(type(around).after).needs}
    return tuple(need for need in NEEDS if need in read)


class PlainMemory:
    """The memory of a law in plain Python, and of what stands around it."""

    def __init__(self, of_law: Any, around: Record) -> None:
        self.of_law, self.around = of_law, around


def _surrounded_python(
    around: Around, law: BoundLaw, records: tuple[Record, Record], changes: dict[str, Any]
) -> BoundLaw:
    """The same for a law in plain Python: both kernels are called from Python."""
    settings, memory = records
    before, after = type(around).before, type(around).after
    change, command = np.zeros(law.rows.shape[1]), np.zeros(law.rows.shape[1])

    def decided(tick: Any, gains: Any, both: PlainMemory) -> dict[str, Any]:
        record = tick._record if isinstance(tick, ReadOnly) else tick
        before(record, settings, both.around)
        terms = dict(law.function(tick, gains, both.of_law))
        command[:] = sum(np.asarray(value, dtype=float) for value in terms.values())
        after(record, settings, both.around, command, change)
        return {**terms, CHANGE: change.copy()}

    own: dict[str, Any] = {"remarks": lambda both: [*law.remarks(both.of_law), *around.remarks(both.around)]}
    own["alarms"] = lambda both: [*law.alarms(both.of_law), *around.alarms(both.around)]
    of_law = [replace(item, field=f"of_law.{item.field}") for item in law.shown]
    own["shown"] = (*of_law, *changes["shown"][len(of_law) :])
    return replace(law, function=decided, memory=PlainMemory(law.memory, memory), **{**changes, **own})
