"""Runs with a push at their end: whether the joints come to rest again.

After the push the largest joint speed is watched over a quarter of the time that is left, and over the next one. A run
is quiet where it ends below 0.01 rad/s or m/s, or falls from one to the other, steadily: motors at their limits shake
with an amplitude that may be less at one time than at another. Where it is neither quiet nor grows, or falls and
rises, it is run four times as long. Where the reference still moves, the speeds are those beside the same run without
the push.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from palpate.checks import Array
from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.forecast.variants import Variants, moves_on, pushed
from palpate.run.run import Run
from palpate.run.tangent.loop_poles import run_until

QUIET = 0.01  # rad/s or m/s
SLOPE = 0.15  # 1/s of the logarithm of the speeds: less is neither growing nor falling
AFTER = 3.0  # s that are run after the push
_LONGER = 4.0
_EVERY = 7  # control ticks between two looks at the speeds: a prime, so that no shaking is seen at its zeros alone

Course = Literal["quiet", "shakes", "ends", "edge"]


def course_of(variants: Variants, run: Run, size: float = 1.0) -> Course:
    """Course of a run after a push at the end of its own duration: "quiet", "shakes", "ends" early or on the "edge".

    Args:
        variants: which the run is one of.
        run: of the variants' clock.
        size: of the push, as a share of the usual one.
    """
    course = _course(variants.ready(pushed(run, variants.end, size)), run, variants.end, AFTER)
    if course not in ("edge", "unsteady"):
        return course
    clock = run.clock.model_copy(update={"duration": variants.end + _LONGER * AFTER})
    longer = replace(run, clock=clock)
    course = _course(assemble(pushed(longer, variants.end, size)), longer, variants.end, _LONGER * AFTER)
    return "shakes" if course == "unsteady" else course


def _course(assembly: Assembly, run: Run, end: float, after: float) -> Course | Literal["unsteady"]:
    try:
        speeds = _speeds(assembly, end, after)
        if speeds is not None and moves_on(run, end, after):
            alone = _speeds(assemble(run), end, after)
            speeds = None if alone is None else speeds - alone
    except PalpateError:
        return "ends"
    if speeds is None:
        return "ends"
    size = np.abs(speeds).max(axis=1)
    before, last = (float(half.max()) for half in np.array_split(size, 2))
    if last < QUIET:
        return "quiet"
    slope = np.log(last / max(before, 1e-12)) / (0.25 * after)
    if slope < -SLOPE:
        pieces = [float(piece.max()) for piece in np.array_split(size, 4)]
        return "quiet" if pieces == sorted(pieces, reverse=True) else "unsteady"
    return "edge" if slope < SLOPE and last < 2.0 * QUIET else "shakes"


def _speeds(assembly: Assembly, end: float, after: float) -> Array | None:
    """Joint speeds over the second half of the time after the push; None where the run ends before."""
    L = assembly.loop
    first, last = (round((end + share * after) / L.period) for share in (0.5, 1.0))
    if not run_until(assembly, first):
        return None
    speeds = []
    while L.tick_count + _EVERY <= last:
        if not run_until(assembly, L.tick_count + _EVERY):
            return None
        speeds.append(np.array(L.plant.qvel))
    return np.array(speeds)
