"""Header of a trace's file: everything beside the numbers, as JSON text."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.errors import PalpateError, TraceError
from palpate.parquet import read_footer
from palpate.parquet.layout import MOST_COLUMNS
from palpate.trace.channel import TIME, Channel
from palpate.trace.facts import RunFacts
from palpate.trace.outcome import Event, Outcome

if TYPE_CHECKING:
    from palpate.trace.trace import Trace

FORMAT = 1
_MOST_ITEMS = 1_000_000  # of a description: each takes up to a hundred bytes of memory
_MOST_DIMENSIONS = 8  # of a channel
HEADER_KEY, SEAL_KEY = "palpate", "palpate.sha256"


@dataclass(frozen=True)
class Header:
    """A trace without its numbers."""

    channels: tuple[Channel, ...]
    outcome: Outcome
    events: tuple[Event, ...]
    facts: RunFacts


def header_text(trace: Trace) -> str:
    """The same text for the same trace: keys sorted, floats exact, ASCII only."""
    content = {
        "kind": "trace",
        "format": FORMAT,
        "channels": [asdict(channel) for name, channel in trace.channels.items() if name != TIME.name],
        "outcome": asdict(trace.outcome),
        "events": [asdict(event) for event in trace.events],
        "info": trace.facts.as_data(),
    }
    return json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))


def header_from_text(text: str) -> Header:
    """Read a header back.

    Raises:
        TraceError: not a trace's header, or of a newer format.
    """
    content = _object(text)
    if content.get("kind") != "trace":
        raise TraceError(f"it holds a palpate {content.get('kind')!r}, not a trace")
    version = content.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise TraceError(
            f"its format is {version}, and this version of palpate reads formats up to {FORMAT}",
            hint="install a newer palpate",
        )
    if version != FORMAT:
        raise TraceError(f"its format is {version!r}, not {FORMAT}")
    try:
        return Header(
            channels=_channels(content["channels"]),
            outcome=Outcome(**content["outcome"]),
            events=tuple(Event(**fields) for fields in content["events"]),
            facts=RunFacts.from_data(dict(content["info"])),
        )
    except (KeyError, TypeError, ValueError, OverflowError, IndexError, AttributeError) as error:
        raise TraceError(f"its description is damaged ({error})") from error


def _channels(listed: list[dict[str, Any]]) -> tuple[Channel, ...]:
    """The channels, refused before their columns are named if they have more than a file holds."""
    shapes = [fields.get("shape", ()) for fields in listed]
    small = all(len(shape) <= _MOST_DIMENSIONS and max(shape, default=1) <= MOST_COLUMNS for shape in shapes)
    if not small or sum(math.prod(shape) for shape in shapes) >= MOST_COLUMNS:
        raise TraceError(f"it announces {MOST_COLUMNS} columns or more")
    return tuple(Channel(**fields) for fields in listed)


def seal(header: str, trace: Trace) -> str:
    """SHA-256 over header and data: a file whose seal does not fit was changed after it was written."""
    return hashlib.sha256((header + trace.fingerprint()).encode()).hexdigest()


def check_entries(actual: Iterable[str], expected: Iterable[str]) -> None:
    """Refuse a file whose columns or arrays are not exactly those its description announces."""
    actual, expected = list(actual), list(expected)
    missing = [name for name in expected if name not in actual]
    surplus = [name for name in actual if name not in expected]
    if missing:
        raise TraceError(f"it lacks {', '.join(map(repr, missing))}")
    if surplus:
        raise TraceError(f"it holds {', '.join(map(repr, surplus))}, which its description does not announce")


def _object(text: str) -> dict[str, Any]:
    if text.count(",") + text.count("[") + text.count("{") > _MOST_ITEMS:
        raise TraceError(f"its description holds more than {_MOST_ITEMS} items")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"its description is damaged ({error})") from error
    if not isinstance(content, dict):
        raise TraceError("its description is damaged (no JSON object)")
    return content


def peek(path: Path) -> Header:
    """The description in a .parquet trace; its numbers and its seal are not looked at.

    Raises:
        TraceError: it is no trace, or damaged.
    """
    try:
        metadata = read_footer(path).metadata
    except PalpateError as error:
        raise TraceError(str(error.args[0])) from error
    if HEADER_KEY not in metadata:
        raise TraceError(f"{path} was not written by palpate")
    return header_from_text(metadata[HEADER_KEY])
