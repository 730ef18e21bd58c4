"""Compiled: constrained accelerations at a state.

M a + bias = τ + Σ Cᵀ λ with A a + drift = 0, A the rows of what is held (normals of sliding contacts, normal and
tangents of sticking ones, a pin's directions) and C their forces' directions: C = A, but n − μ d where a contact
slides along d.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types

from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Matrix, Vector
from palpate.engine.signatures import instructions
from palpate.engine.views import flat, part
from palpate.equations.code.tree_program import compute_frame, compute_terms
from palpate.robot.joints.coupled import expand_state, reduce_columns, reduce_force, reduce_matrix
from palpate.robot.mechanics import kernels as mechanics
from palpate.robot.mechanics.kernels import OK
from palpate.robot.mechanics.queries import inverse_dynamics
from palpate.spatial.kernels import quat_normalize, quat_rate_body
from palpate.tools.contact.modes.linear_algebra import cholesky, cholesky_solve, gauss_solve, least_norm
from palpate.tools.contact.touch.contacts import FREE, LOCKED, SLIDING, STICKING
from palpate.tools.contact.touch.geometry import (
    locate_on_surface,
    locate_stop,
    update_dry,
    update_pin,
    update_stop,
    update_surface_contact,
)
from palpate.tools.contact.touch.records import DRY, MARGINS, PIN, STOP, ContactState, Machine, Touching, Work
from palpate.world.plants.tree_plant import is_ordinary

NOT_DEFINITE, FORCE_FAILED = 9, 10
# Below this part of the point's mobility a constraint's normal row is carried through by its own smooth force.
COAST_BEGIN, COAST_END = 1e-3, 1.1e-3
STOPPED = 1e-9  # m/s: a slip in two directions slower than this has stopped
# A slip creeps below this speed, m/s, where its acceleration is below this part of friction's.
CREEP, CREEP_BALANCE = 1e-4, 1e-2
# rad: how far the direction of a creeping slip may be off before it is turned; where it is no longer settled.
CREEP_TURN, CREEP_LOST = 1e-4, 0.3
_FREE_JOINT, _BALL = 0, 1


@kernel
def _locate_point(machine: Machine, c: Touching, number: int) -> None:
    """World position of the contact's point."""
    tree, work = machine.tree, machine.work
    if tree.now:
        compute_frame(tree.code, tree.terms, tree.places[number], tree.frame)
        put(work.point, 0, tree.frame.position)
        return
    position, R = machine.handle.xpos[c.body], machine.handle.xmat[c.body]
    for i in range(3):
        work.point[i] = position[i]
        for j in range(3):
            work.point[i] += R[3 * i + j] * c.offset[j]


@kernel
def normalize_quaternions(machine: Machine, q: Vector) -> None:
    """Scale the quaternions of q back to length 1."""
    for j in range(machine.joints.shape[0]):
        if machine.joints[j, 0] <= _BALL:
            start = machine.joints[j, 1] + (3 if machine.joints[j, 0] == _FREE_JOINT else 0)
            quat_normalize(part(q, start, 4))


@kernel
def _coordinate_rates(machine: Machine, q: Vector, v: Vector, out: Vector) -> None:
    """q̇ of v: v itself, but ½ q ⊗ (0, ω) for a quaternion."""
    for j in range(machine.joints.shape[0]):
        kind, at, dof = machine.joints[j, 0], machine.joints[j, 1], machine.joints[j, 2]
        if kind > _BALL:
            out[at] = v[dof]
            continue
        if kind == _FREE_JOINT:
            put(out, at, part(v, dof, 3))
            at, dof = at + 3, dof + 3
        quat_rate_body(part(q, at, 4), part(v, dof, 3), part(out, at, 4))


@kernel
def _read_dynamics(machine: Machine, q: Vector, v: Vector, M: Matrix, bias: Vector) -> int:
    """M and C v + g + losses at the engine's coordinates."""
    if machine.lossy:
        status = inverse_dynamics(machine.handle, q, v, machine.work.zero, bias)
    else:
        status = mechanics.stage_state(machine.handle, q, v)
    if status == OK:
        mechanics.read_mass_matrix(machine.handle, M)
        if not machine.lossy:
            mechanics.read_bias(machine.handle, bias)
    return status


