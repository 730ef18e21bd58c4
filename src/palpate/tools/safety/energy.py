"""Energy that a law gives to the arm: the book of it, a tank with floor and valve, and a passivity controller.

    W ← W + (τ₋ − ĝ₋)ᵀ (q − q₋)            torque held over a period: exact, whatever the motion in between
    torque laws     the port is the joints without gravity; position and velocity laws: the tool, W ← W − F̄ᵀ J (q − q₋)

Tank: E ← min(E − ΔW, most); of what comes back, ΔW < 0, the share `refill` is kept. A command that would take it below
`floor` is cut by the valve: τ = ĝ + s (τ_law − ĝ) with s = (E − floor) / ((τ_law − ĝ)ᵀ v T) between 0 and 1, and s = 1
where the law takes energy out. A command that acts d periods late may meet any sign of the speed: there Σ |τ_law − ĝ|
|v| (1 + d) T counts. What it lacks below its floor is braked away. Laws of set points (admittance) cannot be scaled by
power, because the servo takes whatever torque it needs: there each step of the set point that does not yield to the
measured wrench is scaled by s = (E − floor) / reserve, at most 1 and at least `creep`. A late admittance that swings
against a wall takes more than comes back, so that s falls, and with it the gain of the loop, until it no longer does.
Set points that are positions make up for what they were scaled by, within 1 / s seconds. Passivity controller: what W
has beyond `budget` is braked away: a = −α v, α = (W − budget) / (T vᵀ M̂ v), at most 1 / (2 T (1 + d)), which a late,
sampled brake can keep without swinging. Literature: Stramigioli et al. 2005, doi 10.1109/TRO.2004.842330 (exact sampled
energy); Ferraguti et al. 2013, doi 10.1109/ICRA.2013.6630610 (tank); Hannaford and Ryu 2002, doi 10.1109/70.988969
(observer, controller).
"""

from __future__ import annotations

import math

from palpate.checks import Array
from palpate.config import Config, setting
from palpate.control.tick import Tick
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Kept, Record, State, Vector, sized

_CATCHES_UP = 1.0  # s, in which a set point makes up for what the valve kept back, with a full tank
_NOTHING = 1e-12  # rad or m


class EnergySettings(Record):
    """Tank and passivity controller; the port is that of the tool for laws of set points."""

    book: bool = False
    tank: bool = False
    at_tool: bool = False
    delay: int = 0
    start: float = 0.0
    floor: float = 0.0
    most: float = math.inf
    refill: float = 1.0
    reserve: float = 1.0
    creep: float = 0.0
    brake: bool = False
    budget: float = 0.0
    most_brake: float = 0.0  # 1/s


class EnergyMemory(Record):
    """The book, the tank, and what valve and brake did."""

    started: Kept[bool] = False
    work: State[float] = 0.0  # W, J
    tank: State[float] = 0.0  # E, J
    flow: Kept[float] = 0.0  # W of power out of the tank in the last period
    valve: Kept[float] = 1.0
    brake: Kept[float] = 0.0  # α, 1/s
    braked: Kept[float] = 0.0  # J, by the passivity controller as it predicted it
    refused: Kept[float] = 0.0  # J, that did not fit into the tank
    least: Kept[float] = math.inf  # of the tank
    closed: Kept[int] = 0  # ticks
    q: State[Vector] = sized("nq")
    gravity: State[Vector] = sized("nv")
    wrench: State[Vector] = sized(6)
    followed: Kept[bool] = False
    point: State[Vector] = sized("nv")  # the law's set point of the tick before
    behind: Kept[Vector] = sized("nv")  # what the set point that goes out lacks of it
    step: Vector = sized("nv")  # scratch


class Tank(Config):
    """An energy tank around the law."""

    start: float = setting(2.0, "J", "energy at the start: what the task may take", ge=0)
    floor: float = setting(0.1, "J", "energy below which the valve closes", ge=0)
    most: float = setting(10.0, "J", "energy that it holds at most; more is let go", gt=0)
    refill: float | None = setting(
        None,
        "1",
        "share kept of energy that comes back; 1 around torques, 0.5 around set points if not given",
        ge=0,
        le=1,
    )
    reserve: float | None = setting(
        None, "J", "energy above the floor below which set points are slowed; half of what is there at the start", gt=0
    )
    creep: float = setting(
        0.02, "1", "least share of a set point's step, with which an empty tank moves on", ge=0, lt=1
    )

    def settings(self, at_tool: bool) -> dict[str, float]:
        """Its numbers for the loop."""
        refill = self.refill if self.refill is not None else (0.5 if at_tool else 1.0)
        reserve = self.reserve if self.reserve is not None else max(0.5 * (self.start - self.floor), 1e-6)
        return {
            "start": self.start,
            "floor": self.floor,
            "most": self.most,
            "refill": refill,
            "reserve": reserve,
            "creep": self.creep,
        }


class Passivity(Config):
    """A passivity observer and controller around the law."""

    budget: float = setting(0.1, "J", "work that the law may do on the arm on the whole before it is braked", ge=0)


@kernel
def keep_book(x: Tick, k: EnergySettings, m: EnergyMemory) -> None:
    """W and E of the period that has just ended."""
    if m.started:
        done = 0.0
        for i in range(x.v.size):
            force = x.tau[i] - m.gravity[i]
            if k.at_tool:
                force = 0.0
                for j in range(6):
                    force -= 0.5 * (m.wrench[j] + x.wrench[j]) * x.J[j, i]
            done += force * (x.q[i] - m.q[i])
        m.work += done
        m.flow = done / x.dt
        kept = min(m.tank - (done if done > 0.0 else k.refill * done), k.most)
        m.refused += m.tank - done - kept
        m.tank = kept
    else:
        m.started, m.tank = True, k.start
    m.least = min(m.least, m.tank)
    put(m.q, 0, x.q)
    put(m.gravity, 0, x.gravity)
    put(m.wrench, 0, x.wrench)


