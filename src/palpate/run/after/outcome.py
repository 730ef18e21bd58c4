"""How a run ended."""

from __future__ import annotations

import numpy as np

from palpate.engine.fatal import FATAL
from palpate.engine.library import WARNINGS
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop import state as S
from palpate.run.stepping import INTERRUPTED, Ending
from palpate.trace import Outcome


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
