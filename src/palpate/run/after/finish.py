"""From a loop that has ended to its trace: how it ended, what happened on the way, and what was assumed."""

from __future__ import annotations

import inspect
import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate import __version__
from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.unread import unread_of_reference
from palpate.engine.fatal import FATAL
from palpate.engine.library import WARNINGS
from palpate.robot.build import joint_remarks
from palpate.robot.readers.findings import CONTACT, Finding, without_meshes
from palpate.run.after.causes import LIMITS, Repeat, Search, promise_warnings
from palpate.run.after.ending import End
from palpate.run.after.inside import links_inside
from palpate.run.after.keep import Keeper
from palpate.run.after.observed import (
    REMARKED,
    WARNED,
    beyond_bounds,
    beyond_the_interface,
    contact_remarks,
    contact_story,
    dropped_motion,
    energy_warnings,
    wrench_warnings,
)
from palpate.run.after.scene import scene_of, singularity
from palpate.run.assemble.assemble import Assembly
from palpate.run.assemble.carrier import ENGINE, EQUATIONS
from palpate.run.before.checks import Foretold
from palpate.run.loop import state as S
from palpate.run.run import Run
from palpate.run.stepping import INTERRUPTED, Ending
from palpate.run.tangent.edge import edge_fact, edge_warnings
from palpate.scenario.file.places import without_places
from palpate.trace import Event, Outcome, RunFacts, Trace
from palpate.world.driver import servo_rotors
from palpate.world.plants.plant import rubs

_LEFT = 0.25  # of an excess that a rerun may still have where its cause is taken away
_SHORT = 0.05  # s in all, up to which a rate limit that bends a command is not worth a warning


def trace_of(
    assembly: Assembly, ending: Ending, keeper: Keeper, foretold: Foretold, repeat: Repeat | None = None
) -> Trace:
    """The trace of a run that has ended, up to its last finite sample.

    `repeat` makes reruns, in which the causes of a promise that was not kept are searched for.
    """
    keeper.take()
    named = keeper.named
    search = Search(assembly, named, repeat)
    warnings = _warnings(assembly, named, foretold, search)
    happened, bouncing = contact_story(named)
    edge: dict[str, Any] = {}
    if ending.status == S.COMPLETED:
        end = End(assembly, named)
        edge = edge_fact(end.poles, end.quiet)
        if assembly.run.law.holds:  # else it is not meant to rest
            warnings += edge_warnings(edge, end.speed, rubs=rubs(assembly.run.robot, assembly.run.world))
        warnings += bouncing or promise_warnings(end, search)
    events = _events(assembly, named, warnings)
    expected = [*foretold.expected, *(f"what happened: {text}" for text in happened)]
    facts = _facts(assembly, expected, warnings, named, edge)
    return Trace(keeper.times, keeper.data, outcome_of(assembly, ending), events, facts, own=True)


def unfinished(assembly: Assembly, foretold: Foretold) -> Trace:
    """What is known of a run before it ends: a trace without samples, with the outcome of one that never did."""
    keeper, outcome = Keeper(assembly), Outcome("interrupted", "the process ended before the run did", 0.0, 0)
    facts = _facts(assembly, foretold.expected, foretold.warnings, keeper.named)
    return Trace(keeper.times, keeper.data, outcome, (), facts)


def bare_trace(assembly: Assembly, ending: Ending, keeper: Keeper, foretold: Foretold, *, singular: bool) -> Trace:
    """The same numbers, outcome and warnings with no events and the facts that metrics ask for."""
    keeper.take()
    named = keeper.named
    facts = RunFacts(
        **_measured_facts(assembly, named if singular else {}),
        warnings=tuple(_warnings(assembly, named, foretold)),
        world={"pole": None if assembly.run.world.pole is None else {}},
    )
    return Trace.over(named, assembly.chosen, outcome_of(assembly, ending), facts)


def _robot_warnings(run: Run) -> list[str]:
    """The robot's warnings without the folder of its file; a missing mesh where links touch by their geometry."""
    findings, meshes = _findings_and_meshes(run)
    doubts = [finding.sentence for finding in findings if finding.element != CONTACT]
    return [*doubts, *(meshes if run.world.contact_links else ())]


