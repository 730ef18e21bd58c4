"""Bags of ROS: SQLite files of rosbag2 by Python's own SQLite, .bag files of ROS 1 and all messages by `rosbags`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from palpate.errors import FileError, PalpateError
from palpate.lazy import check_extra
from palpate.tools.logs.readers.messages import Topic, is_heavy
from palpate.tools.logs.readers.table import Progress, Room, Table, refuse_empty


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read every topic whose message type is one of ROS's own or defined in the file; others are named in the notes."""
    check_extra("rosbags", "logs", "reading a rosbag2")
    from rosbags.typesys import Stores, get_typestore

    store, notes, room = get_typestore(Stores.ROS2_HUMBLE), [], Room()
    try:
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True) as bag:
            listed = bag.execute("SELECT id, name, type, serialization_format FROM topics").fetchall()
            _register_own(bag, store)
            readable = store.fielddefs
            kinds = {i: (n, k) for i, n, k, f in listed if f == "cdr" and k in readable and not is_heavy(k)}
            notes = [f"topic {n} of type {k} was left out" for i, n, k, _ in listed if i not in kinds]
            topics = {i: Topic(name, room, wanted) for i, (name, _) in kinds.items()}
            _messages(bag, kinds, topics, store, progress)
    except sqlite3.DatabaseError as error:
        raise FileError(f"cannot read {path}: it is damaged or no rosbag2 ({error})") from error
    return table_of(path, "rosbag2", (topics.values(), room), notes)


def table_of(path: Path, kind: str, content: tuple[Iterable[Topic], Room], notes: list[str]) -> Table:
    """The table of a bag's topics, and of the memory that they share."""
    topics, room = content
    streams = tuple(stream for topic in topics for stream in topic.streams())
    notes += [f"{t.skipped} messages of {t.name} hold too many numbers and were left out" for t in topics if t.skipped]
    refuse_empty(str(path), max(map(len, streams), default=0))
    return Table(str(path), kind, streams, (*room.notes(), *notes))


def _register_own(bag: Any, store: Any) -> None:
    """Teach the store the types that the file defines itself (rosbag2 from Iron on)."""
    from rosbags.typesys import get_types_from_msg

    if not bag.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_definitions'").fetchone():
        return
    for kind, text in bag.execute("SELECT topic_type, encoded_message_definition FROM message_definitions"):
        try:
            types = get_types_from_msg(text, kind)
            store.register({name: fields for name, fields in types.items() if name not in store.fielddefs})
        except Exception:  # an .idl definition, or one that rosbags does not know: the topic is left out
            continue


def read_ros1(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read a .bag file of ROS 1, whose messages bring their own definitions."""
    check_extra("rosbags", "logs", "reading a bag of ROS 1")
    from rosbags.highlevel import AnyReader

    topics: dict[str, Topic] = {}
    left: dict[str, str] = {}
    room = Room()
    try:
        with AnyReader([path]) as bag:
            chosen = [c for c in bag.connections if not is_heavy(c.msgtype)]
            left = {c.topic: c.msgtype for c in bag.connections if is_heavy(c.msgtype)}
            total = sum(c.msgcount for c in chosen)
            for done, (connection, received, data) in enumerate(bag.messages(chosen)):
                topic = topics.setdefault(connection.topic, Topic(connection.topic, room, wanted))
                topic.add(bag.deserialize(data, connection.msgtype), 1e-9 * received)
                if done % 10000 == 0:
                    progress(done, total)
    except PalpateError:
        raise
    except Exception as error:  # a damaged file can fail anywhere inside the library
        raise FileError(f"cannot read {path}: it is damaged or no bag ({type(error).__name__}: {error})") from error
    notes = [f"topic {name} of type {kind} was left out" for name, kind in left.items()]
    return table_of(path, "rosbag1", (topics.values(), room), notes)


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
