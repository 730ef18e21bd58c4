"""What a law does to first order about rest: equations as matrices over joints, task directions and wrench.

A law says in its own file which of these equations it is (`Law.about_rest`) and what its settings mean at a posture
(`Law.linear`); one axis on a wall (`ContactCase`) needs the equation alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from palpate.checks import Array
from palpate.control.design.linear.loop_model import Command, LinearLaw, Timing
from palpate.control.law import BoundLaw
from palpate.control.references.reference import joint_target
from palpate.control.steps.reach import DIRECTIONS, LEVER, AxesAt, lost_mass, reachable
from palpate.control.steps.task_space import TaskLaw
from palpate.errors import InvalidInput, NoSolution
from palpate.robot.robot import Robot

# ---------------------------------------- What the design functions read off an arm at a posture


STEP = 1e-6  # rad or m, of central differences


def damped_inertia(J: Array, back: Array, rows: list[int], heaviest: float) -> Array:
    """Λ, in which directions heavier than `heaviest` kg fade as they do in the laws."""
    scale = np.array([1.0 if row < 3 else LEVER for row in rows])
    mu, U = np.linalg.eigh(scale[:, None] * (J @ back @ J.T) * scale)
    least = 1.0 / heaviest
    with np.errstate(divide="ignore"):
        weight = np.where(mu >= least, 1.0 / mu, np.maximum(mu, 0.0) / least**2)
    return scale[:, None] * ((U * weight) @ U.T) * scale


def joint_damping_of(robot: Robot) -> Array:
    """Viscous damping of the joints, N·m·s/rad or N·s/m, that of joints which follow them included."""
    own = np.array(robot.model.dof_damping, dtype=float)
    return np.diag(robot.coordinates.reduce_matrix(np.diag(own))).copy()  # one leader each: diagonal


def gravity_slope(robot: Robot, q: Array) -> Array:
    """∂g/∂q, n×n, by central differences."""
    steps = STEP * np.eye(robot.nv)
    return np.column_stack([(robot.gravity(q + s) - robot.gravity(q - s)) / (2 * STEP) for s in steps])


def inverse_of(M: Array, what: str) -> Array:
    """M⁻¹ of a symmetric positive definite matrix; refused with its numbers if it is not."""
    values, vectors = np.linalg.eigh(M)
    if not values[0] > 1e-14 * max(float(values[-1]), 1e-300):
        raise NoSolution(f"the {what} is singular: eigenvalues from {values[0]:.3g} to {values[-1]:.3g}")
    return (vectors / values) @ vectors.T


@dataclass(frozen=True)
class TaskModel:
    """The law's own model of the arm: n joints, k task directions, m measured wrench components.

    Attributes:
        J: k×n.
        inertia: Λ̂, k×k.
        mass_matrix: M̂, n×n.
        null_space: N, n×n, or zeros if the law has none.
        gravity: ∂ĝ/∂q, n×n.
        along: k×m, the wrench along the task's directions.
        push: n×m, the joint torques that a wrench makes.
    """

    J: Array
    inertia: Array
    mass_matrix: Array
    null_space: Array
    gravity: Array
    along: Array
    push: Array


@dataclass(frozen=True)
class ToolGains:
    """A law's gains over its k task directions.

    Attributes:
        stiffness, damping: K, D, k×k; of hybrid force control K_p, 1/s², and K_d, 1/s.
        mass: M or M_d of admittance and shaped impedance, k×k.
        force: which of the directions are force-controlled, k booleans.
        integral: k_i, 1/s; of servo-force m/(N·s).
        proportional: k_p.
        joint_damping: d of integral force control, 1/s.
        posture_stiffness, posture_damping: of the null space, one for all joints or one each.
        friction_feedback: c of hybrid force control.
        servo, trim: of admittance and servo-force: its kind, and the trim's gain, 1/s.
    """

    stiffness: Array
    damping: Array
    mass: Array
    force: Array
    integral: float = 0.0
    proportional: float = 0.0
    joint_damping: float = 0.0
    posture_stiffness: float | Array = 0.0
    posture_damping: float | Array = 0.0
    friction_feedback: float = 1.0
    servo: Command = "position"
    trim: float = 0.0


@dataclass(frozen=True)
class LawModel:
    """The equation of a kind of law, and what its gains mean.

    Attributes:
        title: what sentences call it where no law's name is given.
        equation: the law's matrices from its task, gains and period; without a period its state has rates.
        gains: gains whose limits are worth knowing, the main one first. Compliance is 1/M, 1/D and 1/K together.
        presses: whether it controls the force along `TaskGains.force`.
        servo: whether a joint servo follows its command.
        damping: of what D is a damping: of the tool, N·s/m; of the tool per apparent mass, 1/s; or of the joints
            per inertia, 1/s, which is then `TaskGains.joint_damping`.
        across: what it is along directions that it does not press; None if the same.
    """

    title: str
    equation: Callable[[TaskModel, ToolGains, float], LinearLaw]
    gains: tuple[str, ...]
    presses: bool = False
    servo: bool = False
    damping: Literal["tool", "per mass", "joints"] = "tool"
    across: LawModel | None = None

    def law(self, task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
        """The law's matrices, without states that do nothing."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _pruned(self.equation(task, gains, period))


