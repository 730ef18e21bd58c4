"""How near the edge of stability a loop is at a moment, as a fact of a few numbers; asked only where that is cheap."""

from __future__ import annotations

import math
from typing import Any

from palpate.control.python_law import PythonLaw
from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly
from palpate.run.tangent.loop_poles import LoopPoles, window
from palpate.run.tangent.tick_map import LoopState

_SHARE = 0.25  # of the run's physics steps: what differentiating a tick may cost at most,
_AT_LEAST = 500  # or so many
_MOVES = 0.02  # rad/s or m/s: joints that are slower stand still where dry friction holds them,
_SHAKES = 1e-4  # and where there is none
_GROWN = 3.0  # natural logarithm of the growth after which a loop is called unstable
_MOST_NUMBERS = 400  # of the state: the poles of more take longer than the run


def affordable_state(assembly: Assembly) -> LoopState | None:
    """The state of a run that stands between two ticks; None where differentiating it would cost more than the run.

    None of a law in plain Python, too: its function is called at the run's ticks and never besides, as it may count,
    print or remember.
    """
    L = assembly.loop
    if assembly.run.robot.unresisted or L.step % L.ratio != 0 or isinstance(assembly.run.law, PythonLaw):
        return None
    try:
        state = LoopState(assembly)
    except PalpateError:
        return None
    steps = 2 * state.columns * L.ratio * window(assembly)
    most = max(_SHARE * L.steps, _AT_LEAST)
    return state if len(state.names) <= _MOST_NUMBERS and steps <= most else None


def rate_of(poles: LoopPoles, quiet: float) -> float | None:
    """1/s at which the slowest pole dies out; 0 where it does not, None where it is not known.

    Poles at a moment of a motion tell of errors from there on: that the loop is unstable is believed where nothing has
    changed for so long, `quiet` s, that an error would have grown twentyfold.
    """
    if poles.stable is None:
        return None
    rate = -math.log(max(poles.largest, 1e-300)) / poles.period
    return rate if poles.stable else 0.0 if -rate * quiet > _GROWN else None


def edge_fact(poles: LoopPoles | None, quiet: float) -> dict[str, Any]:
    """The poles at the end of a run in a few numbers; empty where they are not known.

    Digits that differ between machines are left out. `quiet` is the time in s since anything changed; see `rate_of`.
    """
    mode = None if poles is None or poles.not_known is not None else poles.leading
    if poles is None or mode is None:
        return {}
    rate = -math.log(max(poles.largest, 1e-300)) / poles.period
    return {
        "largest": round(poles.largest, 6),
        "stable": None if (known := rate_of(poles, quiet)) is None else known > 0.0,
        "rate": float(f"{rate:.3g}"),
        "frequency": float(f"{mode.frequency:.3g}"),
        "joint": mode.joint,
    }


def edge_warnings(edge: dict[str, Any], speed: float, *, rubs: bool) -> list[str]:
    """A warning of a loop that shakes: an oscillation that grows at the end of the run, while joints move.

    Args:
        edge: as `edge_fact` gives it.
        speed: of the fastest joint, rad/s or m/s.
        rubs: whether joints or surfaces have dry friction.
    """
    if edge.get("stable") is not False or speed < (_MOVES if rubs else _SHAKES) or edge["frequency"] == 0.0:
        return []
    return [
        f"at the end of the run the loop is UNSTABLE: an error grows by e^({-edge['rate']:g} t/s) at"
        f" {edge['frequency']:g} Hz, mostly of {edge['joint'] or 'no joint'}; its largest pole is"
        f" {edge['largest']:g} per control tick"
    ]