def _untouched_geometry(run: Run) -> list[str]:
    """A sentence on contact geometry of the robot that is not used, where something could be touched."""
    world = run.world
    named = world.contact_points or world.contact_shapes or world.contact_links
    if named or not (world.surfaces or world.objects):
        return []
    return [finding.sentence for finding in _findings_and_meshes(run)[0] if finding.element == CONTACT]


def _findings_and_meshes(run: Run) -> tuple[list[Finding], list[str]]:
    """The robot's warnings without the folder of its file, and a sentence on meshes that could not be had."""
    return without_meshes(replace(finding, file=os.path.basename(finding.file)) for finding in run.robot.warnings)


def _notes(assembly: Assembly, named: Mapping[str, Array]) -> tuple[str, ...]:
    """What probably was not meant: a reference that the law does not read, a surface that was never touched."""
    run = assembly.run
    unread = [*unread_of_reference(run.law, run.reference), *dropped_motion(assembly, named)]
    return (*unread, *contact_remarks(assembly, named))


def _remarks(assembly: Assembly, named: Mapping[str, Array]) -> tuple[str, ...]:
    """What the law did, links inside a surface, guards at work, and meshes that are missing where nothing uses them."""
    run, law = assembly.run, assembly.law
    meshes = [] if run.world.contact_links else _findings_and_meshes(run)[1]
    excess, beyond = beyond_bounds(assembly, named)
    return (
        *links_inside(assembly, named),
        *law.remarks(law.memory),
        *([beyond] if REMARKED < excess <= WARNED else []),
        *meshes,
        *_untouched_geometry(run),
        *_interventions(assembly),
    )


def _warnings(
    assembly: Assembly, named: Mapping[str, Array], foretold: Foretold, search: Search | None = None
) -> list[str]:
    alarms = assembly.law.alarms(assembly.law.memory)
    early_warnings = [*_robot_warnings(assembly.run), *foretold.warnings]
    run_warnings = [*_joint_warnings(assembly), *(assembly.exact.stop_warnings() if assembly.exact else ())]
    run_warnings += energy_warnings(assembly.loop.energy_watch) + friction_warnings(assembly)
    run_warnings += beyond_the_interface(assembly, named)
    run_warnings += _bound_warnings(assembly, named, search)
    return [*early_warnings, *alarms, *run_warnings, *_limit_warnings(assembly), *wrench_warnings(assembly, named)]


def _bound_warnings(assembly: Assembly, named: Mapping[str, Array], search: Search | None) -> list[str]:
    """Accelerations far beyond the law's bounds, with their causes where these are searched for."""
    excess, beyond = beyond_bounds(assembly, named)
    if excess <= WARNED or search is None:
        return [beyond] if excess > WARNED else []
    why = search.sentence(lambda *ended: beyond_bounds(*ended)[0] <= max(REMARKED, _LEFT * excess))
    return [f"{beyond}; {why}"]


# ---------------------------------------------------------------------------------------------- how it ended


def outcome_of(assembly: Assembly, ending: Ending) -> Outcome:
    """How a run has ended."""
    L, run, status = assembly.loop, assembly.run, ending.status
    t, tick = L.step * L.dt, L.step // L.ratio
    if status == INTERRUPTED:
        return Outcome("interrupted", "stopped by the user", t, tick)
    if status == S.COMPLETED:
        return Outcome("completed", f"finished after {run.clock.duration:g} s", t, tick)
    if status == S.STOPPED and L.stopped_by >= len(run.stop):
        return Outcome("stopped", assembly.law.ended(assembly.law.memory), t, tick, f"law.{assembly.law.ending}")
    if status == S.STOPPED:
        event = run.stop[L.stopped_by]
        bound = f"{'above' if event.above is not None else 'below'} {event.bound:g}"
        return Outcome("stopped", f"{event.column} went {bound}", t, tick, event.column)
    if status == S.PACKETS_LOST:
        count = f"{L.drives.lost_in_row} command{'s' if L.drives.lost_in_row > 1 else ''} in a row"
        return Outcome("stopped", f"the driver stopped the arm: {count} lost", t, tick, "world.driver")
    if assembly.exact is not None and status in (S.PAINLEVE, S.NO_ANSWER):
        return assembly.exact.outcome(run.clock.control_period)
    if ending.raised is not None:
        return Outcome("diverged", ending.raised, t, tick, ending.by)
    if status == FATAL:
        return Outcome("diverged", f"the physics engine failed: {assembly.rescues.said}", t, tick, "physics engine")
    where, reason = _what_went_wrong(assembly, status, L.where)
    return Outcome("diverged", reason, t, tick, where)


