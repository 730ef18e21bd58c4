"""Recordings of arms drawn by lot: body, friction, rotors, motion, rate and noise differ from seed to seed.

Seeds below 320 and from 2000 to 2099 were looked at while intervals were designed; those from 5000 on judge
(docs/decisions/0029-logs.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.tools.logs.columns import Log
from palpate.tools.logs.model import Arm, load_of


@dataclass(frozen=True)
class Drawn:
    """A recording, the parameters behind it, and the Cramér–Rao bound of each (standard deviation; NaN: not told).

    The bound knows the noise and every instant, and has no noise in positions and speeds.
    """

    log: Log
    theta: Array
    bound: Array


def body(rng: np.random.Generator) -> Array:
    """A possible load: eight point masses in a box of 12 cm on the flange."""
    masses = rng.uniform(0.05, 0.3, 8)
    points = rng.uniform([-0.06, -0.06, 0.0], [0.06, 0.06, 0.12], (8, 3))
    com = masses @ points / masses.sum()
    arms = points - com
    about = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms))
    return load_of(float(masses.sum()), com, np.asarray(about))


def parameters(arm: Arm, rng: np.random.Generator, stribeck: float) -> Array:
    """An arm of its own."""
    n, theta = arm.robot.nv, arm.nominal.copy()
    theta[:10] = body(rng)
    for kind, low, high in (("viscous", 0.5, 4.0), ("coulomb", 0.8, 5.0), ("rotor", 0.1, 0.8)):
        theta[arm.columns(kind)] = rng.uniform(low, high, n)
    theta[arm.columns("offset")] = rng.normal(0.0, 0.3, n)
    theta[arm.columns("stribeck")] = stribeck * theta[arm.columns("coulomb")]
    return theta


def motion(arm: Arm, time: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A Fourier series of five harmonics per joint with a base frequency of its own."""
    n, base = arm.robot.nv, rng.uniform(0.07, 0.13)
    q, v, a = (np.zeros((len(time), n)) for _ in range(3))
    q += arm.robot.home
    for harmonic in range(1, 6):
        amplitude = rng.uniform(0.1, 0.5, n) / np.sqrt(harmonic)
        w, phase = 2 * np.pi * base * harmonic, rng.uniform(0, 2 * np.pi, n)
        angle = w * time[:, None] + phase
        q, v, a = (
            q + amplitude * np.sin(angle),
            v + w * amplitude * np.cos(angle),
            a - w * w * amplitude * np.sin(angle),
        )
    return q, v, a


def drawn(arm: Arm, seed: int, kind: str) -> Drawn:
    """A recording of the class `kind`: "right", "stribeck truth" or "elastic truth"; 6 % of its rows repeat."""
    rng = np.random.default_rng([seed, 20_480, len(kind)])
    theta = parameters(arm, rng, 0.35 if kind == "stribeck truth" else 0.0)
    step = rng.choice([0.001, 0.002, 0.008])
    steps = rng.uniform(0.7 * step, min(1.3 * step, 8.8e-3), int(rng.uniform(18.0, 26.0) / step))
    if step < 0.005:
        late = rng.random(len(steps)) < 0.01
        steps[late] = rng.uniform(3e-3, 8.8e-3, int(late.sum()))
    time = np.concatenate([[0.0], np.cumsum(steps)])
    q, v, a = motion(arm, time, rng)
    measured_q, measured_v, tau = _measured(arm, theta, (time, q, v, a), kind, rng)
    noise = rng.uniform(0.05, 0.3)
    bound = _bound(arm, (q, v, a), tau, noise)
    tau = tau + noise * rng.normal(size=tau.shape)
    measured_q = measured_q + 1e-5 * rng.normal(size=q.shape)
    measured_v = measured_v + 1e-3 * rng.normal(size=q.shape)
    if rng.random() < 0.5:  # the state that followed beside its command
        tau = np.concatenate([tau[:1], tau[:-1]])
    _repeat((measured_q, measured_v, tau), 0.06, rng)
    names = {name: arm.robot.dof_names for name in ("q", "v", "tau")}
    clock = time * (1.0 + rng.normal(0.0, 60e-6)) + 5.0
    return Drawn(Log("drawn", "made", "", time, measured_q, measured_v, tau, clock=clock, names=names), theta, bound)


def _measured(
    arm: Arm, theta: Array, course: tuple[Array, Array, Array, Array], kind: str, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Positions, speeds and torques: of the motor θ = q + τ_link/K where the joints are elastic."""
    time, q, v, a = course
    if kind != "elastic truth":
        return q, v, arm.rigid(q, v, a) + arm.regressor(q, v, a, 0.06) @ theta
    link = arm.rigid(q, v, a) + arm.regressor(q, v, a, 0.06)[:, :, :10] @ theta[:10]
    stiffness = rng.uniform(8e3, 3e4, arm.robot.nv)
    speed = v + np.gradient(link, time, axis=0) / stiffness
    rise = a + np.gradient(np.gradient(link, time, axis=0), time, axis=0) / stiffness
    return q + link / stiffness, speed, link + arm.regressor(q, speed, rise, 0.06)[:, :, 10:] @ theta[10:]


def _repeat(columns: tuple[Array, ...], share: float, rng: np.random.Generator) -> None:
    for k in np.flatnonzero(rng.random(len(columns[0])) < share):
        for values in columns:
            values[k] = values[max(k - 1, 0)]


def _bound(arm: Arm, state: tuple[Array, Array, Array], tau: Array, noise: float) -> Array:
    """Standard deviations that no unbiased estimate of load, friction, rotors, offsets and the shift can fall below."""
    kinds = ("load", "viscous", "coulomb", "rotor", "offset")
    chosen = np.concatenate([np.arange(len(arm.names))[arm.columns(kind)] for kind in kinds])
    X = arm.regressor(*state, 0.06)[:, :, chosen]
    moving = (np.abs(state[1]) > 0.01)[:, :, None]
    A = (np.concatenate([X, np.gradient(tau, axis=0)[:, :, None]], axis=2) * moving).reshape(-1, len(chosen) + 1)
    scale = np.linalg.norm(A, axis=0)
    told = scale > 1e-9 * scale.max()
    values, vectors = np.linalg.eigh((A[:, told] / scale[told]).T @ (A[:, told] / scale[told]))
    good = values > 1e-9 * values[-1]
    variance = np.sum(vectors[:, good] ** 2 / values[good], axis=1) * (noise / scale[told]) ** 2
    hidden = np.sum(vectors[:, ~good] ** 2, axis=1) > 1e-6
    found = np.full(len(chosen) + 1, np.nan)
    found[told] = np.where(hidden, np.nan, np.sqrt(variance))
    out = np.full(len(arm.names), np.nan)
    out[chosen] = found[:-1]
    return out
