"""TOML that tomllib reads back."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from palpate.errors import InvalidInput
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.toml import toml_data, toml_text

scalars = st.one_of(
    st.text(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)  # fmt: skip


def _inner(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(scalars, max_size=3), st.dictionaries(st.text(), inner, max_size=3))


values = st.recursive(scalars, _inner, max_leaves=8)
rows = st.lists(st.dictionaries(st.text(), values, max_size=2), max_size=3)
tables = st.dictionaries(st.text(), st.one_of(values, rows), max_size=4)


def plain(value: Any) -> bool:
    """TOML text cannot hold a lone surrogate."""
    return "\\ud" not in repr(value)


@given(tables.filter(plain))
def test_any_data_reads_back(data: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(data)) == data


@given(tables.filter(plain))
def test_toml_is_read_as_tomllib_reads_it(data: dict[str, Any]) -> None:
    assert toml_data(toml_text(data)) == data


def test_dots_in_texts_and_numbers_are_no_parts_of_a_key() -> None:
    text = f'a = "{"Sentence. " * 300}"\nb = [{"0.5, " * 300}]\nc."x.y".d = "{"." * 300}"\n'
    assert toml_data(text) == tomllib.loads(text)
    with pytest.raises(InvalidInput, match="100 parts"):
        toml_data(".".join("a" * 102) + " = 1")


def test_comments_stand_behind_their_keys() -> None:
    text = toml_text({"a": 1, "b": {"c": [1.5]}}, lambda path: "/".join(map(str, path)))
    assert text == "a = 1  # a\n\n[b]  # b\nc = [1.5]  # b/c\n"


def test_what_toml_has_no_place_for_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no place"):
        toml_text({"a": None})


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_written_out_in_full_is_the_same_scenario(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario_from_data(tomllib.loads(toml_text(scenario.as_data()))) == scenario
