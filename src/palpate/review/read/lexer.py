"""A formula cut into tokens, LaTeX or plain text, and a cursor along them; every token knows its place in the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from palpate.equations.spelling import GREEK_LETTERS
from palpate.errors import BadShape, UnreadableExpression
from palpate.review.algebra.names import SymbolTable
from palpate.review.algebra.tree import Grid, Value

MACRO = re.compile(
    r"\\(?:(?:re)?newcommand\*?|providecommand\*?|DeclareMathOperator\*?)\s*\{?\s*\\([A-Za-z]+)\s*\}?|\\def\s*\\([A-Za-z]+)"
)
_DEEPEST = 10  # abbreviations that stand for abbreviations
Macros = Mapping[str, str]  # {name: what it stands for}
# Environments that only arrange lines.
FRAME = (
    r"\\(?:begin|end)\s*\{(?:aligned|alignedat|align|split|gathered|gather|equation|multline|eqnarray|displaymath|math"
    r"|subequations|document)\*?\}(?:\{\d+\})?"
)
_SPACES = re.compile(
    r"(?:\s|%[^\n]*|~|\\[,;:!> ]|\\[\[()]|\$(?!\$)|\\(?:displaystyle|textstyle|scriptstyle|limits|nonumber|notag"
    r"|hline|rm|bf|it|mathstrut|strut)(?![A-Za-z])|\\(?:label|tag\*?|color|hspace\*?|vspace\*?|phantom|mbox)\{[^{}]*\}"
    rf"|\\(?:left|right|middle|[bB]igg?[lrm]?)(?![A-Za-z])\.?|{FRAME})+"
)
_GAP = re.compile(r"\$\$|\\\]|\\q?quad(?![A-Za-z])")
_LIBRARIES = "np|numpy|math|sp|sympy|sym|mp|jnp|torch|casadi|ca"
_PLAIN_SPACES = re.compile(rf"#[^\n]*|\.\.\.[^\S\n]*\n|(?:{_LIBRARIES})\.(?=[A-Za-z])")
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+|\d+\.(?!\w)")
_SCIENTIFIC = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?|\\|[{}|#&%_])")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_SCRIPT = re.compile(f"(?P<above>[{_SUPERSCRIPTS}]+)|[₀₁₂₃₄₅₆₇₈₉]+")
_FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅙": "1/6", "⅛": "1/8"}
# What is read as which sign; those of two letters first.
_SIGNS = {"**": "^", ".*": "*", "./": "/", ".^": "^", **{sign: sign for sign in "+-*/^_()[]{}=&,;:.|'<>!"}}
_SIGNS |= {"−": "-", "–": "-", "·": "*", "×": "*", "∗": "*", "⋅": "*", "÷": "/"}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_MARKS = "\u0307\u0308\u20db"
_NO_LETTER = "".join((*_SUPERSCRIPTS, *_FRACTIONS))
_PLAIN = re.compile(rf"[^\W\d_{_NO_LETTER}](?:[^\W{_NO_LETTER}]|[{_MARKS}])*'*")


class Token(NamedTuple):
    """A piece of the text: "number", "word", "name" (plain text), "command", "op", "gap" (a wide space), "end"."""

    kind: str
    text: str
    start: int
    end: int


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
        cleared = cleared[: match.start()] + blanked(text[match.start() : end + 1]) + cleared[end + 1 :]
    return cleared, defined


def blanked(text: str) -> str:
    """A text of spaces in which every line keeps its length, so that positions stay."""
    return re.sub(r"[^\n]", " ", text)


def _closing(text: str, at: int) -> int:
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    raise UnreadableExpression("a definition needs its meaning in braces", text, min(at, len(text)))


def _expanded(tokens: Iterable[Token], defined: Macros, text: str, depth: int = 0) -> Iterator[Token]:
    """The tokens with every abbreviation replaced by what it stands for, at the position where it is used."""
    for token in tokens:
        name = token.text[1:] if token.kind == "command" else ""
        if name not in defined:
            yield token
            continue
        if depth > _DEEPEST:
            raise UnreadableExpression(f"{token.text} is defined by itself", text, token.start)
        body = (one._replace(start=token.start, end=token.end) for one in _tokens(defined[name], True))
        yield from _expanded(body, defined, text, depth + 1)


def is_latex(text: str) -> bool:
    """Whether a formula is LaTeX: it has a backslash or braces."""
    return "\\" in text or "{" in text


def tokens(text: str) -> list[Token]:
    r"""The tokens of a formula without \begin{aligned} and the like, the last one of kind "end".

    Raises:
        UnreadableExpression: a character that belongs to no formula.
    """
    latex = is_latex(text)
    cleared, defined = macros(text) if latex else (text, {})
    return [*_expanded(_tokens(cleared, latex), defined, text), Token("end", "", len(text), len(text))]


def _tokens(text: str, latex: bool) -> Iterator[Token]:
    at = 0
    while at < len(text):
        skipped = _SPACES.match(text, at) or (None if latex else _PLAIN_SPACES.match(text, at))
        if skipped and skipped.end() > at:
            at = skipped.end()
            continue
        for token in _next(text, at, latex):
            yield token
            at = token.end


def _next(text: str, at: int, latex: bool) -> Iterator[Token]:
    letter = text[at]
    for kind, pattern in (("gap", _GAP), ("command", _COMMAND), ("number", _NUMBER if latex else _SCIENTIFIC)):
        if match := pattern.match(text, at):
            yield Token(kind, match[0], at, match.end())
            return
    if letter == "√":
        yield Token("name" if not latex else "word", "sqrt", at, at + 1)
    elif letter in _FRACTIONS:
        yield Token("number", _FRACTIONS[letter], at, at + 1)
    elif script := _SCRIPT.match(text, at):
        sign, kind = ("^", "exponent") if script["above"] else ("_", "number")
        yield Token("op", sign, at, at)
        yield Token(kind, unicodedata.normalize("NFKC", script[0]).replace("−", "-"), at, script.end())
    elif letter.isalpha():
        yield from _word(text, at) if latex else _plain(text, at)
    elif operator := _SIGN.match(text, at):
        yield Token("op", _SIGNS[operator[0]], at, operator.end())
    else:
        raise UnreadableExpression(f"{letter!r} has no meaning in a formula", text, at)


def _plain(text: str, at: int) -> Iterator[Token]:
    match = _PLAIN.match(text, at)
    assert match is not None
    yield Token("name", match[0], at, match.end())


def _word(text: str, at: int) -> Iterator[Token]:
    """A run of letters; a letter with a dot above, or a Greek one, stands for itself."""
    end = at
    while end < len(text) and text[end].isalpha():
        alone = text[end] in GREEK_LETTERS or len(unicodedata.normalize("NFD", text[end])) > 1
        marked = end + 1 < len(text) and text[end + 1] in _MARKS
        if (alone or marked) and end > at:
            break
        end += 2 if marked else 1
        if alone or marked:
            break
    yield Token("word", text[at:end], at, end)


CLOSING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}


class Cursor:
    """A place in a list of tokens that ends with an "end" token; faults are told with their place in the text."""

    def __init__(self, tokens: Sequence[Token], text: str, table: SymbolTable, latex: bool) -> None:
        self.tokens, self.text, self.table, self.latex = tokens, text, table, latex
        self.at = 0
        self.depth = 0  # brackets within brackets, counted to be refused before Python's own stack ends

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.at]

    def _ahead(self, count: int = 1) -> Token:
        """A token further on; the "end" token beyond the last one."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def _is(self, *texts: str) -> bool:
        return self.token.kind in ("op", "command") and self.token.text in texts

    def _take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.at += 1
        return token

    def _accept(self, *texts: str) -> bool:
        accepted = self._is(*texts)
        self.at += accepted
        return accepted

    def _expect(self, text: str, opened: Token) -> None:
        if not self._accept(text):
            column = opened.start - self.text.rfind("\n", 0, opened.start)
            raise self._fault(f"expected {text!r} to close the {opened.text!r} of column {column}")

    def _fault(self, message: str, at: int | None = None, hint: str | None = None) -> UnreadableExpression:
        return UnreadableExpression(message, self.text, self.token.start if at is None else at, hint=hint)

    def _shaped(self, at: int, operation: Callable[[], Value]) -> Value:
        """Do an operation of matrices; a wrong shape is told with its place."""
        try:
            return operation()
        except BadShape as error:
            raise self._fault(str(error), at) from error

    def _matching(self, at: int) -> int:
        """Where the bracket that opens at `at` closes."""
        closing_index = self._closing(at)
        if closing_index is None:
            raise self._fault(f"the {self.tokens[at].text!r} is never closed", self.tokens[at].start)
        return closing_index

    def _closing(self, at: int) -> int | None:
        """Where the bracket that opens at `at` closes; None if it never does."""
        depth = 0
        for index in range(at, len(self.tokens)):
            token = self.tokens[index]
            depth += token.text in CLOSING and token.kind != "name"
            depth -= token.text in CLOSING.values() and token.kind != "name"
            if depth == 0:
                return index
        return None

    def _spanned(self, start: int, value: Value) -> Value:
        """A value with its position in the text, from `start` to the last token read; a matrix has none."""
        return value if isinstance(value, Grid) else replace(value, span=(start, self.tokens[self.at - 1].end))

    def _first_digit(self) -> Token:
        """The first digit of the current number, which is shortened by it: \\frac12 and x^23 take one digit each."""
        token = self.token
        self._put_instead([token.text[0], token.text[1:]])
        return self._take()

    def _put_instead(self, texts: list[str]) -> None:
        """Replace the current token by several, which together are the same text."""
        token, at, made = self.token, self.token.start, []
        for text in texts:
            made.append(Token(token.kind, text, at, at + len(text)))
            at += len(text)
        self.tokens = [*self.tokens[: self.at], *made, *self.tokens[self.at + 1 :]]
