"""Numbers that a law shows of itself: those of its memory that the trace records, and those computed before the run."""

from __future__ import annotations

from dataclasses import dataclass

from palpate.checks import Array
from palpate.engine.records import Record


@dataclass(frozen=True)
class Shown:
    """Something a law keeps in its memory and the trace records as a channel.

    Attributes:
        name: of the channel, after "law."; one with a dot in it is the whole name.
        field: of the memory; a dot leads into a record inside.
        unit, labels, frame, help: as a channel has them.
    """

    name: str
    field: str
    unit: str | tuple[str, ...] = "1"
    labels: tuple[str, ...] = ()
    frame: str | None = None
    help: str = ""

    @property
    def channel(self) -> str:
        """Name of the channel."""
        return self.name if "." in self.name else f"law.{self.name}"

    def source(self, memory: Record) -> Array:
        """The numbers themselves, where they lie in the memory."""
        *path, last = self.field.split(".")
        for name in path:
            memory = getattr(memory, name)
        return memory.view(last)


@dataclass(frozen=True)
class ComputedNumber:
    """A number that a law computes from its settings before the run, for a reader: gains, poles, bounds.

    Attributes:
        name: as its equation has it.
        value: a number, a text or a list of them.
        unit, help: as a setting has them.
    """

    name: str
    value: float | str | list[float] | list[str]
    unit: str = "1"
    help: str = ""
