from __future__ import annotations

import pytest

from palpate.errors import TraceError
from palpate.trace import Outcome, RunFacts, Trace
from palpate.trace.header import check_entries, header_from_text, header_text, seal


def test_a_header_comes_back_from_its_text(trace: Trace):
    header = header_from_text(header_text(trace))
    assert {channel.name: channel for channel in header.channels} == {
        name: channel for name, channel in trace.channels.items() if name != "time"
    }
    assert (header.outcome, header.events, header.facts) == (trace.outcome, trace.events, trace.facts)


def test_the_text_does_not_depend_on_the_order_of_facts_and_is_ascii(trace: Trace):
    done = Outcome("completed", "fertig · 終", 0, 0)
    one = header_text(Trace([], {}, done, facts=RunFacts(seed=1, world={"c": 2, "d": 3})))
    other = header_text(Trace([], {}, done, facts=RunFacts(world={"d": 3, "c": 2}, seed=1)))
    assert one == other
    assert one.isascii()


def test_the_seal_changes_with_the_text_and_with_the_data(trace: Trace):
    text = header_text(trace)
    seals = {seal(text, trace), seal(text + " ", trace), seal(text, trace.slice(0.01))}
    assert len(seals) == 3
    assert seal(text, trace) == seal(text, trace.slice())


def test_entries_must_be_exactly_those_expected():
    check_entries(["a", "b"], ["b", "a"])
    with pytest.raises(TraceError, match="it lacks 'b', 'c'"):
        check_entries(["a"], ["a", "b", "c"])
    with pytest.raises(TraceError, match=r"it holds 'b'.*not announce"):
        check_entries(["a", "b"], ["a"])


def test_a_fact_of_an_older_trace_is_read_by_its_new_name() -> None:
    assert RunFacts.from_data({"handed": 3}) == RunFacts(engine_steps=3)
