"""A document as HTML with MathML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palpate.equations.spelling import width
from palpate.escape.documents import html_text
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.matrices import entry_by_entry, factored
from palpate.tools.derive.writing.notation import Notation

PAGE_WIDTH = 150  # columns of a matrix on a page


def as_html(sections: Sequence[Section], notation: Notation, plain: Notation) -> str:
    """Sections as HTML with MathML, for the body of a page; `plain` is the same notation as text, to measure with."""
    parts = []
    for section in sections:
        parts.append("<section>")
        if section.title:
            parts.append(f"<h2>{html_text(section.title)}</h2>")
        parts += [f"<p>{html_text(word)}</p>" for word in section.words]
        for formula in (part for whole in section.formulas for part in formulas_that_fit(whole, plain)):
            parts += [f"<p>{html_text(formula.remark)}</p>"] if formula.remark else []
            body = f"{notation.label(formula.label)}<mo>=</mo>" + "".join(factored(formula.expression, notation))
            # In a box that scrolls sideways where it is too wide.
            parts.append(f'<div class="formula"><math displaystyle="true"><mrow>{body}</mrow></math></div>')
        parts.append("</section>")
    return "\n".join(parts)


def formulas_that_fit(formula: Formula, plain: Notation) -> list[Formula]:
    """The formula itself, or its entries one by one where a matrix would be too wide to read."""
    e = formula.expression
    if not hasattr(e, "shape") or max(map(width, plain.write(e).split("\n"))) <= PAGE_WIDTH:
        return [formula]
    entries, note = entry_by_entry(e)
    formulas = [Formula(f"{formula.label}_{subscript}".replace("__", "_"), entry) for subscript, entry in entries]
    return [replace(formulas[0], remark=f"{formula.remark} Entry by entry, {note}:".strip()), *formulas[1:]]
