from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from palpate.errors import TraceError
from palpate.parquet import Column, ParquetWriter
from palpate.trace import Channel, Event, Outcome, RunFacts, Trace, load_trace
from palpate.trace.header import FORMAT

SUFFIXES = (".parquet", ".npz")
finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(min_size=1).filter(str.strip)
printable = st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=1, max_size=8).filter(
    lambda text: text.isprintable() and bool(text.strip())
)
plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def channels(draw: st.DrawFn) -> Channel:
    shape = draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    size = int(np.prod(shape))
    labels = draw(st.just(()) | st.lists(printable, min_size=size, max_size=size, unique=True)) if shape else ()
    unit = draw(printable | st.lists(printable, min_size=size, max_size=size).map(tuple))
    name = draw(st.from_regex(r"[a-z][a-z0-9_-]{0,5}(\.[a-z0-9]{1,3})?", fullmatch=True).filter(lambda n: n != "time"))
    return Channel(name, unit, shape, draw(st.none() | printable), tuple(labels), draw(st.text()))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    time = np.array(sorted(draw(st.lists(finite, unique=True, max_size=5))))
    chosen = draw(st.lists(channels(), unique_by=lambda channel: channel.name, max_size=3))
    data = {c: draw(hnp.arrays(np.float64, (len(time), *c.shape), elements=finite)) for c in chosen}
    ticks, kinds = st.integers(0, 2**62), st.sampled_from(["completed", "stopped", "diverged", "interrupted"])
    outcome = draw(st.builds(Outcome, kinds, texts, finite, ticks, st.none() | texts))
    events = draw(st.lists(st.builds(Event, finite, ticks, texts, texts, texts, st.none() | finite), max_size=3))
    world, said = draw(st.dictionaries(st.text(), plain_data, max_size=3)), draw(st.lists(st.text(), max_size=3))
    return Trace(time, data, outcome, events, RunFacts(world=world, warnings=tuple(said)))


def same(one: Trace, other: Trace) -> bool:
    """Equal in everything a file keeps."""
    kept = [(t.fingerprint(), t.channels, list(t), t.outcome, t.events, t.facts) for t in (one, other)]
    return kept[0] == kept[1]


def rewritten(path: Path, header: dict[str, Any] | None = None, **columns: Any) -> Path:
    """The Parquet file with some columns replaced (None drops one) or another header, seal untouched."""
    table = pq.read_table(path)
    metadata = {key.decode(): text.decode() for key, text in table.schema.metadata.items()}
    if header is not None:
        metadata["palpate"] = json.dumps(header)
    arrays = {name: column.to_pylist() for name, column in zip(table.column_names, table.columns)} | columns
    kept = {name: values for name, values in arrays.items() if values is not None}
    with open(path, "wb") as file:
        writer = ParquetWriter(file, [_column(name, values) for name, values in kept.items()])
        writer.write(list(kept.values()))
        writer.close(metadata)
    return path


def _column(name: str, values: Any) -> Column:
    return Column(name, "text" if isinstance(values[-1], str) else "double", optional=values[0] is None)


def header_of(path: Path) -> dict[str, Any]:
    return json.loads(pq.read_schema(path).metadata[b"palpate"])


