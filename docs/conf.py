"""The documentation as a site: `make docs` builds these pages with Sphinx, MyST and Furo, without a network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import reference  # noqa: E402, I001
from palpate import __version__  # noqa: E402

project, release, html_title = "palpate", __version__, f"palpate {__version__}"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["__pycache__"]
html_theme = "furo"
html_static_path: list[str] = []
html_theme_options = {"source_directory": "docs/"}
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "colon_fence"]
highlight_language = "none"

_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
_CONTENTS = """

```{{toctree}}
:caption: {title}
:hidden:
:glob:

{pages}
```
"""
_PARTS = {
    "Start": ["tutorials/*", "which-law", "gallery", "troubleshooting", "coming-from"],
    "Work with it": ["cli", "scenario", "notebooks", "world", "guards", "gain-design", "report", "sweeps", "tune"],
    "Laws": ["laws/*"],
    "Robots and derivations": ["catalogue", "models", "robot", "derive*"],
    "Reference": ["api", "notation", "glossary", "literature", "documents/*", "*"],
    "Why": ["decisions/*"],
}


def _linked(page: str, text: str) -> str:
    """Links that lead out of the site become plain text; links to a folder lead to its first page."""

    def one(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if "://" in target or target.startswith("#") or match.string[match.start() - 1] == "!":
            return match[0]
        place = (HERE / page).parent / target.split("#")[0]
        if place.is_dir():
            pages = sorted(place.glob("*.md"))
            return f"[{words}]({target.rstrip('/')}/{pages[0].name})" if pages else words
        inside = HERE in place.resolve().parents
        return match[0] if inside and place.suffix == ".md" else words

    return _LINK.sub(one, text)


def _read(app: Any, name: str, source: list[str]) -> None:
    source[0] = _linked(f"{name}.md", source[0])
    if name == root_doc:
        source[0] += "".join(_CONTENTS.format(title=title, pages="\n".join(pages)) for title, pages in _PARTS.items())


def setup(app: Any) -> None:
    """Write the reference from the docstrings, and take the pages as they stand in the repository."""
    reference.write(HERE / "api.md")
    app.connect("source-read", _read)
