"""Accelerations of a robot with what its joints lose, by its compiled equations.

    M v̇ = τ − C v − g − D v + f

Each joint's dry friction f is the engine's: −(v̇ + b v) / R, but no more than F either way, so that v̇ is the one
minimum of a convex function. Newton steps find it: where it is known which joints reach F, v̇ is one linear solution.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Integers, Matrix, ReadMatrix, ReadVector, Record, Vector, sized
from palpate.equations.code.tree_program import TreeCode, TreeTerms, compute_terms
from palpate.equations.code.tree_solver import solve_tree
from palpate.robot.mechanics.kernels import BAD_INPUT, OK, all_finite
from palpate.robot.mechanics.tree_kernels import BAD_SHAPE, NOT_POSITIVE, STATUSES, check_state

UNSETTLED = STATUSES  # after so many steps it is still not known which joints reach their friction
_STEPS = 40


class ForwardWork(Record):
    """A robot's equations and losses, and scratch of one thread."""

    nq: int
    nv: int
    solver: int
    code: TreeCode
    terms: TreeTerms
    damping: Vector = sized("nv")
    friction: Vector = sized("nv")  # F, 0 where a joint has none
    weight: Vector = sized("nv")  # 1 / R
    rate: Vector = sized("nv")  # b
    load: Vector = sized("nv")  # τ − C v − g − D v
    sides: Integers = sized("nv")  # of joints at F, which sign f has; 0 between
    added: Vector = sized("nv")
    right: Vector = sized("nv")
    a: Vector = sized("nv")
    pivots: Vector = sized("nv")
    # the point reached, the step from it, and what the equation without friction gives along it
    start: Vector = sized("nv")
    step: Vector = sized("nv")
    slope: float = 0.0
    curve: float = 0.0


@kernel
def _newton_step(v: ReadVector, w: ForwardWork) -> bool:
    """v̇ for the sides that are assumed."""
    for i in range(w.nv):
        sticks = w.sides[i] == 0 and w.friction[i] > 0.0
        w.added[i] = w.weight[i] if sticks else 0.0
        w.right[i] = w.load[i] + (-w.weight[i] * w.rate[i] * v[i] if sticks else w.sides[i] * w.friction[i])
    solve_tree(w.solver, w.terms.M, w.added, w.right, w.a, w.pivots)
    for i in range(w.nv):
        if not w.pivots[i] > 0.0:
            return False
    return True


@kernel
def _side(i: int, a: float, v: ReadVector, w: ForwardWork) -> int:
    """Which sign a joint's friction has at F for an acceleration; 0 between."""
    f = -w.weight[i] * (a + w.rate[i] * v[i])
    return (1 if f > w.friction[i] else -1 if f < -w.friction[i] else 0) if w.friction[i] > 0.0 else 0


@kernel
def _agrees(v: ReadVector, w: ForwardWork) -> bool:
    """Whether v̇ has the sides that were assumed for it."""
    for i in range(w.nv):
        if _side(i, w.a[i], v, w) != w.sides[i]:
            return False
    return True


@kernel
def _slope(t: float, v: ReadVector, w: ForwardWork) -> tuple[float, float]:
    """First and second derivative of the function to be minimised along the step, at a share of it."""
    slope, curve = w.slope + t * w.curve, w.curve
    for i in range(w.nv):
        if w.friction[i] > 0.0:
            at = w.start[i] + t * w.step[i]
            side = _side(i, at, v, w)
            if side == 0:
                slope += w.step[i] * w.weight[i] * (at + w.rate[i] * v[i])
                curve += w.step[i] * w.step[i] * w.weight[i]
            else:
                slope -= w.step[i] * side * w.friction[i]
    return slope, curve


@kernel
def _go_to_least(v: ReadVector, w: ForwardWork) -> None:
    """start ← the least of the function along the way from start to a: its slope is a rising polygon with one root."""
    w.slope = w.curve = 0.0
    for i in range(w.nv):
        w.step[i] = w.a[i] - w.start[i]
    for i in range(w.nv):
        pull = push = 0.0
        for j in range(w.nv):
            m = w.terms.M[i, j]
            pull, push = pull + m * w.start[j], push + m * w.step[j]
        w.slope += w.step[i] * (pull - w.load[i])
        w.curve += w.step[i] * push
    low, high, t = 0.0, math.inf, 1.0
    for _ in range(_STEPS):
        slope, curve = _slope(t, v, w)
        if slope < 0.0:
            low = t
        else:
            high = t
        following = t - slope / curve
        if not low < following < high:
            following = 0.5 * (low + high) if high < math.inf else 2.0 * t
        if abs(following - t) <= 1e-15 * t:
            break
        t = following
    for i in range(w.nv):
        w.start[i] += t * w.step[i]


@kernel
def accelerations(q: ReadVector, v: ReadVector, tau: ReadVector, w: ForwardWork) -> int:
    """v̇ in `w.a`, or why there is none: a status of `tree_kernels`, or UNSETTLED."""
    if q.size != w.nq or v.size != w.nv or tau.size != w.nv:
        return BAD_SHAPE
    status = check_state(q, v, 7 if q.size > v.size else 0)
    if status != OK:
        return status
    if not all_finite(tau):
        return BAD_INPUT
    compute_terms(w.code, q, v, w.terms)
    for i in range(w.nv):
        w.load[i] = tau[i] - w.terms.bias[i] - w.damping[i] * v[i]
        # A joint that moves most often slides, against which its friction acts.
        w.sides[i] = 0 if w.friction[i] == 0.0 or v[i] == 0.0 else (-1 if v[i] > 0.0 else 1)
    for count in range(_STEPS):
        if not _newton_step(v, w):
            return NOT_POSITIVE
        if _agrees(v, w):
            return OK
        if count == 0:
            put(w.start, 0, w.a)
        else:
            _go_to_least(v, w)
        for i in range(w.nv):
            w.sides[i] = _side(i, w.start[i], v, w)
    return UNSETTLED


@kernel
def rows_of_losses(Q: ReadMatrix, V: ReadMatrix, T: ReadMatrix, w: ForwardWork, left: Integers, out: Matrix) -> int:
    """v̇ of many states, a row for each; a status and the state it is about, or 0. `left` marks the unsettled ones."""
    for k in range(Q.shape[0]):
        status = accelerations(Q[k], V[k], T[k], w)
        if status == UNSETTLED:
            left[k] = 1
        elif status != OK:
            return k * STATUSES + status
        put(out[k], 0, w.a)
    return OK


def losses_of(model: mujoco.MjModel) -> dict[str, Array] | None:
    """Damping, friction F, 1 / R and b of every velocity, as the engine uses them; None with springs or a medium."""
    others = model.jnt_stiffness, model.jnt_stiffnesspoly, model.dof_dampingpoly
    if any(np.any(values) for values in others) or model.opt.density > 0 or model.opt.viscosity > 0:
        return None
    data, n = mujoco.MjData(model), model.nv
    mujoco.mj_forward(model, data)
    found = {"damping": model.dof_damping.copy(), "friction": np.zeros(n), "weight": np.zeros(n), "rate": np.zeros(n)}
    rows = data.efc_type[: data.nefc]
    if (rows != mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF).any():
        return None
    joints = data.efc_id[: data.nefc]
    found["friction"][joints] = data.efc_frictionloss[: data.nefc]
    found["weight"][joints] = data.efc_D[: data.nefc]
    found["rate"][joints] = data.efc_KBIP.reshape(-1, 4)[: data.nefc, 1]
    return found
