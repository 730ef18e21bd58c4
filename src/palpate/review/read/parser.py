"""A formula read into a tree: LaTeX as printed, or plain text as in a program.

    expression := [+|−] term ((+|−) term)*        term := factor ([·|/] factor)*        factor := primary (^ exponent)*

Juxtaposition multiplies; products and quotients are read from left to right, so 1/2 m v is (1/2) m v.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from fractions import Fraction

from palpate.errors import BadShape
from palpate.review.algebra import tree as matrices
from palpate.review.algebra.tree import Grid, Node, Num, Power, Prod, Quot, Sum, Sym, Trig, Value, add, fresh, multiply
from palpate.review.read.lexer import CLOSING, Token
from palpate.review.read.symbols import CALLED, DEEPEST, FRACTIONS, NAMES, TIMES, TRANSPOSED, WRAPPERS, SymbolReader

_MPMATH = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs", "Abs": "fabs"}
_TRIGONOMETRIC = ("sin", "cos", "tan")
_PLACEHOLDERS = {"\\vdots", "\\cdots", "\\ddots", "\\ldots", "\\dots", "*", "\\ast", "\\star", "\\cdot", "symm", "sym"}


def _total(terms: list[Node]) -> Node:
    """A sum; one without brackets at its beginning goes on."""
    first = list(terms[0].terms) if isinstance(terms[0], Sum) and terms[0].span is None else terms[:1]
    return add([*first, *terms[1:]])


def assembled(cells: list[list[Value | str]]) -> Grid:
    """A matrix from its cells; blocks are joined, and what is left to symmetry (a text) is filled in."""
    written = [[cell for cell in row if not isinstance(cell, str)] for row in cells]
    if sum(map(len, written)) == sum(map(len, cells)):
        return from_lists(written)
    size = max(len(row) for row in cells)
    padded = [row + [""] * (size - len(row)) for row in cells]
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
    return matrices.Call(_MPMATH.get(word, word), argument, span)


class Parser(SymbolReader):
    """Reads one expression from a list of tokens that ends with an "end" token."""

    # ------------------------------------------------------------------ expressions

    def whole(self) -> Value:
        """The one expression that all tokens make up."""
        if self.token.kind == "end":
            raise self._fault("an expression is missing")
        value = self.expression()
        if self.token.kind != "end":
            raise self._fault(f"{self.token.text!r} does not belong here")
        return value

    def expression(self) -> Value:
        """A sum, and what stands over what in TeX's a \\over b."""
        self.depth += 1
        self._refuse_many(self.depth, "brackets within brackets", self.token)
        value = self._sum()
        while self._is("\\over"):
            operator, top = self._take(), value
            bottom = self._sum()
            value = self._shaped(operator.start, lambda a=top, b=bottom: matrices.over(a, b))
        self.depth -= 1
        return value

    def _sum(self) -> Value:
        start = self.token.start
        value = self._signed_term()
        terms = [] if isinstance(value, Grid) else [value]
        while self._is("+", "-"):
            operator = self._take()
            term = self._signed_term()
            minus = operator.text == "-"
            if terms and not isinstance(term, Grid):  # a long sum is put together at once
                terms.append(matrices.opposite(term) if minus else term)
                continue
            left = _total(terms) if terms else value
            value, terms = self._shaped(operator.start, lambda a=left, b=term, m=minus: matrices.plus(a, b, m)), []
        if not terms:
            return value
        value = _total(terms)
        return self._spanned(start, value) if isinstance(value, Sum) and value.span is None else value

    def _signed_term(self) -> Value:
        minus = False
        while self._is("+", "-"):
            minus ^= self._take().text == "-"
        term = self._term()
        return matrices.negative(term) if minus else term

    def _term(self) -> Value:
        start = self.token.start
        value = self._factor()
        divisions = 0
        while True:
            operator = self.token
            if self._accept("/"):
                below, divisions = self._signed_factor(), divisions + 1
                self._refuse_many(divisions, "divisions", operator)
                value = self._shaped(operator.start, lambda a=value, b=below: matrices.over(a, b))
            elif self._accept("*", *(f"\\{name}" for name in TIMES)) or self._starts_factor():
                right = self._signed_factor()
                value = self._shaped(operator.start, lambda a=value, b=right: joined(a, b))
            else:
                break
        return self._spanned(start, value) if isinstance(value, Prod | Quot) and value.span is None else value

    def _refuse_many(self, count: int, what: str, token: Token) -> None:
        if count > DEEPEST:
            raise self._fault(
                f"more than {DEEPEST} {what}", token.start, "give parts of the formula a name of their own"
            )

    def _signed_factor(self) -> Value:
        if self._accept("-"):
            return matrices.negative(self._factor())
        return self._factor()

    def _starts_factor(self) -> bool:
        token = self.token
        if token.kind == "gap":
            return False
        if token.kind in ("number", "word", "name"):
            return True
        if token.kind == "command":
            word = token.text[1:]
            return word in NAMES | CALLED | FRACTIONS | WRAPPERS or word in ("sqrt", "begin", "{")
        return token.text in ("(", "[", "{")

    def _factor(self) -> Value:
        start, powers = self.token.start, 0
        value = self._primary()
        while True:
            if self._is("{") and self._ahead().text == "}":
                self.at += 2
            elif self._is("^"):
                operator, powers = self._take(), powers + 1
                self._refuse_many(powers, "powers of powers", operator)
                value = self._raised(value, operator.start, start)
                self._skip_arguments(value)
            elif self._is("'") and isinstance(value, Grid):  # Matlab's transpose
                self._take()
                value = value.transposed()
            else:
                return value

    def _raised(self, value: Value, at: int, start: int) -> Value:
        token = self.token
        raw, exponent = self._exponent()
        if exponent is None:
            if raw in TRANSPOSED:
                return value.transposed() if isinstance(value, Grid) else value
            if raw in ("-T", "-\\top"):
                inverse = self._shaped(at, lambda: matrices.raised(value, Fraction(-1)))
                return inverse.transposed() if isinstance(inverse, Grid) else inverse
            raise self._fault(f"the exponent {raw!r} is not a number", token.start, "exponents are numbers, T or -1")
        return self._spanned(start, self._shaped(at, lambda: matrices.raised(value, exponent)))

    def _exponent(self) -> tuple[str, Fraction | None]:
        """What stands above: its text, and the number it is."""
        token = self._take()
        if token.kind == "end":
            raise self._fault("an exponent is missing")
        if token.kind == "exponent":
            return token.text, Fraction(token.text)
        if token.kind == "number" and self.latex and len(token.text) > 1 and token.text.isdigit():
            self.at -= 1  # x^23 is printed as x² 3
            digit = self._first_digit().text
            return digit, Fraction(digit)
        if token.text in ("{", "("):
            return self._grouped_exponent(token)
        if token.text == "-" and self.token.kind == "number":
            number = self._take()
            return f"-{number.text}", -Fraction(number.text)
        return token.text, Fraction(token.text) if token.kind == "number" else None

    def _grouped_exponent(self, opened: Token) -> tuple[str, Fraction | None]:
        end = self._matching(self.at - 1)
        raw = "".join(token.text for token in self.tokens[self.at : end])
        inner = [*self.tokens[self.at : end], Token("end", "", self.tokens[end].start, self.tokens[end].start)]
        plain = raw.replace("\\mathrm{T}", "T").replace("\\mathsf{T}", "T")
        if plain in TRANSPOSED | {"-T", "-\\top"}:
            self.at = end + 1
            return plain, None
        value = self._inside(inner).whole()
        self.at = end + 1
        return raw, self._constant(value)

    def _inside(self, tokens: Sequence[Token]) -> Parser:
        """A parser of a part, as deep in brackets as this one."""
        inner = Parser(tokens, self.text, self.table, self.latex)
        inner.depth = self.depth
        return inner

    # ------------------------------------------------------------------ primaries

    def _primary(self) -> Value:
        token = self.token
        if token.kind == "number":
            return number(self._take())
        if token.kind in ("word", "name"):
            return self._named()
        if token.kind == "command" and token.text[1:].isalpha():
            return self._command()
        if token.text in CLOSING and token.kind in ("op", "command"):
            return self._bracket()
        if token.kind == "end":
            raise self._fault("the formula ends where something is still to come")
        raise self._fault(f"{token.text!r} cannot stand here")

    def _command(self) -> Value:
        word = self.token.text[1:]
        readers: list[tuple[Container[str], Callable[[], Value]]] = [
            (CALLED, lambda: self._function(self._take(), word)),
            (FRACTIONS, self._fraction),
            (("sqrt",), self._root),
            (("begin",), self._environment),
            (WRAPPERS, self._wrapped),
            (NAMES, lambda: self._operator_name(word) or self._named()),
        ]
        for words, reader in readers:
            if word in words:
                return reader()
        raise self._fault(
            f"{self.token.text} is not understood",
            hint="sums, products, fractions, roots, sines, powers, matrices and names are",
        )

    def _operator_name(self, command: str) -> Value | None:
        """sin written as \\operatorname{sin} or \\mathrm{sin}."""
        words = [token.text for token in self.tokens[self.at + 1 : self.at + 4]]
        upright = command in ("text", "operatorname", "mathrm")
        if upright and len(words) == 3 and words[0] == "{" and words[2] == "}" and words[1] in CALLED:
            token = self._take()
            self.at += 3
            return self._function(token, words[1])
        return None

    def _wrapped(self) -> Value:
        """\\underbrace{…}_{inertia}: what is inside, without the words below or above."""
        opened = self._take()
        if opened.text in ("\\underset", "\\overset") and self._is("{"):
            self.at = self._matching(self.at) + 1
        value = self._argument(opened)
        while opened.text.endswith("brace") and self._is("_", "^"):
            self.at = self._after_exponent()
        return value

    def _bracket(self) -> Value:
        end = self._closing(self.at) if self._is("{") else None
        if end is not None and self._ahead(end + 1 - self.at).text == "_":
            start = self.token.start
            return self._script(self._inner(self.token), start)  # {\dot q}_1
        return self._list(self._take()) if self._is("[") else self._grouped()

    def _grouped(self) -> Value:
        """What stands in the brackets that open here."""
        opened = self._take()
        value = self.expression()
        self._expect(CLOSING[opened.text], opened)
        return value

    def _fraction(self) -> Value:
        rate = self._rate()
        if rate is not None:
            return rate
        opened = self._take()
        top, bottom = self._argument(opened), self._argument(opened)
        return self._spanned(opened.start, self._shaped(opened.start, lambda: matrices.over(top, bottom)))

    def _argument(self, of: Token) -> Value:
        """{…}, or the one digit or letter that follows."""
        token = self.token
        if self._is("{"):
            return self._grouped()
        if token.kind == "number" and len(token.text) > 1 and token.text.isdigit():
            return number(self._first_digit())
        if token.kind == "end":
            raise self._fault(f"{of.text} needs an argument", of.start)
        return self._primary()

    def _root(self) -> Value:
        opened = self._take()
        degree = Fraction(2)
        if self._accept("["):
            number = self._take()
            if number.kind != "number" or not number.text.isdigit() or number.text == "0" or not self._accept("]"):
                raise self._fault("the degree of a root is a whole number", number.start)
            degree = Fraction(number.text)
        value = self._argument(opened)
        return self._spanned(opened.start, self._shaped(opened.start, lambda: matrices.raised(value, 1 / degree)))

    # ------------------------------------------------------------------ functions

    def _function(self, token: Token, word: str) -> Value:
        exponent = Fraction(1)
        if self._accept("^"):
            at = self.token.start
            raw, power = self._exponent()
            if power is None or power < 0:
                raise self._fault(f"{token.text}^{raw} is ambiguous; write \\arc{word} or a fraction", at)
            exponent = power
        argument = self._function_argument(token)
        if isinstance(argument, Grid):
            raise self._fault(f"{token.text} of a matrix", token.start)
        made = function(word, argument, (token.start, self.tokens[self.at - 1].end))
        return Power(made, exponent, made.span) if exponent != 1 else made

    def _function_argument(self, token: Token) -> Value:
        if self._is("(", "[", "{", "\\{"):
            return self._grouped()
        factors: list[Node] = []
        while self.token.kind in ("number", "word", "name") or self._is_name_command():
            factor = self._factor()
            if isinstance(factor, Grid):
                return factor  # which is refused
            factors.append(factor)
            if self._is_angle(factor):
                break
        if self._is("/") and self._ahead().kind == "number" and factors:  # \cos\theta/2
            self._take()
            return Quot(multiply(factors), number(self._take()))
        if not factors:
            raise self._fault(f"{token.text} needs an argument")
        return multiply(factors)

    def _is_angle(self, node: Node) -> bool:
        """Whether an argument without brackets ends here: with a coordinate, or with a single name."""
        if isinstance(node, Num):
            return False
        return not (isinstance(node, Sym) and node.name not in self.table.coordinates and self._starts_plain_name())

    # ------------------------------------------------------------------ matrices

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
        rows: list[list[Value | str]] = [[]]
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

    def _cell(self, opened: Token) -> Value | str:
        """An entry; one that stands for its mirror image is given as text."""
        if self.token.kind == "end":
            raise self._fault("a matrix is never closed: \\end is missing", opened.start)
        if self._is("&", "\\\\", "\\end"):
            return ""
        if re.match(r"\\(?:text|mathrm)\s*\{\s*(symm?)\.?\s*\}", self.text[self.token.start :]):
            self.at = self._matching(self.at + 1) + 1
            return "symm"
        if self.token.text in _PLACEHOLDERS and self._ahead().text in ("&", "\\\\", "\\end"):
            return self._take().text
        return self.expression()
