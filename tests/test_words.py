"""Sentences have one owner: the snapshot that `make words` writes."""

from __future__ import annotations

import ast
import difflib

import pytest

import words


def test_the_snapshot_holds_every_sentence() -> None:
    new, old = words.snapshot().splitlines(), words.SNAPSHOT.read_text(encoding="utf-8").splitlines()
    diff = [
        line for line in difflib.unified_diff(old, new, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))
    ]
    assert not diff, "sentences changed: run `make words` and read the diff\n  " + "\n  ".join(diff[:40])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("raise InvalidInput(f'{name} must be finite, got {self.value} at {place(1)}')",
         ["{name} must be finite, got {value} at {…}"]),
        ("raise FileError('there is no' f' {file:>3}', hint='give the path of a file')",
         ["give the path of a file", "there is no {file}"]),
        ('"""A docstring of a module."""\ndef f():\n    """A docstring that says much."""', []),
        ("x = 'two words'\ny = 'a_name of_an identifier'\nz = 'for i in range(3):\\n    print(i) if i else None'", []),
    ],
)  # fmt: skip
def test_a_sentence_is_what_is_said(source: str, expected: list[str]) -> None:
    assert words.sentences(ast.parse(source)) == expected


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (r"raises(match='q of arm must be finite, got nan')", 1),
        (r"raises(match=r'q\[1\] must be finite\.')", 1),
        ("assert told == 'the joint must be finite'", 1),
        ("rows = [(1, 'which must be finite')]", 1),
        ("raises(match='q of arm.*finite.*nan')", 0),
        ("def test(): 'it must be finite'", 0),
    ],
)
def test_a_quotation_is_seen(source: str, count: int) -> None:
    said = words.triples("{name} must be finite, got {value}")
    assert len(list(words.quotations(source, said))) == count
