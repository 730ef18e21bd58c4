"""Hybrid position/force control: some directions follow a motion, the others hold a force."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from palpate.config import Vector6, setting
from palpate.control.report import LawReport, sentences_that_hold
from palpate.control.rig import Rig
from palpate.control.steps.force_loop import (
    INTEGRAL,
    ForceGains,
    ForceMemory,
    PressingLaw,
    integrate_error,
    is_beyond,
    pi_wrench,
    refuse_negative,
    undo_integral,
    wrenches_in_axes,
)
from palpate.control.steps.linear_algebra import add_transpose_times, cholesky, cholesky_solve
from palpate.control.steps.task_space import (
    choose,
    find_acceleration,
    hold_posture,
    into_axes,
    lever_of,
    open_task,
    push_along,
)
from palpate.control.tick import Tick, law_kernel
from palpate.control.traits import LawTraits
from palpate.engine.kernels import clear, kernel
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.robot.robot import Robot

_KD, _FORCE_DAMPING = 40.0, 60.0  # 1/s, where the clock allows
_CONTACT_FORCE, _CONTACT_MOMENT = 1.0, 0.1  # N and N·m, where the sensor allows
_DRY = 2.0  # k_p on an arm with dry friction in its joints, where the clock allows
_SIGMAS = 5.0  # standard deviations of the sensor's noise that count as contact


class Gains(ForceGains):
    """K_p, K_d of the motion, d along the forces, and what counts as contact."""

    motions: int  # how many of the task's rows are motion-controlled; they come first
    kp: Vector = sized(6)
    kd: Vector = sized(6)
    damping: float
    approach: Vector = sized(6)  # m/s along, rad/s about the axes of A
    contact: Vector = sized(6)  # N, N·m felt that count as contact,
    contact_ticks: int  # number of ticks in a row
    fastest: Vector = sized(6)  # m/s, rad/s towards a force, in contact
    release_share: float
    release_time: float  # s
    friction_feedback: float  # c


class Memory(ForceMemory):
    """The state of the contact; then scratch."""

    in_contact: Kept[bool] = False
    away: State[float] = 0.0  # s since contact was felt
    touches: Kept[int] = 0  # ticks in a row at which contact was felt
    made: Kept[int] = 0  # contacts made
    lost: Kept[int] = 0  # contacts lost
    capped: Kept[int] = 0  # ticks at which the speed towards a force was held
    weak: Kept[float] = 0.0  # N or N·m, a wanted force too small to count as contact
    drift: Vector = sized(6)  # J̇ v,
    A: Vector = sized(6)  # and accelerations that the motion asks for, axes of A
    u: Vector = sized("k")  # accelerations of the task's rows
    Lambda_ff: Matrix = sized("k", "k")
    f: Vector = sized("k")


class Terms(Record):
    """Terms of the torque."""

    motion: Vector = sized("nv")
    force: Vector = sized("nv")
    null_space: Vector = sized("nv")
    bias: Vector = sized("nv")


@kernel
def _wants_force(k: Gains, m: Memory) -> bool:
    """Whether a force is wanted along a force-controlled direction."""
    for i in range(6):
        if k.forced[i] and m.F_d[i] != 0.0:
            return True
    return False


@kernel
def _feels_force(share: float, k: Gains, m: Memory) -> bool:
    """Whether some wanted force is felt, at least `share` of its threshold."""
    for i in range(6):
        if k.forced[i] and m.F_d[i] != 0.0 and m.F[i] * math.copysign(1.0, m.F_d[i]) >= share * k.contact[i]:
            return True
    return False


@kernel
def _note_wanted(k: Gains, m: Memory) -> None:
    """Keep the largest wanted force, and one smaller than what counts as contact, which can never be made by it."""
    for i in range(6):
        if k.forced[i]:
            m.wanted = max(m.wanted, abs(m.F_d[i]))
        if k.forced[i] and 0.0 < abs(m.F_d[i]) < k.contact[i]:
            m.weak = max(m.weak, abs(m.F_d[i]))


@kernel
def _switch(dt: float, k: Gains, m: Memory) -> None:
    """Contact begins at the threshold, and ends after some time below its release share, or when no force is wanted."""
    if not m.in_contact:
        m.touches = m.touches + 1 if _feels_force(1.0, k, m) else 0
        if m.touches >= k.contact_ticks:
            m.in_contact = True
            m.touches = 0
            m.away = 0.0
            m.made += 1
            clear(m.integral)
        return
    m.away = 0.0 if _feels_force(k.release_share, k, m) else m.away + dt
    wanted = _wants_force(k, m)
    if not wanted or m.away > k.release_time:
        m.in_contact = False
        m.lost += 1 if wanted else 0


@kernel
def _follow_motion(x: Tick, k: Gains, m: Memory) -> None:
    """A = A_d + K_d (V_d − V) + K_p e − J̇ v, all six in the axes of A."""
    find_acceleration(x, True, m)
    for i in range(6):
        m.A[i] = m.A_d[i] + (k.kp[i] * m.e[i] + k.kd[i] * m.e_rate[i])


@kernel
def _approach(k: Gains, m: Memory) -> None:
    """Free of contact: A along a wanted force leads towards what can give it, at the approach speed."""
    d = k.damping
    for i in range(6):
        if k.forced[i] and m.F_d[i] != 0.0:
            m.A[i] = d * (m.e_rate[i] - math.copysign(k.approach[i], m.F_d[i])) - m.drift[i]


@kernel
def _cap_speed(row: int, direction: int, k: Gains, m: Memory) -> None:
    """Towards a wanted force no faster than `fastest` beyond the target: V̇ ≤ d (fastest − V) there, integral held."""
    if m.F_d[direction] == 0.0:
        return
    towards = -math.copysign(1.0, m.F_d[direction])
    speed, most = -towards * m.e_rate[direction], k.fastest[direction]
    if speed <= most:
        return
    lever = lever_of(direction)
    slowing = lever * (towards * k.damping * (most - speed) - m.drift[direction])
    if towards * (m.u[row] - slowing) > 0.0:
        m.u[row] = slowing
        m.integral[direction] = m.integral_before[direction]
        m.capped += 1


@kernel
def _follow_force(k: Gains, m: Memory) -> None:
    """u_f = Λ_ff⁻¹ (W + F_f) + d (V_d − V) − J̇ v; Λ_ff is a block of Λ."""
    first, d = k.motions, k.damping
    count = m.u.size - first
    for i in range(count):
        direction = k.choice[first + i]
        m.f[i] = (m.W[direction] + m.F[direction]) / lever_of(direction)
        for j in range(count):
            m.Lambda_ff[i, j] = m.Lambda[first + i, first + j]
    cholesky(m.Lambda_ff, count)
    cholesky_solve(m.Lambda_ff, count, m.f)
    for i in range(count):
        direction = k.choice[first + i]
        m.u[first + i] = m.f[i] + lever_of(direction) * (d * m.e_rate[direction] - m.drift[direction])
        _cap_speed(first + i, direction, k, m)


@kernel
def _push_rows(begin: int, end: int, m: Memory, out: Vector) -> None:
    """out = J_tᵀ Λ u, of the rows begin ≤ i < end of u alone."""
    for i in range(m.u.size):
        m.a[i] = m.u[i] if begin <= i < end else 0.0
    push_along(m, m.a, out)


@kernel
def _subtract_felt(k: Gains, m: Memory, out: Vector) -> None:
    """out −= J_tᵀ [c F_m; F_f]: all of F along force directions, whose feedback is the PI alone; c of the others."""
    c = k.friction_feedback
    for i in range(m.u.size):
        direction = k.choice[i]
        m.force[i] = m.F[direction] * (1.0 if i >= k.motions else c) / lever_of(direction)
    add_transpose_times(m.J_t, m.force, -1.0, out)


@kernel
def _answer(k: Gains, m: Memory, out: Terms) -> None:
    """motion = J_tᵀ Λ u_m and, in contact, force = J_tᵀ (Λ u_f − [c F_m; F_f])."""
    count = m.u.size
    choose(k, m.A, m.u)
    if not m.in_contact:
        _push_rows(0, count, m, out.motion)
        clear(out.force)
        return
    pi_wrench(k, m, m.W)
    for i in range(6):
        m.W[i] = -(m.W[i] + m.integral[i])
    _follow_force(k, m)
    _push_rows(0, k.motions, m, out.motion)
    _push_rows(k.motions, count, m, out.force)
    _subtract_felt(k, m, out.force)


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    open_task(x, k, m)
    wrenches_in_axes(x, m)
    into_axes(m.axes, x.drift, m.drift)
    _note_wanted(k, m)
    _switch(x.dt, k, m)
    _follow_motion(x, k, m)
    if m.in_contact:
        integrate_error(x.dt, k, m)
    else:
        _approach(k, m)
    _answer(k, m, out)
    hold_posture(x, k, m, out.null_space)
    for j in range(x.v.size):
        out.bias[j] = x.bias[j]
        m.tau[j] = out.motion[j] + out.force[j] + out.null_space[j] + out.bias[j]
    if m.in_contact and is_beyond(m.tau, k.limits):
        undo_integral(m)
        _answer(k, m, out)


class HybridForce(PressingLaw):
    """Motion along some directions of a task frame, force or moment along the others, decoupled by the task inertia.

    τ = J_tᵀ (Λ u − [c F_m; F_f]) + N τ₀ + b̂(q, v), with m the motion and f the force directions:
    u_m = A_d + K_d (V_d − V) + K_p e − J̇ v,   u_f = Λ_ff⁻¹ (W + F_f) + d (V_d − V) − J̇ v,
    W = −(φ F_d + k_p (F_d − F) + k_i ∫(F_d − F) dt). F_d and F are exerted by the environment on the robot.
    Closed loop in contact: ë_m + K_d ė_m + K_p e_m = −Λ⁻¹-weighted (1 − c) F_m, and
    Λ_ff (V̇ + d V)_f = W + F_f: one force axis of apparent mass λ has the poles of `force_loop_poles` with D = λ d.
    Neither force nor motion disturbs the other through Λ's off-diagonal part.
    Contact: if a force is desired and none is measured, the tool moves along the force directions at the approach speed
    until a threshold is exceeded; contact is lost after some time below a share of it. A desired wrench of 0 makes the
    force directions follow the motion: use this to leave the surface. Moments are controlled only while in contact.
    Assumes: true model, a wrench sensor. Near a singular posture only the singular direction is damped (see remarks).
    """

    name: ClassVar[str] = "hybrid-force"
    kernel = _kernel

    proportional: float | None = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        None, "1", "k_p of the force error; 0, or 2 on an arm with dry friction in its joints, if not given", ge=0
    )
    kp: Vector6 | None = setting(
        None, "1/s²", "K_p along x, y, z, rx, ry, rz, along `force` while free of contact; (K_d/2)² if not given"
    )
    kd: Vector6 | None = setting(None, "1/s", "K_d along x, y, z, rx, ry, rz; 40, less for a long period, if not given")
    force_damping: float | None = setting(
        None, "1/s", "d along the force directions, in contact and approaching; 60, less for a long period", gt=0
    )
    approach_speed: float = setting(0.05, "m/s", "speed along a force direction until contact", ge=0)
    approach_rate: float = setting(0.2, "rad/s", "the same about a moment direction", ge=0)
    force_speed: float | None = setting(
        None, "m/s", "largest speed towards a force in contact; twice the approach speed if not given", gt=0
    )
    force_rate: float | None = setting(
        None, "rad/s", "the same about a moment direction; twice the approach rate if not given", gt=0
    )
    contact_force: float | None = setting(
        None, "N", "force that counts as contact; 1 N, or 5 times the sensor's noise if that is more", gt=0
    )
    contact_moment: float | None = setting(
        None, "N·m", "moment that counts as contact; 0.1 N·m, or 5 times the sensor's noise if that is more", gt=0
    )
    contact_ticks: int | None = setting(
        None, "ticks", "ticks in a row that must measure it; 3 with a noisy sensor, else 1, if not given", ge=1
    )
    release_share: float = setting(0.3, "1", "share of these below which contact is lost", ge=0, lt=1)
    release_time: float = setting(0.05, "s", "how long it must stay below", ge=0)
    friction_feedback: float = setting(
        1.0, "1", "c, share of the measured wrench cancelled along motion directions", ge=0, le=1
    )

    @property
    def traits(self) -> LawTraits:
        """Along a force direction no position counts."""
        return replace(super().traits, drops_motion=True)

    @property
    def report(self) -> LawReport:
        """Its literature, beside contacts made and lost."""
        return replace(super().report, literature=("10.1115/1.3139652", "10.1109/JRA.1987.1087068"))

    def gains(self, robot: Robot) -> Gains:
        """K_p, K_d, d, and what counts as contact, beside the loop's."""
        loop = self.loop_gains(robot)
        refuse_negative("kp", self.kp or ())
        refuse_negative("kd", self.kd or ())
        speed = self.force_speed or 2.0 * self.approach_speed, self.force_rate or 2.0 * self.approach_rate
        return Gains(
            **loop,
            motions=len(self.motion),
            kp=self.kp or (0.0,) * 6,
            kd=self.kd or (0.0,) * 6,
            damping=self.force_damping or 0.0,
            approach=np.repeat([self.approach_speed, self.approach_rate], 3),
            fastest=np.repeat(speed, 3),
            contact=np.repeat([self.contact_force or 0.0, self.contact_moment or 0.0], 3),
            contact_ticks=self.contact_ticks or 1,
            release_share=self.release_share,
            release_time=self.release_time,
            friction_feedback=self.friction_feedback,
        )

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """With rates that the loop's period bears and a contact threshold above the sensor's noise, where not given."""
        most = 0.3 / rig.lag
        kd = (min(_KD, most),) * 6 if self.kd is None else self.kd
        d = min(_FORCE_DAMPING, most) if self.force_damping is None else self.force_damping
        noisy = rig.noise_force > 0.0 or rig.noise_moment > 0.0
        chosen = {
            "kd": kd,
            "kp": tuple(0.25 * rate * rate for rate in kd),
            "force_damping": d,
            "integral": min(INTEGRAL, d / 3),
            "proportional": _DRY * min(d / _FORCE_DAMPING, 1.0) if robot.model.dof_frictionloss.any() else 0.0,
            "contact_force": max(_CONTACT_FORCE, _SIGMAS * rig.noise_force),
            "contact_moment": max(_CONTACT_MOMENT, _SIGMAS * rig.noise_moment),
            "contact_ticks": 3 if noisy else 1,
        }
        update = {name: value for name, value in chosen.items() if getattr(self, name) is None}
        return super().suited(robot, rig).model_copy(update=update)

    def alarms_of(self, memory: Memory) -> list[str]:
        """A force that was wanted without contact ever being made."""
        if memory.wanted > 0.0 and memory.made == 0:
            return [f"{self.name}: up to {memory.wanted:.3g} N or N·m was desired, but contact was never made"]
        return []

    def remarks_of(self, memory: Memory) -> list[str]:
        """Contacts made and lost, and directions lost near singular postures."""
        contacts = f"{self.name}: contact made {memory.made} times, lost {memory.lost} times"
        capped = f"{self.name}: the speed towards the force was limited at {memory.capped} ticks"
        weak = (
            f"{self.name}: a desired force of {memory.weak:.3g} is below what counts as contact"
            f" ({self.contact_force or 0.0:.3g} N, {self.contact_moment or 0.0:.3g} N·m), so that contact may never be"
            " made"
        )
        sentences = sentences_that_hold({contacts: True, capped: memory.capped, weak: memory.weak})
        return [*sentences, *super().remarks_of(memory)]
