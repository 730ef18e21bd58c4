"""Choosing among many motions: differential inverse kinematics and inverse dynamics with priorities.

Closed forms, for study and for arms without limits: `pseudo_inverse`, `damped_least_squares`, `with_null_space`,
`weighted`, `prioritised`. With limits, exactly: `differential_ik`, `acceleration_ik`, `inverse_dynamics`, each a stack
of levels of tasks, solved by `solve.hierarchy` so that a level uses only the freedom the higher ones leave.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.solve.active_set import RANK
from palpate.control.solve.hierarchy import solve_hierarchy
from palpate.control.solve.limit_rows import (
    LimitRows,
    acceleration_limits,
    joined_limits,
    no_limits,
    torque_limits,
    velocity_limits,
)
from palpate.control.solve.tasks import State, Task
from palpate.errors import BadShape, InvalidInput, NoSolution
from palpate.forking import cached_property
from palpate.robot.robot import Robot

Levels = Sequence[Task | Sequence[Task]]
_MET = 1e-9


def pseudo_inverse(J: ArrayLike, w: ArrayLike) -> Array:
    """v = J⁺ w: least |J v − w|, then least |v|; singular values below 1e-11 of the largest count as zero."""
    J, w = _task(J, w)
    return np.linalg.pinv(J, rcond=RANK) @ w


def damped_least_squares(J: ArrayLike, w: ArrayLike, damping: float) -> Array:
    """v = Jᵀ (J Jᵀ + λ² 1)⁻¹ w: bounded near singular postures at the price of an error everywhere.

    Args:
        J, w: task.
        damping: λ > 0.
    """
    J, w = _task(J, w)
    damping = finite_number(damping, "damping", above=0.0)
    return J.T @ np.linalg.solve(J @ J.T + damping**2 * np.eye(len(J)), w)


def adaptive_damping(J: ArrayLike, *, threshold: float, most: float) -> float:
    """λ with λ² = (1 − (σ_min / threshold)²) most², 0 away from singular postures: exact there, smooth in between."""
    J = finite_array(J, "J", (None, None))
    threshold, most = finite_number(threshold, "threshold", above=0.0), finite_number(most, "most", above=0.0)
    weakest = float(np.linalg.svd(J, compute_uv=False)[-1]) if len(J) <= J.shape[1] else 0.0
    return most * float(np.sqrt(max(0.0, 1.0 - (weakest / threshold) ** 2)))


def with_null_space(J: ArrayLike, w: ArrayLike, v0: ArrayLike) -> Array:
    """v = J⁺ w + (1 − J⁺J) v0: the task, and as much of v0 as does not disturb it."""
    J, w = _task(J, w)
    v0 = finite_array(v0, "v0", (J.shape[1],))
    inverse = np.linalg.pinv(J, rcond=RANK)
    return v0 + inverse @ (w - J @ v0)


def weighted(tasks: Sequence[tuple[ArrayLike, ArrayLike]], weights: ArrayLike) -> Array:
    """Equal priority: least Σ weight_i |J_i v − w_i|², then least |v|, by (W^½ J̄)⁺ W^½ w̄.

    (J̄ᵀ W J̄)⁻¹ J̄ᵀ W is the same only where J̄ has full column rank.
    """
    pairs = [_task(J, w) for J, w in tasks]
    scale = finite_array(weights, "weights", (len(pairs),))
    if (scale <= 0).any():
        raise InvalidInput(f"weights must be positive, got {scale.min():g}")
    J = np.vstack([np.sqrt(s) * J for s, (J, _) in zip(scale, pairs)])
    w = np.concatenate([np.sqrt(s) * w for s, (_, w) in zip(scale, pairs)])
    return np.linalg.pinv(J, rcond=RANK) @ w


def prioritised(tasks: Sequence[tuple[ArrayLike, ArrayLike]]) -> Array:
    """Strict priority, highest first: v ← v + (J_i N)⁺ (w_i − J_i v), N the projector on what is left free.

    N̄_i = 1 − J̄⁺J̄ of the tasks *above* i.
    """
    pairs = [_task(J, w) for J, w in tasks]
    n = pairs[0][0].shape[1]
    A, b = np.vstack([J for J, _ in pairs]), np.concatenate([w for _, w in pairs])
    starts = np.cumsum([0, *(len(w) for _, w in pairs)]).astype(np.int64)
    none = np.zeros(0)
    return solve_hierarchy(A, b, starts, np.zeros((0, n)), none, none, none).x


def _task(J: ArrayLike, w: ArrayLike) -> tuple[Array, Array]:
    J = finite_array(J, "J", (None, None))
    return J, finite_array(w, "w", (len(J),))


@dataclass(frozen=True)
class Answer:
    """Result of a stack of levels.

    Attributes:
        command: joint velocity or acceleration.
        torque: τ = M v̇ + bias for `inverse_dynamics`, else None.
        limits: the limits that were reached.
        conflicts: limits that exclude each other, and had to be widened by the least amount.
        relaxation: that amount, as a fraction of a limit's size; 0 without conflicts.
        solver: "active-set", "daqp", or "fallback".
        notes: what else happened, in words: conflicts and fallbacks.
        rows: by task, its J and what J x should be.
    """

    command: Array
    torque: Array | None
    limits: tuple[str, ...]
    conflicts: tuple[str, ...]
    relaxation: float
    solver: str
    notes: tuple[str, ...]
    rows: dict[str, tuple[Array, Array]]

    @cached_property
    def residuals(self) -> dict[str, Array]:
        """By task, what its rows miss: J x (+ drift) − wanted; zeros where the task is met."""
        return {name: J @ self.command - w for name, (J, w) in self.rows.items()}

    @cached_property
    def met(self) -> dict[str, bool]:
        """By task, whether it is met, to 1e-9 of its scale."""
        return {
            name: bool(np.abs(self.residuals[name]).max(initial=0.0) <= _MET * (1.0 + np.abs(w).max(initial=0.0)))
            for name, (_, w) in self.rows.items()
        }

    @property
    def account(self) -> str:
        """The outcome in a few lines."""
        lines = [
            f"{name}: {'met' if self.met[name] else f'relaxed by {np.linalg.norm(r):.4g}'}"
            for name, r in self.residuals.items()
        ]
        if self.limits:
            lines.append(f"at their limits: {', '.join(self.limits)}")
        return "\n".join([*lines, *self.notes])


class _Stack(NamedTuple):
    """All levels' rows, weighted, and whose they are."""

    A: Array
    b: Array
    starts: Array
    tasks: dict[str, tuple[Array, Array]]


