"""The documentation as a site: it builds without a warning or a network, and every link in it leads somewhere."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from PIL import Image

from moments import ENDLESS
from palpate.control import LAWS
from palpate.scenario.file.folders import shipped
from palpate.scenario.model import law_class

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="pip install --group docs")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr
    return out


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(str(found["id"]))
        for key in ("href", "src"):
            if found.get(key) and tag in ("a", "img", "link", "script"):
                self.links.append(str(found[key]))


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert len(pages) > 45
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else None
            missing = anchors is not None and parts.fragment and unquote(parts.fragment) not in anchors
            if not target.exists() or missing:
                dead.append(f"{path.relative_to(site)}: {link}")
    assert not dead


def test_nothing_of_the_site_comes_from_a_network(site: Path) -> None:
    text = (site / "tutorials" / "1-wall.html").read_text("utf-8")
    assert not re.findall(r'<(?:script|link)[^>]+(?:src|href)="https?://[^"]+"', text)


def test_the_inventory_holds_every_public_name(site: Path) -> None:
    import palpate

    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]  # four lines of text, then entries
    entries = zlib.decompress(packed).decode().splitlines()
    known = {entry.split(" ")[0] for entry in entries if " py:" in entry}
    assert {f"palpate.{name}" for name in palpate.__all__} <= known
    packages = ("robot", "spatial", "control", "control.design", "world", "trace")
    for package in (*packages, *(f"tools.{name}" for name in ("contact", "study", "gym", "logs", "play", "sheets"))):
        module = importlib.import_module(f"palpate.{package}")
        public = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
        assert {f"palpate.{package}.{name}" for name in public} <= known
    assert {"palpate.Robot.mass_matrix", "palpate.errors.InvalidInput"} <= known


def test_types_and_names_in_the_reference_are_links(site: Path) -> None:
    text = (site / "api" / "palpate.html").read_text("utf-8")
    signature = text[text.index('id="palpate.simulate"') :].split("</dt>")[0]
    assert 'href="#palpate.Scenario"' in signature
    assert 'href="#palpate.Trace"' in signature


def test_the_gallery_shows_every_shipped_scenario_and_its_pictures_are_there() -> None:
    text = (DOCS / "gallery.md").read_text("utf-8")
    assert re.findall(r"^### (\S+)$", text, re.MULTILINE) == shipped(), "python docs/gallery.py new"
    cards = re.findall(r"\]\(images/robots/([^)]+)\.webp\)\]\(#([^)]+)\)", text)
    assert sorted(name for name, _ in cards) == shipped(), "python docs/gallery.py new"
    assert all(name == anchor for name, anchor in cards)
    pictures = re.findall(r"\]\((images/(?:gallery|robots)/[^)]+)\)", text)
    assert all((DOCS / picture).is_file() for picture in pictures)
    assert sum((DOCS / picture).stat().st_size for picture in pictures) < 1.5e6


PARTS = [
    "The equation",
    "What it promises",
    "When to use it, and when not",
    "Gains",
    "What goes wrong",
    "In Python",
    "Literature",
]


@pytest.mark.parametrize("law", sorted(LAWS.shipped))
def test_a_law_page_is_for_those_who_meet_the_law_for_the_first_time(law: str) -> None:
    text = (DOCS / "laws" / f"{law}.md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS
    first = text.split("\n\n")[1]
    assert 100 < len(first) < 600
    assert not re.search(r"[=τΛ]", first), "plain words first"
    assert re.search(r"!\[[^\]]+\]\(\.\./images/robots/[^)]+\) !\[[^\]]+\]\(\.\./images/gallery/", text)
    assert "| symbol | is | unit |" in text
    assert "| typical (default) |" in text
    cited = set(re.findall(r"https://doi\.org/([^)\s]+)", text))
    listed = set(re.findall(r"https://doi\.org/([^)\s]+)", (DOCS / "literature.md").read_text("utf-8")))
    assert set(law_class(law)().report.literature) <= cited <= listed
    assert cited


@pytest.mark.parametrize("law", sorted(LAWS.shipped))
def test_a_law_page_names_every_gain(law: str) -> None:
    text = (DOCS / "laws" / f"{law}.md").read_text("utf-8")
    shared = {"name", "axes", "axes_quat_wxyz", "heaviest", "orientation_error", "posture_stiffness", "posture_damping"}
    shared |= {"avoid_stops", "avoid_rate", "friction_compensation", "damping_ratio"}
    own = set(law_class(law).model_fields) - shared
    assert [gain for gain in sorted(own) if f"`{gain}`" not in text and f"`{gain} = " not in text] == []


QUESTIONS = {
    "How do I give a CSV as reference?": ("scenario.html", "motion.csv"),
    "How do I cite palpate?": ("cite.html", "@software"),
    "How do I run it on SLURM?": ("cluster.html", "slurm:job.toml"),
    "How do I get a video of the replay?": ("report.html", "video"),
    "What does this warning mean?": ("troubleshooting.html", "did not keep its promise"),
    "How do I bring my own robot?": ("tutorials/2-my-urdf.html", "URDF"),
    "How do I write my own law?": ("extending.html", "Your own law in plain Python"),
    "Will my gains be stable?": ("gain-design.html", "Will it be stable?"),
    "What does this symbol mean?": ("laws/cartesian-impedance.html", "joint torques that the law commands"),
    "Which arguments does this function take?": ("api/palpate.html", "Run a scenario and record what happened."),
    "How do I put a law onto the robot?": ("export.html", "palpate export"),
    "Is there a course for my students?": ("teaching.html", "be downloaded as a notebook"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_within_two_clicks_from_the_front_page(site: Path, question: str) -> None:
    page, answer = QUESTIONS[question]
    reached = {site / "index.html"}
    for _ in range(2):
        reached |= {target for path in reached for target in article_links(path)}
    assert site / page in reached
    assert answer in re.sub(r"<[^>]+>", "", (site / page).read_text("utf-8"))


def article_links(path: Path) -> set[Path]:
    """Pages that the text of a page leads to; the menu, which holds every page, does not count."""
    text = path.read_text("utf-8")
    body = text[text.index("<article") : text.index("</article>")]
    targets = (urlsplit(link) for link in re.findall(r'<a [^>]*href="([^"]+)"', body))
    inside = (path.parent / unquote(t.path) for t in targets if t.path and not t.scheme)
    return {target.resolve() for target in inside if target.suffix == ".html"}


def test_the_notebooks_are_the_pages_of_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat

    monkeypatch.syspath_prepend(str(DOCS))
    exercises = importlib.import_module("exercises")
    for page in exercises.pages():
        text = page.with_suffix(".ipynb").read_text("utf-8")
        assert text == exercises.notebook(page.read_text("utf-8")), "python docs/exercises.py"
        nbformat.validate(nbformat.reads(text, 4))
    assert len(exercises.pages()) == 6


def test_the_decision_page_names_no_law_that_is_not_there() -> None:
    text = (DOCS / "which-law.md").read_text("utf-8")
    named = set(re.findall(r"\(laws/([a-z-]+)\.md\)", text))
    assert len(named) >= 16
    assert named <= set(LAWS)


TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
DRAWING = [path for path in TUTORIALS if "matplotlib" in path.read_text("utf-8") or ".plot(" in path.read_text("utf-8")]


def test_tutorials_draw() -> None:
    assert len(DRAWING) >= 6


@pytest.mark.parametrize("path", DRAWING, ids=lambda path: path.stem)
def test_a_tutorial_ends_in_a_picture_that_its_own_code_draws(path: Path) -> None:
    text = path.read_text("utf-8")
    picture = re.findall(r"!\[[^\]]+\]\((\.\./images/tutorials/[^)]+)\)", text)[-1]
    assert (path.parent / picture).is_file()
    assert f'savefig("{Path(picture).name}"' in text


Axe = Callable[..., list[list[str]]]
SCREENS = {"laptop, light": (1280, "light"), "laptop, dark": (1280, "dark"), "phone, dark": (390, "dark")}
BROKEN = "[...document.querySelectorAll('article img')].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
OUTSIDE = """() => [...document.querySelectorAll('article *')].filter(
    e => e.getBoundingClientRect().right > innerWidth + 1
        && !e.closest('pre, .table-wrapper, .equations, .sig, .parameters')).map(e => e.outerHTML.slice(0, 80))"""


def complaints(browser: Any, axe: Axe, site: Path, pages: list[str], screen: str) -> list[str]:
    """What is wrong with pages as they are shown: too wide, cut off, without a picture, or a complaint of axe's."""
    width, scheme = SCREENS[screen]
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, color_scheme=scheme)
    wrong: list[str] = []
    for page in pages:
        tab = context.new_page()
        tab.goto((site / f"{page}.html").as_uri())
        wide = tab.evaluate("document.documentElement.scrollWidth")
        found = [f"{wide} px wide"] if wide > width else []
        found += [f"no picture: {source}" for source in tab.evaluate(BROKEN)]
        found += [f"cut off: {element}" for element in tab.evaluate(OUTSIDE)]
        found += [" ".join(map(str, one)) for one in axe(tab, strict=True)]
        wrong += [f"{page}: {one}" for one in found]
        tab.close()
    context.close()
    return wrong