def _what_went_wrong(assembly: Assembly, status: int, index: int) -> tuple[str, str]:
    """The culprit and one sentence."""
    L, robot, model = assembly.loop, assembly.run.robot, assembly.plant.model
    if status == S.BAD_COMMAND:
        term, joint = assembly.law.terms[L.bad_term], robot.dof_names[index]
        value = L.row.terms[L.bad_term, index]
        return f"tau.{term}[{joint}]", f"the law's term {term!r} is not a finite number at {joint}: {value}"
    if status == S.BAD_SPEED:
        joint = model.joint(int(model.dof_jntid[index])).name
        return joint, f"the velocity of {joint} is not a finite number: {assembly.data.qvel[index]}"
    if status == S.TOO_FAST:
        joint, speed = robot.dof_names[index], assembly.data.qvel[L.dof[index]]
        unit = f"{robot.dof_units[index]}/s"
        return joint, f"{joint} moves at {speed:.4g} {unit}, faster than {L.max_speed:g} {unit}"
    if status == S.BAD_POSITION:
        joint = model.joint(int(np.searchsorted(model.jnt_qposadr, index, side="right")) - 1).name
        return joint, f"the position of {joint} is not a finite number: {assembly.data.qpos[index]}"
    if status == S.WARNED:
        return "physics engine", f"the physics engine warned of {WARNINGS[index]!r}"
    if status == S.CLOCK:
        return "physics engine", f"the engine's time did not advance by one step; it is {assembly.data.time:g} s"
    if status == S.BAD_REFERENCE:
        return f"target[{index}]", f"the reference is not a finite number: {L.targets[0, index]} in column {index}"
    if not np.isfinite(L.tick.wrench).all():
        return "measured_wrench", f"the measured wrench is not a finite number ({L.tick.wrench})"
    return "measurement", f"the joint sensors read an invalid state: q = {L.tick.q}, v = {L.tick.v}"


# ---------------------------------------------------------------------------------------------- what happened


def _joint_warnings(assembly: Assembly) -> list[str]:
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
    """A warning where joint friction and the engine's contacts, solved in turns, did not agree in the end."""
    s = assembly.loop.friction.settling
    if not s.steps:
        return []
    return [
        f"joint friction beside contacts did not settle in {s.steps} of {assembly.loop.step} physics steps: its last"
        f" change was up to {100 * s.worst:.2g} % of a joint's friction; use a compliant surface, or a shorter step"
    ]


def _limit_warnings(assembly: Assembly) -> list[str]:
    """What the driver could not give: torques, rates, commands that were lost."""
    L, warnings = assembly.loop, []
    for bit, what, least in ((S.TORQUE_LIMITED, "torque limit", 0.0), (S.RATE_LIMITED, "rate limit", _SHORT)):
        time = int(L.guard_steps[bit.bit_length() - 1]) * L.dt
        if time > least:
            warnings.append(f"the {what} changed the law's command for {time:.3g} s in total")
    if L.drives.lost:
        warnings.append(f"{L.drives.lost} of {L.tick_count} commands were lost; the last one was held")
    return warnings


def _interventions(assembly: Assembly) -> list[str]:
    """Guards and rate limits that changed commands, as far as there is no warning of it."""
    L, warned = assembly.loop, " ".join(_limit_warnings(assembly))
    times = {name: int(L.guard_steps[bit.bit_length() - 1]) * L.dt for bit, name in LIMITS.items()}
    return [
        f"the {name} changed the command for {time:.3g} s in total"
        for name, time in times.items()
        if time and name.removeprefix("torque-") not in warned
    ]


def _joint_watch(assembly: Assembly) -> dict[str, float]:
    w, dt = assembly.loop.watch, assembly.loop.dt
    if not w.on:
        return {}
    return {
        "stop_time": float(w.beyond_steps.max(initial=0) * dt),
        "stop_excess": float(w.beyond.max(initial=0.0)),
        "speed_time": float(w.fast_steps.max(initial=0) * dt),
        "speed_share": float(w.share.max(initial=0.0)),
    }


