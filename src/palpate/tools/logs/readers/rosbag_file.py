"""The SQLite files of rosbag2: SQLite from Python, messages by `rosbags`, no ROS."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Any

from palpate.errors import FileError
from palpate.lazy import check_extra
from palpate.tools.logs.readers.messages import Topic
from palpate.tools.logs.table import Progress, Table, refuse_empty


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read every topic whose message type is one of ROS's own; the others are named in the notes."""
    check_extra("rosbags", "logs", "reading a rosbag2")
    from rosbags.typesys import Stores, get_typestore

    store, notes = get_typestore(Stores.ROS2_HUMBLE), []
    try:
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True) as bag:
            listed = bag.execute("SELECT id, name, type, serialization_format FROM topics").fetchall()
            kinds = {i: (n, k) for i, n, k, form in listed if form == "cdr" and k in store.fielddefs}
            notes = [f"topic {n} of type {k} was left out" for i, n, k, _ in listed if i not in kinds]
            topics = {i: Topic(name, str(path), wanted) for i, (name, _) in kinds.items()}
            _messages(bag, kinds, topics, store, progress)
    except sqlite3.DatabaseError as error:
        raise FileError(f"cannot read {path}: it is damaged or no rosbag2 ({error})") from error
    streams = tuple(stream for topic in topics.values() if (stream := topic.stream()) is not None)
    notes += [f"{t.skipped} messages of {t.name} of another form were left out" for t in topics.values() if t.skipped]
    refuse_empty(str(path), max(map(len, streams), default=0))
    return Table(str(path), "rosbag2", streams, tuple(notes))


def _messages(bag: Any, kinds: dict[int, Any], topics: dict[int, Topic], store: Any, progress: Progress) -> None:
    total = bag.execute("SELECT count(*) FROM messages").fetchone()[0]
    rows = bag.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id")
    for done, (topic, received, data) in enumerate(rows):
        if topic in kinds:
            topics[topic].add(decoded(store, data, kinds[topic][1]), 1e-9 * received)
        if done % 10000 == 0:
            progress(done, total)


def decoded(store: Any, data: bytes, kind: str) -> Any:
    """One message from its CDR bytes.

    Raises:
        FileError: the bytes are no such message.
    """
    try:
        return store.deserialize_cdr(data, kind)
    except Exception as error:  # whatever damaged bytes make of it
        raise FileError(f"a message of type {kind} is damaged: {type(error).__name__}") from error
