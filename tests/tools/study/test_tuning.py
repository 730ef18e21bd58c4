"""Searches held to known optima: the step of s² + 2ζs + 1 has its least ∫e² at ζ = 0.5, its least ∫t|e| at 0.75245."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, UnknownName
from palpate.run.assemble.assemble import Assembly
from palpate.scenario.model import Scenario
from palpate.tools.study.analysis.maps import predicted_boundary, refuse
from palpate.tools.study.drivers.gain_search import Score, search_for
from palpate.tools.study.planning import make_plan
from palpate.tools.study.plans.spec import axes_of
from palpate.tools.study.running.store import Store
from palpate.tools.study.tuning import resume
from palpate.trace import Trace

pytest.importorskip("optuna", reason="Optuna is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

# A mass of 1 kg on a slide, a spring of 1 N/m, a step of 1 m: s² + 2ζs + 1.
STEP = {
    "name": "step",
    "robot": {
        "dh": [{"kind": "prismatic", "mass": 1.0, "inertia": [0.01, 0.01, 0.01]}],
        "gravity": [0, 0, 0],
        "start": {"q": [0.0]},
    },
    "control": {
        "law": "cartesian-impedance",
        "stiffness": [1.0] * 6,
        "damping": [1.0] * 6,
        "posture_stiffness": 0.0,
        "posture_damping": 0.0,
    },
    "reference": {"kind": "hold", "offset": [0, 0, 1.0]},
    "run": {"duration": 20.0, "timestep": 0.01, "integrator": "rk4"},
}


def itae(trace: Trace) -> float:
    return float(np.trapezoid(trace.time * np.abs(1.0 - trace["q"][:, 0]), trace.time))


def searched(cost: Callable[..., float], axes: dict[str, str], runs: int) -> tuple[float, tuple[float, ...], int]:
    """The best point of a search over a plain function."""
    search = search_for(axes_of(axes), runs, seed=0)
    asked, made, best = next(search), 0, (np.inf, ())
    while asked and made < runs:
        values = [cost(*point) for point in asked]
        best = min(best, *zip(values, asked))
        made += len(asked)
        try:
            asked = search.send([Score(value, 0.0) for value in values])
        except StopIteration:
            break
    return *best, made


def step_error(zeta: float, time: np.ndarray) -> np.ndarray:
    """1 − y of the unit step of s² + 2ζs + 1, ζ < 1."""
    rate = np.sqrt(1 - zeta**2)
    return np.exp(-zeta * time) * (np.cos(rate * time) + zeta / rate * np.sin(rate * time))


def test_the_least_square_error_lies_at_one_half() -> None:
    value, (zeta,), made = searched(lambda z: z + 1 / (4 * z), {"a.z": "0.1:1.5"}, 60)
    assert zeta == pytest.approx(0.5, abs=2e-3)
    assert value == pytest.approx(1.0, abs=1e-5)
    assert made <= 62


def test_the_least_time_weighted_error_lies_at_the_textbooks_ratio() -> None:
    time = np.linspace(0.0, 60.0, 20_001)
    _, (zeta,), _ = searched(
        lambda z: float(np.trapezoid(time * np.abs(step_error(z, time)), time)), {"a.z": "0.1:0.95"}, 60
    )
    assert zeta == pytest.approx(0.75245, abs=2e-3)


def test_a_bowl_of_three_parameters_is_found_on_its_own_scales() -> None:
    def bowl(a: float, b: float, c: float) -> float:
        return (a - 2) ** 2 + 10 * np.log(b / 500) ** 2 + (a - 2) * np.log(b / 500) + (c - 0.1) ** 2

    _, place, _ = searched(bowl, {"a.a": "0:10", "a.b": "10:1e4:log", "a.c": "-1:1"}, 200)
    assert place == pytest.approx((2.0, 500.0, 0.1), rel=0.05, abs=0.02)


def test_choices_and_whole_numbers_are_searched_too() -> None:
    costs = {"x": 3.0, "y": 1.0, "z": 2.0}
    value, place, _ = searched(lambda name, n: costs[name] + (n - 4) ** 2, {"a.name": "x,y,z", "a.n": "0:9:10"}, 60)
    assert (value, place) == (1.0, ("y", 4))


# ------------------------------------------------------------------ with real runs


@pytest.fixture(scope="module")
def step() -> Scenario:
    return Scenario.model_validate(STEP)


def test_runs_find_the_least_square_error(step: Scenario) -> None:
    """position_error_rms is √(ISE/T); 0.01 s of physics step moves the optimum by less than that."""
    found = pp.tune(step, {"control.damping.2": "0.4:2.5"}, "position_error_rms", runs=44, workers=0)
    assert found.values["control.damping.2"] / 2 == pytest.approx(0.5, abs=0.01)
    assert found.value == pytest.approx(np.sqrt(1.0 / 20.0), rel=5e-3)
    assert found.kept
    assert (
        f"control.damping.2 = {found.values['control.damping.2']:.6g} makes position_error_rms smallest"
        in found.sentence
    )
    assert f"--set control.damping.2={found.values['control.damping.2']!r}" in found.command


def test_a_best_value_at_the_end_of_its_range_is_named(step: Scenario) -> None:
    """The least square error lies at d = 1: below the range, above it, inside it."""
    for span, said in {
        "1.4:2.5": "lower end of its range, 1.4 to 2.5",
        "0.3:0.7": "upper end of its range, 0.3 to 0.7",
    }.items():
        found = pp.tune(step, {"control.damping.2": span}, "position_error_rms", runs=30, workers=0)
        assert f"is at the {said}: a wider range may hold a better value" in found.sentence
    inside = pp.tune(step, {"control.damping.2": "0.4:2.5"}, "position_error_rms", runs=12, workers=0)
    assert inside.at_edges == []
    assert "end of its range" not in inside.sentence


def test_a_function_of_python_is_minimised_here(step: Scenario) -> None:
    found = pp.tune(step, {"control.damping.2": "0.8:2.4"}, itae, runs=40)
    assert found.values["control.damping.2"] / 2 == pytest.approx(0.75245, abs=0.015)
    assert found.sweep["objective"][found.run] == found.value
    with pytest.raises(InvalidInput, match=r"call palpate\.tune again"):
        resume(found.sweep.store)


def check_front(found: pp.study.Tuned) -> None:
    """It is between what is minimised and the bound that stands against it; nothing beats a point of it in both."""
    front = found.front
    assert front is not None
    assert front["metrics"] == ["position_error_rms", "position_overshoot"]
    every = np.column_stack([found.sweep.numbers(name) for name in front["metrics"]])
    beaten = [bool((np.all(every <= point, axis=1) & np.any(every < point, axis=1)).any()) for point in front["points"]]
    assert not any(beaten)
    assert len(front["runs"]) > 3


def test_bounds_are_kept_though_the_metric_would_be_smaller_beyond_them(step: Scenario) -> None:
    """Overshoot of ζ is exp(−πζ/√(1 − ζ²)): at most 5 % needs ζ ≥ 0.690, where the square error is larger."""
    found = pp.tune(
        step,
        {"control.damping.2": "0.4:2.5"},
        "position_error_rms",
        keep=["position_overshoot<0.05"],
        runs=50,
        workers=0,
    )
    assert found.kept
    assert found.values["control.damping.2"] / 2 == pytest.approx(0.690, abs=0.02)
    assert found.sweep["position_overshoot"][found.run] <= 0.05
    assert found.bounds == {"position_overshoot": {"most": 0.05}}
    check_front(found)
    none = pp.tune(
        step, {"control.damping.2": "0.4:0.6"}, "effort", keep=["position_overshoot<0.01"], runs=8, workers=0
    )
    assert not none.kept
    assert none.sentence.startswith("no point keeps every bound")


def test_what_theory_refuses_is_never_simulated(step: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    from palpate.run import prepared

    seen: list[float] = []
    real = prepared.execute_bare

    def watched(assembly: Assembly, **how: Any) -> Trace:
        seen.append(float(assembly.run.law.damping[2]))  # pyright: ignore[reportAttributeAccessIssue]
        return real(assembly, **how)

    monkeypatch.setattr(prepared, "execute_bare", watched)

    def theory(scenario: Scenario) -> str | None:
        return "too much damping" if scenario.as_data()["control"]["damping"][2] > 1.4 else None

    found = pp.tune(step, {"control.damping.2": "0.4:4"}, itae, runs=30, refuse=theory)
    assert seen
    assert max(seen) <= 1.4
    refused = [k for k, kind in enumerate(found.sweep["outcome"]) if kind == "refused"]
    assert found.refused == len(refused) > 0
    assert all(found.sweep["control.damping.2"][k] > 1.4 for k in refused)
    assert found.sweep["reason"][refused[0]] == "too much damping"
    assert found.values["control.damping.2"] == pytest.approx(1.4, abs=0.05)
    assert f"{len(refused)} of them predicted to be unstable and not simulated" in found.sentence


def test_a_search_that_was_stopped_goes_on_to_the_same_table(step: Scenario, tmp_path: Path) -> None:
    short = step.model_copy(update={"run": step.run.model_copy(update={"duration": 2.0})})
    over = {"control.damping.2": "0.4:2.5", "control.stiffness.2": "0.5:2:log"}
    whole = pp.tune(short, over, "position_error_rms", runs=24, out=tmp_path / "whole", workers=0)

    def stop(done: int, total: int, failed: int) -> None:
        if done == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pp.tune(short, over, "position_error_rms", runs=24, out=tmp_path / "part", workers=0, progress=stop)
    assert len(list((tmp_path / "part" / "chunks").iterdir())) == 9
    again = resume(Store.open(tmp_path / "part"), workers=0)
    assert again.sweep.path.read_bytes() == whole.sweep.path.read_bytes()
    assert again.values == whole.values


@pytest.mark.parametrize(
    ("over", "metric", "keep", "complaint"),
    [
        ({"control.damping.2": "0.4:2.5"}, "forse_peak", [], "mean 'force_peak'"),
        ({"control.damping.2": "0.4:2.5"}, "effort", ["force_peak"], "--keep.*level"),
        ({"control.damping.2": "normal(1, 2)"}, "effort", [], "range.*list"),
        ({}, "effort", [], "nothing varies"),
    ],
)
def test_mistakes_are_told(step: Scenario, over: dict[str, str], metric: str, keep: list[str], complaint: str) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=complaint):
        pp.tune(step, over, metric, keep=keep, runs=4, workers=0)


# ------------------------------------------------------------------ poles


def test_poles_refuse_a_law_that_its_period_cannot_hold() -> None:
    """A damper d on 1 kg, sampled every T without delay, has its pole at e^(…) ≈ 1 − dT: unstable beyond d = 2/T."""
    stiff = Scenario.model_validate({**STEP, "control": {"law": "joint-impedance", "stiffness": 0.0, "damping": 201.0}})
    calm = Scenario.model_validate({**STEP, "control": {"law": "joint-impedance", "stiffness": 0.0, "damping": 199.0}})
    assert "unstable" in str(refuse(stiff))
    assert refuse(calm) is None


def test_the_predicted_boundary_is_where_a_pole_passes_one() -> None:
    damped = Scenario.model_validate({**STEP, "control": {"law": "joint-impedance"}})
    plan = make_plan(damped, {"control.damping": "50:400", "control.stiffness": "0.1:100:log"}, method="map")
    lines = predicted_boundary(plan, cells=8)
    assert np.concatenate(lines)[:, 0] == pytest.approx(200.0, rel=0.02)  # 2/T, whatever the weak spring
