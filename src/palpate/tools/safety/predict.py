"""Prediction of a scenario's contact: when it is felt, which force and energy it reaches; beside what happened.

A wall: the arm as it is at the touch, its masses, Jacobian and target's speed held, joints free to give way

    M̂ v̇ = u − F̂ sat(v/v₀) − D̂ v + Jᵀ n F,   F = k x + d ẋ,   x = x₀ − nᵀ J Δq
    u = u₀ + Jᵀ (K Δe + D Δė)  under the law, where it has a spring at the tool;  u = −λ M̂ v  for a stop

u₀ is the torque at the touch without b̂; u is held over a period, comes `delay` periods late and within the driver's
torque rates. With one joint and no law it is the impact F = v √(m k). The residual is the answer of the observer to
Jᵀ n F(t), at the ticks. A push: its own Jᵀ F, from its first tick on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.errors import NotApplicable
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.tools.safety.impact import reflected_mass
from palpate.tools.safety.observer import impulse_response
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import cusum_of, first_in_a_row
from palpate.trace import Trace
from palpate.world.config import Surface
from palpate.world.driver import torque_rates

_STEPS = 10  # of the arm in a control period
_LONGEST = 0.3  # s
_STICKS = 1e-4  # rad/s or m/s, below which a joint's friction holds it
FORCE_SEEN = 1e-9  # N


@dataclass(frozen=True)
class Touch:
    """The moment a contact begins, from a run.

    Attributes:
        time: s.
        tick: of the first control tick at or after it.
        source: "wall" or "push".
        name: of the surface or push.
        normal: along which the force acts on the robot, world axes.
        speed: of the tool towards the surface, m/s.
        depth: in it already, m.
        q: posture.
    """

    time: float
    tick: int
    source: str
    name: str
    normal: Array
    speed: float
    depth: float
    q: Array


@dataclass(frozen=True)
class Expected:
    """Predicted numbers of a contact.

    Attributes:
        mass: reflected, with rotors, kg.
        delay: from the touch to the tick at which it is felt, s; infinite if never.
        force_felt: when it is felt, N.
        force_peak: largest, with the reaction, N.
        force_unanswered: largest if nothing reacted, N.
        energy_peak: largest in the surface, J.
    """

    mass: float
    delay: float
    force_felt: float
    force_peak: float
    force_unanswered: float
    energy_peak: float


@dataclass(frozen=True)
class Happened:
    """The same from the run."""

    delay: float
    force_felt: float
    force_peak: float
    energy_peak: float
    reacted: bool


def first_touch(run: Run, trace: Trace) -> Touch:
    """The first contact with a surface, or the first push, of a run."""
    force, push = trace["contact_force"], np.linalg.norm(trace["push_wrench"][:, :3], axis=1)
    felt = np.flatnonzero((force > FORCE_SEEN) | (push > FORCE_SEEN))
    if not felt.size:
        raise NotApplicable("nothing touched the arm in this run", hint="give a surface in its way, or a push")
    k = int(felt[0])
    wall = bool(force[k] > FORCE_SEEN)
    force_there = _pressed(run, trace, k) if wall else trace["push_wrench"][k, :3]
    normal = force_there / np.linalg.norm(force_there)
    name = _surface(run).name if wall else run.world.pushes[0].name
    speed = float(-normal @ trace["tool_twist"][k, :3])
    depth = float(trace["penetration"][k]) if wall else 0.0
    return Touch(float(trace.time[k]), k, "wall" if wall else "push", name, normal, speed, depth, trace["q"][k].copy())


def _pressed(run: Run, trace: Trace, k: int) -> Array:
    """The force at a first touch without friction, which alone is along the surface's normal."""
    if not any(surface.friction for surface in run.world.surfaces):
        return trace["contact_wrench"][k, :3]
    smooth = tuple(s.model_copy(update={"friction": 0.0, "static_friction": None}) for s in run.world.surfaces)
    end = float(trace.time[k]) + run.clock.control_period
    clock = run.clock.model_copy(update={"duration": end})
    world = run.world.model_copy(update={"surfaces": smooth})
    again = simulate(replace(run, world=world, clock=clock, stop=(), scenario=None))
    return again["contact_wrench"][k, :3]


