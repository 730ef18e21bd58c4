"""From a tree of links to a straight-line program, in one call."""

from __future__ import annotations

from collections.abc import Sequence

from palpate.equations.code.program import Program, folded, make_program, merged
from palpate.equations.dynamics.recursive_forms import RecursiveForms
from palpate.equations.model.mechanism import Mechanism
from palpate.equations.model.naming import Mode, NamedModel
from palpate.equations.quantities import arguments


def program_of_tree(mechanism: Mechanism, names: Sequence[str], parameters: Mode = "numbers") -> Program:
    """Quantities of a tree as one straight-line program of (q, v, a) by the recursive algorithms.

    Args:
        mechanism: the tree (`mechanism_from_model`).
        names: what to compute, among M, bias, g, C, tau, position, rotation, J, Jdot, drift, T, V … (`quantities`).
        parameters: "numbers" puts the tree's numbers in; "symbols" and "all" keep lengths and masses as parameters.
    """
    forms = RecursiveForms(NamedModel(mechanism, parameters, {}), None, "XYZ")
    outputs = folded(merged([forms.output(name) for name in names], forms.names.quaternion))
    inputs = {"q": forms.names.q, "v": forms.names.v, "a": forms.names.a}
    return make_program(outputs, inputs, arguments(names))
