"""Compiled: from step to step in the present modes, for as long as nothing happens that modes depend on."""

from __future__ import annotations

import math

from numba.extending import register_jitable

from palpate.contact.contacts import FREE, SLIDING
from palpate.contact.geometry import is_pin
from palpate.contact.integrator import Step, accept, evaluate, next_length, stride
from palpate.contact.kernels import LONGEST_CREEP, OK, STOPPED, follow_creep, unit_quaternions
from palpate.contact.records import MARGINS, NORMAL_MARGIN, SLIP_MARGIN, Glide, Machine
from palpate.engine.kernels import kernel, put

# What Python is asked for: to look closer at the next step, to look after the state reached, to take new directions.
LOOK_CLOSER, MEND, TURNED, TOO_SLOW = 20, 21, 22, 23
# So many steps must bring the time on by this, s: 1 µs each, a hundredth of what a stiff contact at 1 kHz needs.
MANY_STEPS, LITTLE_TIME = 5000, 5e-3
SHORTEST = 1e-13  # s: no step is shorter
DRIFT = 1e-12  # m, m/s: beyond it a held contact is brought back


@kernel
def stand(machine: Machine, step: Step, glide: Glide) -> int:
    """Slope and margins at step.origin; LOOK_CLOSER where a margin is below 0 by more than its noise."""
    status = evaluate(step, step.t, step.origin, step.K[0])
    if status != OK:
        return status
    put(glide.margins, 0, step.margins)
    return arm(machine, glide)


@kernel
def arm(machine: Machine, glide: Glide) -> int:
    """Each margin's noise, and which margins are clear of 0; LOOK_CLOSER where one is below."""
    _set_noise(machine, glide)
    status = OK
    for j in range(glide.margins.size):
        glide.armed[j] = 1 if glide.margins[j] > glide.noise[j] else 0
        if glide.margins[j] < -glide.noise[j]:
            status = LOOK_CLOSER
    return status


@register_jitable
def _set_noise(machine: Machine, glide: Glide):
    """How far from 0 each margin counts as 0: 1e-12 m, 1e-11 m/s, 1e-10 of the forces at play."""
    forces, noise = glide.weight, glide.noise
    for i in range(len(machine.found)):
        forces = max(forces, glide.weight + abs(machine.found[i].pressure))
    for i in range(len(machine.contacts)):
        c, at = machine.contacts[i], MARGINS * i
        for k in range(MARGINS):
            noise[at + k] = 1e-12
        if c.mode != FREE:
            noise[at + NORMAL_MARGIN] = noise[at + SLIP_MARGIN] = 1e-10 * forces
            if c.mode == SLIDING:
                noise[at + SLIP_MARGIN] = 1e-11 if c.freedoms == 1 else 2.0 * STOPPED
    noise[noise.size - 1] = 1e-9


@kernel
def glide_on(machine: Machine, step: Step, glide: Glide) -> int:
    """Steps from step.origin to glide.until; OK there, else what has to be looked at where it stands.

    LOOK_CLOSER leaves the state before the step in which something may happen, MEND the state after one that has left
    a constraint, a joint's range or the rank of the held rows, TURNED one after which a creeping slip points elsewhere.
    TOO_SLOW: the steps have become so short that the end is out of reach.
    """
    while step.t < glide.until:
        if is_too_slow(step, glide):
            return TOO_SLOW
        if not _try_step(machine, step, glide) or is_suspicious(step, glide):
            return LOOK_CLOSER
        _accept(machine, step, glide)
        if follow_creep(machine):
            return TURNED
        if _needs_mending(machine, step, glide):
            return MEND
    return OK


@kernel
def is_too_slow(step: Step, glide: Glide) -> bool:
    """Count a step; whether the last many have hardly brought the time on."""
    if glide.steps == 0:
        glide.counted = step.t
    glide.steps += 1
    if glide.steps < MANY_STEPS:
        return False
    glide.steps = 0
    return step.t - glide.counted < LITTLE_TIME


@register_jitable
def _try_step(machine: Machine, step: Step, glide: Glide):
    """A step that is exact enough, not beyond glide.until; False if there is none."""
    left = glide.until - step.t
    h = min(glide.stride, glide.longest, left)
    if creeps(machine) or (machine.force != 0 and is_wedged(machine)):
        h = min(h, LONGEST_CREEP)
    if left - h < 1e-3 * h:
        h = left
    while h >= SHORTEST:
        step.h = h
        if stride(step, glide.margins) != OK:
            return False
        if step.error <= 1.0:
            return True
        h = next_length(step)
    return False


@kernel
def is_suspicious(step: Step, glide: Glide) -> bool:
    """Whether a margin came so low over the step's stages that it may have been 0 in between."""
    for j in range(glide.margins.size):
        if math.isfinite(step.highest[j]):
            spread = step.highest[j] - step.lowest[j]
            if step.lowest[j] < 0.5 * spread + 10.0 * glide.noise[j]:
                return True
    return False


@register_jitable
def _accept(machine: Machine, step: Step, glide: Glide):
    glide.stride = next_length(step)
    accept(step)
    unit_quaternions(machine, step.origin)
    if glide.until - step.t <= 1e-15 * max(1.0, abs(glide.until)):
        step.t = glide.until
    put(glide.margins, 0, step.margins)
    for j in range(glide.margins.size):
        if glide.margins[j] > glide.noise[j]:
            glide.armed[j] = 1


@register_jitable
def _needs_mending(machine: Machine, step: Step, glide: Glide):
    verdict, y = machine.work.verdict, step.origin
    if machine.force != 0 and is_wedged(machine):
        return True
    if (verdict.rank < verdict.rows) != glide.dependent:
        return True
    for i in range(y.size):
        if not math.isfinite(y[i]):
            return True
    for i in range(glide.lower.size):
        if y[i] < glide.lower[i] - 1e-9 or y[i] > glide.upper[i] + 1e-9:
            return True
    return has_drifted(machine)


@kernel
def has_drifted(machine: Machine) -> bool:
    """Whether a held contact has left its surface, or a stuck one moves, by more than rounding."""
    worst = 0.0
    for i in range(len(machine.contacts)):
        c, f = machine.contacts[i], machine.found[i]
        if c.mode == FREE or c.coast:
            continue
        if not is_pin(c):
            worst = max(worst, abs(f.gap), abs(f.rate))
        for k in range(3):
            if is_pin(c):
                worst = max(worst, abs(f.normal[k]))
            if c.mode > SLIDING:
                worst = max(worst, abs(f.slide[k]))
        if c.creep:
            worst = max(worst, abs(f.slide[0] * f.across[0] + f.slide[1] * f.across[1] + f.slide[2] * f.across[2]))
    return worst > DRIFT


@kernel
def is_wedged(machine: Machine) -> bool:
    """Whether contacts rest under one of many forces."""
    for i in range(len(machine.contacts)):
        if machine.contacts[i].wedged:
            return True
    return False


@kernel
def creeps(machine: Machine) -> bool:
    """Whether any slip creeps."""
    for i in range(len(machine.contacts)):
        if machine.contacts[i].creep:
            return True
    return False
