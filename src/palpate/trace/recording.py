"""What to keep of a run, said before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from palpate.errors import InvalidInput, UnknownName
from palpate.trace.channel import TIME, Channel
from palpate.trace.plain import whole_number


@dataclass(frozen=True)
class Recording:
    """Which channels to record, and how often.

    Attributes:
        channels: names, or "all". Time is always recorded and may be named.
        stride: record ticks 0, stride, 2·stride, …
    """

    channels: tuple[str, ...] | Literal["all"] = "all"
    stride: int = 1

    def __post_init__(self) -> None:
        several = isinstance(self.channels, list | tuple)
        if not several and self.channels != "all":
            raise InvalidInput(
                f'channels must be "all" or a tuple of names, got {self.channels!r}',
                hint=f"write ({self.channels!r},)",
            )
        if several:
            object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "stride", whole_number(self.stride, "recording stride", least=1))

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
