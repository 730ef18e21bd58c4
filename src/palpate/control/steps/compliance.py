"""The equations of an admittance: a compliant frame that a wrench moves away from the desired one."""

from __future__ import annotations

from math import pi
from typing import Annotated, Literal

from palpate.control.steps.linear_algebra import product, times
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.records import Carried, Integers, Kept, Matrix, Record, State, Vector, sized
from palpate.engine.views import part
from palpate.spatial.euler_kernels import euler_xyz_from_matrix, euler_xyz_rate_matrix, matrix_from_euler_xyz
from palpate.spatial.kernels import (
    matrix_from_quat,
    quat_from_matrix,
    quat_from_rotation_vector,
    quat_multiply,
    quat_normalize,
)
from palpate.spatial.vector_kernels import cross

AdmittanceAxes = Literal["document", "world", "tool", "target"]
AXES: tuple[AdmittanceAxes, ...] = ("document", "world", "tool", "target")
_DOCUMENT, _WORLD, _TOOL, _TARGET = range(4)  # indices in AXES


class EquationGains(Record):
    """M⁻¹, D and K over the chosen directions, 0 elsewhere; along whose axes, and how the rotation is written."""

    yields: Matrix = sized(6, 6)
    damping: Matrix = sized(6, 6)
    stiffness: Matrix = sized(6, 6)
    chosen: Integers = sized(6)  # 1 where a direction yields
    axes: int  # index in AXES
    rotation: Matrix = sized(3, 3)  # turns those axes into the chosen frame
    euler: bool  # whether the rotation is written in XYZ angles
    about_base: bool  # whether moments are about the base's origin


class Compliant(Record):
    """The compliant frame relative to the desired one, its pose in the world; then scratch."""

    displacement: State[Vector] = sized(3)  # Δp, world axes
    speed: State[Vector] = sized(3)  # Δṗ
    turn_wxyz: Annotated[Vector, Carried(rotation=True)] = sized(4, start=(1.0, 0.0, 0.0, 0.0))  # q_cd,
    omega: State[Vector] = sized(3)  # ω_cd, axes of the desired frame; or
    angles: State[Vector] = sized(3)  # Δφ
    angle_rates: State[Vector] = sized(3)  # and Δφ̇
    position: Kept[Vector] = sized(3)  # p_c
    quat_wxyz: Kept[Vector] = sized(4)  # q_c,
    euler_xyz: Kept[Vector] = sized(3)  # and its XYZ angles φ_c, without jumps by whole turns
    moment: Vector = sized(3)
    vector: Vector = sized(3)
    matrix: Matrix = sized(3, 3)
    step_wxyz: Vector = sized(4)
    linear: Kept[Matrix] = sized(3, 3)  # columns: the axes of translation, in the world,
    angular: Matrix = sized(3, 3)  # and those of rotation, in the desired frame
    x: Vector = sized(6)  # [Δp; 2 ε or Δφ] in these axes,
    rate: Vector = sized(6)
    F: Vector = sized(6)
    a: Vector = sized(6)


@kernel
def _to_axes(axes: Matrix, x: Vector, out: Vector) -> None:
    """out = axesᵀ x."""
    for i in range(3):
        out[i] = axes[0, i] * x[0] + axes[1, i] * x[1] + axes[2, i] * x[2]


@kernel
def _add_from_axes(axes: Matrix, factor: float, x: Vector, out: Vector) -> None:
    """out += factor · axes x."""
    for i in range(3):
        out[i] += factor * (axes[i, 0] * x[0] + axes[i, 1] * x[1] + axes[i, 2] * x[2])


@kernel
def _set_axes(R_d: Matrix, k: EquationGains, c: Compliant) -> None:
    """Axes of translation in the world, and of rotation in the desired frame."""
    work = c.matrix
    if k.axes == _TOOL:
        matrix_from_quat(c.turn_wxyz, work)
        product(work, k.rotation, c.angular)
        product(R_d, c.angular, c.linear)
        return
    for i in range(3):
        for j in range(3):
            c.linear[i, j] = c.angular[i, j] = k.rotation[i, j]
            work[i, j] = R_d[j, i]
    if k.axes == _TARGET:
        product(R_d, k.rotation, c.linear)
    elif k.axes == _WORLD:
        product(work, k.rotation, c.angular)


@kernel
def _find_spring_force(k: EquationGains, c: Compliant) -> None:
    """x and its rate in the axes, and a = −K x: the spring's answer, Eᵀ(η, ε) applied to its moment (quaternion)."""
    q, bent, angular = c.turn_wxyz, c.vector, part(c.a, 3, 3)
    _to_axes(c.linear, c.displacement, c.x)
    _to_axes(c.linear, c.speed, c.rate)
    if k.euler:
        put(c.x, 3, c.angles)
        put(c.rate, 3, c.angle_rates)
        times(k.stiffness, c.x, c.a)
        return
    for i in range(3):
        bent[i] = 2.0 * q[1 + i]
    _to_axes(c.angular, bent, part(c.x, 3, 3))
    _to_axes(c.angular, c.omega, part(c.rate, 3, 3))
    times(k.stiffness, c.x, c.a)
    clear(bent)
    _add_from_axes(c.angular, 1.0, angular, bent)
    # Eᵀ b = η b + ε × b, desired-frame axes
    x = q[0] * bent[0] + q[2] * bent[2] - q[3] * bent[1]
    y = q[0] * bent[1] + q[3] * bent[0] - q[1] * bent[2]
    z = q[0] * bent[2] + q[1] * bent[1] - q[2] * bent[0]
    bent[0], bent[1], bent[2] = x, y, z
    _to_axes(c.angular, bent, angular)


