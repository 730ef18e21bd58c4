"""Table of gains: unit, meaning, and how C may change each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from palpate.tools.exporting.code.image import Part
from palpate.tools.exporting.code.objects import template_text
from palpate.tools.exporting.code.tuning import DEFINITE, FREE, SCALED

_KINDS = {"": 0, "free": FREE, "definite": DEFINITE, "scaled": SCALED}


@dataclass(frozen=True)
class GainAbout:
    """A gain's unit, a sentence, and how it may be changed (0: not alone)."""

    unit: str = ""
    about: str = ""
    kind: int = 0


@cache
def _table() -> dict[str, GainAbout]:
    table = {}
    for line in template_text("gains.txt").splitlines():
        name, text = line.split(" = ", 1)
        unit, about, *kind = (word.strip() for word in text.split("|"))
        table[name] = GainAbout(unit, about, _KINDS[kind[0] if kind else ""])
    return table


def gain_about(part: Part) -> GainAbout:
    """The table's row for a gain; an entry of a list has the list's row, a gain of a user's law an empty one."""
    name = "_".join(part.path)
    return _table().get(name) or _table().get(re.sub(r"_\d+", "", name), GainAbout())


def kind_of(part: Part) -> int:
    """How a gain that may be changed is checked: a square matrix as a whole, others number by number."""
    kind = gain_about(part).kind
    if kind == SCALED:
        return SCALED
    return DEFINITE if part.shape == (6, 6) else FREE
