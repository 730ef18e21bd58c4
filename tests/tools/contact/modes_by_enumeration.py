"""Planar bodies at rest on two frictional contacts: every consistent motion, by trying every combination of modes.

Written apart from the package, for its tests: from the body's mass, inertia and the points' positions alone. All states
of a batch are solved at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

FREE, STICK, FORWARD, BACKWARD = "free", "stick", "forward", "backward"
CLEAR = 1e-9


@dataclass
class PlanarStates:
    """N states of a body of mass m and inertia I about its centre, at rest, each with two contacts.

    Attributes:
        mass, inertia: N.
        lever: N × 2 × 2, touching point less centre of mass, x and z, of each contact.
        normal: N × 2 × 2, unit normals into the free side.
        friction: N × 2.
        force: N × 3, what else acts: force x, z and torque (turning x towards z).
    """

    mass: np.ndarray
    inertia: np.ndarray
    lever: np.ndarray
    normal: np.ndarray
    friction: np.ndarray
    force: np.ndarray

    def __post_init__(self) -> None:
        self.tangent = np.stack([self.normal[..., 1], -self.normal[..., 0]], axis=-1)
        self.Jn, self.Jt = self._row(self.normal), self._row(self.tangent)

    def _row(self, d: np.ndarray) -> np.ndarray:
        """Velocity along d of a point at r over (ẋ, ż, ω): d·(ẋ − ω r_z, ż + ω r_x)."""
        turn = d[..., 1] * self.lever[..., 0] - d[..., 0] * self.lever[..., 1]
        return np.concatenate([d, turn[..., None]], axis=-1)

    def moving(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(accelerations N × 3, whether consistent) of every combination in which at most one contact sticks."""
        found = []
        for modes in itertools.product((FREE, STICK, FORWARD, BACKWARD), repeat=2):
            if modes != (STICK, STICK):
                found.append(self._solve(modes))
        return found

    def _solve(self, modes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.mass)
        A, b = np.zeros((count, 7, 7)), np.zeros((count, 7))
        for k, size in enumerate((self.mass, self.mass, self.inertia)):
            A[:, k, k] = size
        b[:, :3] = self.force
        for i, mode in enumerate(modes):
            fn, ft = 3 + 2 * i, 4 + 2 * i
            A[:, :3, fn], A[:, :3, ft] = -self.Jn[:, i], -self.Jt[:, i]
            if mode == FREE:
                A[:, fn, fn] = A[:, ft, ft] = 1.0
                continue
            A[:, fn, :3] = self.Jn[:, i]
            if mode == STICK:
                A[:, ft, :3] = self.Jt[:, i]
            else:
                sign = 1.0 if mode == FORWARD else -1.0
                A[:, ft, ft], A[:, ft, fn] = 1.0, sign * self.friction[:, i]
        regular = np.abs(np.linalg.det(A)) > 1e-9
        x = np.zeros((count, 7))
        x[regular] = np.linalg.solve(A[regular], b[regular][..., None])[..., 0]
        good = regular.copy()
        for i, mode in enumerate(modes):
            fn, ft = x[:, 3 + 2 * i], x[:, 4 + 2 * i]
            opening, along = (np.einsum("nk,nk->n", J[:, i], x[:, :3]) for J in (self.Jn, self.Jt))
            good &= (opening > -CLEAR) & (fn > -CLEAR) & (np.abs(ft) < self.friction[:, i] * fn + CLEAR)
            if mode in (FORWARD, BACKWARD):
                good &= along * (1.0 if mode == FORWARD else -1.0) > -CLEAR
        return x[:, :3], good

    def rest_margin(self) -> np.ndarray:
        """How far forces inside both cones hold the body at rest: positive where they do, N.

        Four forces balance three equations: f = f₀ + s k, and every condition bounds s from one side.
        """
        J = np.stack([self.Jn[:, 0], self.Jt[:, 0], self.Jn[:, 1], self.Jt[:, 1]], axis=1)  # N × 4 × 3
        Vt = np.linalg.svd(np.swapaxes(J, 1, 2))[2]
        f0 = np.einsum("nij,nj->ni", np.linalg.pinv(np.swapaxes(J, 1, 2)), -self.force)
        missing = np.abs(np.einsum("nij,ni->nj", J, f0) + self.force).max(axis=1) > 1e-8
        kernel = Vt[:, 3]
        low, high = np.full(len(f0), -np.inf), np.full(len(f0), np.inf)
        for i in (0, 1):
            for sign in (1.0, -1.0):  # μ fn − sign ft ≥ 0
                c0, c1 = (self.friction[:, i] * f[:, 2 * i] - sign * f[:, 2 * i + 1] for f in (f0, kernel))
                with np.errstate(divide="ignore", invalid="ignore"):
                    bound = -c0 / c1
                low = np.where(c1 > 1e-12, np.maximum(low, bound), low)
                high = np.where(c1 < -1e-12, np.minimum(high, bound), high)
                high = np.where((np.abs(c1) <= 1e-12) & (c0 < 0), -np.inf, high)
        return np.where(missing, -np.inf, high - low)
