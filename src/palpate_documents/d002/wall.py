"""Document 002: dynamics of the arm whose tip slides along a wall."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, pi, sin

import numpy as np
import sympy as sp

import palpate as pp
from palpate_documents.claim import Claim, Comparison, Trajectories
from palpate_documents.compare import arithmetic, both, corrected, formula, printed, reading, says
from palpate_documents.d002.about import (
    DOCUMENT,
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

Evidence = Iterator[Comparison]
THETA, RATE, ACCELERATION, G = 0.4, 1.3, 0.7, 9.81
S, C = sin(THETA), cos(THETA)


def moving(order: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Posture and velocity on the wall."""
    return np.array([THETA, -2 * THETA]), np.array([RATE, -2 * RATE])


@DOCUMENT.claim(
    "caption", "first"
        " figure", r"\text{wall } x_2 = -1, \; Y \text{ free} \quad \text{against} \quad \text{wall at } Y = 0",
    "ambiguous", how="robot.pose with θ2 = −2 θ1", rows="1",
    corrected=r"y_2 = 0, \quad x_2 \text{ free}",
)  # fmt: skip
def _caption(c: Claim) -> Evidence:
    """Caption and text name different walls. What follows, θ2 = −2 θ1, is the wall y = 0 with x free."""
    tip = arm().pose(moving()[0]).position
    yield reading("y_2 with θ2 = −2 θ1 (text) [m]", 0.0, tip[1])
    yield reading("x_2 with θ2 = −2 θ1 (caption) [m]", -1.0, tip[0])


@DOCUMENT.claim("constraint", "wall", r"\theta_2 = -2 \theta_1", how="robot.pose", rows="2")
def _constraint(c: Claim) -> Evidence:
    """Angles from the x axis: the tip stays at y = 0 at every θ1."""
    found = [arm().pose([t, -2 * t]).position[1] for t in np.linspace(-1, 1, 5)]
    yield printed("y_2 at five θ1 [m]", np.zeros(5), found)


@DOCUMENT.claim(
    "positions", "wall", r"x_1 = c_1, \; y_1 = s_1, \quad x_2 = 2 c_1, \; y_2 = 0", how="robot.pose of link2 and tool",
    rows="2",
)  # fmt: skip
def _positions(c: Claim) -> Evidence:
    """Elbow and tip."""
    q, _ = moving()
    yield printed("elbow [m]", [C, S], arm().pose(q, "link2").position[:2])
    yield printed("tip [m]", [2 * C, 0], arm().pose(q).position[:2])


@DOCUMENT.claim(
    "velocities", "wall", r"\dot{x}_1 = -s_1 \dot{\theta}_1, \; \dot{y}_1 = c_1 \dot{\theta}_1, \quad \dot{x}_2"
        r" = -2 s_1"
    r" \dot{\theta}_1, \; \dot{y}_2 = 0", how="robot.jacobian of link2 and tool", rows="2",
)  # fmt: skip
def _velocities(c: Claim) -> Evidence:
    """Elbow and tip."""
    q, v = moving()
    yield printed("elbow [m/s]", [-S * RATE, C * RATE], arm().jacobian(q, "link2")[:2] @ v)
    yield printed("tip [m/s]", [-2 * S * RATE, 0], arm().jacobian(q)[:2] @ v)


@DOCUMENT.claim(
    "KE", "wall",
    r"KE = \frac{1}{2} ((-s_1 \dot{\theta}_1)^2 + (c_1 \dot{\theta}_1)^2) + \frac{1}{2} ((-2 s_1"
    r" \dot{\theta}_1)^2 + (0)^2)"
    r" = \frac{1}{2}\dot{\theta}_1^2 + 2s_1^2 \dot{\theta}_1^2 = (\frac{1}{2} + 2s_1^2) \dot{\theta}_1^2",
    how="derive(planar2).T with θ2 = −2 θ1", rows="2",
)  # fmt: skip
def _kinetic(c: Claim) -> Evidence:
    """All three lines."""
    yield formula("printed", c.printed, along_wall(unit(equations().T)), "T", **ON_WALL)


