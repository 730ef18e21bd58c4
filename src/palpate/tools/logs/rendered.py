"""The impedance that was rendered, from tool motion and measured wrench, beside the one that was asked for.

Along each world axis the measured force obeys  F = K e + D ė + γ (Λ J q̈) + b,  e = x − x_d,  where an impedance is
rendered and Λ = (J M⁻¹ Jᵀ)⁻¹ is the arm's own task inertia: γ is 1 where the law shapes no inertia; b takes the
sensor's bias and a constant target force. Torques that act T late add  −K T ė − D T ë + T Λ J M⁻¹ ḃ̂,  b̂ the bias that
the law makes up for: ë and the last term are columns as well, of factors that nothing is read from. Friction at the
tool, F_c sign ẋ, is tried besides, and what it changes beyond chance is added to the intervals. Torques that are held
for a period T act T/2 to T late, which takes up to K T from the damping: its interval has as much more. Of which
instant of its period a row tells is not known, so that a delay's interval has half a period more.

The stiffness of the environment is the slope of the force against the position along its direction, in the rows of
contact, without those that the filter mixes with rows in the air.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student

from palpate.checks import Array
from palpate.robot import Robot
from palpate.tools.logs.balance import block_length, deviations, line, solve, weights
from palpate.tools.logs.cleaning import Motion, Run
from palpate.tools.logs.columns import Log
from palpate.tools.logs.identify import SAFETY, Quantity
from palpate.tools.logs.sensors.elastic import joint_stiffness
from palpate.tools.logs.sensors.wrist import wrench_bias

AXES = ("x", "y", "z")
_LEAST_MOTION, _LEAST_FORCE = 2e-4, 0.5  # m, N: spread below which an axis tells nothing
_FEWEST_ROWS = 60


@dataclass(frozen=True)
class Rendered:
    """The impedance that the tool rendered.

    Attributes:
        quantities: such as "stiffness x" or "environment stiffness", by name.
        asked: values that the scenario asked for, by the same names.
        notes: sentences for people.
    """

    quantities: dict[str, Quantity] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Sentences for people."""
        lines = []
        for name, q in self.quantities.items():
            wanted = f"; asked {self.asked[name]:.4g}" if name in self.asked else ""
            if q.reason:
                lines.append(f"{_headed(name)}: refused; {q.reason}{wanted}")
            else:
                unit = "" if q.unit == "1" else f" {q.unit}"
                lines.append(f"{_headed(name)}: {q.value:.4g}{unit} ({q.low:.4g} … {q.high:.4g}){wanted}")
        return [*lines, *self.notes]

    def data(self) -> dict[str, Any]:
        """Plain data."""

        def finite(x):
            return float(x) if np.isfinite(x) else None

        told = {
            n: {"value": finite(q.value), "low": finite(q.low), "high": finite(q.high), "unit": q.unit,
                "asked": self.asked.get(n), "refused": q.reason or None}
            for n, q in self.quantities.items()
        }  # fmt: skip
        return {"quantities": told, "notes": list(self.notes)}


def _headed(name: str) -> str:
    """The name at the head of a sentence: impedances are rendered, biases and joints are what they are."""
    own = name.startswith(("sensor", "bias", "joint stiffness", "environment", "torque delay"))
    return name[0].upper() + name[1:] if own else f"Rendered {name}"


def rendered_of(log: Log, robot: Robot, scenario: Any, motion: Motion) -> Rendered:
    """The impedance that the tool rendered; empty where no wrench or no target was recorded."""
    quantities: dict[str, Quantity] = {}
    notes, asked = [], asked_of(scenario)
    runs = [run for run in motion.runs if "wrench" in run.more]
    if not runs:
        notes.append("No wrench was recorded: what impedance was rendered cannot be told.")
    else:
        tools = [_tool(run, log, robot, motion) for run in runs]
        which = np.repeat(np.arange(len(tools)), [len(one[0]) for one in tools])
        x, error, force = (np.concatenate(parts) for parts in zip(*tools))
        if all("position_desired" in run.more or "q_desired" in run.more for run in runs):
            for k in range(3):
                quantities |= _impedance(k, (error, x, force[:, k]), which, motion.period)
                quantities |= _loop_delay(k, asked, (error, x, force), which, motion.period)
        else:
            notes.append("No target was recorded (position_desired, q_desired): the rendered impedance is not told.")
        quantities |= _environment(x[:, 0, :3], force, which, motion)
        quantities |= wrench_bias(log, robot, motion)
    quantities |= joint_stiffness(robot, motion)
    quantities |= _actuator_delay(motion)
    return Rendered(quantities, asked, tuple(notes))


