"""Quantities that follow from the inputs of a case alone.

Poses come from multiplying transformations (rows of Denavit and Hartenberg, or exponentials of screws), energies from
positions, forces by Lagrange.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from palpate.errors import check_names
from palpate.forking import cached_property
from palpate.tools.review.algebra.convert import to_sympy
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.tree import as_grid
from palpate.tools.review.read.reading import SymbolText

sp: Any = sympy  # its own types know too little of matrices
ASKED = (
    "FK", "position", "J", "determinant", "M", "C", "c", "g", "tau", "T", "V", "L", "momentum", "acceleration",
    "expression",
)  # fmt: skip
_DIGITS = 20  # of numbers that are not exact


class Inputs:
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
        check_names("quantity of a case", [asked], ASKED)
        if asked == "expression":
            return sp.Matrix([[self.expression(cell) for cell in row] for row in self.data["numbers"]])
        if "screws" in self.data:
            return self._screwed(asked)
        if "dh" in self.data:
            return self._kinematic(asked)
        return self._dynamic(asked)

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

    def _screwed(self, asked: str) -> Any:
        """Pose, or Jacobian in the frame of the screws, of a chain of joint screws (ω, v) at given joint values.

        Screws of the body frame stand right of the home pose, those of the space frame left of it.
        """
        screws = [sp.Matrix([self.expression(cell) for cell in row]) for row in self.data["screws"]]
        values = [self.expression(cell) for cell in self.data["at"]]
        steps = [_exponential(screw, value) for screw, value in zip(screws, values)]
        body = self.data.get("frame", "space") == "body"
        if asked == "FK":
            home = sp.Matrix([[self.expression(cell) for cell in row] for row in self.data["home"]])
            product = sp.prod(steps, start=sp.eye(4))
            return (home * product if body else product * home).evalf(_DIGITS)
        columns = []
        for k, screw in enumerate(screws):
            way = sp.prod(steps[k + 1 :], start=sp.eye(4)).inv() if body else sp.prod(steps[:k], start=sp.eye(4))
            columns.append(_adjoint(way) * screw)
        return sp.Matrix.hstack(*columns).evalf(_DIGITS)

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
        return T, V + self.expression(self.system.get("springs", "0"))

    def _dynamic(self, asked: str) -> Any:
        T, V = self.energies
        if asked in ("T", "V", "L"):
            return {"T": T, "V": V, "L": T - V}[asked]
        if asked == "position":
            return sp.Matrix([self.expression(self.system["bodies"][-1].get(axis, "0")) for axis in "xyz"])
        if asked == "momentum":
            return sp.Matrix([T.diff(v) for v in self.rates])
        M = sp.hessian(T, self.rates)
        if asked == "M":
            return M
        gravity = sp.Matrix([V.diff(x) for x in self.symbols])
        if asked == "g":
            return gravity
        C = _christoffel(M, self.symbols, self.rates)
        forces = C * sp.Matrix(self.rates)
        tau = M * sp.Matrix(self.accelerations) + forces + gravity
        if asked == "acceleration":
            pushed = sp.Matrix([self.expression(text) for text in self.system["forces"]])
            return (M.adjugate() * (pushed - forces - gravity) / M.det()).applyfunc(sp.together)
        return {"C": C, "c": forces, "tau": tau}[asked]


def _transformation(a: Any, alpha: Any, d: Any, theta: Any) -> Any:
    """Denavit and Hartenberg's transformation: about z by θ, along z by d, along x by a, about x by α."""
    c, s, ca, sa = sp.cos(theta), sp.sin(theta), sp.cos(alpha), sp.sin(alpha)
    return sp.Matrix([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])


def _christoffel(M: Any, q: Sequence[Any], v: Sequence[Any]) -> Any:
    def entry(i: int, j: int) -> Any:
        return sum((M[i, j].diff(q[k]) + M[i, k].diff(q[j]) - M[j, k].diff(q[i])) * v[k] / 2 for k in range(len(q)))

    return sp.Matrix(len(q), len(q), entry)


def _cross(v: Any) -> Any:
    """The matrix of the cross product with a vector."""
    return sp.Matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def _exponential(screw: Any, value: Any) -> Any:
    """The motion along a screw (ω, v) by a value; ω need not be of length one (Rodrigues)."""
    size = sp.sqrt(screw[:3, 0].dot(screw[:3, 0]))
    if size == 0:
        return sp.Matrix.vstack(sp.Matrix.hstack(sp.eye(3), screw[3:, 0] * value), sp.Matrix([[0, 0, 0, 1]]))
    W, v, angle = _cross(screw[:3, 0] / size), screw[3:, 0] / size, value * size
    R = sp.eye(3) + sp.sin(angle) * W + (1 - sp.cos(angle)) * W**2
    G = angle * sp.eye(3) + (1 - sp.cos(angle)) * W + (angle - sp.sin(angle)) * W**2
    return sp.Matrix.vstack(sp.Matrix.hstack(R, G * v), sp.Matrix([[0, 0, 0, 1]]))


def _adjoint(pose: Any) -> Any:
    """The map of screws (ω, v) that a pose makes."""
    R, p = pose[:3, :3], pose[:3, 3]
    top = sp.Matrix.hstack(R, sp.zeros(3))
    return sp.Matrix.vstack(top, sp.Matrix.hstack(_cross(p) * R, R))
