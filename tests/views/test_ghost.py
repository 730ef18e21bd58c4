"""The ghost of the target and the arrows of contact forces, as data."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from palpate.robot import load_robot
from palpate.trace import Channel, Trace
from palpate.views.ghost import ghost_paths
from palpate.views.kinematics import body_paths
from palpate.views.pages.player import replay_data
from palpate.views.pages.replay_arrows import arrows

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
    made = arrows(with_channels(trace, contact_wrench=wrench), ROWS, 1.0)
    start = numbers(made[0]["start"])
    np.testing.assert_allclose(start, trace["tool_position"][ROWS] + lever, atol=1e-6)  # the lever is across the force


def test_a_contact_that_is_recorded_alone_has_its_arrow_where_it_acts(trace: Trace) -> None:
    force, where = np.tile([0.0, 0.0, 7.0], (401, 1)), trace["tool_position"] + [0.05, 0.0, 0.1]
    touched = with_channels(trace, **{"contact.elbow": force, "contact_position.elbow": where})
    contact, push = arrows(touched, ROWS, 1.0)
    assert (contact["label"], push["label"]) == ("elbow", "push")
    np.testing.assert_allclose(numbers(contact["start"]), where[ROWS], atol=1e-6)
    assert contact["scale"] * 7.0 == pytest.approx(1 / 3)


def test_of_many_points_their_sum_is_labelled(trace: Trace) -> None:
    force = np.tile([-2.0, 0.0, 0.0], (401, 1))
    points = {f"{kind}.pad_{k}": force for k in range(6) for kind in ("contact", "contact_position")}
    made = arrows(with_channels(trace, **points), ROWS, 1.0)
    assert [one["label"] for one in made] == ["contact", *[""] * 6, "push"]
