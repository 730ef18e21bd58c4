"""How near the edge of stability a loop is at a moment, as a fact of a few numbers; asked only where that is cheap."""

from __future__ import annotations

import math
from typing import Any

from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly
from palpate.run.saved import carried_words
from palpate.run.tangent.loop_poles import LoopPoles, poles_here, window

_SHARE = 0.25  # of the run's physics steps: what differentiating a tick may cost at most,
_AT_LEAST = 500  # or so many
_MOVES = 0.02  # rad/s or m/s: joints that are slower stand still, held by friction
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


def poles_at_end(assembly: Assembly) -> LoopPoles | None:
    """The poles of a loop that has come to its end; None where asking for them would take too long."""
    return poles_here(assembly, finer=False, probing=False) if affordable(assembly) else None


def edge_fact(poles: LoopPoles | None) -> dict[str, Any]:
    """The poles at the end of a run in a few numbers; empty where they are not known.

    Digits that differ between machines are left out.
    """
    mode = None if poles is None or poles.not_known is not None else poles.leading
    if poles is None or mode is None:
        return {}
    rate = -math.log(max(poles.largest, 1e-300)) / poles.period
    return {
        "largest": round(poles.largest, 6),
        "stable": poles.stable,
        "rate": float(f"{rate:.3g}"),
        "frequency": float(f"{mode.frequency:.3g}"),
        "joint": mode.joint,
    }


def edge_warnings(edge: dict[str, Any], speed: float) -> list[str]:
    """A warning of a loop that is unstable at the end of its run while its joints move at some speed, rad/s or m/s."""
    if edge.get("stable") is not False or speed < _MOVES:
        return []
    shakes = f", {edge['frequency']:g} Hz" if edge["frequency"] > 0.0 else ""
    return [
        f"at the end of the run the loop is UNSTABLE: an error grows by e^({-edge['rate']:g} t/s){shakes}, mostly of"
        f" {edge['joint'] or 'no joint'}; its largest pole is {edge['largest']:g} per control tick"
    ]
