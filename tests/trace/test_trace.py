from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from palpate.errors import BadShape, InvalidInput, NotFinite, TraceError, UnknownName
from palpate.trace import Channel, Event, Outcome, RunFacts, Trace

DONE = Outcome("completed", "end reached", 1.0, 1000)
Q = Channel("q", "rad", (2,), labels=("j1", "j2"))


def small(values: object = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0)), time: object = (0.0, 0.1, 0.2)) -> Trace:
    return Trace(time, {Q: values}, DONE)  # pyright: ignore[reportArgumentType]


def test_channels_are_read_by_name_with_unit_and_meaning(trace: Trace):
    assert trace["rotation_tool"].shape == (40, 3, 3)
    assert trace["penetration"].shape == (40,)
    assert trace.units["q"] == "rad"
    assert trace.units["time"] == "s"
    assert trace.units["wrench_true"] == ("N", "N", "N", "N·m", "N·m", "N·m")
    assert trace.channels["wrench_true"].frame == "world"
    assert trace["time"] is trace.time


def test_names_are_iterated_time_first_and_length_counts_samples(trace: Trace):
    names = ["time", "q", "tau.spring", "wrench_true", "rotation_tool", "penetration"]
    assert list(trace) == list(trace.channels) == list(trace.units) == names
    assert len(trace) == 40
    assert "q" in trace
    assert "v" not in trace


def test_an_unknown_channel_names_the_nearest_everywhere(trace: Trace):
    for mapping in (trace, trace.units, trace.channels):
        with pytest.raises(UnknownName, match=r"unknown channel 'tau\.spriing'.*\n.*mean 'tau\.spring'"):
            mapping["tau.spriing"]
    with pytest.raises(UnknownName):
        trace[0]  # pyright: ignore[reportArgumentType]


def test_arrays_are_copies_that_nobody_can_write_to():
    values, time = np.ones((2, 2)), np.array([0.0, 1.0])
    trace = small(values, time)
    values[:] = 7.0
    time[:] = 7.0
    assert (trace["q"] == 1.0).all()
    assert trace.time.tolist() == [0.0, 1.0]
    for array in (trace["q"], trace.time):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0


def test_facts_are_a_copy_of_plain_data():
    world = {"size": np.array([1.0, 2.0])}
    trace = Trace([0.0], {}, DONE, facts=RunFacts(world=world))
    world["size"][0] = 9.0
    assert trace.facts.world == {"size": [1.0, 2.0]}
    with pytest.raises(NotFinite, match=r"facts\.world\.limit"):
        RunFacts(world={"limit": np.inf})
    assert RunFacts.from_data(trace.facts.as_data()) == trace.facts


def test_events_come_in_order_of_time(trace: Trace):
    assert [event.tick for event in trace.events] == [10, 20]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_refused_with_channel_column_and_time(bad: float):
    with pytest.raises(NotFinite, match=rf"channel 'q'.*got {bad} in q\[j2\] at 0\.1 s \(sample 1\)"):
        small([[1, 2], [3, bad], [bad, 0]])
    with pytest.raises(NotFinite, match=r"time.*finite"):
        small(time=[0.0, 0.1, bad])


@pytest.mark.parametrize("values", [np.zeros((2, 2)), np.zeros((3, 3)), np.zeros(3), np.zeros((3, 2, 1))])
def test_values_must_fit_the_samples_and_the_channel(values: np.ndarray):
    with pytest.raises(BadShape, match=r"channel 'q'.*shape \(3, 2\)"):
        small(values)


@pytest.mark.parametrize("time", [(0.0, 0.1, 0.1), (0.0, 0.2, 0.1)])
def test_time_must_rise_strictly(time: tuple[float, ...]):
    with pytest.raises(InvalidInput, match=r"rise strictly.*at index 2"):
        small(time=time)


def test_time_must_be_one_dimensional():
    with pytest.raises(BadShape, match="time"):
        small(time=[[0.0, 0.1, 0.2]])


def test_two_channels_of_one_name_are_refused():
    with pytest.raises(InvalidInput, match=r"channels.*'q'"):
        Trace([0.0], {Channel("q", "rad"): [0.0], Channel("q", "m"): [0.0]}, DONE)
    with pytest.raises(InvalidInput, match=r"channels.*'time'"):
        Trace([0.0], {Channel("time", "s"): [0.0]}, DONE)


