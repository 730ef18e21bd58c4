"""Reactions around the torques of a client, under `serve`."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from tools.serving.conftest import serve_one

pytest.importorskip("pylibfranka")


def test_a_served_robot_reacts_around_its_clients_torques() -> None:
    """A client holds with a stiff spring; a hand pushes; the robot stops against it, and goes on later."""
    scenario = pp.load_scenario("fr3-felt-push").replace(
        world__pushes=[{"name": "hand", "kind": "pulse", "force": [0, 25, 0], "start": 0.3, "duration": 0.06}],
        metrics=None,
        reactions__on_contact="stop",
    )
    _, trace = serve_one(scenario, "hold", 900)
    told, watched = serve_one(scenario.replace(reactions__on_contact="nothing"), "hold", 900)
    assert told is not None
    for run in (trace, watched):
        assert 0.3 < run.time[np.argmax(run["reaction.mode"] > 0)] < 0.34
    assert np.abs(trace["tau.change"]).max() > 0.1
    assert not watched["tau.change"].any()
    stopped, yielding = (np.ptp(run["tool_position"][320:400], axis=0).max() for run in (trace, watched))
    assert stopped < 0.5 * yielding
    assert trace["reaction.mode"][-1] == 2.0  # the client's torques take over again
