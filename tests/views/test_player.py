from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import FileError, TraceError
from palpate.spatial.rows import rotate
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views import replay
from palpate.views.pages.player import frame_rows, replay_data, replay_html
from palpate.views.pages.replay_shapes import drawn_as, rods
from palpate.views.pages.serve import ReplayServer


def data_of(page: str) -> dict:
    return json.loads(page.split('<script type="application/json">')[1].split("</script>")[0])


def numbers(packed: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")


def test_thirty_frames_a_second_first_and_last_sample_included() -> None:
    rows = frame_rows(np.linspace(0.0, 2.0, 2001))
    assert (rows[0], rows[-1], len(rows)) == (0, 2000, 61)
    assert np.all(np.abs(np.diff(rows) - 1000 / 30) < 1)


def test_a_long_run_gets_fewer_frames_and_a_coarse_one_no_more_than_it_has() -> None:
    assert len(frame_rows(np.linspace(0.0, 1000.0, 100_001))) == 3000
    assert frame_rows(np.array([0.0, 1.0, 2.0])).tolist() == [0, 1, 2]
    assert frame_rows(np.array([5.0])).tolist() == [0]


def test_the_page_carries_where_everything_was(trace: Trace, tmp_path: Path, capsys) -> None:
    data = data_of(replay(trace, tmp_path / "replay.html").read_text("utf-8"))
    rows = frame_rows(trace.time)
    np.testing.assert_allclose(numbers(data["times"]), trace.time[rows], atol=1e-6)
    moving = [body for body in data["bodies"] if isinstance(body["p"], dict)]
    assert len(moving) >= 5
    assert data["bodies"][0] == {"p": [0.0, 0.0, 0.0], "q": [1.0, 0.0, 0.0, 0.0]}
    assert capsys.readouterr().out == ""


def test_arrows_share_one_scale_and_the_largest_is_a_third_of_the_reach(trace: Trace) -> None:
    contact, push = replay_data(trace)["arrows"]
    assert contact["scale"] == push["scale"]
    reach = replay_data(trace)["camera"]["reach"]
    assert contact["scale"] * np.linalg.norm(trace["contact_wrench"][:, :3], axis=1).max() == pytest.approx(reach / 3)


def test_the_whole_way_is_in_view(trace: Trace) -> None:
    camera = replay_data(trace)["camera"]
    away = np.linalg.norm(trace["tool_position"] - camera["centre"], axis=1).max()
    assert away < camera["distance"] * np.tan(0.35)  # half the angle of view


def test_hostile_names_are_text(hostile: Trace) -> None:
    assert "<script>window.hacked" not in replay_html(hostile)


def test_a_trace_without_a_scene_cannot_be_replayed(tmp_path: Path) -> None:
    bare = Trace([0.0], {Channel("q", "rad", (1,)): [[0.0]]}, Outcome("completed", "done", 0.0, 0))
    with pytest.raises(TraceError, match="no scene"):
        replay(bare, tmp_path / "replay.html")
    assert list(tmp_path.iterdir()) == []


def test_a_robot_without_shapes_is_drawn_as_rods(trace: Trace) -> None:
    scene = [{**body, "geoms": body["geoms"] if body["surface"] else []} for body in trace.facts.scene]
    thin = Trace(trace.time, {trace.channels["q"]: trace["q"]}, trace.outcome, facts=RunFacts(scene=scene))
    drawn = {geom["shape"] for geom in replay_data(thin)["geoms"] if geom["body"] < 8}
    assert drawn <= {"sphere", "capsule", "box"}
    assert "capsule" in drawn


def test_rods_reach_from_joint_to_joint() -> None:
    for end in (np.array([0.1, -0.2, 0.3]), np.array([0.0, 0.0, -0.4])):
        ball, rod = rods([end], 0.02)
        assert ball["shape"] == "sphere"
        tip = np.array(rod["position"]) + rotate(np.array(rod["quat_wxyz"]), np.array([0, 0, rod["size"][1]]))
        foot = np.array(rod["position"]) - rotate(np.array(rod["quat_wxyz"]), np.array([0, 0, rod["size"][1]]))
        np.testing.assert_allclose([foot, tip], [np.zeros(3), end], atol=1e-12)


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
            (urllib.request.Request(urllib.parse.urljoin(server.url, "/")), 403),
            (urllib.request.Request(urllib.parse.urljoin(server.url, "/events")), 403),
            (urllib.request.Request(server.url[:-2] + "/"), 403),
        ):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            assert refused.value.code == code
            refused.value.close()


def test_a_port_that_cannot_be_had_is_said() -> None:
    with ReplayServer(b"") as server:
        port = urllib.parse.urlsplit(server.url).port
        assert port is not None
        for taken in (port, 70000):
            with pytest.raises(FileError, match=r"cannot serve.*port"):
                ReplayServer(b"", taken)
