"""Choice of what a run records, made before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from palpate.checks import finite_number, whole_number
from palpate.errors import InvalidInput, UnknownName, shortened
from palpate.trace.channel import TIME, Channel

LONGEST_STRIDE = 10**12


@dataclass(frozen=True)
class Recording:
    """Which channels to record, and how often.

    Attributes:
        channels: names, or "all". Time is always recorded and may be named.
        stride: record ticks 0, stride, 2·stride, …
        points: offer force and position of each compliant and rigid contact of the robot as channels, too.
    """

    channels: tuple[str, ...] | Literal["all"] = "all"
    stride: int = 1
    points: bool = False

    def __post_init__(self) -> None:
        several = isinstance(self.channels, list | tuple)
        if not several and not (isinstance(self.channels, str) and self.channels == "all"):
            raise InvalidInput(
                f'channels must be "all" or a tuple of names, got {self.channels!r}',
                hint=f"write ({self.channels!r},)",
            )
        if several:
            object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "stride", whole_number(self.stride, "recording stride", least=1))
        if self.stride > LONGEST_STRIDE:
            raise InvalidInput(f"recording stride must be at most {LONGEST_STRIDE}, got {shortened(str(self.stride))}")

    def choose(self, available: Iterable[Channel]) -> tuple[Channel, ...]:
        """The channels to record, time aside, in the order of `available`.

        Raises:
            UnknownName: a chosen name is not available.
        """
        offered = {channel.name: channel for channel in available if channel.name != TIME.name}
        if self.channels == "all":
            return tuple(offered.values())
        for name in self.channels:
            if name not in offered and name != TIME.name:
                raise UnknownName("channel", str(name), (TIME.name, *offered))
        return tuple(channel for name, channel in offered.items() if name in self.channels)


@dataclass(frozen=True)
class StopWhen:
    """An event that ends the run: a recorded column leaves a bound.

    Attributes:
        column: name of a column, such as "contact_force" or "tool_position[x]".
        above, below: the bound; exactly one.
        magnitude: compare |value| with `above`.

    Several events end the run at whichever comes first.
    """

    column: str
    above: float | None = None
    below: float | None = None
    magnitude: bool = False

    def __post_init__(self) -> None:
        if (self.above is None) == (self.below is None):
            raise InvalidInput(f"event on {self.column!r} needs exactly one of above and below")
        if self.magnitude and self.below is not None:
            raise InvalidInput(f"event on {self.column!r}: magnitude goes with above, not with below")
        if not isinstance(self.column, str):
            raise InvalidInput(f"an event watches a column by its name, got {self.column!r}")
        given = self.above if self.above is not None else self.below
        finite_number(given, f"bound of the event on {self.column!r}")  # pyright: ignore[reportArgumentType]

    @property
    def bound(self) -> float:
        """The number that the column is compared with."""
        return float(self.above if self.above is not None else self.below)  # pyright: ignore[reportArgumentType]
