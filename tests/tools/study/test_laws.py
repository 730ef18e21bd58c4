"""Laws on common draws: the same draws for each, paired intervals as SciPy has them, ranks with ties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import palpate as pp
from palpate.errors import InvalidInput
from palpate.scenario.file.swap import dropped_gains, swap_law
from palpate.tools.study import failure_bound
from palpate.tools.study.analysis.paired import discordance, paired_difference, ranks, simultaneous
from palpate.tools.study.analysis.telling import explained

LAWS = ("cartesian-impedance", "shaped-impedance", "operational-space")
VARY = {"world.plant.mass_scale": "normal(1, 0.05)", "world.surfaces.wall.stiffness*": "loguniform(0.5, 2)"}
SHORT = ["run.duration=0.3", "record.stride=5"]


def test_a_paired_difference_is_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(3.0, 1.0, 40), rng.normal(2.8, 2.0, 40)
    a[3] = b[7] = np.nan
    mine = paired_difference(a, b, 0.9)
    whole = np.isfinite(a) & np.isfinite(b)
    theirs = stats.ttest_rel(a[whole], b[whole]).confidence_interval(0.9)
    assert mine.pairs == 38
    np.testing.assert_allclose([mine.interval.low, mine.interval.high], [theirs.low, theirs.high], rtol=1e-12)
    assert mine.mean == pytest.approx((a - b)[whole].mean())
    assert paired_difference(a[:1], b[:1]).sign == 0


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (5, 0), (3, 9), (6, 6), (20, 4)])
def test_discordance_is_the_exact_binomial_test(only_a: int, only_b: int) -> None:
    a = np.array([True] * only_a + [False] * only_b + [True] * 7)
    b = np.array([False] * only_a + [True] * only_b + [True] * 7)
    expected = 1.0 if only_a + only_b == 0 else stats.binomtest(only_a, only_a + only_b).pvalue
    assert discordance(a, b) == pytest.approx(expected, rel=1e-12)


def test_what_cannot_be_told_apart_shares_a_rank() -> None:
    assert ranks("abc", {("a", "b"): 0, ("b", "c"): 0, ("a", "c"): 0}) == {"a": 1, "b": 1, "c": 1}
    assert ranks("abc", {("a", "b"): 1, ("b", "c"): -1, ("a", "c"): 0}) == {"a": 2, "b": 1, "c": 2}
    assert ranks("abc", {("a", "b"): 0, ("b", "c"): 0, ("a", "c"): -1}) == {"a": 1, "b": 1, "c": 2}
    assert simultaneous(0.95, 3) == pytest.approx(1 - 0.05 / 3)


def test_a_swap_names_what_is_taken_over_and_dropped() -> None:
    scenario = pp.load_scenario("panda-wall")
    kept, taken = swap_law(scenario, "cartesian-impedance"), swap_law(scenario, "shaped-impedance")
    dropped = swap_law(scenario, "joint-impedance", {"stiffness": 50.0})
    assert kept.same
    assert set(taken.taken) == set(kept.taken) == {"damping"}
    assert (set(dropped.dropped), dropped.given) == ({"damping"}, {"stiffness": 50.0})  # N·s/m is no N·m·s/rad
    assert "drops damping" in dropped.sentence
    assert swap_law(scenario, "shaped-impedance", take_over=False).taken == {}


def test_one_law_or_one_twice_is_refused() -> None:
    for laws in (["cartesian-impedance"], ["passive", "passive"]):
        with pytest.raises(InvalidInput, match=r"two.*more"):
            pp.compare("pendulum", laws, {"robot.parameters.mass": "uniform(1, 2)"})
    with pytest.raises(InvalidInput, match="operational-space: "):
        pp.compare("panda-wall", LAWS, {"control.damping.0": "uniform(1, 2)"}, runs=2)


def test_three_laws_on_150_common_draws(tmp_path: Path) -> None:
    result = pp.compare("panda-wall", LAWS, VARY, runs=150, seed=4, overrides=SHORT, workers=0, out=tmp_path / "a")
    assert result.laws == list(LAWS)
    for key in (*VARY, "seed"):
        columns = [result.sweeps[law][key] for law in LAWS]
        assert columns[0] == columns[1] == columns[2] == result.draws(key)
    assert len(set(result.draws("seed"))) == 150
    one = result.compare("effort")
    a, b = (np.array(result.sweeps[law]["effort"]) for law in LAWS[:2])
    theirs = stats.ttest_rel(a, b).confidence_interval(1 - 0.05 / 3)
    mine = one.differences[LAWS[0], LAWS[1]]
    np.testing.assert_allclose([mine.interval.low, mine.interval.high], [theirs.low, theirs.high], rtol=1e-9)
    back = one.against_first(LAWS[1])
    assert back is not None
    assert back.mean == pytest.approx(-mine.mean)
    failures = [int((~result.sweeps[law].passed).sum()) for law in LAWS]
    bounds = [result.failures[law].bound for law in LAWS]
    assert bounds == [failure_bound(count, 150) for count in failures]
    again = pp.compare("panda-wall", LAWS[:2], VARY, runs=3, seed=4, overrides=SHORT, workers=0)
    assert again.draws("seed") == result.draws("seed")[:3]
    assert again.sweeps[LAWS[1]]["effort"] == result.sweeps[LAWS[1]]["effort"][:3]
    other = pp.compare("panda-wall", LAWS[:2], VARY, runs=3, seed=5, overrides=SHORT, workers=0)
    assert other.draws("seed") != again.draws("seed")


def test_shares_of_ishigami_are_its_first_order_indices() -> None:
    x = np.random.default_rng(0).uniform(-np.pi, np.pi, (3, 20_000))
    y = np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0])
    shares = [explained(one.tolist(), y) for one in x]
    np.testing.assert_allclose(shares, [0.3139, 0.4424, 0.0], atol=0.02)  # Ishigami and Homma 1990, a = 7, b = 0.1
    assert explained(["a", "b"] * 10_000, y) < 1e-3


def test_another_law_by_set_names_the_gains_it_drops() -> None:
    said = dropped_gains("panda-wall", ["control.law=shaped-impedance"])
    assert said == "shaped-impedance takes over no gains of cartesian-impedance: damping dropped"
    assert dropped_gains("panda-wall", ["control.law=cartesian-impedance"]) is None
    assert dropped_gains("panda-wall", ["control.damping=60"]) is None


def test_the_share_of_few_runs_is_corrected_as_an_analysis_of_variance_is() -> None:
    y = np.array([1.0, 2.0, 4.0, 4.5, 5.0, 9.0, 3.0, 2.5, 8.0])
    groups = ["a", "b", "c"] * 3
    F = stats.f_oneway(*(y[k::3] for k in range(3))).statistic
    assert explained(groups, y) == pytest.approx(1 - 8 / (2 * F + 6))  # 1 − (SSW/(n − m)) / (SST/(n − 1))
