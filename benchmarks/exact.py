"""An exact slide of planar2 and of a Panda per simulated second, and where the time goes; CPU time throughout."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import palpate as pp
from benchmarks import Measurement
from palpate.checks import Array
from palpate.tools.contact import HybridSystem, Plane

REPEATS = 3
MOTION = {"planar2-slide": 0.4, "panda-slide": 5.9}  # s, of the whole motion beyond its first tenth
GOALS = {("planar2-slide", "exact"): 0.5, ("panda-slide", "exact"): 0.05}


def measure() -> list[Measurement]:
    """Seconds per simulated second, held torques at 1 kHz and none; the cost of one step and of one impact."""
    return [*_slides(), *_runs(), *_parts()]


def _planar2() -> tuple[HybridSystem, Array, Array]:
    robot = pp.load_robot("planar2")
    system = HybridSystem(robot, [pp.contact.Contact(Plane(normal=(0, 1, 0)))])
    return system, np.array([np.pi / 3, -2 * np.pi / 3]), np.zeros(2)


def _panda() -> tuple[HybridSystem, Array, Array]:
    """Pressed on a table with 20 N beyond its weight, sliding with friction."""
    robot = pp.load_robot("panda", joints="ideal")
    q = robot.home
    table = pp.contact.Contact(Plane(robot.pose(q).position), friction=0.2)
    J = robot.jacobian(q)
    return HybridSystem(robot, [table]), q, robot.gravity(q) + J.T @ [2.0, 8.0, -20.0, 0, 0, 0]


def _slides() -> list[Measurement]:
    return [*_slide("planar2", _planar2(), 1.0), *_slide("panda", _panda(), 0.3)]


def _slide(name: str, parts: tuple[HybridSystem, Array, Array], span: float) -> list[Measurement]:
    system, q, tau = parts
    system.run(q, None, 0.01, tau)  # compiles
    ticked = _best(lambda: system.run(q, None, span, lambda state: tau, period=1e-3)) / span
    alone = _best(lambda: system.run(q, None, span, tau)) / span
    return [
        Measurement(f"{name}, a slide with ticks at 1 kHz", ticked, "s/s"),
        Measurement(f"{name}, the same without ticks", alone, "s/s"),
    ]


def _runs() -> list[Measurement]:
    """Slides as whole runs recorded at 1 kHz, exact and compliant: what a further simulated second costs."""
    place = "world.surfaces.wall.position=[0, -0.01, 0]"  # the tip is a sphere of 1 cm
    cases = {
        "planar2-slide": ("wall", ["world.contact_points=[]", place]),
        "panda-slide": ("table", ["robot.joints=ideal"]),
    }
    found = []
    for name, (surface, changes) in cases.items():
        for kind in ("exact", "compliant"):
            kinds, more = [*changes, f"world.surfaces.{surface}.contact={kind}"], MOTION[name]
            seconds = _per_second(lambda span, name=name, kinds=kinds: _run(name, kinds, span), more)
            found.append(Measurement(f"{name} as a run, {kind} contact", seconds, "s/s", GOALS.get((name, kind))))
    return found


def _run(name: str, changes: list[str], span: float) -> None:
    pp.simulate(pp.load_scenario(name, [*changes, f"run.duration={span}"]))


def _per_second(run: Callable[[float], None], more: float) -> float:
    """Seconds of a simulated second: building and checking, which a run costs once, are taken off."""
    run(0.01)  # compiles
    short, long = (_best(partial(run, span)) for span in (0.1, 0.1 + more))
    return (long - short) / more


def _parts() -> list[Measurement]:
    """One evaluation, one step of twelve, a state from Python, an impact with friction."""
    system, q, tau = _panda()
    state = system.advance(system.start(q), 1e-3, tau).state
    stepper, y = system.stepper, np.concatenate([state.q, state.v])
    stepper.begin(state.time, y)
    margins = stepper.control.margins.copy()
    robot, table = system.robot, pp.contact.Contact(Plane(system.robot.pose(q).position))
    down = -np.linalg.pinv(robot.jacobian(q)[:3]) @ [0.1, 0.2, 0.5]
    calls: dict[str, tuple[Callable[[], object], int]] = {
        "one evaluation of the constrained dynamics": (lambda: stepper.slope(0.0, y), 200),
        "one step (12 evaluations)": (lambda: stepper.try_step(1e-3, margins), 200),
        "constrained_dynamics": (lambda: pp.contact.constrained_dynamics(robot, q, np.zeros(7), tau, [table]), 20),
        "impact with friction": (lambda: pp.contact.impact(robot, q, down, [table], 0.5, 0.3), 20),
    }
    return [Measurement(f"panda, {name}", _each(call, count), "µs") for name, (call, count) in calls.items()]


def _best(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _each(call: Callable[[], object], count: int) -> float:
    call()
    return _best(lambda: [call() for _ in range(count)]) / count * 1e6
