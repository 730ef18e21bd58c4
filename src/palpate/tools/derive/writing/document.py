"""A document of formulas: its sections, independent of how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
