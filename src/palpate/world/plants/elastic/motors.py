"""Elastic joints in compiled code: a motor behind each joint's spring, its friction, and the loop around its torque.

    M(q) q̈ + C q̇ + g = S + Jᵀ F,     B θ̈ + S + d θ̇ + f = τ,     S = K (θ − q) + D (θ̇ − q̇),     |f| ≤ F(θ̇)

This is Spong's model (1987): rotors turn about their own axes only. A step of h takes S = K δ + a u⁺ + b u of the
deflection δ = θ − q and its velocities u and u⁺ at the step's ends, with a and b per joint (`steps`) that give
a motor and a link of constant inertia their exact frequency and damping, however stiff the spring is. Everything else
is the semi-implicit step of the rigid plant, which is reached as K → ∞. With w and v the motor's and the link's speed:

    sliding   w⁺ = (c + h a v⁺ − h f)/A,   A = B + h a + h d,   c = B w + h (τ − K δ − b u)
    sticking  w⁺ = 0

so that a link feels an inertia E = h a (B + h d)/A, or E = h a, and the torque T below. Which motors slide is tried as
it was; else it is the problem of `joint_friction`, whose unknowns are all v⁺ and w⁺ at once.
"""

from __future__ import annotations

from palpate.engine.kernels import kernel, put
from palpate.engine.maths import exp
from palpate.engine.physics import Physics
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.engine.views import part
from palpate.equations.code.tree_solver import solve_tree
from palpate.world.plants.joint_friction import ROUNDING, FrictionWork, solve_joint_friction
from palpate.world.plants.tree_plant import FASTEST, SMALLEST_PIVOT, TreePlant

MOTOR_SIDE, LINK_SIDE, BY_TORQUE, BY_GRAVITY = range(4)
_TRIES = 4  # of which motors slide, before all are searched


class ElasticJoints(Record):
    """Elastic joints of a robot whose joints are all of the scene's. Sizes: n joints, 2n as "both"."""

    on: bool = False
    stiffness: Vector = sized("n")  # K
    damping: Vector = sized("n")  # D, of the spring
    inertia: Vector = sized("n")  # B
    viscous: Vector = sized("n")  # d, of the motor
    coulomb: Vector = sized("n")
    breakaway: Vector = sized("n")  # what friction has beyond that at rest,
    stribeck: Vector = sized("n")  # and the speed at which e^−1 of it is left
    ahead: Vector = sized("n")  # a
    behind: Vector = sized("n")  # b
    rubs: bool = True  # else friction stays at its value
    motor_q: State[Vector] = sized("n")  # θ
    motor_v: State[Vector] = sized("n")
    friction: Kept[Vector] = sized("n")  # f of the last step
    motor_v_old: Vector = sized("n")
    velocity: Vector = sized("n")  # v⁺
    side: Vector = sized("n")  # the way a motor slides, 0 where it sticks
    bound: Vector = sized("n")  # F
    spring: Vector = sized("n")  # K δ + b u
    momentum: Vector = sized("n")  # c
    felt: Vector = sized("n")  # E
    torque: Vector = sized("n")  # T
    force: Vector = sized("n")
    acceleration: Vector = sized("n")
    # what the law and the torque loop see
    encoders: int = MOTOR_SIDE
    sensed: Vector = sized("n")  # K δ + D u, N·m
    seen_q: Vector = sized("n")
    seen_v: Vector = sized("n")
    sag: State[Vector] = sized("n")  # K⁻¹ ĝ, which gravity takes off a motor's angle
    looped: bool = False
    feedback: Vector = sized("n")  # of the sensed torque
    rate_feedback: Vector = sized("n")  # of its rate, s
    share: float = 1.0  # of the lag, per physics step
    wanted: State[Vector] = sized("n")  # the torque that leaves the loop
    # where the engine has the links
    armature: Vector = sized("n")  # E of motors that slide, which it counts as theirs
    links: Matrix = sized("n", "n")
    inertias: Vector = sized("n")
    # all velocities at once
    M: Matrix = sized("both", "both")
    right: Vector = sized("both")
    bounds: Vector = sized("both")
    x: Vector = sized("both")
    work: FrictionWork


