"""What the loop around a law adds to it: motion between ticks, and parts of the reference that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.promise import promise_axes
from palpate.run.assemble.assemble import Assembly
from palpate.spatial import matrix_from_quat

_WORTH, _MUCH = 2e-3, 0.05  # of a bound: an excess that is remarked on, and one that is warned of
_MOVED = 1e-6  # m or rad


def beyond_bounds(assembly: Assembly, named: Mapping[str, Array]) -> tuple[list[str], list[str]]:
    """(remarks, warnings) on accelerations between ticks that leave the bounds which the law keeps at its ticks.

    A torque is held for a period while the arm moves on, so that its acceleration is not the one that was chosen.
    """
    run = assembly.run
    most = run.law.acceleration_bound(run.robot) if isinstance(run.law, Law) else None
    if most is None or not {"v", "time"} <= set(named) or len(named["time"]) < 3:
        return [], []
    steps = np.diff(named["time"])[:, None]
    share = np.abs(np.diff(named["v"], axis=0) / steps) / most - 1.0
    worst = share.max(axis=0)
    j = int(np.argmax(worst))
    if worst[j] < _WORTH:
        return [], []
    k, T, unit = int(np.argmax(share[:, j])), run.clock.control_period, run.robot.dof_units[j]
    text = (
        f"{run.robot.dof_names[j]} passed its acceleration bound of {most[j]:.4g} {unit}/s² by {100 * worst[j]:.2g} %"
        f" between ticks, at {named['time'][k]:.4g} s: torques are held for {1e3 * T:.3g} ms; a shorter period or"
        " lower bounds keep it"
    )
    return ([], [text]) if worst[j] > _MUCH else ([text], [])


def beyond_the_interface(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A warning of a tool that was faster under position or velocity commands than its interface lets it be."""
    if assembly.law.command not in ("position", "velocity") or "tool_twist" not in named or not len(named["time"]):
        return []
    said, limits = [], assembly.run.world.driver.facts.tool_speed_limit
    for part, limit, unit in zip((slice(0, 3), slice(3, 6)), limits, ("m/s", "rad/s")):
        speed = np.linalg.norm(named["tool_twist"][:, part], axis=1)
        k = int(np.argmax(speed))
        if limit and speed[k] > (1.0 + _WORTH) * limit:
            said.append(
                f"the tool moved at {speed[k]:.4g} {unit} at {named['time'][k]:.4g} s; the interface stops an arm at"
                f" {limit:g} {unit} (world.driver.tool_speed_limit), which is not simulated"
            )
    return said


def dropped_motion(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A remark on motion of the target along a direction in which the law controls the force instead."""
    run = assembly.run
    if not isinstance(run.law, Law) or not run.law.drops_motion:
        return []
    if not {"target_position", "tool_quat_wxyz"} <= set(named) or not len(named["time"]):
        return []
    moved = named["target_position"] - named["target_position"][0]
    for promise in run.law.promises(run.robot):
        axes = promise_axes(promise, matrix_from_quat(named["tool_quat_wxyz"][-1]), promise.force)
        size = np.abs(moved @ axes[:, :3].T).max(axis=0, initial=0.0)
        along = [f"{d} ({1e3 * s:.3g} mm)" for d, s in zip(promise.force, size) if s > _MOVED]
        if along:
            return [
                f"{run.law.name} controls the force along {', '.join(promise.force)}: the motion of the reference along"
                f" {', '.join(along)} is ignored while in contact"
            ]
    return []
