"""Compiled: from step to step in the present modes, for as long as nothing happens that modes depend on."""

from __future__ import annotations

import math

from numba.extending import register_jitable

from palpate.contact.integrator import Step, accept, evaluate, next_length, stride
from palpate.contact.modes.accelerations import LONGEST_CREEP, OK, STOPPED, follow_creep, unit_quaternions
from palpate.contact.touch.contacts import FREE, SLIDING
from palpate.contact.touch.geometry import is_pin
from palpate.contact.touch.records import MARGINS, NORMAL_MARGIN, SLIP_MARGIN, Machine, StepControl
from palpate.engine.kernels import kernel, put

# What Python is asked for: to look closer at the next step, to look after the state reached, to take new directions.
LOOK_CLOSER, MEND, TURNED, TOO_SLOW = 20, 21, 22, 23
# So many steps must bring the time on by this, s: 1 µs each, a hundredth of what a stiff contact at 1 kHz needs.
MANY_STEPS, LITTLE_TIME = 5000, 5e-3
SHORTEST = 1e-13  # s: no step is shorter
DRIFT = 1e-12  # m, m/s: beyond it a held contact is brought back


@kernel
def stand(machine: Machine, step: Step, control: StepControl) -> int:
    """Slope and margins at step.origin; LOOK_CLOSER where a margin is below 0 by more than its noise."""
    status = evaluate(step, step.t, step.origin, step.K[0])
    if status != OK:
        return status
    put(control.margins, 0, step.margins)
    return arm(machine, control)


@kernel
def arm(machine: Machine, control: StepControl) -> int:
    """Each margin's noise, and which margins are clear of 0; LOOK_CLOSER where one is below."""
    _set_noise(machine, control)
    status = OK
    for j in range(control.margins.size):
        control.armed[j] = 1 if control.margins[j] > control.noise[j] else 0
        if control.margins[j] < -control.noise[j]:
            status = LOOK_CLOSER
    return status


@register_jitable
def _set_noise(machine: Machine, control: StepControl):
    """How far from 0 each margin counts as 0: 1e-12 m, 1e-11 m/s, 1e-10 of the forces at play."""
    forces, noise = control.weight, control.noise
    for i in range(len(machine.found)):
        forces = max(forces, control.weight + abs(machine.found[i].pressure))
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
def step_until_event(machine: Machine, step: Step, control: StepControl) -> int:
    """Steps from step.origin to control.until; OK there, else what has to be looked at where it stands.

    LOOK_CLOSER leaves the state before the step in which something may happen, MEND the state after one that has left
    a constraint, a joint's range or the rank of the held rows, TURNED one after which a creeping slip points elsewhere.
    TOO_SLOW: the steps have become so short that the end is out of reach.
    """
    while step.t < control.until:
        if is_too_slow(step, control):
            return TOO_SLOW
        if not _try_step(machine, step, control) or is_suspicious(step, control):
            return LOOK_CLOSER
        _accept(machine, step, control)
        if follow_creep(machine):
            return TURNED
        if _needs_mending(machine, step, control):
            return MEND
    return OK


@kernel
def is_too_slow(step: Step, control: StepControl) -> bool:
    """Count a step; whether the last many have hardly brought the time on."""
    if control.steps == 0:
        control.counted = step.t
    control.steps += 1
    if control.steps < MANY_STEPS:
        return False
    control.steps = 0
    return step.t - control.counted < LITTLE_TIME


@register_jitable
def _try_step(machine: Machine, step: Step, control: StepControl):
    """A step that is exact enough, not beyond control.until; False if there is none."""
    left = control.until - step.t
    h = min(control.stride, control.longest, left)
    if creeps(machine) or (machine.force != 0 and is_wedged(machine)):
        h = min(h, LONGEST_CREEP)
    if left - h < 1e-3 * h:
        h = left
    while h >= SHORTEST:
        step.h = h
        if stride(step, control.margins) != OK:
            return False
        if step.error <= 1.0:
            return True
        h = next_length(step)
    return False


@kernel
def is_suspicious(step: Step, control: StepControl) -> bool:
    """Whether a margin came so low over the step's stages that it may have been 0 in between."""
    for j in range(control.margins.size):
        if math.isfinite(step.highest[j]):
            spread = step.highest[j] - step.lowest[j]
            if step.lowest[j] < 0.5 * spread + 10.0 * control.noise[j]:
                return True
    return False


@register_jitable
def _accept(machine: Machine, step: Step, control: StepControl):
    control.stride = next_length(step)
    accept(step)
    unit_quaternions(machine, step.origin)
    if control.until - step.t <= 1e-15 * max(1.0, abs(control.until)):
        step.t = control.until
    put(control.margins, 0, step.margins)
    for j in range(control.margins.size):
        if control.margins[j] > control.noise[j]:
            control.armed[j] = 1


@register_jitable
def _needs_mending(machine: Machine, step: Step, control: StepControl):
    verdict, y = machine.work.verdict, step.origin
    if machine.force != 0 and is_wedged(machine):
        return True
    if (verdict.rank < verdict.rows) != control.dependent:
        return True
    for i in range(y.size):
        if not math.isfinite(y[i]):
            return True
    for i in range(control.lower.size):
        if y[i] < control.lower[i] - 1e-9 or y[i] > control.upper[i] + 1e-9:
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
def coasts(machine: Machine) -> bool:
    """Whether a singular constraint is carried through."""
    for i in range(len(machine.contacts)):
        if machine.contacts[i].coast:
            return True
    return False


@kernel
def creeps(machine: Machine) -> bool:
    """Whether any slip creeps."""
    for i in range(len(machine.contacts)):
        if machine.contacts[i].creep:
            return True
    return False
