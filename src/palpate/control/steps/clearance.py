"""Keeping clear of joint stops and rated speeds with what a task leaves free.

A law with a null space moves there as if nothing were in its way, unless told. Near a stop or a rated speed each
joint's own share of that motion is bounded,

    q̈_j ≤ ω² (q_max − margin − q_j) − 2 ω q̇_j  (and likewise below),   |q̇_j|˙ ≤ ω (0.95 rated − |q̇_j|),

and where the null space asks for more, joint torques τ_e are added through its own projector, N τ_e = M P τ_e with the
mobility P = M⁻¹ N that the task leaves: J_t M⁻¹ N = 0, so that no chosen direction feels them. N J_tᵀ = 0 too: a force
at the tool does not disturb it. A bound works from a zone before the stop on and grows with a smooth share, 0 … 1;
outside of it the command is to the last bit what it was.

τ_e solves (P_jj + s (M⁻¹)_jj) τ_e,j = what joint j must be held back, joint after joint. The softness s gives way where
a joint hardly moves in the null space, or two of them want it to move opposite ways: then the run's watch tells.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from palpate.config import setting
from palpate.control.law import Law
from palpate.control.rig import Rig
from palpate.control.steps.linear_algebra import cholesky_inverse, times
from palpate.control.tick import Tick
from palpate.engine.kernels import clear, kernel
from palpate.engine.records import Kept, Matrix, Record, Vector, sized
from palpate.robot.robot import Robot

RATE = 20.0  # rad/s, ω where the clock allows,
_CLOCK_SHARE = 0.2  # of 1/T_e, that it may reach
_ZONE, _ZONE_SHARE = 0.2, 0.05  # rad or m before a stop, and at most so much of the joint's range
_MARGIN = 0.1  # of the zone: where a joint is held
_WATCHED, _FULL, _MOST = 0.7, 0.85, 0.95  # of the rated speed: a bound begins, has its full share, holds
_SOFT = 0.05  # s
_SWEEPS = 12


class Clearance(Record):
    """The joints' ranges and rated speeds, and how they are kept clear of; off by default."""

    on: bool = False
    rate: float = RATE  # ω, rad/s
    lower: Vector = sized("nv")
    upper: Vector = sized("nv")
    zone: Vector = sized("nv")  # before the end of a range, rad or m; 0 where there is none
    rated: Vector = sized("nv")  # speeds


class ClearanceMemory(Record):
    """Counts for the remarks; then scratch."""

    steered: Kept[int] = 0  # ticks at which the null space was steered,
    steered_from: Kept[float] = 0.0  # s,
    steered_until: Kept[float] = 0.0  # s,
    steered_joint: Kept[int] = -1  # and for which joint first
    P: Matrix = sized("nv", "nv")  # M⁻¹ N
    softness: Vector = sized("nv")  # s (M⁻¹)_jj
    a: Vector = sized("nv")  # accelerations within the null space
    push: Vector = sized("nv")  # τ_e
    response: Vector = sized("nv")  # P τ_e


@kernel
def is_close(x: Tick, k: Clearance) -> bool:
    """Whether a joint is in the zone before a stop, or near its rated speed."""
    if not k.on:
        return False
    for j in range(x.v.size):
        room = min(x.q[j] - k.lower[j], k.upper[j] - x.q[j])
        if room < k.zone[j] or abs(x.v[j]) > _WATCHED * k.rated[j]:
            return True
    return False


