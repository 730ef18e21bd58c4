"""The loop in matrices: an arm (or one axis) on a wall, a linear law, and the clock, sensors and servo between them.

    plant   M q̈ = τ − (B + B_c) q̇ − (K_c + G) q,   measured wrench F = F_q q + F_v q̇
    law     ξ_k = A ξ_{k−1} + B_q q̂_k + B_v v̂_k + B_f F̂_k,   u_k = C ξ_k + D_q q̂_k + D_v v̂_k + D_f F̂_k
    timing  readings of tick k arrive some samples late; u_k acts some samples later and is held for a period

all as deviations from rest. The order of a tick is that of a run: measure, decide, act until the next tick.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from palpate.checks import Array, finite_number
from palpate.control.design.linear.closed_loop import ClosedLoop
from palpate.errors import InvalidInput, NoSolution

Command = Literal["torque", "position", "velocity", "velocity-loop"]
COMMANDS: tuple[Command, ...] = ("torque", "position", "velocity", "velocity-loop")
MOST_SAMPLES = 20_000  # of delay, beyond which no loop is predicted


@dataclass(frozen=True)
class Timing:
    """When things are measured, decided and done; and how well.

    Attributes:
        period: T of the controller, s; 0 for a controller without a clock (then delays are given by `lag` alone).
        joint_delay, wrench_delay: samples until a joint or wrench reading arrives.
        command_delay: samples until a command takes effect.
        command_cutoff: of the driver's first-order low-pass on commands, Hz; none if not given.
        adds_gravity: whether the driver adds gravity by itself, neither filtered nor late.
        lag: a further delay of the command, s, of any length.
        velocity: joint velocities as measured, or as backward differences of the positions.
        velocity_cutoff, wrench_cutoff: of first-order low-passes, Hz; none if not given.
        servo_bandwidth: ω of the joint servo, rad/s; infinite for one that follows at once.
        physics_step: of a simulation, s, instead of exact physics between the ticks.
        integrator: of that simulation.
    """

    period: float
    joint_delay: int = 0
    wrench_delay: int = 0
    command_delay: int = 0
    command_cutoff: float | None = None
    adds_gravity: bool = False
    lag: float = 0.0
    velocity: Literal["measured", "differentiated"] = "measured"
    velocity_cutoff: float | None = None
    wrench_cutoff: float | None = None
    servo_bandwidth: float = 60.0
    physics_step: float | None = None
    integrator: Integrator = "euler"

    def __post_init__(self) -> None:
        finite_number(self.period, "period", least=0.0)
        finite_number(self.lag, "lag", least=0.0)
        for name in ("joint_delay", "wrench_delay", "command_delay"):
            samples = getattr(self, name)
            if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 0:
                raise InvalidInput(f"{name} must be a whole number of samples, at least 0, got {samples!r}")
            if samples and self.period == 0:
                raise InvalidInput(f"{name} needs a period; without one give the delay as lag, s")
        if self.velocity not in ("measured", "differentiated"):
            raise InvalidInput(f"velocity must be 'measured' or 'differentiated', got {self.velocity!r}")
        for name in ("velocity_cutoff", "wrench_cutoff", "command_cutoff"):
            if getattr(self, name) is not None:
                finite_number(getattr(self, name), name, above=0.0)
        if not self.servo_bandwidth > 0:
            raise InvalidInput(f"servo_bandwidth must be greater than 0, got {self.servo_bandwidth!r}")
        if self.command_cutoff is not None and not 0 < self.command_cutoff * self.period <= 0.5:
            raise InvalidInput(
                f"command_cutoff of {self.command_cutoff:g} Hz must be at most half the control rate",
                hint="give a period, and a cut-off of at most 1/(2 period)",
            )
        self._check_physics_step()

    def _check_physics_step(self) -> None:
        if self.physics_step is None:
            return
        step = finite_number(self.physics_step, "physics_step", above=0.0)
        if self.period == 0 or abs(round(self.period / step) * step - self.period) > 1e-6 * self.period:
            raise InvalidInput(f"the period {self.period:g} s must be a whole multiple of the physics step {step:g} s")

    @property
    def delay(self) -> float:
        """Longest way from a joint reading to its effect, hold not counted, s."""
        return self.period * (self.joint_delay + self.command_delay) + self.lag

    @property
    def command_lag(self) -> float:
        """How late the driver's low-pass makes a slow command, 1/(2π f), s."""
        return 1.0 / (2.0 * np.pi * self.command_cutoff) if self.command_cutoff else 0.0

    @property
    def command_share(self) -> float:
        """g = T / (T + 1/(2π f)) of that low-pass; 1 without one."""
        return self.period / (self.period + self.command_lag) if self.command_cutoff else 1.0

    def later(self, lag: float) -> Timing:
        """The same with a further delay, s."""
        return replace(self, lag=self.lag + lag)


