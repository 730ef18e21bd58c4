"""Facts of a finished run: what it was, what it assumed, and its versions."""

from __future__ import annotations

import inspect
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from palpate import __version__
from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.unread import unread_of_reference
from palpate.robot.build import joint_remarks
from palpate.robot.readers.findings import CONTACT
from palpate.robot.robot import Robot
from palpate.run.after.causes import LIMITS
from palpate.run.after.inside import links_inside
from palpate.run.after.observed.bounds import REMARKED, WARNED, beyond_bounds, dropped_motion
from palpate.run.after.observed.contact import contact_remarks
from palpate.run.after.scene import scene_of, singularity
from palpate.run.after.warnings import findings_and_meshes, interventions, joint_watch
from palpate.run.assemble.assemble import Assembly
from palpate.run.assemble.carrier import ENGINE, EQUATIONS
from palpate.run.run import Run
from palpate.scenario.file.places import without_places
from palpate.trace import RunFacts
from palpate.world.driver import servo_rotors


def _untouched_geometry(run: Run) -> list[str]:
    """A sentence on contact geometry of the robot that is not used, where something could be touched."""
    world = run.world
    named = world.contact_points or world.contact_shapes or world.contact_links
    if named or not (world.surfaces or world.objects):
        return []
    return [finding.sentence for finding in findings_and_meshes(run)[0] if finding.element == CONTACT]


def _notes(assembly: Assembly, named: Mapping[str, Array]) -> tuple[str, ...]:
    """Notes on probable mistakes: a reference that the law does not read, a surface that was never touched."""
    run = assembly.run
    unread = [*unread_of_reference(run.law, run.reference), *dropped_motion(assembly, named)]
    return (*unread, *contact_remarks(assembly, named))


def _remarks(assembly: Assembly, named: Mapping[str, Array]) -> tuple[str, ...]:
    """Remarks of the law, links inside a surface, guards at work, and missing meshes that nothing uses."""
    run, law = assembly.run, assembly.law
    meshes = [] if run.world.contact_links else findings_and_meshes(run)[1]
    excess, beyond = beyond_bounds(assembly, named)
    return (
        *links_inside(assembly, named),
        *law.remarks(law.memory),
        *([beyond] if REMARKED < excess <= WARNED else []),
        *meshes,
        *_untouched_geometry(run),
        *interventions(assembly),
    )


def run_facts(
    assembly: Assembly,
    expected: list[str],
    warnings: list[str],
    named: Mapping[str, Array],
    edge: dict[str, Any] | None = None,
) -> RunFacts:
    """Facts of a run: its settings, warnings, expectations, remarks and assumptions."""
    run, clock, notes = assembly.run, assembly.run.clock, _notes(assembly, named)
    return RunFacts(
        **measured_facts(assembly, named),
        edge=edge or {},
        scenario=run.scenario,
        robot=run.robot.name,
        terms=assembly.law.terms,
        figure=assembly.run.law.report.figure,
        seed=clock.seed,
        duration=clock.duration,
        timestep=clock.timestep,
        period=clock.control_period,
        integrator=clock.integrator if assembly.exact is None else "exact",
        physics=assembly.carrier.name,
        engine_steps=assembly.loop.tree.handed,
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
        computed=[asdict(one) for one in run.law.report.computed(run.robot)],
        changed=run.changed,
    )


def torque_limits(robot: Robot) -> tuple[float | None, ...]:
    """The torque limit of each joint, None where there is none."""
    known = _LIMITS.get(robot)  # asked after every run of a sweep
    if known is None:
        known = _LIMITS[robot] = tuple(t if math.isfinite(t) else None for t in robot.limits.torque.tolist())
    return known


_LIMITS: WeakKeyDictionary[Robot, tuple[float | None, ...]] = WeakKeyDictionary()


def measured_facts(assembly: Assembly, named: Mapping[str, Array]) -> dict[str, Any]:
    """Facts that metrics read beside the channels; the smallest singular value where joints are recorded."""
    q, equations = named.get("q"), bool(assembly.loop.model.on)
    return {
        "law": assembly.law.name,
        "follows": assembly.run.fitted.traits.follows,
        "torque_limit": torque_limits(assembly.run.robot),
        "contact_events": [] if assembly.exact is None else assembly.exact.event_table(),
        "joint_watch": joint_watch(assembly),
        "singularity": None if q is None else singularity(assembly.run.robot, named["time"], q, equations=equations),
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
    """Assumptions of this run, in plain words."""
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
    notes += _rigid_assumptions(assembly)
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


def _rigid_assumptions(assembly: Assembly) -> list[str]:
    """Who held the rigid surfaces, and how."""
    surfaces = [s for s in assembly.run.world.surfaces if s.contact == "rigid"]
    if not surfaces:
        return []
    if assembly.carrier.name != EQUATIONS:
        notes = ["rigid contact is the physics engine's; its forces are reported one physics step late"]
        moving = any(s.motion is not None for s in surfaces)
        return notes + ["a moving rigid surface has a position but no velocity in the physics engine"] * moving
    notes = [
        "rigid contact does not yield and rubs by Coulomb's law; the force of an impact is its impulse over a physics"
        " step, and forces are reported one physics step late"
    ]
    if assembly.loop.friction.on:
        notes.append("where joints stick beside a rigid contact, its force is the one that changes least")
    return notes


def _driver_assumptions(run: Run) -> list[str]:
    """Rotors that were assumed behind a servo, and what of a maker's interface is in the run."""
    robot, driver = run.robot, run.world.driver
    rotors = np.broadcast_to(run.world.plant.rotor_inertia, (robot.nv,))
    notes = [] if driver.preset == "ideal" else [f"the driver model is {driver.preset!r}, as far as it is published"]
    if robot.friction_remains and robot.model.dof_frictionloss.any():
        notes.append(f"the joint friction of {robot.name} is what its maker's compensation leaves")
    servo = run.law.command in ("position", "velocity") and rotors.any()
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
