"""From the load to the trace, a run works each shared thing out once."""

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control import CartesianImpedance
from palpate.control.references.motions import Line
from palpate.run.assemble.assemble import assemble
from palpate.run.build import build
from palpate.run.simulate import simulate


def noted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, note: Callable[..., None]) -> None:
    """Let every call of a function or method be noted before it is made."""
    original = getattr(owner, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        note(*args, **kwargs)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, called)


def test_law_is_fitted_and_bound_once_from_load_to_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    for name in ("suited", "bound_to", "gains", "memory"):
        noted(monkeypatch, CartesianImpedance, name, lambda *_, name=name: calls.update([name]))
    trace = simulate(pp.load_scenario("panda-wall"))
    assert trace.outcome.ok
    assert calls == dict.fromkeys(("suited", "bound_to", "gains", "memory"), 1)


def test_reference_is_sampled_once_on_each_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """At t = 0 by the load, which refuses a bad reference before any run, and at each control tick by the loop; where
    it stands at the end, for its poles.
    """
    grids: list[Any] = []
    noted(monkeypatch, Line, "sample", lambda self, times, *_: grids.append(np.array(times)))
    scenario = pp.load_scenario("panda-wall")
    assert [len(grid) for grid in grids] == [1]
    simulate(scenario)
    ticks = np.concatenate(grids[1:])
    np.testing.assert_array_equal(ticks[:4001], np.arange(4001) * scenario.run.control_period)
    assert (ticks[4001:] > 4.0).all()


def test_every_run_of_a_scenario_begins_with_a_fresh_memory() -> None:
    scenario = pp.load_scenario("panda-wall", ["run.duration=0.3"])
    first, second = simulate(scenario), simulate(scenario)
    assert first.equals(second)
    run = build(scenario)
    assert assemble(run).law.memory is not assemble(run).law.memory


def test_a_checked_scenario_equals_another_and_can_be_copied() -> None:
    scenario = pp.load_scenario("panda-wall")
    assert scenario == pp.Scenario.model_validate(scenario.as_data())
    for other in (copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario))):
        assert other == scenario
        assert build(other).robot is build(scenario).robot


def test_a_law_is_fitted_again_to_another_clock() -> None:
    scenario = pp.load_scenario("panda-wall")
    slower = scenario.model_copy(update={"run": scenario.run.model_copy(update={"rate": 200.0})})
    assert build(slower).fitted is not scenario.fitted
    assert build(scenario).fitted is scenario.fitted


def test_a_trace_stays_what_it_is_when_another_run_follows() -> None:
    scenario = pp.load_scenario("panda-wall", ["run.duration=0.05"])
    first = simulate(scenario)
    kept = {name: first[name].copy() for name in first}
    simulate(pp.load_scenario("panda-wall", ["run.duration=0.05", "world.surfaces.wall.stiffness=4000"]))
    again = simulate(scenario)
    for name, array in kept.items():
        np.testing.assert_array_equal(first[name], array)
        np.testing.assert_array_equal(again[name], array)
