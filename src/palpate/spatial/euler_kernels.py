"""Compiled kernels of Euler angles. The rules are those of `kernels.py`."""

from __future__ import annotations

from palpate.engine.kernels import kernel
from palpate.engine.maths import atan2, hypot, sin_cos
from palpate.engine.records import Matrix, ReadMatrix, ReadVector, Vector

# Below this cosine of the middle angle (or sine, for sequences like zyz) Euler angles count as locked. It is
# also the largest error, in rad, that fixing the free angle can leave.
LOCK = 1e-13


@kernel
def euler_from_matrix(R: ReadMatrix, i: int, j: int, last: int, first_is_zero: bool, out: Vector) -> None:
    """out = (α, β, γ) with R = R_i(α) R_j(β) R_last(γ); at gimbal lock γ = 0, or α = 0 if `first_is_zero`."""
    k = 3 - i - j
    s = 1.0 if (j - i) % 3 == 1 else -1.0  # e_i × e_j = s e_k
    proper = last == i
    # Where R sends the last axis shows α, unless that axis lies along the first one.
    if proper:
        y, x = R[j, i], -s * R[k, i]
    else:
        y, x = -s * R[j, k], R[k, k]
    lever = hypot(x, y)
    if lever < LOCK:
        alpha = 0.0 if first_is_zero else atan2(s * R[k, j], R[j, j])
    else:
        alpha = atan2(y, x)
    # With α undone, row j is left to γ alone.
    sa, ca = sin_cos(alpha)
    sa *= s
    if proper:
        beta = atan2(lever, R[i, i])
        sine = -s * (ca * R[j, k] + sa * R[k, k])
    else:
        beta = atan2(s * R[i, k], lever)
        sine = s * (ca * R[j, i] + sa * R[k, i])
    gamma = atan2(sine, ca * R[j, j] + sa * R[k, j])
    out[0], out[1], out[2] = alpha, beta, gamma


@kernel
def euler_xyz_from_matrix(R: ReadMatrix, out: Vector) -> None:
    """out = φ = (φ, ϑ, ψ) with R = R_x(φ) R_y(ϑ) R_z(ψ), |ϑ| ≤ π/2; at gimbal lock ψ = 0."""
    euler_from_matrix(R, 0, 1, 2, False, out)


@kernel
def matrix_from_euler_xyz(phi: ReadVector, out: Matrix) -> None:
    """out = R_x(φ) R_y(ϑ) R_z(ψ), intrinsic XYZ."""
    sa, ca = sin_cos(phi[0])
    sb, cb = sin_cos(phi[1])
    sc, cc = sin_cos(phi[2])
    out[0, 0], out[0, 1], out[0, 2] = cb * cc, -cb * sc, sb
    out[1, 0], out[1, 1], out[1, 2] = ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb
    out[2, 0], out[2, 1], out[2, 2] = sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb


@kernel
def euler_xyz_rate_matrix(phi: ReadVector, out: Matrix) -> None:
    """out = T(φ), world ω = T φ̇ for intrinsic XYZ: columns e_x, R_x e_y, R_x R_y e_z; det T = cos ϑ."""
    sa, ca = sin_cos(phi[0])
    sb, cb = sin_cos(phi[1])
    out[0, 0], out[0, 1], out[0, 2] = 1.0, 0.0, sb
    out[1, 0], out[1, 1], out[1, 2] = 0.0, ca, -cb * sa
    out[2, 0], out[2, 1], out[2, 2] = 0.0, sa, ca * cb
