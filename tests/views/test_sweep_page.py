"""The page of a sweep: what stands on it, and that it opens without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moments import ENDLESS
from palpate.parquet import Column, ParquetWriter
from palpate.views import sweep_report
from palpate.views.pages.sweep.charts import Bounded, Points, bound_lines, histogram, metric_over, parallel, short_names
from views.conftest import pressing
from views.test_browser import DRAWN

SCRIPT = "<script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
LAPTOP, PHONE = (1280, 700), (390, 700)
PATIENCE = 1000 * ENDLESS  # ms
KEYS = ["world.surfaces.wall.stiffness*", "control.law", "run.seed"]
POINT = """run => { const chart = document.querySelector('svg.chart'), box = chart.getBoundingClientRect();
    const plot = JSON.parse(document.getElementById('charts').textContent)[0];
    const names = plot.data.flatMap(one => (one.runs || []).map(name => [one.name, name]));
    const points = [...chart.querySelectorAll('.point')], k = names.findIndex(one => one[1] === run);
    const at = points[k].getBoundingClientRect();
    return [at.x + at.width / 2, at.y + at.height / 2] }"""
EMPTY = "[...document.querySelectorAll('.plot')].filter(p => !p.querySelector('.line, .point, .bar')).length"


def made_up(folder: Path, name: str = "pressing") -> tuple[Path, dict[str, Any]]:
    """A table of 60 runs and its summary, with everything a page can show."""
    rng = np.random.default_rng(0)
    force = rng.normal(20, 3, 60)
    passed = force < 24
    table: dict[str, Any] = {
        "run": np.arange(60), "seed": np.arange(60), "outcome": ["completed"] * 58 + ["diverged", "impossible"],
        "passed": passed, "reason": ["ran its 2 s"] * 60, KEYS[0]: np.geomspace(0.5, 2, 60),
        KEYS[1]: ["a", name] * 30, KEYS[2]: np.arange(60), "force_peak": [None, *force.tolist()[1:]],
        "effort": rng.random(60),
    }  # fmt: skip
    kinds = {bool: "bool", str: "text", int: "int64", float: "double"}
    columns = {name: values if isinstance(values, list) else values.tolist() for name, values in table.items()}
    with open(folder / "table.parquet", "wb") as file:
        writer = ParquetWriter(file, [Column(k, kinds[type(v[-1])], optional=True) for k, v in columns.items()])  # pyright: ignore[reportArgumentType]
        writer.write(list(columns.values()))
        writer.close()
    one = {"run": 3, "value": 27.0, "outcome": "completed", "passed": False, "failed": ["force_peak"],
           "reason": "", "values": {}, "command": f"palpate run '{name}' --set run.seed=3"}  # fmt: skip
    ends = {"low": 0.1, "high": 0.4, "confidence": 0.95}
    index = {"first": 0.2, "first_interval": ends, "total": 0.3, "total_interval": ends}
    summary: dict[str, Any] = {
        "scenario": name, "description": "", "method": "random", "runs": 60, "seed": 0, "repeat": 1,
        "vary": {KEYS[0]: "loguniform(0.5, 2)", KEYS[1]: ["a", name], KEYS[2]: "0:59:60"}, "metric": "force_peak",
        "unit": "N", "confidence": 0.95, "counts": {"passed": int(passed.sum()), "diverged": 1, "impossible": 1},
        "counted": "60 runs", "sentence": "P(failure) lies between 5 % and 20 %", "said": [f"said of {name}"],
        "worst": [one, {**one, "run": 4}], "best": [{**one, "run": 5}], "failing": [{**one, "run": 6}],
        "named": {"diverged": [{"run": 58, "reason": f"too fast {name}", "command": ""}]},
        "warnings": [f"beware {name}"],
        "sensitivity": [{"key": key, **index} for key in KEYS],
        "pareto": {"metrics": ["force_peak", "effort"], "runs": [1], "points": [[15.0, 0.1], [17.0, 0.05]]},
        "map": {"keys": KEYS[:2], "log": [True, False], "ends": [[0.1, 1], [0, 1]], "good": [True, False, True],
                "points": [[0.1, 0.0], [1.0, 1.0], [0.5, 0.5]], "boundary": [[[0.2, 0.0], [0.3, 1.0]]],
                "predicted": [[[0.21, 0.0], [0.31, 1.0]]]},
    }  # fmt: skip
    return folder / "table.parquet", summary


def charts_of(text: str) -> list[dict[str, Any]]:
    return json.loads(text.split('<script id="charts" type="application/json">')[1].split("</script>")[0])


def test_the_page_holds_the_sentence_the_commands_and_the_runs(tmp_path: Path) -> None:
    table, summary = made_up(tmp_path)
    commands = {"3": "palpate run pressing --set run.seed=3"}
    text = sweep_report(table, summary, tmp_path / "report.html", {}, commands).read_text("utf-8")
    assert "P(failure) lies between 5 % and 20 %" in text
    assert text.count("palpate run &#x27;pressing&#x27; --set run.seed=3") >= 3
    assert text.count("<tr><td class=number>") == 60
    kinds = [chart["data"][0]["type"] for chart in charts_of(text)]
    assert kinds == ["scatter"] * 3 + ["scatter", "bar", "scatter", "bar", "parcoords"]
    runs = json.loads(text.split('<script id="run-data" type="application/json">')[1].split("</script>")[0])
    assert runs["commands"] == commands
    assert runs["rows"]["3"][:3] == [pytest.approx(np.geomspace(0.5, 2, 60)[3]), "pressing", 3]
    assert list(runs["rows"])[-3:] == ["map 0", "map 1", "map 2"]
    assert text.index('class="first"') < text.index("<pre")  # no command before the picture


@pytest.mark.parametrize("method", ["grid", "map", "tune", "rare", "saltelli"])
def test_points_that_somebody_chose_have_no_histogram(method: str, tmp_path: Path) -> None:
    table, summary = made_up(tmp_path)
    summary |= {"method": method, "sensitivity": []}
    text = sweep_report(table, summary, tmp_path / "report.html").read_text("utf-8")
    assert not any(trace["type"] == "bar" for chart in charts_of(text) for trace in chart["data"])


def test_one_varied_quantity_shows_each_bounded_metric_over_it_with_its_bound(tmp_path: Path) -> None:
    table, summary = made_up(tmp_path)
    summary |= {"method": "grid", "vary": {KEYS[2]: "0:59:60"}, "bounds": {"force_peak": {"most": 24.0}}, "map": None}
    text = sweep_report(table, summary, tmp_path / "report.html").read_text("utf-8")
    first = charts_of(text)[0]
    titles = [first["layout"][name]["title"]["text"] for name in ("xaxis", "yaxis")]
    assert titles == ["run.seed", "force_peak (N)"]
    lines = {trace["name"]: trace for trace in first["data"]}
    assert lines["bound ≤ 24 N"]["y"] == [24.0, 24.0]
    assert len(lines[""]["x"]) == 59  # joined; the run without a number is at the upper edge
    assert lines["no value"]["runs"] == ["0"]
    assert sorted(map(int, lines["passed"]["runs"] + lines["did not pass"]["runs"])) == list(range(1, 60))


def test_a_far_bound_is_named_and_does_not_stretch_the_axis() -> None:
    values = np.array([1.0, 2.0, 3.0])
    near, far = (Bounded("force_peak", "N", values, {"most": limit}) for limit in (7.0, 9.0))
    assert bound_lines(near, (0.0, 1.0), values)[0]["y"] == [7.0, 7.0]
    assert bound_lines(far, (0.0, 1.0), values)[0]["y"] == []


def test_a_run_far_above_the_others_stands_at_the_edge_with_its_number() -> None:
    values = np.array([*np.linspace(1.0, 2.0, 9), 200.0])
    over = Points("control.damping", np.arange(10.0).tolist(), np.ones(10, dtype=bool), list("abcdefghij"))
    data = metric_over(over, Bounded("force_peak", "N", values), 200)["data"]
    above = next(trace for trace in data if trace["name"].startswith("above"))
    assert above["runs"] == ["j"]
    assert above["y"][0] < 10


@pytest.mark.parametrize(
    ("method", "passed", "good", "colour"),
    [("map", 0, [False] * 3, "bad"), ("map", 20, [True, False, True], "good"), ("grid", 0, [], "bad"),
     ("tune", 0, [], "bad"), ("tune", 4, [], "good"), ("random", 59, [], "bad"), ("random", 60, [], "good")],
)  # fmt: skip
def test_a_page_of_nothing_good_is_not_green(
    method: str, passed: int, good: list[bool], colour: str, tmp_path: Path
) -> None:
    table, summary = made_up(tmp_path)
    summary |= {"method": method, "counts": {"passed": passed}}
    summary["map"] = {**summary["map"], "good": good} if good else None
    text = sweep_report(table, summary, tmp_path / "report.html", {}).read_text("utf-8")
    assert f'<div class="outcome {colour}">' in text


def test_a_histogram_counts_every_finite_value_once() -> None:
    values = np.array([1.0, 2.0, 2.0, np.nan, 5.0])
    chart = histogram("force_peak (N)", values, np.array([True, True, False, True, False]))
    counts = [sum(bar["y"]) for bar in chart["data"]]
    assert counts == [2, 2]
    assert chart["layout"]["xaxis"]["title"]["text"] == "force_peak (N)"


def test_names_are_as_short_as_they_can_be_told_apart() -> None:
    keys = ["control.stiffness*", "world.surfaces.wall.stiffness*", "world.plant.com_offset.0", "run.seed"]
    assert short_names(keys) == ["control.stiffness*", "wall.stiffness*", "com_offset.0", "seed"]


def test_parallel_axes_take_texts_holes_and_logarithms() -> None:
    chart = parallel({"a.b": ["x", "y"], "c.d": [None, 2.0], "e.f": [1.0, 100.0]}, np.array([True, False]), ["e.f"])
    texts, holes, logs = chart["data"][0]["dimensions"]
    assert (texts["values"], texts["ticktext"]) == ([0, 1], ["x", "y"])
    assert holes["values"] == [2.0, 2.0]
    assert logs["values"] == [0.0, 2.0]
    assert logs["ticktext"][-1] == "100"


# ------------------------------------------------------------------ as a person sees it


@contextmanager
def opened(browser: Any, path: Path, size: tuple[int, int]) -> Iterator[Any]:
    """A page without complaints: no console error, no failed script, no request beyond the page itself."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True)
    context.set_default_timeout(PATIENCE)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    page.locator(".plot svg.chart").last.wait_for()
    yield page
    context.close()
    assert not complaints


