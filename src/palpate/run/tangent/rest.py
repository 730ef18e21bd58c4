"""How an arm gives way at rest under its law: from the map of the loop's own tick, contacts opened.

    x = A x + B u     ⇒     x = (1 − A)⁻¹ B u

u are torques on the joints, a wrench at the tool, and a wrench that the sensor reads and that does not act, all held
for ever; the joints in x are where the arm then rests. Law, driver, servo and sensors are in A as they are in the run.
Surfaces are left out: the wrench that they exert stays what it is, and a change of it is one of the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, PalpateError
from palpate.one_thread import one_thread
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop import loop
from palpate.run.loop.tangent import WRENCH
from palpate.run.tangent.loop_poles import fill_lines, sample_targets
from palpate.run.tangent.structure import loop_of
from palpate.run.tangent.tick_map import LoopState, held

_FREE = 1e-8  # of the largest singular value of 1 − A: less holds nothing
_HELD = 1e-6  # of an input: what may be left unbalanced
_MOVED = 1e-6  # rad or m, by which joints are moved in a contact
_ROUNDING = 1e-12
_BOUNDLESS = 1e100  # m per N·m and more: nothing holds it


@dataclass(frozen=True)
class Compliance:
    """How an arm at rest gives way, to first order.

    Attributes:
        torque: n×n, joint displacement per joint torque from outside.
        wrench: n×6, joint displacement per wrench [f; n] at the tool's origin, world axes, that acts and is read.
        reading: n×6, the same per wrench that the sensor reads and that does not act.
        held: per joint, whether the law holds the arm against a torque there; what it does not hold moves for ever.
        free: n×r, joint motions that nothing brings back.
    """

    torque: Array
    wrench: Array
    reading: Array
    held: Array
    free: Array


def compliance_here(assembly: Assembly, *, pressing: bool = False, state: LoopState | None = None) -> Compliance | None:
    """The compliance of a run that stands between two control ticks, and is left there.

    Args:
        assembly: of the run.
        pressing: whether surfaces stay there along their normals, without friction: a law that controls a force has no
            rest without them.
        state: of the assembly, where it is known already.

    Returns:
        The compliance; None where the loop has no map, or is coupled to what is no joint of the robot's.
    """
    try:
        state = LoopState(assembly) if state is None else state
        positions = _joint_positions(assembly, state)
    except PalpateError:
        return None
    start, memories = state.words.save(), state.memory.saved()
    try:
        if assembly.loop.contacts:  # a run that has ended has cleared the wrench of its last row
            sample_targets(assembly, 1)
            assembly.rescues.call(loop.first_half)
            state.words.restore(start)
            state.memory.restore(memories)
        with held(assembly), unlimited(assembly), opened(assembly, normal=pressing):
            fill_lines(assembly, state)
            sample_targets(assembly, 1)
            tick = state.differentiate(state.all_inputs)
    except PalpateError:
        return None
    finally:
        state.words.restore(start)
        state.memory.restore(memories)
    torques = 2 * WRENCH + assembly.plant.places()[1]
    inputs = np.concatenate([torques, np.arange(2 * WRENCH)])
    x, balanced, free = rest_of(tick.A, tick.B[:, inputs], state.names)
    q, n = x[positions], len(torques)
    return Compliance(q[:, :n], q[:, n : n + WRENCH], q[:, n + WRENCH :], balanced[:n], free[positions])


def rest_of(A: Array, B: Array, names: tuple[str, ...]) -> tuple[Array, Array, Array]:
    """x = (1 − A)⁻¹ B, the shortest of them where some directions are free.

    Returns:
        x; for each input whether there is such a rest; and the free directions.
    """
    with one_thread():
        kept, _ = loop_of(A, names, B)
        inner = np.eye(len(kept)) - A[np.ix_(kept, kept)]
        U, sizes, V = np.linalg.svd(inner)
        still = sizes > _FREE * sizes.max(initial=0.0)
        right = U.T @ B[kept]
        solution = V[still].T @ (right[still] / sizes[still, None])
        unbalanced = np.abs(right[~still]).max(axis=0, initial=0.0)
    x, free = np.zeros((len(A), B.shape[1])), np.zeros((len(A), int((~still).sum())))
    x[kept], free[kept] = solution, V[~still].T
    return x, unbalanced <= _HELD * np.maximum(np.abs(right).max(axis=0, initial=0.0), 1e-300), free


def contact_slope(assembly: Assembly, state: LoopState) -> Array | None:
    """6×n: change of the surfaces' wrench with each joint, as the loop finds it; None where some are rigid."""
    L = assembly.loop
    if any(not contact.surface.compliant for contact in L.contacts):
        return None
    places = assembly.plant.places()[0]
    start, memories, slopes = state.words.save(), state.memory.saved(), np.zeros((WRENCH, len(places)))
    try:
        sample_targets(assembly, 1)
        for j, place in enumerate(places):
            for side in (_MOVED, -_MOVED):
                state.words.restore(start)
                L.plant.qpos[place] += side
                assembly.rescues.call(loop.first_half)
                slopes[:, j] += np.asarray(L.row.contact_wrench) / (2.0 * side)
    finally:
        state.words.restore(start)
        state.memory.restore(memories)
    return slopes


