"""The server of the page: this machine and its token alone, small requests, files that replace nothing, Ctrl-C."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from moments import COMMAND, ENDLESS, started
from palpate.cli.main import main
from palpate.errors import FileError
from palpate.run.simulate import simulate_quietly
from palpate.scenario.file.load import load_scenario
from palpate.tools.play.server import LARGEST_REQUEST, Playing
from palpate.tools.play.session import Session

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    session = Session(load_scenario("panda-wall", ["run.duration=0.3"]), "panda-wall")
    with Playing(session, folder=tmp_path_factory.mktemp("saved")) as playing:
        yield playing


def asked(url: str, content: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(url, content, {**(JSON if content else {}), **headers})
    try:
        with urllib.request.urlopen(request, timeout=ENDLESS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def post(server: Playing, path: str, **content: Any) -> dict[str, Any]:
    status, answer = asked(server.url + path, json.dumps(content).encode())
    assert status == 200
    return json.loads(answer)


def test_only_this_machine_with_the_token_is_answered(server: Playing) -> None:
    base, token = server.url.rstrip("/").rsplit("/", 1)
    body = b"{}"
    assert asked(server.url)[0] == 200
    assert asked(f"{base}/")[0] == 403
    assert asked(f"{base}/{token[:-1]}x/")[0] == 403
    for path in ("run", "live", "save", "live/push"):
        assert asked(f"{base}/{path}", body)[0] == 403
        assert asked(f"{base}/{token[:-1]}x/{path}", body)[0] == 403
        assert asked(server.url + path, body, Host="example.com")[0] == 403
    assert asked(server.url, Host="example.com:80")[0] == 403
    assert asked(f"{server.url}events?live=1", Host="example.com")[0] == 403
    assert base.startswith("http://127.0.0.1:")


def test_what_is_no_request_of_the_page_is_refused(server: Playing) -> None:
    assert asked(f"{server.url}nothing", b"{}")[0] == 404
    assert asked(f"{server.url}nothing")[0] == 404
    assert asked(f"{server.url}events?live=77")[0] == 404
    assert asked(f"{server.url}run", b"no JSON")[0] == 400
    assert asked(f"{server.url}run", b"[1]")[0] == 400
    assert asked(f"{server.url}run", b"[" * 100_000)[0] == 400
    assert asked(f"{server.url}run", b"{}", **{"Content-Type": "text/plain"})[0] == 400
    assert asked(f"{server.url}run", b"{}", **{"Content-Length": str(LARGEST_REQUEST + 1)})[0] == 400
    assert "refused" in post(server, "run", settings=[1])
    assert "refused" in post(server, "run", number="x")
    assert "refused" in post(server, "live/push", live="99", force=[1, 0, 0])


def test_a_state_is_saved_as_a_scenario_that_makes_the_same_run(server: Playing) -> None:
    settings = {"control.stiffness": [300.0] * 3 + [20.0] * 3}
    first, second = (post(server, "save", settings=settings)["saved"] for _ in range(2))
    assert (first, second) == ("panda-wall-play-1.toml", "panda-wall-play-2.toml")
    path = server._folder / first
    trace = simulate_quietly(load_scenario(path))
    other = simulate_quietly(
        load_scenario("panda-wall", ["run.duration=0.3", "control.stiffness=[300, 300, 300, 20, 20, 20]"])
    )
    assert trace["q"].tobytes() == other["q"].tobytes()


def test_the_full_report_is_that_of_the_state(server: Playing) -> None:
    state = quote(json.dumps({"settings": {"world.driver.delay": 3}}))
    status, page = asked(f"{server.url}report?state={state}")
    assert status == 200
    assert b"delay = 3" in page
    wrong = quote(json.dumps({"settings": {"<b>": 3}}))
    assert b"&lt;b&gt;" in asked(f"{server.url}report?state={wrong}")[1]


def test_a_live_run_streams_frames_and_ends(server: Playing) -> None:
    name = post(server, "live")["live"]
    with urllib.request.urlopen(f"{server.url}events?live={name}", timeout=ENDLESS) as events:
        frames = [json.loads(line[6:]) for line in (events.readline() for _ in range(6)) if line.startswith(b"data: ")]
        assert [frame["run"] for frame in frames] == [1, 1, 1]
        assert frames[0]["time"] < frames[1]["time"] < frames[2]["time"]
        assert frames[0]["plots"][0]["unit"] == "N"
    with urllib.request.urlopen(f"{server.url}events?live={name}", timeout=ENDLESS) as again:  # the connection was cut
        assert again.readline().startswith(b"data: ")
        assert post(server, "live/push", live=name, body=5, point=[0, 0, 0], force=[1, 0, 0])["time"] > 0
        assert "said" in post(server, "live/settings", live=name, settings={"control.damping_ratio": 0.9})
        post(server, "live/end", live=name)
        assert b"event: end" in again.read()
    assert "refused" in post(server, "live/push", live=name, force=None)


def test_a_taken_port_is_refused(server: Playing, capsys: pytest.CaptureFixture) -> None:
    port = int(server.url.split(":")[2].split("/")[0])
    with pytest.raises(FileError, match=f"port {port}"):
        Playing(server.session, port)
    assert main(["play", "panda-wall", "--set", "run.duration=0.01", "--port", str(port)]) == 2
    assert f"cannot serve on port {port}" in capsys.readouterr().err


def test_ctrl_c_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    process = started(COMMAND, ["play", "panda-wall", "--set", "run.duration=0.05"])
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("playing panda-wall at http://127.0.0.1:")
    url = line.split(" at ")[1].split(" ")[0]
    assert b"panda-wall: play" in asked(url)[1]
    process.send_signal(signal.SIGINT)
    assert process.wait(ENDLESS) == 0
    assert "Traceback" not in process.communicate()[1]


def test_a_scenario_that_is_refused_ends_before_the_page(capsys: pytest.CaptureFixture) -> None:
    assert main(["play", "panda-wall", "--set", "control.stiffness=-1"]) == 2
    assert "stiffness" in capsys.readouterr().err


def test_a_notebook_shows_it_in_a_frame(server: Playing) -> None:
    frame = server._repr_html_()
    assert f'src="{server.url}"' in frame
    assert "title=" in frame
