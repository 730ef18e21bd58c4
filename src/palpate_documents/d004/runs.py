"""Document 004: runs of the damped arm, with the tensor as printed and with the right ones."""

from __future__ import annotations

import numpy as np

import palpate as pp
from palpate_documents.printed_claims import Runs


def fall_runs() -> Runs:
    """Section 1.8 with link 1's tensor in all links, and with each link's own."""
    from palpate_documents.d004.arm import TENSORS, robot_of

    clock = pp.world.Clock(duration=3.0, timestep=1e-3, integrator="rk4")
    start = [1.0, np.pi / 3, np.pi / 3]
    runs = []
    for name, tensors in (("as printed: one tensor", (TENSORS[0],) * 3), ("right: one per link", TENSORS)):
        plant = pp.World(plant={"joint_damping": 5.0})  # type: ignore[arg-type]
        run = pp.Run(robot_of(tensors), pp.control.Passive(), plant, clock=clock, q_start=start)
        runs.append((name, pp.simulate(run)))
    return runs
