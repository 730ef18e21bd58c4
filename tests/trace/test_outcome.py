from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from palpate.errors import InvalidInput, NotFinite, UnknownName
from palpate.trace import Event, Outcome


@pytest.mark.parametrize(
    ("kind", "ok"), [("completed", True), ("stopped", True), ("diverged", False), ("interrupted", False)]
)
def test_completed_and_stopped_runs_ended_as_designed(kind: Any, ok: bool):
    assert Outcome(kind, "because", 1.0, 1000).ok is ok


def test_an_outcome_reads_as_one_line():
    outcome = Outcome("diverged", "velocity is\nnot finite", 0.25, 250, where="v[joint2]")
    assert str(outcome) == "diverged at 0.25 s (tick 250) in v[joint2]: velocity is not finite"
    assert str(Outcome("completed", "end reached", 2, 2000)) == "completed at 2 s (tick 2000): end reached"


def test_an_event_reads_as_one_line():
    event = Event(0.5, 500, "guard.torque", "intervention", "clipped, N·m", 87.0)
    assert str(event) == "0.5 s (tick 500) guard.torque intervention: clipped, N·m (87)"
    assert str(Event(0, 0, "a", "b", "c")) == "0 s (tick 0) a b: c"


def test_numpy_numbers_become_plain_ones():
    outcome = Outcome("completed", "end", np.float64(1.0), np.int64(3))  # pyright: ignore[reportArgumentType]
    assert (type(outcome.time), type(outcome.tick)) == (float, int)
    event = Event(np.float32(1), 1, "a", "b", "c", np.float64(2))  # pyright: ignore[reportArgumentType]
    assert (type(event.time), type(event.value)) == (float, float)


def test_an_unknown_kind_of_outcome_names_the_nearest():
    with pytest.raises(UnknownName, match="mean 'completed'"):
        Outcome("complete", "x", 0.0, 0)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(bad: float):
    with pytest.raises(NotFinite, match=r"time.*outcome"):
        Outcome("completed", "x", bad, 0)
    with pytest.raises(NotFinite, match=r"time.*'k'"):
        Event(bad, 0, "s", "k", "m")
    with pytest.raises(NotFinite, match=r"value.*'k'"):
        Event(0.0, 0, "s", "k", "m", bad)


def test_silent_texts_and_negative_ticks_are_refused():
    with pytest.raises(InvalidInput, match=r"reason.*outcome"):
        Outcome("completed", " ", 0.0, 0)
    with pytest.raises(InvalidInput, match=r"cause \(`where`\).*outcome"):
        Outcome("completed", "x", 0.0, 0, where="")
    with pytest.raises(InvalidInput, match=r"tick.*outcome.*0"):
        Outcome("completed", "x", 0.0, -1)
    with pytest.raises(InvalidInput, match=r"source.*event"):
        Event(0.0, 0, "", "k", "m")
    with pytest.raises(InvalidInput, match=r"tick.*'k'"):
        Event(0.0, -2, "s", "k", "m")
