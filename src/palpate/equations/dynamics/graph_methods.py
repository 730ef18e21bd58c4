"""Lagrange and projected Newton–Euler on the graph of a long chain: other ways to the torques of the recursion."""

from __future__ import annotations

from palpate.equations.algebra.graph import Node, gradient, tangent
from palpate.equations.dynamics.coriolis import kinetic_energy, potential_energy
from palpate.equations.dynamics.recursive import cross, jacobian, minus, plus, times
from palpate.equations.dynamics.recursive_forms import RecursiveForms
from palpate.errors import InvalidInput


def lagrange_torques(forms: RecursiveForms) -> list[Node]:
    """τ = d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q, the derivatives taken on the graph.

    Raises:
        InvalidInput: the base is free; its velocities are not rates of coordinates.
    """
    if forms.model.mechanism.floating:
        raise InvalidInput("Lagrange's equations need rates of coordinates; a free base's velocities are not")
    chain = forms.chain
    T, V = kinetic_energy(chain, forms.M), potential_energy(chain)
    momenta = gradient(T, chain.v)
    moving = dict(zip(chain.q, chain.v)) | dict(zip(chain.v, chain.a))
    pushed = tangent(momenta, moving)
    return [p - t + u for p, t, u in zip(pushed, gradient(T, chain.q), gradient(V, chain.q))]


def projected_torques(forms: RecursiveForms) -> list[Node]:
    """τ = Σ J_Pᵀ m (a_c − g) + J_Oᵀ (I ω̇ + ω × I ω), with the links' Jacobians and their rates."""
    chain, rates = forms.chain, forms.rates()
    total = [chain.graph.zero] * len(chain.v)
    for index, named in enumerate(forms.model.links):
        number = named.number
        com, tensor = list(forms.output(f"p_c{number}").nodes), _square(forms.output(f"I_{number}").nodes)
        J = jacobian(chain, forms.frames, index, com)
        drift = tangent([x for row in J for x in row], rates)
        width = len(chain.v)
        J_rate = [drift[i : i + width] for i in range(0, len(drift), width)]
        acc, w = plus(times(J, chain.a), times(J_rate, chain.v)), times(J, chain.v)[3:]
        force = [chain.term(named.mass) * x for x in minus(acc[:3], chain.gravity)]
        moment = plus(times(tensor, acc[3:]), cross(w, times(tensor, w)))
        columns = [list(column) for column in zip(*J)]
        total = [t + chain.graph.sum(x * y for x, y in zip(c, [*force, *moment])) for t, c in zip(total, columns)]
    return plus(total, _rotor_torques(forms))


def _square(nodes: tuple[Node, ...]) -> list[list[Node]]:
    return [list(nodes[i : i + 3]) for i in (0, 3, 6)]


def _rotor_torques(forms: RecursiveForms) -> list[Node]:
    chain, zero = forms.chain, forms.chain.graph.zero
    rotors = [x for link in chain.links for x in ([zero] * 6 if link.kind == "free" else [link.armature])]
    return chain.reduced([r * x for r, x in zip(rotors, chain.full(chain.a))])
