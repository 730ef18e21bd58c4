"""Textbook results as data: what a book gives, beside what its own inputs lead to.

The files that come along were written from memory: that a formula is right is computed, its wording and place in the
book were not compared with its print.

A case file has a `source` and tables `case.NAME`: `place` in the book, `asked` (the quantity), `printed` (as in the
book), and its inputs: rows `dh` of Denavit and Hartenberg's parameters [a, α, d, θ]; a `system` of bodies, each with
its mass, position, and for a planar body inertia and angle; or `numbers`, formulas to be evaluated. The right result is
made from the inputs alone: poses by multiplying transformations, energies from positions, forces by Lagrange.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import sympy

from palpate.errors import InvalidInput, PalpateError, check_names
from palpate.files import read_text
from palpate.forking import cached_property
from palpate.toml import toml_data
from palpate.tools.review import Verdict, check_derivation
from palpate.tools.review.algebra.convert import to_sympy
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.tree import as_grid
from palpate.tools.review.read.reading import SymbolText

sp: Any = sympy  # its own types know too little of matrices
_KEYS = ("place", "asked", "printed", "dh", "q", "system", "numbers", "rows", "entry", "names")
_ASKED = ("FK", "position", "J", "determinant", "M", "C", "c", "g", "tau", "T", "V", "L", "expression")


@dataclass(frozen=True)
class Case:
    """A textbook result.

    Attributes:
        name: "craig.mass".
        source, place: the book, and where in it.
        data: the case as in its file.
        systems: the systems of its file.
    """

    name: str
    source: str
    place: str
    data: dict[str, Any]
    systems: dict[str, Any]

    @property
    def printed(self) -> str:
        """As the book prints it."""
        return str(self.data["printed"])

    @cached_property
    def right(self) -> Any:
        """The quantity that follows from the inputs, as SymPy."""
        asked = self.data["asked"]
        value = _Inputs(self.data, self.systems).quantity(asked)
        if "rows" in self.data and asked != "determinant":
            value = value[[row - 1 for row in self.data["rows"]], :]
        if "entry" in self.data:
            value = value[self.data["entry"][0] - 1, self.data["entry"][1] - 1]
        return value

    def verdict(self) -> Verdict:
        """The printed result beside the right one."""
        asked = self.data["asked"]
        whole = "entry" not in self.data and asked in ("M", "C", "g", "T", "V")
        inputs = _Inputs(self.data, self.systems)
        names = {**dict.fromkeys(inputs.parameters), **self.data.get("names", {})}
        what = asked if whole else "expression"
        return check_derivation(self.printed, self.right, what, symbols=names, coordinates=inputs.q)


class _Inputs:
    """The inputs of a case, and the quantities they lead to."""

    def __init__(self, data: dict[str, Any], systems: dict[str, Any]) -> None:
        self.data, self.system = data, systems.get(data.get("system", ""), {})
        if "system" in data:
            check_names("system of the file", [data["system"]], systems)
        given = data.get("q") or self.system.get("q")
        self.q = [str(one) for one in given] if given else [row[3] for row in data.get("dh", ())]
        self.table = SymbolTable(coordinates=self.q)
        self.table.open = True
        self.symbols = [sp.Symbol(name) for name in self.q]
        self.rates = [sp.Symbol(f"d{name}") for name in self.q]
        self.accelerations = [sp.Symbol(f"dd{name}") for name in self.q]

    def expression(self, text: Any) -> Any:
        """A formula of the file, read by the checker's own reader; nothing is run."""
        grid = as_grid(SymbolText(str(text), self.table).claims()[-1])
        made = to_sympy(grid, dict(zip(self.table.coordinates, self.symbols)))
        return made[0, 0] if grid.shape == (1, 1) else made

    @cached_property
    def parameters(self) -> list[str]:
        """Names that the inputs use besides the coordinates."""
        value: Any = self.quantity(self.data["asked"])
        free = {str(one) for one in value.free_symbols} - set(self.q)
        rates = {str(one) for one in (*self.rates, *self.accelerations)}
        texts = [*(cell for row in self.data.get("dh", ()) for cell in row)]
        texts += [text for body in self.system.get("bodies", ()) for text in body.values()]
        free |= {str(one) for text in texts for one in sp.sympify(self.expression(text)).free_symbols} - set(self.q)
        return sorted(free - rates | ({"g"} if "up" in self.system else set()))

    def quantity(self, asked: str) -> Any:
        """A quantity by name."""
        check_names("quantity of a case", [asked], _ASKED)
        if asked == "expression":
            return sp.Matrix([[self.expression(cell) for cell in row] for row in self.data["numbers"]])
        if "dh" in self.data:
            return self._kinematic(asked)
        return self._dynamic(asked)

    # ------------------------------------------------------------------ kinematics

    def _kinematic(self, asked: str) -> Any:
        poses = [sp.eye(4)]
        for row in self.data["dh"]:
            poses.append(poses[-1] * _transformation(*(self.expression(cell) for cell in row)))
        if asked == "FK":
            return poses[-1]
        if asked == "position":
            return poses[-1][:3, 3]
        jacobian = sp.Matrix.hstack(*(self._column(poses, k) for k in range(len(self.data["dh"])) if self._moves(k)))
        if asked == "J":
            return jacobian
        rows = [row - 1 for row in self.data.get("rows", (1, 2, 3))]
        return jacobian[rows, :].det(method="berkowitz")

    def _moves(self, link: int) -> bool:
        return any(str(self.data["dh"][link][k]) in self.q for k in (2, 3))

    def _column(self, poses: list[Any], link: int) -> Any:
        """The column of a joint: z × (p_e − p) over z where it turns, z over 0 where it slides."""
        axis, arm = poses[link][:3, 2], poses[-1][:3, 3] - poses[link][:3, 3]
        turns = str(self.data["dh"][link][3]) in self.q
        return sp.Matrix.vstack(axis.cross(arm), axis) if turns else sp.Matrix.vstack(axis, sp.zeros(3, 1))

    # ------------------------------------------------------------------ dynamics

    @cached_property
    def energies(self) -> tuple[Any, Any]:
        """T and V of the bodies."""
        T, V, g = sp.Integer(0), sp.Integer(0), sp.Symbol("g")
        up = self.system.get("up", "")
        for body in self.system["bodies"]:
            mass = self.expression(body["mass"])
            position = sp.Matrix([self.expression(body.get(axis, "0")) for axis in "xyz"])
            velocity = position.jacobian(self.symbols) * sp.Matrix(self.rates)
            T += mass * velocity.dot(velocity) / 2
            if "inertia" in body:
                turning = sp.Matrix([self.expression(body["angle"])]).jacobian(self.symbols) * sp.Matrix(self.rates)
                T += self.expression(body["inertia"]) * turning[0] ** 2 / 2
            if up:
                height = position["xyz".index(up[-1])]
                V += mass * g * (-height if up.startswith("-") else height)
        return T, V

    def _dynamic(self, asked: str) -> Any:
        T, V = self.energies
        if asked in ("T", "V", "L"):
            return {"T": T, "V": V, "L": T - V}[asked]
        M = sp.hessian(T, self.rates)
        if asked == "M":
            return M
        gravity = sp.Matrix([V.diff(x) for x in self.symbols])
        if asked == "g":
            return gravity
        C = _christoffel(M, self.symbols, self.rates)
        forces = C * sp.Matrix(self.rates)
        tau = M * sp.Matrix(self.accelerations) + forces + gravity
        return {"C": C, "c": forces, "tau": tau}[asked]


