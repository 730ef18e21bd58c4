"""Steps that the laws at the tool share: a task of chosen directions, its inertia, and what is left to the null space.

A task is a choice of directions along and about the axes of a frame A at the tool's point: the world's axes, the
tool's, the target's, or a frame turned from one of these by a fixed rotation. With S its rows,

    J_t = S J,   Y = J_t M⁻¹,   Λ = (J_t M⁻¹ J_tᵀ)⁻¹,   N = 1 − J_tᵀ Λ Y.

Angular rows are multiplied by a lever (m), so that all of J_t is in metres and an apparent inertia in kg can be
compared among directions. Near a singular posture an eigenvalue μ of the mobility J_t M⁻¹ J_tᵀ goes to 0 and the
apparent mass 1/μ to infinity. Along such an eigenvector alone, from the largest mass 1/μ₀ on, the inverse 1/μ is
replaced by μ/μ₀²: it fades to 0 with the direction and every other direction keeps its exact dynamics. The law's memory
counts the ticks at which that happened.

A task of more directions than the robot can move along has no such Λ. Its directions are then served in their order:
each gets exactly what it is asked for as far as those before it leave it free (`find_inertia_in_order`), and the memory
keeps what was asked for and could not be given.

A law's gains are a `TaskGains` and its memory a `TaskMemory` with fields of its own behind; the steps take either.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from palpate.checks import Array, finite_array
from palpate.config import PerJoint, Quaternion, Vector6, setting
from palpate.control.fitting import per_joint, refuse_free_base
from palpate.control.promise import Promise
from palpate.control.report import LawReport, sentences_that_hold
from palpate.control.rig import Rig
from palpate.control.steps.clearance import Clearance, ClearanceMemory, ClearingLaw, is_close, set_mobility, steer_clear
from palpate.control.steps.linear_algebra import (
    add_transpose_times,
    cholesky,
    cholesky_inverse,
    cholesky_solve_rows,
    product,
    symmetric_eigen,
    times,
    transpose_times,
)
from palpate.control.steps.orientation import KINDS, OrientationError, OrientationWork, write_orientation_error
from palpate.control.steps.reach import (
    DIRECTIONS,
    LEVER,
    POSTURE,
    Direction,
    checked_directions,
    lost_mass,
    posture_defaults,
    reachable,
    rotation_of,
)
from palpate.control.steps.straight import factor_6, factor_7, invert_6_6, invert_6_7
from palpate.control.tick import Tick, sizes_of
from palpate.control.traits import LawTraits
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, Vector, sized
from palpate.engine.views import address_of, copy_long, flat, part
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import matrix_from_quat, quat_from_matrix

Axes = Literal["world", "tool", "target"]
Matrix6 = Sequence[Sequence[float]] if TYPE_CHECKING else tuple[Vector6, Vector6, Vector6, Vector6, Vector6, Vector6]
Gain6 = Vector6 | Matrix6
AXES: tuple[Axes, ...] = ("world", "tool", "target")
_WORLD, _TOOL, _TARGET = range(3)  # indices in AXES
_MISSED = 1e-6  # m/s² or rad/s²: rounding is less
FAR_TURN = np.deg2rad(175.0)  # an orientation error beyond this is worth a remark


class PostureGains(Record):
    """Spring and damper that hold the joints beneath the task, one each per joint."""

    stiffness: Vector = sized("nv")
    damping: Vector = sized("nv")


class TaskGains(Record):
    """Which directions, along whose axes, how an orientation error is measured, when one is lost; the posture."""

    choice: Integers = sized("k")  # indices of the chosen directions in DIRECTIONS
    axes: int  # index in AXES
    rotation: Matrix = sized(3, 3)  # turns those axes into frame A
    orientation: int  # index in orientation.KINDS
    heaviest: float  # kg
    freedoms: int  # how many of the directions can be moved along, each apart from those before it
    clear: Clearance  # of joint stops and rated speeds, within the null space
    aligned: bool = False  # whether frame A always has the world's axes, and six directions stand in their order
    posture: PostureGains


class TaskMemory(Record):
    """Counts for the remarks of a run; then scratch, of k chosen directions and nv degrees of freedom."""

    damped: Kept[int] = 0  # ticks at which a direction was lost,
    damped_from: Kept[float] = 0.0  # s,
    damped_until: Kept[float] = 0.0  # s,
    damped_mass: Kept[float] = 0.0  # kg, the largest apparent mass then
    angle: Kept[float] = 0.0  # rad, the largest orientation error met
    missed: Kept[Vector] = sized(
        6
    )  # m/s², rad/s²: the most of a wanted acceleration that no joint motion gives, axes of A
    axes: Matrix = sized(3, 3)  # columns: the axes of frame A in the world
    e: Vector = sized(6)  # [p_d − p; orientation error], axes of A
    e_rate: Vector = sized(6)  # V_d − V, axes of A
    A_d: Vector = sized(6)  # wanted acceleration, axes of A
    J_t: Matrix = sized("k", "nv")  # S J, angular rows times the lever
    Y: Matrix = sized("k", "nv")  # J_t M⁻¹
    Lambda: Matrix = sized("k", "k")  # Λ, and
    mobility: Matrix = sized("k", "k")  # its inverse
    eigenvectors: Matrix = sized("k", "k")
    factor: Matrix = sized("nv", "nv")  # of M, where a joint is to be kept clear
    a: Vector = sized("k")  # accelerations of the chosen directions
    pull: Vector = sized("k")
    force: Vector = sized("k")  # Λ a, or Λ J_t M⁻¹ τ
    world: Vector = sized(6)  # a vector pair in world axes,
    inside: Vector = sized(6)  # in the axes of A
    quat_wxyz: Vector = sized(4)
    base: Matrix = sized(3, 3)
    orientation: OrientationWork
    clear: ClearanceMemory


class MotionTerms(Record):
    """Terms of the torque of a law that measures no force."""

    spring: Vector = sized("nv")
    damper: Vector = sized("nv")
    feed_forward: Vector = sized("nv")
    null_space: Vector = sized("nv")
    bias: Vector = sized("nv")


@kernel(inline=True)
def set_axes(x: Tick, k: TaskGains, m: TaskMemory) -> None:
    """The axes of frame A: the world's, the tool's or the target's, times the fixed turn."""
    if k.axes == _WORLD:
        put(flat(m.axes), 0, flat(k.rotation))
    elif k.axes == _TOOL:
        product(x.rotation, k.rotation, m.axes)
    else:
        matrix_from_quat(x.target.quat_wxyz, m.base)
        product(m.base, k.rotation, m.axes)


