"""Runs of angles that add up, such as those of parallel hinges, and sines and cosines of their sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.equations.model.mechanism import Mechanism
from palpate.equations.model.naming import CoordinateNames

Angle = tuple[tuple[str, int], ...]  # (name, multiple), in the order of the run
Wave = tuple[int, Angle]  # COS or SIN of an angle


@dataclass(frozen=True)
class AngleSum:
    """Angles that add up, in order, each with the sense in which it counts."""

    names: tuple[str, ...]
    senses: tuple[int, ...]


Part = tuple[int, tuple[int, ...]]  # COS or SIN, multiples of the run's partial sums


def runs_of(mechanism: Mechanism, names: CoordinateNames) -> list[AngleSum]:
    """Runs of parallel hinges from the base outwards; each hinge is in one run."""
    if mechanism.coupling is not None:
        return [AngleSum((name,), (1,)) for name in names.angles]
    axes = mechanism.axes
    last: dict[int, int] = {}  # link at the end of a run → the run's number
    runs: list[tuple[list[str], list[int], Array]] = []
    offset = len(names.q) - len(mechanism.links)
    for index, link in enumerate(mechanism.links):
        if link.kind != "revolute":
            continue
        before = _hinge_before(mechanism, index)
        name = names.q[index + offset]
        run = last.pop(before, None) if before is not None else None
        if run is not None and abs(abs(axes[index] @ runs[run][2]) - 1) < 1e-9:
            runs[run][0].append(name)
            runs[run][1].append(int(np.sign(axes[index] @ runs[run][2])))
            last[index] = run
        else:
            runs.append(([name], [1], axes[index]))
            last[index] = len(runs) - 1
    return [AngleSum(tuple(names_), tuple(senses)) for names_, senses, _ in runs]


def _hinge_before(mechanism: Mechanism, index: int) -> int | None:
    """The nearest hinge that carries a link."""
    at = mechanism.links[index].parent
    while at >= 0 and mechanism.links[at].kind != "revolute":
        at = mechanism.links[at].parent
    return at if at >= 0 else None
