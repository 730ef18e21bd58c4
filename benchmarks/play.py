"""Moves of a slider: CPU time of the server from a page's request to the bytes of its answer, and over the run's own.

Each move is another wall, stiffness or delay of a Panda that presses for 4 s; the answer holds frames of the robot, the
force plot, metrics, and the forecast with the poles of the loop. "At rest" also has the poles at the start and at the
touch. The loop is the compiled run alone, with its samples kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import palpate as pp
from benchmarks import Measurement
from palpate.tools.play.session import Session

MOVES = 40


def measure() -> list[Measurement]:
    """Updates per CPU second, and CPU of an update over that of its loop."""
    rows = []
    for name, key, values in (
        ("the wall's stiffness", "world.surfaces.wall.stiffness", lambda k: 5e3 * (1.0 + 0.02 * k)),
        ("the law's stiffness", "control.stiffness", lambda k: [300.0 + 5.0 * k] * 3 + [20.0] * 3),
        ("the driver's delay", "world.driver.delay", lambda k: k % 12),
    ):
        update, loop = _medians(key, values)
        rows.append(Measurement(f"updates of a page, {name}", 1.0 / update, "per CPU second", 15.0, at_least=True))
        rows.append(Measurement(f"CPU of an update over its loop's, {name}", update / loop, "×", 4.0))
    return rows


def _medians(key: str, values: Callable[[int], Any]) -> tuple[float, float]:
    """Median CPU seconds of an update and of its loop."""
    taken = np.array(list(_moves(Session(pp.load_scenario("panda-wall")), key, values)))[5:]
    update, loop = np.median(taken, axis=0)
    return float(update), float(loop)


def _moves(session: Session, key: str, values: Callable[[int], Any]) -> Iterator[tuple[float, float]]:
    answer: Mapping[str, Any] = {"scene": -1}
    for k in range(MOVES):
        asked = {"page": "a", "number": k, "scene": answer["scene"], "settings": {key: values(k)}}
        start = time.process_time()
        answer = session.update(asked)
        json.dumps(answer).encode()
        yield time.process_time() - start, answer["cpu"]["loop"]
