"""Compiled: constrained accelerations at a state.

M a + rest = τ + Σ Cᵀ λ with A a + drift = 0, A the rows of what is held (normals of sliding contacts, normal and
tangents of sticking ones, a pin's directions) and C their forces' directions: C = A, but n − μ d where a contact
slides along d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from palpate.contact.modes.linear_algebra import back, eliminate, factor, least_norm
from palpate.contact.touch.contacts import FREE, LOCKED, SLIDING, STICKING
from palpate.contact.touch.geometry import hold, locate, stop, touch
from palpate.contact.touch.records import MARGINS, PIN, STOP, Found, Machine, Touching, Triple, Work
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.records import Matrix, Vector
from palpate.engine.views import flat, part
from palpate.robot.mechanics.kernels import (
    OK,
    inverse_dynamics,
    read_bias,
    read_drift,
    read_jacobian,
    read_mass_matrix,
    stage_state,
)

NOT_DEFINITE, FORCE_FAILED = 9, 10
# Below this part of the point's mobility a constraint's normal row is carried through by its own smooth force.
COAST_BEGIN, COAST_END = 1e-3, 1.1e-3
STOPPED = 1e-9  # m/s: a slip in two directions slower than this has stopped
# A slip creeps below this speed, m/s, where its acceleration is below this part of friction's.
CREEP, CREEP_BALANCE = 1e-4, 1e-2
# rad: how far the direction of a creeping slip may be off before it is turned; where it is no longer settled.
CREEP_TURN, CREEP_LOST = 1e-4, 0.3
LONGEST_CREEP = 1e-3  # s: the longest step in which a creeping slip keeps its direction
_FREE_JOINT, _BALL = 0, 1


@kernel
def _place_point(machine: Machine, c: Touching, work: Work) -> None:
    """World position of the contact's point, and the axes of its body."""
    position, R = machine.handle.xpos[c.body], machine.handle.xmat[c.body]
    for i in range(3):
        work.place[i] = position[i]
        for j in range(3):
            work.axes[i, j] = R[3 * i + j]
            work.place[i] += R[3 * i + j] * c.offset[j]


@kernel
def _read_state(machine: Machine, work: Work, y: Vector) -> None:
    """q (quaternions made unit) and v out of y = [q; v]."""
    nq = machine.nq
    put(work.q, 0, part(y, 0, nq))
    put(work.v, 0, part(y, nq, work.v.size))
    unit_quaternions(machine, work.q)
    if machine.coupled:
        for i in range(work.q_full.size):
            work.q_full[i], work.v_full[i] = machine.offset[i], 0.0
            for k in range(nq):
                work.q_full[i] += machine.map[i, k] * work.q[k]
                work.v_full[i] += machine.map[i, k] * work.v[k]
    else:
        put(work.q_full, 0, work.q)
        put(work.v_full, 0, work.v)


@kernel
def unit_quaternions(machine: Machine, q: Vector) -> None:
    """Scale the quaternions of q back to length 1."""
    for j in range(machine.joints.shape[0]):
        if machine.joints[j, 0] <= _BALL:
            start = machine.joints[j, 1] + (3 if machine.joints[j, 0] == _FREE_JOINT else 0)
            length = math.sqrt(q[start] ** 2 + q[start + 1] ** 2 + q[start + 2] ** 2 + q[start + 3] ** 2)
            if length > 0.0:
                for k in range(4):
                    q[start + k] /= length


@kernel
def _coordinate_rates(machine: Machine, q: Vector, v: Vector, out: Vector) -> None:
    """q̇ of v: v itself, but ½ q ⊗ (0, ω) for a quaternion."""
    for j in range(machine.joints.shape[0]):
        kind, at, dof = machine.joints[j, 0], machine.joints[j, 1], machine.joints[j, 2]
        if kind > _BALL:
            out[at] = v[dof]
            continue
        if kind == _FREE_JOINT:
            for k in range(3):
                out[at + k] = v[dof + k]
            at, dof = at + 3, dof + 3
        w, x, y, z = q[at], q[at + 1], q[at + 2], q[at + 3]
        a, b, c = v[dof], v[dof + 1], v[dof + 2]
        out[at] = -0.5 * (x * a + y * b + z * c)
        out[at + 1] = 0.5 * (w * a + y * c - z * b)
        out[at + 2] = 0.5 * (w * b + z * a - x * c)
        out[at + 3] = 0.5 * (w * c + x * b - y * a)