def differential_ik(
    robot: Robot,
    q: ArrayLike,
    levels: Levels,
    *,
    dt: float,
    v: ArrayLike | None = None,
    limits: bool = True,
) -> Answer:
    """Joint velocities for levels of tasks, highest first; tasks in one level share it by weight.

    Within position limits over the step dt, velocity limits, and, if the current v is given, acceleration limits; as
    constraints, not by clipping. Where they exclude each other, acceleration gives way last, position first.

    Args:
        robot: the arm; its `limits` count.
        q: coordinates.
        levels: tasks, or groups of equal priority.
        dt: for how long the velocities will be held, s.
        v: current velocities, for acceleration limits.
        limits: False to ignore all of them.
    """
    q = finite_array(q, "q", (robot.nq,))
    speed = np.zeros(robot.nv) if v is None else finite_array(v, "v", (robot.nv,))
    dt = finite_number(dt, "dt", above=0.0)
    stack = _stacked(State(robot, q, speed), levels, accelerations=False)
    box = velocity_limits(robot, q, None if v is None else speed, dt) if limits else no_limits(robot.nv)
    return _solve(stack, box, "the joints are stopped within their limits")


def acceleration_ik(robot: Robot, q: ArrayLike, v: ArrayLike, levels: Levels, *, dt: float | None = None) -> Answer:
    """Joint accelerations for levels of tasks within acceleration limits, and, given dt, velocity and position ones.

    Args:
        robot, q, v: the state.
        levels: tasks, or groups of equal priority, highest first.
        dt: for how long the accelerations will be held, s.
    """
    q, v = finite_array(q, "q", (robot.nq,)), finite_array(v, "v", (robot.nv,))
    box = acceleration_limits(robot, q, v, dt)
    stack = _stacked(State(robot, q, v), levels, accelerations=True)
    return _solve(stack, box, "the joints are not accelerated")


def inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    levels: Levels,
    *,
    torque: ArrayLike | None = None,
    dt: float | None = None,
) -> Answer:
    """Joint torques for levels of tasks, highest first: M v̇ + bias = τ within torque limits.

    Each level is exact within the freedom that the higher ones leave; a level that cannot be met is relaxed by the
    least amount (least squares of its own rows), reported by task.

    Args:
        robot, q, v: the state.
        levels: tasks, or groups of equal priority.
        torque: |τ| ≤ torque; the robot's limits by default.
        dt: if given, joint acceleration, velocity and position limits over this step count too.
    """
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    state = State(robot, q, v)
    M, bias = state.terms().M, state.terms().bias  # which refuses a q or v that is misshapen or not finite
    box = torque_limits(robot, M, bias, torque)
    if dt is not None:
        box = joined_limits(box, acceleration_limits(robot, q, v, dt))
    stack = _stacked(state, levels, accelerations=True)
    return _solve(stack, box, "the arm is held against gravity within its torque limits", (M, bias))


def _solve(stack: _Stack, box: LimitRows, action: str, dynamics: tuple[Array, Array] | None = None) -> Answer:
    notes, conflicts = list(box.notes), ()
    try:
        solution = solve_hierarchy(stack.A, stack.b, stack.starts, box.C, box.lower, box.upper, box.size)
        x, relaxed, solver, active = solution.x, solution.relaxation, solution.solver, solution.active.nonzero()[0]
    except NoSolution as error:
        x, relaxed, solver, active = _fallback(box, dynamics), 0.0, "fallback", np.zeros(0, dtype=int)
        notes.append(f"no answer ({error}); {action}")
    names = tuple([box.names[i] for i in active])
    if relaxed > 0.0:
        conflicts, names = names, ()
        notes.append(f"limits contradict each other: {', '.join(conflicts)}; widened by {relaxed:.3g} of their size")
    if solver == "daqp":
        notes.append("the active set did not converge; DAQP was used, accurate to about 1e-6")
    torque = None if dynamics is None else dynamics[0] @ x + dynamics[1]
    return Answer(x, torque, names, conflicts, relaxed, solver, tuple(notes), stack.tasks)


def _fallback(box: LimitRows, dynamics: tuple[Array, Array] | None) -> Array:
    """The fallback: 0 within the joints' limits, or the acceleration of torques that hold against gravity as far as
    theirs go.
    """
    if dynamics is None:
        zero = np.zeros(box.C.shape[1])
        return np.clip(zero, box.lower, box.upper) if len(box.lower) else zero
    M, n = dynamics[0], len(dynamics[1])
    return np.linalg.solve(M, np.clip(np.zeros(n), box.lower[:n], box.upper[:n]))


def groups_of(levels: Levels) -> list[list[Task]]:
    """The tasks of every level, highest first."""
    groups = [[level] if isinstance(level, Task) else list(level) for level in levels]
    if not groups or not all(groups):
        raise InvalidInput("levels must hold at least one task each")
    return groups


def _stacked(state: State, levels: Levels, *, accelerations: bool) -> _Stack:
    groups = groups_of(levels)
    rows, wanted, starts, tasks = [], [], [0], {}
    n, total = state.robot.nv, 0
    for group in groups:
        for task in group:
            task_rows = task.rows(state)
            if task_rows.J.shape != (len(task_rows.error), n) or task_rows.drift.shape != task_rows.error.shape:
                raise BadShape(f"task {task.title}: J {task_rows.J.shape} and error {task_rows.error.shape} do not fit")
            w = task.acceleration(task_rows, state.v) - task_rows.drift if accelerations else task.velocity(task_rows)
            weight = task.weight**0.5
            rows.append(task_rows.J if weight == 1.0 else weight * task_rows.J)
            wanted.append(w if weight == 1.0 else weight * w)
            total += len(w)
            tasks[_unused(task.title, tasks)] = (task_rows.J, w)
        starts.append(total)
    A, b = np.concatenate(rows), np.concatenate(wanted)
    if not math.isfinite(np.vdot(A, A) + np.vdot(b, b)):
        for name, (J, w) in tasks.items():
            finite_array(J, f"J of task {name}")
            finite_array(w, f"what task {name} wants")
    return _Stack(A, b, np.array(starts), tasks)


def _unused(title: str, taken: Container[str]) -> str:
    name, number = title, 1
    while name in taken:
        number += 1
        name = f"{title}{number}"
    return name
