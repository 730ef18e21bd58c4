"""Document 003: dynamics by virtual work, Newton–Euler, Lagrange and projection."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate.checks import Array
from palpate.tools.derive import Derivation
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import corrected, formulas, printed, reading, remembered, says
from palpate_documents.d003.examples import body, slope, spatial_arm, spatial_equations, state, ur5e
from palpate_documents.d003.kinematics import DOCUMENT


def _claim_1(c: Claim) -> Evidence:
    q, v, tau = state(ur5e())
    F = np.array([3.0, -4, 5, 0.1, 0.2, -0.3])
    a = ur5e().forward_dynamics(q, v, tau, wrench=F, losses=False)
    left = ur5e().mass_matrix(q) @ a + ur5e().bias(q, v)
    yield printed("M q̈ + b + g [N·m]", tau + ur5e().jacobian(q).T @ F, left)


def _claim_1_floating(c: Claim) -> Evidence:
    fixed, free = ur5e(), pp.load_robot("quadruped")
    yield reading("fixed base: rows without a motor", 0, fixed.nv - len(fixed.joint_names))
    holding_force = free.inverse_dynamics(free.home, np.zeros(free.nv), np.zeros(free.nv))
    yield reading("free base: force asked of the six unactuated rows [N]", 0.0, np.abs(holding_force[:6]).max())
    yield corrected("it is the weight [N]", free.mass * 9.81, holding_force[2], 1e-6)


def _claim_virtual_work(c: Claim) -> Evidence:
    robot = pp.load_robot("pendulum", length=0.7, mass=2.0)
    q, v = np.array([0.6]), np.array([1.1])
    J = robot.jacobian(q)[:3]
    acceleration = J @ robot.forward_dynamics(q, v, [0.0]) + robot.jacobian_drift(q, v)[:3]
    weight = np.array([0, 0, -2.0 * 9.81])
    yield printed("δr · (m r̈ − F) per δθ [N·m]", 0.0, float((J.T @ (2.0 * acceleration - weight))[0]))


def _claim_newton(c: Claim) -> Evidence:
    a = np.array([1.0, 2, 3, 0.4, 0.5, 0.6])
    force = np.add(body().inverse_dynamics(body().home, np.zeros(6), a)[:3], (0, 0, -2 * 9.81))
    yield printed("ΣF [N]", 2.0 * a[:3], force)


def _claim_euler(c: Claim) -> Evidence:
    I, w, wd = np.diag([0.1, 0.2, 0.25]), np.array([1.0, -2, 3]), np.array([0.4, 0.5, 0.6])
    q = np.concatenate([np.zeros(3), pp.spatial.quat_from_rotation_vector([0.3, 0.4, -0.2])])
    moment = body().inverse_dynamics(q, [0, 0, 0, *w], [0, 0, 0, *wd])[3:]
    yield printed("M [N·m]", I @ wd + np.cross(w, I @ w), moment)


@remembered
def swing() -> tuple[Array, Array, Array]:
    """Time, angle and rate of a free pendulum over 4 s, two of its periods."""
    from scipy.integrate import solve_ivp

    robot, t = pp.load_robot("pendulum"), np.linspace(0, 4, 2001)
    run = solve_ivp(lambda _, y: [y[1], robot.forward_dynamics(y[:1], y[1:], [0.0])[0]], (0, 4), [0.5, 0],
                    t_eval=t, rtol=1e-11, atol=1e-12)  # fmt: skip
    return t, run.y[0], run.y[1]


def action(size: float) -> float:
    """∫ T − V of the swing with a bump of this size added, both ends kept."""
    robot, (t, q, v) = pp.load_robot("pendulum"), swing()
    w = np.pi / 4
    path, rate = q + size * np.sin(w * t), v + size * w * np.cos(w * t)
    values = [robot.kinetic_energy([a], [b]) - robot.potential_energy([a]) for a, b in zip(path, rate)]
    return float(np.trapezoid(values, t))


def _claim_least_action(c: Claim) -> Evidence:
    e = 0.05
    less = action(e) - action(0.0)
    yield says("printed", "every path beside the swing has more action", True, less > 0)
    yield corrected("first-order change of the action, per rad", 0.0, (action(e) - action(-e)) / (2 * e), 1e-2)
    yield says("corrected", "a path beside it has less", True, less < 0)


def _claim_euler_lagrange(c: Claim) -> Evidence:
    q, v, a = state(spatial_arm())
    torque = np.ravel(spatial_equations().function("tau")(q, v, a))
    yield printed("τ [N·m]", torque, spatial_arm().inverse_dynamics(q, v, a, losses=False))


@remembered
def pendulum() -> Derivation:
    """The pendulum's equations in θ, ℓ and m."""
    return pp.derive(pp.load_robot("pendulum"), names={"q1": "theta", "l1": "ell", "m1": "m"})