@kernel
def _point_jacobian(machine: Machine, c: Touching) -> None:
    """J (6×nv) of the point just located into work.J, its drift into work.point_drift.

    Equations have written J there already.
    """
    handle, full, work = machine.handle, machine.coupled, machine.work
    if machine.tree.now:
        put(work.point_drift, 0, machine.tree.frame.drift)
    elif full.on:
        mechanics.read_jacobian(handle, c.body, work.point, full.terms.J)
        mechanics.read_drift(handle, c.body, work.point, full.v, full.terms.J_rate, work.point_drift)
        reduce_columns(full, full.terms.J, work.J)
    else:
        mechanics.read_jacobian(handle, c.body, work.point, work.J)
        mechanics.read_drift(handle, c.body, work.point, work.v, work.J_rate, work.point_drift)


@kernel
def update_kinematics(machine: Machine, t: float, y: Vector, thorough: bool) -> int:
    """M, bias and every contact's kinematics at y; of free contacts only the gap unless `thorough`."""
    contacts, contact_states, work, full = machine.contacts, machine.states, machine.work, machine.coupled
    put(work.q, 0, part(y, 0, work.q.size))
    put(work.v, 0, part(y, work.q.size, work.v.size))
    normalize_quaternions(machine, work.q)
    machine.tree.now = machine.tree.on and is_ordinary(work.q, work.v)
    if machine.tree.now:
        status = OK
        compute_terms(machine.tree.code, work.q, work.v, machine.tree.terms)
    elif full.on:
        expand_state(full, work.q, work.v)
        status = _read_dynamics(machine, full.q, full.v, full.terms.M, full.terms.bias)
        reduce_force(full, full.terms.bias, work.bias)
        reduce_matrix(full, full.terms.M, work.M)
    else:
        status = _read_dynamics(machine, work.q, work.v, work.M, work.bias)
    if status != OK:
        return status
    for i in range(len(contacts)):
        c, f = contacts[i], contact_states[i]
        if c.kind == STOP:
            locate_stop(c, f, work)
            if c.mode != FREE or thorough:
                update_stop(c, f, work, i)
            continue
        _locate_point(machine, c, i)
        if c.kind == DRY:
            update_dry(c, f, work, i)
            continue
        if c.kind != PIN:
            locate_on_surface(c, f, work, t)
            if c.mode == FREE and not thorough:
                continue
        _point_jacobian(machine, c)
        if c.kind == PIN:
            update_pin(c, f, work, t, i)
        else:
            update_surface_contact(c, f, work, t, i)
    return OK


@kernel(inline=True)
def entry_of_row(work: Work, number: int, direction: Vector, k: int) -> float:
    """Entry k of the row that gives a contact's velocity along a direction."""
    Jc = work.Jc
    return direction[0] * Jc[number, 0, k] + direction[1] * Jc[number, 1, k] + direction[2] * Jc[number, 2, k]


@kernel
def _add_row(work: Work, m: int, number: int, c: Touching, held: Vector, push: Vector, drift: float) -> int:
    """Row m: what is held moves along `held`, its force acts along `push`."""
    for k in range(work.v.size):
        work.rows[m, k], work.forcing[m, k] = entry_of_row(work, number, held, k), entry_of_row(work, number, push, k)
    put(work.pushes[m], 0, push)
    work.owner[m], work.drift[m], work.anchors[m] = number, drift, dot(held, c.anchor, 3)
    return m + 1


