"""A derivation held against the numeric robot, what every derivation must obey, and other methods' torques."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array
from palpate.equations.algebra.derivatives import tangent
from palpate.equations.algebra.graph import Node, Output
from palpate.equations.algebra.residues import values_at_random
from palpate.equations.code.program import make_program
from palpate.equations.code.python_code import numpy_function
from palpate.equations.dynamics.recursive import inverse_dynamics
from palpate.equations.dynamics.recursive_forms import RecursiveForms, lagrange_torques, projected_torques
from palpate.equations.spelling import Text
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.tools.derive.closed.forms import METHOD_NAMES, ClosedForms
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.plain_text import as_text

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation

TOLERANCE = 1e-10
# Quantity of the derivation → what the numeric robot says, as (robot, q, v) → array.
NUMERIC: dict[str, Callable[[Robot, Array, Array], Any]] = {
    "M": lambda r, q, v: r.mass_matrix(q),
    "bias": lambda r, q, v: r.bias(q, v),
    "g": lambda r, q, v: r.gravity(q),
    "position": lambda r, q, v: r.pose(q, None).position,
    "rotation": lambda r, q, v: r.pose(q, None).rotation,
    "J": lambda r, q, v: r.jacobian(q, None),
    "drift": lambda r, q, v: r.jacobian_drift(q, v, None),
    "T": lambda r, q, v: r.kinetic_energy(q, v),
}
ROUTES = {
    "lagrange": "τ = d/dt ∂L/∂q̇ − ∂L/∂q with L = T − V",
    "newton-euler": "forces and moments of every link, m a and I ω̇ + ω × I ω, summed from the tips to the base",
    "projected": "τ = Σ J_Pᵀ m (J_P q̈ + J̇_P q̇ − g) + J_Oᵀ (I ω̇ + ω × I ω)",
}


@dataclass(frozen=True)
class Checked:
    """One line of a verification: what was compared, the largest error (relative to the largest value, or to 1)."""

    what: str
    error: float
    tolerance: float = TOLERANCE

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance; a NaN is not."""
        return bool(self.error <= self.tolerance)


