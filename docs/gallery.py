"""Run every shipped scenario and make the gallery: `python docs/gallery.py` writes gallery.md and its pictures.

`python docs/gallery.py new` runs only those that have no picture yet; `names` adds those that the page does not have,
without running them; names of scenarios run these alone, and `front` draws the picture of the first page. The robots
are photographed in their replays by headless Chromium (playwright).
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import palpate as pp
from palpate.metrics import evaluate
from palpate.scenario.file.folders import shipped
from palpate.trace import Trace
from palpate.views.figures import draw
from palpate.views.first_figure import leading
from palpate.views.pages.page import report_html
from palpate.views.pages.player import replay_html
from palpate.views.panels import marks_of

HERE = Path(__file__).parent
PLOTS, ROBOTS = HERE / "images" / "gallery", HERE / "images" / "robots"
HEAD = """# Gallery

Every shipped scenario with a picture of its run, grouped by purpose. A picture links to its entry below: the main plot
of the run, and the command for its report. `palpate show NAME` prints law, gains and world; `palpate new mine
--from NAME` makes it yours.
"""
PURPOSES = {
    "Press, wipe and touch softly": ("cartesian-impedance", "joint-impedance", "shaped-impedance"),
    "Hold a force": ("hybrid-force", "direct-force", "parallel-force", "integral-force"),
    "Yield to a push": ("admittance", "gravity-compensation"),
    "Move precisely": ("computed-torque", "operational-space", "priorities"),
    "Stop at once": ("fastest-stop",),
    "Balance and stand": ("pole-balance", "standing"),
    "Mechanisms by themselves": ("passive",),
}
SCHEMATIC = ("cartesian", "planar", "pendulum", "None")  # robots of a textbook
SIZE, SHOWN = (640, 480), (320, 240)  # px of the browser's stage, and of the picture on the page
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FARTHER = {"cartesian2": 1.7}  # what does not fit into the picture is seen from so many times as far
ZOOM = """(canvas, times) => canvas.dispatchEvent(new WheelEvent("wheel",
    { deltaY: 600 * Math.log(times), ctrlKey: true, cancelable: true }))"""
MOVE = "(slider, time) => { slider.value = time; slider.dispatchEvent(new Event('input')) }"


def main() -> None:
    """Run, draw, write."""
    PLOTS.mkdir(parents=True, exist_ok=True)
    ROBOTS.mkdir(parents=True, exist_ok=True)
    page = HERE / "gallery.md"
    kept = entries(page.read_text(encoding="utf-8")) if sys.argv[1:] and page.exists() else {}
    if sys.argv[1:] == ["new"]:
        kept = {name: part for name, part in kept.items() if "![" in part and _robot(name).is_file()}
    if sys.argv[1:] == ["names"]:
        parts = [kept.get(name) or named(name) for name in shipped()]
    else:
        with camera() as stage:
            asked = set(sys.argv[1:]) & set(shipped())
            parts = [
                entry(name, stage) if name in asked else kept.get(name) or entry(name, stage) for name in shipped()
            ]
            if not sys.argv[1:] or "front" in sys.argv[1:]:
                (HERE / "images" / "panda-wall.png").write_bytes(front(stage))
    page.write_text(f"{HEAD}{cards()}\n## Every scenario\n{''.join(parts)}", encoding="utf-8")


def entries(text: str) -> dict[str, str]:
    """The parts of the page by the names of their scenarios."""
    parts = re.split(r"(?=^\n### )", text, flags=re.MULTILINE)[1:]
    return {part.split("\n")[1].removeprefix("### "): part for part in parts}


def cards() -> str:
    """The pictures of all robots, by purpose."""
    scenarios = {name: pp.load_scenario(name) for name in shipped()}
    sections = []
    for purpose, laws in PURPOSES.items():
        names = [name for name, scenario in scenarios.items() if scenario.control.name in laws]
        # A Panda first, then the other real arms.
        names.sort(key=lambda name: (str(scenarios[name].robot.model).startswith(SCHEMATIC), "panda" not in name))
        shown = "\n\n".join(_card(name, scenarios[name].description) for name in names)
        sections.append(f'\n## {purpose}\n\n<div class="cards">\n\n{shown}\n\n</div>\n')
    return "".join(sections)


def _card(name: str, description: str) -> str:
    picture = f"[![{name}](images/robots/{name}.webp)](#{name}) " if _robot(name).is_file() else ""
    return f"{picture}**[{name}](#{name})** {_short(description)}"


def _short(description: str) -> str:
    """What a card says: without the document's number, up to the first pause."""
    text = re.sub(r"^Document \d+[^:]*: ", "", description)
    first = re.split(r"(?<=\w)(?:[:;] |, (?=is |and )|\. )", text, maxsplit=1)[0].rstrip(".")
    return first[0].upper() + first[1:] + "."