@dataclass(frozen=True)
class LinearPlant:
    """What moves: n coordinates and the wall, as deviations from rest; m measured wrench components.

    Attributes:
        mobility: M⁻¹, n×n; 0 for a servo that no force can move.
        servo: M⁻¹ (M̂ + rotors), n×n: what a servo's acceleration command becomes.
        damping, gravity: B and G = ∂g/∂q, n×n.
        wall_stiffness, wall_damping: K_c and B_c, n×n.
        felt_q, felt_v: F = felt_q q + felt_v q̇, m×n.
    """

    mobility: Array
    servo: Array
    damping: Array
    gravity: Array
    wall_stiffness: Array
    wall_damping: Array
    felt_q: Array
    felt_v: Array

    @property
    def freedoms(self) -> int:
        """n."""
        return len(self.mobility)


@dataclass(frozen=True)
class LinearLaw:
    """A law around rest; without a period the update is the rate of change of ξ.

    Attributes:
        command: what u is.
        update, update_q, update_v, update_wrench: A, B_q, B_v, B_f.
        state, q, v, wrench: C, D_q, D_v, D_f.
    """

    command: Command
    update: Array
    update_q: Array
    update_v: Array
    update_wrench: Array
    state: Array
    q: Array
    v: Array
    wrench: Array

    @classmethod
    def over(cls, command: Command, joints: int, wrenches: int, **matrices: Array) -> LinearLaw:
        """The law of some joints and wrench components with these matrices; the others are 0."""
        n, m, k = joints, wrenches, len(matrices.get("update", ()))
        shapes = {"update": (k, k), "update_q": (k, n), "update_v": (k, n), "update_wrench": (k, m)}
        shapes |= {"state": (n, k), "q": (n, n), "v": (n, n), "wrench": (n, m)}
        return cls(command, **({name: np.zeros(shape) for name, shape in shapes.items()} | matrices))

    def scaled(self, factor: float) -> LinearLaw:
        """The same with its whole command multiplied."""
        outputs = {name: factor * getattr(self, name) for name in ("state", "q", "v", "wrench")}
        return replace(self, **outputs)


class DelayedSum(dict[int, Array]):
    """A linear function of past states: the sum over delays of matrix @ state `delay` samples ago."""

    __array_ufunc__ = None  # so that numpy leaves `matrix @ late` to this class

    def __add__(self, other: DelayedSum) -> DelayedSum:
        total = DelayedSum(self)
        for delay, matrix in other.items():
            total[delay] = total[delay] + matrix if delay in total else matrix
        return total

    def __rmatmul__(self, factor: Array) -> DelayedSum:
        return DelayedSum({delay: factor @ matrix for delay, matrix in self.items()})

    def scaled(self, factor: float) -> DelayedSum:
        """The same times a number."""
        return DelayedSum({delay: factor * matrix for delay, matrix in self.items()})

    def later(self, samples: int) -> DelayedSum:
        """The same, some samples ago."""
        return DelayedSum({delay + samples: matrix for delay, matrix in self.items()})


def close(plant: LinearPlant, law: LinearLaw, timing: Timing, *, standing: float = 0.0) -> ClosedLoop:
    """The closed loop of a plant under a law with this timing."""
    late = max(timing.joint_delay, timing.wrench_delay) + timing.command_delay
    if late + (timing.lag / timing.period if timing.period else 0.0) > MOST_SAMPLES:
        raise NoSolution(f"a delay of more than {MOST_SAMPLES} samples is beyond what is worth predicting")
    with np.errstate(over="ignore", invalid="ignore"):  # a loop that overflows counts as unstable
        if timing.period == 0:
            return _continuous(plant, law, timing, standing)
        return _sampled(plant, law, timing, standing)


