"""Notes to the user that need no answer: each is printed once, by the first of all processes that a command starts."""

from __future__ import annotations

import hashlib
import os
import sys

_PRINTED = "PALPATE_NOTES_PRINTED"


def note(text: str) -> None:
    """Print a note to stderr, unless this process or the one that started it has done so."""
    printed = os.environ.get(_PRINTED, "").split()
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    if mark not in printed:
        os.environ[_PRINTED] = " ".join([*printed, mark])
        print(f"note: {text}", file=sys.stderr, flush=True)
