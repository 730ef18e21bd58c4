"""Thresholds, the rate they state, and the count on other seeds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import palpate as pp
from palpate.control.law import Tick
from palpate.errors import InvalidInput
from palpate.run.build import build
from palpate.tools.safety.calibration import calibrate, count
from palpate.tools.safety.observer import Observer, ObserverMemory
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import (
    StatedRate,
    Threshold,
    ThresholdMemory,
    alarms_of_noise,
    expected_alarms,
    interval_of_probability,
    judge,
    level_for_noise,
    scale_for,
    ticks_until_felt,
)
from tools.safety.arms import arm

SIZES = {"nq": 2, "nv": 2}


def test_every_part_of_a_threshold_counts() -> None:
    settings = Threshold(
        kind="speed", level=[1.0, 2.0], per_speed=0.5, mass_error=0.1, friction_error=0.2, scale=1.5
    ).settings(arm("planar2"), np.array([3.0, 4.0]))
    tick, seen, memory = Tick(SIZES), ObserverMemory(SIZES), ThresholdMemory(SIZES)
    tick.v[:], seen.effort[:], seen.stick[:], seen.residual[:] = (-2.0, 0.5), (10.0, 0.0), (0.0, 4.0), (5.3, 0.0)
    assert not judge(tick, settings, seen, memory)
    assert memory.threshold == pytest.approx([1.5 * (1 + 1 + 1 + 0.6), 1.5 * (2 + 0.25 + 0.8 + 4)])
    seen.residual[0] = -5.5
    assert judge(tick, settings, seen, memory)
    assert memory.peak == pytest.approx(5.5 / 5.4)


def test_so_many_ticks_in_a_row_confirm_a_contact() -> None:
    settings = Threshold(level=1.0, confirm=3).settings(arm("planar2"), np.zeros(2))
    tick, seen, memory = Tick(SIZES), ObserverMemory(SIZES), ThresholdMemory(SIZES)
    answers = []
    for residual in (2.0, 2.0, 0.5, 2.0, 2.0, 2.0):
        seen.residual[0] = residual
        answers.append(judge(tick, settings, seen, memory))
    assert answers == [False] * 5 + [True]


def test_a_cusum_adds_up_what_is_above_its_drift() -> None:
    """S = (|r| − level) n T passes the decision after n = ⌈decision / ((|r| − level) T)⌉ ticks, plus one."""
    settings = Threshold(kind="cusum", level=0.5, decision=0.02).settings(arm("planar2"), np.zeros(2))
    tick, seen, memory = Tick(SIZES), ObserverMemory(SIZES), ThresholdMemory(SIZES)
    tick.dt, seen.residual[1] = 1e-3, 1.75
    ticks = next(k for k in range(1, 100) if judge(tick, settings, seen, memory))
    assert ticks == 17  # 0.02 / 1.25e-3 = 16 is not above it yet
    assert memory.joint == 1


@pytest.mark.parametrize(("order", "torque"), [(1, 3.0), (1, -7.5), (2, 4.0)])
def test_a_cusum_feels_a_step_when_its_sum_of_the_observers_answer_says(order: int, torque: float) -> None:
    """S_n = T Σ max(|τ| g(k T) − level, …); first order: T ((|τ| − level) n − |τ| q (1 − qⁿ)/(1 − q)), q = e^(−K T)."""
    threshold = Threshold(kind="cusum", level=0.4, decision=0.03, scale=1.7)
    observer, T = Observer(order=order, gain=30.0), 2e-3  # pyright: ignore[reportArgumentType]
    S, k = 0.0, 0
    while S <= 1.7 * 0.03:
        k += 1
        S = max(0.0, S + (abs(torque) * observer.response(k * T) - 0.4) * T)
    assert ticks_until_felt(threshold, observer, torque, T) == k
    assert ticks_until_felt(threshold, observer, 0.3, T) == np.inf
    if order == 1:
        q, first = np.exp(-30.0 * T), math.ceil(-math.log1p(-0.4 / abs(torque)) / (30.0 * T))
        n = np.arange(first, 200)
        sums = T * ((abs(torque) - 0.4) * (n - first + 1) - abs(torque) * (q**first - q ** (n + 1)) / (1 - q))
        assert n[sums > 1.7 * 0.03][0] == k


def test_a_cusum_ends_soon_after_its_contact() -> None:
    settings = Threshold(kind="cusum", level=0.5, decision=0.02).settings(arm("planar2"), np.zeros(2))
    tick, seen, memory = Tick(SIZES), ObserverMemory(SIZES), ThresholdMemory(SIZES)
    tick.dt, seen.residual[0] = 1e-3, 5.0
    answers = [judge(tick, settings, seen, memory) for _ in range(1000)]
    assert all(answers[10:])
    seen.residual[0] = 0.0
    assert not judge(tick, settings, seen, memory)
    for _ in range(20):  # 0.5 N·m take half of 0.02 N·m·s away in 20 ms
        judge(tick, settings, seen, memory)
    assert memory.ratio == pytest.approx(0.5, abs=0.03)


def test_the_peak_is_what_so_many_ticks_in_a_row_kept_after_the_start() -> None:
    """An alarm is a peak above 1: with `confirm` ticks and time at the start that does not count."""
    rng = np.random.default_rng(9)
    for confirm, ignore in ((1, 0.0), (3, 0.02), (7, 0.01)):
        settings = Threshold(level=1.0, confirm=confirm).settings(arm("planar2"), np.zeros(2), ignore)
        tick, seen, memory = Tick(SIZES), ObserverMemory(SIZES), ThresholdMemory(SIZES)
        tick.dt, ratios, felt = 1e-3, rng.exponential(size=60), []
        for k, ratio in enumerate(ratios):
            tick.t, seen.residual[0] = 1e-3 * k, ratio
            felt.append(judge(tick, settings, seen, memory) and tick.t >= ignore)
        kept = [ratios[k - confirm + 1 : k + 1].min() for k in range(confirm - 1, 60) if 1e-3 * k >= ignore]
        assert memory.peak == pytest.approx(max(kept))
        assert (memory.peak > 1.0) == any(felt)


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_correlated_noise_alarms_as_often_as_said(correlation: float) -> None:
    """AR(1): an alarm begins where a tick is above the level after one that was not."""
    rng, n, deviation, level = np.random.default_rng(4), 1_000_000, 0.3, 0.6
    from scipy.signal import lfilter

    white = rng.normal(size=n) * deviation * math.sqrt(1 - correlation**2)
    above = np.abs(np.asarray(lfilter([1.0], [1.0, -correlation], white))) > level
    begun = int(np.count_nonzero(above[1:] & ~above[:-1]))
    told = alarms_of_noise(np.array([deviation]), np.array([level]), 1e-3, correlation) * n * 1e-3 / 3600
    assert begun == pytest.approx(told, rel=0.03)


def test_levels_and_rates_of_noise_are_each_others_inverse() -> None:
    deviation = np.array([0.1, 0.2, 0.7])
    level = level_for_noise(deviation, 12.0, 2e-3)
    assert alarms_of_noise(deviation, level, 2e-3) == pytest.approx(12.0, rel=1e-5)


def test_white_noise_passes_a_level_as_often_as_stated() -> None:
    deviation, T = np.array([0.2, 0.5]), 1e-3
    rate = 3600.0  # an hour: one a second
    level = level_for_noise(deviation, rate, T)
    noise = np.random.default_rng(5).normal(size=(2_000_000, 2)) * deviation
    alarms = np.count_nonzero(np.any(np.abs(noise) > level, axis=1))
    assert alarms == pytest.approx(2000, abs=3 * np.sqrt(2000))
    assert 2 * norm.sf(level / deviation) == pytest.approx([rate * T / 3600 / 2] * 2)


def test_the_rank_of_calibration_motions_is_the_probability() -> None:
    rng, alarms = np.random.default_rng(7), []
    stated = scale_for(rng.lognormal(size=99), 0.05, 2.0)
    for _ in range(2000):
        stated = scale_for(rng.lognormal(size=99), 0.05, 2.0)
        alarms.append(rng.lognormal() > stated.scale)
    assert stated.rank == 5
    assert stated.probability == 0.05
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.015)
    assert stated.per_hour == pytest.approx(0.05 * 1800)


def test_counts_lie_in_the_expected_range_as_often_as_said() -> None:
    rng, inside = np.random.default_rng(11), 0
    for _ in range(1000):
        stated = scale_for(rng.normal(size=199), 0.03, 2.0)
        low, high = expected_alarms(stated, 200)
        inside += low <= np.count_nonzero(rng.normal(size=200) > stated.scale) <= high
    assert inside >= 940


def test_too_few_motions_for_a_rate_are_refused() -> None:
    with pytest.raises(InvalidInput, match="99"):
        scale_for(np.ones(50), 0.01, 2.0)


def test_an_interval_holds_its_count() -> None:
    assert interval_of_probability(0, 100) == (0.0, pytest.approx(1 - 0.025 ** (1 / 100)))
    low, high = interval_of_probability(10, 500)
    assert low < 0.02 < high


def watched(name: str, threshold: Threshold) -> pp.Run:
    scenario = pp.load_scenario("panda-wall").replace(
        robot__model=name,
        metrics=None,
        world__sensors__velocity_noise=2e-3,
        world__sensors__torque_noise=0.05,
    )
    return replace(build(scenario), around=Reactions(threshold=threshold))


def test_a_stated_rate_holds_on_other_seeds() -> None:
    run = watched("panda", Threshold(level=1.0))
    stated = calibrate(run, 0.05, motions=59)
    counted = count(run, stated, motions=60)
    assert stated.rank == 3
    assert counted.ticks == 120_000
    assert counted.holds, counted
    again = count(run, StatedRate(0.5 * stated.scale, stated.probability, 3, 59, 2.0), motions=20)
    assert again.alarms > 5  # half the threshold is passed often: the scale matters


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "fr3", "ur5e"])
@pytest.mark.parametrize("kind", ["constant", "speed", "cusum"])
def test_a_stated_rate_holds_over_a_million_ticks(name: str, kind: str) -> None:
    thresholds = {
        "constant": Threshold(level=1.0),
        "speed": Threshold(kind="speed", level=0.3, per_speed=0.5, mass_error=0.05, friction_error=0.1),
        "cusum": Threshold(kind="cusum", level=0.5),
    }
    run = watched(name, thresholds[kind])
    stated = calibrate(run, 0.02, motions=500)
    counted = count(run, stated, motions=500)
    low, high = expected_alarms(stated, 500, confidence=1.0 - 0.05 / 9)  # nine counts, all inside in 95 %
    assert counted.ticks == 1_000_000
    assert low <= counted.alarms <= high


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "fr3", "ur5e"])
def test_a_stated_rate_holds_with_elastic_joints(name: str) -> None:
    """Torques are those of the gears, masses and friction are off, and the scale is that of other seeds."""
    scenario = pp.load_scenario("panda-wall").replace(
        robot__model=name,
        robot__joints="elastic",
        metrics=None,
        world__sensors__velocity_noise=2e-3,
        world__sensors__torque_noise=0.05,
    )
    run = replace(build(scenario), around=Reactions(threshold=Threshold(level=1.0), observer=Observer(side="link")))
    counted = count(run, calibrate(run, 0.02, motions=500), motions=500)
    assert counted.ticks == 1_000_000
    assert counted.holds, counted
