from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.checks import whole_number
from palpate.errors import InvalidInput, NotFinite
from palpate.trace.plain_data import plain


def test_numpy_values_and_tuples_become_json_data():
    value = {
        "size": np.array([1.0, 2.0]),
        "count": np.int64(3),
        "on": np.True_,
        "pair": (1, None),
        "n": np.float32(0.5),
    }
    found = plain(value, "info")
    assert found == {"size": [1.0, 2.0], "count": 3, "on": True, "pair": [1, None], "n": 0.5}
    assert json.loads(json.dumps(found)) == found


def test_the_copy_shares_nothing_with_the_original():
    value = {"a": [1, {"b": 2}]}
    found = plain(value, "info")
    found["a"][1]["b"] = 9
    assert value == {"a": [1, {"b": 2}]}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, np.float64("nan"), np.array([0.0, np.nan])])
def test_a_number_that_is_none_is_refused_with_its_path(bad: Any):
    with pytest.raises(NotFinite, match=r"info\.world\[1\]\.size"):
        plain({"world": [0, {"size": bad}]}, "info")


@pytest.mark.parametrize("bad", [Path("x"), {1, 2}, 1j, b"bytes", object()])
def test_other_types_are_refused_with_their_path(bad: Any):
    with pytest.raises(InvalidInput, match=rf"info\.a must be plain data, got {type(bad).__name__}"):
        plain({"a": bad}, "info")


def test_keys_must_be_text():
    with pytest.raises(InvalidInput, match=r"text.*keys.*1"):
        plain({1: "a"}, "info")


def test_whole_numbers_are_taken_exactly_and_others_refused():
    assert type(whole_number(np.int32(4), "tick")) is int
    with pytest.raises(InvalidInput, match=r"tick.*whole.*2\.0"):
        whole_number(2.0, "tick")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match=r"tick.*least 0, got -1"):
        whole_number(-1, "tick")