def _pendulum_motion() -> Any:
    return sp.Eq(sp.Matrix(pendulum()["tau"])[0], 0)


def _pendulum_momentum_rate() -> Any:
    """d/dt ∂L/∂θ̇; the momentum of a pendulum does not depend on θ."""
    return sp.diff(pendulum().T, sp.Symbol("dtheta"), 2) * sp.Symbol("ddtheta")


formulas(
    DOCUMENT,
    {
        "pendulum-T": ("T", lambda: pendulum().T),
        "pendulum-V": ("V", lambda: pendulum().V),
        "pendulum-eq": ("equation", _pendulum_motion),
        "pendulum-final": ("equation", _pendulum_motion),
        "pendulum-momentum": ("expression", _pendulum_momentum_rate),
        "pendulum-slope": ("expression", lambda: sp.diff(pendulum().T - pendulum().V, sp.Symbol("theta"))),
    },
    coordinates=["theta"],
    symbols={"m": None, "ell": None, "g": None, "h": r"\ell (1 - \cos \theta)"},
)


def links() -> list[tuple[float, tuple[str, str, str]]]:
    """Mass and names of J_S, J_R and Θ of each link of the spatial arm."""
    model = spatial_equations().model
    assert model is not None
    return [(one.link.mass, (f"J_P{n}", f"J_O{n}", f"I_{n}")) for n, one in enumerate(model.links, start=1)]


def projected(q: Array, v: Array, dots: bool) -> Array:
    """Σ J_Sᵀ m J̇_S q̇ + J_Rᵀ(Θ J̇_R q̇ + Ω × ΘΩ), or the same without the dots, as printed."""
    b, d = np.zeros(3), spatial_equations()
    for mass, names in links():
        J_S, J_R, tensor = (d.function(name) for name in names)
        S, R = (slope(J_S, q, v), slope(J_R, q, v)) if dots else (J_S(q), J_R(q))
        w, I = J_R(q) @ v, tensor(q)
        b += J_S(q).T @ (mass * S @ v) + J_R(q).T @ (I @ R @ v + np.cross(w, I @ w))
    return b


def _claim_pne_M(c: Claim) -> Evidence:
    q, _, _ = state(spatial_arm())
    M, d = np.zeros((3, 3)), spatial_equations()
    for mass, names in links():
        J_S, J_R, tensor = (d.function(name)(q) for name in names)
        M += mass * J_S.T @ J_S + J_R.T @ tensor @ J_R
    yield printed("M [kg·m²]", M, spatial_arm().mass_matrix(q))


def _claim_pne_g(c: Claim) -> Evidence:
    q, _, _ = state(spatial_arm())
    gravity = sum(-spatial_equations().function(names[0])(q).T @ [0, 0, -9.81 * mass] for mass, names in links())
    yield printed("g [N·m]", gravity, spatial_arm().gravity(q))


def _claim_pne_b(c: Claim) -> Evidence:
    q, v, _ = state(spatial_arm())
    coriolis = spatial_arm().bias(q, v) - spatial_arm().gravity(q)
    yield printed("b [N·m]", projected(q, v, False), coriolis)
    yield corrected("b [N·m]", projected(q, v, True), coriolis, 1e-7)
