"""The record of a run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, as_numbers, finite_array, finite_number
from palpate.display import shown
from palpate.errors import InvalidInput, NotFinite, TraceError, UnknownName, shortened
from palpate.trace.channel import TIME, Channel
from palpate.trace.facts import RunFacts
from palpate.trace.outcome import Event, Outcome
from palpate.trace.save import save_trace

T = TypeVar("T")


class ByName(dict[str, T]):
    """A dict of channels' things that answers an unknown name with the nearest known ones."""

    def __missing__(self, name: str) -> T:
        raise UnknownName("channel", str(name), self)

    def __getitem__(self, name: str) -> T:
        if not isinstance(name, str):
            raise UnknownName("channel", shortened(str(name)), self)
        return super().__getitem__(name)


def named_channels(channels: Iterable[Channel]) -> dict[str, Channel]:
    """Channels by name, time first."""
    return ByName({channel.name: channel for channel in (TIME, *channels)})


class Trace:
    """Record of a run: sampled channels over time, events, and how it ended.

    `trace["q"]` is an array (samples × shape), float64 and read-only; `trace["time"]` is `trace.time`.
    Iterating gives channel names, time first; `len(trace)` is the number of samples. Every number is finite:
    the trace of a run that diverged ends before the first number that is none.

    Attributes:
        outcome: how the run ended.
        events: guard interventions, contacts and warnings in order of time.
        facts: what the run was: scenario, law, seed, versions, warnings, remarks, assumptions, scene.
        signals: what metrics have worked out of it, kept for each other.
    """

    def __init__(
        self,
        time: ArrayLike,
        data: Mapping[Channel, ArrayLike],
        outcome: Outcome,
        events: Iterable[Event] = (),
        facts: RunFacts | None = None,
        *,
        own: bool = False,
    ) -> None:
        """Take copies of everything.

        Args:
            time: s, strictly rising, (samples,).
            data: each recorded channel with its values, (samples, *channel.shape).
            outcome: how the run ended.
            events: what happened on the way.
            facts: what the run was.
            own: keep the arrays themselves instead of copies; the caller must not change them.

        Raises:
            BadShape: values do not fit the channel's shape or the number of samples.
            NotFinite: a NaN or infinity; the message names channel, column and time.
            InvalidInput: time does not rise, or two channels share a name.
        """
        instants = _read_only(_rising(time), own)
        self._channels: Final = _named((TIME, *data))
        self._arrays: Final = ByName({TIME.name: instants})
        for channel, values in data.items():
            self._arrays[channel.name] = _read_only(_samples(channel, values, instants), own)
        self.outcome: Final = outcome
        self.events: Final = tuple(sorted(events, key=lambda event: event.time))
        self.facts: Final = RunFacts() if facts is None else facts
        self.signals: Final[dict[str, Any]] = {}

    @classmethod
    def over(
        cls, arrays: Mapping[str, Array], channels: Mapping[str, Channel], outcome: Outcome, facts: RunFacts
    ) -> Trace:
        """A trace over existing arrays, which are not validated; channels are `named_channels`."""
        trace = cls.__new__(cls)
        held = ByName(arrays) if isinstance(arrays, dict) else arrays
        trace.__dict__.update(_channels=channels, _arrays=held, outcome=outcome, events=(), facts=facts, signals={})
        return trace

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before the numbers are believed."""
        return self.facts.warnings

    @property
    def time(self) -> Array:
        """Instants of the samples, s, (samples,)."""
        return self._arrays[TIME.name]

    @property
    def channels(self) -> dict[str, Channel]:
        """Each channel by its name, time first."""
        return ByName(self._channels)

    @property
    def units(self) -> dict[str, str | tuple[str, ...]]:
        """Each channel's unit by its name: one text, or one per column where they differ."""
        return ByName({name: channel.unit for name, channel in self._channels.items()})

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._channels

    def __iter__(self) -> Iterator[str]:
        return iter(self._channels)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return shown("summary_text")(self)

    def __reduce__(self) -> tuple[Any, ...]:
        data = {self._channels[name]: self[name] for name in self if name != TIME.name}
        return Trace, (self.time, data, self.outcome, self.events, self.facts)

    def at(self, time: float) -> dict[str, Array]:
        """Every channel's latest sample at or before `time` (s)."""
        time = finite_number(time, "time")
        index = int(np.searchsorted(self.time, time, side="right")) - 1
        if index < 0:
            start = f"begins at {self.time[0]:g} s" if len(self) else "has no samples"
            raise TraceError(f"no sample at or before {time:g} s: the trace {start}")
        return {name: self[name][index] for name in self}

    def slice(self, start: float = -np.inf, stop: float = np.inf) -> Trace:
        """The samples and events with start ≤ time ≤ stop (s); outcome and facts stay."""
        start, stop = _instant(start, "start"), _instant(stop, "stop")
        rows = (self.time >= start) & (self.time <= stop)
        data = {channel: self[name][rows] for name, channel in self._channels.items() if name != TIME.name}
        events = [event for event in self.events if start <= event.time <= stop]
        return Trace(self.time[rows], data, self.outcome, events, self.facts)

    def table(self) -> dict[str, Array]:
        """Flat columns (samples,) by their names, time first: `time`, `q[joint1]`, `q[joint2]`, …"""
        columns: dict[str, Array] = {}
        for name, channel in self._channels.items():
            columns.update(zip(channel.columns, self[name].reshape(len(self), channel.size).T))
        return columns

    def fingerprint(self) -> str:
        """SHA-256 of the data, in hex: every bit of every channel, with its name, unit, shape and frame."""
        digest = hashlib.sha256()
        for name in sorted(self):
            channel = self._channels[name]
            meaning = [name, channel.column_units, channel.shape, channel.columns, channel.frame, len(self)]
            digest.update(json.dumps(meaning).encode())
            digest.update(self[name].astype("<f8", copy=False).data)
        return digest.hexdigest()

    def equals(self, other: Trace) -> bool:
        """Whether both hold the same data, bit for bit; outcome, events and facts are not compared."""
        return self.fingerprint() == other.fingerprint()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace whole or not at all; the suffix decides how.

        `.parquet` and `.npz` keep everything and load again; `.csv` keeps the numbers, units in its header.

        Raises:
            TraceError: another suffix.
            FileError: the file cannot be written; an older one of that name is untouched.
        """
        return save_trace(self, path)

    # ------------------------------------------------------------------ in a notebook

    def plot(self, *channels: str, axes: Any = None) -> Any:
        """Plot channels or columns over time with their units, one pair of axes per unit.

        Args:
            channels: such as "contact_force", "q" (every joint) or "q[joint1]"; nothing plots what a report would show
                first.
            axes: matplotlib axes to draw on, if all channels share one unit; a new figure if not given.

        Returns:
            matplotlib's axes, or a list of them where there are several.

        Raises:
            UnknownName: no such channel or column.
        """
        return shown("plot")(self, channels, axes)

    def to_pandas(self) -> Any:
        """A pandas DataFrame: one column per number, index time in s; `frame.attrs["units"]` has the units.

        Raises:
            TraceError: pandas is not installed.
        """
        return shown("to_pandas")(self)

    def to_xarray(self) -> Any:
        """An xarray Dataset: one variable per channel over time and its labels, each with its unit in `attrs`.

        Raises:
            TraceError: xarray is not installed.
        """
        return shown("to_xarray")(self)

    def replay(self) -> Any:
        """The 3D replay, shown where a notebook shows a result; `.save(path)` writes it as a page."""
        return shown("shown_replay")(self)

    def _repr_html_(self) -> str:
        return shown("trace_html")(self)


def _instant(value: float, name: str) -> float:
    """A time or ±∞."""
    number = as_numbers(value, name)
    if number.shape != () or np.isnan(number):
        raise InvalidInput(f"{name} must be a time in s, got {value!r}")
    return float(number)


def _named(channels: Iterable[Channel]) -> ByName[Channel]:
    by_name: ByName[Channel] = ByName()
    for channel in channels:
        if channel.name in by_name:
            hint = "time is given on its own" if channel.name == TIME.name else None
            raise InvalidInput(f"two channels are called {channel.name!r}", hint=hint)
        by_name[channel.name] = channel
    return by_name


def _rising(time: ArrayLike) -> Array:
    instants = finite_array(time, "time", (None,))
    stalls = np.flatnonzero(np.diff(instants) <= 0)
    if len(stalls):
        i = int(stalls[0])
        raise InvalidInput(f"time must rise strictly, got {instants[i]} s then {instants[i + 1]} s at index {i + 1}")
    return instants


def _samples(channel: Channel, values: ArrayLike, time: Array) -> Array:
    try:
        return finite_array(values, f"channel {channel.name!r}", (len(time), *channel.shape))
    except NotFinite:
        flat = np.asarray(values, dtype=np.float64).reshape(len(time), channel.size)
        row, column = np.argwhere(~np.isfinite(flat))[0]
        raise NotFinite(
            f"channel {channel.name!r} must be finite, got {flat[row, column]} in {channel.columns[column]} "
            f"at {time[row]:g} s (sample {row})",
            hint="end the trace before that sample and say so in its outcome",
        ) from None


def _read_only(array: Array, own: bool) -> Array:
    kept = array if own else array.copy()
    kept.flags.writeable = False
    return kept
