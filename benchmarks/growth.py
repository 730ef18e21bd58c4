"""How costs grow: with joints (2 to 30) and contact points (1 to 16), each beside bare physics of the same world."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

import palpate as pp
from benchmarks import Measurement
from benchmarks.loop import bare_steps, fill_targets
from palpate.control.laws.computed_torque import ComputedTorque
from palpate.engine.physics import Physics
from palpate.robot import Robot
from palpate.robot.readers.dh.table import DHLink
from palpate.run.assemble.assemble import assemble
from palpate.run.loop import loop
from palpate.run.run import Run
from palpate.world.clock import Clock
from palpate.world.config import FreeObject, Surface, World

JOINTS, POINTS, STEPS, ROUNDS = (2, 7, 14, 30), (1, 8, 16), 500, 21


def measure() -> list[Measurement]:
    """Per tick, ours and bare."""
    runs = {f"{n} joints": _chain(n) for n in JOINTS} | {f"{n} contact points": _resting(n) for n in POINTS}
    rows = []
    for name, (ours, bare) in _turns(runs).items():
        rows += [
            Measurement(f"a tick, {name}, palpate", 1e6 * ours, "µs"),
            Measurement(f"a tick, {name}, palpate / bare mj_step", ours / bare, "×"),
        ]
    return rows


def chain(joints: int) -> Robot:
    """A snake of short links, every axis across the one before."""
    link = DHLink(alpha=math.pi / 2, a=0.1, mass=1.0, com=(-0.05, 0.0, 0.0), inertia=(0.002, 0.002, 0.002))
    return Robot.from_dh([link] * joints, "standard")


def _chain(joints: int) -> Run:
    return Run(chain(joints), ComputedTorque(), clock=Clock(duration=1.0))


def _resting(points: int) -> Run:
    """Balls and boxes on a compliant floor, with a Panda that holds still above it."""
    floor = Surface(name="floor", position=(0.0, 0.0, -1.0), stiffness=2e4, damping=200.0)
    boxes = points // 8
    things = [
        FreeObject(name=f"thing{k}", shape="box", size=(0.1, 0.1, 0.1), position=(k, 0.0, -0.9502))
        for k in range(boxes)
    ] or [FreeObject(name="thing", shape="sphere", size=(0.05,), position=(0.0, 0.0, -0.9502))]
    world = World(surfaces=(floor,), objects=tuple(things))
    return Run(pp.load_robot("panda"), ComputedTorque(), world=world, clock=Clock(duration=1.0))


def _turns(runs: dict[str, Run]) -> dict[str, tuple[float, float]]:
    pairs = {name: (_ours(run), _bare(run)) for name, run in runs.items()}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(ROUNDS + 1):
        for name, (ours, bare) in pairs.items():
            taken[name].append((ours(), bare()))
    return {name: tuple(np.median(np.array(values[1:]), axis=0)) for name, values in taken.items()}  # pyright: ignore


def _ours(run: Run) -> Callable[[], float]:
    def timed() -> float:
        assembly = assemble(run)
        fill_targets(assembly, STEPS)
        return _seconds(lambda: loop.run_steps(assembly.loop.address, STEPS))

    return timed


def _bare(run: Run) -> Callable[[], float]:
    """mj_step of the same world from C, the arm held up against gravity; objects fall, for the floor is ours."""

    def timed() -> float:
        assembly = assemble(run)
        physics = Physics.of(assembly.plant.model, assembly.data)
        held = run.robot.gravity(run.start()[0])
        assembly.data.qfrc_applied[: len(held)] = held
        return _seconds(lambda: bare_steps(physics.address, STEPS))

    return timed


def _seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return (time.thread_time() - start) / STEPS
