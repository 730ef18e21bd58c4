"""A pole balanced on the tool of an arm."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from palpate.checks import Array
from palpate.config import setting
from palpate.control.bound_law import BoundLaw
from palpate.control.design.pole import PoleDynamics, PoleModel, pole_accelerations, pole_differences, pole_texts
from palpate.control.design.pole_camera import PoleEstimate, estimate_pole, pole_estimate
from palpate.control.fitting import refuse_free_base
from palpate.control.promise import Promise
from palpate.control.report import LawReport
from palpate.control.rig import Beginning
from palpate.control.shown import ComputedNumber, Shown
from palpate.control.solve.hierarchy import solve_stack
from palpate.control.solve.stack import Stack, make_stack
from palpate.control.steps.clearance import (
    Clearance,
    ClearanceMemory,
    ClearingLaw,
    is_close,
    set_mobility_along,
    steer_clear,
)
from palpate.control.steps.linear_algebra import add_transpose_times, cholesky, cholesky_solve, times
from palpate.control.tick import Tick, law_kernel, sizes_of
from palpate.control.traits import LawTraits
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.maths import atan2, exp, hypot
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.engine.views import flat
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_error_world, quat_from_matrix, quat_multiply, quat_normalize, rotate

MOST_JOINTS = 7
# Of an arm whose pole fell: how fast it brakes, 1/s; what counts as rest, rad/s or m/s; after how many s it may end.
BRAKE_RATE, STILL, SETTLE, PATIENCE = 20.0, 0.01, 0.1, 2.0
_XYZ = ("x", "y", "z")
_WHOLE = 1e-12  # of a force: a share that is less short of 1 is all of it
_BEYOND_ANY_TILT = 4.0  # rad: an angle that no pole passes
JERK_TIME = 0.05  # s, over which the wanted acceleration is differentiated: a step of it must not become a blow


class Gains(Record):
    """The LQR gains and every other number of the law; see its settings."""

    axis: Vector = sized(4)  # of (x_A, ẋ_A, x_AB, ẋ_AB)
    vertical: Vector = sized(2)  # of (z_A, ż_A)
    orientation_stiffness: float
    orientation_damping: float
    posture_stiffness: float
    posture_damping: float
    held: bool  # the self-motion follows the posture
    nearest_torque: bool  # torques, not accelerations, are kept near its wish
    force_limit: float
    fall_angle: float
    speed_limit: Vector = sized("nv")
    level: bool  # the tool's z is kept vertical, not the target's attitude
    torque_limit: Vector = sized("nv")  # ∞ where none counts
    clear: Clearance  # of joint stops and rated speeds, by self-motion


class Memory(Record):
    """Ticks at which limits decided, what is remembered of the wanted motion, and scratch; d directions."""

    force_cut: Kept[int] = 0
    bent: Kept[int] = 0  # the self-motion gave way to a torque limit
    shared: Kept[int] = 0  # only a share of the force was within the torque limits
    beyond: Kept[int] = 0  # no share was
    singular: Kept[int] = 0  # the posture was
    ticks: Kept[int] = 0
    smooth: State[Vector] = sized(2)  # wanted horizontal acceleration, smoothed
    pole: PoleDynamics
    estimate: PoleEstimate
    tilt: Kept[float] = 0.0  # of the pole, as far as it is known, rad
    fell: Kept[float] = -1.0  # when it fell or the arm was lost, s; −1 before that
    fast: Kept[int] = -1  # the joint that was lost; −1 if none
    ended: Kept[float] = 0.0  # 1 once the arm stands after a fall
    # scratch
    force: Vector = sized(3)  # wanted, all of it
    twist: Vector = sized(6)
    angular_acceleration: Vector = sized(3)  # wanted
    quat_wxyz: Vector = sized(4)
    level_wxyz: Vector = sized(4)
    quat_wxyz_scratch: Vector = sized(4)
    upright_wxyz: Vector = sized(4)
    axis: Vector = sized(3)
    error: Vector = sized(3)
    A: Matrix = sized("d", "nv")
    S: Matrix = sized("d", "d")
    L: Matrix = sized("nv", "nv")
    b: Vector = sized("d")
    x0: Vector = sized("nv")
    x: Vector = sized("nv")
    push: Vector = sized("nv")
    none: Vector = sized("nv")  # torques without horizontal force
    free: Vector = sized("nv")  # torques that leave the tool alone
    null_vector: Vector = sized("nv")
    stack: Stack  # of the share of the force and the step along the free direction
    clear: ClearanceMemory


class Terms(Record):
    """Terms of the torque: the balancing part, and the change of it by limits."""

    balance: Vector = sized("nv")
    limits: Vector = sized("nv")


@kernel
def _wanted_force(x: Tick, k: Gains, m: Memory) -> None:
    """LQR about the leaning pole of the wanted motion: f = (m_e + m) (a_d + g e_z) − K (x − x_d).

    x = (x_A, ẋ_A, x_AB, ẋ_AB) per horizontal axis, x_AB,d = a_d l / g and its rate; (z_A, ż_A) vertically.
    """
    pole, f, target = m.pole, m.force, x.target
    mass, lean = pole.end_effector_mass + pole.mass, pole.length / pole.gravity
    for i in range(3):
        pole.r[i], pole.r_rate[i] = m.estimate.r[i], m.estimate.r_rate[i]
        away, speed, wanted = x.position[i] - target.position[i], m.twist[i] - target.twist[i], target.acceleration[i]
        if i == 2:
            f[i] = mass * (wanted + pole.gravity) - k.vertical[0] * away - k.vertical[1] * speed
            continue
        jerk = _differentiate(m, x.dt, wanted, i)
        f[i] = mass * wanted - k.axis[0] * away - k.axis[1] * speed
        f[i] -= k.axis[2] * (pole.r[i] - lean * wanted) + k.axis[3] * (pole.r_rate[i] - lean * jerk)
    m.ticks += 1
    size = hypot(f[0], f[1])
    if size > k.force_limit:
        f[0], f[1] = f[0] * k.force_limit / size, f[1] * k.force_limit / size
        m.force_cut += 1


@kernel
def _differentiate(m: Memory, dt: float, wanted: float, axis: int) -> float:
    """Rate of a wanted acceleration: (a − ā) / T, where ā follows a with the time constant T."""
    if m.ticks == 0:
        m.smooth[axis] = wanted
    rate = (wanted - m.smooth[axis]) / JERK_TIME
    m.smooth[axis] += (1.0 - exp(-dt / JERK_TIME)) * (wanted - m.smooth[axis])
    return rate


@kernel
def _wanted_angular_acceleration(x: Tick, k: Gains, m: Memory) -> None:
    """α = k_p log(R_d Rᵀ) − k_d ω; both gains are 0 where no angular acceleration is asked for."""
    quat_from_matrix(x.rotation, m.quat_wxyz)
    put(m.level_wxyz, 0, x.target.quat_wxyz)
    if k.level:
        _make_level(m)
    quat_error_world(m.level_wxyz, m.quat_wxyz, m.error)
    for i in range(3):
        m.angular_acceleration[i] = k.orientation_stiffness * m.error[i] - k.orientation_damping * m.twist[3 + i]


@kernel
def _make_level(m: Memory) -> None:
    """Turn the wanted attitude the short way until its z is vertical: up or down, whichever is nearer."""
    m.axis[0], m.axis[1], m.axis[2] = 0.0, 0.0, 1.0
    rotate(m.level_wxyz, m.axis, m.error)
    sign = 1.0 if m.error[2] >= 0.0 else -1.0
    # The quaternion (1 + z·u, z × u) of the turn from z to u = ± e_z.
    m.upright_wxyz[0], m.upright_wxyz[3] = 1.0 + sign * m.error[2], 0.0
    m.upright_wxyz[1], m.upright_wxyz[2] = sign * m.error[1], -sign * m.error[0]
    quat_normalize(m.upright_wxyz)
    quat_multiply(m.upright_wxyz, m.level_wxyz, m.quat_wxyz_scratch)
    put(m.level_wxyz, 0, m.quat_wxyz_scratch)


@kernel
def _prepare(x: Tick, k: Gains, m: Memory) -> bool:
    """A and the factor of A Aᵀ; A = J, or J M⁻¹ where torques are compared. False where A loses rank."""
    A, S, n, d = m.A, m.S, x.v.size, m.b.size
    for i in range(d):
        put(A[i], 0, x.J[i])
    if k.nearest_torque:
        put(flat(m.L), 0, flat(x.M))
        cholesky(m.L, n)
        for i in range(d):
            cholesky_solve(m.L, n, A[i])
    for i in range(d):
        for j in range(d):
            S[i, j] = dot(A[i], A[j], n)
    return cholesky(S, d)


@kernel
def _preferred(x: Tick, k: Gains, m: Memory) -> None:
    """x₀: the accelerations v̇₀ = k (q_d − q) − d v, or the torques M v̇₀ + b; 0 where the self-motion is free."""
    held = 1.0 if k.held else 0.0
    for j in range(x.v.size):
        m.x0[j] = held * (k.posture_stiffness * (x.target.q[j] - x.q[j]) - k.posture_damping * x.v[j])
    if k.nearest_torque:
        times(x.M, m.x0, m.x)
        for j in range(x.v.size):
            m.x0[j] = m.x[j] + held * x.bias[j]


@kernel
def _apply_force(m: Memory, share: float) -> None:
    """f, a_A and f_B with a share of the wanted horizontal force."""
    m.pole.f[0], m.pole.f[1], m.pole.f[2] = share * m.force[0], share * m.force[1], m.force[2]
    pole_accelerations(m.pole)


@kernel
def _torques(x: Tick, k: Gains, m: Memory, share: float, out: Vector) -> None:
    """Joint torques for a share of the wanted horizontal force: x = x₀ + Aᵀ (A Aᵀ)⁻¹ (b − A x₀)."""
    pole, A, b, n, J = m.pole, m.A, m.b, x.v.size, x.J
    _apply_force(m, share)
    f_B, weight = pole.f_B, 1.0 if k.nearest_torque else 0.0
    for j in range(n):
        m.x[j] = m.x0[j]
        m.push[j] = x.bias[j] + J[0, j] * f_B[0] + J[1, j] * f_B[1] + J[2, j] * f_B[2]
    for i in range(b.size):
        b[i] = (pole.a_A[i] if i < 3 else m.angular_acceleration[i - 3]) - x.drift[i]
        for j in range(n):
            b[i] += A[i, j] * (weight * m.push[j] - m.x[j])
    cholesky_solve(m.S, b.size, b)
    add_transpose_times(A, b, 1.0, m.x)
    if k.nearest_torque:
        put(out, 0, m.x)
        return
    times(x.M, m.x, out)
    for j in range(n):
        out[j] += m.push[j]


@kernel
def _free_direction(x: Tick, k: Gains, m: Memory) -> None:
    """The torques that leave the tool alone: one direction for seven joints, none for six or three."""
    best, chosen, n = 1e-6, -1, x.v.size
    for start in range(n):  # the unit vector that keeps most of itself is the best conditioned
        size = _project(m, start)
        if size > best:
            best, chosen = size, start
    if chosen >= 0:
        _project(m, chosen)
    for j in range(n):
        m.free[j] = m.null_vector[j] if chosen >= 0 else 0.0
    if not k.nearest_torque and chosen >= 0:
        times(x.M, m.null_vector, m.free)


@kernel
def _project(m: Memory, start: int) -> float:
    """own = (1 − Aᵀ (A Aᵀ)⁻¹ A) e_start; returns its squared length."""
    for i in range(m.b.size):
        m.b[i] = m.A[i, start]
    cholesky_solve(m.S, m.b.size, m.b)
    size = 0.0
    for j in range(m.null_vector.size):
        entry = 1.0 if j == start else 0.0
        for i in range(m.b.size):
            entry -= m.A[i, j] * m.b[i]
        m.null_vector[j] = entry
        size += entry * entry
    return size


@kernel
def _within_limits(x: Tick, k: Gains, m: Memory, full: Vector, change: Vector) -> None:
    """The change of torques that brings them within the limits: the least self-motion, else the least loss of force.

    τ = τ₀ + s (τ₁ − τ₀) + t d, with τ₁ of the wanted horizontal force, τ₀ of none, and the free direction d:
    s as near to 1 as |τ| ≤ limits and 0 ≤ s ≤ 1 allow, then t as near to 0. Exact for one free direction.
    """
    none, search, n = m.none, m.stack.search, full.size
    _free_direction(x, k, m)
    _torques(x, k, m, 0.0, none)
    for j in range(n):
        search.C[j, 0], search.C[j, 1] = full[j] - none[j], m.free[j]
        search.lower[j], search.upper[j] = -k.torque_limit[j] - none[j], k.torque_limit[j] - none[j]
    search.C[n, 0], search.lower[n], search.upper[n] = 1.0, 0.0, 1.0
    relaxed, failed = solve_stack(m.stack)
    possible, share, step = failed == 0 and relaxed == 0.0, search.x[0], search.x[1]
    share = share if possible and share < 1.0 - _WHOLE else 1.0
    _apply_force(m, share)
    if not possible:
        m.beyond += 1
        return
    m.bent += share == 1.0
    m.shared += share < 1.0
    for j in range(n):
        change[j] = (share - 1.0) * (full[j] - none[j]) + step * m.free[j]


@kernel
def _watch_fall(x: Tick, k: Gains, m: Memory) -> None:
    """Note a pole past the angle at which it counts as fallen, and an arm that has come to rest after that."""
    r, speed = m.estimate.r, 0.0
    m.tilt = atan2(hypot(r[0], r[1]), r[2])
    if m.fell < 0.0 and m.tilt > k.fall_angle:
        m.fell = x.t
    for j in range(x.v.size):
        speed = max(speed, abs(x.v[j]))
        if m.fell < 0.0 and abs(x.v[j]) > k.speed_limit[j]:
            m.fell, m.fast = x.t, j
    if m.fell >= 0.0 and x.t > m.fell + (SETTLE if speed < STILL else PATIENCE):
        m.ended = 1.0


@kernel
def _brake(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    """After a fall, or where the posture is singular: τ = b − s r M v, the largest share s within the limits."""
    share = 1.0
    for j in range(x.v.size):
        m.x[j] = -BRAKE_RATE * x.v[j]
    times(x.M, m.x, m.push)
    for j in range(x.v.size):
        room = k.torque_limit[j] - math.copysign(x.bias[j], x.bias[j] * m.push[j])
        if abs(m.push[j]) > room:
            share = min(share, max(room, 0.0) / abs(m.push[j]))
    for j in range(x.v.size):
        out.balance[j], most = x.bias[j] + share * m.push[j], k.torque_limit[j]
        out.limits[j] = min(max(out.balance[j], -most), most) - out.balance[j]


@kernel
def _keep_clear(x: Tick, k: Gains, m: Memory, torque: Vector) -> None:
    """Add the self-motion that keeps clear of joint stops and rated speeds; its motion is n, its torques are M n."""
    _free_direction(x, k, m)
    put(flat(m.L), 0, flat(x.M))
    size = 0.0
    for i in range(x.v.size):
        m.x[i] = torque[i] - m.push[i]
        size += abs(m.free[i])
    if size == 0.0 or not cholesky(m.L, x.v.size):
        return
    put(m.null_vector, 0, m.free)
    cholesky_solve(m.L, x.v.size, m.null_vector)
    set_mobility_along(m.L, m.free, m.null_vector, m.clear)
    steer_clear(x, k.clear, m.clear, m.x, torque)


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    over = False
    times(x.J, x.v, m.twist)
    estimate_pole(m.estimate, x.seen.pole, m.twist, x.dt)
    _watch_fall(x, k, m)
    regular = m.fell < 0.0 and _prepare(x, k, m)
    m.singular += 0 if regular or m.fell >= 0.0 else 1
    if not regular:
        _brake(x, k, m, out)
        return
    _wanted_force(x, k, m)
    _wanted_angular_acceleration(x, k, m)
    _preferred(x, k, m)
    _torques(x, k, m, 1.0, out.balance)
    if is_close(x, k.clear):
        _keep_clear(x, k, m, out.balance)
    for j in range(x.v.size):
        out.limits[j] = 0.0
        over = over or abs(out.balance[j]) > k.torque_limit[j]
    if over:
        _within_limits(x, k, m, out.balance, out.limits)


_SHOWN = (
    Shown("f", "pole.f", "N", _XYZ, "world", "commanded force of the arm on the end-effector"),
    Shown("f_B", "pole.f_B", "N", _XYZ, "world", "force of the end-effector on the pole that goes with it"),
    Shown("AB", "estimate.r", "m", _XYZ, "world", "from the pole's foot to its sphere, as estimated by the law"),
    Shown("AB_rate", "estimate.r_rate", "m/s", _XYZ, "world", "its rate"),
    Shown("ended", "ended", help="1 once the arm is at rest after the pole fell"),
)


class PoleBalance(ClearingLaw):
    """Keep a pole upright on the tool, and the tool in place: LQR force, then joint torques that apply it.

    1. f = (m_e + m) (a_d + g e_z) − K (x − x_d), x = (x_A, ẋ_A, x_AB, ẋ_AB) for each horizontal axis and (z_A, ż_A);
       a desired acceleration tilts the pole, x_AB,d = a_d l / g, its rate from a_d differentiated over 50 ms.
    2. a_A and f_B from f by the closed form of the pole (see `palpate.control.PoleModel`).
    3. Torques under M v̇ + b = τ − Jₚᵀ f_B and J v̇ + J̇ v = [a_A; α]. One direction is left free, the self-motion:
       `nearest = "acceleration"` takes the v̇ nearest to v̇₀ = k (q_d − q) − d v, `"torque"` the τ nearest to M v̇₀ + b.
       `self_motion = "free"` puts 0 in their place: with `nearest = "torque"` that is min τᵀτ, under
       which the elbow falls and swings until it is held back from its stops and rated speeds (`avoid_stops`).
    4. Torque limits: the free direction is relaxed first; if that is not enough the horizontal force is reduced, as
       little as possible. Both are exact for one free direction, hence at most seven joints.

    α = k_p log(R_d Rᵀ) − k_d ω with `orientation = "pd"` keeps the end-effector level: R_d is the target's attitude
    with its z turned into the vertical; `"hold"` keeps the target's attitude as it is; `"zero"` asks for α = 0, which
    lets a rotation continue. `hold_position = false` leaves out the position: the tool rests, but anywhere.
    Pictures of a camera that is late, noisy or slow become r and ṙ by an estimator (`design.pole`). Past
    `fall_angle` the pole counts as fallen, past `fall_speed` the arm as lost: it brakes, and once it stands the run
    ends.
    A robot of three slides is pole and end-effector alone: τ = f, no orientation.

    Closed loop, upright: the eigenvalues of the LQR design, per axis; the arm's own dynamics are cancelled.
    Assumes: a frictionless hinge, a true arm model that includes the end-effector's mass, a posture away from
    singularities, gravity along −z.
    """

    name: ClassVar[str] = "pole-balance"
    kernel = _kernel

    length: float = setting(1.0, "m", "l, of the pole", gt=0)
    sphere_mass: float = setting(0.1, "kg", "m_s", gt=0)
    rod_mass: float = setting(0.0, "kg", "m_r, of the rod between", ge=0)
    end_effector_mass: float = setting(1.0, "kg", "m_e, welded to the wrist and part of the arm's model", gt=0)
    gravity: float = setting(9.81, "m/s²", "g", gt=0)
    hold_position: bool = setting(True, "1", "feed the tool's position back")
    # Each weight is 1 / (deviation that matters as much as the others')²: 0.22 m, 0.32 m/s, 0.1 m, 1 m/s, 3.2 N.
    position_weight: float = setting(20.0, "1/m²", "LQR weight of the tool's position", ge=0)
    velocity_weight: float = setting(10.0, "s²/m²", "LQR weight of the tool's velocity", ge=0)
    tilt_weight: float = setting(100.0, "1/m²", "LQR weight of x_AB", gt=0)
    tilt_rate_weight: float = setting(1.0, "s²/m²", "LQR weight of the rate of x_AB", ge=0)
    effort_weight: float = setting(0.1, "1/N²", "LQR weight of the horizontal force", gt=0)
    vertical_effort_weight: float = setting(0.01, "1/N²", "LQR weight of the vertical force", gt=0)
    orientation: Literal["pd", "hold", "zero"] = setting(
        "pd", "1", "keep the end-effector level, hold the target's attitude, or ask for no angular acceleration"
    )
    orientation_stiffness: float = setting(100.0, "1/s²", "k_p", gt=0)
    orientation_damping: float = setting(20.0, "1/s", "k_d", gt=0)
    self_motion: Literal["held", "free"] = setting("held", "1", "hold and damp the posture, or not")
    nearest: Literal["acceleration", "torque"] = setting(
        "acceleration", "1", "what is kept close to the posture's value; torque as printed"
    )
    posture_stiffness: float = setting(100.0, "1/s²", "k of the self-motion", ge=0)
    posture_damping: float = setting(20.0, "1/s", "d of the self-motion", ge=0)
    respect_limits: bool = setting(True, "1", "keep joint torques within the arm's limits")
    force_limit: float = setting(60.0, "N", "largest horizontal force commanded", gt=0)
    fall_angle: float | None = setting(
        0.35, "rad", "tilt past which the pole has fallen and the arm brakes; never if not given", gt=0, lt=3.2
    )
    fall_speed: float | None = setting(
        8.0, "1", "share of its rated speed past which a joint is lost and the arm brakes; never if not given", gt=1
    )
    disturbance: float = setting(
        1.0, "m/s²", "acceleration of the sphere assumed by the estimator, if a camera is delayed or noisy", gt=0
    )

    def model(self) -> PoleModel:
        """The pole and end-effector the gains are designed for."""
        return PoleModel(self.length, self.sphere_mass, self.end_effector_mass, self.gravity, self.rod_mass)

    @property
    def traits(self) -> LawTraits:
        """The tool at its target, where it is held."""
        return replace(super().traits, promises=self.promises_for)

    @property
    def report(self) -> LawReport:
        """The pole as it is estimated, its design, and the end of a run in which it fell."""
        return LawReport(
            shown=_SHOWN,
            remarks=self.remarks_of,
            alarms=self.alarms_of,
            ending="ended",
            ended=self.end_reason,
            figure="balance",
            computed=self.computed_design,
        )

    def promises_for(self, robot: Robot) -> tuple[Promise, ...]:
        """The tool at its target, where it is held: what is left dies out at the slowest rate of the LQR design."""
        if not self.hold_position:
            return ()
        rate = self.model().slowest_rate(self.force_gains())
        return (Promise(motion=("x", "y", "z"), rate=rate, yields=False),)

    def gains(self, robot: Robot) -> Gains:
        """The LQR gains and every other number of the law."""
        refuse_free_base(robot, self.name)
        _directions(robot)
        level, force = self.orientation != "zero", self.force_gains()
        return Gains(
            axis=force[:4],
            vertical=force[4:],
            orientation_stiffness=level * self.orientation_stiffness,
            orientation_damping=level * self.orientation_damping,
            posture_stiffness=self.posture_stiffness,
            posture_damping=self.posture_damping,
            held=self.self_motion == "held",
            nearest_torque=self.nearest == "torque",
            force_limit=self.force_limit,
            fall_angle=_BEYOND_ANY_TILT if self.fall_angle is None else self.fall_angle,
            level=self.orientation == "pd",
            speed_limit=(np.inf if self.fall_speed is None else self.fall_speed) * robot.limits.velocity,
            torque_limit=robot.limits.torque.copy() if self.respect_limits else np.full(robot.nv, np.inf),
            clear=self.clearance(robot),
        )

    def force_gains(self) -> Array:
        """K: four gains of a horizontal axis (x_A, ẋ_A, x_AB, ẋ_AB), then two of the vertical (z_A, ż_A)."""
        hold, skip = self.hold_position, 0 if self.hold_position else 1
        weights = [self.position_weight, self.velocity_weight, self.tilt_weight, self.tilt_rate_weight]
        axis = self.model().gains(hold, weights[skip:], self.effort_weight)
        vertical = self.model().vertical_gains(hold, weights[skip:2], self.vertical_effort_weight)
        return np.array([*[0.0] * skip, *axis, *[0.0] * skip, *vertical])

    def computed_design(self, robot: Robot) -> tuple[ComputedNumber, ...]:
        """K and the poles of the closed loop, of a horizontal axis and of the vertical one."""
        force = self.force_gains()
        level, upright = self.model().poles(force)
        state = "gains of x_A, ẋ_A, x_AB, ẋ_AB"
        return (
            ComputedNumber("K, horizontal", force[:4].tolist(), "N/m, N·s/m", state),
            ComputedNumber("K, vertical", force[4:].tolist(), "N/m, N·s/m", "gains of z_A, ż_A"),
            ComputedNumber("poles, horizontal", pole_texts(level), "1/s", "eigenvalues of the upright pole's loop"),
            ComputedNumber("poles, vertical", pole_texts(upright), "1/s", "eigenvalues of the vertical loop"),
        )

    def memory(self, robot: Robot) -> Memory:
        """Counters of cut forces and torques, then scratch; an ideal view of the pole."""
        estimate = pole_estimate(self.model(), 1e-3, None, self.disturbance)
        stack, limits = make_stack(2, 2, 2, robot.nv + 1), robot.limits.torque
        stack.level.A[:], stack.level.b[:], stack.starts[:] = np.eye(2), (1.0, 0.0), (0, 1, 2)
        stack.units[: robot.nv] = np.where(np.isfinite(limits), limits, 1.0)
        sizes = {**sizes_of(robot), "d": _directions(robot)}
        return Memory(sizes, pole=self.model().dynamics(), estimate=estimate, stack=stack)

    def begin(self, bound: BoundLaw, robot: Robot, start: Beginning) -> BoundLaw:
        """Refuse a world without a pole, fit the estimator to its camera, and compare gravity and pole."""
        if start.pole is None:
            raise InvalidInput(
                "pole-balance balances a pole, and there is none in this world", hint="give world.pole, or another law"
            )
        memory = self.memory(robot)
        memory.replace("estimate", pole_estimate(self.model(), start.period, start.camera, self.disturbance))
        J, M = robot.jacobian(start.q)[2], robot.mass_matrix(start.q)
        mass = self.end_effector_mass + self.model().mass
        moved = float(J @ np.linalg.solve(M, J)) * mass  # ÿ of a force, and back
        stiffness = float(self.force_gains()[4]) / max(moved, 1e-12)
        differences = pole_differences(self.name, self.model(), start.gravity, start.pole, stiffness)
        return replace(bound, memory=memory, warnings=tuple(differences))

    def alarms_of(self, memory: Memory) -> list[str]:
        """A pole that fell, a posture without a way to move."""
        alarms = [self.end_reason(memory)] if memory.fell >= 0.0 else []
        if memory.singular:
            alarms.append(f"at {memory.singular} ticks the posture was singular: the arm braked instead of balancing")
        return alarms

    def end_reason(self, memory: Memory) -> str:
        """The reason why the run ended, as a sentence."""
        if memory.fast >= 0:
            return (
                f"balancing was given up: joint {memory.fast + 1} passed {self.fall_speed:g} times its rated speed at"
                f" {memory.fell:.4g} s; the arm braked"
            )
        angle = math.degrees(_BEYOND_ANY_TILT if self.fall_angle is None else self.fall_angle)
        return f"the pole fell: past {angle:.3g}° at {memory.fell:.4g} s; the arm braked"

    def remarks_of(self, memory: Memory) -> list[str]:
        """How often a limit shaped the command."""
        counts = {
            "the force limit reduced the desired force": memory.force_cut,
            "a torque limit changed the self-motion": memory.bent,
            "only a share of the desired force was within the torque limits": memory.shared,
            "no share of the desired force was within the torque limits": memory.beyond,
        }
        sentences = [f"{text} at {count} ticks" for text, count in counts.items() if count]
        return [*sentences, *self.clearance_remarks(memory.clear)]


def _directions(robot: Robot) -> int:
    """How many accelerations of the tool are asked for: six of an arm, three of a point on slides."""
    if robot.nv == 3 and set(robot.dof_units) == {"m"}:
        return 3
    if not 6 <= robot.nv <= MOST_JOINTS:
        raise InvalidInput(
            f"pole-balance needs an arm of 6 or 7 joints, or a point on three slides; {robot.name} has {robot.nv}"
        )
    return 6
