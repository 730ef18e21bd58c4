"""Compiled kernels of vectors: cross products, shifts of twists and wrenches. The rules are those of `kernels.py`."""

from __future__ import annotations

from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, ReadVector, Vector


@kernel
def cross(a: ReadVector, b: ReadVector, out: Vector) -> None:
    """out = a × b."""
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@kernel
def skew(v: ReadVector, out: Matrix) -> None:
    """out = S(v), with S(v) u = v × u."""
    out[0, 0], out[0, 1], out[0, 2] = 0.0, -v[2], v[1]
    out[1, 0], out[1, 1], out[1, 2] = v[2], 0.0, -v[0]
    out[2, 0], out[2, 1], out[2, 2] = -v[1], v[0], 0.0


@kernel
def shift_twist(V: ReadVector, r_PQ: ReadVector, out: Vector) -> None:
    """[v; ω] of a body taken at Q instead of P: v_Q = v_P + ω × r_PQ."""
    x = V[0] + V[4] * r_PQ[2] - V[5] * r_PQ[1]
    y = V[1] + V[5] * r_PQ[0] - V[3] * r_PQ[2]
    z = V[2] + V[3] * r_PQ[1] - V[4] * r_PQ[0]
    out[0], out[1], out[2], out[3], out[4], out[5] = x, y, z, V[3], V[4], V[5]


@kernel
def shift_wrench(F: ReadVector, r_PQ: ReadVector, out: Vector) -> None:
    """[f; n] with its moment about Q instead of P: n_Q = n_P − r_PQ × f."""
    a = F[3] - (r_PQ[1] * F[2] - r_PQ[2] * F[1])
    b = F[4] - (r_PQ[2] * F[0] - r_PQ[0] * F[2])
    c = F[5] - (r_PQ[0] * F[1] - r_PQ[1] * F[0])
    out[0], out[1], out[2], out[3], out[4], out[5] = F[0], F[1], F[2], a, b, c
