"""The pages of the documentation and their fenced blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOT_RUN = "<!-- not run -->"
CHECK = "check"  # a comment that runs


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the line its text starts on (from 1), its text."""

    language: str
    line: int
    text: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page that are to be run."""
    found: list[Block] = []
    lines, at = text.splitlines(), 0
    while at < len(lines):
        if lines[at].strip() == "<!-- check":
            end = lines.index("-->", at)
            found.append(Block(CHECK, at + 2, "\n".join(lines[at + 1 : end])))
            at = end + 1
            continue
        opening = re.match(r"\s*(```+|~~~+)\s*(\w*)", lines[at])
        if opening is None:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not lines[end].strip().startswith(opening[1]):
            end += 1
        if at == 0 or lines[at - 1].strip() != NOT_RUN:
            found.append(Block(opening[2], at + 2, "\n".join(lines[at + 1 : end])))
        at = end + 1
    return found
