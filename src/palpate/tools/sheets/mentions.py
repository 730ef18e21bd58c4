"""Names in the statements of a document: on left sides, and mentioned anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from palpate.errors import UnreadableExpression
from palpate.tools.review.algebra.names import spelled
from palpate.tools.review.algebra.tree import Name
from palpate.tools.review.read.labels import entry_indices, label_name
from palpate.tools.sheets.notions import Label, Notion, label_of, notion
from palpate.tools.sheets.statements import Statement

_DERIVED = re.compile(r"\\partial|\\frac\{?d\}?\{?dt|\\sum|\\int|\\delta|\\Delta")
_WORD = re.compile(
    r"[A-Za-z]\w*\s*[\[(]\s*\d+\s*(?:,|\]\s*\[)\s*\d+\s*[\])]"
    r"|(?:\\d{1,3}ot\s*\{?\s*)?(?:\\?[A-Za-zͰ-Ͽ]+)\}?(?:\s*_\s*(?:\{[^{}]*\}|[A-Za-z0-9]+))?"
)
_NUMBERED = re.compile(r"(?<![\\\w])[A-Za-z]+\d+\w*")  # a1, c12 of a program
_ALIAS = re.compile(r"\\?[A-Za-z]\w*(?:_\{[\w,]+\})?")
_MOTION = re.compile(r"\\ddot|̈|\bdd[a-z]|\bq_?dd|\\frac\{d\^\{?2")


def name_of(left: str) -> Name | None:
    """The symbol that a left side is, an entry such as M[0, 1] among them; None if it is more than a name."""
    label = label_of(left)
    if label is None and not re.fullmatch(r"[A-Za-z]\w*\s*[\[(][\d\s,\[\]().]*[\])]", left.strip()):
        return None
    try:
        return label_name(with_scripts(left))
    except UnreadableExpression:
        return None


def with_scripts(left: str) -> str:
    """A left side with its dots and its subscript, without arguments, frames and type styles."""
    label = label_of(left)
    if label is None:
        return left
    dots = {0: "{}", 1: "\\dot{{{}}}", 2: "\\ddot{{{}}}", 3: "\\dddot{{{}}}"}[label.dots]
    return dots.format(label.base) + (f"_{{{label.below}}}" if label.below else "")


def plain_label(label: Label) -> str:
    """A name with its subscript."""
    return label.base + (f"_{{{label.below}}}" if label.below else "")


def spellings_of(left: str, name: Name) -> list[str]:
    """The ways in which other formulas write a name: as on its left side; an entry also with and without a comma."""
    text = with_scripts(left)
    if label_of(left) is None:  # M[0, 1], M(1,2)
        text = f"{name.base}_{{{name.sub}}}"
    indices = entry_indices(name.sub)
    if not indices or name.dots:
        return [text]
    base = name.base
    return [text, f"{base}_{{{indices[0]}{indices[1]}}}", f"{base}_{{{indices[0]},{indices[1]}}}"]


def mentioned_names(one: Statement) -> set[Name]:
    """The names on the right of a statement, and on the left where that is more than a name."""
    first = 1 if label_of(one.side(0)) is not None else 0
    names: set[Name] = set()
    for number in range(first, len(one.sides)):
        text = re.sub(
            r"\\(?:mathbf|mathrm|boldsymbol|bm|operatorname|text|mathcal)\s*\{([^{}]*)\}", r"\1", one.side(number)
        )
        for word in (*_WORD.findall(text), *_NUMBERED.findall(text)):
            try:
                names.add(label_name(word))
                names.add(spelled(word))
            except UnreadableExpression:
                continue
    return names


def names_in(texts: Iterable[str], meanings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of many names that may occur in texts, or in the meanings of those that do, and other names for symbols.

    Those are needed to call a symbol as the writer does. Where letters are unusual, all are taken.
    """
    squeezed = "".join(map(_squeezed, texts))
    if not squeezed.isascii():
        return dict(meanings)
    chosen = {name: meaning for name, meaning in meanings.items() if _ALIAS.fullmatch(str(meaning).strip())}
    while True:
        more = {k: v for k, v in meanings.items() if k not in chosen and _squeezed(k) in squeezed}
        if not more:
            return chosen
        chosen |= more
        squeezed += "".join(_squeezed(str(one)) for one in more.values())


def _squeezed(text: str) -> str:
    """A text without braces, spaces and signs, so that pl_{21} is found in p l_{2,1}."""
    return re.sub(r"[\s{}_,^\\()\[\]$]", "", text)


def is_equation(one: Statement) -> bool:
    """Whether a statement is an equation of motion: accelerations in a sum, or one of them alone on the left."""
    if len(one.sides) != 2 or one.kind == "code":
        return False
    text = one.side(0) + one.side(1)
    if not _MOTION.search(text) or "matrix" in text:
        return False
    label = label_of(one.side(0))
    return label is None or label.dots == 2 or label.base.startswith("dd")


def is_reference(text: str, meant: Notion, joints: int, more: bool) -> bool:
    """Whether a part of a chain only names the quantity again: M_{12} = M_{21} = …, ∂L/∂θ = ∂V/∂θ = …."""
    other = notion(text, "", joints)
    return more and other is not None and (other.what == meant.what or "∂" in other.title)


def reason_to_skip(label: str, one: Statement) -> str:
    """Why a statement is not judged."""
    if label_of(one.side(0)) is None:
        return "an equation between names, not a formula of the arm"
    if _DERIVED.search(one.side(-1)):
        return "derivatives, sums or integrals that are not carried out"
    return "a name that is no quantity of the arm, and that no formula uses"
