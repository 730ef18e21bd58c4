"""How far a setting may go: found with the loop's poles, confirmed by runs with a push on both sides.

The poles are those at the start and at the end of the run with the other setting, sticking and sliding; where that run
does not come to rest, at the posture in which the run as it is ends. A limit is confirmed where a pushed run is quiet
at 0.9 of it and is not at 1.1. Where it is quiet beyond, friction holds what the poles call unstable, and how far is
found by runs alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import PalpateError
from palpate.run.forecast.moments import Asked, LoopMoment, ask_ends
from palpate.run.forecast.pushes import Course, course_of
from palpate.run.forecast.variants import Setting, Variants
from palpate.world.plants.plant import rubs

BELOW, BEYOND = 0.9, 1.1  # of a limit, at which it is confirmed
FACTORS = (2.0, 8.0, 32.0)  # of a gain, that are tried upwards; nothing is searched beyond
WALLS = (2.0, 4.0, 8.0, 16.0, 32.0)  # of a stiffness: some are unstable between stable ones
TICKS = (1, 4, 16, 48)  # of further delay
_NARROW = 0.05  # of a value: how well a limit is located
_BY_RUNS = 1.25  # of a value: how well a limit is located that runs alone show
_HELD_TICKS, _HELD = (1.2, 5), (1.5, 2)  # beyond a limit, steps and tries of what dry friction holds: delay, others
_LESS, _LESS_TRIES = 0.8, 5  # below a limit whose runs are not quiet
_UNMOVED = 1e-7  # of a pole's size: a setting that moves none by more has no part in them


@dataclass(frozen=True)
class Limit:
    """How far a setting may go.

    Attributes:
        setting: that is varied.
        stable_to: the largest value whose poles are stable, within 5 %; of a delay the whole number of ticks.
        unstable_at: a value above it whose poles are not; infinite where none was found.
        where: the moment that becomes unstable first; None where none does.
        quiet_at, shakes_at: values at which pushed runs were quiet and were not; nan where none was.
        refused: why larger values were not tried; empty otherwise.
        rubs: whether joints or contacts have dry friction.
    """

    setting: Setting
    stable_to: float
    unstable_at: float
    where: LoopMoment | None
    quiet_at: float = math.nan
    shakes_at: float = math.nan
    refused: str = ""
    rubs: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether runs on both sides agree with the poles."""
        if math.isinf(self.unstable_at):
            return False
        low, high = sides(self)
        return self.quiet_at >= low and self.shakes_at <= high

    @property
    def held(self) -> bool:
        """Whether pushed runs are quiet beyond the limit of the poles."""
        return self.quiet_at >= self.unstable_at

    @property
    def of_simulation(self) -> bool:
        """Whether the pole that passes 1 is that of the simulation's step."""
        return self.where is not None and bool(self.where.poles.of_simulation)

    @property
    def sentence(self) -> str:
        """In words, with what the runs say."""
        name, unit = self.setting.key, self.setting.unit
        if math.isinf(self.unstable_at):
            return f"{name}: {self._beyond(unit)}"
        known = "stable" if self.where is not None else "known to be stable"
        poles = f"{name}: {known} up to {_number(self.stable_to)} {unit}{self._where()}"
        if self.confirmed:
            return f"{poles}; pushed runs: quiet at {_number(self.quiet_at)}, not quiet at {_number(self.shakes_at)}."
        if self.held:
            end = f", not quiet at {_number(self.shakes_at)}" if not math.isnan(self.shakes_at) else ", no end found"
            return (
                f"{poles} by its poles; {'dry friction holds more' if self.rubs else 'runs show no growth yet'}:"
                f" pushed runs are quiet at {_number(self.quiet_at)}{end}."
            )
        if math.isnan(self.quiet_at):
            return f"{poles} by its poles, which no run confirms: not quiet at {_number(self.shakes_at)} already."
        return (
            f"{poles} by its poles; pushed runs: quiet at {_number(self.quiet_at)}, not quiet at"
            f" {_number(self.shakes_at)} already."
        )

    def _beyond(self, unit: str) -> str:
        """Of a setting that is stable as far as it was searched."""
        if not math.isnan(self.shakes_at):
            known = f"a pushed run is not quiet at {_number(self.shakes_at)} {unit}"
            if not math.isnan(self.quiet_at):
                known += f", and quiet at {_number(self.quiet_at)}"
            return f"{known}, although the poles are stable there."
        why = f"larger ones are refused: {self.refused}" if self.refused else "not searched further"
        return f"at least {_number(self.stable_to)} {unit} ({why})."

    def _where(self) -> str:
        if self.where is None or not self.where.poles.modes:
            return ""
        mode = self.where.poles.modes[0]
        joint = f"{mode.joint} " if mode.joint else ""
        step = f", of the simulation at {1e3 * self.where.poles.timestep:g} ms" if self.of_simulation else ""
        return f" ({self.where.name}, {self.where.state}: {joint}{mode.frequency:.3g} Hz{step})"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e5 else f"{value:.3g}"