@kernel(inline=True)
def begin_elastic_step(e: ElasticJoints, q: Vector, v: Vector, tau: Vector, dt: float) -> None:
    """Springs and motors at the start of a step under motor torques; each slides, or sticks, as it does now."""
    put(e.motor_v_old, 0, e.motor_v)
    for i in range(e.motor_q.size):
        w = e.motor_v[i]
        u = w - v[i]
        e.spring[i] = e.stiffness[i] * (e.motor_q[i] - q[i]) + e.behind[i] * u
        e.momentum[i] = e.inertia[i] * w + dt * (tau[i] - e.spring[i])
        if not e.rubs:
            continue
        e.bound[i] = e.coulomb[i]
        if e.breakaway[i] > 0.0:
            e.bound[i] += e.breakaway[i] * exp(-((w / e.stribeck[i]) ** 2))
        e.side[i] = 0.0 if w == 0.0 else (1.0 if w > 0.0 else -1.0)
        e.friction[i] = e.bound[i] * e.side[i]


@kernel(inline=True)
def _sticks(e: ElasticJoints, i: int) -> bool:
    return e.rubs and e.bound[i] > 0.0 and e.side[i] == 0.0


@kernel(inline=True)
def set_elastic_torques(e: ElasticJoints, v: Vector, dt: float) -> None:
    """Inertia and torque that each link feels: (M + E) (v⁺ − v) = h (all other forces + T)."""
    for i in range(e.motor_q.size):
        ahead = dt * e.ahead[i]
        S, E = e.spring[i], ahead
        if not _sticks(e, i):
            drag = e.inertia[i] + dt * e.viscous[i]
            S += e.ahead[i] * (e.momentum[i] - dt * e.friction[i]) / (drag + ahead)
            E = ahead * drag / (drag + ahead)
        e.felt[i], e.torque[i] = E, S - E * v[i] / dt


@kernel(inline=True)
def _follow_links(e: ElasticJoints, dt: float) -> bool:
    """The motors' speeds from those of the links; whether friction fits, else what slides is corrected."""
    fits = True
    for i in range(e.motor_q.size):
        load = e.momentum[i] + dt * e.ahead[i] * e.velocity[i]
        if _sticks(e, i):
            e.motor_v[i], e.friction[i] = 0.0, load / dt
            if abs(load) > dt * e.bound[i] * (1.0 + ROUNDING):
                fits = False
                e.side[i] = 1.0 if load > 0.0 else -1.0
                e.friction[i] = e.bound[i] * e.side[i]
            continue
        A = e.inertia[i] + dt * (e.ahead[i] + e.viscous[i])
        e.motor_v[i] = (load - dt * e.friction[i]) / A
        if e.rubs and e.bound[i] > 0.0 and e.side[i] * e.motor_v[i] < 0.0:
            fits = False
            e.side[i] = 0.0
    return fits


@kernel
def elastic_step_of_tree(e: ElasticJoints, t: TreePlant, p: Physics, outside: Vector, dt: float) -> bool:
    """e.velocity and e.motor_v at the end of a step on equations; False where the engine is to say what is wrong."""
    n = p.nv
    for _ in range(_TRIES):
        set_elastic_torques(e, p.qvel, dt)
        for k in range(n):
            e.force[k] = outside[k] + e.torque[k] - t.terms.bias[k]
        if t.sprung:
            for k in range(n):
                e.force[k] -= t.stiffness[k] * (p.qpos[k] - t.spring_rest[k])
        solve_tree(t.solver, t.terms.M, e.felt, e.force, e.acceleration, t.pivots)
        for k in range(n):
            if not (abs(e.acceleration[k]) < FASTEST and t.pivots[k] > SMALLEST_PIVOT):
                return False
            e.velocity[k] = p.qvel[k] + dt * e.acceleration[k]
        if _follow_links(e, dt):
            return True
    for k in range(n):
        e.force[k] = outside[k] - t.terms.bias[k]
        if t.sprung:
            e.force[k] -= t.stiffness[k] * (p.qpos[k] - t.spring_rest[k])
    solve_all_velocities(e, t.terms.M, p.qvel, dt)
    return True


