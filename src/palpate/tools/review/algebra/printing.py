"""Trees as text again: LaTeX or plain, in the notation they were written in."""

from __future__ import annotations

import re
from fractions import Fraction

from palpate.equations.spelling import GREEK_WORDS, Name
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.tree import Call, Grid, Neg, Node, Num, Power, Prod, Quot, Ref, Sum, Sym, Trig, Value

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_DOTS = {1: r"\dot", 2: r"\ddot", 3: r"\dddot"}


class Printer:
    """Prints trees in one notation."""

    def __init__(self, table: SymbolTable, latex: bool) -> None:
        self.table, self.latex = table, latex

    def value(self, value: Value) -> str:
        """An expression or a matrix."""
        if not isinstance(value, Grid):
            return self.node(value)
        rows = [[self.node(node) for node in row] for row in value.rows]
        if self.latex:
            lines = " \\\\\n".join("  " + " & ".join(row) for row in rows)
            return f"\\begin{{bmatrix}}\n{lines}\n\\end{{bmatrix}}"
        return "[" + ",\n ".join("[" + ", ".join(row) + "]" for row in rows) + "]"

    def node(self, node: Node, least: int = _SUM) -> str:
        """An expression, in brackets where it binds less tightly than `least`."""
        text, strength = self._text(node)
        if strength >= least:
            return text
        return rf"\left({text}\right)" if self.latex else f"({text})"

    def _text(self, node: Node) -> tuple[str, int]:
        match node:
            case Num():
                return self._number(node)
            case Sym(name=name) | Ref(name=name):
                return self.name(name), _ATOM
            case Trig():
                return self._trig(node)
            case Call():
                return self._called(node.function, self.node(node.argument)), _ATOM
            case Sum():
                return self._sum(node), _SUM
            case Neg(operand=operand):
                return "-" + self.node(operand, _PRODUCT), _SUM
            case Prod():
                return self._product(node), _PRODUCT
            case Quot(top=top, bottom=bottom):
                return self._quotient(top, bottom)
            case Power():
                return self._power(node)
            case _:  # an entry of numbers, without an expression: by its position
                return f"({node.row + 1},{node.column + 1})", _ATOM

    def _number(self, node: Num) -> tuple[str, int]:
        value = node.value
        if node.decimals is not None and (value * 10**node.decimals).denominator == 1:
            return f"{float(value):.{node.decimals}f}", _ATOM if value >= 0 else _SUM
        if value.denominator == 1:
            return str(value), _ATOM if value >= 0 else _SUM
        sign = "-" if value < 0 else ""
        top, bottom = abs(value.numerator), value.denominator
        text = rf"{sign}\frac{{{top}}}{{{bottom}}}" if self.latex else f"{sign}{top}/{bottom}"
        return text, _SUM if sign else (_ATOM if self.latex else _PRODUCT)

    def name(self, name: Name) -> str:
        """A symbol's name."""
        if not self.latex:
            return self.table.plain(name)
        name = self.table.writer_name(name)
        base = rf"\{name.base}" if name.base in GREEK_WORDS else name.base
        if len(name.base.rstrip("'")) > 1 and name.base not in GREEK_WORDS:
            base = rf"\mathrm{{{name.base}}}"
        dotted = f"{_DOTS[name.dots]}{{{base}}}" if name.dots else base
        sub = f"\\{name.sub}" if name.sub in GREEK_WORDS else name.sub
        return f"{dotted}_{{{sub}}}" if sub else dotted

    def _trig(self, node: Trig) -> tuple[str, int]:
        if node.short and node.function in ("sin", "cos") and (sub := self._indices(node.angle)):
            return f"{node.function[0]}_{{{sub}}}" if self.latex else f"{node.function[0]}{sub}", _ATOM
        return self._called(node.function, self.node(node.angle)), _ATOM

    def _called(self, function: str, argument: str) -> str:
        return rf"\{function}\left({argument}\right)" if self.latex else f"{function}({argument})"

    def _indices(self, angle: Node) -> str:
        """12 for q1 + q2; empty where there is no such shorthand."""
        terms = angle.terms if isinstance(angle, Sum) else (angle,)
        subs = [term.name.sub for term in terms if isinstance(term, Sym) and term.name in self.table.coordinates]
        single = all(len(sub) == 1 and sub.isdigit() for sub in subs)
        return "".join(subs) if single and len(subs) == len(terms) else ""

    def _sum(self, node: Sum) -> str:
        parts = [self.node(node.terms[0], _SUM)]
        for term in node.terms[1:]:
            sign, bare = ("-", term.operand) if isinstance(term, Neg) else ("+", term)
            parts.append(f"{sign} {self.node(bare, _PRODUCT if isinstance(term, Neg | Sum) else _SUM)}")
        return " ".join(parts)

    def _product(self, node: Prod) -> str:
        texts = [self.node(factor, _PRODUCT) for factor in node.factors]
        if not self.latex:
            return "*".join(texts)
        dotted = re.compile(r"(?:\\frac\{)?\d")  # a number after another factor needs a sign of multiplication
        return texts[0] + "".join(rf" \cdot {text}" if dotted.match(text) else f" {text}" for text in texts[1:])

    def _quotient(self, top: Node, bottom: Node) -> tuple[str, int]:
        if self.latex:
            return rf"\frac{{{self.node(top)}}}{{{self.node(bottom)}}}", _ATOM
        return f"{self.node(top, _PRODUCT)}/{self.node(bottom, _POWER)}", _PRODUCT

    def _power(self, node: Power) -> tuple[str, int]:
        if node.exponent == Fraction(1, 2):
            inner = self.node(node.base)
            return (rf"\sqrt{{{inner}}}" if self.latex else f"sqrt({inner})"), _ATOM
        exponent = str(node.exponent)
        if not self.latex:
            bracketed = exponent if exponent.isdigit() else f"({exponent})"
            return f"{self.node(node.base, _ATOM)}**{bracketed}", _POWER
        if isinstance(node.base, Trig) and not (node.base.short and self._indices(node.base.angle)):
            angle = self.node(node.base.angle)
            return rf"\{node.base.function}^{{{exponent}}}\left({angle}\right)", _ATOM
        return f"{self.node(node.base, _ATOM)}^{{{exponent}}}", _POWER