SAMPLE = ["index", "gallery", "troubleshooting", "tutorials/3-gains", "laws/hybrid-force", "api/palpate.errors"]


@pytest.mark.browser
@pytest.mark.parametrize("screen", ["laptop, light", "phone, dark"])  # all of them with every page: make site-check
def test_pages_fit_the_screen_show_their_pictures_and_pass_axe(browser: Any, axe: Axe, site: Path, screen: str) -> None:
    assert complaints(browser, axe, site, SAMPLE, screen) == []


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_fits_the_screen_shows_its_pictures_and_passes_axe(
    browser: Any, axe: Axe, site: Path, screen: str
) -> None:
    pages = sorted(path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html"))
    pages = [page for page in pages if not page.startswith("_")]
    assert len(pages) > 100
    assert complaints(browser, axe, site, pages, screen) == []


@pytest.mark.parametrize("law", sorted(LAWS.shipped))
def test_the_equations_of_a_law_are_typeset(site: Path, law: str) -> None:
    text = (site / "laws" / f"{law}.html").read_text("utf-8")
    assert '<div class="equations" tabindex="0"><div>' in text
    assert text.count("<math") == text.count("</math>") > 0


@pytest.mark.parametrize(
    "picture",
    sorted(path for path in (DOCS / "images").rglob("*.*") if path.suffix in (".png", ".webp")),
    ids=lambda path: path.stem,
)
def test_a_picture_is_small_and_not_blank(picture: Path) -> None:
    assert picture.stat().st_size < 200_000
    assert np.ptp(np.asarray(Image.open(picture).convert("L"), dtype=int)) > 100
