"""MCAP files by `mcap`: ROS 2 messages by the definitions they bring, and JSON."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from palpate.errors import FileError, PalpateError
from palpate.lazy import check_extra
from palpate.tools.logs.readers.messages import Topic, is_heavy
from palpate.tools.logs.readers.rosbag_file import decoded, table_of
from palpate.tools.logs.readers.table import Progress, Room, Table


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read every topic encoded as cdr or json; the others are named in the notes."""
    check_extra("mcap", "logs", "reading an MCAP file")
    check_extra("rosbags", "logs", "reading ROS messages")
    topics: dict[str, Topic] = {}
    left: dict[str, str] = {}
    room = Room()
    try:
        _read_messages(path, wanted, (topics, room), left, progress)
    except PalpateError:
        raise
    except Exception as error:  # a damaged file can fail anywhere inside the library
        raise FileError(f"cannot read {path}: it is damaged or no MCAP ({type(error).__name__}: {error})") from error
    notes = [f"topic {name} is encoded as {form} and was left out" for name, form in left.items()]
    return table_of(path, "mcap", (topics.values(), room), notes)


def _read_messages(
    path: Path,
    wanted: Collection[str] | None,
    content: tuple[dict[str, Topic], Room],
    left: dict[str, str],
    progress: Progress,
) -> None:
    from mcap.reader import make_reader
    from rosbags.typesys import Stores, get_typestore

    topics, room = content
    store, known, total = get_typestore(Stores.ROS2_HUMBLE), set(), path.stat().st_size
    with open(path, "rb") as file:
        for done, (schema, channel, message) in enumerate(make_reader(file).iter_messages()):
            if schema is not None and is_heavy(schema.name):
                left[channel.topic] = schema.name
                continue
            if channel.message_encoding == "cdr" and schema is not None and schema.encoding == "ros2msg":
                if schema.name not in known:
                    known.add(schema.name)
                    _register(store, schema)
                value = decoded(store, message.data, schema.name)
            elif channel.message_encoding == "json":
                value = _plain(json.loads(message.data))
            else:
                left[channel.topic] = channel.message_encoding
                continue
            topic = topics.setdefault(channel.topic, Topic(channel.topic, room, wanted))
            topic.add(value, 1e-9 * message.log_time)
            if done % 10000 == 0:
                progress(min(file.tell(), total), total)


def _plain(value: Any) -> Any:
    return value if isinstance(value, dict) else {"value": value}


def _register(store: Any, schema: Any) -> None:
    """Teach the store a message type that it does not know, from the definition in the file."""
    from rosbags.typesys import get_types_from_msg

    if schema.name in store.fielddefs:
        return
    types = get_types_from_msg(schema.data.decode(), schema.name)
    store.register({name: kind for name, kind in types.items() if name not in store.fielddefs})
