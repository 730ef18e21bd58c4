"""A file of formulas: one quantity after another, and the names they are written in.

% comments
sigma_1 = a_3 s_{23} + a_2 s_2          a definition: its name is no quantity
J = \\begin{bmatrix} … \\end{bmatrix}     a quantity: M, C, c, g, J, h, FK, T, V, tau
C_{31} = …                              one entry of a quantity; a definition if another formula uses the name,
                                        as is h, B, c, p, x and any other less common name of a quantity
equation: M \\ddot{q} + … = \\tau         any equation of motion
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from palpate.errors import UnreadableExpression
from palpate.tools.review.algebra.effort import MOST_FORMULAS, check_count
from palpate.tools.review.algebra.names import spelled
from palpate.tools.review.algebra.tree import Name
from palpate.tools.review.algebra.wanted import label_quantity
from palpate.tools.review.read.labels import bare, label_meaning, label_name
from palpate.tools.review.read.lexer import FRAME, MACRO, Token, blanked, closing_brace, macros, tokens
from palpate.tools.review.read.printed_pages import is_palpate_page, without_decoration
from palpate.tools.review.read.reading import split

_KEYWORD = re.compile(r"\s*(\w+)\s*:(?!=)")
_PLAIN = ("M", "C", "g", "J", "T", "V", "FK", "tau", "τ", "equation")  # always quantities
_MARKS = re.compile(r"\\begin\b|\\end\b|\\\\|\\[{}]|[()\[\]{}]|\n|,|;")
_OPENING, _CLOSING = ("(", "[", "{", "\\begin"), (")", "]", "}", "\\end")
_BLANKED = re.compile(
    rf"{FRAME}|\\(?:maketitle|noindent|par|newpage|clearpage)\b"
    r"|\\(?:documentclass|usepackage)(?:\[[^\]]*\])?\{[^{}]*\}"
)
_HEADING = re.compile(
    r"\\(?:section|subsection|subsubsection|paragraph|chapter|title|author|date|textbf|emph|caption)\*?\{"
)
_COMMENT = re.compile(r"(?<!\\)%.*|^\s*#.*|(?<=\s)#\s.*", re.MULTILINE)
_NUMBER_ALONE = re.compile(r"^[ \t$]*\(\d+\w?\)[ \t.$]*$|(?<=\$\$)[ \t]*\(\d+\w?\)[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"(?<![\\\w])[A-Za-z]{3,}(?![\w(\[])")
_FORMULA_WORDS = {
    "sin", "cos", "tan", "sqrt", "array", "Matrix", "alpha", "beta", "gamma", "delta", "theta", "phi", "psi", "tau",
    "omega", "rho",
}  # fmt: skip
_SCAFFOLD = re.compile(
    r"\s*(?:(?:import|def|return|class|if|for|print|function|end|clear|close|clc|syms?|from\s+\S+\s+import)\b|@|[\"']"
    r"|[A-Z_]{4,}\s*=|\w+\s*=\s*(?:\w+\.)?(?:empty|zeros|symbols|asarray|broadcast_shapes)\(|[\w ,]+,[\w ,]*=)"
)
_PROGRAM = re.compile(r"^\s*(?:import\s|from\s+\S+\s+import\s|def\s+\w+\(|function\b|syms\s)", re.MULTILINE)


@dataclass(frozen=True)
class GivenFormula:
    """A formula of a file.

    Attributes:
        label: the name on the left, as written.
        name: the same as a symbol.
        what: the quantity it is, or None for a definition.
        entry: (row, column) from 0 if it is one entry of the quantity.
        text: the whole formula, after as many empty lines as stand before it, so that positions are the file's.
        line: where it begins, from 1.
    """

    label: str
    name: Name
    what: str | None
    entry: tuple[int, int] | None
    text: str
    line: int


def formulas(text: str) -> list[GivenFormula]:
    """The formulas of a file.

    Raises:
        UnreadableExpression: a formula without a name.
    """
    clean = without_other_text(text)
    body = macros(clean)[0]
    found = chunks(body)
    check_count(len(found), MOST_FORMULAS, "formulas")
    parsed = [_formula(body, clean, start, end) for start, end in found]
    if not parsed:
        raise UnreadableExpression("the file holds no formula", text, 0, hint="write for example  g = m1*g*l1*cos(q1)")
    mentioned = [{spelled(word) for word in _words(tokens(one.text))} for one in parsed]
    return [_used_elsewhere(one, number, mentioned) for number, one in enumerate(parsed)]


def chunks(text: str) -> list[tuple[int, int]]:
    """Where formulas begin and end: at a name and an equals sign after a line, a comma or \\\\, all brackets closed."""
    cuts = list(_cuts(text))
    starts: list[int] = []
    for at, after in pairwise([*cuts, len(text)]):
        segment = text[at:after]
        if segment.strip() and (_begins(segment, text[at - 1 : at]) or not starts):
            starts.append(at)
    return list(pairwise([*starts, len(text)]))


def _cuts(text: str) -> Iterator[int]:
    """Positions at which a formula may begin, outside all brackets."""
    depth = 0
    yield 0
    for match in _MARKS.finditer(text):
        mark = match[0]
        if mark in _OPENING:
            depth += 1
        elif mark in _CLOSING:
            depth = max(0, depth - 1)
        elif depth == 0:
            yield match.end()


def _begins(segment: str, before: str) -> bool:
    """Whether a formula begins here; after a comma only with a plain name and an equals sign."""
    if before not in (",", ";") and _KEYWORD.match(segment):
        return True
    left, equals, _ = segment.partition("=")
    left = bare(left)
    if not equals or not re.match(r"[\\\w{]", left) or left.startswith(("\\begin", "\\end")):
        return False
    return before not in (",", ";") or bool(re.fullmatch(r"[\\\w{}^.\[\]() ]{1,60}", left))


def _formula(text: str, whole: str, start: int, end: int) -> GivenFormula:
    body = text[start:end].rstrip().rstrip(",;")
    begins = start + len(body) - len(body.lstrip())
    line = text[:begins].count("\n") + 1
    above = _definitions_kept(whole[:start])
    keyword = _KEYWORD.match(body)
    if keyword:
        blank = " " * len(keyword[0])
        what = label_quantity(spelled(keyword[1])) or keyword[1]
        return GivenFormula(keyword[1], spelled(keyword[1]), what, None, above + blank + body[len(keyword[0]) :], line)
    sides = split(tokens(body)[:-1], {"="})
    if len(sides) == 1:
        raise UnreadableExpression("a formula without a name and an equals sign", text, start, hint="write M = …")
    left = body[: sides[0][-1].end] if sides[0] else ""
    name = label_name(left)
    what, entry = label_meaning(name)
    return GivenFormula(bare(left), name, what, entry, above + body, line)


def _definitions_kept(text: str) -> str:
    """The text before a formula, blanked so that positions stay; abbreviations of LaTeX are kept."""
    blank = blanked(text)
    for match in MACRO.finditer(text):
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        blank = blank[: match.start()] + text[match.start() : end] + blank[end:]
    return blank


def _used_elsewhere(one: GivenFormula, number: int, mentioned: list[set[Name]]) -> GivenFormula:
    """An entry, or a quantity with a common name such as h, is a definition if another formula uses its name."""
    if one.what is None or (one.entry is None and str(one.name) in _PLAIN):
        return one
    if any(one.name in names for other, names in enumerate(mentioned) if other != number):
        return replace(one, what=None, entry=None)
    return one


def _words(token_list: list[Token]) -> Iterator[str]:
    """Every name of a text, with its subscript."""
    for at, token in enumerate(token_list):
        if token.kind not in ("word", "name", "command"):
            continue
        if token_list[at + 1].text != "_" or at + 2 >= len(token_list):
            yield token.text
            continue
        end = at + 3
        while token_list[at + 2].text == "{" and end < len(token_list) - 1 and token_list[end].text != "}":
            end += 1
        yield token.text + "".join(one.text for one in token_list[at + 1 : end])


def without_other_text(text: str) -> str:
    """The text with everything that is no formula replaced by blanks; every character keeps its position.

    Understood are LaTeX documents, Markdown with $$ … $$, Python and Matlab programs, and the pages palpate prints.
    """
    if is_palpate_page(text):
        text = without_decoration(text)
    elif _PROGRAM.search(text):
        text = without_scaffold(text)
    return without_prose(text)


def without_prose(text: str) -> str:
    """A text with comments, headings, equation numbers and lines of words replaced by blanks."""
    text = _COMMENT.sub(_blank, text)
    text = _without_headings(text)
    text = _NUMBER_ALONE.sub(_blank, _BLANKED.sub(_blank, text))
    text = "".join(blanked(line) if _is_prose(line) else line for line in _outside_displays(text))
    return re.sub(r"(?<!\\)\\[\[\]()]|(?<!\\)\$", _blank, text)


def _blank(match: re.Match[str]) -> str:
    return blanked(match[0])


def _without_headings(text: str) -> str:
    """Without \\section{…} and the like, braces inside counted."""
    at = 0
    while match := _HEADING.search(text, at):
        closed = closing_brace(text, match.end() - 1)
        at = len(text) if closed is None else closed + 1
        text = text[: match.start()] + blanked(text[match.start() : at]) + text[at:]
    return text


def _outside_displays(text: str) -> list[str]:
    """The text in pieces: displayed formulas whole, the rest line by line."""
    pieces: list[str] = []
    at = 0
    for match in re.finditer(r"\$\$.*?\$\$|\\\[.*?\\\]", text, re.DOTALL):
        pieces += text[at : match.start()].splitlines(keepends=True)
        pieces.append(match[0])
        at = match.end()
    return [*pieces, *text[at:].splitlines(keepends=True)]


def _is_prose(piece: str) -> bool:
    """Whether a line is words: three of them at least, formulas between dollars left out."""
    if piece.startswith(("$$", "\\[")):
        return False
    words = [word for word in _WORD.findall(re.sub(r"\$[^$]*\$", " ", piece)) if word not in _FORMULA_WORDS]
    return len(words) >= 3


def without_scaffold(text: str) -> str:
    """A program without imports, signatures, docstrings, allocations and returns; its assignments stay."""
    text = re.sub(r"^[A-Z_]{4,}\s*=\s*\{[^}]*\}", _blank, text, flags=re.MULTILINE)
    text = re.sub(r"\"\"\".*?\"\"\"|'''.*?'''", _blank, text, flags=re.DOTALL)
    lines = text.splitlines(keepends=True)
    return "".join(blanked(line) if _SCAFFOLD.match(line) else line for line in lines)
