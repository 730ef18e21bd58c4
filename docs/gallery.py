"""Run every shipped scenario and make the gallery: `python docs/gallery.py` writes gallery.md and its pictures.

`python docs/gallery.py new` runs only those that have no picture yet; `names` adds those that the page does not have,
without running them.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import palpate as pp
from palpate.metrics import evaluate
from palpate.scenario.file.load import shipped
from palpate.views.figures import draw
from palpate.views.panels import leading, marks_of

HERE = Path(__file__).parent
PICTURES = HERE / "images" / "gallery"
HEAD = """# Gallery

Every scenario that ships, from its own run: what it shows, what to look at first, and the command for its report.
`palpate show NAME` tells law, gains and world; `palpate new mine --from NAME` makes it yours.
"""


def main() -> None:
    """Run, draw, write."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page = HERE / "gallery.md"
    kept = entries(page.read_text(encoding="utf-8")) if sys.argv[1:] and page.exists() else {}
    make = named if sys.argv[1:] == ["names"] else entry
    if sys.argv[1:] == ["new"]:
        kept = {name: part for name, part in kept.items() if "![" in part}
    page.write_text(HEAD + "".join(kept.get(name) or make(name) for name in shipped()), encoding="utf-8")


def entries(text: str) -> dict[str, str]:
    """The parts of the page by the names of their scenarios."""
    parts = re.split(r"(?=^\n## )", text, flags=re.MULTILINE)[1:]
    return {part.split("\n")[1].removeprefix("## "): part for part in parts}


def named(name: str) -> str:
    """One scenario's part of the page without a run: what it shows, and the command."""
    scenario = pp.load_scenario(name)
    told = (
        f"{scenario.robot.model or 'a table of links'} under [{scenario.control.name}](laws/{scenario.control.name}.md)"
    )
    return (
        f"\n## {name}\n\n{scenario.description}\n\n{told}.\n\n<!-- not run -->\n```console\n$ palpate run {name}\n```\n"
    )


def entry(name: str) -> str:
    """One scenario's part of the page; its picture is written."""
    scenario = pp.load_scenario(name)
    trace = pp.simulate(scenario)
    figure = leading(trace)
    picture = ""
    if figure is not None:
        (PICTURES / f"{name}.png").write_bytes(_png(figure, marks_of(trace)))
        picture = f"![{figure.title} of {name}](images/gallery/{name}.png)\n\n"
    judged = [result.passed for result in evaluate(trace, scenario.metrics) if result.passed is not None]
    kept = f", {sum(judged)} of {len(judged)} bounds kept" if judged else ""
    told = (
        f"{scenario.robot.model or 'a table of links'} under [{scenario.control.name}](laws/{scenario.control.name}.md)"
    )
    return (
        f"\n## {name}\n\n{scenario.description}\n\n{picture}{told}; {trace.outcome.kind}{kept}.\n\n"
        f"<!-- not run -->\n```console\n$ palpate run {name}\n```\n"
    )


def _png(figure, marks) -> bytes:
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