def sides(limit: Limit) -> tuple[float, float]:
    """0.9 and 1.1 of a limit; of whole ticks, the whole numbers around them."""
    if not limit.setting.whole:
        return BELOW * limit.stable_to, BEYOND * limit.unstable_at
    return float(math.floor(BELOW * limit.stable_to)), float(math.ceil(BEYOND * limit.unstable_at))


def limit_of(variants: Variants, setting: Setting, now: Asked, size: float = 1.0) -> Limit | None:
    """The limit of a setting: upwards from its present value, or downwards where the loop is unstable.

    Args:
        variants: of the run.
        setting: of it.
        now: what the poles are at its present value.
        size: of the pushes, see `course_of`.

    Returns:
        The limit; None where the setting has no part in the poles, or nothing is stable with less of it.
    """
    search = _Search(variants, setting)
    low, high = search.bracket(now)
    if high == setting.value and low == setting.value:
        return None
    if math.isinf(high):
        tried = _by_runs(variants, Limit(setting, low, high, None, refused=search.refused), size)
        asked = None if math.isnan(tried.shakes_at) else search.ask(tried.shakes_at)
        if asked is None or search.good(asked):
            return tried
        # The loop is stable again further on: its first unstable stretch is what counts.
        low, high = setting.value if math.isnan(tried.quiet_at) else tried.quiet_at, tried.shakes_at
    low, high = search.narrowed(low, high)
    at_limit = search.ask(high, finer=True)
    where = None if at_limit is None else at_limit.worst
    return _confirmed(
        variants, Limit(setting, low, high, where, rubs=rubs(variants.base.robot, variants.base.world)), size
    )


class _Search:
    """The poles over a setting."""

    def __init__(self, variants: Variants, setting: Setting) -> None:
        self.variants, self.setting, self.refused = variants, setting, ""
        self._known: dict[float, Asked] = {}

    def ask(self, value: float, *, finer: bool = False) -> Asked | None:
        """The poles with a value; None where such a run is refused."""
        if value not in self._known or finer:
            try:
                run = self.setting.at(self.variants.base, value)
                self._known[value] = ask_ends(self.variants, run, start=not self.setting.surface, finer=finer)
            except PalpateError as error:
                self.refused = str(error).splitlines()[0]
                return None
        return self._known[value]

    def bracket(self, now: Asked) -> tuple[float, float]:
        """A stable value, and an unstable one above it, infinite where none was found; the present one twice: none."""
        present = self.setting.value
        if now.stable is not True:
            for value in _less(self.setting):
                asked = self.ask(value)
                if asked is not None and self.good(asked):
                    return value, present
            return present, present
        low = present
        for value in _more(self.setting):
            asked = self.ask(value)
            if asked is None:
                break
            if low == present and not self.setting.whole and _same(asked, now):
                return present, present
            if not self.good(asked):
                return low, value
            low = value
        return (present, present) if low == present else (low, math.inf)

    def good(self, asked: Asked) -> bool:
        """Whether its poles are known to be stable wherever it stands."""
        return asked.stable is True

    def narrowed(self, low: float, high: float) -> tuple[float, float]:
        """A narrower stretch between a stable and an unstable value."""
        while high - low > 1 if self.setting.whole else high > (1.0 + _NARROW) * low:
            middle = (low + high) // 2 if self.setting.whole else math.sqrt(low * high)
            asked = self.ask(middle)
            low, high = (middle, high) if asked is not None and self.good(asked) else (low, middle)
        return low, high


