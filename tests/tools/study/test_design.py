"""Which runs a sweep makes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from palpate.errors import InvalidInput
from palpate.tools.study.plans.plan import Plan
from palpate.tools.study.plans.points import planned_runs
from palpate.tools.study.plans.spec import axes_of

TWO_KEYS = {"a.x": "1:3:3", "a.y": "p,q"}
DRAWN_KEYS = {"a.x": "uniform(0, 1)", "a.y": "uniform(0, 1)", "a.z": "uniform(0, 1)"}
TWO, DRAWN = axes_of(TWO_KEYS), axes_of(DRAWN_KEYS)
SCENARIO = {"run": {"seed": 7}}


def made(method: str, points: int, repeat: int = 1, seed: int = 0) -> Plan:
    return Plan(SCENARIO, (), DRAWN_KEYS, method, points * repeat, repeat, seed)


def test_a_grid_is_every_combination_once_and_repeats_with_the_next_seeds() -> None:
    method, runs = planned_runs(None, TWO, None, 2)
    points = Plan(SCENARIO, (), TWO_KEYS, method, runs, 2).points(0, runs)
    assert [point.values for point in points[::2]] == list(itertools.product([1, 2, 3], "pq"))
    assert [(p.point, p.repeat, p.seed) for p in points[:4]] == [(0, 0, 7), (0, 1, 8), (1, 0, 7), (1, 1, 8)]


@pytest.mark.parametrize("method", ["random", "latin", "sobol", "saltelli"])
def test_a_run_depends_on_its_number_alone(method: str) -> None:
    whole = made(method, 50, 1).points(0, 50)
    assert [p for k in reversed(range(50)) for p in made(method, 50, 1).points(k, k + 1)][::-1] == whole
    assert made(method, 50, 1, seed=1).points(0, 50) != whole


@pytest.mark.parametrize("method", ["random", "latin", "sobol"])
def test_draws_fill_the_unit_cube(method: str) -> None:
    values = np.array([point.values for point in made(method, 1500).points(0, 1500)])
    assert values.mean(axis=0) == pytest.approx(0.5, abs=0.03)
    assert np.corrcoef(values.T)[np.triu_indices(3, 1)] == pytest.approx(0.0, abs=0.08)
    assert len({point.seed for point in made(method, 1500).points(0, 1500)}) == 1500


def test_a_latin_hypercube_has_one_point_in_every_stratum() -> None:
    values = np.array([point.values for point in made("latin", 64).points(0, 64)])
    for column in values.T:
        assert sorted(np.floor(column * 64)) == list(range(64))


def test_a_sobol_sequence_is_more_even_than_random() -> None:
    """64 points of a scrambled (t, m, s) net: every dyadic interval of each parameter holds its share."""
    values = np.array([point.values for point in made("sobol", 64).points(0, 64)])
    for column in values.T:
        assert sorted(np.floor(column * 64)) == list(range(64))


def test_saltelli_rows_mix_a_and_b_and_share_noise_as_they_should() -> None:
    rows = [made("saltelli", 20).points(5 * j, 5 * j + 5) for j in range(4)]
    for row in rows:
        a, b = row[0].values, row[-1].values
        for i, mixed in enumerate(row[1:-1]):
            assert mixed.values == tuple(b[k] if k == i else a[k] for k in range(3))
        assert len({point.seed for point in row[:-1]}) == 1
        assert row[-1].seed != row[0].seed
    assert len({row[0].seed for row in rows} | {row[-1].seed for row in rows}) == 8


def test_saltelli_rounds_up_to_whole_rows() -> None:
    assert planned_runs("saltelli", DRAWN, 11, 1)[1] == 15
    with pytest.raises(InvalidInput, match="repeat"):
        planned_runs("saltelli", DRAWN, 11, 2)


def test_the_method_follows_from_what_varies() -> None:
    assert planned_runs(None, TWO, None, 1)[0] == "grid"
    assert planned_runs(None, TWO, 10, 1)[0] == "random"
    assert planned_runs(None, DRAWN, None, 1)[0] == "random"
    assert planned_runs(None, DRAWN, None, 1)[1] == 1000


def test_a_grid_that_is_none_and_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"grid needs .* a\.x, a\.y, a\.z"):
        planned_runs("grid", DRAWN, None, 1)
    with pytest.raises(InvalidInput, match="6 runs, not 7"):
        planned_runs("grid", TWO, 7, 1)
    for runs, repeat in ((0, 1), (10, 0), (10**9, 1)):
        with pytest.raises(InvalidInput):
            planned_runs("random", DRAWN, runs, repeat)
