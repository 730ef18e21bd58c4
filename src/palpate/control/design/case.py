"""One axis on a wall, in numbers: what a person must know to ask whether it will be stable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from palpate.checks import Array, finite_number
from palpate.control.design.linear.closed_loop import ClosedLoop
from palpate.control.design.linear.law_models import ADMITTANCE, LawModel, TaskModel, ToolGains
from palpate.control.design.linear.loop_model import COMMANDS, Command, LinearLaw, LinearPlant, Timing, close
from palpate.control.law import Law
from palpate.errors import InvalidInput, check_names
from palpate.forking import cached_property

_STANDING = 1e-9  # in z: a velocity servo without trim remembers no position, and holds any


@dataclass(frozen=True)
class ContactCase:
    """One axis of mass m under a law, on a wall: m ẍ = u − b ẋ − K_w x − B_w ẋ.

    With F = −K_w x − B_w ẋ as measured, and the set points left out:

        IMPEDANCE          u = −K x − D ẋ
        SHAPED_IMPEDANCE   u = (m̂/M_d) (−K x − D ẋ) + (m̂/M_d − 1) F
        INTEGRAL_FORCE     u = k_i ∫F dt − D ẋ            (D = d m̂)
        DIRECT_FORCE       u = k_p F + k_i ∫F dt − D ẋ
        PARALLEL_FORCE     u = k_p F + k_i ∫F dt − K x − D ẋ
        HYBRID_FORCE       as DIRECT_FORCE, D = d m̂
        ADMITTANCE         M Δẍ + D Δẋ + K Δx = F, Δx followed by a servo
        SERVO_FORCE        ẋ_c = k_i F, x_c followed by a servo

    Attributes:
        kind: one of these equations of `design.law_models`, or the class of a law, which names its own.
        mass: m, kg, rotors included; with a servo it may be infinite: no force then disturbs the servo.
        stiffness, damping: K, N/m, and D, N·s/m, of the law.
        shaped_mass: M or M_d, kg.
        integral: k_i, 1/s; of SERVO_FORCE m/(N·s).
        proportional: k_p.
        own_damping: b, N·s/m.
        model_mass: m̂, kg, what the law takes the mass for; m if not given.
        wall_stiffness, wall_damping: K_w, N/m, and B_w, N·s/m; 0 for free motion.
        servo: a joint servo behind a "position" or "velocity" command, τ = m (ω² e + 2 ω ė), or a "velocity-loop",
            τ = m ω (v_c − v).
        trim: of admittance, 1/s.
        label: what sentences call it; the law's name or the equation's title if empty.
        timing: clock, delays and sensors.
    """

    kind: LawModel | type[Law]
    mass: float
    timing: Timing = field(default_factory=lambda: Timing(1e-3))
    stiffness: float = 0.0
    damping: float = 0.0
    shaped_mass: float = 1.0
    integral: float = 0.0
    proportional: float = 0.0
    own_damping: float = 0.0
    model_mass: float | None = None
    wall_stiffness: float = 0.0
    wall_damping: float = 0.0
    servo: Command = "position"
    trim: float = 0.0
    label: str = ""

    def __post_init__(self) -> None:
        model = getattr(self.kind, "about_rest", self.kind)
        if not isinstance(model, LawModel):
            raise InvalidInput(
                f"the kind of a contact must be a law's class or an equation of design.law_models, got {self.kind!r}",
                hint="for example palpate.control.CartesianImpedance; a law without `about_rest` has no equation",
            )
        object.__setattr__(self, "label", self.label or getattr(self.kind, "name", model.title))
        object.__setattr__(self, "kind", model)
        check_names("servo", [self.servo], COMMANDS[1:])
        if not (self.mass == math.inf and self.model.servo):
            finite_number(self.mass, "mass", above=0.0)
        finite_number(self.shaped_mass, "shaped_mass", above=0.0)
        for name in ("stiffness", "damping", "integral", "proportional", "trim"):
            finite_number(getattr(self, name), name, least=0.0)
        for name in ("own_damping", "wall_stiffness", "wall_damping"):
            finite_number(getattr(self, name), name, least=0.0)
        if self.model_mass is not None:
            finite_number(self.model_mass, "model_mass", above=0.0)
        if self.model.servo and self.servo == "velocity-loop" and self.trim:
            raise InvalidInput("a velocity loop has no trim", hint="use servo='velocity'")

    @property
    def model(self) -> LawModel:
        """The law's equation."""
        return self.kind  # pyright: ignore[reportReturnType]

    @property
    def law(self) -> LinearLaw:
        """The law's matrices, all of one row."""
        one, model = np.eye(1), self.mass if self.model_mass is None else self.model_mass
        model = 1.0 if math.isinf(model) else model
        task = TaskModel(one, model * one, model * one, 0 * one, 0 * one, one, one)
        gains = ToolGains(
            *(x * one for x in (self.stiffness, self.damping, self.shaped_mass)),
            force=np.array([self.model.presses]),
            integral=self.integral,
            proportional=self.proportional,
            joint_damping=self.damping / model,
            servo=self.servo,
            trim=self.trim,
        )
        if self.model.damping == "per mass":
            gains = replace(gains, damping=gains.damping / model)
        return self.model.law(task, gains, self.timing.period)

    @property
    def plant(self) -> LinearPlant:
        """Mass and wall as matrices of one entry."""
        one, W = np.eye(1), np.array([[0.0 if math.isinf(self.mass) else 1.0 / self.mass]])
        K, B = self.wall_stiffness * one, self.wall_damping * one
        return LinearPlant(W, one, self.own_damping * one, 0 * one, K, B, -K, -B)

    @cached_property
    def loop(self) -> ClosedLoop:
        """The closed loop with its poles."""
        return self.loop_at()

    def timed(self, timing: Timing) -> ContactCase:
        """The same with another clock, delays or filters."""
        return replace(self, timing=timing)

    def loop_at(
        self, *, wall: float | None = None, lag: float = 0.0, gain: str = "", factor: float = 1.0
    ) -> ClosedLoop:
        """The loop on another wall, N/m, later by a lag, s, with one gain, or the whole "command", multiplied."""
        case = self if gain in ("", "command") else self.with_gain(gain, factor)
        case = case if wall is None else replace(case, wall_stiffness=wall)
        law = case.law.scaled(factor) if gain == "command" else case.law
        servo_only = self.model is ADMITTANCE and self.servo == "velocity" and self.trim == 0
        return close(case.plant, law, self.timing.later(lag), standing=_STANDING if servo_only else 0.0)

    def with_gain(self, name: str, factor: float) -> ContactCase:
        """The same with one of its `gains` multiplied."""
        check_names(f"gain of {self.label}", [name], self.gains)
        if name == "compliance":
            stiff = {n: getattr(self, n) / factor for n in ("shaped_mass", "damping", "stiffness")}
            return replace(self, **stiff)
        return replace(self, **{name: getattr(self, name) * factor})

    @property
    def gains(self) -> tuple[str, ...]:
        """Gains whose limits are worth knowing; the first is the main one. Compliance is 1/M, 1/D and 1/K together."""
        return tuple(name for name in self.model.gains if name == "compliance" or getattr(self, name) > 0)


