"""Reactions to a contact that is felt: nothing, stop, float, retract, or a softer spring; and the way back.

A reaction is an acceleration, carried out as τ = M̂ a + b̂ in the place of the law's torque:

    stop       a = −λ v, with the largest λ that the joints' torques allow, and their rates: λ |M̂ v| ≤ rate / λ, the
               brake's torque can rise in the time in which it brakes; then a = ω² (q_stop − q) − 2 ω v
    float      a = −c v: the arm is weightless and yields
    retract    stops, then moves along M̂⁻¹ r, the way the contact pushes, and holds there
    soften     the law goes on with share · K and √share · D

Laws of set points (velocity, position) stop and retract by their set points. `resume_after` seconds without a contact
the law takes over again within `blend` seconds; without it the reaction lasts until the run ends.
"""

from __future__ import annotations

import math

from palpate.control.commands import COMMANDS
from palpate.control.steps.linear_algebra import cholesky, cholesky_solve
from palpate.control.tick import Tick
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized

NOTHING, STOP, FLOAT, RETRACT, SOFTEN = range(5)
REACTIONS = ("nothing", "stop", "float", "retract", "soften")  # by number
LAW, REACTING, RESUMING = 0.0, 1.0, 2.0  # modes
SLOW = 0.02  # rad/s or m/s of every joint, at which a stop holds
VELOCITY, POSITION = COMMANDS.index("velocity"), COMMANDS.index("position")


class ReactionSettings(Record):
    """The numbers of a reaction."""

    kind: int = NOTHING
    command: int = 0  # of the law, by its index in COMMANDS
    ignore: float = 0.0  # s at the start
    resume_after: float = math.inf
    release: float = 0.5  # of the threshold
    blend: float = 0.2
    frequency: float = 20.0
    floating: float = 2.0  # c, 1/s
    speed: float = 0.1
    distance: float = 0.05
    share: float = 0.1
    most_brake: float = 100.0  # 1/s
    torque: Vector = sized("nv")  # limits
    rate: Vector = sized("nv", start=math.inf)  # of torque, per second
    rated: Vector = sized("nv")


class ReactionMemory(Record):
    """The mode, when and where a contact was felt, and what was done."""

    mode: Kept[float] = LAW
    since: Kept[float] = 0.0  # s, of the mode
    quiet: Kept[float] = 0.0  # s without a contact
    braking: Kept[bool] = False
    contacts: Kept[int] = 0
    first_time: Kept[float] = -1.0
    first_joint: Kept[int] = -1
    link: Kept[float] = -1.0  # joint of the link that is touched, −1 before a contact
    left: State[float] = 0.0  # m of a retreat
    hold: State[Vector] = sized("nv")
    way: State[Vector] = sized("nv")  # joint motion of a retreat per m of the tool
    softened: Kept[bool] = False
    K: Kept[Matrix] = sized("axes", "axes")  # the law's own, where it reads them
    D: Kept[Matrix] = sized("axes", "axes")
    K_law: Matrix = sized("axes", "axes")
    D_law: Matrix = sized("axes", "axes")
    # scratch
    a: Vector = sized("nv")
    L: Matrix = sized("nv", "nv")


@kernel
def take_note(x: Tick, k: ReactionSettings, m: ReactionMemory, felt: bool, ratio: float, joint: int) -> None:
    """Change the mode: a contact begins a reaction, quiet ends it."""
    felt = felt and x.t >= k.ignore
    m.quiet = 0.0 if ratio > k.release else m.quiet + x.dt
    if felt and m.mode != REACTING:
        m.contacts += 1
        m.link = joint
        if m.contacts == 1:
            m.first_time, m.first_joint = x.t, joint
        m.mode, m.since, m.braking, m.left = REACTING, x.t, True, k.distance
        put(m.hold, 0, x.q)
    elif m.mode == REACTING and m.quiet >= k.resume_after:
        m.mode, m.since = RESUMING, x.t
    elif m.mode == RESUMING and x.t - m.since >= k.blend:
        m.mode, m.since, m.link = LAW, x.t, -1.0
    if k.kind == SOFTEN:
        _soften(x, k, m)


@kernel
def _soften(x: Tick, k: ReactionSettings, m: ReactionMemory) -> None:
    """Scale K and D where the law reads them."""
    share = k.share if m.mode == REACTING else 1.0
    if m.mode == RESUMING:
        share = k.share + (1.0 - k.share) * min((x.t - m.since) / k.blend, 1.0)
    m.softened = share < 1.0
    for i in range(m.K.shape[0]):
        for j in range(m.K.shape[0]):
            m.K[i, j] = share * m.K_law[i, j]
            m.D[i, j] = math.sqrt(share) * m.D_law[i, j]