@kernel
def _reduce(machine: Machine, work: Work) -> None:
    """M and rest in the robot's own coordinates."""
    nv = work.v.size
    if not machine.coupled:
        put(work.rest, 0, work.rest_full)
        put(flat(work.M), 0, flat(work.M_full))
        return
    G, full = machine.map, work.v_full.size
    for i in range(nv):
        work.rest[i] = 0.0
        for a in range(full):
            work.rest[i] += G[a, i] * work.rest_full[a]
        for j in range(nv):
            work.M[i, j] = 0.0
            for a in range(full):
                for b in range(full):
                    work.M[i, j] += G[a, i] * work.M_full[a, b] * G[b, j]


@kernel
def _point_jacobian(machine: Machine, c: Touching, work: Work) -> None:
    """J (6×nv) of the contact's point into work.J_own, its drift into work.six; needs work.place."""
    read_jacobian(machine.handle, c.body, work.place, work.J)
    read_drift(machine.handle, c.body, work.place, work.v_full, work.J_rate, work.six)
    for i in range(6):
        for k in range(work.v.size):
            if machine.coupled:
                work.J_own[i, k] = 0.0
                for a in range(work.v_full.size):
                    work.J_own[i, k] += work.J[i, a] * machine.map[a, k]
            else:
                work.J_own[i, k] = work.J[i, k]


@kernel
def look(machine: Machine, t: float, y: Vector, thorough: bool) -> int:
    """M, rest and every contact's kinematics at y; of free contacts only the gap unless `thorough`."""
    contacts, contact_states, work = machine.contacts, machine.found, machine.work
    _read_state(machine, work, y)
    if machine.lossy:
        status = inverse_dynamics(machine.handle, work.q_full, work.v_full, work.zero_full, work.rest_full)
    else:
        status = stage_state(machine.handle, work.q_full, work.v_full)
    if status != OK:
        return status
    read_mass_matrix(machine.handle, work.M_full)
    if not machine.lossy:
        read_bias(machine.handle, work.rest_full)
    _reduce(machine, work)
    for i in range(len(contacts)):
        c, f = contacts[i], contact_states[i]
        if c.kind == STOP:
            stop(c, f, work, i)
            continue
        _place_point(machine, c, work)
        if c.kind != PIN:
            locate(c, f, work, t)
            if c.mode == FREE and not thorough:
                continue
        _point_jacobian(machine, c, work)
        if c.kind == PIN:
            hold(c, f, work, t, i)
        else:
            touch(c, f, work, t, i)
    return OK


@kernel(inline=True)
def _add_row(work: Work, m: int, number: int, across: Vector, along: Triple, drift: float) -> int:
    """Row m: what is held moves along `across`, its force pushes along `along`."""
    Jc = work.Jc
    for k in range(work.v.size):
        work.rows[m, k] = across[0] * Jc[number, 0, k] + across[1] * Jc[number, 1, k] + across[2] * Jc[number, 2, k]
        work.forcing[m, k] = along[0] * Jc[number, 0, k] + along[1] * Jc[number, 1, k] + along[2] * Jc[number, 2, k]
    for i in range(3):
        work.pushes[m, i] = along[i]
    work.owner[m], work.drift[m] = number, drift
    return m + 1


@kernel(inline=True)
def _triple(a: Vector) -> Triple:
    return a[0], a[1], a[2]


@kernel(inline=True)
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _hold_rows(contacts: list[Touching], contact_states: list[Found], work: Work) -> int:
    """The rows of every contact by its mode; how many."""
    m = 0
    for i in range(len(contacts)):
        c, f = contacts[i], contact_states[i]
        if c.kind == PIN:
            for k in range(c.freedoms):
                m = _add_row(work, m, i, c.directions[k], _triple(c.directions[k]), _dot(c.directions[k], f.drift))
            continue
        if c.coast == 0 and (c.mode == SLIDING or c.mode == STICKING or c.mode == LOCKED):
            s = c.friction * c.side if c.mode == SLIDING and c.freedoms > 0 else 0.0
            along = (
                f.normal[0] - s * f.heading[0],
                f.normal[1] - s * f.heading[1],
                f.normal[2] - s * f.heading[2],
            )
            m = _add_row(work, m, i, f.normal, along, f.bend)
            if c.creep:
                m = _add_row(work, m, i, f.across, _triple(f.across), _dot(f.across, f.drift))
        if c.mode == STICKING:
            for k in range(c.freedoms):
                m = _add_row(work, m, i, f.tangents[k], _triple(f.tangents[k]), _dot(f.tangents[k], f.drift))
    return m