@kernel
def _assemble_rows(contacts: list[Touching], contact_states: list[ContactState], work: Work) -> int:
    """The rows of every contact by its mode; how many."""
    m, push = 0, work.normal  # borrowed
    for i in range(len(contacts)):
        c, f = contacts[i], contact_states[i]
        if c.kind == PIN:
            for k in range(c.freedoms):
                m = _add_row(work, m, i, c, c.directions[k], c.directions[k], dot(c.directions[k], f.drift, 3))
            continue
        if c.kind != DRY and c.coast == 0 and (c.mode == SLIDING or c.mode == STICKING or c.mode == LOCKED):
            s = c.friction * c.side if c.mode == SLIDING and c.freedoms > 0 else 0.0
            for k in range(3):
                push[k] = f.normal[k] - s * f.slip_direction[k]
            m = _add_row(work, m, i, c, f.normal, push, f.bend)
            if c.creep:
                m = _add_row(work, m, i, c, f.across, f.across, dot(f.across, f.drift, 3))
        if c.mode == STICKING:
            for k in range(c.freedoms):
                m = _add_row(work, m, i, c, f.tangents[k], f.tangents[k], dot(f.tangents[k], f.drift, 3))
    return m


@kernel
def _solve_multipliers(contacts: list[Touching], work: Work, m: int) -> None:
    """Multipliers of the m rows in work.multipliers, from M's factor and the free acceleration."""
    nv, scale = work.v.size, 0.0
    for i in range(len(contacts)):
        scale = max(scale, contacts[i].mobility)
    for a in range(m):
        put(work.inverse[a], 0, work.forcing[a])
        cholesky_solve(work.L, work.inverse[a])
    for a in range(m):
        wanted = -work.drift[a]
        for k in range(nv):
            wanted -= work.rows[a, k] * work.acceleration[k]
        work.drift[a] = work.multipliers[a] = wanted
        for b in range(m):
            work.S[a, b] = 0.0
            for k in range(nv):
                work.S[a, b] += work.rows[a, k] * work.inverse[b, k]
            work.LU[a, b] = work.S[a, b]
    determinant, regular = gauss_solve(work.LU, work.multipliers, m, scale)
    rank = m
    if not regular:
        rank = _nearest_multipliers(work, m, scale)
        determinant = 0.0
    verdict = work.verdict
    verdict.determinant, verdict.rank, verdict.rows = determinant, rank, m


@kernel
def _nearest_multipliers(work: Work, m: int, scale: float) -> int:
    """Multipliers of dependent rows: of all that hold, those nearest to the anchors; returns the rank.

    The reactions of a body held more than once are not determined by rigid mechanics. They change as little as they
    can, so that forces do not jump where the last joint of an arm at a wall comes to rest.
    """
    put(flat(work.LU), 0, flat(work.S))
    for a in range(m):
        for b in range(m):
            work.drift[a] -= work.S[a, b] * work.anchors[b]
    rank = least_norm(work.LU, work.V, work.drift, work.multipliers, m, scale)
    for a in range(m):
        work.multipliers[a] += work.anchors[a]
        for b in range(m):
            work.drift[a] += work.S[a, b] * work.anchors[b]
    return rank


@kernel
def _residual(work: Work, m: int) -> None:
    """How far the held rows' accelerations stay from what they must be (0 unless constraints contradict)."""
    worst = 0.0
    for a in range(m):
        left = -work.drift[a]
        for b in range(m):
            left += work.S[a, b] * work.multipliers[b]
        worst = max(worst, abs(left))
    work.verdict.residual = worst


@kernel(inline=True)
def carried_force(c: Touching, pull: Matrix, t: float, k: int) -> float:
    """The generalised force of a coasting contact along velocity k: a polynomial in time."""
    total = 0.0
    for r in range(pull.shape[0] - 1, -1, -1):
        total = total * (t - c.since) + pull[r, k]
    return total


@kernel
def _coasting_force(c: Touching, f: ContactState, work: Work, t: float, number: int) -> None:
    """The normal force that a coasting contact's generalised force amounts to."""
    along = size = 0.0
    for k in range(work.v.size):
        row = entry_of_row(work, number, f.normal, k)
        along += row * carried_force(c, work.pull[number], t, k)
        size += row * row
    for i in range(3):
        f.force[i] = f.normal[i] * along / size if size > 1e-18 else 0.0


@kernel
def _leverage(f: ContactState, work: Work, number: int) -> float:
    """|n·J|/|J|: how much of the point's mobility lies along the normal; 0 where the constraint is singular."""
    across = total = 0.0
    for k in range(work.v.size):
        across += entry_of_row(work, number, f.normal, k) ** 2
        for i in range(3):
            total += work.Jc[number, i, k] ** 2
    return math.sqrt(across / total) if total > 0.0 else 1.0


