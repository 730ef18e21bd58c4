"""Pieces of text, and the abbreviations a LaTeX text defines for itself: \\newcommand and \\def without arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from palpate.errors import UnreadableExpression

MACRO = re.compile(
    r"\\(?:(?:re)?newcommand\*?|providecommand\*?|DeclareMathOperator\*?)\s*\{?\s*\\([A-Za-z]+)\s*\}?|\\def\s*\\([A-Za-z]+)"
)
_DEEPEST = 10  # abbreviations that stand for abbreviations


class Token(NamedTuple):
    """A piece of the text: "number", "word", "name" (plain text), "command", "op", "gap" (a wide space), "end"."""

    kind: str
    text: str
    start: int
    end: int


Macros = Mapping[str, str]  # {name: what it stands for}


def macros(text: str) -> tuple[str, Macros]:
    """The text with its definitions blanked, and what they define.

    Raises:
        UnreadableExpression: a definition with arguments, or without its closing brace.
    """
    defined: dict[str, str] = {}
    cleared = text
    for match in MACRO.finditer(text):
        at = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        if text[at : at + 1] in ("[", "#"):
            raise UnreadableExpression("a definition with arguments", text, at, hint="write the formula out instead")
        end = _closing(text, at)
        defined[match[1] or match[2]] = text[at + 1 : end]
        blank = re.sub(r"[^\n]", " ", text[match.start() : end + 1])
        cleared = cleared[: match.start()] + blank + cleared[end + 1 :]
    return cleared, defined


def _closing(text: str, at: int) -> int:
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    raise UnreadableExpression("a definition needs its meaning in braces", text, min(at, len(text)))


def expanded(
    tokens: Iterable[Token], defined: Macros, text: str, cut: Callable[[str], Iterable[Token]], depth: int = 0
) -> Iterator[Token]:
    """The tokens with every abbreviation replaced by what it stands for, at the position where it is used."""
    for token in tokens:
        name = token.text[1:] if token.kind == "command" else ""
        if name not in defined:
            yield token
            continue
        if depth > _DEEPEST:
            raise UnreadableExpression(f"{token.text} is defined by itself", text, token.start)
        body = (one._replace(start=token.start, end=token.end) for one in cut(defined[name]))
        yield from expanded(body, defined, text, cut, depth + 1)