@kernel
def solve_all_velocities(e: ElasticJoints, M: Matrix, v: Vector, dt: float) -> None:
    """All v⁺ and w⁺ at once under the links' other forces e.force; M holds the links' inertia, below its diagonal."""
    set_all_velocities(e, M, v, dt)
    solve_joint_friction(e.M, e.right, e.bounds, e.x, e.work)
    take_all_velocities(e, dt)


@kernel
def set_all_velocities(e: ElasticJoints, M: Matrix, v: Vector, dt: float) -> None:
    """The problem of all v⁺ and w⁺: inertia, momentum and the bounds of friction.

    [M + h a,  −h a; −h a,  B + h a + h d] [v⁺; w⁺] = [M v + h (force + K δ + b u); c − h f]
    """
    n, A = e.motor_q.size, e.M
    for i in range(n):
        ahead, along = dt * e.ahead[i], 0.0
        for j in range(n):
            mass = M[i, j] if j <= i else M[j, i]
            A[i, j], A[i, n + j], A[n + i, j], A[n + i, n + j] = mass, 0.0, 0.0, 0.0
            along += mass * v[j]
        A[i, i] += ahead
        A[i, n + i] = A[n + i, i] = -ahead
        A[n + i, n + i] = e.inertia[i] + ahead + dt * e.viscous[i]
        held = 0.0 if e.rubs else dt * e.friction[i]
        e.right[i], e.right[n + i] = along + dt * (e.force[i] + e.spring[i]), e.momentum[i] - held
        e.bounds[i], e.bounds[n + i] = 0.0, dt * e.bound[i] if e.rubs else 0.0
        e.x[i], e.x[n + i] = v[i], e.motor_v_old[i]


@kernel
def take_all_velocities(e: ElasticJoints, dt: float) -> None:
    """Speeds of links and motors from e.x, and the friction that goes with them."""
    n, A = e.motor_q.size, e.M
    put(e.velocity, 0, part(e.x, 0, n))
    put(e.motor_v, 0, part(e.x, n, n))
    for i in range(n if e.rubs else 0):
        left = e.momentum[i]
        left -= A[n + i, n + i] * e.motor_v[i] + A[n + i, i] * e.velocity[i]
        e.friction[i] = left / dt


@kernel
def fit_motor_friction(e: ElasticJoints, inertia: Vector, dt: float) -> float:
    """One turn of motor friction beside constraints of the engine; the largest change, as a share of the friction.

    The links' speeds e.velocity are the engine's answer to the last friction; `inertia` is theirs, E with it.
    """
    change = 0.0
    for i in range(e.motor_q.size):
        ahead, last = dt * e.ahead[i], e.friction[i]
        A = e.inertia[i] + ahead + dt * e.viscous[i]
        e.motor_v[i] = (e.momentum[i] + ahead * e.velocity[i] - dt * last) / A
        if not e.rubs or e.bound[i] == 0.0:
            continue
        answer = 1.0 / A + (ahead / A) ** 2 / inertia[i]
        wanted = last + e.motor_v[i] / (dt * answer)
        e.friction[i] = max(-e.bound[i], min(e.bound[i], wanted))
        change = max(change, abs(e.friction[i] - last) / e.bound[i])
        if abs(e.friction[i]) < e.bound[i] and change < SETTLED:
            e.motor_v[i] = 0.0
    return change


SETTLED, MOST_TURNS = 1e-9, 60  # of motor friction beside constraints of the engine


