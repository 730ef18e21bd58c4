"""Bias of a wrist's wrench sensor, and what hangs on it, from motion without contact.

In the sensor's axes the environment's wrench on the robot is  F = −W(q, q̇, q̈) π + b  while nothing else touches: W is
the regressor of a body on the sensor's frame, π = (m, m c, I) of what lies beyond the sensor and b the bias. Rows of
contact are found by what a robust fit (least sum of sizes) leaves there, and left out with their neighbourhood.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from palpate.checks import Array
from palpate.robot import Robot
from palpate.tools.logs.balance import block_length, deviations, solve, told_apart
from palpate.tools.logs.cleaning import Motion, Run
from palpate.tools.logs.columns import Log
from palpate.tools.logs.identify import SAFETY, Quantity
from palpate.tools.logs.model import BODY, BODY_UNITS, frame_jacobian, load_wrench

BIAS = ("x", "y", "z", "rx", "ry", "rz")
_BODY = tuple(f"sensor {name}" for name in BODY)
_UNITS = (*BODY_UNITS, "N", "N", "N", "N·m", "N·m", "N·m")
_OUTLIER, _FEWEST = 4.0, 0.4  # medians of a residual in contact; share of rows that must be free


def wrench_bias(log: Log, robot: Robot, motion: Motion) -> dict[str, Quantity]:
    """Bias of each axis and the body beyond the sensor; empty where the wrench is not given in a frame of the robot."""
    if log.wrench is None or log.wrench_frame in ("", "world"):
        return {}
    parts = [_rows(run, robot, motion, log.wrench_frame) for run in motion.runs if "wrench" in run.more]
    if not parts:
        return {}
    y, X = (np.concatenate(one) for one in zip(*parts))
    run = np.repeat(np.arange(len(parts)), [len(one[0]) for one in parts])
    names = [*_BODY, *(f"bias {axis}" for axis in BIAS)]
    use = _free(X, y, int(1.0 / (motion.filter.cutoff * motion.period)))
    if use.mean() < _FEWEST:
        reason = f"the tool touches something in {1 - use.mean():.0%} of the rows"
        return {n: Quantity(n, u, np.nan, np.nan, np.nan, np.nan, reason) for n, u in zip(names, _UNITS)}
    y, X, run = y[use], X[use], run[use]
    weight = _weights(X, y)
    basis, refused = told_apart(X, weight, names)
    theta, residual = solve(X, y, weight, np.ones_like(y, dtype=bool), basis)
    block = block_length(residual, np.ones_like(y, dtype=bool))
    spread, blocks = deviations(X, y, (weight, run, basis), block)
    half = SAFETY * float(student.ppf(0.975, max(blocks - 1, 1))) * spread
    quantities = {}
    for k, (name, unit) in enumerate(zip(names, _UNITS)):
        value = float(theta[k])
        quantities[name] = Quantity(name, unit, value, value - half[k], value + half[k], float(half[k]))
        if name in refused:
            quantities[name] = Quantity(name, unit, np.nan, np.nan, np.nan, np.nan, refused[name])
    return quantities


def _rows(run: Run, robot: Robot, motion: Motion, frame: str) -> tuple[Array, Array]:
    """Filtered wrenches, (N, 6), and columns of the body and the bias, (N, 6, 16)."""
    low_pass = motion.filter
    V = low_pass(run.v)
    A = np.gradient(V, motion.period, axis=0)
    terms = robot.terms_batch(run.q, V, frame)
    acceleration = np.einsum("nij,nj->ni", terms.J, A) + terms.drift
    body = -load_wrench(terms, frame_jacobian(terms), V, acceleration, robot.model.opt.gravity)
    bias = np.broadcast_to(np.eye(6), (len(V), 6, 6))
    inner = slice(low_pass.edge, len(V) - low_pass.edge)
    return low_pass(run.more["wrench"])[inner], low_pass(np.concatenate([body, bias], axis=2))[inner]


def _weights(X: Array, y: Array) -> Array:
    """1/σ of each axis, from the residual of an unweighted fit."""
    left = _left(X, y, np.ones(len(y)))
    scale = np.sqrt(np.mean(left**2, axis=0))
    return np.broadcast_to(1.0 / np.maximum(scale, 1e-9), y.shape)


def _left(X: Array, y: Array, weight: Array) -> Array:
    w = weight[:, None]
    theta = np.linalg.lstsq((X * w[:, :, None]).reshape(-1, X.shape[2]), (y * w).reshape(-1), rcond=1e-9)[0]
    return y - X @ theta


def _free(X: Array, y: Array, reach: int) -> Array:
    """Rows without contact within the filter's reach: by the fit of least sums of sizes, which contact hardly moves."""
    weight = np.ones(len(y))
    size = weight
    for _ in range(12):
        size = np.linalg.norm(_left(X, y, weight)[:, :3], axis=1)
        weight = 1.0 / np.sqrt(np.maximum(size, 1e-3 * max(float(np.median(size)), 1e-9)))
    touched = size > _OUTLIER * max(float(np.median(size)), 1e-9)
    near = np.convolve(touched, np.ones(2 * reach + 1), mode="same") > 0.5 * reach  # single rows are noise
    return ~(touched | near)
