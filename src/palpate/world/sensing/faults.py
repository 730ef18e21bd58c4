"""Faults on the clock: commands that do not arrive, sensors that break."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np

from palpate.config import Config, required, setting
from palpate.engine.kernels import kernel
from palpate.engine.records import Record
from palpate.errors import InvalidInput
from palpate.world.sensing.noise import uniform

FaultKind = Literal["commands-lost", "wrench-nan", "wrench-frozen", "wrench-dropout", "joints-frozen"]
FAULTS: tuple[str, ...] = get_args(FaultKind)
LOST, NAN, FROZEN, DROPOUT, STUCK = range(1, len(FAULTS) + 1)
LOSS, _STREAM = 5000, 6000  # streams of random numbers: of the driver's own losses, and of the first fault
_NEVER = 2**62  # ticks


class Fault(Config):
    """Something that fails at a time.

    commands-lost: the law's (or a client's) command does not arrive, and the last one is held. wrench-nan,
    wrench-frozen, wrench-dropout: the wrist sensor reads NaN, its last value, or exactly 0. joints-frozen: joint
    positions and velocities stay what they were.
    """

    name: str = setting("fault", "1", "name of the fault", min_length=1)
    what: FaultKind = required("1", "what fails")
    at: float = setting(0.0, "s", "when it begins", ge=0)
    duration: float | None = setting(None, "s", "how long it lasts; for ever if not given", gt=0)
    share: float = setting(1.0, "1", "of commands-lost: with which probability each command is lost", gt=0, le=1)

    @property
    def end(self) -> float:
        """When it is over, s; infinite if never."""
        return math.inf if self.duration is None else self.at + self.duration


class FaultState(Record):
    """A fault in compiled code: its kind, and its control ticks [first, last)."""

    kind: int
    first: int
    last: int
    share: float


def fault_state(fault: Fault, period: float) -> FaultState:
    """A fault on the grid of control ticks, s apart."""
    first, last = (math.ceil(min(time / period, _NEVER) - 1e-9) for time in (fault.at, fault.end))
    return FaultState(kind=FAULTS.index(fault.what) + 1, first=first, last=last, share=fault.share)


@kernel
def fault_now(faults: list[FaultState], lowest: int, highest: int, seed: int, count: int) -> int:
    """The first fault of a kind between two that is there at a control tick; 0 for none."""
    for k in range(len(faults)):
        f = faults[k]
        there = lowest <= f.kind <= highest and f.first <= count < f.last
        if there and (f.share >= 1.0 or uniform(seed, _STREAM + k, count) < f.share):
            return f.kind
    return 0


def lost_commands(faults: Iterable[Fault], seed: int, period: float, ticks: int, *, loss: float = 0.0) -> np.ndarray:
    """At which of the first control ticks the command is lost, as a run has it; `loss` is the driver's own."""
    lost = np.array([loss > 0.0 and uniform(seed, LOSS, count) < loss for count in range(ticks)], dtype=bool)
    for k, fault in enumerate(faults):
        state = fault_state(fault, period)
        for count in range(state.first, min(state.last, ticks) if state.kind == LOST else 0):
            lost[count] |= state.share >= 1.0 or uniform(seed, _STREAM + k, count) < state.share
    return lost


def read_fault(text: str) -> Fault:
    """A fault from `WHAT@T`, or `WHAT@T+S` for one that lasts S seconds.

    Raises:
        InvalidInput: it is not written so.
    """
    number = r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    match = re.fullmatch(rf"([a-z-]+)@{number}(?:\+{number})?", text)
    if match is None or match[1] not in FAULTS or (match[3] is not None and float(match[3]) == 0.0):
        raise InvalidInput(
            f"{text!r} is no fault; it is written WHAT@T or WHAT@T+S, with WHAT one of {', '.join(FAULTS)}",
            hint="commands-lost@2.5+0.02 loses the commands of 20 ms from 2.5 s on",
        )
    lasting = {} if match[3] is None else {"duration": float(match[3])}
    return Fault.model_validate({"name": text, "what": match[1], "at": float(match[2]), **lasting})
