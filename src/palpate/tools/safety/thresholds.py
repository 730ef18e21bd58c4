"""When a residual counts as a contact, and how often that is wrong.

    T_i = scale (level_i + per_speed_i |v_i| + mass_error τ̄_i + friction_error F̂_i + s̄_i)

τ̄ is |torque of the model| and s̄ = F̂ (1 − sat |v|/v₀), both filtered as the residual is: s̄ covers a joint that
sticks or reverses, whose friction may be anything up to F̂. Kinds: `constant` and `speed` compare |r_i| with T_i;
`cusum` adds up what is above T_i / scale, S_i ← max(0, S_i + (|r_i| − T_i / scale) T), compares S_i with scale ·
decision, and goes on from there after an alarm, so that it ends soon after the contact does.

The ratio of the two, the largest of all joints, is the statistic: a contact is felt where it passes 1 at `confirm`
ticks in a row. The largest value that it kept for so long in motions without contact sets `scale` (`scale_for`): with
the k-th largest of N calibration motions as the scale, a new motion of the same kind gives a false alarm with
probability k / (N + 1), whatever the distribution; m new motions give a beta-binomial number of them
(`expected_alarms`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from palpate.checks import Array
from palpate.config import Config, PerJoint, setting
from palpate.control.fitting import per_joint
from palpate.control.tick import Tick
from palpate.engine.kernels import kernel
from palpate.engine.records import Kept, Record, State, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.tools.safety.observer import Observer, ObserverMemory

MOST_CONFIRMED = 64  # ticks


class ThresholdSettings(Record):
    """The numbers of the threshold per joint."""

    cusum: bool = False
    scale: float = 1.0
    mass_error: float = 0.0
    confirm: int = 1
    ignore: float = 0.0  # s at the start
    level: Vector = sized("nv")
    per_speed: Vector = sized("nv")
    decision: Vector = sized("nv", start=1.0)
    friction: Vector = sized("nv")  # friction_error F̂


class ThresholdMemory(Record):
    """Thresholds of this tick, sums, and the largest ratio so far."""

    threshold: Kept[Vector] = sized("nv")
    sum: State[Vector] = sized("nv")
    ratio: float = 0.0  # of this tick
    joint: int = -1  # the last one above
    above: Kept[int] = 0  # ticks in a row
    recent: Kept[Vector] = sized(MOST_CONFIRMED)  # ratios of the last `confirm` ticks, in turn
    count: Kept[int] = 0  # of them so far
    peak: Kept[float] = 0.0  # the largest ratio that `confirm` ticks in a row kept
    peak_time: Kept[float] = 0.0


class Threshold(Config):
    """When a residual counts as a contact."""

    kind: Literal["constant", "speed", "cusum"] = setting("constant", "1", "how residuals are judged")
    level: PerJoint = setting(1.0, "N·m", "constant part, one for all joints or one each; of a cusum its drift")
    per_speed: PerJoint = setting(0.0, "N·m·s/rad", "part that grows with the joint's speed; kind speed")
    mass_error: float = setting(0.0, "1", "share of the model's torque that may be wrong", ge=0, lt=1)
    friction_error: float = setting(0.0, "1", "share of the model's Coulomb friction that may be wrong", ge=0)
    decision: PerJoint = setting(0.02, "N·m·s", "sum at which a cusum counts as a contact")
    confirm: int = setting(
        1, "ticks", "so many in a row above the threshold count as a contact", ge=1, le=MOST_CONFIRMED
    )
    scale: float = setting(1.0, "1", "factor on all of it, as calibration gives it (palpate reactions --rate)", gt=0)

    def settings(self, robot: Robot, coulomb: Array, ignore: float = 0.0) -> ThresholdSettings:
        """The numbers for the loop; `coulomb` is the friction that the observer subtracts, `ignore` s at the start."""
        if self.kind != "speed" and np.any(np.asarray(self.per_speed) != 0.0):
            raise InvalidInput(f'per_speed is for kind = "speed", this threshold is {self.kind!r}')
        return ThresholdSettings(
            cusum=self.kind == "cusum",
            scale=self.scale,
            mass_error=self.mass_error,
            confirm=self.confirm,
            ignore=ignore,
            level=per_joint(robot, self.level, "level", least=0.0),
            per_speed=per_joint(robot, self.per_speed, "per_speed", least=0.0),
            decision=per_joint(robot, self.decision, "decision", above=0.0),
            friction=self.friction_error * coulomb,
        )


@kernel
def judge(x: Tick, k: ThresholdSettings, o: ObserverMemory, m: ThresholdMemory) -> bool:
    """Whether a contact is felt now; thresholds, the largest ratio and the last joint above are noted."""
    m.ratio, m.joint, residual = 0.0, -1, o.residual
    for i in range(residual.size):
        T = k.level[i] + k.per_speed[i] * abs(x.v[i]) + k.mass_error * o.effort[i] + k.friction[i] + o.stick[i]
        if k.cusum:
            m.sum[i] = max(m.sum[i] + (abs(residual[i]) - T) * x.dt, 0.0)
            m.threshold[i] = k.scale * k.decision[i]
            ratio = m.sum[i] / m.threshold[i]
            m.sum[i] = min(m.sum[i], m.threshold[i])
        else:
            m.threshold[i] = k.scale * T
            ratio = abs(residual[i]) / m.threshold[i] if m.threshold[i] > 0.0 else math.inf
        if ratio > 1.0:
            m.joint = i
        m.ratio = max(m.ratio, ratio)
    m.above = m.above + 1 if m.ratio > 1.0 else 0
    kept = _kept_ratio(k, m)
    if kept > m.peak and x.t >= k.ignore:
        m.peak, m.peak_time = kept, x.t
    return m.above >= k.confirm


@kernel(inline=True)
def _kept_ratio(k: ThresholdSettings, m: ThresholdMemory) -> float:
    """The least ratio of the last `confirm` ticks: above 1 exactly where a contact is felt."""
    if k.confirm == 1:
        return m.ratio
    m.recent[m.count % k.confirm] = m.ratio
    m.count += 1
    least = m.ratio if m.count >= k.confirm else 0.0
    for i in range(k.confirm):
        least = min(least, m.recent[i])
    return least


def level_for_noise(deviation: Array, rate: float, period: float) -> Array:
    """Constant thresholds that white noise of a residual passes `rate` times an hour, all joints together.

    2 Q(T_i/σ_i) = rate · period / (3600 s · joints), each joint alike; for residuals without correlation between ticks.
    With correlation as many ticks are above, in fewer alarms: `alarms_of_noise`.
    """
    from scipy.stats import norm

    probability = rate * period / 3600.0 / len(deviation)
    return np.asarray(deviation) * float(norm.isf(0.5 * probability))


def alarms_of_noise(deviation: Array, level: Array, period: float, correlation: Array | float = 0.0) -> float:
    """Alarms an hour that Gaussian noise of residuals gives at constant thresholds, all joints together.

    An alarm begins at a tick above the threshold after one that was not: Σ_i P(|r_k| ≤ T_i, |r_{k+1}| > T_i) / period,
    with the correlation of a residual from one tick to the next (`residual_noise` tells it).
    """
    from scipy.stats import multivariate_normal, norm

    def below(c: float, r: float) -> float:
        """P(a < −c, b < −c) of two normal numbers with a correlation."""
        if r == 0.0:
            return float(norm.sf(c)) ** 2
        cov: Any = [[1.0, r], [r, 1.0]]  # SciPy's signature says a number
        return float(multivariate_normal.cdf([-c, -c], cov=cov))

    total, rho = 0.0, np.broadcast_to(np.asarray(correlation, dtype=float), np.shape(deviation))
    for c, r in zip(np.asarray(level, dtype=float) / np.asarray(deviation, dtype=float), rho):
        total += 2.0 * (float(norm.sf(c)) - below(c, float(r)) - below(c, -float(r)))
    return total * 3600.0 / period


def ticks_until_felt(
    threshold: Threshold, observer: Observer, torque: float, period: float, joint: int = 0, longest: float = 10.0
) -> float:
    """Ticks from the beginning of a constant torque on one joint until it is felt; infinite if not within `longest` s.

    Noise-free, from rest: parts of the threshold that need speed, effort or friction count nothing. A cusum adds up Σ_k
    (|τ| g(k T) − level) T, g the observer's answer to a step; a constant residual takes decision / (|τ| − level).
    """
    level, decision = _of_joint(threshold.level, joint), _of_joint(threshold.decision, joint)
    residual = abs(torque) * observer.responses(period * np.arange(1, round(longest / period) + 1))
    if threshold.kind == "cusum":
        above = cusum_of(residual, level, period) > threshold.scale * decision
    else:
        above = np.abs(residual) > threshold.scale * level
    return first_in_a_row(above, threshold.confirm)


def _of_joint(value: PerJoint, joint: int) -> float:
    """The number of one joint, of one for all or one each."""
    each = np.ravel(np.asarray(value, dtype=float))
    if each.size > 1 and not 0 <= joint < each.size:
        raise InvalidInput(f"joint must be between 0 and {each.size - 1}, got {joint}")
    return float(each[joint if each.size > 1 else 0])


def cusum_of(residual: Array, drift: Array | float, period: float) -> Array:
    """S of residuals, tick by tick along the first axis: S ← max(0, S + (|r| − drift) T)."""
    steps = np.cumsum((np.abs(residual) - drift) * period, axis=0)
    return steps - np.minimum.accumulate(np.minimum(steps, 0.0), axis=0)


def first_in_a_row(above: Array, confirm: int) -> float:
    """The number, from 1, of the first tick that ends `confirm` true ones in a row; infinite if there is none."""
    row = np.convolve(above.astype(int), np.ones(confirm, int))[: len(above)] >= confirm
    ticks = np.flatnonzero(row)
    return float(ticks[0] + 1) if ticks.size else math.inf


@dataclass(frozen=True)
class StatedRate:
    """A false-alarm rate: probability that one motion without contact gives an alarm.

    Attributes:
        scale: factor on the thresholds.
        probability: k / (N + 1).
        rank, motions: k and N.
        seconds: of one motion.
    """

    scale: float
    probability: float
    rank: int
    motions: int
    seconds: float

    @property
    def per_hour(self) -> float:
        """Alarms per hour of such motions, at most one each."""
        return self.probability * 3600.0 / self.seconds


def scale_for(peaks: Array, probability: float, seconds: float) -> StatedRate:
    """The scale at which a new motion gives a false alarm with a probability, from the peaks of N motions.

    The probability is rounded down to k / (N + 1): at least one motion must lie above.
    """
    n = len(peaks)
    rank = int(probability * (n + 1) + 1e-9)
    if rank < 1:
        raise InvalidInput(
            f"a false-alarm probability of {probability:g} a motion needs at least {math.ceil(1 / probability) - 1}"
            f" motions without contact, got {n}"
        )
    ordered = np.sort(np.asarray(peaks, dtype=float))[::-1]
    return StatedRate(float(ordered[rank - 1]), rank / (n + 1), rank, n, seconds)


def expected_alarms(stated: StatedRate, motions: int, confidence: float = 0.95) -> tuple[int, int]:
    """Between which numbers of false alarms in new motions the count lies with a confidence.

    The probability of an alarm, over calibrations, is Beta(k, N + 1 − k); so the count is beta-binomial.
    """
    from scipy.stats import betabinom

    law = betabinom(motions, stated.rank, stated.motions + 1 - stated.rank)
    tail = 0.5 * (1.0 - confidence)
    return int(law.ppf(tail)), int(law.ppf(1.0 - tail))


def interval_of_probability(alarms: int, motions: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper–Pearson interval of the probability behind a count."""
    from scipy.stats import beta

    tail = 0.5 * (1.0 - confidence)
    low = 0.0 if alarms == 0 else float(beta.ppf(tail, alarms, motions - alarms + 1))
    high = 1.0 if alarms == motions else float(beta.ppf(1.0 - tail, alarms + 1, motions - alarms))
    return low, high
