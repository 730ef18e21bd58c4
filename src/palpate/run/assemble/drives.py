"""From a world's driver to the numbers that the loop carries a command out by."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.bound_law import BoundLaw
from palpate.control.commands import COMMANDS
from palpate.control.tick import sizes_of
from palpate.robot.robot import Robot
from palpate.run.loop.state import Drives
from palpate.run.run import Run
from palpate.world.driver import filter_gain, limits_of, servo_rotors, torque_rates
from palpate.world.plants.plant import Plant
from palpate.world.sensing.sensors import delay_line

_CARRIED = 0.5  # of gravity's torque in the law's command at rest, from which on the law is said to add it


def drives_of(run: Run, plant: Plant, law: BoundLaw) -> Drives:
    """The driver for the loop, with the arm held where it starts."""
    robot, driver, facts = run.robot, run.world.driver, run.world.driver.facts_for(run.robot)
    period, servo = run.clock.control_period, law.command in ("velocity", "position")
    most = {
        f"{name}_limit": limits_of(robot, getattr(facts, f"joint_{name}_limit"), f"joint_{name}_limit")
        for name in ("speed", "acceleration", "jerk")
    }
    rates = torque_rates(robot, facts)
    limited = any(np.isfinite(x).any() for x in most.values()) if servo else bool(np.isfinite(rates).any())
    # What holds the arm at the start, as the law knows it.
    gravity = np.zeros(robot.nv) if robot.unresisted or servo else robot.gravity(run.start()[0])
    added = facts.adds_gravity and not servo
    held = np.zeros(robot.nv) if added else gravity
    first = {"torque": held, "acceleration": held, "velocity": np.zeros(robot.nv), "position": run.start()[0]}
    return Drives(
        sizes_of(robot),
        kind=COMMANDS.index(law.command),
        signal=delay_line(driver.delay, robot.nv),
        received=first[law.command][: robot.nv].copy(),
        loss=facts.loss,
        stop_after=facts.stop_after,
        jitter=facts.jitter / run.clock.timestep,
        share=filter_gain(facts.cutoff, period),
        shaping=bool(facts.cutoff) or limited,
        sent=held.copy(),
        rate_limit=rates * period,
        **most,
        law_adds_gravity=added and _adds_gravity(run, law, gravity),
        adds_gravity=added,
        torque=gravity.copy(),
        set_q=run.start()[0][: robot.nv].copy(),
        bandwidth=facts.servo_bandwidth,
        rotor=plant.rotor.copy(),
        limit_torque=facts.torque_limit,
        torque_limit=_torque_limits(robot),
    )


def with_servo_rotors(run: Run) -> Run:
    """The run with the rotors that a joint servo is assumed to have, where the law needs one and none are given."""
    given = run.world.plant.rotor_inertia not in (0, 0.0)
    if given or run.law.command in ("torque", "acceleration"):
        return run
    rotors = servo_rotors(run.robot, run.world.driver)
    return replace(run, world=run.world.with_rotors(tuple(map(float, rotors)))) if rotors.any() else run


def _adds_gravity(run: Run, law: BoundLaw, gravity: Array) -> bool:
    """Whether the law's command at rest, asked to stay, holds the arm against gravity."""
    if law.command == "acceleration":
        return True
    size = float(gravity @ gravity)
    if size == 0.0:
        return False
    q, law = run.start()[0], law.with_own_memory()
    command = law.tick(run.robot, q, np.zeros(run.robot.nv), dt=run.clock.control_period).command
    return bool(command @ gravity > _CARRIED * size)


def _torque_limits(robot: Robot) -> Array:
    """|τ| per degree of freedom; −1 where no motor is: the free base."""
    limits, kept = robot.limits.torque.copy(), robot.coordinates.kept
    for j in range(robot.model.njnt):
        if robot.model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            start = int(np.searchsorted(kept, robot.model.jnt_dofadr[j]))
            limits[start : start + 6] = -1.0
    return limits
