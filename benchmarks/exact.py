"""An exact slide of planar2 and of a Panda per simulated second, and where the time goes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import palpate as pp
from benchmarks import Measurement
from palpate.checks import Array
from palpate.contact import HybridSystem, Plane
from palpate.robot.robot import Robot

REPEATS = 3


def measure() -> list[Measurement]:
    """Seconds per simulated second, held torques at 1 kHz and none; the cost of one step and of one impact."""
    return [*_slides(), *_parts()]


def _planar2() -> tuple[Robot, HybridSystem, Array, Array]:
    robot = pp.load_robot("planar2")
    system = HybridSystem(robot, [pp.Contact(Plane(normal=(0, 1, 0)))])
    return robot, system, np.array([np.pi / 3, -2 * np.pi / 3]), np.zeros(2)


def _panda() -> tuple[Robot, HybridSystem, Array, Array]:
    """Pressed on a table with 20 N beyond its weight, sliding with friction."""
    robot = pp.load_robot("panda")
    q = robot.home
    table = pp.Contact(Plane(robot.pose(q).position), friction=0.2)
    J = robot.jacobian(q)
    return robot, HybridSystem(robot, [table]), q, robot.gravity(q) + J.T @ [2.0, 8.0, -20.0, 0, 0, 0]


def _slides() -> list[Measurement]:
    rows = []
    for name, build, span in (("planar2", _planar2, 1.0), ("panda", _panda, 0.3)):
        robot, system, q, tau = build()
        system.run(q, None, 0.01, tau)  # compiles

        def held(state: object, tau: Array = tau) -> Array:
            return tau

        ticked = _best(lambda: system.run(q, None, span, held, period=1e-3)) / span
        alone = _best(lambda: system.run(q, None, span, tau)) / span
        rows.append(Measurement(f"{name}, a slide with ticks at 1 kHz", ticked, "s/s"))
        rows.append(Measurement(f"{name}, the same without ticks", alone, "s/s"))
        assert robot.nv == len(tau)
    return rows


def _parts() -> list[Measurement]:
    """One step of twelve evaluations, one evaluation, the complementarity problem, an impact with friction."""
    _, system, q, tau = _panda()
    state = system.advance(system.start(q), 1e-3, tau).state
    stepper, y = system._stepper, np.concatenate([state.q, state.v])
    margins = stepper.begin(state.time, y)
    slope = np.empty(len(y))
    robot, touching = system.robot, pp.Contact(Plane(system.robot.pose(q).position))
    down = -np.linalg.pinv(robot.jacobian(q)[:3]) @ [0.1, 0.2, 0.5]
    many = 200
    return [
        Measurement("panda, one evaluation of the constrained dynamics", _each(lambda: stepper.slope(0.0, y, slope), many), "µs"),
        Measurement("panda, one step (12 evaluations)", _each(lambda: stepper.stride(1e-3, margins), many), "µs"),
        Measurement("panda, constrained_dynamics from Python", _each(lambda: pp.constrained_dynamics(robot, q, np.zeros(7), tau, [touching]), 20), "µs"),
        Measurement("panda, impact with friction", _each(lambda: pp.impact(robot, q, down, [touching], 0.5, 0.3), 20), "µs"),
    ]  # fmt: skip


def _best(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _each(call: Callable[[], object], count: int) -> float:
    call()
    return _best(lambda: [call() for _ in range(count)]) / count * 1e6
