"""Every quantity of a robot in closed form, as SymPy expressions a person would write."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import sympy as sp

from palpate.equations.algebra.graph import PARAMETER, STATE, Graph, Node, Output
from palpate.equations.algebra.linear_systems import task_space
from palpate.equations.algebra.sympy_bridge import output_from_expression
from palpate.equations.algebra.vectors import multiply, times, transposed
from palpate.equations.model.naming import CoordinateNames, NamedConstant, NamedModel
from palpate.equations.quantities import euler_rates, link_parts, task_rows
from palpate.errors import InvalidInput, check_names
from palpate.tools.derive.closed.angles import runs_of
from palpate.tools.derive.closed.model import ClosedModel, Matrix, Vector
from palpate.tools.derive.closed.present import Presenter, Tidy
from palpate.tools.derive.closed.trig import TrigPolynomial

Method = Literal["lagrange", "newton-euler", "projected"]
METHOD_NAMES = {"lagrange": "Lagrange", "newton-euler": "Newton–Euler", "projected": "projected Newton–Euler"}
LARGEST = 400  # terms of a closed-form task-space matrix; larger ones are not readable


class WrittenForms:
    """An engine whose quantities are SymPy expressions; their programs are read from what is written.

    Args:
        names: coordinates, rates and accelerations.
        parameters: the named constants.
    """

    engine = "closed"

    def __init__(self, names: CoordinateNames, parameters: dict[str, NamedConstant]) -> None:
        self.names, self.parameters, self.graph = names, parameters, Graph()
        self.groups: dict[str, str] = {name: p.group for name, p in parameters.items()}
        self.groups |= dict.fromkeys(names.v, "rate") | dict.fromkeys(names.a, "acceleration")
        self.groups |= dict.fromkeys(names.q, "coordinate")
        self._outputs: dict[str, Output] = {}

    @abstractmethod
    def expression(self, name: str) -> Any:
        """A quantity as SymPy; None where a closed form would not be readable."""

    def output(self, name: str) -> Output:
        """A quantity's entries as nodes."""
        if name not in self._outputs:
            self._outputs[name] = self._read(name, self.expression(name))
        return self._outputs[name]

    def rates(self) -> dict[Node, Node]:
        """q̇ of every coordinate: v itself."""
        return {self.graph.symbol(q): self.graph.symbol(v) for q, v in zip(self.names.q, self.names.v)}

    def _read(self, name: str, expression: Any) -> Output:
        levels = dict.fromkeys((*self.names.q, *self.names.v, *self.names.a), STATE)
        levels |= dict.fromkeys(self.parameters, PARAMETER)
        return output_from_expression(self.graph, name, expression, levels)


