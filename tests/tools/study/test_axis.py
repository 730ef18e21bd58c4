"""What a parameter may be, in the words of the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from palpate.errors import InvalidInput, UnknownName
from palpate.tools.study.plans.axis import Span
from palpate.tools.study.plans.override import lookup, override
from palpate.tools.study.plans.spec import axes_of, parse_axis, parse_vary


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("1:2:3", (1.0, 1.5, 2.0)),
        ("0:4:5", (0, 1, 2, 3, 4)),
        ("1:100:3:log", (1, 10, 100)),
        ("-1.5:1.5:2", (-1.5, 1.5)),
        ("soft, stiff", ("soft", "stiff")),
        ("1,2.5,true", (1, 2.5, True)),
        ("[1, 2],[3, 4]", ([1, 2], [3, 4])),
        ([0.1, np.float64(0.2)], (0.1, 0.2)),
        (np.array([1, 2]), (1, 2)),
    ],
)
def test_ranges_and_lists_give_their_values(spec: Any, values: tuple[Any, ...]) -> None:
    found = parse_axis("a.b", spec).values
    assert found is not None
    assert all(f == pytest.approx(v, rel=1e-15) if isinstance(v, float) else f == v for f, v in zip(found, values))
    assert [type(f) for f in found] == [type(v) for v in values]


@pytest.mark.parametrize(
    ("spec", "law"),
    [
        ("uniform(2, 5)", stats.uniform(2, 3)),
        ("normal(1, 0.05)", stats.norm(1, 0.05)),
        ("normal(1, 0.5, 0.9, 1.5)", stats.truncnorm(-0.2, 1.0, loc=1, scale=0.5)),
        ("normal(0, 1, 9, 12)", stats.truncnorm(9, 12)),
        ("loguniform(1e3, 1e5)", stats.loguniform(1e3, 1e5)),
    ],
)
def test_distributions_have_the_quantiles_of_their_law(spec: str, law: Any) -> None:
    axis, chances = parse_axis("a.b", spec), [1e-6, 0.1, 0.5, 0.77, 1 - 1e-6]
    assert [axis.at(u) for u in chances] == pytest.approx(law.ppf(chances).tolist(), rel=1e-12)


def test_integers_are_whole_and_equally_likely() -> None:
    axis = parse_axis("a.b", "integers(2, 4)")
    drawn = [axis.at((k + 0.5) / 300) for k in range(300)]
    assert [drawn.count(n) for n in (2, 3, 4)] == [100, 100, 100]
    assert axis.whole
    assert axis.at(1.0) == 4
    assert axis.at(0.0) == 2


def test_a_list_under_random_draws_is_equally_likely_and_never_left() -> None:
    axis = parse_axis("a.b", "a,b,c")
    assert [axis.at(u) for u in (0.0, 0.34, 0.99, 1.0)] == ["a", "b", "c", "c"]


def test_normals_stay_finite_at_the_ends() -> None:
    axis = parse_axis("a.b", "normal(0, 1)")
    assert np.isfinite([axis.at(0.0), axis.at(1.0)]).all()


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("5", "single value"),
        ("1:1:3", "two different ends"),
        ("1:2:1", "n from 2"),
        ("0:2:3:log", "positive ends"),
        ("normal(1)", "2 or 4 numbers"),
        ("normal(1, -2)", "deviation > 0"),
        ("uniform(2, 1)", "low < high"),
        ("loguniform(0, 1)", "0 < low"),
        ("integers(0.5, 2)", "whole"),
        ("uniform(a, b)", "not understood"),
        ("normal(0, 1, 50, 60)", "nothing between"),
        ([], "no value"),
        ([float("nan")], "finite"),
        ([object()], "not a value of a scenario"),
        ("[1, 2],[3", "not a list of values"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(spec: Any, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=r"a\.b.*" + complaint):
        parse_axis("a.b", spec)


def test_a_misspelt_distribution_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="mean 'uniform'"):
        parse_axis("a.b", "unifrom(1, 2)")


@pytest.mark.parametrize("key", ["stiffness", "a..b", "", "a. b", "*"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match=r"not a.*vary"):
        parse_axis(key, "1:2:3")


def test_an_option_without_a_value_and_an_empty_sweep_are_refused() -> None:
    assert parse_vary(" a.b = 1:2:3 ") == ("a.b", "1:2:3")
    with pytest.raises(InvalidInput, match="KEY=WHAT"):
        parse_vary("a.b")
    with pytest.raises(InvalidInput, match="nothing varies"):
        axes_of({})


def test_places_on_a_span_go_forth_and_back() -> None:
    for span in (Span(2.0, 5.0), Span(1e3, 1e5, log=True)):
        assert [span.place(span.at(u)) for u in (0.0, 0.3, 1.0)] == pytest.approx([0.0, 0.3, 1.0], abs=1e-14)
        assert (span.at(0.0), span.at(1.0)) == (span.low, span.high)


DATA = {"control": {"stiffness": [400.0, 20], "law": "x"}, "world": {"surfaces": [{"name": "wall", "stiffness": 1e4}]}}


def test_a_value_becomes_the_override_that_reads_back_exactly() -> None:
    axis = parse_axis("control.damping", "uniform(0, 1)")
    assert override(axis, 0.1 + 0.2, DATA) == "control.damping=0.30000000000000004"
    assert override(parse_axis("control.law", "a,b"), "a", DATA) == 'control.law="a"'


def test_a_star_multiplies_the_scenarios_own_value() -> None:
    assert override(parse_axis("control.stiffness*", "uniform(0, 9)"), 0.5, DATA) == "control.stiffness=[200.0, 10.0]"
    wall = parse_axis("world.surfaces.wall.stiffness*", "uniform(0, 9)")
    assert override(wall, 2.0, DATA) == "world.surfaces.wall.stiffness=20000.0"
    for key, complaint in (("control.law*", "only numbers"), ("control.gain*", "no value at")):
        with pytest.raises(InvalidInput, match=complaint):
            override(parse_axis(key, "uniform(0, 9)"), 2.0, DATA)


def test_keys_are_looked_up_by_name_and_by_place() -> None:
    assert lookup(DATA, "world.surfaces.0.stiffness") == lookup(DATA, "world.surfaces.wall.stiffness") == 1e4
    for key in ("world.surfaces.door.stiffness", "world.surfaces.7.stiffness", "control.law.x"):
        with pytest.raises(InvalidInput, match="no value"):
            lookup(DATA, key)


@pytest.mark.parametrize(("low", "high"), [(0.1, 10.0), (1e3, 1e5), (0.2, 1.2)])
@pytest.mark.parametrize("is_log", [False, True])
def test_numbers_of_a_range_can_be_typed(low: float, high: float, is_log: bool):
    span = Span(low, high, is_log)
    for place in np.linspace(0, 1, 33):
        value = span.at(place)
        assert len(repr(value).replace(".", "").split("e")[0].strip("0")) <= 14
        exact = low ** (1 - place) * high**place if is_log else (1 - place) * low + place * high
        assert value == pytest.approx(exact, rel=1e-13)
    assert Span(0.1, 10.0, True).at(0.5) == 1.0
