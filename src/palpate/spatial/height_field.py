"""A surface z = h(x, y) over a rectangle, from heights on a grid: a cubic spline, and the distance to it.

The spline is twice continuously differentiable, so that normal and curvature are continuous; it goes through every
height and repeats polynomials of third degree exactly. With a grid of step a the error of a smooth surface falls as
a⁴ in height, a³ in slope, a² in curvature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from palpate.checks import Array
from palpate.engine.kernels import kernel
from palpate.engine.records import Vector
from palpate.errors import InvalidInput

FEWEST, MOST = 4, 512  # heights along one side
SHORTEST, LONGEST = 1e-6, 1e5  # m
# A field is one vector: counts along x and y, half lengths, steps, then the spline's coefficients, row by row along y.
COUNT_X, COUNT_Y, HALF_X, HALF_Y, STEP_X, STEP_Y, FIRST = range(7)
_MOST_STEPS, _HALVINGS = 30, 12


def packed_heights(size: Sequence[float], heights: Array) -> Array:
    """The field as one vector.

    Args:
        size: lengths along x and y, m; the grid's first and last points lie on the edges.
        heights: (rows along y, columns along x), m; the first row is that of the smallest y.

    Raises:
        InvalidInput: fewer than 4 or more than 512 heights along a side, one that is no number, or beyond all measure.
    """
    heights = np.asarray(heights, dtype=float)
    if heights.ndim != 2 or min(heights.shape) < FEWEST or max(heights.shape) > MOST:
        shape = " by ".join(map(str, heights.shape))
        raise InvalidInput(f"a height field has {FEWEST} to {MOST} heights along each side, got {shape}")
    if not np.isfinite(heights).all():
        row, column = np.argwhere(~np.isfinite(heights))[0]
        raise InvalidInput(f"the height in row {row + 1}, column {column + 1} is {heights[row, column]}")
    if np.abs(heights).max() > LONGEST or not SHORTEST <= min(size) <= max(size) <= LONGEST:
        raise InvalidInput(
            f"a height field has lengths from {SHORTEST:g} to {LONGEST:g} m and heights up to {LONGEST:g} m, got"
            f" {size[0]:g} by {size[1]:g} m and {np.abs(heights).max():g} m"
        )
    rows, columns = heights.shape
    steps = [size[0] / (columns - 1), size[1] / (rows - 1)]
    coefficients = _coefficients(_coefficients(heights).T).T
    return np.concatenate([[columns, rows, size[0] / 2, size[1] / 2, *steps], coefficients.ravel()])


def _coefficients(values: Array) -> Array:
    """B-spline coefficients along the first axis; the third derivative does not jump next to the ends."""
    n = len(values)
    A = np.zeros((n + 2, n + 2))
    for k in range(n):
        A[k + 1, k : k + 3] = np.array([1.0, 4.0, 1.0]) / 6.0
    A[0, :5] = A[-1, -5:] = [1.0, -4.0, 6.0, -4.0, 1.0]
    return np.linalg.solve(A, np.concatenate([np.zeros((1, values.shape[1])), values, np.zeros((1, values.shape[1]))]))


def heights_on(field: Array, x: Array, y: Array, dx: int = 0, dy: int = 0) -> Array:
    """The spline, or a derivative of it, at every pair of a y (rows) and an x (columns)."""
    columns, rows = int(field[COUNT_X]), int(field[COUNT_Y])
    coefficients = field[FIRST:].reshape(rows + 2, columns + 2)
    across = _basis((np.asarray(x) + field[HALF_X]) / field[STEP_X], columns, dx) / field[STEP_X] ** dx
    along = _basis((np.asarray(y) + field[HALF_Y]) / field[STEP_Y], rows, dy) / field[STEP_Y] ** dy
    return along @ coefficients @ across.T


def _basis(places: Array, count: int, order: int) -> Array:
    cell = np.clip(np.floor(places).astype(int), 0, count - 2)
    B, t = np.zeros((len(places), count + 2)), places - cell
    weights = (values, slopes, bends)[order]
    for row, (k, s) in enumerate(zip(cell, t)):
        B[row, k : k + 4] = weights(float(s))
    return B


def tightest_hollow(field: Array) -> float:
    """The smallest radius of curvature of its hollows, m; infinite where there are none. On a grid of half steps."""
    x = np.linspace(-field[HALF_X], field[HALF_X], 2 * int(field[COUNT_X]) - 1)
    y = np.linspace(-field[HALF_Y], field[HALF_Y], 2 * int(field[COUNT_Y]) - 1)
    hx, hy, hxx, hxy, hyy = (heights_on(field, x, y, *d) for d in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2)))
    w = 1.0 + hx**2 + hy**2
    mean = ((1 + hy**2) * hxx - 2 * hx * hy * hxy + (1 + hx**2) * hyy) / (2 * w**1.5)
    gauss = (hxx * hyy - hxy**2) / w**2
    most = float((mean + np.sqrt(np.maximum(mean**2 - gauss, 0.0))).max())
    return 1.0 / most if most > 0 else math.inf


@kernel
def values(t: float) -> tuple[float, float, float, float]:
    """The four cubic B-splines that live in a cell, at t of it."""
    s = 1.0 - t
    return (
        s * s * s / 6.0,
        (3.0 * t**3 - 6.0 * t * t + 4.0) / 6.0,
        (3.0 * s**3 - 6.0 * s * s + 4.0) / 6.0,
        t * t * t / 6.0,
    )


@kernel
def slopes(t: float) -> tuple[float, float, float, float]:
    """Their derivatives."""
    s = 1.0 - t
    return -0.5 * s * s, 1.5 * t * t - 2.0 * t, 2.0 * s - 1.5 * s * s, 0.5 * t * t


@kernel
def bends(t: float) -> tuple[float, float, float, float]:
    """Their second derivatives."""
    return 1.0 - t, 3.0 * t - 2.0, 1.0 - 3.0 * t, t


@kernel
def height_at(field: Vector, x: float, y: float) -> tuple[float, float, float, float, float, float]:
    """h, ∂h/∂x, ∂h/∂y, ∂²h/∂x², ∂²h/∂x∂y, ∂²h/∂y² at a place of the rectangle."""
    columns, a, b = int(field[COUNT_X]), field[STEP_X], field[STEP_Y]
    across, along = (x + field[HALF_X]) / a, (y + field[HALF_Y]) / b
    i = min(max(math.floor(across), 0), columns - 2)
    j = min(max(math.floor(along), 0), int(field[COUNT_Y]) - 2)
    wx, sx, bx = values(across - i), slopes(across - i), bends(across - i)
    wy, sy, by = values(along - j), slopes(along - j), bends(along - j)
    h = hx = hy = hxx = hxy = hyy = 0.0
    for r in range(4):
        first, row, slope, bend = FIRST + (j + r) * (columns + 2) + i, 0.0, 0.0, 0.0
        for k in range(4):
            c = field[first + k]
            row += wx[k] * c
            slope += sx[k] * c
            bend += bx[k] * c
        h += wy[r] * row
        hx += wy[r] * slope
        hxx += wy[r] * bend
        hy += sy[r] * row
        hxy += sy[r] * slope
        hyy += by[r] * row
    return h, hx / a, hy / b, hxx / (a * a), hxy / (a * b), hyy / (b * b)


@kernel
def _clamped(x: float, half: float) -> float:
    return min(max(x, -half), half)


@kernel
def _squared_gap(field: Vector, p: Vector, u: float, v: float) -> float:
    return (u - p[0]) ** 2 + (v - p[1]) ** 2 + (height_at(field, u, v)[0] - p[2]) ** 2


@kernel
def _newton_step(field: Vector, p: Vector, u: float, v: float) -> tuple[float, float]:
    """Towards the foot of p: −H⁻¹ g of ½|p − (u, v, h)|², without r ∇²h where H would not be positive definite.

    At an edge that the foot would leave, along the edge alone.
    """
    h, hx, hy, hxx, hxy, hyy = height_at(field, u, v)
    r = h - p[2]
    gu, gv = u - p[0] + r * hx, v - p[1] + r * hy
    a, b, c = 1.0 + hx * hx + r * hxx, hx * hy + r * hxy, 1.0 + hy * hy + r * hyy
    if a <= 0.0 or a * c - b * b <= 1e-6 * a * c:
        a, b, c = 1.0 + hx * hx, hx * hy, 1.0 + hy * hy
    stuck_u = (u >= field[HALF_X] and gu < 0.0) or (u <= -field[HALF_X] and gu > 0.0)
    stuck_v = (v >= field[HALF_Y] and gv < 0.0) or (v <= -field[HALF_Y] and gv > 0.0)
    if stuck_u or stuck_v:
        return 0.0 if stuck_u else -gu / max(a, 1e-3), 0.0 if stuck_v else -gv / max(c, 1e-3)
    determinant = a * c - b * b
    return (b * gv - c * gu) / determinant, (b * gu - a * gv) / determinant


@kernel
def foot_of(field: Vector, p: Vector, u: float, v: float) -> tuple[float, float]:
    """Where on the field the point nearest to p is, found downhill from (u, v) by Newton's method."""
    half_x, half_y, gap = field[HALF_X], field[HALF_Y], _squared_gap(field, p, u, v)
    close = 1e-15 * (half_x + half_y)
    for _ in range(_MOST_STEPS):
        du, dv = _newton_step(field, p, u, v)
        next_u, next_v, next_gap, taken = u, v, gap, False
        for _ in range(_HALVINGS):
            next_u, next_v = _clamped(u + du, half_x), _clamped(v + dv, half_y)
            next_gap = _squared_gap(field, p, next_u, next_v)
            if next_gap <= gap * (1.0 + 1e-12):
                taken = True
                break
            du, dv = 0.5 * du, 0.5 * dv
        if not taken:
            break
        moved = abs(next_u - u) + abs(next_v - v)
        u, v, gap = next_u, next_v, next_gap
        if moved <= close:
            break
    return u, v


