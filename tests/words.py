"""Every sentence that palpate can say, as a snapshot in tests/sentences.txt, and the tests that quote one.

    python tests/words.py                  (make words: writes the snapshot anew)
    python tests/words.py --quotations     (prints the texts in tests that quote a sentence)

A sentence is a text of three or more words in a row in src/ that is no docstring: messages of errors, hints, warnings,
remarks, help. What is put into it when it is said stands in braces. The snapshot is their one owner: a changed sentence
shows in its diff, and tests look at what a message must hold: numbers, names and one or two words of its subject.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from house_rules import ROOT, SOURCES, parsed, position

SNAPSHOT = Path(__file__).parent / "sentences.txt"
QUOTE = 3  # words in a row of a palpate sentence that make a quotation
# A word of prose: no identifier, number, path, unit or symbol.
_WORD = re.compile(r"(?<![\w.`'\"{/\\_<=-])(?:[A-Za-z]?[a-z’]+|[AI])(?:-[a-z]+)*(?![\w{}/\\_=>(-]|\.\w)")
_GAP = re.compile(r"[ ,;:]+")
_ESCAPED = re.compile(r"\\([^\w\s])")  # of a regular expression


def texts_of(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Texts of a module without its docstrings; expressions of an f-string are in braces."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            skipped |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
            skipped |= {id(v.format_spec) for v in node.values if isinstance(v, ast.FormattedValue) and v.format_spec}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node, "".join(_shown(value) for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def _shown(value: ast.expr) -> str:
    """A part of an f-string: its text, or the last name of its expression in braces."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    inner = value.value if isinstance(value, ast.FormattedValue) else value
    name = inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else "…"
    return f"{{{name}}}"


def runs(text: str) -> list[list[re.Match[str]]]:
    """Stretches of prose: words with nothing but spaces, commas, colons and semicolons between them."""
    found: list[list[re.Match[str]]] = []
    for word in _WORD.finditer(text):
        if found and _GAP.fullmatch(text[found[-1][-1].end() : word.start()]):
            found[-1].append(word)
        else:
            found.append([word])
    return found


def triples(text: str) -> set[tuple[str, ...]]:
    """Every three words in a row, in lower case."""
    lower = [[word.group().lower() for word in run] for run in runs(text)]
    return {tuple(run[k : k + QUOTE]) for run in lower for k in range(len(run) - QUOTE + 1)}


@cache
def sentences(tree: ast.Module) -> list[str]:
    """Sentences of a module, each once, in alphabetical order; texts of several lines are code or pages."""
    found = {text for _, text in texts_of(tree) if "\n" not in text.strip("\n") and triples(text)}
    return sorted(" ".join(text.split()) for text in found)


def snapshot() -> str:
    """The text of the snapshot: the sentences of every module of src/ below its path."""
    parts: list[str] = []
    for path in SOURCES:
        if found := sentences(parsed(path.read_text(encoding="utf-8"))):
            parts += [f"# {path.relative_to(ROOT / 'src').as_posix()}", *found, ""]
    return "\n".join(parts)


def spoken() -> set[tuple[str, ...]]:
    """Every three words in a row of all sentences."""
    trees = (parsed(path.read_text(encoding="utf-8")) for path in SOURCES)
    return {triple for tree in trees for sentence in sentences(tree) for triple in triples(sentence)}


def quotations(source: str, said: set[tuple[str, ...]]) -> Iterator[tuple[ast.expr, str]]:
    """Texts of a test module that quote a sentence: three of its words in a row."""
    for node, text in texts_of(parsed(source)):
        if "\n" not in text.strip("\n") and triples(_ESCAPED.sub(r"\1", text)) & said:
            yield node, text


def test_modules() -> Iterable[Path]:
    """Every module of tests."""
    return sorted((ROOT / "tests").rglob("test_*.py"))


if __name__ == "__main__":
    if "--quotations" in sys.argv:
        said = spoken()
        for module in test_modules():
            for node, quoted in quotations(module.read_text(encoding="utf-8"), said):
                print(f"{position(module, node)}: {quoted}")
        sys.exit()
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")