@dataclass(frozen=True)
class LinearModel:
    """A law at a posture of an arm, to first order about rest.

    Attributes:
        model: its equation.
        task, gains: what it knows of the arm, and its gains, along its directions.
        period: of control, s; 0 for a controller without a clock.
        slopes: its matrices, where they were measured instead of written down.
    """

    model: LawModel
    task: TaskModel
    gains: ToolGains
    period: float
    slopes: LinearLaw | None = None

    @classmethod
    def of_task(
        cls,
        law: TaskLaw,
        robot: Robot,
        q: Array,
        timing: Timing,
        *,
        force: Sequence[str] = (),
        stiffness: Array | None = None,
        damping: Array | None = None,
        mass: Array | None = None,
        **numbers: Any,
    ) -> LinearModel:
        """The model of a law at the tool: K, D and M are 6×6 in its axes, `numbers` the other fields of `ToolGains`."""
        if law.about_rest is None:
            raise InvalidInput(f"law {law.name!r} names no equation about rest", hint="give the class its `about_rest`")
        posture = law.posture_gains()
        if posture is not None:
            numbers = {**numbers, "posture_stiffness": posture[0], "posture_damping": posture[1]}
        beneath = posture is not None
        task = task_model(robot, q, law.chosen(), law.axes_at, heaviest=law.heaviest, null_space=beneath)
        gains = task_gains(law.chosen(), force, stiffness, damping, mass, **numbers)
        return cls(law.about_rest, task, gains, timing.period)

    def law(self) -> LinearLaw:
        """The law's matrices over joints and wrench."""
        return self.slopes or self.model.law(self.task, self.gains, self.period)

    def with_gain(self, name: str, factor: float) -> LinearModel:
        """The same with one gain multiplied (see `ContactCase.with_gain`)."""
        g, slopes, weight = self.gains, self.slopes, self.task.gravity
        if slopes is not None:
            steeper = {"v": factor * slopes.v} if name == "damping" else {"q": factor * (slopes.q - weight) + weight}
            return replace(self, slopes=replace(slopes, **steeper))
        if name == "compliance":
            new = replace(g, mass=g.mass / factor, damping=g.damping / factor, stiffness=g.stiffness / factor)
        elif name == "damping":
            new = replace(g, damping=g.damping * factor, joint_damping=g.joint_damping * factor)
        else:
            new = replace(g, **{name: getattr(g, name) * factor})
        return replace(self, gains=new)


