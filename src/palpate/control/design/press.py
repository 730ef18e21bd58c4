"""A short simulated press of one axis on a wall that can be left: whether the contact lasts, or bounces.

The poles of a contact tell of motion that stays in contact. Losing contact is a limit cycle of its own: a wall only
pushes, and what a law does while it is free (an admittance returns, a force integral winds up) decides how fast it is
back. The axis of a `ContactCase` is therefore simulated once from its approach on, with the force cut at zero:

    m v̇ = u − b v + F,   F = −max(0, K_w x + B_w v) for x > 0, else 0

with the law's matrices, its delays and its clock, about the rest at which it presses with F*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.design.case import ContactCase
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Record, Vector, sized

COST = 3e-8  # s of CPU per physics step of one axis
STEPS_PER_RADIAN = 10  # of the fastest motion of axis and servo
_LAST = 1 / 3  # of the press, that is judged
_LOST, _LEAST = 3, 0.02  # times, and share of that time without contact, from which on it counts as bouncing
_KINDS = {"torque": 0, "position": 1, "velocity": 2, "velocity-loop": 3}


@dataclass(frozen=True)
class Press:
    """How a press went in its last third.

    Attributes:
        force: F*, N, with which it would rest.
        speed: of the approach, m/s.
        free: share of the time without contact.
        losses: of contact, per second.
        peak: N.
        time: s, that was simulated.
    """

    force: float
    speed: float
    free: float
    losses: float
    peak: float
    time: float

    @property
    def bounces(self) -> bool:
        """Whether contact is lost again and again, or is not there in the end."""
        return self.losses * self.time * _LAST >= _LOST and self.free > _LEAST

    @property
    def sentence(self) -> str:
        """In words."""
        if not self.bounces:
            return f"a simulated press from {1e3 * self.speed:.3g} mm/s stays in contact"
        return (
            f"a simulated press from {1e3 * self.speed:.3g} mm/s BOUNCES to the end of the run, although the loop in"
            f" contact is stable: contact is lost {self.losses:.3g} times a second, {self.free:.0%} of it is free,"
            f" the force peaks at {self.peak:.3g} N where it would rest at {self.force:.3g} N"
        )


class _Axis(Record):
    """The axis, its law and its clock."""

    kind: int
    A: Matrix = sized("k", "k")
    on_x: Vector = sized("k")
    on_v: Vector = sized("k")
    on_F: Vector = sized("k")
    C: Vector = sized("k")
    by_x: float
    by_v: float
    by_F: float
    mobility: float
    damping: float
    bandwidth: float
    wall: float
    wall_damping: float
    period: float
    substeps: int
    ticks: int
    joint_delay: int
    wrench_delay: int
    command_delay: int
    share_v: float
    share_F: float
    differentiated: bool
    force: float  # F*
    depth: float  # of the rest, m
    ahead: float  # of the target at first touch to its last place, m
    speed: float


class _Motion(Record):
    """State; readings and commands under way; the record of every tick."""

    xi: Vector = sized("k")
    new: Vector = sized("k")
    x: Vector = sized("ring")
    v: Vector = sized("ring")
    F: Vector = sized("ring")
    u: Vector = sized("ring")
    peak: Vector = sized("ticks")
    touching: Vector = sized("ticks")


@kernel
def _decide(p: _Axis, m: _Motion, x: float, v: float, F: float) -> float:
    """ξ ← A ξ + B y, u = C ξ + D y."""
    u = p.by_x * x + p.by_v * v + p.by_F * F
    for i in range(m.xi.size):
        m.new[i] = p.on_x[i] * x + p.on_v[i] * v + p.on_F[i] * F
        for j in range(m.xi.size):
            m.new[i] += p.A[i, j] * m.xi[j]
    for i in range(m.xi.size):
        m.xi[i] = m.new[i]
        u += p.C[i] * m.xi[i]
    return u


@kernel
def _pressed(p: _Axis, m: _Motion) -> None:
    """The press, tick by tick; x is measured from the surface inwards."""
    ring, h, w = m.x.size, p.period / p.substeps, p.bandwidth
    x, v, u_old, servo, v_low, F_low = 0.0, p.speed, 0.0, -p.depth, p.speed, 0.0
    for k in range(p.ticks):
        at, t = k % ring, k * p.period
        ahead = min(-p.ahead + p.speed * t, 0.0)
        rate = p.speed if ahead < 0.0 else 0.0
        F = -max(p.wall * x + p.wall_damping * v, 0.0) if x > 0.0 else 0.0
        seen_v = v if not p.differentiated or k == 0 else (x - p.depth - m.x[(k - 1) % ring]) / p.period
        v_low += p.share_v * (seen_v - v_low)
        F_low += p.share_F * (F - F_low)
        m.x[at], m.v[at], m.F[at] = x - p.depth, v_low, F_low
        joint, wrench = max(k - p.joint_delay, 0) % ring, max(k - p.wrench_delay, 0) % ring
        m.u[at] = _decide(p, m, m.x[joint] - ahead, m.v[joint] - rate, m.F[wrench] + p.force)
        u = m.u[max(k - p.command_delay, 0) % ring]
        if p.kind == 1:
            u += ahead
        elif p.kind >= 2:
            u += rate
        pace = 0.0 if k == 0 else (u - u_old) / p.period
        if k == 0 and p.kind == 1:
            pace = p.speed
        u_old = u
        for _ in range(p.substeps):
            F = -max(p.wall * x + p.wall_damping * v, 0.0) if x > 0.0 else 0.0
            a = p.mobility * (F + p.force - p.damping * v)
            if p.kind == 0:
                a += p.mobility * u
            elif p.kind == 1:
                a += w * w * (u - (x - p.depth)) + 2.0 * w * (pace - v)
            elif p.kind == 2:
                a += w * w * (servo - (x - p.depth)) + 2.0 * w * (u - v)
                servo += u * h
            else:
                a += w * (u - v)
            v += h * a
            x += h * v
            m.peak[k] = max(m.peak[k], -F)
            m.touching[k] = 1.0 if F < 0.0 else m.touching[k]
        if not abs(x) < 1e3:
            return


def simulated_press(
    case: ContactCase, *, speed: float, duration: float, depth: float = 0.0, ahead: float = 0.0, force: float = 0.0
) -> Press:
    """Press an axis on its wall.

    Args:
        case: the axis, law and wall, with a period.
        speed: at which the target passes the surface, m/s.
        duration: to simulate, s.
        depth: how far behind the surface the target comes to rest, m; not used where a law controls the force.
        ahead: how far the target still moves there, at that speed, after it has passed the surface, m.
        force: that such a law wants, N.
    """
    law, timing = case.law, case.timing
    give, state = _rest_under(case)
    held = force if case.model.presses else depth / (give + 1.0 / case.wall_stiffness)
    ticks = max(int(duration / timing.period), 1)
    axis = _Axis(
        {"k": len(law.update)},
        kind=_KINDS[law.command],
        A=law.update, on_x=law.update_q[:, 0], on_v=law.update_v[:, 0], on_F=law.update_wrench[:, 0],
        C=law.state[0], by_x=law.q[0, 0], by_v=law.v[0, 0], by_F=law.wrench[0, 0],
        mobility=0.0 if math.isinf(case.mass) else 1.0 / case.mass,
        damping=case.own_damping, bandwidth=min(timing.servo_bandwidth, 1e4),
        wall=case.wall_stiffness, wall_damping=case.wall_damping, period=timing.period,
        substeps=substeps(case), ticks=ticks, joint_delay=timing.joint_delay, wrench_delay=timing.wrench_delay,
        command_delay=timing.command_delay + round(timing.lag / timing.period),
        share_v=_share(timing.velocity_cutoff, timing.period), share_F=_share(timing.wrench_cutoff, timing.period),
        differentiated=timing.velocity == "differentiated",
        force=held, depth=held / case.wall_stiffness, ahead=ahead, speed=speed,
    )  # fmt: skip
    late = max(timing.joint_delay, timing.wrench_delay, axis.command_delay) + 2
    motion = _Motion({"k": len(law.update), "ring": late, "ticks": ticks}, xi=state * held)
    _pressed(axis, motion)
    return _judged(motion, held, speed, ticks * timing.period)


def substeps(case: ContactCase) -> int:
    """Physics steps per period that follow the fastest motion of axis, wall and servo."""
    mobility = 0.0 if math.isinf(case.mass) else 1.0 / case.mass
    fastest = math.sqrt(mobility * case.wall_stiffness) + mobility * (
        case.wall_damping + case.own_damping + case.damping
    )
    servo = 2.0 * min(case.timing.servo_bandwidth, 1e4) if case.model.servo else 0.0
    return max(math.ceil(STEPS_PER_RADIAN * case.timing.period * max(fastest, servo)), 4)


def cost_of_press(case: ContactCase, duration: float) -> float:
    """CPU seconds that `simulated_press` takes, roughly."""
    return COST * substeps(case) * duration / case.timing.period


def _share(cutoff: float | None, period: float) -> float:
    return 1.0 if cutoff is None else -math.expm1(-2 * math.pi * cutoff * period)


def _rest_under(case: ContactCase) -> tuple[float, Array]:
    """How far the free axis gives way per newton, m/N, and the law's state at first touch, per newton of F*.

    At first touch the law has felt nothing: its state is that of rest under −F*, taken away.
    """
    law, k = case.law, len(case.law.update)
    if case.model.presses:
        return 0.0, np.zeros(k)
    A = np.zeros((1 + k, 1 + k))
    right = np.r_[0.0, -law.update_wrench[:, 0]]
    A[1:, 0], A[1:, 1:] = law.update_q[:, 0], law.update - np.eye(k)
    own = 0.0 if math.isinf(case.mass) else 1.0 / case.mass
    if law.command == "torque":
        A[0], right[0] = np.r_[law.q[0, 0], law.state[0]], -1.0 - law.wrench[0, 0]
    elif law.command == "position":
        A[0] = np.r_[law.q[0, 0] - 1.0, law.state[0]]
        right[0] = -law.wrench[0, 0] - own / min(case.timing.servo_bandwidth, 1e4) ** 2
    else:
        A[0], right[0] = np.r_[law.q[0, 0], law.state[0]], -law.wrench[0, 0]
    solution = np.linalg.lstsq(A, right, rcond=1e-12)[0]
    return max(float(solution[0]), 0.0), solution[1:]


def _judged(motion: _Motion, force: float, speed: float, time: float) -> Press:
    touching = motion.touching > 0.5
    last = touching[-max(int(_LAST * len(touching)), 1) :]
    losses = int(np.count_nonzero(last[:-1] & ~last[1:]))
    peak = float(motion.peak[-len(last) :].max())
    return Press(force, speed, float(1.0 - last.mean()), losses / max(_LAST * time, 1e-12), peak, time)
