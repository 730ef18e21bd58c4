"""Tracking, effort, saturation, energy, singularities, and how far a pole on the tool is from upright."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palpate.checks import Array
from palpate.errors import NotApplicable
from palpate.metrics.kernels import integral_of_squares, largest_imbalance, largest_of_columns, time_above_zero
from palpate.metrics.signals import channel, columns_with_unit, refuse_without_target, rms, steady
from palpate.spatial import rows
from palpate.trace import Trace

_BOOKS = [f"energy.{name}" for name in ("kinetic", "potential", "stored", "injected", "pushed", "dissipated")]


def watched(what: str) -> Callable[[Trace], float]:
    """The metric that the run noted at every physics step under a name of `RunFacts.joint_watch`."""

    def noted(trace: Trace) -> float:
        if what not in trace.facts.joint_watch:
            raise NotApplicable("the run did not check joint stops and speeds")
        return float(trace.facts.joint_watch[what])

    return noted


def position_final_error(trace: Trace) -> float:
    """|p_d − p| at the last sample, m; of a law that follows nothing, against the position that the scenario names."""
    if not (trace.facts.scenario or {}).get("reference", {}).get("position"):
        refuse_without_target(trace)
    return float(np.linalg.norm(channel(trace, "target_position")[-1] - channel(trace, "tool_position")[-1]))


def joint_error_rms(trace: Trace) -> float:
    """√(∫ |q_d − q|² dt / (n T)) over the revolute joints, rad."""
    error = _joint_error(trace)
    return rms(trace.time, rows.length(error)) / np.sqrt(error.shape[1])


def joint_error_max(trace: Trace) -> float:
    """max |q_d − q| over the revolute joints, rad."""
    return float(np.abs(_joint_error(trace)).max())


def effort(trace: Trace) -> float:
    """∫ Σ τ² dt over the revolute joints, (N·m)²·s."""
    columns = columns_with_unit(trace, "tau", "N·m")
    if not columns:
        raise NotApplicable("the robot has no revolute joints")
    return integral_of_squares(trace["tau"], np.array(columns), trace.time, 0)


def peak_torque_ratio(trace: Trace) -> float:
    """max |τ| / limit over the joints with a known limit."""
    tau, limits = channel(trace, "tau"), trace.facts.torque_limit
    known = [i for i, limit in enumerate(limits) if limit is not None and limit > 0]
    if not known:
        raise NotApplicable("no torque limit is known")
    largest = np.zeros(tau.shape[1])
    largest_of_columns(tau, largest)
    return float(max(largest[i] / limits[i] for i in known))


def saturation_time(trace: Trace) -> float:
    """s during which a guard cuts the command."""
    return time_above_zero(channel(trace, "guard"), trace.time)


def energy_residual(trace: Trace) -> float:
    """max |Δ(kinetic + potential + stored) − Δ(injected + pushed − dissipated)|, J: what the books do not explain."""
    return largest_imbalance(*(channel(trace, name) for name in _BOOKS))


def smallest_singular_value(trace: Trace) -> float:
    """Smallest singular value of the tool's Jacobian met on the way, as the run noted it."""
    noted = trace.facts.singularity
    if not isinstance(noted, dict) or "smallest_singular_value" not in noted:
        raise NotApplicable("the run did not record it")
    return float(noted["smallest_singular_value"])


def _joint_error(trace: Trace) -> Array:
    if trace.facts.follows == "tool":
        raise NotApplicable(f"{trace.facts.law} follows the tool's target; its joints have none")
    refuse_without_target(trace)
    columns = columns_with_unit(trace, "q", "rad")
    if not columns:
        raise NotApplicable("the robot has no revolute joints")
    return channel(trace, "target_q")[:, columns] - trace["q"][:, columns]


def tilt(trace: Trace) -> Array:
    """Angle of the pole from the vertical per sample, rad."""
    if "pole.tilt" not in trace and trace.facts.world and trace.facts.world.get("pole") is None:
        raise NotApplicable("there is no pole")
    return channel(trace, "pole.tilt")


def tilt_end(trace: Trace) -> float:
    """Largest angle over the last tenth of the run, rad."""
    return float(tilt(trace)[steady(trace)].max())
