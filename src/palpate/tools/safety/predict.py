"""Prediction of a scenario's contact: when it is felt, which force and energy it reaches; beside what happened.

A wall, one axis, along its normal:   m ẍ = −k x − d ẋ + K (e₀ + v_d t − x) + D (v_d − ẋ)      until it is felt, then
m ẍ = −k x − d ẋ − m λ ẋ   for a stop. m is the arm's reflected mass with rotors, K and D the law's where it has them.
The residual is the answer of the observer to Jᵀ n F(t), at the ticks. A push: its own Jᵀ F, from its first tick on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.friction import KNEE
from palpate.control.law import Law
from palpate.errors import NotApplicable
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.tools.safety.impact import reflected_mass
from palpate.tools.safety.observer import Observer, impulse_response
from palpate.tools.safety.reactions import Reactions
from palpate.trace import Trace
from palpate.world.config import Surface

_STEPS = 20  # of the one-axis model in a control period
_LONGEST = 0.5  # s
_SLIDES = 5e-3  # m/s, above which friction is that of sliding
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
    wrench = trace["contact_wrench" if wall else "push_wrench"][k, :3]
    normal = wrench / np.linalg.norm(wrench)
    name = _surface(run).name if wall else run.world.pushes[0].name
    speed = float(-normal @ trace["tool_twist"][k, :3])
    depth = float(trace["penetration"][k]) if wall else 0.0
    return Touch(float(trace.time[k]), k, "wall" if wall else "push", name, normal, speed, depth, trace["q"][k].copy())


def _surface(run: Run) -> Surface:
    surfaces = [surface for surface in run.world.surfaces if surface.contact == "compliant"]
    if not surfaces:
        raise NotApplicable("the force of a contact is predicted for compliant surfaces only")
    return surfaces[0]


def _law_spring(run: Run, touch: Touch, trace: Trace) -> tuple[float, float, float, float]:
    """K, D, e₀ and v_d of the law along the way into the surface; zeros where it has none."""
    law = run.fitted.law
    if not isinstance(law, Law):
        return 0.0, 0.0, 0.0, 0.0
    spring = law.traits.spring_damper(law.bound_to(run.robot).gains)
    if spring is None:
        return 0.0, 0.0, 0.0, 0.0
    n = touch.normal
    K, D = (float(n @ matrix[:3, :3] @ n) for matrix in spring)
    error = -n @ (trace["target_position"][touch.tick] - trace["tool_position"][touch.tick])
    return K, D, float(error), float(-n @ trace["target_twist"][touch.tick, :3])


def _braking(run: Run, around: Reactions, touch: Touch, trace: Trace) -> tuple[float, float]:
    """λ of a stop at the touch, 1/s, and the seconds in which the driver's torque rate lets it through."""
    terms = run.robot.terms(touch.q, trace["v"][touch.tick])
    push, limits = np.array(terms.M) @ trace["v"][touch.tick], run.robot.limits
    room = around.torque_share * np.where(np.isfinite(limits.torque), limits.torque, 1e9) + np.sign(push) * np.array(
        terms.bias
    )
    most = 0.5 / (run.clock.control_period * (1 + run.rig.delay))
    moved = np.abs(push) > 1e-9
    rate = min(most, float((np.maximum(room[moved], 0.0) / np.abs(push[moved])).min())) if moved.any() else most
    rises = rate * np.abs(push) / limits.torque_rate
    return rate, float(np.where(np.isfinite(rises), rises, 0.0).max())


def _friction_along(run: Run, touch: Touch, trace: Trace, mass: float) -> tuple[float, float]:
    """Coulomb force, N, and damping, N·s/m, of the joints' friction along the way into the surface."""
    robot, v = run.robot, trace["v"][touch.tick]
    across = np.abs(robot.coordinates.map)
    coulomb, viscous = across.T @ robot.model.dof_frictionloss, (across**2).T @ robot.model.dof_damping
    terms = robot.terms(touch.q, np.zeros(robot.nv))
    row = -touch.normal @ np.array(terms.J)[:3]
    sliding = np.clip(v / KNEE, -1.0, 1.0)
    along = [mass * float(row @ np.linalg.solve(np.array(terms.M), f)) for f in (coulomb * sliding, viscous * v)]
    return max(along[0], 0.0), max(along[1], 0.0) / max(touch.speed, 1e-6)


