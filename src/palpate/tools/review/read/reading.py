"""A text of formulas read: labels, chains of equal signs, aligned lines, equation numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from palpate.errors import UnreadableExpression
from palpate.tools.review.algebra.effort import MOST_EQUAL, check_count, spend
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.tree import Name, Value, plus
from palpate.tools.review.read.labels import label_name
from palpate.tools.review.read.lexer import Token, is_latex, tokens
from palpate.tools.review.read.parser import Parser

_EQUALS = {"=", "\\equiv", "\\triangleq", "\\doteq"}
_OPENING, _CLOSING = ("(", "[", "{", "\\{"), (")", "]", "}", "\\}")


Sides = tuple[tuple[Token, ...], ...]  # label = claim = claim …; a bare expression is one claim without a label


@dataclass(frozen=True)
class SymbolText:
    """A text with the symbols it may use."""

    text: str
    table: SymbolTable

    def statements(self) -> list[Sides]:
        """The statements of the text, each as the tokens between its equal signs."""
        statements = []
        for line in _lines(tokens(self.text)[:-1]):
            parts = [tuple(_trimmed(part)) for part in split(line, _EQUALS)]
            if any(parts):
                statements.append(tuple(parts))
        if not statements:
            raise UnreadableExpression("nothing to read", self.text, 0)
        return statements

    def read(self, part: tuple[Token, ...]) -> Value:
        """The expression that tokens of this text make up."""
        end = part[-1].end if part else len(self.text)
        return Parser([*part, Token("end", "", end, end)], self.text, self.table, is_latex(self.text)).whole()

    def labelled(self) -> list[tuple[Name | None, Value]]:
        """Every right side in order, with the name on its left; None where there is no equals sign."""
        parts = [(sides, part) for sides in self.statements() for part in (sides[1:] or sides)]
        check_count(len(parts), MOST_EQUAL, "expressions that are said to be equal")
        return [(self._label(sides), self.read(part)) for sides, part in parts]

    def _label(self, sides: Sides) -> Name | None:
        left = sides[0]
        return label_name(self.text[left[0].start : left[-1].end]) if len(sides) > 1 and left else None

    def claims(self) -> list[Value]:
        """Every right side of the text, in order."""
        return [value for _, value in self.labelled()]

    def equations(self) -> list[Value]:
        """left − right of every equation of the text."""
        made = []
        statements = self.statements()
        check_count(len(statements), MOST_EQUAL, "equations")
        for sides in statements:
            left, right = self.read(sides[0]), self.read(sides[-1])
            made.append(left if len(sides) == 1 else plus(left, right, minus=True))  # alone: … = 0
        return made


def _depths(line: list[Token]) -> list[int]:
    """How many brackets and environments are open before each token."""
    depth, depths = 0, []
    for token in line:
        bracket = token.kind in ("op", "command")
        if bracket and (token.text in _CLOSING or token.text == "\\end"):
            depth -= 1
        depths.append(depth)
        if bracket and (token.text in _OPENING or token.text == "\\begin"):
            depth += 1
    return depths


def split(line: list[Token], separators: set[str]) -> list[list[Token]]:
    """The tokens between separators that stand outside all brackets, without the marks of alignment there."""
    parts: list[list[Token]] = [[]]
    for token, depth in zip(line, _depths(line)):
        if depth <= 0 and token.kind in ("op", "command") and token.text in separators:
            parts.append([])
        elif not (depth <= 0 and token.text == "&"):
            parts[-1].append(token)
    return parts


def _lines(token_list: list[Token]) -> list[list[Token]]:
    """Lines that are statements of their own; one that only goes on is joined to the one before."""
    lines: list[list[Token]] = []
    for line in split(token_list, {"\\\\"}):
        sides = split(line, _EQUALS)
        begins = len(sides) > 1 and sides[0] and sides[0][0].text not in ("+", "-", "*", "\\cdot")
        if begins or not lines:
            lines.append(list(line))
        else:
            lines[-1] += line
    return lines


def _trimmed(part: list[Token]) -> list[Token]:
    """Without a closing comma or full stop, and without an equation's number after a wide space."""
    last = next((at for at in reversed(range(len(part))) if part[at].kind != "gap"), -1)
    part = part[: last + 1]
    texts = [token.text for token in part]
    for at, token in enumerate(part):
        if token.kind == "gap":
            spend(len(part) // 10)
        if token.kind == "gap" and re.fullmatch(r"\(\d+\w?\)[.,]?", "".join(texts[at + 1 :])):
            part = part[:at]
            break
    part = [token for token, depth in zip(part, _depths(part)) if token.kind != "gap" or depth > 0]
    while part and part[-1].text in (",", ".", ";"):
        part = part[:-1]
    return part