@pytest.fixture
def parquet(trace: Trace, tmp_path: Path) -> Path:
    return trace.save(tmp_path / "run.parquet")


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=60, deadline=None)
@given(trace=traces())
def test_what_was_saved_is_what_is_loaded(suffix: str, trace: Trace):
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_trace(trace.save(Path(folder) / f"run{suffix}"))
    assert same(loaded, trace)
    assert not loaded.time.flags.writeable


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_trace_of_several_row_groups_comes_back_whole(tmp_path: Path, suffix: str):
    samples = 140_000
    values = np.random.default_rng(3).normal(size=(samples, 2))
    done = Outcome("completed", "end", samples, samples)
    trace = Trace(np.arange(samples), {Channel("q", "rad", (2,)): values}, done)
    loaded = load_trace(trace.save(tmp_path / f"run{suffix}"))
    assert loaded["q"].tobytes() == values.tobytes()
    assert loaded.equals(trace)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path):
    with pytest.raises(TraceError, match=r"absent\.parquet: No such file.*\n  hint"):
        load_trace(tmp_path / "absent.parquet")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(TraceError, match="it is a folder"):
        load_trace(tmp_path / "folder.parquet")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_and_foreign_bytes_are_refused(tmp_path: Path, suffix: str):
    path = tmp_path / f"run{suffix}"
    path.write_bytes(b"")
    with pytest.raises(TraceError, match=rf"run\{suffix}: it is empty\n  hint"):
        load_trace(path)
    for content in (b"x", b"time,q\n0,1\n" * 50, b"PAR1" * 20, b"PK\x03\x04" * 20, os.urandom(500)):
        path.write_bytes(content)
        with pytest.raises(TraceError, match=rf"run\{suffix}: it is damaged or of another kind \(.+\)\n  hint"):
            load_trace(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_anywhere_is_refused(trace: Trace, tmp_path: Path, suffix: str):
    path = trace.save(tmp_path / f"run{suffix}")
    whole = path.read_bytes()
    for length in [*range(1, len(whole), 211), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(TraceError, match=rf"run\{suffix}: it is damaged"):
            load_trace(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_flipped_byte_is_refused_or_harmless_never_believed(trace: Trace, tmp_path: Path, suffix: str):
    path = trace.save(tmp_path / f"run{suffix}")
    whole = path.read_bytes()
    places = range(0, len(whole), 37)
    refused = 0
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            assert same(load_trace(path), trace)
        except TraceError:
            refused += 1
    assert refused > 0.7 * len(places)  # the rest hits statistics and padding that carry nothing


def test_a_foreign_parquet_file_is_refused(tmp_path: Path):
    pq.write_table(pa.table({"time": [0.0, 1.0]}), tmp_path / "other.parquet")
    with pytest.raises(TraceError, match=r"other\.parquet.*not written.*palpate"):
        load_trace(tmp_path / "other.parquet")


def test_a_foreign_npz_file_is_refused(tmp_path: Path):
    np.savez(tmp_path / "other.npz", time=np.arange(3.0))
    with pytest.raises(TraceError, match=r"other\.npz.*not written.*palpate"):
        load_trace(tmp_path / "other.npz")


def test_a_pickle_inside_an_npz_file_is_never_opened(tmp_path: Path):
    np.savez(tmp_path / "evil.npz", __palpate__=np.array([{"a": 1}], dtype=object))
    with pytest.raises(TraceError, match="Object arrays cannot be loaded"):
        load_trace(tmp_path / "evil.npz")


def test_another_suffix_and_csv_are_refused_with_advice(trace: Trace, tmp_path: Path):
    with pytest.raises(TraceError, match=r"must be one of \.parquet, \.npz"):
        load_trace(tmp_path / "run.mat")
    with pytest.raises(TraceError, match=r"keeps.*numbers\n  hint: save.*\.parquet"):
        load_trace(trace.save(tmp_path / "run.csv"))


def test_a_newer_format_asks_for_a_newer_palpate(parquet: Path):
    rewritten(parquet, header_of(parquet) | {"format": FORMAT + 1})
    with pytest.raises(TraceError, match=rf"its format is {FORMAT + 1}.*\n  hint: install a newer palpate"):
        load_trace(parquet)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": None}, "its format is None"),
        ({"format": 0}, "its format is 0"),
        ({"kind": "sweep"}, "it holds a palpate 'sweep', not a trace"),
        ({"outcome": None}, "its description is damaged"),
        ({"outcome": {"kind": "won", "reason": "x", "time": 0, "tick": 0}}, "unknown outcome 'won'"),
        ({"channels": [{"name": "q"}]}, "its description is damaged"),
        ({"events": [{"colour": "red"}]}, "its description is damaged"),
        ({"info": 3}, "its description is damaged"),
        ({"info": {"seed": 12}}, "it was changed after it was written"),
    ],
)
def test_a_damaged_or_changed_description_is_refused(parquet: Path, change: dict[str, Any], reason: str):
    rewritten(parquet, header_of(parquet) | change)
    with pytest.raises(TraceError, match=rf"run\.parquet: {reason}"):
        load_trace(parquet)


@pytest.mark.parametrize("text", ["{", "[]", "3", "[" * 100_000, "[" + "0," * 3_000_000 + "0]"])
def test_a_description_that_is_no_json_object_is_refused(parquet: Path, text: str):
    with open(parquet, "wb") as file:
        ParquetWriter(file, [Column("time")]).close({"palpate": text})
    with pytest.raises(TraceError, match=r"description.*damaged|holds more"):
        load_trace(parquet)


def test_columns_must_be_those_announced(parquet: Path):
    whole = parquet.read_bytes()
    rewritten(parquet, **{"q[joint2]": None})
    with pytest.raises(TraceError, match=r"run\.parquet: it lacks 'q\[joint2\]'"):
        load_trace(parquet)
    parquet.write_bytes(whole)
    rewritten(parquet, extra=np.zeros(40))
    with pytest.raises(TraceError, match="it holds 'extra', which"):
        load_trace(parquet)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (np.zeros(40), "it was changed after it was written"),
        ([str(i) for i in range(40)], r"it is damaged .*column 'penetration' holds text values"),
        (np.r_[np.zeros(39), np.nan], r"channel 'penetration' must be finite, got nan .* at 0\.039 s"),
        (np.r_[np.inf, np.zeros(39)], "channel 'penetration' must be finite, got inf"),
        (
            [None] + [0.0] * 39,
            r"it is damaged .*column 'penetration' holds double values, some of which may be missing",
        ),
    ],
)
def test_a_column_of_other_numbers_is_refused(parquet: Path, column: Any, reason: str):
    rewritten(parquet, penetration=column)
    with pytest.raises(TraceError, match=rf"run\.parquet: {reason}"):
        load_trace(parquet)


def test_an_npz_array_of_another_shape_is_refused(trace: Trace, tmp_path: Path):
    path = trace.save(tmp_path / "run.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **(arrays | {"q": arrays["q"][:-1]}))
    with pytest.raises(TraceError, match=r"channel 'q'.*shape \(40, 2\), got \(39, 2\)"):
        load_trace(path)
    np.savez(path, **{name: array for name, array in arrays.items() if name != "q"})
    with pytest.raises(TraceError, match="it lacks 'q'"):
        load_trace(path)