@kernel
def height_field_distance(size: Vector, p: Vector, normal: Vector) -> float:
    """size: a field. Inside is what lies below it, down to any depth, between upright walls at its edges."""
    half_x, half_y = size[HALF_X], size[HALF_Y]
    u, v = _clamped(p[0], half_x), _clamped(p[1], half_y)
    beside = math.sqrt((p[0] - u) ** 2 + (p[1] - v) ** 2)
    under = p[2] < height_at(size, u, v)[0]
    if beside > 0.0 and under:
        normal[0], normal[1], normal[2] = (p[0] - u) / beside, (p[1] - v) / beside, 0.0
        return beside
    u, v = foot_of(size, p, u, v)
    h, hx, hy, _, _, _ = height_at(size, u, v)
    gap = math.sqrt((p[0] - u) ** 2 + (p[1] - v) ** 2 + (p[2] - h) ** 2)
    wall_x, wall_y = half_x - abs(p[0]), half_y - abs(p[1])
    if under and min(wall_x, wall_y) < gap:
        normal[0] = math.copysign(1.0, p[0]) if wall_x < wall_y else 0.0
        normal[1] = 0.0 if wall_x < wall_y else math.copysign(1.0, p[1])
        normal[2] = 0.0
        return -min(wall_x, wall_y)
    edge = abs(u) >= half_x or abs(v) >= half_y
    if edge and gap > 1e-9 * (half_x + half_y):
        normal[0], normal[1], normal[2] = (p[0] - u) / gap, (p[1] - v) / gap, (p[2] - h) / gap
        return gap
    steep = math.sqrt(1.0 + hx * hx + hy * hy)
    normal[0], normal[1], normal[2] = -hx / steep, -hy / steep, 1.0 / steep
    return -gap if under else gap
