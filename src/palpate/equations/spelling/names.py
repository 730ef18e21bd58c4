"""Names of symbols: a letter or word, a subscript, dots; and the Greek letters, for all that reads and writes."""

from __future__ import annotations

import re
from typing import NamedTuple

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