def _loop_delay(
    k: int, asked: dict[str, float], course: tuple[Array, Array, Array], run: Array, period: float
) -> dict[str, Quantity]:
    """How late the law's torques act, along one axis, where the law is the impedance that was asked for.

    τ(t − T) = τ − T τ̇ with τ = −Jᵀ (K e + D ė) + b̂ gives F = K e + D ė + γ Λ J q̈ − T (K ė + D ë − Λ J M⁻¹ ḃ) + const.
    """
    axis, (error, tool, force) = AXES[k], course
    K, D = asked.get(f"stiffness {axis}"), asked.get(f"damping {axis}")
    if K is None or D is None or np.std(error[:, k]) < _LEAST_MOTION or np.std(force[:, k]) < _LEAST_FORCE:
        return {}
    e = error[:, k]
    rate = np.gradient(e, period)
    late = -(K * rate + D * np.gradient(rate, period) - tool[:, 3, k])
    columns = np.column_stack([late, tool[:, 2, k], np.ones(len(e))])
    values, deviation, t = line(force[:, k] - K * e - D * rate, columns, np.ones(len(e), dtype=bool), run)
    own, _, _ = line(force[:, k] - K * e - D * rate - tool[:, 2, k], columns[:, [0, 2]], np.ones(len(e), dtype=bool))
    half = SAFETY * t * deviation[0] + abs(own[0] - values[0]) + 0.5 * period
    name = f"loop delay {axis}"
    return {name: _quantity(name, "s", values[0], half, "" if half < 0.05 else "this motion does not tell it")}


def asked_of(scenario: Any) -> dict[str, float]:
    """Stiffness and damping that a scenario's law was asked for, and the stiffness of its one surface."""
    asked: dict[str, float] = {}
    if scenario is None:
        return asked
    for name in ("stiffness", "damping"):
        values = getattr(scenario.control, name, None)
        if values is not None and np.ndim(values) == 1 and len(values) == 6:
            asked |= {f"{name} {axis}": float(v) for axis, v in zip(AXES, values)}
    surfaces = [s for s in scenario.world.surfaces if s.contact == "compliant"]
    if len(surfaces) == 1:
        asked["environment stiffness"] = float(surfaces[0].stiffness)
    return asked


def _tool(run: Run, log: Log, robot: Robot, motion: Motion) -> tuple[Array, Array, Array]:
    """Filtered motion of the tool (rows; position, velocity, Λ J q̈, Λ J M⁻¹ ḃ; 6), its error, and the force.

    World axes; the angular part of the position is 0.
    """
    terms = robot.terms_batch(run.q, motion.filter(run.v))
    position = terms.position
    force = run.more["wrench"][:, :3]
    if log.wrench_frame not in ("", "world"):
        turned = robot.pose_batch(run.q, log.wrench_frame)[1]
        force = np.einsum("nij,nj->ni", turned, force)
    wanted = run.more.get("position_desired")
    if wanted is None:
        wanted = robot.pose_batch(run.more["q_desired"])[0] if "q_desired" in run.more else position
    low_pass, edge = motion.filter, motion.filter.edge
    x, e, f = low_pass(position), low_pass(position - wanted), low_pass(force)
    twist = np.einsum("nij,nj->ni", terms.J, motion.filter(run.v))
    task = np.einsum("nij,nj->ni", terms.J, np.gradient(motion.filter(run.v), motion.period, axis=0))
    mobility = terms.J @ np.linalg.solve(terms.M, np.swapaxes(terms.J, 1, 2))
    mobility = mobility + 1e-6 * np.eye(6)
    inertial = low_pass(np.linalg.solve(mobility, task[..., None])[..., 0])
    model_rate = np.linalg.solve(terms.M, np.gradient(low_pass(terms.bias), motion.period, axis=0)[..., None])
    compensation = np.linalg.solve(mobility, terms.J @ model_rate)[..., 0]
    place = np.column_stack([x, np.zeros_like(x)])
    inner = slice(edge, len(x) - edge)
    return np.stack([place, twist, inertial, compensation], axis=1)[inner], e[inner], f[inner]


