"""Traces as MCAP files, read back by the format's own library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from palpate.robot import load_robot
from palpate.trace import Trace
from palpate.views import save_mcap

reader = pytest.importorskip("mcap.reader")


def messages(path: Path, topic: str) -> list[tuple[int, dict]]:
    with open(path, "rb") as file:
        return [(m.log_time, json.loads(m.data)) for _, _, m in reader.make_reader(file).iter_messages(topics=[topic])]


def test_every_sample_of_a_channel_is_there_with_its_time_and_labels(trace: Trace, tmp_path: Path) -> None:
    path = save_mcap(trace, tmp_path / "run.mcap")
    found = messages(path, "/q")
    assert len(found) == len(trace)
    np.testing.assert_allclose([time * 1e-9 for time, _ in found], trace.time, atol=1e-9)
    np.testing.assert_array_equal([row["joint3"] for _, row in found], trace["q"][:, 3])
    assert [row["value"] for _, row in messages(path, "/contact_force")] == trace["contact_force"].tolist()
    assert messages(path, "/tau/spring")


def test_units_stand_in_the_schema(trace: Trace, tmp_path: Path) -> None:
    with open(save_mcap(trace, tmp_path / "run.mcap"), "rb") as file:
        summary = reader.make_reader(file).get_summary()
    schema = next(json.loads(s.data) for s in summary.schemas.values() if s.name == "palpate.contact_wrench")
    units = [field["description"] for field in schema["properties"].values()]
    assert units == ["N"] * 3 + ["N·m"] * 3


def test_bodies_are_where_the_robot_says(trace: Trace, tmp_path: Path) -> None:
    found = messages(save_mcap(trace, tmp_path / "run.mcap"), "/tf")
    robot = load_robot("panda")
    time, last = found[-1]
    assert time == 2_000_000_000
    pose = robot.pose(trace["q"][-1], "link5")
    told = next(one for one in last["transforms"] if one["child_frame_id"] == "link5")
    np.testing.assert_allclose(list(told["translation"].values()), pose.position, atol=1e-9)


def test_every_schema_is_one_and_every_message_obeys_it(trace: Trace, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    with open(save_mcap(trace, tmp_path / "run.mcap"), "rb") as file:
        summary = reader.make_reader(file).get_summary()
        rules = {number: json.loads(schema.data) for number, schema in summary.schemas.items()}
        for rule in rules.values():
            jsonschema.Draft7Validator.check_schema(rule)
        checks = {number: jsonschema.Draft7Validator(rule) for number, rule in rules.items()}
        seen = set()
        for schema, channel, message in reader.make_reader(file).iter_messages():
            if (channel.topic, message.sequence % 50) not in seen:  # a part of thousands
                seen.add((channel.topic, message.sequence % 50))
                checks[schema.id].validate(json.loads(message.data))
    assert len({topic for topic, _ in seen}) == len(summary.channels) > 10
    assert summary.statistics.message_count == sum(summary.statistics.channel_message_counts.values())
    items = next(r for r in rules.values() if r["title"] == "foxglove.FrameTransforms")["properties"]["transforms"]
    assert set(items["items"]["properties"]) == {
        "timestamp", "parent_frame_id", "child_frame_id", "translation", "rotation"
    }  # fmt: skip
