"""Which joint angles of a robot add up: hinges about one direction, one after the other."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.derive.closed.harmonics import Run
from palpate.equations.model.coordinates import Coordinates
from palpate.equations.model.mechanism import Mechanism


def runs_of(mechanism: Mechanism, names: Coordinates) -> list[Run]:
    """Runs of parallel hinges from the base outwards; each hinge is in one run."""
    if mechanism.coupling is not None:
        return [Run((name,), (1,)) for name in names.angles]
    axes = _axes(mechanism)
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
    return [Run(tuple(names_), tuple(senses)) for names_, senses, _ in runs]


def _axes(mechanism: Mechanism) -> list[Array]:
    """Joint axes in the base frame at q = 0."""
    turns: list[Array] = []
    for link in mechanism.links:
        turns.append((turns[link.parent] if link.parent >= 0 else np.eye(3)) @ link.rotation)
    return [link.sign * rotation[:, link.axis] for link, rotation in zip(mechanism.links, turns)]


def _hinge_before(mechanism: Mechanism, index: int) -> int | None:
    """The nearest hinge that carries a link."""
    at = mechanism.links[index].parent
    while at >= 0 and mechanism.links[at].kind != "revolute":
        at = mechanism.links[at].parent
    return at if at >= 0 else None
