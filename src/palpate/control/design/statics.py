"""Where an arm comes to rest under its law, and what is left of an error after a time: both from the linear loop."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import ArmContact
from palpate.control.design.linear.loop_model import LinearLaw

MOST_STATES = 400  # of a loop whose remainder is computed; beyond, its slowest pole is taken
_HELD = 1e-6  # of a torque: what may be left unbalanced
_FREE = 1e-12  # of the largest stiffness: what holds nothing
_ROUNDING = 1e-12
_BOUNDLESS = 1e100  # m per N·m and more: nothing holds it
_CANCELS = 1e-9  # of what is added: less is rounding, such as gravity less its compensation


@dataclass(frozen=True)
class Compliance:
    """How an arm at rest gives way, to first order.

    Attributes:
        torque: n×n, joint displacement per joint torque from outside.
        reading: n×6, joint displacement per wrench that the sensor reads and that does not act.
        held: per joint, whether the law holds the arm against a torque there; what it does not hold moves for ever.
        free: n×r, joint motions that nothing brings back.
    """

    torque: Array
    reading: Array
    held: Array
    free: Array

    def under(self, wrench: Array, J: Array) -> Array:
        """Joint displacement under a wrench at the tool that acts and is read."""
        return self.torque @ (J.T @ wrench) + self.reading @ wrench


def compliance_at_rest(contact: ArmContact) -> Compliance:
    """The rest of the sampled loop under constant disturbances.

    At rest the law's state stands, ξ = A ξ + B_q δq + B_f F, its command is u = C ξ + D_q δq + D_f F, and the plant's
    equation has no acceleration: u − (G + K_c) δq + τ = 0, or behind a servo S ω² (u − δq) + M⁻¹ (τ − K_c δq) = 0 (for
    a velocity, u = 0 and the servo's own position in its place).
    """
    plant, law, timing = contact.plant(), contact.model.law(), contact.timing
    n, k, one = plant.freedoms, len(law.update), np.eye(plant.freedoms)
    on_q, on_F = law.q + law.wrench @ plant.felt_q, law.wrench
    state = np.hstack([law.update_q + law.update_wrench @ plant.felt_q, law.update - np.eye(k)])
    wall, none = plant.mobility @ plant.wall_stiffness, np.zeros((n, n))
    if law.command == "torque":
        stiffness = on_q - plant.gravity - plant.wall_stiffness
        parts = max(float(np.abs(part).max()) for part in (on_q, plant.gravity, plant.wall_stiffness))
        stiffness[np.abs(stiffness) < _CANCELS * parts] = 0.0
        equilibrium = np.hstack([stiffness, law.state])
        by_torque, by_reading = -one, -on_F
    elif law.command == "position":
        servo = timing.servo_bandwidth**2 * plant.servo
        equilibrium = np.hstack([servo @ (on_q - one) - wall, servo @ law.state])
        by_torque, by_reading = -plant.mobility, -servo @ on_F
    else:
        servo = timing.servo_bandwidth**2 * plant.servo
        equilibrium = np.block([[on_q, law.state, none], [-servo - wall, np.zeros((n, k)), servo]])
        by_torque, by_reading = np.vstack([none, -plant.mobility]), np.vstack([-on_F, 0 * on_F])
        state = np.hstack([state, np.zeros((k, n))])
    A = np.vstack([equilibrium, state])
    right = np.block([[by_torque, by_reading], [np.zeros((k, n)), -law.update_wrench]])
    scale = np.maximum(np.abs(A).max(axis=1, keepdims=True), 1e-300)
    solution = np.linalg.lstsq(A / scale, right / scale, rcond=1e-12)[0]
    unbalanced = np.abs(A @ solution - right)[:, :n].max(axis=0)
    held = unbalanced <= _HELD * np.abs(right[:, :n]).max(axis=0)
    _, sizes, motions = np.linalg.svd(A / scale)
    still = np.r_[sizes, np.zeros(len(motions) - len(sizes))] <= _FREE * sizes.max(initial=0.0)
    return Compliance(solution[:n, :n], solution[:n, n:], held, motions[still, :n].T)


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


def remainder(contact: ArmContact, J: Array, time: float) -> Array:
    """k×k: what is left of an error along the k rows of J after a time without further change; entries are sizes."""
    loop, T, n = contact.loop, contact.timing.period, contact.robot.nv
    if not loop.stable:
        return np.eye(len(J))
    if T == 0 or loop.states > MOST_STATES:
        return np.exp(-max(loop.rate, 0.0) * time) * np.eye(len(J))
    whole = np.linalg.matrix_power(loop.transition, max(int(time / T), 0))
    return np.abs(J @ whole[:n, :n] @ np.linalg.pinv(J))


# ---------------------------------------- What Coulomb friction in the joints does to an arm at rest, which no pole
# knows of
# About rest the joints stand still wherever |S e| ≤ F, joint by joint: S e are the torques that law, gravity and wall
# answer a deviation e with, F the friction. The tool is then off by as much as J S⁻¹ f can be with |f| ≤ F
# (`statics.farthest`).


_MOVES = 1e-6  # of the largest lever: less is no motion of the tool
_INTEGRATES = 1e-9  # how near to 1 (or to 0, without a clock) an eigenvalue of the law's own memory is


def held_off(contact: ArmContact, friction: Array) -> tuple[float, float] | None:
    """How far off friction can hold the tool, m, and the wall's force, N.

    None where the law integrates, so that no error stays, or where nothing brings the tool back.
    """
    if integrates(contact.model.law(), contact.timing.period):
        return None
    J, compliance = contact.J_contact, compliance_at_rest(contact)
    if np.abs(J @ compliance.free).max(initial=0.0) > _MOVES * np.abs(J).max():
        return None
    pressed = contact.wall.stiffness * contact.wall.direction()[None] @ J
    return farthest(J @ compliance.torque, friction), farthest(pressed @ compliance.torque, friction)


def integrates(law: LinearLaw, period: float) -> bool:
    """Whether something in the law's memory neither fades nor grows by itself."""
    if not law.update.size:
        return False
    values = np.linalg.eigvals(law.update)
    return bool((np.abs(values - (1.0 if period else 0.0)) < _INTEGRATES).any())


def friction_sentences(contact: ArmContact, friction: Array) -> list[str]:
    """What friction does, and what of it is not foretold; nothing for joints without any."""
    nonzero = friction[friction > 0.0]
    if not nonzero.size:
        return []
    least, most = f"{nonzero.min():.3g}", f"{nonzero.max():.3g}"
    head = f"Joint friction ({least if least == most else f'{least} to {most}'} N·m) is not included in the poles"
    if integrates(contact.model.law(), contact.timing.period):
        return [f"{head}: with integral action it can cause a stick–slip limit cycle, which is not predicted."]
    held = held_off(contact, friction)
    if held is None:
        return [f"{head}; the steady-state error that it causes could not be computed."]
    force = f" and {held[1]:.3g} N of contact force" if contact.wall.stiffness > 0 else ""
    off = f"{1e3 * held[0]:.3g} mm{force}"
    return [f"{head}; it can cause a steady-state error of {off}. No stick–slip: there is no integral action."]
