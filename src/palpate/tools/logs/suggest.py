"""A motion that would tell what a recording could not: a Fourier series within the arm's limits.

Swevers, Ganseman, Tükel, De Schutter, Van Brussel, IEEE T-RA 13(5), 1997, doi:10.1109/70.631234: band-limited,
starting and ending at rest. Candidates are drawn at random and scaled to 80 % of position, 60 % of speed and 50 % of
acceleration limits; kept is the one that tells most parameters, then the one of least condition number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.logs.balance import told_apart
from palpate.tools.logs.identify import KINDS, Identification
from palpate.tools.logs.model import Arm

BASE, HARMONICS, DURATION, RAMP = 0.05, 8, 20.0, 2.0  # Hz, 1, s, s
CANDIDATES = 40
_POSITION, _SPEED, _ACCELERATION, _TORQUE = 0.8, 0.6, 0.5, 0.7  # shares of the limits
_FREE_SPEED, _FREE_ACCELERATION = 1.0, 3.0  # rad/s, rad/s² where the model has no limit


@dataclass(frozen=True)
class Suggestion:
    """A motion to record.

    Attributes:
        time, q: s, rad; 100 rows per s.
        condition: of the scaled regressor, and of the recording's.
        told: parameters that it would tell and the recording did not.
        never: parameters that no motion of this arm tells by themselves.
    """

    time: Array
    q: Array
    condition: float
    told: tuple[str, ...]
    never: tuple[str, ...]
    joints: tuple[str, ...]

    @property
    def csv(self) -> str:
        """A table that the reference `recorded` follows."""
        lines = ["time," + ",".join(f"q[{joint}]" for joint in self.joints)]
        lines += [",".join(f"{x:.9g}" for x in (t, *row)) for t, row in zip(self.time, self.q)]
        return "\n".join(lines) + "\n"

    @property
    def sentence(self) -> str:
        """A sentence on what the motion would identify."""
        told = ", ".join(self.told) or "nothing that this one does not"
        never = f" No motion tells {', '.join(self.never)} alone." if self.never else ""
        return (
            f"A motion of {self.time[-1]:.0f} s (condition number {self.condition:.3g}) would tell: {told}.{never}"
            " Collisions were not looked at."
        )


def suggested(result: Identification, seed: int = 0) -> Suggestion:
    """The best of random candidates for what a recording refused.

    Raises:
        InvalidInput: no candidate stays within the torque limits.
    """
    arm, rng = result.arm, np.random.default_rng(seed)
    missing = [name for name, q in result.quantities.items() if q.reason]
    best: tuple[int, float, Array, dict[str, str]] | None = None
    time = np.arange(0.0, DURATION + 1e-9, 0.01)
    for _ in range(CANDIDATES):
        q = _candidate(arm, time, rng)
        v, a = np.gradient(q, time, axis=0), np.gradient(np.gradient(q, time, axis=0), time, axis=0)
        torque = arm.rigid(q, v, a) + arm.regressor(q, v, a, 0.05) @ result.identified
        if np.any(np.abs(torque) > _TORQUE * arm.robot.limits.torque):
            continue
        refused, condition = _told(arm, (q, v, a), torque)
        score = (len([name for name in missing if name in refused]), condition)
        if best is None or score < best[:2]:
            best = (*score, q, refused)
    if best is None:
        raise InvalidInput("no motion was found that keeps 70 % of the torque limits", hint="is the load too heavy?")
    refused = best[3]
    told = tuple(name for name in missing if name not in refused)
    never = tuple(name for name, why in refused.items() if "only on a sum" in why or "excite" in why)
    return Suggestion(time, best[2], best[1], told, never, arm.robot.dof_names)


def _candidate(arm: Arm, time: Array, rng: np.random.Generator) -> Array:
    limits, n = arm.robot.limits, arm.robot.nv
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    wave = np.zeros((len(time), n))
    for k in range(1, HARMONICS + 1):
        phase = rng.uniform(0, 2 * np.pi, n)
        wave += rng.normal(size=n) / k * np.sin(2 * np.pi * k * BASE * time[:, None] + phase)
    edge = np.clip(np.minimum(time, time[-1] - time) / RAMP, 0.0, 1.0)
    wave *= (edge**3 * (10 - 15 * edge + 6 * edge**2))[:, None]
    speed, rate = np.gradient(wave, time, axis=0), np.gradient(np.gradient(wave, time, axis=0), time, axis=0)
    fast = np.where(np.isfinite(limits.velocity), _SPEED * limits.velocity, _FREE_SPEED)
    hard = np.where(np.isfinite(limits.acceleration), _ACCELERATION * limits.acceleration, _FREE_ACCELERATION)
    middle = np.clip(arm.robot.home, lower + 0.3 * (upper - lower), upper - 0.3 * (upper - lower))
    room = _POSITION * np.minimum(upper - middle, middle - lower)
    scale = np.minimum.reduce([room / np.abs(wave).max(0), fast / np.abs(speed).max(0), hard / np.abs(rate).max(0)])
    return middle + scale * wave


def _told(arm: Arm, motion: tuple[Array, Array, Array], torque: Array) -> tuple[dict[str, str], float]:
    """Parameters that a motion cannot identify, with reasons, and the condition number of the others."""
    wanted = np.zeros(len(arm.names), dtype=bool)
    for kind in KINDS:
        wanted[arm.columns(kind)] = True
    X = arm.regressor(*motion, 0.05)[::5, :, wanted]
    X = np.concatenate([X, -np.gradient(torque, 0.01, axis=0)[::5, :, None]], axis=2)
    w = np.broadcast_to(1.0 / np.maximum(np.std(torque, axis=0), 1e-6), X.shape[:2])
    basis, refused = told_apart(X, w, [*(arm.names[k] for k in np.flatnonzero(wanted)), ""])
    singular = np.linalg.svd(((X @ basis) * w[:, :, None]).reshape(-1, basis.shape[1]), compute_uv=False)
    return refused, float(singular[0] / singular[-1])
