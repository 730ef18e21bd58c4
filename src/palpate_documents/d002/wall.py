"""Document 002: dynamics of the arm whose tip slides along a wall."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
import sympy as sp

import palpate as pp
from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import arithmetic, both, corrected, formula, formulas, printed, reading, says
from palpate_documents.d002 import DOCUMENT
from palpate_documents.d002.arm import (
    FREE,
    ON_WALL,
    along_wall,
    arm,
    equations,
    jacobian,
    on_wall,
    reduced,
    torques,
    unit,
    wall,
)

THETA, RATE, ACCELERATION, G = 0.4, 1.3, 0.7, 9.81
S, C = sin(THETA), cos(THETA)

POSTURE, VELOCITY = np.array([THETA, -2 * THETA]), np.array([RATE, -2 * RATE])  # on the wall


def _claim_caption(c: Claim) -> Evidence:
    tip = arm().pose(POSTURE).position
    yield reading("y_2 with θ2 = −2 θ1 (text) [m]", 0.0, tip[1])
    yield reading("x_2 with θ2 = −2 θ1 (caption) [m]", -1.0, tip[0])


def _claim_constraint(c: Claim) -> Evidence:
    heights = [arm().pose([t, -2 * t]).position[1] for t in np.linspace(-1, 1, 5)]
    yield printed("y_2 at five θ1 [m]", np.zeros(5), heights)


def _claim_positions(c: Claim) -> Evidence:
    yield printed("elbow [m]", [C, S], arm().pose(POSTURE, "link2").position[:2])
    yield printed("tip [m]", [2 * C, 0], arm().pose(POSTURE).position[:2])


def _claim_velocities(c: Claim) -> Evidence:
    yield printed("elbow [m/s]", [-S * RATE, C * RATE], arm().jacobian(POSTURE, "link2")[:2] @ VELOCITY)
    yield printed("tip [m/s]", [-2 * S * RATE, 0], arm().jacobian(POSTURE)[:2] @ VELOCITY)


def _slopes() -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """∂L/∂θ̇, its time derivative, ∂L/∂θ of the derived Lagrangian."""
    th, dth, ddth = sp.symbols("theta_1 dtheta_1 ddtheta_1")
    lagrangian = _lagrangian()
    momentum = sp.diff(lagrangian, dth)
    return momentum, sp.diff(momentum, th) * dth + sp.diff(momentum, dth) * ddth, sp.diff(lagrangian, th)


def _lagrangian() -> sp.Expr:
    return along_wall(unit(equations().T - equations().V))


formulas(
    DOCUMENT,
    {
        "KE": ("T", lambda: along_wall(unit(equations().T))),
        "PE": ("V", lambda: along_wall(unit(equations().V))),
        "dL-drate": ("expression", lambda: _slopes()[0]),
        "ddt": ("expression", lambda: _slopes()[1]),
        "dL-dangle": ("expression", lambda: _slopes()[2]),
        "T1-line2": ("expression", lambda: reduced()[0]),
        "T2-substituted": ("expression", lambda: along_wall(torques(True)[1])),
        "rotation": ("expression", lambda: along_wall(torques()[1])),
        "row2": ("expression", lambda: along_wall(torques()[1])),
    },
    **ON_WALL,
)
formulas(DOCUMENT, {"T2-free": ("tau", lambda: torques(True)[1])}, **FREE)


def _claim_L(c: Claim) -> Evidence:
    yield formula("printed", c.printed.replace("KE - PE = ", ""), _lagrangian(), **ON_WALL)


def _plot_T1() -> Trajectories:
    """The free slide from θ1 = π/3 at rest by the printed equation and by the right one."""
    from scipy.integrate import solve_ivp

    def by_print(t: float, y: np.ndarray) -> list[float]:
        return [y[1], -G * cos(y[0]) / (1 + 4 * sin(y[0]) ** 2)]

    t = np.linspace(0, 0.8, 81)
    wrong = solve_ivp(by_print, (0, 0.8), [pi / 3, 0], t_eval=t, rtol=1e-9).y[0]
    right = slide(0.8, t)[0]
    curves = (("as printed", t.tolist(), wrong.tolist()), ("right", t.tolist(), right.tolist()))
    return Trajectories("The tip slides along the wall, T = 0", "t [s]", "θ1 [rad]", curves)


def slide(duration: float, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """θ1 and θ̇1 of the free slide from π/3 at rest, by the constrained dynamics of the library."""
    from scipy.integrate import solve_ivp

    def motion(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], on_wall(y[0], y[1], [0, 0]).acceleration[0]])

    solution = solve_ivp(motion, (0, duration), [pi / 3, 0], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    return solution.y[0], solution.y[1]


def _claim_T1(c: Claim) -> Evidence:
    yield from both(c, reduced()[0], **ON_WALL)
    r = pp.contact.reduced_dynamics(arm(), POSTURE, VELOCITY, [0, 0], [wall()], independent=["joint1"])
    torque = r.inertia[0, 0] * ACCELERATION + r.velocity_force[0] + r.gravity_force[0]
    yield printed("at θ = 0.4, θ̇ = 1.3, θ̈ = 0.7 [N·m]", 10.1602189581, torque)
    yield corrected("at θ = 0.4, θ̇ = 1.3, θ̈ = 0.7 [N·m]", 12.5848825453, torque)
    theta, rate = slide(0.5, np.array([0.3, 0.5]))
    yield corrected("free slide: θ1(0.3), θ1(0.5), θ̇1(0.5)", [0.990168862966, 0.878183846981, -0.749441462068],
                    [theta[0], theta[1], rate[1]])  # fmt: skip


def _claim_T1_force(c: Claim) -> Evidence:
    r = pp.contact.reduced_dynamics(arm(), POSTURE, VELOCITY, [0.5, -0.3], [wall()], independent=["joint1"])
    yield printed("force of θ1 for T = (0.5, −0.3) [N·m]", 0.5, r.generalised_force[0])
    yield corrected("force of θ1 for T = (0.5, −0.3) [N·m]", 1.1, r.generalised_force[0])
    solution = on_wall(THETA, RATE, [0.5, -0.3])
    yield corrected("θ̈1 [rad/s²], wall on the tip [N]", [-6.448623472249, 10.942924362506],
                    [solution.acceleration[0], solution.multipliers[0, 0]])  # fmt: skip


def _claim_rates(c: Claim) -> Evidence:
    r = pp.contact.reduced_dynamics(arm(), POSTURE, VELOCITY, [0, 0], [wall()], independent=["joint1"])
    yield printed("velocities per θ̇1", [1, -2], r.basis.ravel())
    a = on_wall(THETA, RATE, [0.5, -0.3]).acceleration
    yield printed("θ̈2 [rad/s²]", -2 * a[0], a[1])


def _claim_row1(c: Claim) -> Evidence:
    yield formula("printed", r"2 (\frac{1}{2} + 2s_1^2)\ddot{\theta}_1 + gc_1", along_wall(torques()[0]), **ON_WALL)
    yield formula("corrected", c.corrected, along_wall(torques()[0]), **ON_WALL)


def _claim_tip_force(c: Claim) -> Evidence:
    text = [(1 + 4 * S * S) * ACCELERATION + G * C,
            (-1 - cos(2 * THETA)) * ACCELERATION - sin(2 * THETA) * RATE**2 + G * C]  # fmt: skip
    right = [ACCELERATION + 3 * G * C, -2 * S * S * ACCELERATION - 2 * S * C * RATE**2 + G * C]
    yield printed(
        "θ̈1 under the printed torques, F = 0 [rad/s²]", ACCELERATION, on_wall(THETA, RATE, text).acceleration[0]
    )
    yield corrected("θ̈1 under the right torques, F = 0 [rad/s²]", ACCELERATION,
                    on_wall(THETA, RATE, right).acceleration[0])  # fmt: skip
    pressed = on_wall(THETA, RATE, np.array(right) + jacobian(POSTURE).T @ [0, -5.0])
    yield corrected("pressing with F_y = −5: θ̈1 [rad/s²], wall on the tip [N]", [ACCELERATION, 5.0],
                    [pressed.acceleration[0], pressed.multipliers[0, 0]])  # fmt: skip


_MODES = (("dof-free", [], 4), ("dof-slide", ["slide"], 2), ("dof-locked", ["pin"], 0))


def _order(name: str, held: list[str], order: int) -> None:
    @DOCUMENT.check(name)
    def _states(c: Claim) -> Evidence:
        q = np.array([0.9, -1.8])
        contacts = [wall() if one == "slide" else pp.contact.Pin() for one in held]
        if order == 0:
            motion = pp.contact.constrained_dynamics(arm(), q, [0, 0], [3.0, -1.0], contacts).acceleration
            yield printed("accelerations under any torque [rad/s²]", [0, 0], motion)
            return
        tau = [G * cos(0.9), 0.0] if held else arm().gravity(q)
        model = pp.contact.linearise_state(arm(), q, tau=tau, contacts=contacts)
        yield printed("order", order, len(model.A))


for _mode in _MODES:
    _order(*_mode)


def _claim_resolved(c: Claim) -> Evidence:
    q, v = [0.5, 0.6], np.array([0.7, -1.1])
    J, drift = jacobian(q), arm().jacobian_drift(q, v)[:2]
    text, right = np.linalg.solve(J, [1.0, 0]), np.linalg.solve(J, [1.0, 0] - drift)
    yield arithmetic("θ̈ as printed [rad/s²]", [0.8033333, -2.3575603], text, 1e-6)
    yield printed("ẍ that it gives, wanted (1, 0) [m/s²]", [1, 0], J @ text + drift)
    yield corrected("ẍ that it gives, wanted (1, 0) [m/s²]", [1, 0], J @ right + drift)
    yield corrected("θ̈ [rad/s²]", [1.8029295, -4.4588336], right, 1e-6)


def _claim_inverse_dynamics(c: Claim) -> Evidence:
    a = np.array([1.0, -2.0])
    torque = arm().inverse_dynamics(POSTURE, VELOCITY, a)
    yield printed("θ̈ [rad/s²]", a, arm().forward_dynamics(POSTURE, VELOCITY, torque))


def _claim_singular(c: Claim) -> Evidence:
    yield says("reading", "θ2 = −2 θ1 is the only branch at θ1 = 0.4", True, bool(np.any(jacobian(POSTURE)[1] != 0)))
    row = jacobian([pi / 2, -pi])[1]
    yield says("reading", "the wall has a lever on the joints at θ1 = π/2", True, bool(np.abs(row).max() > 1e-9))
    yield says("corrected", "θ2 = π keeps the tip at y = 0 for every θ1", True,
               all(abs(arm().pose([t, pi]).position[1]) < 1e-12 for t in (0.3, 1.0, 2.0)))  # fmt: skip


__all__ = ["slide"]
