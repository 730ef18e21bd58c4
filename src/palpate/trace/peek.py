"""What a trace's file says of itself, without its numbers: for lists of many runs."""

from __future__ import annotations

from pathlib import Path

from palpate.errors import PalpateError, TraceError
from palpate.parquet import read_footer
from palpate.trace.header import HEADER_KEY, Header, header_from_text


def peek(path: Path) -> Header:
    """The description in a .parquet trace; its numbers and its seal are not looked at.

    Raises:
        TraceError: it is no trace, or damaged.
    """
    try:
        metadata = read_footer(path).metadata
    except (OSError, ValueError, PalpateError) as error:
        reason = error.args[0] if isinstance(error, PalpateError) else error
        raise TraceError(f"cannot read {path}: {reason}") from error
    if HEADER_KEY not in metadata:
        raise TraceError(f"{path} was not written by palpate")
    return header_from_text(metadata[HEADER_KEY])
