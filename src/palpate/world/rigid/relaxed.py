"""The convex relative of the velocity problem: compliant rows, and cones whose slip opens the contact.

    min over v of ½ |v − v_free|²_M̂ + Σ φ(u),      p = −∂φ/∂u = P(p̄ − u/R)

P projects onto the friction cone (in the metric of R), onto p ≥ 0 (stops) and onto |p| ≤ h F (friction). It is strictly
convex, so that Newton's steps with an exact search along each of them always end. Against Coulomb's law a contact that
slides at |u_t| parts at μ |u_t|. With the engine's R and aims, and p̄ = 0, it is the engine's own problem. With p̄ the
last answer and solved again, the rows yield less and less.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import clear, dot, kernel
from palpate.engine.records import Matrix, Vector
from palpate.engine.views import part
from palpate.world.rigid.problem import VelocityProblem, factor_lower

_MOST_STEPS, _MOST_LOOKS = 200, 60
_ENDED = 1e-13  # of the largest number: a step that ends the search
_NARROW = 1e-15  # of a step: the least interval that it is searched in


@kernel
def relax(w: VelocityProblem) -> bool:
    """Impulses of the relaxed problem with the compliances w.loose, of a problem that is prepared; whether it ended.

    Numbers y = Lᵀ v stand for velocities, in which the mass matrix is 1.
    """
    n, y = w.v.size, w.now
    for i in range(n):
        y[i] = w.y[i]
    for _ in range(_MOST_STEPS):
        for r in range(w.rows):
            w.u[r] = dot(w.Y[r], y, n) - w.aim[r]
        _give_way(w)
        size = largest = 0.0
        for i in range(n):
            w.ahead[i] = w.y[i] - y[i]
            for r in range(w.rows):
                w.ahead[i] += w.Y[r, i] * w.impulse[r]
            size, largest = max(size, abs(w.ahead[i])), max(largest, abs(y[i]), abs(w.y[i]))
        if size <= _ENDED * largest:
            return True
        if not factor_lower(w.H, n, 0.0):
            return False
        _substitute(w.H, w.ahead, n)
        share, moved = _search(w), 0.0
        for i in range(n):
            y[i] += share * w.ahead[i]
            moved = max(moved, abs(share * w.ahead[i]))
        if moved <= _ENDED * largest:
            return True
    return False


@kernel
def _substitute(L: Matrix, x: Vector, n: int) -> None:
    """x = (L Lᵀ)⁻¹ x."""
    for i in range(n):
        x[i] = (x[i] - dot(L[i], x, i)) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@kernel
def _search(w: VelocityProblem) -> float:
    """The share of a step at which the function is least along it, where its rising slope is 0."""
    start = curve = 0.0
    for i in range(w.v.size):
        start += w.ahead[i] * (w.now[i] - w.y[i])
        curve += w.ahead[i] * w.ahead[i]
    for r in range(w.rows):
        w.du[r] = dot(w.Y[r], w.ahead, w.v.size)
    low, high, share = 0.0, -1.0, 1.0
    for _ in range(_MOST_LOOKS):
        slope, bend = _slopes(w, share)
        slope, bend = slope + start + share * curve, bend + curve
        if slope > 0.0:
            high = share
        else:
            low = share
        if slope == 0.0 or (high >= 0.0 and high - low <= _NARROW * high):
            break
        guess = share - slope / bend
        if high < 0.0:
            share = guess if guess > low else 2.0 * share
        else:
            share = guess if low < guess < high else 0.5 * (low + high)
    return share


@kernel
def _slopes(w: VelocityProblem, share: float) -> tuple[float, float]:
    """Slope and curvature of the rows' costs at a share of the step."""
    slope = curve = 0.0
    for r in range(w.rows):
        w.x[r] = w.u[r] + share * w.du[r]
    for c in range(w.contacts):
        d = part(w.du, 3 * c, 3)
        _project_on_cone(w, c, part(w.x, 3 * c, 3))
        for i in range(3):
            slope -= w.push[i] * d[i]
            curve += d[i] * dot(w.stiff[i], d, 3)
    for r in range(3 * w.contacts, w.rows):
        p, g = _project(w, r, w.x[r])
        slope -= p * w.du[r]
        curve += g * w.du[r] * w.du[r]
    return slope, curve


@kernel
def _project(w: VelocityProblem, r: int, u: float) -> tuple[float, float]:
    """Impulse of a stop or a joint's friction at its velocity, and −∂p/∂u."""
    p = w.anchor[r] - u / w.loose[r]
    if r < w.rows - w.rubs:
        return (p, 1.0 / w.loose[r]) if p > 0.0 else (0.0, 0.0)
    if abs(p) < w.bound[r]:
        return p, 1.0 / w.loose[r]
    return math.copysign(w.bound[r], p), 0.0


@kernel
def _project_on_cone(w: VelocityProblem, c: int, u: Vector) -> None:
    """w.push: impulse of a contact at its velocity; w.stiff = −∂p/∂u.

    With z = p̄ − u/R outside of the cone the nearest point of it is p_n = (z_n + k |z_t|)/(1 + μ k), k = μ R_t/R_n.
    """
    n, mu, p, G = 3 * c, w.mu[c], w.push, w.stiff
    Rn, Rt = w.loose[n], w.loose[n + 1]
    for i in range(3):
        clear(G[i])
        p[i] = w.anchor[n + i] - u[i] / (Rn if i == 0 else Rt)
    size = math.sqrt(p[1] * p[1] + p[2] * p[2])
    if mu > 0.0 and size <= mu * p[0]:
        G[0, 0], G[1, 1], G[2, 2] = 1.0 / Rn, 1.0 / Rt, 1.0 / Rt
        return
    k = mu * Rt / Rn
    if p[0] <= -k * size:
        clear(p)
        return
    share = 1.0 / (1.0 + mu * k)
    x, y = (p[1] / size, p[2] / size) if mu > 0.0 else (1.0, 0.0)
    p[0] = share * (p[0] + k * size)
    p[1], p[2] = mu * p[0] * x, mu * p[0] * y
    along, across = share * mu * k / Rt, mu * p[0] / (Rt * size) if mu > 0.0 else 0.0
    G[0, 0] = share / Rn
    G[0, 1] = G[1, 0] = share * mu * x / Rn
    G[0, 2] = G[2, 0] = share * mu * y / Rn
    G[1, 1], G[2, 2] = along * x * x + across * y * y, along * y * y + across * x * x
    G[1, 2] = G[2, 1] = (along - across) * x * y


@kernel
def _give_way(w: VelocityProblem) -> None:
    """Impulses at the velocities w.u, and H = 1 + Σ Yᵀ G Y, its lower half."""
    n, H = w.v.size, w.H
    for i in range(n):
        clear(H[i])
        H[i, i] = 1.0
    for c in range(w.contacts):
        r = 3 * c
        _project_on_cone(w, c, part(w.u, r, 3))
        for a in range(3):
            w.impulse[r + a] = w.push[a]
            for b in range(3):
                if w.stiff[a, b] != 0.0:
                    _add_product(H, w.Y[r + a], w.Y[r + b], w.stiff[a, b])
    for r in range(3 * w.contacts, w.rows):
        w.impulse[r], g = _project(w, r, w.u[r])
        if g != 0.0:
            _add_product(H, w.Y[r], w.Y[r], g)


@kernel
def _add_product(H: Matrix, a: Vector, b: Vector, factor: float) -> None:
    """H += factor · a bᵀ, its lower half."""
    for i in range(a.size):
        for j in range(i + 1):
            H[i, j] += factor * a[i] * b[j]
