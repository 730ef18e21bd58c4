"""Every exception palpate raises: one tree, rooted at PalpateError.

A message says what is wrong, where, what was found and what would be valid; `hint` says what to try.
The command line prints both and exits with code 2; nothing here ever shows a traceback to a user.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PalpateError(Exception):
    """Base of every error palpate raises.

    Attributes:
        hint: what to try next, or None.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n  hint: {self.hint}" if self.hint else message


class InvalidInput(PalpateError, ValueError):
    """A value that breaks a rule: out of range, contradictory, or not physical."""


class BadShape(InvalidInput):
    """An array of the wrong shape."""


class NotFinite(InvalidInput):
    """A NaN or infinity where a number is needed."""


class BadRotation(InvalidInput):
    """A matrix that is no rotation, or a quaternion or axis without a direction."""


class UnknownName(PalpateError, LookupError):
    """A name that does not exist; the message lists the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = nearest(name, self.known)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else None
        listed = ", ".join(self.known) if self.known else "none"
        super().__init__(f"unknown {kind} {name!r}; known: {listed}", hint=hint)


class ModelError(InvalidInput):
    """A robot model that cannot be trusted; `findings` lists every problem of the file."""

    def __init__(self, message: str, findings: Iterable[object] = (), *, hint: str | None = None) -> None:
        self.findings = list(findings)
        super().__init__(message, hint=hint)


class TraceError(InvalidInput):
    """A trace that is foreign, damaged, or asked for what it does not hold."""


class NoSolution(PalpateError):
    """A solver found no answer. Subclasses carry the evidence."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names closest in spelling to `name`, best first."""
    return difflib.get_close_matches(name, list(known), n=count, cutoff=0.5)
