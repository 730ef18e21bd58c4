"""Coefficients of the steps of elastic joints, and their record for the loop."""

from __future__ import annotations

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.world.config import World
from palpate.world.driver import DriverFacts
from palpate.world.plants.elastic.gears import Elasticity, set_armature
from palpate.world.plants.elastic.motors import ElasticJoints

ENCODER_SIDES = ("motor", "link", "torque", "gravity")  # by the number that compiled code knows
_POSTURES = 24  # at which a step is looked at for growth that the arm does not have
_FASTEST = 5.0  # rad per step: of a mode that exact samples still tell
_SLACK = 0.02  # of the inertia: how far from growing it stays


def spring_coefficients(known: Elasticity, link: Array, step: float) -> tuple[Array, Array]:
    """a and b of S = K δ + a u⁺ + b u that give a motor and a link of constant inertia their exact motion.

    With μ = 1/(1/B + 1/m), Ω² = K/μ, σ = D/2μ, z = e^(−σh), c = cos(h √(Ω² − σ²)), samples of the deflection obey
    δ₊ = δ + h u⁺, u⁺ = z² u + h F (g − Ω² δ), F = (1 − 2 z c + z²)/(h Ω)², exactly. This is that recurrence.

    Args:
        known: springs and motors.
        link: m, inertia that each joint's spring feels beyond it, the other springs free.
        step: h, s.
    """
    mu = 1.0 / (1.0 / known.inertia + 1.0 / link)
    square, sigma = known.stiffness / mu, known.damping / (2.0 * mu)
    angle = step * np.sqrt((square - sigma**2).astype(complex))
    z = np.exp(-sigma * step)
    share = (1.0 - 2.0 * z * np.real(np.cos(angle)) + z * z) / (step * step * square)
    return mu * (1.0 / share - 1.0) / step, mu * (1.0 - z * z / share) / step


def trapezoidal_coefficients(known: Elasticity, step: float) -> tuple[Array, Array]:
    """a and b of the trapezoidal rule: never growing, whatever the inertias; fast modes come out slower."""
    quarter, half = 0.25 * step * known.stiffness, 0.5 * known.damping
    return half + quarter, half - quarter


def link_inertias(model: mujoco.MjModel, q: Array) -> Array:
    """M of the links of a scene at a posture, motors apart."""
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    data.qpos[:] = q
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fullM(model, data, M)
    return M


def chosen_coefficients(model: mujoco.MjModel, known: Elasticity, q: Array, step: float) -> tuple[Array, Array]:
    """Exact coefficients of every joint at a posture; the trapezoidal rule's, joint by joint from the stiffest on,
    where others would let a mode of the whole arm grow, here or at other postures."""
    armature = model.dof_armature.copy()
    set_armature(model, np.zeros(len(q)))
    inertias = [link_inertias(model, posture) for posture in _postures(model, q)]
    set_armature(model, armature)
    link = 1.0 / np.diag(np.linalg.inv(inertias[0]))
    ahead, behind = spring_coefficients(known, link, step)
    safe = trapezoidal_coefficients(known, step)
    fast = step * np.sqrt(known.stiffness * (1.0 / known.inertia + 1.0 / link)) > _FASTEST
    ahead, behind = np.where(fast, safe[0], ahead), np.where(fast, safe[1], behind)
    order = np.argsort(-known.stiffness * (1.0 / known.inertia + 1.0 / link))
    for joint in order:
        if not any(_grows(known, M, ahead - behind, step) for M in inertias[: 1 if len(q) == 1 else None]):
            break
        ahead[joint], behind[joint] = safe[0][joint], safe[1][joint]
    return ahead, behind


def _postures(model: mujoco.MjModel, q: Array) -> list[Array]:
    """The posture, and others drawn evenly from the joints' ranges."""
    random = np.random.default_rng(0)
    low, high = np.where(model.jnt_limited[:, None], model.jnt_range, (-np.pi, np.pi)).T
    return [np.asarray(q), *(random.uniform(low, high) for _ in range(_POSTURES))]


def _grows(known: Elasticity, M: Array, spread: Array, step: float) -> bool:
    """Whether a step of springs alone would let a mode grow: M̂ + ½ h (a − b) ≥ ¼ h² K is not met, K and M̂ of both."""
    n = len(M)
    missing = np.diag(0.25 * step**2 * known.stiffness - 0.5 * step * spread)
    spring = np.block([[missing, -missing], [-missing, missing]])
    inertia = np.block([[M, np.zeros((n, n))], [np.zeros((n, n)), np.diag(known.inertia)]])
    largest = np.linalg.eigvalsh(np.linalg.solve(np.linalg.cholesky(inertia), spring) @ _inverse_root(inertia))[-1]
    return bool(largest > 1.0 - _SLACK) if n > 1 else bool(largest > 1.0 + 1e-9)


def _inverse_root(inertia: Array) -> Array:
    """L⁻ᵀ of inertia = L Lᵀ."""
    return np.linalg.inv(np.linalg.cholesky(inertia)).T


def elastic_joints(
    known: Elasticity | None, model: mujoco.MjModel, world: World, facts: DriverFacts, start: tuple[Array, Array, Array]
) -> ElasticJoints:
    """The record for the loop.

    Args:
        known: springs and motors; None for rigid joints.
        model: of the scene.
        world: with its sensors.
        facts: of the driver, whose torque loop it is.
        start: positions, speeds, and the torques that hold the links there.
    """
    if known is None:
        return ElasticJoints({"n": 0, "both": 0, "N": 0})
    q, v, held = start
    n = len(q)
    looped = bool(np.any(facts.torque_feedback) or np.any(facts.torque_rate_feedback) or facts.torque_bandwidth)
    joints = ElasticJoints(
        {"n": n, "both": 2 * n, "N": 2 * n},
        on=True,
        **{name: getattr(known, name) for name in Elasticity.__dataclass_fields__},
        motor_q=q + held / known.stiffness,
        motor_v=v.copy(),
        encoders=ENCODER_SIDES.index(world.sensors.encoders),
        sag=held / known.stiffness,
        looped=looped,
        feedback=np.broadcast_to(facts.torque_feedback, n).astype(float),
        rate_feedback=np.broadcast_to(facts.torque_rate_feedback, n).astype(float),
        wanted=held.copy(),
    )
    set_step(joints, known, model, facts, model.opt.timestep, q)
    return joints


def set_step(
    joints: ElasticJoints,
    known: Elasticity,
    model: mujoco.MjModel,
    facts: DriverFacts,
    step: float,
    q: Array | None = None,
) -> None:
    """Coefficients for steps of so many seconds; the engine takes the links with the motors that slide."""
    q = np.asarray(joints.motor_q) if q is None else q
    joints.ahead[:], joints.behind[:] = chosen_coefficients(model, known, q, step)
    joints.share = 1.0 if not facts.torque_bandwidth else float(-np.expm1(-2.0 * np.pi * facts.torque_bandwidth * step))
    ahead, drag = step * joints.ahead[:], known.inertia + step * known.viscous
    joints.armature[:] = ahead * drag / (ahead + drag)
    set_armature(model, np.asarray(joints.armature))
