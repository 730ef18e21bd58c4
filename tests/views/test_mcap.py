"""Traces as MCAP files, read back by the format's own library and by Protocol Buffers' own decoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.robot import load_robot
from palpate.trace import Channel, Outcome, Trace
from palpate.views import save_mcap

reader = pytest.importorskip("mcap.reader")
decoder = pytest.importorskip("mcap_protobuf.decoder", reason="pip install mcap-protobuf-support")


@pytest.fixture
def path(trace: Trace, tmp_path: Path) -> Path:
    return save_mcap(trace, tmp_path / "run.mcap")


def messages(path: Path, topic: str) -> list[tuple[int, Any]]:
    with open(path, "rb") as file:
        found = reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        return [(one.log_time, value) for _, _, one, value in found.iter_decoded_messages(topics=[topic])]


def summary(path: Path) -> Any:
    with open(path, "rb") as file:
        return reader.make_reader(file).get_summary()


def test_every_sample_of_a_channel_is_there_with_its_time_and_labels(trace: Trace, path: Path) -> None:
    found = messages(path, "/q")
    assert len(found) == len(trace)
    np.testing.assert_allclose([time * 1e-9 for time, _ in found], trace.time, atol=1e-9)
    np.testing.assert_array_equal([row.joint3 for _, row in found], trace["q"][:, 3])
    assert [row.value for _, row in messages(path, "/contact_force")] == trace["contact_force"].tolist()
    assert messages(path, "/tau/spring")


def test_every_topic_is_decoded_and_counted(trace: Trace, path: Path) -> None:
    told = summary(path)
    names = {f"/{name.replace('.', '/')}" for name in trace.channels if name != "time"}
    assert {channel.topic for channel in told.channels.values()} == {*names, "/tf"}
    assert {(s.encoding, s.name.split(".")[0]) for s in told.schemas.values()} == {
        ("protobuf", "palpate"), ("protobuf", "foxglove")
    }  # fmt: skip
    for number, channel in told.channels.items():
        found = messages(path, channel.topic)
        assert len(found) == told.statistics.channel_message_counts[number] > 0
        assert found[0][1].DESCRIPTOR.full_name == told.schemas[channel.schema_id].name
    assert told.statistics.message_count == sum(told.statistics.channel_message_counts.values())


def test_units_stand_in_the_metadata_of_a_topic(path: Path) -> None:
    told = next(c.metadata for c in summary(path).channels.values() if c.topic == "/contact_wrench")
    units = [told[f"unit.{field.name}"] for field in messages(path, "/contact_wrench")[0][1].DESCRIPTOR.fields]
    assert units == ["N"] * 3 + ["N·m"] * 3


def test_bodies_are_where_the_robot_says(trace: Trace, path: Path) -> None:
    time, last = messages(path, "/tf")[-1]
    assert time == 2_000_000_000
    pose = load_robot("panda").pose(trace["q"][-1], "link5")
    told = next(one for one in last.transforms if one.child_frame_id == "link5")
    assert (told.parent_frame_id, told.timestamp.seconds, told.timestamp.nanos) == ("world", 2, 0)
    np.testing.assert_allclose([getattr(told.translation, key) for key in "xyz"], pose.position, atol=1e-9)
    quat_wxyz = np.array([getattr(told.rotation, key) for key in "wxyz"])
    assert abs(quat_wxyz @ pose.quat_wxyz) == pytest.approx(1.0, abs=1e-12)


def test_the_transforms_are_foxgloves_own(path: Path) -> None:
    """Names and numbers as in Foxglove's published FrameTransforms, which it and Rerun find by them."""
    _, one = messages(path, "/tf")[0]
    assert one.DESCRIPTOR.full_name == "foxglove.FrameTransforms"
    assert [(f.name, f.number) for f in one.DESCRIPTOR.fields] == [("transforms", 1)]
    inner = one.transforms[0].DESCRIPTOR
    names = ["timestamp", "parent_frame_id", "child_frame_id", "translation", "rotation"]
    assert (inner.full_name, [(f.name, f.number) for f in inner.fields]) == (
        "foxglove.FrameTransform", list(zip(names, range(1, 6)))
    )  # fmt: skip
    kinds = {field.name: field.message_type for field in inner.fields if field.message_type is not None}
    assert {name: kind.full_name for name, kind in kinds.items()} == {
        "timestamp": "google.protobuf.Timestamp",
        "translation": "foxglove.Vector3",
        "rotation": "foxglove.Quaternion",
    }
    assert [(f.name, f.number) for f in kinds["rotation"].fields] == list(zip("xyzw", range(1, 5)))


def test_any_label_and_any_number_can_be_written(tmp_path: Path) -> None:
    labels = ("left hip", "left/hip", "2nd", "größe", "joint1", "joint_1", *(f"j{k}" for k in range(14)))
    values = np.zeros((2, 20))
    values[1] = 1.7e308, -1.7e308, -1.0, 5e-324, *range(16)
    trace = Trace([0.0, 1.5], {Channel("odd", "1", (20,), labels=labels): values}, Outcome("completed", "done", 1.5, 1))
    odd = messages(save_mcap(trace, tmp_path / "odd.mcap"), "/odd")
    fields = [field.name for field in odd[0][1].DESCRIPTOR.fields]
    assert fields[:5] == ["left_hip", "left_hip_at_1", "column_2nd", "gr__e", "joint1"]
    np.testing.assert_array_equal([getattr(odd[1][1], name) for name in fields], values[1])
