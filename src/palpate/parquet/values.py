"""The inside of a page: levels in runs, and values one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palpate.errors import DamagedTable
from palpate.parquet.layout import BOOLEAN, BYTES, DOUBLE, INT32, INT64
from palpate.parquet.thrift import Decoder, varint

_NUMBERS = {INT32: "<i4", INT64: "<i8", DOUBLE: "<f8"}
_LENGTH = 4  # bytes of a length


def runs(levels: np.ndarray) -> bytes:
    """Levels as runs behind their length in bytes: how often, and what, in one byte."""
    starts = np.flatnonzero(np.r_[True, levels[1:] != levels[:-1]][: len(levels)])
    counts = np.diff(starts, append=len(levels))
    pieces = zip(counts.tolist(), levels[starts].astype(int).tolist())
    content = b"".join(varint(count << 1) + bytes([level]) for count, level in pieces)
    return len(content).to_bytes(_LENGTH, "little") + content


def from_runs(reader: Decoder, largest: int, count: int) -> np.ndarray:
    """`count` levels, none above `largest`, written by `runs`."""
    inside = Decoder(reader.take(_length(reader)))
    lengths, levels, total = [], [], 0
    while inside.at < len(inside.content):
        length, level = inside.varint(), inside.take(1)[0]
        total += length >> 1
        if length & 1 or length == 0 or level > largest or total > count:
            raise DamagedTable("levels that palpate does not write")
        lengths.append(length >> 1)
        levels.append(level)
    if total != count:
        raise DamagedTable(f"{total} levels where {count} were announced")
    return np.repeat(np.array(levels, dtype=np.uint8), np.array(lengths, dtype=np.int64))


def plain(kind: int, values: Sequence[Any] | np.ndarray) -> bytes:
    """Values as they are: numbers in little-endian order, eight booleans to a byte, texts behind their lengths."""
    if kind == BOOLEAN:
        return np.packbits(np.asarray(values, dtype=bool), bitorder="little").tobytes()
    if kind == BYTES:
        texts = [value.encode() for value in values]
        return b"".join(part for text in texts for part in (len(text).to_bytes(_LENGTH, "little"), text))
    return np.ascontiguousarray(values, dtype=_NUMBERS[kind]).tobytes()


def plain_size(kind: int, count: int) -> int:
    """How many bytes `count` values take that are not texts."""
    return (count + 7) // 8 if kind == BOOLEAN else count * np.dtype(_NUMBERS[kind]).itemsize


def from_plain(reader: Decoder, kind: int, count: int) -> np.ndarray | list[str]:
    """`count` values written by `plain`, which end the page."""
    if kind == BYTES:
        values: Any = [reader.take(_length(reader)).decode() for _ in range(count)]
    else:
        content = np.frombuffer(reader.take(plain_size(kind, count)), np.uint8)
        booleans = kind == BOOLEAN
        values = np.unpackbits(content, bitorder="little")[:count] == 1 if booleans else content.view(_NUMBERS[kind])
    if reader.at != len(reader.content):
        raise DamagedTable(f"{len(reader.content) - reader.at} bytes behind the last value of a page")
    return values


def _length(reader: Decoder) -> int:
    return int.from_bytes(reader.take(_LENGTH), "little")
