"""Bounds and interfaces around the law: what the loop of a finished run exceeded or ignored."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.checks import Array
from palpate.control.promise import promise_axes
from palpate.run.assemble.assemble import Assembly
from palpate.spatial import matrix_from_quat

REMARKED, WARNED = 2e-3, 0.05  # of a bound: an excess that is remarked on, and one that is warned of
_MOVED = 1e-6  # m or rad


def beyond_bounds(assembly: Assembly, named: Mapping[str, Array]) -> tuple[float, str]:
    """By how much accelerations left the bounds that the law keeps at its ticks, a share of them, and a sentence.

    Torques are held for a period while the arm moves on; and what the law's model lacks accelerates the arm, too.
    """
    run = assembly.run
    most = run.fitted.traits.acceleration_bound(run.robot)
    if most is None or not {"v", "time"} <= set(named) or len(named["time"]) < 3:
        return 0.0, ""
    steps = np.diff(named["time"])[:, None]
    share = np.abs(np.diff(named["v"], axis=0) / steps) / most - 1.0
    k, j = (int(i) for i in np.unravel_index(np.argmax(share), share.shape))
    return float(share[k, j]), (
        f"{run.robot.dof_names[j]} passed its acceleration bound of {most[j]:.4g} {run.robot.dof_units[j]}/s² by"
        f" {100 * share[k, j]:.2g} % at {named['time'][k]:.4g} s"
    )


def beyond_the_interface(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A warning of a tool that was faster under position or velocity commands than its interface lets it be."""
    if assembly.law.command not in ("position", "velocity") or "tool_twist" not in named or len(named["time"]) < 2:
        return []
    facts, twist, time = assembly.run.world.driver.facts_for(assembly.run.robot), named["tool_twist"], named["time"]
    changes = np.diff(twist, axis=0) / np.diff(time)[:, None]
    warnings = []
    for part, per in ((slice(0, 3), "m/s"), (slice(3, 6), "rad/s")):
        at = part.start // 3
        pairs = (
            ("moved at", twist, facts.tool_speed_limit[at], per, "tool_speed_limit"),
            ("accelerated at", changes, facts.tool_acceleration_limit[at], f"{per}²", "tool_acceleration_limit"),
        )
        for verb, rows, limit, unit, key in pairs:
            size = np.linalg.norm(rows[:, part], axis=1)
            k = int(np.argmax(size))
            if limit and size[k] > (1.0 + REMARKED) * limit:
                warnings.append(
                    f"the tool {verb} {size[k]:.4g} {unit} at {time[k]:.4g} s; the interface stops an arm at"
                    f" {limit:g} {unit} (world.driver.{key}), which is not simulated"
                )
    return warnings


def dropped_motion(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A remark on motion of the target along a direction in which the law controls the force instead."""
    run = assembly.run
    if not run.law.traits.drops_motion:
        return []
    if not {"target_position", "tool_quat_wxyz"} <= set(named) or not len(named["time"]):
        return []
    moved = named["target_position"] - named["target_position"][0]
    for promise in run.law.traits.promises(run.robot):
        axes = promise_axes(promise, matrix_from_quat(named["tool_quat_wxyz"][-1]), promise.force)
        size = np.abs(moved @ axes[:, :3].T).max(axis=0, initial=0.0)
        along = [f"{d} ({1e3 * s:.3g} mm)" for d, s in zip(promise.force, size) if s > _MOVED]
        if along:
            return [
                f"{run.law.name} controls the force along {', '.join(promise.force)}: the motion of the reference along"
                f" {', '.join(along)} is ignored while in contact"
            ]
    return []