def _events(assembly: Assembly, named: Mapping[str, Array], warnings: Iterable[str]) -> list[Event]:
    events, times = [Event(0.0, 0, "checks", "warning", text) for text in warnings], named["time"]
    ticks = np.arange(len(times)) * assembly.run.record.stride // assembly.loop.ratio
    if "guard" in named:
        events += _guard_events(times, named["guard"].astype(int), ticks)
    events += _fault_events(assembly, times)
    if assembly.exact is not None:
        events += assembly.exact.trace_events(assembly.run.clock.control_period)
    elif "contact_force" in named:
        events += _contact_events(times, named["contact_force"], ticks)
    return events


def _guard_events(times: Array, flags: np.ndarray, ticks: np.ndarray) -> list[Event]:
    events = []
    for bit, name in LIMITS.items():
        on = (flags & bit) != 0
        for k in np.flatnonzero(on & ~np.r_[False, on[:-1]]):
            last = min(k + int(np.argmin(np.r_[on[k:], False])), len(times) - 1)
            time, span = float(times[k]), float(times[last] - times[k])
            text = f"{name} changed the command for {span:.4g} s"
            events.append(Event(time, int(ticks[k]), "guard", "intervention", text, span))
    return events


def _fault_events(assembly: Assembly, times: Array) -> list[Event]:
    """The faults that came within the run."""
    end, period, events = float(times[-1]) if len(times) else 0.0, assembly.run.clock.control_period, []
    for fault in assembly.run.world.faults:
        if fault.at <= end:
            text = f"{fault.what} {'from here on' if fault.duration is None else f'for {fault.duration:g} s'}"
            events.append(Event(fault.at, round(fault.at / period), "fault", fault.what, text))
    return events


