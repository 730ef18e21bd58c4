"""A document as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from palpate.escape.documents import latex_text
from palpate.tools.derive.writing.document import Section
from palpate.tools.derive.writing.matrices import factored
from palpate.tools.derive.writing.notation import Notation


def as_latex(sections: Sequence[Section], notation: Notation) -> str:
    """Sections as a LaTeX fragment that needs amsmath alone."""
    parts = []
    for section in sections:
        if section.title:
            parts.append(rf"\section*{{{_latex_text(section.title)}}}")
        parts += [_latex_text(word) for word in section.words]
        for formula in section.formulas:
            parts += [_latex_text(formula.remark)] if formula.remark else []
            right = " ".join(filter(None, factored(formula.expression, notation)))
            parts.append(rf"\[ {notation.label(formula.label)} = {right} \]")
    return "\n".join(parts) + "\n"


_LATEX_WORDS = {"−": "$-$", "·": r"$\cdot$", "½": r"$\tfrac12$", "²": "$^2$", "⁻¹": "$^{-1}$", "ᵀ": r"$^{\top}$"}
_LATEX_WORDS |= {"q̇": r"$\dot q$", "q̈": r"$\ddot q$", "J̇": r"$\dot J$", "Ṁ": r"$\dot M$", "Λ": r"$\Lambda$"}
_LATEX_WORDS |= {"∂": r"$\partial$", "Σ": r"$\Sigma$", "τ": r"$\tau$", "ω̇": r"$\dot\omega$", "ω": r"$\omega$"}
_LATEX_WORDS |= {"×": r"$\times$", "μ": r"$\mu$", "λ": r"$\lambda$", "√": r"$\surd$", "≤": r"$\le$"}
_LATEX_WORDS |= {"φ̇": r"$\dot\varphi$", "φ": r"$\varphi$", "δ": r"$\delta$", "→": r"$\to$", "θ": r"$\theta$"}


def _latex_text(words: str) -> str:
    words = latex_text(words)
    for letter, spelt in _LATEX_WORDS.items():
        words = words.replace(letter, spelt)
    return words
