"""The page docs/asserted.md: what the blocks of every page assert. `python -m tests.asserted` writes it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.pages import CHECK, PAGES, ROOT, blocks

PAGE = ROOT / "docs" / "asserted.md"
_WIDTH = 90  # of a line
_TITLE = """# What the pages assert

Every Python block of these pages is run by the tests, and the numbers that a page states of a run are asserted in it.
Written by `python -m tests.asserted`; a test compares.
"""


def assertions(page: Path) -> list[str]:
    """The conditions that the blocks of a page assert, one line each."""
    sources = [block.text for block in blocks(page.read_text("utf-8")) if block.language in ("python", CHECK)]
    tests = [node.test for text in sources for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
    return [_line(ast.unparse(test)) for test in tests]


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def asserted() -> str:
    """The page."""
    parts = [_TITLE]
    for page in PAGES:
        lines = assertions(page) if page != PAGE else []
        if lines:
            name = page.relative_to(ROOT).as_posix()
            link = f"[{name}]({name.removeprefix('docs/')})" if name.startswith("docs/") else name
            parts.append(f"## {link}\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(asserted(), encoding="utf-8")
