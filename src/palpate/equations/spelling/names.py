"""Names of symbols: head, subscript and dots, and the Greek letters."""

from __future__ import annotations

import re
from dataclasses import dataclass

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Lambda": "Λ", "Omega": "Ω", "Theta": "Θ", "Phi": "Φ", "Psi": "Ψ",
}  # fmt: skip
_GREEK_START = re.compile(f"({'|'.join(sorted(GREEK, key=len, reverse=True))})(.*)")


@dataclass(frozen=True)
class Name:
    """A symbol taken apart: head (a letter, a Greek name or a word), subscript, and how many dots it carries."""

    head: str
    sub: str = ""
    dots: int = 0


def split_name(name: str) -> Name:
    """m1 → m, 1; lc2 → l, c2; x_AB → x, AB; theta1 → theta, 1; a longer word stays whole."""
    if "_" in name.strip("_"):
        head, _, sub = name.partition("_")
        return Name(head, sub)
    greek = _GREEK_START.fullmatch(name)
    if greek:
        return Name(greek[1], greek[2])
    if len(name) > 3 and name.isalpha() and name.islower():
        return Name(name)
    return Name(name[:1], name[1:])


def greek(text: str) -> str:
    """A subscript with Greek names spelt as letters: theta1 → θ1."""
    found = _GREEK_START.fullmatch(text)
    return GREEK[found[1]] + found[2] if found else text