def _surface(run: Run) -> Surface:
    surfaces = [surface for surface in run.world.surfaces if surface.contact == "compliant"]
    if not surfaces:
        raise NotApplicable("the force of a contact is predicted for compliant surfaces only")
    return surfaces[0]


@dataclass(frozen=True)
class Moved:
    """An arm in a surface: depth and force, friction in it, at every step; mean torques on the joints, every period."""

    depth: Array
    force: Array
    torques: Array


@dataclass(frozen=True)
class HeldArm:
    """An arm in a surface, its masses and Jacobian those of the touch.

    Attributes:
        M: mass matrix, rotors in it.
        J: Jacobian of the tool, 6×n.
        normal: of the surface, along which it pushes.
        k, d: of the surface, N/m and N·s/m.
        period: of control, s.
        K, D: of the law's spring at the tool; none if not given.
        target: how far the law's target has moved since the touch, period by period, and its twist: [Δp; 0; ΔV].
        torque: u₀.
        coulomb, viscous: friction per joint.
        rate: of torque, per second.
        delay: periods from a measurement to its torque.
        mu: Coulomb friction of the surface.
    """

    M: Array
    J: Array
    normal: Array
    k: float
    d: float
    period: float
    K: Array | None = None
    D: Array | None = None
    target: Array | None = None
    torque: Array | None = None
    coulomb: Array | None = None
    viscous: Array | None = None
    rate: Array | None = None
    delay: int = 0
    mu: float = 0.0

    def moved(self, depth: float, v: Array, answer: tuple[int, Brake] | None = None) -> Moved:
        """The motion from a depth and joint speeds on, until it leaves or for a third of a second.

        An answer is the tick at which it is felt, and what takes over from the law then.
        """
        n, h, row = len(v), self.period / _STEPS, self.J[:3].T @ self.normal
        nothing, most = np.zeros(n), np.full(n, np.inf) if self.rate is None else self.rate * self.period
        coulomb, viscous = (nothing if share is None else share for share in (self.coulomb, self.viscous))
        across = (np.eye(3) - np.outer(self.normal, self.normal)) @ self.J[:3]
        sent, first, q, slip = nothing if self.torque is None else self.torque, v, nothing, np.zeros(3)
        late, depths, force = [sent] * self.delay, [depth], self._force(depth, -float(row @ v))
        forces, torques = [force], []
        for tick in range(int(_LONGEST / self.period)):
            answered = answer is not None and tick >= answer[0]
            late.append(answer[1](v) if answer is not None and answered else self._law(tick, q, v, first))
            sent = np.clip(late.pop(0), sent - most, sent + most)
            torques.append(np.zeros(n))
            for _ in range(_STEPS):
                slip, rubbing = self._rubbed(slip, across @ v, force, h)
                torque = row * force + across.T @ rubbing
                torques[-1] += torque / _STEPS
                push = sent + torque
                # Joint friction implicitly, so that joints at rest stay: F sat(v/v₀) is a damper F/v₀ below v₀.
                sticks = np.abs(v) < _STICKS
                damping = viscous + np.where(sticks, coulomb / _STICKS, 0.0)
                push -= np.where(sticks, 0.0, coulomb * np.sign(v))
                v = np.linalg.solve(self.M + h * np.diag(damping), self.M @ v + h * push)
                q = q + h * v
                depths.append(depth - float(row @ q))
                force = self._force(depths[-1], -float(row @ v))
                forces.append(math.hypot(force, float(np.linalg.norm(rubbing))))
            if depths[-1] < 0.0:
                break
        return Moved(np.array(depths), np.array(forces), np.array(torques))

    def _rubbed(self, slip: Array, speed: Array, force: float, h: float) -> tuple[Array, Array]:
        """The surface's tangential spring after a step, and its force: k s + d ṡ, at most μ F."""
        slip = slip + h * speed
        rubbing, most = -(self.k * slip + self.d * speed), self.mu * force
        size = float(np.linalg.norm(rubbing))
        if size > most:
            rubbing = rubbing * (most / size)
            slip = -(rubbing + self.d * speed) / self.k
        return slip, rubbing

    def _force(self, x: float, rate: float) -> float:
        return max(self.k * x + self.d * rate, 0.0) if x >= 0.0 else 0.0

    def _law(self, tick: int, q: Array, v: Array, first: Array) -> Array:
        """u of the law, its error and the error's rate changed since the touch."""
        u = np.zeros(len(v)) if self.torque is None else self.torque
        if self.K is None or self.D is None:
            return u
        moved = np.zeros(12) if self.target is None else self.target[min(tick, len(self.target) - 1)]
        e, rate = moved[:6] - self.J @ q, moved[6:] - self.J @ (v - first)
        return u + self.J.T @ (self.K @ e + self.D @ rate)