@dataclass(frozen=True)
class Verification:
    """The outcome of a check at a number of random states."""

    name: str
    states: int
    findings: tuple[Checked, ...]

    @property
    def ok(self) -> bool:
        """Whether everything agreed."""
        return all(finding.ok for finding in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        width = max(len(f.what) for f in self.findings)
        rows = [f"  {f.what:<{width}}  {f.error:9.2e}  {'agrees' if f.ok else 'DIFFERS'}" for f in self.findings]
        verdict = "everything agrees" if self.ok else "it DIFFERS"
        return "\n".join([f"{self.name} at {self.states} random states, largest errors:", *rows, f"  {verdict}"])


def verify_derivation(derivation: Derivation, robot: Robot | None, states: int, seed: int) -> Verification:
    """Compare at random states; without a robot, only what must hold of any derivation."""
    if states < 1:
        raise InvalidInput(f"states must be at least 1, got {states}")
    q, v, a = random_states(derivation, states, seed)
    findings = []
    if robot is not None:
        _check_same(derivation, robot)
        findings += _against(derivation, robot, q, v)
    findings += _structure(derivation, q, v, a)
    return Verification(derivation.name, states, tuple(findings))


def random_states(derivation: Derivation, states: int, seed: int) -> tuple[Array, Array, Array]:
    """Coordinates, velocities and accelerations; angles all the way round, quaternions of unit length."""
    rng = np.random.default_rng(seed)
    names = derivation.names
    angles = np.array([name in names.angles for name in names.q])
    q = np.where(
        angles, rng.uniform(-np.pi, np.pi, (states, len(names.q))), rng.uniform(-0.5, 0.5, (states, len(names.q)))
    )
    if "qw" in names.q:
        quat = rng.normal(size=(states, 4))
        q[:, 3:7] = quat / np.linalg.norm(quat, axis=1, keepdims=True)
    v, a = (rng.uniform(-2.0, 2.0, (states, len(names.v))) for _ in range(2))
    return q, v, a


def _check_same(derivation: Derivation, robot: Robot) -> None:
    sizes = (len(derivation.names.q), len(derivation.names.v))
    if sizes != (robot.nq, robot.nv):
        raise InvalidInput(
            f"the derivation of {derivation.name} has {sizes[1]} degrees of freedom, {robot.name} has {robot.nv}",
            hint="check with the robot it was derived from",
        )
    if derivation.model is None:
        raise InvalidInput("a derivation from energies has no links to compare with a robot's")


def _against(derivation: Derivation, robot: Robot, q: Array, v: Array) -> list[Checked]:
    assert derivation.model is not None
    frame = derivation.model.mechanism.tool_name
    robot = type(robot)(robot.spec(), name=robot.name, tool_frame=frame) if robot.tool_frame != frame else robot
    outputs = [derivation.forms.output(name) for name in (*NUMERIC, "V")]
    *computed, potential = evaluate_outputs(derivation, outputs, q, v, None)
    findings = []
    for (name, numeric), value in zip(NUMERIC.items(), computed):
        wanted = np.array([numeric(robot, x, y) for x, y in zip(q, v)])
        findings.append(Checked(f"{name} against the robot", _difference(value, wanted)))
    wanted = np.array([robot.potential_energy(x) for x in q])
    findings.append(
        Checked("V against the robot, up to a constant", _difference(potential - potential[0], wanted - wanted[0]))
    )
    return findings


def _difference(computed: Array, wanted: Array) -> float:
    return float(np.abs(computed - wanted).max() / max(1.0, np.abs(wanted).max()))


def evaluate_outputs(derivation: Derivation, outputs: list[Output], q: Array, v: Array, a: Array | None) -> list[Array]:
    """Outputs at many states at once."""
    arrays = {"q": q, "v": v, "a": a}
    program = make_program(outputs, derivation.names.inputs)
    function = numpy_function(program, "evaluated", derivation.values)
    results = function(*(arrays[name] for name in program.inputs))
    results = list(results) if len(outputs) > 1 else [results]
    shapes = [(len(q), *output.shape) for output in outputs]  # a constant has no states of its own
    return [np.broadcast_to(result, shape) for result, shape in zip(results, shapes)]


def _structure(derivation: Derivation, q: Array, v: Array, a: Array) -> list[Checked]:
    """M symmetric, Ṁ − 2C skew-symmetric, d(T + V)/dt = q̇ᵀ τ."""
    forms, graph = derivation.forms, derivation.forms.graph
    outputs = {name: forms.output(name) for name in ("M", "C", "T", "V", "tau")}
    rates = forms.rates()
    M_rate = tangent(outputs["M"].nodes, rates)
    moving = rates | {graph.symbol(x): graph.symbol(y) for x, y in zip(derivation.names.v, derivation.names.a)}
    energy_rate = tangent([outputs["T"].nodes[0] + outputs["V"].nodes[0]], moving)
    rated = [Output("M_rate", outputs["M"].shape, tuple(M_rate)), Output("energy_rate", (), tuple(energy_rate))]
    M, C, tau, dM, dE = evaluate_outputs(derivation, [outputs["M"], outputs["C"], outputs["tau"], *rated], q, v, a)
    skew = dM - 2 * C
    scale = max(1.0, float(np.abs(M).max()))
    power = np.einsum("si,si->s", v, tau)
    return [
        Checked("M symmetric", float(np.abs(M - M.swapaxes(1, 2)).max() / scale)),
        Checked("Ṁ − 2C skew-symmetric", float(np.abs(skew + skew.swapaxes(1, 2)).max() / max(1.0, np.abs(dM).max()))),
        Checked("energy rate = power", _difference(dE, power)),
    ]


@dataclass(frozen=True)
class TorqueComparison:
    """Torques by several methods, and whether they are the same.

    Attributes:
        agree: whether all methods gave the same torques.
        how: how that was decided.
        methods: those compared.
        sections: the results, to print.
    """

    name: str
    agree: bool
    how: str
    methods: tuple[str, ...]
    sections: tuple[Section, ...]
    text: str

    def __bool__(self) -> bool:
        return self.agree

    def __str__(self) -> str:
        return self.text


def compare_methods(derivation: Derivation) -> TorqueComparison:
    """Derive the torques in every way there is and compare them."""
    forms = derivation.forms
    if isinstance(forms, ClosedForms):
        closed, how = forms.closed, "term by term in normal form"
        routes = {"lagrange": closed.lagrange, "newton-euler": closed.newton_euler, "projected": closed.projected}
        agree = all(torques == closed.lagrange for torques in routes.values())
        sections = [_section(name, (), forms.names.tau, forms.by_rates(torques)) for name, torques in routes.items()]
    elif isinstance(forms, RecursiveForms):
        routes = _recursive_torques(forms)
        outputs = [Output(name.replace("-", "_"), (len(torques),), tuple(torques)) for name, torques in routes.items()]
        agree, how = _same(derivation, outputs)
        counts = [make_program([output], forms.names.inputs).counts() for output in outputs]
        sections = [_section(name, (f"{count}",), (), ()) for name, count in zip(routes, counts)]
    else:
        raise InvalidInput("a system given by its energies has Lagrange's method only; nothing to compare")
    sections.append(Section("", (f"{'They agree' if agree else 'They DIFFER'}, {how}.",)))
    text = as_text(sections, derivation.notation(Text()))
    return TorqueComparison(derivation.name, agree, how, tuple(routes), tuple(sections), text)


def _section(name: str, words: tuple[str, ...], labels: Sequence[str], torques: Iterable[Any]) -> Section:
    formulas = tuple(Formula(label, x) for label, x in zip(labels, torques))
    title = METHOD_NAMES[name][:1].upper() + METHOD_NAMES[name][1:]
    return Section(title, (ROUTES[name], *words), formulas)


def _recursive_torques(forms: RecursiveForms) -> dict[str, list[Node]]:
    chain = forms.chain
    routes = {"newton-euler": inverse_dynamics(chain, chain.v, chain.a), "projected": projected_torques(forms)}
    return routes if forms.model.mechanism.floating else {"lagrange": lagrange_torques(forms), **routes}


def _same(derivation: Derivation, outputs: list[Output]) -> tuple[bool, str]:
    """Whether all methods' torques are equal, and how that was decided."""
    nodes, n = [node for output in outputs for node in output.nodes], len(derivation.names.v)
    try:
        points = [values_at_random(nodes, seed, derivation.names.quaternion) for seed in range(3)]
        agree = all(values[i : i + n] == values[:n] for values in points for i in range(0, len(nodes), n))
        return agree, "in exact arithmetic at three random points modulo 2¹²⁷ − 3489"
    except InvalidInput:  # a mimicking joint's offset, for one
        torques = evaluate_outputs(derivation, outputs, *random_states(derivation, 10, seed=0))
        return all(_difference(x, torques[0]) <= 1e-9 for x in torques), "to 1e-9 at ten random states"
