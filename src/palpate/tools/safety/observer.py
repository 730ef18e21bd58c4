"""External joint torques from motion and motor torques: the generalised-momentum observer, in discrete time.

    x = M̂ (v − v₋)/T + ½ (b̂ + b̂₋) + τ̂_f(v̄) − τ        mean external torque of the last period
    first order     r' = K (x − r)                        r/τ_ext = K / (s + K)
    second order    r'' = ω² (x − r) − 2 ζ ω r'           r/τ_ext = ω² / (s² + 2 ζ ω s + ω²)

The sum of M̂ Δv + b̂ T over ticks is the change of the momentum p = M̂ v less ∫ (Ĉᵀ v − ĝ) dt: the same observer as r
= K (p − ∫ (τ + Ĉᵀ v − ĝ + r) dt), without Ṁ and without an acceleration. Both filters are exact for an external torque
that is constant over a period, so that a step of τ gives r_k = τ (1 − e^(−K k T)) at the ticks after it.

On the motor side τ is the motor's torque: rotors are in M̂, friction is subtracted with the model's D̂ v + F̂
sat(v/v₀). On the link side τ is that of a sensor behind the gear: neither is in it. Literature: De Luca and Mattone
2003, doi 10.1109/ROBOT.2003.1241878; Haddadin et al. 2017, doi 10.1109/TRO.2017.2723903.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from palpate.checks import Array, finite_number
from palpate.config import Config, setting
from palpate.control.friction import KNEE
from palpate.control.tick import Tick
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.robot.robot import Robot


class ObserverSettings(Record):
    """The filter per period, and what of the model counts."""

    on: bool = False
    second: bool = False
    share: float = 1.0  # 1 − e^(−K T), also of what is filtered beside the residual
    step: Matrix = sized(2, 2)  # of (r, r') in a period
    gain: Vector = sized(2)  # of x
    viscous: Vector = sized("nv")
    coulomb: Vector = sized("nv")
    rotor: Vector = sized("nv")  # taken off the diagonal of M̂


class ObserverMemory(Record):
    """The residual r, its rate, and the last tick."""

    started: Kept[bool] = False
    residual: State[Vector] = sized("nv")
    rate: State[Vector] = sized("nv")
    effort: Kept[Vector] = sized("nv")  # |torque of the model|, filtered with K, or ω / 2 ζ
    stick: Kept[Vector] = sized("nv")  # bound on the friction that a slow joint's model may miss, filtered so too
    v: State[Vector] = sized("nv")
    bias: State[Vector] = sized("nv")
    a: Vector = sized("nv")  # scratch: mean acceleration of the last period


class Observer(Config):
    """How external torques are observed."""

    order: Literal[1, 2] = setting(1, "1", "first or second order from external torque to residual")
    gain: float = setting(50.0, "1/s", "K of the first order", gt=0)
    frequency: float = setting(80.0, "rad/s", "ω of the second order", gt=0)
    damping_ratio: float = setting(0.8, "1", "ζ of the second order", gt=0)
    side: Literal["motor", "link"] = setting(
        "motor", "1", "whose torque is measured: the motor's (with rotor and friction), or a sensor's behind the gear"
    )

    def settings(self, robot: Robot, period: float) -> ObserverSettings:
        """The numbers for the loop."""
        n, motor = robot.nv, self.side == "motor"
        across = np.abs(robot.coordinates.map)
        viscous, coulomb = (across**2).T @ robot.model.dof_damping, across.T @ robot.model.dof_frictionloss
        step, gain = second_order_step(self.frequency, self.damping_ratio, period)
        return ObserverSettings(
            on=True,
            second=self.order == 2,
            share=-math.expm1(-self.bandwidth * period),
            step=step,
            gain=gain,
            viscous=viscous if motor else np.zeros(n),
            coulomb=coulomb if motor else np.zeros(n),
            rotor=np.zeros(n) if motor else (across**2).T @ robot.model.dof_armature,
        )

    @property
    def bandwidth(self) -> float:
        """1/s: K, or that of the first order with the same slope at low frequencies, ω / 2 ζ."""
        return self.gain if self.order == 1 else 0.5 * self.frequency / self.damping_ratio

    def response(self, t: float) -> float:
        """Share of a step of external torque that the residual shows after t seconds."""
        return float(self.responses(np.array([t]))[0])

    def responses(self, t: Array) -> Array:
        """The same at many times."""
        if self.order == 1:
            return -np.expm1(-self.gain * t)
        w, (p, q) = self.frequency, self.poles
        if abs(p - q) < 1e-6 * w:
            return 1.0 - (1.0 + w * t) * np.exp(-w * t)
        return 1.0 + ((q * np.exp(p * t) - p * np.exp(q * t)) / (p - q)).real

    @property
    def overshoot(self) -> float:
        """Share by which the residual of a step passes the step itself; 0 for the first order."""
        z = self.damping_ratio
        return math.exp(-math.pi * z / math.sqrt(1 - z * z)) if self.order == 2 and z < 1 else 0.0

    @property
    def poles(self) -> tuple[complex, ...]:
        """Poles of the residual, 1/s."""
        if self.order == 1:
            return (complex(-self.gain),)
        w, z = self.frequency, self.damping_ratio
        root = np.emath.sqrt(z * z - 1.0)
        return (complex(w * (-z + root)), complex(w * (-z - root)))

    def reversal(self, friction: float, t: float) -> float:
        """The residual, N·m, t seconds after a joint turns round whose Coulomb friction is missing in the model.

        F (1 − 2 g(t)), from F against the old motion to −F against the new one, through 0 at ln 2 / K in the first
        order; g is the answer to a step.
        """
        return friction * (1.0 - 2.0 * self.response(t))

    def ticks(self, torque: float, threshold: float, period: float) -> float:
        """Ticks after which the sampled residual of a step of torque is above a threshold; infinite if it never is.

        The step begins with a period: the tick after `delay`. One that begins within a period is felt between 0 and
        one period later than that.
        """
        delay = self.delay(torque, threshold)
        if math.isinf(delay) or self.order == 1:
            return delay if math.isinf(delay) else math.floor(delay / period) + 1
        first = math.floor(delay / period)
        share = threshold / abs(torque)
        times = period * np.arange(first, first + 2 + math.ceil(20.0 / (self.bandwidth * period)))
        above = np.flatnonzero(self.responses(times) > share)
        return float(first + above[0]) if above.size else math.inf

    def delay(self, torque: float, threshold: float) -> float:
        """Seconds until the residual of a step of torque passes a threshold; infinite where it never does."""
        finite_number(torque, "torque")
        finite_number(threshold, "threshold", least=0.0)
        share = threshold / abs(torque) if torque else math.inf
        if self.order == 1:
            return -math.log1p(-share) / self.gain if share < 1.0 else math.inf
        times = np.linspace(0.0, 40.0 / -max(pole.real for pole in self.poles), 20001)
        above = np.flatnonzero(self.responses(times) >= share)
        if not above.size:
            return math.inf
        low, high = float(times[max(above[0] - 1, 0)]), float(times[above[0]])
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.response(middle) >= share else (middle, high)
        return high


def second_order_step(w: float, z: float, T: float) -> tuple[Array, Array]:
    """Step and gain of (r, r') over T seconds with a constant input: r'' + 2 ζ ω r' + ω² r = ω² x."""
    from scipy.linalg import expm

    A = np.array([[0.0, 1.0, 0.0], [-w * w, -2.0 * z * w, w * w], [0.0, 0.0, 0.0]])
    E = np.asarray(expm(A * T))
    return E[:2, :2].copy(), E[:2, 2].copy()


@dataclass(frozen=True)
class ResidualNoise:
    """Standard deviation of the residual per joint, N·m, and its correlation from tick to tick."""

    deviation: Array
    correlation: Array


def residual_noise(
    observer: Observer, M: Array, period: float, speed_noise: float, torque_noise: float
) -> ResidualNoise:
    """Noise of a residual at a mass matrix M, of white noise in measured speeds (rad/s) and torques (N·m).

    First order, a = e^(−K T):  σ² = σ_τ² (1−a)/(1+a) + Σ_j M_ij² σ_v² 2 (1−a)² / (T² (1+a)). Second order: by its
    impulse response.
    """
    h = impulse_response(observer, period)
    slope = np.diff(h, prepend=0.0, append=0.0) / period
    by_torque = torque_noise**2 * np.array([h @ h, h[1:] @ h[:-1]])
    by_speed = speed_noise**2 * np.array([slope @ slope, slope[1:] @ slope[:-1]])
    powers = by_torque[None] + (M**2).sum(axis=1)[:, None] * by_speed[None]
    variance = powers[:, 0]
    known = variance > 0
    return ResidualNoise(np.sqrt(variance), np.where(known, powers[:, 1] / np.where(known, variance, 1.0), 0.0))


def impulse_response(observer: Observer, period: float) -> Array:
    """The residual's answer, tick by tick, to an external torque of 1 N·m in one period."""
    slowest = -max(pole.real for pole in observer.poles)
    count = min(max(int(40.0 / (slowest * period)), 10), 200_000)
    return np.diff(observer.responses(np.arange(count + 1) * period))


@kernel
def observe(x: Tick, k: ObserverSettings, m: ObserverMemory) -> None:
    """r of this tick; 0 at the first one, before which nothing is known."""
    n, rate = x.v.size, 1.0 / x.dt
    if m.started:
        for i in range(n):
            m.a[i] = (x.v[i] - m.v[i]) * rate
        for i in range(n):
            speed = 0.5 * (x.v[i] + m.v[i])
            sliding = min(max(speed * (1.0 / KNEE), -1.0), 1.0)
            friction = k.viscous[i] * speed + k.coulomb[i] * sliding
            model = 0.5 * (x.bias[i] + m.bias[i]) - k.rotor[i] * m.a[i] + dot(x.M[i], m.a, n)
            _filter(k, m, i, model + friction - x.tau[i])
            m.effort[i] += k.share * (abs(model) - m.effort[i])
            m.stick[i] += k.share * (k.coulomb[i] * (1.0 - abs(sliding)) - m.stick[i])
    else:
        put(m.stick, 0, k.coulomb)
    m.started = True
    put(m.v, 0, x.v)
    put(m.bias, 0, x.bias)


@kernel(inline=True)
def _filter(k: ObserverSettings, m: ObserverMemory, i: int, x: float) -> None:
    """One period of the filter of joint i."""
    if not k.second:
        m.residual[i] += k.share * (x - m.residual[i])
        return
    r, rate = m.residual[i], m.rate[i]
    m.residual[i] = k.step[0, 0] * r + k.step[0, 1] * rate + k.gain[0] * x
    m.rate[i] = k.step[1, 0] * r + k.step[1, 1] * rate + k.gain[1] * x
