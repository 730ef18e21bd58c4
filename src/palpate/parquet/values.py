"""The inside of a page: levels in runs, and values one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palpate.errors import DamagedTable
from palpate.parquet.thrift import Decoder, varint

BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTES = 0, 1, 2, 4, 5, 6  # Type
NUMBERS = {INT32: "<i4", INT64: "<i8", FLOAT: "<f4", DOUBLE: "<f8"}


def runs(levels: np.ndarray, width: int) -> bytes:
    """Small numbers as runs: how often, and what, in as many bytes as `width` bits need."""
    if not len(levels):
        return b""
    starts = np.concatenate([[0], np.flatnonzero(levels[1:] != levels[:-1]) + 1])
    counts = np.diff(starts, append=len(levels))
    size = (width + 7) // 8
    pieces = (
        varint(int(count) << 1) + int(value).to_bytes(size, "little") for count, value in zip(counts, levels[starts])
    )
    return b"".join(pieces)


def from_runs(content: bytes, width: int, count: int) -> np.ndarray:
    """The first `count` numbers of runs, or of groups of eight packed bit by bit, mixed as they come."""
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    reader, size = Decoder(content), (width + 7) // 8
    parts: list[np.ndarray] = []
    missing = count
    while missing > 0:
        head = reader.varint()
        if head & 1:
            part = _unpacked(reader.take(min((head >> 1) * width, len(content) - reader.at)), width)
        else:
            part = np.full(min(head >> 1, missing), int.from_bytes(reader.take(size), "little"), dtype=np.int64)
        if not len(part):
            raise DamagedTable("a run of nothing")
        parts.append(part[:missing])
        missing -= len(part)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _unpacked(content: bytes, width: int) -> np.ndarray:
    if not 0 < width <= 32:
        raise DamagedTable(f"numbers of {width} bits")
    bits = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")
    whole = bits[: len(bits) // width * width].reshape(-1, width)
    return whole.astype(np.int64) @ (1 << np.arange(width, dtype=np.int64))


def plain(kind: int, values: Sequence[Any] | np.ndarray) -> bytes:
    """Values as they are: numbers in little-endian order, eight booleans to a byte, texts behind their lengths."""
    if kind == BOOLEAN:
        return np.packbits(np.asarray(values, dtype=bool), bitorder="little").tobytes()
    if kind == BYTES:
        texts = [value.encode() for value in values]
        return b"".join(part for text in texts for part in (len(text).to_bytes(4, "little"), text))
    return np.ascontiguousarray(values, dtype=NUMBERS[kind]).tobytes()


def from_plain(kind: int, content: bytes, count: int) -> np.ndarray | list[str]:
    """The first `count` values of such a page."""
    if kind == BOOLEAN:
        found = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")[:count].astype(bool)
    elif kind == BYTES:
        reader = Decoder(content)
        return [reader.take(int.from_bytes(reader.take(4), "little")).decode() for _ in range(count)]
    elif kind in NUMBERS:
        size = np.dtype(NUMBERS[kind]).itemsize
        found = np.frombuffer(content[: count * size], NUMBERS[kind])
    else:
        raise DamagedTable("it holds values of a kind that is not read here: numbers, booleans and texts are")
    if len(found) != count:
        raise DamagedTable(f"{len(found)} values where {count} were announced")
    return found