@kernel
def solve_accelerations(machine: Machine, t: float) -> int:
    """a, multipliers and margins from what `update_kinematics` left in work, under the machine's tau."""
    contacts, contact_states, work, tau = machine.contacts, machine.states, machine.work, machine.tau
    nv = work.v.size
    if not cholesky(work.M, work.L):
        return NOT_DEFINITE
    for k in range(nv):
        work.acceleration[k] = tau[k] - work.bias[k]
    for i in range(len(contacts)):
        if contacts[i].coast:
            for k in range(nv):
                work.acceleration[k] += carried_force(contacts[i], work.pull[i], t, k)
        if contacts[i].kind == DRY and contacts[i].mode == SLIDING:
            work.acceleration[contacts[i].dof] -= contacts[i].lever * contacts[i].grip * contacts[i].sign
    cholesky_solve(work.L, work.acceleration)
    m = _assemble_rows(contacts, contact_states, work)
    _solve_multipliers(contacts, work, m)
    _residual(work, m)
    for i in range(len(contacts)):
        contact_states[i].normal_force = contact_states[i].friction_force = 0.0
        clear(contact_states[i].force)
        if contacts[i].kind == DRY and contacts[i].mode == SLIDING:
            contact_states[i].force[0] = -contacts[i].grip * contacts[i].sign
    for a in range(m):
        value = work.multipliers[a]
        for k in range(nv):
            work.acceleration[k] += work.inverse[a, k] * value
        for k in range(3):
            contact_states[int(work.owner[a])].force[k] += work.pushes[a, k] * value
    for i in range(len(contacts)):
        if contacts[i].coast:
            _coasting_force(contacts[i], contact_states[i], work, t, i)
        if contacts[i].wedged:
            put(contact_states[i].force, 0, contacts[i].anchor)
    _margins(contacts, contact_states, work)
    return OK


@kernel
def _margins(contacts: list[Touching], contact_states: list[ContactState], work: Work) -> None:
    """Fill every contact's margins: a mode ends where one of them falls through 0."""
    frictional = False
    for i in range(len(contacts)):
        c, f = contacts[i], contact_states[i]
        f.margin[0] = f.margin[1] = f.margin[3] = math.inf
        if c.kind == PIN:
            f.margin[2] = math.inf
            continue
        if c.kind == DRY:
            f.friction_force = abs(f.force[0])
            if not c.wedged:
                f.margin[1] = c.sign * f.slide[0] if c.mode == SLIDING else c.grip - f.friction_force
            continue
        if c.mode == FREE:
            f.margin[0], f.margin[2] = (f.gap if not c.two_sided else math.inf), math.inf
            continue
        if c.mode == SLIDING:
            leverage = _leverage(f, work, i)
            f.margin[3] = COAST_END - leverage if c.coast else leverage - COAST_BEGIN
        if c.coast:
            continue
        f.normal_force = dot(f.force, f.normal, 3)
        total = dot(f.force, f.force, 3)
        f.friction_force = math.sqrt(max(total - f.normal_force**2, 0.0))
        if c.wedged:  # asked again by `simulation` whenever the force changes
            continue
        if not c.two_sided:
            f.margin[0] = f.normal_force
        if c.freedoms == 0 or (c.mode == SLIDING and c.friction == 0.0):
            continue
        if c.mode == STICKING:
            f.margin[1] = c.hold * abs(f.normal_force) - f.friction_force
            continue
        frictional = True
        if c.two_sided:
            f.margin[0] = c.side * f.normal_force
        if c.freedoms == 1:
            f.margin[1] = c.sign * dot(f.slide, f.tangents[0], 3)
        else:
            speed = dot(f.slide, f.slip_direction, 3) if c.creep else math.sqrt(dot(f.slide, f.slide, 3))
            f.margin[1] = speed - STOPPED
    if not frictional:
        work.verdict.determinant = math.inf
    else:
        work.verdict.determinant *= work.verdict.orientation


