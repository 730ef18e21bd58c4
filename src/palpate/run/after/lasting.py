"""Whether contact lasted, beside what was foretold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.checks import Array
from palpate.control.design.press import Press

_LAST = 1 / 3  # of the time since the first touch, that is judged
_LOST, _FREE = 3, 0.02  # times, and share of that time without contact, from which on it counts as bouncing


def contact_story(named: Mapping[str, Array], presses: Mapping[str, Press | str]) -> tuple[list[str], list[str]]:
    """What happened, beside what was foretold, and a warning where contact did not last as it should have."""
    force = named.get("contact_force")
    touched = np.flatnonzero(force > 0) if force is not None else np.zeros(0, dtype=int)
    if force is None or not len(touched):
        return [], []
    since = force.ravel()[touched[0] :] > 0
    breaks = int(np.count_nonzero(since[:-1] & ~since[1:]))
    text = f"in contact {100 * since.mean():.3g} % of the time since the first touch, lost {breaks} times"
    foretold = [press for press in presses.values() if isinstance(press, Press)]
    if not foretold or not _undisturbed(named, len(since)):
        return [f"what happened: {text}"], []
    bounced, predicted = _bounces(since), any(press.bounces for press in foretold)
    agrees = "as foretold" if bounced == predicted else "not as foretold"
    return [f"what happened: {text}; {agrees}"], _warning(since, named["time"], predicted) if bounced else []


def _undisturbed(named: Mapping[str, Array], samples: int) -> bool:
    """Whether nothing else took the tool away in the last third: no push."""
    last = -max(int(_LAST * samples), 1)
    return "push_wrench" in named and not named["push_wrench"][last:].any()


def _bounces(since: Array) -> bool:
    last = since[-max(int(_LAST * len(since)), 1) :]
    return int(np.count_nonzero(last[:-1] & ~last[1:])) >= _LOST and 1.0 - last.mean() > _FREE


def _warning(since: Array, times: Array, predicted: bool) -> list[str]:
    last = since[-max(int(_LAST * len(since)), 1) :]
    lost, span = int(np.count_nonzero(last[:-1] & ~last[1:])), float(times[-1] - times[-len(last)])
    foretold = "as was foretold" if predicted else "although it was foretold to last"
    return [
        f"contact bounces: lost {lost} times in the last {span:.3g} s, {100 * (1 - last.mean()):.3g} % of them without"
        f" contact, {foretold}; more damping of the wall or law, less delay of the wrench, or a slower approach end it"
    ]
