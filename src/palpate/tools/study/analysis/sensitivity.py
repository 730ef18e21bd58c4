"""How much a metric changes with a setting: d(metric)/d(setting), by runs on both sides of the scenario."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palpate.errors import InvalidInput, PalpateError, check_names
from palpate.metrics import METRICS
from palpate.metrics.table import judge
from palpate.run.prepared import Prepared
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.user_code import is_address

SHARES = (0.01, 1e-3, 1e-4)  # of a setting: the steps that are tried, the largest first
AGREEMENT = 0.05  # two steps, one half of the other, must agree to this share of the larger slope
SIDES = 0.2  # so must the slopes on both sides, with the smaller step
_ROUNDING = 1e-9  # of a metric's value: a smaller difference is none
# Keys whose numbers say where or when something is, or how it is computed: 1 % more of them has no meaning of its own.
_WHERE = {"position", "normal", "quat_wxyz", "axes_quat_wxyz", "rotation", "axis", "q", "v", "offset", "com", "size"}
_WHEN = {"start", "stop", "time", "times", "blend", "seed", "timestep", "rate", "exact", "exponent", "scale"}
_SECTIONS = ("control", "world", "reference")


@dataclass(frozen=True)
class Slope:
    """How one metric changes with one setting.

    Attributes:
        metric, unit: its name and unit.
        value: of the metric in the scenario as it is.
        per_share: d(metric)/d(ln setting): what the metric gains, per relative change of the setting; None where two
            steps disagree (a jump, a count, a limit that is reached) or there is no number.
        reason: why there is none; empty otherwise.
    """

    metric: str
    unit: str
    value: float | None
    per_share: float | None
    reason: str = ""

    @property
    def per_percent(self) -> float | None:
        """Change of the metric for 1 % more of the setting, to first order."""
        return None if self.per_share is None else 0.01 * self.per_share


@dataclass(frozen=True)
class Sensitivity:
    """How metrics change with one setting, which is multiplied as a whole if it is a list."""

    setting: str
    given: Any
    slopes: tuple[Slope, ...]


def sensitivities(
    scenario: Scenario | str | os.PathLike[str],
    settings: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> list[Sensitivity]:
    """Sensitivities of metrics to settings, by central differences of whole runs.

    With s a relative step, D(s) = (m(x + s x) − m(x − s x)) / 2s. A slope is given where D(s) and D(s/2) agree to 5 %
    and the differences on either side to 20 %, for s = 1 %, 0.1 % or 0.01 %, whichever does first; it is
    (4 D(s/2) − D(s)) / 3, whose error falls as s⁴. Otherwise the metric has no derivative there (a jump, a kink, a
    count), and the result says so.

    Args:
        scenario: its name, path, or itself.
        settings: keys as `--set` takes them, each a number or a list of numbers that is not zero; without them, every
            such number of its law, its world and its reference, except positions, directions and times.
        metrics: names; without them, those that the scenario has bounds for.

    Raises:
        InvalidInput: a setting is no number, or there is nothing to vary.
        UnknownName: a metric that does not exist.
    """
    made = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    data = made.as_data()
    names = list(made.metrics) if metrics is None else list(metrics)
    check_names("metric", [name for name in names if not is_address(name)], METRICS)
    if not names:
        raise InvalidInput("there is no metric to differentiate", hint="bound one in [metrics], or name some")
    keys = list(_numbers_given(data)) if settings is None else list(settings)
    if not keys:
        raise InvalidInput(
            "the scenario gives no number that could be varied", hint="name one, such as control.damping"
        )
    runs = _Runs(data, names)
    return [Sensitivity(key, given := _given(data, key), runs.slopes(key, given)) for key in keys]


class _Runs:
    """The runs of a scenario on both sides of a setting."""

    def __init__(self, data: Mapping[str, Any], metrics: Sequence[str]) -> None:
        self._prepared, self._metrics = Prepared(data), metrics
        self._middle = self._values(())

    def slopes(self, key: str, given: Any) -> tuple[Slope, ...]:
        """The slope of each metric; runs with smaller steps are made only while one of them is not found."""
        found: dict[str, float] = {}
        why = dict.fromkeys(self._metrics, "two steps or the two sides disagree: it jumps, or a limit is reached")
        for share in SHARES:
            wide, narrow = self._sides(key, given, share, why), self._sides(key, given, 0.5 * share, why)
            for name in self._metrics:
                if name not in found and wide[name] is not None and narrow[name] is not None:
                    slope = _agreed(wide[name], narrow[name], _ROUNDING * abs(self._middle[name]) / share)
                    found |= {} if slope is None else {name: slope}
            if len(found) == len(self._metrics):
                break
        return tuple(self._slope(name, found.get(name), why[name]) for name in self._metrics)

    def _slope(self, name: str, slope: float | None, why: str) -> Slope:
        return Slope(name, METRICS[name].unit, self._middle[name], slope, "" if slope is not None else why)

    def _sides(self, key: str, given: Any, share: float, why: dict[str, str]) -> dict[str, Any]:
        """Differences above and below, per share; None where a run is refused or a metric has no number: see `why`."""
        try:
            above, below = (self._values((f"{key}={json.dumps(_scaled(given, 1.0 + s))}",)) for s in (share, -share))
        except PalpateError as error:
            why.update(dict.fromkeys(self._metrics, str(error.args[0])))
            return dict.fromkeys(self._metrics)
        three = {name: (below[name], self._middle[name], above[name]) for name in self._metrics}
        why.update({name: "the metric has no number" for name, values in three.items() if None in values})
        return {
            name: None if None in values else ((values[2] - values[1]) / share, (values[1] - values[0]) / share)
            for name, values in three.items()
        }

    def _values(self, overrides: Sequence[str]) -> dict[str, Any]:
        _, trace = self._prepared.run(overrides)
        return {name: judge(METRICS[name], trace, None).value for name in self._metrics}


def _agreed(wide: tuple[float, float], narrow: tuple[float, float], rounding: float) -> float | None:
    """The slope where two steps and the two sides agree, or all are rounding; else None."""
    D, half = 0.5 * (wide[0] + wide[1]), 0.5 * (narrow[0] + narrow[1])
    largest = max(map(abs, (*wide, *narrow)))
    if largest <= rounding:
        return 0.0
    same_sides = abs(narrow[0] - narrow[1]) <= SIDES * max(map(abs, narrow)) + 4.0 * rounding
    same_steps = abs(D - half) <= AGREEMENT * max(abs(D), abs(half)) + 2.0 * rounding
    return (4.0 * half - D) / 3.0 if same_sides and same_steps else None


def _scaled(given: Any, factor: float) -> Any:
    return [_scaled(each, factor) for each in given] if isinstance(given, list) else given * factor


def _is_number(value: Any) -> bool:
    """Whether something is a real number, or a list of them, and not all zero."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, float) for each in value) and any(value)
    return isinstance(value, float) and value != 0.0


def _numbers_given(data: Mapping[str, Any]) -> Iterator[str]:
    for section in _SECTIONS:
        yield from _numbers_in(section, data.get(section, {}))


def _numbers_in(path: str, value: Any) -> Iterator[str]:
    if _is_number(value):
        yield path
    elif isinstance(value, dict):
        for key, below in value.items():
            if key not in _WHERE | _WHEN:
                yield from _numbers_in(f"{path}.{key}", below)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, dict):
                yield from _numbers_in(f"{path}.{item.get('name', number)}", item)


def _given(data: Mapping[str, Any], key: str) -> Any:
    """The value of a setting in whole data; lists of tables by the name or number of an entry."""
    here: Any = data
    for part in key.split("."):
        if isinstance(here, list):
            named = [item for item in here if isinstance(item, dict) and item.get("name") == part]
            here = named[0] if named else here[int(part)] if part.isdecimal() and int(part) < len(here) else None
        else:
            here = here.get(part) if isinstance(here, dict) else None
    if not _is_number(here):
        raise InvalidInput(
            f"{key} is {here!r} in this scenario, not a number or a list of numbers that could be varied by 1 %",
            hint="a setting that is 0, a whole number or chosen by the law has no such slope: give it a value first",
        )
    return here
