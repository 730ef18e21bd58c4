"""Every quantity of a robot by the recursive engine: nodes of one graph, shared between quantities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from palpate.equations.algebra.derivatives import gradient, tangent
from palpate.equations.algebra.graph import Node, Output
from palpate.equations.algebra.linear_systems import task_space
from palpate.equations.algebra.vectors import congruent, cross, minus, plus, times, transposed
from palpate.equations.dynamics import base_frame, composite, coriolis, energies, link_motions, recursive
from palpate.equations.model.chain import Chain, Matrix, Vector, along
from palpate.equations.model.naming import CoordinateNames, NamedModel
from palpate.equations.quantities import euler_rates, link_parts, task_rows
from palpate.errors import InvalidInput
from palpate.forking import cached_property


class RecursiveForms:
    """The recursive engine behind a derivation."""

    engine = "recursive"

    def __init__(self, model: NamedModel, task: Sequence[str] | None, euler: str) -> None:
        self.model, self.chain, self.euler = model, Chain(model), euler
        self.graph = self.chain.graph
        self.names: CoordinateNames = self.chain.names
        self.groups: dict[str, str] = {name: p.group for name, p in model.parameters.items()}
        self.groups |= dict.fromkeys(self.names.v, "rate") | dict.fromkeys(self.names.a, "acceleration")
        self._parts: dict[str, Any] = {}
        moving = [any(row) for row in self.jacobian]
        self.rows = task_rows(task, moving, len(self.names.v))

    # ------------------------------------------------------------------ shared parts

    @cached_property
    def frames(self) -> list[base_frame.LinkPose]:
        """Links in the base frame."""
        return base_frame.link_poses(self.chain)

    @cached_property
    def tool(self) -> tuple[Vector, Matrix]:
        """Position and rotation of the tool."""
        return base_frame.frame_pose(self.chain, self.frames, self.model.tool)

    @cached_property
    def jacobian(self) -> Matrix:
        """Of the tool, 6×n."""
        return base_frame.jacobian(self.chain, self.frames, self.model.tool.link, self.tool[0])

    # ------------------------------------------------------------------ by name

    def output(self, name: str) -> Output:
        """A quantity's entries as nodes."""
        if name not in ("Lambda", "mu", "p"):
            return _output(name, self.part(name))
        M, J, drift, bias, gravity = (self.part(part) for part in ("M", "J", "drift", "bias", "g"))
        return task_space(name, M, J, drift, bias, gravity, self.rows)

    def part(self, name: str) -> Any:
        """A quantity as a node, or as lists of nodes; made once."""
        if name not in self._parts:
            of_link = link_parts(name)
            self._parts[name] = self._made(name) if of_link is None else self._link(*of_link)
        return self._parts[name]

    def _made(self, name: str) -> Any:
        chain = self.chain
        makers: dict[str, Callable[[], Any]] = {
            "position": lambda: self.tool[0],
            "rotation": lambda: self.tool[1],
            "J": lambda: self.jacobian,
            "Ja": self._analytical,
            "Jdot": lambda: self.rate(self.jacobian),
            "drift": self._drift,
            "T": lambda: energies.kinetic_energy(chain, self.part("M")),
            "V": lambda: energies.potential_energy(chain),
            "M": lambda: composite.mass_matrix(chain),
            "C": lambda: coriolis.coriolis_matrix(chain),
            "g": lambda: recursive.gravity(chain),
            "bias": lambda: recursive.bias(chain),
            "tau": lambda: recursive.inverse_dynamics(chain, chain.v, chain.a),
        }
        return makers[name]()

    def _drift(self) -> list[Node]:
        """J̇ v, from motions for v̇ = 0."""
        moving = link_motions.motions(self.chain, self.chain.v, [self.graph.zero] * len(self.chain.v))
        return base_frame.drift(self.chain, self.frames, moving, self.model.tool)

    def expression(self, name: str) -> Any:
        """Nothing in closed form: what is written is written line by line, from nodes."""
        return None

    def tidy(self, expression: Any) -> Any:
        """Refused: expressions are handled in closed form only."""
        raise InvalidInput(
            f"{self.model.mechanism.name} is derived recursively, without closed forms to work on",
            hint="a closed form is made for up to about three links; or ask for engine='closed' and have patience",
        )

    def rates(self) -> dict[Node, Node]:
        """q̇ of every coordinate: v itself, and ½ quat ⊗ (0, ω) for a free base's quaternion."""
        q, v, graph = self.chain.q, self.chain.v, self.graph
        if not self.model.mechanism.floating:
            return dict(zip(q, v))
        half = graph.node(1) / 2
        w, x, y, z = q[3:7]
        wx, wy, wz = v[3:6]
        turning = [
            -half * (x * wx + y * wy + z * wz),
            half * (w * wx + y * wz - z * wy),
            half * (w * wy + z * wx - x * wz),
            half * (w * wz + x * wy - y * wx),
        ]
        return dict(zip(q, [*v[:3], *turning, *v[6:]]))

    def rate(self, A: Matrix) -> Matrix:
        """dA/dt."""
        flat = tangent([x for row in A for x in row], self.rates())
        width = len(A[0])
        return [flat[i : i + width] for i in range(0, len(flat), width)]

    def _link(self, kind: str, number: int) -> Any:
        index = self.model.numbers.index(number)
        named, frame, chain = self.model.links[index], self.frames[index], self.chain
        axes = chain.links[index].axes
        com = [chain.term(x) for x in named.com]
        inner = along(axes, com)
        inner = [inner[0], inner[1], inner[2] - chain.links[index].shift]
        point = plus(frame.origin, frame.to_base(inner))
        R = transposed([frame.to_base([self.graph.node(axes[r][c]) for r in range(3)]) for c in range(3)])
        if kind == "R_":
            return R
        if kind == "p_":
            zero = self.graph.zero
            return plus(frame.origin, frame.to_base([zero, zero, -chain.links[index].shift]))
        if kind == "I_":
            tensor = [[chain.term(x) for x in row] for row in named.inertia]
            return congruent(lambda v: times(R, v), tensor)
        if kind == "p_c":
            return point
        J = base_frame.jacobian(chain, self.frames, index, point)
        return J[:3] if kind == "J_P" else J[3:]

    def _analytical(self) -> Matrix:
        """Euler-angle rates from ω through the entries of R."""
        R, J, graph = self.tool[1], self.jacobian, self.graph
        if self.model.planar:
            return [row for row in J if any(row)]
        a, b, s, along, middle, last = euler_rates(R, J[3:], self.euler)
        square = a * a + b * b
        root = graph.sqrt(square)
        last = [value / square for value in last]
        return [*J[:3], [v - s * w for v, w in zip(along, last)], [m / root for m in middle], last]


