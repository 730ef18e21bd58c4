"""The pages as a person sees them: opened from a file in headless Chromium, with the network cut."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from palpate.metrics import Bound, evaluate
from palpate.trace import Trace
from palpate.views import compare, replay, report, serve_replay

pytestmark = pytest.mark.browser
LAPTOP, PHONE, SMALL = (1280, 700), (390, 700), (480, 480)
CANVAS = "canvas[data-engine]"  # the one that is drawn on in 3D
# The viewer warns of software rendering.
HIDE_NOTICES = """body => { const style = document.createElement("style");
    style.textContent = ".mantine-Notifications-root { display: none }"; document.head.append(style) }"""
EMPTY_PLOTS = (
    "[...document.querySelectorAll('.plot')].filter(p => !p.querySelector('.scatterlayer path.js-line')).length"
)
PATIENCE = 120_000  # ms; software rendering on a busy machine is slow


@contextmanager
def opened(browser: Any, url: str, size: tuple[int, int] = LAPTOP, offline: bool = True) -> Iterator[Any]:
    """A page without complaints: no console error, no failed script, no request beyond the page itself."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=offline)
    context.set_default_timeout(PATIENCE)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(url)
    if not offline:
        complaints.clear()
    yield page
    context.close()
    assert not complaints


def pixels(locator: Any) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("RGB")).astype(int)


def settled(page: Any, locator: Any) -> np.ndarray:
    """The picture once two in a row are the same."""
    last = pixels(locator)
    for _ in range(60):
        page.wait_for_timeout(400)
        now = pixels(locator)
        if np.array_equal(now, last):
            return now
        last = now
    pytest.fail("the picture does not come to rest")


def at_time(page: Any, frame: Any, seconds: float) -> np.ndarray:
    """Type a time into the player, which then stands still there, and look."""
    box = frame.locator("input").first
    box.fill(f"{seconds:g}")
    page.wait_for_timeout(400)
    assert box.input_value() == f"{seconds:.1f}"
    return settled(page, frame.locator(CANVAS))


def check_player(page: Any, frame: Any) -> None:
    """It draws, the timeline goes forth and back, and it plays."""
    frame.locator(CANVAS).wait_for()
    frame.locator("body").evaluate(HIDE_NOTICES)
    play = frame.locator("button:visible").first
    play.dispatch_event("click")  # it plays by itself; now it stands still
    early, late, again = (at_time(page, frame, seconds) for seconds in (0.2, 1.0, 0.2))
    assert np.mean(early.max(axis=2) < 200) > 0.01, "the 3D canvas is blank"
    moved, left = (np.mean(np.abs(other - early).max(axis=2) > 40) for other in (late, again))
    assert moved > 0.01, "the timeline moves nothing"
    assert left < 0.4 * moved, "the timeline does not go back"  # the viewer's light need not come back exactly
    play.dispatch_event("click")
    page.wait_for_timeout(600)
    assert frame.locator("input").first.input_value() != "0.2", "it does not play"


def test_the_report_opens_without_a_network(browser, trace: Trace, tmp_path: Path) -> None:
    path = report(trace, tmp_path / "report.html", evaluate(trace, {"force_peak": Bound(most=20.0)}))
    assert path.stat().st_size < 12e6
    with opened(browser, path.as_uri()) as page:
        page.locator(".plot .main-svg").first.wait_for()
        assert page.locator(".plot").count() == 15  # seven of them show the terms of a joint
        assert page.evaluate(EMPTY_PLOTS) == 0
        assert "✗ fail" in page.locator("table").first.inner_text()
        for size in (LAPTOP, PHONE):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.wait_for_function(f"document.documentElement.scrollWidth <= {size[0]}")
        page.set_viewport_size({"width": SMALL[0], "height": SMALL[1]})
        page.locator("iframe").scroll_into_view_if_needed()
        check_player(page, page.frame_locator("iframe"))


def test_a_script_in_a_name_does_not_run(browser, hostile: Trace, tmp_path: Path) -> None:
    path = report(hostile, tmp_path / "report.html")
    both = compare([hostile, hostile.slice(0, 1)], ["<script>window.hacked=3</script>", "b"], tmp_path / "both.html")
    for url in (path.as_uri(), both.as_uri()):
        with opened(browser, url, SMALL) as page:
            page.locator(".plot .main-svg").first.wait_for()
            page.wait_for_timeout(300)
            assert [frame.evaluate("window.hacked === undefined") for frame in page.frames] == [True] * len(page.frames)
            assert "<script>window.hacked" in page.locator("h1").inner_text()


def test_the_replay_alone_opens_without_a_network(browser, trace: Trace, tmp_path: Path) -> None:
    path = replay(trace, tmp_path / "replay.html")
    with opened(browser, path.as_uri(), SMALL) as page:
        check_player(page, page.main_frame)


def test_a_served_replay_opens(browser, trace: Trace) -> None:
    with serve_replay(trace) as server, opened(browser, server.url, SMALL, offline=False) as page:
        page.locator(CANVAS).wait_for()


def test_a_comparison_shows_both_runs(browser, trace: Trace, tmp_path: Path) -> None:
    path = compare([trace, trace.slice(0.0, 1.5)], ["long", "short"], tmp_path / "compare.html")
    with opened(browser, path.as_uri(), PHONE) as page:
        page.locator(".plot .main-svg").first.wait_for()
        assert page.evaluate(EMPTY_PLOTS) == 0
        assert page.locator(".plot").first.locator(".scatterlayer path.js-line").count() == 6  # two runs, three axes
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
