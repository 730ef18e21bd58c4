"""The shipped scenarios: each runs as it is, keeps its bounds, and can be made again from its trace."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from palpate.metrics import evaluate
from palpate.run.simulate import simulate
from palpate.scenario.checking.checks import remarks
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.trace import Trace

TRACES: dict[str, Trace] = {}


def trace_of(name: str) -> Trace:
    if name not in TRACES:
        TRACES[name] = simulate(name)
    return TRACES[name]


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_completes_and_keeps_its_bounds(name: str) -> None:
    scenario, trace = load_scenario(name), trace_of(name)
    assert scenario.name == name
    assert len(scenario.description) > 20
    assert trace.outcome.ok
    assert remarks(scenario) == []
    assert [result.name for result in evaluate(trace, scenario.metrics) if result.passed is False] == []


@pytest.mark.parametrize("name", shipped())
def test_a_trace_can_be_made_again_bit_for_bit(name: str) -> None:
    short = load_scenario(name, ["run.duration=0.3"])
    first = simulate(short)
    again = simulate(Scenario.model_validate(first.facts.scenario))
    assert again.equals(first)
    assert again.facts.scenario == first.facts.scenario


def test_the_panda_presses_as_hard_as_two_springs_in_series() -> None:
    trace, scenario = trace_of("panda-wall"), load_scenario("panda-wall")
    K, k = 400.0, scenario.world.surfaces[0].stiffness
    start = trace["target_position"][0, 0]
    inside = start + 0.0851 + 0.01 - 0.35  # the tip is a sphere of 0.01 m
    # friction of wall and joints holds the tool a little aside of its way: 1.3 N at the most, by `palpate design`
    assert -trace["contact_wrench"][-1, 0] == pytest.approx(K * k / (K + k) * inside, abs=1.3)


def test_the_pendulum_keeps_its_energy_and_its_period() -> None:
    trace = trace_of("pendulum")
    energy = trace["energy.kinetic"] + trace["energy.potential"]
    assert np.ptp(energy) < 1e-8
    q = trace["q"][:, 0]
    zero = np.flatnonzero((q[:-1] > 0) & (q[1:] <= 0))[0]
    share = q[zero] / (q[zero] - q[zero + 1])
    crossing = trace.time[zero] + share * (trace.time[zero + 1] - trace.time[zero])
    # a quarter period from 90°: √(l/g) K(sin²45°)
    assert crossing == pytest.approx(1.8540746773013719 / math.sqrt(9.81), abs=1e-5)


def test_the_falling_arm_comes_to_rest_hanging() -> None:
    trace = trace_of("ur5e-3link-fall")
    np.testing.assert_allclose(trace["q"][0], [1.0, math.pi / 3, math.pi / 3])
    assert np.abs(trace["v"][-1]).max() < 1e-3
    # The dampers act in the plant, at every stage of the integrator: DOP853 at 1e-12 is met.
    half, one = (int(np.argmin(np.abs(trace.time - t))) for t in (0.5, 1.0))
    np.testing.assert_allclose(trace["q"][half], [0.966421256235, 1.454064419961, 0.676632056386], atol=1e-9)
    np.testing.assert_allclose(trace["q"][one], [1.008893475388, 1.536287980301, 0.421019489755], atol=1e-9)
    total = trace["energy.kinetic"] + trace["energy.potential"]
    assert np.diff(total).max() < 1e-9


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scenario.md").read_text("utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    (tmp_path / "press.toml").write_text(example, encoding="utf-8")
    scenario = load_scenario(tmp_path / "press.toml")
    trace = simulate(scenario)
    assert trace.outcome.kind == "completed"
    assert [result.name for result in evaluate(trace, scenario.metrics) if result.passed is False] == []
