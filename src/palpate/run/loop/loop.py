"""The loop: measurement → law → command → guards → plant → record, in one place.

Everything a run needs is in one `Loop` record, so the whole loop is compiled once for every robot, world and law. A
physics step has two halves with the law between them:

    before_law    stage the plant at t, find contacts, read sensors, evaluate the nominal model
    law           terms from measurement, model and target (control ticks only)
    after_law     command, driver, guards (`decide`); record; events (`write_down`); advance the physics

`run_steps` strings them together in compiled code; a law in plain Python is called between the same two halves. Exact
contact puts its own integrator in the place of the physics (see `exact`).
"""

from __future__ import annotations

from palpate.control.guards import watch_measurement
from palpate.engine.kernels import address_of_record, call_law, kernel
from palpate.run.loop.acting_forces import (
    add_exact_contacts,
    add_rigid_contacts,
    change_loads,
    move_surfaces,
    outside_forces,
    read_tool,
)
from palpate.run.loop.command import act_on_command, actuate, servo, take_command
from palpate.run.loop.energies import LOOK_EVERY, fill_energies, watch_energies
from palpate.run.loop.measure import (
    elastic_state,
    evaluate_model,
    measure,
    note_deflection,
    true_state,
    turn_wanted_wrench,
)
from palpate.run.loop.physics import account, advance, check_state, stage_plant, watch_joints
from palpate.run.loop.record import event_happened, fill_row, record
from palpate.run.loop.state import BAD_MEASUREMENT, COMPLETED, RUNNING, STOPPED, VELOCITY, Loop


@kernel
def before_law(L: Loop) -> bool:
    """Stage the plant; on a control tick also measure and evaluate the model. Returns whether it is one."""
    t = L.step * L.dt
    move_surfaces(L, t)
    stage_plant(L)
    if change_loads(L, t):
        stage_plant(L)
    read_tool(L)
    # The semi-implicit step takes the friction springs at their stretch after the step.
    outside_forces(L, t, 0.0 if L.rk4 else L.dt)
    add_rigid_contacts(L)
    add_exact_contacts(L)
    account(L)
    true_state(L)
    if L.elastic.on:
        elastic_state(L)
    if L.ratio > 1 and L.step % L.ratio != 0:
        return False
    measure(L)
    seen = watch_measurement(L.guard, L.guard_memory, L.tick, L.tick_count)
    L.blind = not (seen and evaluate_model(L))
    if L.elastic.on:
        note_deflection(L)
    turn_wanted_wrench(L)
    return True


@kernel
def decide(L: Loop, due: bool) -> int:
    """Carry the command out: driver, guards, servo, torque limits."""
    if L.blind:
        return BAD_MEASUREMENT
    if due:
        status = take_command(L)
        if status != RUNNING:
            return status
        L.tick_count += 1
    if L.step == L.drives.acts_from:
        act_on_command(L)
    if not L.kinematic:
        if L.drives.kind >= VELOCITY:
            servo(L)
        actuate(L)
    return RUNNING


@kernel(inline=True)
def _look_at_energies(L: Loop, filled: bool) -> None:
    """Watch the energies where the row has them, else now and then."""
    known = filled and L.energies
    if L.kinematic or not (known or L.step % LOOK_EVERY == 0 or L.step >= L.steps):
        return
    if not known:
        fill_energies(L)
    watch_energies(L)


@kernel
def write_down(L: Loop) -> int:
    """Record the step and watch for events; how the run stands."""
    recording, watching = L.step % L.stride == 0, len(L.stop) > 0
    if recording or watching:
        fill_row(L)
    _look_at_energies(L, recording or watching)
    if recording:
        record(L)
    if watching and event_happened(L):
        return STOPPED
    return COMPLETED if L.step >= L.steps else RUNNING


@kernel
def end_step(L: Loop) -> int:
    """Look at the state after a step; how the run stands."""
    status = check_state(L)
    L.step += 1
    if L.watch.on:
        watch_joints(L)
    return status


@kernel
def after_law(L: Loop, due: bool) -> int:
    """Carry the command out, record, watch for events, and advance. Returns how it went."""
    status = decide(L, due)
    if status == RUNNING:
        status = write_down(L)
    if status != RUNNING:
        return status
    advance(L)
    return end_step(L)


@kernel
def first_half(L: Loop, unused: int) -> int:
    """`before_law` in the form that can be guarded: 1 on a control tick, else 0."""
    return 1 if before_law(L) else 0


@kernel
def second_half(L: Loop, due: int) -> int:
    """`after_law` in the form that can be guarded."""
    return after_law(L, due == 1)


@kernel
def run_steps(L: Loop, steps: int) -> int:
    """Up to `steps` physics steps with a compiled law. Returns how the last one went."""
    status = RUNNING
    for _ in range(steps):
        due = before_law(L)
        if due:
            tick = address_of_record(L.tick)  # pyright: ignore[reportCallIssue]
            call_law(L.law, tick, L.gains, L.memory, L.terms)  # pyright: ignore[reportCallIssue]
        status = after_law(L, due)
        if status != RUNNING:
            break
    return status
