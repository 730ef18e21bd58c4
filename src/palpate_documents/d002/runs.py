"""Document 002: runs of the force loop, by the correction as printed and by the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate_documents.printed_claims import Runs


def _correct(transposed: bool) -> Callable[[Any, Any, Any], dict[str, Array]]:
    """The document's integrator as a law; the correction by (J^T)⁻¹, as printed, or by J^T."""

    def law(tick: Any, gains: Any, memory: dict[str, Array]) -> dict[str, Array]:
        J, error = tick.J[:2], np.array([1.0, 2.0]) + tick.wrench[:2]  # the arm presses with −wrench
        correction = J.T @ error if transposed else np.linalg.solve(J.T, error)
        memory["T"] = memory["T"] + 10.0 * correction * tick.dt
        return {"integral": memory["T"], "damper": -5.0 * tick.M @ tick.v, "bias": tick.bias}

    return law


def force_loop_runs() -> Runs:
    """The tip in a vice, force control with k = 10: both elbows as printed, one by J^T."""
    scenario = pp.load_scenario("planar2-tip-force")
    down, up = np.array([np.pi / 3, -2 * np.pi / 3]), np.array([-np.pi / 3, 2 * np.pi / 3])
    cases = (
        ("as printed: dT = (J^T)⁻¹ dF, θ2 = −120°", False, down),
        ("as printed: dT = (J^T)⁻¹ dF, θ2 = +120°", False, up),
        ("right: dT = J^T dF, θ2 = +120°", True, up),
    )
    runs = []
    for name, transposed, q in cases:
        law = pp.control.PythonLaw(
            _correct(transposed), ("integral", "damper", "bias"), memory={"T": np.zeros(2)}, name="document-002"
        )
        clock = pp.world.Clock(duration=0.8, timestep=2e-4, rate=1000)
        stop = (pp.trace.StopWhen("contact_force", above=150.0),)
        run = pp.Run(pp.load_robot("planar2"), law, scenario.world, clock=clock, q_start=q, stop=stop)
        runs.append((name, pp.simulate(run)))
    return runs
