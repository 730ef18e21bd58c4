"""What the laws at the tool share: a task of chosen directions, its inertia, and what is left to the null space.

A task is a choice of directions along and about the axes of a frame A at the tool's point: the world's axes, the
tool's, the target's, or a frame turned from one of these by a fixed rotation. With S its rows,

    J_t = S J,   Y = J_t M⁻¹,   Λ = (J_t M⁻¹ J_tᵀ)⁻¹,   N = 1 − J_tᵀ Λ Y.

Angular rows are multiplied by a lever (m), so that all of J_t is in metres and an apparent inertia in kg can be
compared among directions. Near a singular posture an eigenvalue μ of the mobility J_t M⁻¹ J_tᵀ goes to 0 and the
apparent mass 1/μ to infinity. Along such an eigenvector alone, from the largest mass 1/μ₀ on, the inverse 1/μ is
replaced by μ/μ₀²: it fades to 0 with the direction and every other direction keeps its exact dynamics. The law's memory
counts the ticks at which that happened.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from palpate.checks import Array, finite_array
from palpate.config import Quaternion, setting
from palpate.control.law import T_POSITION, T_QUAT, T_TWIST, Law, refuse_free_base
from palpate.control.steps.linear_algebra import cholesky, cholesky_inverse, cholesky_solve_rows, symmetric_eigen
from palpate.control.steps.orientation import KINDS, OrientationError, write_orientation_error
from palpate.engine import address_of, kernel, matrix, part, vector
from palpate.errors import BadRotation, InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import matrix_from_quat, quat_from_matrix

# Shared steps are compiled once, to these types, and called by every law.
_nothing, _f, _v, _m = types.void, types.float64, types.float64[::1], types.float64[:, ::1]

Direction = Literal["x", "y", "z", "rx", "ry", "rz"]
DIRECTIONS: tuple[Direction, ...] = ("x", "y", "z", "rx", "ry", "rz")
Axes = Literal["world", "tool", "target"]
_AXES: tuple[Axes, ...] = ("world", "tool", "target")
LEVER = 0.1  # m: an angular direction counts as the motion of a point this far out
MASS_FACTOR = 20.0  # a direction is lost when it feels this many times the robot's mass

# Places in the gains; a law's own gains follow.
G_COUNT, G_CHOICE, G_AXES, G_TURN, G_ORIENTATION, G_HEAVIEST, G_LAW = 0, 1, 7, 8, 17, 18, 19
# Places in the memory; scratch follows.
M_DAMPED, M_HEAVIEST, M_FIRST, M_LAST, M_ANGLE, M_SCRATCH = 0, 1, 2, 3, 4, 5
FAR_TURN = np.deg2rad(175.0)  # an orientation error beyond this is worth a remark


class Task(NamedTuple):
    """Views of a law's memory. k directions, n degrees of freedom."""

    axes: Any  # 3×3, columns: the axes of frame A in the world
    J: Any  # k×n, the task's rows, angular ones times the lever
    Y: Any  # k×n, J M⁻¹
    inertia: Any  # k×k, Λ
    factor: Any  # n×n
    mobility: Any  # k×k
    vectors: Any  # k×k
    error: Any  # 6, [p_d − p; orientation error], axes of A
    rate: Any  # 6, V_d − V, axes of A
    a: Any  # k
    b: Any  # k
    work: Any  # 24
    unit: Any  # n×n
    joints: Any  # n


def scratch_size(robot: Robot) -> int:
    """Numbers a `Task` needs in the memory."""
    n = robot.nv
    return 9 + 12 * n + 108 + 2 * n * n + 48 + n


@register_jitable(forceinline=True)
def open_task(gains, memory, n):
    """The views of a task in a law's memory; made from addresses, which costs less than slicing and reshaping."""
    k = int(gains[G_COUNT])
    at = address_of(memory) + 8 * M_SCRATCH
    kn, kk, nn = 8 * k * n, 8 * k * k, 8 * n * n
    J = at + 72
    inertia = J + 2 * kn
    factor = inertia + 3 * kk
    error = factor + 2 * nn
    return Task(
        matrix(at, 3, 3),
        matrix(J, k, n),
        matrix(J + kn, k, n),
        matrix(inertia, k, k),
        matrix(factor, n, n),
        matrix(inertia + kk, k, k),
        matrix(inertia + 2 * kk, k, k),
        vector(error, 6),
        vector(error + 48, 6),
        vector(error + 96, 6),
        vector(error + 144, 6),
        vector(error + 192, 24),
        matrix(factor + nn, n, n),
        vector(error + 384, n),
    )


