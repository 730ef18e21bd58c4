"""The ghost of the target and the arrows of contact forces, as data."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest

from palpate.robot import load_robot
from palpate.spatial.rows import rotate
from palpate.trace import Channel, Trace
from palpate.views.forces import arrows
from palpate.views.ghost import carried, ghost_paths
from palpate.views.kinematics import body_paths
from palpate.views.pages.player import replay_data

ROWS = np.arange(0, 401, 40)


def with_channels(trace: Trace, **values: np.ndarray) -> Trace:
    """The trace with some channels replaced, and new ones in N."""
    known = {channel: trace[name] for name, channel in trace.channels.items() if name != "time" and name not in values}
    changed = {trace.channels.get(name, Channel(name, "N", (3,))): value for name, value in values.items()}
    return Trace(trace.time, {**known, **changed}, trace.outcome, trace.events, trace.facts)


def numbers(packed: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4").reshape(-1, 3)


def test_without_wanted_joints_the_tool_stands_at_the_target_as_it_hangs_on_the_arm(trace: Trace) -> None:
    paths = body_paths(trace, ROWS)
    ghost = ghost_paths(trace, ROWS, paths)  # its target is 2 cm aside in x, y and z, its wanted joints are elsewhere
    names = [trace.facts.scene[b]["name"] for b in ghost]
    assert names == ["link7", "hand"]
    for b, (position, quat) in ghost.items():
        np.testing.assert_allclose(position, paths[b][0] + 0.02, atol=1e-9)
        np.testing.assert_allclose(np.abs(np.sum(quat * paths[b][1], axis=1)), 1.0, atol=1e-9)


def test_wanted_joints_that_lead_to_the_target_show_the_whole_arm(trace: Trace) -> None:
    robot = load_robot("panda")
    wanted = [robot.pose(row) for row in trace["target_q"]]
    same = with_channels(
        trace,
        target_position=np.array([pose.position for pose in wanted]),
        target_quat_wxyz=np.array([pose.quat_wxyz for pose in wanted]),
    )
    ghost = ghost_paths(same, ROWS, body_paths(same, ROWS))
    names = {trace.facts.scene[b]["name"]: path for b, path in ghost.items()}
    assert set(names) == {f"link{k}" for k in range(1, 8)} | {"hand"}
    for name in ("link3", "hand"):
        frame = [robot.pose(trace["target_q"][k], name).position for k in ROWS]
        np.testing.assert_allclose(names[name][0], frame, atol=1e-9)


def test_a_run_without_a_target_has_no_ghost(trace: Trace) -> None:
    bare = Trace(trace.time, {trace.channels["q"]: trace["q"]}, trace.outcome, facts=trace.facts)
    assert replay_data(bare)["ghost"] == []


def test_a_total_force_stands_on_its_line_of_action(trace: Trace) -> None:
    lever, force = np.array([0.0, 0.03, -0.05]), np.array([-12.0, 0.0, 0.0])
    wrench = np.tile(np.r_[force, np.cross(lever, force)], (401, 1))
    made = arrows(with_channels(trace, contact_wrench=wrench), ROWS, body_paths(trace, ROWS), 1.0)
    start = numbers(made[0]["start"])
    np.testing.assert_allclose(start, trace["tool_position"][ROWS] + lever, atol=1e-6)  # the lever is across the force


def test_each_exact_contact_has_its_arrow_on_the_body_that_carries_it(trace: Trace) -> None:
    paths = body_paths(trace, np.arange(401))
    elbow = next(b for b, body in enumerate(trace.facts.scene) if body["name"] == "link4")
    on_elbow = paths[elbow][0] + rotate(paths[elbow][1], np.array([0.05, 0.0, 0.1]))
    events = [
        {"time": float(trace.time[k]), "contact": "elbow", "what": "touchdown", "where": on_elbow[k].tolist()}
        for k in (40, 200, 320)
    ]
    force = np.tile([0.0, 0.0, 7.0], (401, 1))
    touched = with_channels(trace, **{"contact.elbow": force})
    touched = Trace(
        touched.time,
        {c: touched[n] for n, c in touched.channels.items() if n != "time"},
        touched.outcome,
        facts=replace(trace.facts, contact_events=events),
    )
    (contact, push) = arrows(touched, ROWS, body_paths(touched, ROWS), 1.0)
    assert (contact["label"], push["label"]) == ("elbow", "push")
    np.testing.assert_allclose(numbers(contact["start"]), on_elbow[ROWS], atol=1e-6)
    assert contact["scale"] * 7.0 == pytest.approx(1 / 3)


def test_a_point_seen_once_stays_on_the_last_body() -> None:
    still = np.zeros((3, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1))
    moved = np.array([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0]]), still[1]
    path, _ = carried(np.array([[1.5, 0.0, 0.0]]), np.array([1]), [still, moved], [0, 1])
    np.testing.assert_allclose(path[:, 0], [0.5, 1.5, 2.5])
