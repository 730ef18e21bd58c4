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
from palpate.views.pages.equation import mathml  # noqa: E402

project, release, html_title = "palpate", __version__, f"palpate {__version__}"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = ["__pycache__"]
templates_path = ["templates"]
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False
html_theme_options = {"source_directory": "docs/"}
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "colon_fence"]
highlight_language = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"

_LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")
_PARAMETERS = re.compile(r'<dl>\n(<dd><em class="sig-param">.*?)</dl>', re.DOTALL)
_CELL = re.compile(r"<td>.*?</td>", re.DOTALL)
_BREAK = re.compile(r"(?<=\w[_./,=(:-])(?=[^\s<>&]+</span>)")
_SYMBOLS = re.compile(r"(?<=\n\| symbol \| is \| unit \|\n\|---\|---\|---\|\n)(?:\|.*\n)+")
_EQUATIONS = re.compile(r"(?<=\n\n)(?:    \S.*\n)+(?=\n)")
_CONTENTS = """

```{{toctree}}
:caption: {title}
:hidden:
:glob:

{pages}
```
"""
_PARTS = {
    "Start": ["tutorials/*", "which-law", "gallery", "troubleshooting", "your-error", "coming-from"],
    "Guide": [
        *("scenario", "world", "driver", "guards", "gain-design", "play", "compare-laws", "report", "notebooks", "gym"),
        *("models", "derive", "derive-check", "exact-contact", "sweeps", "tune", "cluster", "export", "serve", "drive"),
        *("logs", "fastest-stop", "priorities", "extending", "teaching", "teaching/*"),
    ],
    "Reference": [
        *("cli", "api/index", "laws/*", "catalogue", "robot", "metrics", "trace", "loop", "loop-poles", "serve-calls"),
        *("notation", "glossary", "literature", "promises", "cite"),
    ],
    "Five documents, verified": ["verify", "documents/*"],
    "For maintainers": ["decisions/*", "*"],  # tables, matrices, what the pages assert, benchmarks
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
        return match[0] if inside and place.suffix in (".md", ".ipynb") else words

    return _LINK.sub(one, text)


def _typeset(text: str) -> str:
    """The equations of a page, which stand indented, as MathML: a row a line, parts apart as on the page."""
    text = _SYMBOLS.sub(_symbols, text)
    outside = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _EQUATIONS.sub(_rows, part) for part in outside)


def _symbols(table: re.Match[str]) -> str:
    """The first column of a table of symbols as MathML, words in it left alone."""
    rows = [row.split(" | ", 1) for row in table[0].splitlines()]
    return "".join(f"{re.sub(r'[^,; ]+', _symbol, first)} | {others}\n" for first, others in rows)


def _symbol(text: re.Match[str]) -> str:
    word = text[0] == "|" or re.fullmatch(r"[a-z]{3,}", text[0]) or "`" in text[0]
    return text[0] if word else mathml(text[0]).replace(' display="block"', "")


def _rows(block: re.Match[str]) -> str:
    lines = [re.sub(r" +(?== )", " ", line.strip().replace("`", "")) for line in block[0].splitlines()]
    parts = [re.split(r" {3,}", line) for line in lines]
    rows = ["".join(map(_part, line)) for line in parts]
    return '<div class="equations">' + "".join(f"<div>{row}</div>" for row in rows) + "</div>\n"


def _part(text: str) -> str:
    """An equation, and the words before and behind it."""
    pieces = re.split(r"^(\d\.) |, (?=[A-Za-z][a-z-]{2,} )|: |(?<= angles), ", text.strip(", "))
    return "".join(mathml(p) if re.search(r"[=≤≥|]|^[−+]", p) else f"<span>{p}</span>" for p in pieces if p)


def _read(app: Any, name: str, source: list[str]) -> None:
    if name.startswith("api/"):
        return
    source[0] = _linked(f"{name}.md", source[0]).replace("<!-- every metric -->", reference.metrics())
    if name.startswith("laws/"):
        source[0] = _typeset(source[0])
    if name == root_doc:  # its pages are made with the site
        source[0] = source[0].replace("programming interface<!-- api -->", "[programming interface](api/index.rst)")
        source[0] += "".join(_CONTENTS.format(title=title, pages="\n".join(pages)) for title, pages in _PARTS.items())


def _reachable(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """What the theme leaves out for those without a mouse: blocks that scroll can be focused, captions have a level,
    a corner of a table without words is no heading."""
    for key, old, new in (
        ("body", "<pre>", '<pre tabindex="0">'),
        ("body", '<th class="head"><p></p></th>', "<td></td>"),
        ("body", '<div class="equations">', '<div class="equations" tabindex="0">'),
        ("body", '<div class="table-wrapper ', '<div tabindex="0" class="table-wrapper '),
        ("furo_navigation_tree", 'role="heading"', 'role="heading" aria-level="2"'),
    ):
        if isinstance(context.get(key), str):
            context[key] = context[key].replace(old, new)
    if isinstance(context.get("body"), str):
        context["body"] = _CELL.sub(_breakable, context["body"])
    if page.startswith("api/"):
        context["body"] = _PARAMETERS.sub(_as_lines, context["body"])


def _breakable(cell: re.Match[str]) -> str:
    """Names in a narrow column may break behind their punctuation: friction_|compensation."""
    return _BREAK.sub("<wbr>", cell[0])


def _as_lines(parameters: re.Match[str]) -> str:
    """The lines of a long signature, which are no list of definitions."""
    lines = parameters[1].replace("<dd>", "<div>").replace("</dd>", "</div>")
    return f'<div class="parameters">\n{lines}</div>'


def setup(app: Any) -> None:
    """Write the reference from the docstrings, and take the pages as they stand in the repository."""
    reference.write(HERE / "api")
    reference.connect(app)
    app.connect("source-read", _read)
    app.connect("html-page-context", _reachable, priority=900)  # after the theme's own
