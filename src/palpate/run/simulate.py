"""simulate: the parts of a run in, a trace out."""

from __future__ import annotations

import os
import platform
import time as clock
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate import __version__
from palpate.checks import Array
from palpate.control.guards import GUARD_NAMES
from palpate.engine import WARNINGS
from palpate.run import loop
from palpate.run import state as S
from palpate.run.assemble import BATCH, Assembly, assemble
from palpate.run.build import build
from palpate.run.checks import check_start
from palpate.run.parts import Parts
from palpate.run.scene import scene_of, singularity
from palpate.scenario.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.trace import Event, Outcome, Trace

Progress = Callable[[float, float], None]
_GUARDS = {S.GUARD_TORQUE: "torque limit", S.GUARD_RATE: "torque-rate limit", **GUARD_NAMES}


def simulate(parts: Parts | Scenario | str | os.PathLike[str], *, progress: Progress | None = None) -> Trace:
    """Run a scenario and record what happened.

    Args:
        parts: a scenario, its shipped name or file, or parts put together in Python.
        progress: called with (simulated time, duration) between batches.

    Returns:
        The trace; `trace.outcome` says how the run ended. A diverged or interrupted run keeps its trace up to there.
    """
    assembly = assemble(as_parts(parts))
    warnings = check_start(assembly)
    started = clock.perf_counter()
    try:
        status = _run(assembly, progress)
    except KeyboardInterrupt:
        status = None
    return _trace(assembly, status, warnings, clock.perf_counter() - started)


def as_parts(source: Parts | Scenario | str | os.PathLike[str]) -> Parts:
    """The parts of a run, from themselves, a scenario, or its name or file."""
    if isinstance(source, str | os.PathLike):
        source = load_scenario(source)
    return build(source) if isinstance(source, Scenario) else source


def simulate_many(runs: Sequence[Parts], *, threads: int = 2) -> list[Trace]:
    """Run many parts in threads; the compiled loop releases the interpreter. Same traces as one by one."""
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        return list(pool.map(simulate, runs))


