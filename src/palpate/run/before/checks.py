"""Checks before step 0: inside the limits, not deep inside a surface, a step short enough for the stiffness."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.references.reference import ReferenceSettings
from palpate.control.tick import Target, sizes_of
from palpate.engine.fatal import FATAL
from palpate.errors import InvalidInput
from palpate.run.assemble.assemble import Assembly
from palpate.run.assemble.carrier import EQUATIONS
from palpate.run.before.differences import model_differences
from palpate.run.loop import loop
from palpate.spatial.height_field import tightest_hollow
from palpate.world.config import Surface
from palpate.world.plants.plant import ContactPoint, rigid_sliding_speed, surface_rotation
from palpate.world.surfaces.forms import form_of

MOST_PENETRATION = 5e-3  # m
_INSTANTS = 2000  # of the reference, at which its speed is looked at
UNSTABLE_STEP, COARSE_STEP = 1.0, 0.2  # dt · ω of a contact
_CLEARLY = 1.01  # a bound that is kept by so much needs no closer look


@dataclass(frozen=True)
class Prediction:
    """Results of the checks before step 0: warnings and expectations."""

    warnings: list[str]
    expected: list[str]


def check_start(assembly: Assembly, *, predict: bool = True) -> Prediction:
    """Refuse a start that cannot be simulated; return warnings about one that should be looked at.

    Args:
        assembly: ready to start.
        predict: whether to say what the world declares to be other than the law's model has it.
    """
    _inside_limits(assembly)
    # Stages the plant and finds contacts; the run's first step does it again.
    if assembly.rescues.call(loop.first_half) == FATAL:
        raise InvalidInput(
            f"the physics engine gives up at the start: {assembly.rescues.said}",
            hint="fewer bodies and surfaces, or more <size memory=…> in the model",
        )
    mujoco.mj_fwdPosition(assembly.plant.model, assembly.data)  # equations stage no more than the run asks for
    _not_deep_inside(assembly)
    if assembly.run.robot.unresisted:
        return Prediction([], [])
    said = [*assembly.law.warnings, *_short_enough(assembly), *_fits_into_hollows(assembly)]
    if not predict:
        return Prediction(said, [])
    listed, contradictions = model_differences(assembly)
    return Prediction([*said, *slides_too_fast(assembly), *contradictions], listed)


def _inside_limits(assembly: Assembly) -> None:
    robot, run = assembly.run.robot, assembly.run
    if robot.nq != robot.nv or (assembly.inside is not None and run.starts_like(assembly.inside)):
        return
    q, _ = run.start()
    outside = np.flatnonzero((q < robot.limits.lower - 1e-9) | (q > robot.limits.upper + 1e-9))
    if outside.size:
        lines = [
            f"{robot.dof_names[j]} = {q[j]:.6g} {robot.dof_units[j]}, allowed {robot.limits.lower[j]:.6g}"
            f" to {robot.limits.upper[j]:.6g}"
            for j in outside
        ]
        raise InvalidInput(f"{robot.name} starts outside its joint limits: " + "; ".join(lines))
    assembly.inside = run


def _not_deep_inside(assembly: Assembly) -> None:
    pairs = [(point, surface) for point in assembly.plant.points for surface in assembly.plant.surfaces]
    for (point, surface), contact in zip(pairs, assembly.loop.contacts):
        if contact.depth > MOST_PENETRATION:
            raise InvalidInput(
                f"{point.name!r} starts {contact.depth * 1e3:.3g} mm inside surface {surface.name!r};"
                f" at most {MOST_PENETRATION * 1e3:g} mm is accepted",
                hint="move the surface, or the start posture",
            )
    if assembly.data.ncon == 0:
        return
    contacts = assembly.data.contact
    for k in np.flatnonzero(contacts.dist < -MOST_PENETRATION)[:1]:
        names = [assembly.plant.model.geom(int(g)).name or "unnamed geom" for g in contacts.geom[k]]
        raise InvalidInput(f"{names[0]!r} and {names[1]!r} start {-contacts.dist[k] * 1e3:.3g} mm inside each other")


def _short_enough(assembly: Assembly) -> list[str]:
    """Hold dt·ω and d·dt/m of each compliant contact against what the integrators bear."""
    plant = assembly.plant
    pairs = [(p, s) for p in plant.points for s in plant.surfaces if s.contact == "compliant"]
    by_pair: dict[tuple[str, str], list[str]] = {}  # of the points of one shape or link the first that is coarse speaks
    for point, surface in pairs:
        pair = (point.group or point.name, surface.name)
        by_pair[pair] = by_pair.get(pair) or _pair_warnings(assembly, point, surface)
    return [warning for warnings in by_pair.values() for warning in warnings]


def _fits_into_hollows(assembly: Assembly) -> list[str]:
    """Warn of spheres that are wider than a hollow of a height field, where they would touch in two places."""
    plant, warnings = assembly.plant, []
    widest = max(plant.points, key=lambda point: point.radius, default=None)
    for surface in plant.surfaces if widest is not None else ():
        radius = tightest_hollow(form_of(surface)) if surface.shape == "height-field" else np.inf
        if widest is not None and widest.radius > radius:
            warnings.append(
                f"{widest.name!r} has a radius of {widest.radius:.3g} m, more than the {radius:.3g} m of the tightest"
                f" hollow of {surface.name!r}: there it touches at one place only"
            )
    return warnings


def _pair_warnings(assembly: Assembly, point: ContactPoint, surface: Surface) -> list[str]:
    """ω² = k / m, with m the inertia that the point shows the surface at the start."""
    dt, stiffness = assembly.run.clock.timestep, surface.stiffness
    if surface.model == "hunt-crossley":  # its slope at the deepest start that is accepted
        stiffness *= surface.exponent * MOST_PENETRATION ** (surface.exponent - 1.0)
    mobility = _mobility(assembly, point.body, point.offset)
    most = _CLEARLY * (mobility[0, 0] + mobility[1, 1] + mobility[2, 2])  # its trace is no less than 1 / m
    if dt * dt * stiffness * most < COARSE_STEP**2 and surface.damping * dt * most < UNSTABLE_STEP:
        return []
    mass = _mass_at(mobility, surface)
    omega = float(np.sqrt(stiffness / mass))
    what = f"dt·ω = {dt * omega:.3g} for {point.name!r} on {surface.name!r} ({mass:.3g} kg on {stiffness:.6g} N/m)"
    if dt * omega > UNSTABLE_STEP:
        raise InvalidInput(
            f"the physics step {dt:g} s is too long: {what}, at most {UNSTABLE_STEP:g} is stable",
            hint=f"use a timestep of at most {COARSE_STEP / omega:.2g} s",
        )
    damping = surface.damping * dt / mass
    if surface.model == "kelvin-voigt" and damping > UNSTABLE_STEP:
        raise InvalidInput(
            f"the physics step {dt:g} s is too long for the damping of {surface.name!r}:"
            f" d·dt/m = {damping:.3g} for {point.name!r}, at most {UNSTABLE_STEP:g} is stable",
            hint=f"use a timestep of at most {COARSE_STEP * mass / surface.damping:.2g} s, or less damping",
        )
    if dt * omega > COARSE_STEP:
        return [f"coarse physics step: {what}; below {COARSE_STEP:g} the contact is accurate"]
    return []


def slides_too_fast(assembly: Assembly) -> list[str]:
    """Warn where the reference slides along a rigid surface faster than the engine's contact can follow.

    With F the wanted force into the surface and m the tool's inertia across it, a rigid contact carries F up to
    v* = F (1 + μ²)(1 − d)/(d m μ b); beyond, it switches on and off.
    """
    run, warnings = assembly.run, []
    rubbing = [s for s in run.world.surfaces if s.contact == "rigid" and s.friction > 0 and s.shape == "plane"]
    if not rubbing or assembly.carrier.name == EQUATIONS or not isinstance(run.reference, ReferenceSettings):
        return []
    rows = run.reference.sample(np.linspace(0.0, run.clock.duration, _INSTANTS), run.robot, run.start()[0])
    target = Target.columns(np.asarray(rows), sizes_of(run.robot))
    for surface in rubbing:
        n, tool = surface_rotation(surface)[:, 2], assembly.plant.tool
        force = float((target["wrench"][:, :3] @ n).max())
        twist = target["twist"][:, :3]
        speed = float(np.linalg.norm(twist - np.outer(twist @ n, n), axis=1).max())
        if force > 0.0:
            mass = float(1.0 / max(n @ _mobility(assembly, tool.body, tool.offset) @ n, 1e-12))
            most = rigid_sliding_speed(force, surface.friction, mass)
            if speed > most:
                warnings.append(
                    f"rigid contact with {surface.name!r} will chatter: the target slides at {speed:.3g} m/s under"
                    f" {force:.3g} N, but the engine's friction lifts the tool off above v* = {most:.3g} m/s"
                    f" ({mass:.3g} kg, μ = {surface.friction:g}); press harder, slide slower, or make it compliant"
                )
    return warnings


def _mobility(assembly: Assembly, body: int, offset: Array) -> Array:
    """J M⁻¹ Jᵀ of a point of a body at the start, 1/kg."""
    model, data = assembly.plant.model, assembly.data
    point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ offset
    J = np.zeros((3, model.nv))
    mujoco.mj_jac(model, data, J, None, point, body)
    if not assembly.run.robot.coordinates.coupled:
        solved = np.zeros_like(J)  # M⁻¹ of each row, from the factors that the engine has at hand
        mujoco.mj_solveM(model, data, solved, J)
        return J @ solved.T
    M, G = np.zeros((model.nv, model.nv)), assembly.plant.map
    mujoco.mj_fullM(model, data, M)
    return J @ G @ np.linalg.solve(G.T @ M @ G, (J @ G).T)


def _mass_at(mobility: Array, surface: Surface) -> float:
    """1 / (n · J M⁻¹ Jᵀ n) along a smooth plane's normal; else the smallest over all directions."""
    if surface.shape == "plane" and surface.friction == 0.0:
        n = surface_rotation(surface)[:, 2]
        return float(1.0 / max(n @ mobility @ n, 1e-12))
    return float(1.0 / max(np.linalg.eigvalsh(mobility)[-1], 1e-12))