def _output(name: str, value: Any) -> Output:
    if isinstance(value, Node):
        return Output(name, (), (value,))
    if isinstance(value[0], Node):
        return Output(name, (len(value),), tuple(value))
    return Output(name, (len(value), len(value[0])), tuple(x for row in value for x in row))


def lagrange_torques(forms: RecursiveForms) -> list[Node]:
    """τ = d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q, the derivatives taken on the graph; of a fixed base, where v = q̇."""
    chain = forms.chain
    T, V = energies.kinetic_energy(chain, forms.part("M")), energies.potential_energy(chain)
    momenta = gradient(T, chain.v)
    moving = dict(zip(chain.q, chain.v)) | dict(zip(chain.v, chain.a))
    pushed = tangent(momenta, moving)
    return [p - t + u for p, t, u in zip(pushed, gradient(T, chain.q), gradient(V, chain.q))]


def projected_torques(forms: RecursiveForms) -> list[Node]:
    """τ = Σ J_Pᵀ m (a_c − g) + J_Oᵀ (I ω̇ + ω × I ω), with the links' Jacobians and their rates."""
    chain = forms.chain
    total = [chain.graph.zero] * len(chain.v)
    for index, named in enumerate(forms.model.links):
        com, tensor = forms.part(f"p_c{named.number}"), forms.part(f"I_{named.number}")
        J = base_frame.jacobian(chain, forms.frames, index, com)
        acc, w = plus(times(J, chain.a), times(forms.rate(J), chain.v)), times(J, chain.v)[3:]
        force = [chain.term(named.mass) * x for x in minus(acc[:3], chain.gravity)]
        moment = plus(times(tensor, acc[3:]), cross(w, times(tensor, w)))
        total = plus(total, times(transposed(J), [*force, *moment]))
    return plus(total, recursive.rotor_torques(chain, chain.a))