def _transformation(a: Any, alpha: Any, d: Any, theta: Any) -> Any:
    """Denavit and Hartenberg's transformation: about z by θ, along z by d, along x by a, about x by α."""
    c, s, ca, sa = sp.cos(theta), sp.sin(theta), sp.cos(alpha), sp.sin(alpha)
    return sp.Matrix([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])


def _christoffel(M: Any, q: Sequence[Any], v: Sequence[Any]) -> Any:
    def entry(i: int, j: int) -> Any:
        return sum((M[i, j].diff(q[k]) + M[i, k].diff(q[j]) - M[j, k].diff(q[i])) * v[k] / 2 for k in range(len(q)))

    return sp.Matrix(len(q), len(q), entry)


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
        made.append(Case(f"{stem}.{name}", data["source"], one["place"], one, data.get("system", {})))
    return made


def cases_table(cases: Iterable[Case]) -> tuple[str, int]:
    """Every case with its verdict, as text, and how many differ."""
    lines, wrong, source = [], 0, ""
    for case in cases:
        if case.source != source:
            source = case.source
            lines.append(source)
        try:
            verdict = case.verdict()
            told = (
                "agrees" if verdict.agrees else "; ".join(s for d in verdict.differences for s in d.slips) or "differs"
            )
            told += f" ({verdict.convention})" if verdict.convention else ""
            wrong += not verdict.agrees
        except PalpateError as error:
            told, wrong = str(error).splitlines()[0], wrong + 1
        lines.append(f"  {case.name:<36} {told:<10}  {case.place}")
    return "\n".join(lines), wrong
