"""What the force laws share: the force error in the task's axes, its integral, and wrenches as joint torques.

Signs: the wanted wrench F_d of a target and the measured F are both what the environment does to the robot. The robot
answers with W = −(…) on the environment, τ = J_tᵀ W, so that a wall that gives back what it gets makes F = −W.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from palpate.checks import finite_number
from palpate.control.law import T_WRENCH
from palpate.control.steps.task_space import G_CHOICE, G_LAW, LEVER, into_axes
from palpate.engine import clear

# Places in the gains, after the task's head.
G_P, G_I, G_FORWARD, G_MOST_FORCE, G_MOST_MOMENT, G_FORCE = (G_LAW + k for k in range(6))
G_LOOP = G_FORCE + 6  # G_FORCE marks which of x, y, z, rx, ry, rz are force-controlled


@register_jitable
def wrenches_in_axes(T, wrench, target, task, wanted, felt):
    """F_d and F in the axes of A."""
    into_axes(T.axes, target[task + T_WRENCH : task + T_WRENCH + 6], wanted)
    into_axes(T.axes, wrench, felt)


@register_jitable
def integrate_error(gains, dt, wanted, felt, integral):
    """integral += k_i (F_d − F) dt along the force-controlled directions, never beyond its bound."""
    for k in range(6):
        if gains[G_FORCE + k] > 0.5:
            most = gains[G_MOST_FORCE] if k < 3 else gains[G_MOST_MOMENT]
            integral[k] += dt * gains[G_I] * (wanted[k] - felt[k])
            integral[k] = min(max(integral[k], -most), most)


@register_jitable
def torque_of(T, gains, W, sign, out):
    """out = sign · J_tᵀ W over the task's directions; W in the axes of A."""
    clear(out)
    for i in range(T.J.shape[0]):
        k = int(gains[G_CHOICE + i])
        force = sign * (W[k] if k < 3 else W[k] / LEVER)
        for j in range(out.size):
            out[j] += T.J[i, j] * force


@register_jitable
def saturated(terms, limits):
    """Whether the sum of the terms is beyond a joint's torque limit."""
    for j in range(terms.shape[1]):
        total = 0.0
        for i in range(terms.shape[0]):
            total += terms[i, j]
        if abs(total) > limits[j]:
            return True
    return False


def force_loop_poles(
    mass: float,
    damping: float,
    integral: float,
    wall_stiffness: float,
    *,
    proportional: float = 0.0,
    wall_damping: float = 0.0,
    stiffness: float = 0.0,
) -> NDArray[np.complex128]:
    """Poles of one axis of a PI force loop against a compliant wall, 1/s, slowest first.

    λ s³ + (D + (1 + k_p) d_w) s² + (K + (1 + k_p) k_w + k_i d_w) s + k_i k_w = 0 in continuous time.

    Args:
        mass: apparent mass λ along the axis, kg.
        damping: D, N·s/m.
        integral: k_i, 1/s.
        wall_stiffness: k_w, N/m.
        proportional: k_p, 1.
        wall_damping: d_w, N·s/m.
        stiffness: K along the axis, N/m; 0 for direct, > 0 for parallel force control.
    """
    m, k_w = finite_number(mass, "mass", above=0.0), finite_number(wall_stiffness, "wall_stiffness", above=0.0)
    D, k_i = finite_number(damping, "damping", least=0.0), finite_number(integral, "integral", least=0.0)
    k_p, d_w = finite_number(proportional, "proportional", least=0.0), finite_number(wall_damping, "wall_damping")
    K = finite_number(stiffness, "stiffness", least=0.0)
    poles = np.roots([m, D + (1 + k_p) * d_w, K + (1 + k_p) * k_w + k_i * d_w, k_i * k_w])
    return poles[np.argsort(-poles.real)].astype(np.complex128)
