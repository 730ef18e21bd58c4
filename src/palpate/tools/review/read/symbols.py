"""Names in formulas: letters with subscripts and dots, alone or run together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from palpate.equations.spelling import GREEK_WORDS, Name
from palpate.errors import BadShape, DoesNotFit, UnknownSymbol, UnreadableExpression
from palpate.tools.review.algebra.effort import spend
from palpate.tools.review.algebra.names import SymbolTable, spelled
from palpate.tools.review.algebra.points import polynomial
from palpate.tools.review.algebra.tree import Grid, Node, Sum, Sym, Value
from palpate.tools.review.read.lexer import CLOSING, Token

STYLES = {
    "mathbf", "mathrm", "mathit", "mathsf", "mathcal", "mathbb", "boldsymbol", "bm", "operatorname",
    "text", "textrm", "textit", "textbf", "vec", "underline",
}  # fmt: skip
ACCENTS = {"bar", "hat", "tilde", "overline"}
DOTS = {"dot": 1, "ddot": 2, "dddot": 3}
TRIGONOMETRIC = {"sin", "cos", "tan", "cot", "sec", "csc"}
FUNCTIONS = {
    "exp", "log", "ln", "asin", "acos", "atan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "abs", "Abs",
}  # fmt: skip
CALLED = TRIGONOMETRIC | FUNCTIONS
NAMES = GREEK_WORDS | STYLES | ACCENTS | set(DOTS)  # commands that begin a name


def _spaced(part: Sequence[Token]) -> str:
    """The text of tokens, with a space where there was one."""
    gaps = ["", *(" " if a.end < b.start else "" for a, b in pairwise(part))]
    return "".join(gap + token.text for gap, token in zip(gaps, part))


def without_d(top: list[Token]) -> list[Token] | None:
    """Tokens after the d of a differential: dq_1, d q_1, d^2 q_1, \\mathrm{d} q_1; None where there is no d."""
    if [token.text for token in top[:4]] in (["\\mathrm", "{", "d", "}"], ["\\text", "{", "d", "}"]):
        top = top[4:]
    elif top and top[0].kind == "word" and top[0].text.startswith("d"):
        first = top[0]
        remaining = [] if first.text == "d" else [first._replace(text=first.text[1:], start=first.start + 1)]
        top = [*remaining, *top[1:]]
    else:
        return None
    if top and top[0].text == "^":
        top = top[4:] if top[1].text == "{" else top[2:]
    return top


def cuts(lengths: list[int]) -> list[tuple[int, int]]:
    """Where pieces of these lengths begin and end."""
    ends = list(accumulate(lengths))
    return list(zip([0, *ends], ends))


class SymbolReader:
    """A position in a list of tokens that ends with an "end" token, and the names that begin there.

    Faults carry their position in the text. The rest of the grammar is the parser's.
    """

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
        """Do an operation of matrices; a wrong shape is a fault with its position."""
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
            spend()
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
        spend(len(self.tokens) // 20)
        for text in texts:
            made.append(Token(token.kind, text, at, at + len(text)))
            at += len(text)
        self.tokens = [*self.tokens[: self.at], *made, *self.tokens[self.at + 1 :]]

    # ------------------------------------------------------------------ names

    def _is_name_command(self) -> bool:
        return self.token.kind == "command" and self.token.text[1:] in NAMES

    def _starts_plain_name(self) -> bool:
        """Whether a name without accents, dots or another type begins here."""
        token = self.token
        return token.kind in ("word", "name") or (token.kind == "command" and token.text[1:] in GREEK_WORDS)

    def _split_word(self) -> None:
        """mgl is three symbols, so that the exponent of mL^2 belongs to L alone; pl_{31} may be one."""
        word = self.token
        if word.kind != "word" or len(word.text) == 1:
            return
        mark, name = self.at, self._subscripted(self._letters())
        self.at = mark
        names = self.table.split(name)
        if names is not None and len(names) > 1:
            self._put_instead([word.text[i:j] for i, j in cuts([len(name.base) for name in names])])

    def _constant(self, value: Value) -> Fraction | None:
        """The number that an expression is, or None."""
        try:
            expanded = polynomial(value) if not isinstance(value, Grid) else None
        except DoesNotFit:
            expanded = None
        return expanded.get((), Fraction(0)) if expanded is not None and set(expanded) <= {()} else None

    def _transposed_name(self) -> Grid | None:
        """J' of a matrix is its transpose, as in Matlab."""
        token = self.token
        bare = token.text.rstrip("'")
        value = self.table.find(self.table.named(bare)) if bare != token.text else None
        if not isinstance(value, Grid):
            return None
        self._take()
        return value.transposed() if (len(token.text) - len(bare)) % 2 else value

    def _known_pieces(self, text: str) -> list[str] | None:
        """m2l1 as m2 and l1, mgl as m, g and l, where all are known."""
        runs = re.findall(r"[^\W\d_]+(?:_?\d+)?", text)
        if "".join(runs) != text:
            return None
        pieces: list[str] = []
        for run in runs:
            names = self.table.split(spelled(run))
            if names is None:
                return None
            spans = cuts([len(one.base) for one in names])
            pieces += [run[i:j] for i, j in spans[:-1]] + [run[spans[-1][0] :]]
        return pieces if len(pieces) > 1 else None

    def _matrix_entry(self, token: Token, opened: Token, end: int) -> tuple[int, Value | Name] | None:
        """M[0, 1], M[0][1] and M(1,2): where it ends, and the entry of a matrix that is defined, or its name."""
        inside = "".join(one.text for one in self.tokens[self.at + 2 : end])
        if opened.text == "[" and inside.isdigit() and self.tokens[min(end + 1, len(self.tokens) - 1)].text == "[":
            last = self._matching(end + 1)
            inside += "," + "".join(one.text for one in self.tokens[end + 2 : last])
            end = last
        indices = re.fullmatch(r"(\d{1,2}),(\d{1,2})", inside)
        if indices is None:
            return None
        row, column = (int(one) + (opened.text == "[") for one in indices.groups())
        found = self.table.matrix_entry(self.table.named(token.text), row, column)
        return None if found is None else (end + 1, found)

    def _letters(self) -> Name:
        """A letter, Greek letter, word in roman or bold, or one of these under dots."""
        token = self._take()
        if token.kind == "word":
            return spelled(token.text)
        word = token.text[1:]
        if word in GREEK_WORDS:
            return Name(word)
        inner = self._inner(token)
        return Name(inner.base + (word if word in ACCENTS else ""), inner.sub, inner.dots + DOTS.get(word, 0))

    def _inner(self, of: Token) -> Name:
        """The name under an accent or in another type: {q}, {q_1}, q."""
        braces = self._accept("{")
        if self.token.kind not in ("word", "name") and not self._is_name_command():
            raise self._fault(f"{of.text} needs a name", self.token.start)
        if not braces:
            return self._letters()
        name = self._subscripted(self._letters())
        if not self._accept("}"):
            raise self._fault(f"{of.text} of more than one name", of.start, "write each name by itself")
        return name

    def _subscripted(self, name: Name) -> Name:
        """A name with the subscript that follows it, if one does."""
        self._split_subscript(name)
        return name._replace(sub=self._subscript() or name.sub)

    def _split_subscript(self, name: Name) -> None:
        """m_pl is m_p times l, as TeX sets it, where m_p is known and m_{pl} is not."""
        after = self._ahead()
        if not self._is("_") or after.kind != "word" or len(after.text) < 2:
            return
        first = after.text[0]
        if self.table.find(name._replace(sub=after.text)) is None and self.table.find(name._replace(sub=first)):
            self.at += 1
            self._put_instead([first, after.text[1:]])
            self.at -= 1

    def _after_exponent(self) -> int:
        """The token after ^… that stands here."""
        opens = self._ahead().text in ("{", "(")
        return min((self._matching(self.at + 1) if opens else self.at + 1) + 1, len(self.tokens) - 1)

    def _is_prime(self) -> bool:
        raw = "".join(token.text for token in self.tokens[self.at + 1 : self._after_exponent()])
        return raw.strip("{}") in ("\\prime", "'")

    def _subscript(self) -> str:
        if not self._accept("_"):
            return ""
        if self.token.kind == "end":
            raise self._fault("a subscript is missing")
        if self._is("{"):
            end = self._matching(self.at)
            raw = _spaced(self.tokens[self.at + 1 : end])
            self.at = end + 1
        else:
            raw = self._take().text
        raw = re.sub(r"(?<=\w)\s+(?=\w)", ",", raw)  # I_{1 22} has two indices
        raw = re.sub(r"\\(math\w+|text\w*|operatorname|boldsymbol|bm)\b|[{}\s]|\\[,;! ]", "", raw).replace(
            "\\cdot", "*"
        )
        parts = [part for part in re.split(r"[_,]", raw.replace("\\", "")) if part]
        return ",".join(parts)

    def _unknown(self, name: Name, at: int) -> UnknownSymbol:
        near, equal = self.table.suggestions(name), [self.table.known[one] for one in self.table.numbered(name)]
        guess = f"did you mean {' or '.join(near)}? " if near else ""
        if len(equal) > 1:
            guess = f"is it {' = '.join(equal)}? Then add --equal {name}={','.join(equal)}; otherwise "
        error = UnknownSymbol(
            f"unknown symbol {name}", self.text, at, hint=f"{guess}say what it stands for: symbols={{{str(name)!r}: …}}"
        )
        error.symbol = str(name)
        return error

    def _group(self, at: int) -> tuple[list[Token], int] | None:
        """The tokens of the {…} that begins at `at`, and where it ends."""
        if at >= len(self.tokens) or self.tokens[at].text != "{":
            return None
        end = self._closing(at)
        return None if end is None else (list(self.tokens[at + 1 : end]), end)

    def _dotted(self, value: Value, dots: int, span: tuple[int, int], *refusal: Any) -> Value:
        """The rate of a symbol, of a sum of symbols, or of a column of them; a fault for anything else."""

        def dotted(node: Node) -> Node:
            if isinstance(node, Sum):
                return Sum(tuple(map(dotted, node.terms)), span)
            if dots and isinstance(node, Sym) and node.name._replace(dots=0) in self.table.coordinates:
                return Sym(node.name._replace(dots=node.name.dots + dots), span)
            raise self._fault(*refusal)

        return value.each(dotted) if isinstance(value, Grid) else dotted(value)
