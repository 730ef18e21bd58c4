"""Report of a law on itself, for readers of a run: what the trace records of it, and what is said in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from palpate.control.shown import ComputedNumber, Shown
from palpate.robot.robot import Robot

# What a report shows first: the tool's path against its line and u/U, a pole's tilt and path, the frame that yields, or
# the force and where the tool is along it. Without one the contact force or, where nothing is touched, the error.
Figure = Literal["straight-path", "balance", "compliant-frame", "force"]


def no_sentences(memory: Any) -> list[str]:
    """Nothing to say."""
    return []


def ended_by_law(memory: Any) -> str:
    """The reason of a law that gives none."""
    return "the law ended the run"


def no_numbers(robot: Robot) -> tuple[ComputedNumber, ...]:
    """Nothing computed."""
    return ()


@dataclass(frozen=True)
class LawReport:
    """Statements of a law about itself and its run; everything has a default.

    Attributes:
        shown: what the trace records of the memory.
        remarks: from the memory at the end, sentences on what the law did that its reader should know.
        alarms: likewise, where the law did not keep what it promises; warnings of the run.
        ending: the shown number that ends the run once it is above 0.5.
        ended: from the memory, why the run was ended by it.
        figure: what to see first of a run.
        computed: numbers that it computes from its settings for a robot and a reader asks for: gains, poles, bounds.
        literature: DOIs.
    """

    shown: tuple[Shown, ...] = ()
    remarks: Callable[[Any], list[str]] = no_sentences
    alarms: Callable[[Any], list[str]] = no_sentences
    ending: str | None = None
    ended: Callable[[Any], str] = ended_by_law
    figure: Figure | None = None
    computed: Callable[[Robot], tuple[ComputedNumber, ...]] = no_numbers
    literature: tuple[str, ...] = ()


def sentences_that_hold(conditions: Mapping[str, object]) -> list[str]:
    """The sentences whose condition is true, for remarks and alarms."""
    return [sentence for sentence, holds in conditions.items() if holds]