@kernel
def turn_valve(x: Tick, k: EnergySettings, m: EnergyMemory, torque: Vector) -> None:
    """Cut a torque that would empty the tank below its floor; brake away what it lacks."""
    asked, left = 0.0, m.tank - k.floor
    for i in range(x.v.size):
        power = (torque[i] - x.gravity[i]) * x.v[i]
        asked += power * x.dt if k.delay == 0 else abs(power) * x.dt * (1 + k.delay)
    m.valve = 1.0
    if asked > max(left, 0.0):
        m.valve = max(left, 0.0) / asked
        m.closed += 1
        for i in range(x.v.size):
            torque[i] = x.gravity[i] + m.valve * (torque[i] - x.gravity[i])
    brake_excess(x, k, m, -left, torque)


@kernel
def slow_set_points(x: Tick, k: EnergySettings, m: EnergyMemory, positions: bool, point: Vector) -> bool:
    """Scale the step of a set point by what the tank has, unless it yields to the wrench; whether it was changed."""
    n, asked, changed = x.v.size, 0.0, False
    share = min(max(m.tank - k.floor, 0.0) / k.reserve, 1.0)
    for i in range(n):
        m.step[i] = x.dt * point[i]
        if positions:
            m.step[i] = point[i] - m.point[i] if m.followed else 0.0
        for j in range(6):
            asked -= x.wrench[j] * x.J[j, i] * m.step[i]
    m.valve = 1.0 if asked < 0.0 else max(share, k.creep)
    m.closed += 1 if m.valve < 1.0 else 0
    m.followed = True
    if not positions:
        for i in range(n):
            point[i] *= m.valve
        return m.valve < 1.0
    put(m.point, 0, point)
    for i in range(n):
        m.behind[i] += (1.0 - m.valve) * m.step[i] - min(share * x.dt / _CATCHES_UP, 1.0) * m.behind[i]
        if abs(m.behind[i]) > _NOTHING:
            point[i] -= m.behind[i]
            changed = True
        else:
            m.behind[i] = 0.0
    return changed


@kernel
def brake_excess(x: Tick, k: EnergySettings, m: EnergyMemory, excess: float, torque: Vector) -> None:
    """Brake an energy away, as far as a period can: τ −= α M̂ v."""
    moving = 0.0
    for i in range(x.v.size):
        moving += x.v[i] * dot(x.M[i], x.v, x.v.size)
    if excess <= 0.0 or moving <= 1e-12:
        return
    brake = min(excess / (x.dt * moving), k.most_brake)
    m.brake = max(m.brake, brake)
    m.braked += brake * x.dt * moving
    for i in range(x.v.size):
        torque[i] -= brake * dot(x.M[i], x.v, x.v.size)


def schedule_energy(
    amplitude: float, motion: float, *, harmonic: int = 2, phase: float = 0.0, offset: float = 0.0
) -> float:
    """Energy a period of the motion, J, that K(t) = K₀ + A sin(n ω t + φ) gives to e(t) = e₀ + a cos ω t: ½ ∮ K̇ e² dt.

    ½ π A a² cos φ for n = 2, π A a e₀ cos φ for n = 1, 0 for every other whole n: e² has no other harmonics. K₀ gives
    nothing. It is what a tank pays for the schedule, before the hold of a sampled spring (`late_spring_energy`, d = 0).
    """
    along = {1: 2.0 * offset * motion, 2: motion**2}.get(harmonic, 0.0)
    return 0.5 * math.pi * amplitude * along * math.cos(phase)


def late_spring_energy(stiffness: float, motion: float, frequency: float, period: float, delay: int) -> float:
    """Energy a cycle, J, that a sampled spring gives to a motion a sin ωt, held a period T and d periods late.

    π K a² sin((d + ½) ω T) · sin(½ ω T)/(½ ω T), exact for the sampled spring where a cycle is a whole number of
    periods, else the mean over many; frequency in Hz. d = 0 is the hold alone.
    """
    angle = 2.0 * math.pi * frequency * period
    return math.pi * stiffness * motion**2 * math.sin((delay + 0.5) * angle) * math.sin(0.5 * angle) / (0.5 * angle)


def late_damper_energy(damping: float, motion: float, frequency: float, period: float, delay: int) -> float:
    """Energy a cycle, J, that a sampled damper gives to a motion a sin ωt, held a period T and d periods late.

    −π D ω a² cos((d + ½) ω T) · sin(½ ω T)/(½ ω T), of exact speeds: it takes energy out while it is less than a
    quarter cycle late. With `late_spring_energy` it tells whether both together are passive at a frequency.
    """
    angle = 2.0 * math.pi * frequency * period
    lag = math.cos((delay + 0.5) * angle) * math.sin(0.5 * angle) / (0.5 * angle)
    return -math.pi * damping * 2.0 * math.pi * frequency * motion**2 * lag


def sampled_work(torque: Array, q: Array) -> float:
    """Σ τ_k (q_{k+1} − q_k) of one joint, J: the work of a held torque."""
    return float(torque[:-1] @ (q[1:] - q[:-1]))
