"""Is this expression right, and if not, what is the smallest correction?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from palpate.errors import InvalidInput, TooLarge, UnreadableExpression, check_names
from palpate.files import read_text
from palpate.tools.review.algebra.effort import MOST_BYTES, limited
from palpate.tools.review.algebra.wanted import QUANTITIES
from palpate.tools.review.compare.case import Case, Reference
from palpate.tools.review.compare.compare import MatrixComparison, compare_matrices
from palpate.tools.review.compare.derivation import is_derivation
from palpate.tools.review.compare.references import is_robot
from palpate.tools.review.compare.together import Judged, judged_together
from palpate.tools.review.describe import Describer
from palpate.tools.review.read.dialects import translated
from palpate.tools.review.read.lexer import blanked
from palpate.tools.review.read.statements import GivenFormula, formulas
from palpate.tools.review.verdict import Verdict


def check_derivation(
    given: Any,
    reference: Any,
    what: str = "expression",
    *,
    symbols: Mapping[str, Any] | Iterable[str] | None = None,
    coordinates: Sequence[Any] | None = None,
    entry: tuple[int, int] | None = None,
    equal: Mapping[str, Sequence[str]] | None = None,
    conventions: Literal["any", "strict"] = "any",
    seed: int = 0,
) -> Verdict:
    """Check a derived expression or matrix, and mend it if it is wrong.

    Equality is decided by evaluation at random points, exactly, modulo a prime of 127 bits: an angle is a random point
    of the unit circle, every symbol a random residue. Two different expressions of degree d pass for equal with
    probability below d·1e-38. Expressions that do not fit there (exp, odd roots, numbers of many decimals) are compared
    in floats; the verdict's `method` says which it was.

    Args:
        given: text (LaTeX as printed, or plain text as in a program), a SymPy expression or matrix, nested lists.
        reference: what is right: the same kinds of thing; a derivation; a `Robot`, whose numbers are used as long as
            nothing but coordinates and rates (q1, q̇1 …) occurs, and its derivation otherwise; or a function from
            {"q1": 0.3, "dq1": 1.2, "m1": 2.0, …} to numbers, of the coordinates and of the names in `symbols`.
        what: "FK", "J", "Jdot", "h", "M", "C", "c", "g", "T", "V", "tau", "equation" or "expression". Says how shapes
            are read and which conventions there may be: for an "expression" there are none.
        symbols: what the writer's names stand for, {"L": "l1", "sigma_1": "s_{23}"}, or only which names there are.
        coordinates: the generalised coordinates in order, where the reference does not say.
        entry: (row, column) from 0, if only this entry of the quantity is given.
        equal: one name of the writer's for several symbols of the reference, {"L": ["l1", "l2", "l3"]}.
        conventions: "any" calls right what is right in another convention (the sign of gravity, another zero of an
            angle or of the potential); "strict" does not, and says which convention it would be.
        seed: chooses the random points.

    Returns:
        A Verdict: true if it agrees; else the entries that differ, a point that shows it, the slips, the mended text.

    Raises:
        UnreadableExpression: text that cannot be read, with line and column.
        UnknownSymbol: a symbol that stands for nothing known, with the nearest ones.
        BadShape: a matrix of the wrong shape.
        TooLarge: more terms than are compared, once powers, inverses and definitions are written out.
    """
    if isinstance(given, str) and len(given) > MOST_BYTES:
        raise TooLarge(f"a text of {len(given)} characters; at most {MOST_BYTES} are read")
    given = translated(given) if isinstance(given, str) else given
    with limited():
        case = Reference(reference, coordinates, equal or {}).case(given, what, symbols, entry)
        return _verdicts([case], seed, conventions)[0]


def verdicts_together(comparisons: Sequence[MatrixComparison], strict: bool) -> list[Verdict]:
    """The verdict on each of several formulas of one writer, compared already."""
    return [_verdict(one) for one in judged_together(comparisons, strict)]


def _verdicts(cases: Sequence[Case], seed: int, conventions: str) -> list[Verdict]:
    """The verdict on each of several formulas of one writer, who has one convention for all."""
    check_names("choice of conventions", [conventions], ("any", "strict"))
    cases = _free_motion(cases)
    comparisons = [compare_matrices(case, claim, seed) for case in cases for claim in case.claims]
    steps = iter([_verdict(one) for one in judged_together(comparisons, conventions == "strict")])
    return [_of_chain(list(islice(steps, len(case.claims)))) for case in cases]


def _of_chain(steps: list[Verdict]) -> Verdict:
    """The verdict on a chain of equalities: that on its first wrong part, or on the last."""
    main = next((step for step in steps if not step.agrees), steps[-1])
    return replace(main, steps=tuple(steps)) if len(steps) > 1 else main


def _free_motion(cases: Sequence[Case]) -> list[Case]:
    """Equations of motion without a single torque are those of the free motion: no term is missing."""
    equations = [case for case in cases if case.what == "equation"]
    if not equations or not all(case.is_free for case in equations):
        return list(cases)
    for case in equations:
        case.table.notes.append("no torque occurs: compared with the free motion")
    return [case.without_torques() if case.what == "equation" else case for case in cases]


def _verdict(one: Judged) -> Verdict:
    """From a comparison to a verdict: right, right otherwise, or wrong with the slips."""
    comparison, case = one.comparison, one.comparison.case
    notes = (*(note for note in comparison.notes if note), *case.table.notes)
    if one.agreement is None:
        return Describer(case, comparison).verdict((*notes, *one.notes))
    notes = (*notes, *([one.agreement.note] if one.agreement.note else []))
    return Verdict(case.what, True, one.agreement.convention, notes=notes, method=comparison.method)


def check_file(robot_or_derivation: Any, path: str | Path, **options: Any) -> list[tuple[GivenFormula, Verdict]]:
    """The verdicts on the formulas of a file, in order; `options` are those of `check_derivation`.

    Raises:
        FileError: no such file, or not a text file.
        UnreadableExpression: a formula that cannot be read.
    """
    if not is_robot(robot_or_derivation) and not is_derivation(robot_or_derivation):
        raise InvalidInput(f"{robot_or_derivation!r:.60} is neither a robot nor a derivation")
    text = read_text(path, most_bytes=MOST_BYTES)
    check_names("option", options, ("equal", "conventions", "seed"))
    with limited():
        return _file_checked(Reference(robot_or_derivation, None, options.get("equal") or {}), text, options)


def _file_checked(reference: Reference, text: str, options: dict[str, Any]) -> list[tuple[GivenFormula, Verdict]]:
    all_formulas = [_in_this_arm(one, reference.joints) for one in formulas(text)]
    checked = [one for one in all_formulas if one.what is not None]
    if not checked:
        raise UnreadableExpression(
            "no quantity to check, only definitions", text, 0, hint=f"quantities are {', '.join(QUANTITIES)}"
        )
    definitions = [(one, _right_side(one.text)) for one in all_formulas if one.what is None]
    cases = [reference.case(one.text, str(one.what), _names_for(one, definitions), one.entry) for one in checked]
    return list(zip(checked, _verdicts(cases, options.get("seed", 0), options.get("conventions", "any"))))


def _in_this_arm(one: GivenFormula, joints: int) -> GivenFormula:
    """\\ddot\\theta = … is the equation of motion of one joint; of several, each has its own, solved for it."""
    solved = one.what == "equation" and one.name.dots and joints > 1
    return replace(one, what=None) if solved else one


def _names_for(formula: GivenFormula, definitions: Sequence[tuple[GivenFormula, str]]) -> dict[str, str] | None:
    """Meanings of the names that a formula may use: their last definition above it, or else the first below."""
    names: dict[str, str] = {}
    for one, right in definitions:
        if one.line <= formula.line or one.label not in names:
            names[one.label] = right
    return names or None


def _right_side(text: str) -> str:
    """The text after the first equals sign, with everything before it blanked, so that positions stay."""
    at = text.index("=") + 1
    return blanked(text[:at]) + text[at:]
