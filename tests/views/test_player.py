from __future__ import annotations

import base64
import re
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import FileError, TraceError
from palpate.spatial.rows import rotate
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views import replay
from palpate.views.player import frame_rows, replay_html
from palpate.views.serve import ReplayServer
from palpate.views.shapes import capsule, drawn_as, rods

RECORDING = re.compile(r'__VISER_EMBED_DATA__="([A-Za-z0-9+/=]+)"')


def test_thirty_frames_a_second_first_and_last_sample_included() -> None:
    rows = frame_rows(np.linspace(0.0, 2.0, 2001))
    assert (rows[0], rows[-1], len(rows)) == (0, 2000, 61)
    assert np.all(np.abs(np.diff(rows) - 1000 / 30) < 1)


def test_a_long_run_gets_fewer_frames_and_a_coarse_one_no_more_than_it_has() -> None:
    assert len(frame_rows(np.linspace(0.0, 1000.0, 100_001))) == 3000
    assert frame_rows(np.array([0.0, 1.0, 2.0])).tolist() == [0, 1, 2]
    assert frame_rows(np.array([5.0])).tolist() == [0]


def test_the_page_carries_its_recording_and_prints_nothing(trace: Trace, tmp_path: Path, capsys) -> None:
    path = replay(trace, tmp_path / "replay.html")
    recording = RECORDING.search(path.read_text("utf-8"))
    assert recording is not None
    assert len(base64.b64decode(recording[1])) > 10_000
    assert capsys.readouterr().out == ""


def test_hostile_names_do_not_reach_the_page(hostile: Trace) -> None:
    assert "window.hacked" not in replay_html(hostile)


def test_a_trace_without_a_scene_cannot_be_replayed(tmp_path: Path) -> None:
    bare = Trace([0.0], {Channel("q", "rad", (1,)): [[0.0]]}, Outcome("completed", "done", 0.0, 0))
    with pytest.raises(TraceError, match="no scene"):
        replay(bare, tmp_path / "replay.html")
    assert list(tmp_path.iterdir()) == []


def test_a_robot_without_shapes_is_drawn_as_rods(trace: Trace) -> None:
    scene = [{**body, "geoms": body["geoms"] if body["surface"] else []} for body in trace.facts.scene]
    thin = Trace(trace.time, {trace.channels["q"]: trace["q"]}, trace.outcome, facts=RunFacts(scene=scene))
    assert RECORDING.search(replay_html(thin))


def test_rods_reach_from_joint_to_joint() -> None:
    for end in (np.array([0.1, -0.2, 0.3]), np.array([0.0, 0.0, -0.4])):
        ball, rod = rods([end], 0.02)
        assert ball["shape"] == "sphere"
        tip = np.array(rod["position"]) + rotate(np.array(rod["quat_wxyz"]), np.array([0, 0, rod["size"][1]]))
        foot = np.array(rod["position"]) - rotate(np.array(rod["quat_wxyz"]), np.array([0, 0, rod["size"][1]]))
        np.testing.assert_allclose([foot, tip], [np.zeros(3), end], atol=1e-12)


def test_a_capsule_is_closed_and_as_large_as_it_says() -> None:
    vertices, faces = capsule(0.1, 0.3)
    np.testing.assert_allclose([vertices.min(axis=0), vertices.max(axis=0)], [[-0.1, -0.1, -0.4], [0.1, 0.1, 0.4]])
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    volume = np.sum(a * np.cross(b, c)) / 6  # positive only if every face looks outwards
    exact = np.pi * 0.01 * 0.6 + 4 / 3 * np.pi * 0.001
    assert 0.97 * exact < volume < exact  # a polyhedron inside


def test_a_plane_is_drawn_as_a_plate_around_the_tool_with_its_face_on_the_plane() -> None:
    half = np.sqrt(0.5)
    plane = {"shape": "plane", "size": [0.5, 0.5, 0.01], "position": [0, 0, 0], "quat_wxyz": [1, 0, 0, 0], "rgba": []}
    position, quat = np.array([0.4, 0.0, 0.0]), np.array([half, 0.0, -half, 0.0])  # z of the plane along −x
    plate = drawn_as(plane, (position, quat), np.array([0.39, 0.2, 0.6]), reach=1.0)
    middle = position + rotate(quat, np.array(plate["position"]))
    np.testing.assert_allclose(middle, [0.4 + plate["size"][2], 0.2, 0.6], atol=1e-12)


def test_the_page_is_served_to_this_machine_alone() -> None:
    with ReplayServer(b"<p>hello") as server:
        assert server.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(server.url) as answer:
            assert answer.read() == b"<p>hello"
        for request, code in (
            (urllib.request.Request(server.url, headers={"Host": "evil.example"}), 403),
            (urllib.request.Request(server.url + "etc/passwd"), 404),
        ):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            assert refused.value.code == code
            refused.value.close()


def test_a_port_that_cannot_be_had_is_said() -> None:
    with ReplayServer(b"") as server:
        port = int(server.url.rstrip("/").rsplit(":", 1)[1])
        for taken in (port, 70000):
            with pytest.raises(FileError, match="cannot serve on port"):
                ReplayServer(b"", taken)