def _contact_events(times: Array, force: Array, ticks: np.ndarray) -> list[Event]:
    touching = force > 0
    change = np.flatnonzero(touching[1:] != touching[:-1]) + 1
    starts = np.r_[[0] if len(touching) and touching[0] else [], change].astype(int)
    return [
        Event(
            float(times[k]), int(ticks[k]), "contact", "start" if touching[k] else "end",
            "contact began" if touching[k] else "contact ended",
        )
        for k in starts
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- what it was


def _facts(
    assembly: Assembly,
    expected: list[str],
    warnings: list[str],
    named: Mapping[str, Array],
    edge: dict[str, Any] | None = None,
) -> RunFacts:
    run, clock, notes = assembly.run, assembly.run.clock, _notes(assembly, named)
    return RunFacts(
        **_measured_facts(assembly, named),
        edge=edge or {},
        scenario=run.scenario,
        robot=run.robot.name,
        terms=assembly.law.terms,
        figure=assembly.run.law.figure,
        seed=clock.seed,
        duration=clock.duration,
        timestep=clock.timestep,
        period=clock.control_period,
        integrator=clock.integrator if assembly.exact is None else "exact",
        physics=assembly.carrier.name,
        handed=assembly.loop.tree.handed,
        stride=run.record.stride,
        versions=versions(),
        warnings=tuple(warnings),
        expected=tuple(expected),
        remarks=(*notes, *_remarks(assembly, named)),
        notes=notes,
        assumptions=tuple(_assumptions(assembly)),
        guard_ticks={name: int(assembly.loop.guard_steps[bit.bit_length() - 1]) for bit, name in LIMITS.items()},
        world=without_places({"world": run.world.model_dump(mode="json")})["world"],
        scene=scene_of(assembly.plant),
        law_text=inspect.getdoc(type(run.law)) or "" if isinstance(run.law, Law) else "",
        gains=_gains(run.law) if isinstance(run.law, Law) else [],
        computed=[asdict(one) for one in run.law.computed(run.robot)] if isinstance(run.law, Law) else [],
        changed=run.changed,
    )


def _measured_facts(assembly: Assembly, named: Mapping[str, Array]) -> dict[str, Any]:
    """What metrics ask for beside the channels; how near to singular the arm came where its joints are recorded."""
    limits, q = assembly.run.robot.limits.torque.tolist(), named.get("q")
    return {
        "law": assembly.law.name,
        "follows": assembly.run.law.follows,
        "torque_limit": tuple(t if math.isfinite(t) else None for t in limits),
        "contact_events": [] if assembly.exact is None else assembly.exact.event_table(),
        "joint_watch": _joint_watch(assembly),
        "singularity": None if q is None else singularity(assembly.run.robot, named["time"], q),
    }


def _gains(law: Law) -> list[dict[str, Any]]:
    """The settings of a law with their units, its own before those it shares; what is not given is left out."""
    values = law.model_dump(mode="json", exclude_none=True)
    fields = type(law).model_fields
    order = dict.fromkeys(key for kind in type(law).__mro__ for key in inspect.get_annotations(kind) if key in fields)
    return [
        {
            "name": key,
            "value": values[key],
            "unit": info.json_schema_extra["unit"] if isinstance(info.json_schema_extra, dict) else "1",
            "help": info.description or "",
            "default": getattr(law, key) == info.default,
        }
        for key, info in ((key, fields[key]) for key in order if key in values)
    ]


def _assumptions(assembly: Assembly) -> list[str]:
    """What this run took for granted, in plain words."""
    world, notes = assembly.run.world, []
    if assembly.run.robot.unresisted:
        notes.append("the robot's masses are unknown: its joints follow their commands exactly, whatever forces act")
    elif world.plant.none and not world.attachments:
        notes.append("the law's model has the plant's true masses, inertias and geometry")
    if world.sensors.ideal:
        notes.append("joint positions and velocities are measured without noise, quantisation or delay")
    wrist = world.sensors.wrench
    if not (wrist.noise_force or wrist.noise_torque or any(wrist.bias) or wrist.cutoff or wrist.delay):
        notes.append("the wrench sensor has no noise, bias, filter or delay")
    notes += _carrier_assumptions(assembly)
    if any(s.contact == "rigid" for s in world.surfaces):
        notes.append("rigid contact is the physics engine's; its forces are reported one physics step late")
    if any(s.contact == "rigid" and s.motion is not None for s in world.surfaces):
        notes.append("a moving rigid surface has a position but no velocity in the physics engine")
    if any(s.contact == "compliant" for s in world.surfaces):
        notes.append("compliant surfaces touch points and spheres of robot and objects, not the geometry between them")
    if any(s.shape == "height-field" for s in world.surfaces):
        notes.append("a height field is the cubic spline through its heights, with upright walls at its edges")
    notes += joint_remarks(assembly.run.robot) + _driver_assumptions(assembly.run)
    if assembly.exact is not None:
        notes += assembly.exact.assumptions(world)
    elif assembly.run.clock.integrator != "rk4" and not assembly.run.robot.unresisted:
        notes.append(f"integrated by the {assembly.run.clock.integrator} method: first order in the physics step")
    return notes


def _driver_assumptions(run: Run) -> list[str]:
    """Rotors that were assumed behind a servo, and what of a maker's interface is in the run."""
    robot, driver = run.robot, run.world.driver
    rotors = np.broadcast_to(run.world.plant.rotor_inertia, (robot.nv,))
    notes = [] if driver.preset == "ideal" else [f"the driver model is {driver.preset!r}, as far as it is published"]
    if robot.friction_remains and robot.model.dof_frictionloss.any():
        notes.append(f"the joint friction of {robot.name} is what its maker's compensation leaves")
    servo = run.law.commanded in ("position", "velocity") and rotors.any()
    if servo and np.array_equal(rotors, servo_rotors(robot, driver)):
        named = ", ".join(f"{name} {rotor:.3g}" for name, rotor in zip(robot.dof_names, rotors) if rotor)
        notes.append(f"no rotor inertia is known of {robot.name} there; the servo is assumed to have {named} kg·m²")
    return notes


def _carrier_assumptions(assembly: Assembly) -> list[str]:
    """Who moved the plant, and why it was not the equations."""
    steps = assembly.loop.tree.handed
    handed = f"; the engine computed {steps} of {assembly.loop.step} steps, at joint stops" if steps else ""
    return [f"{assembly.carrier}{handed}"] if assembly.carrier.name in (EQUATIONS, ENGINE) else []


def versions() -> dict[str, str]:
    """Versions of everything that shapes a trace."""
    names = ("mujoco-core", "numba", "numpy")
    return {"palpate": __version__, "python": platform.python_version(), **{name: _version(name) for name in names}}


@cache
def _version(package: str) -> str:
    """Kept, since looking it up reads files: a third of the cost of a short run."""
    return version(package)
