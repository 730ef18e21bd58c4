"""Measured, never asserted: `python -m benchmarks` times palpate beside its peers and prints a table.

A benchmark is a module here with a function `measure() -> list[Measurement]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    Attributes:
        name: what was measured.
        value: the number, in `unit`.
        goal: a bound the project aims at, or None; an upper one, unless `at_least`.
    """

    name: str
    value: float
    unit: str
    goal: float | None = None
    at_least: bool = False

    def reaches(self, value: float) -> bool | None:
        """Whether a value meets the goal; None without one."""
        if self.goal is None:
            return None
        return value >= self.goal if self.at_least else value <= self.goal


def interleaved_medians(
    contenders: Mapping[str, Callable[[], object]], rounds: int, batch: int = 1
) -> dict[str, float]:
    """Median seconds per call, the contenders taking turns so that a busy machine slows all of them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for call in contenders.values():
        call()
    for _ in range(rounds):
        for name, call in contenders.items():
            start = time.perf_counter()
            for _ in range(batch):
                call()
            seconds[name].append((time.perf_counter() - start) / batch)
    return {name: float(np.median(taken)) for name, taken in seconds.items()}
