"""A pole balanced on the tool: its equations, its linear models, and its feedback gains.

Point A is the foot of the pole on the end-effector (mass m_e), B the sphere (mass m_s) at distance l. The
pole has no mass; a rod of mass m_r moves the centre of mass to c = (m_s + m_r/2) l / m, m = m_s + m_r, and gives the
moment I = (m_s + m_r/3) l² about A. The hinge has no friction. r = AB, f is the force on the end-effector from the arm,
g e_z points up. With n = r/l, G = a_A + g e_z and β = m c²/I (1 for a massless pole):

    n̈ = −|ṅ|² n − (m c/I) (1 − n nᵀ) G,   f_B = m ((1 − β) G + β (n·G) n − c |ṅ|² n),   m_e G = f − f_B
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.engine.kernels import kernel
from palpate.engine.records import Kept, Record, Vector, sized
from palpate.errors import InvalidInput


class PoleDynamics(Record):
    """End-effector and pole in compiled code: its numbers, its state, the force on it, and what follows."""

    length: float
    mass: float  # m, of pole and sphere
    centre: float  # c
    moment: float  # I
    end_effector_mass: float
    gravity: float
    r: Vector = sized(3)  # AB, m
    r_rate: Vector = sized(3)
    f: Kept[Vector] = sized(3)  # of the arm on the end-effector, N
    a_A: Vector = sized(3)  # acceleration of the foot
    f_B: Kept[Vector] = sized(3)  # force of the end-effector on the pole


@kernel
def pole_accelerations(s: PoleDynamics) -> None:
    """Closed form of the coupled accelerations; see `PoleModel.accelerations`."""
    l, m, m_e, r = s.length, s.mass, s.end_effector_mass, s.r
    beta = m * s.centre**2 / s.moment
    push = (s.f[0] * r[0] + s.f[1] * r[1] + s.f[2] * r[2]) / l
    swing = m * s.centre * (s.r_rate[0] ** 2 + s.r_rate[1] ** 2 + s.r_rate[2] ** 2) / l**2
    lift = (push + swing) / (m_e + m)  # n·G
    for i in range(3):
        G = (s.f[i] + (swing - m * beta * lift) * r[i] / l) / (m_e + m * (1.0 - beta))
        s.f_B[i] = s.f[i] - m_e * G
        s.a_A[i] = G
    s.a_A[2] -= s.gravity


@dataclass(frozen=True)
class PoleModel:
    """End-effector and pole as a system of their own.

    Attributes:
        length: l, m.
        sphere_mass: m_s, kg.
        end_effector_mass: m_e, kg.
        gravity: g, m/s².
        rod_mass: m_r, kg; none by default.
    """

    length: float = 1.0
    sphere_mass: float = 0.1
    end_effector_mass: float = 1.0
    gravity: float = 9.81
    rod_mass: float = 0.0

    def __post_init__(self) -> None:
        finite_number(self.rod_mass, "rod_mass", least=0.0)
        for name in ("length", "sphere_mass", "end_effector_mass"):
            finite_number(getattr(self, name), name, above=0.0)
        finite_number(self.gravity, "gravity", least=0.0)

    @property
    def mass(self) -> float:
        """m, of pole and sphere, kg."""
        return self.sphere_mass + self.rod_mass

    @property
    def centre(self) -> float:
        """c, from the foot to the centre of mass, m."""
        return (self.sphere_mass + 0.5 * self.rod_mass) * self.length / self.mass

    @property
    def moment(self) -> float:
        """I, about the foot, kg·m²."""
        return (self.sphere_mass + self.rod_mass / 3.0) * self.length**2

    @property
    def lead(self) -> float:
        """κ = l m c / I: ẍ_AB = κ (g x_AB / l − ẍ_A) near the upright; 1 without a rod's mass."""
        return self.length * self.mass * self.centre / self.moment

    def accelerations(self, r: ArrayLike, r_rate: ArrayLike, force: ArrayLike) -> tuple[Array, Array, Array]:
        """(a_A, a_B, f_B): accelerations of foot and sphere, and the force of the end-effector on the pole.

        Without a rod's mass: N = μ (f·r / (l m_e) − |ṙ|² / l), f_B = N r / l, a_A = (f − f_B) / m_e − g e_z,
        a_B = f_B / m_s − g e_z, with μ = m_e m_s / (m_e + m_s); with it, see the module's docstring. Holds for every
        direction of the pole, hanging ones included.
        """
        r, r_rate = finite_array(r, "r", (3,)), finite_array(r_rate, "r_rate", (3,))
        f = finite_array(force, "force", (3,))
        if abs(np.linalg.norm(r) - self.length) > 1e-6 * self.length:
            raise InvalidInput(f"r must have the pole's length {self.length:g} m, got {np.linalg.norm(r):g} m")
        pole = self.dynamics()
        pole.r[:], pole.r_rate[:], pole.f[:] = r, r_rate, f
        pole_accelerations(pole)
        G, n = pole.a_A + np.array([0.0, 0.0, self.gravity]), r / self.length
        r_acceleration = -(r_rate @ r_rate) / self.length * n - self.lead * (G - (n @ G) * n)  # r̈
        return pole.a_A, pole.a_A + r_acceleration, pole.f_B

    def dynamics(self) -> PoleDynamics:
        """The same for compiled code."""
        names = ("length", "mass", "centre", "moment", "end_effector_mass", "gravity")
        return PoleDynamics(**{name: getattr(self, name) for name in names})

    def mass_and_bias(self, xy: ArrayLike, xy_rate: ArrayLike) -> tuple[Array, Array]:
        """M and C of M [a_A; ẍ_AB; ÿ_AB] + C = [f; 0; 0] for a massless pole; upper hemisphere only."""
        if self.rod_mass > 0:
            raise InvalidInput("these matrices are of a massless pole", hint="use accelerations")
        x, y = finite_array(xy, "xy", (2,))
        u, v = finite_array(xy_rate, "xy_rate", (2,))
        m_e, m_s, l, g = self.end_effector_mass, self.sphere_mass, self.length, self.gravity
        if x * x + y * y >= l * l:
            raise InvalidInput(f"the pole must point up: x² + y² = {x * x + y * y:g} must be below l² = {l * l:g}")
        z = np.sqrt(l * l - x * x - y * y)
        M = np.diag([m_e + m_s] * 3 + [m_s + m_s * x * x / z**2, m_s + m_s * y * y / z**2])
        M[0, 3] = M[3, 0] = M[1, 4] = M[4, 1] = m_s
        M[2, 3] = M[3, 2] = -m_s * x / z
        M[2, 4] = M[4, 2] = -m_s * y / z
        M[3, 4] = M[4, 3] = m_s * x * y / z**2
        swing = (u * u * (l * l - y * y) + v * v * (l * l - x * x) + 2 * x * y * u * v) / z**3
        common = (u * u + v * v) / z**2 + (x * u + y * v) ** 2 / z**4
        C = np.array([0, 0, (m_e + m_s) * g - m_s * swing, 0, 0])
        C[3:] = m_s * np.array([x, y]) * (common - g / z)
        return M, C

    def linear_axis(self, hold_position: bool = True) -> tuple[Array, Array]:
        """(A, B) of one horizontal axis about the upright, input the force along it.

        States (x_A, ẋ_A, x_AB, ẋ_AB); without `hold_position` the printed (ẋ_A, x_AB, ẋ_AB), which cannot hold one.
        Upright: ẍ_A = (f − m β g x_AB / l) / m₁ with m₁ = m_e + m (1 − β), and ẍ_AB = κ (g x_AB / l − ẍ_A); without a
        rod's mass ẍ_A = f/m_e − (m_s/m_e) g x_AB / l, ẍ_AB = (m_e + m_s) g x_AB / (m_e l) − f / m_e.
        """
        l, g, kappa = self.length, self.gravity, self.lead
        share = self.mass * self.mass * self.centre**2 / self.moment  # m β
        moved = self.end_effector_mass + self.mass - share
        A, B = np.zeros((4, 4)), np.zeros((4, 1))
        A[0, 1] = A[2, 3] = 1.0
        A[1, 2] = -share * g / (moved * l)
        A[3, 2] = kappa * (g / l - A[1, 2])
        B[1, 0], B[3, 0] = 1.0 / moved, -kappa / moved
        return (A, B) if hold_position else (A[1:, 1:], B[1:])

    def linear_vertical(self, hold_position: bool = True) -> tuple[Array, Array]:
        """(A, B) of (z_A, ż_A), or of ż_A alone: the mass m_e + m under the force above its weight."""
        A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.zeros((2, 1))
        B[1, 0] = 1.0 / (self.end_effector_mass + self.mass)
        return (A, B) if hold_position else (A[1:, 1:], B[1:])

    def gains(self, hold_position: bool = True, state_weight: ArrayLike = 1.0, effort_weight: float = 1.0) -> Array:
        """LQR gains of one horizontal axis: f = −K x, minimising ∫ xᵀ diag(state_weight) x + effort_weight f²."""
        return _lqr(*self.linear_axis(hold_position), state_weight, effort_weight)

    def vertical_gains(
        self, hold_position: bool = True, state_weight: ArrayLike = 1.0, effort_weight: float = 1.0
    ) -> Array:
        """LQR gains of the vertical axis, as `gains`."""
        return _lqr(*self.linear_vertical(hold_position), state_weight, effort_weight)

    def slowest_rate(self, gains: Array) -> float:
        """How fast the slowest motion dies out under six gains, four of a horizontal axis and two of the vertical, 1/s.

        Gains of 0 for a position mean that it is not held.
        """
        return float(-np.real(np.concatenate(self.poles(gains))).max())

    def poles(self, gains: Array) -> tuple[Array, Array]:
        """Eigenvalues under six gains, 1/s: four of a horizontal axis, two of the vertical."""
        (A, B), (C, D) = self.linear_axis(), self.linear_vertical()
        return np.linalg.eigvals(A - B * gains[:4]), np.linalg.eigvals(C - D * gains[4:])