@kernel
def _multiply(contacts: list[Touching], work: Work, m: int) -> None:
    """Multipliers of the m rows in work.multipliers, from M's factor and the free acceleration."""
    nv, scale = work.v.size, 0.0
    for i in range(len(contacts)):
        scale = max(scale, contacts[i].mobility)
    for a in range(m):
        put(work.inverse[a], 0, work.forcing[a])
        back(work.L, work.inverse[a])
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
    determinant, regular = eliminate(work.LU, work.multipliers, m, scale)
    rank = m
    if not regular:
        put(flat(work.LU), 0, flat(work.S))
        rank = least_norm(work.LU, work.V, work.drift, work.multipliers, m, scale)
        determinant = 0.0
    verdict = work.verdict
    verdict.determinant, verdict.rank, verdict.rows = determinant, rank, m


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


@kernel(inline=True)
def _normal_row(f: Found, work: Work, number: int, k: int) -> float:
    Jc = work.Jc
    return f.normal[0] * Jc[number, 0, k] + f.normal[1] * Jc[number, 1, k] + f.normal[2] * Jc[number, 2, k]


@kernel
def _coasting_force(c: Touching, f: Found, work: Work, t: float, number: int) -> None:
    """The normal force that a coasting contact's generalised force amounts to."""
    along = size = 0.0
    for k in range(work.v.size):
        row = _normal_row(f, work, number, k)
        along += row * carried_force(c, work.pull[number], t, k)
        size += row * row
    for i in range(3):
        f.force[i] = f.normal[i] * along / size if size > 1e-18 else 0.0


@kernel
def _leverage(f: Found, work: Work, number: int) -> float:
    """|n·J|/|J|: how much of the point's mobility lies along the normal; 0 where the constraint is singular."""
    across = total = 0.0
    for k in range(work.v.size):
        across += _normal_row(f, work, number, k) ** 2
        for i in range(3):
            total += work.Jc[number, i, k] ** 2
    return math.sqrt(across / total) if total > 0.0 else 1.0


@kernel
def accelerate(machine: Machine, t: float) -> int:
    """a, multipliers and margins from what `look` left in work, under the machine's tau."""
    contacts, contact_states, work, tau = machine.contacts, machine.found, machine.work, machine.tau
    nv = work.v.size
    if not factor(work.M, work.L):
        return NOT_DEFINITE
    for k in range(nv):
        work.acceleration[k] = tau[k] - work.rest[k]
    for i in range(len(contacts)):
        if contacts[i].coast:
            for k in range(nv):
                work.acceleration[k] += carried_force(contacts[i], work.pull[i], t, k)
    back(work.L, work.acceleration)
    m = _hold_rows(contacts, contact_states, work)
    _multiply(contacts, work, m)
    _residual(work, m)
    for i in range(len(contacts)):
        contact_states[i].pressure = contact_states[i].grip = 0.0
        clear(contact_states[i].force)
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
            put(contact_states[i].force, 0, contacts[i].carried)
    _margins(contacts, contact_states, work)
    return OK