def _run(assembly: Assembly, progress: Progress | None) -> int:
    L, duration = assembly.loop, assembly.parts.duration
    ratio = int(L.i[S.I_RATIO])
    batch = max(ratio, BATCH // ratio * ratio)
    status = S.RUNNING
    while status == S.RUNNING:
        _fill_targets(assembly, batch // ratio)
        if assembly.law.compiled:
            status = loop.run_steps(assembly.table, assembly.law.function, batch)
        else:
            status = _run_python(assembly, batch)
        if progress is not None:
            progress(float(L.x[S.X_TIME]), duration)
    return status


def _fill_targets(assembly: Assembly, ticks: int) -> None:
    """Sample the reference for the control ticks of the next batch."""
    L, parts = assembly.loop, assembly.parts
    first = int(L.i[S.I_TICK])
    last = parts.steps() // parts.ratio()
    numbers = np.arange(first, min(first + ticks, last) + 1)
    q_start, _ = parts.start()
    L.targets[: len(numbers)] = parts.reference.sample(numbers * L.x[S.X_PERIOD], parts.robot, q_start)
    L.i[S.I_FIRST_TARGET] = first


def _run_python(assembly: Assembly, steps: int) -> int:
    """The same loop with a law in plain Python between its two compiled halves."""
    L, table, status = assembly.loop, assembly.table, S.RUNNING
    for _ in range(steps):
        due = loop.before_law(table)
        if due:
            assembly.law.function(
                L.x[S.X_TIME], L.x[S.X_PERIOD], L.q, L.v, L.M, L.bias, L.gravity, L.position, L.rotation, L.J, L.drift,
                L.wrench, L.tau_measured, L.target, L.gains, L.memory, L.terms,
            )  # fmt: skip
        status = loop.after_law(table, due)
        if status != S.RUNNING:
            break
    return status


# ---------------------------------------------------------------------------------------------- the trace


def _trace(assembly: Assembly, status: int | None, warnings: list[str], wall: float) -> Trace:
    L = assembly.loop
    count = int(L.i[S.I_RECORDED])
    finite = np.isfinite(L.record[:count]).all(axis=1)
    if not finite.all():
        count = int(np.argmin(finite))
    data, place = {}, 0
    for channel in assembly.chosen:
        block = L.record[:count, place : place + channel.size]
        data[channel] = block.reshape((count, *channel.shape)).copy()
        place += channel.size
    times = L.times[:count].copy()
    outcome = _outcome(assembly, status)
    return Trace(
        times, data, outcome, _events(assembly, times, data, warnings), _info(assembly, warnings, wall, times, data)
    )


def _outcome(assembly: Assembly, status: int | None) -> Outcome:
    L, parts = assembly.loop, assembly.parts
    t, tick, where = float(L.x[S.X_TIME]), int(L.i[S.I_STEP]), int(L.i[S.I_WHERE])
    names = parts.robot.dof_names
    name = names[where] if where < len(names) else f"coordinate {where}"
    if status is None:
        return Outcome("interrupted", "stopped by the user", t, tick)
    if status == S.COMPLETED:
        return Outcome("completed", f"ran its {parts.duration:g} s", t, tick)
    if status == S.STOPPED:
        event = parts.stop_when[int(L.i[S.I_EVENT])]
        bound = f"above {event.above:g}" if event.above is not None else f"below {event.below:g}"
        return Outcome("stopped", f"{event.column} went {bound}", t, tick, event.column)
    reasons = {
        S.BAD_COMMAND: (
            f"the law's term {assembly.law.terms[int(L.i[S.I_TERM])]!r} is not a finite number at {name}"
            f" ({L.terms[int(L.i[S.I_TERM]), min(where, parts.robot.nv - 1)]})"
        ),
        S.BAD_STATE: f"the state of {name} is not a finite number",
        S.TOO_FAST: f"{name} moves faster than {parts.max_speed:g} (rad/s or m/s)",
        S.WARNED: f"the physics engine warned of {WARNINGS[where % len(WARNINGS)]!r}",
        S.CLOCK: "the physics engine's clock did not rise by one step",
        S.BAD_MEASUREMENT: "a measurement is not a finite number"
        if np.isfinite(L.wrench).all()
        else f"the measured wrench is not a finite number ({L.wrench})",
    }
    return Outcome("diverged", reasons[status], t, tick, name)


def _events(assembly: Assembly, times: Array, data: dict[Any, Array], warnings: Iterable[str]) -> list[Event]:
    events = [Event(0.0, 0, "checks", "warning", text) for text in warnings]
    by_name = {channel.name: array for channel, array in data.items()}
    stride = assembly.parts.recording.stride
    if "guard" in by_name:
        events += _guard_events(times, by_name["guard"].astype(int), stride)
    if "contact_force" in by_name:
        events += _contact_events(times, by_name["contact_force"], stride)
    return sorted(events, key=lambda event: event.tick)


def _guard_events(times: Array, flags: np.ndarray, stride: int) -> list[Event]:
    events = []
    for bit, name in _GUARDS.items():
        on = (flags & bit) != 0
        for k in np.flatnonzero(on & ~np.r_[False, on[:-1]]):
            length = int(np.argmin(np.r_[on[k:], False]))
            last = min(k + length, len(times) - 1)
            events.append(
                Event(
                    float(times[k]),
                    int(k) * stride,
                    "guard",
                    "intervention",
                    f"{name} cut the command for {times[last] - times[k]:.4g} s",
                    float(times[last] - times[k]),
                )
            )  # fmt: skip
    return events


def _contact_events(times: Array, force: Array, stride: int) -> list[Event]:
    touching = force > 0
    change = np.flatnonzero(touching[1:] != touching[:-1]) + 1
    starts = np.r_[[0] if len(touching) and touching[0] else [], change].astype(int)
    return [
        Event(
            float(times[k]), int(k) * stride, "contact", "start" if touching[k] else "end",
            "contact began" if touching[k] else "contact ended",
        )
        for k in starts
    ]  # fmt: skip


def _info(assembly: Assembly, warnings: list[str], wall: float, times: Array, data: dict[Any, Array]) -> dict[str, Any]:
    parts, L = assembly.parts, assembly.loop
    q = {channel.name: array for channel, array in data.items()}.get("q")
    return {
        "scenario": parts.scenario,
        "robot": parts.robot.name,
        "law": assembly.law.name,
        "terms": list(assembly.law.terms),
        "seed": parts.seed,
        "duration": parts.duration,
        "timestep": parts.timestep,
        "period": parts.timestep * parts.ratio(),
        "integrator": parts.integrator,
        "stride": parts.recording.stride,
        "versions": versions(),
        "warnings": list(warnings),
        "guard_ticks": {name: int(L.guards[bit.bit_length() - 1]) for bit, name in _GUARDS.items()},
        "assumptions": _assumptions(assembly),
        "torque_limit": [float(t) if np.isfinite(t) else None for t in parts.robot.limits.torque],
        "world": parts.world.model_dump(mode="json"),
        "scene": scene_of(assembly.plant),
        "singularity": None if q is None else singularity(parts.robot, times, q),
    }


def _assumptions(assembly: Assembly) -> list[str]:
    """What this run took for granted, in plain words."""
    world, notes = assembly.parts.world, []
    if world.plant.none and not world.attachments:
        notes.append("the law's model has the plant's true masses, inertias and geometry")
    if world.sensors.ideal:
        notes.append("joint positions and velocities are measured without noise, quantisation or delay")
    wrist = world.sensors.wrench
    if not (wrist.noise_force or wrist.noise_torque or any(wrist.bias) or wrist.cutoff or wrist.delay):
        notes.append("the wrench sensor has no noise, bias, filter or delay")
    if any(s.contact == "rigid" for s in world.surfaces):
        notes.append("rigid contact is the physics engine's; its forces are reported one physics step late")
    if any(s.contact == "compliant" for s in world.surfaces):
        notes.append("compliant surfaces touch spheres on the robot and objects, not whole links")
    if assembly.parts.integrator != "rk4":
        notes.append(f"integrated by the {assembly.parts.integrator} method: first order in the physics step")
    return notes


def versions() -> dict[str, str]:
    """Versions of everything that shapes a trace."""
    names = ("mujoco-core", "numba", "numpy")
    return {"palpate": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}
