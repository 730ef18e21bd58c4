"""Commands that hints, messages and docstrings name: they exist, with the options they are given, and run."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import palpate
from palpate.cli.main import COMMANDS, _modules, _parsers, main
from palpate.lazy import parsed

PACKAGE = Path(palpate.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
_COMMAND = re.compile(r"\bpalpate ([a-z][\w-]*)([^`;&\n]*)")


def text_of(node: ast.AST) -> str | None:
    """A text in the source; what is filled in later is X."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "X" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left) or "X") + (text_of(node.right) or "X")
    return None


def hints(source: str) -> Iterator[str]:
    """Every text that is given as a hint."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.keyword) and node.arg == "hint" and (text := text_of(node.value)):
            yield text


def texts(source: str) -> Iterator[str]:
    """Every text of a source: messages, helps, docstrings."""
    for node in ast.walk(parsed(source)):
        if (text := text_of(node)) is not None:
            yield text


def unknown_options(text: str) -> list[str]:
    """Options that a text gives to a command which does not have them."""
    found = []
    for name, rest in _COMMAND.findall(text):
        if name in COMMANDS:
            known = _parsers(_modules(COMMANDS))[1][name]._option_string_actions
            found += [f"palpate {name} {o}" for o in re.findall(r"(?<![\w-])--[a-z][\w-]*", rest) if o not in known]
    return found


def literal_hints() -> list[str]:
    """Commands of hints that can be typed as they stand."""
    told = [text for path in SOURCES for text in hints(path.read_text("utf-8"))]
    lines = {match[0].split("  ")[0].strip() for text in told for match in _COMMAND.finditer(text)}
    cut = {re.split(r" (?:shows|tells|lists|makes|says)\b|, ", line)[0] for line in lines}
    return sorted(line for line in cut if not re.search(r"\b[A-Z]+\b|[…<>{}]", line))


def test_commands_are_found_in_texts() -> None:
    source = "raise E('x', hint=f'palpate sweep --resume {folder}')\nfail(hint='see ' + 'palpate lisst')"
    assert list(hints(source)) == ["palpate sweep --resume X", "see palpate lisst"]
    assert unknown_options("try `palpate run a --sett b=1`; palpate list --set") == [
        "palpate run --sett",
        "palpate list --set",
    ]
    assert "palpate list channels" in literal_hints()


def test_every_command_that_a_hint_names_exists() -> None:
    named = [(path.name, name) for path in SOURCES for text in hints(path.read_text("utf-8"))
             for name, _ in _COMMAND.findall(text)]  # fmt: skip
    assert len(named) >= 10
    assert [one for one in named if one[1] not in COMMANDS] == []


def test_every_option_that_a_text_gives_to_a_command_exists() -> None:
    wrong = {(path.name, one) for path in SOURCES for text in texts(path.read_text("utf-8"))
             for one in unknown_options(text)}  # fmt: skip
    assert wrong == set()


@pytest.mark.parametrize("line", [line for line in literal_hints() if "verify" not in line])  # the help's example runs
def test_a_hint_runs_as_written(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    try:
        status: object = main(words)
    except SystemExit as end:  # --help
        status = end.code
    assert status == 0
