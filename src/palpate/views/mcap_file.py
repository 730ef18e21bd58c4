"""A trace as an MCAP file, which Foxglove, PlotJuggler and Rerun open: a topic per channel, and every body's pose."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from palpate.files import write_file
from palpate.lazy import check_extra
from palpate.trace import Channel, Trace
from palpate.views.kinematics import body_paths
from palpate.views.pages.player import frame_rows

_SECOND = 1_000_000_000  # ns
_TYPES = {"double": 1, "string": 9}  # of fields, as descriptors number them
# Foxglove's FrameTransforms: the names, numbers and types by which it and Rerun find them.
_TRANSFORMS = {
    "Vector3": dict.fromkeys("xyz", "double"),
    "Quaternion": dict.fromkeys("xyzw", "double"),
    "FrameTransform": {
        "timestamp": ".google.protobuf.Timestamp", "parent_frame_id": "string", "child_frame_id": "string",
        "translation": ".foxglove.Vector3", "rotation": ".foxglove.Quaternion",
    },
    "FrameTransforms": {"transforms": ".foxglove.FrameTransform[]"},
}  # fmt: skip


def save_mcap(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write a trace as MCAP: topic `/<channel>` with its columns by name, `/tf` with the poses of all bodies.

    Messages are Protocol Buffers, which Foxglove, PlotJuggler and Rerun all decode, and carry their own description.
    A topic's metadata hold its meaning, and the unit of every field as `unit.<field>`; the file's metadata `palpate`
    the outcome, robot, law and scenario. Times are ns since the start of the run.

    Raises:
        MissingExtra: the packages of the extra `mcap` are not installed.
        FileError: the file cannot be written.
    """
    check_extra("mcap_protobuf", "mcap", "an MCAP file")
    from mcap.writer import Writer

    buffer = io.BytesIO()
    writer = Writer(buffer)
    writer.start(profile="", library="palpate")
    for name, channel in trace.channels.items():
        if name != "time":
            _write_channel(writer, trace, channel)
    if trace.facts.scene and "q" in trace and len(trace):
        _write_poses(writer, trace)
    run = {"robot": trace.facts.robot or "", "law": trace.facts.law or ""}
    scenario = json.dumps(trace.facts.scenario or {})
    writer.add_metadata("palpate", {"outcome": str(trace.outcome), **run, "scenario": scenario})
    writer.finish()
    return write_file(path, buffer.getvalue())


def _write_channel(writer: Any, trace: Trace, channel: Channel) -> None:
    keys = channel.labels or tuple(str(k) for k in range(channel.size))
    names = identifiers(keys if channel.shape else ("value",))
    (kind,) = identifiers([channel.name])
    make = message_classes(f"palpate/{kind}.proto", "palpate", {kind: dict.fromkeys(names, "double")})[kind]
    about = {"help": channel.help, **{f"unit.{name}": unit for name, unit in zip(names, channel.column_units)}}
    topic = _topic(writer, f"/{channel.name.replace('.', '/')}", make, about)
    rows = trace[channel.name].reshape(len(trace), channel.size).astype(float).tolist()
    for sequence, (time, row) in enumerate(zip(trace.time, rows)):
        _add(writer, topic, sequence, time, make(**dict(zip(names, row))))


def _write_poses(writer: Any, trace: Trace) -> None:
    """The poses of all bodies in the world, thirty times a second."""
    make = message_classes("foxglove/FrameTransforms.proto", "foxglove", _TRANSFORMS)["FrameTransforms"]
    topic = _topic(writer, "/tf", make, {"help": "poses of all bodies in the world, in m"})
    shown = frame_rows(trace.time)
    paths, names = body_paths(trace, shown), [body["name"] for body in trace.facts.scene]
    for sequence, time in enumerate(trace.time[shown].tolist()):
        message = make()
        for name, (positions, quats) in zip(names[1:], paths[1:]):
            pose = message.transforms.add(parent_frame_id="world", child_frame_id=name)
            pose.timestamp.FromNanoseconds(_nanoseconds(time))
            pose.translation.x, pose.translation.y, pose.translation.z = positions[sequence].tolist()
            rotation = pose.rotation
            rotation.w, rotation.x, rotation.y, rotation.z = quats[sequence].tolist()
        _add(writer, topic, sequence, time, message)


def message_classes(file: str, package: str, types: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Classes of messages, by name: each field's name and type, numbered from 1; a type with [] is repeated."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

    pool, content = descriptor_pool.DescriptorPool(), descriptor_pb2.FileDescriptorProto()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    content.name, content.package, content.syntax = file, package, "proto3"
    content.dependency.append(timestamp_pb2.DESCRIPTOR.name)
    for name, fields in types.items():
        described = content.message_type.add(name=name)
        for number, (label, kind) in enumerate(fields.items(), 1):
            field = described.field.add(name=label, number=number, label=3 if kind.endswith("[]") else 1)
            field.type = _TYPES.get(kind, field.TYPE_MESSAGE)  # pyright: ignore[reportAttributeAccessIssue]
            if kind not in _TYPES:
                field.type_name = kind.removesuffix("[]")
    pool.Add(content)
    descriptors = {name: pool.FindMessageTypeByName(f"{package}.{name}") for name in types}
    return {name: message_factory.GetMessageClass(described) for name, described in descriptors.items()}


def identifiers(labels: Iterable[str]) -> list[str]:
    """Labels as names that fields may have: letters, digits and underscores, a letter first.

    Decoders refuse a message with two fields whose names differ by underscores and capitals alone; the later of such
    labels gets its index as an ending.
    """
    names: dict[str, str] = {}
    for index, label in enumerate(labels):
        name = re.sub(r"\W", "_", label, flags=re.ASCII)
        name = name if name[:1].isalpha() else f"column_{name}"
        while _alike(name) in names:
            name = f"{name}_at_{index}"
        names[_alike(name)] = name
    return list(names.values())


def _alike(name: str) -> str:
    return name.replace("_", "").lower()


def _nanoseconds(time: float) -> int:
    return round(float(time) * _SECOND)


def _topic(writer: Any, name: str, make: Any, about: dict[str, str]) -> int:
    from mcap_protobuf.schema import register_schema

    return writer.register_channel(name, "protobuf", register_schema(writer, make), about)


def _add(writer: Any, topic: int, sequence: int, time: float, message: Any) -> None:
    stamp, data = _nanoseconds(time), message.SerializeToString()
    writer.add_message(topic, log_time=stamp, data=data, publish_time=stamp, sequence=sequence)
