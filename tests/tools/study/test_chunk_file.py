"""The file of a chunk: every bit of its numbers, and damage is noticed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from palpate.errors import DamagedTable
from palpate.tools.study.running.chunk_file import read_chunk, write_chunk

COLUMNS = {
    "x": [0.1 + 0.2, -0.0, 5e-324, math.inf, 1.7976931348623157e308, None],
    "n": [0, -1, 2**62, 3, 4, 5],
    "why": ["a\nb", "ü \ud800", "", None, '"', "\\"],
    "failed": [[], ["force_peak"], [], [], [], []],
    "passed": [True, False, None, True, True, True],
}


def test_every_value_comes_back(tmp_path: Path) -> None:
    write_chunk(tmp_path / "c.json", COLUMNS)
    read = read_chunk(tmp_path / "c.json")
    assert read == COLUMNS
    assert math.copysign(1.0, read["x"][1]) == -1.0
    assert [type(value) for values in read.values() for value in values] == [
        type(value) for values in COLUMNS.values() for value in values
    ]


@pytest.mark.parametrize("cut", [1, 9, 40, 200])
def test_a_damaged_file_is_noticed(tmp_path: Path, cut: int) -> None:
    write_chunk(tmp_path / "c.json", COLUMNS)
    whole = (tmp_path / "c.json").read_bytes()
    for damaged in (whole[:-cut], whole[:cut] + b"7" + whole[cut + 1 :], b""):
        (tmp_path / "c.json").write_bytes(damaged)
        if damaged not in (whole, whole[:-1]):
            with pytest.raises(DamagedTable):
                read_chunk(tmp_path / "c.json")
