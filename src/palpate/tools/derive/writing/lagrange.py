"""Worked steps of Lagrange's method, for an arm and for energies given as formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from palpate.equations.algebra.vectors import dot, times
from palpate.tools.derive.closed.energy import EnergyForms
from palpate.tools.derive.closed.forms import half_of
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.kinematics import jacobians_section, tensors_sections
from palpate.tools.derive.writing.step_writer import StepWriter

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation


def lagrange_steps(w: StepWriter) -> list[Section]:
    """Energies, mass matrix, Lagrange's equations and Christoffel symbols of an arm."""
    closed = w.closed
    energies = []
    for index, n in enumerate(w.numbers):
        T = dot(closed.v, times(closed.link_masses(index), closed.v))
        energies.append(Formula(f"T_{n}", half_of(w.forms.by_rates([T])[0])))
    return [
        jacobians_section(w),
        *tensors_sections(w),
        Section(
            "Kinetic energy",
            ("T_i = ½ m |v_c|² + ½ ωᵀ I ω for each link; T is their sum.",),
            (*energies, *_rotor_energy(w), *w.quantities("T")),
        ),
        Section("Mass matrix", ("T = ½ q̇ᵀ M q̇, so that M_ij = ∂²T/∂q̇_i∂q̇_j.",), w.quantities("M")),
        Section("Potential energy", ("V = −Σ m gᵀ p_c.",), w.quantities("V")),
        _lagrange_rows(w),
        _christoffel(w),
    ]


def _rotor_energy(w: StepWriter) -> list[Formula]:
    closed = w.closed
    T = dot(closed.v, times(closed.rotors, closed.v))
    return [Formula("T_r", half_of(w.forms.by_rates([T])[0]), "Rotors turn with their joints:")] if T else []


def _lagrange_rows(w: StepWriter) -> Section:
    formulas, names = [], w.forms.names
    for q, v, tau, (momentum, rate, slope) in zip(names.q, names.v, names.tau, w.closed.momenta):
        formulas += [w.scalar(f"∂L/∂{v}", momentum), w.scalar(f"d/dt ∂L/∂{v}", rate)]
        formulas += [w.scalar(f"∂L/∂{q}", slope), w.scalar(tau, rate - slope)]
    words = ("L = T − V; d/dt ∂L/∂q̇_i − ∂L/∂q_i = τ_i for each coordinate.",)
    return Section("Lagrange's equations", words, tuple(formulas))


def _christoffel(w: StepWriter) -> Section:
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
    return Section("Coriolis matrix", words, (*symbols, *w.quantities("C")))


def energy_steps(derivation: Derivation, forms: EnergyForms) -> list[Section]:
    """Lagrange's equations of a system given by its energies."""
    T, V, rows = forms.T, forms.V, []
    v, a = derivation.v, derivation.a
    for i, (q, rate) in enumerate(zip(forms.names.q, forms.names.v)):
        momentum = sp.diff(T, sp.Symbol(rate))
        moved = sum((forms.partial(momentum, x) * y for x, y in zip(forms.names.q, v)), sp.Integer(0))
        pushed = sum((sp.diff(momentum, x) * y for x, y in zip(v, a)), sp.Integer(0))
        rows += [
            Formula(f"∂L/∂{rate}", forms.tidy(momentum)),
            Formula(f"d/dt ∂L/∂{rate}", forms.gathered(moved + pushed)),
            Formula(f"∂L/∂{q}", forms.gathered(forms.partial(T, q) - forms.partial(V, q))),
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
