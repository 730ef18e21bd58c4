"""Published results as data: what a source prints, beside what its own inputs lead to.

A case file has a `source`, `read` (the address of the text that the cases were compared with; a file without it was
written from memory) and tables `case.NAME`: `place` in the source, `asked` (the quantity), `printed` (as in the
source), `erratum` where the print is wrong, and the inputs: rows `dh` of Denavit and Hartenberg's parameters
[a, α, d, θ]; `screws` with the `home` pose, the `frame` and the joint values `at`; a `system` of bodies, each with its
mass, position, and for a planar body inertia and angle, with `springs` (their energy) and `forces`; or `numbers`,
formulas to be evaluated. The right result is made from the inputs alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from palpate.errors import InvalidInput, PalpateError, check_names
from palpate.files import read_text
from palpate.forking import cached_property
from palpate.toml import toml_data
from palpate.tools.review import Verdict, check_derivation
from palpate.tools.sheets.case_inputs import Inputs

_KEYS = (
    "place", "asked", "printed", "erratum", "dh", "screws", "home", "frame", "at", "q", "system", "numbers", "rows",
    "entry", "names",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A textbook result.

    Attributes:
        name: "craig.mass".
        source, place: the book, and where in it.
        read: the address of the text that was compared; empty if the case was written from memory.
        data: the case as in its file.
        systems: the systems of its file.
    """

    name: str
    source: str
    place: str
    read: str
    data: dict[str, Any]
    systems: dict[str, Any]

    @property
    def printed(self) -> str:
        """As the book prints it."""
        return str(self.data["printed"])

    @property
    def erratum(self) -> str:
        """The fault of the print, in words; empty if it is right."""
        return str(self.data.get("erratum", ""))

    @cached_property
    def right(self) -> Any:
        """The quantity that follows from the inputs, as SymPy."""
        asked = self.data["asked"]
        inputs = Inputs(self.data, self.systems)
        value = inputs.quantity(asked)
        if "at" in self.data and "dh" in self.data:
            value = value.subs(dict(zip(inputs.symbols, map(inputs.expression, self.data["at"])))).evalf()
        if "rows" in self.data and asked != "determinant":
            value = value[[row - 1 for row in self.data["rows"]], :]
        if "entry" in self.data:
            value = value[self.data["entry"][0] - 1, self.data["entry"][1] - 1]
        return value

    def verdict(self) -> Verdict:
        """The printed result beside the right one."""
        asked = self.data["asked"]
        whole = "entry" not in self.data and asked in ("M", "C", "g", "T", "V")
        inputs = Inputs(self.data, self.systems)
        names = {**dict.fromkeys(inputs.parameters), **self.data.get("names", {})}
        what = asked if whole else "expression"
        return check_derivation(self.printed, self.right, what, symbols=names, coordinates=inputs.q)

    def outcome(self) -> tuple[bool, str]:
        """Whether the case is as recorded (right, or wrong where an erratum is recorded), and its verdict in words."""
        try:
            verdict = self.verdict()
        except PalpateError as error:
            return False, str(error).splitlines()[0]
        if verdict.agrees:
            said = "agrees" + (f" ({verdict.convention})" if verdict.convention else "")
            return not self.erratum, said + (", though an erratum is recorded" if self.erratum else "")
        slips = "; ".join(slip for one in verdict.differences for slip in one.slips) or "differs"
        return bool(self.erratum), f"erratum: {slips}" if self.erratum else slips


def read_cases(path: str | Path) -> list[Case]:
    """The cases of a file.

    Raises:
        FileError: no such file.
        InvalidInput: it is no case file, or a key is unknown.
    """
    path = Path(path)
    return _cases(path.stem, read_text(path, most_bytes=1_000_000))


def shipped_cases() -> list[Case]:
    """The cases of the books that come along."""
    folder = resources.files("palpate.tools.sheets.books")
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".toml")), key=lambda one: one.name)
    return [case for one in files for case in _cases(one.name.removesuffix(".toml"), one.read_text(encoding="utf-8"))]


def _cases(stem: str, text: str) -> list[Case]:
    data = toml_data(text)
    if not isinstance(data.get("case"), dict) or not isinstance(data.get("source"), str):
        raise InvalidInput(f"{stem} is no case file", hint="it needs a source and tables such as [case.mass]")
    made = []
    for name, one in data["case"].items():
        check_names(f"key of case {name}", one, _KEYS)
        missing = [key for key in ("place", "asked", "printed") if key not in one]
        if missing:
            raise InvalidInput(f"case {name} of {stem} has no {missing[0]!r}")
        read = str(data.get("read", ""))
        made.append(Case(f"{stem}.{name}", data["source"], one["place"], read, one, data.get("system", {})))
    return made


def cases_table(cases: Iterable[Case]) -> tuple[str, int]:
    """Every case with its verdict, as text, and how many are not as recorded."""
    lines, wrong, source = [], 0, ""
    for case in cases:
        if case.source != source:
            source = case.source
            lines.append(source if case.read else f"{source} (from memory: not compared with its print)")
            lines += [f"  read: {case.read}"] if case.read else []
        expected, verdict = case.outcome()
        wrong += not expected
        lines.append(f"  {case.name:<36} {verdict:<10}  {case.place}")
    return "\n".join(lines), wrong