@kernel
def _margins(contacts: list[Touching], contact_states: list[Found], work: Work) -> None:
    """Fill every contact's margins: a mode ends where one of them falls through 0."""
    frictional = False
    for i in range(len(contacts)):
        c, f = contacts[i], contact_states[i]
        f.margin[0] = f.margin[1] = f.margin[3] = math.inf
        if c.kind == PIN:
            f.margin[2] = math.inf
            continue
        if c.mode == FREE:
            f.margin[0], f.margin[2] = (f.gap if not c.two_sided else math.inf), math.inf
            continue
        if c.mode == SLIDING:
            leverage = _leverage(f, work, i)
            f.margin[3] = COAST_END - leverage if c.coast else leverage - COAST_BEGIN
        if c.coast:
            continue
        f.pressure = _dot(f.force, f.normal)
        total = _dot(f.force, f.force)
        f.grip = math.sqrt(max(total - f.pressure**2, 0.0))
        if c.wedged:  # asked anew by `simulation` whenever the force changes
            continue
        if not c.two_sided:
            f.margin[0] = f.pressure
        if c.freedoms == 0 or (c.mode == SLIDING and c.friction == 0.0):
            continue
        if c.mode == STICKING:
            f.margin[1] = c.hold * abs(f.pressure) - f.grip
            continue
        frictional = True
        if c.two_sided:
            f.margin[0] = c.side * f.pressure
        if c.freedoms == 1:
            f.margin[1] = c.sign * _dot(f.slide, f.tangents[0])
        else:
            f.margin[1] = (_dot(f.slide, f.heading) if c.creep else math.sqrt(_dot(f.slide, f.slide))) - STOPPED
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
        c, f = machine.contacts[i], machine.found[i]
        if c.mode != SLIDING or c.freedoms != 2 or c.friction == 0.0 or c.coast:
            continue
        friction = c.friction * abs(f.pressure)
        if c.creep == 0:
            if _has_settled(machine, i, friction):
                c.creep, changed = 1, True
                put(c.slip, 0, f.heading)
            continue
        sine = -_dot(f.force, f.across) / friction if friction > 0.0 else math.inf
        if _dot(f.slide, f.heading) > 2.0 * CREEP or not abs(sine) < CREEP_LOST:
            c.creep, changed = 0, True
        elif abs(sine) > CREEP_TURN:
            changed = True
            for k in range(3):
                c.slip[k] = math.sqrt(1.0 - sine * sine) * f.heading[k] + sine * f.across[k]
    return changed


@kernel
def _has_settled(machine: Machine, i: int, friction: float) -> bool:
    """Whether a slip is slow, and friction and what drives it are in balance: |u̇| ≪ μ f_n/m."""
    c, f, work = machine.contacts[i], machine.found[i], machine.work
    if not _dot(f.slide, f.slide) < CREEP * CREEP:
        return False
    total = 0.0
    for k in range(2):
        rate = _dot(f.tangents[k], f.drift)
        for j in range(work.v.size):
            for r in range(3):
                rate += f.tangents[k, r] * work.Jc[i, r, j] * work.acceleration[j]
        total += rate * rate
    return math.sqrt(total) < CREEP_BALANCE * friction * c.mobility


@kernel
def slope(machine: Machine, t: float, y: Vector, dy: Vector, margins: Vector) -> int:
    """dy/dt of y = [q; v] and the powers of the contacts, N·m/s: what friction takes, what moving surfaces bring in."""
    work = machine.work
    status = look(machine, t, y, False)
    if status == OK and machine.force != 0:
        status = _call_force(machine.force, t)  # pyright: ignore[reportCallIssue]
    if status != OK:
        return status
    status = accelerate(machine, t)
    if status != OK:
        return status
    _coordinate_rates(machine, work.q, work.v, dy)
    for k in range(work.v.size):
        dy[machine.nq + k] = work.acceleration[k]
    _powers(machine, dy)
    _read_margins(machine, margins)
    return OK


@kernel
def _powers(machine: Machine, dy: Vector) -> None:
    """−Σ f·u of the slips and Σ f·v of the surfaces, in the last two places."""
    taken = brought = 0.0
    for i in range(len(machine.found)):
        if machine.contacts[i].mode != FREE and machine.contacts[i].kind != STOP:
            taken -= _dot(machine.found[i].force, machine.found[i].slide)
            brought += _dot(machine.found[i].force, machine.found[i].carry)
    dy[dy.size - 2], dy[dy.size - 1] = taken, brought


@kernel
def _read_margins(machine: Machine, out: Vector) -> None:
    """The margins of every contact, and the friction problem's determinant last."""
    count = len(machine.found)
    for i in range(count):
        for k in range(MARGINS):
            out[MARGINS * i + k] = machine.found[i].margin[k]
    out[MARGINS * count] = machine.work.verdict.determinant


@intrinsic
def _call_force(typingctx: Any, pointer: Any, t: Any) -> Any:
    """force(t) at a C address: Python's function of (t, q, v), which writes the machine's tau."""

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [ir.DoubleType()])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1]])

    return types.int64(types.int64, types.float64), generate
