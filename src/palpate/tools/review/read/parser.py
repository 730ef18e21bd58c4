"""A formula read into a tree: LaTeX as printed, or plain text as in a program.

    expression := [+|−] term ((+|−) term)*        term := factor ([·|/] factor)*        factor := primary (^ exponent)*

Juxtaposition multiplies; products and quotients are read from left to right, so 1/2 m v is (1/2) m v.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from fractions import Fraction

from palpate.equations.spelling import Name
from palpate.errors import TooLarge, shortened
from palpate.tools.review.algebra import tree as matrices
from palpate.tools.review.algebra.effort import MOST_DIGITS, check_terms
from palpate.tools.review.algebra.names import spelled, with_span
from palpate.tools.review.algebra.tree import Grid, Node, Num, Power, Prod, Quot, Sum, Sym, Trig, Value, multiply
from palpate.tools.review.read.lexer import CLOSING, Token
from palpate.tools.review.read.symbols import CALLED, NAMES, STYLES, SymbolReader, without_d

FRACTIONS = {"frac", "tfrac", "dfrac", "cfrac"}
TIMES = {"cdot", "times", "ast", "star"}
WRAPPERS = {"underbrace", "overbrace", "boxed", "fbox", "mathop", "cancel", "mathord", "underset", "overset"}
DEEPEST = 40  # brackets within brackets
TRANSPOSED, TRANSPOSED_INVERSE = {"T", "\\top", "\\intercal"}, {"-T", "-\\top"}
_PLACEHOLDERS = {"\\vdots", "\\cdots", "\\ddots", "\\ldots", "\\dots", "*", "\\ast", "\\star", "\\cdot", "symm", "sym"}
_SYMMETRIC = re.compile(r"\\(?:text|mathrm)\s*\{\s*(symm?)\.?\s*\}")


def exact(text: str) -> Fraction:
    """The number that a text is.

    Raises:
        TooLarge: of too many digits, or too large a power of ten.
    """
    mantissa, _, power = text.lower().partition("e")
    if max(len(mantissa), len(power)) > MOST_DIGITS or (power and abs(int(power)) > MOST_DIGITS):
        raise TooLarge(f"the number {shortened(text)}: at most {MOST_DIGITS} digits, and powers of ten, are read")
    return Fraction(text)


def number(token: Token) -> Num:
    """A number, exact; decimals are counted."""
    decimals = len(token.text.partition(".")[2]) if "." in token.text and "e" not in token.text.lower() else None
    return Num(exact(token.text), decimals, (token.start, token.end))


def flat_product(a: Value, b: Value) -> Value:
    """a·b, longer products kept flat; a minus in front of the first factor stands before the product."""
    if isinstance(a, Grid) or isinstance(b, Grid):
        return matrices.times(a, b)
    if isinstance(a, Prod) and a.span is None:
        return Prod((*a.factors, b))
    return Prod((a, b))


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
        check_terms(matrices.size(value), "the formula")
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
            left = matrices.total(terms) if terms else value
            value, terms = self._shaped(operator.start, lambda a=left, b=term, m=minus: matrices.plus(a, b, m)), []
        if not terms:
            return value
        value = matrices.total(terms)
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
                value = self._shaped(operator.start, lambda a=value, b=right: flat_product(a, b))
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
            if raw in TRANSPOSED_INVERSE:
                inverse = self._shaped(at, lambda: matrices.raised(value, Fraction(-1)))
                return inverse.transposed() if isinstance(inverse, Grid) else inverse
            raise self._fault(f"the exponent {raw!r} is not a number", token.start, "exponents are numbers, T or -1")
        return self._spanned(start, self._shaped(at, lambda: matrices.raised(value, exponent)))

    def _exponent(self) -> tuple[str, Fraction | None]:
        """The exponent: its text, and its value if it is a number."""
        token = self._take()
        if token.kind == "end":
            raise self._fault("an exponent is missing")
        if token.kind == "exponent":
            return token.text, exact(token.text)
        if token.kind == "number" and self.latex and len(token.text) > 1 and token.text.isdigit():
            self.at -= 1  # x^23 is printed as x² 3
            digit = self._first_digit().text
            return digit, Fraction(digit)
        if token.text in ("{", "("):
            return self._grouped_exponent(token)
        if token.text == "-" and self.token.kind == "number":
            number = self._take()
            return f"-{number.text}", -exact(number.text)
        return token.text, exact(token.text) if token.kind == "number" else None

    def _grouped_exponent(self, opened: Token) -> tuple[str, Fraction | None]:
        end = self._matching(self.at - 1)
        raw = "".join(token.text for token in self.tokens[self.at : end])
        inner = [*self.tokens[self.at : end], Token("end", "", self.tokens[end].start, self.tokens[end].start)]
        plain = re.sub(r"\\math(?:rm|sf)|[{}]", "", raw)
        if plain in TRANSPOSED | TRANSPOSED_INVERSE:
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
            (("sqrt",), lambda: self._root(self._take())),
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
        """sin written as \\operatorname{sin} or \\mathrm{sin}; \\mathbf{0}, \\mathbf{\\frac12}."""
        inner = self._ahead(2)
        if command in STYLES and self._ahead().text == "{" and (inner.kind == "number" or inner.text[1:] in FRACTIONS):
            return self._argument(self._take())
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
        """The expression in the brackets that open here."""
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

    def _root(self, opened: Token) -> Value:
        degree = Fraction(2)
        if self.latex and self._accept("["):
            number = self._take()
            if number.kind != "number" or not number.text.isdigit() or number.text == "0" or not self._accept("]"):
                raise self._fault("the degree of a root is a whole number", number.start)
            degree = exact(number.text)
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
        made = matrices.function(word, argument, (token.start, self.tokens[self.at - 1].end))
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

    # ------------------------------------------------------------------ names and rates

    def _named(self) -> Value:
        if self.token.kind == "name":
            return self._plain_name()
        self._split_word()
        start = self.token.start
        return self._script(self._letters(), start)

    def _plain_name(self) -> Value:
        token, follows = self.token, self._ahead().text
        if (reader := self._called(token.text, follows)) is not None:
            self._take()
            return reader(token)
        if follows == "_":  # q₁ has its subscript in a token of its own
            self.at += 2
            return self._looked_up(spelled(f"{token.text}_{self._take().text}"), token.start)
        if (indexed := self._indexed()) is not None:
            return indexed
        name = self.table.named(token.text)
        if self.table.find(name) is None and (transposed := self._transposed_name()) is not None:
            return transposed
        if self.table.find(name) is None:
            texts = self._known_pieces(token.text)
            if texts is None:
                raise self._unknown(name, token.start)
            self._put_instead(texts)
        token = self._take()
        value = self._looked_up(self.table.named(token.text), token.start)
        if isinstance(value, Sym) and value.name == self.table.named(token.text):
            self.table.known.setdefault(value.name, token.text)  # printed as it was written
        return value

    def _called(self, word: str, follows: str) -> Callable[[Token], Value] | None:
        """The reader of a function of a program: sin(…), sqrt(…), pow(…), diff(…), array(…); None for other names."""
        if word in CALLED and (follows in ("(", "^", "[") or self._is_without_brackets(word)):
            return lambda token: self._function(token, token.text)
        table = {"sqrt": self._root, **dict.fromkeys(("pow", "power", "frac"), self._two_arguments)}
        table |= dict.fromkeys(("diff", "Derivative"), self._derivative)
        table |= dict.fromkeys(("Matrix", "ImmutableMatrix", "array", "matrix", "asarray"), lambda _: self._primary())
        return table.get(word) if follows in ("(", "[") else None

    def _is_without_brackets(self, word: str) -> bool:
        """Whether a function stands before its argument without brackets: cos q1."""
        return self._ahead().kind in ("name", "number") and self.table.find(self.table.named(word)) is None

    def _two_arguments(self, token: Token) -> Value:
        """pow(x, 2), and frac(a, b) as in Typst."""
        opened = self._take()
        first = self.expression()
        if not self._accept(","):
            raise self._fault(f"{token.text} needs two arguments")
        at = self.token.start
        second = self.expression()
        self._expect(")", opened)
        if token.text == "frac":
            return self._shaped(token.start, lambda: matrices.over(first, second))
        exponent = self._constant(second)
        if exponent is None:
            raise self._fault("the exponent is not a number", at, "exponents are numbers")
        return self._shaped(token.start, lambda: matrices.raised(first, exponent))

    def _derivative(self, token: Token) -> Value:
        """diff(q1(t), t), Derivative(q1(t), (t, 2)), diff(q1, t, 2)."""
        end = self._matching(self.at)
        opened = self._take()
        value = self.expression()
        first, self.at = self.at, end
        self._expect(")", opened)
        return self._rate_of(value, first, end, token.start)

    def _rate_of(self, value: Value, first: int, end: int, start: int, fault: int | None = None) -> Value:
        """The derivative by t that the tokens from `first` to `end` ask for: ,t or ,t,t or ,t,2 or ,(t,2)."""
        arguments = "".join(one.text for one in self.tokens[first:end])
        order = re.fullmatch(r",?(?:t(?:,t)*|\(?t,(\d)\)?)", arguments)
        refusal = "only derivatives of coordinates with respect to t are read", fault or start
        if order is None:
            raise self._fault(*refusal)
        dots = int(order[1]) if order[1] else arguments.count("t")
        return self._dotted(value, dots, (start, self.tokens[end].end), *refusal)

    def _indexed(self) -> Value | None:
        """q[0], q[..., 0] as in Python and q(1) as in Matlab: an entry of a vector whose entries have names."""
        token, opened = self.token, self._ahead()
        if opened.text not in ("[", "(") or opened.kind != "op":
            return None
        end = self._matching(self.at + 1)
        if (entry := self._matrix_entry(token, opened, end)) is not None:
            self.at, found = entry
            return found if not isinstance(found, Name) else self._looked_up(found, token.start)
        match = re.fullmatch(r"(\.\.\.,)?(\d{1,2})", "".join(one.text for one in self.tokens[self.at + 2 : end]))
        if match is None:
            return None
        number = int(match[2]) + (opened.text == "[")
        name = self.table.entry(token.text, number, ellipsis=match[1] is not None)
        if name is None:
            return None
        self.at = end + 1
        return self._looked_up(name, token.start)

    def _script(self, name: Name, start: int) -> Value:
        """Subscript and primes after a name; x^2_1 has its exponent first."""
        name, exponent, primes = self._subscripted(name), None, 0
        if self._is("^") and self._is_prime():
            self.at, primes = self._after_exponent(), 1
        elif self._is("^") and self.tokens[self._after_exponent()].text == "_" and self._ahead().kind != "end":
            self._take()
            exponent = self._exponent()[1]
            name = self._subscripted(name)
        while self._accept("'"):
            primes += 1
        value = self._looked_up(name._replace(base=name.base + "'" * primes), start)
        return value if exponent is None else self._shaped(start, lambda: matrices.raised(value, exponent))

    def _looked_up(self, name: Name, start: int) -> Value:
        """The meaning of a name that began at `start` and has just been read."""
        value, end = self.table.find(name), self.tokens[self.at - 1].end
        if value is None:
            value = self._short_sine(name)
        if value is None:
            raise self._unknown(name, start)
        self._skip_arguments(value)
        return self._differentiated(with_span(value, (start, end)))

    def _short_sine(self, name: Name) -> Value | None:
        r"""c\theta_1 and s q_1 for a cosine and a sine; a plain c or s that stands for nothing else."""
        if name.base not in ("c", "s") or name.sub or name.dots or not self.latex:
            return None
        if not self._starts_plain_name():
            return None
        mark, angle = self.at, self._factor()
        if isinstance(angle, Sym) and angle.name in self.table.coordinates:
            return Trig({"c": "cos", "s": "sin"}[name.base], angle, True)
        self.at = mark
        return None

    def _differentiated(self, value: Value) -> Value:
        """q1(t).diff(t) of SymPy."""
        if not (isinstance(value, Sym) and self._is(".") and self._ahead().text == "diff"):
            return value
        end = self._matching(self.at + 2)
        start = value.span[0] if value.span else 0
        dotted = self._rate_of(value, self.at + 3, end, start, fault=self.token.start)
        self.at = end + 1
        return dotted

    def _skip_arguments(self, value: Value) -> None:
        """M(q) and J(\\mathbf{q}, \\dot{\\mathbf{q}}) are M and J: a matrix is not multiplied by its argument."""
        if isinstance(value, Grid) and self._is("("):
            end = self._matching(self.at)
            inside = "".join(token.text for token in self.tokens[self.at + 1 : end])
            raw = re.sub(r"\\(math\w+|boldsymbol|bm|dot|ddot)|[{}\s,\\]", "", inside)
            if (raw and set(raw) <= set("qtθϑ") | {""}) or raw in ("theta", "thetatheta"):
                self.at = end + 1
        elif isinstance(value, Power):  # q_1^2(t)
            self._skip_arguments(value.base)
        elif isinstance(value, Sym) and value.name._replace(dots=0) in self.table.coordinates:  # q_1(t)
            of_time = self._is("(") and [self._ahead().text, self._ahead(2).text] == ["t", ")"]
            self.at += 3 if of_time else 0

    def _rate(self) -> Value | None:
        r"""\frac{dq_1}{dt}, \frac{d^2 q_1}{dt^2} and \frac{d}{dt} q_1 as dotted symbols; None for other fractions."""
        start, top = self.token.start, self._group(self.at + 1)
        bottom = self._group(top[1] + 1) if top else None
        below = "".join(token.text for token in bottom[0]) if bottom else ""
        order = re.fullmatch(r"dt(?:\^(\d))?", re.sub(r"\\mathrm|\\text|[{}]", "", below))
        moving = without_d(top[0]) if top and order else None
        if bottom is None or order is None or moving is None:
            return None
        self.at = bottom[1] + 1
        end = Token("end", "", self.token.start, self.token.start)
        value = self._inside([*moving, end]).whole() if moving else self._factor()
        refusal = "only the rate of a coordinate is read", start, "carry the derivative out first"
        return self._dotted(value, int(order[1] or 1), (start, self.tokens[self.at - 1].end), *refusal)

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
        return self._shaped(opened.start, lambda: matrices.from_lists(rows))

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
        return self._shaped(opened.start, lambda: matrices.assembled([row for row in rows if row]))

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
        if _SYMMETRIC.match(self.text, self.token.start):
            self.at = self._matching(self.at + 1) + 1
            return "symm"
        if self.token.text in _PLACEHOLDERS and self._ahead().text in ("&", "\\\\", "\\end"):
            return self._take().text
        return self.expression()
