"""What the tests of the house share: the sources, parsed once, and how complaints are shown."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from palpate import lazy

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "palpate"
DOCUMENTS = ROOT / "src" / "palpate_documents"
CORE, BESIDE = sorted(PACKAGE.rglob("*.py")), sorted(DOCUMENTS.rglob("*.py"))
SOURCES = [*CORE, *BESIDE]


parsed = cache(lazy.parsed)


def complain(complaints: Iterable[str]) -> None:
    found = list(complaints)
    assert not found, f"{len(found)} complaint(s):\n  " + "\n  ".join(found)


def position(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
