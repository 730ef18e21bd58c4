"""Styles and scripts are files of their own, which an installation brings along."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from palpate.views.pages.assets import asset

ROOT = Path(__file__).parents[2]
FOREIGN = re.compile(r"\w\{(?:margin|padding|color|display|font-size|overflow):|document\.getElementById|=>\{")
SOURCES = sorted((ROOT / "src" / "palpate").rglob("*.py"))


def test_no_style_sheet_and_no_script_stands_inside_python() -> None:
    found = [str(path.relative_to(ROOT)) for path in SOURCES if FOREIGN.search(path.read_text("utf-8"))]
    assert found == []


def test_a_style_sheet_inside_python_would_be_seen() -> None:
    assert FOREIGN.search('_STYLE = "p{margin:.4rem 0;color:var(--soft)}"')
    assert FOREIGN.search("const narrow=()=>{return 1}")
    assert not FOREIGN.search("f'margin {margin:.4g}'")


def test_they_are_installed_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = project["tool"]["setuptools"]["package-data"]["palpate"]
    assert {"**/*.css", "**/*.js"} <= set(wanted)


@pytest.mark.parametrize(
    "name", ["charts.js", "page.js", "replay.js", "shapes3d.js", "sweeps.js", "page.css", "replay.css"]
)
def test_a_file_can_stand_in_an_element_of_a_page(name: str) -> None:
    text = asset(name)
    assert not re.search(r"</(?:script|style)", text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
