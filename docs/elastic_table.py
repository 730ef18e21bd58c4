"""Write the table of docs/elastic-joints.md: published figures beside what elastic joints predict.

    python docs/elastic_table.py

Each prediction is the largest translational stiffness of a Cartesian impedance at the arm's home posture in free air at
which every pole of the loop stays inside the unit circle: at both ends of the catalogue's ranges of gear stiffness and
rotor inertia (`palpate show ARM --joints elastic`), with damping 2 ζ √K and a rotational stiffness of K/r.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.run.assemble.assemble import assemble
from palpate.run.build import build
from palpate.run.forecast.ends import ends_of
from palpate.run.run import Run
from palpate.run.tangent.loop_poles import poles, run_until
from palpate.scenario.model import Scenario
from palpate.world.config import Push

SOFTEST, STIFFEST, STEP, NARROW = 25.0, 51200.0, 2.0, 1.03  # N/m
SHAKES = 0.02  # rad/s
UNLIMITED = {"torque_limit": False, "torque_rate_limit": False}  # at the start gears give, and torques jump
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
            "world": {"driver": {**driver, **UNLIMITED}, "sensors": dict(sensors)},
            "run": {"duration": 0.05, "period": 1e-3, "timestep": 2.5e-4},
        }
    )


def is_stable(run: Run) -> bool:
    """Whether every pole of the loop at the start is inside the unit circle."""
    return poles(run, 0.03, finer=False, probing=False).largest < 1.0


def confirmed(run: Callable[[float], Run], limit: float) -> str:
    """Whether a small push dies out just below a limit and grows just above it; motors without dry friction."""
    rates = [growth(run(share * limit)) for share in (0.95, 1.05)]
    return "agree" if rates[0] < 0.0 < rates[1] else f"do not agree, growth {rates[0]:.2g} and {rates[1]:.2g} 1/s"


def growth(run: Run) -> float:
    """Rate at which joint speeds grow after a small push, 1/s, from 6 s on; infinite where it ends or shakes on."""
    driver = run.world.driver.model_copy(update={"coulomb_compensation": 1.0})
    push = Push(name="small", kind="impulse", force=(0.1, 0.07, 0.05), start=1.0, duration=2.5e-4)
    made = replace(
        run,
        world=run.world.model_copy(update={"driver": driver, "pushes": (push,)}),
        clock=run.clock.model_copy(update={"duration": 20.0}),
    )
    assembly = assemble(made)
    pieces = []
    for start, stop in ((6.0, 8.0), (18.0, 20.0)):
        if not run_until(assembly, round(start / assembly.loop.period)):
            return math.inf
        largest, last = 0.0, round(stop / assembly.loop.period)
        while assembly.loop.tick_count + 3 < last:
            if not run_until(assembly, assembly.loop.tick_count + 3):
                return math.inf
            largest = max(largest, float(np.abs(assembly.loop.plant.qvel).max()))
        pieces.append(largest)
    return math.inf if pieces[1] > SHAKES else math.log(pieces[1] / pieces[0]) / 12.0


def largest(
    arm: str, end: int | None, ratio: float, driver: Mapping[str, Any], sensors: Mapping[str, Any]
) -> tuple[float, str]:
    """The largest stable stiffness, N/m: at one end of the ranges, or with rigid gears; and what runs say."""

    def at(stiffness: float) -> Run:
        run = build(scenario(arm, "as_built" if end is None else "elastic", stiffness, ratio, driver, sensors))
        return run if end is None else ends_of(run)[end].run

    def stable(stiffness: float) -> bool:
        return is_stable(at(stiffness))

    low, high = 0.0, SOFTEST
    while stable(high):
        low, high = high, high * STEP
        if high > STIFFEST:
            return math.inf, "none"
    while low > 0.0 and high > NARROW * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low, confirmed(at, low) if low else "none"


def published() -> None:
    """Print the stability of published gains at both ends: speeds by differences, behind 30 Hz, and ever later."""
    gains = {"K": (600.0,) * 4 + (250.0, 150.0, 50.0), "D": (50.0,) * 4 + (30.0, 25.0, 15.0)}
    joint = {"law": "joint-impedance", "stiffness": gains["K"], "damping": gains["D"]}
    cases = [("fr3", "joint impedance example", 150.0, 15.0, joint), ("fr3", "150 N/m, 10 N·m/rad", 150.0, 15.0, None)]
    cases += [(arm, "500 N/m, 100 N·m/rad", 500.0, 5.0, None) for arm in ("fr3",)]
    cases += [(arm, "1000 N/m, 250 N·m/rad", 1000.0, 4.0, None) for arm in ("panda", "fr3")]
    for arm, words, stiffness, ratio, control in cases:
        for name, sensors in (("differences", DIFFERENCES), ("30 Hz", FILTERED)):
            for delay in range(4):
                driver = {"preset": "libfranka", "delay": delay}
                data = scenario(arm, "elastic", stiffness, ratio, driver, sensors)
                run = build(data if control is None else data.replace(control=control))
                found = [poles(end.run, 0.03, finer=False, probing=False) for end in ends_of(run)]
                said = ["stable" if p.stable else f"{p.modes[0].frequency:.0f} Hz, {p.largest:.4f}" for p in found]
                print(f"{arm}, {words}, {name}, {delay} late: soft {said[0]}; stiff {said[1]}", flush=True)


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
        print(arm, ratio, driver, sensors, [f"{x:.3g}, runs: {said}" for x, said in ends], flush=True)
    published()


if __name__ == "__main__":
    main()
