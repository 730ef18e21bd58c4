"""A formula cut into tokens, LaTeX or plain text; every token knows its position in the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from palpate.equations.spelling import GREEK_LETTERS
from palpate.errors import TooLarge, UnreadableExpression
from palpate.tools.review.algebra.effort import MOST_TOKENS, spend

MACRO = re.compile(
    r"\\(?:(?:re)?newcommand\*?|providecommand\*?|DeclareMathOperator\*?)\s*\{?\s*\\([A-Za-z]+)\s*\}?|\\def\s*\\([A-Za-z]+)"
)
_BRACE = re.compile("[{}]")
_DEEPEST = 10  # abbreviations that stand for abbreviations
Macros = Mapping[str, tuple[int, str]]  # {name: number of arguments, what it stands for}
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
_COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?|\\|[{}|#&%_])")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_SCRIPT = re.compile(f"(?P<above>[{_SUPERSCRIPTS}]+)|[₀₁₂₃₄₅₆₇₈₉]+")
_FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅙": "1/6", "⅛": "1/8"}
_FRACTION = f"[{''.join(_FRACTIONS)}]"
_NUMBER = re.compile(rf"\d+(?:\.\d+)?|\.\d+|\d+\.(?!\w)|{_FRACTION}")
_SCIENTIFIC = re.compile(rf"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|{_FRACTION}")
_ROOT = re.compile("√")
# What is read as which sign; those of two letters first.
_SIGNS = {"**": "^", ".*": "*", "./": "/", ".^": "^", **{sign: sign for sign in "+-*/^_()[]{}=&,;:.|'<>!"}}
_SIGNS |= {"−": "-", "–": "-", "·": "*", "×": "*", "∗": "*", "⋅": "*", "÷": "/", "∕": "/", "⁄": "/"}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_SPELT = {**_FRACTIONS, **_SIGNS, "√": "sqrt"}
_MARKS = "\u0307\u0308\u20db"
_NO_LETTER = "".join((*_SUPERSCRIPTS, *_FRACTIONS))
_BELOW = "₀₁₂₃₄₅₆₇₈₉"
_PLAIN = re.compile(rf"[^\W\d_{_NO_LETTER}](?:[^\W{_NO_LETTER}{_BELOW}]|[{_MARKS}])*[{_BELOW}]*'*")


class Token(NamedTuple):
    """A piece of the text: "number", "word", "name" (plain text), "command", "op", "gap" (a wide space), "end"."""

    kind: str
    text: str
    start: int
    end: int


def macros(text: str) -> tuple[str, Macros]:
    """The text with its definitions blanked, and what they define.

    Raises:
        UnreadableExpression: a definition without its closing brace, or with arguments that are not counted.
    """
    defined: dict[str, tuple[int, str]] = {}
    cleared = text
    for match in MACRO.finditer(text):
        spend(len(text) // 20)
        at = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        counted = re.compile(r"\[(\d)\]\s*|(?:#\d)*#(\d)\s*").match(text, at)
        if text[at : at + 1] in ("[", "#") and counted is None:
            raise UnreadableExpression("a definition with arguments", text, at, hint="write the formula out instead")
        at = counted.end() if counted else at
        end = closing_brace(text, at)
        if end is None:
            raise UnreadableExpression("a definition needs its meaning in braces", text, min(at, len(text)))
        arguments = int(counted[1] or counted[2]) if counted else 0
        defined[match[1] or match[2]] = arguments, text[at + 1 : end]
        cleared = cleared[: match.start()] + blanked(text[match.start() : end + 1]) + cleared[end + 1 :]
    return cleared, defined


def blanked(text: str) -> str:
    """A text of spaces in which every line keeps its length, so that positions stay."""
    return re.sub(r"[^\n]", " ", text)


def closing_brace(text: str, at: int) -> int | None:
    """Where the brace at a position is closed; None if it never is."""
    depth = 0
    if text[at : at + 1] not in ("{", "}"):
        return at if at < len(text) else None
    for brace in _BRACE.finditer(text, at):
        spend()
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return None


def _expanded(tokens: Iterable[Token], defined: Macros, text: str, depth: int = 0) -> Iterator[Token]:
    """The tokens with every abbreviation replaced by what it stands for, at the position where it is used."""
    stream = iter(tokens)
    for token in stream:
        name = token.text[1:] if token.kind == "command" else ""
        if name not in defined:
            yield token
            continue
        if depth > _DEEPEST:
            raise UnreadableExpression(f"{token.text} is defined by itself", text, token.start)
        count, meaning = defined[name]
        arguments = [_argument(stream, token, text) for _ in range(count)]
        parts = re.split(r"#(\d)", meaning)  # text, number, text, …
        body: list[Token] = []
        for number, part in enumerate(parts):
            if number % 2 == 0:
                body += [one._replace(start=token.start, end=token.end) for one in _tokens(part, True)]
            elif 1 <= int(part) <= count:
                body += arguments[int(part) - 1]
        yield from _expanded(body, defined, text, depth + 1)


def _argument(stream: Iterator[Token], of: Token, text: str) -> list[Token]:
    """The next argument of an abbreviation: what stands in braces, or one token."""
    made: list[Token] = []
    depth = 0
    for token in stream:
        spend()
        depth += (token.text == "{") - (token.text == "}")
        made.append(token)
        if depth == 0:
            return made[1:-1] if made[0].text == "{" else made
    raise UnreadableExpression(f"{of.text} needs an argument", text, of.start)


def is_latex(text: str) -> bool:
    """Whether a formula is LaTeX: it has a backslash or braces."""
    return "\\" in text or "{" in text


def tokens(text: str) -> list[Token]:
    r"""The tokens of a formula without \begin{aligned} and the like, the last one of kind "end".

    Raises:
        UnreadableExpression: a character that belongs to no formula.
    """
    latex = is_latex(text)
    spend(len(text) // 100)
    cleared, defined = macros(text) if latex else (text, {})
    made = list(islice(_expanded(_tokens(cleared, latex), defined, text), MOST_TOKENS + 1))
    if len(made) > MOST_TOKENS:
        raise TooLarge(f"a formula of more than {MOST_TOKENS} signs and words, its abbreviations written out")
    return [*made, Token("end", "", len(text), len(text))]


def _tokens(text: str, latex: bool) -> Iterator[Token]:
    at = 0
    while at < len(text):
        skipped = _SPACES.match(text, at) or (None if latex else _PLAIN_SPACES.match(text, at))
        if skipped and skipped.end() > at:
            at = skipped.end()
            continue
        for token in _next(text, at, latex):
            spend()
            yield token
            at = token.end


def _next(text: str, at: int, latex: bool) -> Iterator[Token]:
    name = "word" if latex else "name"
    if match := _FIRST[latex].match(text, at):
        kind = match.lastgroup or "op"
        yield Token(name if kind == "root" else kind, _SPELT.get(match[0], match[0]), at, match.end())
        return
    if script := _SCRIPT.match(text, at):
        sign, kind = ("^", "exponent") if script["above"] else ("_", "number")
        yield Token("op", sign, at, at)
        yield Token(kind, unicodedata.normalize("NFKC", script[0]).replace("−", "-"), at, script.end())
    elif text[at].isalpha():
        plain = None if latex else _PLAIN.match(text, at)
        end = plain.end() if plain else _word_end(text, at)
        if not latex and text[at : at + 3] in ("sin", "cos", "tan") and text[at + 3 : at + 4] in GREEK_LETTERS:
            end = at + 3  # cosθ₂
        yield Token(name, text[at:end], at, end)
    else:
        raise UnreadableExpression(f"{text[at]!r} has no meaning in a formula", text, at)


def _in_order(number: re.Pattern[str]) -> re.Pattern[str]:
    """One pattern for signs, commands and numbers, tried in this order."""
    patterns = {"gap": _GAP, "command": _COMMAND, "number": number, "root": _ROOT, "op": _SIGN}
    return re.compile("|".join(f"(?P<{kind}>{one.pattern})" for kind, one in patterns.items()))


_FIRST = {True: _in_order(_NUMBER), False: _in_order(_SCIENTIFIC)}  # by whether the text is LaTeX


def _word_end(text: str, at: int) -> int:
    """Where a run of letters ends; a letter with a dot above, or a Greek one, stands for itself."""
    end = at
    while end < len(text) and text[end].isalpha():
        alone = text[end] in GREEK_LETTERS or len(unicodedata.normalize("NFD", text[end])) > 1
        marked = end + 1 < len(text) and text[end + 1] in _MARKS
        if (alone or marked) and end > at:
            break
        end += 2 if marked else 1
        if alone or marked:
            break
    return end


CLOSING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
