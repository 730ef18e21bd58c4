"""What a controller asks of a model at one state."""

from __future__ import annotations

from dataclasses import dataclass

from palpate.checks import Array


@dataclass(frozen=True)
class Terms:
    """Everything a controller asks of a model at (q, v), for one frame E.

    Attributes:
        M: mass matrix, n×n.
        bias: C(q, v) v + g(q).
        gravity: g(q).
        position, rotation: pose of E in the world.
        J: geometric Jacobian 6×n, rows [linear; angular], world axes.
        drift: J̇ v.
    """

    M: Array
    bias: Array
    gravity: Array
    position: Array
    rotation: Array
    J: Array
    drift: Array
