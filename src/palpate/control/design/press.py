"""A short simulated press on a wall that can be left: whether the contact lasts, or bounces.

The poles of a contact tell of motion that stays in contact. Losing contact is a limit cycle of its own: a wall only
pushes, and what a law does while it is free (an admittance returns, a force integral winds up) decides how fast it is
back. The plant of the linear loop, one axis or a whole arm, is therefore simulated once from its approach on, with the
force cut at zero and with what no pole knows, the dry friction of its joints:

    M q̈ = u − B q̇ − G q − p (f − f*) − r,   x = p q + x*,   f = max(0, K_w x + B_w ẋ) for x > 0, else 0

about the rest q = 0 at which it presses with f* at the depth x* = f*/K_w, with the law's matrices, its delays and its
clock. p is how far the point of contact goes into the wall per joint motion; |r| ≤ F, r = F where a joint slides and
as much as holds it where it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import ArmContact, axis_of
from palpate.control.design.linear.loop_model import LinearLaw, LinearPlant, Timing, sensor_share, state_space
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.engine.views import part

COST = 1e-8  # s of CPU per physics step and entry of the mass matrix
STEPS_PER_RADIAN = 10  # of the fastest motion of plant and servo
_FASTEST_SERVO = 1e4  # rad/s, of a servo without lag
_SWEEPS = 4  # through the joints that stick, each step; they begin with what held them in the last one
_LAST, _END = 1 / 3, 0.1  # of the press: what is judged, and what counts as its end
_LOST, _LEAST = 3, 0.02  # times, and share of that time without contact, from which on it counts as bouncing


@dataclass(frozen=True)
class Press:
    """How a press went in its last third.

    Attributes:
        force: F*, N, with which it would rest.
        speed: of the approach, m/s.
        free: share of the time without contact.
        losses: of contact, per second.
        peak: N.
        time: s, that was simulated.
        lost_last: s after the first touch, when contact was lost for the last time; 0 if it never was.
    """

    force: float
    speed: float
    free: float
    losses: float
    peak: float
    time: float
    lost_last: float = 0.0

    @property
    def bounces(self) -> bool:
        """Whether contact is lost again and again, or is not there in the end."""
        return bounces(self.losses * self.time * _LAST, self.free)

    @property
    def sentence(self) -> str:
        """In words."""
        if not self.bounces:
            since = f", from {self.lost_last:.3g} s after the first touch on" if self.lost_last else ""
            return f"a simulated press from {1e3 * self.speed:.3g} mm/s stays in contact{since}"
        to_the_end = self.lost_last > (1.0 - _END) * self.time
        until = "to the end of the run" if to_the_end else f"for {self.lost_last:.3g} s after the first touch"
        return (
            f"a simulated press from {1e3 * self.speed:.3g} mm/s BOUNCES {until}, although the loop in"
            f" contact is stable: in the last third contact is lost {self.losses:.3g} times per second,"
            f" {self.free:.0%} of the time without contact, the force peaks at {self.peak:.3g} N; at rest it would be"
            f" {self.force:.3g} N"
        )


@dataclass(frozen=True)
class PressedPlant:
    """What presses: a plant and its law about rest, and how both meet the wall.

    Attributes:
        plant: n coordinates, and the wall.
        law: its matrices.
        timing: clock, delays, sensors, servo.
        into: p, n, how far the point of contact goes into the wall per coordinate.
        path: n, the coordinates' way per metre that the target goes into the wall.
        felt: what the wrench sensor reads per newton of the wall's force.
        stiffness, damping: of the wall, N/m and N·s/m.
        controls_force: whether the law presses with a wanted force.
        friction: F per coordinate, N·m or N.
    """

    plant: LinearPlant
    law: LinearLaw
    timing: Timing
    into: Array
    path: Array
    felt: Array
    stiffness: float
    damping: float
    controls_force: bool
    friction: Array


def pressed_arm(contact: ArmContact, friction: Array) -> PressedPlant:
    """A whole arm; the target's way is the shortest one of the joints that keeps the tool's orientation if it can.

    Args:
        contact: arm, law and wall.
        friction: dry friction per joint, N·m or N.
    """
    normal = contact.wall.direction()
    J = contact.model.task.push.T
    path = np.linalg.pinv(J, rcond=1e-6) @ np.r_[-normal, np.zeros(3)]
    into = -normal @ contact.J_contact
    path = path / (into @ path)
    walls = (contact.wall.stiffness, contact.wall.damping)
    presses = axis_of(contact).model.presses
    law = contact.model.law()
    return PressedPlant(
        contact.plant(), law, contact.timing, into, path, contact.lever @ normal, *walls, presses, friction
    )


class _System(Record):
    """The plant, its law and its clock; x = [q; v], with the servo's own position behind where it follows velocities.

    q̈ = A x + B w − pushed (f − f*), w the command, for a servo of positions with its rate behind;
    ξ ← law_A ξ + law_B y, u = law_C ξ + law_D y, y = [q; v; f] as seen from target and rest.
    """

    A: Matrix = sized("n", "states")
    B: Matrix = sized("n", "inputs")
    W: Matrix = sized("n", "n")
    friction: Vector = sized("n")
    pushed: Vector = sized("n")  # W p
    into: Vector = sized("n")
    path: Vector = sized("n")
    law_A: Matrix = sized("k", "k")
    law_B: Matrix = sized("k", "seen")
    law_C: Matrix = sized("n", "k")
    law_D: Matrix = sized("n", "seen")
    by_path: float  # of the target's way, and of its speed, that is added to a command
    by_path_rate: float
    wall: float
    wall_damping: float
    period: float
    substeps: int
    joint_delay: int
    wrench_delay: int
    command_delay: int
    share_v: float
    share_f: float
    share_u: float
    differentiated: bool
    force: float  # f*
    depth: float  # x*, m
    behind: Vector = sized("ticks")  # how far the target is from its last position, m
    pace: Vector = sized("ticks")  # of the target into the wall, m/s


class _Motion(Record):
    """State; readings and commands under way; the record of every tick."""

    x: Vector = sized("states")
    a: Vector = sized("n")
    held: Vector = sized("n")  # impulse of friction
    pull: Vector = sized("n")  # the command's part of the acceleration
    xi: Vector = sized("k")
    new: Vector = sized("k")
    y: Vector = sized("seen")
    w: Vector = sized("inputs")
    last_u: Vector = sized("n")
    readings: Matrix = sized("ring", "seen")  # [q; v; f], low-passed
    commands: Matrix = sized("ring", "n")
    peak: Vector = sized("ticks")
    touching: Vector = sized("ticks")


@kernel
def _add(out: Vector, A: Matrix, x: Vector) -> None:
    """out += A x."""
    for i in range(out.size):
        for j in range(x.size):
            out[i] += A[i, j] * x[j]


@kernel
def _force(s: _System, m: _Motion) -> float:
    """f of the wall."""
    n = m.a.size
    x, v = s.depth + dot(s.into, m.x, n), dot(s.into, part(m.x, n, n), n)
    return max(s.wall * x + s.wall_damping * v, 0.0) if x > 0.0 else 0.0


@kernel
def _read(s: _System, m: _Motion, k: int, f: float) -> None:
    """This tick's readings, low-passed, on their way."""
    n, ring = m.a.size, m.readings.shape[0]
    now, last = m.readings[k % ring], m.readings[(k - 1) % ring]
    for i in range(n):
        seen = (m.x[i] - last[i]) / s.period if s.differentiated and k > 0 else m.x[n + i]
        now[i], now[n + i] = m.x[i], last[n + i] + s.share_v * (seen - last[n + i])
    now[2 * n] = last[2 * n] + s.share_f * (f - last[2 * n])


