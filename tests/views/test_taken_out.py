"""What can be taken out of a page, opened again: picture, figure, table, video; views, ghost, a link to a moment."""

from __future__ import annotations

import base64
import csv
import io
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from palpate.trace import Trace
from palpate.views import compare, replay, report
from views.test_browser import CANVAS, LAPTOP, PHONE, SMALL, at_time, opened, pixels

pytestmark = pytest.mark.browser
_SVG = "{http://www.w3.org/2000/svg}"


def taken(page: Any, button: Any) -> tuple[str, bytes]:
    """The name and the content of the file that a button gives."""
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_a_picture_shows_the_scene_with_its_forces(browser, trace: Trace, tmp_path: Path) -> None:
    with opened(browser, replay(trace, tmp_path / "replay.html").as_uri(), SMALL) as page:
        page.locator(CANVAS).wait_for()
        shown = at_time(page, 1.5)
        name, content = taken(page, page.get_by_role("button", name="picture"))
    picture = np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)
    assert name == "pressing-joint-1.500-s.png"
    assert abs(picture.shape[0] - shown.shape[0]) <= 2
    alike = np.abs(picture[: shown.shape[0], : shown.shape[1]] - shown[: picture.shape[0], : picture.shape[1]])
    assert np.mean(alike.max(axis=2) > 40) < 0.05
    red = (picture[..., 0] > 120) & (picture[..., 1] < 90) & (picture[..., 2] < 60)
    assert red.sum() > 100  # the arrow of the contact force


def test_a_figure_and_its_table_hold_what_is_drawn(browser, trace: Trace, tmp_path: Path) -> None:
    with opened(browser, report(trace, tmp_path / "report.html").as_uri()) as page:
        first = page.locator(".first .plot").first
        name, content = taken(page, first.get_by_role("button", name="as SVG"))
        drawn = first.locator("path.line").first.get_attribute("d")
        table = taken(page, first.get_by_role("button", name="as CSV"))
        alone = browser.new_page()
        alone.set_content(f'<img src="data:image/svg+xml;base64,{base64.b64encode(content).decode()}">')
        size = alone.evaluate("async () => { const i = document.images[0]; await i.decode(); return i.naturalWidth }")
        alone.close()
    root = ElementTree.fromstring(content)
    assert name == "pressing-joint-contact-force-force-in-n.svg"
    assert size > 300
    paths = [path for path in root.iter(f"{_SVG}path") if path.get("class") == "line"]
    assert paths[0].get("d") == drawn
    assert not [node for node in root.iter() if "var(" in "".join(node.attrib.values())]
    assert "time (s)" in [text.text for text in root.iter(f"{_SVG}text")]
    rows = list(csv.reader(io.StringIO(table[1].decode())))
    assert rows[0][0] == "time [s]"
    assert rows[0][1].endswith("[N]")
    values = np.array([[float(cell) for cell in row[:2]] for row in rows[1:]])
    np.testing.assert_allclose(values[:, 0], trace.time, atol=1e-6)
    np.testing.assert_allclose(values[:, 1], trace["contact_force"], atol=1e-5)


def test_a_table_holds_the_stretch_and_the_lines_in_view(browser, trace: Trace, tmp_path: Path) -> None:
    with opened(browser, report(trace, tmp_path / "report.html").as_uri()) as page:
        plot = page.locator("#motion .plot").first
        page.evaluate("Palpate.setZoom([0.5, 1.0])")
        entries = plot.locator("button.entry")
        entries.first.click()
        rows = list(csv.reader(io.StringIO(taken(page, plot.get_by_role("button", name="as CSV"))[1].decode())))
        labels = entries.all_inner_texts()
        stacked = ElementTree.fromstring(taken(page, plot.get_by_role("button", name="as SVG"))[1])
    assert "time (s)" in [text.text for text in stacked.iter(f"{_SVG}text")]  # though the page labels the lowest alone
    assert 0.5 <= float(rows[1][0]) <= float(rows[-1][0]) <= 1.0
    assert len(rows[0]) == len(labels)  # time stands where the hidden line was