@DOCUMENT.claim("PE", "wall", r"PE = g s_1", how="derive(planar2).V with θ2 = −2 θ1", rows="2")
def _potential(c: Claim) -> Evidence:
    """The second mass stays at y = 0."""
    yield formula("printed", c.printed, along_wall(unit(equations().V)), "V", **ON_WALL)


@DOCUMENT.claim(
    "L",
    "wall",
    r"L = KE - PE = (\frac{1}{2} + 2s_1^2) \dot{\theta}_1^2 - g s_1",
    how="derive(planar2): T − V",
    rows="2",
)
def _lagrangian(c: Claim) -> Evidence:
    """The Lagrangian on the wall."""
    lagrangian = along_wall(unit(equations().T - equations().V))
    yield formula("printed", c.printed.replace("KE - PE = ", ""), lagrangian, **ON_WALL)


def _slopes() -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """∂L/∂θ̇, its time derivative, ∂L/∂θ of the derived Lagrangian."""
    th, dth, ddth = sp.symbols("theta_1 dtheta_1 ddtheta_1")
    lagrangian = along_wall(unit(equations().T - equations().V))
    momentum = sp.diff(lagrangian, dth)
    return momentum, sp.diff(momentum, th) * dth + sp.diff(momentum, dth) * ddth, sp.diff(lagrangian, th)


@DOCUMENT.claim(
    "dL-drate", "wall", r"\frac{\partial L}{\partial \dot{\theta}_1} = 2 (\frac{1}{2} + 2s_1^2) \dot{\theta}_1",
    how="derivative of the derived Lagrangian", rows="3",
)  # fmt: skip
def _momentum(c: Claim) -> Evidence:
    """Right."""
    yield formula("printed", c.printed.split("= ", 1)[1], _slopes()[0], **ON_WALL)


@DOCUMENT.claim(
    "ddt", "wall",
    r"\frac{d}{dt} (\frac{\partial L}{\partial \dot{\theta}_1}) = 2 (\frac{1}{2} + 2s_1^2) \ddot{\theta}_1 + 4s_1 c_1"
    r" \dot{\theta}_1^2", "wrong",
    how="derivative of the derived Lagrangian", rows="3",
    corrected=r"\frac{d}{dt} (\frac{\partial L}{\partial \dot{\theta}_1}) = 2 (\frac{1}{2} + 2s_1^2)"
        r" \ddot{\theta}_1 + 8"
    r" s_1 c_1 \dot{\theta}_1^2",
)  # fmt: skip
def _time_derivative(c: Claim) -> Evidence:
    """d/dt(4 s²) = 8 s c θ̇, and θ̇ once more: the factor two is lost here, and with it the velocity term of T_1."""
    for role, text in (("printed", c.printed), ("corrected", c.corrected)):
        yield formula(role, text.split("= ", 1)[1], _slopes()[1], **ON_WALL)  # type: ignore[arg-type]


@DOCUMENT.claim(
    "dL-dangle", "wall", r"\frac{\partial L}{\partial \theta_1} = 4s_1 c_1 \dot{\theta}_1^2 - g c_1",
    how="derivative of the derived Lagrangian", rows="3",
)  # fmt: skip
def _slope(c: Claim) -> Evidence:
    """Right."""
    yield formula("printed", c.printed.split("= ", 1)[1], _slopes()[2], **ON_WALL)


_GOOD_T1 = r"2 (\frac{1}{2} + 2s_1^2) \ddot{\theta}_1 + 4 s_1 c_1 \dot{\theta}_1^2 + g c_1"


