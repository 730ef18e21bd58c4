"""Direction and rate of a pole now, from a camera's pictures of it that are late, noisy and few.

Near the upright, with v the velocity of the foot (which joints tell at once) and w = ẋ_AB + κ v, per horizontal axis

    ẋ_AB = w − κ v,   ẇ = ω² x_AB,   ω² = κ g / l

so that no acceleration is needed. A picture corrects the estimate at the time it was taken, by a steady Kalman gain;
from there the model leads to now, along the velocities remembered.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from palpate.checks import Array
from palpate.control.design.pole import PoleModel
from palpate.control.tick import PoleView
from palpate.engine.kernels import kernel, put
from palpate.engine.maths import cosh, sinh
from palpate.engine.records import Carried, Kept, Matrix, Record, State, Vector, sized
from palpate.errors import InvalidInput

_LEAST_NOISE = 1e-4  # rad; a picture is never taken for perfect
_FALLEN = 15.0  # ω × interval: between two pictures an error grows e^15-fold, and nothing of the estimate is left


class PoleEstimate(Record):
    """x_AB and w per horizontal axis when the last picture was taken, and what is known of the foot since."""

    length: float
    kappa: float
    omega: float
    gain: Vector = sized(2)  # of a picture on x_AB and w
    x: State[Matrix] = sized(2, 2)  # axis by (x_AB, w)
    taken: Kept[int] = -1  # tick of the last picture, −1 before the first
    tick: Kept[int] = 0
    speeds: Annotated[Matrix, Carried(counter="tick")] = sized("kept", 2)  # of the foot, tick by tick
    now: Matrix = sized(2, 2)  # x led to now
    r: Kept[Vector] = sized(3)
    r_rate: Kept[Vector] = sized(3)


def pole_estimate(
    model: PoleModel, period: float, camera: tuple[float, float, float] | None, disturbance: float
) -> PoleEstimate:
    """An estimator for a camera: (s between pictures, s until one arrives, rad of noise); None for an ideal one.

    `disturbance` is the acceleration of the sphere, m/s², that the model does not know of: the larger, the more a
    picture counts.
    """
    interval, delay, noise = camera or (period, 0.0, 0.0)
    omega = math.sqrt(model.lead * model.gravity / model.length)
    return PoleEstimate(
        {"kept": math.ceil((interval + delay) / period) + 4},
        length=model.length,
        kappa=model.lead,
        omega=omega,
        gain=_kalman_gain(omega, interval, disturbance, max(noise, _LEAST_NOISE) * model.length),
    )


def _kalman_gain(omega: float, interval: float, disturbance: float, noise: float) -> Array:
    """The steady gain P Cᵀ (C P Cᵀ + R)⁻¹ of pictures of x_AB, an unknown acceleration held between them.

    For rare pictures only the falling motion (1, ω) is left in P, and the gain tends to it like e^(−2 ω interval).
    """
    from scipy.linalg import solve_discrete_are

    if omega * interval > _FALLEN:
        return np.array([1.0, omega])
    c, s = math.cosh(omega * interval), math.sinh(omega * interval)
    F = np.array([[c, s / omega], [omega * s, c]])
    push = disturbance * np.array([interval**2 / 2, interval])
    try:
        with np.errstate(all="ignore"):
            P = solve_discrete_are(F.T, np.array([[1.0], [0.0]]), np.outer(push, push), np.array([[noise**2]]))
    except (np.linalg.LinAlgError, ValueError) as error:
        raise InvalidInput(
            f"no estimator weighs a disturbance of {disturbance:g} m/s² against {noise:g} m of noise, with a picture"
            f" every {interval:g} s",
            hint="a disturbance near 1 m/s²; more frequent pictures",
        ) from error
    return P[:, 0] / (P[0, 0] + noise**2)


@kernel
def _lead(e: PoleEstimate, x: Matrix, start: int, stop: int, dt: float) -> None:
    """Lead x from one tick to another, the foot's velocity between two of them taken for their mean."""
    rows, c, s = e.speeds.shape[0], cosh(e.omega * dt), sinh(e.omega * dt) / e.omega
    for tick in range(max(start, stop - rows + 1), stop):
        for i in range(2):
            v = 0.5 * e.kappa * (e.speeds[tick % rows, i] + e.speeds[(tick + 1) % rows, i])
            r, w = x[i, 0], x[i, 1] - v
            x[i, 0], x[i, 1] = c * r + s * w, v + e.omega * e.omega * s * r + c * w


@kernel
def estimate_pole(e: PoleEstimate, view: PoleView, twist: Vector, dt: float) -> None:
    """r = AB and its rate now, from what is seen; a view with a rate of its own is taken as it is."""
    rows = e.speeds.shape[0]
    for i in range(2):
        e.speeds[e.tick % rows, i] = twist[i]
    if view.rated:
        put(e.r, 0, view.AB)
        put(e.r_rate, 0, view.AB_rate)
        e.tick += 1
        return
    picture = e.tick - int(view.age / dt + 0.5)
    if e.taken < 0:
        e.taken = picture
        for i in range(2):
            e.x[i, 0], e.x[i, 1] = view.AB[i], e.kappa * twist[i]
    elif view.fresh and picture > e.taken:
        _lead(e, e.x, e.taken, picture, dt)
        e.taken = picture
        for i in range(2):
            wrong = view.AB[i] - e.x[i, 0]
            e.x[i, 0] += e.gain[0] * wrong
            e.x[i, 1] += e.gain[1] * wrong
    for i in range(2):
        put(e.now[i], 0, e.x[i])
    _lead(e, e.now, e.taken, e.tick, dt)
    _direction(e, view, twist)
    e.tick += 1


@kernel
def _direction(e: PoleEstimate, view: PoleView, twist: Vector) -> None:
    """r and its rate from their horizontal parts; beyond the horizontal, where the model ends, as the picture shows."""
    level = e.now[0, 0] ** 2 + e.now[1, 0] ** 2
    if level >= 0.98 * e.length**2 or view.AB[2] <= 0.0:
        for i in range(3):
            e.r[i], e.r_rate[i] = view.AB[i], 0.0
        return
    e.r[2] = math.sqrt(e.length**2 - level)
    e.r_rate[2] = 0.0
    for i in range(2):
        e.r[i], e.r_rate[i] = e.now[i, 0], e.now[i, 1] - e.kappa * twist[i]
        e.r_rate[2] -= e.r[i] * e.r_rate[i] / e.r[2]
