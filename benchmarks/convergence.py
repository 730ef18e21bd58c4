"""The force of ever stiffer compliant walls, and of the rigid one, beside the exact multiplier; with a figure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import numpy as np

import palpate as pp
from benchmarks import Measurement
from palpate.control.laws.passive import Passive

STIFFNESS = ((1e3, 1e-4), (3e3, 1e-4), (1e4, 1e-4), (3e4, 5e-5), (1e5, 2e-5))  # N/m, and the physics step, s


def force(contact: Literal["compliant", "rigid", "exact"], stiffness: float = 1e4, timestep: float = 1e-3) -> float:
    """Mean normal force of the second half of a damped slide along y = 0, N."""
    robot = pp.load_robot("planar2")
    wall = pp.world.Surface(
        name="wall", normal=(0, 1, 0), position=(0, -0.01, 0), contact=contact, stiffness=stiffness,
        damping=2 * np.sqrt(stiffness),
    )  # fmt: skip
    clock = pp.world.Clock(duration=0.5, timestep=timestep)
    start = [np.pi / 3, -2 * np.pi / 3]
    trace = pp.simulate(pp.Run(robot, Passive(damping=3.0), pp.World(surfaces=(wall,)), clock=clock, q_start=start))
    return float(trace["contact_wrench"][trace.time > 0.25, 1].mean())


def errors() -> tuple[np.ndarray, float]:
    """|f − λ|/λ of every stiffness, and of the rigid wall."""
    exact = force("exact")
    compliant = [abs(force("compliant", *each) / exact - 1) for each in STIFFNESS]
    return np.array(compliant), abs(force("rigid") / exact - 1)


def measure() -> list[Measurement]:
    """How far each wall's force is from the multiplier."""
    compliant, rigid = errors()
    rows = [Measurement(f"compliant, {k:g} N/m", float(error), "1") for (k, _), error in zip(STIFFNESS, compliant)]
    return [*rows, Measurement("rigid", rigid, "1")]


def draw(path: Path) -> None:
    """Draw them."""
    from matplotlib.figure import Figure

    k, (compliant, rigid) = np.array([stiffness for stiffness, _ in STIFFNESS]), errors()
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    order = -np.polyfit(np.log(k), np.log(compliant), 1)[0]
    axes.loglog(k, compliant, "o-", color="#0072B2", label=f"compliant, of order {order:.2f} in 1/k")
    axes.loglog(k, compliant[0] * k[0] / k, "--", color="#888888", label="slope −1")
    axes.axhline(rigid, color="#D55E00", label="rigid")
    axes.set(xlabel="stiffness k (N/m)", ylabel="|f − λ| / λ", title="Force of a wall beside the exact multiplier λ")
    axes.grid(alpha=0.25, which="both")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "exact-convergence.png"))