@DOCUMENT.claim(
    "T1-line2", "wall",
    r"T_1 = 2 (\frac{1}{2} + 2s_1^2)\ddot{\theta}_1 + 4s_1c_1\dot{\theta}_1^2 - (4s_1c_1\dot{\theta}_1^2 -"
    r" gc_1)", "wrong",
    how="Derivation.constrain(y = 0).reduced", rows="4",
    corrected=r"T_1 - 2 T_2 = 2 (\frac{1}{2} + 2s_1^2)\ddot{\theta}_1 + 8s_1c_1\dot{\theta}_1^2 -"
    r" (4s_1c_1\dot{\theta}_1^2 - gc_1)",
)  # fmt: skip
def _first_torque(c: Claim) -> Evidence:
    """The factor lost in d/dt makes the velocity terms cancel."""
    for role, text in (("printed", c.printed), ("corrected", c.corrected)):
        yield formula(role, text.split("= ", 1)[1], reduced()[0], **ON_WALL)  # type: ignore[arg-type]


def _slides() -> Trajectories:
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

    found = solve_ivp(motion, (0, duration), [pi / 3, 0], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    return found.y[0], found.y[1]


@DOCUMENT.claim(
    "T1", "wall", r"T_1 = 2 (\frac{1}{2} + 2s_1^2)\ddot{\theta}_1 + gc_1", "wrong",
    how="Derivation.constrain(y = 0).reduced; constrained_dynamics", rows="4",
    corrected=r"T_1 - 2 T_2 = " + _GOOD_T1, plot=_slides,
)  # fmt: skip
def _first_torque_result(c: Claim) -> Evidence:
    """The velocity term is lost, and what stands there is not T_1 but the generalised force of θ1 along the wall,
    T_1 − 2 T_2."""
    for role, text in (("printed", c.printed), ("corrected", c.corrected)):
        yield formula(role, text.split("= ", 1)[1], reduced()[0], **ON_WALL)  # type: ignore[arg-type]
    q, v = moving()
    r = pp.reduced_dynamics(arm(), q, v, [0, 0], [wall()], independent=["joint1"])
    found = r.inertia[0, 0] * ACCELERATION + r.velocity_force[0] + r.gravity_force[0]
    yield printed("at θ = 0.4, θ̇ = 1.3, θ̈ = 0.7 [N·m]", 10.1602189581, found)
    yield corrected("at θ = 0.4, θ̇ = 1.3, θ̈ = 0.7 [N·m]", 12.5848825453, found)
    theta, rate = slide(0.5, np.array([0.3, 0.5]))
    yield corrected("free slide: θ1(0.3), θ1(0.5), θ̇1(0.5)", [0.990168862966, 0.878183846981, -0.749441462068],
                    [theta[0], theta[1], rate[1]])  # fmt: skip


@DOCUMENT.claim(
    "T1-force", "wall", r"T_1 = \frac{d}{dt} (\frac{\partial L}{\partial \dot{\theta}_1}) - \frac{\partial L}{\partial"
    r" \theta_1}", "wrong", how="reduced_dynamics.generalised_force; constrained_dynamics", rows="4",
    corrected=r"T_1 - 2 T_2 = \frac{d}{dt} (\frac{\partial L}{\partial \dot{\theta}_1}) - \frac{\partial L}{\partial"
    r" \theta_1}",
)  # fmt: skip
def _generalised_force(c: Claim) -> Evidence:
    """With θ2 = −2 θ1 the virtual work of both torques is (T_1 − 2 T_2) δθ1."""
    q, v = moving()
    r = pp.reduced_dynamics(arm(), q, v, [0.5, -0.3], [wall()], independent=["joint1"])
    yield printed("force of θ1 for T = (0.5, −0.3) [N·m]", 0.5, r.generalised_force[0])
    yield corrected("force of θ1 for T = (0.5, −0.3) [N·m]", 1.1, r.generalised_force[0])
    found = on_wall(THETA, RATE, [0.5, -0.3])
    yield corrected("θ̈1 [rad/s²], wall on the tip [N]", [-6.448623472249, 10.942924362506],
                    [found.acceleration[0], found.multipliers[0, 0]])  # fmt: skip


@DOCUMENT.claim(
    "rates", "wall", r"\dot{\theta}_2 = -2\dot{\theta}_1, \quad \ddot{\theta}_2 = -2\ddot{\theta}_1",
    how="reduced_dynamics.basis, constrained_dynamics", rows="2",
)  # fmt: skip
def _constraint_rates(c: Claim) -> Evidence:
    """The constraint is linear in the angles."""
    q, v = moving()
    r = pp.reduced_dynamics(arm(), q, v, [0, 0], [wall()], independent=["joint1"])
    yield printed("velocities per θ̇1", [1, -2], r.basis.ravel())
    a = on_wall(THETA, RATE, [0.5, -0.3]).acceleration
    yield printed("θ̈2 [rad/s²]", -2 * a[0], a[1])


@DOCUMENT.claim(
    "T2-free", "wall", r"T_2 = \ddot{\theta}_2 + (1 + c_2)\ddot{\theta}_1 + s_2\dot{\theta}_1^2 - gs_{12}",
    how="derive(planar2).tau with θ1 from the y axis", rows="5",
)  # fmt: skip
def _free_second_torque(c: Claim) -> Evidence:
    """Right if θ1 is counted from the y axis; from the x axis its last term is + g c_12."""
    yield formula("printed", c.printed, torques(True)[1], "tau", **FREE)


@DOCUMENT.claim(
    "T2-substituted", "wall",
    r"T_2 = -2\ddot{\theta}_1 + (1 + \cos(2\theta_1))\ddot{\theta}_1 + \sin(2\theta_1)\dot{\theta}_1^2 + gs_1", "wrong",
    how="the same with θ2 = −2 θ1", rows="6",
    corrected=r"T_2 = -2\ddot{\theta}_1 + (1 + \cos(2\theta_1))\ddot{\theta}_1 -"
        r" \sin(2\theta_1)\dot{\theta}_1^2 + gs_1",
)  # fmt: skip
def _substituted(c: Claim) -> Evidence:
    """s_2 = sin(−2 θ1) changes the sign. Besides, θ2 = −2 θ1 belongs to angles from x: with angles from y it is the
    wall x = 0."""
    yield from both(c, along_wall(torques(True)[1]), **ON_WALL)


@DOCUMENT.claim(
    "rotation", "wall, θ1 → θ1 − π/2",
    r"T_2 = -2\ddot{\theta}_1 + (1 - \cos(2\theta_1))\ddot{\theta}_1 - \sin(2\theta_1)\dot{\theta}_1^2 + gc_1", "wrong",
    how="derive(planar2).tau with θ2 = −2 θ1", rows="7",
    corrected=r"T_2 = -2\ddot{\theta}_1 + (1 + \cos(2\theta_1))\ddot{\theta}_1 -"
        r" \sin(2\theta_1)\dot{\theta}_1^2 + gc_1",
)  # fmt: skip
def _rotated(c: Claim) -> Evidence:
    """θ2 = −2 θ1 must not be turned along with θ1. The θ̈ term comes out wrong; the other two end up right by
    accident, after two slips of sign."""
    yield from both(c, along_wall(torques()[1]), **ON_WALL)


@DOCUMENT.claim(
    "row1", "wall, last equation", r"T_1 = 2 (\frac{1}{2} + 2s_1^2)\ddot{\theta}_1 + gc_1 + \ldots", "wrong",
    how="derive(planar2).tau with θ2 = −2 θ1", rows="8",
    corrected=r"T_1 = \ddot{\theta}_1 + 3 g c_1",
)  # fmt: skip
def _row_one(c: Claim) -> Evidence:
    """The torque of joint 1 itself."""
    yield formula("printed", r"2 (\frac{1}{2} + 2s_1^2)\ddot{\theta}_1 + gc_1", along_wall(torques()[0]), **ON_WALL)
    yield formula("corrected", c.corrected, along_wall(torques()[0]), **ON_WALL)


@DOCUMENT.claim(
    "row2", "wall, last equation",
    r"T_2 = (-1 - \cos(2\theta_1))\ddot{\theta}_1 - \sin(2\theta_1)\dot{\theta}_1^2 + gc_1", "wrong",
    how="derive(planar2).tau with θ2 = −2 θ1", rows="7 8",
    corrected=r"T_2 = (-1 + \cos(2\theta_1))\ddot{\theta}_1 - \sin(2\theta_1)\dot{\theta}_1^2 + gc_1",
)  # fmt: skip
def _row_two(c: Claim) -> Evidence:
    """The slip of the rotation, kept."""
    yield from both(c, along_wall(torques()[1]), **ON_WALL)


@DOCUMENT.claim(
    "tip-force", "wall, last equation",
    r"\begin{bmatrix} T_1 \\ T_2 \end{bmatrix} = \ldots + (J^T)^{-1} \begin{bmatrix} F_x \\ F_y \end{bmatrix}", "wrong",
    how="constrained_dynamics under the printed and the right torques", rows="8",
    corrected=r"\begin{bmatrix} T_1 \\ T_2 \end{bmatrix} = \begin{bmatrix} \ddot{\theta}_1 + 3gc_1 \\ -2s_1^2"
    r"\ddot{\theta}_1 - 2s_1c_1\dot{\theta}_1^2 + gc_1 \end{bmatrix} + J^T \begin{bmatrix} F_x \\ F_y \end{bmatrix}",
)  # fmt: skip
def _with_tip_force(c: Claim) -> Evidence:
    """F is the force of the tip on the wall: torques and tip forces go together by J^T. Under the printed torques
    (F = 0) the arm on the wall accelerates with −9.07 where +0.7 is wanted."""
    text = [(1 + 4 * S * S) * ACCELERATION + G * C,
            (-1 - cos(2 * THETA)) * ACCELERATION - sin(2 * THETA) * RATE**2 + G * C]  # fmt: skip
    right = [ACCELERATION + 3 * G * C, -2 * S * S * ACCELERATION - 2 * S * C * RATE**2 + G * C]
    yield printed(
        "θ̈1 under the printed torques, F = 0 [rad/s²]", ACCELERATION, on_wall(THETA, RATE, text).acceleration[0]
    )
    yield corrected("θ̈1 under the right torques, F = 0 [rad/s²]", ACCELERATION,
                    on_wall(THETA, RATE, right).acceleration[0])  # fmt: skip
    pressed = on_wall(THETA, RATE, np.array(right) + jacobian([THETA, -2 * THETA]).T @ [0, -5.0])
    yield corrected("pressing with F_y = −5: θ̈1 [rad/s²], wall on the tip [N]", [ACCELERATION, 5.0],
                    [pressed.acceleration[0], pressed.multipliers[0, 0]])  # fmt: skip


_MODES = (
    ("dof-free", r"\text{free tip: two degrees of freedom, 4th order}", [], 4),
    ("dof-slide", r"\text{tip on a wall: one degree of freedom, 2nd order}", ["slide"], 2),
    ("dof-locked", r"\text{locked tip: nothing to simulate, 0th order}", ["pin"], 0),
)


def _order(name: str, text: str, held: list[str], order: int) -> None:
    @DOCUMENT.claim(name, "list after the last equation of the wall", text, how="linearise_state", rows="22")
    def _states(c: Claim) -> Evidence:
        """The number of states of the motion that is left."""
        q = np.array([0.9, -1.8])
        contacts = [wall() if one == "slide" else pp.Pin() for one in held]
        if order == 0:
            motion = pp.constrained_dynamics(arm(), q, [0, 0], [3.0, -1.0], contacts).acceleration
            yield printed("accelerations under any torque [rad/s²]", [0, 0], motion)
            return
        tau = [G * cos(0.9), 0.0] if held else arm().gravity(q)
        model = pp.linearise_state(arm(), q, tau=tau, contacts=contacts)
        yield printed("order", order, len(model.A))


for _mode in _MODES:
    _order(*_mode)


@DOCUMENT.claim(
    "resolved", "control of the position along the wall",
    r"\begin{bmatrix} \ddot{\theta}_1 \\ \ddot{\theta}_2 \end{bmatrix} = J^{-1} \begin{bmatrix} \ddot{x}_2 \\"
    r" \ddot{y}_2"
    r" \end{bmatrix}", "wrong", how="robot.jacobian, jacobian_drift", rows="9",
    corrected=r"\begin{bmatrix} \ddot{\theta}_1 \\ \ddot{\theta}_2 \end{bmatrix} = J^{-1} (\begin{bmatrix}"
        r" \ddot{x}_2 \\"
    r" \ddot{y}_2 \end{bmatrix} - \dot{J} \dot{\theta})",
)  # fmt: skip
def _resolved_acceleration(c: Claim) -> Evidence:
    """ẍ = J θ̈ + J̇ θ̇: the second term is forgotten."""
    q, v = [0.5, 0.6], np.array([0.7, -1.1])
    J, drift = jacobian(q), arm().jacobian_drift(q, v)[:2]
    text, right = np.linalg.solve(J, [1.0, 0]), np.linalg.solve(J, [1.0, 0] - drift)
    yield arithmetic("θ̈ as printed [rad/s²]", [0.8033333, -2.3575603], text, 1e-6)
    yield printed("ẍ that it gives, wanted (1, 0) [m/s²]", [1, 0], J @ text + drift)
    yield corrected("ẍ that it gives, wanted (1, 0) [m/s²]", [1, 0], J @ right + drift)
    yield corrected("θ̈ [rad/s²]", [1.8029295, -4.4588336], right, 1e-6)


@DOCUMENT.claim(
    "inverse-dynamics", "control of the position along the wall", r"T = f(\theta, \dot{\theta}, \ddot{\theta})",
    how="robot.inverse_dynamics, forward_dynamics", rows="9",
)  # fmt: skip
def _inverse_dynamics(c: Claim) -> Evidence:
    """Torques from accelerations."""
    (q, v), a = moving(), np.array([1.0, -2.0])
    yield printed("θ̈ [rad/s²]", a, arm().forward_dynamics(q, v, arm().inverse_dynamics(q, v, a)))


@DOCUMENT.claim(
    "singular", "wall, c_1 = 0", r"\theta_2 = -2\theta_1 \; \text{for all} \; \theta_1", "ambiguous",
    how="the constraint's row n·J at θ1 = π/2", rows="2",
    corrected=r"\theta_2 = -2\theta_1 \; \text{while} \; c_1 \neq 0",
)  # fmt: skip
def _singular(c: Claim) -> Evidence:
    """At θ1 = π/2 the tip is at the base, the wall has no lever on the joints, and another branch (θ2 = π) begins:
    the one coordinate the document keeps is not the only one there."""
    yield says(
        "reading", "θ2 = −2 θ1 is the only branch at θ1 = 0.4", True, bool(np.any(jacobian(moving()[0])[1] != 0))
    )
    row = jacobian([pi / 2, -pi])[1]
    yield says("reading", "the wall has a lever on the joints at θ1 = π/2", True, bool(np.abs(row).max() > 1e-9))
    yield says("corrected", "θ2 = π keeps the tip at y = 0 for every θ1", True,
               all(abs(arm().pose([t, pi]).position[1]) < 1e-12 for t in (0.3, 1.0, 2.0)))  # fmt: skip


__all__ = ["slide"]