def _more(setting: Setting) -> list[float]:
    """The values that are tried upwards."""
    if setting.whole:
        return [setting.value + n for n in TICKS]
    return [setting.value * f for f in (WALLS if setting.surface else FACTORS)]


def _less(setting: Setting) -> list[float]:
    """The values that are tried downwards."""
    if setting.whole:
        return [value for value in (setting.value // 2, 0.0) if value < setting.value]
    return [setting.value / f for f in FACTORS]


def _same(a: Asked, b: Asked) -> bool:
    """Whether all poles at the start and the end are the same."""
    of_a, of_b = ({m.name: np.abs(m.poles.poles) for m in each.moments} for each in (a, b))
    both = [(of_a[name], of_b[name]) for name in of_a if name in of_b]
    equal = [len(x) == len(y) and bool(np.abs(x - y).max(initial=0.0) < _UNMOVED) for x, y in both]
    return "end" in of_a and "end" in of_b and all(equal)


def _confirmed(variants: Variants, limit: Limit, size: float) -> Limit:
    """A limit with runs on both sides; further ones where they do not agree with the poles."""
    low, high = sides(limit)
    setting = limit.setting
    low = max(low, setting.value)
    courses: dict[float, Course] = {value: _course(variants, setting, value, size) for value in (low, high)}
    quiet, held = low, courses[high] == "quiet"
    step, tries = _HELD_TICKS if setting.whole else _HELD
    for _ in range(tries):
        if courses[high] != "quiet":
            break
        quiet, high = high, math.ceil(step * high) if setting.whole else step * high
        courses[high] = _course(variants, setting, high, size)
    while held and courses[high] != "quiet" and high - quiet > 2 and setting.whole:
        middle = float((quiet + high) // 2)
        courses[middle] = _course(variants, setting, middle, size)
        quiet, high = (middle, high) if courses[middle] == "quiet" else (quiet, middle)
    for _ in range(_LESS_TRIES):
        if courses[low] == "quiet" or low <= setting.value:
            break
        low = max(math.floor(_LESS * low) if setting.whole else _LESS * low, setting.value)
        courses[low] = _course(variants, setting, low, size)
    return _with_runs(limit, courses)


def _by_runs(variants: Variants, limit: Limit, size: float) -> Limit:
    """A setting that is stable as far as it was searched, with a pushed run there; narrowed where it is not quiet."""
    setting = limit.setting
    courses: dict[float, Course] = {limit.stable_to: _course(variants, setting, limit.stable_to, size)}
    low, high = setting.value, limit.stable_to
    while courses[limit.stable_to] != "quiet" and (high - low > 2 if setting.whole else high > _BY_RUNS * low):
        middle = float((low + high) // 2) if setting.whole else math.sqrt(low * high)
        courses[middle] = _course(variants, setting, middle, size)
        low, high = (middle, high) if courses[middle] == "quiet" else (low, middle)
    return _with_runs(limit, courses)


def _course(variants: Variants, setting: Setting, value: float, size: float) -> Course:
    try:
        return course_of(variants, setting.at(variants.base, value), size)
    except PalpateError:
        return "ends"


def _with_runs(limit: Limit, courses: Mapping[float, Course]) -> Limit:
    """The largest value with only quiet runs up to it, and the smallest with a run that is not."""
    lowest = min((value for value, course in courses.items() if course != "quiet"), default=math.nan)
    quiet = [v for v, course in courses.items() if course == "quiet" and not v > lowest]
    return replace(limit, quiet_at=max(quiet, default=math.nan), shakes_at=lowest)
