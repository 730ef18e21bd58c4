"""mujoco.rollout, the engine's own way to many open-loop steps, beside palpate's closed loop; one thread and two.

Both step the same compiled world of a Panda in front of a compliant wall. mujoco.rollout applies given forces, records
states and knows no law, no compliant wall, no sensor: it is a limit, not a peer.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from typing import Any

import mujoco
import numpy as np

from benchmarks import Measurement
from benchmarks.loop import TICKS, _steps, another_nominal_model, fill_targets, pressing
from palpate.run.assemble.assemble import assemble
from palpate.run.simulate import simulate_many

ROUNDS = 11


def measure() -> list[Measurement]:
    """CPU seconds per tick of both, and how both grow with threads."""
    if importlib.util.find_spec("mujoco.rollout") is None:
        print("this MuJoCo has no rollout")
        return []
    rollout: Any = importlib.import_module("mujoco.rollout")
    parts = pressing()
    model = assemble(parts).plant.model
    state = _state(model, parts.robot.home)
    force = np.tile(parts.robot.gravity(parts.robot.home), (1, TICKS, 1))
    signature = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

    def engine(threads: int, runs: int) -> float:
        datas = [mujoco.MjData(model) for _ in range(threads)]
        states, forces = np.tile(state, (runs, 1)), np.tile(force, (runs, 1, 1))
        start, cpu = time.perf_counter(), time.process_time()
        rollout.rollout(model, datas, states, forces, control_spec=signature)
        return (time.perf_counter() - start if runs > 1 else time.process_time() - cpu) / (runs * TICKS)

    def ours() -> float:
        assembly = assemble(parts)
        fill_targets(assembly, TICKS + 1)
        return _steps(assembly)

    taken: dict[str, list[float]] = {"mujoco.rollout": [], "palpate": []}
    for _ in range(ROUNDS + 1):
        taken["mujoco.rollout"].append(engine(1, 1))
        taken["palpate"].append(ours())
    seconds = {name: float(np.median(values[1:])) for name, values in taken.items()}
    return [
        Measurement("a tick, mujoco.rollout (open loop)", seconds["mujoco.rollout"] * 1e6, "µs"),
        Measurement("a tick, palpate (closed loop, contact, record)", seconds["palpate"] * 1e6, "µs"),
        Measurement("palpate / mujoco.rollout", seconds["palpate"] / seconds["mujoco.rollout"], "×"),
        *_threads(engine),
    ]


def _state(model: mujoco.MjModel, q: np.ndarray) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos[: len(q)] = q
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    return state


def _threads(engine: Any) -> list[Measurement]:
    """How much sooner two threads are done than one, and what they add in CPU; other work counts against the first."""
    runs = [another_nominal_model(pressing())] * 8

    def ours(threads: int) -> tuple[float, float]:
        start, cpu = time.perf_counter(), time.process_time()
        simulate_many(runs, threads=threads)
        return time.perf_counter() - start, time.process_time() - cpu

    one, two = (float(np.median([engine(n, 8) for _ in range(3)])) for n in (1, 2))
    alone, together = (np.median([ours(n) for _ in range(3)], axis=0) for n in (1, 2))
    return [
        Measurement("mujoco.rollout, two threads over one, speed", one / two, "×"),
        Measurement("whole runs of 2 s, two threads over one, speed", float(alone[0] / together[0]), "×"),
        Measurement("whole runs of 2 s, two threads over one, CPU", float(together[1] / alone[1]), "×"),
    ]
