"""Derivation: a system's equations of motion as expressions, as documents and as code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy as sp

from palpate.checks import Array
from palpate.display import shown
from palpate.equations.algebra.graph import Output
from palpate.equations.algebra.sympy_bridge import written_lines
from palpate.equations.code.program import (
    OperationCounts,
    Program,
    fold_constants,
    make_program,
    merge_equal_nodes,
    with_numbers,
)
from palpate.equations.dynamics.recursive_forms import RecursiveForms
from palpate.equations.model.naming import NamedConstant, NamedModel
from palpate.equations.quantities import DYNAMICS, Quantity, arguments, quantity
from palpate.equations.spelling import Latex, MathML, Style, Text
from palpate.errors import InvalidInput
from palpate.tools.derive.closed.energy import EnergyForms
from palpate.tools.derive.closed.forms import ClosedForms
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.latex import as_latex
from palpate.tools.derive.writing.notation import Notation
from palpate.tools.derive.writing.plain_text import as_text

if TYPE_CHECKING:
    from palpate.robot.robot import Robot
    from palpate.tools.derive.constraints import ConstrainedDerivation
    from palpate.tools.derive.linearisation import Linearisation
    from palpate.tools.derive.verify import TorqueComparison, Verification


# What derives the quantities: each gives them by name, as SymPy where there is a closed form, as nodes always.
Forms = ClosedForms | EnergyForms | RecursiveForms


def _symbols_of(kind: str, about: str) -> property:
    return property(lambda self: tuple(sp.Symbol(name) for name in getattr(self.names, kind)), doc=about)


def _quantity_of(name: str, about: str) -> property:
    return property(lambda self: self[name], doc=about)


class Derivation:
    """Equations of motion, M(q) q̈ + C(q, q̇) q̇ + g(q) = τ, and all that leads to them.

    Attributes:
        name: of the robot or system.
        engine: "closed" (expressions as a person writes them) or "recursive" (line by line, never expanded).
        method: "lagrange", "newton-euler" or "projected"; a recursive derivation is Newton–Euler's.
        names: coordinates, velocities, accelerations and forces, in order.
        parameters: every named constant with its value, unit and meaning.
        notes: what was assumed, left out or decided.
        forces: what stands on the right of the equation, one entry per coordinate.
    """

    def __init__(
        self,
        name: str,
        forms: Forms,
        method: str,
        parameters: dict[str, NamedConstant],
        notes: Sequence[str] = (),
        *,
        model: NamedModel | None = None,
        forces: Any = None,
    ) -> None:
        self.name, self.forms, self.method = name, forms, method
        self.parameters, self.notes, self.model = parameters, tuple(notes), model
        self.engine, self.names = forms.engine, forms.names
        self.forces: Any = sp.ImmutableMatrix([[sp.Symbol(t)] for t in self.names.tau]) if forces is None else forces
        self._written: dict[str, tuple[list[tuple[Any, Any]], Any]] = {}

    def __repr__(self) -> str:
        return f"Derivation({self.name!r}, {len(self.names.v)} degrees of freedom, {self.engine}, {self.method})"

    def _repr_html_(self) -> str:
        return shown("derivation_html")(self)

    # ------------------------------------------------------------------ symbols

    q = _symbols_of("q", "Coordinates as SymPy symbols.")
    v = _symbols_of("v", "Velocities: dq1 for q̇1.")
    a = _symbols_of("a", "Accelerations: ddq1 for q̈1.")

    @property
    def values(self) -> dict[str, float]:
        """The parameters' values, SI units."""
        return {name: p.value for name, p in self.parameters.items() if p.value == p.value}

    # ------------------------------------------------------------------ quantities

    def __getitem__(self, name: str) -> Any:
        """A quantity by name, such as "M" or "p_c2", as a SymPy matrix (a scalar for T and V).

        Of a recursive derivation, the entries are written with the intermediate symbols of `definitions(name)`.
        """
        return self._lines_and_expression(name)[1]

    def definitions(self, name: str) -> list[tuple[Any, Any]]:
        """Intermediate (symbol, expression) pairs a quantity is written with, in order; none for a closed form."""
        return self._lines_and_expression(name)[0]

    def _lines_and_expression(self, name: str) -> tuple[list[tuple[Any, Any]], Any]:
        self.quantity(name)
        if name not in self._written:
            expression = self.forms.expression(name)
            self._written[name] = self._line_by_line(name) if expression is None else ([], expression)
        return self._written[name]

    def _line_by_line(self, name: str) -> tuple[list[tuple[Any, Any]], Any]:
        output = self.outputs([name])[0]
        lines, entries = written_lines(output.nodes)
        if not output.shape:
            return lines, entries[0]
        columns = output.shape[1] if len(output.shape) == 2 else 1
        return lines, sp.ImmutableMatrix(output.shape[0], columns, entries)

    def quantity(self, name: str) -> Quantity:
        """The quantity that a name stands for; refused if the derivation has no such quantity."""
        return quantity(name, self.model.numbers if self.model is not None else [])

    M = _quantity_of("M", "Mass matrix M(q).")
    C = _quantity_of("C", "Coriolis matrix C(q, q̇) by Christoffel symbols.")
    g = _quantity_of("g", "Gravity force g(q) = ∂V/∂q.")
    T = _quantity_of("T", "Kinetic energy.")
    V = _quantity_of("V", "Potential energy.")
    J = _quantity_of("J", "Geometric Jacobian of the tool, rows [linear; angular], base axes.")

    @property
    def equation(self) -> Any:
        """M q̈ + C q̇ + g − forces, which is zero along every motion."""
        return sp.ImmutableMatrix(self["tau"] - self.forces)

    def pose(self, frame: str) -> tuple[Any, Any]:
        """Position and rotation of any named frame of the robot in closed form."""
        if not isinstance(self.forms, ClosedForms):
            raise InvalidInput(f"poses of further frames are derived in closed form only; {self.name} is not")
        return self.forms.frame(frame)

    # ------------------------------------------------------------------ documents

    def notation(self, style: Style) -> Notation:
        """How this derivation's expressions are written in a style."""
        return Notation(style, self.names, self.forms.groups, self.model is not None and self.model.mode == "numbers")

    def sections(self, names: Sequence[str] = DYNAMICS) -> list[Section]:
        """The named quantities, each with its meaning, and the definitions they need."""
        made = []
        for name in names:
            entry = self.quantity(name)
            title = entry.meaning[:1].upper() + entry.meaning[1:]
            lines = [Formula(str(symbol), e) for symbol, e in self.definitions(name)]
            made.append(Section(title, (), (*lines, Formula(entry.symbol, self[name]))))
        return made

    def text(self, *names: str) -> str:
        """Quantities as plain text; M, C, g and the equation by default."""
        notation = self.notation(Text())
        body = as_text(self.sections(names or DYNAMICS), notation)
        return "\n\n".join(part for part in (body, self.legend(notation)) if part)

    def latex(self, *names: str) -> str:
        """Quantities as LaTeX (amsmath)."""
        return as_latex(self.sections(names or DYNAMICS), self.notation(Latex()))

    def legend(self, notation: Notation) -> str:
        """The meaning of the shorthand used so far in a notation."""
        from palpate.tools.derive.writing.page import legend_text

        return legend_text(self, notation)

    def steps(self) -> list[Section]:
        """The derivation as a worked solution, step by step."""
        from palpate.tools.derive.writing.steps import worked_steps

        return worked_steps(self)

    def steps_text(self) -> str:
        """The worked solution as plain text."""
        notation = self.notation(Text())
        return "\n\n".join([as_text(self.steps(), notation), self.legend(notation)])

    def steps_latex(self) -> str:
        """The worked solution as LaTeX."""
        return as_latex(self.steps(), self.notation(Latex()))

    def html(
        self, path: str | Path | None = None, *, steps: bool = False, verification: Verification | None = None
    ) -> str:
        """One page that needs nothing else: formulas as MathML, shorthand and symbols explained.

        Args:
            path: where to write it; None only returns the text.
            steps: the worked solution instead of the results alone.
            verification: what `check` found, to be shown.
        """
        from palpate.tools.derive.writing.page import derivation_page

        text = derivation_page(self, self.notation(MathML()), steps, verification)
        if path is not None:
            from palpate.files import write_file

            write_file(path, text)
        return text

    # ------------------------------------------------------------------ code

    def program(self, *names: str, numbers: bool = False) -> Program:
        """Quantities as one straight-line program; `numbers` puts the parameters' values in."""
        return make_program(self.outputs(names, numbers), self.names.inputs, arguments(names))

    def outputs(self, names: Sequence[str], numbers: bool = False) -> list[Output]:
        """Quantities as nodes, equal parts made one; `numbers` puts the parameters' values in."""
        outputs = [self.forms.output(name) for name in names if self.quantity(name)]
        if not numbers:
            return merge_equal_nodes(outputs, self.names.quaternion)
        return fold_constants(merge_equal_nodes(with_numbers(outputs, self.values), self.names.quaternion))

    def counts(self, *names: str, numbers: bool = False) -> OperationCounts:
        """Operations that a program of these quantities takes for one state."""
        return self.program(*names, numbers=numbers).counts()

    def function(self, *names: str) -> Callable[..., Any]:
        """A NumPy function of q (with v for what depends on velocities, and a for tau), for one state or for many.

        One name gives one array, several give a tuple. The keyword `parameters={"m1": 2.0}` replaces values.
        """
        from palpate.equations.code.python_code import numpy_function

        return numpy_function(self.program(*names), "_".join(names), self.values)

    def compiled(self, *names: str) -> Callable[..., Any]:
        """The same compiled by numba, for one state at a time, with the parameters' values put in."""
        from palpate.equations.code.python_code import compiled_function

        return compiled_function(self.program(*names, numbers=True), "_".join(names), self.values)

    def python(self, *names: str) -> str:
        """A Python module that needs NumPy alone: the parameters' values and a function of q (and v, and a)."""
        from palpate.equations.code.python_code import module_source

        program = self.program(*names)
        self.refuse_unknown_values(program.parameters)
        about = f"{self.name}: {', '.join(names)} as a function of {', '.join(program.inputs)}, SI units."
        return module_source(program, "_".join(names), self.values, about)

    def refuse_unknown_values(self, names: Iterable[str]) -> None:
        """Refuse parameters that have no value."""
        missing = ", ".join(name for name in names if name not in self.values)
        if missing:
            hint = "derive_from_energy(…, values={'m': 1.0}) gives them"
            raise InvalidInput(f"no value is known for {missing}", hint=hint)

    def c(
        self,
        folder: str | Path,
        *,
        robot: Robot | None = None,
        numbers: bool = True,
        states: int = 20,
        force: bool = False,
    ) -> list[Path]:
        """Write C99 source, header and a test program into a folder; returns the paths.

        Args:
            folder: made if it is not there.
            robot: whose values the test program compares with; without one, it compares with this derivation's own.
            numbers: put the parameters' values in; otherwise functions take constants computed from parameters.
            states: how many states the test program checks.
            force: also replace files of these names that were changed, or not written by palpate.

        Raises:
            FileError: such a file is there.
        """
        from palpate.tools.derive.c_files import write_c

        return write_c(self, Path(folder), robot, numbers=numbers, states=states, force=force)

    # ------------------------------------------------------------------ checks and further steps

    def check(self, robot: Robot | None = None, *, states: int = 100, seed: int = 0) -> Verification:
        """Compare with the numeric robot at random states: M, C q̇ + g, g, pose, J, J̇ q̇, energies to 1e-10; and test
        what must hold of any derivation (also without a robot): M symmetric, Ṁ − 2C skew-symmetric, the energy's rate
        equal to the power."""
        from palpate.tools.derive.verify import verify_derivation

        return verify_derivation(self, robot, states, seed)

    def compare(self) -> TorqueComparison:
        """Lagrange, Newton–Euler and projected Newton–Euler side by side, and whether they agree."""
        from palpate.tools.derive.verify import compare_methods

        return compare_methods(self)

    def constrain(
        self, constraints: Sequence[Any] | Any, *, solve: Mapping[Any, Any] | None = None
    ) -> ConstrainedDerivation:
        """Holonomic constraints φ(q) = 0: multipliers, and reduced equations.

        Args:
            constraints: expressions that are zero, as text or SymPy.
            solve: how dependent coordinates follow from the others, {"q2": "-2*q1"}; found by itself where the
                constraints are linear in them.
        """
        from palpate.tools.derive.constraints import constrained

        return constrained(self, constraints, solve)

    def linearise(
        self, q: Sequence[Any] | Array, v: Sequence[Any] | Array | None = None, *, parameters: str = "symbols"
    ) -> Linearisation:
        """M δq̈ + D δq̇ + K δq = δτ about a state that forces can hold; see `Linearisation`."""
        from palpate.tools.derive.linearisation import linearise_derivation

        return linearise_derivation(self, q, v, parameters)