@dataclass(frozen=True)
class LimitSearch:
    """How a limit is searched for.

    Attributes:
        step: factor from one value to the next, near the start and far from it.
        tolerance: relative, of the end that is found.
    """

    step: tuple[float, float]
    tolerance: float


FINE = LimitSearch((1.1, 1.3), 1e-10)


def stable_up_to(
    stable: Callable[[float], bool], start: float, *, most: float, first: float, search: LimitSearch = FINE
) -> float:
    """The end of the stable values about `start`, or the nearest stable value below it if `start` is unstable.

    The values are walked through, in steps of a tenth by default (of three tenths far from `start`; the first is
    `first` where start is 0), to the first unstable one, and the end is found by halving. Infinite if `most` is
    reached, 0 if nothing is stable.
    """
    near, far = search.step
    if stable(start):
        low, high = start, max(start * near, start + first)
        while stable(high):
            if high >= most:
                return math.inf
            low, high = high, min(high * (near if high < 100 * max(start, first) else far), most)
    else:
        low, high = start / near, start
        while not stable(low):
            if low < 1e-6 * max(start, first):
                return 0.0
            low, high = low / (near if low > 0.1 * start else far), low
    while high - low > search.tolerance * high:
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def stiffest_stable(stable: Callable[[float], bool], most: float, search: LimitSearch = FINE) -> float:
    """The stiffness, N/m, up to which walls are stable: the end of the softest range of stable ones.

    Looked at are stiffnesses from 1 N/m on, each a tenth (or as `search` says) above the last: the same ones whatever
    the wall that is asked about. Infinite if `most` is reached, 0 if nothing is stable.
    """
    low, step = 1.0, search.step[0]
    while not stable(low):
        low *= step
        if low > most:
            return 0.0
    return stable_up_to(stable, low, most=most, first=0.0, search=replace(search, step=(step, step)))