@kernel
def _decide(s: _System, m: _Motion, k: int) -> None:
    """The law's answer to what is seen from the target, which is `behind` its last position and moves at `pace`."""
    n, ring = m.a.size, m.readings.shape[0]
    joints, wrench = m.readings[max(k - s.joint_delay, 0) % ring], m.readings[max(k - s.wrench_delay, 0) % ring]
    for i in range(n):
        m.y[i], m.y[n + i] = joints[i] + s.path[i] * s.behind[k], joints[n + i] - s.path[i] * s.pace[k]
    m.y[2 * n] = wrench[2 * n] - s.force
    clear(m.new)
    _add(m.new, s.law_A, m.xi)
    _add(m.new, s.law_B, m.y)
    put(m.xi, 0, m.new)
    u = m.commands[k % ring]
    clear(u)
    _add(u, s.law_C, m.xi)
    _add(u, s.law_D, m.y)


@kernel
def _command(s: _System, m: _Motion, k: int) -> None:
    """What reaches the servo or joint: late, through the driver's low-pass, with the target's own way."""
    n, late = m.a.size, m.commands[max(k - s.command_delay, 0) % m.commands.shape[0]]
    for i in range(n):
        wanted = late[i] - s.path[i] * (s.by_path * s.behind[k] - s.by_path_rate * s.pace[k])
        m.w[i] = m.w[i] + s.share_u * (wanted - m.w[i]) if k > 0 else wanted
        if m.w.size > n:
            m.w[n + i] = (m.w[i] - m.last_u[i]) / s.period if k > 0 else s.path[i] * s.pace[k]
        m.last_u[i] = m.w[i]
    clear(m.pull)
    _add(m.pull, s.B, m.w)