def expected_wall(run: Run, around: Reactions, touch: Touch, trace: Trace) -> Expected:
    """A contact with a compliant surface, by the one-axis model."""
    surface, T = _surface(run), run.clock.control_period
    mass = reflected_mass(run.robot, touch.q, touch.normal).with_rotors
    row = np.array(run.robot.terms(touch.q, np.zeros(run.robot.nv)).J)[:3].T @ touch.normal
    law, friction = _law_spring(run, touch, trace), _friction_along(run, touch, trace, mass)
    axis = OneAxis(mass, surface.stiffness, surface.damping, *law, *friction, T / _STEPS)
    depth, force = axis.moved(touch.depth, touch.speed)
    threshold = trace["reaction.threshold"][touch.tick]
    ticks = felt_after(around.observer, np.outer(_per_tick(force), row), threshold, T, around.threshold.confirm)
    most = float(force.max())
    if math.isinf(ticks):
        return Expected(mass, ticks, math.nan, most, most, 0.5 * surface.stiffness * float(depth.max()) ** 2)
    at = int(ticks) * _STEPS
    brake = _brake_of(run, around, touch, trace)
    deep, answered = axis.moved(
        touch.depth, touch.speed, None if brake is None else (at + run.rig.delay * _STEPS, *brake)
    )
    energy = 0.5 * surface.stiffness * float(deep.max()) ** 2
    return Expected(mass, ticks * T, float(force[min(at, len(force) - 1)]), float(answered.max()), most, energy)


def _brake_of(run: Run, around: Reactions, touch: Touch, trace: Trace) -> tuple[float, float] | None:
    """λ of the reaction and the seconds in which it takes over; None where the law goes on."""
    if around.on_contact == "float":
        return around.float_damping, 0.0
    return _braking(run, around, touch, trace) if around.on_contact in ("stop", "retract") else None


@dataclass(frozen=True)
class OneAxis:
    """m ẍ = −k x − d ẋ + K (e₀ + v_d t − x) + D (v_d − ẋ) − friction, in steps of h seconds."""

    m: float
    k: float
    d: float
    K: float
    D: float
    e0: float
    v_d: float
    coulomb: float
    viscous: float
    h: float

    def moved(self, x: float, v: float, brake: tuple[int, float, float] | None = None) -> tuple[Array, Array]:
        """Depth and force from a depth and speed on, until it leaves the surface or for half a second.

        A brake is the step at which it begins, λ, and the seconds in which it would rise from nothing to m λ v.
        """
        h, x0, drive, slope = self.h, x, 0.0, math.inf
        if brake is not None and brake[2] > 0.0:
            slope = self.m * brake[1] * v / brake[2]
        depth, force = [x], [self._force(x, v)]
        for step in range(int(_LONGEST / h)):
            if brake is not None and step >= brake[0]:
                drive += min(max(-self.m * brake[1] * v - drive, -slope * h), slope * h)
            else:
                drive = self.K * (self.e0 + self.v_d * step * h - (x - x0)) + self.D * (self.v_d - v)
            friction = self.coulomb * min(max(v / _SLIDES, -1.0), 1.0) + self.viscous * v
            v += h * (drive - friction - self._force(x, v)) / self.m
            x += h * v
            depth.append(x)
            force.append(self._force(x, v))
            if x < 0.0:
                break
        return np.array(depth), np.array(force)

    def _force(self, x: float, v: float) -> float:
        return max(self.k * x + self.d * v, 0.0) if x >= 0.0 else 0.0


def _per_tick(force: Array) -> Array:
    """Mean force of each control period."""
    whole = len(force) // _STEPS
    return force[: whole * _STEPS].reshape(whole, _STEPS).mean(axis=1)


def felt_after(observer: Observer, torques: Array, threshold: Array, period: float, confirm: int = 1) -> float:
    """Ticks until the residual of external torques, one row per period, is above a threshold; infinite if never."""
    if not len(torques):
        return math.inf
    h = impulse_response(observer, period)[: len(torques)]
    residual = np.array([np.convolve(column, h)[: len(torques)] for column in torques.T]).T
    above = np.any(np.abs(residual) > threshold, axis=1)
    run = np.convolve(above.astype(int), np.ones(confirm, int))[: len(above)] >= confirm
    hits = np.flatnonzero(run)
    return float(hits[0] + 1) if hits.size else math.inf


def expected_push(run: Run, around: Reactions, touch: Touch, trace: Trace) -> Expected:
    """A push whose force is known."""
    push, T = trace["push_wrench"], run.clock.control_period
    J = np.array(run.robot.terms(touch.q, np.zeros(run.robot.nv)).J)
    stride = run.clock.ratio
    rows = push[touch.tick :: stride] @ J
    ticks = felt_after(around.observer, rows, trace["reaction.threshold"][touch.tick], T, around.threshold.confirm)
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
    from dataclasses import replace

    around = run.around
    if not isinstance(around, Reactions):
        raise NotApplicable("the scenario has no [reactions]", hint="add a section [reactions]")
    full = replace(run, record=type(run.record)())
    trace = simulate(full)
    touch = first_touch(full, trace)
    find = expected_wall if touch.source == "wall" else expected_push
    return touch, find(full, around, touch, trace), what_happened(full, touch, trace), trace