@pytest.mark.browser
def test_the_page_opens_without_a_network_on_a_laptop_and_on_a_phone(browser: Any, tmp_path: Path) -> None:
    path = sweep_report(*made_up(tmp_path), tmp_path / "report.html")
    for size in (LAPTOP, PHONE):
        with opened(browser, path, size) as page:
            assert page.locator(".plot").count() == 8
            assert page.evaluate(EMPTY) == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
            legend = page.locator("#map .legend .name").all_text_contents()
            assert legend == ["good", "bad", "boundary", "predicted"]


@pytest.mark.browser
def test_a_script_in_a_name_does_not_run_in_a_sweep(browser: Any, tmp_path: Path) -> None:
    path = sweep_report(*made_up(tmp_path, SCRIPT), tmp_path / "report.html")
    with opened(browser, path, LAPTOP) as page:
        page.wait_for_load_state("load")  # of images that fail too
        page.evaluate(DRAWN)
        assert page.evaluate("window.hacked === undefined")
        assert "<script>window.hacked" in page.locator("h1").inner_text()
        page.evaluate("Palpate.runs.open('1', document.querySelector('.plot'))")
        assert "<script>window.hacked" in page.locator(".card").inner_text()
        assert page.evaluate("window.hacked === undefined")


@pytest.mark.browser
def test_a_point_answers_the_pointer_and_a_click(browser: Any, tmp_path: Path) -> None:
    table, summary = made_up(tmp_path)
    path = sweep_report(table, summary, tmp_path / "report.html", {"7": pressing(samples=41)}, {"7": "palpate run x"})
    with opened(browser, path, LAPTOP) as page:
        box = page.evaluate(POINT, "7")
        page.mouse.move(*box)
        assert page.locator(".tip").inner_text().startswith("Run 7:")
        page.mouse.click(*box)
        assert "palpate run x" in page.locator(".card").inner_text()
        page.locator(".card .stage canvas").wait_for()
        page.keyboard.press("Escape")
        assert page.locator(".card").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_all_in_a_sweep(browser: Any, axe: Any, tmp_path: Path, scheme: str) -> None:
    path = sweep_report(*made_up(tmp_path), tmp_path / "report.html", {}, {"7": "palpate run x"})
    with opened(browser, path, (360, 700) if scheme == "dark" else LAPTOP) as page:
        page.emulate_media(color_scheme=scheme)
        page.evaluate("Palpate.runs.open('7', document.querySelector('.plot'))")
        assert axe(page, strict=True) == []
