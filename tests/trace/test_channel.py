from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from palpate.errors import BadShape, InvalidInput
from palpate.trace import Channel


def test_a_single_number_has_one_column_called_like_the_channel():
    channel = Channel("energy.kinetic", "J")
    assert channel.columns == ("energy.kinetic",)
    assert channel.column_units == ("J",)
    assert channel.size == 1


def test_columns_carry_labels_where_there_are_any_and_indices_otherwise():
    assert Channel("q", "rad", (2,), labels=("j1", "j2")).columns == ("q[j1]", "q[j2]")
    assert Channel("q", "rad", (2,)).columns == ("q[0]", "q[1]")
    assert Channel("one", "m", (1,)).columns == ("one[0]",)
    assert Channel("R", "1", (2, 2)).columns == ("R[0,0]", "R[0,1]", "R[1,0]", "R[1,1]")


def test_units_may_differ_between_columns():
    channel = Channel("q", ("rad", "m"), (2,))
    assert channel.unit == ("rad", "m")
    assert channel.column_units == ("rad", "m")


def test_equal_units_collapse_to_one_text():
    assert Channel("q", ("rad", "rad"), (2,)) == Channel("q", "rad", (2,))
    assert Channel("q", ("rad",), (1,)).unit == "rad"


def test_lists_become_tuples_so_that_a_channel_can_be_a_key():
    fields: dict[str, Any] = {"name": "q", "unit": ["rad", "m"], "shape": [2], "labels": ["a", "b"]}
    assert {Channel(**fields): 1}[Channel("q", ("rad", "m"), (2,), labels=("a", "b"))] == 1


def test_a_channel_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Channel("q", "rad").name = "p"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    "name", ["", " q", "q[0]", "tau..spring", ".q", "q.", "__palpate__", "q,v", "a/b", "é", 3, "q\n"]
)
def test_a_name_that_would_spoil_a_column_is_refused(name: Any):
    with pytest.raises(InvalidInput, match="a channel's name"):
        Channel(name, "1")


@pytest.mark.parametrize("unit", ["", "  ", "N\nm", None, ("rad", ""), 3])
def test_a_unit_must_say_something(unit: Any):
    with pytest.raises(InvalidInput, match="unit of channel 'q'"):
        Channel("q", unit, (2,))


def test_units_and_labels_must_match_the_columns():
    with pytest.raises(BadShape, match="takes 2 units, got 3"):
        Channel("q", ("rad", "m", "rad"), (2,))
    with pytest.raises(BadShape, match="takes 2 labels, got 1"):
        Channel("q", "rad", (2,), labels=("a",))
    with pytest.raises(BadShape, match="takes 0 labels, got 1"):
        Channel("q", "rad", labels=("a",))


@pytest.mark.parametrize("labels", [("a", "a"), ("a", "[b]"), ("a", ""), "ab", ("a", 1)])
def test_labels_must_be_distinct_texts_without_brackets(labels: Any):
    with pytest.raises(InvalidInput, match="channel 'q' must"):
        Channel("q", "rad", (2,), labels=labels)


@pytest.mark.parametrize("shape", [(0,), (-1,), (2.0,), ("2",), 2, None])
def test_a_shape_holds_whole_numbers_from_one(shape: Any):
    with pytest.raises(InvalidInput, match="shape of channel 'q'"):
        Channel("q", "rad", shape)


def test_an_empty_frame_is_refused():
    with pytest.raises(InvalidInput, match="frame of channel 'q'"):
        Channel("q", "rad", frame="")
