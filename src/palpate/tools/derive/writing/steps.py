"""A derivation as a worked solution: each step a line a teacher would write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palpate.tools.derive.closed.energy import EnergyForms
from palpate.tools.derive.closed.forms import ClosedForms
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.kinematics import kinematics_steps
from palpate.tools.derive.writing.lagrange import energy_steps, lagrange_steps
from palpate.tools.derive.writing.newton_euler import newton_euler_steps, recursive_steps
from palpate.tools.derive.writing.projected import projected_steps
from palpate.tools.derive.writing.step_writer import StepWriter

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation


def worked_steps(derivation: Derivation) -> list[Section]:
    """The steps of whichever method the derivation used."""
    forms = derivation.forms
    if isinstance(forms, EnergyForms):
        return energy_steps(derivation, forms)
    if not isinstance(forms, ClosedForms):
        return recursive_steps(derivation)
    writer = StepWriter(derivation, forms)
    middle = {"lagrange": lagrange_steps, "newton-euler": newton_euler_steps, "projected": projected_steps}[
        derivation.method
    ]
    return [*kinematics_steps(writer), *middle(writer), *_result(derivation)]


def _result(derivation: Derivation) -> list[Section]:
    rows = [Formula(name, e) for name, e in zip(derivation.names.tau, list(derivation["tau"]))]
    return [Section("Equations of motion", ("M q̈ + C q̇ + g = τ, row by row.",), tuple(rows))]