@kernel
def _most_braking(x: Tick, k: ReactionSettings) -> float:
    """The largest λ ≤ most with |b̂ − λ M̂ v| within every joint's torque limit; 0 where gravity alone is beyond it.

    And λ² |M̂ v| within its rate: a brake whose torque comes later than its time 1/λ swings.
    """
    most = k.most_brake
    for i in range(x.v.size):
        push = dot(x.M[i], x.v, x.v.size)
        room = k.torque[i] + math.copysign(1.0, push) * x.bias[i]
        if push != 0.0:
            most = min(most, max(room, 0.0) / abs(push), math.sqrt(k.rate[i] / abs(push)))
    return most


@kernel
def _is_slow(x: Tick, m: ReactionMemory, residual: Vector, retract: bool) -> bool:
    """Whether braking is done: every joint is slow, or the arm moves the way the contact pushes."""
    fastest = 0.0
    for i in range(x.v.size):
        fastest = max(fastest, abs(x.v[i]))
    return fastest < SLOW or (retract and dot(residual, x.v, x.v.size) > 0.0)


@kernel
def _find_way(x: Tick, k: ReactionSettings, m: ReactionMemory, residual: Vector) -> None:
    """way = M̂⁻¹ r, scaled to 1 m/s of the tool, or less where a joint would pass half its rated speed."""
    n = x.v.size
    for i in range(n):
        put(m.L[i], 0, x.M[i])
        m.way[i] = residual[i]
    if not cholesky(m.L, n):
        m.left = 0.0
        return
    cholesky_solve(m.L, n, m.way)
    speed, most = 0.0, 0.0
    for i in range(3):
        speed += dot(x.J[i], m.way, n) ** 2
    speed = math.sqrt(speed)
    for i in range(n):
        most = max(most, 2.0 * k.speed * abs(m.way[i]) / k.rated[i])
    scale = max(speed, most, 1e-9)
    for i in range(n):
        m.way[i] /= scale


@kernel
def _advance_hold(x: Tick, k: ReactionSettings, m: ReactionMemory) -> float:
    """Move the held posture along the way; the speed of that, m/s."""
    step = min(k.speed * x.dt, m.left)
    m.left -= step
    for i in range(x.v.size):
        m.hold[i] += step * m.way[i]
    return step / x.dt


@kernel
def reaction_acceleration(x: Tick, k: ReactionSettings, m: ReactionMemory, residual: Vector) -> None:
    """The acceleration of the reaction, into `a`."""
    n, w = x.v.size, k.frequency
    if k.kind == FLOAT:
        for i in range(n):
            m.a[i] = -k.floating * x.v[i]
        return
    retract = k.kind == RETRACT
    if m.braking and _is_slow(x, m, residual, retract):
        m.braking = False
        put(m.hold, 0, x.q)
        if retract:
            _find_way(x, k, m, residual)
    if m.braking:
        rate = _most_braking(x, k)
        for i in range(n):
            m.a[i] = -rate * x.v[i]
        return
    speed = _advance_hold(x, k, m) if retract else 0.0
    for i in range(n):
        m.a[i] = w * w * (m.hold[i] - x.q[i]) + 2.0 * w * (speed * m.way[i] - x.v[i])


@kernel
def react(x: Tick, k: ReactionSettings, m: ReactionMemory, residual: Vector, torque: Vector) -> bool:
    """Replace a torque by the reaction's, or blend back; whether it was changed."""
    if m.mode == LAW or k.kind == NOTHING or k.kind == SOFTEN:
        return False
    reaction_acceleration(x, k, m, residual)
    share = min((x.t - m.since) / k.blend, 1.0) if m.mode == RESUMING and k.blend > 0.0 else 0.0
    for i in range(x.v.size):
        wanted = x.bias[i] + dot(x.M[i], m.a, x.v.size)
        torque[i] = wanted + share * (torque[i] - wanted)
    return True


@kernel
def react_by_set_points(x: Tick, k: ReactionSettings, m: ReactionMemory, residual: Vector, point: Vector) -> bool:
    """The same for velocities or positions that a servo follows: stand, or move along the way."""
    if m.mode == LAW or k.kind == NOTHING or k.kind == SOFTEN:
        return False
    speed = 0.0
    if m.braking:
        m.braking = False
        if k.kind == RETRACT:
            _find_way(x, k, m, residual)
    if k.kind == RETRACT:
        speed = _advance_hold(x, k, m)
    share = min((x.t - m.since) / k.blend, 1.0) if m.mode == RESUMING and k.blend > 0.0 else 0.0
    for i in range(x.v.size):
        wanted = m.hold[i] if k.command == POSITION else speed * m.way[i]
        point[i] = wanted + share * (point[i] - wanted)
    return True
