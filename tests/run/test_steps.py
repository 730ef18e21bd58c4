"""A run taken a few ticks at a time is the run itself."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.run.build import build
from palpate.run.steps import Steps


def stepped(scenario: pp.Scenario, ticks: int) -> pp.Trace:
    """The trace of a run that was advanced some ticks at a time."""
    steps = Steps(build(scenario))
    while steps.running:
        steps.advance(ticks)
    return steps.trace()


@pytest.mark.parametrize("name", ["pendulum", "planar2-drop"])
def test_ticks_taken_a_few_at_a_time_give_the_trace_of_the_run(name):
    scenario = pp.load_scenario(name)
    whole, parts = pp.simulate(scenario), stepped(scenario, 7)
    assert len(parts.events) == len(whole.events)
    for channel in whole.channels:
        np.testing.assert_array_equal(parts[channel], whole[channel])


@pytest.mark.parametrize("ticks", [37, 2000, 9000])
def test_no_sample_is_lost_where_the_loop_holds_fewer_than_the_run_has(ticks):
    scenario = pp.load_scenario("pendulum").replace(run__duration=9.0)
    whole, parts = pp.simulate(scenario), stepped(scenario, ticks)
    np.testing.assert_array_equal(parts["time"], whole["time"])
    np.testing.assert_array_equal(parts["q"], whole["q"])
