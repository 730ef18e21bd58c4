"""A step of the Gymnasium environment, 20 ticks of panda-wall: CPU time alone and in a batch, beside its loop alone."""

from __future__ import annotations

import importlib.util
import time

import numpy as np

from benchmarks import Measurement
from benchmarks.sweep import TICKS, loop_seconds, panda_wall
from palpate.run.assemble.renew import Renewable
from palpate.run.build import build

STEPS, BATCH = 150, 8
ACTION = (0.2, 0.0, 0.0, 0.0, 0.0, 0.1)


def measure() -> list[Measurement]:
    """Medians of a step; of an environment alone, and of one in a batch of one thread."""
    if importlib.util.find_spec("gymnasium") is None:
        print("not compared: gymnasium is not installed")
        return []
    from palpate.tools.gym import ContactEnv, ThreadedEnvs

    env, many = ContactEnv("panda-wall"), ThreadedEnvs([lambda: ContactEnv("panda-wall")] * BATCH, threads=1)
    env.reset(seed=0)
    many.reset(seed=0)
    kept, ticks = Renewable(build(panda_wall())), env.ticks
    actions = np.tile(np.array(ACTION, dtype=np.float32), (BATCH, 1))
    taken: dict[str, list[float]] = {"alone": [], "batch": [], "loop": []}
    for k in range(STEPS):
        start = time.process_time()
        env.step(actions[0])
        between = time.process_time()
        many.step(actions)
        taken["alone"].append(between - start)
        taken["batch"].append((time.process_time() - between) / BATCH)
        if k % 10 == 0:
            taken["loop"].append(loop_seconds(kept) * ticks / (TICKS + 1))
    many.close()
    seconds = {name: float(np.median(values[5:])) for name, values in taken.items()}
    return [
        Measurement(f"a step of {ticks} ticks", 1e3 * seconds["alone"], "ms", 0.1),
        Measurement(f"… of each of {BATCH} environments in one batch", 1e3 * seconds["batch"], "ms", 0.1),
        Measurement(f"{ticks} ticks of the loop alone", 1e3 * seconds["loop"], "ms"),
    ]