Brake = Callable[[Array], Array]


def _held_arm(run: Run, touch: Touch, trace: Trace) -> HeldArm:
    """The arm of a run at its first touch."""
    robot, surface, k = run.robot, _surface(run), touch.tick
    terms = robot.terms(touch.q, trace["v"][k])
    across = np.abs(robot.coordinates.map)
    return HeldArm(
        np.array(terms.M),
        np.array(terms.J),
        touch.normal,
        surface.stiffness,
        surface.damping,
        run.clock.control_period,
        *_law_spring(run),
        target=_target_since(trace, k, run.clock.ratio),
        torque=trace["tau"][k] - np.array(terms.bias),
        coulomb=across.T @ robot.model.dof_frictionloss,
        viscous=(across**2).T @ robot.model.dof_damping,
        rate=torque_rates(robot, run.world.driver.facts_for(robot)),
        delay=run.rig.delay,
        mu=surface.friction,
    )


def _target_since(trace: Trace, k: int, stride: int) -> Array:
    """[Δp; 0; ΔV] of the target since a moment, a row per control period; its rotation is left out."""
    position, twist = trace["target_position"][k::stride], trace["target_twist"][k::stride]
    moved = position - position[0]
    return np.hstack([moved, np.zeros_like(moved), twist - twist[0]])


def _law_spring(run: Run) -> tuple[Array | None, Array | None]:
    """K and D of the law at the tool; none where it has none."""
    law = run.fitted.law
    spring = law.traits.spring_damper(law.bound_to(run.robot).gains) if isinstance(law, Law) else None
    return (None, None) if spring is None else spring


def _brake_of(run: Run, around: Reactions, touch: Touch, trace: Trace) -> Brake | None:
    """The torque of the reaction without b̂; None where the law goes on."""
    terms, limits = run.robot.terms(touch.q, trace["v"][touch.tick]), run.robot.limits
    M, bias = np.array(terms.M), np.array(terms.bias)
    if around.on_contact == "float":
        return lambda v: -around.float_damping * (M @ v)
    if around.on_contact not in ("stop", "retract"):
        return None
    torque = around.torque_share * np.where(np.isfinite(limits.torque), limits.torque, 1e9)
    most = 0.5 / (run.clock.control_period * (1 + run.rig.delay))

    def stop(v: Array) -> Array:
        push = M @ v
        size, room = np.maximum(np.abs(push), 1e-9), np.maximum(torque + np.sign(push) * bias, 0.0)
        return -min(most, float((room / size).min()), math.sqrt((limits.torque_rate / size).min())) * push

    return stop