@kernel
def _find_wrench(f: Vector, R_d: Matrix, k: EquationGains, c: Compliant) -> None:
    """F = [f; μ] in the axes; Tᵀ(φ_c) μ of the Euler form, φ_c = φ_d + Δφ (XYZ angles)."""
    mu, rotated, T = c.moment, c.vector, c.matrix
    _to_axes(c.linear, f, c.F)
    if k.euler:
        euler_xyz_from_matrix(R_d, rotated)
        for i in range(3):
            rotated[i] += c.angles[i]
        euler_xyz_rate_matrix(rotated, T)
        _to_axes(T, mu, part(c.F, 3, 3))
        return
    _to_axes(R_d, mu, rotated)
    _to_axes(c.angular, rotated, part(c.F, 3, 3))


@kernel
def _keep_stiff(k: EquationGains, c: Compliant) -> None:
    """No displacement along directions that do not yield, although the axes may have turned."""
    _to_axes(c.linear, c.displacement, c.x)
    for i in range(3):
        c.x[i] *= k.chosen[i]
    clear(c.displacement)
    _add_from_axes(c.linear, 1.0, c.x, c.displacement)


@kernel
def advance_admittance(F: Vector, p_d: Vector, R_d: Matrix, dt: float, k: EquationGains, c: Compliant) -> None:
    """One step of the compliant frame under a wrench [f; μ], world axes: speeds, then positions with the new speeds.

    μ is taken about the tool's origin, or about the base's, and then moved to the desired frame's by μ − p_d × f, the
    lower rows of Ad(T_0^d) in (42).
    """
    f, mu, turned = part(F, 0, 3), part(F, 3, 3), part(c.a, 3, 3)
    put(c.moment, 0, mu)
    if k.about_base:
        cross(p_d, f, c.vector)
        for i in range(3):
            c.moment[i] -= c.vector[i]
    _set_axes(R_d, k, c)
    _find_spring_force(k, c)
    put(c.x, 0, c.a)
    _find_wrench(f, R_d, k, c)
    times(k.damping, c.rate, c.a)
    for i in range(6):
        c.F[i] -= c.a[i] + c.x[i]
    times(k.yields, c.F, c.a)  # M⁻¹ (F − D ẋ − K x)
    _add_from_axes(c.linear, dt, c.a, c.speed)
    for i in range(3):
        c.displacement[i] += dt * c.speed[i]
    if k.chosen[0] + k.chosen[1] + k.chosen[2] < 3:
        _keep_stiff(k, c)
    if k.euler:
        for i in range(3):
            c.angle_rates[i] += dt * turned[i]
            c.angles[i] += dt * c.angle_rates[i]
        return
    _add_from_axes(c.angular, dt, turned, c.omega)
    for i in range(3):
        c.vector[i] = dt * c.omega[i]
    quat_from_rotation_vector(c.vector, c.step_wxyz)
    quat_multiply(c.step_wxyz, c.turn_wxyz, c.turn_wxyz)  # q ← exp(½ dt ω) ⊗ q
    quat_normalize(c.turn_wxyz)


@kernel
def follow_angles(angles: Vector, shown: Vector) -> None:
    """Move `shown` to the same angles up to whole turns, those that are nearest to where it was."""
    for i in range(angles.size):
        apart, turns = shown[i] - angles[i], 0
        if abs(apart) > pi:
            turns = int(apart / (2.0 * pi) + (0.5 if apart > 0.0 else -0.5))
        shown[i] = angles[i] + 2.0 * pi * turns


@kernel
def set_compliant_pose(p_d: Vector, R_d: Matrix, k: EquationGains, c: Compliant) -> None:
    """p_c = p_d + Δp; R_c = R(φ_d + Δφ), or q_c = q_d ⊗ q_cd (48)."""
    phi, R_c = c.vector, c.matrix
    for i in range(3):
        c.position[i] = p_d[i] + c.displacement[i]
    if k.euler:
        euler_xyz_from_matrix(R_d, phi)
        for i in range(3):
            phi[i] += c.angles[i]
        follow_angles(phi, c.euler_xyz)
        matrix_from_euler_xyz(phi, R_c)
        quat_from_matrix(R_c, c.quat_wxyz)
    else:
        quat_from_matrix(R_d, c.quat_wxyz)
        quat_multiply(c.quat_wxyz, c.turn_wxyz, c.quat_wxyz)
        matrix_from_quat(c.quat_wxyz, R_c)
        euler_xyz_from_matrix(R_c, phi)
        follow_angles(phi, c.euler_xyz)
