"""`palpate run --live`: the page follows the run in Chromium, and the run is the same as without it."""

from __future__ import annotations

import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moments import ENDLESS, let_go, to_be_held, wait_until_held
from palpate.cli import live as live_module
from palpate.cli.main import main
from palpate.trace import Trace, load_trace
from palpate.views.kinematics import body_paths
from palpate.views.pages.serve import LiveServer
from views.test_browser import CANVAS, SMALL, pixels

LAST = """() => { const r = document.querySelector('.replay').replay;
    return [r.times.length, r.times.at(-1), r.data.bodies.map(b => [...b.p.slice(-3), ...b.q.slice(-4)]),
        r.data.bodies.map(b => [...b.p.slice(0, 3), ...b.q.slice(0, 4)])] }"""
CLOCK = "Number(document.querySelector('.transport output').textContent.split(' ')[0])"


# Nobody gives up waiting: not the run for a browser, nor the server for whoever is to fetch the report.
PATIENT = {"palpate.cli.live:PATIENCE": ENDLESS, "palpate.views.pages.serve:FETCHING": ENDLESS}


@contextmanager
def running(frame: int, *options: str) -> Iterator[tuple[Any, str]]:
    """A live run in a process of its own that waits before it sends a frame, and the address of its page."""
    words = ["run", "panda-wall", "--live", *options]
    process = to_be_held(words, "palpate.views.pages.serve:LiveServer.send", frame, PATIENT)
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("live at "))
        yield process, line.removeprefix("live at ").strip()
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, and no display."""
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.browser
@pytest.mark.usefixtures("_apart")
def test_the_page_follows_the_run_to_its_end_and_opens_the_report(browser, tmp_path: Path) -> None:
    with running(31, "--set", "run.duration=2", "--out", str(tmp_path / "run")) as (process, address):
        page = browser.new_page(viewport={"width": SMALL[0], "height": SMALL[1]})
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        page.set_default_timeout(1000 * ENDLESS)
        page.wait_for_function(f"() => {CLOCK} > 0.95")  # thirty frames of 33 ms
        assert page.evaluate(CLOCK) < 1.0
        assert "running at real time" in page.locator("h1").inner_text()
        let_go()
        page.get_by_role("link", name="open the report").wait_for()
        assert process.wait(ENDLESS) == 0
        assert page.locator("[role=status]").inner_text() == "completed at 2 s · open the report"
        count, time, poses, first = page.evaluate(LAST)
        force = page.evaluate(
            "() => document.querySelector('.live-plots').plots.charts.get('force').spec.series[0].y.at(-1)"
        )
        seen = pixels(page.locator(CANVAS))
        assert np.mean(np.abs(seen - seen[2, 2]).max(axis=2) > 40) > 0.02, "the 3D canvas is blank"
        assert np.abs(np.array(poses) - first).max() > 0.01, "the arm did not move"
        page.get_by_role("link", name="open the report").click()
        page.locator(".outcome").wait_for()  # the server is gone by now
        page.close()
    trace = load_trace(tmp_path / "run" / "trace.parquet")
    assert not complaints
    assert time == trace.time[-1] == 2.0
    assert force == np.linalg.norm(trace["contact_wrench"][-1, :3]) > 1.0
    assert 55 <= count <= 62
    paths = body_paths(trace, np.array([len(trace) - 1]))
    np.testing.assert_allclose(poses, [[*position[0], *quat[0]] for position, quat in paths], atol=1e-6)


def test_a_trace_is_the_same_with_and_without_a_viewer(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(live_module, "PATIENCE", 0.0)
    monkeypatch.delenv("DISPLAY", raising=False)
    arguments = ["run", "panda-wall", "--set", "run.duration=0.3", "--no-report", "--out"]
    assert main([*arguments, str(tmp_path / "plain")]) in (0, 1)
    assert main([*arguments, str(tmp_path / "live"), "--live"]) in (0, 1)
    assert "live at http://127.0.0.1:" in capsys.readouterr().err
    plain, live = (load_trace(tmp_path / name / "trace.parquet") for name in ("plain", "live"))
    assert list(plain) == list(live)
    assert all(plain[name].tobytes() == live[name].tobytes() for name in plain)


@pytest.mark.usefixtures("_apart")
def test_ctrl_c_ends_a_live_run_and_keeps_its_trace(tmp_path: Path) -> None:
    with running(31, "--set", "run.duration=30", "--out", str(tmp_path / "run")) as (process, address):
        with urllib.request.urlopen(f"{address}events", timeout=ENDLESS) as events:
            seen = [events.readline() for _ in range(60)]
            wait_until_held(process)
            process.send_signal(signal.SIGINT)
            rest = events.read().decode()
        assert process.wait(ENDLESS) == 130
    trace: Trace = load_trace(tmp_path / "run" / "trace.parquet")
    assert (trace.outcome.kind, trace.facts.duration) == ("interrupted", 30.0)
    assert 0.9 < trace.time[-1] < 1.1
    assert len([line for line in seen if line.startswith(b"data: ")]) == 30
    assert re.search(r'event: end\ndata: {"said": "interrupted at [\d.]+ s", "report": null}', rest)


def test_a_taken_port_ends_before_the_run(tmp_path: Path, capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["run", "panda-wall", "--live", "--port", port, "--out", str(tmp_path / "run")]) == 2
    assert f"cannot serve on port {port}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--live", "--connect", "fci://127.0.0.1"], "palpate drive"),
        (["--port", "8000"], "--port"),
        (["--live", "--set", 'record.channels=["contact_force"]'], "'q' is not"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: list[str], said: str, tmp_path: Path, capsys) -> None:
    assert main(["run", "panda-wall", "--out", str(tmp_path / "run"), *options]) == 2
    assert said in capsys.readouterr().err


def test_the_live_server_answers_this_machine_alone() -> None:
    with LiveServer() as server:
        asked = urllib.request.Request(f"{server.url}events", headers={"Host": "example.com"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(asked)
        assert server.url.startswith("http://127.0.0.1:")