@kernel
def follow_creep(machine: Machine) -> bool:
    """Begin, turn or end the creep of slow slips after an evaluation; whether rows or directions have changed.

    The direction of a slip in two directions settles at the rate μ f_n/(m |u|), which at 10 µm/s is a million times a
    second: stiff for as long as the slip creeps. A slip slower than CREEP whose acceleration is small against
    friction's has settled, so it keeps its direction d, and its motion across d is held like a sticking one's. The
    force across is then −μ f_n sin θ, θ the angle from d to where the settled slip points; d is turned there when
    θ exceeds CREEP_TURN.
    """
    changed = False
    for i in range(len(machine.contacts)):
        c, f = machine.contacts[i], machine.states[i]
        if c.mode != SLIDING or c.freedoms != 2 or c.friction == 0.0 or c.coast:
            continue
        friction = c.friction * abs(f.normal_force)
        if c.creep == 0:
            if _has_settled(machine, i, friction):
                c.creep, changed = 1, True
                put(c.slip, 0, f.slip_direction)
            continue
        sine = -dot(f.force, f.across, 3) / friction if friction > 0.0 else math.inf
        if dot(f.slide, f.slip_direction, 3) > 2.0 * CREEP or not abs(sine) < CREEP_LOST:
            c.creep, changed = 0, True
        elif abs(sine) > CREEP_TURN:
            changed = True
            for k in range(3):
                c.slip[k] = math.sqrt(1.0 - sine * sine) * f.slip_direction[k] + sine * f.across[k]
    return changed


@kernel
def _has_settled(machine: Machine, i: int, friction: float) -> bool:
    """Whether a slip is slow, and friction and what drives it are in balance: |u̇| ≪ μ f_n/m."""
    c, f, work = machine.contacts[i], machine.states[i], machine.work
    if not dot(f.slide, f.slide, 3) < CREEP * CREEP:
        return False
    total = 0.0
    for k in range(2):
        rate = dot(f.tangents[k], f.drift, 3)
        for j in range(work.v.size):
            for r in range(3):
                rate += f.tangents[k, r] * work.Jc[i, r, j] * work.acceleration[j]
        total += rate * rate
    return math.sqrt(total) < CREEP_BALANCE * friction * c.mobility


@instructions(types.int64, types.int64, types.float64)
def _call_force(context: Any, builder: Any, pointer: Any, t: Any) -> Any:
    """force(t) at a C address: Python's function of (t, q, v), which writes the machine's tau."""
    kind = ir.FunctionType(ir.IntType(64), [ir.DoubleType()])
    return builder.call(builder.inttoptr(pointer, kind.as_pointer()), [t])


@kernel
def slope(machine: Machine, t: float, y: Vector, dy: Vector, margins: Vector) -> int:
    """dy/dt of y = [q; v] and the powers of the contacts, N·m/s: what friction takes, what moving surfaces bring in."""
    work = machine.work
    status = update_kinematics(machine, t, y, False)
    if status == OK and machine.force != 0:
        status = _call_force(machine.force, t)
    if status != OK:
        return status
    status = solve_accelerations(machine, t)
    if status != OK:
        return status
    _coordinate_rates(machine, work.q, work.v, dy)
    put(dy, work.q.size, work.acceleration)
    _powers(machine, dy)
    _read_margins(machine, margins)
    return OK


@kernel
def _powers(machine: Machine, dy: Vector) -> None:
    """−Σ f·u of the slips and Σ f·v of the surfaces, in the last two places."""
    dissipated = brought = 0.0
    for i in range(len(machine.states)):
        if machine.contacts[i].mode != FREE and machine.contacts[i].kind != STOP:
            dissipated -= dot(machine.states[i].force, machine.states[i].slide, 3)
            brought += dot(machine.states[i].force, machine.states[i].surface_velocity, 3)
    dy[dy.size - 2], dy[dy.size - 1] = dissipated, brought


@kernel
def _read_margins(machine: Machine, out: Vector) -> None:
    """The margins of every contact, and the friction problem's determinant last."""
    count = len(machine.states)
    for i in range(count):
        for k in range(MARGINS):
            out[MARGINS * i + k] = machine.states[i].margin[k]
    out[MARGINS * count] = machine.work.verdict.determinant
