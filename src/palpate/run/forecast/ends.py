"""The same run at both ends of what is known of its joints: gears as soft and rotors as light as they may be, or not.

Where a figure is known to lie in a range, a limit is one number at each end of it, and a range itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.errors import PalpateError
from palpate.robot import catalogue
from palpate.robot.catalogue.joint_facts import ranges
from palpate.run.forecast.limits import Limit, limit_of
from palpate.run.forecast.moments import ask
from palpate.run.forecast.pushes import AFTER
from palpate.run.forecast.variants import Variants, settings_of
from palpate.run.run import Run


@dataclass(frozen=True)
class RangeEnd:
    """A run at one end of the ranges.

    Attributes:
        name: which end, such as "soft gears, light rotors".
        words: the same with its numbers.
        run: there.
    """

    name: str
    words: str
    run: Run


def ends_of(run: Run) -> tuple[RangeEnd, ...]:
    """The soft and light end and the stiff and heavy one of a catalogue arm with elastic joints; none of others."""
    robot, plant = run.robot, run.world.plant
    if robot.joint_stiffness is None or plant.joint_stiffness is not None or robot.name not in catalogue.names():
        return ()
    facts = catalogue.facts(robot.name)
    stiffness, rotor = (ranges(facts, kind, robot.dof_names) for kind in ("joint_stiffness", "rotor_inertia"))
    if stiffness is None or rotor is None:
        return ()
    added = np.broadcast_to(np.asarray(plant.rotor_inertia, dtype=float), robot.nv)
    ends = []
    for name, k in (("soft gears, light rotors", 0), ("stiff gears, heavy rotors", 2)):
        more = np.maximum(added + rotor[k] - rotor[1], 0.0)
        change = {"joint_stiffness": tuple(map(float, stiffness[k])), "rotor_inertia": tuple(map(float, more))}
        world = run.world.model_copy(update={"plant": plant.model_copy(update=change)})
        words = f"{name} ({_span(stiffness[k], 'N·m/rad')}; {_span(rotor[1] + more, 'kg·m²')})"
        ends.append(RangeEnd(name, words, replace(run, world=world)))
    return tuple(ends)


def _span(values: Array, unit: str) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g} {unit}" if low == high else f"{low:.3g} to {high:.3g} {unit}"


def limits_at(end: RangeEnd, keys: Sequence[str], size: float) -> dict[str, Limit]:
    """Limits of some settings at one end, by key; those that cannot be had are left out.

    Args:
        end: of the ranges.
        keys: of the settings.
        size: of the pushes, see `course_of`.
    """
    found: dict[str, Limit] = {}
    try:
        variants = Variants(end.run, AFTER)
        asked = ask(variants, variants.base, finer=False)
        for setting in settings_of(variants.base) if asked.stable is not None else ():
            if setting.key in keys and (limit := limit_of(variants, setting, asked, size)) is not None:
                found[setting.key] = limit
    except PalpateError:
        return found
    return found


def range_sentence(key: str, unit: str, limits: Mapping[str, Limit | None]) -> str:
    """A limit over the ranges, in words: between which values the loop becomes unstable, and what runs say of it.

    Args:
        key: of the setting.
        unit: of its value.
        limits: of the run as it is and at each end, by the end's name; None where there is none to be had.
    """
    if unknown := [name for name, limit in limits.items() if limit is None]:
        return f"{key}: not known with {' and with '.join(unknown)}."
    known = {name: limit for name, limit in limits.items() if limit is not None}
    low, high = min(limit.stable_to for limit in known.values()), max(limit.stable_to for limit in known.values())
    if all(np.isinf(limit.unstable_at) for limit in known.values()):
        return f"{key}: at least {low:.3g} {unit} at both ends."
    more = " or more" if any(np.isinf(limit.unstable_at) for limit in known.values()) else ""
    stretch = f"{low:.3g} to {high:.3g}{more}" if high > low or more else f"{low:.3g}"
    return f"{key}: unstable from {stretch} {unit} on, over what is known of the joints; {_runs(known)}."


def _runs(limits: Mapping[str, Limit]) -> str:
    """Findings of pushed runs just below and just above each limit, in words."""
    found = {name: limit for name, limit in limits.items() if np.isfinite(limit.unstable_at)}
    others = [(name, limit) for name, limit in found.items() if not limit.confirmed]
    if not others:
        return "pushed runs on both sides agree" if len(found) == 1 else "pushed runs on both sides of each agree"
    words = [f"{name}: {_course(limit)}" for name, limit in others]
    agree = "; elsewhere they agree" if len(others) < len(found) else ""
    return f"pushed runs do not agree ({'; '.join(words)}{agree})"


def _course(limit: Limit) -> str:
    """Where pushed runs are quiet and where not, in words."""
    quiet = "quiet nowhere" if np.isnan(limit.quiet_at) else f"quiet at {limit.quiet_at:.3g}"
    shakes = "no end found" if np.isnan(limit.shakes_at) else f"not quiet at {limit.shakes_at:.3g}"
    return f"{quiet}, {shakes}{', as dry friction holds more' if limit.held and limit.rubs else ''}"