def _sampled(plant: LinearPlant, law: LinearLaw, timing: Timing, standing: float) -> ClosedLoop:
    """State [plant; ξ_{k−1}; filtered v_{k−1}; filtered F_{k−1}; filtered u_{k−1}]."""
    low_v = plant.freedoms if timing.velocity_cutoff else 0
    low_F = len(plant.felt_q) if timing.wrench_cutoff else 0
    low_u = plant.freedoms if timing.command_cutoff else 0
    states = (3 if law.command == "velocity" else 2) * plant.freedoms
    pick = _picker([states, len(law.update), low_v, low_F, low_u])
    q, v, F = _fresh(plant, timing, pick)
    q_seen, v_seen, F_seen = q.later(timing.joint_delay), v.later(timing.joint_delay), F.later(timing.wrench_delay)
    xi = DelayedSum({0: law.update @ pick[1]})
    xi += (law.update_q @ q_seen) + (law.update_v @ v_seen) + (law.update_wrench @ F_seen)
    u = (law.state @ xi) + (law.q @ q_seen) + (law.v @ v_seen) + (law.wrench @ F_seen)
    # Gravity that the driver adds reaches the joints beside the command, not through it.
    apart = timing.adds_gravity and law.command == "torque"
    added = DelayedSum({0: plant.gravity @ pick[0][: plant.freedoms]}) if apart else DelayedSum()
    u = u + (-plant.gravity @ q_seen if added else DelayedSum())
    u = _low_passed(u.later(timing.command_delay), timing.command_share, pick[4])
    total = pick[0].T @ _moved(plant, law, timing, u + added, pick[0]) + pick[1].T @ xi
    if low_v:
        total += pick[2].T @ v
    if low_F:
        total += pick[3].T @ F
    if low_u:
        total += pick[4].T @ u
    return ClosedLoop(total, timing.period, standing)


def _picker(sizes: list[int]) -> list[Array]:
    """Rows of the identity that pick each part of a state."""
    whole, ends = np.eye(sum(sizes)), np.cumsum(sizes)
    return [whole[end - size : end] for size, end in zip(sizes, ends)]


def _fresh(plant: LinearPlant, timing: Timing, pick: list[Array]) -> tuple[DelayedSum, DelayedSum, DelayedSum]:
    """This tick's readings of q, v and F, filtered."""
    n, T = plant.freedoms, timing.period
    q, v = DelayedSum({0: pick[0][:n]}), DelayedSum({0: pick[0][n : 2 * n]})
    F = DelayedSum({0: plant.felt_q @ pick[0][:n] + plant.felt_v @ pick[0][n : 2 * n]})
    if timing.velocity == "differentiated":
        v = (q + q.later(1).scaled(-1.0)).scaled(1 / T)
    v_low = _low_passed(v, sensor_share(timing.velocity_cutoff, T), pick[2])
    return q, v_low, _low_passed(F, sensor_share(timing.wrench_cutoff, T), pick[3])


def sensor_share(cutoff: float | None, period: float) -> float:
    """1 − e^(−2π f T) of the loop's sensors; 1 without a low-pass."""
    return 1.0 if cutoff is None else -float(np.expm1(-2 * np.pi * cutoff * period))


def _low_passed(fresh: DelayedSum, share: float, last: Array) -> DelayedSum:
    """y_k = y_{k−1} + share (x_k − y_{k−1})."""
    return fresh if share == 1.0 else fresh.scaled(share) + DelayedSum({0: (1 - share) * last})


def _moved(plant: LinearPlant, law: LinearLaw, timing: Timing, u: DelayedSum, pick: Array) -> DelayedSum:
    """The plant's state one period on, under the command u that acts from this tick (and `lag` later) on."""
    T = timing.period
    whole = int(np.floor(timing.lag / T + 1e-9))
    late = max(timing.lag - whole * T, 0.0)
    late = 0.0 if late < 1e-9 * T else late
    u = u.later(whole)
    if law.command == "position":
        u = np.vstack([np.eye(plant.freedoms), np.eye(plant.freedoms) / T]) @ u + (
            np.vstack([np.zeros((plant.freedoms,) * 2), -np.eye(plant.freedoms) / T]) @ u.later(1)
        )
    Phi, now, before = _over_period(plant, law.command, timing, late)
    moved = DelayedSum({0: Phi @ pick}) + now @ u
    return moved + before @ u.later(1) if late else moved


