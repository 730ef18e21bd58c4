"""Worked steps of the projected Newton–Euler equations."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from palpate.equations.algebra.vectors import plus
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.kinematics import jacobians_section, tensors_sections
from palpate.tools.derive.writing.step_writer import StepWriter

if TYPE_CHECKING:
    pass


def projected_steps(w: StepWriter) -> list[Section]:
    """Jacobians and their rates, mass matrix, Coriolis and gravity forces."""
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
        jacobians_section(w),
        *tensors_sections(w),
        Section(
            "Rates of the Jacobians", ("J̇_P q̇ and J̇_O q̇: what is left of the accelerations for q̈ = 0.",), tuple(drifts)
        ),
        Section("Mass matrix", ("M = Σ J_Pᵀ m J_P + J_Oᵀ I J_O.",), (*masses, *w.quantities("M"))),
        Section(
            "Coriolis and centrifugal forces",
            ("b = Σ J_Pᵀ m J̇_P q̇ + J_Oᵀ (I J̇_O q̇ + ω × I ω).",),
            (*biases, w.vector("b", total)),
        ),
        Section("Gravity", ("g = −Σ J_Pᵀ m g.",), w.quantities("g")),
    ]