@kernel(inline=True)
def into_axes(axes: Matrix, world: Vector, out: Vector) -> None:
    """out = a vector pair [linear; angular] of the world in the axes of A."""
    for half in range(0, 6, 3):
        for i in range(3):
            out[half + i] = axes[0, i] * world[half] + axes[1, i] * world[half + 1] + axes[2, i] * world[half + 2]


@kernel(inline=True)
def out_of_axes(axes: Matrix, inside: Vector, out: Vector) -> None:
    """out = a vector pair in the axes of A in world axes."""
    for half in range(0, 6, 3):
        for i in range(3):
            out[half + i] = axes[i, 0] * inside[half] + axes[i, 1] * inside[half + 1] + axes[i, 2] * inside[half + 2]


@kernel(inline=True)
def lever_of(direction: int) -> float:
    """Factor of a row of the task: 1 along an axis, the lever (m) about one."""
    return 1.0 if direction < 3 else LEVER


@kernel
def choose(k: TaskGains, inside: Vector, out: Vector) -> None:
    """out = the chosen directions of a vector pair (axes of A), angular ones times the lever."""
    for i in range(k.choice.size):
        out[i] = lever_of(k.choice[i]) * inside[k.choice[i]]


@kernel
def find_errors(x: Tick, k: TaskGains, m: TaskMemory) -> None:
    """e = [p_d − p; orientation error] and V_d − V, axes of A; the memory keeps the largest angle met."""
    d, apart = x.target, m.world
    for i in range(3):
        apart[i] = d.position[i] - x.position[i]
    quat_from_matrix(x.rotation, m.quat_wxyz)
    angle = write_orientation_error(k.orientation, d.quat_wxyz, m.quat_wxyz, part(apart, 3, 3), m.orientation)
    m.angle = max(m.angle, angle)
    into_axes(m.axes, apart, m.e)
    times(x.J, x.v, apart)
    for i in range(6):
        apart[i] = d.twist[i] - apart[i]
    into_axes(m.axes, apart, m.e_rate)


