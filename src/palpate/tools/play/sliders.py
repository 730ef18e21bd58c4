"""Sliders of a scenario: one for every number of its data, with unit, bounds and help from the schema.

A list of numbers has a slider for a factor of all of them and one for each; a choice and a switch are offered as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from palpate.control.law import Law
from palpate.scenario.fields import Setting, find

Kind = Literal["number", "integer", "list", "choice"]
KeyPath = tuple[str | int, ...]

DECADE = 10.0  # a positive number is offered from a tenth of it to ten times it
_SECTIONS = ("control", "reference", "world", "robot", "guards", "run", "metrics", "stop")
_NEVER = ("name", "kind", "law", "model")  # say which table it is: another value is another scenario
# How far a slider goes from a value of 0, by the unit.
_SPANS = {
    "s": 0.1, "m": 0.1, "m/s": 0.5, "rad": 0.5, "rad/s": 1.0, "N": 20.0, "N·m": 10.0, "N/m": 1000.0, "N·s/m": 100.0,
    "N·m·s/rad": 5.0, "N·m/rad": 100.0, "kg": 5.0, "kg·m²": 0.5, "Hz": 100.0, "samples": 30.0, "1": 1.0,
}  # fmt: skip
_MOST_GAINS = 3  # of the law, among the sliders shown at first
_SPEEDS = ("speed", "duration", "frequency", "rate")  # of the reference: the first that it has
_WORLD = ("driver.delay", "plant.mass_scale", "plant.joint_friction")


@dataclass(frozen=True)
class Slider:
    """One setting that can be moved.

    Attributes:
        key: as `--set` takes it.
        kind: what stands there; a list is moved by a factor of all its numbers.
        value: what the scenario has.
        low, high: ends of the slider, in the setting's unit; of a list, of the factor.
        least, most: what the schema allows; None where it says nothing.
        log: whether the slider moves by ratios.
        step: of whole numbers 1, else 0.
        unit, help: the setting's.
        choices: of a choice.
    """

    key: str
    kind: Kind
    value: Any
    low: float = 0.0
    high: float = 1.0
    least: float | None = None
    most: float | None = None
    log: bool = False
    step: float = 0.0
    unit: str = "1"
    help: str = ""
    choices: tuple[Any, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The slider for the page."""
        return asdict(self)


def sliders_of(data: dict[str, Any]) -> dict[str, Slider]:
    """Every slider of a scenario's data, by its key."""
    sections = {name: data[name] for name in _SECTIONS if name in data}
    return {one.key: one for one in _below(sections, (), (), data)}


def first_sliders(data: dict[str, Any], offered: Mapping[str, Slider]) -> list[str]:
    """The keys of the handful that are shown at first: gains of the law, the wall, the motion, the plant."""
    control = data["control"]
    own = [key for key in control if key not in Law.model_fields and key != "law" and "quat" not in key]
    gains = [f"control.{key}" for key in own if f"control.{key}" in offered]
    gains = [key for key in gains if offered[key].kind != "choice"]
    gains.sort(key=lambda key: offered[key].unit == "1")
    wall = next((f"world.surfaces.{s['name']}" for s in data["world"]["surfaces"] if s["contact"] == "compliant"), "")
    speed = next((f"reference.{key}" for key in _SPEEDS if f"reference.{key}" in offered), "")
    keys = [*gains[:_MOST_GAINS], f"{wall}.stiffness", speed, *(f"world.{key}" for key in _WORLD)]
    return [key for key in keys if key in offered]


