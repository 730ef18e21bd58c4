"""Write the table of docs/elastic-joints.md: published figures beside what elastic joints predict.

    python docs/elastic_table.py

Each prediction is the largest translational stiffness of a Cartesian impedance at the arm's home posture in free air at
which every pole of the loop stays inside the unit circle: at both ends of the catalogue's ranges of gear stiffness and
rotor inertia (`palpate show ARM --joints elastic`), with damping 2 ζ √K and a rotational stiffness of K/r.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from palpate.run.build import build
from palpate.run.forecast.ends import ends_of
from palpate.run.run import Run
from palpate.run.tangent.loop_poles import poles
from palpate.scenario.model import Scenario

SOFTEST, STIFFEST, STEP, NARROW = 25.0, 51200.0, 2.0, 1.03  # N/m
DIFFERENCES = {"velocity": "differentiated"}
FILTERED = {"velocity": "differentiated", "velocity_cutoff": 30.0}


def scenario(
    arm: str, joints: str, stiffness: float, ratio: float, driver: Mapping[str, Any], sensors: Mapping[str, Any]
) -> Scenario:
    """An arm that holds its home posture in free air by a Cartesian impedance at 1 kHz."""
    turning = stiffness / ratio
    damping = [2.0 * math.sqrt(stiffness)] * 3 + [2.0 * math.sqrt(turning)] * 3
    return Scenario.model_validate(
        {
            "name": "hold",
            "robot": {"model": arm, "joints": joints},
            "control": {"law": "cartesian-impedance", "stiffness": [stiffness] * 3 + [turning] * 3, "damping": damping},
            "reference": {"kind": "hold"},
            "world": {"driver": dict(driver), "sensors": dict(sensors)},
            "run": {"duration": 0.05, "period": 1e-3, "timestep": 2.5e-4},
        }
    )


def is_stable(run: Run) -> bool:
    """Whether every pole of the loop at the start is inside the unit circle."""
    return poles(run, 0.03, finer=False, probing=False).largest < 1.0


def largest(arm: str, end: int | None, ratio: float, driver: Mapping[str, Any], sensors: Mapping[str, Any]) -> float:
    """The largest stable stiffness, N/m: at one end of the ranges, or with rigid gears where there is none."""

    def stable(stiffness: float) -> bool:
        run = build(scenario(arm, "as_built" if end is None else "elastic", stiffness, ratio, driver, sensors))
        return is_stable(run if end is None else ends_of(run)[end].run)

    low, high = 0.0, SOFTEST
    while stable(high):
        low, high = high, high * STEP
        if high > STIFFEST:
            return math.inf
    while low > 0.0 and high > NARROW * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def main() -> None:
    """Print the rows: the soft and light end, the stiff and heavy one, and rigid gears."""
    franka = {"preset": "libfranka", "delay": 1}
    cases = [
        ("panda", 15.0, {"preset": "libfranka"}, DIFFERENCES),
        ("panda", 15.0, franka, DIFFERENCES),
        ("panda", 15.0, franka, FILTERED),
        ("panda", 4.0, franka, DIFFERENCES),
        ("panda", 4.0, franka, FILTERED),
        ("fr3", 15.0, franka, DIFFERENCES),
        ("fr3", 5.0, franka, FILTERED),
        ("iiwa14", 4.0, {"delay": 1}, DIFFERENCES),
        ("iiwa14", 4.0, {"delay": 1}, FILTERED),
    ]
    for arm, ratio, driver, sensors in cases:
        ends = [largest(arm, end, ratio, driver, sensors) for end in (0, 1, None)]
        print(arm, ratio, driver, sensors, [f"{x:.3g}" for x in ends], flush=True)


if __name__ == "__main__":
    main()