def pole_texts(poles: Array) -> list[str]:
    """Poles for a reader, the slowest first; a conjugate pair as one."""
    ordered = sorted(np.asarray(poles, dtype=complex), key=lambda pole: (-pole.real, -pole.imag))
    real = [f"{pole.real:.4g}" for pole in ordered]
    texts = [
        text if abs(pole.imag) < 1e-9 * abs(pole) else f"{text} ± {pole.imag:.4g}i"
        for pole, text in zip(ordered, real)
        if pole.imag > -1e-9 * abs(pole)
    ]
    return [text.replace("-", "−") for text in texts]


def pole_differences(
    law: str, model: PoleModel, gravity: Array, pole: tuple[float, float, float], stiffness: float
) -> list[str]:
    """Where a world's gravity or pole is another than a law's model, in words, with what that does at rest.

    Args:
        law: its name.
        model: the law's.
        gravity: of the world, m/s².
        pole: its length, m, and the masses of sphere and rod, kg.
        stiffness: of the law against a vertical force, N/m; 0 for none.
    """
    notes, known = [], np.array([0.0, 0.0, -model.gravity])
    if np.linalg.norm(gravity - known) > 1e-6 * model.gravity:
        its = ", ".join(f"{g:.6g}" for g in gravity)
        notes.append(f"{law} assumes gravity of {model.gravity:.6g} m/s² along −z; the world's is ({its}) m/s²")
    named = (
        ("length", "m", model.length),
        ("sphere's mass", "kg", model.sphere_mass),
        ("rod's mass", "kg", model.rod_mass),
    )
    other = [
        f"a {what} of {own:.6g} {unit} (it is {true:.6g} {unit})"
        for (what, unit, own), true in zip(named, pole)
        if abs(own - true) > 1e-9 * max(own, true)
    ]
    weight = model.gravity * (pole[1] + pole[2] - model.mass)
    held = f", which lowers the tool by {1e3 * weight / stiffness:.3g} mm at rest" if weight and stiffness else ""
    effect = f"{weight:.3g} N more weight{held}" if weight else "no more weight at rest"
    return notes + ([f"{law} assumes {' and '.join(other)}: {effect}"] if other else [])


def _lqr(A: Array, B: Array, state_weight: ArrayLike, effort_weight: float) -> Array:
    from palpate.control.design.gains import lqr

    weights = finite_array(state_weight, "state_weight")
    if weights.shape not in ((), (len(A),)) or (weights < 0).any():
        raise InvalidInput(f"state_weight must be one number or {len(A)}, none below 0, got {weights.tolist()}")
    Q = np.diag(np.broadcast_to(weights, len(A)).astype(float))
    return lqr(A, B, Q, np.array([[finite_number(effort_weight, "effort_weight", above=0.0)]])).gain.ravel()
