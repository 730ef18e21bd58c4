"""A whole document judged: what is a formula of the arm is compared with it, the rest is listed with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from palpate.errors import PalpateError, UnknownSymbol, check_names
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.effort import MOST_STEPS, limited, portion
from palpate.tools.review.algebra.names import spelled
from palpate.tools.review.algebra.tree import Name
from palpate.tools.review.check import verdicts_together
from palpate.tools.review.compare.case import Case
from palpate.tools.review.compare.compare import MatrixComparison, compare_matrices
from palpate.tools.review.compare.together import RIGHT_ELSEWHERE
from palpate.tools.review.read.labels import entry_indices
from palpate.tools.review.verdict import Verdict
from palpate.tools.sheets.arm import Arm, Constraint
from palpate.tools.sheets.cancelled import cancelled_names
from palpate.tools.sheets.mentions import (
    is_equation,
    is_reference,
    mentioned_names,
    name_of,
    names_in,
    plain_label,
    reason_to_skip,
    spellings_of,
    with_scripts,
)
from palpate.tools.sheets.notions import Notion, label_of, notion
from palpate.tools.sheets.result import Finding, Sheet
from palpate.tools.sheets.source import Source, read_source
from palpate.tools.sheets.statements import Statement, statements
from palpate.tools.sheets.wording import badness, first_line, only_signs, shared_slips, title_of, with_one_slip

_MATRICES = ("M", "C", "J", "Jdot", "h", "g", "c", "tau", "FK")
_ALWAYS = ("M", "C", "g", "J", "T", "V", "FK", "KE", "PE", "tau", "E_kin", "E_pot")
_NUMBER = re.compile(
    r"\\(?:begin|end)\{[bp]?matrix\}|\\(?:mathbf|frac|cdot|q?quad|left|right|pi|[,;:! \\])|\^\{?T\}?"
    r"|(?<=\d)[eE][-+]?\d+|[-+\d.,\s/*()\[\];&{}^]|\bpi\b|\b(?:N|m|kg|rad|s|Nm)\b"
)
_WHERE = re.compile(r"\b(?:where|with|in which|wherein|here)\b", re.IGNORECASE)
_READ_AS = re.compile(r".* read as q\W*\d*")
_RENAMED = {"wrong index", "wrong symbol", "wrong symbol throughout", "indices swapped"}
_NAMES_ONLY = re.compile(r"\\(?:mathbf|bm|boldsymbol)\{[A-Z]|\b[MBHD]_?\w?\s*\(")
_FOLLOWS = "follows from "
_MOST_UNKNOWN = 3  # names in one formula that may be slips
_GRAVITY = re.compile(r"(?<![\d.])(?:9\.8\d*|9\.7\d*|10(?:\.0+)?)(?![\d.]*\d)")  # numbers that may stand for g


@dataclass
class _Item:
    """A statement on its way to a finding."""

    statement: Statement
    label: str
    name: Name | None
    notion: Notion | None
    finding: Finding | None = None
    comparisons: list[tuple[Arm, MatrixComparison, Notion]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown: tuple[str, ...] = ()
    inputs: tuple[Arm, str, Notion, dict[str, Any], Constraint | None] | None = None


def check_document(
    reference: Any,
    path: str | Path | Source,
    *,
    symbols: Mapping[str, Any] | None = None,
    equal: Mapping[str, Sequence[str]] | None = None,
    conventions: Literal["any", "strict"] = "any",
    seed: int = 0,
) -> Sheet:
    """Judge every formula of a document against an arm.

    What is no formula is skipped. What can be judged is judged in its place; the rest is listed with the reason. A
    formula is read with the definitions of the document itself: those after "where" belong to the formula before.

    Args:
        reference: a `Robot` or a derivation, or a list of them: a formula is judged by the first that it fits.
        path: a Markdown, LaTeX, text, notebook, Python or Matlab file; or a `Source`.
        symbols: what names of the writer stand for, {"pl_{21}": "r2x - a2"}, beyond what the document says.
        equal: one name of the writer for several symbols of the arm, {"L": ["l1", "l2"]}.
        conventions: "strict" does not excuse another sign of gravity or another zero.
        seed: chooses the random points.

    Raises:
        FileError: no such file, or not a text file.
        TooLarge: more formulas than are read.
    """
    check_names("choice of conventions", [conventions], ("any", "strict"))
    source = path if isinstance(path, Source) else read_source(path)
    values = reference if isinstance(reference, list | tuple) else [reference]
    arms = [Arm(value, equal or {}) for value in values]
    with limited(MOST_STEPS * len(arms)):
        return _Judge(source, arms, dict(symbols or {}), conventions == "strict", seed).sheet()


class _Judge:
    def __init__(self, source: Source, arms: list[Arm], symbols: dict[str, Any], strict: bool, seed: int) -> None:
        self.source, self.arms, self.symbols, self.strict, self.seed = source, arms, symbols, strict, seed
        self.items: list[_Item] = []
        self.constraints: dict[int, tuple[int, Constraint]] = {}  # by arm: where it begins, and what it is
        self._mentioned: dict[int, set[Name]] = {}  # by item: the names that it uses
        self._own: dict[tuple[int, int], bool] = {}  # by arm and item: whether it is a value of the arm's own symbol

    def sheet(self) -> Sheet:
        """All formulas judged."""
        self.items = [self._item(one) for one in statements(self.source)]
        self._mentioned = {id(item): mentioned_names(item.statement) for item in self.items}
        self._settle_roles()
        for item in self.items:
            if item.finding is None:
                self._read(item)
        self._judge()
        findings = [item.finding for item in self.items if item.finding is not None]
        return Sheet(self.source, tuple(sorted(findings, key=lambda one: one.start)), shared_slips(findings))

    # ------------------------------------------------------------------ what each statement is

    def _item(self, one: Statement) -> _Item:
        left = one.side(0)
        label = " ".join(left.split())
        if one.keyword:
            return _Item(one, one.keyword, None, Notion(one.keyword, one.keyword), notes=list(one.notes))
        best = next((n for arm in self.arms if (n := notion(left, one.side(-1), arm.joints)) is not None), None)
        name = name_of(left)
        return _Item(one, label, name, best, notes=list(one.notes))

    def _settle_roles(self) -> None:
        """Which statements are formulas of the arm, definitions, values, constraints, or nothing to judge."""
        mentioned = [self._mentioned[id(item)] for item in self.items]
        for number, item in enumerate(self.items):
            users = [k for k, m in enumerate(mentioned) if k != number and item.name is not None and item.name in m]
            used = any(not _is_sibling(item, self.items[k]) for k in users)
            if self._is_constraint(item):
                continue
            if item.notion is None:
                self._without_notion(item, used)
            elif self._is_value(item):
                item.finding = self._finding(item, "used", title="a value")
            elif self._is_definition(item, used):
                item.finding = self._finding(item, "used", title="a definition")
        for item in self.items:
            if item.finding is None and self._is_put_together(item):
                item.finding = self._finding(item, "skipped", reason="put together from other formulas of the document")

    def _is_definition(self, item: _Item, used: bool) -> bool:
        """An entry is a definition if another formula uses it; a name such as h if it cannot be the whole vector."""
        assert item.notion is not None
        one = item.notion
        if one.make is not None or item.label in _ALWAYS or one.title.startswith("the torque"):
            return False
        if one.what == "FK":
            return False
        if one.entry is not None:
            return used
        scalar = not re.search(r"matrix|\[|array|\bmat\(", item.statement.side(-1))
        weak = one.what in _MATRICES and scalar and str(item.name) not in _ALWAYS
        return weak and (used or self.arms[0].joints > 1)

    def _is_put_together(self, item: _Item) -> bool:
        """Whether a matrix holds only names of other formulas, which are judged by themselves."""
        right = item.statement.side(-1)
        matrices = [one for one in map(item.statement.side, range(1, len(item.statement.sides))) if "matrix" in one]
        if not matrices or "partial" in matrices[0]:
            return False
        judged = {one.name for one in self.items if one.finding is None and one is not item}
        cells = [label_of(cell) for cell in re.split(r"&|\\\\", re.sub(r"\\(?:begin|end)\{\w+\}", "", matrices[0]))]
        names = [name_of(plain_label(cell)) for cell in cells if cell is not None]
        return len(names) == len(cells) and bool(names) and all(name in judged for name in names) and "+" not in right

    def _is_value(self, item: _Item) -> bool:
        """Numbers alone: x_2 = −1, g = 9.81."""
        assert item.notion is not None
        right = item.statement.side(-1)
        number = not _NUMBER.sub("", right).strip()
        if not number:
            return False
        whole = item.notion.entry is None and item.notion.what in ("M", "C", "J", "tau", "g", "FK", "T", "V", "c", "h")
        inline = item.statement.kind in ("inline", "code")
        scalar = not re.search(r"matrix|\[|,|;", right)
        return (
            (inline and item.notion.what == "FK")
            or (whole and scalar and item.notion.what in ("g", "T", "V", "tau"))
            or (whole and item.notion.what in ("tau", "T", "FK") and not scalar)
        )

    def _without_notion(self, item: _Item, used: bool) -> None:
        one, right = item.statement, item.statement.side(-1)
        if is_equation(one) and _NAMES_ONLY.search(one.side(0) + one.side(1)):
            item.finding = self._finding(item, "skipped", reason="an equation between named quantities, no formula")
        elif is_equation(one):
            item.notion = Notion("the equation of motion", "equation")
        elif used or one.kind == "code" or (one.kind == "inline" and item.name is not None):
            item.finding = self._finding(item, "used", title="a definition")
        elif not _NUMBER.sub("", right).strip():
            item.finding = self._finding(item, "used", title="a value")
        else:
            reason = reason_to_skip(item.label, one)
            item.finding = self._finding(item, "skipped", reason=reason)

    def _is_constraint(self, item: _Item) -> bool:
        """θ2 = −2 θ1 between coordinates, from its place on; its rates follow."""
        if item.name is None:
            return False
        for number, arm in enumerate(self.arms):
            k = arm.coordinate(item.name._replace(dots=0))
            if k is None or arm.joints < 2 or not arm.closed:
                continue
            if item.name.dots and k in self.constraints.get(number, (0, {}))[1]:
                item.finding = self._finding(item, "used", title="a constraint")
                return True
            try:
                right = arm.constrained(k, item.statement.alone(-1)) if not item.name.dots else None
            except PalpateError:
                continue
            if right is not None:
                self.constraints.setdefault(number, (item.statement.start, {k: right}))
                item.finding = self._finding(item, "used", title="a constraint")
                return True
        return False

    # ------------------------------------------------------------------ reading

    def _read(self, item: _Item) -> None:
        """Read a formula for the first arm it fits; what none can read is skipped."""
        reasons: list[PalpateError] = []
        for number, arm in enumerate(self.arms):
            try:
                with portion(MOST_STEPS):
                    item.comparisons += self._comparisons(item, number, arm)
            except PalpateError as error:
                reasons.append(error)
        if not item.comparisons:
            reason = first_line(reasons[0]) if reasons else "nothing to compare"
            full = str(reasons[0]) if reasons else ""
            item.finding = self._finding(item, "skipped", reason=reason, full_reason=full)

    def _comparisons(self, item: _Item, number: int, arm: Arm) -> list[tuple[Arm, MatrixComparison, Notion]]:
        one = item.statement
        meant = item.notion if one.keyword else notion(one.side(0), one.side(-1), arm.joints) or item.notion
        assert meant is not None
        names = {} if meant.alone else self._names_for(item, arm)
        if meant.what == "equation":
            return [(arm, self._compared(arm, one.whole, meant, names, None, item), meant)]
        made: list[tuple[Arm, MatrixComparison, Notion]] = []
        error: PalpateError | None = None
        for side in range(1, len(one.sides)):
            if is_reference(one.side(side), meant, arm.joints, side < len(one.sides) - 1):
                continue
            text = one.alone(side) if not meant.labelled or len(one.sides) > 2 else one.whole
            try:
                made += self._of_side(item, number, arm, text, meant, names)
            except PalpateError as problem:
                error = problem
        if error is not None and not made:
            raise error
        if error is not None:
            item.notes.append(f"one part was not read: {first_line(error)}")
        return made

    def _of_side(
        self, item: _Item, number: int, arm: Arm, text: str, meant: Notion, names: dict[str, Any]
    ) -> list[tuple[Arm, MatrixComparison, Notion]]:
        start, constraint = self.constraints.get(number, (0, {}))
        free = self._compared(arm, text, meant, names, None, item)
        if not constraint or item.statement.start < start or self._moves(free, arm, constraint):
            return [(arm, free, meant)]
        item.notes.append("with " + ", ".join(f"q{k + 1} = {right}" for k, right in constraint.items()))
        choices = [meant]
        if meant.what == "tau" and meant.entry is not None and meant.entry[0] not in constraint:
            joint = meant.entry[0]
            title = f"the generalised force of q{joint + 1} under the constraint"
            choices.append(Notion(title, "expression", make=lambda seen: seen.generalised_force(joint)))
        return [(arm, self._compared(arm, text, one, names, constraint, item), one) for one in choices]

    def _moves(self, one: MatrixComparison, arm: Arm, constraint: Constraint) -> bool:
        """Whether a formula holds a coordinate that the constraint determines."""
        bound = {arm.table.coordinates[k] for k in constraint}
        return any(name._replace(dots=0) in bound for _, node in one.given.entries() for name in algebra.symbols(node))

    def _compared(
        self, arm: Arm, text: str, meant: Notion, names: dict[str, Any], constraint: Constraint | None, item: _Item
    ) -> MatrixComparison:
        case = self._case(arm, text, meant, names, constraint, item)
        item.inputs = (arm, text, meant, names, constraint)
        if meant.what == "equation" and case.is_free:
            case.table.notes.append("no torque occurs: compared with the free motion")
            case = case.without_torques()
        return compare_matrices(case, case.claims[-1], self.seed)

    def _case(
        self, arm: Arm, text: str, meant: Notion, names: dict[str, Any], constraint: Constraint | None, item: _Item
    ) -> Case:
        """Read a formula; unknown names may be slips: they are taken in, and must be mended."""
        unknown: list[str] = []
        while True:
            try:
                more: dict[str, Any] = dict.fromkeys(unknown)
                if meant.what == "FK" and unknown and self._is_offset(arm, text, meant, {**names, **more}, unknown):
                    more = dict.fromkeys(unknown, "0")
                    item.notes.append(f"with {', '.join(unknown)} = 0: another origin of the base")
                    unknown = []
                case = arm.case(text, meant, {**names, **more}, constraint)
                item.unknown = tuple(unknown)
                return case
            except UnknownSymbol as error:
                if not error.symbol or error.symbol in unknown or len(unknown) >= _MOST_UNKNOWN:
                    raise
                if not _is_like_a_known_one(spelled(error.symbol), arm):
                    raise
                unknown.append(error.symbol)

    def _is_offset(self, arm: Arm, text: str, meant: Notion, names: dict[str, Any], unknown: list[str]) -> bool:
        """Whether unknown names are lengths that stand by themselves in a position."""
        try:
            case = arm.case(text, meant, names)
        except PalpateError:
            return False
        entries = [node for _, node in case.claims[-1].value.entries()]
        terms = [term for node in entries for term in (node.terms if isinstance(node, algebra.Sum) else (node,))]
        alone = {str(term.name) for term in terms if isinstance(term, algebra.Sym)}
        inside = {str(name) for term in terms if not isinstance(term, algebra.Sym) for name in algebra.symbols(term)}
        return set(unknown) <= alone and not set(unknown) & inside

    def _names_for(self, item: _Item, arm: Arm) -> dict[str, Any]:
        """Meanings of the names that a formula uses, from the document itself and from `symbols`."""
        defined: dict[Name, _Item] = {}
        for other in self._in_scope(item):
            key = id(arm), id(other)
            if key not in self._own:
                self._own[key] = other.name is None or self._is_own(arm, other)
            if other.name is not None and not self._own[key]:
                defined[other.name] = other
                if indices := entry_indices(other.name.sub):
                    defined[other.name._replace(sub=f"{indices[0]}{indices[1]}")] = other
                    defined[other.name._replace(sub=f"{indices[0]},{indices[1]}")] = other
        used: list[_Item] = []
        waiting, seen = [item], {id(item)}
        while waiting:
            for name in self._mentioned[id(waiting.pop())]:
                other = defined.get(name)
                if other is not None and other.name is not None and id(other) not in seen:
                    seen.add(id(other))
                    waiting.append(other)
                    used.append(other)
        names: dict[str, Any] = {}
        for one in sorted(used, key=lambda other: other.statement.start):  # mostly defined before they are used
            if one.name is not None:
                names |= dict.fromkeys(spellings_of(one.statement.side(0), one.name), one.statement.alone(-1))
        texts = [item.statement.whole, *map(str, names.values())]
        return {**names_in(texts, self.symbols), **names}

    def _is_own(self, arm: Arm, other: _Item) -> bool:
        """Whether a definition is a value of one of the arm's own symbols, which stay symbols."""
        if other.name is None or with_scripts(other.statement.side(0)) in self.symbols:
            return True
        if arm.coordinate(other.name._replace(dots=0)) is not None:
            return True
        table = arm.table
        known = other.name in table.known or any(one in table.known for one in table._similar(other.name))
        return known and not _NUMBER.sub("", other.statement.side(-1)).strip()

    def _in_scope(self, item: _Item) -> list[_Item]:
        """Definitions in the order in which later ones win: above, then those of its own "where" list."""
        at = self.items.index(item)
        above = [one for one in self.items[:at] if self._defines(one)]
        below = [one for one in self.items[at + 1 :] if self._defines(one)]
        own = self._where_list(at)
        far = [one for one in reversed(below) if one not in own]
        return [*far, *above, *reversed(own)]

    def _where_list(self, at: int) -> list[_Item]:
        """Definitions that follow a formula: after "where", or as long as nothing else comes."""
        own: list[_Item] = []
        text, end = self.source.text, self.items[at].statement.end
        following = self.items[at + 1 :]
        if not following or not _WHERE.search(text[end : following[0].statement.start]):
            return own
        for one in following:
            if not self._defines(one) or (one.finding is None and not self._entry_of(one, self.items[at])):
                break
            own.append(one)
        return own

    def _entry_of(self, one: _Item, whole: _Item) -> bool:
        return one.notion is not None and whole.notion is not None and one.notion.entry is not None

    def _defines(self, one: _Item) -> bool:
        """Whether a statement says what a name stands for."""
        if one.name is None or (one.finding is not None and one.finding.title == "a constraint"):
            return False
        if one.finding is not None and one.finding.mark == "skipped":
            return False
        own = one.notion is not None and one.notion.what in ("g", "tau", "T", "V") and one.notion.entry is None
        return not own or one.finding is not None or len(str(one.name)) > 1

    # ------------------------------------------------------------------ judging

    def _judge(self) -> None:
        """All comparisons of one arm together, for the writer has one convention; expressions by themselves."""
        verdicts: dict[int, Verdict] = {}
        for arm in self.arms:
            every = [c for item in self.items for a, c, _ in item.comparisons if a is arm]
            shared = [c for c in every if c.case.what != "expression"]
            groups = [shared] if shared else []
            groups += [[c] for c in every if c.case.what == "expression"]
            for group in groups:
                for comparison, verdict in zip(group, self._verdicts(group)):
                    if verdict is not None:
                        verdicts[id(comparison)] = verdict
        for item in self.items:
            if item.comparisons:
                item.finding = self._decided(item, verdicts)
        for item in self.items:
            if item.finding is not None and item.finding.mark == "differs":
                item.finding = self._followed(item, item.finding)

    def _followed(self, item: _Item, finding: Finding) -> Finding:
        """A formula that no small correction makes right, and that uses one that differs, follows from it."""
        assert finding.verdict is not None
        terms = {kind for one in finding.verdict.differences for kind in one.kinds} & {"missing term", "extra term"}
        if finding.verdict.repaired and not terms:
            return finding
        mentioned = self._mentioned[id(item)]
        others = [o for o in self.items if o.name in mentioned and o is not item and o.finding is not None]
        wrong = [o for o in others if o.finding.mark == "differs" or o.finding.reason.startswith(_FOLLOWS)]  # pyright: ignore[reportOptionalMemberAccess]
        if not wrong:
            return finding
        return self._finding(item, "skipped", reason=f"{_FOLLOWS}{wrong[0].label}, which differs")

    def _verdicts(self, group: list[MatrixComparison]) -> Iterable[Verdict | None]:
        try:
            return verdicts_together(group, self.strict)
        except PalpateError:
            if len(group) == 1:
                return [None]
            return [next(iter(self._verdicts([one]))) for one in group]

    def _decided(self, item: _Item, verdicts: dict[int, Verdict]) -> Finding:
        """The verdict of the reading that fits best; of a chain of equalities, that on its first wrong part."""
        chosen: dict[tuple[int, str], list[tuple[Verdict, Notion]]] = {}
        for arm, comparison, meant in item.comparisons:
            verdict = verdicts.get(id(comparison))
            if verdict is not None:
                chosen.setdefault((self.arms.index(arm), meant.title), []).append((verdict, meant))
        if not chosen:
            return self._finding(item, "skipped", reason="comparing it takes more steps than one check may")
        (arm, _), parts = min(chosen.items(), key=lambda pair: (badness([v for v, _ in pair[1]]), pair[0][0]))
        verdict, meant = next((part for part in parts if not part[0].agrees), parts[-1])
        renamed = verdict.repaired and {kind for one in verdict.differences for kind in one.kinds} <= _RENAMED
        if not verdict.agrees and item.unknown and not renamed:
            near = self.arms[arm].table.suggestions(spelled(item.unknown[0]))
            guess = f"; did you mean {near[0]}?" if near else ""
            return self._finding(item, "skipped", reason=f"unknown symbol {', '.join(item.unknown)}{guess}")
        if not verdict.agrees and len(item.statement.sides) == 2:
            verdict = self._with_gravity(item, verdict)
        return self._marked(item, verdict, meant, self.arms[arm])

    def _with_gravity(self, item: _Item, verdict: Verdict) -> Verdict:
        """The verdict where one number for g, wrong throughout, is the only slip."""
        if item.inputs is None:
            return verdict
        arm, text, meant, names, constraint = item.inputs
        right = repr(float(getattr(arm.derivation, "values", {}).get("g", 0.0)))
        numbers = {match[0] for match in _GRAVITY.finditer(text)} - {right}
        for wrong in sorted(numbers, key=len, reverse=True):
            pattern = re.compile(rf"(?<![\d.]){re.escape(wrong)}(?![\d.]*\d)")
            changed = pattern.sub(right, text)
            try:
                again = verdicts_together([self._compared(arm, changed, meant, names, constraint, item)], self.strict)[
                    0
                ]
            except PalpateError:
                continue
            item.inputs = (arm, text, meant, names, constraint)
            if again.agrees:
                spans = tuple(match.span() for match in pattern.finditer(text))
                return with_one_slip(verdict, (wrong, right), spans, changed.strip())
        return verdict

    def _elsewhere(self, item: _Item, meant: Notion) -> list[str]:
        """The convention in which one torque that differs would be right as it stands."""
        mine = [c for _, c, n in item.comparisons if n is meant and meant.what == "tau" and c.single and c.differing]
        names = [change.name for one in mine[-1:] for change in one.other_conventions()]
        return [f"it would be right in another convention: {name}" for name in names[:1]]

    def _cancelled(self, item: _Item, meant: Notion, arm: Arm) -> list[str]:
        """A note on names that a right formula does not depend on: their definitions were not judged by it."""
        mine = [c for a, c, n in item.comparisons if a is arm and n is meant]
        names = list(map(str, cancelled_names(mine[-1]))) if mine else []
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return [f"it does not depend on {listed}: what is said of it there was not judged"] if names else []

    def _marked(self, item: _Item, verdict: Verdict, meant: Notion, arm: Arm) -> Finding:
        elsewhere = not verdict.agrees and any(note.startswith(RIGHT_ELSEWHERE) for note in verdict.notes)
        excused = elsewhere and not self.strict and not only_signs(verdict)
        mark = "agrees" if verdict.agrees else "convention" if excused else "differs"
        notes = tuple(dict.fromkeys((*(n for n in verdict.notes if not _READ_AS.fullmatch(n)), *item.notes)))
        if meant.title.startswith("the generalised force"):
            notes = (*notes, f"compared with {meant.title}, which is not the torque of that joint alone")
        if mark == "agrees":
            notes = (*notes, *self._cancelled(item, meant, arm))
        if mark == "differs" and not elsewhere:
            notes = (*notes, *self._elsewhere(item, meant))
        slips = tuple(dict.fromkeys(slip for one in verdict.differences for slip in one.slips))
        spans = tuple(dict.fromkeys(span for one in verdict.differences for span in one.spans))
        correction = str(verdict.mended).strip() if verdict.mended is not None else ""
        name = arm.name if len(self.arms) > 1 else ""
        shapes = [c.given.shape for a, c, n in item.comparisons if a is arm and n is meant] or [(1, 1)]
        size = shapes[-1][0] * shapes[-1][1]
        found = self._finding(item, mark, title=title_of(meant), verdict=verdict, slips=slips, spans=spans)
        return replace(
            found,
            correction=correction if mark == "differs" else "",
            notes=notes,
            arm=name,
            entries=size,
            is_entry=meant.entry is not None,
        )

    def _finding(self, item: _Item, mark: Any, **more: Any) -> Finding:
        one = item.statement
        at = self.source.line(one.start), self.source.cell(one.start)
        return Finding(mark, item.label, one.start, one.end, *at, number=one.number, **more)


def _is_like_a_known_one(name: Name, arm: Arm) -> bool:
    """Whether an unknown name may be a slip for one of the arm's: l_3 beside l_1, but not l for l_1 = l_2."""
    return bool(name.sub) and any(one.base == name.base and one.sub != name.sub for one in arm.table.known)


def _is_sibling(one: _Item, other: _Item) -> bool:
    """Whether two statements are entries of the same quantity."""
    both = one.notion, other.notion
    return all(n is not None and n.entry is not None for n in both) and len({n.what for n in both if n}) == 1