def _over_period(plant: LinearPlant, command: Command, timing: Timing, late: float) -> tuple[Array, Array, Array]:
    """Φ, Γ of this tick's command and Γ of the last one's, which still acts for the first `late` seconds."""
    T = timing.period
    if command != "torque" and np.isinf(timing.servo_bandwidth):
        return _ideal_servo(plant.freedoms, command, T, late)
    A, B = state_space(plant, command, timing.servo_bandwidth)

    def over(time: float) -> tuple[Array, Array]:
        if timing.physics_step is None:
            return held(A, B, time)
        damper = plant.mobility @ plant.damping
        steps = round(time / timing.physics_step)
        return substepped(A, B, steps, timing.physics_step, integrator=timing.integrator, damper=damper)

    Phi, now = over(T - late)
    Phi_late, before = over(late) if late else (np.eye(len(A)), np.zeros_like(B))
    return Phi @ Phi_late, now, Phi @ before


def _ideal_servo(n: int, command: Command, T: float, late: float) -> tuple[Array, Array, Array]:
    """A servo without lag: q runs at the commanded velocity; a position is reached at the period's end."""
    one, zero = np.eye(n), np.zeros((n, n))
    Phi = np.block([[one, zero], [zero, zero]])
    now, before = np.vstack([(T - late) * one, one]), np.vstack([late * one, zero])
    if command == "position":  # the last one is reached `late` into the period, then the way to this one begins
        return 0 * Phi, np.block([[one, -late * one], [zero, one]]), np.zeros((2 * n, 2 * n))
    if command == "velocity":
        Phi, now, before = np.pad(Phi, ((0, n), (0, n))), np.vstack([now, zero]), np.vstack([before, zero])
    return Phi, now, before


def state_space(plant: LinearPlant, command: Command, bandwidth: float) -> tuple[Array, Array]:
    """ẋ = A x + B u of plant and servo: x = [q; v], with [q_s] for a velocity servo; u as `command` says.

    position: q̈ = M⁻¹(M̂ + rotors) (ω² (u₁ − q) + 2 ω (u₂ − v)) + …, u₂ the velocity that leads to u₁ in a period;
    velocity: the same with u₁ = q_s, q̇_s = u;   velocity-loop: q̈ = M⁻¹(M̂ + rotors) ω (u − v) + ….
    """
    n, W, S, w = plant.freedoms, plant.mobility, plant.servo, bandwidth
    zero, one = np.zeros((n, n)), np.eye(n)
    pull = W @ (plant.wall_stiffness + plant.gravity)
    drag = W @ (plant.damping + plant.wall_damping)
    if command == "torque":
        return np.block([[zero, one], [-pull, -drag]]), np.vstack([zero, W])
    if command == "velocity-loop":
        return np.block([[zero, one], [-pull, -drag - w * S]]), np.vstack([zero, w * S])
    pull, drag = W @ plant.wall_stiffness + w * w * S, drag + 2 * w * S  # the servo carries the weight
    if command == "position":
        return np.block([[zero, one], [-pull, -drag]]), np.block([[zero, zero], [w * w * S, 2 * w * S]])
    A = np.block([[zero, one, zero], [-pull, -drag, w * w * S], [zero, zero, zero]])
    return A, np.vstack([zero, 2 * w * S, one])


def _continuous(plant: LinearPlant, law: LinearLaw, timing: Timing, standing: float) -> ClosedLoop:
    """State [plant; ξ; filtered v; filtered F]; the command alone is late."""
    n, memory, m = plant.freedoms, len(law.update), len(plant.felt_q)
    if law.command != "torque" and np.isinf(timing.servo_bandwidth):
        return _continuous_ideal(plant, law, timing, standing)
    if law.command == "position":
        raise InvalidInput("a position servo needs a period; without one use the velocity servo, which is the same")
    A, B = state_space(plant, law.command, timing.servo_bandwidth)
    sizes = [len(A), memory, n if timing.velocity_cutoff else 0, m if timing.wrench_cutoff else 0]
    x, xi, v_low, F_low = _picker(sizes)
    q, v = x[:n], x[n : 2 * n]
    F = plant.felt_q @ q + plant.felt_v @ v
    v_seen, F_seen = (v_low if timing.velocity_cutoff else v), (F_low if timing.wrench_cutoff else F)
    rate = law.update @ xi + law.update_q @ q + law.update_v @ v_seen + law.update_wrench @ F_seen
    u = law.state @ xi + law.q @ q + law.v @ v_seen + law.wrench @ F_seen
    X = x.T @ A @ x + xi.T @ rate
    for low, fresh, cutoff in ((v_low, v, timing.velocity_cutoff), (F_low, F, timing.wrench_cutoff)):
        X = X + low.T @ (2 * np.pi * (cutoff or 0.0) * (fresh - low if cutoff else low))
    late = x.T @ B @ u
    return ClosedLoop({0: X + late} if timing.lag == 0 else {0: X, timing.lag: late}, 0.0, standing)


