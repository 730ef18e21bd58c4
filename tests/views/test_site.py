"""The documentation as a site: it builds without a warning or a network, and every link in it leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from PIL import Image

from palpate.control import LAWS
from palpate.scenario.file.load import shipped

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="pip install 'palpate[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
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


def test_the_reference_holds_every_public_name(site: Path) -> None:
    import palpate

    text = (site / "api.html").read_text("utf-8")
    assert [name for name in palpate.__all__ if f"palpate.{name}" not in text] == []


def test_the_gallery_shows_every_shipped_scenario_and_its_pictures_are_there() -> None:
    text = (DOCS / "gallery.md").read_text("utf-8")
    assert re.findall(r"^## (\S+)$", text, re.MULTILINE) == shipped(), "python docs/gallery.py new"
    pictures = re.findall(r"\]\((images/gallery/[^)]+)\)", text)
    assert len(pictures) >= 25
    assert all((DOCS / picture).is_file() for picture in pictures)


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


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1280, 800), (390, 800)], ids=["laptop", "phone"])
@pytest.mark.parametrize("page", ["gallery", "tutorials/1-wall", "tutorials/3-gains"])
def test_a_page_of_the_site_fits_the_screen_and_shows_its_pictures(
    browser: Any, axe: Callable[[Any], list[list[str]]], site: Path, page: str, size: tuple[int, int]
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True)
    tab = context.new_page()
    tab.goto((site / f"{page}.html").as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
    broken = "[...document.querySelectorAll('article img')].filter(i => i.complete && !i.naturalWidth).length"
    assert tab.evaluate(broken) == 0
    assert tab.locator("article h1").first.is_visible()
    assert axe(tab) == []
    context.close()


@pytest.mark.parametrize("law", sorted(LAWS.shipped))
def test_the_equations_of_a_law_are_typeset(site: Path, law: str) -> None:
    text = (site / "laws" / f"{law}.html").read_text("utf-8")
    assert '<div class="equations" tabindex="0"><div>' in text
    assert text.count("<math") == text.count("</math>") > 0


@pytest.mark.parametrize("picture", sorted((DOCS / "images").rglob("*.png")), ids=lambda path: path.stem)
def test_a_picture_is_small_and_not_blank(picture: Path) -> None:
    assert picture.stat().st_size < 200_000
    assert np.ptp(np.asarray(Image.open(picture).convert("L"), dtype=int)) > 100
