"""Compiled kernels of rotations as quaternions, matrices and rotation vectors, which laws and the loop call.

Rules of this file: results are written into the last argument, nothing is allocated, nothing is checked,
nothing raises. Input is read before output is written, so an output may be one of the inputs. A NaN that is
read comes out as NaN, and so does a quaternion of norm zero. Callers that take values from people use the
checked functions of this package instead.

Quaternions are wxyz. Inputs are declared read-only, which writable arrays satisfy too.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.maths import atan2, sin, sin_cos
from palpate.engine.records import Matrix, ReadMatrix, ReadVector, Vector


@kernel
def _product(
    aw: float, ax: float, ay: float, az: float, bw: float, bx: float, by: float, bz: float
) -> tuple[float, float, float, float]:
    """a ⊗ b."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


@kernel
def _log(w: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Rotation vector of ±(w, x, y, z), of length at most π; at π its first nonzero component is positive."""
    if w < 0.0 or (w == 0.0 and (x < 0.0 or (x == 0.0 and (y < 0.0 or (y == 0.0 and z < 0.0))))):
        w, x, y, z = -w, -x, -y, -z
    n = math.sqrt(x * x + y * y + z * z)
    if n < 1e-4 * w:
        scale = 2.0 / w * (1.0 - n * n / (3.0 * w * w))
    else:
        scale = 2.0 * atan2(n, w) / n
    return scale * x, scale * y, scale * z


@kernel
def _exp(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """(cos ½θ, sin ½θ · r/θ), θ = |r|."""
    angle = math.sqrt(x * x + y * y + z * z)
    sine, cosine = sin_cos(0.5 * angle)
    scale = 0.5 - angle * angle / 48.0 if angle < 1e-4 else sine / angle
    return cosine, scale * x, scale * y, scale * z


@kernel
def quat_multiply(a: ReadVector, b: ReadVector, out: Vector) -> None:
    """out = a ⊗ b, the rotation b followed by a."""
    out[0], out[1], out[2], out[3] = _product(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3])


@kernel
def quat_conjugate(a: ReadVector, out: Vector) -> None:
    """out = a* = (w, −x, −y, −z), the inverse rotation of a unit quaternion."""
    out[0], out[1], out[2], out[3] = a[0], -a[1], -a[2], -a[3]


@kernel
def quat_normalize(q: Vector) -> float:
    """q ← q/|q| in place; returns the |q| it had (at 0 the quaternion becomes NaN, never the identity)."""
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    q[0], q[1], q[2], q[3] = q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm
    return norm


@kernel
def rotate(q: ReadVector, v: ReadVector, out: Vector) -> None:
    """out = q v q* / |q|² = v + w t + u × t, with t = 2 u × v / |q|² and u the vector part of q."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    tx = s * (y * v[2] - z * v[1])
    ty = s * (z * v[0] - x * v[2])
    tz = s * (x * v[1] - y * v[0])
    a = v[0] + w * tx + y * tz - z * ty
    b = v[1] + w * ty + z * tx - x * tz
    c = v[2] + w * tz + x * ty - y * tx
    out[0], out[1], out[2] = a, b, c


@kernel
def quat_from_rotation_vector(r: ReadVector, out: Vector) -> None:
    """out = (cos ½θ, sin ½θ · r/θ), θ = |r|."""
    out[0], out[1], out[2], out[3] = _exp(r[0], r[1], r[2])


@kernel
def rotation_vector_from_quat(q: ReadVector, out: Vector) -> None:
    """out = 2 atan2(|u|, w) u/|u|, of q or −q, whichever turns less; at π the first nonzero entry is > 0."""
    out[0], out[1], out[2] = _log(q[0], q[1], q[2], q[3])


@kernel
def quat_error_world(q_desired: ReadVector, q: ReadVector, out: Vector) -> None:
    """out = log(R_d Rᵀ): the rotation vector, in world axes, that takes measured to desired."""
    d = q_desired
    w, x, y, z = _product(d[0], d[1], d[2], d[3], q[0], -q[1], -q[2], -q[3])
    out[0], out[1], out[2] = _log(w, x, y, z)


@kernel
def quat_interpolate(a: ReadVector, b: ReadVector, s: float, out: Vector) -> None:
    """out = exp(s log(b ⊗ a*)) ⊗ a: constant angular velocity, the shorter way, a at s = 0, ±b at s = 1."""
    w, x, y, z = _product(b[0], b[1], b[2], b[3], a[0], -a[1], -a[2], -a[3])
    x, y, z = _log(w, x, y, z)
    w, x, y, z = _exp(s * x, s * y, s * z)
    out[0], out[1], out[2], out[3] = _product(w, x, y, z, a[0], a[1], a[2], a[3])


@kernel
def quat_rate_world(q: ReadVector, omega: ReadVector, out: Vector) -> None:
    """out = q̇ = ½ (0, ω) ⊗ q, with ω in world axes."""
    w, x, y, z = _product(0.0, omega[0], omega[1], omega[2], q[0], q[1], q[2], q[3])
    out[0], out[1], out[2], out[3] = 0.5 * w, 0.5 * x, 0.5 * y, 0.5 * z


@kernel
def quat_rate_body(q: ReadVector, omega: ReadVector, out: Vector) -> None:
    """out = q̇ = ½ q ⊗ (0, ω), with ω in body axes."""
    w, x, y, z = _product(q[0], q[1], q[2], q[3], 0.0, omega[0], omega[1], omega[2])
    out[0], out[1], out[2], out[3] = 0.5 * w, 0.5 * x, 0.5 * y, 0.5 * z


@kernel
def _quat_of(R: ReadMatrix) -> tuple[float, float, float, float]:
    """Unit quaternion of R, w ≥ 0, dividing only by the largest of the four components."""
    a, b, c = R[0, 0], R[1, 1], R[2, 2]
    trace = a + b + c
    if trace >= a and trace >= b and trace >= c:
        w, x, y, z = 1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    elif a >= b and a >= c:
        w, x, y, z = R[2, 1] - R[1, 2], 1.0 + a - b - c, R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]
    elif b >= c:
        w, x, y, z = R[0, 2] - R[2, 0], R[1, 0] + R[0, 1], 1.0 - a + b - c, R[2, 1] + R[1, 2]
    else:
        w, x, y, z = R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], 1.0 - a - b + c
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if w < 0.0:
        norm = -norm
    return w / norm, x / norm, y / norm, z / norm


