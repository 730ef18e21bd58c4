"""Open-loop rollouts: the model under the recorded torques, from a recorded state on, beside what the arm did.

A step is the plant's own: (M + h D)(v⁺ − v) = h (τ − C v − g − D v) + h f with Coulomb torques |fᵢ| ≤ Fᵢ solved
together (`world.plants.joint_friction`), then q⁺ = q + h v⁺. Many windows and many parameter vectors run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.logs.cleaning import Motion, Run
from palpate.tools.logs.model import Arm, frame_jacobian, load_inertia, load_wrench
from palpate.world.plants.joint_friction import FrictionWork, solve_joint_friction

HORIZONS = (0.1, 0.5, 2.0)  # s
LONGEST_STEP = 0.002  # s, of the integration


@dataclass(frozen=True)
class Windows:
    """Stretches of a recording to run the model beside.

    Attributes:
        q, v: states at the rows, (windows, rows + 1, n).
        torque: at the rows, (windows, rows + 1, n).
        period: s, between rows.
    """

    q: Array
    v: Array
    torque: Array
    period: float

    @property
    def rows(self) -> int:
        """Rows of a window after its first."""
        return self.q.shape[1] - 1


def windows_of(motion: Motion, length: float, count: int, share: tuple[float, float], shift: float = 0.0) -> Windows:
    """Windows of `length` s, evenly over a share of each run; torques moved earlier by `shift` s."""
    rows = max(1, round(length / motion.period))
    parts: list[tuple[Run, int]] = []
    usable = [run for run in motion.runs if len(run.time) * (share[1] - share[0]) > rows + 2]
    for run in usable:
        first, last = round(share[0] * len(run.time)), round(share[1] * len(run.time)) - rows - 1
        starts = np.unique(np.linspace(first, last, max(1, count // len(usable))).astype(int))
        parts += [(run, int(k)) for k in starts]
    if not parts:
        raise InvalidInput(f"no run of the recording is long enough for rollouts of {length:g} s")

    def cut(values):
        return np.stack([values(run)[k : k + rows + 1] for run, k in parts])

    return Windows(cut(lambda r: r.q), cut(lambda r: r.v), cut(lambda r: moved_torque(r, shift)), motion.period)


def moved_torque(run: Run, shift: float) -> Array:
    """The torques of a run `shift` s earlier, by linear interpolation."""
    if shift == 0.0:
        return run.torque
    return np.stack([np.interp(run.time + shift, run.time, column) for column in run.torque.T], axis=1)


def rollout(arm: Arm, windows: Windows, parameters: Array, stribeck: float, at: Sequence[int]) -> Array:
    """Positions of the model at some rows of each window, (windows, len(at), n).

    Args:
        arm: the arm.
        windows: where to start, and the torques.
        parameters: one vector for all windows, or one for each.
        stribeck: v_s, rad/s.
        at: rows, rising.
    """
    theta = np.broadcast_to(parameters, (len(windows.q), len(arm.names)))
    within = max(1, int(np.ceil(windows.period / LONGEST_STEP - 1e-9)))
    h = windows.period / within
    q, v = windows.q[:, 0].copy(), windows.v[:, 0].copy()
    load = _Load(arm, theta)
    out = np.empty((len(q), len(at), q.shape[1]))
    wanted = {row: k for k, row in enumerate(at)}
    for row in range(1, max(at) + 1):
        before, after = windows.torque[:, row - 1], windows.torque[:, row]
        for k in range(within):
            torque = before if within == 1 else before + (after - before) * ((k + 0.5) / within)
            v = _next_velocity(arm, (q, v, torque, theta), load, stribeck, h)
            q = q + h * v
        if row in wanted:
            out[:, wanted[row]] = q
    return out


class _Load:
    """The load's part of M and of the bias, for each vector of parameters."""

    def __init__(self, arm: Arm, theta: Array) -> None:
        self.arm, self.body = arm, theta[:, :10]
        self.any, self.inertia = bool(np.any(self.body)), load_inertia(self.body)

    def add(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Mass matrices and biases of the arm with its load."""
        arm = self.arm
        terms = arm.robot.terms_batch(q, v, arm.frame)
        if not self.any:
            return terms.M, terms.bias
        J = frame_jacobian(terms)
        wrench = np.einsum("nij,nj->ni", load_wrench(terms, J, v, terms.drift, arm.robot.model.opt.gravity), self.body)
        M = terms.M + np.swapaxes(J, 1, 2) @ self.inertia @ J
        return M, terms.bias + np.einsum("nij,ni->nj", J, wrench)


def _next_velocity(arm: Arm, state: tuple[Array, Array, Array, Array], load: _Load, stribeck: float, h: float) -> Array:
    q, v, torque, theta = state
    viscous, coulomb, rotor, offset, more = (
        theta[:, arm.columns(k)] for k in ("viscous", "coulomb", "rotor", "offset", "stribeck")
    )
    # far away is far away: a model that diverged stays where it is
    lost: Array = np.asarray(~(np.abs(q) < 1e3).all(axis=1) | ~(np.abs(v) < 1e3).all(axis=1))
    q, v = np.where(lost[:, None], 0.0, q), np.where(lost[:, None], 0.0, v)
    M, bias = load.add(q, v)
    n = v.shape[1]
    index = np.arange(n)
    M = M.copy()
    M[:, index, index] += rotor + h * np.maximum(viscous, 0.0)
    b = np.einsum("nij,nj->ni", M, v) + h * (torque - bias - viscous * v - offset)
    bound = h * np.maximum(coulomb + more * np.exp(-((v / stribeck) ** 2)), 0.0)
    side = np.sign(v)
    new = np.linalg.solve(M, (b - bound * side)[..., None])[..., 0]
    turned = np.flatnonzero(((new * side <= 0) & (bound > 0)).any(axis=1) & ~lost)
    work = FrictionWork({"N": n})
    for k in turned:
        guess = v[k].copy()
        solve_joint_friction(np.ascontiguousarray(M[k]), b[k].copy(), bound[k].copy(), guess, work)
        new[k] = guess
    return np.where(lost[:, None], np.nan, new)


@dataclass(frozen=True)
class Judgement:
    """Errors of models on windows that no fit has seen.

    Attributes:
        horizons: s.
        errors: by model, root mean square of the tool's distance at each horizon, m.
        windows: how many.
        floor: m, by which the fit's own torque residual moves the tool in that time.
    """

    horizons: tuple[float, ...]
    errors: dict[str, tuple[float, ...]]
    windows: int
    floor: tuple[float, ...] = ()

    @property
    def floor_sentence(self) -> str:
        """Sentence on how far the torque residual alone moves a rollout."""
        told = ", ".join(f"{millimetres(x)} mm after {h:g} s" for h, x in zip(self.horizons, self.floor))
        return f"the torque residual that the fit leaves, held for as long, moves the tool by {told}"

    def better(self, one: str, other: str) -> bool:
        """Whether a model beats another at every horizon."""
        return all(a < b for a, b in zip(self.errors[one], self.errors[other]))


def millimetres(metres: float) -> str:
    """A length for a table; a rollout that never came to an end diverges."""
    return f"{1e3 * metres:.3g}" if np.isfinite(metres) else "diverges"


def residual_floor(arm: Arm, motion: Motion, rms: Array, rotor: Array, horizons: Sequence[float]) -> tuple[float, ...]:
    """Tool errors √Σⱼ |½ h² J M⁻¹ eⱼ rⱼ|² of torque errors rⱼ held for h, root mean square over the runs, m."""
    states = np.concatenate([run.q[:: max(1, len(run.q) // 24)] for run in motion.runs])
    terms = arm.robot.terms_batch(states, np.zeros_like(states))
    M = terms.M + np.eye(arm.robot.nv) * np.maximum(rotor, 0.0)
    moved = terms.J[:, :3] @ np.linalg.inv(M) * np.nan_to_num(rms)
    per_square = float(np.sqrt(np.mean(np.sum(moved**2, axis=(1, 2)))))
    return tuple(0.5 * h * h * per_square for h in horizons)


def compare_models(
    motion: Motion, arm: Arm, models: dict[str, tuple[Array, float, float]], share: tuple[float, float] = (0.7, 1.0)
) -> Judgement:
    """Judge models by held-out rollouts at 0.1, 0.5 and 2 s.

    Args:
        motion: the recording.
        arm: the arm.
        models: parameters, Stribeck speed and time shift of each, by name.
        share: the part of each run that no fit has seen.
    """
    longest = max((len(run.time) for run in motion.runs), default=0) * motion.period * (share[1] - share[0])
    horizons = tuple(h for h in HORIZONS if h < longest - 2 * motion.period) or (0.5 * longest,)
    errors, count = {}, 0
    for name, (theta, stribeck, shift) in models.items():
        windows = windows_of(motion, horizons[-1], 24, share, shift)
        rows = sorted({max(1, round(h / motion.period)) for h in horizons})
        reached = rollout(arm, windows, theta, stribeck, rows)
        errors[name] = tuple(_tool_error(arm, reached[:, k], windows.q[:, row]) for k, row in enumerate(rows))
        count = len(windows.q)
    return Judgement(horizons, errors, count)


def _tool_error(arm: Arm, reached: Array, measured: Array) -> float:
    good = np.isfinite(reached).all(axis=1) & (np.abs(reached) < 1e3).all(axis=1)
    if not good.all():
        return float("inf")
    distance = arm.robot.pose_batch(reached)[0] - arm.robot.pose_batch(measured)[0]
    return float(np.sqrt(np.mean(np.sum(distance**2, axis=1))))


def refined(
    motion: Motion,
    arm: Arm,
    start: Array,
    deviation: Array,
    settings: tuple[float, float, tuple[float, float]],
    length: float = 0.25,
    count: int = 24,
) -> tuple[Array, float]:
    """Parameters that bring short rollouts nearest to the recording: Gauss–Newton, held to the balance's loosely; and
    the root mean square error that is left, rad.

    Args:
        motion: the recording.
        arm: the arm.
        start: parameters of the torque balance.
        deviation: their standard deviations, NaN where a parameter stays.
        settings: Stribeck speed, time shift, and the share of each run that may be seen.
        length: s, of a rollout.
        count: how many rollouts.
    """
    stribeck, shift, share = settings
    windows = windows_of(motion, length, count, share, shift)
    rows = sorted({max(1, windows.rows // 3), max(1, 2 * windows.rows // 3), windows.rows})
    free = np.flatnonzero(np.isfinite(deviation) & (deviation > 0))
    measured = np.stack([windows.q[:, row] for row in rows], axis=1)
    scale, theta = np.maximum(deviation[free], 1e-12), start.copy()
    best, cost = start, np.inf
    for _ in range(8):
        error, slope = _sensitivity(arm, windows, theta, (free, scale), stribeck, rows, measured)
        if not np.isfinite(error).all():
            break
        weight = 1.0 / np.maximum(np.sqrt(np.mean(error**2, axis=(0, 1))), 1e-9)
        now = float(np.mean(error**2))
        if now >= cost * (1 - 1e-3):
            break
        best, cost = theta.copy(), now
        A, b = (slope * weight[:, None]).reshape(-1, len(free)), (error * weight).reshape(-1)
        loose = 0.01 * np.eye(len(free))
        step = np.linalg.lstsq(
            np.vstack([A, loose]), np.concatenate([-b, loose @ ((start - theta)[free] / scale)]), rcond=None
        )[0]
        theta = theta.copy()
        theta[free] += step * scale
    return best, float(np.sqrt(cost))


def _sensitivity(
    arm: Arm,
    windows: Windows,
    theta: Array,
    free: tuple[Array, Array],
    stribeck: float,
    rows: Sequence[int],
    measured: Array,
) -> tuple[Array, Array]:
    """Errors at the rows, and their slopes along each free parameter in units of its scale."""
    which, scale = free
    W, P = len(windows.q), len(which) + 1
    all_theta = np.repeat(theta[None], P, axis=0)
    step = 0.1 * scale
    all_theta[np.arange(1, P), which] += step

    def tile(values):
        return np.tile(values, (P, 1, 1))

    many = Windows(tile(windows.q), tile(windows.v), tile(windows.torque), windows.period)
    reached = rollout(arm, many, np.repeat(all_theta, W, axis=0), stribeck, rows).reshape(P, W, len(rows), -1)
    error = reached[0] - measured
    slope = np.moveaxis((reached[1:] - reached[0]) / 0.1, 0, -1)
    return error, slope
