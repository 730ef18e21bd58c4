"""Names in formulas: letters with subscripts and dots, entries of vectors, rates, functions of a program."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

from palpate.equations.spelling import GREEK_WORDS, Name
from palpate.errors import DoesNotFit, UnknownSymbol
from palpate.review.algebra import tree as matrices
from palpate.review.algebra.names import placed, spelled
from palpate.review.algebra.points import polynomial
from palpate.review.algebra.tree import Grid, Power, Sum, Sym, Trig, Value
from palpate.review.read.lexer import Cursor, Token

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
FRACTIONS = {"frac", "tfrac", "dfrac", "cfrac"}
TIMES = {"cdot", "times", "ast", "star"}
WRAPPERS = {"underbrace", "overbrace", "boxed", "fbox", "mathop", "cancel", "mathord", "underset", "overset"}
DEEPEST = 40  # brackets within brackets
TRANSPOSED = {"T", "\\top", "\\intercal", "\\mathsf{T}", "\\mathrm{T}", "\\mathsfT", "\\mathrmT"}


def _spaced(part: Sequence[Token]) -> str:
    """The text of tokens, with a space where there was one."""
    gaps = ["", *(" " if a.end < b.start else "" for a, b in pairwise(part))]
    return "".join(gap + token.text for gap, token in zip(gaps, part))


def _without_d(top: list[Token]) -> list[Token] | None:
    """What follows the d of a differential: dq_1, d q_1, d^2 q_1, \\mathrm{d} q_1; None where there is no d."""
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


class SymbolReader(Cursor):
    """Reads names and what programs call; the rest of the grammar is the parser's."""

    @abstractmethod
    def expression(self) -> Value:
        """The expression that begins here."""

    @abstractmethod
    def _primary(self) -> Value: ...

    @abstractmethod
    def _factor(self) -> Value: ...

    @abstractmethod
    def _function(self, token: Token, word: str) -> Value: ...

    @abstractmethod
    def _exponent(self) -> tuple[str, Fraction | None]: ...

    @abstractmethod
    def _inside(self, tokens: Sequence[Token]) -> SymbolReader: ...

    @abstractmethod
    def whole(self) -> Value:
        """The one expression that all tokens make up."""

    def _is_name_command(self) -> bool:
        return self.token.kind == "command" and self.token.text[1:] in NAMES

    def _starts_plain_name(self) -> bool:
        """Whether a name without accents, dots or another type begins here."""
        token = self.token
        return token.kind in ("word", "name") or (token.kind == "command" and token.text[1:] in GREEK_WORDS)

    def _named(self) -> Value:
        if self.token.kind == "name":
            return self._plain_name()
        self._split_word()
        start = self.token.start
        return self._script(self._letters(), start)

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
        """What reads a function of a program: sin(…), sqrt(…), pow(…), diff(…), array(…); None for other names."""
        if word in CALLED and (follows in ("(", "^", "[") or self._is_spoken(word)):
            return lambda token: self._function(token, token.text)
        table = {"sqrt": self._square_root, "pow": self._two_arguments, "power": self._two_arguments}
        table |= dict.fromkeys(("diff", "Derivative"), self._derivative)
        table |= dict.fromkeys(("Matrix", "ImmutableMatrix", "array", "matrix", "asarray"), lambda _: self._primary())
        return table.get(word) if follows in ("(", "[") else None

    def _is_spoken(self, word: str) -> bool:
        """Whether a function stands before its argument without brackets: cos q1."""
        return self._ahead().kind in ("name", "number") and self.table.find(self.table.named(word)) is None

    def _square_root(self, token: Token) -> Value:
        value = self._primary()
        return self._spanned(token.start, self._shaped(token.start, lambda: matrices.raised(value, Fraction(1, 2))))

    def _two_arguments(self, token: Token) -> Value:
        """pow(x, 2)."""
        opened = self._take()
        base = self.expression()
        if not self._accept(","):
            raise self._fault(f"{token.text} needs two arguments")
        at = self.token.start
        exponent = self._constant(self.expression())
        self._expect(")", opened)
        if exponent is None:
            raise self._fault("the exponent is not a number", at, "exponents are numbers")
        return self._shaped(token.start, lambda: matrices.raised(base, exponent))

    def _constant(self, value: Value) -> Fraction | None:
        """The number that an expression is, or None."""
        try:
            expanded = polynomial(value) if not isinstance(value, Grid) else None
        except DoesNotFit:
            expanded = None
        return expanded.get((), Fraction(0)) if expanded is not None and set(expanded) <= {()} else None

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
        dots = 0 if order is None else int(order[1]) if order[1] else arguments.count("t")
        dotted = self._dotted(value, dots, (start, self.tokens[end].end)) if dots else None
        if dotted is None:
            raise self._fault("only derivatives of coordinates with respect to t are read", fault or start)
        return dotted

    def _indexed(self) -> Value | None:
        """q[0], q[..., 0] as in Python and q(1) as in Matlab: an entry of a vector whose entries have names."""
        token, opened = self.token, self._ahead()
        if opened.text not in ("[", "(") or opened.kind != "op":
            return None
        end = self._matching(self.at + 1)
        match = re.fullmatch(r"(\.\.\.,)?(\d)", "".join(one.text for one in self.tokens[self.at + 2 : end]))
        if match is None:
            return None
        number = int(match[2]) + (opened.text == "[")
        name = self.table.entry(token.text, number, ellipsis=match[1] is not None)
        if name is None:
            return None
        self.at = end + 1
        return self._looked_up(name, token.start)

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
            places = cuts([len(one.base) for one in names])
            pieces += [run[i:j] for i, j in places[:-1]] + [run[places[-1][0] :]]
        return pieces if len(pieces) > 1 else None

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
        return name._replace(sub=self._subscript() or name.sub)

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

    def _looked_up(self, name: Name, start: int) -> Value:
        """What a name that began at `start` and has just been read stands for."""
        value, end = self.table.find(name), self.tokens[self.at - 1].end
        if value is None:
            value = self._short_sine(name)
        if value is None:
            raise self._unknown(name, start)
        self._skip_arguments(value)
        return self._differentiated(placed(value, (start, end)))

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

    def _unknown(self, name: Name, at: int) -> UnknownSymbol:
        near, equal = self.table.suggestions(name), [self.table.known[one] for one in self.table.numbered(name)]
        guess = f"did you mean {' or '.join(near)}? " if near else ""
        if len(equal) > 1:
            guess = f"is it {' = '.join(equal)}? Then add --equal {name}={','.join(equal)}; otherwise "
        return UnknownSymbol(
            f"unknown symbol {name}", self.text, at, hint=f"{guess}say what it stands for: symbols={{{str(name)!r}: …}}"
        )

    # ------------------------------------------------------------------ rates

    def _rate(self) -> Value | None:
        r"""\frac{dq_1}{dt}, \frac{d^2 q_1}{dt^2} and \frac{d}{dt} q_1 as dotted symbols; None for other fractions."""
        start, top = self.token.start, self._group(self.at + 1)
        bottom = self._group(top[1] + 1) if top else None
        below = "".join(token.text for token in bottom[0]) if bottom else ""
        order = re.fullmatch(r"dt(?:\^(\d))?", re.sub(r"\\mathrm|\\text|[{}]", "", below))
        moving = _without_d(top[0]) if top and order else None
        if bottom is None or order is None or moving is None:
            return None
        self.at = bottom[1] + 1
        end = Token("end", "", self.token.start, self.token.start)
        value = self._inside([*moving, end]).whole() if moving else self._factor()
        dotted = self._dotted(value, int(order[1] or 1), (start, self.tokens[self.at - 1].end))
        if dotted is None:
            raise self._fault("only the rate of a coordinate is read", start, "carry the derivative out first")
        return dotted

    def _group(self, at: int) -> tuple[list[Token], int] | None:
        """The tokens of the {…} that begins at `at`, and where it ends."""
        if at >= len(self.tokens) or self.tokens[at].text != "{":
            return None
        end = self._closing(at)
        return None if end is None else (list(self.tokens[at + 1 : end]), end)

    def _dotted(self, value: Value, dots: int, span: tuple[int, int]) -> Value | None:
        """The rate of a symbol, of a sum of symbols, or of a column of them."""
        if isinstance(value, Grid):
            rows = [[self._dotted(node, dots, span) for node in row] for row in value.rows]
            kept = [[node for node in row if node is not None and not isinstance(node, Grid)] for row in rows]
            return matrices.grid(kept) if all(len(a) == len(b) for a, b in zip(kept, rows)) else None
        if isinstance(value, Sum):
            terms = [self._dotted(term, dots, span) for term in value.terms]
            kept = [term for term in terms if term is not None and not isinstance(term, Grid)]
            return Sum(tuple(kept), span) if len(kept) == len(terms) else None
        if isinstance(value, Sym) and value.name._replace(dots=0) in self.table.coordinates:
            return Sym(value.name._replace(dots=value.name.dots + dots), span)
        return None
