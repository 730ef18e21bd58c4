"""Walking along the tokens of a formula, and its matrices as they are written: environments, lists of rows."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

from palpate.errors import BadShape, UnreadableExpression
from palpate.review.algebra import tree as matrices
from palpate.review.algebra.names import SymbolTable
from palpate.review.algebra.tree import Call, Grid, Node, Num, Prod, Quot, Trig, Value, fresh
from palpate.review.read.lexer import Token

CLOSING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_MPMATH = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs", "Abs": "fabs"}
_TRIGONOMETRIC = ("sin", "cos", "tan")
_PLACEHOLDERS = {"\\vdots", "\\cdots", "\\ddots", "\\ldots", "\\dots", "*", "\\ast", "\\star", "\\cdot", "symm", "sym"}


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
            raise self._fault(f"expected {text!r} to close the {opened.text!r} of column {self._column(opened.start)}")

    def _column(self, at: int) -> int:
        return at - self.text.rfind("\n", 0, at)

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


def assembled(cells: list[list[tuple[Value | str, int]]]) -> Grid:
    """A matrix from its cells; blocks are joined, and what is left to symmetry is filled in."""
    if all(not isinstance(cell, str) for row in cells for cell, _ in row):
        return from_lists([[cell for cell, _ in row if not isinstance(cell, str)] for row in cells])
    size = max(len(row) for row in cells)
    padded = [[cell for cell, _ in row] + [""] * (size - len(row)) for row in cells]
    rows: list[list[Node]] = []
    for i, row in enumerate(padded):
        rows.append([])
        for j, cell in enumerate(row):
            mirror = padded[j][i] if j < len(padded) and i < len(padded[j]) else ""
            entry = mirror if isinstance(cell, str) else cell
            if isinstance(entry, str | Grid):
                raise BadShape(f"entry ({i + 1},{j + 1}) is empty, and so is its mirror image")
            rows[-1].append(fresh(entry) if isinstance(cell, str) else entry)
    return matrices.grid(rows)


def from_lists(rows: list[list[Value]]) -> Grid:
    """A matrix from rows of scalars or of blocks; [[a, b], [c, d]] arrives as one row of rows."""
    nested = len(rows) == 1 and all(isinstance(cell, Grid) and cell.shape[0] == 1 for cell in rows[0])
    if nested:
        rows = [[cell] for cell in rows[0]]
    made: list[list[Node]] = []
    for row in rows:
        blocks = [matrices.as_grid(cell) for cell in row]
        if len({block.shape[0] for block in blocks}) != 1:
            raise BadShape("blocks of different height stand side by side")
        made += [[node for block in blocks for node in block.rows[i]] for i in range(blocks[0].shape[0])]
    return matrices.grid(made)


def number(token: Token) -> Num:
    """A number, exact; decimals are counted."""
    decimals = len(token.text.partition(".")[2]) if "." in token.text and "e" not in token.text.lower() else None
    return Num(Fraction(token.text), decimals, (token.start, token.end))


def joined(a: Value, b: Value) -> Value:
    """a·b, longer products kept flat; a minus in front of the first factor stands before the product."""
    if isinstance(a, Grid) or isinstance(b, Grid):
        return matrices.times(a, b)
    if isinstance(a, Prod) and a.span is None:
        return Prod((*a.factors, b))
    return Prod((a, b))


def function(word: str, argument: Node, span: tuple[int, int]) -> Node:
    """A function of an argument; cotangent, secant and cosecant as quotients."""
    if word in _TRIGONOMETRIC:
        return Trig(word, argument, False, span)
    if word in ("cot", "sec", "csc"):
        sine, cosine = Trig("sin", argument), Trig("cos", fresh(argument))
        one = Num(Fraction(1))
        top, bottom = {"cot": (cosine, sine), "sec": (one, cosine), "csc": (one, sine)}[word]
        return Quot(top, bottom, span)
    return Call(_MPMATH.get(word, word), argument, span)


def cuts(lengths: list[int]) -> list[tuple[int, int]]:
    """Where pieces of these lengths begin and end."""
    ends = list(accumulate(lengths))
    return list(zip([0, *ends], ends))


class MatrixReader(Cursor):
    """Reads matrices; what stands in their cells is read by `expression`."""

    @abstractmethod
    def expression(self) -> Value:
        """The expression that begins here."""

    def _list(self, opened: Token) -> Value:
        """[a, b; c, d], [[a, b], [c, d]], [a \\quad b]; a bracket around one expression only groups."""
        rows: list[list[Value]] = [[]]
        separated = False
        while True:
            rows[-1].append(self.expression())
            if self.token.kind == "gap" or self._is(",", "&"):
                self._take()
                separated = True
            elif self._accept(";"):
                rows.append([])
            else:
                break
            if self._is("]"):
                break
        self._expect("]", opened)
        rows = [row for row in rows if row]
        if not separated and len(rows) == 1 and (self.latex or isinstance(rows[0][0], Grid)):
            return rows[0][0]
        return self._shaped(opened.start, lambda: from_lists(rows))

    def _environment(self) -> Value:
        opened = self._take()
        name = self._environment_name(opened)
        if name == "array" and self._is("{"):
            self.at = self._matching(self.at) + 1
        if not name.endswith("matrix") and name != "array":
            raise self._fault(f"the environment {name!r} cannot stand here", opened.start)
        rows: list[list[tuple[Value | str, int]]] = [[]]
        while not self._is("\\end"):
            rows[-1].append(self._cell(opened))
            if self._accept("\\\\"):
                if self._is("["):
                    self.at = self._matching(self.at) + 1
                rows.append([])
            elif self.token.kind == "end":
                raise self._fault("a matrix is never closed: \\end is missing", opened.start)
            elif not self._accept("&") and not self._is("\\end"):
                raise self._fault(f"{self.token.text!r} does not belong into a matrix entry")
        self._take()
        if self._environment_name(opened) != name:
            raise self._fault(f"\\begin{{{name}}} is closed by another \\end", opened.start)
        return self._shaped(opened.start, lambda: assembled([row for row in rows if row]))

    def _environment_name(self, opened: Token) -> str:
        if not self._accept("{"):
            raise self._fault("\\begin and \\end need the name of an environment in braces", opened.start)
        end = self.at
        while self.tokens[end].text != "}" and self.tokens[end].kind != "end":
            end += 1
        name = "".join(token.text for token in self.tokens[self.at : end])
        if self.tokens[end].kind == "end":
            raise self._fault("the name of an environment needs its closing brace", self.tokens[self.at - 1].start)
        self.at = end + 1
        return name

    def _cell(self, opened: Token) -> tuple[Value | str, int]:
        """An entry; one that stands for its mirror image is given as text."""
        start, follows = self.token.start, self._ahead()
        if self.token.kind == "end":
            raise self._fault("a matrix is never closed: \\end is missing", opened.start)
        if self._is("&", "\\\\", "\\end"):
            return "", start
        raw = re.match(r"\\(?:text|mathrm)\s*\{\s*(symm?)\.?\s*\}", self.text[start:])
        if raw:
            self.at = self._matching(self.at + 1) + 1
            return "symm", start
        if self.token.text in _PLACEHOLDERS and follows.text in ("&", "\\\\", "\\end"):
            return self._take().text, start
        return self.expression(), start
