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
from palpate.review.algebra.names import spelled
from palpate.review.algebra.quantities import label_quantity
from palpate.review.algebra.tree import Name
from palpate.review.read.lexer import is_latex, tokens
from palpate.review.read.macros import MACRO, Token, macros
from palpate.review.read.source import prepared

_ENTRY = re.compile(  # M[0, 1], M[0][1], M[..., 0, 1] as in Python; M(1,2) as in Matlab
    r"(?P<name>[A-Za-z]\w*)\s*(?P<open>[\[(])\s*(?:\.\.\.\s*,\s*)?(?P<i>\d)\s*(?:(?:,|\]\s*\[)\s*(?P<j>\d)\s*)?[\])]"
)
_KEYWORD = re.compile(r"\s*(\w+)\s*:(?!=)")
_PLAIN = ("M", "C", "g", "J", "T", "V", "FK", "tau", "τ", "equation")  # always quantities
_MARKS = re.compile(r"\\begin\b|\\end\b|\\\\|\\[{}]|[()\[\]{}]|\n|,|;")
_OPENING, _CLOSING = ("(", "[", "{", "\\begin"), (")", "]", "}", "\\end")


@dataclass(frozen=True)
class Formula:
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


def formulas(text: str) -> list[Formula]:
    """The formulas of a file.

    Raises:
        UnreadableExpression: a formula without a name.
    """
    clean = prepared(text)
    body = macros(clean)[0]
    parsed = [_formula(body, clean, start, end) for start, end in _chunks(body)]
    if not parsed:
        raise UnreadableExpression("the file holds no formula", text, 0, hint="write for example  g = m1*g*l1*cos(q1)")
    mentioned = [{spelled(word) for word in _words(tokens(one.text))} for one in parsed]
    return [_used_elsewhere(one, number, mentioned) for number, one in enumerate(parsed)]


def _chunks(text: str) -> list[tuple[int, int]]:
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
        elif depth == 0 and not mark.startswith("\\newline"):
            yield match.end()


def _begins(segment: str, before: str) -> bool:
    """Whether a formula begins here; after a comma only with a plain name and an equals sign."""
    if before not in (",", ";") and _KEYWORD.match(segment):
        return True
    left, equals, _ = segment.partition("=")
    left = _bare(left)
    if not equals or not re.match(r"[\\\w{]", left) or left.startswith(("\\begin", "\\end")):
        return False
    return before not in (",", ";") or bool(re.fullmatch(r"[\\\w{}^.\[\]() ]{1,60}", left))


def _formula(text: str, whole: str, start: int, end: int) -> Formula:
    body = text[start:end].rstrip().rstrip(",;")
    begins = start + len(body) - len(body.lstrip())
    line = text[:begins].count("\n") + 1
    above = _definitions_kept(whole[:start])
    keyword = _KEYWORD.match(body)
    if keyword:
        blank = " " * len(keyword[0])
        what = label_quantity(spelled(keyword[1])) or keyword[1]
        return Formula(keyword[1], spelled(keyword[1]), what, None, above + blank + body[len(keyword[0]) :], line)
    left = _left_side(body)
    if left is None:
        raise UnreadableExpression("a formula without a name and an equals sign", text, start, hint="write M = …")
    name = _name(left)
    what, entry = _meaning(name)
    return Formula(_bare(left), name, what, entry, above + body, line)


def _definitions_kept(text: str) -> str:
    """What stands before a formula, blanked so that positions stay; abbreviations of LaTeX are kept."""
    blank = re.sub(r"[^\n]", " ", text)
    for match in MACRO.finditer(text):
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        blank = blank[: match.start()] + text[match.start() : end] + blank[end:]
    return blank


def _left_side(body: str) -> str | None:
    depth = 0
    for token in tokens(body):
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0 and token.text == "=":
            return body[: token.start]
    return None


def _bare(left: str) -> str:
    """A left side without the signs of alignment and wide spaces around it."""
    return re.sub(r"\\q?quad\b|\\[ ,;]|[&$]", " ", left).strip()


def _name(left: str) -> Name:
    r"""The name on a left side: M(q), \mathbf{M}(\mathbf{q}), \dot{J}, C_{31}, without its arguments."""
    text = _bare(left)
    if entry := _ENTRY.fullmatch(text):
        first = int(entry["i"]) + (entry["open"] == "[")
        second = entry["j"]
        return spelled(f"{entry['name']}_{first}" + (str(int(second) + (entry["open"] == "[")) if second else ""))
    if entry := re.fullmatch(r"(\w+)\[(\d\d)\]", text):
        return spelled(f"{entry[1]}_{entry[2]}")
    if is_latex(text):
        text = re.sub(r"\\(mathbf|mathrm|boldsymbol|bm|operatorname|mathcal|text|rm)\b", "", text)
    text = re.sub(r"\((?:[^()]|\([^()]*\))*\)\s*$", "", text)
    return spelled(text)


def _meaning(name: Name) -> tuple[str | None, tuple[int, int] | None]:
    what = label_quantity(name)
    if what is not None:
        return what, None
    indices = name.sub.replace(",", "")
    matrix = label_quantity(Name(name.base.upper() if name.base == "b" else name.base, "", name.dots))
    if matrix in ("M", "C", "J", "Jdot") and len(indices) == 2 and indices.isdigit():
        return matrix, (int(indices[0]) - 1, int(indices[1]) - 1)
    if matrix in ("g", "c", "tau", "h") and len(indices) == 1 and indices.isdigit() and name.base != "c":
        return matrix, (int(indices) - 1, 0)
    return None, None


def _used_elsewhere(one: Formula, number: int, mentioned: list[set[Name]]) -> Formula:
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
