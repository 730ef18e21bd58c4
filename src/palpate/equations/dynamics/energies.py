"""Kinetic and potential energy on symbols."""

from __future__ import annotations

from palpate.equations.algebra.graph import Node
from palpate.equations.algebra.vectors import dot, plus, times
from palpate.equations.dynamics.base_frame import link_poses
from palpate.equations.model.chain import Chain, Matrix


def potential_energy(chain: Chain) -> Node:
    """V = −Σ m gᵀ p_c, zero at the base's origin."""
    total = chain.graph.zero
    for frame, mass in zip(link_poses(chain), chain.real_masses):
        first = plus([mass.m * x for x in frame.origin], frame.to_base(mass.h))
        total = total - dot(chain.gravity, first)
    return total


def kinetic_energy(chain: Chain, M: Matrix) -> Node:
    """T = ½ vᵀ M v."""
    return chain.graph.node(1) / 2 * dot(chain.v, times(M, chain.v))