@kernel
def _rub(s: _System, m: _Motion, h: float) -> None:
    """Impulses of friction, |r| ≤ h F, that stop the joints they can stop: joint by joint, some times over."""
    n, v = m.a.size, part(m.x, m.a.size, m.a.size)
    _add(v, s.W, m.held)
    for _ in range(_SWEEPS):
        for j in range(n):
            if s.friction[j] > 0.0:
                most = h * s.friction[j]
                held = min(max(m.held[j] - v[j] / s.W[j, j], -most), most)
                change = held - m.held[j]
                m.held[j] = held
                for i in range(n):
                    v[i] += s.W[i, j] * change


@kernel
def _step(s: _System, m: _Motion, h: float, rubs: bool) -> float:
    """One step of the plant, its forces taken in the middle; the wall's force there."""
    n = m.a.size
    for i in range(n):
        m.x[i] += 0.5 * h * m.x[n + i]
    f = _force(s, m)
    for i in range(n):
        m.a[i] = m.pull[i] - s.pushed[i] * (f - s.force)
    _add(m.a, s.A, m.x)
    for i in range(n, m.x.size):
        m.x[i] += h * (m.a[i - n] if i < 2 * n else m.w[i - 2 * n])
    if rubs:
        _rub(s, m, h)
    for i in range(n):
        m.x[i] += 0.5 * h * m.x[n + i]
    return f


@kernel
def _pressed(s: _System, m: _Motion, rubs: bool) -> None:
    """The press, tick by tick."""
    h = s.period / s.substeps
    for k in range(m.peak.size):
        _read(s, m, k, _force(s, m))
        _decide(s, m, k)
        _command(s, m, k)
        for _ in range(s.substeps):
            f = _step(s, m, h, rubs)
            m.peak[k] = max(m.peak[k], f)
            m.touching[k] = 1.0 if f > 0.0 else m.touching[k]
        if not abs(m.x[0]) < 1e3:
            return