@register_jitable(forceinline=True)
def set_axes(T, gains, R, target, task):
    """The axes of frame A: the world's, the tool's or the target's, times the fixed turn."""
    kind = int(gains[G_AXES])
    if kind == 0:
        for i in range(3):
            for j in range(3):
                T.axes[i, j] = gains[G_TURN + 3 * i + j]
        return
    base = matrix(address_of(T.work), 3, 3)
    if kind == 2:
        matrix_from_quat(vector(address_of(target) + 8 * (task + T_QUAT), 4), base)
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += (R[i, k] if kind == 1 else base[i, k]) * gains[G_TURN + 3 * k + j]
            T.axes[i, j] = total


@register_jitable(forceinline=True)
def into_axes(axes, x, out):
    """out = a world vector pair [linear; angular] in the axes of A."""
    for half in range(0, 6, 3):
        for i in range(3):
            out[half + i] = axes[0, i] * x[half] + axes[1, i] * x[half + 1] + axes[2, i] * x[half + 2]


@register_jitable(forceinline=True)
def out_of_axes(axes, x, out):
    """out = a vector pair in the axes of A in world axes."""
    for half in range(0, 6, 3):
        for i in range(3):
            out[half + i] = axes[i, 0] * x[half] + axes[i, 1] * x[half + 1] + axes[i, 2] * x[half + 2]


@register_jitable(forceinline=True)
def choose(gains, x, out):
    """out = the chosen directions of x (axes of A), angular ones times the lever."""
    for i in range(int(gains[G_COUNT])):
        k = int(gains[G_CHOICE + i])
        out[i] = x[k] if k < 3 else LEVER * x[k]


@kernel(_nothing(_m, _v, _v, _v, _v, _m, _m, _v, _v, _v, _v))
def _errors(axes, gains, memory, v, p, R, J, target, work, error, rate):
    world, apart, quat = part(work, 0, 6), part(work, 6, 6), part(work, 20, 4)
    for i in range(3):
        world[i] = target[T_POSITION + i] - p[i]
    quat_from_matrix(R, quat)
    kind = int(gains[G_ORIENTATION])
    angle = write_orientation_error(kind, part(target, T_QUAT, 4), quat, part(world, 3, 3), part(work, 6, 12))
    memory[M_ANGLE] = max(memory[M_ANGLE], angle)
    for k in range(6):
        speed = 0.0
        for i in range(v.size):
            speed += J[k, i] * v[i]
        apart[k] = target[T_TWIST + k] - speed
    into_axes(axes, world, error)
    into_axes(axes, apart, rate)


@register_jitable(forceinline=True)
def find_errors(T, gains, memory, v, p, R, J, target, task):
    """T.error and T.rate: pose error and V_d − V, axes of A; the memory keeps the largest angle met."""
    _errors(T.axes, gains, memory, v, p, R, J, part(target, task, target.size - task), T.work, T.error, T.rate)


@register_jitable(forceinline=True)
def set_rows(T, gains, J):
    """J_t = S J."""
    for i in range(T.J.shape[0]):
        k = int(gains[G_CHOICE + i])
        half = 0 if k < 3 else 3
        scale = 1.0 if k < 3 else LEVER
        for j in range(T.J.shape[1]):
            total = 0.0
            for m in range(3):
                total += T.axes[m, k - half] * J[half + m, j]
            T.J[i, j] = scale * total


@register_jitable(forceinline=True)
def _mobility(J, Y, out, k, n):
    """out = J_t M⁻¹ J_tᵀ."""
    for i in range(k):
        for j in range(i + 1):
            total = 0.0
            for m in range(n):
                total += J[i, m] * Y[j, m]
            out[i, j] = out[j, i] = total


@register_jitable(forceinline=True)
def _damped_inverse(mobility, vectors, least, inertia):
    """Λ by eigenvectors: 1/μ where μ ≥ least, μ/least² below. Returns the largest 1/μ."""
    k = mobility.shape[0]
    symmetric_eigen(mobility, vectors, k)
    smallest = mobility[0, 0]
    for i in range(k):
        for j in range(k):
            inertia[i, j] = 0.0
    for m in range(k):
        mu = max(mobility[m, m], 0.0)
        smallest = min(smallest, mu)
        weight = 1.0 / mu if mu >= least else mu / (least * least)
        for i in range(k):
            for j in range(k):
                inertia[i, j] += weight * vectors[i, m] * vectors[j, m]
    return 1.0 / max(smallest, 1e-300)


