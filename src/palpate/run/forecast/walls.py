"""The largest stable stiffness of a surface over a setting, by the loop's own poles; ready to plot."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, PalpateError
from palpate.run.build import build
from palpate.run.forecast.moments import ask_ends
from palpate.run.forecast.pushes import AFTER
from palpate.run.forecast.variants import Setting, Variants, settings_of
from palpate.scenario.file.load import load_scenario, overridden
from palpate.scenario.model import Scenario

SOFTEST, STIFFEST = 100.0, 1e7  # N/m, between which walls are looked at
_NARROW = 0.02  # of a stiffness: how well a limit is located
_STEP = 2.0  # from one stiffness to the next


@dataclass(frozen=True)
class StabilityMap:
    """Which walls are stable, over a setting.

    Attributes:
        setting: its key.
        surface: the surface whose stiffness is varied.
        values: of the setting.
        largest_wall_stiffness: N/m, one per value, up to which the loop is stable where it ends, from 100 N/m on;
            infinite where every wall up to 10 MN/m is or none stiffer can be simulated, 0 where 100 N/m is not.
    """

    setting: str
    surface: str
    values: Array
    largest_wall_stiffness: Array


def stability_map(
    scenario: Scenario | str | os.PathLike[str],
    setting: str,
    values: Sequence[float] | Array,
    *,
    surface: str | None = None,
) -> StabilityMap:
    """The largest stable stiffness of a compliant surface as a function of one setting.

    The poles are those of the loop where the run ends, sticking and sliding; dry friction may hold more.

    Args:
        scenario: its name, file, or itself.
        setting: its key as `--set` takes it, such as "world.driver.delay" or "control.damping.0".
        values: of the setting.
        surface: its name; the only one if not given.
    """
    made = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    names = [s.name for s in made.world.surfaces if s.contact == "compliant"]
    if surface not in names and not (surface is None and len(names) == 1):
        raise InvalidInput(f"surface must be one of {', '.join(names) or 'none: there is no compliant one'}")
    name, points, data = surface or names[0], finite_array(values, "values", (None,)), made.as_data()
    limits = [_largest(overridden(data, [f"{setting}={json.dumps(_whole(value))}"]), name) for value in points]
    return StabilityMap(setting, name, points, np.array(limits))


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else float(value)


def _largest(scenario: Scenario, surface: str) -> float:
    """The end of the softest stretch of stable walls, N/m."""
    variants = Variants(build(scenario), AFTER)
    wall = next(each for each in settings_of(variants.base) if each.surface == surface)
    low, high = 0.0, SOFTEST
    while (found := _stable(variants, wall, high)) is True:
        low, high = high, high * _STEP
        if high > STIFFEST:
            return math.inf
    if found is None or low == 0.0:
        return math.inf if found is None else 0.0
    while high > (1.0 + _NARROW) * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _stable(variants, wall, middle) else (low, middle)
    return low


def _stable(variants: Variants, wall: Setting, stiffness: float) -> bool | None:
    """Whether the loop is stable with such a wall; None where the run is refused."""
    try:
        return ask_ends(variants, wall.at(variants.base, stiffness), start=False).stable is True
    except PalpateError:
        return None