@kernel
def find_acceleration(x: Tick, exact: bool, m: TaskMemory) -> None:
    """A_d − J̇ v, axes of A; A_d alone if not exact."""
    for i in range(6):
        m.world[i] = x.target.acceleration[i] - (x.drift[i] if exact else 0.0)
    into_axes(m.axes, m.world, m.A_d)


@kernel(inline=True)
def set_rows(x: Tick, k: TaskGains, m: TaskMemory) -> None:
    """J_t = S J."""
    n = x.v.size
    if k.aligned and k.choice.size == 6:
        copy_long(flat(m.J_t), flat(x.J))
        angular = part(flat(m.J_t), 3 * n, 3 * n)
        for j in range(3 * n):
            angular[j] = LEVER * angular[j]
        return
    for i in range(k.choice.size):
        direction = k.choice[i]
        half, column, scale = 3 * (direction // 3), direction % 3, lever_of(direction)
        a, b, c = m.axes[0, column], m.axes[1, column], m.axes[2, column]
        out, J = part(flat(m.J_t), i * n, n), part(flat(x.J), half * n, 3 * n)
        for j in range(n):
            out[j] = scale * (a * J[j] + b * J[n + j] + c * J[2 * n + j])


@kernel(inline=True)
def _find_mobility(k: int, n: int, m: TaskMemory) -> None:
    """J_t M⁻¹ J_tᵀ."""
    J, Y, mobility = m.J_t, m.Y, m.mobility
    for i in range(k):
        for j in range(i + 1):
            mobility[i, j] = mobility[j, i] = dot(J[i], Y[j], n)


@kernel
def _damped_inverse(least: float, m: TaskMemory) -> float:
    """Λ by eigenvectors: 1/μ where μ ≥ least, μ/least² below. Returns the largest 1/μ."""
    k, U, Lambda = m.mobility.shape[0], m.eigenvectors, m.Lambda
    symmetric_eigen(m.mobility, U, k)
    smallest = m.mobility[0, 0]
    clear(flat(Lambda))
    for l in range(k):
        mu = max(m.mobility[l, l], 0.0)
        smallest = min(smallest, mu)
        weight = 1.0 / mu if mu >= least else mu / (least * least)
        for i in range(k):
            for j in range(k):
                Lambda[i, j] += weight * U[i, l] * U[j, l]
    return 1.0 / max(smallest, 1e-300)


@kernel(inline=True)
def _weigh(M: Matrix, k: int, n: int, m: TaskMemory) -> None:
    """Y = J_t M⁻¹ and J_t M⁻¹ J_tᵀ."""
    put(flat(m.factor), 0, flat(M))
    put(flat(m.Y), 0, flat(m.J_t))
    cholesky(m.factor, n)
    cholesky_solve_rows(m.factor, n, m.Y, k)
    _find_mobility(k, n, m)


@kernel(inline=True)
def _invert(M: Matrix, k: int, n: int, m: TaskMemory) -> float:
    """Y = J_t M⁻¹ and Λ, whose trace is returned; 0 where there is no Λ."""
    if k == 6 and n == 7:
        return _invert_6_7(M, m)
    if k == 6 and n == 6:
        return _invert_6_6(M, m)
    _weigh(M, k, n, m)
    return cholesky_inverse(m.mobility, k, m.Lambda) if cholesky(m.mobility, k) else 0.0


@kernel
def _invert_6_7(M: Matrix, m: TaskMemory) -> float:
    to = address_of(m.Y), address_of(m.Lambda)
    return invert_6_7(address_of(M), address_of(m.J_t), to[0], to[1])  # pyright: ignore[reportCallIssue]


@kernel
def _invert_6_6(M: Matrix, m: TaskMemory) -> float:
    to = address_of(m.Y), address_of(m.Lambda)
    return invert_6_6(address_of(M), address_of(m.J_t), to[0], to[1])  # pyright: ignore[reportCallIssue]


@kernel
def find_factor(M: Matrix, m: TaskMemory) -> None:
    """L of M = L Lᵀ, where the task's inertia was found without keeping it."""
    k, n = m.J_t.shape
    if k == 6 and n == 7:
        factor_7(address_of(M), address_of(m.factor))  # pyright: ignore[reportCallIssue]
    elif k == 6 and n == 6:
        factor_6(address_of(M), address_of(m.factor))  # pyright: ignore[reportCallIssue]


@kernel(inline=True)
def find_inertia(M: Matrix, heaviest: float, m: TaskMemory) -> float:
    """Y = J_t M⁻¹ and Λ, damped along directions that feel more than `heaviest` kg; returns the heaviest one's mass.

    Where none is near that, the sum of all their masses is returned, which is below `heaviest` too.
    """
    # The trace of Λ bounds its largest eigenvalue: eigenvectors are needed near singular postures only.
    k, n = m.J_t.shape
    mass = _invert(M, k, n, m)
    if 0.0 < mass <= heaviest:
        return mass
    _find_mobility(k, n, m)
    return _damped_inverse(1.0 / heaviest, m)


@kernel
def _serve_next(i: int, least: float, m: TaskMemory) -> float:
    """Row i of T, its weight w_i, and the mobility μ_i that the rows before it leave it, which is returned.

    j*_i = j_i − Σ_l (j_i M⁻¹ j*_lᵀ) w_l j*_l = (T J_t)_i, μ_i = j_i M⁻¹ j*_iᵀ, w = 1/μ, or μ/least² where μ < least.
    """
    A, T, w = m.mobility, m.eigenvectors, m.pull
    for p in range(w.size):
        T[i, p] = 1.0 if p == i else 0.0
    for l in range(i):
        coupled = dot(A[i], T[l], l + 1)
        for p in range(l + 1):
            T[i, p] -= coupled * w[l] * T[l, p]
    mu = max(dot(A[i], T[i], i + 1), 0.0)
    w[i] = 1.0 / mu if mu >= least else mu / (least * least)
    return mu


@kernel
def find_inertia_in_order(M: Matrix, heaviest: float, freedoms: int, m: TaskMemory) -> float:
    """Y = J_t M⁻¹ and Λ = Tᵀ W T of a task with more directions than freedoms, served in the order of its rows.

    J_tᵀ Λ a accelerates every row by what is asked for, as far as the rows before it leave it free: exactly where a can
    be given by some joint motion, and else the earlier rows exactly. A row lighter than `heaviest` kg counts as free;
    returned is the lightest mass of those that are lost although they should be free, or 0.
    """
    k, n = m.J_t.shape
    _weigh(M, k, n, m)
    least, free, lost = 1.0 / heaviest, 0, 0.0
    for i in range(k):
        mu = _serve_next(i, least, m)
        if mu >= least:
            free += 1
        else:
            lost = max(lost, mu)
    for i in range(k):
        for j in range(k):
            m.Lambda[i, j] = 0.0
            for l in range(max(i, j), k):
                m.Lambda[i, j] += m.eigenvectors[l, i] * m.pull[l] * m.eigenvectors[l, j]
    return 0.0 if free >= freedoms else 1.0 / max(lost, 1e-300)


@kernel
def note_missed(k: TaskGains, m: TaskMemory) -> None:
    """Keep the most of a wanted acceleration a that J_tᵀ Λ a leaves out: |a − J_t M⁻¹ J_tᵀ Λ a|; a is in `m.a`."""
    times(m.Lambda, m.a, m.pull)
    for i in range(k.choice.size):
        left = m.a[i]
        for l in range(m.pull.size):
            left -= m.mobility[i, l] * m.pull[l]
        direction = k.choice[i]
        m.missed[direction] = max(m.missed[direction], abs(left) / lever_of(direction))


@kernel
def note_damping(t: float, mass: float, k: TaskGains, m: TaskMemory) -> None:
    """Count a tick at which a direction was lost."""
    if mass <= k.heaviest:
        return
    if m.damped == 0:
        m.damped_from = t
    m.damped += 1
    m.damped_mass = max(m.damped_mass, mass)
    m.damped_until = t


@kernel
def open_task(x: Tick, k: TaskGains, m: TaskMemory) -> None:
    """The task at a tick: its axes, e and V_d − V, J_t, Y and Λ; a lost direction is noted."""
    set_axes(x, k, m)
    find_errors(x, k, m)
    set_rows(x, k, m)
    note_damping(x.t, find_inertia(x.M, k.heaviest, m), k, m)


@kernel
def push_along(m: TaskMemory, a: Vector, out: Vector) -> None:
    """out = J_tᵀ Λ a."""
    times(m.Lambda, a, m.force)
    transpose_times(m.J_t, m.force, out)


@kernel
def accelerate(k: TaskGains, m: TaskMemory, inside: Vector, out: Vector) -> None:
    """out = J_tᵀ Λ A_t, for an acceleration A in the axes of A."""
    choose(k, inside, m.a)
    push_along(m, m.a, out)


@kernel
def into_null_space(m: TaskMemory, tau: Vector) -> None:
    """tau ← N tau = (1 − J_tᵀ Λ J_t M⁻¹) tau: it moves no chosen direction."""
    times(m.Y, tau, m.pull)
    times(m.Lambda, m.pull, m.force)
    add_transpose_times(m.J_t, m.force, -1.0, tau)


@kernel(inline=True)
def pull_to_posture(x: Tick, k: PostureGains, out: Vector) -> None:
    """out = k (q_d − q) − d v."""
    stiffness, damping = k.stiffness, k.damping
    for i in range(x.v.size):
        out[i] = stiffness[i] * (x.target.q[i] - x.q[i]) - damping[i] * x.v[i]


@kernel
def keep_clear(x: Tick, k: TaskGains, m: TaskMemory, acting: Vector, out: Vector) -> None:
    """out += N τ_e: the null space, in which `acting` acts, keeps clear of joint stops and rated speeds."""
    if x.v.size > k.freedoms and is_close(x, k.clear):
        find_factor(x.M, m)
        set_mobility(m.factor, m.Y, m.Lambda, m.clear)
        steer_clear(x, k.clear, m.clear, acting, out)


@kernel
def hold_posture(x: Tick, k: TaskGains, m: TaskMemory, out: Vector) -> None:
    """out = N (k (q_d − q) − d v), clear of joint stops and rated speeds."""
    pull_to_posture(x, k.posture, out)
    into_null_space(m, out)
    keep_clear(x, k, m, out, out)


class TaskLaw(ClearingLaw):
    """Settings shared by the laws at the tool; abstract."""

    serves_in_order: ClassVar[bool] = False  # whether the arm may be unable to follow some of the directions

    axes: Axes = setting("world", "1", "whose axes directions and gains are along: the world's, tool's or target's")
    axes_quat_wxyz: Quaternion = setting((1.0, 0.0, 0.0, 0.0), "1", "rotates these axes")
    orientation_error: OrientationError = setting(
        "rotation-vector", "1", "how an orientation error is measured, see docs/laws/operational-space.md"
    )
    heaviest: float | None = setting(
        None,
        "kg",
        "apparent mass above which a direction is singular and damped; 20 × the robot's mass if not given, more where"
        " rotors or long links make every direction heavy",
        gt=0,
    )

    @abstractmethod
    def chosen(self) -> tuple[Direction, ...]:
        """The task's directions, in the order of its rows."""

    def forced_directions(self) -> tuple[Direction, ...]:
        """Those of them that are controlled in force."""
        return ()

    @property
    def traits(self) -> LawTraits:
        """It follows its chosen directions, and promises each."""
        return replace(super().traits, task_directions=lambda robot: self.chosen(), promises=self.promises_for)

    @property
    def report(self) -> LawReport:
        """Remarks on singular postures, half turns and what was steered clear of."""
        return LawReport(remarks=self.remarks_of)

    def task_gains(self, robot: Robot) -> dict[str, Any]:
        """The fields of `TaskGains`, which every law at the tool has; directions that it cannot serve are refused."""
        self.check_directions(robot)
        stiffness, damping = self.posture_gains() or (0.0, 0.0)
        return {
            "clear": self.clearance(robot),
            "freedoms": len(reachable(robot, self.chosen(), self.axes_at)),
            "choice": [DIRECTIONS.index(d) for d in self.chosen()],
            "axes": AXES.index(self.axes),
            "rotation": rotation_of(self.axes_quat_wxyz).copy(),
            "aligned": self._is_aligned(),
            "orientation": KINDS.index(self.orientation_error),
            "heaviest": lost_mass(robot, self.chosen(), self.axes_at) if self.heaviest is None else self.heaviest,
            "posture": PostureGains(
                stiffness=per_joint(robot, stiffness, "posture_stiffness", least=0.0),
                damping=per_joint(robot, damping, "posture_damping", least=0.0),
            ),
        }

    def _is_aligned(self) -> bool:
        """Whether the task is in the world's axes, and six directions are in their order."""
        straight = self.axes == "world" and np.array_equal(rotation_of(self.axes_quat_wxyz), np.eye(3))
        return straight and (len(self.chosen()) < 6 or self.chosen() == DIRECTIONS)

    def axes_at(self, rotation: Array) -> Array:
        """The law's axes where the tool is turned so, and the target with it; columns in the world."""
        axes_rotation = rotation_of(self.axes_quat_wxyz)
        return axes_rotation if self.axes == "world" else rotation @ axes_rotation

    def check_directions(self, robot: Robot) -> None:
        """Refuse directions that the robot cannot follow; served in order, only if it can follow none of them."""
        refuse_free_base(robot, self.name)
        checked_directions(robot, self.chosen(), self.name, self.axes_at, more=self.serves_in_order)

    def promises_for(self, robot: Robot) -> tuple[Promise, ...]:
        """The target along the directions that are controlled in motion, the wanted wrench along those of force."""
        force = self.forced_directions()
        motion = tuple(d for d in reachable(robot, self.chosen(), self.axes_at) if d not in force)
        return (Promise(motion=motion, force=force, axes=self.axes_at),)

    def posture_gains(self) -> tuple[PerJoint, PerJoint] | None:
        """k and d of the posture held beneath the task; None if it holds none."""
        return None

    def record_sizes(self, robot: Robot) -> dict[str, int]:
        """With k, the number of chosen directions."""
        return {**sizes_of(robot), "k": len(self.chosen())}

    def mobility_at_home(self, robot: Robot) -> Array:
        """J M⁻¹ Jᵀ, 6×6, at the home posture in the law's axes (the target is where the tool is)."""
        x = robot.terms(robot.home, np.zeros(robot.nv))
        R = self.axes_at(x.rotation)
        J = np.vstack([R.T @ x.J[:3], R.T @ x.J[3:]])
        return J @ np.linalg.solve(x.M, J.T)

    def remarks_of(self, memory: Any) -> list[str]:
        """Whether a direction was lost, or an orientation error near 180° met, on the way."""
        damped = (
            f"{self.name}: near a singular posture the task was damped along a lost direction at"
            f" {memory.damped} ticks between {memory.damped_from:.4g} s and {memory.damped_until:.4g} s"
            f" (apparent mass up to {memory.damped_mass:.3g} kg)"
        )
        shortfalls = ", ".join(
            f"{d} ({left:.3g} {'m' if d in 'xyz' else 'rad'}/s²)"
            for d, left in zip(DIRECTIONS, memory.missed)
            if left > _MISSED
        )
        missed = (
            f"{self.name}: the arm cannot follow the desired acceleration along {shortfalls};"
            " only its spring and damper act there"
        )
        fades = "fades to nothing" if self.orientation_error == "matrix" else "may turn either way"
        far = (
            f"{self.name}: the orientation error reached {np.rad2deg(memory.angle):.4g}°, where the"
            f" {self.orientation_error} error {fades}"
        )
        sentences = sentences_that_hold({damped: memory.damped, missed: shortfalls, far: memory.angle > FAR_TURN})
        return [*sentences, *self.clearance_remarks(memory.clear)]


def _posture_setting(letter: str, unit: str, usual: float) -> Any:
    """A gain of the posture; left open by default."""
    return setting(
        None, unit, f"{letter} of the null-space posture; {usual:g}, less on joints too light for the period"
    )


class PostureLaw(TaskLaw):
    """Settings of the laws at the tool that hold a posture beneath it by joint springs; abstract."""

    posture_stiffness: PerJoint | None = _posture_setting("k", "N·m/rad", POSTURE[0])
    posture_damping: PerJoint | None = _posture_setting("d", "N·m·s/rad", POSTURE[1])

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """With a posture that the loop's period bears, where none is given."""
        law = super().suited(robot, rig)
        open_ones = [name for name in ("posture_stiffness", "posture_damping") if getattr(self, name) is None]
        if not open_ones or robot.nq != robot.nv or not self.chosen():  # the latter two are refused later, by name
            return law
        k, d = posture_defaults(robot, robot.home if rig.q is None else rig.q, self.chosen(), self.axes_at, rig.lag)
        defaults = {"posture_stiffness": k, "posture_damping": d}
        return law.model_copy(update={name: defaults[name] for name in open_ones})

    def posture_gains(self) -> tuple[PerJoint, PerJoint]:
        """k and d, once suited."""
        return self.posture_stiffness or 0.0, self.posture_damping or 0.0


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
