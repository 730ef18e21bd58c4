"""Impedances, delays and walls drawn by lot: simulated runs of a Panda whose stiffness, damping and delay are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import palpate as pp
from palpate.scenario.robot import build_robot
from palpate.tools.logs.cleaning import cleaned
from palpate.tools.logs.columns import Log, load_log
from palpate.tools.logs.rendered import rendered_of

AXES = "xyz"
FASTEST = 2.0  # rad/s: beyond, a loop is taken for an unstable one


@dataclass(frozen=True)
class DrawnRun:
    """A scenario, its recording with a sensor's noise, and what was truly rendered."""

    scenario: pp.Scenario
    robot: pp.Robot
    log: Log
    truth: dict[str, float]


def pushed(seed: int) -> DrawnRun:
    """An impedance pushed along every axis by a driver that is late by whole ticks; unstable loops are drawn again.

    A driver late by d ticks of T takes K d T off the damping; torques that are held act half a tick late besides.
    """
    rng = np.random.default_rng([seed, 31_337])
    while True:
        scenario, truth = _drawn(rng)
        trace = pp.simulate(scenario)
        if trace.outcome.kind == "completed" and np.abs(trace["v"]).max() < FASTEST:
            return recorded(scenario, trace, truth, rng)


def _drawn(rng: np.random.Generator) -> tuple[pp.Scenario, dict[str, float]]:
    rate, delay = float(rng.choice([500.0, 1000.0])), int(rng.integers(0, 4))
    stiffness = rng.uniform(200.0, 1500.0, 3)
    damping = 2 * rng.uniform(0.5, 1.2, 3) * np.sqrt(3.0 * stiffness)
    pushes = [
        {"name": f"p{axis}{k}", "kind": "sine", "force": list(rng.uniform(5.0, 15.0) * np.eye(3)[axis]),
         "frequency": rng.uniform(0.2, 2.0), "duration": 8.0}
        for axis in range(3) for k in range(2)
    ]  # fmt: skip
    scenario = pp.Scenario.model_validate(
        {
            "name": "pushed",
            "robot": {"model": "panda", "joints": "ideal"},
            "control": {
                "law": "cartesian-impedance",
                "stiffness": [*stiffness, 20.0, 20.0, 20.0],
                "damping": [*damping, 1.0, 1.0, 1.0],
            },
            "world": {"pushes": pushes, "driver": {"delay": delay}},
            "run": {"duration": 8.0, "rate": rate, "timestep": 1.0 / rate},
        }
    )
    late = delay / rate
    truth = {f"stiffness {axis}": float(K) for axis, K in zip(AXES, stiffness)}
    truth |= {f"damping {axis}": float(D - K * late) for axis, K, D in zip(AXES, stiffness, damping)}
    truth |= {f"loop delay {axis}": late + 0.5 / rate for axis in AXES} | {"torque delay": late}
    return scenario, truth


def touched(seed: int) -> DrawnRun:
    """A wall of another stiffness and damping that a Panda comes up to."""
    rng = np.random.default_rng([seed, 31_338])
    stiffness = float(np.exp(rng.uniform(np.log(3e3), np.log(3e4))))
    scenario = pp.load_scenario("panda-wall")
    wall = scenario.world.surfaces[0].model_copy(
        update={"stiffness": stiffness, "damping": float(rng.uniform(30.0, 150.0))}
    )
    world = scenario.world.model_copy(update={"surfaces": (wall,)})
    whole = scenario.model_copy(update={"world": world})
    return recorded(whole, pp.simulate(whole), {"environment stiffness": stiffness}, rng)


def recorded(scenario: pp.Scenario, trace: pp.Trace, truth: dict[str, float], rng: np.random.Generator) -> DrawnRun:
    """The recording of a simulated run, with noise of encoders, torques and the wrist's sensor."""
    robot = build_robot(scenario.robot)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.parquet"
        trace.save(path)
        log = load_log(path, robot)
    sizes = {"wrench": rng.uniform(0.2, 1.5), "q": 1e-5, "v": 1e-3, "tau": rng.uniform(0.02, 0.2)}
    clean = {name: getattr(log, name) for name in sizes}
    noisy = {name: values + sizes[name] * rng.normal(size=values.shape) for name, values in clean.items()}
    return DrawnRun(scenario, robot, replace(log, **noisy), truth)


def quantities(run: DrawnRun) -> dict:
    """What a recording says of what was rendered."""
    return rendered_of(run.log, run.robot, run.scenario, cleaned(run.log)).quantities