def task_model(
    robot: Robot,
    q: Array,
    directions: Sequence[str],
    axes: AxesAt,
    *,
    heaviest: float | None = None,
    null_space: bool = False,
) -> TaskModel:
    """What a law knows of an arm at a posture, along some directions of its axes.

    Args:
        robot: as the law knows it.
        q: posture, which is also the target.
        directions: names of the task's rows, in order.
        axes: of the directions, for the tool's rotation (see `steps.reach.AxesAt`).
        heaviest: kg, from which on a direction is lost; `lost_mass` if not given.
        null_space: whether the law holds a posture beneath the task.
    """
    terms, n = robot.terms(q, np.zeros(robot.nv)), robot.nv
    rows = [DIRECTIONS.index(d) for d in directions]
    R = axes(terms.rotation)
    linear, angular = (R, R) if R.ndim == 2 else R
    into = np.zeros((6, 6))
    into[:3, :3], into[3:, 3:] = linear.T, angular.T
    J, back = (into @ terms.J)[rows], inverse_of(terms.M, f"mass matrix of {robot.name}")
    inertia = damped_inertia(J, back, rows, heaviest or lost_mass(robot, directions, axes))
    has_null_space = null_space and len(reachable(robot, directions, axes)) < n
    N = np.eye(n) - J.T @ inertia @ J @ back if has_null_space else np.zeros((n, n))
    return TaskModel(J, inertia, terms.M, N, gravity_slope(robot, q), into[rows], terms.J.T)


def task_gains(
    directions: Sequence[str],
    force: Sequence[str] = (),
    stiffness: Array | None = None,
    damping: Array | None = None,
    mass: Array | None = None,
    **numbers: Any,
) -> ToolGains:
    """Gains along some directions, from 6×6 matrices in the law's axes; numbers that are None count as 0."""
    rows = [DIRECTIONS.index(d) for d in directions]
    K, D = (np.zeros((6, 6)) if X is None else X for X in (stiffness, damping))
    pick, M = np.ix_(rows, rows), np.eye(6) if mass is None else mass
    pressed = np.array([d in force for d in directions], dtype=bool)
    return ToolGains(K[pick], D[pick], M[pick], pressed, **{name: _number(x) for name, x in numbers.items()})


def _number(value: Any) -> Any:
    """A number, one per joint, or a word; nothing is zero."""
    if isinstance(value, str):
        return value
    array = np.asarray(0.0 if value is None else value, dtype=float)
    return array if array.ndim else float(array)


def _pruned(law: LinearLaw) -> LinearLaw:
    """Without states that nothing moves (the trim of gain 0) or that move nothing (Δx of a mass without a spring)."""
    linked = law.update != 0
    moved = (law.update_q != 0).any(axis=1) | (law.update_v != 0).any(axis=1) | (law.update_wrench != 0).any(axis=1)
    moving = (law.state != 0).any(axis=0)
    for _ in range(len(linked)):
        moved, moving = moved | (linked @ moved), moving | (linked.T @ moving)
    keep = np.flatnonzero(moved & moving)
    return replace(
        law,
        update=law.update[np.ix_(keep, keep)],
        update_q=law.update_q[keep],
        update_v=law.update_v[keep],
        update_wrench=law.update_wrench[keep],
        state=law.state[:, keep],
    )


def _torque(task: TaskModel, gains: ToolGains, q: Array, v: Array, **others: Array) -> LinearLaw:
    """A torque law of slopes over q and v, its posture and gravity added, and its other matrices."""
    N = task.null_space
    q = q - N * gains.posture_stiffness + task.gravity
    return LinearLaw.over("torque", *task.push.shape, q=q, v=v - N * gains.posture_damping, **others)


