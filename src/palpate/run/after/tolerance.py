"""Five rules of what a closed loop may leave of its promise at the end of a run, each a formula with its numbers.

    settling    2 (1 + r t) e^(−r t) of the largest error since the last change, t ago, with r the rate of the loop's
                slowest pole at the end; at most 2 v / r, how far what moves at v can still come
    yielding    a tenth of where the wrench on the tool has moved it, of an angle at least half its square: the loop's
                compliance is that of small motions
    lag         2 v (delays + 1.5 T + 1/r, the last where the law is not told the target's speed), and a / r² of its
                acceleration
    statics     where dry friction and declared differences move it against the law's stiffness, up to a tenth of the
                motion asked for; friction of the arm as built up to half of it, and wholly where none was asked for
    noise       3 σ of what noisy sensors cause

To their sum a hundredth of the motion is added, below which nothing is judged: the steps of integrators and references.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SAFETY = 2.0  # on what a linear loop leaves: arms are not linear
YIELDED = 0.1  # of where a wrench moves the tool: by how much that may differ from small motions
STATIC = 0.1  # of the motion asked for, up to which friction and declared differences are tolerated
AS_BUILT = 0.5  # the same of friction that the arm as built has
SIGMAS = 3.0  # of the scatter
RESOLUTION = 0.01  # of the motion: less is not judged
HOLD = 1.5  # control periods by which a sampled loop is late: held for one, computed half a one ago on average


@dataclass(frozen=True)
class Span:
    """How far something was asked to go, and how far it went or was asked to; m, rad or N."""

    asked: float
    moved: float


def settling(largest: float, rate: float | None, quiet: float, speed: float = math.inf) -> float:
    """Remainder of an error; infinite where nothing is known of the loop, zero for one that never settles.

    Args:
        largest: size of the error since the last change.
        rate: 1/s, of the slowest pole; 0 where the loop is not stable, None where it is not known.
        quiet: s since the last change.
        speed: of what is judged, at the end.
    """
    if rate is None:
        return math.inf
    if rate <= 0.0:
        return 0.0
    exponent = min(rate * quiet, 700.0)
    return SAFETY * min((1.0 + exponent) * math.exp(-exponent) * largest, speed / rate)


def yielding(yielded: float, *, turns: bool = False) -> float:
    """By how much the place to which a wrench moves the tool may differ from the one that its compliance gives.

    Rotations, in rad, add up to first order only: half the square of one is left.
    """
    return max(YIELDED * yielded, 0.5 * yielded**2 if turns else 0.0)


def lag(speed: float, acceleration: float, late: float, rate: float | None, *, told_speed: bool) -> float:
    """How far a moving target is ahead.

    Args:
        speed, acceleration: of the target.
        late: s, of sensors, driver and hold; see `HOLD`.
        rate: 1/s, of the slowest pole; 0 or None where it says nothing of a lag.
        told_speed: whether the law reads the target's speed.
    """
    if speed <= 0.0:
        return 0.0
    if not rate or rate < 0.0:
        return math.inf
    behind = 0.0 if told_speed else 1.0 / rate
    return SAFETY * (speed * (late + behind) + acceleration / rate**2)


def statics(friction: float, others: float, span: Span, *, as_built: bool) -> float:
    """How much of what friction and declared differences can do is tolerated.

    Args:
        friction: how far dry friction can hold it off.
        others: how far the other differences move it.
        span: of the motion.
        as_built: whether all friction is the arm's own.
    """
    most = STATIC * span.moved
    if not as_built:
        return min(friction + others, most)
    return min(friction, AS_BUILT * span.moved if span.asked > 0.0 else math.inf) + min(others, most)


def noise(scatter: float) -> float:
    """Error that noisy sensors cause, from its standard deviation."""
    return SIGMAS * scatter


def resolution(span: Span) -> float:
    """Smallest error that is judged."""
    return RESOLUTION * span.moved
