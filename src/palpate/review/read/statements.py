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
from dataclasses import dataclass
from itertools import pairwise

from palpate.errors import UnreadableExpression
from palpate.review.algebra.names import spelled
from palpate.review.algebra.tree import Name
from palpate.review.compare.quantities import label_quantity
from palpate.review.read.lexer import Token, is_latex, tokens

_KEYWORD = re.compile(r"\s*(\w+)\s*:(?!=)")
_PLAIN = ("M", "C", "g", "J", "T", "V", "FK", "tau", "τ", "equation")  # always quantities
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
    clean = "\n".join(_without_comment(line) for line in text.splitlines())
    found = [_formula(clean, start, end) for start, end in _chunks(clean)]
    if not found:
        raise UnreadableExpression("the file holds no formula", text, 0, hint="write for example  g = m1*g*l1*cos(q1)")
    return [_used_elsewhere(one, found) for one in found]


def _without_comment(line: str) -> str:
    cut = re.search(r"(?<!\\)%|^\s*#", line)
    return line[: cut.start()] if cut else line


def _chunks(text: str) -> list[tuple[int, int]]:
    """Where formulas begin and end: at a line with a name and an equals sign, all brackets closed before it."""
    starts, depth, at = [], 0, 0
    for line in text.splitlines(keepends=True):
        if depth == 0 and line.strip() and (_begins(line) or not starts):
            starts.append(at)
        depth = max(0, depth + _depth(line))
        at += len(line)
    return list(pairwise([*starts, len(text)]))


def _begins(line: str) -> bool:
    if _KEYWORD.match(line):
        return True
    left, equals, _ = line.partition("=")
    return bool(equals) and bool(re.match(r"\s*[$\\\w{&]", left)) and not re.match(r"\s*(\\begin|\\end|&|\\\\)", left)


def _depth(line: str) -> int:
    opened = len(re.findall(r"\\begin\b", line)) + sum(line.count(one) for one in "([{")
    return opened - len(re.findall(r"\\end\b", line)) - sum(line.count(one) for one in ")]}")


def _formula(text: str, start: int, end: int) -> Formula:
    body = text[start:end].rstrip()
    line = text[:start].count("\n") + 1
    above = "\n" * (line - 1)
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
    return Formula(left.replace("$", "").strip(), name, what, entry, above + body, line)


def _left_side(body: str) -> str | None:
    depth = 0
    for token in tokens(body):
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0 and token.text == "=":
            return body[: token.start]
    return None


def _name(left: str) -> Name:
    r"""The name on a left side: M(q), \mathbf{M}(\mathbf{q}), \dot{J}, C_{31}, without its arguments."""
    text = left.replace("$", "").replace("&", "").replace("\\begin{aligned}", "").strip()
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


def _used_elsewhere(one: Formula, found: list[Formula]) -> Formula:
    """An entry, or a quantity with a common name such as h, is a definition if another formula uses its name."""
    if one.what is None or (one.entry is None and str(one.name) in _PLAIN):
        return one
    for other in found:
        if other is not one and _mentions(other.text, one.name):
            return Formula(one.label, one.name, None, None, one.text, one.line)
    return one


def _mentions(text: str, name: Name) -> bool:
    return any(spelled(word) == name for word in _words(tokens(text)))


def _words(found: list[Token]) -> Iterator[str]:
    """Every name of a text, with its subscript."""
    for at, token in enumerate(found):
        if token.kind not in ("word", "name", "command"):
            continue
        if found[at + 1].text != "_":
            yield token.text
            continue
        end = at + 3
        while found[at + 2].text == "{" and end < len(found) - 1 and found[end].text != "}":
            end += 1
        yield token.text + "".join(one.text for one in found[at + 1 : end])
