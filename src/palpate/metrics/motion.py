"""Tracking, effort, saturation, energy, singularities, and how far a pole on the tool is from upright."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import NeverHappened, NotApplicable
from palpate.metrics.kernels import integral_of_squares, largest_of_columns
from palpate.metrics.signals import (
    channel,
    columns_with_unit,
    held_time,
    once,
    refuse_without_target,
    rms,
    steady,
)
from palpate.spatial import rows
from palpate.trace import Trace


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
    return held_time(trace.time, channel(trace, "guard") != 0)


def energy_residual(trace: Trace) -> float:
    """max |Δ(kinetic + potential + stored) − Δ(injected + pushed − dissipated)|, J: what the books do not explain."""
    held = sum(channel(trace, f"energy.{name}") for name in ("kinetic", "potential", "stored"))
    flowed = sum(channel(trace, f"energy.{name}") for name in ("injected", "pushed"))
    balance = held - flowed + channel(trace, "energy.dissipated")
    return float(np.abs(balance - balance[0]).max())


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


# ----------------------------------------------------------------------------------------------
# Stopping: how long a tool that moves at first goes on, how far, and how straight.


STILL = 0.02  # stopped: slower than this share of the first speed
LEAST_SPEED = 1e-4  # m/s; a slower tool has no direction worth the name


@dataclass(frozen=True)
class MeasuredStop:
    """A stop: its duration, s, and the way p − p₀ until then, m, along the first direction and across it."""

    time: float
    along: Array
    across: Array


@once
def stop_of(trace: Trace) -> MeasuredStop:
    """The stop of the tool's origin: until |ṗ| stays below 2 % of |ṗ₀|, the end interpolated between samples."""
    velocity, position, late = channel(trace, "tool_twist")[:, :3], channel(trace, "tool_position"), steady(trace)
    speed = rows.length(velocity)
    if speed[0] < LEAST_SPEED:
        raise NotApplicable("the tool does not move at first")
    moving = speed >= STILL * speed[0]
    if moving[late].any():
        raise NeverHappened("the tool has not stopped by the end")
    k = int(np.flatnonzero(moving)[-1])
    share = (speed[k] - STILL * speed[0]) / (speed[k] - speed[k + 1])
    last = position[k] + share * (position[k + 1] - position[k])
    way, direction = np.vstack([position[: k + 1], last]) - position[0], velocity[0] / speed[0]
    along = way @ direction
    time = trace.time[k] + share * (trace.time[k + 1] - trace.time[k]) - trace.time[0]
    return MeasuredStop(float(time), along, rows.length(way - np.outer(along, direction)))


def stop_time(trace: Trace) -> float:
    """s until the tool's speed stays below 2 % of its first."""
    return stop_of(trace).time


def stop_distance(trace: Trace) -> float:
    """(p − p₀)·ṗ₀/|ṗ₀| at the stop, m."""
    return float(stop_of(trace).along[-1])


def stop_deviation(trace: Trace) -> float:
    """Largest distance from the line through p₀ along ṗ₀ until the stop, m."""
    return float(stop_of(trace).across.max())