def port_admittance(case: ContactCase, frequencies: Array) -> Array:
    """Y(jω) = velocity over force at the tool of the free axis; a passive port has Re Y ≥ 0.

    The hold counts as (1 − e^(−sT))/(sT); what sampling folds down from beyond the Nyquist frequency is left out.

    Args:
        case: the axis and its law; its wall is left out.
        frequencies: rad/s, below π/T.
    """
    s = 1j * np.atleast_1d(np.asarray(frequencies, dtype=float))
    timing, law, T = case.timing, case.law, case.timing.period
    z = np.exp(s * T)
    back = _through_state(law, s if not T else None, z)
    rate = s if timing.velocity == "measured" or not T else (1 - 1 / z) / T
    rate = rate * _low_pass(timing.velocity_cutoff, s, T)
    on_x = z**-timing.joint_delay * (
        law.q[0] + back @ law.update_q[:, 0] + rate * (law.v[0] + back @ law.update_v[:, 0])
    )
    on_F = z**-timing.wrench_delay * (law.wrench[0] + back @ law.update_wrench[:, 0])
    on_F = on_F * _low_pass(timing.wrench_cutoff, s, T)
    acts = z**-timing.command_delay * np.exp(-s * timing.lag) * ((1 - 1 / z) / (s * T) if T else 1.0)
    acts = acts * timing.command_share / (1 - (1 - timing.command_share) / z)  # the driver's low-pass
    own = 0.0 if math.isinf(case.mass) else 1.0 / case.mass
    drive, stays = _servo_port(law.command, timing.servo_bandwidth, s, (1 - 1 / z) / T if T else s, own)
    # s² x = (F − b s x)/m + drive · acts · (on_x x + on_F F) − stays · x
    left = s * s + own * case.own_damping * s + stays - drive * acts * on_x
    return s * (own + drive * acts * on_F) / left


def _through_state(law: LinearLaw, s: Array | None, z: Array) -> Array:
    """C (1 − A z⁻¹)⁻¹ (or C (s − A)⁻¹ without a period) at each frequency."""
    one = np.eye(len(law.update))
    inner = s[:, None, None] * one - law.update if s is not None else one - law.update / z[:, None, None]
    return np.linalg.solve(np.swapaxes(inner, 1, 2), np.broadcast_to(law.state[0][:, None], (len(z), len(one), 1)))[
        :, :, 0
    ]


def _servo_port(command: Command, w: float, s: Array, rate: Array, own: float) -> tuple[Array, Array]:
    """How a command accelerates the axis, and how the servo holds it back: (drive, stays)."""
    w = min(w, 1e6)  # a servo without lag, for every frequency that is looked at
    if command == "torque":
        return own + 0 * s, 0 * s
    if command == "velocity-loop":
        return w + 0 * s, w * s
    stays = w * w + 2 * w * s
    return (w * w / s + 2 * w, stays) if command == "velocity" else (w * w + 2 * w * rate, stays)


def _low_pass(cutoff: float | None, s: Array, T: float) -> Array:
    if cutoff is None:
        return np.ones_like(s)
    if not T:
        return 1.0 / (1.0 + s / (2 * np.pi * cutoff))
    stay = np.exp(-2 * np.pi * cutoff * T)
    return (1 - stay) / (1 - stay * np.exp(-s * T))
