"""Driving a search: the points that it asks for become stages, the rows of them its answers."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from palpate.tools.study.plans.points import PlannedRun, PlanStage

Driver = Generator[PlanStage, None, Any]


def drive_search(
    search: Generator[Any, Any, Any],
    points: Callable[[Any, int, int], list[PlannedRun]],
    answers: Callable[[int, int], Any],
    most: int | None = None,
) -> Driver:
    """Drive a search: the points that it asks for, from run `first` on, as a stage; then it is sent their answers.

    It ends with the search, whose answer is returned, or once `most` runs are made.
    """
    asked, first, level = next(search), 0, 0
    try:
        while True:
            made = points(asked, first, level)
            yield PlanStage(first, len(made), lambda a, b, made=made, first=first: made[a - first : b - first])
            if first + len(made) == most:
                return None
            asked = search.send(answers(first, len(made)))
            first, level = first + len(made), level + 1
    except StopIteration as end:
        return end.value