class ClosedForms(WrittenForms):
    """The closed-form engine behind a derivation.

    Args:
        model: the robot with names.
        method: which way leads to the torques.
        task: directions of the task space, or None for the usual ones.
        euler: sequence of the analytical Jacobian's angles, "XYZ" or "ZYX".
    """

    def __init__(self, model: NamedModel, method: Method, task: Sequence[str] | None, euler: str) -> None:
        self.model, self.closed, self.method, self.euler = model, ClosedModel(model), method, euler
        super().__init__(self.closed.names, model.parameters)
        self.presenter = Presenter(self.closed.ring, self.groups, runs_of(model.mechanism, self.names))
        moving = [any(row) for row in self.closed.jacobian]
        self.rows = task_rows(task, moving, len(self.names.v))

    # ------------------------------------------------------------------ by name

    def expression(self, name: str) -> Any:
        """A quantity as SymPy matrix (or scalar, for energies)."""
        part = link_parts(name)
        if part is not None:
            return self._link(*part)
        closed, matrix, vector = self.closed, self.presenter.matrix, self.presenter.vector
        makers: dict[str, Callable[[], Any]] = {
            "position": lambda: vector(closed.pose(self.model.tool)[1]),
            "rotation": lambda: matrix(closed.pose(self.model.tool)[0]),
            "J": lambda: matrix(closed.jacobian),
            "Jdot": lambda: matrix(closed.jacobian_rate),
            "drift": lambda: self.by_rates(times(closed.jacobian_rate, closed.v)),
            "Ja": self._analytical,
            "T": lambda: half_of(self.by_rates([closed.kinetic * 2])[0]),
            "V": lambda: self.presenter.write(closed.potential),
            "M": lambda: matrix([[row.coefficient(a) for a in self.names.a] for row in self.torques]),
            "C": lambda: matrix(closed.coriolis_matrix),
            "g": lambda: vector(closed.gravity_force),
            "bias": lambda: self.by_rates(self.bias),
            "tau": lambda: self.by_rates(self.torques),
        }
        return makers[name]() if name in makers else self._task(name)

    def _link(self, kind: str, number: int) -> Any:
        index, closed = self.model.numbers.index(number), self.closed
        if kind in ("J_P", "J_O"):
            return self.presenter.matrix(closed.link_jacobians[index][0 if kind == "J_P" else 1])
        if kind == "I_":
            return self.presenter.matrix(closed.tensors[index])
        if kind == "R_":
            return self.presenter.matrix(closed.link_poses[index][0])
        return self.presenter.vector(closed.coms[index] if kind == "p_c" else closed.link_poses[index][1])

    def frame(self, name: str) -> tuple[Any, Any]:
        """Position and rotation of any named frame."""
        frames = self.model.mechanism.frames
        check_names("frame", [name], frames)
        R, p = self.closed.pose(self.model.named_frame(frames[name]))
        return self.presenter.vector(p), self.presenter.matrix(R)

    # ------------------------------------------------------------------ dynamics

    @property
    def torques(self) -> Vector:
        """M q̈ + C q̇ + g by the chosen method."""
        return getattr(self.closed, self.method.replace("-", "_"))

    @property
    def bias(self) -> Vector:
        """The torques without their terms in accelerations."""
        return [row.coefficients(self.names.a).get(0, self.closed.ring.zero) for row in self.torques]

    def by_rates(self, entries: Iterable[TrigPolynomial]) -> Any:
        """Each entry by accelerations and products of rates, every coefficient written on its own."""
        return sp.ImmutableMatrix([[self._gathered(entry)] for entry in entries])

    def _gathered(self, entry: TrigPolynomial) -> Any:
        total = sp.Integer(0)
        for monomial, inner in entry.coefficients([*self.names.v, *self.names.a]).items():
            front = sp.Mul(*(sp.Symbol(n) ** e for n, e in self.closed.ring.powers(monomial).items()))
            total += _multiplied(front, self.presenter.write(inner))
        return total

    # ------------------------------------------------------------------ analytical Jacobian

    def _analytical(self) -> Any:
        """Rows ṗ and the rates of the tool's angles.

        Where all axes are parallel the angle is one, the sum of the joints'. Otherwise three Euler angles, whose rates
        follow from ω through the entries of R, with a root for the cosine of the middle one.
        """
        closed = self.closed
        R, p = closed.pose(self.model.tool)
        moving = [row for row in closed.position_jacobian(p) if any(row)]
        turning = closed.rotation_jacobian(self.model.tool.link)
        if self.model.planar:
            return self.presenter.matrix([*moving, *(row for row in turning if any(row))])
        linear = self.presenter.matrix(closed.position_jacobian(p))
        return sp.ImmutableMatrix(linear.tolist() + self._angle_rates(R, turning))

    def _angle_rates(self, R: Matrix, turning: Matrix) -> list[list[Any]]:
        write = self.presenter.write
        a, b, s, along, middle, last = euler_rates(R, turning, self.euler)
        square = write(a * a + b * b)
        root = sp.Abs(square.base) if isinstance(square, sp.Pow) and square.exp == 2 else sp.sqrt(square)
        outer = [write(a) - write(s) * write(w) / square for a, w in zip(along, last)]
        return [outer, [write(m) / root for m in middle], [write(w) / square for w in last]]

    # ------------------------------------------------------------------ task space

    def _task(self, name: str) -> Any:
        """Λ = J⁻ᵀ M J⁻¹ and its kin for a square task; None where a closed form would not be readable."""
        J = [self.closed.jacobian[row] for row in self.rows]
        if len(J) != len(self.names.v) or len(J) > 3:
            return None
        determinant, adjugate = _determinant(J), _adjugate(J)
        if not determinant:
            raise InvalidInput("the task's Jacobian is singular everywhere", hint="choose other task directions")
        back = transposed(adjugate)
        if name == "p":
            return self._quotients([[x] for x in times(back, self.closed.gravity_force)], determinant)
        inertia = multiply(multiply(back, self.closed.mass_matrix), adjugate)
        if name == "Lambda":
            return self._quotients(inertia, determinant, 2)
        drift = times(self.closed.jacobian_rate, self.closed.v)
        moved = times(inertia, [drift[row] for row in self.rows])
        coriolis = [x * determinant for x in times(back, times(self.closed.coriolis_matrix, self.closed.v))]
        return self._quotients([[x - y] for x, y in zip(coriolis, moved)], determinant, 2)

    def _quotients(self, top: Matrix, bottom: TrigPolynomial, power: int = 1) -> Any:
        """Entries over a common denominator; SymPy cancels what is a factor of both."""
        if sum(len(x.terms) for row in top for x in row) > LARGEST:
            return None
        below = self.presenter.write(bottom) ** power
        return sp.ImmutableMatrix([[self.presenter.write(x) / below for x in row] for row in top])

    # ------------------------------------------------------------------ as programs

    def _read(self, name: str, expression: Any) -> Output:
        return super()._read(name, expression) if expression is not None else self._task_output(name)

    def _task_output(self, name: str) -> Output:
        parts = {part: _rows(self.output(part)) for part in ("M", "J", "drift", "bias", "g")}
        flat = {part: [x for row in rows for x in row] for part, rows in parts.items()}
        return task_space(name, parts["M"], parts["J"], flat["drift"], flat["bias"], flat["g"], self.rows)

    def tidy(self, expression: Any) -> Any:
        """Any expression in this derivation's symbols, written as a person would."""
        return Tidy(self.closed.ring, self.presenter, {})(expression)


