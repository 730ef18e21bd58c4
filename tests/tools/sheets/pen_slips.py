"""Slips of the pen in a document's formulas: one sign, sine, index, exponent or dot changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

_EDITS = [
    ("sign", re.compile(r"(?<=[\w})] )[+-](?= )")),
    ("sine", re.compile(r"\\(?:sin|cos)\b|(?<![\\A-Za-z])[cs](?=_\{?\d)")),
    ("index", re.compile(r"(?<=[lmqacdr]_\{)\d(?=[},a-z])|(?<=[lmqad]_)\d|(?<=[cs]_\{)\d(?=\d*\})|(?<=[cs]_)\d")),
    ("exponent", re.compile(r"\^\{2\}|\^2")),
]
_OTHER = {"+": "-", "-": "+", "\\sin": "\\cos", "\\cos": "\\sin", "s": "c", "c": "s"}


def slips(text: str, joints: int, random: Random) -> Iterator[tuple[str, int, str]]:
    """Edited texts without end: the kind of slip, its position, the text."""
    places = [(kind, match) for kind, pattern in _EDITS for match in pattern.finditer(text)]
    places = [(kind, match) for kind, match in places if "begin" not in text[match.start() - 12 : match.start()]]
    kinds = sorted({kind for kind, _ in places})
    while True:
        kind = random.choice(kinds)
        match = random.choice([one for k, one in places if k == kind])
        was = match[0]
        if kind == "index":
            other = random.choice([digit for digit in map(str, range(1, joints + 1)) if digit != was] or ["9"])
        else:
            other = "" if kind == "exponent" else _OTHER[was]
        yield kind, match.start(), text[: match.start()] + other + text[match.end() :]
