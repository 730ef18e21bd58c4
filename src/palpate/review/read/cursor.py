"""Walking along the tokens of a formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palpate.errors import BadShape, UnreadableExpression
from palpate.review.algebra.grid import Value
from palpate.review.algebra.names import SymbolTable
from palpate.review.read.lexer import Token

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

    def _put_instead(self, texts: list[str]) -> None:
        """Replace the current token by several, which together are the same text."""
        token, at, made = self.token, self.token.start, []
        for text in texts:
            made.append(Token(token.kind, text, at, at + len(text)))
            at += len(text)
        self.tokens = [*self.tokens[: self.at], *made, *self.tokens[self.at + 1 :]]