def expected_wall(run: Run, around: Reactions, touch: Touch, trace: Trace) -> Expected:
    """A contact with a compliant surface, by the arm as it is at the touch."""
    arm, stiffness, T = _held_arm(run, touch, trace), _surface(run).stiffness, run.clock.control_period
    mass = reflected_mass(run.robot, touch.q, touch.normal).with_rotors
    alone = arm.moved(touch.depth, trace["v"][touch.tick])
    ticks, brake = felt_after(run, around, touch, trace, alone.torques), _brake_of(run, around, touch, trace)
    felt = math.nan if math.isinf(ticks) else float(alone.force[min(int(ticks) * _STEPS, len(alone.force) - 1)])
    answered = alone
    if brake is not None and not math.isinf(ticks):
        answered = arm.moved(touch.depth, trace["v"][touch.tick], (int(ticks), brake))
    energy = 0.5 * stiffness * float(answered.depth.max()) ** 2
    return Expected(mass, ticks * T, felt, float(answered.force.max()), float(alone.force.max()), energy)


def felt_after(run: Run, around: Reactions, touch: Touch, trace: Trace, torques: Array) -> float:
    """Ticks until external torques, one row per period, are felt; infinite if they never are."""
    if not len(torques):
        return math.inf
    threshold, T, robot = around.threshold, run.clock.control_period, run.robot
    h = impulse_response(around.observer, T)[: len(torques)]
    residual = np.abs(np.array([np.convolve(column, h)[: len(torques)] for column in torques.T]).T)
    limit = trace["reaction.threshold"][touch.tick]
    if threshold.kind == "cusum":
        k = threshold.settings(robot, around.observer.settings(robot, T).coulomb)
        bias = np.abs(np.array(robot.terms(touch.q, trace["v"][touch.tick]).bias))
        residual = cusum_of(residual, k.level + k.friction + threshold.mass_error * bias, T)
    return first_in_a_row(np.any(residual > limit, axis=1), threshold.confirm)


def expected_push(run: Run, around: Reactions, touch: Touch, trace: Trace) -> Expected:
    """A push whose force is known."""
    push, T = trace["push_wrench"], run.clock.control_period
    J = np.array(run.robot.terms(touch.q, np.zeros(run.robot.nv)).J)
    stride = run.clock.ratio
    rows = push[touch.tick :: stride] @ J
    ticks = felt_after(run, around, touch, trace, rows)
    force = np.linalg.norm(push[:, :3], axis=1)
    mass = reflected_mass(run.robot, touch.q, touch.normal).with_rotors
    at = min(touch.tick + (0 if math.isinf(ticks) else int(ticks) * stride), len(force) - 1)
    most = float(force.max())
    return Expected(mass, ticks * T, float(force[at]), most, most, 0.0)


def what_happened(run: Run, touch: Touch, trace: Trace) -> Happened:
    """The same numbers from the trace."""
    wall = touch.source == "wall"
    force = trace["contact_force"] if wall else np.linalg.norm(trace["push_wrench"][:, :3], axis=1)
    felt = np.flatnonzero((trace["reaction.mode"] > 0) & (np.arange(len(force)) >= touch.tick))
    energy = float(0.5 * _surface(run).stiffness * trace["penetration"].max() ** 2) if wall else 0.0
    if not felt.size:
        return Happened(math.inf, math.nan, float(force.max()), energy, False)
    k = int(felt[0])
    return Happened(float(trace.time[k]) - touch.time, float(force[k]), float(force.max()), energy, True)


def predicted(run: Run) -> tuple[Touch, Expected, Happened, Trace]:
    """Run a scenario, and predict its first contact from the state at the touch."""
    around = run.around
    if not isinstance(around, Reactions):
        raise NotApplicable("the scenario has no [reactions]", hint="add a section [reactions]")
    full = replace(run, record=type(run.record)())
    trace = simulate(full)
    touch = first_touch(full, trace)
    find = expected_wall if touch.source == "wall" else expected_push
    return touch, find(full, around, touch, trace), what_happened(full, touch, trace), trace
