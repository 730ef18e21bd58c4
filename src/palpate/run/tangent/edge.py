"""How near the edge of stability a loop is at a moment, as a fact of a few numbers; asked only where that is cheap."""

from __future__ import annotations

import math
from typing import Any

from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly
from palpate.run.tangent.loop_poles import LoopPoles, window
from palpate.run.tangent.tick_map import LoopState

_SHARE = 0.25  # of the run's physics steps: what differentiating a tick may cost at most,
_AT_LEAST = 500  # or so many
_MOVES = 0.02  # rad/s or m/s: joints that are slower stand still, held by friction
_MOST_NUMBERS = 400  # of the state: the poles of more take longer than the run


def affordable_state(assembly: Assembly) -> LoopState | None:
    """The state of a run that stands between two ticks; None where differentiating it would cost more than the run."""
    L = assembly.loop
    if assembly.run.robot.unresisted or L.step % L.ratio != 0:
        return None
    try:
        state = LoopState(assembly)
    except PalpateError:
        return None
    steps = 2 * state.columns * L.ratio * window(assembly)
    most = max(_SHARE * L.steps, _AT_LEAST)
    return state if len(state.names) <= _MOST_NUMBERS and steps <= most else None


def rate_of(poles: LoopPoles) -> float | None:
    """1/s at which the slowest pole dies out; 0 where it does not, None where it is not known."""
    if poles.stable is None:
        return None
    return -math.log(max(poles.largest, 1e-300)) / poles.period if poles.stable else 0.0


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
