"""How much one check may cost, counted and not timed, so that every machine draws the line at the same formula.

A short text can stand for much: a matrix to a power, an inverse, a cotangent of a cotangent, definitions that use
definitions. What it stands for is counted in symbols and operations before it is written out, and whatever is done to
them afterwards in steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from palpate.errors import TooLarge

MOST_BYTES = 500_000  # of a text with formulas
MOST_TOKENS = 250_000  # of a text, its abbreviations written out
MOST_TERMS = 200_000  # symbols, numbers and operations of an expression or matrix, written out
MOST_FORMULAS = 2000  # of a file, definitions among them
MOST_EQUAL = 300  # expressions that are said to be equal
MOST_DIGITS = 300  # of a number, and of its power of ten
MOST_STEPS = 5_000_000  # of one check: nodes read, copied, evaluated, changed; about a microsecond each
MOST_SEARCHED = 1_000_000  # of them: for the slips of one entry

_HINT = "give parts of it names of their own and check them one by one"


class _Account:
    """Steps that are left to the check under way; None where none is."""

    left: int | None = None


_account = _Account()


@contextmanager
def limited(steps: int = MOST_STEPS) -> Iterator[None]:
    """Limit the steps of the work inside; within another limit, the outer one counts."""
    if _account.left is not None:
        yield
        return
    _account.left = steps
    try:
        yield
    except RecursionError as error:
        raise TooLarge("a formula that is nested too deeply", hint=_HINT) from error
    finally:
        _account.left = None


@contextmanager
def portion(steps: int) -> Iterator[None]:
    """Limit the steps of the work inside to `steps`, and to half of those that are left."""
    whole = _account.left
    if whole is None:
        yield
        return
    _account.left = given = min(whole // 2, steps)
    try:
        yield
    finally:
        _account.left = whole - (given - max(_account.left, 0))


def spend(steps: int = 1) -> None:
    """Count steps.

    Raises:
        TooLarge: there are none left.
    """
    if _account.left is None:
        return
    _account.left -= steps
    if _account.left < 0:
        raise TooLarge(f"checking this takes more than {MOST_STEPS} steps", hint=_HINT)


def check_count(count: int, most: int, what: str) -> None:
    """Refuse more formulas, or sides of an equation, than are compared.

    Raises:
        TooLarge: how many there are.
    """
    if count > most:
        raise TooLarge(f"{count} {what}; at most {most} are checked at once", hint="divide the file")


def check_terms(count: int, what: str) -> None:
    """Refuse an expression that has too many terms once it is written out.

    Raises:
        TooLarge: how many it would have.
    """
    if count > MOST_TERMS:
        shown = str(count) if count < 10**12 else f"10^{len(str(count)) - 1}"
        raise TooLarge(
            f"{what} written out has {shown} symbols and operations; at most {MOST_TERMS} are compared", hint=_HINT
        )