@register_jitable(forceinline=True)
def _invert(J, M, factor, mobility, Y, inertia, k, n):
    """Y = J_t M⁻¹ and Λ, whose trace is returned; 0 where there is no Λ."""
    for i in range(n):
        for j in range(n):
            factor[i, j] = M[i, j]
    cholesky(factor, n)
    for i in range(k):
        for j in range(n):
            Y[i, j] = J[i, j]
    cholesky_solve_rows(factor, n, Y, k)
    _mobility(J, Y, mobility, k, n)
    return cholesky_inverse(mobility, k, inertia) if cholesky(mobility, k) else 0.0


@kernel(_f(_m, _m, _f, _m, _m, _m, _m, _m))
def _inertia(J, M, heaviest, factor, mobility, vectors, Y, inertia):
    # The trace of Λ bounds its largest eigenvalue: eigenvectors are needed near singular postures only.
    k, n = J.shape
    if k == 6 and n == 7:  # most arms: loops of known length compile to straight code
        mass = _invert(J, M, factor, mobility, Y, inertia, 6, 7)
    else:
        mass = _invert(J, M, factor, mobility, Y, inertia, k, n)
    if 0.0 < mass <= heaviest:
        return mass
    _mobility(J, Y, mobility, k, n)
    return _damped_inverse(mobility, vectors, 1.0 / heaviest, inertia)


@register_jitable(forceinline=True)
def find_inertia(T, M, heaviest):
    """Y = J_t M⁻¹ and Λ, damped along directions that feel more than `heaviest` kg; returns the heaviest one's mass.

    Where none is near that, the sum of all their masses is returned, which is below `heaviest` too.
    """
    return _inertia(T.J, M, heaviest, T.factor, T.mobility, T.vectors, T.Y, T.inertia)


@register_jitable(forceinline=True)
def note_damping(memory, gains, t, mass):
    """Count a tick at which a direction was lost."""
    if mass <= gains[G_HEAVIEST]:
        return
    if memory[M_DAMPED] == 0.0:
        memory[M_FIRST] = t
    memory[M_DAMPED] += 1.0
    memory[M_HEAVIEST] = max(memory[M_HEAVIEST], mass)
    memory[M_LAST] = t


@kernel(_nothing(_m, _m, _v, _v))
def _push(J, inertia, acceleration, out):
    k, n = J.shape
    for j in range(n):
        out[j] = 0.0
    for i in range(k):
        force = 0.0
        for m in range(k):
            force += inertia[i, m] * acceleration[m]
        for j in range(n):
            out[j] += J[i, j] * force


@register_jitable(forceinline=True)
def push_along(T, acceleration, out):
    """out = J_tᵀ Λ acceleration."""
    _push(T.J, T.inertia, acceleration, out)


@kernel(_nothing(_m, _m, _m, _v, _v))
def _into_null_space(J, Y, inertia, pull, torque):
    k, n = J.shape
    for i in range(k):
        total = 0.0
        for j in range(n):
            total += Y[i, j] * torque[j]
        pull[i] = total
    for i in range(k):
        force = 0.0
        for m in range(k):
            force += inertia[i, m] * pull[m]
        for j in range(n):
            torque[j] -= J[i, j] * force


@register_jitable(forceinline=True)
def into_null_space(T, torque):
    """torque ← N torque = (1 − J_tᵀ Λ J_t M⁻¹) torque: it moves no chosen direction."""
    _into_null_space(T.J, T.Y, T.inertia, T.b, torque)


@register_jitable(forceinline=True)
def hold_posture(T, stiffness, damping, q, v, target, out):
    """out = N (k (q_d − q) − d v)."""
    for i in range(v.size):
        out[i] = stiffness * (target[i] - q[i]) - damping * v[i]
    into_null_space(T, out)