def test_a_trace_may_be_empty_when_the_first_number_was_none():
    empty = small(np.zeros((0, 2)), [])
    assert len(empty) == 0
    assert empty.table()["q[j1]"].shape == (0,)
    assert empty.equals(empty.slice(0.0, 1.0))
    assert "0 samples" in repr(empty)
    with pytest.raises(TraceError, match="no samples"):
        empty.at(0.0)


def test_a_slice_keeps_both_ends_and_the_events_between(trace: Trace):
    part = trace.slice(trace.time[10], trace.time[19])
    assert part.time.tolist() == trace.time[10:20].tolist()
    assert part["rotation_tool"].tobytes() == trace["rotation_tool"][10:20].tobytes()
    assert [event.tick for event in part.events] == [10]
    assert part.outcome == trace.outcome
    assert trace.slice().equals(trace)
    assert len(trace.slice(start=0.0305)) == 9


def test_at_gives_the_latest_sample_not_after_the_instant():
    trace = small()
    assert trace.at(0.1)["q"].tolist() == [3.0, 4.0]
    assert trace.at(0.19999)["q"].tolist() == [3.0, 4.0]
    assert trace.at(5.0)["time"] == 0.2
    with pytest.raises(TraceError, match="begins at 0 s"):
        trace.at(-0.1)


def test_the_table_has_one_flat_column_per_number(trace: Trace):
    table = trace.table()
    assert list(table)[:3] == ["time", "q[joint1]", "q[joint2]"]
    assert len(table) == 1 + 2 + 2 + 6 + 9 + 1
    assert table["rotation_tool[1,2]"].tolist() == trace["rotation_tool"][:, 1, 2].tolist()
    assert table["wrench_true[nx]"].tolist() == trace["wrench_true"][:, 3].tolist()


def test_equal_data_has_equal_fingerprints_whatever_the_order_or_outcome():
    v = Channel("v", "rad/s")
    one = Trace([0.0], {Q: [[1, 2]], v: [3]}, DONE)
    other = Trace(
        [0.0], {v: [3], Q: [[1, 2]]}, Outcome("stopped", "x", 0, 0), [Event(0, 0, "a", "b", "c")], RunFacts(seed=1)
    )
    assert one.equals(other)
    assert one.fingerprint() == other.fingerprint()
    assert len(one.fingerprint()) == 64


def test_one_bit_one_unit_or_one_frame_changes_the_fingerprint():
    base = Trace([1.0], {Channel("x", "m"): [0.0]}, DONE)
    others = [
        Trace([1.0], {Channel("x", "m"): [-0.0]}, DONE),
        Trace([np.nextafter(1.0, 2.0)], {Channel("x", "m"): [0.0]}, DONE),
        Trace([1.0], {Channel("x", "mm"): [0.0]}, DONE),
        Trace([1.0], {Channel("x", "m", frame="world"): [0.0]}, DONE),
        Trace([1.0], {Channel("x", "m", (1,)): [[0.0]]}, DONE),
        Trace([1.0], {Channel("y", "m"): [0.0]}, DONE),
        Trace([1.0], {}, DONE),
    ]
    assert not any(base.equals(other) for other in others)
    assert len({other.fingerprint() for other in others}) == len(others)


@pytest.mark.parametrize("again", [lambda trace: pickle.loads(pickle.dumps(trace)), copy.deepcopy])
def test_a_trace_travels_between_processes_and_stays_read_only(trace: Trace, again):
    other = again(trace)
    assert other.equals(trace)
    assert (other.outcome, other.events, other.facts) == (trace.outcome, trace.events, trace.facts)
    assert other.channels == trace.channels
    assert not other["q"].flags.writeable


def test_the_text_of_a_trace_says_how_it_ended(trace: Trace):
    assert repr(trace) == (
        "<Trace: 40 samples, 0 to 0.039 s, 6 channels, stopped at 0.04 s (tick 40) in guard.force: force limit reached>"
    )


def test_importing_traces_does_not_import_pyarrow():
    code = "import sys, palpate.trace; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
