"""Recordings of a known arm: the truth, and everything that goes wrong when one is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.logs.columns import Log
from palpate.logs.model import Arm, load_of


@dataclass(frozen=True)
class Faults:
    """What goes wrong with the rows."""

    torque_noise: float = 0.1  # N·m
    position_noise: float = 1e-5  # rad
    velocity_noise: float = 1e-3  # rad/s
    repeated: float = 0.06
    steps: tuple[float, float] = (0.7e-3, 8.8e-3)  # s
    drift: float = 80e-6
    late_rows: int = 1
    dropped: float = 0.01


def truth(arm: Arm) -> Array:
    """Parameters that differ from the nominal ones in every respect but the Stribeck effect."""
    n = arm.robot.nv
    theta = arm.nominal.copy()
    theta[:10] = load_of(1.3, np.array([0.02, -0.03, 0.06]), np.diag([0.004, 0.005, 0.003]))
    for kind, value in {"viscous": 1.5, "coulomb": 2.0, "rotor": 0.4, "offset": 0.3}.items():
        theta[arm.columns(kind)] = value * (1.0 + 0.3 * np.sin(np.arange(n)))
    return theta


def motion(arm: Arm, time: Array, seed: int = 0) -> tuple[Array, Array, Array]:
    """Positions, speeds and accelerations of a sum of sines about home."""
    rng, n = np.random.default_rng([seed, 7]), arm.robot.nv
    q, v, a = (np.zeros((len(time), n)) for _ in range(3))
    q += arm.robot.home
    for f in (0.11, 0.23, 0.37, 0.61):
        amplitude, phase = rng.uniform(0.15, 0.35, n), rng.uniform(0, 2 * np.pi, n)
        w = 2 * np.pi * f
        angle = w * time[:, None] + phase
        q += amplitude * np.sin(angle)
        v += amplitude * w * np.cos(angle)
        a -= amplitude * w * w * np.sin(angle)
    return q, v, a


def recording(arm: Arm, theta: Array, seed: int, faults: Faults | None = None, duration: float = 20.0, stribeck: float = 0.05) -> Log:
    """A recording with every fault of `faults`, in SI units."""
    faults = faults or Faults()
    rng = np.random.default_rng([seed, 1])
    steps = rng.uniform(*faults.steps, int(duration / np.mean(faults.steps)))
    time = np.concatenate([[0.0], np.cumsum(steps)])
    q, v, a = motion(arm, time, seed)
    tau = arm.rigid(q, v, a) + arm.regressor(q, v, a, stribeck) @ theta
    tau += faults.torque_noise * rng.normal(size=tau.shape)
    q += faults.position_noise * rng.normal(size=q.shape)
    v += faults.velocity_noise * rng.normal(size=v.shape)
    if faults.late_rows:
        k = faults.late_rows
        tau = np.concatenate([tau[:1].repeat(k, axis=0), tau[:-k]])
    for values in (q, v, tau):
        pass
    stale = np.flatnonzero(rng.random(len(time)) < faults.repeated)
    stale = stale[stale > 0]
    for values in (q, v, tau):
        for k in stale:
            values[k] = values[k - 1]
    kept = np.concatenate([[True], rng.random(len(time) - 1) >= faults.dropped])
    clock = time * (1.0 + faults.drift) + 3.0
    pick = lambda values: values[kept]
    return Log("made", "made", "", pick(time), pick(q), pick(v), pick(tau), clock=pick(clock),
               names={"q": arm.robot.dof_names, "v": arm.robot.dof_names, "tau": arm.robot.dof_names})  # fmt: skip
