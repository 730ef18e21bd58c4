"""Poles of a running loop: CPU time to differentiate a control tick of a Panda at a wall, and of all that rests on it.

The run stands at 3.5 s, sticking on the wall. "All" is everything that `poles` finds for one moment: coordinates, the
map of a tick, what of it is a loop, and the poles; `with h/4` also with four times as many physics steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import palpate as pp
from benchmarks import Measurement
from palpate.run.assemble.assemble import assemble
from palpate.run.before.checks import check_start
from palpate.run.build import build
from palpate.run.forecast.design import design
from palpate.run.tangent.loop_poles import poles_here, run_until

ROUNDS, MOMENT = 25, 3.5


def measure() -> list[Measurement]:
    """CPU milliseconds without delay, and with a command 20 ticks late."""
    rows = []
    for delay, goal in ((0, 2.0), (20, 30.0)):
        scenario = pp.load_scenario("panda-wall").replace(world__driver__delay=delay)
        assembly = assemble(build(scenario))
        run_until(assembly, round(MOMENT / assembly.loop.period))
        late = f"a command {delay} ticks late" if delay else "no delay"
        plain = _cpu(lambda here=assembly: poles_here(here, finer=False, probing=False))
        both = _cpu(lambda here=assembly: poles_here(here))
        rows.append(Measurement(f"poles of a Panda, {late}", 1e3 * plain, "ms of CPU", goal))
        rows.append(Measurement(f"the same with B, C and h/4, {late}", 1e3 * both, "ms of CPU"))
    return rows + _whole()


def _whole() -> list[Measurement]:
    """CPU time of a whole run of panda-wall, of what is checked before it, and of `design` beyond its start."""
    scenario = pp.load_scenario("panda-wall")
    run = build(scenario)
    ready = iter([assemble(run) for _ in range(ROUNDS + 2)])
    return [
        Measurement("simulate panda-wall, whole", 1e3 * _cpu(lambda: pp.simulate(scenario)), "ms of CPU", 25.0),
        Measurement("checked before its first step", 1e3 * _cpu(lambda: check_start(next(ready))), "ms of CPU"),
        Measurement("design panda-wall, modes alone", _cpu(lambda: design(scenario, limits=False), 5), "s of CPU"),
        Measurement("design panda-wall, with its limits", _cpu(lambda: design(scenario), 5), "s of CPU", 1.0),
    ]


def _cpu(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median CPU seconds."""
    taken = []
    for _ in range(rounds + 2):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return float(np.median(taken[2:]))