@kernel(inline=True)
def move_motors(e: ElasticJoints, dt: float) -> None:
    """Motor angles along the new speeds."""
    for i in range(e.motor_q.size):
        e.motor_q[i] += dt * e.motor_v[i]


@kernel
def work_of_motors(e: ElasticJoints, tau: Vector, dt: float) -> float:
    """Work of the motor torques in the step that has just ended, J."""
    work = 0.0
    for i in range(tau.size):
        work += 0.5 * dt * tau[i] * (e.motor_v[i] + e.motor_v_old[i])
    return work


@kernel
def lost_in_joints(e: ElasticJoints, v_old: Vector, dt: float) -> float:
    """Energy that springs and motors lost in that step, J: ½ h (a + b)/2 (u + u⁺)², and by friction."""
    lost = 0.0
    for i in range(e.motor_q.size):
        w, mean = e.motor_v[i], 0.5 * (e.motor_v[i] + e.motor_v_old[i])
        u = mean - 0.5 * (e.velocity[i] + v_old[i])
        lost += dt * ((e.ahead[i] + e.behind[i]) * u * u + (e.friction[i] + e.viscous[i] * w) * mean)
    return lost


@kernel
def kinetic_of_motors(e: ElasticJoints) -> float:
    """½ Σ B θ̇²."""
    energy = 0.0
    for i in range(e.motor_v.size):
        energy += 0.5 * e.inertia[i] * e.motor_v[i] * e.motor_v[i]
    return energy


@kernel
def energy_of_springs(e: ElasticJoints, q: Vector, v: Vector, dt: float) -> float:
    """½ K δ δ₋ + ½ h (a − b)/2 u², with the deflection δ₋ a step ago: what a step exchanges with speeds and losses.

    It is ½ K δ² but for the share of a step, as the speeds of a semi-implicit step are those between its ends.
    """
    energy = 0.0
    for i in range(e.motor_q.size):
        bent, u = e.motor_q[i] - q[i], e.motor_v[i] - v[i]
        energy += 0.5 * e.stiffness[i] * bent * (bent - dt * u) + 0.25 * dt * (e.ahead[i] - e.behind[i]) * u * u
    return energy


@kernel(inline=True)
def sense_springs(e: ElasticJoints, q: Vector, v: Vector) -> None:
    """Read joint torque sensors and encoders at the state."""
    for i in range(e.motor_q.size):
        bent, u = e.motor_q[i] - q[i], e.motor_v[i] - v[i]
        e.sensed[i] = e.stiffness[i] * bent + e.damping[i] * u
        e.seen_q[i], e.seen_v[i] = e.motor_q[i], e.motor_v[i]
        if e.encoders == LINK_SIDE:
            e.seen_q[i], e.seen_v[i] = q[i], v[i]
        elif e.encoders == BY_TORQUE:
            e.seen_q[i] -= e.sensed[i] / e.stiffness[i]
        elif e.encoders == BY_GRAVITY:
            e.seen_q[i] -= e.sag[i]


@kernel(inline=True)
def note_sag(e: ElasticJoints, gravity: Vector) -> None:
    """The deflection under gravity as the law's model has it, for the next reading."""
    for i in range(gravity.size):
        e.sag[i] = gravity[i] / e.stiffness[i]


@kernel
def close_torque_loop(e: ElasticJoints, command: Vector, v: Vector) -> None:
    """e.wanted: τ = τ_d + k (τ_d − S) − k_s K (θ̇ − q̇), behind a first-order lag (Albu-Schäffer, Ott, Hirzinger 2007).

    Without a lag, k alone makes a motor of inertia B/(1 + k), and its friction smaller in the same way.
    """
    for i in range(command.size):
        rate = e.stiffness[i] * (e.motor_v[i] - v[i])
        fresh = command[i] + e.feedback[i] * (command[i] - e.sensed[i]) - e.rate_feedback[i] * rate
        e.wanted[i] += e.share * (fresh - e.wanted[i])
