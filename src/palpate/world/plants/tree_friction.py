"""Joint friction of a plant on its equations: the same answer as `joint_friction`, mostly without its search."""

from __future__ import annotations

from palpate.engine.kernels import kernel, put
from palpate.engine.physics import Physics
from palpate.equations.code.tree_solver import slide_tree
from palpate.world.plants.joint_friction import ROUNDING, JointFriction, solve_joint_friction
from palpate.world.plants.tree_plant import FASTEST, SMALLEST_PIVOT, TreePlant


@kernel
def end_velocities_of_tree(f: JointFriction, t: TreePlant, p: Physics, dt: float) -> bool:
    """f.v and the friction torques of a step on equations; False where the engine is to say what is wrong.

    Joints mostly go on as they did, sliding or standing still: that is tried first, and else the search begins.
    """
    _set_impulses(f, t, p, dt)
    w, s, n = f.work, f.sliding, p.nv
    slide_tree(t.slider, t.terms.M, p.qvel, s)
    goes_on = True
    for i in range(n):
        if not (s.pivots[i] > SMALLEST_PIVOT and abs(s.x[i] - p.qvel[i]) < FASTEST * dt):
            return False
        if f.sliding.free[i] == 0.0:
            goes_on = goes_on and abs(f.sliding.load[i]) <= f.bound[i] * (1.0 + ROUNDING)
        elif f.bound[i] > 0.0:
            goes_on = goes_on and w.side[i] * s.x[i] >= 0.0
    if not goes_on:
        _search_sliding(f, t, p)
    for i in range(n):
        if goes_on:
            f.v[i] = s.x[i]
        if f.bound[i] > 0.0:
            f.force[i] = -f.sliding.load[i] / dt
    return True


@kernel(inline=True)
def _set_impulses(f: JointFriction, t: TreePlant, p: Physics, dt: float) -> None:
    """Set the impulses of the step, and which joints slide, with the signs of the velocities at its start."""
    for i in range(p.nv):
        v, bound = p.qvel[i], dt * f.coulomb[i]
        side = 0.0 if v == 0.0 else (1.0 if v > 0.0 else -1.0)
        f.work.side[i], f.bound[i], f.sliding.braking[i] = side, bound, bound * side
        f.sliding.free[i] = 0.0 if bound > 0.0 and side == 0.0 else 1.0
        f.sliding.impulse[i] = dt * (p.qfrc_applied[i] - f.force[i] - t.terms.bias[i])
        f.sliding.added[i] = dt * f.damping[i]
    if t.sprung:
        for i in range(t.first, p.nv):
            f.sliding.impulse[i] -= dt * (t.stiffness[i] * (p.qpos[i + t.extra] - t.spring_rest[i]))


@kernel
def _search_sliding(f: JointFriction, t: TreePlant, p: Physics) -> None:
    """f.v from the velocities at the step's start on, and f.sliding.load with it."""
    n, M = p.nv, f.M
    for i in range(n):
        put(M[i], 0, t.terms.M[i])
        M[i, i] += f.sliding.added[i]
        f.v[i] = p.qvel[i]
    solve_joint_friction(M, f.sliding.momentum, f.bound, f.v, f.work)
    for i in range(n):
        f.sliding.load[i] = f.sliding.momentum[i]
        for j in range(n):
            f.sliding.load[i] -= M[i, j] * f.v[j]
