"""Parquet as written and read here, against pyarrow, Polars and DuckDB as witnesses."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from palpate.errors import DamagedTable, MissingExtra, TooLarge
from palpate.parquet import Column, ParquetWriter, layout, read_columns, read_footer, read_numbers
from palpate.parquet.thrift import Decoder
from palpate.parquet.values import from_runs, runs

COLUMNS = (
    Column("x"),
    Column("y", "double", optional=True),
    Column("n", "int64", optional=True),
    Column("m", "int32", optional=True),
    Column("ok", "bool", optional=True),
    Column("text", "text", optional=True),
    Column("texts", "texts", optional=True),
)
numbers = st.floats(allow_nan=False)
texts = st.text(st.characters(codec="utf-8"), max_size=6)
rows = st.lists(
    st.tuples(
        numbers,
        st.none() | numbers,
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.booleans(),
        st.none() | texts,
        st.none() | st.lists(texts, max_size=3),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True, scope="module")
def _groups_may_be_small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "LEAST_ROWS", 1)
        yield


def written(groups: list[list[tuple[Any, ...]]], metadata: dict[str, str] | None = None) -> bytes:
    file = io.BytesIO()
    writer = ParquetWriter(file, COLUMNS)
    for group in groups:
        writer.write([[row[place] for row in group] for place in range(len(COLUMNS))])
    writer.close(metadata)
    return file.getvalue()


def found(content: bytes) -> list[tuple[Any, ...]]:
    return list(zip(*(values.to_list() for values in read_columns(io.BytesIO(content)).values())))


@settings(max_examples=80, deadline=None)
@given(groups=st.lists(rows, min_size=1, max_size=3))
def test_what_is_written_is_read_here_and_by_pyarrow(groups: list[list[tuple[Any, ...]]]) -> None:
    content, wanted = written(groups, {"key": "wörth"}), [row for group in groups for row in group]
    assert found(content) == wanted
    table = pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True).read()
    assert list(zip(*(column.to_pylist() for column in table.columns))) == wanted
    footer = read_footer(io.BytesIO(content))
    assert (footer.rows, footer.columns) == (len(wanted), tuple(column.name for column in COLUMNS))
    assert footer.metadata == {"key": "wörth"} == {k.decode(): v.decode() for k, v in table.schema.metadata.items()}


def test_polars_and_duckdb_read_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    group = [
        (0.5, None, 3, -7, True, "ä", ["a", "b"]),
        (-0.0, 2.5, None, None, None, None, []),
        (1e300, 1.0, 1, 1, False, "", None),
    ]
    path.write_bytes(written([group, group]))
    assert pl.read_parquet(path).rows() == group * 2
    assert duckdb.connect().execute(f"from '{path}'").fetchall() == group * 2


@pytest.mark.parametrize(
    "how",
    [
        {},  # Snappy and a dictionary, as pandas writes
        {"compression": "zstd", "use_dictionary": False, "version": "2.6", "write_page_checksum": True},
        {"compression": "gzip", "row_group_size": 7},
        {"compression": "none", "data_page_version": "2.0"},
        {"compression": "brotli"},
        {"compression": "zstd", "data_page_version": "2.0", "data_page_size": 64, "use_dictionary": False},
    ],
)
def test_numbers_that_pyarrow_writes_are_read_through_pyarrow_alone(how: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "foreign.parquet"
    table = {"x": [0.5, None, -0.0] * 9, "n": [3, 4, 5] * 9, "ok": [True, False, True] * 9}
    pq.write_table(pa.table(table), path, **how)
    read = read_numbers(path)
    np.testing.assert_array_equal(read["x"], [0.5, np.nan, -0.0] * 9)
    assert read["n"].tolist() == table["n"]
    assert read["ok"].tolist() == table["ok"]
    with pytest.raises(DamagedTable, match=r"not written.*palpate"):
        read_columns(path)


def test_what_polars_and_duckdb_write_is_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"time": np.arange(3000) / 7, "q[a]": np.sin(np.arange(3000.0)), "n": np.arange(3000) % 5})
    for how in ("zstd", "snappy", "gzip"):
        frame.write_parquet(tmp_path / "p.parquet", compression=how)
        duckdb.sql(
            f"copy (from '{tmp_path / 'p.parquet'}') to '{tmp_path / 'd.parquet'}' (format parquet, codec '{how}')"
        )
        for name in ("p", "d"):
            read = read_numbers(tmp_path / f"{name}.parquet")
            for column in frame.columns:
                np.testing.assert_array_equal(read[column], frame[column].to_numpy())


def test_a_foreign_table_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "foreign.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        MissingExtra, match=r"foreign\.parquet.*needs pyarrow.*\n  hint: pip install .palpate\[parquet\]"
    ):
        read_numbers(tmp_path / "foreign.parquet")
    path = tmp_path / "own.parquet"
    path.write_bytes(written([[(1.0, 2.0, 3, 4, True, "x", ["y"])]]))
    assert read_numbers(path)["y"].tolist() == [2.0]


def test_a_foreign_table_of_something_else_is_refused_by_its_column(tmp_path: Path) -> None:
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"a": [{"b": 1, "c": 2}]}), path)
    with pytest.raises(DamagedTable, match=r"column 'a' holds struct.*, not numbers"):
        read_numbers(path)
    path.write_bytes(path.read_bytes()[:-30] + b"x" * 22 + path.read_bytes()[-8:])
    with pytest.raises(DamagedTable):
        read_numbers(path)


def test_some_columns_and_rows_are_read_without_the_others(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    everything = [(float(i), None if i % 3 else 1.0, i, i, True, str(i), [str(i)]) for i in range(30)]
    groups = [everything[:10], everything[10:20], everything[20:]]
    content = bytearray(written(groups))
    path.write_bytes(content)
    for first, stop in ((0, 1), (9, 11), (12, 29), (29, 30), (30, 31)):
        part = read_columns(path, ["texts", "y"], rows=(first, stop))
        assert list(part) == ["texts", "y"]
        wanted = everything[first:stop]
        assert part["y"].to_list() == [row[1] for row in wanted]
        assert part["texts"].to_list() == [row[6] for row in wanted]
    with pytest.raises(DamagedTable, match="no column 'z'"):
        read_columns(path, ["z"])
    assert math.isnan(read_columns(path, ["y"])["y"].to_numpy()[1])


def test_a_flipped_bit_of_a_page_is_seen_and_of_the_footer_nearly_always() -> None:
    group = [(i / 7, i / 3 if i % 2 else None, i, i, i % 2 == 0, "t" * (i % 4), ["a"] * (i % 3)) for i in range(50)]
    content, wanted = written([group]), found(written([group]))
    believed: list[int] = []
    for place in range(len(content)):
        for bit in (0x01, 0x10, 0x80):
            spoilt = bytearray(content)
            spoilt[place] ^= bit
            try:
                read = found(bytes(spoilt))
            except DamagedTable:
                continue
            believed += [place] if read != wanted else []
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert all(place >= footer for place in believed)
    assert len(believed) < 0.01 * 3 * len(content)


def test_a_cut_file_and_other_files_are_refused() -> None:
    content = written([[(1.0, 2.0, 3, 4, True, "x", ["y"])] * 9])
    for length in range(len(content)):
        with pytest.raises(DamagedTable):
            read_columns(io.BytesIO(content[:length]))
    for other in (b"", b"PAR1", b"PAR1PAR1PAR1", b"x" * 99, b"PAR1" + b"\x19" * 40 + b"\x28\0\0\0PAR1"):
        with pytest.raises(DamagedTable):
            read_footer(io.BytesIO(other))


@given(levels=st.lists(st.integers(0, 3), max_size=60))
def test_runs_come_back(levels: list[int]) -> None:
    assert from_runs(Decoder(runs(np.array(levels, dtype=np.int64))), 3, len(levels)).tolist() == levels


def test_levels_above_the_largest_or_of_another_count_are_refused() -> None:
    content = runs(np.array([0, 2, 2]))
    for largest, count in ((1, 3), (2, 2), (2, 4)):
        with pytest.raises(DamagedTable, match="levels"):
            from_runs(Decoder(content), largest, count)


def test_bytes_between_the_pages_and_the_footer_are_refused() -> None:
    content = written([[(1.0, 2.0, 3, 4, True, "x", ["y"])] * 9])
    length = int.from_bytes(content[-8:-4], "little") + 8
    with pytest.raises(DamagedTable, match="7 bytes and 0 rows"):
        read_footer(io.BytesIO(content[:-length] + bytes(7) + content[-length:]))


def test_the_writer_refuses_what_would_not_be_read() -> None:
    writer = ParquetWriter(io.BytesIO(), [Column("t", "text")])
    with pytest.raises(TooLarge, match="rows"):
        writer.write([["x"] * (layout.MOST_ROWS + 1)])
    with pytest.raises(TooLarge, match="texts of"):
        writer.write([["x" * (layout.MOST_TEXT // 2)] * 2])
    with pytest.raises(TooLarge, match="columns"):
        ParquetWriter(io.BytesIO(), [Column(str(k)) for k in range(layout.MOST_COLUMNS + 1)])
    writer.write([["x"] * 3])
    with pytest.raises(TooLarge, match="are read"):
        writer.close({"text": "x" * layout.MOST_FOOTER})


def test_groups_that_are_not_full_are_refused_before_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    content = written([[(1.0, 2.0, 3, 4, True, "x", ["y"])] * 9] * 2)
    monkeypatch.setattr(layout, "LEAST_ROWS", 10)
    with pytest.raises(DamagedTable, match=r"group.*9 rows"):
        read_footer(io.BytesIO(content))
    with pytest.raises(TooLarge, match=r"last.*fewer"):
        written([[(1.0, 2.0, 3, 4, True, "x", ["y"])] * 9] * 2)


def test_a_foreign_table_that_does_not_fit_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({name: np.arange(10.0) for name in "abc"}), path)
    # 16 bytes a number: as it is read, and as it is handed on
    monkeypatch.setattr("palpate.parquet.footer.free_bytes", lambda: 16 * 10 * 3)
    assert len(read_numbers(path)) == 3
    monkeypatch.setattr("palpate.parquet.footer.free_bytes", lambda: 16 * 10 * 3 - 1)
    with pytest.raises(TooLarge, match="480"):
        read_numbers(path)
