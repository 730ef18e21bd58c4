from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from palpate.errors import FileError, TraceError
from palpate.trace import Channel, Outcome, Trace, load_trace
from palpate.trace.save import ROWS_AT_ONCE

SUFFIXES = (".parquet", ".npz", ".csv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_trace_gives_the_same_bytes_on_one_thread_or_many(trace: Trace, tmp_path: Path, suffix: str):
    paths = [tmp_path / f"{i}{suffix}" for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(trace.save, paths))
    assert len({path.read_bytes() for path in paths}) == 1


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
def test_a_loaded_trace_saves_to_the_bytes_it_came_from(trace: Trace, tmp_path: Path, suffix: str):
    first = trace.save(tmp_path / f"a{suffix}")
    second = load_trace(first).save(tmp_path / f"b{suffix}")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_do_not_depend_on_the_process(tmp_path: Path, suffix: str):
    code = (
        "import sys; from palpate.trace import *\n"
        # a set: in the order of the hashes
        "facts = RunFacts(versions={name: '1' for name in {'numpy', 'numba', 'mujoco', 'python'}})\n"
        "Trace([0, 1], {Channel('q', 'rad', (2,)): [[1, 2], [3, 4]]}, Outcome('completed', 'end', 1, 1), facts=facts)"
        ".save(sys.argv[1])"
    )
    for seed in ("1", "2"):
        path = str(tmp_path / (seed + suffix))
        subprocess.run([sys.executable, "-c", code, path], check=True, env=os.environ | {"PYTHONHASHSEED": seed})
    assert (tmp_path / ("1" + suffix)).read_bytes() == (tmp_path / ("2" + suffix)).read_bytes()


def test_parquet_holds_flat_float_columns_and_a_description(trace: Trace, tmp_path: Path):
    table = pq.read_table(trace.save(tmp_path / "run.parquet"))
    assert table.column_names == list(trace.table())
    assert {str(field.type) for field in table.schema} == {"double"}
    assert table["q[joint2]"].to_numpy().tobytes() == np.ascontiguousarray(trace["q"][:, 1]).tobytes()
    header = json.loads(table.schema.metadata[b"palpate"])
    assert header["kind"] == "trace"
    assert header["info"]["seed"] == 11
    assert header["info"]["versions"] == {"palpate": "0.1.0"}
    assert header["info"]["scenario"]["control"]["stiffness"] == 400.0
    assert header["channels"][0]["unit"] == "rad"
    assert header["outcome"]["reason"] == "force limit reached"


def test_csv_has_one_header_with_units_and_exact_numbers(trace: Trace, tmp_path: Path):
    with open(trace.save(tmp_path / "run.csv"), encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header[:3] == ["time (s)", "q[joint1] (rad)", "q[joint2] (rad)"]
    assert "wrench_true[nx] (N·m)" in header
    assert "rotation_tool[0,2] (1)" in header
    found = np.array(rows, dtype=np.float64)
    assert found.tobytes() == np.column_stack(list(trace.table().values())).tobytes()


def test_csv_of_many_rows_is_complete(tmp_path: Path):
    samples = ROWS_AT_ONCE + 3
    trace = Trace(np.arange(samples), {}, Outcome("completed", "end", samples, samples))
    lines = trace.save(tmp_path / "long.csv").read_text().splitlines()
    assert lines[0] == "time (s)"
    assert [float(line) for line in lines[1:]] == trace.time.tolist()


def test_npz_opens_in_numpy_without_pickle(trace: Trace, tmp_path: Path):
    with np.load(trace.save(tmp_path / "run.npz"), allow_pickle=False) as arrays:
        assert arrays["rotation_tool"].tobytes() == trace["rotation_tool"].tobytes()
        assert json.loads(str(arrays["__palpate__"]))["info"]["seed"] == 11


def test_a_channel_may_be_called_file(tmp_path: Path):
    trace = Trace([0.0], {Channel("file", "1"): [1.0]}, Outcome("completed", "end", 0, 0))
    for suffix in (".npz", ".parquet"):
        assert load_trace(trace.save(tmp_path / f"run{suffix}")).equals(trace)


def test_the_suffix_decides_whatever_its_case_and_others_are_refused(trace: Trace, tmp_path: Path):
    assert load_trace(trace.save(tmp_path / "run.Parquet")).equals(trace)
    for name in ("run.mat", "run", "run.parquet.gz"):
        with pytest.raises(TraceError, match=r"must be one of \.parquet, \.csv, \.npz"):
            trace.save(tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_an_interrupted_save_leaves_the_old_file_intact(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, failure: type[BaseException]
):
    path = trace.save(tmp_path / f"run{suffix}")
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((KeyboardInterrupt, FileError)):
        trace.slice(0.01, 0.02).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_ctrl_c_inside_the_writer_leaves_the_old_file_intact(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
):
    path = trace.save(tmp_path / f"run{suffix}")
    before = path.read_bytes()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for owner in ("palpate.parquet.ParquetWriter.close", "palpate.trace.save._add_array"):
        monkeypatch.setattr(owner, interrupt)
    monkeypatch.setattr("palpate.trace.save._rows", interrupt)
    with pytest.raises(KeyboardInterrupt):
        trace.slice(0.01, 0.02).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_a_missing_folder_is_named(trace: Trace, tmp_path: Path):
    with pytest.raises(FileError, match="no folder"):
        trace.save(tmp_path / "absent" / "run.parquet")
