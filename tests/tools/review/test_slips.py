"""Seeded slips in M, C, g and J of 2- and 3-link arms: found, mended at no greater cost, and fast.

PALPATE_SLIPS=full runs the full counts (1000 single slips, 200 double ones, 200 right expressions in another form).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import sympy
from sympy.simplify.fu import TR7, TR8, TR11

from counting import calls
from palpate.tools.review import Verdict, check_derivation
from palpate.tools.review.algebra.convert import from_sympy, spellings
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.points import Real, Space
from palpate.tools.review.algebra.printing import Printer
from palpate.tools.review.algebra.tree import Grid, Name, Node, Num, Sum, Sym, Trig, as_grid, fresh, grid, substitute
from palpate.tools.review.mend.edits import COSTS
from palpate.tools.review.read.reading import SymbolText

sp: Any = sympy
FULL = os.environ.get("PALPATE_SLIPS") == "full"
SINGLE, DOUBLE, RIGHT = (1000, 200, 200) if FULL else (150, 30, 60)
ARMS = ("planar2", "planar3", "spatial3")
PLACES = 3  # points of the independent check, in floats


@dataclass(frozen=True)
class Written:
    """A quantity as a student wrote it: the text, what is right, and what the slips in it cost."""

    text: str
    right: Any
    what: str
    kinds: tuple[str, ...]
    cost: float
    names: list[str]
    coordinates: list[str]

    def checked(self) -> Verdict:
        return check_derivation(self.text, self.right, self.what, symbols=self.names, coordinates=self.coordinates)


class Student:
    """Writes right quantities with slips, in LaTeX or plain text, multiplied out or not."""

    def __init__(self, seed: int, make_arm: Callable[[str], Any], slip_maker: Any) -> None:
        self.random, self.make_arm, self.slip_maker = Random(seed), make_arm, slip_maker
        self._read: dict[tuple[str, str, bool], tuple[Any, Grid, SymbolTable]] = {}

    def written(self, slips: int) -> Iterator[Written]:
        while True:
            arm, what = self.make_arm(self.random.choice(ARMS)), self.random.choice("MCgJ")
            right, given, table = self._quantity(arm, what, self.random.random() < 1 / 3)
            places = [(place, node) for place, node in given.entries() if not isinstance(node, Num)]
            (i, j), entry = self.random.choice(places)
            names = sorted(n for n in table.known if n not in table.coordinates and (what == "C" or not n.dots))
            made = self._wrong(entry, slips, names, table)
            if made is None:
                continue
            wrong, kinds = made
            rows = [
                [wrong if (r, c) == (i, j) else node for c, node in enumerate(row)] for r, row in enumerate(given.rows)
            ]
            text = Printer(table, self.random.random() < 0.5).value(grid(rows))
            yield Written(text, right, what, kinds, sum(COSTS[kind] for kind in kinds), [table.plain(n) for n in names],
                          [str(q) for q in arm.coordinates])  # fmt: skip

    def _quantity(self, arm: Any, what: str, expanded: bool) -> tuple[Any, Grid, SymbolTable]:
        key = (arm.name, what, expanded)
        if key not in self._read:
            right = arm.quantity(what)
            table = SymbolTable(coordinates=[str(one) for one in arm.coordinates])
            table.learn(spellings([sp.Matrix(arm.rates), arm.M, arm.C, arm.g, arm.J]))
            form = right.applyfunc(sp.expand) if expanded else right
            self._read[key] = (right, as_grid(from_sympy(form, table)).each(_short), table)
        return self._read[key]

    def _wrong(
        self, entry: Node, slips: int, names: list[Name], table: SymbolTable
    ) -> tuple[Node, tuple[str, ...]] | None:
        q = [Sym(name) for name in table.coordinates]
        angles: list[Node] = [*q, *(Sum(tuple(q[i:j])) for i in range(len(q)) for j in range(i + 2, len(q) + 1))]
        maker = self.slip_maker(self.random, names, table.coordinates, angles)
        tree, kinds = fresh(entry), []
        for _ in range(slips):
            slip = maker.make(fresh(tree))
            if slip is None:
                return None
            tree, kinds = slip.tree, [*kinds, slip.kind]
        return None if _same(tree, entry) else (tree, tuple(kinds))


def _short(node: Node) -> Node:
    return substitute(
        node, lambda one: Trig(one.function, one.angle, True) if isinstance(one, Trig) and not one.short else None
    )


def _same(a: Node, b: Node) -> bool:
    """Whether two expressions agree, in floats: independent of the arithmetic that is tested."""
    space = Space(Real(None), [])
    return all(abs(space.point(n).of(a) - space.point(n).of(b)) < 1e-9 for n in range(PLACES))


def is_right(verdict: Verdict, one: Written) -> bool:
    """Whether the mended text is right, by reading it again and evaluating it in floats."""
    table = SymbolTable(one.names, one.coordinates)
    table.learn(spellings([one.right]))
    mended = as_grid(SymbolText(str(verdict.mended), table).claims()[0])
    wanted = as_grid(from_sympy(one.right, table))
    return all(_same(a, b) for (_, a), (_, b) in zip(mended.entries(), wanted.entries()))


def run(student: Student, count: int, slips: int) -> tuple[list[Written], list[int]]:
    """What was not mended at the cost of what was done, and how many calls each took."""
    missed, work = [], []
    for one, _ in zip(student.written(slips), range(count)):
        verdicts: list[Verdict] = []
        work.append(calls(lambda one=one, verdicts=verdicts: verdicts.append(one.checked())))
        (verdict,) = verdicts
        mended = verdict.repaired and verdict.cost <= one.cost + 1e-9
        if mended:
            assert is_right(verdict, one), str(verdict)
        else:
            missed.append(one)
    return missed, work


def test_single_slips_are_mended_at_no_greater_cost_and_by_little_work(make_arm: Any, slip_maker: Any) -> None:
    missed, work = run(Student(1, make_arm, slip_maker), SINGLE, 1)
    kinds = [(one.what, one.kinds) for one in missed]
    print(f"{SINGLE - len(missed)} of {SINGLE}, median {median(work):.0f} calls, most {max(work)}")
    assert len(missed) <= 0.05 * SINGLE, kinds
    assert median(work) < 100_000  # some 10 ms
    assert max(work) < 2_000_000


def test_double_slips_in_one_entry_are_mostly_mended(make_arm: Any, slip_maker: Any) -> None:
    missed, work = run(Student(2, make_arm, slip_maker), DOUBLE, 2)
    print(f"{DOUBLE - len(missed)} of {DOUBLE}, median {median(work):.0f} calls, most {max(work)}")
    assert len(missed) <= 0.3 * DOUBLE, [(one.what, one.kinds) for one in missed]


# ------------------------------------------------------------------ right expressions, written otherwise


def _doubled(entry: Any) -> Any:
    """sin² and cos² by double angles, products of sines by sums of angles."""
    return TR8(TR7(sp.expand(entry)))


FORMS: list[Callable[[Any], Any]] = [
    sp.expand, sp.factor, _doubled, sp.expand_trig, lambda e: TR11(_doubled(e)), lambda e: sp.expand(sp.expand_trig(e)),
]  # fmt: skip
LETTERS = {"theta": r"\theta", "phi": r"\varphi", "q": "q"}


def _latex(matrix: Any, letter: str, coordinates: list[Any], rates: list[Any]) -> str:
    """SymPy's own LaTeX, the joints called otherwise."""
    names = {q: rf"{LETTERS[letter]}_{{{i}}}" for i, q in enumerate(coordinates, 1)}
    names |= {v: rf"\dot{{{LETTERS[letter]}}}_{{{i}}}" for i, v in enumerate(rates, 1)}
    return sp.latex(matrix, symbol_names=names)


def test_right_expressions_in_other_forms_raise_no_false_alarm(make_arm: Any) -> None:
    random = Random(3)
    for _ in range(RIGHT):
        arm, what = make_arm(random.choice(ARMS)), random.choice("MCgJ")
        right = arm.quantity(what)
        other = right.applyfunc(random.choice(FORMS))
        if random.random() < 0.5:
            given: Any = _latex(other, random.choice(list(LETTERS)), arm.coordinates, arm.rates)
        else:
            given = random.choice([other, str(other.tolist())])
        verdict = check_derivation(given, right, what, coordinates=arm.coordinates)
        assert verdict.agrees, f"{arm.name} {what}: {verdict}"
        assert not verdict.convention
