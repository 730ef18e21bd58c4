"""Joint friction beside the engine's contacts and stops: both at once, by Newton's steps on the engine's own answer.

The engine takes friction torques x as given and answers with the velocities w(x) at the end of the step, contacts in
them. Friction has to fit: x = −F sign w where a joint slides, |x| ≤ F where w = 0. With the response R = ∂w/∂x of the
joints that rub, arm and contacts together, a turn takes x⁺ and v = w(x) + R (x⁺ − x) that fit each other, which is the
problem of `joint_friction` with the mass matrix R⁻¹. R is measured, one small torque per joint, and kept as long as it
serves: beside rigid contacts a joint's own inertia would make turns of a tiny part of the way, since a joint that
sticks and a stiff contact share one load path.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.library import mju_cholFactor, mju_cholSolve
from palpate.engine.records import Integers, Kept, Matrix, Record, Vector, sized
from palpate.engine.views import address_of

SETTLED = 1e-7  # of the friction: a change that ends the turns; the engine answers to about 1e-8 of it
UNSETTLED = 1e-3  # of the friction: a change left at the last turn that is warned of
MOST_TURNS = 24
MEASURED_EVERY = 5  # turns, where R no longer serves
PROBE = 1e-3  # of the friction: the torque that R is measured with
_LEAST_PIVOT = 1e-15


class Settling(Record):
    """The measured response of a plant's rubbing joints, and how its steps ended."""

    known: Kept[bool] = False  # whether R is
    rubs: Kept[int] = 0  # how many joints do,
    which: Kept[Integers] = sized("N")  # and which
    response: Kept[Matrix] = sized("N", "N")  # R, a column per joint that rubs: velocities of everything, per torque
    inertia: Kept[Matrix] = sized("N", "N")  # R⁻¹ of the joints that rub, 1 on the diagonal elsewhere
    w: Vector = sized("N")
    x: Vector = sized("N")  # torques that w belongs to
    factor: Matrix = sized("N", "N")  # scratch
    unit: Vector = sized("N")
    column: Vector = sized("N")
    steps: Kept[int] = 0  # that did not settle: a share of more than `UNSETTLED` was left
    worst: Kept[float] = 0.0  # the largest share that was left


@kernel
def note_left(s: Settling, change: float) -> None:
    """Note a step whose last turn still changed the friction by this share."""
    if change > UNSETTLED:
        s.steps += 1
    s.worst = max(s.worst, change)


@kernel
def find_rubbing(s: Settling, coulomb: Vector) -> None:
    """Note which joints rub."""
    s.rubs = 0
    for i in range(coulomb.size):
        if coulomb[i] > 0.0:
            s.which[s.rubs] = i
            s.rubs += 1


@kernel
def take_column(s: Settling, k: int, torque: float, w: Vector) -> None:
    """Column k of R, from the velocities under a little more torque."""
    for i in range(w.size):
        s.response[k, i] = (w[i] - s.w[i]) / torque


@kernel
def invert_response(s: Settling) -> bool:
    """The inertia R⁻¹, made symmetric; whether R is one of a body that torques accelerate."""
    n, m, A = s.w.size, s.rubs, s.factor
    for a in range(m):
        for b in range(m):
            A[a, b] = 0.5 * (s.response[a, s.which[b]] + s.response[b, s.which[a]])
        if not A[a, a] > 0.0:
            return False
        s.column[a] = 1.0 / math.sqrt(A[a, a])
    for a in range(n):
        for b in range(n):
            s.inertia[a, b] = 1.0 if a == b else 0.0
            A[a, b] = A[a, b] * s.column[a] * s.column[b] if a < m and b < m else (1.0 if a == b else 0.0)
    if mju_cholFactor(address_of(A), n, _LEAST_PIVOT) < n:
        return False
    for b in range(m):
        for a in range(n):
            s.unit[a] = 1.0 if a == b else 0.0
        mju_cholSolve(address_of(s.unit), address_of(A), address_of(s.unit), n)
        for a in range(m):
            s.inertia[s.which[a], s.which[b]] = s.unit[a] * s.column[a] * s.column[b]
    return True
