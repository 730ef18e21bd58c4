"""Cartesian impedance control without a force sensor (document 001, exercise 3, in its general form)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import Config, Vector6, required, setting
from palpate.control.law import (
    LAW_SIGNATURE,
    NEEDS_BIAS,
    NEEDS_DRIFT,
    NEEDS_JACOBIAN,
    NEEDS_M,
    T_ACCELERATION,
    BoundLaw,
)
from palpate.control.steps.linear_algebra import times, transpose_times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    G_HEAVIEST,
    G_LAW,
    LEVER,
    Direction,
    TaskLaw,
    checked_directions,
    choose,
    find_errors,
    find_inertia,
    hold_posture,
    into_axes,
    note_damping,
    open_task,
    out_of_axes,
    push_along,
    set_axes,
    set_rows,
    symmetric6,
)
from palpate.engine import fold, kernel, part
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

Matrix6 = tuple[Vector6, Vector6, Vector6, Vector6, Vector6, Vector6]
Gain6 = Vector6 | Matrix6

# The law's own gains, then one row per stage: [start, duration, K (36), D (36)].
G_EXACT, G_HOLD, G_POSTURE, G_STAGES, G_TABLE = G_LAW, G_LAW + 1, G_LAW + 2, G_LAW + 4, G_LAW + 5
_STAGE = 74
_TAIL = 36 + 36 + 36 + 6  # memory after the task's scratch: K, D, K one tick ago, held force


@register_jitable(forceinline=True)
def _blend(gains, t, place, out):
    """out = K(t) (place 2) or D(t) (place 38): the last stage begun, eased in from the one before."""
    stage = 0
    while stage + 1 < int(gains[G_STAGES]) and t >= gains[G_TABLE + (stage + 1) * _STAGE]:
        stage += 1
    row = G_TABLE + stage * _STAGE
    share = 1.0
    if stage > 0 and gains[row + 1] > 0.0:
        share = min((t - gains[row]) / gains[row + 1], 1.0)
        share = share * share * share * (10.0 + share * (6.0 * share - 15.0))
    for i in range(36):
        now = gains[row + place + i]
        before = gains[row - _STAGE + place + i] if stage > 0 else now
        out[i] = before + share * (now - before)


@register_jitable(forceinline=True)
def _hold_force(T, gains, memory, t, dt, K, held):
    """Let the rest pose follow a change of stiffness, so that the force does not: held −= (K(t) − K(t − dt)) e."""
    if gains[G_HOLD] == 0.0 or gains[G_STAGES] == 1.0 or t <= 0.0:
        return
    old = part(memory, memory.size - 42, 36)
    _blend(gains, t - dt, 2, old)
    change, world = part(T.work, 0, 6), part(T.work, 6, 6)
    for i in range(6):
        change[i] = 0.0
        for j in range(6):
            change[i] += (K[6 * i + j] - old[6 * i + j]) * T.error[j]
    out_of_axes(T.axes, change, world)
    for i in range(6):
        held[i] -= world[i]


@register_jitable(forceinline=True)
def _spring_damper(T, gains, memory, t, dt, J, terms):
    """terms[0] = Jᵀ (K e + held), terms[1] = Jᵀ D (V_d − V)."""
    end = memory.size
    if gains[G_STAGES] == 1.0:  # nothing to blend: read them where they are
        K, D = part(gains, G_TABLE + 2, 36), part(gains, G_TABLE + 38, 36)
    else:
        K, D = part(memory, end - _TAIL, 36), part(memory, end - _TAIL + 36, 36)
        _blend(gains, t, 2, K)
        _blend(gains, t, 38, D)
    inside, world, held = part(T.work, 0, 6), part(T.work, 6, 6), part(memory, end - 6, 6)
    _hold_force(T, gains, memory, t, dt, K, held)
    times(fold(K, 0, 6, 6), T.error, inside)
    out_of_axes(T.axes, inside, world)
    for i in range(6):
        world[i] += held[i]
    transpose_times(J, world, terms[0])
    times(fold(D, 0, 6, 6), T.rate, inside)
    out_of_axes(T.axes, inside, world)
    transpose_times(J, world, terms[1])


@register_jitable(forceinline=True)
def _feed_forward(T, gains, target, task, drift, out):
    """out = J_tᵀ Λ (A_d − J̇ v), without J̇ v in the classic form."""
    for k in range(6):
        T.work[k] = target[task + T_ACCELERATION + k] - (drift[k] if gains[G_EXACT] != 0.0 else 0.0)
    inside = part(T.work, 6, 6)
    into_axes(T.axes, part(T.work, 0, 6), inside)
    choose(gains, inside, T.a)
    push_along(T, T.a, out)


@register_jitable(forceinline=True)
def _feeds_forward(gains, target, task):
    """Whether there is an acceleration to feed forward: a wanted one, or J̇ v in the exact form."""
    moving = False
    for i in range(6):
        moving = moving or target[task + T_ACCELERATION + i] != 0.0
    return moving or gains[G_EXACT] != 0.0


@kernel(LAW_SIGNATURE, lean=True)
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    task = q.size + 2 * n
    T = open_task(gains, memory, n)
    set_axes(T, gains, R, target, task)
    find_errors(T, gains, memory, v, p, R, J, target, task)
    _spring_damper(T, gains, memory, t, dt, J, terms)
    for i in range(n):
        terms[2, i] = terms[3, i] = 0.0
        terms[4, i] = bias[i]
    k, forward = T.J.shape[0], _feeds_forward(gains, target, task)
    if k > n or (k == n and not forward):
        return
    set_rows(T, gains, J)
    note_damping(memory, gains, t, find_inertia(T, M, gains[G_HEAVIEST]))
    if forward:
        _feed_forward(T, gains, target, task, drift, terms[2])
    if n > k:
        hold_posture(T, gains[G_POSTURE], gains[G_POSTURE + 1], q, v, target, terms[3])


class Stage(Config):
    """A later stiffness: eased in from the one before over `duration` seconds from `start` on."""

    start: float = required("s", "when the change begins", gt=0)
    duration: float = setting(0.5, "s", "how long it takes; 0 only with hold_force", ge=0)
    stiffness: Gain6 = required("N/m, N·m/rad", "K: six numbers or 6×6")
    damping: Gain6 | None = setting(None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; by damping_ratio if not given")


class CartesianImpedance(TaskLaw):
    """A spring and damper at the tool: τ = Jᵀ (K e + D (V_d − V)) + J_tᵀ Λ (A_d − x J̇ v)_t + N τ₀ + b̂(q, v).

    e = [p_d − p; orientation error]; K and D are six numbers or 6×6 along the chosen axes. N τ₀ with
    τ₀ = k (q_d − q) − d v holds a posture without moving the tool.
    Closed loop, "exact" (x = 1): Λ (A − A_d) = K e + D (V_d − V) + F, or Λ ë + D ė + K e = −F, with the natural
    inertia Λ; "classic" (x = 0) leaves Λ J̇ v in, which is small at the speeds of contact.
    At rest against a wall of stiffness k_w, one axis: f = K k_w / (K + k_w) · (p_d − p_wall).
    A `schedule` changes K and D along minimum-jerk curves. Then f = K(t) e changes with K; with `hold_force` the rest
    pose moves instead such that ḟ = K ė, whatever K does.
    Assumes: true model. With "tool" axes the work of an uneven spring depends on the path; "target" axes avoid that.
    """

    name: ClassVar[str] = "cartesian-impedance"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "feed_forward", "null_space", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN | NEEDS_DRIFT
    kernel = staticmethod(_kernel)

    stiffness: Gain6 = setting((400.0, 400.0, 400.0, 20.0, 20.0, 20.0), "N/m, N·m/rad", "K: six numbers or 6×6")
    damping: Gain6 | None = setting(None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; by damping_ratio if not given")
    damping_ratio: float = setting(
        0.7, "1", "ζ where no damping is given, for the inertia the arm has at its tool at home", ge=0
    )
    form: Literal["classic", "exact"] = setting("classic", "1", "whether J̇ v is undone too")
    directions: tuple[Direction, ...] = setting(DIRECTIONS, "1", "the spring's directions; the rest is null space")
    schedule: tuple[Stage, ...] = setting((), "1", "later stiffnesses, in order of time")
    hold_force: bool = setting(False, "1", "let a change of stiffness move the rest pose instead of the force")
    posture_stiffness: float = setting(5.0, "N·m/rad", "k of the null-space posture", ge=0)
    posture_damping: float = setting(2.0, "N·m·s/rad", "d of the null-space posture", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[task; form; hold; k; d; stages]."""
        checked_directions(robot, self.directions, self.name, more=self.form == "classic")
        own = [float(self.form == "exact"), float(self.hold_force), self.posture_stiffness, self.posture_damping]
        return np.concatenate([self.task_gains(robot, self.directions), own, *self._stages(robot)])

    def memory(self, robot: Robot) -> Array:
        """A count of damped ticks, scratch, and the force held through changes of stiffness."""
        return np.concatenate([super().memory(robot), np.zeros(_TAIL)])

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot; the classic form needs no J̇ v."""
        bound = super().bind(robot)
        return bound if self.form == "exact" else replace(bound, needs=self.needs & ~NEEDS_DRIFT)

    def _stages(self, robot: Robot) -> list[Array]:
        """How many, then [start, duration, K, D] of each."""
        rows, end = [np.array([1.0 + len(self.schedule)])], 0.0
        rows.append(self._row(robot, 0.0, 0.0, self.stiffness, self.damping, "stiffness"))
        for number, stage in enumerate(self.schedule):
            if stage.start < end:
                raise InvalidInput(
                    f"schedule[{number}] starts at {stage.start:g} s, before the one before it ends at {end:g} s"
                )
            if stage.duration == 0 and not self.hold_force:
                raise InvalidInput(
                    f"schedule[{number}] changes the stiffness in 0 s, which makes the force jump",
                    hint="give a duration > 0, or hold_force = true",
                )
            end = stage.start + stage.duration
            name = f"schedule[{number}].stiffness"
            rows.append(self._row(robot, stage.start, stage.duration, stage.stiffness, stage.damping, name))
        return rows

    def _row(
        self, robot: Robot, start: float, duration: float, stiffness: Gain6, damping: Gain6 | None, name: str
    ) -> Array:
        chosen = np.diag([float(d in self.directions) for d in DIRECTIONS])
        K = chosen @ symmetric6(stiffness, name) @ chosen
        if damping is None:
            D = damping_by_ratio(K, self.mobility_at_home(robot), self.damping_ratio)
        else:
            D = symmetric6(damping, name.replace("stiffness", "damping"))
        return np.concatenate([[start, duration], K.ravel(), (chosen @ D @ chosen).ravel()])


def damping_by_ratio(stiffness: Array, mobility: Array, ratio: float) -> Array:
    """D = 2 ζ Q √K₀ Qᵀ, where Λ = Q Qᵀ and K = Q K₀ Qᵀ (double diagonalisation): every mode has damping ratio ζ.

    Args:
        stiffness: K, 6×6.
        mobility: Λ⁻¹ = J M⁻¹ Jᵀ, 6×6, in the same axes; directions that cannot move get no damping.
        ratio: ζ.
    """
    lever = np.diag([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
    back = np.linalg.inv(lever)
    mu, U = np.linalg.eigh(lever @ mobility @ lever)
    free = mu > 1e-9 * mu[-1]
    Q = U[:, free] / np.sqrt(mu[free])  # Λ on the free directions is Q Qᵀ
    half = U[:, free] * np.sqrt(mu[free])
    k0, Z = np.linalg.eigh(half.T @ back @ stiffness @ back @ half)
    D = 2.0 * ratio * Q @ Z @ np.diag(np.sqrt(np.clip(k0, 0.0, None))) @ Z.T @ Q.T
    return lever @ D @ lever