def _continuous_ideal(plant: LinearPlant, law: LinearLaw, timing: Timing, standing: float) -> ClosedLoop:
    """State [q; ξ], q̇ = u."""
    if plant.felt_v.any() or law.update_v.any() or law.v.any() or timing.wrench_cutoff or timing.velocity_cutoff:
        raise InvalidInput(
            "without a period, a servo without lag takes neither wall damping nor velocities nor low-passes",
            hint="give a period, or a servo_bandwidth",
        )
    q, xi = _picker([plant.freedoms, len(law.update)])
    rate = law.update @ xi + (law.update_q + law.update_wrench @ plant.felt_q) @ q
    u = law.state @ xi + (law.q + law.wrench @ plant.felt_q) @ q
    X, late = xi.T @ rate, q.T @ u
    return ClosedLoop({0: X + late} if timing.lag == 0 else {0: X, timing.lag: late}, 0.0, standing)


# ---------------------------------------- From one control tick to the next: a linear plant under a held command,
# exactly or as a simulation steps it


Integrator = Literal["euler", "implicit", "rk4"]


def held(A: Array, B: Array, time: float) -> tuple[Array, Array]:
    """Φ = exp(A t) and Γ = ∫₀ᵗ exp(A s) ds B: ẋ = A x + B u with u held for a time t (zero-order hold).

    A is balanced first, so that a wall of 10⁹ N/m costs no digits.
    """
    n, m = B.shape
    if time <= 0.0:
        return np.eye(n), np.zeros((n, m))
    return _held(A.tobytes(), np.ascontiguousarray(B).tobytes(), n, m, float(time))


@lru_cache(maxsize=256)  # a search over gains asks for the same plant again and again
def _held(A_bytes: bytes, B_bytes: bytes, n: int, m: int, time: float) -> tuple[Array, Array]:
    from scipy.linalg import expm, matrix_balance

    A, B = np.frombuffer(A_bytes).reshape(n, n), np.frombuffer(B_bytes).reshape(n, m)
    balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = balanced, B / scale[:, None]
    whole = expm(block * time)
    Phi, Gamma = scale[:, None] * whole[:n, :n] / scale, scale[:, None] * whole[:n, n:]
    Phi.setflags(write=False)
    Gamma.setflags(write=False)
    return Phi, Gamma


def substepped(
    A: Array, B: Array, count: int, step: float, *, integrator: Integrator = "euler", damper: Array | None = None
) -> tuple[Array, Array]:
    """Φ and Γ of `count` physics steps of a simulation, with u held; x = [q; v; further states], q and v first.

    "euler" and "implicit" are the engine's semi-implicit step: v⁺ = v + h (1 + h M⁻¹B)⁻¹ a(q, v, u), q⁺ = q + h v⁺,
    joint damping B implicit and every other force explicit. "rk4" is the classical Runge–Kutta step.

    Args:
        A, B: ẋ = A x + B u.
        count: physics steps.
        step: h, s.
        integrator: as a run has it.
        damper: M⁻¹B, n×n over the velocities.
    """
    one = _runge_kutta_step(A, B, step) if integrator == "rk4" else _euler_step(A, B, step, damper)
    n, m = B.shape
    block = np.eye(n + m)
    block[:n] = one
    whole = np.linalg.matrix_power(block, count)
    return whole[:n, :n], whole[:n, n:]


def _runge_kutta_step(A: Array, B: Array, h: float) -> Array:
    """[Φ, Γ] of one step: of a linear system, the exponential's series up to h⁴."""
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A * h, B * h
    term = total = np.eye(n + m)
    for k in range(1, 5):
        term = term @ block / k
        total = total + term
    return total[:n]


def _euler_step(A: Array, B: Array, h: float, damper: Array | None) -> Array:
    size, m = B.shape
    n = size // 2 if damper is None else len(damper)
    rate = np.hstack([A, B])
    if damper is not None and damper.any():
        rate[n : 2 * n] = np.linalg.solve(np.eye(n) + h * damper, rate[n : 2 * n])
    new = np.eye(size, size + m) + h * rate
    new[:n] = np.eye(n, size + m) + h * new[n : 2 * n]  # positions with the new velocities
    return new
