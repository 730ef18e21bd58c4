"""The verdict of a check, as a value and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_INDENT = "    "


@dataclass(frozen=True)
class Difference:
    """An entry that is not what it should be.

    Attributes:
        entry: (row, column), counted from 1; None for a scalar.
        point: values of the symbols that show it.
        given_value, right_value: what the given and the right expression are worth there.
        slips: the corrections in words; empty if no small one was found.
        kinds: what each slip is called.
        cost: what the slips cost together; None without a repair.
        given, mended, right: the entry as given, as corrected, and as the reference has it ("" if that is numeric).
        caret: the line of the text with the slip marked, or "".
        spans: positions in the text of the slips, where they are known.
    """

    entry: tuple[int, int] | None
    point: dict[str, float]
    given_value: float
    right_value: float
    slips: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    cost: float | None = None
    given: str = ""
    mended: str = ""
    right: str = ""
    caret: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        where = f"entry ({self.entry[0]},{self.entry[1]}): " if self.entry else ""
        values = ", ".join(f"{name} = {value:g}" for name, value in self.point.items())
        at = f"at {values} it" if values else "it"
        lines = [f"{where}{at} is {self.given_value:.9g}, should be {self.right_value:.9g}"]
        lines += [f"{_INDENT}{slip}" for slip in self.slips]
        lines += [f"{_INDENT}{line}" for line in self.caret.splitlines()]
        if self.slips:
            lines.append(f"{_INDENT}mended: {self.mended}")
        else:
            lines.append(f"{_INDENT}no correction of one or two slips makes it right")
            lines += [f"{_INDENT}right: {self.right}"] if self.right else []
        return "\n".join(lines)


@dataclass(frozen=True)
class Verdict:
    """Result of a check. True if the given expression is right.

    Attributes:
        what: the quantity.
        agrees: whether it is right, be it in another convention.
        convention: in which other convention it is right, or "".
        differences: the entries that are not.
        notes: what was read or compared in a particular way.
        method: the arithmetic that decided.
        mended: the whole quantity corrected, in the form it was given; None if it agrees.
        steps: one verdict for each part of a chain of equalities a = b = c.
    """

    what: str
    agrees: bool
    convention: str = ""
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    method: str = ""
    mended: Any = None
    steps: tuple[Verdict, ...] = ()

    @property
    def repaired(self) -> bool:
        """Whether every entry that differs could be mended by a small correction."""
        return bool(self.differences) and all(one.slips for one in self.differences)

    @property
    def cost(self) -> float:
        """The sum of the costs of all slips found."""
        return sum(one.cost or 0.0 for one in self.differences)

    def __bool__(self) -> bool:
        return self.agrees

    def __str__(self) -> str:
        lines = [f"{self.what}: {self._headline()}"]
        lines += [f"  {line}" for line in self._difference_lines()]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _difference_lines(self) -> list[str]:
        """The differences; entries with the same slips as one before only name it."""
        lines: list[str] = []
        first: dict[tuple[str, ...], Difference] = {}
        for one in self.differences:
            before = first.setdefault(one.slips, one) if one.slips else one
            if before is one:
                lines += str(one).splitlines()
            else:
                assert one.entry is not None
                assert before.entry is not None
                lines.append(f"entry ({one.entry[0]},{one.entry[1]}): as ({before.entry[0]},{before.entry[1]})")
        return lines

    def _headline(self) -> str:
        if self.convention:
            return f"agrees, in another convention: {self.convention}"
        if self.agrees:
            return f"agrees ({self.method})"
        at = next((number for number, step in enumerate(self.steps, 1) if not step.agrees), 0)
        location = f", first in part {at} of {len(self.steps)}" if len(self.steps) > 1 else ""
        return f"differs{location} ({self.method})"
