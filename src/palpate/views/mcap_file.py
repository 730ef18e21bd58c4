"""A trace as an MCAP file, which Foxglove, PlotJuggler and Rerun open: a topic per channel, and every body's pose."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import TraceError
from palpate.files import atomic_write
from palpate.trace import Channel, Trace
from palpate.views.kinematics import body_paths
from palpate.views.player import frame_rows

_SECOND = 1_000_000_000  # ns
_TRANSFORMS = "foxglove.FrameTransforms"


def save_mcap(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write a trace as MCAP: topic `/<channel>` with its columns by name, `/tf` with the poses of all bodies.

    Messages are JSON with a schema that names units; times are ns since the start of the run.

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
    return atomic_write(path, lambda file: file.write(buffer.getvalue()))


def _told(trace: Trace) -> dict[str, str]:
    run = trace.facts
    return {"robot": run.robot or "", "law": run.law or "", "scenario": json.dumps(run.scenario or {})}


def _write_channel(writer: Any, trace: Trace, channel: Channel) -> None:
    keys = channel.labels or tuple(str(k) for k in range(channel.size))
    keys = keys if channel.shape else ("value",)
    fields = {key: {"type": "number", "description": unit} for key, unit in zip(keys, channel.column_units)}
    schema = {"type": "object", "title": channel.name, "description": channel.help, "properties": fields}
    known = writer.register_schema(f"palpate.{channel.name}", "jsonschema", json.dumps(schema).encode())
    topic = writer.register_channel(f"/{channel.name.replace('.', '/')}", "json", known)
    rows = trace[channel.name].reshape(len(trace), channel.size).tolist()
    for sequence, (time, row) in enumerate(zip(trace.time, rows)):
        _add(writer, topic, sequence, time, dict(zip(keys, row)))


def _write_poses(writer: Any, trace: Trace) -> None:
    """The poses of all bodies in the world, thirty times a second."""
    rows = frame_rows(trace.time)
    paths, names = body_paths(trace, rows), [body["name"] for body in trace.facts.scene]
    schema = json.dumps(_schema_of_transforms())
    topic = writer.register_channel("/tf", "json", writer.register_schema(_TRANSFORMS, "jsonschema", schema.encode()))
    for sequence, row in enumerate(rows):
        stamp = dict(zip(("sec", "nsec"), divmod(_nanoseconds(float(trace.time[row])), _SECOND)))
        found = [
            {
                "timestamp": stamp,
                "parent_frame_id": "world",
                "child_frame_id": name,
                **_pose(*(p[sequence] for p in path)),
            }
            for name, path in zip(names[1:], paths[1:])
        ]
        _add(writer, topic, sequence, float(trace.time[row]), {"transforms": found})


def _schema_of_transforms() -> dict[str, Any]:
    """Foxglove's FrameTransforms, down to the types of its numbers."""
    second = {"sec": {"type": "integer", "minimum": 0}, "nsec": {"type": "integer", "minimum": 0, "maximum": 999999999}}
    fields = {
        "timestamp": _object("time", second),
        "parent_frame_id": {"type": "string"},
        "child_frame_id": {"type": "string"},
        "translation": _object("foxglove.Vector3", {key: {"type": "number"} for key in "xyz"}),
        "rotation": _object("foxglove.Quaternion", {key: {"type": "number"} for key in "xyzw"}),
    }
    return _object(_TRANSFORMS, {"transforms": {"type": "array", "items": _object("foxglove.FrameTransform", fields)}})


def _object(title: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "title": title, "properties": properties}


def _nanoseconds(time: float) -> int:
    return round(float(time) * _SECOND)


def _pose(position: np.ndarray, quat_wxyz: np.ndarray) -> dict[str, Any]:
    w, x, y, z = quat_wxyz.tolist()
    return {"translation": dict(zip("xyz", position.tolist())), "rotation": {"x": x, "y": y, "z": z, "w": w}}


def _add(writer: Any, topic: int, sequence: int, time: float, content: dict[str, Any]) -> None:
    stamp = _nanoseconds(time)
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    writer.add_message(topic, log_time=stamp, data=data, publish_time=stamp, sequence=sequence)
