"""How a run ended, and what happened on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from palpate.checks import finite_number, whole_number
from palpate.errors import InvalidInput, check_names

OutcomeKind = Literal["completed", "stopped", "diverged", "interrupted"]
OUTCOME_KINDS: tuple[OutcomeKind, ...] = get_args(OutcomeKind)


@dataclass(frozen=True)
class Outcome:
    """How a run ended: a value, so that a sweep of a thousand never dies of one.

    Attributes:
        kind: "completed" (reached its end), "stopped" (by a guard or stop condition, as designed), "diverged"
            (a number that is none, a clock that stood still) or "interrupted" (by the user).
        reason: one sentence.
        time: s, when it ended.
        tick: control tick at which it ended.
        where: the culprit, such as "tau.spring[joint2]".
    """

    kind: OutcomeKind
    reason: str
    time: float
    tick: int
    where: str | None = None

    def __post_init__(self) -> None:
        check_names("outcome", [self.kind], OUTCOME_KINDS)
        _check_text(self.reason, "reason of the outcome")
        if self.where is not None:
            _check_text(self.where, "cause (`where`) of the outcome")
        object.__setattr__(self, "time", finite_number(self.time, "time of the outcome"))
        object.__setattr__(self, "tick", whole_number(self.tick, "tick of the outcome"))

    @property
    def ok(self) -> bool:
        """Whether the run ended as designed: completed or stopped."""
        return self.kind in ("completed", "stopped")

    def __str__(self) -> str:
        location = f" in {self.where}" if self.where else ""
        return _one_line(f"{self.kind} at {self.time:.6g} s (tick {self.tick}){location}: {self.reason}")


@dataclass(frozen=True)
class Event:
    """Something that happened at one instant: a guard intervened, contact began, a warning was raised.

    Attributes:
        time: s.
        tick: control tick.
        source: who reports it, such as "guard.torque_limit" or "contact.wall".
        kind: what sort of thing, such as "intervention", "contact_start" or "warning".
        message: one sentence.
        value: the number that tripped it, in the unit the message names.
    """

    time: float
    tick: int
    source: str
    kind: str
    message: str
    value: float | None = None

    def __post_init__(self) -> None:
        for name in ("source", "kind", "message"):
            _check_text(getattr(self, name), f"{name} of the event")
        object.__setattr__(self, "time", finite_number(self.time, f"time of event {self.kind!r}"))
        object.__setattr__(self, "tick", whole_number(self.tick, f"tick of event {self.kind!r}"))
        if self.value is not None:
            object.__setattr__(self, "value", finite_number(self.value, f"value of event {self.kind!r}"))

    def __str__(self) -> str:
        value = "" if self.value is None else f" ({self.value:.6g})"
        head = f"{self.time:.6g} s (tick {self.tick}) {self.source} {self.kind}"
        return _one_line(f"{head}: {self.message}{value}")


def _check_text(text: object, name: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{name} must be a non-empty string, got {text!r}")


def _one_line(text: str) -> str:
    return " ".join(text.split())
