"""What to expect of a contact: poles, limits, passivity, in numbers and in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from palpate.checks import Array, finite_array, finite_number
from palpate.control.design.case import FINE, ContactCase, LimitSearch, port_admittance, stable_up_to, stiffest_stable
from palpate.control.design.linear.closed_loop import DENSE_MOST, ClosedLoop
from palpate.control.design.linear.law_models import IMPEDANCE
from palpate.control.design.linear.loop_model import Timing
from palpate.errors import InvalidInput, NoSolution, UnknownName

if TYPE_CHECKING:
    from palpate.control.design.arm import ArmContact

RIGID = 1e9  # N/m: stable up to here counts as stable on every wall
LONGEST = 1000  # periods: stable with so much more delay counts as stable with any
MOST_LAGS = 100  # critical delays that are tried
LONG = LimitSearch((1.25, 1.5), 1e-7)  # of limits where every look takes a while
_OF_DELAYS = LimitSearch((1.25, 1.5), 1e-4)
CLOSE = 1.3  # a limit within this factor is worth a warning


@dataclass(frozen=True)
class ContactPrediction:
    """What to expect of a law on a wall.

    Attributes:
        axis: the contact as one axis along the wall's normal.
        poles: of the closed loop, fastest growing first (see `ClosedLoop.poles`).
        radius: the largest |pole|; above 1 the contact is unstable.
        rate: how fast the slowest motion dies out, 1/s; negative if it grows.
        frequency: at which that motion swings, Hz.
        stable: whether it dies out; None where nothing could be predicted, and `sentences` say why.
        largest_wall_stiffness: N/m, up to which walls are stable with this law, whatever the wall that was asked about
            (see `stiffest_stable`); infinite if every wall up to 1e9 N/m is.
        largest_delay: how much later the command may come still, s; 0 if it is unstable already, infinite if it is
            stable with every delay that was tried.
        largest_gains: by name, the factor by which that gain alone may be multiplied.
        passive_below: Hz, up to which the free tool takes energy from whatever it meets; infinite if always.
        passivity_margin: own damping − K (T/2 + delay) − |D|, N·s/m, of an impedance; above 0 no passive environment
            can make it unstable. None for other laws.
        joint: name of the joint that moves most in the leading pole's motion; empty for one axis.
        delay_tried: s, the largest further delay that was tried; infinite for one axis, where all are known.
        sentences: all this to read.
    """

    axis: ContactCase
    poles: Array
    radius: float
    rate: float
    frequency: float
    stable: bool | None
    largest_wall_stiffness: float
    largest_delay: float
    largest_gains: Mapping[str, float]
    passive_below: float
    passivity_margin: float | None
    joint: str = ""
    delay_tried: float = math.inf
    sentences: tuple[str, ...] = ()

    @property
    def margin(self) -> float:
        """1 − radius."""
        return 1.0 - self.radius

    @property
    def largest_gain(self) -> float:
        """The factor by which the law's main gain may be multiplied (the first of `largest_gains`)."""
        return next(iter(self.largest_gains.values()), math.inf)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should read before the run: an unstable contact, or one within a factor 1.3 of it."""
        if self.stable is None:
            return self.sentences
        if not self.stable:
            return (" ".join(self.sentences[:2]),)
        wall = self.largest_wall_stiffness / max(self.axis.wall_stiffness, 1e-300)
        near = min([wall, *self.largest_gains.values()], default=math.inf)
        return (" ".join(("close to unstable:", *self.sentences[:2])),) if near < CLOSE else ()


def predict_contact(case: ContactCase, *, limits: bool = True) -> ContactPrediction:
    """Poles, limits and passivity of one axis on a wall, exact for the sampled loop (see `ContactCase`).

    Args:
        case: the axis, its law and the wall.
        limits: whether to look for the largest wall stiffness, delay and gains too, which takes most of the time.
    """
    try:
        return predicted(case, case.loop_at, limits=limits)
    except (NoSolution, np.linalg.LinAlgError) as error:
        return unknown(case, str(error))


LoopAt = Callable[..., ClosedLoop]  # see `ContactCase.loop_at`


def predicted(
    case: ContactCase,
    loop_at: LoopAt,
    *,
    limits: bool = True,
    joint: str = "",
    search: LimitSearch | None = None,
    longest_delay: float = math.inf,
) -> ContactPrediction:
    """A prediction from the loops of a contact, whose axis along the wall's normal is `case`.

    Args:
        case: the axis.
        loop_at: the loop with other walls, delays and gains.
        limits: whether to look for the limits.
        joint: see `ContactPrediction`.
        search: how the limits are searched for.
        longest_delay: up to which the largest delay is searched for, by steps of a quarter period and more; infinite to
            find it from the delays at which poles pass the boundary of stability.
    """
    loop, T = loop_at(), case.timing.period
    search = search or (FINE if loop.states <= DENSE_MOST else LONG)
    wall, gains = _limits(case, loop_at, search) if limits else (math.nan, {})
    tried = longest_delay if T else math.inf
    delay = math.nan if not limits else 0.0
    if limits and loop.stable and math.isinf(tried):
        delay = _largest_delay(T, loop_at)
    elif limits and loop.stable:
        delay = stable_up_to(lambda lag: loop_at(lag=lag).stable, 0.0, most=tried, first=T / 4, search=_OF_DELAYS)
    prediction = ContactPrediction(
        case, loop.poles, loop.radius, loop.rate, loop.frequency, loop.stable, wall, delay, gains,
        passive_below(case) if loop.stable else 0.0, passivity_margin(case), joint, tried,
    )  # fmt: skip
    limits_told = [_limits_in_words(prediction)] if prediction.largest_gains else []
    sentences = (_verdict(prediction), *limits_told, _passivity_in_words(prediction))
    return replace(prediction, sentences=sentences)


def unknown(case: ContactCase, why: str) -> ContactPrediction:
    """The prediction where nothing can be predicted."""
    nan = math.nan
    return ContactPrediction(
        case, np.zeros(0, complex), nan, nan, nan, None, nan, nan, {}, nan, None, sentences=(f"not predicted: {why}",)
    )


def _limits(case: ContactCase, loop_at: LoopAt, search: LimitSearch) -> tuple[float, dict[str, float]]:
    def largest(gain: str) -> float:
        return stable_up_to(
            lambda factor: loop_at(gain=gain, factor=factor).stable, 1.0, most=1e9, first=0.1, search=search
        )

    wall = stiffest_stable(lambda stiffness: loop_at(wall=stiffness).stable, RIGID, search)
    return wall, {gain: largest(gain) for gain in case.gains}


def _largest_delay(T: float, loop_at: LoopAt) -> float:
    """The first further delay at which a stable loop stops being so: the critical one, made exact within its hold."""

    def later(lag: float) -> bool:
        return loop_at(lag=lag).stable

    longest = LONGEST * T if T else 100.0
    critical = loop_at().critical_lags(loop_at(gain="command", factor=0.0), longest)
    known = 0.0
    for lag, after in list(zip(critical, [*critical[1:], longest]))[:MOST_LAGS]:
        if after - lag < 1e-3 * (T or lag):
            continue
        between = min((lag + after) / 2, lag + 2 * T) if T else (lag + after) / 2
        if not later(between):
            return stable_up_to(later, known, most=between, first=between - known)
        known = between
    return math.inf


def passivity_margin(case: ContactCase) -> float | None:
    """b − K (T/2 + delay) − |D|, N·s/m: the condition for a sampled virtual wall (an impedance only)."""
    if case.model is not IMPEDANCE:
        return None
    late = case.timing.period / 2 + case.timing.delay + case.timing.command_lag
    return case.own_damping - case.stiffness * late - abs(case.damping)


def passive_below(case: ContactCase) -> float:
    """The frequency, Hz, up to which the free axis takes energy from a wrench at the tool: Re Y(jω) ≥ 0.

    See `port_admittance` for what is left out. Infinite where it holds up to the Nyquist frequency.
    """
    T = case.timing.period
    w = np.geomspace(1e-2, 0.999 * math.pi / T if T else 1e5, 400)
    try:
        with np.errstate(all="ignore"):
            Y = port_admittance(case, w)
            taking = ~(np.real(Y) < -1e-9 * np.abs(Y))
    except np.linalg.LinAlgError:  # gains beyond all numbers
        return 0.0
    return math.inf if taking.all() else 0.0 if not taking[0] else float(w[np.argmin(taking)]) / (2 * math.pi)


# ------------------------------------------------------------------ in words


def _verdict(prediction: ContactPrediction) -> str:
    case, timing = prediction.axis, prediction.axis.timing
    late = f", {1e3 * timing.delay:g} ms late" if timing.delay else ""
    late += f", wrench {timing.wrench_delay} samples late" if timing.wrench_delay else ""
    clock = f"period {1e3 * timing.period:g} ms{late}" if timing.period else f"no sampling{late}"
    where = f"on a wall of {case.wall_stiffness:.4g} N/m" if case.wall_stiffness else "in free motion"
    head = f"{case.label} {where} ({case.mass:.3g} kg along it, {clock})"
    joint = f", mostly of {prediction.joint}" if prediction.joint else ""
    if not prediction.stable:
        return (
            f"{head} is UNSTABLE: it grows by e^({-prediction.rate:.3g} t/s) and oscillates at"
            f" {prediction.frequency:.3g} Hz (largest pole {prediction.radius:.6g}{joint})."
        )
    pole = f"largest pole {prediction.radius:.6g}"
    return f"{head} is stable: its slowest mode decays at {prediction.rate:.3g} 1/s ({pole})."


def _limits_in_words(prediction: ContactPrediction) -> str:
    wall, delay = prediction.largest_wall_stiffness, prediction.largest_delay
    if math.isinf(wall):
        text = f"Stable on walls up to {RIGID:.0g} N/m (stiffer ones were not tried)"
    else:
        text = f"Largest stable wall stiffness: {wall:.4g} N/m" if wall else "No wall is stable"
        if prediction.stable and 0.0 < wall < prediction.axis.wall_stiffness:
            text = f"Walls beyond {wall:.4g} N/m and softer than this one are unstable in part"
    if prediction.stable and math.isfinite(delay):
        text += f"; largest further delay: {1e3 * delay:.3g} ms"
    elif prediction.stable:
        tried = f"at least {1e3 * prediction.delay_tried:.3g} ms more delay (more was not tried)"
        text += f"; stable with {tried if math.isfinite(prediction.delay_tried) else 'any delay'}"
    for name, factor in prediction.largest_gains.items():
        if not math.isinf(factor):
            most = f"largest stable {name}: {factor:.3g} × the current one" if factor else f"no {name} makes it stable"
            text += f"; {most}"
    return text + "."


def _passivity_in_words(prediction: ContactPrediction) -> str:
    if not prediction.stable:
        return f"Not passive: it is unstable {'on this wall' if prediction.axis.wall_stiffness else 'by itself'}."
    if prediction.passivity_margin is not None and prediction.passivity_margin > 0:
        return "Passive: no passive environment can make it unstable."
    if math.isinf(prediction.passive_below):
        return "Passive up to half the sampling rate."
    if prediction.passive_below == 0.0:
        return "Not passive at any frequency: some passive environment could make it unstable."
    return f"Passive up to {prediction.passive_below:.3g} Hz: a faster environment could make it unstable."


# ------------------------------------------------------------------ maps


@dataclass(frozen=True)
class StabilityMap:
    """Which walls are stable, over a setting.

    Attributes:
        setting: its name.
        values: of the setting.
        largest_wall_stiffness: N/m, one per value; infinite where every wall is stable, 0 where none is.
    """

    setting: str
    values: Array
    largest_wall_stiffness: Array


def stability_map(case: ContactCase, setting: str, values: Sequence[float] | Array) -> StabilityMap:
    """The largest stable wall stiffness as a function of one setting of a case, ready to plot.

    Args:
        case: everything else, the wall's damping included; its wall stiffness does not count.
        setting: a number of `ContactCase` or of its `Timing`, such as "stiffness", "integral" or "command_delay".
        values: of the setting.
    """
    own = {f.name for f in fields(ContactCase)} - {"kind", "timing", "servo", "wall_stiffness"}
    clock = {f.name for f in fields(Timing)} - {"velocity", "integrator"}
    if setting not in own | clock:
        raise UnknownName("setting", setting, sorted(own | clock))

    def changed(value: float) -> ContactCase:
        number = int(value) if setting in ("joint_delay", "wrench_delay", "command_delay") else float(value)
        if setting in own:
            return replace(case, **{setting: number})
        return replace(case, timing=replace(case.timing, **{setting: number}))

    points = finite_array(values, "values", (None,))
    return StabilityMap(setting, points, np.array([largest_wall(changed(value)) for value in points]))


def largest_wall(case: ContactCase) -> float:
    """The largest stable wall stiffness, N/m."""
    return stiffest_stable(lambda k: case.loop_at(wall=k).stable, RIGID)


# ------------------------------------------------------------------ what a simulation's step hides


@dataclass(frozen=True)
class HoldError:
    """What a simulation shows of a sampled loop, beside what the loop does.

    Attributes:
        exact: growth of the sampled loop on exact physics, 1/s; negative if it dies out.
        simulated: growth that a simulation with the physics step will show, 1/s.
        physics_step, period: s.
        sentence: both in words; empty where they agree to a tenth of the slower one's rate.
    """

    exact: float
    simulated: float
    physics_step: float
    period: float
    sentence: str

    @property
    def error(self) -> float:
        """simulated − exact, 1/s."""
        return self.simulated - self.exact

    @property
    def hides(self) -> bool:
        """Whether the simulation comes to the other verdict."""
        return (self.exact < 0) != (self.simulated < 0)

    @property
    def matters(self) -> bool:
        """Whether it hides an instability, or shows a rate that is wrong by more than a quarter (and by 0.1 1/s)."""
        return self.hides or abs(self.error) > max(0.25 * abs(self.exact), 0.1)


STEPS_PER_PERIOD = 5  # physics steps in a control period, unless a run says otherwise; see docs/gain-design.md


def hold_error(case: ContactCase | ArmContact, physics_step: float | None = None) -> HoldError:
    """How a simulation with a physics step misjudges a loop whose command is held over the period.

    With one physics step per period, a semi-implicit step moves the positions with the velocities after the step, and
    the half period that a hold costs disappears.

    Args:
        case: the loop, with a period.
        physics_step: s; that of the case's timing, or the period itself, if not given.
    """
    timing = case.timing
    if timing.period == 0:
        raise InvalidInput("a loop without a period has no hold")
    step = finite_number(physics_step or timing.physics_step or timing.period, "physics_step", above=0.0)
    on_exact_physics = case if timing.physics_step is None else case.timed(replace(timing, physics_step=None))
    exact = on_exact_physics.loop.growth
    shown = case.timed(replace(timing, physics_step=step)).loop.growth
    if abs(shown - exact) <= 0.1 * abs(exact):
        return HoldError(exact, shown, step, timing.period, "")
    ratio = round(timing.period / step)
    count = "one physics step" if ratio == 1 else f"{ratio} physics steps"
    verb = {True: "grows", False: "decays"}
    sentence = (
        f"{case.label}: with {count} per control period the simulation shows a loop that"
        f" {verb[shown > 0]} at {abs(shown):.3g} 1/s where the sampled loop {verb[exact > 0]} at {abs(exact):.3g} 1/s;"
        f" shorten the physics step to {timing.period / max(STEPS_PER_PERIOD, 2 * ratio):.3g} s or less"
    )
    return HoldError(exact, shown, step, timing.period, sentence)
