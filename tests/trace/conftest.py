from __future__ import annotations

import numpy as np
import pytest

from palpate.trace import Channel, Event, Outcome, RunFacts, Trace

WRENCH_UNITS = ("N", "N", "N", "N·m", "N·m", "N·m")


@pytest.fixture
def trace() -> Trace:
    """A short run with every sort of channel in it."""
    samples = 40
    random = np.random.default_rng(7)
    channels = (
        Channel("q", "rad", (2,), labels=("joint1", "joint2")),
        Channel("tau.spring", "N·m", (2,), labels=("joint1", "joint2")),
        Channel("wrench_true", WRENCH_UNITS, (6,), "world", ("fx", "fy", "fz", "nx", "ny", "nz")),
        Channel("rotation_tool", "1", (3, 3), "world"),
        Channel("penetration", "m", help="depth of the tool below the surface"),
    )
    return Trace(
        np.arange(samples) * 0.001,
        {channel: random.normal(size=(samples, *channel.shape)) for channel in channels},
        Outcome("stopped", "force limit reached", 0.04, 40, where="guard.force"),
        [
            Event(0.02, 20, "guard.torque_limit", "intervention", "τ clipped at joint1, N·m", 87.5),
            Event(0.01, 10, "contact.wall", "contact_start", "tool touches the wall"),
        ],
        RunFacts(
            scenario={"robot": "planar2", "control": {"stiffness": 400.0}}, seed=11, versions={"palpate": "0.1.0"}
        ),
    )
