"""A derivation as sections of formulas, set as text, LaTeX or MathML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from palpate.equations.spelling import width
from palpate.escape import html_text, latex_text
from palpate.tools.derive.writing.notation import Notation

WIDTH, PAGE_WIDTH = 110, 150  # columns of text; of a matrix on a page


@dataclass(frozen=True)
class Formula:
    """label = expression, with a word about it.

    Attributes:
        label: in plain names ("M", "p_c1", "∂L/∂dq1").
        expression: a SymPy scalar or matrix.
        remark: a sentence printed before it; empty for none.
    """

    label: str
    expression: Any
    remark: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, what is said under it, and its formulas."""

    title: str
    words: tuple[str, ...] = ()
    formulas: tuple[Formula, ...] = ()


# ---------------------------------------------------------------------- text


def as_text(sections: Iterable[Section], notation: Notation) -> str:
    """Sections for a terminal."""
    blocks = []
    for section in sections:
        lines = [section.title, "─" * width(section.title)] if section.title else []
        lines += [textwrap.fill(word, WIDTH) for word in section.words]
        for formula in section.formulas:
            lines += [textwrap.fill(formula.remark, WIDTH)] if formula.remark else []
            lines += formula_lines(formula, notation)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def formula_lines(formula: Formula, notation: Notation) -> list[str]:
    """A formula in a few lines: a matrix in brackets where it fits, entry by entry where it does not."""
    label, e = notation.label(formula.label), formula.expression
    if not hasattr(e, "shape"):
        return _wrapped(f"  {label} = ", notation.write(e))
    if not any(x != 0 for x in e):
        return [f"  {label} = 0"]
    front, matrix = _factored(e, notation)
    head = f"  {label} = " + (f"{front} " if front else "")
    rows = matrix.split("\n")
    if max(map(width, rows)) + width(head) <= WIDTH:
        middle = (len(rows) - 1) // 2
        return [(head if i == middle else " " * width(head)) + row for i, row in enumerate(rows)]
    return _entries(formula, notation)


def _entries(formula: Formula, notation: Notation) -> list[str]:
    entries, note = _entry_by_entry(formula.expression)
    label, lines = notation.label(formula.label), []
    for subscript, entry in entries:
        lines += _wrapped(f"  {label}[{subscript}] = ", notation.write(entry))
    return [*lines, f"  {note}"] if len(entries) < len(formula.expression) else lines


def _entry_by_entry(e: Any) -> tuple[list[tuple[str, Any]], str]:
    """The entries of a matrix that are not 0, with their subscripts, one of each symmetric pair; words on the rest."""
    rows, columns = e.shape
    symmetric = rows == columns and e == e.T
    indices = [(i, j) for i in range(rows) for j in range(columns) if e[i, j] != 0 and not (symmetric and j < i)]
    between = "," if max(rows, columns) > 9 else ""
    entries = [(f"{i + 1}" if columns == 1 else f"{i + 1}{between}{j + 1}", e[i, j]) for i, j in indices]
    return entries, "symmetric; entries not shown are zero" if symmetric else "entries not shown are zero"


def _factored(e: Any, notation: Notation) -> tuple[str, str]:
    """A matrix's common factor, empty for 1, and the matrix without it, written; of a scalar the scalar."""
    front, remainder = common_factor(e) if hasattr(e, "shape") else (1, e)
    return notation.write(front) if front != 1 else "", notation.write(remainder)


def _wrapped(head: str, text: str) -> list[str]:
    """A long formula broken at its signs, outside brackets where that is enough."""
    available = WIDTH - width(head)
    lines, line = [], ""
    for piece in _broken(text, available, 0):
        if line and width(line + piece) > available:
            lines.append(line.rstrip())
            line = ""
        line += piece
    lines.append(line.rstrip())
    return [(head if i == 0 else " " * width(head)) + line for i, line in enumerate(lines)]


def _broken(text: str, available: int, level: int) -> list[str]:
    """Pieces that start with a sign at one depth of brackets; those too long for a line broken at the next depth."""
    if width(text) <= available or level > 4:
        return [text]
    pieces, start, depth = [], 0, 0
    for i in range(1, len(text) - 1):
        depth += {"(": 1, ")": -1}.get(text[i - 1], 0)
        if text[i - 1 : i + 2] in (" + ", " − ") and depth == level:
            pieces.append(text[start:i])
            start = i
    pieces.append(text[start:])
    return [part for piece in pieces for part in _broken(piece, available, level + 1)]


def common_factor(matrix: Any) -> tuple[Any, Any]:
    """Powers of symbols that every entry has as a factor, and the matrix without them."""
    shared: dict[Any, int] | None = None
    for entry in matrix:
        if entry == 0:
            continue
        pairs = (factor.as_base_exp() for factor in sp.Mul.make_args(entry))
        powers = {b: int(e) for b, e in pairs if isinstance(b, sp.Symbol) and e.is_Integer and e > 0}
        shared = powers if shared is None else {s: min(e, powers[s]) for s, e in shared.items() if s in powers}
    entries = sum(entry != 0 for entry in matrix)
    if not shared or entries < 2 or matrix.shape[1] == 1:
        return sp.Integer(1), matrix
    front = sp.Mul(*(s**e for s, e in shared.items()))
    return front, sp.ImmutableMatrix([[x / front for x in row] for row in matrix.tolist()])


# ---------------------------------------------------------------------- LaTeX


def as_latex(sections: Sequence[Section], notation: Notation) -> str:
    """Sections as a LaTeX fragment that needs amsmath alone."""
    parts = []
    for section in sections:
        if section.title:
            parts.append(rf"\section*{{{_latex_text(section.title)}}}")
        parts += [_latex_text(word) for word in section.words]
        for formula in section.formulas:
            parts += [_latex_text(formula.remark)] if formula.remark else []
            right = " ".join(filter(None, _factored(formula.expression, notation)))
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


# ---------------------------------------------------------------------- HTML


def as_html(sections: Sequence[Section], notation: Notation, plain: Notation) -> str:
    """Sections as HTML with MathML, for the body of a page; `plain` is the same notation as text, to measure with."""
    parts = []
    for section in sections:
        parts.append("<section>")
        if section.title:
            parts.append(f"<h2>{html_text(section.title)}</h2>")
        parts += [f"<p>{html_text(word)}</p>" for word in section.words]
        for formula in (part for whole in section.formulas for part in fitting(whole, plain)):
            parts += [f"<p>{html_text(formula.remark)}</p>"] if formula.remark else []
            body = f"{notation.label(formula.label)}<mo>=</mo>" + "".join(_factored(formula.expression, notation))
            # In a box that scrolls sideways where it is too wide.
            parts.append(f'<div class="formula"><math displaystyle="true"><mrow>{body}</mrow></math></div>')
        parts.append("</section>")
    return "\n".join(parts)


def fitting(formula: Formula, plain: Notation) -> list[Formula]:
    """The formula itself, or its entries one by one where a matrix would be too wide to read."""
    e = formula.expression
    if not hasattr(e, "shape") or max(map(width, plain.write(e).split("\n"))) <= PAGE_WIDTH:
        return [formula]
    entries, note = _entry_by_entry(e)
    formulas = [Formula(f"{formula.label}_{subscript}".replace("__", "_"), entry) for subscript, entry in entries]
    return [replace(formulas[0], remark=f"{formula.remark} Entry by entry, {note}:".strip()), *formulas[1:]]
