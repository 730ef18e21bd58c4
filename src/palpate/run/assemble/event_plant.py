"""A plant that a tool brings along and that moves a run from event to event, in the place of the engine's physics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from palpate.run.loop.state import TouchReading
from palpate.trace import Event, Outcome
from palpate.world.config import World

if TYPE_CHECKING:
    from palpate.run.assemble.assemble import Assembly
    from palpate.run.stepping import Ending


class EventPlant(Protocol):
    """The calls that a run makes of such a plant."""

    @property
    def touches(self) -> Sequence[str]:
        """Names of its contacts."""
        ...

    @property
    def readings(self) -> list[TouchReading]:
        """Their forces, which the compiled loop reads."""
        ...

    def stepper(self, assembly: Assembly, ending: Ending) -> Callable[[int], int]:
        """A function that takes at most a given number of physics steps and returns the status of the last one."""
        ...

    def outcome(self, period: float) -> Outcome:
        """How the run ended, where the plant ended it."""
        ...

    def trace_events(self, period: float) -> list[Event]:
        """Events of the contacts, for the trace."""
        ...

    def event_table(self) -> list[dict[str, Any]]:
        """The same events with all their numbers."""
        ...

    def stop_warnings(self) -> list[str]:
        """Sentences about joint stops that were reached."""
        ...

    def assumptions(self, world: World) -> list[str]:
        """Sentences about the model of contact."""
        ...
