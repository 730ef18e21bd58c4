"""Passivity at the tool of the sampled, delayed loop, from the map of its own tick.

Two environments are told apart:

- One that holds its force F over a control period, such as another sampled device. Over a period it gives the tool the
  energy F · Δp, Δp = T V̄ with V̄ the mean velocity, so that passivity is that of the discrete map from F to V̄,

      x⁺ = A x + B F,     V̄ = P (x⁺ − x) / T,     G(z) = P ((A − 1)(z − A)⁻¹ B + B) / T

  (P: the tool's displacement). It is exact: A stable and G(z) + G(z)ᴴ ≥ 0 on |z| = 1, the discrete positive-real
  condition (Hitz & Anderson, Proc. IEE 116, 1969). Its changes of sign are found from the pencil of G(z) + G(1/z)ᵀ.

- A continuous one, which may change its force at any time. Along a direction the law answers samples of the position by
  a force that is held, H(z), and the loop is passive if and only if the arm's own damping there exceeds

      b > max over 0 < ω T ≤ π of  T / 2 · Re((1 − e^(−jωT)) H(e^(jωT))) / (1 − cos ωT)

  (Colgate & Schenkel, J. Robotic Systems 14(1), 1997, for a mass with viscous damping; for a law that reads measured
  speeds, these are taken to be those that held forces give). H = 1/G − 1/G₀ follows from the responses of the position
  to a held force, with the law and with its command held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, NoSolution
from palpate.one_thread import one_thread
from palpate.run.assemble.assemble import Assembly
from palpate.run.tangent.loop_poles import MARGIN, LoopPoles, poles_here
from palpate.run.tangent.structure import loop_of

_ON_CIRCLE = 1e-5  # distance of |z| from 1 of a pencil's eigenvalue that is a crossing
_ROUNDING = 1e-7  # of |G|: a Hermitian part that is less negative is none
_GRID = 60  # further frequencies at which the condition is looked at
_SLOWEST = 1e-4  # rad per control tick, the lowest of them
_FINE = 2000  # frequencies at which the damping for a continuous environment is sought


@dataclass(frozen=True)
class HeldPassivity:
    """Passivity against environments that hold their force over a control period.

    Attributes:
        passive: whether the tool never gives more energy than it took.
        below: Hz, up to which it takes energy; infinite where it is passive, 0 where it is unstable.
        least: smallest eigenvalue of the Hermitian part of G over all frequencies, m/s per N (or rad/s per N·m).
    """

    passive: bool
    below: float
    least: float


def held_passivity(poles: LoopPoles, directions: Array | None = None) -> HeldPassivity:
    """Whether a loop is passive against forces that are held over its control period, exactly.

    Args:
        poles: with B and C (`probing`), of one control tick.
        directions: k×6, rows over the wrench [f; n] along which forces act, world axes; along all six if not given.

    Raises:
        InvalidInput: the map spans several ticks or lacks B and C.
        NoSolution: the poles are not known.
    """
    A, B, P = _port(poles, np.eye(6) if directions is None else np.atleast_2d(directions))
    if poles.largest > 1.0 + MARGIN:
        return HeldPassivity(False, 0.0, -math.inf)
    T = poles.period
    C, D = P @ (A - np.eye(len(A))) / T, P @ B / T
    with one_thread():
        edges = np.concatenate([[0.0], _crossings(A, B, C, D), [math.pi]])
        tried = np.unique(np.concatenate([0.5 * (edges[1:] + edges[:-1]), np.geomspace(_SLOWEST, math.pi, _GRID)]))
        parts = [_hermitian_part(A, B, C, D, w) for w in tried]
    gives = np.array([least < -_ROUNDING * max(size, float(np.abs(D).max())) for least, size in parts])
    least = min(value for value, _ in parts)
    if not gives.any():
        return HeldPassivity(True, math.inf, least)
    first = tried[int(np.argmax(gives))]
    return HeldPassivity(False, float(edges[edges < first].max()) / (2.0 * math.pi * T), least)


def _port(poles: LoopPoles, S: Array) -> tuple[Array, Array, Array]:
    """A, B and P of the loop, seen from the tool along the rows of S."""
    if poles.not_known is not None or poles.not_differentiable is not None:
        raise NoSolution(f"the poles of the loop are not known: {poles.not_known or poles.not_differentiable}")
    if poles.ticks != 1 or not poles.B.any() or not poles.C.any():
        raise InvalidInput("passivity needs the map of one control tick with B and C", hint="poles(…, probing=True)")
    at = {name: k for k, name in enumerate(poles.states)}
    moving = [k for k, name in enumerate(poles.states) if name.startswith("loop.plant.qvel[")]
    places = [k for k, name in enumerate(poles.states) if name.startswith("loop.plant.qpos[")]
    P = np.zeros((6, len(at)))
    P[:, places] = poles.C[:, moving]
    within, _ = loop_of(poles.A, poles.states, poles.B)
    kept = np.union1d(within, [*places, *moving])  # positions that nothing reads are where the tool is, too
    return poles.A[np.ix_(kept, kept)], poles.B[kept] @ S.T, S @ P[:, kept]


def _crossings(A: Array, B: Array, C: Array, D: Array) -> Array:
    """Angles at which G(z) + G(1/z)ᵀ is singular on the unit circle, rising."""
    n, m, one, none = len(A), B.shape[1], np.eye(len(A)), np.zeros((len(A), len(A)))
    left = np.block([[A, none, B], [none, one, np.zeros((n, m))], [C, B.T, D + D.T]])
    right = np.block([[one, none, np.zeros((n, m))], [none, A.T, C.T], [np.zeros((m, 2 * n + m))]])
    scale = max(float(np.abs(D).max(initial=0.0)), 1e-300)
    left[2 * n :, :n] /= scale
    left[2 * n :, 2 * n :] /= scale
    left[2 * n :, n : 2 * n] /= scale
    z = np.asarray(scipy.linalg.eigvals(left, right, check_finite=False))
    z = z[np.isfinite(z) & (np.abs(np.abs(z) - 1.0) < _ON_CIRCLE)]
    angles: Array = np.abs(np.angle(z))
    return np.unique([angle.round(9) for angle in angles if _SLOWEST < angle < math.pi])


def _hermitian_part(A: Array, B: Array, C: Array, D: Array, angle: float) -> tuple[float, float]:
    """The smallest eigenvalue of (G + Gᴴ)/2, and the size of G."""
    G = C @ np.linalg.solve(np.exp(1j * angle) * np.eye(len(A)) - A, B.astype(complex)) + D
    return float(np.linalg.eigvalsh(0.5 * (G + G.conj().T))[0]), float(np.abs(G).max())


def needed_damping(assembly: Assembly, direction: Array) -> float:
    """N·s/m (N·m·s/rad) of the arm's own damping along a direction with which it is passive in a continuous world.

    Args:
        assembly: of a run that stands between two control ticks; it commands torques.
        direction: 6, over the wrench [f; n] at the tool, world axes; one of length 1.

    Raises:
        InvalidInput: the law does not command torques, or nothing moves along the direction.
        NoSolution: the poles are not known.
    """
    S = finite_array(direction, "direction", (6,))[None]
    if assembly.law.command != "torque":
        raise InvalidInput("a continuous environment is asked about for laws that command torques")
    closed = _port(poles_here(assembly, finer=False), S)
    with command_held(assembly):
        opened = _port(poles_here(assembly, finer=False), S)
    if not closed[2].any() or not closed[1].any():
        raise InvalidInput("the tool does not move along this direction")
    T, w = assembly.loop.period, np.geomspace(1e-3, math.pi, _FINE)
    H = np.array([1.0 / _position(*closed, x) - 1.0 / _position(*opened, x) for x in w])
    return float((0.5 * T * np.real((1.0 - np.exp(-1j * w)) * H) / (1.0 - np.cos(w))).max())


def _position(A: Array, B: Array, P: Array, angle: float) -> complex:
    """Position per held force at a frequency."""
    z = np.exp(1j * angle)
    return complex((P @ np.linalg.solve(z * np.eye(len(A)) - A, B.astype(complex)))[0, 0])


@contextmanager
def command_held(assembly: Assembly) -> Iterator[None]:
    """Let the driver go on with the torque that it sent last."""
    L, d = assembly.loop, assembly.loop.drives
    share, shaping, sent = d.share, d.shaping, np.array(d.sent)
    d.share, d.shaping = 0.0, True
    d.sent[:] = np.asarray(d.torque) - (np.asarray(L.tick.gravity) if d.adds_gravity else 0.0)
    try:
        yield
    finally:
        d.share, d.shaping, d.sent[:] = share, shaping, sent
