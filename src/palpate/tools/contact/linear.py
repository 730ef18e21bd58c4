"""A scenario as a linear model about its start: A, B and eigenvalues, free or in contact, open or closed loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.tick import Target, sizes_of
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.loop import loop
from palpate.run.run import Run
from palpate.run.simulate import Source, as_run
from palpate.tools.contact.analysis.linearise import Linearised, linearise_state
from palpate.tools.contact.modes.dynamics import constrained_dynamics
from palpate.tools.contact.system import touches_of
from palpate.tools.contact.touch.contacts import Contact, Pin
from palpate.world.config import Surface
from palpate.world.plants.plant import build_plant, true_robot

_MOVED = 1e-6  # rad or m, rad/s or m/s, by which contacts are differentiated
_LEAST = 1e-6  # N: a closed contact that carries less is neither open nor closed


def linearise(
    source: Source, q: ArrayLike | None = None, tau: ArrayLike | None = None, *, closed: bool = False
) -> Linearised:
    """ẋ = A x + B u about a posture that is held at rest, with the plant and the contacts of a scenario.

    Exact contacts that touch leave the motions along them; compliant ones act as springs k and dampers d.

    Args:
        source: a scenario, its name or file, or a `Run`.
        q: the posture; the scenario's start if None.
        tau: torques that hold it; if None, those that gravity, compliant contacts and the wrench that the reference
            wants at its start ask for.
        closed: whether the scenario's law closes the loop, at the first target and with its first memory.

    Raises:
        InvalidInput: no equilibrium; rigid surfaces; an exact contact that touches without force; friction springs.
    """
    run = as_run(source)
    robot, start = true_robot(run.robot, run.world), run.start()[0] if q is None else np.asarray(q, dtype=float)
    _refuse_rigid(run)
    plant = build_plant(run.robot, run.world, run.clock.timestep, run.clock.integrator, start)
    springs = _contact_force(run, start)
    target = np.asarray(run.reference.sample(np.zeros(1), run.robot, run.start()[0]))
    law = _law(run, target[0]) if closed else None
    held = _holding(robot, start, springs, target[0]) if tau is None else np.asarray(tau, dtype=float)
    if law is not None:
        held = held - law(start, np.zeros(robot.nv))

    def force(at: Array, v: Array) -> Array:
        return springs(at, v) + (0.0 if law is None else law(at, v))

    contacts = touches_of(plant, run.world) if run.world.is_exact else []
    _refuse_empty_contacts(robot, start, held + force(start, np.zeros(robot.nv)), contacts)
    return linearise_state(robot, start, tau=held, contacts=contacts, law=force)


def _refuse_rigid(run: Run) -> None:
    for surface in run.world.surfaces:
        if surface.contact == "rigid":
            raise InvalidInput(
                f"surface {surface.name!r} is rigid, which has no linear model",
                hint="make it exact, or compliant",
            )


def _refuse_empty_contacts(robot: Robot, q: Array, tau: Array, contacts: list[Contact | Pin]) -> None:
    if not contacts:
        return
    dynamics = constrained_dynamics(robot, q, np.zeros(robot.nv), tau, contacts)
    for touch, name, mode, force in zip(contacts, dynamics.names, dynamics.modes, dynamics.multipliers):
        open_or_closed = isinstance(touch, Contact) and not touch.two_sided
        if open_or_closed and mode != "free" and abs(force[0]) < _LEAST:
            raise InvalidInput(
                f"contact {name!r} touches without force, so it is neither open nor closed",
                hint="give tau=, or a reference that wants a wrench",
            )


def _holding(robot: Robot, q: Array, springs: Callable[[Array, Array], Array], target: Array) -> Array:
    """g − springs − Jᵀ F, with F the wrench that the reference wants of the environment."""
    wanted = Target.columns(target, sizes_of(robot))["wrench"]
    return robot.gravity(q) - springs(q, np.zeros(robot.nv)) - robot.generalised_force(q, wanted)


def _law(run: Run, target: Array) -> Callable[[Array, Array], Array]:
    if not isinstance(run.law, Law) or run.law.command != "torque":
        raise InvalidInput("the closed loop is linearised for compiled laws that command torques")
    law, wanted = run.fitted.law_for_run(), Target.over(target.copy(), sizes_of(run.robot))
    period = run.clock.control_period
    return lambda q, v: law.with_own_memory().tick(run.robot, q, v, target=wanted, dt=period).command


def _contact_force(run: Run, start: Array) -> Callable[[Array, Array], Array]:
    """Generalised force of the compliant surfaces near a posture, to first order, as the loop finds it."""
    compliant = tuple(surface for surface in run.world.surfaces if surface.contact == "compliant")
    n = run.robot.nv
    if not compliant:
        return lambda q, v: np.zeros(n)
    world = run.world.model_copy(update={"surfaces": compliant, "pushes": ()})
    assembly = assemble(replace(run, world=world, q_start=start, v_start=None))
    L, (at_q, at_v) = assembly.loop, assembly.plant.places()

    def found(q: Array, v: Array) -> Array:
        L.plant.qpos[at_q], L.plant.qvel[at_v] = q, v
        assembly.rescues.call(loop.first_half)
        return np.array(L.outside)[at_v]

    rest, still = found(start, np.zeros(n)), np.zeros(n)
    _refuse_what_is_not_linear(assembly, compliant)
    moved = _MOVED * np.eye(n)
    K = np.array([found(start + step, still) - found(start - step, still) for step in moved]).T / (2.0 * _MOVED)
    D = np.array([found(start, step) - found(start, -step) for step in moved]).T / (2.0 * _MOVED)
    return lambda q, v: rest + K @ (q - start) + D @ v


def _refuse_what_is_not_linear(assembly: Assembly, surfaces: tuple[Surface, ...]) -> None:
    """Refuse a surface that is touched and has friction, or a force that is no spring and damper."""
    states = list(assembly.loop.surfaces)
    touched = [contact.surface for contact in assembly.loop.contacts if contact.depth > 0.0]
    for surface, state in zip(surfaces, states):
        if any(each is state for each in touched) and (surface.friction > 0.0 or surface.model != "kelvin-voigt"):
            raise InvalidInput(
                f"surface {surface.name!r} touches with friction or a law that is not linear",
                hint="set its friction to 0 and its model to kelvin-voigt, or make it exact",
            )
