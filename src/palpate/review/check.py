"""Is this expression right, and if not, what is the smallest correction?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from palpate.errors import BadShape, FileError, InvalidInput, PalpateError, UnreadableExpression, check_names
from palpate.review.algebra.printing import Printer
from palpate.review.algebra.tree import Grid, as_grid
from palpate.review.algebra.wanted import QUANTITIES
from palpate.review.compare.case import Case, case, is_derivation, is_robot
from palpate.review.compare.compare import MatrixComparison, compared
from palpate.review.describe import Describer
from palpate.review.read.lexer import blanked
from palpate.review.read.statements import GivenFormula, formulas
from palpate.review.verdict import Verdict


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
    """Check an expression or a matrix somebody derived, and mend it if it is wrong.

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
    """
    check_names("choice of conventions", [conventions], ("any", "strict"))
    review_case = case(given, reference, what, symbols, coordinates, equal or {})
    if entry is not None:  # one entry shows no convention
        review_case = replace(review_case, wanted=_one_entry(review_case, entry), what="expression")
    steps = [_verdict(review_case, claim, seed, conventions == "strict") for claim in review_case.claims]
    if len(steps) == 1:
        return steps[0]
    main = next((step for step in steps if not step.agrees), steps[-1])
    return replace(main, steps=tuple(steps))


def _one_entry(review_case: Case, entry: tuple[int, int]) -> Grid:
    rows, columns = review_case.wanted.shape
    if not (0 <= entry[0] < rows and 0 <= entry[1] < columns):
        raise BadShape(f"entry ({entry[0] + 1},{entry[1] + 1}) of {review_case.what}, which is {rows}×{columns}")
    return as_grid(review_case.wanted[entry])


def _verdict(case: Case, claim: Grid, seed: int, strict: bool) -> Verdict:
    """From a comparison to a verdict: equal, equal in part, equal otherwise, or wrong."""
    comparison = compared(case, claim, seed)

    def notes() -> tuple[str, ...]:
        return (*(note for note in comparison.notes if note), *case.table.notes)

    def agreeing(*more: str, convention: str = "") -> Verdict:
        return Verdict(case.what, True, convention, notes=(*notes(), *more), method=comparison.method)

    if not comparison.differing:
        return agreeing()
    if comparison.agrees_to_the_digits():
        return agreeing("agrees to the digits printed")
    if case.what == "C" and comparison.same_forces():
        return agreeing("C itself is another factorisation: C is not unique, C q̇ is, and C q̇ agrees")
    if case.what == "equation" and (factors := comparison.multiples()) is not None:
        multiplier = ", ".join(dict.fromkeys(map(Printer(case.table, case.latex).node, factors)))
        return agreeing(f"the same equation, multiplied by {multiplier}")
    for convention in _conventions(comparison):
        if not strict and not comparison.alone:
            return agreeing(convention=convention)
        comparison.notes.append(f"it is right as it stands in another convention: {convention}")
    return Describer(case, comparison).verdict(notes())


def _conventions(comparison: MatrixComparison) -> Iterator[str]:
    """Other conventions in which it is right."""
    if comparison.case.what == "V" and comparison.differs_by_a_constant():
        yield "another zero of the potential energy (a constant difference)"
    if name := comparison.convention():
        yield name


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
        print(_report(formula, verdict))
    wrong = sum(not verdict.agrees for _, verdict in verdicts)
    print(f"{len(verdicts)} checked: {'all agree' if not wrong else f'{wrong} differ' + ('s' if wrong == 1 else '')}")
    return 1 if wrong else 0


def check_file(robot_or_derivation: Any, path: str | Path, **options: Any) -> list[tuple[GivenFormula, Verdict]]:
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
    options |= {"symbols": names or None}
    return [
        (one, check_derivation(one.text, robot_or_derivation, str(one.what), entry=one.entry, **options))
        for one in checked
    ]


def _right_side(text: str) -> str:
    """What follows the first equals sign, with everything before it blanked, so that positions stay."""
    at = text.index("=") + 1
    return blanked(text[:at]) + text[at:]


def _report(formula: GivenFormula, verdict: Verdict) -> str:
    """The verdict, and the mended formula if it is a matrix."""
    lines = [str(verdict).replace(f"{verdict.what}:", f"{formula.label} (line {formula.line}):", 1)]
    if verdict.mended is not None and len(str(verdict.mended).splitlines()) > 1:
        lines += [f"  {formula.label} =", *(f"    {line}" for line in str(verdict.mended).splitlines())]
    return "\n".join(lines)