@kernel
def quat_from_matrix(R: ReadMatrix, out: Vector) -> None:
    """out = unit quaternion of R with w ≥ 0; at w = 0 its largest component is positive."""
    out[0], out[1], out[2], out[3] = _quat_of(R)


@kernel
def matrix_from_quat(q: ReadVector, out: Matrix) -> None:
    """out = I + s (w S(u) + S(u)²), s = 2/|q|²: a rotation for any norm but zero."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    out[0, 0], out[0, 1], out[0, 2] = 1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)
    out[1, 0], out[1, 1], out[1, 2] = s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)
    out[2, 0], out[2, 1], out[2, 2] = s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)


@kernel
def rotation_vector_from_matrix(R: ReadMatrix, out: Vector) -> None:
    """out = log R, of length at most π; at exactly π the first nonzero entry is positive."""
    w, x, y, z = _quat_of(R)
    out[0], out[1], out[2] = _log(w, x, y, z)


@kernel
def _one_skew_square(r: ReadVector, a: float, b: float, out: Matrix) -> None:
    """out = I + a S(r) + b S(r)²."""
    x, y, z = r[0], r[1], r[2]
    out[0, 0], out[0, 1], out[0, 2] = 1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y
    out[1, 0], out[1, 1], out[1, 2] = b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x
    out[2, 0], out[2, 1], out[2, 2] = b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)


@kernel
def _exp_coefficients(r: ReadVector) -> tuple[float, float, float]:
    """sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³ for θ = |r|; series below 0.1, where differences cancel."""
    t = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    if t < 0.01:
        a = 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0)))
        b = 0.5 * (1.0 - t / 12.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0))))
        c = (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0)))) / 6.0
        return a, b, c
    angle = math.sqrt(t)
    sine, half = sin(angle), sin(0.5 * angle)
    return sine / angle, 2.0 * half * half / t, (angle - sine) / (angle * t)


@kernel
def matrix_from_rotation_vector(r: ReadVector, out: Matrix) -> None:
    """out = exp S(r) = I + (sin θ/θ) S + ((1 − cos θ)/θ²) S², θ = |r|."""
    a, b, _ = _exp_coefficients(r)
    _one_skew_square(r, a, b, out)


@kernel
def left_jacobian(r: ReadVector, out: Matrix) -> None:
    """out = I + ((1 − cos θ)/θ²) S + ((θ − sin θ)/θ³) S²: world ω = out ṙ; its transpose gives body ω."""
    _, b, c = _exp_coefficients(r)
    _one_skew_square(r, b, c, out)


@kernel
def left_jacobian_inverse(r: ReadVector, out: Matrix) -> None:
    """out = I − ½ S + (1 − ½θ cot ½θ)/θ² S²: ṙ = out ω, ω in world axes; needs θ < 2π."""
    t = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    if t < 0.01:
        d = (1.0 + t / 60.0 * (1.0 + t / 42.0 * (1.0 + t / 40.0 * (1.0 + 5.0 * t / 198.0)))) / 12.0
    else:
        half = 0.5 * math.sqrt(t)
        sine, cosine = sin_cos(half)
        d = (1.0 - half * cosine / sine) / t
    _one_skew_square(r, -0.5, d, out)
