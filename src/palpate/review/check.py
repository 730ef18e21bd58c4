"""Is this expression right, and if not, what is the smallest correction?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from palpate.errors import BadShape, FileError, InvalidInput, PalpateError, UnknownName, UnreadableExpression
from palpate.review.algebra.wanted import QUANTITIES, Wanted
from palpate.review.compare.case import Case, Symbols, case, is_robot
from palpate.review.compare.compare import Comparison, compared
from palpate.review.compare.derivations import is_derivation
from palpate.review.describe import Describer
from palpate.review.read.statements import Formula, formulas
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
    if conventions not in ("any", "strict"):
        raise UnknownName("choice of conventions", conventions, ("any", "strict"))
    review_case = case(given, reference, what, symbols, coordinates, equal or {})
    if entry is not None:
        review_case = replace(
            review_case, wanted=_one_entry(review_case, entry), what="expression"
        )  # one entry shows no convention
    steps = [_verdict(review_case, number, seed, conventions == "strict") for number in range(len(review_case.claims))]
    if len(steps) == 1:
        return steps[0]
    main = next((step for step in steps if not step.agrees), steps[-1])
    return replace(main, steps=tuple(steps))


def _one_entry(review_case: Case, entry: tuple[int, int]) -> Wanted:
    rows, columns = review_case.wanted.shape
    if not (0 <= entry[0] < rows and 0 <= entry[1] < columns):
        raise BadShape(f"entry ({entry[0] + 1},{entry[1] + 1}) of {review_case.what}, which is {rows}×{columns}")
    return review_case.wanted.chosen((entry[0],), (entry[1],))


def _verdict(review_case: Case, number: int, seed: int, strict: bool) -> Verdict:
    comparison = compared(review_case, review_case.claims[number], seed)
    return _Judge(review_case, comparison, strict).verdict()


@dataclass(frozen=True)
class _Judge:
    """From a comparison to a verdict: equal, equal in part, equal otherwise, or wrong."""

    case: Case
    comparison: Comparison
    strict: bool

    def verdict(self) -> Verdict:
        """The verdict."""
        if not self.comparison.differing:
            return self._agreeing()
        for reason in self._excuses():
            if (text := reason()) is not None:
                return text
        return self._differing()

    def _excuses(self) -> list[Callable[[], Verdict | None]]:
        return [self._rounded, self._same_forces, self._multiple, self._constant, self._convention]

    def _agreeing(self, *notes: str, convention: str = "") -> Verdict:
        return Verdict(
            self.case.what, True, convention, notes=self._notes(*notes), method=self.comparison.method
        )  # fmt: skip

    def _notes(self, *notes: str) -> tuple[str, ...]:
        return (*(note for note in self.comparison.notes if note), *self.case.table.notes, *notes)

    def _rounded(self) -> Verdict | None:
        return self._agreeing("agrees to the digits printed") if self.comparison.agrees_to_the_digits() else None

    def _same_forces(self) -> Verdict | None:
        if self.case.what != "C" or not self.comparison.same_forces():
            return None
        return self._agreeing("C itself is another factorisation: C is not unique, C q̇ is, and C q̇ agrees")

    def _multiple(self) -> Verdict | None:
        factors = self.comparison.multiples() if self.case.what == "equation" else None
        if factors is None:
            return None
        describer = Describer(self.case, self.comparison)
        multiplier = ", ".join(dict.fromkeys(describer.printer.node(factor) for factor in factors))
        return self._agreeing(f"the same equation, multiplied by {multiplier}")

    def _constant(self) -> Verdict | None:
        if self.case.what != "V" or not self.comparison.differs_by_a_constant():
            return None
        return self._excused("another zero of the potential energy (a constant difference)")

    def _convention(self) -> Verdict | None:
        name = self.comparison.convention()
        return self._excused(name) if name else None

    def _excused(self, convention: str) -> Verdict | None:
        """Right in another convention, unless conventions do not count or a slip is likelier."""
        if self.strict or self.comparison.alone:
            self.comparison.notes.append(f"it is right as it stands in another convention: {convention}")
            return None
        return self._agreeing(convention=convention)

    def _differing(self) -> Verdict:
        return Describer(self.case, self.comparison).verdict(self._notes())


__all__ = ["Symbols", "check_derivation"]


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
