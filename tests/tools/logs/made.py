"""Recordings of a known arm: the truth, and everything that goes wrong when one is written."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.tools.logs.columns import Log
from palpate.tools.logs.model import Arm, load_of

PAYLOAD = {"mass": 0.5, "com": [0.02, 0.01, 0.03], "inertia": [2e-3, 2e-3, 1e-3]}


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
    joint_stiffness: float = np.inf  # N·m/rad, between the measured side and the link


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


def recording(
    arm: Arm, theta: Array, seed: int, faults: Faults | None = None, duration: float = 20.0, stribeck: float = 0.05
) -> Log:
    """A recording with every fault of `faults`, in SI units."""
    faults = faults or Faults()
    rng = np.random.default_rng([seed, 1])
    steps = rng.uniform(*faults.steps, int(duration / np.mean(faults.steps)))
    time = np.concatenate([[0.0], np.cumsum(steps)])
    q, v, a = motion(arm, time, seed)
    tau = arm.rigid(q, v, a) + arm.regressor(q, v, a, stribeck) @ theta
    q = q + tau / faults.joint_stiffness
    v = v + np.gradient(tau, time, axis=0) / faults.joint_stiffness
    tau += faults.torque_noise * rng.normal(size=tau.shape)
    q += faults.position_noise * rng.normal(size=q.shape)
    v += faults.velocity_noise * rng.normal(size=v.shape)
    if faults.late_rows:
        k = faults.late_rows
        tau = np.concatenate([tau[:1].repeat(k, axis=0), tau[:-k]])
    stale = np.flatnonzero(rng.random(len(time)) < faults.repeated)
    stale = stale[stale > 0]
    for values in (q, v, tau):
        for k in stale:
            values[k] = values[k - 1]
    kept = np.concatenate([[True], rng.random(len(time) - 1) >= faults.dropped])
    clock = time * (1.0 + faults.drift) + 3.0

    def pick(values):
        return values[kept]

    return Log("made", "made", "", pick(time), pick(q), pick(v), pick(tau), clock=pick(clock),
               names={"q": arm.robot.dof_names, "v": arm.robot.dof_names, "tau": arm.robot.dof_names})  # fmt: skip


def campaign(model: str, duration: float, seed: int = 0) -> tuple[Log, pp.Robot]:
    """A run of palpate with a load, friction and rotors that the nominal arm does not have; and that arm."""
    robot = pp.load_robot(model)
    arm = Arm.of(robot)
    time = np.arange(0.0, duration + 0.5, 0.01)
    q = motion(arm, time, seed)[0]
    rise = np.clip(time / 1.5, 0.0, 1.0)
    q = robot.home + (rise**2 * (3 - 2 * rise))[:, None] * 0.8 * (q - robot.home)
    q = np.clip(q, robot.limits.lower + 0.05, robot.limits.upper - 0.05)
    with tempfile.TemporaryDirectory() as folder:
        table = ["time," + ",".join(f"q[{j}]" for j in robot.dof_names)]
        table += [",".join(repr(float(x)) for x in (t, *row)) for t, row in zip(time, q)]
        path = Path(folder) / "motion.csv"
        path.write_text("\n".join(table))
        n, start = robot.nv, [float(x) for x in q[0]]
        scenario = pp.Scenario.model_validate({
            "name": "campaign",
            "robot": {"model": model, "payload": {"frame": arm.frame, **PAYLOAD}, "start": {"q": start}},
            "control": {"law": "computed-torque"},
            "reference": {"kind": "recorded", "file": str(path)},
            "world": {"plant": {"joint_damping": [0.3] * n, "joint_friction": [0.4] * n, "rotor_inertia": [0.2] * n}},
            "run": {"duration": duration, "rate": 1000.0},
        })  # fmt: skip
        trace = pp.simulate(scenario)
    names = {name: robot.dof_names for name in ("q", "v", "tau")}
    return Log(
        "campaign", "palpate trace", "0" * 64, trace.time, trace["q"], trace["v"], trace["tau"], names=names
    ), robot
