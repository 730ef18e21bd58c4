"""A derivation as a worked solution: each step a line a teacher would write."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import sympy as sp

from palpate.equations.algebra.vectors import dot, plus, times
from palpate.tools.derive.closed.energy import EnergyForms
from palpate.tools.derive.closed.forms import ClosedForms, halved
from palpate.tools.derive.closed.model import Vector
from palpate.tools.derive.closed.trig import TrigPolynomial
from palpate.tools.derive.writing.document import Formula, Section

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation


def worked_steps(derivation: Derivation) -> list[Section]:
    """The steps of whichever method the derivation used."""
    forms = derivation.forms
    if isinstance(forms, EnergyForms):
        return _energy_steps(derivation, forms)
    if not isinstance(forms, ClosedForms):
        return _recursive_steps(derivation)
    writer = _Writer(derivation, forms)
    middle = {"lagrange": _lagrange, "newton-euler": _newton_euler, "projected": _projected}[derivation.method]
    return [*_kinematics(writer), *middle(writer), *_result(derivation)]


class _Writer:
    """Short ways to a formula."""

    def __init__(self, derivation: Derivation, forms: ClosedForms) -> None:
        self.derivation, self.forms, self.closed = derivation, forms, forms.closed
        self.numbers = forms.model.numbers
        self.heavy = [n for n, named in zip(self.numbers, forms.model.links) if named.link.mass > 0]

    def of(self, *names: str) -> tuple[Formula, ...]:
        """Quantities by name."""
        pairs = [(self.derivation.quantity(name).symbol, name) for name in names]
        return tuple(Formula(symbol, self.derivation[name]) for symbol, name in pairs)

    def vector(self, label: str, value: Vector) -> Formula:
        """A vector by rates and accelerations."""
        return Formula(label, self.forms.by_rates(value))

    def scalar(self, label: str, value: TrigPolynomial) -> Formula:
        """A scalar by rates and accelerations."""
        return Formula(label, self.forms.by_rates([value])[0])


# ---------------------------------------------------------------------- kinematics, common to all


def _kinematics(w: _Writer) -> list[Section]:
    poses = [f for n in w.numbers for f in w.of(f"R_{n}", f"p_{n}")]
    coms = [f for n in w.heavy for f in w.of(f"p_c{n}")]
    return [
        Section("Coordinates", (_coordinates(w),)),
        Section(
            "Forward kinematics",
            ("Each link's frame in the base frame: rotation R and origin p, multiplied from the base outwards.",),
            (*poses, *w.of("rotation", "position")),
        ),
        Section("Centres of mass", ("p_c = p + R c, with c the centre of mass in the link's frame.",), tuple(coms)),
    ]


def _coordinates(w: _Writer) -> str:
    kinds = {"revolute": "turns", "prismatic": "slides"}
    parts = [f"{named.link.joint} {kinds[named.link.kind]}" for named in w.forms.model.links]
    names = ", ".join(w.forms.names.q)
    return f"q = ({names}): {', '.join(parts)}."


def _jacobians(w: _Writer) -> Section:
    return Section(
        "Link Jacobians",
        ("v_c = J_P q̇ with J_P = ∂p_c/∂q, and ω = J_O q̇ with one column per joint that turns the link.",),
        tuple(f for n in w.heavy for f in w.of(f"J_P{n}", f"J_O{n}")),
    )


def _tensors(w: _Writer) -> list[Section]:
    formulas = [f for n in w.numbers for f in w.of(f"I_{n}") if any(x != 0 for x in f.expression)]
    words = ("I(q) = R I Rᵀ, about the centre of mass.",)
    return [Section("Tensors in the base frame", words, tuple(formulas))] if formulas else []


# ---------------------------------------------------------------------- Lagrange


def _lagrange(w: _Writer) -> list[Section]:
    closed = w.closed
    energies = []
    for index, n in enumerate(w.numbers):
        T = dot(closed.v, times(closed.link_masses(index), closed.v))
        energies.append(Formula(f"T_{n}", halved(w.forms.by_rates([T])[0])))
    return [
        _jacobians(w),
        *_tensors(w),
        Section(
            "Kinetic energy",
            ("T_i = ½ m |v_c|² + ½ ωᵀ I ω for each link; T is their sum.",),
            (*energies, *_rotor_energy(w), *w.of("T")),
        ),
        Section("Mass matrix", ("T = ½ q̇ᵀ M q̇, so that M_ij = ∂²T/∂q̇_i∂q̇_j.",), w.of("M")),
        Section("Potential energy", ("V = −Σ m gᵀ p_c.",), w.of("V")),
        _lagrange_rows(w),
        _christoffel(w),
    ]


def _rotor_energy(w: _Writer) -> list[Formula]:
    closed = w.closed
    T = dot(closed.v, times(closed.rotors, closed.v))
    return [Formula("T_r", halved(w.forms.by_rates([T])[0]), "Rotors turn with their joints:")] if T else []


def _lagrange_rows(w: _Writer) -> Section:
    formulas, names = [], w.forms.names
    for q, v, tau, (momentum, rate, slope) in zip(names.q, names.v, names.tau, w.closed.momenta):
        formulas += [w.scalar(f"∂L/∂{v}", momentum), w.scalar(f"d/dt ∂L/∂{v}", rate)]
        formulas += [w.scalar(f"∂L/∂{q}", slope), w.scalar(tau, rate - slope)]
    words = ("L = T − V; d/dt ∂L/∂q̇_i − ∂L/∂q_i = τ_i for each coordinate.",)
    return Section("Lagrange's equations", words, tuple(formulas))


def _christoffel(w: _Writer) -> Section:
    closed, n = w.closed, w.closed.n
    symbols = [
        Formula(f"c_{i + 1}{j + 1}{k + 1}", w.forms.presenter.write(closed.christoffel[i][j][k]))
        for i in range(n)
        for j in range(n)
        for k in range(j, n)
        if closed.christoffel[i][j][k]
    ]
    words = (
        "c_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i), equal for j and k exchanged; those not shown are zero. "
        "C_ij = Σ_k c_ijk q̇_k makes Ṁ − 2C skew-symmetric.",
    )
    return Section("Coriolis matrix", words, (*symbols, *w.of("C")))


# ---------------------------------------------------------------------- Newton–Euler


def _newton_euler(w: _Writer) -> list[Section]:
    closed = w.closed
    outward, loads, inward = [], [], []
    for index, n in enumerate(w.numbers):
        omega, alpha, acc = closed.motions[index]
        outward += [w.vector(f"omega_{n}", omega), w.vector(f"alpha_{n}", alpha), w.vector(f"a_{n}", acc)]
        force, moment = closed.loads[index]
        loads += [w.vector(f"F_{n}", force), w.vector(f"N_{n}", moment)]
    for index in reversed(range(len(w.numbers))):
        force, moment = closed.carried[index]
        inward += [w.vector(f"f_{w.numbers[index]}", force), w.vector(f"n_{w.numbers[index]}", moment)]
    torques = [w.scalar(tau, row) for tau, row in zip(w.forms.names.tau, closed.newton_euler)]
    return [
        Section(
            "Outwards: motions",
            ("Angular velocity ω, angular acceleration α and acceleration a of each link's origin, in the link's own "
             "axes. The base accelerates upwards with −g, so that gravity needs no further thought.",),
            tuple(outward),
        ),
        Section(
            "Newton and Euler for each link",
            ("F = m (a + α × c + ω × (ω × c)) and N = I α + ω × I ω + c × F, about the link's origin.",),
            tuple(loads),
        ),
        Section(
            "Inwards: what each joint passes on",
            ("f = F + R f_next and n = N + R n_next + p × R f_next, in the link's own axes.",),
            tuple(inward),
        ),
        Section("Joint torques", ("τ is n along a hinge's axis, f along a slide's.",), tuple(torques)),
    ]  # fmt: skip


# ---------------------------------------------------------------------- projected Newton–Euler


def _projected(w: _Writer) -> list[Section]:
    closed = w.closed
    drifts, masses, biases = [], [], []
    for index, n in enumerate(w.numbers):
        JP, JO = closed.link_jacobians[index]
        linear, angular = closed.along(JP), closed.along(JO)
        drifts += [w.vector(f"dJ_P{n} dq", linear), w.vector(f"dJ_O{n} dq", angular)]
        masses.append(Formula(f"M_{n}", w.forms.presenter.matrix(closed.link_masses(index))))
        biases.append(w.vector(f"b_{n}", closed.link_bias(index)))
    total = reduce(plus, map(closed.link_bias, range(len(w.numbers))))
    return [
        _jacobians(w),
        *_tensors(w),
        Section(
            "Rates of the Jacobians", ("J̇_P q̇ and J̇_O q̇: what is left of the accelerations for q̈ = 0.",), tuple(drifts)
        ),
        Section("Mass matrix", ("M = Σ J_Pᵀ m J_P + J_Oᵀ I J_O.",), (*masses, *w.of("M"))),
        Section(
            "Coriolis and centrifugal forces",
            ("b = Σ J_Pᵀ m J̇_P q̇ + J_Oᵀ (I J̇_O q̇ + ω × I ω).",),
            (*biases, w.vector("b", total)),
        ),
        Section("Gravity", ("g = −Σ J_Pᵀ m g.",), w.of("g")),
    ]


# ---------------------------------------------------------------------- results, energies, recursion


def _result(derivation: Derivation) -> list[Section]:
    rows = [Formula(name, e) for name, e in zip(derivation.names.tau, list(derivation["tau"]))]
    return [Section("Equations of motion", ("M q̈ + C q̇ + g = τ, row by row.",), tuple(rows))]


def _energy_steps(derivation: Derivation, forms: EnergyForms) -> list[Section]:
    T, V, rows = forms.T, forms.V, []
    v, a = derivation.v, derivation.a
    for i, (q, rate) in enumerate(zip(forms.names.q, forms.names.v)):
        momentum = sp.diff(T, sp.Symbol(rate))
        moved = sum((forms.by(momentum, x) * y for x, y in zip(forms.names.q, v)), sp.Integer(0))
        pushed = sum((sp.diff(momentum, x) * y for x, y in zip(v, a)), sp.Integer(0))
        rows += [
            Formula(f"∂L/∂{rate}", forms.tidy(momentum)),
            Formula(f"d/dt ∂L/∂{rate}", forms.gathered(moved + pushed)),
            Formula(f"∂L/∂{q}", forms.gathered(forms.by(T, q) - forms.by(V, q))),
            Formula(f"Q_{q}", derivation["tau"][i]),
        ]
    short = [Formula(name, e) for name, e in forms.where.items()]
    forces = [Formula(f"Q_{q}", e) for q, e in zip(forms.names.q, derivation.forces)]
    matrices = [Formula(name, derivation[name]) for name in ("M", "C", "g")]
    return [
        Section("Energies", (), (Formula("T", T), Formula("V", V), *short)),
        Section("Lagrange's equations", ("L = T − V; d/dt ∂L/∂q̇ − ∂L/∂q = Q for each coordinate.",), tuple(rows)),
        Section("In matrix form", ("M q̈ + C q̇ + g = Q with",), (*matrices, *forces)),
    ]


def _recursive_steps(derivation: Derivation) -> list[Section]:
    lines = [Formula(str(symbol), e) for symbol, e in derivation.definitions("tau")]
    torques = [Formula(name, e) for name, e in zip(derivation.names.tau, derivation["tau"])]
    words = (
        "Outwards, each link's angular velocity and acceleration and the acceleration of its origin; back, the forces "
        "and moments that move it and all it carries. Everything used more than once has a name.",
        str(derivation.counts("tau")),
    )
    return [Section("Newton–Euler recursion, line by line", words, (*lines, *torques))]
