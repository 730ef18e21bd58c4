"""Pages that palpate printed, read back: titles and notes blanked, drawn matrices made lists."""

from __future__ import annotations

import re
from itertools import groupby

from palpate.tools.review.read.lexer import blanked

_RULE = "───"


def is_palpate_page(text: str) -> bool:
    """Whether a text is a page that palpate printed."""
    return _RULE in text


def without_decoration(text: str) -> str:
    """A page of palpate: titles, notes and lists of symbols blanked, matrices drawn with brackets made lists."""
    lines = text.split("\n")
    kept = blanked(text).split("\n")
    ending = next((i for i, line in enumerate(lines) if line.startswith(("Shorthand:", "Symbols:"))), len(lines))
    for i in range(ending):
        if lines[i].startswith("  ") and not lines[i].rstrip().endswith("entries not shown are zero"):
            kept[i] = lines[i]
    rows = [i for i in range(len(kept)) if re.match(r"[^\[\]]*\[ .* \]\s*$", kept[i])]
    for _, run in groupby(enumerate(rows), key=lambda pair: pair[1] - pair[0]):  # rows that follow each other
        _draw_in_lists(kept, [i for _, i in run])
    page = re.sub(r"\[(\d+,\d+)\](?= = )", r"(\1)", "\n".join(kept))  # M[10,2] of a large arm: M(10,2)
    return re.sub(r"\[(\d{1,2})\](?= = )", r"_\1 ", page)


def _draw_in_lists(lines: list[str], block: list[int]) -> None:
    """[ a   b ] over [ c   d ] becomes [ a , b ; c , d ]; the name moves to the first row."""
    heads = [lines[i].index("[ ") for i in block]
    named = next((i for i, at in zip(block, heads) if lines[i][:at].strip()), block[0])
    label = lines[named][: heads[block.index(named)]]
    for i, at in zip(block, heads):
        row = lines[i][at + 1 :].rstrip()[:-1]
        entries = re.sub(r" {3,}(?=\S)", lambda gap: "," + " " * (len(gap[0]) - 1), row.rstrip()).ljust(len(row))
        opened = f"{label}[" if i == block[0] else " " * (at + 1)
        lines[i] = opened + entries + ("]" if i == block[-1] else ";")
