"""A formula read into a tree: LaTeX as printed, or plain text as in a program.

    expression := [+|−] term ((+|−) term)*        term := factor ([·|/] factor)*        factor := primary (^ exponent)*

Juxtaposition multiplies; products and quotients are read from left to right, so 1/2 m v is (1/2) m v.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from palpate.errors import DoesNotFit, UnknownSymbol
from palpate.review.algebra import grid as matrices
from palpate.review.algebra.grid import Grid, Value
from palpate.review.algebra.names import placed, spelled
from palpate.review.algebra.points import polynomial
from palpate.review.algebra.tree import (
    GREEK,
    Name,
    Node,
    Num,
    Power,
    Prod,
    Quot,
    Sum,
    Sym,
    multiply,
)  # fmt: skip
from palpate.review.read.assembly import assembled, cuts, from_lists, function, joined, number
from palpate.review.read.cursor import CLOSING, Cursor
from palpate.review.read.lexer import Token

_GREEK = {*GREEK.values(), "varepsilon", "vartheta", "varphi", "varrho"}
_STYLES = {
    "mathbf", "mathrm", "mathit", "mathsf", "mathcal", "mathbb", "boldsymbol", "bm", "operatorname",
    "text", "textrm", "textit", "textbf", "vec", "underline",
}  # fmt: skip
_ACCENTS = {"bar", "hat", "tilde", "overline"}
_DOTS = {"dot": 1, "ddot": 2, "dddot": 3}
_TRIGONOMETRIC = {"sin", "cos", "tan", "cot", "sec", "csc"}
_FUNCTIONS = {
    "exp",
    "log",
    "ln",
    "asin",
    "acos",
    "atan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "abs",
    "Abs",
}
_FRACTIONS = {"frac", "tfrac", "dfrac", "cfrac"}
_TIMES = {"cdot", "times", "ast", "star"}
_PLACEHOLDERS = {"\\vdots", "\\cdots", "\\ddots", "\\ldots", "\\dots", "*", "\\ast", "\\star", "\\cdot", "symm", "sym"}
_TRANSPOSED = {"T", "\\top", "\\intercal", "\\mathsf{T}", "\\mathrm{T}", "\\mathsfT", "\\mathrmT"}


class Parser(Cursor):
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
        """A sum."""
        start = self.token.start
        value = self._signed_term()
        while self._is("+", "-"):
            operator = self._take()
            term = self._signed_term()
            minus = operator.text == "-"
            left = value
            value = self._shaped(operator.start, lambda a=left, b=term, m=minus: matrices.plus(a, b, m))
        if isinstance(value, Sum) and value.span is None:
            return replace(value, span=(start, self.tokens[self.at - 1].end))
        return value

    def _signed_term(self) -> Value:
        minus = False
        while self._is("+", "-"):
            minus ^= self._take().text == "-"
        term = self._term()
        return matrices.negative(term) if minus else term

    def _term(self) -> Value:
        start = self.token.start
        value = self._factor()
        while True:
            operator = self.token
            if self._accept("/"):
                below = self._factor()
                value = self._shaped(operator.start, lambda a=value, b=below: matrices.over(a, b))
            elif self._accept("*", *(f"\\{name}" for name in _TIMES)) or self._starts_factor():
                right = self._signed_factor()
                value = self._shaped(operator.start, lambda a=value, b=right: joined(a, b))
            else:
                break
        if isinstance(value, Prod | Quot) and value.span is None:
            value = replace(value, span=(start, self.tokens[self.at - 1].end))
        return value

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
            known = _GREEK | _STYLES | _ACCENTS | set(_DOTS) | _TRIGONOMETRIC | _FUNCTIONS | _FRACTIONS
            return word in known or word in ("sqrt", "begin", "{")
        return token.text in ("(", "[", "{")

    def _factor(self) -> Value:
        start = self.token.start
        value = self._primary()
        while True:
            if self._is("{") and self.tokens[self.at + 1].text == "}":
                self.at += 2
            elif self._is("^"):
                at = self._take().start
                value = self._raised(value, at, start)
            elif self._is("'") and isinstance(value, Grid):  # Matlab's transpose
                self._take()
                value = value.transposed()
            else:
                return value

    def _raised(self, value: Value, at: int, start: int) -> Value:
        token = self.token
        raw, exponent = self._exponent()
        if exponent is None:
            if raw in _TRANSPOSED:
                return value.transposed() if isinstance(value, Grid) else value
            if raw in ("-T", "-\\top"):
                inverse = self._shaped(at, lambda: matrices.raised(value, Fraction(-1)))
                return inverse.transposed() if isinstance(inverse, Grid) else inverse
            raise self._fault(f"the exponent {raw!r} is no number", token.start, "exponents are numbers, T or -1")
        made = self._shaped(at, lambda: matrices.raised(value, exponent))
        return made if isinstance(made, Grid) else replace(made, span=(start, self.tokens[self.at - 1].end))

    def _exponent(self) -> tuple[str, Fraction | None]:
        """What stands above: its text, and the number it is."""
        token = self._take()
        if token.kind == "exponent":
            return token.text, Fraction(token.text)
        if token.kind == "number" and self.latex and len(token.text) > 1 and token.text.isdigit():
            self.at -= 1  # x^23 is printed as x² 3
            rest = Token("number", token.text[1:], token.start + 1, token.end)
            self.tokens = [*self.tokens[: self.at], rest, *self.tokens[self.at + 1 :]]
            return token.text[0], Fraction(token.text[0])
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
        if plain in _TRANSPOSED | {"-T", "-\\top"}:
            self.at = end + 1
            return plain, None
        value = Parser(inner, self.text, self.table, self.latex).whole()
        self.at = end + 1
        try:
            found = polynomial(value) if not isinstance(value, Grid) else {}
        except DoesNotFit:
            found = {}
        return raw, found.get((), Fraction(0)) if set(found) <= {()} and not isinstance(value, Grid) else None

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
        if word in _TRIGONOMETRIC | _FUNCTIONS:
            return self._function(self._take(), word)
        if word in _FRACTIONS:
            return self._fraction()
        if word == "sqrt":
            return self._root()
        if word == "begin":
            return self._environment()
        if word in _GREEK | _STYLES | _ACCENTS | set(_DOTS):
            if word in ("text", "operatorname", "mathrm") and (function := self._operator_name()):
                return function
            return self._named()
        raise self._fault(
            f"{self.token.text} is not understood",
            hint="sums, products, fractions, roots, sines, powers, matrices and names are",
        )

    def _operator_name(self) -> Value | None:
        """sin written as \\operatorname{sin} or \\mathrm{sin}."""
        words = [token.text for token in self.tokens[self.at + 1 : self.at + 4]]
        if len(words) == 3 and words[0] == "{" and words[2] == "}" and words[1] in _TRIGONOMETRIC | _FUNCTIONS:
            token = self._take()
            self.at += 3
            return self._function(token, words[1])
        return None

    def _bracket(self) -> Value:
        opened = self._take()
        if opened.text == "[":
            return self._list(opened)
        value = self.expression()
        self._expect(CLOSING[opened.text], opened)
        return value

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
        found = self.token.kind == "gap"
        self.at += found
        return found

    def _fraction(self) -> Value:
        opened = self._take()
        top, bottom = self._argument(opened), self._argument(opened)
        made = self._shaped(opened.start, lambda: matrices.over(top, bottom))
        return made if isinstance(made, Grid) else replace(made, span=(opened.start, self.tokens[self.at - 1].end))

    def _argument(self, of: Token) -> Value:
        """{…}, or the one digit or letter that follows."""
        token = self.token
        if self._is("{"):
            opened = self._take()
            value = self.expression()
            self._expect("}", opened)
            return value
        if token.kind == "number" and len(token.text) > 1 and token.text.isdigit():
            rest = Token("number", token.text[1:], token.start + 1, token.end)
            self.tokens = [*self.tokens[: self.at], rest, *self.tokens[self.at + 1 :]]
            return Num(Fraction(token.text[0]), None, (token.start, token.start + 1))
        if token.kind == "end":
            raise self._fault(f"{of.text} needs an argument", of.start)
        return self._primary()

    def _root(self) -> Value:
        opened = self._take()
        degree = Fraction(2)
        if self._accept("["):
            number = self._take()
            if number.kind != "number" or not self._accept("]"):
                raise self._fault("the degree of a root is a whole number", number.start)
            degree = Fraction(number.text)
        value = self._argument(opened)
        made = self._shaped(opened.start, lambda: matrices.raised(value, 1 / degree))
        return made if isinstance(made, Grid) else replace(made, span=(opened.start, self.tokens[self.at - 1].end))

    # ------------------------------------------------------------------ functions

    def _function(self, token: Token, word: str) -> Value:
        exponent = Fraction(1)
        if self._accept("^"):
            at = self.token.start
            raw, found = self._exponent()
            if found is None or found < 0:
                raise self._fault(f"{token.text}^{raw} is ambiguous; write \\arc{word} or a fraction", at)
            exponent = found
        argument = self._function_argument(token)
        if isinstance(argument, Grid):
            raise self._fault(f"{token.text} of a matrix", token.start)
        made = function(word, argument, (token.start, self.tokens[self.at - 1].end))
        return Power(made, exponent, made.span) if exponent != 1 else made

    def _function_argument(self, token: Token) -> Value:
        if self._is("(", "[", "{", "\\{"):
            opened = self._take()
            value = self.expression()
            self._expect(CLOSING[opened.text], opened)
            return value
        factors: list[Node] = []
        while self.token.kind in ("number", "word", "name") or self._is_name_command():
            factor = self._factor()
            if isinstance(factor, Grid):
                raise self._fault(f"{token.text} of a matrix", token.start)
            factors.append(factor)
            if self._is_angle(factor):
                break
        if self._is("/") and self.tokens[self.at + 1].kind == "number" and factors:  # \cos\theta/2
            self._take()
            return Quot(multiply(factors), number(self._take()))
        if not factors:
            raise self._fault(f"{token.text} needs an argument")
        return multiply(factors)

    def _is_name_command(self) -> bool:
        return self.token.kind == "command" and self.token.text[1:] in _GREEK | _STYLES | _ACCENTS | set(_DOTS)

    def _is_angle(self, node: Node) -> bool:
        """Whether an argument without brackets ends here: with a coordinate, or with a single name."""
        if isinstance(node, Num):
            return False
        return not (isinstance(node, Sym) and node.name not in self.table.coordinates and self._starts_plain_name())

    def _starts_plain_name(self) -> bool:
        follows = self.token
        return follows.kind in ("word", "name") or (follows.kind == "command" and follows.text[1:] in _GREEK)

    # ------------------------------------------------------------------ names

    def _named(self) -> Value:
        if self.token.kind == "name":
            return self._plain_name()
        self._split_word()
        start = self.token.start
        base, sub, dots = self._letters()
        return self._script(base, sub, dots, start)

    def _split_word(self) -> None:
        """mgl is three symbols, so that the exponent of mL^2 belongs to L alone; pl_{31} may be one."""
        word = self.token
        if word.kind != "word" or len(word.text) == 1:
            return
        mark = self.at
        base, sub, dots = self._letters()
        sub = self._subscript() or sub
        self.at = mark
        names = self.table.split(base, sub, dots)
        if names is not None and len(names) > 1:
            self._put_instead([word.text[i:j] for i, j in cuts([len(name.base) for name in names])])

    def _plain_name(self) -> Value:
        token = self.token
        if token.text in _TRIGONOMETRIC | _FUNCTIONS | {"sqrt"} and self.tokens[self.at + 1].text in ("(", "^", "["):
            return self._plain_function(self._take())
        if token.text in ("Matrix", "ImmutableMatrix", "array") and self.tokens[self.at + 1].text in ("(", "["):
            self._take()
            return self._primary()
        if self.tokens[self.at + 1].text == "_":  # q₁ has its subscript in a token of its own
            self.at += 2
            whole = spelled(f"{token.text}_{self._take().text}")
            return self._looked_up(whole, token.start, self.tokens[self.at - 1].end)
        name = self.table.named(token.text)
        if self.table.find(name) is None and (transposed := self._transposed_name()) is not None:
            return transposed
        if self.table.find(name) is None:
            texts = self._known_pieces(token.text)
            if texts is None:
                raise self._unknown(name, token.start)
            self._put_instead(texts)
        token = self._take()
        found = self._looked_up(self.table.named(token.text), token.start, token.end)
        if isinstance(found, Sym) and found.name == self.table.named(token.text):
            self.table.known.setdefault(found.name, token.text)  # printed as it was written
        return found

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
            name = spelled(run)
            names = self.table.split(name.base, name.sub, name.dots)
            if names is None:
                return None
            places = cuts([len(one.base) for one in names])
            pieces += [run[i:j] for i, j in places[:-1]] + [run[places[-1][0] :]]
        return pieces if len(pieces) > 1 else None

    def _plain_function(self, token: Token) -> Value:
        if token.text != "sqrt":
            return self._function(token, token.text)
        value = self._primary()
        return self._shaped(token.start, lambda: matrices.raised(value, Fraction(1, 2)))

    def _letters(self) -> tuple[str, str, int]:
        """A letter, Greek letter, word in roman or bold, or one of these under dots: (base, subscript, dots)."""
        token = self._take()
        if token.kind == "word":
            name = spelled(token.text)
            return name.base, name.sub, name.dots
        word = token.text[1:]
        if word in _GREEK:
            return word, "", 0
        inner = self._inner(token)
        if word in _DOTS:
            return inner[0], inner[1], inner[2] + _DOTS[word]
        if word in _ACCENTS:
            return f"{inner[0]}{word}", inner[1], inner[2]
        return inner

    def _inner(self, of: Token) -> tuple[str, str, int]:
        """The name under an accent or in another type: {q}, {q_1}, q."""
        braces = self._accept("{")
        if self.token.kind not in ("word", "name") and not self._is_name_command():
            raise self._fault(f"{of.text} needs a name", self.token.start)
        base, sub, dots = self._letters()
        if braces:
            sub = self._subscript() or sub
            if not self._accept("}"):
                raise self._fault(f"{of.text} of more than one name", of.start, "write each name by itself")
        return base, sub, dots

    def _script(self, base: str, sub: str, dots: int, start: int) -> Value:
        """Subscript and primes after a name; x^2_1 has its exponent first."""
        sub = self._subscript() or sub
        exponent: Fraction | None = None
        if self._is("^") and self._is_prime():
            self.at = self._after_exponent()
            base += "'"
        elif self._is("^") and self.tokens[self._after_exponent()].text == "_":
            self._take()
            exponent = self._exponent()[1]
            sub = self._subscript() or sub
        while self._accept("'"):
            base += "'"
        value = self._looked_up(Name(base, sub, dots), start, self.tokens[self.at - 1].end)
        return value if exponent is None else self._shaped(start, lambda: matrices.raised(value, exponent))

    def _after_exponent(self) -> int:
        """The token after ^… that stands here."""
        opens = self.tokens[self.at + 1].text in ("{", "(")
        return min((self._matching(self.at + 1) if opens else self.at + 1) + 1, len(self.tokens) - 1)

    def _is_prime(self) -> bool:
        raw = "".join(token.text for token in self.tokens[self.at + 1 : self._after_exponent()])
        return raw.strip("{}") in ("\\prime", "'")

    def _subscript(self) -> str:
        if not self._accept("_"):
            return ""
        if self._is("{"):
            end = self._matching(self.at)
            raw = self.text[self.token.end : self.tokens[end].start]
            self.at = end + 1
        else:
            raw = self._take().text
        raw = re.sub(r"(?<=\w)\s+(?=\w)", ",", raw)  # I_{1 22} has two indices
        raw = re.sub(r"\\(math\w+|text\w*|operatorname|boldsymbol|bm)\b|[{}\s]|\\[,;! ]", "", raw).replace(
            "\\cdot", "*"
        )
        parts = [part for part in re.split(r"[_,]", raw.replace("\\", "")) if part]
        return ",".join(parts)

    def _looked_up(self, name: Name, start: int, end: int) -> Value:
        value = self.table.find(name)
        if value is None:
            raise self._unknown(name, start)
        self._skip_arguments(value)
        return placed(value, (start, end))

    def _skip_arguments(self, value: Value) -> None:
        """M(q) and J(\\mathbf{q}, \\dot{\\mathbf{q}}) are M and J: a matrix is not multiplied by its argument."""
        if isinstance(value, Grid) and self._is("("):
            end = self._matching(self.at)
            raw = re.sub(
                r"\\(math\w+|boldsymbol|bm|dot|ddot)|[{}\s,\\]", "", self.text[self.token.end : self.tokens[end].start]
            )
            if (raw and set(raw) <= set("qtθϑ") | {""}) or raw in ("theta", "thetatheta"):
                self.at = end + 1

    def _unknown(self, name: Name, at: int) -> UnknownSymbol:
        near = self.table.suggestions(name)
        guess = f"did you mean {' or '.join(near)}? " if near else ""
        return UnknownSymbol(
            f"unknown symbol {name}", self.text, at, hint=f"{guess}say what it stands for: symbols={{{str(name)!r}: …}}"
        )

    # ------------------------------------------------------------------ matrices

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
        self.at = end + 1
        return name

    def _cell(self, opened: Token) -> tuple[Value | str, int]:
        """An entry; one that stands for its mirror image is given as text."""
        start, follows = self.token.start, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
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