class TaskLaw(Law):
    """Settings shared by the laws at the tool; abstract."""

    axes: Axes = setting("world", "1", "whose axes directions and gains are along: the world's, tool's or target's")
    axes_quat_wxyz: Quaternion = setting((1.0, 0.0, 0.0, 0.0), "1", "turns those axes into a frame of your own")
    orientation_error: OrientationError = setting(
        "rotation-vector", "1", "how an orientation error is measured, see docs/laws/operational-space.md"
    )
    heaviest: float | None = setting(
        None,
        "kg",
        "apparent mass from which on a direction is lost and damped; 20 × the robot's mass if not given",
        gt=0,
    )

    def task_gains(self, robot: Robot, directions: tuple[Direction, ...]) -> Array:
        """The part of the gains every law at the tool has."""
        refuse_free_base(robot, self.name)
        head = np.zeros(G_LAW)
        head[G_COUNT] = len(directions)
        head[G_CHOICE : G_CHOICE + len(directions)] = [DIRECTIONS.index(d) for d in directions]
        head[G_AXES], head[G_ORIENTATION] = _AXES.index(self.axes), KINDS.index(self.orientation_error)
        head[G_TURN : G_TURN + 9] = _rotation(self.axes_quat_wxyz).ravel()
        head[G_HEAVIEST] = MASS_FACTOR * robot.mass if self.heaviest is None else self.heaviest
        return head

    def mobility_at_home(self, robot: Robot) -> Array:
        """J M⁻¹ Jᵀ, 6×6, at the home posture in the law's axes (the target is where the tool is)."""
        x = robot.terms(robot.home, np.zeros(robot.nv))
        turn = _rotation(self.axes_quat_wxyz)
        R = turn if self.axes == "world" else x.rotation @ turn
        J = np.vstack([R.T @ x.J[:3], R.T @ x.J[3:]])
        return J @ np.linalg.solve(x.M, J.T)

    def memory(self, robot: Robot) -> Array:
        """A count of damped ticks, then scratch."""
        return np.zeros(M_SCRATCH + scratch_size(robot))

    def remarks(self, memory: Array) -> list[str]:
        """Whether a direction was lost, or an orientation error near 180° met, on the way."""
        found = []
        if memory[M_DAMPED]:
            found.append(
                f"{self.name}: near a singular posture the task was damped along a lost direction at"
                f" {int(memory[M_DAMPED])} ticks between {memory[M_FIRST]:.4g} s and {memory[M_LAST]:.4g} s"
                f" (apparent mass up to {memory[M_HEAVIEST]:.3g} kg)"
            )
        if memory[M_ANGLE] > FAR_TURN:
            fades = "fades to nothing" if self.orientation_error == "matrix" else "may turn either way"
            found.append(
                f"{self.name}: the orientation error reached {np.rad2deg(memory[M_ANGLE]):.4g}°, where the"
                f" {self.orientation_error} error {fades}"
            )
        return found


def checked_directions(robot: Robot, directions: tuple[Direction, ...], law: str, *, more: bool = False) -> None:
    """Refuse directions named twice, none, or more than the robot has degrees of freedom unless `more` is allowed."""
    if not directions or len(set(directions)) != len(directions):
        raise InvalidInput(f"{law}: directions must be different ones of {', '.join(DIRECTIONS)}, got {directions}")
    if len(directions) > robot.nv and not more:
        raise InvalidInput(
            f"{law}: {robot.name} has {robot.nv} degrees of freedom and cannot follow {len(directions)} directions",
            hint=f"name at most {robot.nv} of {', '.join(DIRECTIONS)}, such as directions = ['x', 'y']",
        )


def _rotation(quat_wxyz: Quaternion) -> Array:
    quat = finite_array(quat_wxyz, "axes_quat_wxyz", (4,))
    if abs(float(np.linalg.norm(quat)) - 1.0) > 1e-6:
        raise BadRotation(f"axes_quat_wxyz must have norm 1, got {np.linalg.norm(quat):g}")
    out = np.empty((3, 3))
    matrix_from_quat(quat, out)
    return out


def symmetric6(value: Any, name: str, *, definite: bool = False) -> Array:
    """Six numbers (a diagonal) or 6×6, refused unless symmetric and positive semidefinite (definite if asked)."""
    given = finite_array(value, name)
    if given.shape not in ((6,), (6, 6)):
        raise InvalidInput(f"{name} must be 6 numbers or 6×6, got an array of shape {given.shape}")
    matrix = np.diag(given) if given.ndim == 1 else given
    skew = np.abs(matrix - matrix.T)
    if skew.max() > 1e-9 * max(np.abs(matrix).max(), 1e-300):
        i, j = np.unravel_index(int(skew.argmax()), skew.shape)
        raise InvalidInput(
            f"{name} must be symmetric: entry ({i}, {j}) is {matrix[i, j]:g}, ({j}, {i}) {matrix[j, i]:g}"
        )
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -1e-9 * max(np.abs(matrix).max(), 1e-300) or (definite and least <= 0):
        kind = "definite" if definite else "semidefinite"
        raise InvalidInput(f"{name} must be positive {kind}; its smallest eigenvalue is {least:g}")
    return 0.5 * (matrix + matrix.T)