def _shaped(task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
    """τ = Jᵀ Λ (M_d⁻¹ (K e − D V + F) − J M⁻¹ Jᵀ F) + N τ₀ + b̂."""
    J, admit = task.J, np.linalg.pinv(gains.mass)
    lift = J.T @ task.inertia
    own = J @ np.linalg.pinv(task.mass_matrix) @ task.push
    q, v = -lift @ admit @ gains.stiffness @ J, -lift @ admit @ gains.damping @ J
    return _torque(task, gains, q, v, wrench=lift @ (admit @ task.along - own))


def _force_integral(task: TaskModel, gains: ToolGains, period: float, carry: Array) -> dict[str, Array]:
    """I ← I − k_i T F along the force directions; what it adds to the torque is −carry I."""
    f = task.along[gains.force]
    step, stay = (gains.integral * period, 1.0) if period else (gains.integral, 0.0)
    return {"update": stay * np.eye(len(f)), "update_wrench": -step * f, "state": -carry}


def _integral_force(task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
    """τ = −Jᵀ k ∫(F_d − F) dt − d M̂ v + b̂."""
    integral = _force_integral(task, gains, period, task.J[gains.force].T)
    return _torque(task, gains, 0.0 * task.mass_matrix, -gains.joint_damping * task.mass_matrix, **integral)


def _direct_force(task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
    """τ = Jᵀ (K e − D V − [k_p (F_d − F) + k_i ∫(F_d − F) dt]_f) + N τ₀ + b̂, K = 0 along f."""
    motion = np.diag((~gains.force).astype(float))
    return _parallel_force(task, replace(gains, stiffness=motion @ gains.stiffness @ motion), period)


def _parallel_force(task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
    """As direct force control, with K along f too; without directions f an impedance, τ = Jᵀ (K e − D V) + N τ₀ + b̂."""
    J, carry = task.J, task.J[gains.force].T
    q, v = -J.T @ gains.stiffness @ J, -J.T @ gains.damping @ J
    wrench = gains.proportional * carry @ task.along[gains.force]
    return _torque(task, gains, q, v, wrench=wrench, **_force_integral(task, gains, period, carry))


def _hybrid_force(task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
    """τ = Jᵀ (Λ u − [c F_m; F_f]) + N τ₀ + b̂, u_m = −K_d V − K_p e, u_f = Λ_ff⁻¹ (W + F_f) − d V."""
    J, f, lift = task.J, gains.force, task.J.T @ task.inertia
    into = lift[:, f] @ np.linalg.pinv(task.inertia[np.ix_(f, f)])  # a force along f to joint torques
    motion = np.diag((~f).astype(float))
    share = np.where(f, 1.0, gains.friction_feedback)
    wrench = (1 + gains.proportional) * into @ task.along[f] - J.T @ (share[:, None] * task.along)
    q, v = -lift @ motion @ gains.stiffness @ J, -lift @ gains.damping @ J
    return _torque(task, gains, q, v, wrench=wrench, **_force_integral(task, gains, period, into))


def _admittance(task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
    """M Δẍ + D Δẋ + K Δx = F, speed first; c = J⁺ Δx; a trim g ∫(c − q) dt, or g (c − q) on a velocity."""
    pick = np.diag(gains.mass) > 0  # the other directions do not yield: the arm holds them
    both, along = np.ix_(pick, pick), task.along[pick]
    k, n, m = int(pick.sum()), *task.push.shape
    one, zero, T, g = np.eye(k), np.zeros((k, k)), period, gains.trim
    yields, back = np.linalg.inv(gains.mass[both]), np.linalg.pinv(task.J)[:, pick]
    speed = np.hstack([-yields @ gains.stiffness[both], -yields @ gains.damping[both]])  # rate of Δẋ from [Δx; Δẋ]
    if not period:
        A, on = np.vstack([np.hstack([zero, one]), speed]), np.vstack([np.zeros_like(along), yields @ along])
        C = back @ np.hstack([g * one, one])
        return LinearLaw.over(_servo(gains, T), n, m, update=A, update_wrench=on, state=C, q=-g * np.eye(n))
    fast = np.hstack([zero, one]) + T * speed
    A, on = np.vstack([np.hstack([one, zero]) + T * fast, fast]), yields @ along * T
    on = np.vstack([T * on, on])
    if gains.servo != "position":
        C = back @ np.hstack([g * one, (1 - g * T) * one])  # the trim sees Δx of the tick before, Δx − T Δẋ
        return LinearLaw.over(_servo(gains, T), n, m, update=A, update_wrench=on, state=C, q=-g * np.eye(n))
    trimmed = np.hstack([g * T * back, np.zeros((n, k))])  # of Δx before its update
    A = np.block([[A, np.zeros((2 * k, n))], [trimmed, np.eye(n)]])
    on_q, on = np.vstack([np.zeros((2 * k, n)), -g * T * np.eye(n)]), np.vstack([on, np.zeros((n, m))])
    C = np.hstack([back, np.zeros((n, k)), np.eye(n)])
    return LinearLaw.over(_servo(gains, T), n, m, update=A, update_q=on_q, update_wrench=on, state=C)


def _servo_force(task: TaskModel, gains: ToolGains, period: float) -> LinearLaw:
    """A commanded velocity J⁺ k (F − F_d), or its sum as a commanded position."""
    servo, (n, m), f = _servo(gains, period), task.push.shape, gains.force
    back, on = np.linalg.pinv(task.J)[:, f], gains.integral * task.along[f]
    if servo != "position":
        return LinearLaw.over(servo, n, m, wrench=back @ on)
    return LinearLaw.over(servo, n, m, update=np.eye(len(on)), update_wrench=period * on, state=back)


def _servo(gains: ToolGains, period: float) -> Command:
    """Without a period a position and its rate are a velocity and its integral."""
    return "velocity" if gains.servo == "position" and not period else gains.servo


IMPEDANCE = LawModel("impedance", _parallel_force, ("stiffness", "damping"))
SHAPED_IMPEDANCE = LawModel("impedance with a chosen mass", _shaped, ("stiffness", "damping"))
ADMITTANCE = LawModel("mass, damper and spring before a servo", _admittance, ("compliance",), servo=True)
SERVO_FORCE = LawModel("servo-force", _servo_force, ("integral",), presses=True, servo=True)
INTEGRAL_FORCE = LawModel(
    "integral of the force", _integral_force, ("integral", "damping"), presses=True, damping="joints"
)
DIRECT_FORCE = LawModel(
    "force loop", _direct_force, ("integral", "proportional", "damping"), presses=True, across=IMPEDANCE
)
PARALLEL_FORCE = LawModel(
    "force loop beside a spring", _parallel_force, ("integral", "proportional", "stiffness", "damping"), presses=True,
    across=IMPEDANCE,
)  # fmt: skip
HYBRID_FORCE = LawModel(
    "force loop over inverse dynamics", _hybrid_force, ("integral", "proportional", "damping"), presses=True,
    damping="per mass", across=IMPEDANCE,
)  # fmt: skip


# ---------------------------------------- A law without memory about rest, by differences of its ticks: for laws that
# give no linear model of themselves


def slope_law(law: BoundLaw, robot: Robot, q: Array, period: float) -> LinearLaw:
    """A memoryless law as matrices, by central differences of its ticks; its own memory is left alone.

    Args:
        law: bound to the robot.
        robot: the arm.
        q: posture at rest, which is also the target.
        period: s.
    """
    n, target, own = robot.nv, joint_target(robot, q), law.with_own_memory()
    inputs = np.concatenate([q, np.zeros(n + 6)])

    def torque(x: Array) -> Array:
        tick = own.tick(robot, x[:n], x[n : 2 * n], target=target, wrench=x[2 * n :], dt=period)
        return tick.command

    steps = STEP * np.eye(2 * n + 6)
    slopes = np.column_stack([(torque(inputs + s) - torque(inputs - s)) / (2 * STEP) for s in steps])
    return LinearLaw.over("torque", n, 6, q=slopes[:, :n], v=slopes[:, n : 2 * n], wrench=slopes[:, 2 * n :])
