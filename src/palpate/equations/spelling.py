"""How names and formulas are spelt: letters, subscripts and dots; plain text, LaTeX and MathML for one notation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from palpate.escape.documents import html_text

# Every letter that is read, by its LaTeX name; of two letters with one name the first is written.
GREEK_LETTERS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "phi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "ϑ": "vartheta",
    "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
    "ℓ": "ell",
}  # fmt: skip
GREEK = {word: letter for letter, word in reversed(GREEK_LETTERS.items())}
VARIANTS = {"vartheta": "theta", "varphi": "phi", "varepsilon": "epsilon", "varrho": "rho", "ell": "l"}
GREEK_WORDS = {*GREEK_LETTERS.values(), *VARIANTS}  # every letter that LaTeX has a command for
DOTS = ("", "\u0307", "\u0308", "\u20db")  # combining marks: time derivatives
_GREEK_START = re.compile(f"({'|'.join(sorted(GREEK, key=len, reverse=True))})(.*)")
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Name(NamedTuple):
    """The name of a symbol: a letter or word, a subscript, and how many dots (time derivatives) stand above it."""

    base: str
    sub: str = ""
    dots: int = 0

    def __str__(self) -> str:
        base = GREEK.get(self.base, self.base)
        dotted = base + DOTS[self.dots] if len(base) == 1 else "d" * self.dots + base
        joined = self.sub if self.sub[:1].isdigit() else f"_{self.sub}"
        return dotted + (joined if self.sub else "")


def split_name(name: str) -> Name:
    """m1 → m, 1; lc2 → l, c2; x_AB → x, AB; theta1 → theta, 1; a longer word stays whole."""
    if "_" in name.strip("_"):
        head, _, sub = name.partition("_")
        return Name(head, sub)
    match = _GREEK_START.fullmatch(name)
    if match:
        return Name(match[1], match[2])
    if len(name) > 3 and name.isalpha() and name.islower():
        return Name(name)
    return Name(name[:1], name[1:])


def greek(text: str) -> str:
    """A subscript with Greek names spelt as letters: theta1 → θ1."""
    match = _GREEK_START.fullmatch(text)
    return GREEK[match[1]] + match[2] if match else text


def width(text: str) -> int:
    """Columns a text takes: marks above letters take none."""
    return sum(not unicodedata.combining(letter) for letter in text)


def _decimal(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{float(value):.10g}"


def _signed_sum(terms: Sequence[tuple[bool, str]], minus: str) -> str:
    """Terms with their signs between, the first sign close to its term."""
    (first, text), *more = terms
    return (minus if first else "") + text + "".join(f" {minus if negative else '+'} {term}" for negative, term in more)


class Text:
    """Plain text with q̇1, θ2, c12 and small exponents."""

    inline = True  # fractions on one line
    number = staticmethod(_decimal)
    product = " ".join
    quotient = "{}/{}".format
    root = "√({})".format
    absolute = "|{}|".format
    brackets = "({})".format
    partial = "∂{}".format

    def name(self, name: Name) -> str:
        """q̇1."""
        head = GREEK.get(name.base, name.base)
        joint = "_" if len(name.base) > 1 and name.base not in GREEK and name.sub else ""
        return f"{head[:1]}{DOTS[name.dots]}{head[1:]}{joint}{greek(name.sub)}"

    def sum(self, terms: Sequence[tuple[bool, str]]) -> str:
        """Signs with spaces, the first close to its term."""
        return _signed_sum(terms, "−")

    def power(self, base: str, exponent: str) -> str:
        """Small figures."""
        plain = exponent.lstrip("−").isdigit()
        return base + exponent.replace("−", "-").translate(_SUPERSCRIPT) if plain else f"{base}^({exponent})"

    def function(self, name: str, inside: str, single: bool) -> str:
        """cos θ or cos(…)."""
        return f"{name} {inside}" if single else f"{name}({inside})"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """Columns aligned, in brackets."""
        widths = [max(width(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = ["   ".join(e + " " * (w - width(e)) for e, w in zip(row, widths)) for row in rows]
        return "\n".join(f"[ {line} ]" for line in lines)


class Latex:
    """LaTeX mathematics (amsmath)."""

    inline = False
    product = " ".join  # thin spaces come from LaTeX itself
    root = r"\sqrt{{{}}}".format
    absolute = r"\left|{}\right|".format
    brackets = r"\left({}\right)".format
    partial = r"\partial {}".format

    def number(self, value: Any) -> str:
        """Powers of ten spelt out."""
        text = _decimal(value)
        if "e" in text:
            mantissa, exponent = text.split("e")
            return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
        return text

    def name(self, name: Name) -> str:
        """\\dot{q}_{1}."""
        head = name.base
        if head in GREEK:
            head = rf"\{head}"
        elif len(head) > 1:
            head = rf"\mathit{{{head}}}"
        dots = ("", r"\dot", r"\ddot")[name.dots]
        spelt = f"{dots}{{{head}}}" if dots else head
        sub = greek(name.sub)
        for word, letter in GREEK.items():
            sub = sub.replace(letter, rf"\{word}")
        return f"{spelt}_{{{sub}}}" if sub else spelt

    def sum(self, terms: Sequence[tuple[bool, str]]) -> str:
        """Signs between."""
        return _signed_sum(terms, "-")

    def quotient(self, top: str, bottom: str, simple: bool) -> str:
        """Small for plain numbers."""
        return rf"\{'tfrac' if simple else 'frac'}{{{top}}}{{{bottom}}}"

    def power(self, base: str, exponent: str) -> str:
        """^{ }."""
        return f"{{{base}}}^{{{exponent}}}" if "_" in base or "\\" in base else f"{base}^{{{exponent}}}"

    def function(self, name: str, inside: str, single: bool) -> str:
        """\\cos."""
        known = rf"\{name}" if name in ("sin", "cos", "tan", "exp", "log") else rf"\operatorname{{{name}}}"
        return rf"{known} {inside}" if single else rf"{known}\left({inside}\right)"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """bmatrix."""
        body = r" \\ ".join(" & ".join(row) for row in rows)
        return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


class MathML:
    """Presentation MathML, which browsers draw by themselves."""

    inline = False
    quotient = "<mfrac>{}{}</mfrac>".format
    power = "<msup>{}{}</msup>".format
    root = "<msqrt>{}</msqrt>".format
    absolute = '<mrow><mo fence="true">|</mo>{}<mo fence="true">|</mo></mrow>'.format
    brackets = '<mrow><mo fence="true">(</mo>{}<mo fence="true">)</mo></mrow>'.format
    partial = "<mrow><mo>∂</mo>{}</mrow>".format

    def number(self, value: Any) -> str:
        """<mn>."""
        text = _decimal(value)
        if "e" in text:
            mantissa, exponent = text.split("e")
            power = f"<msup><mn>10</mn><mn>{int(exponent)}</mn></msup>"
            return f"<mrow><mn>{mantissa}</mn><mo>·</mo>{power}</mrow>"
        return f"<mn>{text}</mn>"

    def name(self, name: Name) -> str:
        """<mi> with its dots and its subscript."""
        head = html_text(GREEK.get(name.base, name.base))
        # A letter with its mark is one piece of text: accents of their own need fonts that few machines have.
        spelt = f'<mi class="dotted">{head[:1]}{DOTS[name.dots]}{head[1:]}</mi>' if name.dots else f"<mi>{head}</mi>"
        if not name.sub:
            return spelt
        sub = html_text(greek(name.sub))
        tag = "mn" if sub.isdigit() else "mtext"
        return f"<msub>{spelt}<{tag}>{sub}</{tag}></msub>"

    def product(self, factors: Sequence[str]) -> str:
        """A thin space between."""
        return "<mrow>" + '<mspace width="0.17em"/>'.join(factors) + "</mrow>"

    def sum(self, terms: Sequence[tuple[bool, str]]) -> str:
        """Signs as operators."""
        text = ""
        for i, (negative, term) in enumerate(terms):
            sign = "<mo>−</mo>" if negative else ("<mo>+</mo>" if i else "")
            text += sign + term
        return f"<mrow>{text}</mrow>"

    def function(self, name: str, inside: str, single: bool) -> str:
        """sin, cos."""
        argument = f'<mspace width="0.17em"/>{inside}' if single else self.brackets(inside)
        return f'<mrow><mi mathvariant="normal">{name}</mi>{argument}</mrow>'

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """<mtable>; the page draws its brackets, for few fonts have ones that grow."""
        body = "".join("<mtr>" + "".join(f"<mtd>{entry}</mtd>" for entry in row) + "</mtr>" for row in rows)
        return f'<mtable class="matrix">{body}</mtable>'


Style = Text | Latex | MathML