def _below(value: Any, path: KeyPath, names: tuple[str, ...], data: dict[str, Any]) -> Iterator[Slider]:
    """Sliders of a value and of what stands below it; `names` are the path with the names of tables in lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _NEVER or isinstance(item, dict):
                yield from _below(item, (*path, key), (*names, _quoted(key)), data)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for k, item in enumerate(value):
            yield from _below(item, (*path, k), (*names, _quoted(str(item.get("name", k)))), data)
    else:
        yield from _of_value(value, path, names, data)


def _quoted(part: str) -> str:
    """A part of a key, in quotes where it holds a dot, as `--set` takes it."""
    mark = "'" if '"' in part else '"'
    return f"{mark}{part}{mark}" if "." in part else part


def _of_value(value: Any, path: KeyPath, names: tuple[str, ...], data: dict[str, Any]) -> Iterator[Slider]:
    # A number under a free key, such as the mass of a link, is described where its table is.
    setting, key = find(path, data) or find(path[:-1], data), ".".join(names)
    if setting is None:
        return
    if isinstance(value, bool):
        yield Slider(key, "choice", value, unit=setting.unit, help=setting.help, choices=(False, True))
    elif isinstance(value, str):
        choices = _choices(setting)
        if choices:
            yield Slider(key, "choice", value, unit=setting.unit, help=setting.help, choices=choices)
    elif isinstance(value, int | float):
        yield _of_number(key, value, setting)
    elif isinstance(value, list) and value and all(map(_is_number, _flat(value))):
        if any(_flat(value)):
            yield Slider(key, "list", value, 1 / DECADE, DECADE, log=True, unit=setting.unit, help=setting.help)
        if all(map(_is_number, value)):
            units = _units(setting.unit, len(value))
            yield from (_of_number(f"{key}.{k}", x, setting, units[k]) for k, x in enumerate(value))


def _of_number(key: str, value: float, setting: Setting, unit: str | None = None) -> Slider:
    unit = unit or setting.unit
    whole = isinstance(value, int) and not isinstance(setting.default, float)
    least, most = _bounds(setting)
    # One number or one per joint: the classes check that none is negative, and the schema does not say so.
    from_zero = 0.0 if least is None and value >= 0.0 and _is_per_joint(setting) else least
    low, high, log = span(float(value), unit, from_zero, most, whole=whole)
    kind: Kind = "integer" if whole else "number"
    return Slider(key, kind, value, low, high, least, most, log, float(whole), unit, setting.help)


def span(
    value: float, unit: str, least: float | None, most: float | None, *, whole: bool = False
) -> tuple[float, float, bool]:
    """Ends of a slider around a value within what is allowed, and whether it moves by ratios."""
    if value > 0.0 and least is not None and least >= 0.0 and not whole:
        return max(value / DECADE, least), min(value * DECADE, math.inf if most is None else most), True
    away = max(2.0 * abs(value), _SPANS.get(_first_unit(unit), 1.0))
    low = value - away if least is None else max(least, value - away)
    high = value + away if most is None else min(most, value + away)
    return (low, high, False) if high > low else (low, low + away, False)


def _first_unit(unit: str) -> str:
    return unit.split(",")[0].split(" or ")[0].split(" (")[0].strip()


def _units(unit: str, count: int) -> list[str]:
    """The unit of each number: of six under "N/m, N·m/rad" the first three have the first."""
    parts = [part.strip() for part in unit.split(",")]
    return [parts[k * len(parts) // count] for k in range(count)] if count % len(parts) == 0 else [unit] * count


def _bounds(setting: Setting) -> tuple[float | None, float | None]:
    """The least and the largest number that the schema allows; bounds that are excluded count as allowed."""
    ends: dict[str, float] = {}
    for rule in setting.info.metadata:
        ends |= {name: float(getattr(rule, name)) for name in ("gt", "ge", "lt", "le") if hasattr(rule, name)}
    return ends.get("ge", ends.get("gt")), ends.get("le", ends.get("lt"))


@cache
def _literal(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for part in get_args(annotation) if (found := _literal(part))), ())


def _is_per_joint(setting: Setting) -> bool:
    parts = get_args(setting.info.annotation)
    return float in parts and any(get_origin(part) is tuple for part in parts)


def _choices(setting: Setting) -> tuple[Any, ...]:
    try:
        return _literal(setting.info.annotation)
    except TypeError:  # an annotation that cannot be hashed
        return ()


def _flat(value: Sequence[Any]) -> Iterator[Any]:
    for item in value:
        if isinstance(item, list):
            yield from _flat(item)
        else:
            yield item


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
