"""The pages as a person sees them: opened from a file in headless Chromium, with the network cut."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from moments import ENDLESS
from palpate.metrics import Bound, evaluate
from palpate.trace import Channel, Outcome, Trace
from palpate.views import compare, replay, report, serve_replay

pytestmark = pytest.mark.browser
LAPTOP, PHONE, SMALL = (1280, 700), (390, 700), (480, 480)
CANVAS = ".stage canvas"
EMPTY_PLOTS = (
    "[...document.querySelectorAll('.plot')].filter(p => p.clientWidth && !p.querySelector('path.line')).length"
)
HEIGHTS = """() => { const path = document.querySelector('path.line').getAttribute('d');
    const y = path.split(/[ML]/).slice(1).map(p => Number(p.split(' ')[1]));
    return [Math.min(...y), Math.max(...y)] }"""
TICKS = """() => [...document.querySelector('svg.chart').querySelectorAll('text.tick')]
    .filter(t => ['0', '100'].includes(t.textContent) && t.getAttribute('text-anchor') === 'end')
    .map(t => Number(t.getAttribute('y')) - 4)"""
PATIENCE = 1000 * ENDLESS  # ms
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
STILLS = "() => !document.querySelector('.stills') || document.querySelectorAll('.stills img').length === 4"
SHOWN = "() => document.querySelector('.transport output').textContent !== '0.000 s'"


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


def at_time(page: Any, seconds: float) -> np.ndarray:
    """Move the slider, and look at the scene and the clock."""
    move = "(slider, time) => { slider.value = time; slider.dispatchEvent(new Event('input')) }"
    page.locator(".transport input[type=range]").evaluate(move, seconds)
    assert page.locator(".transport output").inner_text() == f"{seconds:.3f} s"
    page.evaluate(DRAWN)
    return pixels(page.locator(CANVAS))


def check_player(page: Any) -> None:
    """It draws, the timeline goes forth and back, and it plays."""
    page.locator(CANVAS).wait_for()
    page.locator(CANVAS).scroll_into_view_if_needed()
    page.wait_for_function(STILLS)  # they are made with the same canvas
    early, late, again = (at_time(page, seconds) for seconds in (0.2, 1.0, 0.2))
    assert np.mean(np.abs(early - early[2, 2]).max(axis=2) > 40) > 0.02, "the 3D canvas is blank"
    assert np.mean(np.abs(late - early).max(axis=2) > 40) > 0.005, "the timeline moves nothing"
    assert np.array_equal(early, again), "the timeline does not go back"
    page.locator(".play").click()
    page.wait_for_function("() => document.querySelector('.transport output').textContent !== '0.200 s'")
    page.locator(".play").click()


def test_the_report_opens_without_a_network(browser, trace: Trace, tmp_path: Path) -> None:
    path = report(trace, tmp_path / "report.html", evaluate(trace, {"force_peak": Bound(most=20.0)}))
    assert path.stat().st_size < 3.5e6
    with opened(browser, path.as_uri()) as page:
        page.locator(".plot svg").first.wait_for()
        assert page.evaluate(EMPTY_PLOTS) == 0
        assert "✗ fail" in page.locator("table").first.inner_text()
        page.locator("#joints summary").first.click()
        page.locator("#joints svg").first.wait_for()
        assert page.evaluate(EMPTY_PLOTS) == 0
        for size in (LAPTOP, PHONE):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.wait_for_function(f"() => document.documentElement.scrollWidth <= {size[0]}")
        page.set_viewport_size({"width": SMALL[0], "height": SMALL[1]})
        check_player(page)


def test_the_contact_force_is_on_the_first_screen(browser, trace: Trace, tmp_path: Path) -> None:
    path = report(trace, tmp_path / "report.html", evaluate(trace, {"force_peak": Bound(most=20.0)}))
    with opened(browser, path.as_uri(), (1280, 800)) as page:
        box = page.locator("#plot-0 svg, #plot-1 svg").first.bounding_box()
        chart = page.get_by_role("img", name="Contact force: force in N over time in s").bounding_box()
        assert box is not None
        assert chart["y"] + chart["height"] < 800
        labels = page.locator("svg.chart text").all_text_contents()
        assert not [text for text in labels if "µ" in text]
        legend = page.locator(".first .legend").bounding_box()
        assert legend["y"] + legend["height"] <= chart["y"] + 1  # it covers nothing


def test_one_cursor_runs_through_plots_and_replay(browser, trace: Trace, tmp_path: Path) -> None:
    path = report(trace, tmp_path / "report.html")
    with opened(browser, path.as_uri(), (1280, 1400)) as page:
        chart = page.get_by_role("img", name="Contact force: force in N over time in s")
        box = chart.bounding_box()
        page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 60)
        page.wait_for_function(SHOWN)
        page.evaluate(DRAWN)
        shown = float(page.locator(".transport output").inner_text().split()[0])
        assert 1.0 < shown < 1.6
        value = page.locator(".first .entry b").first.inner_text()
        assert float(value.split()[0]) == pytest.approx(20 * (shown - 0.5), abs=0.05)
        lines = page.locator("line.cursor[visibility=visible]").count()
        assert lines == page.locator("svg.chart").count() > 3
        at_time(page, 0.5)
        assert float(page.locator(".first .entry b").first.inner_text().split()[0]) == pytest.approx(0.0, abs=0.05)


def test_a_drawn_peak_is_as_high_as_the_sample(browser, tmp_path: Path) -> None:
    time = np.linspace(0.0, 1.0, 20_001)
    force = np.zeros(20_001)
    force[12_345] = 100.0  # one sample of 0.05 ms
    blow = Trace(time, {Channel("contact_force", "N"): force}, Outcome("completed", "done", 1.0, 1))
    with opened(browser, report(blow, tmp_path / "report.html").as_uri()) as page:
        heights = page.evaluate(HEIGHTS)
        grid = page.evaluate(TICKS)
        np.testing.assert_allclose(sorted(grid), heights, atol=0.1)


def test_dark_mode_and_paper(browser, trace: Trace, tmp_path: Path) -> None:
    path = report(trace, tmp_path / "report.html")
    with opened(browser, path.as_uri()) as page:
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 24, 30)"
        page.wait_for_function("() => document.querySelectorAll('.stills img').length === 4")
        page.emulate_media(media="print", color_scheme="light")
        assert page.locator(".stills img").first.is_visible()
        assert not page.locator(".stage").is_visible()


def test_a_script_in_a_name_does_not_run(browser, hostile: Trace, tmp_path: Path) -> None:
    path = report(hostile, tmp_path / "report.html")
    both = compare([hostile, hostile.slice(0, 1)], ["<script>window.hacked=3</script>", "b"], tmp_path / "both.html")
    for url in (path.as_uri(), both.as_uri()):
        with opened(browser, url, SMALL) as page:
            page.locator(".plot svg").first.wait_for()
            page.wait_for_load_state("load")  # of images that fail too
            page.evaluate(DRAWN)
            assert [frame.evaluate("window.hacked === undefined") for frame in page.frames] == [True] * len(page.frames)
            assert "<script>window.hacked" in page.locator("h1").inner_text()


def test_the_replay_alone_opens_without_a_network(browser, trace: Trace, tmp_path: Path) -> None:
    path = replay(trace, tmp_path / "replay.html")
    with opened(browser, path.as_uri(), SMALL) as page:
        check_player(page)


def test_a_served_replay_opens(browser, trace: Trace) -> None:
    with serve_replay(trace) as server, opened(browser, server.url, SMALL, offline=False) as page:
        page.locator(CANVAS).wait_for()


def test_a_comparison_shows_both_runs(browser, trace: Trace, tmp_path: Path) -> None:
    path = compare([trace, trace.slice(0.0, 1.5)], ["long", "short"], tmp_path / "compare.html")
    with opened(browser, path.as_uri(), PHONE) as page:
        page.locator(".plot svg").first.wait_for()
        assert page.evaluate(EMPTY_PLOTS) == 0
        assert page.locator(".plot").first.locator("path.line").count() == 2
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


@pytest.mark.parametrize(("scheme", "size"), [("light", LAPTOP), ("dark", PHONE)], ids=["laptop", "phone"])
def test_axe_finds_nothing_serious(
    browser, axe: Callable[[Any], list[list[str]]], trace: Trace, tmp_path: Path, scheme: str, size: tuple[int, int]
) -> None:
    results = evaluate(trace, {"force_peak": Bound(most=20.0)})
    pages = [report(trace, tmp_path / "report.html", results)]
    pages.append(compare([trace, trace.slice(0.0, 1.5)], ["long", "short"], tmp_path / "compare.html"))
    pages.append(replay(trace, tmp_path / "replay.html"))
    for path in pages:
        with opened(browser, path.as_uri(), size) as page:
            page.emulate_media(color_scheme=scheme)
            page.wait_for_load_state("load")
            page.evaluate(DRAWN)
            assert axe(page) == [], path.name
