"""How near the edge of stability a loop is at a moment, as a fact of a few numbers; asked only where that is cheap."""

from __future__ import annotations

import math
from typing import Any

from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly
from palpate.run.saved import carried_words
from palpate.run.tangent.loop_poles import LoopPoles, window

_SHARE = 0.25  # of the run's physics steps: what differentiating a tick may cost at most,
_AT_LEAST = 500  # or so many
_MOST_NUMBERS = 400  # of the state: the poles of more take longer than the run


def affordable(assembly: Assembly) -> bool:
    """Whether the poles of a run that has ended cost little beside the run itself."""
    L = assembly.loop
    if assembly.run.robot.unresisted or L.step % L.ratio != 0:
        return False
    try:
        fields = carried_words(assembly).fields
    except PalpateError:
        return False
    numbers = sum(f.size for f in fields if f.real and f.how.moves)
    rings = sum(f.size - 2 * f.shape[1] for f in fields if f.real and f.how.moves and f.how.counter and f.shape[0] > 1)
    steps = 2 * (numbers - rings) * L.ratio * window(assembly)
    return numbers <= _MOST_NUMBERS and steps <= max(_SHARE * L.step, _AT_LEAST)


def rate_of(poles: LoopPoles) -> float | None:
    """1/s at which the slowest pole dies out; 0 where it does not, None where it is not known."""
    if poles.stable is None:
        return None
    return -math.log(max(poles.largest, 1e-300)) / poles.period if poles.stable else 0.0


def edge_fact(poles: LoopPoles | None) -> dict[str, Any]:
    """The poles at the end of a run in a few numbers; empty where they are not known.

    Keys: `largest` (the largest |λ| per control tick), `stable`, `rate` (1/s), `frequency` (Hz), `joint` and `contact`
    of its mode.
    """
    mode = None if poles is None or poles.not_known is not None else poles.leading
    if poles is None or mode is None:
        return {}
    return {
        "largest": poles.largest,
        "stable": poles.stable,
        "rate": -math.log(max(poles.largest, 1e-300)) / poles.period,
        "frequency": mode.frequency,
        "joint": mode.joint,
        "contact": dict(poles.contact),
    }
