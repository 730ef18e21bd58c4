"""Inverse dynamics on symbols, by recursion over the links.

Nothing is ever expanded: every intermediate is a node of the chain's graph, and equal ones are one.
"""

from __future__ import annotations

from collections.abc import Sequence

from palpate.equations.algebra.graph import Node
from palpate.equations.algebra.vectors import plus, times
from palpate.equations.dynamics.link_motions import base_rotation, inertia_force, motions, to_parent_point
from palpate.equations.model.chain import Chain, Vector


def joint_forces(chain: Chain, forces: list[tuple[Vector, Vector]]) -> list[Node]:
    """The joints' share of a force and a moment on every link: those of all the links they carry."""
    shares: list[list[Node]] = [[] for _ in chain.links]
    for index in reversed(range(len(chain.links))):
        parent, (f, n) = chain.links[index].parent, forces[index]
        shares[index] = joint_share(chain, index, f, n)
        if parent >= 0:
            above, moment = to_parent_point(chain, index, f, n)
            forces[parent] = plus(forces[parent][0], above), plus(forces[parent][1], moment)
    return [x for part in shares for x in part]


def joint_share(chain: Chain, index: int, f: Vector, n: Vector) -> list[Node]:
    """Share of a force and a moment about a link's origin that its joint holds."""
    kind = chain.links[index].kind
    if kind == "free":
        return [*times(base_rotation(chain), f), *n]
    return [n[2] if kind == "revolute" else f[2]]


def inverse_dynamics(chain: Chain, v: Sequence[Node], a: Sequence[Node]) -> list[Node]:
    """τ = M a + C v + g by Newton and Euler, outwards and back."""
    forces = [inertia_force(link.mass, motion) for link, motion in zip(chain.links, motions(chain, v, a))]
    full = [f + r * x for f, r, x in zip(joint_forces(chain, forces), _rotors(chain), chain.full(a))]
    return chain.reduced(full)


def rotor_torques(chain: Chain, a: Sequence[Node]) -> list[Node]:
    """Torques that accelerate the rotors, on the independent coordinates."""
    return chain.reduced([r * x for r, x in zip(_rotors(chain), chain.full(a))])


def _rotors(chain: Chain) -> list[Node]:
    """Rotor inertia of every degree of freedom."""
    zero = chain.graph.zero
    return [x for link in chain.links for x in ([zero] * 6 if link.kind == "free" else [link.armature])]


def bias(chain: Chain) -> list[Node]:
    """C(q, v) v + g(q)."""
    return inverse_dynamics(chain, chain.v, _zeros(chain))


def gravity(chain: Chain) -> list[Node]:
    """g(q)."""
    return inverse_dynamics(chain, _zeros(chain), _zeros(chain))


def _zeros(chain: Chain) -> list[Node]:
    return [chain.graph.zero] * len(chain.v)
