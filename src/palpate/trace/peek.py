"""What a trace's file says of itself, without its numbers: for lists of many runs."""

from __future__ import annotations

from pathlib import Path

from palpate.errors import TraceError
from palpate.trace.header import HEADER_KEY, Header, header_from_text


def peek(path: Path) -> Header:
    """The description in a .parquet trace; its numbers and its seal are not looked at.

    Raises:
        TraceError: it is no trace, or damaged.
    """
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, ValueError) as error:
        raise TraceError(f"cannot read {path}: {error}") from error
    if HEADER_KEY.encode() not in metadata:
        raise TraceError(f"{path} was not written by palpate")
    return header_from_text(metadata[HEADER_KEY.encode()].decode())
