"""The loop: measurement → law → command → guards → plant → record, in one place.

Everything a run needs is in one `Loop` of flat arrays, so the whole loop is compiled once and serves every robot, world
and law. A physics step has two halves with the law between them:

    before_law    stage the plant at t, find contacts, read sensors, evaluate the nominal model
    law           terms from measurement, model and target (control ticks only)
    after_law     command, guards, actuators; record; events; advance the physics

`run_steps` strings them together in compiled code; a law in plain Python is called between the same two halves.
"""

from __future__ import annotations

from numba import types

from palpate.control.guards import watch_measurement
from palpate.control.law import LAW_TYPE
from palpate.engine import H_DATA, H_MODEL, kernel, mj_step1, put
from palpate.run.command import apply_guards, guard_and_actuate, servo, take_command
from palpate.run.measure import evaluate_model, measure, see_pole
from palpate.run.physics import (
    account,
    add_rigid_contacts,
    advance,
    change_loads,
    move_surfaces,
    outside_forces,
    read_tool,
    trouble,
)
from palpate.run.record import event_happened, fill_row, record
from palpate.run.state import (
    BAD_COMMAND,
    BAD_MEASUREMENT,
    COMPLETED,
    I_BLIND,
    I_COMMAND,
    I_FIRST_TARGET,
    I_RATIO,
    I_RK4,
    I_STEP,
    I_STEPS,
    I_STRIDE,
    I_TICK,
    RUNNING,
    STOPPED,
    X_DT,
    X_PERIOD,
    X_TIME,
    as_loop,
)

_VELOCITY = 2  # place of the velocity command among the kinds


@kernel("boolean(int64[::1])", lean=True)
def before_law(table):
    """Stage the plant; on a control tick also measure and evaluate the model. Returns whether it is one."""
    L = as_loop(table)
    i, x = L.i, L.x
    x[X_TIME] = i[I_STEP] * x[X_DT]
    move_surfaces(L, x[X_TIME])
    mj_step1(L.plant[H_MODEL], L.plant[H_DATA])
    if change_loads(L, x[X_TIME]):
        mj_step1(L.plant[H_MODEL], L.plant[H_DATA])
    read_tool(L)
    # The semi-implicit step takes the friction springs at their stretch after the step.
    outside_forces(L, x[X_TIME], 0.0 if i[I_RK4] else x[X_DT])
    add_rigid_contacts(L)
    account(L)
    if i[I_STEP] % i[I_RATIO] != 0:
        return False
    measure(L)
    seen = watch_measurement(L.guard_numbers, L.guard_memory, x[X_PERIOD], i[I_TICK], L.q, L.v, L.wrench)
    i[I_BLIND] = 0 if seen and evaluate_model(L) else 1
    put(L.target, 0, L.targets[i[I_TICK] - i[I_FIRST_TARGET]])
    see_pole(L)
    return True


@kernel("int64(int64[::1], boolean)", lean=True)
def after_law(table, due):
    """Carry the command out, record, watch for events, and advance. Returns how it went."""
    L = as_loop(table)
    i = L.i
    if i[I_BLIND]:
        return BAD_MEASUREMENT
    if due:
        if not take_command(L):
            return BAD_COMMAND
        apply_guards(L)
        i[I_TICK] += 1
    if i[I_COMMAND] >= _VELOCITY:
        servo(L)
    guard_and_actuate(L)
    recording, watching = i[I_STEP] % i[I_STRIDE] == 0, L.events.shape[0] > 0
    if recording or watching:
        fill_row(L)
    if recording:
        record(L)
    if watching and event_happened(L):
        return STOPPED
    if i[I_STEP] >= i[I_STEPS]:
        return COMPLETED
    advance(L)
    status = trouble(L)
    i[I_STEP] += 1
    return status


@kernel(types.int64(types.int64[::1], LAW_TYPE, types.int64), lean=True)
def run_steps(table, law, steps):
    """Up to `steps` physics steps with a compiled law. Returns how the last one went."""
    L = as_loop(table)
    status = RUNNING
    for _ in range(steps):
        due = before_law(table)
        if due:
            law(
                L.x[X_TIME], L.x[X_PERIOD], L.q, L.v, L.M, L.bias, L.gravity, L.position, L.rotation, L.J, L.drift,
                L.wrench, L.tau_measured, L.target, L.gains, L.memory, L.terms,
            )  # fmt: skip
        status = after_law(table, due)
        if status != RUNNING:
            break
    return status
