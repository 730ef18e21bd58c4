from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.trace.outcome import OutcomeKind

_WRENCH = ("N",) * 3 + ("N·m",) * 3
_TWIST = ("m/s",) * 3 + ("rad/s",) * 3
UNITS: dict[str, Any] = {
    "q": "rad", "target_q": "rad", "tau": "N·m", "tool_position": "m", "target_position": "m", "tool_quat_wxyz": "1",
    "target_quat_wxyz": "1", "tool_twist": _TWIST, "contact_wrench": _WRENCH, "target_wrench": _WRENCH,
    "contact_force": "N", "penetration": "m", "guard": "1",
}  # fmt: skip

MakeTrace = Callable[..., Trace]


@pytest.fixture
def make() -> MakeTrace:
    """A trace from a time axis and channels by name; dots in names are written as double underscores."""

    def build(
        time: Any, *, info: dict | None = None, kind: OutcomeKind = "completed", units=None, **data: Any
    ) -> Trace:
        time = np.asarray(time, dtype=float)
        channels = {}
        for key, values in data.items():
            name, values = key.replace("__", "."), np.asarray(values, dtype=float)
            unit = (units or {}).get(name) or UNITS.get(name, "J")
            channels[Channel(name, unit, values.shape[1:])] = values
        return Trace(
            time,
            channels,
            Outcome(kind, "as told", float(time[-1]), len(time) - 1),
            facts=RunFacts.from_data(info or {}),
        )

    return build
