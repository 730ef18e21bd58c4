"""A trace as an MCAP file, which Foxglove, PlotJuggler and Rerun open: a topic per channel, and every body's pose."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import TraceError
from palpate.files import write_file
from palpate.trace import Channel, Trace
from palpate.views import protobuf
from palpate.views.kinematics import body_paths
from palpate.views.player import frame_rows
from palpate.views.protobuf import INT32, INT64, MESSAGE, STRING, Field

_SECOND = 1_000_000_000  # ns
_TRANSFORMS = "foxglove.FrameTransforms"


def save_mcap(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write a trace as MCAP: topic `/<channel>` with its columns by name, `/tf` with the poses of all bodies.

    Messages are Protocol Buffers, which Foxglove, PlotJuggler and Rerun all decode, and carry their own description.
    A topic's metadata hold its meaning, and the unit of every field as `unit.<field>`; the file's metadata `palpate`
    the outcome, robot, law and scenario. Times are ns since the start of the run.

    Raises:
        TraceError: the package mcap is not installed.
        FileError: the file cannot be written.
    """
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise TraceError("an MCAP file needs the package mcap", hint="pip install 'palpate[mcap]'") from error
    buffer = io.BytesIO()
    writer = Writer(buffer)
    writer.start(profile="", library="palpate")
    for name, channel in trace.channels.items():
        if name != "time":
            _write_channel(writer, trace, channel)
    if trace.facts.scene and "q" in trace and len(trace):
        _write_poses(writer, trace)
    writer.add_metadata("palpate", {"outcome": str(trace.outcome), **_told(trace)})
    writer.finish()
    return write_file(path, buffer.getvalue())


def _told(trace: Trace) -> dict[str, str]:
    run = trace.facts
    return {"robot": run.robot or "", "law": run.law or "", "scenario": json.dumps(run.scenario or {})}


def _write_channel(writer: Any, trace: Trace, channel: Channel) -> None:
    keys = channel.labels or tuple(str(k) for k in range(channel.size))
    names = protobuf.identifiers(keys if channel.shape else ("value",))
    (kind,) = protobuf.identifiers([channel.name])
    file = protobuf.descriptor(f"palpate/{kind}.proto", "palpate", {kind: [Field(name) for name in names]})
    schema = writer.register_schema(f"palpate.{kind}", "protobuf", protobuf.descriptor_set(file))
    told = {"help": channel.help, **{f"unit.{name}": unit for name, unit in zip(names, channel.column_units)}}
    topic = writer.register_channel(f"/{channel.name.replace('.', '/')}", "protobuf", schema, told)
    rows = protobuf.rows(trace[channel.name].reshape(len(trace), channel.size).astype(float))
    for sequence, (time, row) in enumerate(zip(trace.time, rows)):
        _add(writer, topic, sequence, time, row)


def _write_poses(writer: Any, trace: Trace) -> None:
    """The poses of all bodies in the world, thirty times a second."""
    shown = frame_rows(trace.time)
    paths, names = body_paths(trace, shown), [body["name"] for body in trace.facts.scene]
    schema = writer.register_schema(_TRANSFORMS, "protobuf", _schema_of_transforms())
    topic = writer.register_channel("/tf", "protobuf", schema, {"help": "poses of all bodies in the world, in m"})
    for sequence, row in enumerate(shown):
        time = float(trace.time[row])
        poses = [(name, *(part[sequence] for part in path)) for name, path in zip(names[1:], paths[1:])]
        _add(writer, topic, sequence, time, b"".join(protobuf.message(1, _transform(time, *pose)) for pose in poses))


def _schema_of_transforms() -> bytes:
    """Foxglove's FrameTransforms: names, numbers and types of its fields."""
    stamp = {"Timestamp": [Field("seconds", INT64), Field("nanos", INT32)]}
    kinds = {
        "Vector3": [Field(name) for name in "xyz"],
        "Quaternion": [Field(name) for name in "xyzw"],
        "FrameTransform": [
            Field("timestamp", MESSAGE, ".google.protobuf.Timestamp"),
            Field("parent_frame_id", STRING),
            Field("child_frame_id", STRING),
            Field("translation", MESSAGE, ".foxglove.Vector3"),
            Field("rotation", MESSAGE, ".foxglove.Quaternion"),
        ],
        "FrameTransforms": [Field("transforms", MESSAGE, ".foxglove.FrameTransform", repeated=True)],
    }
    time = "google/protobuf/timestamp.proto"
    return protobuf.descriptor_set(
        protobuf.descriptor(time, "google.protobuf", stamp),
        protobuf.descriptor("foxglove/FrameTransforms.proto", "foxglove", kinds, [time]),
    )


def _transform(time: float, name: str, position: np.ndarray, quat_wxyz: np.ndarray) -> bytes:
    seconds, nanos = divmod(_nanoseconds(time), _SECOND)
    return (
        protobuf.message(1, protobuf.integer(1, seconds) + protobuf.integer(2, nanos))
        + protobuf.text(2, "world")
        + protobuf.text(3, name)
        + protobuf.message(4, protobuf.rows(position[None])[0])
        + protobuf.message(5, protobuf.rows(np.roll(quat_wxyz, -1)[None])[0])
    )


def _nanoseconds(time: float) -> int:
    return round(float(time) * _SECOND)


def _add(writer: Any, topic: int, sequence: int, time: float, data: bytes) -> None:
    stamp = _nanoseconds(time)
    writer.add_message(topic, log_time=stamp, data=data, publish_time=stamp, sequence=sequence)
