"""`palpate derive ROBOT --check FILE`: every formula of a file, checked and mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from palpate.errors import FileError, InvalidInput, PalpateError, UnreadableExpression
from palpate.review.algebra.quantities import QUANTITIES
from palpate.review.check import check_derivation
from palpate.review.compare.case import is_robot
from palpate.review.compare.derivations import is_derivation
from palpate.review.read.statements import Formula, formulas
from palpate.review.verdict import Verdict


def cli_check(robot_or_derivation: Any, path: str | Path, **options: Any) -> int:
    """Check every formula of a file against a robot or a derivation, and print what was found.

    Args:
        robot_or_derivation: what is right.
        options: `equal` and `conventions` of `check_derivation`.
        path: a text file with lines such as `M = \\begin{bmatrix} … \\end{bmatrix}` or `g = …` (see `statements`).

    Returns:
        0 if everything agrees, 1 if something differs, 2 if the file cannot be read.
    """
    import sys

    try:
        verdicts = check_file(robot_or_derivation, path, **options)
    except PalpateError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 2
    for formula, verdict in verdicts:
        print(_told(formula, verdict))
    wrong = sum(not verdict.agrees for _, verdict in verdicts)
    print(f"{len(verdicts)} checked: {'all agree' if not wrong else f'{wrong} differ' + ('s' if wrong == 1 else '')}")
    return 1 if wrong else 0


def check_file(robot_or_derivation: Any, path: str | Path, **options: Any) -> list[tuple[Formula, Verdict]]:
    """The verdicts on the formulas of a file, in order; `options` are those of `check_derivation`.

    Raises:
        FileError: no such file, or not a text file.
        UnreadableExpression: a formula that cannot be read.
    """
    if not is_robot(robot_or_derivation) and not is_derivation(robot_or_derivation):
        raise InvalidInput(f"{robot_or_derivation!r:.60} is neither a robot nor a derivation")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    all_formulas = formulas(text)
    names = {one.label: _right_side(one.text) for one in all_formulas if one.what is None}
    checked = [one for one in all_formulas if one.what is not None]
    if not checked:
        raise UnreadableExpression(
            "no quantity to check, only definitions", text, 0, hint=f"quantities are {', '.join(QUANTITIES)}"
        )
    return [(one, _checked(one, robot_or_derivation, names, options)) for one in checked]


def _checked(one: Formula, reference: Any, names: dict[str, str], options: dict[str, Any]) -> Verdict:
    assert one.what is not None
    return check_derivation(one.text, reference, one.what, symbols=names or None, entry=one.entry, **options)


def _right_side(text: str) -> str:
    """What follows the first equals sign, with everything before it blanked, so that positions stay."""
    at = text.index("=") + 1
    return "".join(letter if letter == "\n" else " " for letter in text[:at]) + text[at:]


def _told(formula: Formula, verdict: Verdict) -> str:
    """The verdict, and the mended formula if it is a matrix."""
    lines = [str(verdict).replace(f"{verdict.what}:", f"{formula.label} (line {formula.line}):", 1)]
    if verdict.mended is not None and len(str(verdict.mended).splitlines()) > 1:
        lines += [f"  {formula.label} =", *(f"    {line}" for line in str(verdict.mended).splitlines())]
    return "\n".join(lines)