@kernel
def _share(part: float) -> float:
    """0 … 1 along 3 s² − 2 s³."""
    s = min(max(part, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


@kernel
def _stop_excess(rate: float, zone: float, room: float, towards: float, a: float) -> float:
    """How much of an acceleration towards a stop that is `room` away is too much; the speed is `towards` it."""
    if room >= zone:
        return 0.0
    most = rate * rate * (room - _MARGIN * zone) - 2.0 * rate * towards
    return _share(2.0 - 2.0 * room / zone) * max(a - most, 0.0)


@kernel
def _allowed_acceleration(x: Tick, k: Clearance, j: int, a: float) -> float:
    """Allowed acceleration of joint j where `a` is asked for."""
    speed, along = abs(x.v[j]), math.copysign(1.0, x.v[j])
    a -= _stop_excess(k.rate, k.zone[j], k.upper[j] - x.q[j], x.v[j], a)
    a += _stop_excess(k.rate, k.zone[j], x.q[j] - k.lower[j], -x.v[j], -a)
    if speed > _WATCHED * k.rated[j]:
        share = _share((speed / k.rated[j] - _WATCHED) / (_FULL - _WATCHED))
        a -= along * share * max(along * a - k.rate * (_MOST * k.rated[j] - speed), 0.0)
    return a


@kernel
def _set_free(factor: Matrix, c: ClearanceMemory) -> None:
    """P = M⁻¹, as if there were no task, and the softness that goes with it."""
    cholesky_inverse(factor, factor.shape[0], c.P)
    for i in range(factor.shape[0]):
        c.softness[i] = _SOFT * c.P[i, i]


@kernel
def set_mobility(factor: Matrix, Y: Matrix, Lambda: Matrix, c: ClearanceMemory) -> None:
    """P = M⁻¹ − Yᵀ Λ Y = M⁻¹ N, Y = J_t M⁻¹; M is given by its Cholesky factor."""
    P, n, rows = c.P, factor.shape[0], Y.shape[0]
    _set_free(factor, c)
    for r in range(rows):
        for i in range(n):
            force = 0.0
            for l in range(rows):
                force += Lambda[r, l] * Y[l, i]
            for j in range(n):
                P[i, j] -= force * Y[r, j]


@kernel
def set_mobility_along(factor: Matrix, torque: Vector, motion: Vector, c: ClearanceMemory) -> None:
    """P = n nᵀ / (nᵀ M n) of a null space of one direction n; its torques are M n."""
    P, n, energy = c.P, motion.size, 0.0
    _set_free(factor, c)
    for i in range(n):
        energy += motion[i] * torque[i]
    for i in range(n):
        for j in range(n):
            P[i, j] = motion[i] * motion[j] / energy


@kernel
def _hold_back(x: Tick, k: Clearance, c: ClearanceMemory) -> bool:
    """τ_e, joint after joint, for the accelerations c.a; whether there is any."""
    P, push, response, any_held = c.P, c.push, c.response, False
    clear(push)
    clear(response)
    for _ in range(_SWEEPS):
        for j in range(x.v.size):
            others = c.a[j] + response[j] - P[j, j] * push[j]
            wanted = (_allowed_acceleration(x, k, j, others) - others) / (max(P[j, j], 0.0) + c.softness[j])
            change = wanted - push[j]
            push[j] = wanted
            for i in range(x.v.size):
                response[i] += P[i, j] * change
            if wanted != 0.0 and not any_held:
                any_held = True
                c.steered_joint = j if c.steered_joint < 0 else c.steered_joint
    return any_held


@kernel
def steer_clear(x: Tick, k: Clearance, c: ClearanceMemory, acting: Vector, out: Vector) -> None:
    """out += N τ_e where the torques `acting` drive the null space at a stop or beyond a rated speed; P is in c.P."""
    times(c.P, acting, c.a)
    if not _hold_back(x, k, c):
        return
    c.steered_from = x.t if c.steered == 0 else c.steered_from
    c.steered_until = x.t
    c.steered += 1
    for i in range(x.v.size):
        for j in range(x.v.size):
            out[i] += x.M[i, j] * c.response[j]


class ClearingLaw(Law):
    """Settings of the laws whose null space keeps clear of joint stops and rated speeds; abstract."""

    avoid_stops: bool = setting(
        True, "1", "steer the null space away from joint stops and rated speeds; no effect on the task"
    )
    avoid_rate: float | None = setting(None, "rad/s", "ω of that; 20, less for a long period, if not given", gt=0)

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """With a rate that the loop's period bears, where none is given."""
        if self.avoid_rate is not None:
            return self
        return self.model_copy(update={"avoid_rate": min(RATE, _CLOCK_SHARE / rig.lag)})

    def clearance(self, robot: Robot) -> Clearance:
        """Its numbers as the kernels read them, once it is suited to a loop."""
        limits = robot.limits
        with np.errstate(invalid="ignore"):
            zone = np.minimum(_ZONE, _ZONE_SHARE * (limits.upper - limits.lower))
        return Clearance(
            on=self.avoid_stops and robot.nq == robot.nv,
            rate=self.avoid_rate or RATE,
            lower=limits.lower.copy(),
            upper=limits.upper.copy(),
            zone=zone,
            rated=np.where(limits.velocity > 0.0, limits.velocity, np.inf),
        )

    def clearance_remarks(self, c: ClearanceMemory) -> list[str]:
        """Whether and when the null space was steered."""
        if not c.steered:
            return []
        return [
            f"{self.name}: the null space was steered clear of joint stops and rated speeds at {c.steered} ticks"
            f" between {c.steered_from:.4g} s and {c.steered_until:.4g} s, for joint {c.steered_joint + 1} first"
        ]