def test_a_video_plays_the_run(browser, trace: Trace, tmp_path: Path) -> None:
    with opened(browser, replay(trace, tmp_path / "replay.html").as_uri(), SMALL) as page:
        page.locator(CANVAS).wait_for()
        name, content = taken(page, page.get_by_role("button", name="video"))
        alone = browser.new_page()
        alone.set_content("<video muted></video>")
        look = """async text => {
            const video = document.querySelector('video'), bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
            const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
            video.src = URL.createObjectURL(new Blob([bytes], { type: 'video/webm' }));
            await new Promise(done => { video.onloadeddata = done; });
            [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
            const seen = () => {
              pen.drawImage(video, 0, 0);
              return pen.getImageData(0, 0, canvas.width, canvas.height).data;
            };
            const ended = new Promise(done => { video.onended = done; });
            const begun = new Promise(done => video.requestVideoFrameCallback(() => done(seen())));
            await video.play();
            const first = await begun;
            await ended;
            const last = seen();
            let changed = 0, inked = 0;
            for (let k = 0; k < first.length; k += 4) {
              changed += Math.abs(first[k] - last[k]) > 40;
              inked += Math.abs(first[k] - first[0]) > 40;
            }
            return [canvas.width, canvas.height, video.currentTime, changed, inked];
        }"""
        width, height, length, changed, inked = alone.evaluate(look, base64.b64encode(content).decode())
        alone.close()
    assert name == "pressing-joint-replay.webm"
    assert (width, height) > (300, 150)
    assert length > 1.5  # 2 s, and whatever a busy machine adds
    assert inked > 0.02 * width * height
    assert changed > 0.005 * width * height


def test_a_link_leads_to_a_moment(browser, trace: Trace, tmp_path: Path) -> None:
    path = report(trace, tmp_path / "report.html")
    with opened(browser, f"{path.as_uri()}#t=1.25") as page:
        page.locator(CANVAS).wait_for()
        page.wait_for_function("() => document.querySelector('.transport output').textContent === '1.250 s'")
        assert page.locator(CANVAS).is_visible()
        at_time(page, 0.75)
        page.get_by_role("button", name="link").click()
        assert page.url.endswith("#t=0.75")
        page.evaluate("location.hash = 't=99'")
        page.wait_for_function("() => document.querySelector('.transport output').textContent === '2.000 s'")


def test_views_the_ghost_and_following_change_the_picture(browser, trace: Trace, tmp_path: Path) -> None:
    with opened(browser, replay(trace, tmp_path / "replay.html").as_uri(), SMALL) as page:
        page.locator(CANVAS).wait_for()
        first = at_time(page, 1.0)
        seen = []
        for value in ("front", "side", "above", "corner", "tool"):
            page.get_by_label("view", exact=True).select_option(value)
            seen.append(pixels(page.locator(CANVAS)))
        assert all(np.mean(np.abs(a - b).max(axis=2) > 40) > 0.01 for a, b in pairwise(seen))
        page.get_by_label("view", exact=True).select_option("start")
        assert np.array_equal(pixels(page.locator(CANVAS)), first)
        page.get_by_label("target").uncheck()
        assert not np.array_equal(pixels(page.locator(CANVAS)), first)
        page.get_by_label("follow the tool").check()
        at_time(page, 0.1)
        near = pixels(page.locator(CANVAS))
        at_time(page, 1.0)
        assert np.mean(np.abs(pixels(page.locator(CANVAS)) - near).max(axis=2) > 40) > 0.01
        centre = """() => { const replay = document.querySelector('.replay').replay;
            return replay.centre.map((x, k) => x - replay.between(replay.tool, 3, replay.frame())[k]) }"""
        np.testing.assert_allclose(page.evaluate(centre), [0, 0, 0], atol=1e-9)


def test_compared_runs_move_side_by_side_under_one_time(browser, trace: Trace, tmp_path: Path) -> None:
    path = compare([trace, trace.slice(0.0, 1.5)], ["long", "short"], tmp_path / "compare.html")
    with opened(browser, path.as_uri(), LAPTOP) as page:
        page.locator(CANVAS).nth(1).wait_for()
        boxes = [page.locator(CANVAS).nth(k).bounding_box() for k in (0, 1)]
        assert boxes[0]["y"] == boxes[1]["y"]
        at = "(slider, time) => { slider.value = time; slider.dispatchEvent(new Event('input')) }"
        page.locator(".transport input[type=range]").first.evaluate(at, 1.0)
        assert page.locator(".transport output").all_inner_texts() == ["1.000 s", "1.000 s"]
        page.locator(".transport input[type=range]").first.evaluate(at, 1.9)
        assert page.locator(".transport output").all_inner_texts() == ["1.900 s", "1.500 s"]
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.wait_for_function(f"() => document.documentElement.scrollWidth <= {PHONE[0]}")
