"""Warnings of a finished run: findings about its robot, joints, friction, limits and guards."""

from __future__ import annotations

import os
from dataclasses import replace
from weakref import WeakKeyDictionary

from palpate.robot.readers.findings import Finding, without_meshes
from palpate.robot.robot import Robot
from palpate.run.after.causes import LIMITS
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop import state as S
from palpate.run.run import Run

_SHORT = 0.05  # s in all, up to which a rate limit that bends a command is not worth a warning


def findings_and_meshes(run: Run) -> tuple[list[Finding], list[str]]:
    """The robot's warnings without the folder of its file, and a sentence on meshes that could not be had."""
    known = _FINDINGS.get(run.robot)  # asked after every run of a sweep
    if known is None:
        named = (replace(finding, file=os.path.basename(finding.file)) for finding in run.robot.warnings)
        known = _FINDINGS[run.robot] = without_meshes(named)
    return known


_FINDINGS: WeakKeyDictionary[Robot, tuple[list[Finding], list[str]]] = WeakKeyDictionary()


def joint_warnings(assembly: Assembly) -> list[str]:
    """Joints that met their stops or went faster than they are rated."""
    robot, w, dt, warnings = assembly.run.robot, assembly.loop.watch, assembly.loop.dt, []
    if not w.on or not (w.beyond_steps.any() or w.fast_steps.any()):
        return []
    for j, (name, unit) in enumerate(zip(robot.dof_names, robot.dof_units)):
        if w.beyond_steps[j]:
            warnings.append(
                f"{name} reached its stop: up to {w.beyond[j]:.3g} {unit} beyond it, for {w.beyond_steps[j] * dt:.3g} s"
                f" from {w.beyond_since[j]:.4g} s on"
            )
        if w.fast_steps[j]:
            warnings.append(
                f"{name} moved at up to {w.share[j]:.3g} times its rated speed of {w.rated[j]:.4g} {unit}/s,"
                f" for {w.fast_steps[j] * dt:.3g} s from {w.fast_since[j]:.4g} s on"
            )
    return warnings


def friction_warnings(assembly: Assembly) -> list[str]:
    """A warning where joint friction and contacts did not agree in the end, or Coulomb's law had no answer."""
    s, steps = assembly.loop.friction.settling, assembly.loop.holding.problem.unsettled
    unsettled = [
        f"no answer of Coulomb's law was found in {steps} of {assembly.loop.step} physics steps, which let contacts"
        " open as they slide; use less friction, fewer contacts or a compliant surface"
    ]
    if not s.steps:
        return unsettled if steps else []
    return [
        f"joint friction beside contacts did not settle in {s.steps} of {assembly.loop.step} physics steps: its last"
        f" change was up to {100 * s.worst:.2g} % of a joint's friction; use a compliant surface, or a shorter step"
    ]


def limit_warnings(assembly: Assembly) -> list[str]:
    """Warnings of torques and rates that the driver limited, and of lost commands."""
    L, warnings = assembly.loop, []
    for bit, what, least in ((S.TORQUE_LIMITED, "torque limit", 0.0), (S.RATE_LIMITED, "rate limit", _SHORT)):
        time = int(L.guard_steps[bit.bit_length() - 1]) * L.dt
        if time > least:
            warnings.append(f"the {what} changed the law's command for {time:.3g} s in total")
    if L.drives.lost:
        warnings.append(f"{L.drives.lost} of {L.tick_count} commands were lost; the last one was held")
    return warnings


def interventions(assembly: Assembly) -> list[str]:
    """Guards and rate limits that changed commands, as far as there is no warning of it."""
    L, warned = assembly.loop, " ".join(limit_warnings(assembly))
    times = {name: int(L.guard_steps[bit.bit_length() - 1]) * L.dt for bit, name in LIMITS.items()}
    return [
        f"the {name} changed the command for {time:.3g} s in total"
        for name, time in times.items()
        if time and name.removeprefix("torque-") not in warned
    ]


def joint_watch(assembly: Assembly) -> dict[str, float]:
    """Longest times beyond stops and rated speeds, s, and the largest excesses; empty where joints were not watched."""
    w, dt = assembly.loop.watch, assembly.loop.dt
    if not w.on:
        return {}
    return {
        "stop_time": max(w.beyond_steps.tolist(), default=0) * dt,
        "stop_excess": max(w.beyond.tolist(), default=0.0),
        "speed_time": max(w.fast_steps.tolist(), default=0) * dt,
        "speed_share": max(w.share.tolist(), default=0.0),
    }