def simulated_press(
    pressed: PressedPlant,
    *,
    speed: float,
    duration: float,
    depth: float = 0.0,
    behind: Array | None = None,
    force: float = 0.0,
) -> Press:
    """Press a plant on its wall.

    Args:
        pressed: plant, law and wall, with a period.
        speed: at which the target passes the surface, m/s.
        duration: to simulate, s.
        depth: how far behind the surface the target comes to rest, m; not used where a law controls the force.
        behind: how far the target then is from there, m, at equal times of the duration; there at once if not given.
        force: that such a law wants, N.
    """
    timing, n = pressed.timing, pressed.plant.freedoms
    q_free, xi = _rest_at_first_touch(pressed)
    compliance = max(float(pressed.into @ q_free), 0.0)
    held = force if pressed.controls_force else depth / (compliance + 1.0 / pressed.stiffness)
    ticks = max(int(duration / timing.period), 1)
    system = _system(pressed, ticks, behind, force=held, depth=held / pressed.stiffness)
    q = held * q_free - (held * compliance + system.depth) * pressed.path  # the free rest, moved back to the surface
    late = max(timing.joint_delay, timing.wrench_delay, system.command_delay) + 2
    states = np.r_[q, speed * pressed.path, _servo_position(pressed, q, held)]
    motion = _Motion(
        {"n": n, "k": len(xi), "seen": 2 * n + 1, "inputs": system.B.shape[1], "ring": late, "ticks": ticks},
        x=states, xi=held * xi,
    )  # fmt: skip
    motion.readings[-1, n : 2 * n] = states[n : 2 * n]
    _pressed(system, motion, bool(pressed.friction.any()))
    return _press_result(motion, held, speed, ticks * timing.period)


def _system(pressed: PressedPlant, ticks: int, behind: Array | None, **press: Any) -> _System:
    plant, law, timing = pressed.plant, pressed.law, pressed.timing
    distance = np.zeros(1) if behind is None else behind
    distance = np.interp(np.arange(ticks + 1) / ticks, np.linspace(0.0, 1.0, len(distance)), distance)
    n = plant.freedoms
    apart = timing.adds_gravity and law.command == "torque"  # what the arm gets of itself, at once
    none = 0.0 * plant.gravity
    free = replace(plant, wall_stiffness=none, wall_damping=none, gravity=none if apart else plant.gravity)
    A, B = state_space(free, law.command, _bandwidth(pressed))
    steps = substeps(pressed)
    # v⁺ = v + h (a + A_v (v⁺ + v)/2): the trapezoidal rule, once and for all
    mean = np.linalg.inv(np.eye(n) - 0.5 * timing.period / steps * A[n : 2 * n, n : 2 * n])
    by_q = law.q - (plant.gravity if apart else 0.0)
    return _System(
        {"n": n, "k": len(law.update), "seen": 2 * n + 1, "ticks": ticks},
        A=mean @ A[n : 2 * n], B=mean @ B[n : 2 * n], W=mean @ plant.mobility,
        friction=np.where(np.diag(plant.mobility) > 0.0, pressed.friction, 0.0),
        pushed=mean @ plant.mobility @ pressed.into, into=pressed.into, path=pressed.path,
        law_A=law.update, law_B=np.c_[law.update_q, law.update_v, law.update_wrench @ pressed.felt],
        law_C=law.state, law_D=np.c_[by_q, law.v, law.wrench @ pressed.felt],
        by_path=float(law.command == "position"), by_path_rate=float(law.command.startswith("velocity")),
        wall=pressed.stiffness, wall_damping=pressed.damping, period=timing.period, substeps=steps,
        joint_delay=timing.joint_delay, wrench_delay=timing.wrench_delay,
        command_delay=timing.command_delay + round(timing.lag / timing.period),
        share_v=sensor_share(timing.velocity_cutoff, timing.period),
        share_f=sensor_share(timing.wrench_cutoff, timing.period),
        share_u=timing.command_share, differentiated=timing.velocity == "differentiated",
        behind=distance[:-1], pace=-np.diff(distance) / timing.period, **press,
    )  # fmt: skip


