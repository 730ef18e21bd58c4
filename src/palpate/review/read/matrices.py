"""Matrices as they are written: LaTeX environments, lists of rows, what is left to symmetry."""

from __future__ import annotations

import re
from abc import abstractmethod

from palpate.review.algebra.grid import Grid, Value
from palpate.review.read.assembly import assembled, from_lists
from palpate.review.read.cursor import Cursor
from palpate.review.read.macros import Token

_PLACEHOLDERS = {"\\vdots", "\\cdots", "\\ddots", "\\ldots", "\\dots", "*", "\\ast", "\\star", "\\cdot", "symm", "sym"}


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
            if self._accept(",", "&") or self._accept_gap():
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
            only = rows[0][0]
            return only
        return self._shaped(opened.start, lambda: from_lists(rows))

    def _accept_gap(self) -> bool:
        is_gap = self.token.kind == "gap"
        self.at += is_gap
        return is_gap

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
