"""`--set`: values as in TOML, lists by place or name, tags before gains."""

from __future__ import annotations

from typing import Any

import pytest

from palpate.errors import InvalidInput, ScenarioError
from palpate.scenario.file.load import load_scenario
from palpate.scenario.file.overrides import apply_overrides, merged, parse_override
from palpate.toml import toml_data


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a.b=1", ("a", "b"), 1),
        ("a = 1e-3", ("a",), 1e-3),
        ("a=[1, 2.5]", ("a",), [1, 2.5]),
        ("a=true", ("a",), True),
        ('a="x y"', ("a",), "x y"),
        ("control.law=joint-impedance", ("control", "law"), "joint-impedance"),
        ("a=10 mm", ("a",), "10 mm"),
        ("a={most = 1}", ("a",), {"most": 1}),
        ("a=b=c", None, None),
        ("a=[1,", None, None),
        ("a", None, None),
        ("=1", None, None),
        ("a..b=1", None, None),
    ],
)
def test_a_text_is_read_as_path_and_value(text: str, path: tuple[str, ...] | None, value: Any) -> None:
    if path is None:
        with pytest.raises(ScenarioError, match="--set"):
            parse_override(text)
    else:
        assert parse_override(text) == (path, value)


DATA = {
    "control": {"law": "a", "gain": 1},
    "world": {"surfaces": [{"name": "wall", "k": 1}, {"name": "floor", "k": 2}]},
}


def test_list_entries_are_found_by_place_and_by_name() -> None:
    changed = apply_overrides(DATA, ["world.surfaces.0.k=5", "world.surfaces.floor.k=6"])
    assert [s["k"] for s in changed["world"]["surfaces"]] == [5, 6]
    assert [s["k"] for s in DATA["world"]["surfaces"]] == [1, 2]


def test_missing_tables_are_made_and_missing_entries_refused() -> None:
    assert apply_overrides({}, ["a.b.c=1"]) == {"a": {"b": {"c": 1}}}
    with pytest.raises(ScenarioError, match=r"no entry 'roof'.*wall, floor"):
        apply_overrides(DATA, ["world.surfaces.roof.k=1"])
    with pytest.raises(ScenarioError, match="no entry '2'"):
        apply_overrides(DATA, ["world.surfaces.2.k=1"])
    with pytest.raises(ScenarioError, match="not a table"):
        apply_overrides(DATA, ["control.gain.x=1"])


def test_another_law_takes_no_gains_over_whatever_the_order() -> None:
    for order in (["control.law=b", "control.d=2"], ["control.d=2", "control.law=b"]):
        assert apply_overrides(DATA, order)["control"] == {"law": "b", "d": 2}
    assert apply_overrides(DATA, ["control.law=a"])["control"] == {"law": "a", "gain": 1}


def test_tables_merge_and_lists_replace() -> None:
    below = {"a": {"x": 1, "y": 2}, "l": [1, 2], "control": {"law": "p", "g": 1}}
    above = {"a": {"y": 3}, "l": [9], "control": {"g": 2}}
    assert merged(below, above) == {"a": {"x": 1, "y": 3}, "l": [9], "control": {"law": "p", "g": 2}}
    assert below["a"] == {"x": 1, "y": 2}


def test_overrides_reach_the_scenario() -> None:
    scenario = load_scenario(
        "panda-wall", ["world.surfaces.wall.stiffness=2e4", "run.seed=7", "reference.offset=[0.07, 0, 0]"]
    )
    assert (scenario.world.surfaces[0].stiffness, scenario.run.seed) == (2e4, 7)


@pytest.mark.parametrize("key", ['metrics."a.b:c".least', "metrics.'a.b:c'.least"])
def test_a_key_in_quotes_is_one_as_in_a_file(key: str) -> None:
    assert parse_override(f"{key}=-1") == (("metrics", "a.b:c", "least"), -1)


@pytest.mark.parametrize(
    "text", ["1", "-0", "+12", "1.5", "-0.0", "2e3", "1E-12", "0.1", "6.02e+23", "1_000", "007", ".5", "1.", "inf"]
)
def test_a_number_is_the_one_that_toml_has(text: str) -> None:
    try:
        wanted = toml_data(f"x = {text}")["x"]
    except InvalidInput:
        wanted = text  # a bare word
    value = parse_override(f"a.b={text}")[1]
    assert (type(value), repr(value)) == (type(wanted), repr(wanted))