def _joint_positions(assembly: Assembly, state: LoopState) -> Array:
    """Where the robot's joints are among the coordinates."""
    at = {name: k for k, name in enumerate(state.names)}
    robot, places = assembly.run.robot, assembly.plant.places()[0]
    if robot.nq != robot.nv or robot.coordinates.coupled:
        raise InvalidInput("the robot has a free base, or joints that follow others")
    return np.array([at[f"loop.plant.qpos[{place}]"] for place in places])


@contextmanager
def opened(assembly: Assembly, *, normal: bool) -> Iterator[None]:
    """Let nothing touch, but keep the wrench of now; with `normal` compliant surfaces press on without friction."""
    probe = assembly.loop.probe
    surfaces = {id(c.surface): c.surface for c in assembly.loop.contacts}.values()
    kept = [(s, s.compliant, s.friction) for s in surfaces]
    option = assembly.plant.model.opt
    flags = option.disableflags
    for s, compliant, _ in kept:
        s.friction = 0.0
        s.compliant = compliant and normal
    if not normal:
        probe.base[:] = probe.wrench[:] = np.asarray(assembly.loop.row.contact_wrench)
        probe.on = True
        option.disableflags = flags | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    try:
        yield
    finally:
        probe.base[:] = probe.wrench[:] = 0.0
        probe.on, option.disableflags = False, flags
        for s, compliant, friction in kept:
            s.compliant, s.friction = compliant, friction


@contextmanager
def unlimited(assembly: Assembly) -> Iterator[None]:
    """Let the driver cut no torque and no rate."""
    d = assembly.loop.drives
    limited, rates = d.limit_torque, d.rate_limit.copy()
    d.limit_torque, d.rate_limit[:] = False, np.inf
    try:
        yield
    finally:
        d.limit_torque, d.rate_limit[:] = limited, rates


def farthest(rows: Array, bounds: Array) -> float:
    """max ‖rows f‖ with |f_i| ≤ bound_i: how far torques within bounds, such as friction, can take something.

    The largest is at a corner of the box, f_i = ± bound_i. From the corner that lies farthest along a direction, the
    next one lies farthest along rows f, until none is farther; begun along every axis of the rows and between them.
    """
    if not np.abs(rows).max(initial=0.0) < _BOUNDLESS:
        return np.inf
    most = 0.0
    for d in [*np.eye(len(rows)), *(np.array(signs) for signs in product((-1.0, 1.0), repeat=len(rows)))]:
        reached = -1.0
        while (length := float(np.linalg.norm(ahead := rows @ (np.sign(d @ rows) * bounds)))) > reached:
            reached, d = length * (1.0 + _ROUNDING), ahead
        most = max(most, length)
    return most
