"""A law's name stands in its own file, and the packages of control import one way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import palpate
from palpate.control import LAWS
from palpate.lazy import parsed

PACKAGE = Path(palpate.__file__).parent
NAMES = frozenset(LAWS)
# What may import what inside control, beside the modules of control itself.
ARROWS: dict[str, set[str]] = {
    "references": set(),
    "steps": set(),
    "design": {"references", "steps"},
    "solve": {"design", "steps"},
    "laws": {"references", "steps", "design", "solve"},
}
# Words that are a law's name by chance: file, word, what it means there.
OTHER_MEANINGS = {
    ("control/solve/__init__.py", "priorities"): "a module of the package",
}


def literals(source: str) -> list[tuple[int, str]]:
    """Every string in a source that is no docstring, with its line."""
    return [
        (node.lineno, node.value)
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def misplaced(file: str, source: str) -> list[str]:
    """Names of laws in a file that is not theirs."""
    return [
        f"{file}:{line} names the law {text!r}; ask the law instead (Law.traits, Law.report)"
        for line, text in literals(source)
        if text in NAMES and file != f"control/laws/{text.replace('-', '_')}.py" and (file, text) not in OTHER_MEANINGS
    ]


def test_no_law_is_named_outside_its_own_file() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if "documents" not in path.relative_to(PACKAGE).parts]
    complaints = [
        line for path in files for line in misplaced(path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8"))
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("file", "source", "count"),
    [
        ("metrics/motion.py", "if trace.facts.law in ('admittance', 'x'): pass", 1),
        ("control/laws/admittance.py", "name = 'admittance'", 0),
        ("control/laws/passive.py", "name = 'admittance'", 1),
        ("control/solve/__init__.py", "['priorities']", 0),
    ],
)
def test_a_name_in_the_wrong_place_is_seen(file: str, source: str, count: int) -> None:
    assert len(misplaced(file, source)) == count


def against(part: str, source: str) -> list[str]:
    """Imports of a package of control that it may not have, at any depth of the source."""
    named = [
        name
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    ]
    parts = [name.split(".")[2] for name in named if name.startswith("palpate.control.")]
    return [other for other in parts if other in ARROWS and other != part and other not in ARROWS[part]]


@pytest.mark.parametrize("part", ARROWS)
def test_the_packages_of_control_import_one_way(part: str) -> None:
    for path in (PACKAGE / "control" / part).glob("*.py"):
        assert not against(part, path.read_text("utf-8")), path


def test_an_import_against_the_arrows_of_control_is_seen() -> None:
    assert against("steps", "def f():\n    from palpate.control.design.pole import PoleModel") == ["design"]
    assert against("design", "from palpate.control.laws.passive import Passive") == ["laws"]
    assert not against("laws", "from palpate.control.design.pole import PoleModel\nfrom palpate.control.law import Law")