def named(name: str) -> str:
    """One scenario's part of the page without a run: what it shows, and the command."""
    scenario = pp.load_scenario(name)
    return f"\n### {name}\n\n{scenario.description}\n\n{_of(scenario)}.\n\n{_command(name)}"


def entry(name: str, stage: Any) -> str:
    """One scenario's part of the page; its pictures are written."""
    scenario = pp.load_scenario(name)
    trace = pp.simulate(scenario)
    _robot(name).write_bytes(photograph(trace, stage))
    figure = leading(trace)
    picture = ""
    if figure is not None:
        (PLOTS / f"{name}.png").write_bytes(_png(figure, marks_of(trace)))
        picture = f"![{figure.title} of {name}](images/gallery/{name}.png)\n\n"
    judged = [result.passed for result in evaluate(trace, scenario.metrics) if result.passed is not None]
    kept = f", {sum(judged)} of {len(judged)} bounds kept" if judged else ""
    return (
        f"\n### {name}\n\n{scenario.description}\n\n{picture}"
        f"{_of(scenario)}; {trace.outcome.kind}{kept}.\n\n{_command(name)}"
    )


def _of(scenario: Any) -> str:
    law = scenario.control.name
    return f"{scenario.robot.model or 'a table of links'} under [{law}](laws/{law}.md)"


def _command(name: str) -> str:
    return f"<!-- not run -->\n```console\n$ palpate run {name}\n```\n"


def _robot(name: str) -> Path:
    return ROBOTS / f"{name}.webp"


# ------------------------------------------------------------------------------------------------ pictures


@contextmanager
def camera() -> Iterator[Any]:
    """A page of a headless browser, with a stage of SIZE for replays."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1] + 150}, color_scheme="light")
        page.set_default_timeout(90_000)  # ms; software rendering on a busy machine is slow
        yield page
        browser.close()


def front(stage: Any) -> bytes:
    """The first screen of a report and its replay: the picture of the README and of the first page."""
    from PIL import Image

    scenario = pp.load_scenario("panda-wall")
    trace = pp.simulate(scenario)
    stage.set_viewport_size({"width": 1180, "height": 1400})
    _open(stage, report_html(trace, evaluate(trace, scenario.metrics)), _moment(trace))
    picture = Image.open(io.BytesIO(stage.screenshot())).convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def _open(stage: Any, page: str, time: float) -> None:
    """Open a page and move its replay to a moment."""
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(page)
        file.flush()
        stage.goto(Path(file.name).as_uri())
    stage.add_style_tag(content=f"body.alone .stage {{ width: {SIZE[0]}px; height: {SIZE[1]}px; margin: 0 }}")
    stage.locator(".stage canvas").wait_for()
    stage.locator(".transport input[type=range]").evaluate(MOVE, time)
    stage.wait_for_timeout(500)


def photograph(trace: Trace, stage: Any) -> bytes:
    """The robot in its replay, at the moment of the largest force, or halfway where nothing acts."""
    from PIL import Image

    _open(stage, replay_html(trace), _moment(trace))
    canvas = stage.locator(".stage canvas")
    if trace.facts.robot in FARTHER:
        canvas.evaluate(ZOOM, FARTHER[trace.facts.robot])
        stage.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "webp", quality=82, method=6)
    return buffer.getvalue()


def _moment(trace: Trace) -> float:
    sizes = [np.linalg.norm(trace[name][:, :3], axis=1) for name in ("contact_wrench", "push") if name in trace]
    total = np.sum(sizes, axis=0) if sizes else np.zeros(len(trace.time))
    return float(trace.time[np.argmax(total)] if total.max() > 1e-3 else trace.time[len(trace.time) // 2])


def _png(figure: Any, marks: Any) -> bytes:
    from matplotlib import rc_context
    from PIL import Image

    with rc_context({"font.size": 8, "axes.grid": True, "grid.alpha": 0.25, "legend.frameon": False}):
        drawing = draw(figure, marks)
        drawing.set_size_inches(6.4, 2.4 if len(figure.panels) == 1 else 3.6)
        buffer = io.BytesIO()
        drawing.savefig(buffer, dpi=100)
    smaller = io.BytesIO()
    Image.open(buffer).convert("RGB").quantize(48).save(smaller, "png", optimize=True)
    return smaller.getvalue()


if __name__ == "__main__":
    main()