def half_of(e: Any) -> Any:
    """½ (…), the bracket left standing."""
    return sp.Mul(sp.Rational(1, 2), e, evaluate=False) if isinstance(e, sp.Add) else e / 2


def _multiplied(front: Any, e: Any) -> Any:
    """front · e with brackets left standing, a sum of negative terms as minus a bracket."""
    if front == 1:
        return e
    if isinstance(e, sp.Add) and all(t.could_extract_minus_sign() for t in e.args):
        return sp.Mul(-1, front, sp.Add(*(-t for t in e.args)))
    number, symbolic = e.as_coeff_Mul()
    return sp.Mul(number, front, symbolic)


def _rows(output: Output) -> list[list[Node]]:
    width = output.shape[1] if len(output.shape) == 2 else 1
    nodes = list(output.nodes)
    return [nodes[i : i + width] for i in range(0, len(nodes), width)]


def _determinant(A: Matrix) -> TrigPolynomial:
    if len(A) == 1:
        return A[0][0]
    total = A[0][0].ring.zero
    for j, x in enumerate(A[0]):
        if x:
            minor = [row[:j] + row[j + 1 :] for row in A[1:]]
            total = total + x * _determinant(minor) * (-1) ** j
    return total


def _adjugate(A: Matrix) -> Matrix:
    indices = range(len(A))
    if len(A) == 1:
        return [[A[0][0].ring.one]]
    minors = [[[r[:i] + r[i + 1 :] for k, r in enumerate(A) if k != j] for j in indices] for i in indices]
    return [[_determinant(minors[i][j]) * (-1) ** (i + j) for j in indices] for i in indices]
