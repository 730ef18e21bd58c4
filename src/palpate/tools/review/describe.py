"""From entries that differ to words: a point that shows it, the slips, the mended text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

from palpate.errors import DoesNotFit, TooLarge, UnluckyPoint
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.effort import MOST_SEARCHED, portion
from palpate.tools.review.algebra.points import PI, Point, Real, Space
from palpate.tools.review.algebra.printing import Printer
from palpate.tools.review.algebra.tree import (
    Grid,
    Name,
    Node,
    Ref,
    Span,
    Sym,
    Trig,
    distinct,
    grid,
    rename,
    substitute,
    symbols,
    walk,
)
from palpate.tools.review.compare.case import Case
from palpate.tools.review.compare.compare import EntryIndex, MatrixComparison
from palpate.tools.review.compare.slips import matrix_slip, matters, renamed_mostly
from palpate.tools.review.mend.edits import COSTS
from palpate.tools.review.mend.repair import Repair, Repairer
from palpate.tools.review.verdict import Difference, Verdict

_LONGEST = 3000  # nodes of an expression that is still printed


class Describer:
    """Makes the verdict on a quantity that differs."""

    def __init__(self, case: Case, comparison: MatrixComparison) -> None:
        self.case, self.comparison = case, comparison
        self.printer = Printer(case.table, case.latex)
        nodes = distinct(*(entry for _, entry in comparison.given.entries()))
        self.short = any(isinstance(node, Trig) and node.short for node in nodes)

    def verdict(self, notes: tuple[str, ...]) -> Verdict:
        """The verdict, with every entry corrected that can be."""
        rows = [list(row) for row in self.comparison.given.rows]
        differences = []
        if self._swapped():
            (i, j), (k, m) = self.comparison.differing
            rows[i][j], rows[k][m] = rows[k][m], rows[i][j]
            message = f"({i + 1},{j + 1}) and ({k + 1},{m + 1}) stand in each other's place"
            return self._together("swapped entries", message, rows, notes, self._written(grid(rows)))
        repairs = {index: self._repair(index) for index in self.comparison.differing}
        if None in repairs.values() and (slip := matrix_slip(self.comparison)) is not None:
            message, text, right = slip
            return self._together("wrong matrix", message, right.rows, notes, text)
        names, explained = None, []
        if None in repairs.values() or len(repairs) > 2:
            names, explained = renamed_mostly(self.comparison)
        for (i, j), repair in repairs.items():
            right = self.comparison.wanted.expression((i, j))
            if names is not None and right is not None and (i, j) in explained:
                rows[i][j], difference = self._with_names((i, j), names, right)
            else:
                difference = self._difference((i, j), repair)
                rows[i][j] = repair.mended if repair else self._abbreviated(right) if right else rows[i][j]
            differences.append(difference)
        return self._wrong(differences, notes, self._written(grid(rows)))

    def _swapped(self) -> bool:
        """Whether two entries differ, and each is what the other should be."""
        one = self.comparison
        if len(one.differing) != 2:
            return False
        nodes = [one.given.rows[i][j] for i, j in reversed(one.differing)]
        try:
            return all(one.space.agree(node, one.wanted[index], 30) for node, index in zip(nodes, one.differing))
        except DoesNotFit:
            return False

    def _wrong(self, differences: list[Difference], notes: tuple[str, ...], mended: Any) -> Verdict:
        return Verdict(self.case.what, False, "", tuple(differences), notes, self.comparison.method, mended)

    def _corrected(self, index: EntryIndex, slips: list[str], kind: str, share: float, mended: Node) -> Difference:
        """A difference mended by slips of one kind that other entries share; `share` of their cost is this one's."""
        kinds, cost = (kind,) * len(slips), COSTS[kind] * len(slips) * share
        mended_text = self.printer.node(mended)
        return replace(self._difference(index, None), slips=tuple(slips), kinds=kinds, cost=cost, mended=mended_text)

    def _together(self, kind: str, message: str, rows: Sequence[Sequence[Node]], notes: Any, mended: Any) -> Verdict:
        """The verdict where one slip explains all entries that differ: two exchanged, or one matrix for another."""
        indices = self.comparison.differing
        slips = [f"{kind}: {message}"]
        differences = [self._corrected((i, j), slips, kind, 1 / len(indices), rows[i][j]) for i, j in indices]
        return self._wrong(differences, notes, mended)

    def _with_names(self, index: EntryIndex, names: dict[Name, Name], right: Node) -> tuple[Node, Difference]:
        """An entry whose symbols are wrong throughout: renamed if one stands for one, else as the reference has it."""
        tree = self.comparison.given[index]
        wanted, point = self.comparison.wanted, self.comparison.space.point(20)
        relevant = {meant: stands for meant, stands in names.items() if matters(wanted, [index], meant, point)}
        others = symbols(right) - set(relevant)
        single = len(set(relevant.values())) == len(relevant) and not others & set(relevant.values())
        mended = rename(tree, {stands: Sym(meant) for meant, stands in relevant.items()}) if single else right
        mended = self._abbreviated(self._written_out(mended))
        name = self.printer.name
        slips = [f"wrong symbol throughout: {name(b)} stands where {name(a)} is meant" for a, b in relevant.items()]
        return mended, self._corrected(index, slips, "wrong symbol throughout", 1.0, mended)

    def _written(self, mended: Grid) -> Any:
        """The mended quantity in the form it was given."""
        if self.case.text is None:
            from palpate.tools.review.algebra.convert import to_sympy

            made = to_sympy(mended, self.case.table.symbols)
            return made[0, 0] if mended.shape == (1, 1) else made
        return self.printer.value(mended if mended.shape != (1, 1) else mended.rows[0][0])

    def _repair(self, index: EntryIndex) -> Repair | None:
        tree, wanted = self.comparison.given[index], self.comparison.wanted
        right = wanted.expression(index)
        others = [node for _, node in self.comparison.given.entries()] if right is None else [right]
        # An equation may be written with the opposite sign.
        targets = [wanted[index], algebra.Neg(wanted[index])] if self.case.what == "equation" else [wanted[index]]
        targets += self._divided(tree, right)
        best: Repair | None = None
        for target in targets:
            try:
                with portion(MOST_SEARCHED):
                    repair = Repairer(tree, target, self.comparison.space, self.case.table, others).best()
            except (UnluckyPoint, DoesNotFit, TooLarge):
                continue
            if repair and (best is None or repair.cost < best.cost):
                best = replace(repair, mended=self._written_out(repair.mended))
        return best

    def _divided(self, tree: Node, right: Node | None) -> list[Node]:
        """The equation of one joint divided by its inertia, if the given one has its acceleration alone in a term."""
        names = self.case.table.coordinates
        if self.case.what != "equation" or len(names) != 1 or right is None:
            return []
        acceleration = names[0]._replace(dots=2)
        terms = tree.terms if isinstance(tree, algebra.Sum) else (tree,)
        if not any(isinstance(term, Sym) and term.name == acceleration for term in terms):
            return []
        with_one, without = (rename(right, {acceleration: algebra.number(Fraction(k))}) for k in (1, 0))
        inertia = algebra.add([with_one, algebra.opposite(without)])
        return [algebra.Quot(right, inertia)]

    def _written_out(self, node: Node) -> Node:
        """With every name whose definition was changed replaced by what it now stands for."""
        known = self.case.table.definitions

        def body(one: Node) -> Node | None:
            changed = isinstance(one, Ref) and one.body is not known.get(one.name)
            return self._written_out(one.body) if isinstance(one, Ref) and changed else None

        return substitute(node, body)

    def _difference(self, index: EntryIndex, repair: Repair | None) -> Difference:
        tree, right = self.comparison.given[index], self.comparison.wanted.expression(index)
        point, mine, other = self._revealing_point(index)
        entry = None if self.comparison.given.shape == (1, 1) else (index[0] + 1, index[1] + 1)
        node = self.printer.node
        difference = Difference(entry, point, mine, other, given=node(tree))
        if right is not None:
            long = sum(1 for _ in islice(walk(right), _LONGEST + 1)) > _LONGEST
            text = "(too long to print)" if long else node(self._abbreviated(self._written_out(right)))
            difference = replace(difference, right=text)
        if repair is None:
            return difference
        return replace(
            difference,
            slips=tuple(edit.message(self.printer) for edit in repair.edits),
            kinds=tuple(edit.kind for edit in repair.edits),
            cost=repair.cost,
            mended=node(repair.mended),
            caret="" if repair.edits[0].where else self._caret(repair.edits[0].span),
            spans=tuple(edit.span for edit in repair.edits if edit.span is not None and edit.span[1] > edit.span[0]),
        )

    def _abbreviated(self, node: Node) -> Node:
        """Sines as c_{12} where the writer writes them so."""
        if not self.short:
            return node
        return substitute(
            node, lambda one: replace(one, short=True) if isinstance(one, Trig) and not one.short else None
        )

    # ------------------------------------------------------------------ a point that shows it

    def _revealing_point(self, index: EntryIndex) -> tuple[dict[str, float], float, float]:
        """A point with round numbers at which the two values are plainly different."""
        tree = self.comparison.given[index]
        right_tree = self.comparison.wanted.expression(index)
        names = sorted((symbols(tree) | (symbols(right_tree) if right_tree is not None else set())) - {PI})
        if right_tree is None:
            highest = 2 if self.case.what in ("C", "c", "h", "T") else 3 if self.case.what == "tau" else 1
            names = sorted({*names, *(n._replace(dots=d) for n in self.case.table.coordinates for d in range(highest))})
        space, plain = Space(Real(None), []), Printer(self.case.table, False)
        best: tuple[float, dict[str, float], float, float] = (-1.0, {}, float("nan"), float("nan"))
        for seed in range(40):
            values = {name: self._round_value(name, seed) for name in names}
            point = Point(space, f"{seed}", values)
            try:
                mine, right = float(point.of(tree)), float(point.of(self.comparison.wanted[index]))
            except (UnluckyPoint, OverflowError):
                continue
            size = abs(mine - right) / max(abs(mine), abs(right), 1e-300)
            if size > best[0]:
                best = (size, {plain.name(name): value for name, value in values.items()}, mine, right)
            if size > 0.05:
                break
        return best[1:]

    def _round_value(self, name: Name, seed: int) -> float:
        random = Random(f"{seed} {name}")
        magnitude = round(random.uniform(0.5, 2.0), 1)
        moving = name._replace(dots=0) in self.case.table.coordinates
        return -magnitude if moving and random.random() < 0.5 else magnitude

    # ------------------------------------------------------------------ where in the text

    def _caret(self, span: Span) -> str:
        """The part of the text that holds the slip, marked."""
        if self.case.text is None or span is None or span[1] <= span[0]:
            return ""
        text = self.case.text
        start = text.rfind("\n", 0, span[0]) + 1
        end = text.find("\n", span[0])
        line = text[start : end if end >= 0 else len(text)]
        first = max(0, span[0] - start - 40)
        excerpt = line[first : first + 96]
        marks = min(span[1] - start, first + 96) - (span[0] - start)
        dots = "… " if first else ""
        return f"{dots}{excerpt}\n{' ' * (len(dots) + span[0] - start - first)}{'^' * max(1, marks)}"