def _bandwidth(pressed: PressedPlant) -> float:
    return min(pressed.timing.servo_bandwidth, _FASTEST_SERVO)


def _servo_position(pressed: PressedPlant, q: Array, held: float) -> Array:
    """Where a servo of velocities is at first touch, S ω² (q_s − q) = M⁻¹ p f* being its rest; others have no state."""
    if pressed.law.command != "velocity":
        return np.zeros(0)
    servo = _bandwidth(pressed) ** 2 * pressed.plant.servo
    return q - np.linalg.solve(servo, pressed.plant.mobility @ pressed.into) * held


def substeps(pressed: PressedPlant) -> int:
    """Physics steps per period that follow the fastest motion of plant, wall and servo."""
    A, _ = state_space(pressed.plant, pressed.law.command, _bandwidth(pressed))
    fastest = float(np.abs(np.linalg.eigvals(A)).max())
    if pressed.law.command == "torque":
        fastest = max(fastest, float(np.abs(np.linalg.eigvals(pressed.plant.mobility @ pressed.law.v)).max()))
    return max(math.ceil(STEPS_PER_RADIAN * pressed.timing.period * fastest), 4)


def cost_of_press(pressed: PressedPlant, duration: float) -> float:
    """CPU seconds that `simulated_press` takes, roughly."""
    n = pressed.plant.freedoms
    entries = n * n * (2 + (1 + _SWEEPS if pressed.friction.any() else 0)) + 3
    return COST * entries * substeps(pressed) * duration / pressed.timing.period


def _rest_at_first_touch(pressed: PressedPlant) -> tuple[Array, Array]:
    """Coordinates and state of the law, per newton of f*, of the plant that the wall does not push: at first touch.

    A law that drifts in free motion has no rest. Least squares then gives the speed of its drift, which they would not
    if the rows were scaled as in `statics.compliance_at_rest`.
    """
    law, plant, n, k = pressed.law, pressed.plant, pressed.plant.freedoms, len(pressed.law.update)
    if pressed.controls_force:
        return np.zeros(n), np.zeros(k)
    apart = np.zeros((n, n)) if law.command != "torque" else plant.gravity
    wrench = law.wrench @ pressed.felt
    if law.command == "position":
        deflection = np.linalg.solve(plant.servo, plant.mobility @ pressed.into) / _bandwidth(pressed) ** 2
        rows, right = np.hstack([law.q - np.eye(n), law.state]), wrench - deflection
    else:
        own = pressed.into if law.command == "torque" else 0.0
        rows, right = np.hstack([law.q - apart, law.state]), wrench - own
    A = np.vstack([rows, np.hstack([law.update_q, law.update - np.eye(k)])])
    right = np.r_[right, law.update_wrench @ pressed.felt]
    solution = np.linalg.lstsq(A, right, rcond=1e-12)[0]
    return solution[:n], solution[n:]


def last_third(samples: Array) -> Array:
    """The samples by which a contact is judged."""
    return samples[-max(int(_LAST * len(samples)), 1) :]


def times_lost(touching: Array) -> int:
    """How often contact was lost."""
    return int(np.count_nonzero(touching[:-1] & ~touching[1:]))


def bounces(lost: float, free: float) -> bool:
    """Whether a contact bounces that was lost so often in its last third, and absent for that share of it."""
    return lost >= _LOST and free > _LEAST


def _press_result(motion: _Motion, force: float, speed: float, time: float) -> Press:
    touching = motion.touching > 0.5
    last, lost = last_third(touching), np.flatnonzero(touching[:-1] & ~touching[1:]) + 1
    lost_last = float(lost[-1]) * time / len(touching) if len(lost) else 0.0
    losses, peak = times_lost(last) / max(_LAST * time, 1e-12), float(last_third(motion.peak).max())
    return Press(force, speed, float(1.0 - last.mean()), losses, peak, time, lost_last)
