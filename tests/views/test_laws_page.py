"""The page of a comparison of laws: what stands on it, one force scale and one clock, nothing that axe minds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.trace import Trace
from palpate.views import laws_report
from views.conftest import SCRIPT, pressing
from views.test_browser import DRAWN, opened

LAWS = ["soft", "stiff"]


def made_up(name: str = "pressing", laws: list[str] = LAWS) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    values = {law: (20 + k + rng.normal(0, 2, 30)).tolist() for k, law in enumerate(laws)}
    values[laws[1]][4] = None
    rows = {
        law: {"rank": k + 1, "mean": 20.0 + k, "values": values[law], "pairs": 29,
              "difference": None if k == 0 else 1.0, "interval": None if k == 0 else [0.2, 1.8]}
        for k, law in enumerate(laws)
    }  # fmt: skip
    return {
        "scenario": name, "laws": laws, "runs": 30, "seed": 0, "vary": {"world.plant.mass_scale": "normal(1, 0.05)"},
        "confidence": 0.95, "sentence": f"of 30 common draws {name} fails least", "left_out": {name: name},
        "bounds": {"force_peak": {"most": 24.0}}, "swaps": {law: f"{law} drops damping = 80" for law in laws},
        "failures": {law: {"failures": 3, "runs": 30, "bound": 0.24, "rank": 1} for law in laws},
        "metrics": {"force_peak": {"unit": "N", "label": "force_peak", "better": "smaller", "laws": rows}},
        "verdicts": {law: [["completed", True, []]] * 29 + [["diverged", False, []]] for law in laws},
        "commands": {law: [f"palpate run {law} --set run.seed={k}" for k in range(30)] for law in laws},
    }  # fmt: skip


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    whole = pressing(samples=81)
    return {"soft": whole, "stiff": whole.slice(0.0, 1.2)}  # less force, and an earlier end


def test_replays_share_the_scale_of_forces_the_camera_and_the_moment(traces: dict[str, Trace], tmp_path: Path) -> None:
    text = laws_report(traces, made_up(), tmp_path / "laws.html").read_text("utf-8")
    parts = text.split('<div class="replay"><script type="application/json">')[1:]
    soft, stiff = (json.loads(part.split("</script>")[0]) for part in parts)
    assert soft["camera"] == stiff["camera"]
    assert soft["strongest"] == stiff["strongest"]
    assert soft["strongest"]["time"] == pytest.approx(2.0)
    assert {arrow["scale"] for one in (soft, stiff) for arrow in one["arrows"]} == {soft["arrows"][0]["scale"]}
    assert "1 =" in text
    assert "&lt; 24 %" in text
    assert "diverged (1)" in text


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_and_axe_finds_nothing_serious(
    browser: Any, axe: Any, traces: dict[str, Trace], tmp_path: Path, scheme: str
) -> None:
    size = (360, 700) if scheme == "dark" else (1280, 800)
    path = laws_report(traces, made_up(), tmp_path / "laws.html")
    with opened(browser, path.as_uri(), size) as page:
        page.emulate_media(color_scheme=scheme)
        page.locator(".plot svg").first.wait_for()
        page.evaluate(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert page.locator(".stage").count() == 2
        page.evaluate("Palpate.runs.open('stiff 29', document.querySelector('.pair .plot'))")
        assert "palpate run stiff --set run.seed=29" in page.locator(".card").inner_text()
        assert axe(page) == []


@pytest.mark.browser
def test_a_script_in_the_name_of_a_law_does_not_run(browser: Any, traces: dict[str, Trace], tmp_path: Path) -> None:
    both = {SCRIPT: traces["soft"], "stiff": traces["stiff"]}
    path = laws_report(both, made_up(SCRIPT, [SCRIPT, "stiff"]), tmp_path / "laws.html")
    with opened(browser, path.as_uri(), (480, 480)) as page:
        page.wait_for_load_state("load")
        page.evaluate(DRAWN)
        assert page.evaluate("window.hacked === undefined")
        assert "<script>window.hacked" in page.locator("h1").inner_text()