def _impedance(k: int, course: tuple[Array, Array, Array], run: Array, period: float) -> dict[str, Quantity]:
    """Stiffness, damping and share of the arm's own inertia along one axis; `course`: error, motion, force along it."""
    axis, (error, motion, force) = AXES[k], course
    names = {f"stiffness {axis}": "N/m", f"damping {axis}": "N·s/m", f"inertia ratio {axis}": "1"}
    still, free = np.std(error[:, k]) < _LEAST_MOTION, np.std(force) < _LEAST_FORCE
    if still or free or len(force) < _FEWEST_ROWS:
        sizes = f"{max(1e3 * np.std(error[:, k]), 1e-6):.2g} mm, {np.std(force):.2g} N"
        reason = f"the tool hardly moved or met a force along {axis} ({sizes})"
        return {name: Quantity(name, unit, np.nan, np.nan, np.nan, np.nan, reason) for name, unit in names.items()}
    rate = np.gradient(error, period, axis=0)[:, k]
    late = np.gradient(rate, period), motion[:, 3, k]  # what torques that act late bring besides the rate
    columns = np.column_stack([error[:, k], rate, motion[:, 2, k], *late, np.ones(len(force))])
    use = np.ones(len(force), dtype=bool)
    values, deviation, t = line(force, columns, use, run)
    rubbing, other, _ = line(force, np.column_stack([columns, np.sign(motion[:, 1, k])]), use)
    own, _, _ = line(force - motion[:, 2, k], np.delete(columns, 2, axis=1), use)  # the arm's own inertia, as modelled
    told = {}
    for j, (name, unit) in enumerate(names.items()):
        more = max(0.0, abs(rubbing[j] - values[j]) - float(np.hypot(deviation[j], other[j])))
        more = max(more, abs(own[j] - values[j]) if j < 2 else abs(1.0 - values[2]))
        held = period * abs(values[0]) if j == 1 else 0.0  # torques act half a tick to a tick late: K T of the damping
        half = SAFETY * t * deviation[j] + more + held
        reason = (
            ""
            if half < abs(values[j]) and values[j] > 0
            else f"this motion does not tell it ({values[j]:.3g} ± {half:.2g}{'' if unit == '1' else ' ' + unit})"
        )
        if j == 0 and values[0] + SAFETY * t * deviation[0] < 0:
            reason = f"it comes out negative ({values[0]:.3g} ± {half:.2g} N/m): whom does the wrench act on (acts_on)?"
        told[name] = _quantity(name, unit, values[j], half, reason)
    return told


def _quantity(name: str, unit: str, value: float, half: float, reason: str) -> Quantity:
    if reason:
        return Quantity(name, unit, np.nan, np.nan, np.nan, np.nan, reason)
    return Quantity(name, unit, float(value), float(value - half), float(value + half), float(half))


def _environment(position: Array, force: Array, run: Array, motion: Motion) -> dict[str, Quantity]:
    """Stiffness along the mean force, in the rows of contact: F = −k x + …"""
    name, unit = "environment stiffness", "N/m"
    size = np.linalg.norm(force, axis=1)
    contact = size > max(0.2 * float(np.percentile(size, 99)), 2 * _LEAST_FORCE)
    apart = np.convolve(~contact, np.ones(2 * motion.filter.edge + 1), mode="same") > 0.5
    contact &= ~apart
    if contact.sum() < _FEWEST_ROWS:
        return {}
    direction = force[contact].mean(axis=0)
    direction /= np.linalg.norm(direction)
    x, f = position @ direction, force @ direction
    columns = np.stack([-x, -np.gradient(x, motion.period), np.ones(len(x))], axis=1)
    values, deviation, t = line(f, columns, contact, run)
    half = SAFETY * t * deviation[0]
    steady, _, _ = line(f, columns[:, [0, 2]], contact)
    half += max(0.0, abs(steady[0] - values[0]) - 2 * deviation[0])
    if values[0] + half < 0:
        return {}  # pushed, not touching: the force goes with the motion
    reason = (
        "" if half < abs(values[0]) else f"the position in contact varies by {1e3 * np.ptp(x[contact]):.2g} mm only"
    )
    return {name: _quantity(name, unit, values[0], half, reason)}


def _actuator_delay(motion: Motion) -> dict[str, Quantity]:
    """How late measured torques follow the commanded ones: τ = τ_c − s dτ_c/dt + o, one s for all joints.

    Each joint weighs by what is left of it, so that one that hardly moves does not bring its noise alone.
    """
    runs = [run for run in motion.runs if "tau_command" in run.more]
    if not runs:
        return {}
    inner = slice(motion.filter.edge, -motion.filter.edge)
    commands = [motion.filter(run.more["tau_command"]) for run in runs]
    late = [motion.filter(run.more.get("tau", run.torque)) - one for run, one in zip(runs, commands)]
    y = np.concatenate([one[inner] for one in late])
    if np.all(np.abs(y) < 1e-12):
        return {}
    rate = np.concatenate([-np.gradient(one, motion.period, axis=0)[inner] for one in commands])
    number = np.concatenate([np.full(len(one[inner]), k) for k, one in enumerate(commands)])
    offsets = np.broadcast_to(np.eye(y.shape[1]), (*y.shape, y.shape[1]))
    X, use = np.concatenate([rate[:, :, None], offsets], axis=2), np.ones(y.shape, dtype=bool)
    basis = np.diag(1.0 / np.maximum(np.linalg.norm(X, axis=(0, 1)), 1e-300))
    weight = weights(y - y.mean(axis=0), use)
    theta, residual = solve(X, y, weight, use, basis)
    for _ in range(2):
        weight = weights(residual, use)
        theta, residual = solve(X, y, weight, use, basis)
    spread, blocks = deviations(X, y, (weight, number, basis), block_length(residual, use))
    half = SAFETY * float(student.ppf(0.975, max(blocks - 1, 1))) * spread[0]
    return {"torque delay": _quantity("torque delay", "s", theta[0], half, "")}
